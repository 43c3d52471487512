"""Manifests that cannot be read: one line with the file, the document and the field, in bounded memory."""

import gzip
import json
import re
from pathlib import Path

import pytest

from kubectl_koord.cluster.bounds import Bounds
from kubectl_koord.cluster.manifests import read as documents
from kubectl_koord.cluster.manifests.read import MOST_PODS, Manifests
from kubectl_koord.errors import KoordError

_NAMED = "[{name: c, image: x, "
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: COUNT, template: {}}\n"
JOB_SET = (
    "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: j}\nspec: {replicatedJobs: "
    "[{name: a, replicas: 2000000000, template: {spec: {parallelism: 0, template: {}}}}]}\n"
)
LIMITS = (
    "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: [{type: Container, max: {cpu: much}}]}\n"
)
SPEC = "{storageClassName: s, resources: {requests: {storage: much}}}"
CLAIMED = f"{{spec: {SPEC}}}"
CLAIM = f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: c}}\nspec: {SPEC}\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
)


def manifests(fixed: str = "") -> Manifests:
    return Manifests(lambda: "team", fixed)


def refused(path: Path, content: str | bytes, fixed: str = "") -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(KoordError) as problem:
        manifests(fixed).read([str(path)])
    assert "\n" not in problem.value.message
    return problem.value.message.replace(str(path), "F")


DEEP = "[" * 100_000
FLOW = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}\n"
JSON = '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}\n'

UNREADABLE: list[tuple[str | bytes, str]] = [
    ("", "error: F: the file is empty"),
    ("---\n---\n", "error: F: the file is empty"),
    ("just text", "error: F: document 1: not a Kubernetes object"),
    (POD + "---\n- a\n", "error: F: document 2: not a Kubernetes object"),
    (POD + "---\nkind: Pod\nmetadata: {name: x}\n", "error: F: document 2: Pod x has no apiVersion"),
    ("apiVersion: v1\nmetadata: {name: x}\n", "error: F: document 1: an object x has no kind"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {}\n", "error: F: document 1: Pod has no metadata.name"),
    (
        POD + "---\n" + POD.replace("containers: []", "priority: high"),
        "error: F: document 2: Pod p: Expected `int | null`, got `str` - at `$.spec.priority`",
    ),
    (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 2}\n",
        "error: F: document 1: Job j: Object missing required field `template` - at `$.spec`",
    ),
    (
        POD + "---\nx: !!python/object/apply:os.system [ls]\n",
        "error: F: document 2: .*not YAML: could not determine a constructor .*",
    ),
    (POD + "---\na: [\n", "error: F: document 2: line 7: not YAML: .*"),
    (BOMB, "error: F: document 1: one object has more than 200,000 values"),
    (POD + "---\n" + BOMB, "error: F: document 2: one object has more than 200,000 values"),
    ("kind: List\nitems:\n- {a: b}\n- {}\n", "error: F: document 1: .*an object has no kind"),
    (
        f"kind: List\nitems:\n- {{apiVersion: v1, kind: Service}}\n- !!python/name:os.system x\n---\n{POD}",
        "error: F: document 1: line 4: not YAML: could not determine a constructor .*",
    ),
    ("a: &a [*a]\n", "error: F: document 1: line 1: not YAML: the anchor 'a' contains itself"),
    ('{"kind": ', "error: F: document 1: line 2: neither JSON nor YAML: did not find expected node content"),
    (
        '{"kind": "Pod"\n"a": 1}',
        "error: F: document 1: line 2: neither JSON nor YAML: did not find expected ',' or '}'",
    ),
    (DEEP, "error: F: document 1: neither JSON nor YAML: .*recursion.*"),
    (
        FLOW + "---\n{apiVersion: v1, kind: Pod, metadata: {}, spec: {}}",
        "error: F: document 2: Pod has no metadata.name",
    ),
    (FLOW + '---\n{"a": [}', "error: F: document 2: line 3: neither JSON nor YAML: did not find expected node content"),
    (
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {priority: high}}",
        "error: F: document 1: Pod x: Expected `int | null`, got `str` - at `$.spec.priority`",
    ),
    ("{a: !!python/name:os.system x}", "error: F: document 1: line 1: neither JSON nor YAML: could not determine .*"),
    ("{" + BOMB.replace("\n", ",\n") + "}", "error: F: document 1: one object has more than 200,000 values"),
    (JSON + '{"kind": 5', "error: F: document 2: not JSON: .*"),
    (JSON + '{"metadata": {"name": "x"}}', "error: F: document 2: an object x has no kind"),
    (JSON + "[1]", "error: F: document 2: not a Kubernetes object"),
    (JSON + "x", "error: F: document 1: line 2: neither JSON nor YAML: did not find expected <document start>"),
    (b"\xff\xfe\x00", "error: F: document 1: .*not YAML: .*"),
    (gzip.compress(b"kind: Pod", mtime=0)[:-4], "error: F: broken gzip: .*"),
    (
        JOB.replace("COUNT", str(MOST_PODS + 1)),
        "error: F: document 1: Job j: more than 50,000 pods in all",
    ),
    (
        JOB_SET,
        "error: F: document 1: JobSet j: more than 50,000 pods in all",
    ),
    (JOB.replace("COUNT", "-3"), "error: F: document 1: Job j: Expected `int` >= 0 - at `$.spec.parallelism`"),
    (
        POD + "---\n" + POD.replace("kind: Pod", "kind: Pod\nkind: Job"),
        "error: F: document 2: line 8: not YAML: the key 'kind' stands there twice",
    ),
    (POD + "---\n" + POD, "error: F: document 2: Pod p: metadata.name: the same as F: document 1: Pod p"),
    (
        POD.replace("name: p", "name: My_Pod"),
        "error: F: document 1: Pod My_Pod: metadata.name 'My_Pod' is no name: lower case letters, .*",
    ),
    (
        POD.replace("name: p", "name: p, namespace: Team.x"),
        "error: F: document 1: Pod p: metadata.namespace 'Team.x' is no name: at most 63 lower case letters, .*",
    ),
    (POD.replace("name: p", f"name: {'p' * 300}"), "error: F: document 1: Pod p{253}: metadata.name 'p{253}' is .*"),
]


@pytest.mark.parametrize(("content", "expected"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read_is_one_line_with_the_file_the_document_and_the_field(
    tmp_path: Path, content: str | bytes, expected: str
) -> None:
    assert re.fullmatch(expected.replace("$.", r"\$\.").replace("|", r"\|"), refused(tmp_path / "m", content))


def test_a_value_without_quotes_that_is_no_text_is_told_with_its_key(tmp_path: Path) -> None:
    labelled = POD.replace("name: p", "name: p, labels: {example.com/a: x, example.com/is-parent: false}")
    groups = POD.replace("name: p", "name: p, annotations: {groups: [a/b, 'c']}")
    selected = POD.replace("spec: {", "spec: {nodeSelector: {rack: 12}, ")
    told = "error: F: document 1: Pod p: write"
    assert [refused(tmp_path / "m", written) for written in (labelled, groups, selected)] == [
        f"{told} it in quotes: the value of metadata.labels.example.com/is-parent is a boolean without them",
        f"""{told} the value of metadata.annotations.groups as text, in quotes: '["a/b", "c"]'""",
        f"{told} it in quotes: the value of spec.nodeSelector.rack is a number without them",
    ]


def test_a_namespace_other_than_the_one_asked_for_is_refused_as_kubectl_does(tmp_path: Path) -> None:
    written = POD.replace("name: p", "name: p, namespace: a")
    expected = "the namespace from the provided object 'a' does not match the namespace 'b'"
    assert refused(tmp_path / "m", written, "b") == f"error: F: document 1: Pod p: {expected}"


@pytest.mark.parametrize("begin", [b"a: [", b'{"a": ['])
def test_a_file_without_end_is_given_up(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "m"
    path.write_bytes(begin + b"1," * 5000)
    bounds = Bounds(object_bytes=4096)
    with pytest.raises(KoordError, match="m: document 1: one object is larger than 4096 bytes"):
        list(documents.read_documents([str(path)], bounds))


@pytest.mark.parametrize("one", ["---\na: 1\n", '{"a": 1}'])
def test_documents_without_end_are_given_up(tmp_path: Path, one: str) -> None:
    path = tmp_path / "m"
    path.write_text(one * 20)
    with pytest.raises(KoordError, match="m: document 11: more than 10 objects"):
        list(documents.read_documents([str(path)], Bounds(objects=10)))


@pytest.mark.parametrize(
    "content",
    [
        "{kind: A, x: 1}\n---\n{kind: B}\n",
        '{\n  # KYAML\n  kind: "A",\n  x: 1,\n}\n---\nkind: B\n',
        '{"kind": "A", "x": 1}\n---\nkind: B\n',
        'kind: A\nx: 1\n---\n{"kind": "B"}\n',
        '{"kind": "A", "x": 1}\n {"kind": "B"}\n\n',
        '{"kind": "A", "x": 1}{"kind": "B"}',
    ],
)
def test_documents_may_be_json_or_yaml_of_any_style_after_each_other(tmp_path: Path, content: str) -> None:
    path = tmp_path / "m"
    path.write_text(content)
    read = [(one.number, one.value) for one in documents.read_documents([str(path)])]
    assert read == [(1, {"kind": "A", "x": 1}), (2, {"kind": "B"})]


def test_the_items_of_a_list_in_flow_style_are_bounded_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text("{kind: List, items: [" + "{kind: A}, " * 5000 + "]}")
    assert len(list(documents.read_documents([str(path)], Bounds(object_bytes=40_000)))) == 5000


def test_documents_lists_and_packed_files_are_read_and_other_kinds_named(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Service"}]}
    (tmp_path / "a.json").write_text(json.dumps(listed))
    (tmp_path / "b.yaml.gz").write_bytes(gzip.compress(f"---\n{POD}---\napiVersion: v1\nkind: ConfigMap\n".encode()))
    read = manifests()
    read.read([str(tmp_path / "a.json"), str(tmp_path / "b.yaml.gz")])
    assert read.submitted().skipped == ("ConfigMap", "Service")


def test_an_amount_that_is_none_is_told_with_the_document(tmp_path: Path) -> None:
    from kubectl_koord.cluster.collect import Collector  # noqa: PLC0415

    for content, expected in (
        (
            POD.replace("[]", _NAMED + "resources: {requests: {cpu: much}}}]"),
            "document 1: Pod p: cpu: .*much.*",
        ),
        (
            POD.replace("[]", _NAMED + "resources: {requests: {cpu: -1}}}]"),
            "document 1: Pod p: cpu: '-1' is negative",
        ),
        (POD.replace("[]", "[], resources: {limits: {cpu: -1}}"), "document 1: Pod p: cpu: '-1' is negative"),
        (
            POD.replace("containers", "initContainers").replace("[]", _NAMED + "resources: {limits: {x/y: -2Gi}}}]"),
            "document 1: Pod p: x/y: '-2Gi' is negative",
        ),
        (
            POD.replace("[]", _NAMED + "resources: {limits: {nvidia.com/gpu: 1.5}}}]"),
            "document 1: Pod p: nvidia.com/gpu: '1.5' is no whole number",
        ),
        (
            POD.replace("[]", _NAMED + "resources: {limits: {hugepages-2Mi: 3Mi}}}]"),
            "document 1: Pod p: hugepages-2Mi: '3Mi' is no whole number of pages",
        ),
        (
            POD.replace("containers: []", "volumes: [{name: v, ephemeral: {volumeClaimTemplate: 5}}]"),
            "document 1: Pod p: the claim template of an ephemeral volume: Expected `object`, got `int`",
        ),
        (CLAIM, "document 1: PersistentVolumeClaim c: PersistentVolumeClaim team/c: storage: .*much.*"),
        (
            POD.replace("containers: []", f"volumes: [{{name: v, ephemeral: {{volumeClaimTemplate: {CLAIMED}}}}}]"),
            "document 1: Pod p: PersistentVolumeClaim team/p-v: storage: .*much.*",
        ),
        (
            (
                "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\n"
                f"spec: {{volumes: [{{mountPath: /a, volumeClaim: {SPEC}}}]}}\n"
            ),
            "document 1: Job j: PersistentVolumeClaim team/j-pvc-0: storage: .*much.*",
        ),
        (
            LIMITS,
            "document 1: LimitRange l: LimitRange team/l: cpu: .*much.*",
        ),
        (
            POD.replace("containers: []", "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: [1]}}}]"),
            "document 1: Pod p: the claim template of an ephemeral volume: Expected `object`, got `array`",
        ),
    ):
        (tmp_path / "m").write_text(content)
        read = manifests()
        read.read([str(tmp_path / "m")])
        with pytest.raises(KoordError, match=expected):
            read.join(Collector(), "2026-11-20T10:00:00Z")


def test_a_key_that_overrides_a_merged_one_stands_there_once(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text("a: &a {kind: Job, x: 1}\nb: {<<: *a, kind: Pod}\n")
    (one,) = documents.read_documents([str(path)])
    assert one.value["b"] == {"kind": "Pod", "x": 1}
