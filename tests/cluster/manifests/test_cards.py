"""What Koordinator's webhook makes of GPUs that pods of manifests ask for in parts."""

from typing import Any

import pytest

from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import OpenCards
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_defaults import limit_range, only, pod
from tests.cluster.manifests.test_webhook import namespace, profile

GIB = 1 << 30


def webhooks(*names: str) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "koordinator-mutating-webhook-configuration"},
        "webhooks": [{"name": f"{name}.koordinator.sh"} for name in names],
    }


THERE = webhooks("melasticquota", "mpod-create")


def asking(**parts: Any) -> dict[str, Any]:  # noqa: ANN401
    asked = {_NAMES[name]: amount for name, amount in parts.items()}
    return pod({"limits": asked})


_NAMES = {
    "gpu": "koordinator.sh/gpu",
    "core": "koordinator.sh/gpu-core",
    "memory": "koordinator.sh/gpu-memory",
    "ratio": "koordinator.sh/gpu-memory-ratio",
    "shared": "koordinator.sh/gpu.shared",
    "old": "kubernetes.io/gpu",
    "cards": "nvidia.com/gpu",
}


def parts(submit: Submit, written: dict[str, Any], *there: dict[str, Any]) -> dict[str, int]:
    asked = dict(only(submit(written, *there)[0].pending).requirements.requests)
    return {short: asked[name] for short, name in _NAMES.items() if name in asked}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"gpu": 50}, {"core": 50, "ratio": 50, "shared": 1}),
        ({"gpu": "100"}, {"core": 100, "ratio": 100, "shared": 1}),
        ({"gpu": 800}, {"core": 800, "ratio": 800, "shared": 8}),
        ({"gpu": 150}, {"core": 150, "ratio": 150, "shared": 1}),
        ({"gpu": 200, "core": 10, "cards": 1}, {"core": 200, "ratio": 200, "shared": 2, "cards": 1}),
        ({"gpu": 200, "shared": 1}, {"core": 200, "ratio": 200, "shared": 1}),
        ({"core": 30, "memory": "8Gi"}, {"core": 30, "memory": 8 * GIB, "shared": 1}),
        ({"core": 300, "ratio": 400}, {"core": 300, "ratio": 400, "shared": 4}),
        ({"core": 100, "ratio": 200, "shared": 2}, {"core": 100, "ratio": 200, "shared": 2}),
        ({"memory": "8Gi"}, {"memory": 8 * GIB, "shared": 1}),
        ({"cards": 2}, {"cards": 2}),
        ({"old": 50}, {"gpu": 50}),
    ],
    ids=range(12),
)
def test_the_webhook_asks_for_parts_and_the_number_of_cards(
    submit: Submit, asked: dict[str, Any], expected: dict[str, int]
) -> None:
    assert parts(submit, asking(**asked), THERE) == expected


def test_containers_are_split_each_alone_and_those_of_init_not_at_all(submit: Submit) -> None:
    each = {"limits": {"koordinator.sh/gpu": 100}}
    assert parts(submit, pod(each, {}, each), THERE) == {"core": 200, "ratio": 200, "shared": 2}
    written = pod({"limits": {"koordinator.sh/gpu": 200}}, initContainers=[{"resources": each}])
    assert parts(submit, written, THERE) == {"gpu": 100, "core": 200, "ratio": 200, "shared": 2}


def test_how_many_cards_cores_alone_are_depends_on_the_version(submit: Submit) -> None:
    found = only(submit(asking(core=200, memory="16Gi"), THERE)[0].pending)
    assert found.requirements.unevaluated == (OpenCards("version"),)
    assert dict(found.requirements.requests) == {_NAMES["core"]: 200, _NAMES["memory"]: 16 * GIB}


@pytest.mark.parametrize("there", [(), (webhooks("melasticquota"),), (THERE, namespace(**{"control-plane": "x"}))])
def test_where_no_webhook_gets_the_pod_it_asks_as_it_is_written(submit: Submit, there: tuple[dict[str, Any]]) -> None:
    assert parts(submit, asking(gpu=200), *there) == {"gpu": 200}


def test_a_profile_is_applied_first_and_a_limitrange_once_more(submit: Submit) -> None:
    wanted = profile(schedulerName="mine")
    ranged = limit_range(default={"cpu": "2"})
    found = only(submit(asking(gpu=200), THERE, wanted, ranged)[0].pending)
    assert (found.scheduler, dict(found.requirements.requests)) == (
        "mine",
        {"cpu": 2000, _NAMES["core"]: 200, _NAMES["ratio"]: 200, _NAMES["shared"]: 2},
    )


def test_whether_there_is_a_webhook_is_open_where_that_could_not_be_read(submit: Submit) -> None:
    def opened(code: Any, **parts: int) -> tuple[object, ...]:  # noqa: ANN401
        gap = Gap("MutatingWebhookConfiguration", code, "you may not")
        return only(submit(asking(**parts), gaps=[gap])[0].pending).requirements.unevaluated

    assert opened("forbidden", gpu=200) == (OpenCards("unread"),)
    assert opened("forbidden", core=200, ratio=200, shared=2) == ()
    assert opened("not-in-input", gpu=200) == ()


def test_an_amount_that_is_none_is_told_with_its_resource(submit: Submit) -> None:
    with pytest.raises(KoordError, match=r"document 1: Pod p: koordinator.sh/gpu: 'many' is not a quantity"):
        submit(asking(gpu="many"), THERE)


def test_only_pods_that_ask_for_parts_need_the_webhooks_read(submit: Submit) -> None:
    assert submit(asking(core=50, ratio=50))[1].asks_parts
    assert not submit(asking(cards=2))[1].asks_parts
