"""The names of submitted objects: each once, as the API server would make or refuse them."""

import re

from kubectl_koord.errors import KoordError

_LONGEST, _LONGEST_LABEL = 253, 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_RULE = "at most 63 lower case letters, digits and '-', a letter or digit first and last"
_RULE = "lower case letters, digits, '-' and '.', a letter or digit first and last"


def checked_namespace(title: str, name: str) -> str:
    """Return the namespace that an object names.

    Args:
        title: what errors call the object.
        name: the namespace.

    Raises:
        KoordError: when it is none that the API server takes.

    """
    if len(name) > _LONGEST_LABEL or "." in name or not _NAME.fullmatch(name):
        raise KoordError(f"{title}: metadata.namespace {name[:_LONGEST]!r} is no name: {_LABEL_RULE}")
    return name


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
