"""The JSON Schema of the documents: every document that is printed keeps to it, and it is exact enough to tell."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from distribution.generated import ROOT
from distribution.schema import PATH
from distribution.screens import printed
from kubectl_koord.render.structured import API_VERSION, KINDS, document
from kubectl_koord.reports.manual import VersionReport
from tests import sentences
from tests.distribution.validating import problems

VERSION = VersionReport("yes", "1", ("1.8",), "main")
SCHEMA: dict[str, Any] = json.loads((ROOT / PATH).read_text("utf-8"))


def documents() -> Iterator[dict[str, Any]]:
    """Yield a document of every kind: those of the golden screens, and the others."""
    for report in (*(report for _, report, _ in sentences.screens()), VERSION):
        yield json.loads(json.dumps(document(report)))
    yield json.loads(printed("diff examples/before.yaml examples/after.yaml -o json"))


def test_every_golden_document_keeps_to_the_schema() -> None:
    seen = set()
    for written in documents():
        assert list(problems(written, SCHEMA, SCHEMA)) == []
        seen.add(written["kind"])
    assert seen == set(KINDS.values())


def test_every_kind_is_there_and_begins_as_the_contract_says() -> None:
    for kind in KINDS.values():
        properties = SCHEMA["$defs"][kind]["properties"]
        assert list(properties)[:3] == ["apiVersion", "kind", "verdict"]
        assert properties["kind"] == {"const": kind}
        assert "basis" not in properties
    assert SCHEMA["properties"]["apiVersion"] == {"const": API_VERSION}


GOOD: Mapping[str, object] = json.loads(json.dumps(document(VERSION)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "Other"},
        {"apiVersion": "v1"},
        {"verdict": "perhaps"},
        {"version": 1},
        {"evaluates": "1.8"},
        {"evaluates": [1]},
    ],
    ids=str,
)
def test_what_is_not_so_is_refused(wrong: Mapping[str, object]) -> None:
    assert list(problems(GOOD, SCHEMA, SCHEMA)) == []
    assert list(problems({**GOOD, "added later": 1}, SCHEMA, SCHEMA)) == []
    assert list(problems({**GOOD, **wrong}, SCHEMA, SCHEMA)) != []
    assert list(problems({name: GOOD[name] for name in GOOD if name not in wrong}, SCHEMA, SCHEMA)) != []
