"""A workload made a gang: its PodGroup, the label and the scheduler in its templates, and what stands against it."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.changes.manifests import Meant, NewGang, new_gang
from kubectl_koord.changes.values import RefusedError, WantedSettings
from kubectl_koord.model.objects import Template, Workload
from kubectl_koord.reports.change import Change, ObjectName
from tests.build import SPINE, cluster

LABEL = "pod-group.scheduling.sigs.k8s.io"
JOB = Workload("Job", "t", "x", 4, 3, (Template(("spec", "t", "labels"), ("spec", "t", "schedulerName")),))
META = {"name": "x", "namespace": "t"}
TREE = cluster("s: b[n1]")


def job(meta: dict[str, Any] | None = None, **template: object) -> dict[str, Any]:
    return {"kind": "Job", "metadata": meta or META, "spec": {"t": template, "kept": 1}}


def made(written: dict[str, Any], one: Workload = JOB, *, overwrite: bool = False, **wanted: Any) -> NewGang:  # noqa: ANN401
    return new_gang(written, one, Meant("", "t", overwrite, TREE), WantedSettings(**wanted))


def test_a_job_gets_a_podgroup_of_its_name_and_its_templates_the_label_and_the_scheduler() -> None:
    written = job()
    found = made(written, must_gather=(SPINE,))
    spec = '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather"}]}'
    key = "gang.scheduling.koordinator.sh/network-topology-spec"
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {**META, "annotations": {key: spec}},
        "spec": {"minMember": 3},
    }
    template: dict[str, Any] = {"labels": {LABEL: "x"}, "schedulerName": "koord-scheduler"}
    after: dict[str, str | int | None] = {"spec.t.schedulerName": "koord-scheduler", f"spec.t.labels.{LABEL}": "x"}
    settings: dict[str, str | int | None] = {key: spec, "spec.minMember": 3}
    changes = (
        Change(ObjectName("PodGroup", "t", "x"), dict.fromkeys(settings), settings, group, ""),
        Change(ObjectName("Job", "t", "x"), dict.fromkeys(after), after, {"spec": {"t": template, "kept": 1}}, ""),
    )
    assert found == NewGang("t/x", group, job(**template), changes)
    assert written == job()


def test_the_namespace_is_left_out_where_the_workload_leaves_it_out_and_settings_to_be_removed_are_none() -> None:
    found = made(job({"name": "x"}), removed=("mode",), min_member=4)
    assert found.pod_group["metadata"] == {"name": "x"}
    assert found.pod_group["spec"] == {"minMember": 4}


def test_a_label_that_is_there_names_the_gang_and_only_members_get_it() -> None:
    other = Template(("driver", "labels"), ("driver", "schedulerName"), is_member=False)
    both = structs.replace(JOB, templates=(*JOB.templates, other))
    written = job(labels={LABEL: "mine"}, schedulerName="koord-scheduler")
    found = made({**written, "driver": None}, both)
    assert (found.key, found.pod_group["metadata"]["name"]) == ("t/mine", "mine")
    assert found.changes[1].after == {"driver.schedulerName": "koord-scheduler"}
    assert found.workload["driver"] == {"schedulerName": "koord-scheduler"}
    assert len(made(written).changes) == 1


def test_templates_in_lists_are_found_by_their_number_and_what_is_no_object_is_no_label() -> None:
    listed = structs.replace(JOB, templates=(Template(("l", 1, "labels"), ("l", 1, "schedulerName")),))
    found = made({"metadata": META, "l": [{}, {"labels": None}]}, listed)
    assert found.workload["l"] == [{}, {"labels": {LABEL: "x"}, "schedulerName": "koord-scheduler"}]
    text = structs.replace(JOB, templates=(Template(("l", "labels"), ("l", "schedulerName")),))
    with pytest.raises(RefusedError, match="l is no object"):
        made({"metadata": META, "l": "text"}, text)


def test_another_scheduler_is_replaced_only_where_that_is_asked_for() -> None:
    assert made(job(schedulerName="default-scheduler")).workload["spec"]["t"]["schedulerName"] == "koord-scheduler"
    with pytest.raises(RefusedError, match=r"spec\.t\.schedulerName is already 'volcano'|spec.t.schedulerName"):
        made(job(schedulerName="volcano"))
    changed = made(job(schedulerName="volcano"), overwrite=True)
    assert changed.changes[1].before["spec.t.schedulerName"] == "volcano"


def test_without_a_cluster_the_scheduler_has_its_usual_name() -> None:
    found = new_gang(job(), JOB, Meant("", "t", overwrite=False), WantedSettings(must_gather=("Any",)))
    assert found.workload["spec"]["t"]["schedulerName"] == "koord-scheduler"


@pytest.mark.parametrize(
    ("obstacle", "expected"),
    [
        (
            "of-another-scheduler",
            "Job x: Volcano makes its pods only once its own PodGroup is let in; use another",
        ),
        ("from-runtime", "Job x: its pod templates stand in its training runtime"),
        ("in-turn", r"Job x makes its pods one after the other \(why\): in a gang they would wait for ever"),
        ("no-name", r"Job x\* gets a name with each run \(generateName\), and a PodGroup is for one: name it"),
        ("owned", "Job x is made by why, which would undo the change: make a gang of that"),
        ("no-pods", "Job x makes no pods: there is nothing to be a gang"),
    ],
)
def test_what_cannot_be_a_gang_is_refused_with_what_to_do(obstacle: Any, expected: str) -> None:  # noqa: ANN401
    with pytest.raises(RefusedError, match=expected):
        made(job(), Workload("Job", "t", "x", obstacle=obstacle, detail="why"))


def test_a_gang_that_is_there_and_numbers_that_do_not_fit_are_refused() -> None:
    there = "PodGroup t/x is there already: leave out --create to change it"
    with pytest.raises(RefusedError, match=there):
        new_gang(job(), JOB, Meant("", "t", overwrite=False, gangs=frozenset({"t/x"})), WantedSettings())
    with pytest.raises(RefusedError, match=there):
        new_gang(job(), JOB, Meant("", "t", overwrite=False, snapshot=TREE.with_group("t/x", 1)), WantedSettings())
    with pytest.raises(RefusedError, match="--min-member 5 is more than its 4 pods"):
        made(job(), min_member=5)
    with pytest.raises(RefusedError, match="layer 'Spine' is not in the topology"):
        made(job(), must_gather=("Spine",))
    two = structs.replace(JOB, templates=(*JOB.templates, Template(("o", "labels"), ("o", "schedulerName"))))
    with pytest.raises(RefusedError, match="templates of Job x are labelled for several gangs: a and b"):
        made({**job(labels={LABEL: "a"}), "o": {"labels": {LABEL: "b"}}}, two)
