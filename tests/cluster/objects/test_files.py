"""Files as they come: Lists, single objects, YAML, gzip; and errors that name file, object and field."""

import gzip
import io
import json
import os
import sys
import threading
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster import kinds, stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.files import files_of
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Snapshot

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
LIST = {"apiVersion": "v1", "kind": "List", "items": [NODE, {"kind": "Secret", "metadata": {"name": "s"}}]}
YAML = """\
apiVersion: v1
kind: Node
metadata: {name: n1, creationTimestamp: 2026-11-20T09:00:00Z}
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n2}}
- {apiVersion: v1, kind: Secret, metadata: {name: s}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, creationTimestamp: 2026-11-20T09:00:00Z}, spec: {priority: "5"}}
"""


def names(content: bytes) -> list[str]:
    collector = Collector()
    stored.take("f", content, collector)
    return list(collector.snapshot(moment="", source="file").nodes)


def error(content: bytes | str) -> str:
    with pytest.raises(KoordError) as refused:
        names(content if isinstance(content, bytes) else content.encode())
    return refused.value.message


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(LIST),
        json.dumps(LIST, indent=4),
        "\n  " + json.dumps(LIST),
        json.dumps(NODE),
        json.dumps({"metadata": {"name": "n1"}, "kind": "Node"}),
        json.dumps({"kind": "NodeList", "items": [NODE]}),
    ],
)
def test_json_in_any_dress(content: str) -> None:
    assert names(content.encode()) == ["n1"]


def test_an_empty_list_holds_nothing() -> None:
    assert names(b'{"kind": "List", "items": []}') == []


def test_yaml_documents_and_lists_in_them() -> None:
    collector = Collector()
    stored.take("f", YAML.encode(), collector)
    found = collector.snapshot(moment="", source="file")
    assert list(found.nodes) == ["n1", "n2"]
    (waiting,) = found.pending
    assert (waiting.priority, waiting.created) == (5, "2026-11-20T09:00:00Z")


def test_a_file_may_be_packed(tmp_path: Path) -> None:
    packed, plain = tmp_path / "a.json.gz", tmp_path / "b.yaml"
    packed.write_bytes(gzip.compress(json.dumps(LIST).encode()))
    plain.write_text(YAML)
    collector = Collector()
    stored.read([str(packed), str(plain)], collector)
    assert list(collector.snapshot(moment="", source="file").nodes) == ["n1", "n2"]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(LIST).encode())))
    collector = Collector()
    stored.read(["-"], collector)
    assert collector.kinds == {"Node"}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")
    with pytest.raises(KoordError) as refused:
        stored.read([missing], Collector())
    assert refused.value.message == f"error: the path {missing!r} cannot be read: No such file or directory"


@pytest.mark.parametrize("content", [b"\x1f\x8bnonsense", gzip.compress(b"{}" * 100, mtime=0)[:-9]])
def test_a_broken_gzip(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gz"
    path.write_bytes(content)
    with pytest.raises(KoordError, match=r"broken\.gz: broken gzip: "):
        stored.read([str(path)], Collector())


class IsalError(Exception):
    """What isal raises."""


class Unpacker(gzip.GzipFile):
    """What isal offers in the place of the standard library's."""

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        try:
            return super().readinto(buffer)
        except zlib.error as problem:
            raise IsalError(str(problem)) from None

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except zlib.error as problem:
            raise IsalError(str(problem)) from None


def corrupt(size: int, at: int) -> bytes:
    nodes = [NODE | {"metadata": {"name": f"n{number}"}} for number in range(size)]
    packed = bytearray(
        gzip.compress(json.dumps({"apiVersion": "v1", "items": nodes, "kind": "List"}).encode(), mtime=0)
    )
    packed[at:at] = b"\xff" * 40
    return bytes(packed)


@pytest.mark.parametrize("fast", [False, True], ids=["zlib", "isal"])
@pytest.mark.parametrize("at", [12, -2000], ids=["at its beginning", "behind the first slice"])
def test_packed_bytes_that_cannot_be_unpacked_are_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, *, fast: bool
) -> None:
    fake = SimpleNamespace(igzip=SimpleNamespace(IGzipFile=Unpacker), isal_zlib=SimpleNamespace(IsalError=IsalError))
    monkeypatch.setitem(sys.modules, "isal", fake if fast else None)
    path = tmp_path / "corrupt.gz"
    path.write_bytes(corrupt(30_000, at))
    with pytest.raises(KoordError, match=r"^error: .*corrupt\.gz: broken gzip: "):
        stored.read([str(path)], Collector(), 1000)


def listed(*items: object) -> str:
    return json.dumps({"kind": "List", "items": items})


FORBIDDEN = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "nodes is forbidden", "code": 403}


@pytest.mark.parametrize(
    "content",
    [
        '{"kind": "List", "items": []}',
        "kind: List\nitems: []\n",
        "items:\n  []\nkind: NodeList\napiVersion: v1\n",
        '{"kind": "Status", "apiVersion": "v1", "status": "Success"}',
        "kind: Status\napiVersion: v1\nstatus: Success\n",
    ],
)
def test_a_list_without_items_is_no_empty_file(content: str) -> None:
    collector = Collector()
    stored.take("f", content.encode(), collector)
    assert "Node" in stored.missing_kinds(collector)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "error: f: the file is empty"),
        (" \n", "error: f: the file is empty"),
        ("[]", "error: f: not a Kubernetes List in JSON: "),
        ("{", "error: f: not a Kubernetes List in JSON: "),
        ("[" * 100_000, "error: f: not a Kubernetes List in JSON: "),
        (listed(5), "error: f: an item that is no object: "),
        (listed({"kind": "Node", "metadata": {}}), "error: f: a Node without metadata.name"),
        (listed({"kind": "Node"}), "error: f: Node (no name): "),
        (
            listed({"kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": {"priority": "high"}}),
            "error: f: Pod ns/p: Expected `int | null`, got `str` - at `$.spec.priority`",
        ),
        (
            listed({"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "many"}}}),
            "error: f: Node n1: cpu: 'many' is not a quantity",
        ),
        (
            listed(
                {
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": "c", "namespace": "ns"},
                    "spec": {"resources": {"requests": {"storage": "much"}}},
                }
            ),
            "error: f: PersistentVolumeClaim ns/c: storage: 'much' is not a quantity",
        ),
        (
            listed(
                {
                    "kind": "PersistentVolume",
                    "metadata": {"name": "v"},
                    "spec": {"capacity": {"storage": "much"}},
                    "status": {"phase": "Available"},
                }
            ),
            "error: f: PersistentVolume v: storage: 'much' is not a quantity",
        ),
        (
            listed(
                {
                    "kind": "Pod",
                    "metadata": {"name": "p", "namespace": "ns"},
                    "spec": {"containers": [{"resources": {"requests": {"memory": "1x"}}}]},
                }
            ),
            "error: f: Pod ns/p: memory: '1x' is not a quantity",
        ),
        ("just text", "error: f: not a Kubernetes object or List"),
        ("# nothing but a remark", "error: f: the file is empty"),
        ('{"items": [{"metadata": {"name": "n1"}}]}', "error: f: an object n1 has no kind"),
        ("items: [{metadata: {name: n1}}]", "error: f: an object n1 has no kind"),
        ("a: [", "error: f: line 2 not YAML: "),
        ("a: 1\nb: {", "error: f: line 3 not YAML: "),
        ("kind: Node\nmetadata: {name: [1]}", "error: f: Node 1: "),
        ("kind: Node\nmetadata: 5", "error: f: Node (no name): Expected `object`, got `int` - at `$.metadata`"),
        ("kind: List\nitems: [5]", "error: f: not a Kubernetes object or List"),
        (json.dumps(FORBIDDEN), "error: f: the server's error in place of objects: nodes is forbidden"),
        (listed(FORBIDDEN), "error: f: the server's error in place of objects: nodes is forbidden"),
        (yaml.safe_dump(FORBIDDEN), "error: f: the server's error in place of objects: nodes is forbidden"),
    ],
)
def test_an_error_names_the_file_the_object_and_the_field(content: str, words: str) -> None:
    assert error(content).startswith(words.replace("Node 1:", "Node [1]:"))


PARENT = {"kind": "ElasticQuota", "metadata": {"name": "q", "labels": {"a": "b", "is-parent": False}}}
GROUPS = {"kind": "PodGroup", "metadata": {"name": "g", "annotations": {"groups": ["a/b"]}}}


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump])
def test_a_value_that_is_no_text_is_told_with_its_key_and_how_to_write_it(written: Callable[[Any], str]) -> None:
    told = "write it in quotes: the value of metadata.labels.is-parent is a boolean without them"
    assert error(written(PARENT)) == f"error: f: ElasticQuota q: {told}"
    told = """write the value of metadata.annotations.groups as text, in quotes: '["a/b"]'"""
    assert error(written(GROUPS)) == f"error: f: PodGroup g: {told}"
    owned = {"kind": "Node", "metadata": {"name": "n", "ownerReferences": [{"name": "a"}, {"name": 1.5}]}}
    told = "write it in quotes: the value of metadata.ownerReferences[1].name is a number without them"
    assert error(written(owned)) == f"error: f: Node n: {told}"


def nameless(count: int, *, behind: bool) -> dict[str, Any]:
    items = [{"metadata": {"name": f"n{number}"}} for number in range(count)]
    head, found = {"kind": "NodeList", "apiVersion": "v1"}, {"items": items}
    return {**found, **head} if behind else {**head, **found}


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("written", [json.dumps, partial(yaml.safe_dump, sort_keys=False)])
def test_items_of_a_list_need_not_say_their_kind(written: Callable[[Any], str], behind: bool) -> None:  # noqa: FBT001
    assert names(written(nameless(3, behind=behind)).encode()) == ["n0", "n1", "n2"]
    inner = {"kind": "List", "items": [nameless(1, behind=behind), {"kind": "NodeList", "items": None}]}
    assert names(written(inner).encode()) == ["n0"]
    groups = {"items": [{"metadata": {"name": "g"}}], "kind": "PodGroupList"}
    of_volcano = written({**groups, "apiVersion": "scheduling.volcano.sh/v1beta1"})
    collector = Collector()
    stored.take("f", of_volcano.encode(), collector)
    assert collector.kinds == {"PodGroup.scheduling.volcano.sh"}


def test_items_without_kind_are_read_in_slices_too(tmp_path: Path) -> None:
    for behind in (False, True):
        (tmp_path / "nodes.json").write_text(json.dumps(nameless(300, behind=behind)))
        collector = Collector()
        stored.read([str(tmp_path / "nodes.json")], collector, size=512)
        assert len(collector.nodes) == 300


def test_a_cluster_as_it_was_dumped_is_read_of_its_folder_and_not_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "nodes.json").write_text(json.dumps(nameless(1, behind=False)))
    (tmp_path / "t" / "pods.json").write_text('{"kind": "PodList", "items": [{"metadata": {"name": "p"}}]}')
    found = stored.from_files(files_of([str(tmp_path)]), "")
    assert (list(found.nodes), [pod.key for pod in found.pending]) == (["n0"], ["default/p"])
    told = "several JSON documents in one file: of `kubectl cluster-info dump` read the folder that"
    assert error(json.dumps(nameless(1, behind=False)) + '{"kind": "PodList"}').startswith(f"error: f: {told}")


def test_bytes_that_are_no_text_are_no_object() -> None:
    content = b'{"items": [{"kind": "Pod", "metadata": {"name": "\xff"}}]}'
    assert error(content).startswith("error: f: an object: ")


def test_what_is_absent_is_told_by_what_was_seen() -> None:
    collector = Collector()
    stored.take("f", json.dumps(LIST).encode(), collector)
    assert stored.missing_kinds(collector) == (
        "Pod",
        "ClusterNetworkTopology",
        "PodGroup",
        "ElasticQuota",
        "Device",
        "Reservation",
        "NodeMetric",
        "NodeResourceTopology",
        "PodDisruptionBudget",
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "ResourceClaim",
        "DeviceClass",
        "ResourceSlice",
        "LimitRange",
        "RuntimeClass",
        "Namespace",
        "ClusterColocationProfile",
        "Event",
        "MutatingWebhookConfiguration",
    )


GROUP = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
OBJECTS = st.lists(
    st.builds(
        lambda base, name, note: base | {"metadata": {"name": name, "annotations": {"note": note}}},
        st.sampled_from([NODE, {"apiVersion": "v1", "kind": "Pod"}, GROUP, SECRET, {"kind": "Node", "spec": {}}]),
        st.text("abc", min_size=1, max_size=3),
        st.text(max_size=300) | st.just('},\\n        {\\n            "kind": "Node'),
    ),
    max_size=30,
)
LAYOUTS = st.sampled_from([{"indent": 4}, {}, {"separators": (",", ":")}, {"indent": 4, "sort_keys": True}])


def taken(path: Path, size: int) -> Snapshot:
    collector = Collector()
    stored.read([str(path)], collector, size)
    return collector.snapshot(moment="", source="file")


@settings(
    derandomize=True, max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(objects=OBJECTS, size=st.integers(1, 5000), layout=LAYOUTS, packed=st.booleans())
def test_a_file_read_in_slices_holds_what_it_holds_as_a_whole(
    tmp_path: Path, objects: list[dict[str, Any]], size: int, layout: dict[str, Any], *, packed: bool
) -> None:
    text = {"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}}
    content = json.dumps(text, **layout).encode()
    whole = Collector()
    stored.take("f", content, whole)
    path = tmp_path / "list"
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    assert taken(path, size) == whole.snapshot(moment="", source="file")


@settings(
    derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), size=st.integers(1, 3000), layout=LAYOUTS, packed=st.booleans())
def test_a_file_that_is_cut_off_is_one_error_that_names_it(
    tmp_path: Path, data: st.DataObject, size: int, layout: dict[str, Any], *, packed: bool
) -> None:
    nodes = [NODE | {"metadata": {"name": f"n{number}"}} for number in range(30)]
    content = json.dumps({"apiVersion": "v1", "items": nodes, "kind": "List"}, **layout).encode()
    content = gzip.compress(content, 1) if packed else content
    path = tmp_path / "cut.json"
    path.write_bytes(content[: data.draw(st.integers(3, len(content) - 1))])
    with pytest.raises(KoordError, match=r"^error: .*cut\.json: [^\n]+$"):
        taken(path, size)


def test_what_is_wrong_in_a_long_file_is_named(tmp_path: Path) -> None:
    nodes: list[Any] = [NODE | {"metadata": {"name": f"n{number}"}} for number in range(300)]
    nodes[200] = NODE | {"metadata": {"name": "odd"}, "status": {"allocatable": 5}}
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"apiVersion": "v1", "items": nodes, "kind": "List"}, indent=4))
    with pytest.raises(KoordError) as refused:
        taken(path, 4096)
    assert (
        refused.value.message
        == f"error: {path}: Node odd: Expected `object | null`, got `int` - at `$.status.allocatable`"
    )


def test_a_long_file_with_a_nameless_object_says_so(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"items": [NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {}}]}, indent=4))
    with pytest.raises(KoordError, match=r"a Node without metadata\.name"):
        taken(path, 4096)


def test_standard_input_that_comes_in_drops_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [NODE | {"metadata": {"name": f"n{number}"}} for number in range(3000)]
    reading, writing = os.pipe()
    content = json.dumps({"apiVersion": "v1", "items": nodes, "kind": "List"}, indent=4).encode()

    def drip() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            pipe.writelines(content[at : at + 777] for at in range(0, len(content), 777))

    writer = threading.Thread(target=drip)
    writer.start()
    with os.fdopen(reading, "rb") as pipe:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))
        collector = Collector()
        stored.read(["-"], collector)
    writer.join()
    assert len(collector.snapshot(moment="", source="file").nodes) == 3000


@pytest.mark.parametrize("kind", [name for name, row in kinds.KINDS.items() if name == row.object_kind])
def test_a_list_of_any_kind_is_read_in_slices(kind: str, tmp_path: Path) -> None:
    row, path, seen = kinds.KINDS[kind], tmp_path / "list.json", dict[str, int]()
    metas = [{"name": f"n-{number}", "namespace": "default"} for number in range(99)]
    items = [{"apiVersion": row.api_version, "kind": kind, "metadata": meta} for meta in metas]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    stored.read([str(path)], Collector(seen=seen), 2000)
    assert seen == {kind: 99}
