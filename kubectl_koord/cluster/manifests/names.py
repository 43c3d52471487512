"""The names of submitted objects: each once, as the API server would make or refuse them."""

import re

from kubectl_koord.errors import KoordError

_LONGEST = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RULE = "lower case letters, digits, '-' and '.', a letter or digit first and last"


class Names:
    """Which names are taken, and by which objects."""

    def __init__(self) -> None:
        """Start with none."""
        self._titles: dict[tuple[str, ...], str] = {}

    def take(self, title: str, kind: tuple[str, ...], name: str, generated: str) -> str:
        """Return the name of an object, with a number where the last one whose name is generated had the same.

        Args:
            title: what errors call the object.
            kind: its API group, kind and namespace.
            name: its metadata.name, empty for none.
            generated: its metadata.generateName.

        Raises:
            KoordError: when it has no name, or none that the API server takes, or that of another one.

        """
        stem = name or generated.rstrip("-.")
        if not stem:
            raise KoordError(f"{title} has no metadata.name")
        if len(stem) > _LONGEST or not _NAME.fullmatch(stem):
            raise KoordError(f"{title}: metadata.name {stem[:_LONGEST]!r} is no name: {_RULE}")
        found, number = stem, 1
        while (*kind, found) in self._titles and not name:
            number += 1
            found = f"{stem}-{number}"
        if (*kind, found) in self._titles:
            raise KoordError(f"{title}: metadata.name: the same as {self._titles[*kind, found]}")
        self._titles[*kind, found] = title.removeprefix("error: ")
        return found
