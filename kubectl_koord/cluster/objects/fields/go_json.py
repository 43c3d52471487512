"""The JSON of annotations, in which keys of structs count whatever their case, as encoding/json reads them.

Upstream decodes each annotation by `json.Unmarshal` of that package; of the objects themselves only the exact keys are.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.decoders import decoder


def decode(written: str, form: Any) -> Any:  # noqa: ANN401 - `form | None` is no type that could be written
    """Return what a text holds, read as a msgspec type.

    Of several keys that mean the same field the last one counts (Go joins what such objects hold). A text whose keys
    are written as the fields are, as nearly all are, is decoded as it is.

    Raises:
        msgspec.MsgspecError: when the text is no JSON, or not of that form.
        RecursionError: when it is nested too deeply.

    """
    if _is_usual(written, form):
        return _decoder(form).decode(written)
    return _decoder(form).decode(msgspec.json.encode(_named(msgspec.json.decode(written), form)))


_decoder = lru_cache(maxsize=64)(decoder)


def _is_usual(written: str, form: Any) -> bool:  # noqa: ANN401 - as `decode`
    """Tell whether no field is named in another case than its own."""
    folded = written.casefold()
    return all(folded.count(low) == written.count(name) for name, low in _names(form))


@lru_cache(maxsize=64)
def _names(form: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401 - as `decode`
    """Return the keys of all fields of a type, and of those within, as they stand in JSON and in lower case."""
    return tuple((f'"{name}"', f'"{name.casefold()}"') for name in sorted(set(_keys(form))))


def _keys(form: Any) -> Iterator[str]:  # noqa: ANN401 - as `decode`
    if _is_struct(form):
        for name, inner in _fields(form).values():
            yield name
            yield from _keys(inner)
    for inner in get_args(form):
        yield from _keys(inner)


@lru_cache(maxsize=64)
def _fields(form: type[Struct]) -> Mapping[str, tuple[str, Any]]:
    """Return the fields of a struct by their names in lower case: the names in JSON, and the types."""
    types = get_type_hints(form)
    names = zip(form.__struct_encode_fields__, form.__struct_fields__, strict=True)
    return {name.casefold(): (name, types[field]) for name, field in names}


def _is_struct(form: Any) -> bool:  # noqa: ANN401 - as `decode`
    return isinstance(form, type) and issubclass(form, Struct)


def _named(value: Any, form: Any) -> Any:  # noqa: ANN401 - any JSON value, and as `decode`
    """Return a value with the keys of its structs as their fields are named; other keys of these are left out."""
    if isinstance(value, list):
        inner = next((get_args(one)[0] for one in _options(form) if get_origin(one) is list), None)
        return [_named(part, inner) for part in value]
    if not isinstance(value, dict):
        return value
    for one in _options(form):
        if _is_struct(one):
            found = ((_fields(one).get(key.casefold()), part) for key, part in value.items())
            return {field[0]: _named(part, field[1]) for field, part in found if field is not None}
    inner = next((get_args(one)[1] for one in _options(form) if get_origin(one) is dict), None)
    return {key: _named(part, inner) for key, part in value.items()}


def _options(form: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as `decode`
    """Return the types that a value may have, which are one but for null and numbers."""
    return (form,) if get_origin(form) in {list, dict} else (form, *get_args(form))
