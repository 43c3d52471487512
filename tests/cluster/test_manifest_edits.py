"""Manifests: whole documents out of files, and back."""

import gzip
import json
from pathlib import Path
from typing import Any

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


def rewritten(text: str, change: dict[str, Any]) -> tuple[str, bool]:
    """Return the text with the fields of each document replaced."""
    documents = [document | change for document in yaml.safe_load_all(text)]
    return edits.rewritten(documents, [text])


COMMENTED = """\
# what it is for
kind: Job
metadata:
    name: x # its name
spec:
    args:
      # the first
      - 'a'
      - "b"
    size: 1
---
kind: Job
metadata: {name: y}
"""


def test_what_is_changed_keeps_comments_quotes_and_indentation() -> None:
    spec = {"args": ["a", "b"], "size": 2}
    text, kept = rewritten(COMMENTED, {"spec": spec})
    assert kept
    assert text == COMMENTED.replace("size: 1", "size: 2") + ("spec:\n    args:\n      - a\n      - b\n    size: 2\n")


def test_what_is_new_stands_between_and_what_is_gone_is_gone() -> None:
    new = {"kind": "PodGroup", "metadata": {"name": "x"}}
    old = [*yaml.safe_load_all(COMMENTED)]
    del old[0]["spec"]
    text, kept = edits.rewritten([new, *old, [1]], [COMMENTED])
    assert kept
    assert text.startswith("kind: PodGroup\nmetadata:\n    name: x\n---\n# what it is for\nkind: Job\n")
    assert [*yaml.safe_load_all(text)] == [new, *old, [1]]


def test_lists_of_another_length_and_other_types_are_written_as_they_are_to_be() -> None:
    text, kept = edits.rewritten([{"a": [1], "b": True, "c": {"d": 1}}], ["a: [1, 2] # two\nb: 1\nc: 3\n"])
    assert (yaml.safe_load(text), kept) == ({"a": [1], "b": True, "c": {"d": 1}}, True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: &x {n: 1}\nb: *x # shared\n", {"a": {"n": 2}, "b": {"n": 1}}),
        ("a: 1\n" + "#" * 400_000, {"a": 2}),
        ("{a: 1, a: 2}\n", {"a": 3}),
    ],
    ids=["an anchor that two share", "too long", "no YAML 1.2"],
)
def test_where_comments_cannot_be_kept_that_is_said_and_the_values_are_right(text: str, wanted: Any) -> None:  # noqa: ANN401
    written, kept = edits.rewritten([wanted], [text])
    assert (yaml.safe_load(written), kept) == (wanted, False)
