"""The files of folders, wherever a file may be named: as kubectl takes them with `-f`."""

import os
from collections.abc import Iterable, Iterator

from kubectl_koord.errors import KoordError

EXTENSIONS = (".json", ".yaml", ".yml")
"""Those of files in folders that are read; each may be packed."""
_PACKED = ".gz"
_DUMPED = {f"nodes{end}" for end in EXTENSIONS}


def files_of(names: Iterable[str], *, recursive: bool = False) -> tuple[str, ...]:
    """Return the names with folders replaced by the files in them, in name order.

    Args:
        names: paths; `-` is standard input.
        recursive: whether folders within folders are looked into; those of a `kubectl cluster-info dump` always are.

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
    recursive = recursive or _is_dump(folder)
    for place, folders, names in os.walk(folder, onerror=_refused):
        folders[:] = folders if recursive else []
        yield from (os.path.join(place, name) for name in names)  # noqa: PTH118


def _is_dump(folder: str) -> bool:
    """Tell whether a folder has a cluster as `kubectl cluster-info dump` writes it: pods in a folder per namespace."""
    try:
        with os.scandir(folder) as entries:
            there = {one.name: one.is_dir() for one in entries}
    except OSError:
        return False  # said as it is walked
    beside = [os.path.join(folder, name) for name, is_folder in there.items() if is_folder]  # noqa: PTH118
    return not _DUMPED.isdisjoint(there) and any(
        os.path.exists(os.path.join(one, f"pods{end}"))  # noqa: PTH110, PTH118
        for one in beside
        for end in EXTENSIONS
    )


def _is_read(name: str) -> bool:
    return name.removesuffix(_PACKED).endswith(EXTENSIONS)


def _refused(problem: OSError) -> None:
    raise KoordError(f"error: the path {problem.filename!r} cannot be read: {problem.strerror}") from None
