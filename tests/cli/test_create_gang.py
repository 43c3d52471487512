"""A gang made of a job, of manifests or of the cluster: shown, or printed anew, and nothing is sent."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer
from tests.cli.conftest import Run

LABEL = "pod-group.scheduling.sigs.k8s.io"
NOTE = "kubectl.kubernetes.io/last-applied-configuration"
SPEC: dict[str, Any] = {
    "parallelism": 2,
    "template": {
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
            "dns": "own",
        },
    },
}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "new", "namespace": "default"},
    "spec": {**SPEC, "ownField": {"a": 1}},
}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
GROUP = {
    "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "new", "namespace": "default"},
    "spec": {"minMember": 2},
}


@pytest.fixture
def server(direct: ApiServer) -> ApiServer:
    """Ask without kubectl: both ways read the same."""
    return direct


def as_gang(job: dict[str, Any]) -> dict[str, Any]:
    spec = job["spec"]
    template = spec["template"]
    own = {"labels": {"app": "a", LABEL: "new"}}
    pod = {**template["spec"], "schedulerName": "koord-scheduler"}
    return {**job, "spec": {**spec, "template": {"metadata": own, "spec": pod}}}


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump_all([CONFIG, JOB]))
    return str(path)


def test_a_job_of_a_manifest_is_shown_as_a_gang_with_whether_it_fits(
    koord: Run, server: ApiServer, manifest: str
) -> None:
    done = koord("annotate", "gang", "-f", manifest, "--create", "--must-gather", "SpineLayer")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "Nothing was sent: 2 objects would change. -o yaml prints the new manifests.\n\nPodGroup default/new\n"
    )
    assert f"  + spec.template.metadata.labels.{LABEL}: new\n" in done.out
    assert "\ndefault/new fits now: 2 pods on " in done.out
    assert {request.method for request in server.log} == {"GET"}


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_the_new_manifests_keep_all_that_was_there(koord: Run, cluster: str, manifest: str, form: str) -> None:
    done = koord("annotate", "gang", "new", "-f", manifest, "--create", "--snapshot", cluster, "-o", form)
    assert (done.code, done.err) == (0, "")
    found = [*yaml.safe_load_all(done.out)] if form == "yaml" else json.loads(done.out)["items"]
    assert found == [CONFIG, GROUP, as_gang(JOB)]


def test_the_items_of_a_list_stay_in_it(koord: Run, cluster: str, tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [CONFIG, JOB]}))
    done = koord("annotate", "gang", "-f", str(path), "--create", "--snapshot", cluster, "-o", "json")
    assert json.loads(done.out)["items"] == [CONFIG, GROUP, as_gang(JOB)]


def put_job(server: ApiServer) -> None:
    server.put({**JOB, "metadata": {**JOB["metadata"], "annotations": {NOTE: "{}"}}, "status": {"active": 2}})


def test_a_job_of_the_cluster_is_left_as_it_is_and_how_to_recreate_it_is_said(koord: Run, server: ApiServer) -> None:
    put_job(server)
    done = koord("annotate", "gang", "job/new", "--create", "--min-member", "2", "--mode=NonStrict")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "Nothing was sent: Job new is not changed in place, as the pod template of a Job cannot be changed, and"
    )
    assert "annotate gang job/new --create --mode=NonStrict --min-member=2 -n default -o yaml" in done.out
    assert "kubectl delete job new -n default" in done.out
    assert {request.method for request in server.log} == {"GET"}
    printed = koord("annotate", "gang", "jobs/new", "--create", "-o", "yaml")
    group, job = yaml.safe_load_all(printed.out)
    assert (group, job) == (GROUP, as_gang(JOB))


def test_a_job_of_a_file_in_place_of_the_cluster_is_found_by_kind_and_name(koord: Run, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    other = {**JOB, "metadata": {"name": "new", "namespace": "other"}}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [CONFIG, other, JOB]}))
    done = koord("annotate", "gang", "job/new", "--create", "--snapshot", str(path), "-o", "json")
    assert json.loads(done.out)["items"] == [GROUP, as_gang(JOB)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new",), "--create needs -f, or a workload as KIND/NAME: job/x, pytorchjob/x"),
        (("pod/new",), "'pod' is no kind of workload that is known here"),
        (("job/gone", "--snapshot", "CLUSTER"), "no job gone in namespace default"),
        (("job/gone", "--snapshot", "-"), "a workload is read twice: give a file instead of standard input"),
        (("job/gone",), 'jobs.batch.volcano.sh "gone"|not find'),
        (("gone", "-f", "MANIFEST"), "no workload gone in "),
        (("-f", "-", "--snapshot", "-"), "-f and --snapshot cannot both read standard input"),
        (("-f", "MANIFEST", "-o", "name"), "manifests are printed as -o yaml or json"),
        (
            ("-f", "MANIFEST", "--must-gather", "Spine"),
            "layer 'Spine' is not in the topology, did you mean",
        ),
    ],
    ids=range(9),
)
@pytest.mark.usefixtures("server")
def test_what_cannot_be_is_one_line(koord: Run, cluster: str, manifest: str, words: tuple[str, ...], said: str) -> None:
    real = [{"CLUSTER": cluster, "MANIFEST": manifest}.get(word, word) for word in words]
    done = koord("annotate", "gang", *real, "--create")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert any(part in done.err for part in said.split("|"))
