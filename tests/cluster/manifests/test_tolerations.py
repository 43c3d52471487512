"""What the API server adds to pods whose resource is the key of a taint, as far as the pods that were made tell."""

from typing import Any

import pytest

from kubectl_koord.model.unevaluated import OpenToleration
from kubectl_koord.model.values import Toleration
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_defaults import only, pod

GPU, ADDED = "nvidia.com/gpu", {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TOLERATES = (Toleration(GPU, "Exists", "", "NoSchedule"),)
FOUR = {"limits": {GPU: "4"}, "requests": {GPU: "4"}}


def node(*taints: tuple[str, str]) -> dict[str, Any]:
    written = [{"key": key, "value": "present", "effect": effect} for key, effect in taints]
    return {"kind": "Node", "metadata": {"name": "n1"}, "spec": {"taints": written}}


def there(name: str, *tolerations: dict[str, str], **fields: object) -> dict[str, Any]:
    written = pod(FOUR, tolerations=[*tolerations], **fields)
    return written | {"metadata": {"name": name, "namespace": "default"}}


TAINTED = node((GPU, "NoSchedule"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((TAINTED, there("runs", ADDED, nodeName="n1")), (TOLERATES, ())),
        ((TAINTED, there("waits", ADDED)), (TOLERATES, ())),
        ((TAINTED, there("runs", {"operator": "Exists"}, nodeName="n1")), ((), ())),
        ((TAINTED, there("waits")), ((), ())),
        ((TAINTED,), (TOLERATES, (OpenToleration(GPU),))),
        ((TAINTED, there("waits"), there("runs", ADDED, nodeName="n1")), (TOLERATES, (OpenToleration(GPU),))),
        ((TAINTED, there("done") | {"status": {"phase": "Failed"}}), (TOLERATES, (OpenToleration(GPU),))),
        ((node((GPU, "NoExecute")),), ((), ())),
        ((node(("dedicated", "NoSchedule"), ("kubernetes.io/batch-cpu", "NoSchedule")),), ((), ())),
    ],
)
def test_a_pod_tolerates_the_taint_of_its_resource_as_the_pods_that_were_made(
    submit: Submit, found: tuple[dict[str, Any], ...], expected: object
) -> None:
    made = next(one for one in submit(pod(FOUR), *found)[0].pending if one.name == "p").requirements
    assert (made.tolerations, made.unevaluated) == expected


def test_what_is_tolerated_already_or_not_requested_is_left_as_it_is(submit: Submit) -> None:
    own = {"key": GPU, "operator": "Equal", "value": "present"}
    made = only(submit(pod(FOUR, tolerations=[own]), TAINTED)[0].pending).requirements
    assert (made.tolerations, made.unevaluated) == ((Toleration(GPU, "Equal", "present"),), ())
    assert only(submit(pod({"requests": {"cpu": "2"}}), TAINTED)[0].pending).requirements.tolerations == ()
