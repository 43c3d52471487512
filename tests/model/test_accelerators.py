"""Cards are counted once, whatever names they go by: the same for topo and for what gangs wait for."""

import pytest

from kubectl_koord.model import objects
from kubectl_koord.wording.words import amount_of, amounts, main_amounts, requests, unit

CORE, RATIO, GPU = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu"


@pytest.mark.parametrize(
    ("resource", "family"),
    [
        ("nvidia.com/gpu", "gpu"),
        ("amd.com/gpu", "gpu"),
        ("dcu.com/gpu", "gpu"),
        (GPU, "gpu"),
        (CORE, "gpu"),
        (RATIO, "gpu"),
        ("huawei.com/Ascend910", "huawei.com/Ascend910"),
        ("huawei.com/npu", "huawei.com/npu"),
        ("nvidia.com/mig-3g.20gb", "nvidia.com/mig-3g.20gb"),
        ("koordinator.sh/gpu-memory", ""),
        ("koordinator.sh/gpu.shared", ""),
        ("koordinator.sh/rdma", ""),
        ("cpu", ""),
        ("gpu", ""),
    ],
)
def test_a_resource_counts_one_family_of_cards_or_none(resource: str, family: str) -> None:
    assert objects.family(resource) == family


@pytest.mark.parametrize(
    ("had", "of_node", "of_pods"),
    [
        ({"nvidia.com/gpu": 8, CORE: 800, RATIO: 800}, 800, 1600),
        ({"nvidia.com/gpu": 8, CORE: 100}, 800, 900),
        ({CORE: 700, RATIO: 800}, 800, 800),
        ({GPU: 100, CORE: 100, RATIO: 50}, 100, 200),
        ({"amd.com/gpu": 2, "nvidia.com/gpu": 1}, 300, 300),
        ({GPU: 800, "huawei.com/npu-core": 160}, 800, 800),
    ],
)
def test_names_of_the_same_cards_count_once_on_a_node_and_pods_have_one_each(
    had: dict[str, int], of_node: int, of_pods: int
) -> None:
    assert objects.of_node(had) == {"gpu": of_node}
    assert objects.of_pods(had) == {"gpu": of_pods}


def test_cores_alone_are_counted_by_themselves() -> None:
    assert objects.of_node({"huawei.com/npu-core": 20}) == {"huawei.com/npu-core": 2000}


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        ({"cpu": 8000, "nvidia.com/gpu": 64}, "64 GPU"),
        ({"cpu": 8000, CORE: 150, RATIO: 150}, "1.5 GPU"),
        ({GPU: 800, "huawei.com/npu-core": 160}, "8 GPU"),
        ({"nvidia.com/gpu": 1, CORE: 50}, "1.5 GPU"),
        ({"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 3}, "1 GPU, 3 mig-1g.5gb"),
        ({"huawei.com/npu": 2}, "2 NPU"),
        ({"cpu": 500, "memory": 1 << 30}, "500m CPU"),
        ({"memory": 128 << 30}, "128Gi memory"),
        ({}, ""),
    ],
)
def test_what_is_waited_for_is_counted_as_the_tree_counts(requested: dict[str, int], words: str) -> None:
    assert main_amounts(requested) == words


def test_shares_are_told_in_cards() -> None:
    assert (unit(CORE), amount_of(CORE, 750, "rounded"), amount_of("nvidia.com/gpu", 7, "rounded")) == (
        "GPU",
        "7.5",
        "7",
    )
    assert amounts([(CORE, 50)]) == "0.5 GPU"
    assert requests((("cpu", 8000), ("huawei.com/Ascend910", 8))) == "8 huawei.com/Ascend910 and 8 CPU"
