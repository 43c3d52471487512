"""As much of JSON Schema as our schema uses: what of a document does not keep to it."""

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_KNOWN = {
    *("$schema", "$defs", "$ref", "title", "description", "default", "discriminator"),
    *("type", "const", "enum", "oneOf", "anyOf", "required", "properties", "additionalProperties", "items", "maxItems"),
    *("prefixItems", "minItems", "propertyNames"),
}


def problems(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str = "") -> Iterator[str]:  # noqa: ANN401
    """Yield what is wrong, and where.

    Raises:
        ValueError: when the schema uses a word that is not known here.

    """
    if unknown := set(schema) - _KNOWN:
        raise ValueError(f"{at}: {unknown}")
    if "$ref" in schema:
        yield from problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    wanted = schema.get("type")
    if wanted and (not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")):
        yield f"{at}: not of type {wanted}"
        return
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{at}: {value!r}"
    for word in ("oneOf", "anyOf"):
        if word in schema:
            tried = [list(problems(value, one, root, at)) for one in schema[word]]
            good = tried.count([])
            if not good or (word == "oneOf" and good > 1):
                yield f"{at}: {good} of {word}: {min(tried, key=len)}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, at)
    if isinstance(value, list):
        yield from _of_list(value, schema, root, at)


def _of_object(value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> Iterator[str]:
    yield from (f"{at}: no {name}" for name in schema.get("required", ()) if name not in value)
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, held in value.items():
        if name in properties:
            yield from problems(held, properties[name], root, f"{at}.{name}")
        elif isinstance(others, dict):
            yield from problems(held, others, root, f"{at}.{name}")
        elif not others:
            yield f"{at}: {name}"


def _of_list(value: list[Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{at}: {len(value)} items"
    first = schema.get("prefixItems", [])
    for number, held in enumerate(value):
        one = first[number] if number < len(first) else schema.get("items", {})
        if isinstance(one, dict):
            yield from problems(held, one, root, f"{at}[{number}]")
