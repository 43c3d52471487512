"""The JSON Schema of the documents that `-o json` and `-o yaml` print: made of the types of the reports."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from kubectl_koord.render.structured import API_VERSION, KINDS, OF_NO_CLUSTER, Report

PATH = f"docs/schema/{API_VERSION.rpartition('/')[2]}.json"
Schema: TypeAlias = dict[str, Any]


def text() -> str:
    """Return the schema as it is kept."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode() + "\n"


def schema() -> Schema:
    """Return one schema for every kind of document: what is not named in it may be added."""
    types = list(KINDS)
    _, parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for part in parts.values():
        if "description" in part:
            part["description"] = " ".join(part["description"].split())
    documents = {KINDS[type_]: _document(type_, parts) for type_ in types}
    rows = documents["PendingGangs"]["properties"]["items"]
    rows["items"] = {"$ref": "#/$defs/WhyPending"}  # each is a document without its apiVersion
    documents["WhyPending"]["required"].remove("apiVersion")
    used = {ref.decode() for ref in re.findall(rb"#/\$defs/(\w+)", msgspec.json.encode([documents, parts]))}
    shared = {name: part for name, part in parts.items() if name in used}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": API_VERSION,
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"apiVersion": {"const": API_VERSION}, "kind": {"enum": list(documents)}},
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in documents],
        "$defs": documents | shared,
    }


def _document(type_: type[Report], parts: Mapping[str, Schema]) -> Schema:
    """Return the schema of a kind: the envelope, then what the answer rests on, then the fields of the report."""
    report = parts[type_.__name__]
    fields = dict(report["properties"])
    basis = {} if issubclass(type_, OF_NO_CLUSTER) else parts[fields.pop("basis")["$ref"].rpartition("/")[2]]
    fields.pop("basis", None)
    head = {"apiVersion": {"const": API_VERSION}, "kind": {"const": KINDS[type_]}, "verdict": fields.pop("verdict")}
    properties = {**head, **basis.get("properties", {}), **fields}
    optional = basis.get("properties", {}).keys() - set(basis.get("required", ()))  # left out where it is empty
    return {
        "description": report["description"],
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }
