"""What `--snapshot` reads, and what is said of files that cannot be read."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kubectl_koord.cluster.objects.scheduler import EXPLANATIONS
from tests.cli.conftest import Run
from tests.cli.world import Object, lasting, node, pod, world, write


def answer(koord: Run, *words: str) -> Object:
    done = koord("why-pending", "-o", "json", *words)
    assert (done.code, done.err) == (0, "")
    report: Object = lasting(json.loads(done.out))
    return report


@pytest.fixture
def expected(koord: Run, cluster: str) -> Object:
    return answer(koord, "--snapshot", cluster)


def test_a_list_in_yaml_is_the_same(koord: Run, tmp_path: Path, expected: Object) -> None:
    (tmp_path / "list.yaml").write_text(yaml.safe_dump(world()))
    assert answer(koord, "--snapshot", str(tmp_path / "list.yaml")) == expected


def test_yaml_documents_are_the_same(koord: Run, tmp_path: Path, expected: Object) -> None:
    (tmp_path / "many.yaml").write_text("---\n" + yaml.safe_dump_all(world()["items"]) + "---\n")
    assert answer(koord, "--snapshot", str(tmp_path / "many.yaml")) == expected


@pytest.mark.parametrize("text", [json.dumps(world()), yaml.safe_dump(world())], ids=["json", "yaml"])
def test_a_gzipped_file_is_the_same_under_any_name(koord: Run, tmp_path: Path, expected: Object, text: str) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode(), mtime=0))
    assert answer(koord, "--snapshot", str(tmp_path / "packed")) == expected


def test_several_files_are_one_cluster(koord: Run, tmp_path: Path, expected: Object) -> None:
    items = world()["items"]
    names = []
    for number in range(3):
        part = {"apiVersion": "v1", "kind": "List", "items": items[number::3]}
        names += ["--snapshot", write(tmp_path, part, f"part-{number}.json")]
    assert answer(koord, *names) == expected


@pytest.mark.parametrize("form", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_lists_in_a_list_are_the_same(
    koord: Run, tmp_path: Path, expected: Object, form: Callable[[Object], str]
) -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [world()]}
    (tmp_path / "joined").write_text(form({"apiVersion": "v1", "kind": "List", "items": [inner]}))
    assert answer(koord, "--snapshot", str(tmp_path / "joined")) == expected


def test_one_object_alone_is_a_file_too(koord: Run, tmp_path: Path) -> None:
    done = koord("topo", "-o", "json", "--snapshot", write(tmp_path, node("a", "s")))
    assert done.code == 1
    warnings = [warning["code"] for warning in json.loads(done.out)["warnings"]]
    assert "kind-not-in-input" in warnings


def test_standard_input_is_a_dash(koord: Run, expected: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(world()).encode())))
    assert answer(koord, "--snapshot", "-") == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["topo", "--snapshot", "-"], "error: standard input is closed\n"),
        (["scheduler", "scores", "--log", "-"], "error: standard input is closed\n"),
        (["scheduler", "gangs", "--demo", "--endpoint", "-"], "error: standard input is closed\n"),
        (["annotate", "podgroup", "-f", "-", "--mode=Strict"], "error: standard input is closed\n"),
        (
            ["annotate", "podgroup", "job", "--mode=NonStrict"],
            "error: stdin is not a terminal; use --yes, or --dry-run=client to preview\n",
        ),
    ],
    ids=["file", "log", "endpoint", "manifest", "question"],
)
def test_standard_input_that_is_closed_is_told(
    koord: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert koord(*words) == (2, "", said)


def test_the_executable_reads_standard_input_without_kubectl(installed: Run, tmp_path: Path) -> None:
    done = installed("why-pending", "job", "--snapshot", "-", stdin=json.dumps(world()), PATH=str(tmp_path))
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("default/job is pending: no spine has room for its 2 pods; the best has 1.\n")


def test_a_kind_that_is_not_there_is_absent_and_named(koord: Run, tmp_path: Path) -> None:
    objects = world()
    objects["items"] = [item for item in objects["items"] if item["kind"] != "PodGroup"]
    done = koord("why-pending", "job", "-o", "json", "--snapshot", write(tmp_path, objects))
    report = json.loads(done.out)
    assert [one["code"] for one in report["warnings"]] == ["kind-not-in-input"]
    kinds = "ElasticQuota, Reservation, NodeMetric or PodGroup"
    assert report["warnings"][0]["message"] == f"snapshot contains no {kinds}; assuming none exist."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b" \n\t ", "the file is empty"),
        (b'{"kind": "List", "items": [', "not a Kubernetes List in JSON: "),
        (b"[]", "not a Kubernetes List in JSON: "),
        (b"[" * 100_000, "not a Kubernetes List in JSON: "),
        (b"kind: List\nitems: ]\n", "line 2 not YAML: "),
        (b"just words", "not a Kubernetes object or List"),
        (b"!!python/object:os.system x", "not YAML: could not determine a constructor"),
        (b"\x00\x01", "not YAML: "),
        (b"\x1f\x8b\x08nothing", "broken gzip: "),
        (gzip.compress(b'{"kind": "List", "items": []}', mtime=0)[:-6], "broken gzip: "),
        (b'{"kind": "List", "items": [7]}', "an item that is no object: "),
        (b'{"kind": "List", "items": [{"kind": "PodList", "items": 7}]}', "PodList (no name): Expected `array | null`"),
        (b"kind: List\nitems: 7\n", "List (no name): Expected `array | null`, got `int` - at `$.items`"),
        (b"kind: PodList\nitems: {a: {kind: Pod}}\n", "PodList (no name): Expected `array | null`, got `object`"),
        (b'{"kind": "Pod", "metadata": {}}', "a Pod without metadata.name"),
        (b"kind: []\nmetadata: {name: a}\n", "an object a: Expected `str`, got `array` - at `$.kind`"),
        (b"kind: {a: b}\nmetadata: {name: a}\n", "Expected `str`, got `object` - at `$.kind`"),
        (
            b'{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"priority": 99999999999999999999}}',
            "Pod a: Expected `int` <= 2147483647 - at `$.spec.priority`",
        ),
        (b"kind: Node\nmetadata: {name: a}\nspec:\n", "Node a: Expected `object`, got `null` - at `$.spec`"),
        (b"[" * 50_000 + b"a: b", "not a Kubernetes List in JSON: "),
        (b"a: " + b"[" * 50_000, "not YAML: maximum recursion depth exceeded"),
    ],
)
def test_a_broken_file_is_named_in_one_line(koord: Run, tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    done = koord("topo", "--snapshot", str(path))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {path}:")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_missing_file_and_a_folder_are_named(koord: Run, tmp_path: Path) -> None:
    missing = koord("topo", "--snapshot", str(tmp_path / "no"))
    assert missing == (2, "", f"error: the path '{tmp_path / 'no'}' cannot be read: No such file or directory\n")
    empty = f"error: no file in {tmp_path}: recognized file extensions are .json, .yaml, .yml\n"
    assert koord("topo", "--snapshot", str(tmp_path)) == (2, "", empty)


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_bad_value_is_told_with_its_object_and_field(koord: Run, tmp_path: Path, suffix: str) -> None:
    dump = json.dumps if suffix == "json" else yaml.safe_dump
    path = tmp_path / f"bad.{suffix}"
    path.write_text(dump(pod("odd", cpu="8 cores")))
    quantity = koord("topo", "--snapshot", str(path))
    assert quantity.code == 2
    assert quantity.err.startswith(f"error: {path}: Pod default/odd: ")
    assert "cpu" in quantity.err
    assert "8 cores" in quantity.err
    wrong = pod("odd")
    wrong["spec"]["priority"] = "high"
    path.write_text(dump(wrong))
    kind = koord("topo", "--snapshot", str(path))
    assert kind.err.startswith(f"error: {path}: Pod default/odd: ")
    assert "priority" in kind.err


@pytest.mark.parametrize("amount", ["9" * 60, 10**60, 2**64, "1e999", "9" * 60 + "Ki"], ids=str)
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_an_amount_beyond_64_bits_is_one_that_no_node_has(
    koord: Run, tmp_path: Path, amount: object, suffix: str
) -> None:
    """The API server takes it."""
    objects = world()
    objects["items"] += [pod("vast", cpu=amount), pod("vast-too", cpu=amount, on="a0")]  # type: ignore[arg-type]
    path = tmp_path / f"vast.{suffix}"
    path.write_text((json.dumps if suffix == "json" else yaml.safe_dump)(objects))

    done = koord("why-pending", "vast", "-o", "json", "--snapshot", str(path))

    assert (done.code, done.err) == (1, "")


def test_kinds_of_others_are_passed_over(koord: Run, tmp_path: Path, expected: Object) -> None:
    objects = world()
    objects["items"] += [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": 7}}, {"kind": "Nonsense"}]
    assert answer(koord, "--snapshot", write(tmp_path, objects)) == expected


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump])
def test_crds_in_a_file_tell_the_version_where_no_image_does(
    koord: Run, tmp_path: Path, written: Callable[[object], str]
) -> None:
    schema: Object = {"spec": {"properties": {"questionObjectReference": {}}}}
    crds = [
        {"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": {"about": [EXPLANATIONS, schema]}}
        for name in ("others.example.com", EXPLANATIONS)
    ]
    path, saved = tmp_path / "cluster.txt", tmp_path / "saved.json"
    for items, told in ((crds, ("1.7", "from the CRDs")), (crds[:1], ("1.8", "assumed: newest known release"))):
        path.write_text(written({"items": [*items, node("n1", "s0")]}))
        assert koord("snapshot", "--snapshot", str(path), "-o", str(saved)).code == 0
        for file in (path, saved):
            found = json.loads(koord("why-pending", "-o", "json", "--snapshot", str(file)).out)
            assert (found["koordinatorVersion"], found["versionFrom"]) == told
        saved.unlink()


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump])
def test_a_crd_of_the_wrong_shape_tells_no_version(
    koord: Run, tmp_path: Path, written: Callable[[object], str]
) -> None:
    crds = [{"kind": "CustomResourceDefinition", "metadata": odd} for odd in (EXPLANATIONS, [EXPLANATIONS], None)]
    path = tmp_path / "cluster.txt"
    path.write_text(written({"items": [*crds, {**crds[0], "metadata": {"name": EXPLANATIONS}}, node("n1", "s0")]}))
    found = json.loads(koord("why-pending", "-o", "json", "--snapshot", str(path)).out)
    assert (found["koordinatorVersion"], found["versionFrom"]) == ("1.8", "assumed: newest known release")
