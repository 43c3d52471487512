"""The files of folders, wherever a file may be named: as kubectl takes them with `-f`."""

import os
from collections.abc import Iterable, Iterator

from kubectl_koord.errors import KoordError

EXTENSIONS = (".json", ".yaml", ".yml")
"""Those of files in folders that are read; each may be packed."""
_PACKED = ".gz"


def files_of(names: Iterable[str], *, recursive: bool = False) -> tuple[str, ...]:
    """Return the names with folders replaced by the files in them, in name order.

    Args:
        names: paths; `-` is standard input.
        recursive: whether folders within folders are looked into.

    Raises:
        KoordError: naming a folder that cannot be read, or that has no such file.

    """
    return tuple(file for name in names for file in (_files(name, recursive=recursive) if _is_folder(name) else [name]))


def _is_folder(name: str) -> bool:
    return name != "-" and os.path.isdir(name)  # noqa: PTH112 - pathlib costs start-up time


def _files(folder: str, *, recursive: bool) -> list[str]:
    found = [file for file in _walked(folder, recursive=recursive) if _is_read(file)]
    if not found:
        raise KoordError(f"error: no file in {folder}: recognized file extensions are {', '.join(EXTENSIONS)}")
    return sorted(found)


def _walked(folder: str, *, recursive: bool) -> Iterator[str]:
    for place, folders, names in os.walk(folder, onerror=_refused):
        folders[:] = folders if recursive else []
        yield from (os.path.join(place, name) for name in names)  # noqa: PTH118


def _is_read(name: str) -> bool:
    return name.removesuffix(_PACKED).endswith(EXTENSIONS)


def _refused(problem: OSError) -> None:
    raise KoordError(f"error: the path {problem.filename!r} cannot be read: {problem.strerror}") from None
