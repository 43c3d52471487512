"""Chinese on the screen: its stops are in full width, and it breaks between any two signs but before a stop."""

from collections.abc import Iterator

import pytest

from kubectl_koord import language
from kubectl_koord.render.plain import harmless
from kubectl_koord.render.shown import folded
from kubectl_koord.render.terminal import wrapped


@pytest.fixture
def chinese() -> Iterator[None]:
    language.speak("zh", str)
    yield
    language.speak("en", str)


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("joined", "set_in_type"),
    [
        ("节点, 设备", "节点，设备"),
        ("12 个节点; 3 个空闲.", "12 个节点；3 个空闲。"),
        ("node-11: 缺少标签", "node-11：缺少标签"),
        ("优先级 1000. 按 1.8 评估", "优先级 1000。按 1.8 评估"),
        ("查看 该 gang", "查看该 gang"),
        ("... 以及另外 5 个", "... 以及另外 5 个"),
        ("error: 没有节点", "error: 没有节点"),
        (
            '报告: "0/12 nodes are available: 3 Insufficient cpu."',
            '报告："0/12 nodes are available: 3 Insufficient cpu."',
        ),
        ("node-0, node-1", "node-0, node-1"),
    ],
)
def test_stops_beside_chinese_are_in_full_width_and_those_of_others_stay(joined: str, set_in_type: str) -> None:
    assert harmless(joined) == set_in_type


def test_in_english_nothing_is_set_anew() -> None:
    assert harmless("节点, 设备") == "节点, 设备"


def test_a_chinese_sentence_breaks_between_signs_and_never_before_a_stop() -> None:
    assert wrapped("没有任何 spine 放得下其 4 个 Pod；最好的放得下 3 个。", 20) == [
        "没有任何 spine 放得",
        "下其 4 个 Pod；最好",
        "的放得下 3 个。",
    ]
    assert wrapped("（甲，乙）。", 6) == ["（甲，", "乙）。"]


@pytest.mark.usefixtures("chinese")
def test_a_long_list_of_names_in_chinese_is_folded_as_in_english() -> None:
    assert folded("缺少标签：a、b、c、d 和 e。", 2) == "缺少标签：a, b and 3 more (--all shows them)。"
    assert folded("缺少标签：a、b。", 2) == "缺少标签：a、b。"
    assert folded("每个 Pod 请求 8 GPU、32 CPU 和 64Gi memory。", 2) == "每个 Pod 请求 8 GPU、32 CPU 和 64Gi memory。"
