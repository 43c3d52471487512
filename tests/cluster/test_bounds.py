"""However much is sent, no more than so much of it is held, and what is too much is said in one line."""

import gzip
import io
import itertools
import json
from collections.abc import Iterator
from cProfile import Profile
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, TooLargeError, resident
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.files import read_objects
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.reading import Rejoined, read_page
from kubectl_koord.cluster.watching import lines
from kubectl_koord.errors import KoordError

SMALL = Bounds(object_bytes=20_000, values=500, objects=100)
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
LARGER = "one object is larger than 20000 bytes"


class Anything(msgspec.Struct):
    """An object of which nothing is read."""


class Endless:
    """Some bytes, and then others over and over; `taken` is how many were asked for."""

    def __init__(self, first: bytes, piece: bytes) -> None:
        self._pieces = itertools.chain([first], itertools.repeat(piece))
        self._rest = b""
        self.taken = 0

    def read(self, size: int = -1, /) -> bytes:
        assert size >= 0, "all of what has no end"
        while len(self._rest) < size:
            self._rest += next(self._pieces)
        found, self._rest = self._rest[:size], self._rest[size:]
        self.taken += size
        return found

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        buffer[:] = self.read(len(buffer))
        return len(buffer)


ENDLESS = {
    "blanks": (b"", b" " * 99, LARGER),
    "a string": (b'{"kind": "', b"a", LARGER),
    "a string in YAML": (b'kind: "', b"a ", LARGER),
    "words": (b"", b"y\n", LARGER),
    "comments": (b"", b"# nothing\n", LARGER),
    "an item": (b'{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"', b"a", LARGER),
    "a list in an item": (b'{"items":[{"kind":"Pod","x":[', b'["],["],', LARGER),
    "what stands before the items": (b'{"kind":"List","metadata":{"x":"', b"a", LARGER),
    "what stands behind the items": (b'{"items":[{"kind":"Pod","metadata":{"name":"a"}}],"x":"', b"a", LARGER),
    "values": (b"a:\n", b"- 1\n", "one object has more than 500 values"),
    "fields": (b"", b"a: 1\n", "one object has more than 500 values"),
    "equal pods": (b'{"items":[' + json.dumps(POD).encode(), b"," + json.dumps(POD).encode(), "more than 100 objects"),
    "equal pods in YAML": (b"items:\n", b"- " + json.dumps(POD).encode() + b"\n", "more than 100 objects"),
    "documents": (
        b"",
        json.dumps(POD)[1:-1].join("{}").replace("{", "--- {", 1).encode() + b"\n",
        "more than 100 objects",
    ),
    "empty documents": (b"", b"---\n", "more than 100 objects"),
    "other kinds": (b'{"items":[{"kind":"X"}', b',{"kind":"X"}', "more than 100 objects"),
}


@pytest.mark.parametrize(("first", "piece", "said"), ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_what_has_no_end_is_refused_early(
    tmp_path: Path, first: bytes, piece: bytes, said: str, *, packed: bool
) -> None:
    content = first + piece * (400_000 // len(piece))
    path = tmp_path / "cluster"
    path.write_bytes(gzip.compress(content) if packed else content)

    with pytest.raises(KoordError) as refused:
        stored.read([str(path)], Collector(), 1000, SMALL)

    assert refused.value.message == f"error: {path}: {said}"


@pytest.mark.parametrize(
    ("first", "piece"), [(first, piece) for first, piece, _ in ENDLESS.values() if first.startswith(b"{")]
)
def test_a_page_without_an_end_is_read_no_further_than_is_borne(first: bytes, piece: bytes) -> None:
    source = Endless(first, piece)

    with pytest.raises(TooLargeError):
        read_page(source, Anything, lambda _: None, 1000, Meter(SMALL))

    assert source.taken < 200_000


def test_the_objects_of_all_pages_count_together() -> None:
    meter = Meter(SMALL)
    page = json.dumps({"items": [POD] * 30}).encode()

    for _ in range(3):
        read_page(io.BytesIO(page), Pod, lambda _: None, 1000, meter)
    with pytest.raises(TooLargeError, match=r"^more than 100 objects$"):
        read_page(io.BytesIO(page), Pod, lambda _: None, 1000, meter)


@pytest.mark.parametrize(("kind", "told_as"), [("Pod", "Pod"), ("Widget", "other object")])
def test_as_many_documents_again_are_as_much_work_again_and_each_is_told_as_it_comes(kind: str, told_as: str) -> None:
    def calls(number: int) -> int:
        documents = (f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a{at}}}" for at in range(number))
        seen: dict[str, int] = {}
        profile = Profile(builtins=False)
        profile.runcall(stored.take, "many.yaml", "\n---\n".join(documents).encode(), Collector(seen=seen))
        assert seen == {told_as: number}
        return sum(entry.callcount for entry in profile.getstats())

    calls(1)  # modules are imported at first
    few, more, most = calls(50), calls(100), calls(200)
    assert most - more == pytest.approx(2 * (more - few), rel=0.02)


def test_an_object_may_be_as_large_as_is_borne() -> None:
    found: list[Pod] = []
    large = {"metadata": {"name": "p", "annotations": {"x": "y" * 15_000}}}

    read_page(io.BytesIO(json.dumps({"items": [large] * 9}).encode()), Pod, found.extend, 1000, Meter(SMALL))

    assert len(found) == 9


def test_a_list_whose_items_begin_late_and_in_another_order_is_read_in_slices(tmp_path: Path) -> None:
    meta = {"annotations": {"x": "y" * 5000}}
    items: list[Any] = [{"kind": "Node", "metadata": {"name": f"n{number}"}} for number in range(90)]
    items[1::2] = [dict(reversed(item.items())) for item in items[1::2]]
    items.insert(1, {"kind": "Secret", "data": [{"metadata": {}, "kind": "]}"}, "\\", '"'], "metadata": {}})
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "metadata": meta, "items": items}))
    collector = Collector()

    stored.read([str(path)], collector, 500, Bounds(object_bytes=5500))

    assert sorted(collector.nodes) == sorted(f"n{number}" for number in range(90))


def grown(*steps: int) -> Iterator[int]:
    yield from steps


def test_memory_is_looked_at_as_text_comes() -> None:
    sizes = grown(100, 150, 200, 201)
    meter = Meter(Bounds(memory=100), lambda: next(sizes))

    meter.count(1, 100)
    meter.count(1, 100)
    with pytest.raises(TooLargeError, match=r"^reading it takes more than 100 bytes of memory$"):
        meter.count(1, 100)


def test_our_own_memory_is_told() -> None:
    assert 10 << 20 < resident() < 64 << 30


def test_a_watch_bears_no_line_longer_than_an_object() -> None:
    assert list(lines([b"a\nb", b"c\n", b"d"], SMALL)) == [b"a", b"bc"]
    with pytest.raises(TooLargeError, match=f"^{LARGER}$"):
        list(lines(itertools.repeat(b"a" * 999), SMALL))


BOMB = "a: &a [x, x, x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n" for before, one in itertools.pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "one object has more than 500 values"),
        (f"kind: List\nitems:\n- {BOMB.replace(chr(10), chr(10) + '  ')}", "one object has more than 500 values"),
        ("a: &a\n  b: *a\n", " line 2 not YAML: the anchor 'a' contains itself"),
        ("a: *b\n", " line 1 not YAML: found undefined alias 'b'"),
        ("a: " + "[" * 50_000, " not YAML: maximum recursion depth exceeded"),
        ("- " * 5_000, " not YAML: maximum recursion depth exceeded"),
        (
            "items:\n" + "".join(f"- {{kind: X, x: &a{number} [x, x, x, x, x, x, x]}}\n" for number in range(90)),
            "one object has more than 500 values",
        ),
    ],
    ids=["bomb", "bomb in an item", "itself", "nobody", "deep", "deep in YAML", "anchors of many items"],
)
def test_aliases_and_depth_do_no_harm(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(text)

    with pytest.raises(KoordError) as refused:
        stored.read([str(path)], Collector(), bounds=SMALL)

    assert said in refused.value.message
    assert refused.value.message.startswith(f"error: {path}:")


def test_aliases_and_merges_are_read_as_what_they_stand_for(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(
        "items:\n- &first\n  kind: Node\n  metadata: &meta {name: a, labels: &l {x: y}}\n"
        "- <<: *first\n  metadata: {<<: *meta, name: b}\n---\n- 7\n".replace("---\n- 7\n", "")
    )
    collector = Collector()

    stored.read([str(path)], collector)

    assert {name: node.labels for name, node in collector.nodes.items()} == {"a": (("x", "y"),), "b": (("x", "y"),)}


def test_yaml_is_read_as_pyyaml_reads_it() -> None:
    """A List's items one by one, and everything else document by document."""
    text = (
        "a: [1, {b: ~}]\n---\n- x\n- 0x10\n---\nitems: [1, {c: 2}]\nkind: List\n---\n!!map {items: [1]}\n---\n'word'\n"
    )
    plain = list(yaml.safe_load_all(text))

    found = list(read_objects(Rejoined(text.encode(), io.BytesIO()), Meter()))

    assert found == [*plain[:2], *plain[2]["items"], *plain[3:]]


def test_nobodys_cluster_is_refused() -> None:
    """What an API server stores is smaller by far: its requests end at 3 MiB, and clusters at 150,000 pods."""
    assert BOUNDS.object_bytes > 2 * (3 << 20)
    assert BOUNDS.objects > 3 * 300_000
