"""Lists decoded slice by slice: the same items as a plain decode, however the bytes are cut."""

import io
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster import wire
from kubectl_koord.cluster.stream import read_list

HOSTILE = ['},{"metadata":{', '"items":[', "]}", "\\", "ä\u202e", ""]
NAMES = st.text(max_size=20) | st.sampled_from(HOSTILE)


def listed(names: list[str], token: str = "", *, padding: int = 0) -> dict[str, Any]:
    items = [{"metadata": {"name": name, "annotations": {"x": "y" * padding}}, "spec": {}} for name in names]
    meta = {"resourceVersion": "1", **({"continue": token} if token else {})}
    return {"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items}


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def read(content: bytes, size: int) -> tuple[list[str], str]:
    found: list[wire.Pod] = []
    token = read_list(io.BytesIO(content), wire.Pod, found.extend, size)
    return [pod.metadata.name for pod in found], token


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(NAMES, max_size=40), st.sampled_from(["", "next"]), st.integers(0, 900), st.integers(4096, 9000))
def test_any_slicing_yields_what_a_plain_decode_yields(names: list[str], token: str, padding: int, size: int) -> None:
    assert read(compact(listed(names, token, padding=padding)), size) == (names, token)


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
