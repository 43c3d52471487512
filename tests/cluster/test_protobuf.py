"""Nodes and pods in protobuf: the same answers as in JSON, however the bytes are cut, and no others for broken ones."""

import contextlib
import io
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from kubectl_koord.cluster import protobuf
from kubectl_koord.cluster.api.transport import JSON
from kubectl_koord.cluster.bounds import Bounds, Meter, TooLargeError
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.collect_live import SummingCollector
from kubectl_koord.cluster.objects.nodes import Node
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.protobuf import MESSAGES, field, varint
from kubectl_koord.cluster.reading import SLICE, ListHead, ListMeta, read_encoded_page
from kubectl_koord.cluster.source import StatedInstallation, live
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Snapshot
from tests import encoded
from tests.apiserver import ApiServer
from tests.cluster.conftest import Reach
from tests.cluster.objects.test_listed import EVERY
from tests.cluster.objects.wire import Json, pod, thing
from tests.conformance.cases import CASES, Case, read_cases

NODES = (
    thing(
        "Node",
        "n1",
        labels={"zone": "a", "empty": ""},
        annotations={"node.koordinator.sh/reservation": '{"resources": {"cpu": "1"}}'},
        spec={"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        status={
            "capacity": {"cpu": "8", "nvidia.com/gpu": "8"},
            "allocatable": {"cpu": "8", "nvidia.com/gpu": "7"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T09:00:00Z"}],
        },
    ),
    thing("Node", "n2", status={"allocatable": {"cpu": "8", "example.com/none": "0"}}),
)


def read(content: bytes, size: int = SLICE, bounds: Bounds | None = None) -> tuple[list[str], ListHead]:
    found: list[protobuf.Message] = []
    head = read_encoded_page(io.BytesIO(content), "Pod", found.extend, Meter(bounds or Bounds()), size)
    return [one.metadata.name for one in found], head


def _fields_of(form: type[Struct], message: str) -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield the names of the fields of a type and of the message that it is made of, and so on within."""
    own = dict(zip(form.__struct_encode_fields__, form.__struct_fields__, strict=True))
    inlined = [one for one in MESSAGES[message] if one.form == "^"]
    every = [one for one in MESSAGES[message] if one.form != "^"]
    every += [one for within in inlined for one in MESSAGES[within.kind]]
    yield message, set(own), {one.name for one in every}
    hints = get_type_hints(form)
    for one in every:
        inner = [part for part in _parts(hints[own[one.name]]) if isinstance(part, type) and issubclass(part, Struct)]
        for part in inner:
            yield from _fields_of(part, one.kind)


def _parts(hint: Any) -> Iterator[Any]:  # noqa: ANN401
    yield hint
    for part in get_args(hint):
        yield from _parts(part)


@pytest.mark.parametrize(("form", "name"), [(Pod, "Pod"), (Node, "Node")])
def test_the_schema_has_every_field_that_json_has(form: type[Struct], name: str) -> None:
    found = list(_fields_of(form, name))
    assert len(found) >= 4
    for message, of_json, of_protobuf in found:
        assert of_json == of_protobuf, message


def test_a_list_is_read_with_its_version_and_the_token_of_its_next_page() -> None:
    names, head = read(encoded.page("Pod", EVERY, version="12", more="next"))
    assert names == [one["metadata"]["name"] for one in EVERY]
    assert head == ListHead("PodList", ListMeta("next", "12"), "v1")


@settings(derandomize=True, max_examples=50, deadline=None)
@given(count=st.integers(0, 40), padding=st.integers(0, 900), size=st.integers(1, 9000))
def test_any_slicing_yields_all_items(count: int, padding: int, size: int) -> None:
    pods = [pod(f"p-{at}", annotations={"x": "y" * padding}) for at in range(count)]
    assert read(encoded.page("Pod", pods), size)[0] == [f"p-{at}" for at in range(count)]


def as_the_package_reads(entry: bytes) -> dict[str, str] | None:
    try:
        found = protobuf.parsed("Text", entry)
    except protobuf.schema().fault:
        return None
    return {found.key: found.value}


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 129, 255, 256, 16_383, 16_384, 40_000])
def test_a_text_of_any_length_is_read_as_the_package_reads_it(size: int) -> None:
    for key, value in ((b"k" * size, b"v"), (b"k", b"v" * size)):
        entry = field(1, key) + field(2, value)
        assert protobuf.texts([entry]) == {key.decode(): value.decode()}
        for broken_off in (entry[:-1], entry[:4], entry[:2], entry[1:], entry + b"x"):
            found = None
            with contextlib.suppress(protobuf.schema().fault):
                found = protobuf.texts([broken_off])
            assert found == as_the_package_reads(broken_off)


def taken(collector: Collector, content: bytes, kind: str) -> Snapshot:
    read_encoded_page(io.BytesIO(content), collector.messages[kind], lambda items: collector.add_all(kind, items))
    return collector.snapshot(moment="", source="")


@pytest.mark.parametrize("collector", [Collector, SummingCollector])
def test_nodes_are_the_same_as_in_json(collector: type[Collector]) -> None:
    whole = Collector()
    whole.add_all("Node", msgspec.convert(NODES, list[Node]))
    assert taken(collector(), encoded.page("Node", NODES), "Node").nodes == whole.snapshot(moment="", source="").nodes


def broken(content: bytes, seed: int) -> bytes:
    """Return the bytes with a few changed, cut out or put in."""
    chance, changed = random.Random(seed), bytearray(content)  # noqa: S311 - to be repeated
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed))
        match chance.randrange(3):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                del changed[at : at + chance.randint(1, 30)]
            case _:
                changed[at:at] = chance.randbytes(chance.randint(1, 9))
    return bytes(changed)


def read_broken(seeds: range) -> int:
    """Read broken lists: each is an error of the list or of an object, or some snapshot. Return how many are errors."""
    lists, errors = (encoded.page("Pod", EVERY), encoded.page("Node", NODES)), 0
    for seed in seeds:
        collector: Collector = (Collector, SummingCollector)[seed // 2 % 2]()
        try:
            taken(collector, broken(lists[seed % 2], seed), ("Pod", "Node")[seed % 2])
        except (msgspec.MsgspecError, TooLargeError, KoordError):
            errors += 1
    return errors


def test_broken_bytes_are_an_error_or_a_list() -> None:
    assert 100 < read_broken(range(300)) < 300


@pytest.mark.soak
def test_many_broken_bytes_are_errors_or_lists() -> None:
    assert read_broken(range(20_000))


@pytest.mark.parametrize("cut", [1, 3, 20, 60, 200])
def test_a_list_that_is_cut_off_is_an_error_and_no_short_list(cut: int) -> None:
    content = encoded.page("Pod", EVERY)
    with pytest.raises(msgspec.DecodeError):
        read(content[: len(content) - cut])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"kind":', "It is no protobuf of Kubernetes (byte 4)"),
        (b"k8s", "Input data was truncated (byte 0)"),
        (b"k8s\0" + b"\xff" * 11, "A number is too long (byte 14)"),
        (b"k8s\0" + field(3, b"gzip"), "It is packed (byte 10)"),
        (b"k8s\0" + b"\x0b", "A field has none of the types of proto3 (byte 5)"),
        (b"k8s\0" + varint(2 << 3 | 2) + varint(1) + field(2, b""), "The last item is longer than the list (byte 8)"),
        (b"k8s\0" + field(2, field(2, b"\x0a\x02\x08")), "Error parsing message"),
    ],
)
def test_what_is_no_list_is_an_error(content: bytes, problem: str) -> None:
    with pytest.raises(msgspec.DecodeError) as raised:
        read(content)
    assert str(raised.value).startswith(problem)


def test_fields_of_later_versions_are_passed_over() -> None:
    later = field(9, b"x") + field(8, 300) + varint(7 << 3 | 1) + bytes(8) + varint(6 << 3 | 5) + bytes(4)
    said = field(1, field(1, b"v1") + field(2, b"PodList"))
    content = b"k8s\0" + later + said + field(2, later + field(2, encoded.message("Pod", pod("p"))) + later) + later
    assert read(content) == (["p"], ListHead("PodList", None, "v1"))


def test_an_item_or_a_list_beyond_the_bounds_is_an_error() -> None:
    pods = [pod(f"p-{at}", annotations={"x": "y" * 500}) for at in range(3)]
    with pytest.raises(TooLargeError, match="one object is larger than 400 bytes"):
        read(encoded.page("Pod", pods), bounds=Bounds(object_bytes=400))
    with pytest.raises(TooLargeError, match="more than 2 objects"):
        read(encoded.page("Pod", pods), bounds=Bounds(objects=2))


def test_a_time_beyond_all_dates_is_an_error() -> None:
    late = field(1, field(1, b"p") + field(8, field(1, 1 << 60))) + field(2, field(10, b"n1"))
    with pytest.raises(msgspec.DecodeError, match="are beyond all dates"):
        taken(Collector(), b"k8s\0" + field(2, field(2, late)), "Pod")


def stored(case: Case) -> Mapping[str, list[Json]]:
    found: dict[str, list[Json]] = {"Node": [], "Pod": []}
    for item in case.cluster["items"]:
        if item["kind"] in found:
            found[item["kind"]].append(item)
    return found


def assert_equal_both_ways(case: Case) -> None:
    whole, other = Collector(), Collector()
    for kind, items in stored(case).items():
        whole.add_all(kind, msgspec.convert(items, list[whole.wire_types[kind]]))  # type: ignore[name-defined]
        taken(other, encoded.page(kind, items), kind)
    assert other.snapshot(moment="", source="") == whole.snapshot(moment="", source=""), case.name


def test_recorded_clusters_are_the_same_both_ways() -> None:
    cases = [case for at, case in enumerate(read_cases(CASES, ("numa", "reservation"))) if at % 25 == 0]
    assert len(cases) > 3
    for case in cases:
        assert_equal_both_ways(case)


@pytest.mark.soak
def test_all_recorded_clusters_are_the_same_both_ways() -> None:
    for case in read_cases(CASES):
        assert_equal_both_ways(case)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    with ApiServer({"items": [*NODES, *EVERY]}) as server:
        server.protobuf = True
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        yield server


def accepted(server: ApiServer, plural: str) -> set[str]:
    return {one.headers["accept"] for one in server.requests(f"/api/v1/{plural}")}


def snapshot(reach: Reach, *, sums: bool = False) -> Snapshot:
    with reach() as transport:
        kinds = ("Node", "Pod") if sums else ("Node", "Pod", "PodGroup", "ConfigMap")
        found = live(transport, kinds, transport.namespace, StatedInstallation("1.8"), sums=sums)
    return msgspec.structs.replace(found, moment="")


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.usefixtures("way")
def test_nodes_and_pods_alone_are_asked_for_in_protobuf(
    served: ApiServer, reach: Reach, monkeypatch: pytest.MonkeyPatch, *, sums: bool
) -> None:
    found = snapshot(reach, sums=sums)
    assert accepted(served, "pods") == accepted(served, "nodes") == {f"{protobuf.MIME}, {JSON}"}
    others = {one.headers["accept"] for one in served.log if one.path.rpartition("/")[2] not in {"pods", "nodes"}}
    assert not any(protobuf.MIME in one for one in others)
    served.protobuf = False  # a server that answers in JSON all the same
    assert snapshot(reach, sums=sums) == found
    served.log.clear()
    monkeypatch.setattr(protobuf, "find_spec", lambda _: None)
    assert snapshot(reach, sums=sums) == found
    assert accepted(served, "pods") == {JSON}


def test_a_reader_in_python_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    assert protobuf.is_readable()
    monkeypatch.setattr(protobuf, "find_spec", missing)
    assert not protobuf.is_readable()
