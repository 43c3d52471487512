"""What the API server adds to pods that name a RuntimeClass."""

from typing import Any

import pytest

from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import UnreadRuntimeClass
from kubectl_koord.model.values import Toleration
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_defaults import only, pod

TAINT = {"key": "kata", "operator": "Exists", "effect": "NoSchedule"}


def kata(name: str = "kata", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, **fields}


FIXED = kata(
    overhead={"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [TAINT]},
)


def test_a_pod_has_the_overhead_the_selector_and_the_tolerations_of_its_class(submit: Submit) -> None:
    written = pod({"requests": {"cpu": "2"}}, runtimeClassName="kata", nodeSelector={"zone": "a"})
    found = only(submit(written, FIXED)[0].pending).requirements
    assert dict(found.requests) == {"cpu": 2250, "memory": 120 << 20}
    assert found.selector == (("kata", "yes"), ("zone", "a"))
    assert found.tolerations == (Toleration("kata", "Exists", "", "NoSchedule"),)


def test_a_pod_that_has_all_of_its_class_gets_nothing_twice(submit: Submit) -> None:
    own = {"overhead": {"cpu": "0.25", "memory": "120Mi"}, "nodeSelector": {"kata": "yes"}, "tolerations": [TAINT]}
    first = submit(pod({}, runtimeClassName="kata"), FIXED)[0].pending
    assert submit(pod({}, runtimeClassName="kata", **own), FIXED)[0].pending == first


def test_a_class_may_say_nothing_and_may_stand_in_the_manifests(submit: Submit) -> None:
    items = [pod({"requests": {"cpu": "2"}}, runtimeClassName="bare"), kata("bare")]
    found = only(submit({"kind": "List", "items": items})[0].pending).requirements
    assert (dict(found.requests), found.selector, found.tolerations) == ({"cpu": 2000}, (), ())


def test_the_templates_of_workloads_name_classes_too(submit: Submit) -> None:
    template = {"spec": pod({}, runtimeClassName="kata")["spec"]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    assert dict(only(submit(job, FIXED)[0].pending).requirements.requests) == {"cpu": 250, "memory": 120 << 20}


@pytest.mark.parametrize(
    ("spec", "found", "expected"),
    [
        ({}, (), "RuntimeClass 'kata': none such was read"),
        ({"overhead": {"cpu": "1"}}, (FIXED,), "spec.overhead is not that of RuntimeClass 'kata'"),
        ({"overhead": {"cpu": "1"}}, (kata(),), "spec.overhead is not that of RuntimeClass 'kata'"),
        ({"overhead": {"cpu": "much"}}, (FIXED,), "Pod p: .*'much'"),
        ({"nodeSelector": {"kata": "no"}}, (FIXED,), "spec.nodeSelector has kata=no, RuntimeClass 'kata' kata=yes"),
        ({}, (kata(overhead={"podFixed": {"cpu": "much"}}),), "RuntimeClass kata: cpu: .*'much'"),
    ],
)
def test_what_the_api_server_refuses_is_an_error_that_names_the_pod_and_the_class(
    submit: Submit, spec: dict[str, Any], found: tuple[dict[str, Any], ...], expected: str
) -> None:
    with pytest.raises(KoordError, match=expected):
        submit(pod({}, runtimeClassName="kata", **spec), *found)


def test_a_class_that_could_not_be_read_leaves_the_pods_open_that_name_it(submit: Submit) -> None:
    gap = Gap("RuntimeClass", "forbidden", "you may not")
    written = {"kind": "List", "items": [pod({}, runtimeClassName="kata"), {**pod({}), "metadata": {"name": "q"}}]}
    named, other = submit(written, gaps=[gap])[0].pending
    assert (named.requirements.unevaluated, other.requirements.unevaluated) == ((UnreadRuntimeClass("kata"),), ())
    with_own = {"kind": "List", "items": [pod({}, runtimeClassName="kata"), FIXED]}
    assert only(submit(with_own, gaps=[gap])[0].pending).requirements.unevaluated == ()
