"""Lists decoded slice by slice: the same items as a plain decode, however the bytes are cut."""

import io
import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.reading import read_page

HOSTILE = ['},{"metadata":{', '"items":[', "]}", "\\", "ä\u202e", '},\n        {\n            "metadata": {', ""]
NAMES = st.text(max_size=20) | st.sampled_from(HOSTILE)
KINDS = st.sampled_from([{}, {"apiVersion": "v1", "kind": "Pod"}, {"kind": "Pod", "apiVersion": "v1"}])
OWNERS = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "no item"}}, {"metadata": {}, "kind": "Pod"}] * 2
LAYOUTS = st.sampled_from(
    [{"separators": (",", ":")}, {}, {"indent": 4}, {"indent": 2}, {"indent": 0}, {"separators": (" , ", " : ")}]
)


def listed(
    names: list[str], token: str = "", *, padding: int = 0, kind: dict[str, str] | None = None, behind: bool = False
) -> dict[str, Any]:
    metas = [{"name": name, "annotations": {"x": "y" * padding}} for name in names]
    items = [(kind or {}) | {"metadata": meta, "spec": {}, "status": {"owners": OWNERS}} for meta in metas]
    meta = {"resourceVersion": "1", **({"continue": token} if token else {})}
    head = {"kind": "PodList", "apiVersion": "v1"}
    return head | ({"items": items, "metadata": meta} if behind else {"metadata": meta, "items": items})


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def read(content: bytes, size: int) -> tuple[list[str], str]:
    found: list[Pod] = []
    told = read_page(io.BytesIO(content), Pod, found.extend, size)
    return [pod.metadata.name for pod in found], told.meta.continue_ or ""


@settings(derandomize=True, max_examples=300, deadline=None)
@given(
    names=st.lists(NAMES, max_size=40),
    token=st.sampled_from(["", "next"]),
    padding=st.integers(0, 900),
    size=st.integers(1, 9000),
    kind=KINDS,
    layout=LAYOUTS,
    behind=st.booleans(),
)
def test_any_slicing_of_any_layout_yields_what_a_plain_decode_yields(
    names: list[str], token: str, padding: int, size: int, kind: dict[str, str], layout: dict[str, Any], *, behind: bool
) -> None:
    content = json.dumps(listed(names, token, padding=padding, kind=kind, behind=behind), **layout).encode()
    assert read(content, size) == (names, token)


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(
    names=st.lists(NAMES, max_size=60),
    padding=st.integers(0, 300),
    size=st.integers(1, 3000),
    kind=KINDS,
    layout=LAYOUTS,
    behind=st.booleans(),
)
def test_lists_cut_in_many_ways_yield_what_a_plain_decode_yields(
    names: list[str], padding: int, size: int, kind: dict[str, str], layout: dict[str, Any], *, behind: bool
) -> None:
    content = json.dumps(listed(names, padding=padding, kind=kind, behind=behind), **layout).encode()
    assert read(content, size) == (names, "")


@settings(derandomize=True, max_examples=200, deadline=None)
@given(data=st.data(), size=st.integers(1, 3000), layout=LAYOUTS)
def test_corrupt_bytes_are_an_error_or_what_a_plain_decode_yields(
    data: st.DataObject, size: int, layout: dict[str, Any]
) -> None:
    content = bytearray(json.dumps(listed([f"p{number}" for number in range(20)]), **layout).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        plain = msgspec.json.decode(bytes(content), type=Plain)
        expected: object = ([pod.metadata.name for pod in plain.items or ()], plain.metadata.get("continue") or "")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        expected = "an error"
    try:
        found: object = read(bytes(content), size)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = "an error"
    assert found == expected


class Plain(msgspec.Struct):
    """A list as a plain decode sees it."""

    metadata: dict[str, str] = {}
    items: list[Pod] | None = None


def test_slices_are_handed_on_before_the_last_bytes_are_there() -> None:
    source = io.BytesIO(compact(listed([f"p{number}" for number in range(100)], padding=1000)))
    positions: list[int] = []
    read_page(source, Pod, lambda _: positions.append(source.tell()), 8192)
    assert len(positions) > 10
    assert positions[0] < 20_000


def test_the_place_of_a_fault_is_that_in_the_whole_input() -> None:
    content = compact(listed([f"p{number}" for number in range(100)], padding=100))
    broken = content[:-3] + b"?" + content[-2:]
    with pytest.raises(msgspec.DecodeError, match=rf"\(byte {len(content) - 3}\)"):
        read(broken, 4096)


def test_an_item_larger_than_a_slice_is_read() -> None:
    assert read(compact(listed(["a", "b"], padding=50_000)), 4096) == (["a", "b"], "")


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(listed(["a", "b"], "t"), indent=4).encode(),
        compact({"items": listed(["a", "b"])["items"], "metadata": {"continue": "t"}}),
        compact({"metadata": {"continue": "t"}, "items": listed(["a", "b"])["items"], "kind": "PodList"}),
    ],
    ids=["pretty-printed", "items first", "something behind the items"],
)
def test_other_layouts_are_read_whole_with_the_same_result(content: bytes) -> None:
    assert read(content, 4096) == (["a", "b"], "t")


@pytest.mark.parametrize("comma", ["", ",,", ", ,", ","], ids=["none", "two", "two apart", "one"])
def test_only_one_comma_before_the_items_makes_a_list(comma: str) -> None:
    content = b'{"metadata":{}' + comma.encode() + b'"items":[{"metadata":{"name":"a"}}]}'
    if comma == ",":
        assert read(content, 10) == (["a"], "")
    else:
        with pytest.raises(msgspec.DecodeError):
            read(content, 10)


def test_a_comma_before_the_first_field_makes_no_list() -> None:
    with pytest.raises(msgspec.DecodeError):
        read(b'{,"items":[{"metadata":{"name":"a"}}]}', 10)


def test_a_list_of_null_and_an_empty_one_have_no_items() -> None:
    assert read(b'{"metadata":{},"items":null}', 4096) == ([], "")
    assert read(b'{"metadata":{},"items":[]}', 4096) == ([], "")


@pytest.mark.parametrize("cut", [10, 2000, 9000, -3])
def test_a_truncated_list_is_an_error_and_no_short_list(cut: int) -> None:
    content = compact(listed([f"p{number}" for number in range(200)], padding=100))

    with pytest.raises(msgspec.MsgspecError):
        read(content[:cut], 4096)


def test_an_item_of_another_kind_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `object`"):
        read(compact({"metadata": {}, "items": [{"metadata": 1}]}), 4096)


def test_types_that_several_threads_read_first_at_the_same_time_end_nobody() -> None:
    """In a process of its own: what went wrong was a crash of the interpreter."""
    program = """
import io, sys, threading, msgspec
from kubectl_koord.cluster.reading import read_page
sys.setswitchinterval(1e-6)
page = b'{"items":[{"kind":"x","metadata":{"name":"a","owners":[{"uid":"b"}],"more":"c"}}]}'
for _ in range(150):
    owner = msgspec.defstruct("Owner", [("uid", str, "")])
    meta = msgspec.defstruct("Meta", [("name", str, ""), ("owners", list[owner], []), ("more", str, "")])
    thing = msgspec.defstruct("Thing", [("metadata", meta | None, None), ("kind", str, "")])
    barrier, taken = threading.Barrier(8), []
    def read():
        barrier.wait()
        read_page(io.BytesIO(page), thing, taken.extend)
    threads = [threading.Thread(target=read) for _ in range(8)]
    for each in threads: each.start()
    for each in threads: each.join()
    assert len(taken) == 8
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
