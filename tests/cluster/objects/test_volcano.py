"""Volcano's PodGroups and queues as they are written, apart from those of Koordinator."""

import json

import pytest

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.model.installation import Volcano, VolcanoCondition, VolcanoGroup, VolcanoQueue
from kubectl_koord.model.snapshot import Snapshot

VOLCANO = "scheduling.volcano.sh/v1beta1"


def group(api: str | None, name: str = "job", **more: object) -> dict[str, object]:
    return {**({"apiVersion": api} if api else {}), "kind": "PodGroup", "metadata": {"name": name}, **more}


def read(*items: dict[str, object], yaml: bool = False) -> Snapshot:
    collector = Collector()
    content = "---\n".join(json.dumps(item) + "\n" for item in items) if yaml else json.dumps({"items": items})
    stored.take("f", (f"# YAML\n{content}" if yaml else content).encode(), collector)
    return collector.snapshot(moment="", source="file")


@pytest.mark.parametrize("yaml", [False, True])
def test_podgroups_of_each_scheduler_are_told_apart_by_their_api_group(yaml: bool) -> None:  # noqa: FBT001
    found = read(
        group("scheduling.sigs.k8s.io/v1alpha1", "ours"),
        group(None, "bare"),
        group(VOLCANO, "theirs"),
        group("scheduling.run.ai/v2alpha2", "kai"),
        group("scheduling.x-k8s.io/v1alpha1", "plugins"),
        {"apiVersion": VOLCANO, "kind": "Queue", "metadata": {"name": "q"}},
        {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "other"}},
        yaml=yaml,
    )
    assert [*found.pod_groups] == ["default/bare", "default/ours"]
    assert found.volcano == Volcano({"default/theirs": VolcanoGroup("default", "theirs")}, {"q": VolcanoQueue()})


def test_all_that_is_read_of_a_podgroup_and_its_queue() -> None:
    conditions = [
        {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "no",
         "lastTransitionTime": "2026-11-20T09:00:00Z"},
        {},
    ]  # fmt: skip
    written = group(
        VOLCANO,
        spec={"minMember": 4, "queue": "q", "priorityClassName": "high"},
        status={"phase": "Inqueue", "running": 1, "succeeded": 2, "failed": 3, "conditions": conditions},
    )
    written["metadata"] = {
        "name": "job",
        "namespace": "team",
        "creationTimestamp": "2026-11-20T08:00:00Z",
        "ownerReferences": [{"kind": "Job", "name": "bert", "controller": True}],
    }
    queue: dict[str, object] = {
        "apiVersion": VOLCANO,
        "kind": "Queue",
        "metadata": {"name": "q"},
        "status": {"state": "Open"},
    }
    classes: list[dict[str, object]] = [
        {
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 1,
            **({"preemptionPolicy": policy} if policy else {}),
        }
        for name, policy in (("high", "Never"), ("low", ""))
    ]
    assert read(written, queue, *classes).volcano == Volcano(
        {
            "team/job": VolcanoGroup(
                namespace="team",
                name="job",
                queue="q",
                min_member=4,
                priority_class="high",
                phase="Inqueue",
                running=1,
                succeeded=2,
                failed=3,
                conditions=(
                    VolcanoCondition("Unschedulable", "True", "NotEnoughResources", "no", "2026-11-20T09:00:00Z"),
                    VolcanoCondition(""),
                ),
                owner="Job/bert",
                created="2026-11-20T08:00:00Z",
            )
        },
        {"q": VolcanoQueue("Open")},
        {"high": "Never", "low": ""},
    )
