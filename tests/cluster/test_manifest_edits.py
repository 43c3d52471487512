"""Manifests: whole documents out of files, and back."""

import gzip
import json
from pathlib import Path

import pytest
import yaml

from kubectl_koord.cluster import edits
from kubectl_koord.errors import KoordError


def test_documents_keep_their_form_and_their_text(tmp_path: Path) -> None:
    text = 'a: "yes"\nb: 2026-01-02\nc: [1, 0x10, null]\n---\n\n---\n{"kind": "PodList", "items": [1]}\n'
    file = tmp_path / "f.yaml"
    file.write_bytes(gzip.compress(text.encode()))
    documents = edits.manifests_read([str(file)])
    assert documents == [{"a": "yes", "b": "2026-01-02", "c": [1, 16, None]}, {"kind": "PodList", "items": [1]}]
    assert list(yaml.safe_load_all(edits.to_yaml(documents))) == documents
    assert json.loads(edits.to_json(documents)) == {"apiVersion": "v1", "kind": "List", "items": documents}
    assert json.loads(edits.to_json(documents[:1])) == documents[0]


def test_objects_are_found_and_changed_within_lists_too() -> None:
    inner = {"kind": "Pod", "items": "no list"}
    listed = {"kind": "List", "items": [inner, 1, {"kind": "PodList", "items": [{"kind": "x"}]}]}
    assert list(edits.objects([listed, 2])) == [inner, {"kind": "x"}]
    changed = edits.replaced(listed, lambda one: one | {"new": 1})
    assert changed == {
        "kind": "List",
        "items": [inner | {"new": 1}, 1, {"kind": "PodList", "items": [{"kind": "x", "new": 1}]}],
    }


def test_items_that_do_not_say_their_kind_have_that_of_their_list() -> None:
    listed = {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "p"}}]}
    pod = {"apiVersion": "v1", "metadata": {"name": "p"}, "kind": "Pod"}
    assert list(edits.objects([listed])) == [pod]
    assert edits.replaced(listed, lambda one: one)["items"] == [pod]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: [", "neither JSON nor YAML: "),
        (b"{", "neither JSON nor YAML: "),
        (b"\xff", "no UTF-8 text: "),
        (b"\x1f\x8bx", "broken gzip: "),
        (b"a: &a [1]\nb: [*a]\n" + b"x" * (8 << 20), "more than 8 MiB"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(content)
    with pytest.raises(KoordError) as refused:
        edits.manifests_read([str(file)])
    assert refused.value.message.startswith(f"error: {file}: {said}")


def test_aliases_that_stand_for_too_much_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    rows = ["a0: &a0 [" + ",".join("1" * 1000) + "]"]
    rows += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 5)]
    file.write_text("\n".join(rows))
    with pytest.raises(KoordError, match="one object has more than"):
        edits.manifests_read([str(file)])


def test_the_demo_is_read_as_it_is_written() -> None:
    assert {one["kind"] for one in edits.objects(edits.demo())} >= {"Node", "Pod", "PodGroup"}
