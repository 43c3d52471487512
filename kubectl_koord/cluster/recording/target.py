"""The file that a snapshot becomes: of its owner alone, whole or not at all, and never in the place of another."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self

from kubectl_koord import leaving
from kubectl_koord.errors import KoordError

NAMELESS: int = getattr(os, "O_TMPFILE", 0)
"""Makes a file without a name, 0 where the system has none."""
_OWNERS = 0o600
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""What a file system answers on which a file has one name."""
_NO_NAMELESS = {errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What is answered where there is no file without a name."""


_OTHER_FORMATS = frozenset({"bz2", "lz4", "tar", "tgz", "xz", "yaml", "yml", "zip", "zst"})
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What the system answers where a file takes no more."""


def is_packed(path: str) -> bool:
    """Tell whether a file of this name is packed: all but what is named as JSON."""
    return not path.lower().endswith(".json")


def check_ending(path: str) -> None:
    """Refuse a name that promises another format.

    Raises:
        KoordError: when it does.

    """
    ending = os.path.splitext(path)[1].lower().removeprefix(".")  # noqa: PTH122
    if ending in _OTHER_FORMATS:
        raise KoordError(f"error: a snapshot is JSON (.json) or packed JSON (.json.gz), not .{ending}: {path!r}")


class NewFile:
    """A new file that has no name until it is complete: whatever ends the writing, kill -9 too, leaves nothing behind.

    Where there are no such files it has another name meanwhile, which every ending but kill -9 takes away.
    """

    def __init__(self, path: str) -> None:
        """Make sure that there is no such file.

        Raises:
            KoordError: when there is, or no file can be made there.

        """
        self._path = path
        self._beside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(4)}")  # noqa: PTH118, PTH119, PTH120
        if os.path.lexists(path):
            raise self._exists()
        self._has_name = False

    def __enter__(self) -> Self:
        """Make the file."""
        number = self._nameless()
        if number is None:
            number = self._named()
        os.fchmod(number, _OWNERS)  # whatever the umask
        self._file = os.fdopen(number, "wb")
        return self

    def _nameless(self) -> int | None:
        if not NAMELESS:
            return None
        try:
            return os.open(os.path.dirname(self._path) or ".", os.O_WRONLY | NAMELESS, _OWNERS)  # noqa: PTH120
        except OSError as problem:
            if problem.errno in _NO_NAMELESS:
                return None
            raise self._failed(problem) from None

    def _named(self) -> int:
        self._has_name = True
        with leaving.SignalsBlocked():
            try:
                number = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS)
            except OSError as problem:
                raise self._failed(problem) from None
            leaving.first(self._remove)
        return number

    @property
    def file(self) -> IO[bytes]:
        """What is written to."""
        return self._file

    def complete(self) -> None:
        """Give the file its name.

        Raises:
            KoordError: when there is a file of this name by now, or it could not be written.

        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._name()
        except FileExistsError:
            raise self._exists() from None
        except OSError as problem:
            raise self._failed(problem) from None

    def _name(self) -> None:
        if not self._has_name:
            folder = os.open("/", os.O_RDONLY)  # given one, Python follows the link to the file
            try:
                os.link(f"/proc/self/fd/{self._file.fileno()}", self._path, src_dir_fd=folder)
            finally:
                os.close(folder)
            return
        try:
            os.link(self._beside, self._path, follow_symlinks=False)  # unlike a rename it replaces nothing
        except OSError as problem:
            if problem.errno not in _NO_LINKS or os.path.lexists(self._path):
                raise
            os.rename(self._beside, self._path)  # noqa: PTH104

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Take the other name away.

        Raises:
            KoordError: when the file did not take what was written to it.

        """
        try:
            with self._named_where_full():
                self._file.close()
                if isinstance(error, OSError):
                    raise error
        finally:
            self._remove()
            leaving.no_more(self._remove)

    @contextlib.contextmanager
    def _named_where_full(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            if problem.errno not in _FULL or problem.filename:
                raise
            raise self._failed(problem) from None

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._beside)  # noqa: PTH108

    def _exists(self) -> KoordError:
        return KoordError(f"error: the file {self._path!r} exists, and is not overwritten")

    def _failed(self, problem: OSError) -> KoordError:
        return KoordError(f"error: the file {self._path!r} cannot be written: {problem.strerror}")
