"""`kubectl koord fit` on the command line."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.world import write

SHAPE = ("fit", "--demo", "--pods", "4", "--request", "nvidia.com/gpu=8", "--must-gather", "SpineLayer")


@pytest.fixture
def server(direct: ApiServer) -> ApiServer:
    """Ask without kubectl: both ways read the same."""
    return direct


@pytest.mark.parametrize(
    ("words", "plain", "detailed"),
    [
        ((*SHAPE, "--priority", "5000"), 1, 3),
        ((*SHAPE, "--priority", "0"), 1, 1),
        (("fit", "--demo", "--pods", "4", "--request", "gpu=16"), 1, 4),
        (("fit", "--demo", "--pods", "2", "--request", "nvidia.com/gpu=8"), 0, 0),
    ],
    ids=range(4),
)
def test_the_exit_code_tells_how_it_fits_where_that_is_asked_for(
    koord: Run, words: tuple[str, ...], plain: int, detailed: int
) -> None:
    assert koord(*words).code == plain
    assert koord(*words, "--detailed-exit-code").code == detailed


def test_the_document_is_as_promised(koord: Run) -> None:
    done = koord("fit", "-f", "examples/resnet.yaml", "--demo", "-o", "json", "--count")
    report = json.loads(done.out)
    (gang,) = report["gangs"]
    assert (report["kind"], report["verdict"]) == ("Fit", "no")
    assert {"gang", "pods", "verdict", "placement", "desiredOfferSlot", "domains", "victims", "cause", "howMany"} <= {
        *gang
    }
    assert (gang["gang"], gang["pods"], gang["desiredOfferSlot"], gang["howMany"]) == ("train/resnet", 4, 4, 0)
    names = koord("fit", "-f", "examples/resnet.yaml", "--demo", "-o", "name")
    assert names.out == "pod/eval-0\npod/eval-1\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "one of -f, -k, --pods and --like is required"),
        (("--pods", "1", "-f", "x"), "one of -f, -k, --pods and --like is required"),
        (("-f", "x", "--request", "cpu=1"), "--request and --must-gather are for --pods"),
        (("--like", "train/fits", "--priority", "1"), "--priority and --priority-class are for -f and --pods"),
        (("--pods", "1", "--priority", "1", "--priority-class", "a"), "--priority and --priority-class cannot be used"),
        (("--pods", "1", "--request", "cpu"), "--request: 'cpu' is not of the form 8gpu or NAME=AMOUNT"),
        (("--pods", "1", "--request", "cpu=much"), "--request: 'cpu=much': "),
        (
            ("--pods", "1", "--request", "nvidia.com/gpu=1.5"),
            "--request: the amount of nvidia.com/gpu is no whole number",
        ),
        (("--pods", "1", "--request", "a.b/c=1.5"), "--request: the amount of a.b/c is no whole number"),
        (("--pods", "60000"), "--pods: more than 50,000 pods in all"),
        (("--pods", "1", "--priority-class", "gone"), "--request: PriorityClass 'gone': none such was read"),
        (("--like", "pod/eval-0"), "'pod/eval-0' is no gang"),
        (("-f", "/nowhere/x.yaml"), "the path '/nowhere/x.yaml' cannot be read"),
        (
            ("-f", "examples/resnet.yaml", "-n", "other"),
            "the namespace from the provided object 'train' does not match",
        ),
    ],
    ids=range(14),
)
def test_a_mistake_is_one_line(koord: Run, words: tuple[str, ...], expected: str) -> None:
    done = koord("fit", "--demo", *words)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1


def test_manifests_without_pods_are_a_mistake(koord: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    told = "error: the manifests make no pods: ConfigMap left out, as no pods are known of them\n"
    assert koord("fit", "--demo", "-f", str(tmp_path)) == (2, "", told)
    (tmp_path / "a.yaml").write_text(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {pytorchReplicaSpecs: {}}\n"
    )
    assert koord("fit", "--demo", "-f", str(tmp_path)).err == "error: the manifests make no pods\n"


def test_standard_input_is_read_once(koord: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = koord("fit", "-f", "-", "--snapshot", "-")
    assert done.err == "error: -f and --snapshot cannot both read standard input\n"
    assert koord("fit", "-f", "-", "-f", "-", "--demo").err == "error: -f - can be given only once\n"
    content = Path("examples/resnet.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert koord("fit", "-f", "-", "--demo").code == 1


@pytest.mark.usefixtures("server")
def test_one_more_gang_like_another_is_asked_of_the_cluster(koord: Run) -> None:
    done = koord("fit", "--like", "podgroup/job", "-o", "json")
    assert json.loads(done.out)["gangs"][0]["gang"] == "default/job-copy"


def test_a_live_cluster_is_read_with_what_the_api_server_fills_in(koord: Run, server: ApiServer) -> None:
    done = koord("fit", "--pods", "1", "--request", "cpu=1", "-o", "json")
    assert json.loads(done.out)["gangs"][0]["gang"] == "default/shape"
    asked = {request.path.partition("?")[0] for request in server.log}
    assert {"/apis/scheduling.k8s.io/v1/priorityclasses", "/api/v1/limitranges"} <= asked
    assert "/apis/node.k8s.io/v1/runtimeclasses" not in asked


def test_a_runtime_class_that_may_not_be_read_leaves_it_open_whether_a_pod_fits(
    koord: Run, server: ApiServer, tmp_path: Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {runtimeClassName: kata}\n")
    assert koord("fit", "-f", str(file)).err.endswith("Pod p: RuntimeClass 'kata': none such was read\n")
    for status, reason in ((403, "Forbidden"), (404, "NotFound")):
        server.rules[:] = [Rule(".*/runtimeclasses", status, reason)]
        done = koord("fit", "-f", str(file))
        why = "it depends on RuntimeClass kata (RuntimeClass objects could not be read), which is not evaluated"
        assert (done.code, done.out.partition(".\n")[0]) == (2, f"Cannot tell whether default/p fits: {why}")


def test_profiles_that_may_not_be_listed_leave_manifests_open_and_nothing_else(
    koord: Run, server: ApiServer, tmp_path: Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {schedulerName: koord-scheduler}\n")
    server.rules[:] = [Rule(".*/clustercolocationprofiles", 403, "Forbidden", "you may not")]
    done = koord("fit", "-f", str(file))
    right = "no right to list clustercolocationprofiles.config.koordinator.sh"
    assert done.out.startswith(f"Cannot tell whether default/p fits: it depends on ClusterColocationProfiles ({right})")
    assert "Warning: ClusterColocationProfile: you may not (forbidden-list)\n" in done.out
    assert koord("fit", "--pods", "1", "--request", "cpu=1").code == 0
    server.rules[:] = [Rule(".*/clustercolocationprofiles", 404, "NotFound")]
    done = koord("fit", "-f", str(file))
    assert (done.code, "ClusterColocationProfile" in done.out) == (0, False)


def test_webhooks_are_read_where_pods_ask_for_parts_of_gpus(koord: Run, server: ApiServer, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"

    def ask(limits: str) -> None:
        spec = (
            f"{{schedulerName: koord-scheduler, containers: [{{name: c, image: x, resources: {{limits: {limits}}}}}]}}"
        )
        file.write_text(f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {spec}}}")

    ask("{cpu: 1}")
    server.rules[:] = [Rule(".*/mutatingwebhookconfigurations", 403, "Forbidden", "you may not")]
    assert koord("fit", "-f", str(file)).code == 0
    ask("{koordinator.sh/gpu: 50}")
    done = koord("fit", "-f", str(file))
    right = "no right to list mutatingwebhookconfigurations.admissionregistration.k8s.io"
    told = f"it depends on what Koordinator's webhook makes of parts of GPUs ({right}), which is not evaluated"
    assert (done.code, done.out.partition(".\n")[0]) == (2, f"Cannot tell whether default/p fits: {told}")
    done = koord("fit", "-f", str(file), "--snapshot", write(tmp_path))
    assert "snapshot contains no LimitRange, ClusterColocationProfile or MutatingWebhookConfiguration;" in done.out
