"""Slices of a list without managedFields, which nobody here reads: to go through them is half of all decoding.

An API server writes objects without blanks, and no array within managedFields: the first bracket ends them. Where that
is not so, be it in a text, what is left is no JSON, and the slice is taken as it is.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

Slice: TypeAlias = bytes | memoryview
"""A JSON array of whole items; a view is of the beginning of a bytearray."""
TakeSlice: TypeAlias = Callable[[Slice], None]
"""Takes a slice, of which it keeps nothing; with a `DecodeError` it has taken no item of it."""

_FIELD = b'"managedFields":['
_NEAR = 128
"""So far from where the last two items let expect them managedFields are looked for first: to search takes time."""
_LEAST = 1 / 8
"""Below such a share of a slice they are not worth it, nor in those that follow."""


class WithoutManagedFields:
    """Hands on slices of one list, one after the other, without their managedFields."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._is_worth_it = True
        self._first = self._apart = 0  # where the first stood in the last slice, and how far apart the last two

    def handed_to(self, take: TakeSlice) -> TakeSlice:
        """Return what takes slices, and hands them on to `take`."""

        def taken(part: Slice) -> None:
            short = self._short(part) if self._is_worth_it else None
            if short is not None:
                try:
                    take(short)
                except msgspec.ValidationError:
                    raise
                except msgspec.DecodeError:
                    pass
                else:
                    return
            take(part)

        return taken

    def _short(self, part: Slice) -> Slice | None:
        """Return a slice without managedFields, None where it would hardly be shorter."""
        whole: Any = part if isinstance(part, bytes) else part.obj
        view, end = memoryview(part), len(part)
        find, kept = whole.find, list[memoryview]()
        taken = last = gone = 0
        expected = self._first
        while True:
            found = find(_FIELD, max(taken, expected - _NEAR), min(end, expected + _NEAR))
            if found < 0:
                found = find(_FIELD, taken, end)
                if found < 0:
                    break
            start = found + len(_FIELD)
            kept.append(view[taken:start])
            taken = find(b"]", start, end)
            if taken < 0:
                return None
            gone += taken - start
            if last:
                self._apart = found - last
            else:
                self._first = found
            last, expected = found, found + self._apart
        self._is_worth_it = gone >= end * _LEAST
        kept.append(view[taken:end])
        return b"".join(kept) if self._is_worth_it else None
