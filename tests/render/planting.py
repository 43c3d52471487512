"""Puts a text of an attacker into every place of a report that holds text from the cluster."""

import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from msgspec import Struct, structs

from kubectl_koord.render.structured import Report
from kubectl_koord.reports.change import ChangePlan

Put = Callable[[object], object]


def planted_everywhere(report: Report, text: str) -> Report:
    """Return the report with every text in it replaced."""
    value = _changed(report, lambda _old: text)
    if not isinstance(value, type(report)):
        raise TypeError
    return value


def shown_as_blocks(report: Report) -> frozenset[str]:
    """Return the values of a plan, which may have lines of their own: a diff shows them as YAML writes a block."""
    changes = report.changes if isinstance(report, ChangePlan) else ()
    return frozenset(str(value) for one in changes for value in (*one.before.values(), *one.after.values()))


def planted_one_by_one(report: Report, text: str) -> Iterator[tuple[str, Report]]:
    """Return one report per text in it, with this one text replaced; and what was replaced."""
    total = 0

    def counting(old: str) -> str:
        nonlocal total
        total += 1
        return old

    _changed(report, counting)
    for wanted in range(total):
        yield from _planted_at(report, wanted, text)


def _planted_at(report: Report, wanted: int, text: str) -> Iterator[tuple[str, Report]]:
    seen, replaced = -1, ""

    def replacing(old: str) -> str:
        nonlocal seen, replaced
        seen += 1
        if seen != wanted:
            return old
        replaced = old
        return text

    value = _changed(report, replacing)
    if isinstance(value, type(report)):
        yield replaced, value


def _changed(value: object, put: Callable[[str], str]) -> object:
    match value:
        case str():
            return put(value)
        case tuple():
            return tuple(_changed(item, put) for item in value)
        case list():
            return [_changed(item, put) for item in value]
        case Mapping():
            return {_changed(key, put): _changed(item, put) for key, item in value.items()}
        case Struct():
            return structs.replace(value, **{name: _changed(getattr(value, name), put) for name in _free(type(value))})
        case _:
            return value


@cache
def _free(kind: type[Struct]) -> tuple[str, ...]:
    """Return the names of the fields that are no code of ours."""
    hints = typing.get_type_hints(kind)
    return tuple(field.name for field in structs.fields(kind) if not _is_literal(hints[field.name]))


def _is_literal(hint: object) -> bool:
    return typing.get_origin(hint) is typing.Literal
