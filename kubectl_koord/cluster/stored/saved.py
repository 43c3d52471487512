"""Saved answers and logs of the scheduler: files, perhaps packed, or standard input for `-`, read within bounds."""

from collections.abc import Iterator

from kubectl_koord.cluster.bounds import TooLargeError
from kubectl_koord.cluster.reading.opening import by_line, opened, unpacked, whole
from kubectl_koord.cluster.scheduler_api import LONGEST

LONGEST_LINE = 8 << 20
MOST_BYTES, MOST_LINES = 2 << 30, 20_000_000
"""Of a log: far more than a kubelet keeps."""


def answer(name: str) -> bytes:
    """Return what a file holds.

    Raises:
        KoordError: when it cannot be read, or is too large for an answer.

    """
    return whole(name, LONGEST)


def lines(name: str, seen: dict[str, int] | None = None) -> Iterator[str]:
    """Yield the lines of a log; of one that is longer than any that the scheduler writes, the beginning.

    `seen` is counted up, by what it is, for who watches the reading.

    Raises:
        KoordError: when it cannot be read, or has no end.

    """
    count = size = 0
    with opened(name) as packed:
        file = by_line(unpacked(packed)[1])
        while line := file.readline(LONGEST_LINE):
            count += 1
            if seen is not None:
                seen["line"] = count
            yield line.decode("utf-8", "replace")
            size += len(line)
            while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
                size += len(line)
                _check(count, size)
            _check(count, size)


def _check(count: int, size: int) -> None:
    if count > MOST_LINES or size > MOST_BYTES:
        most = f"{MOST_LINES:,} lines or {MOST_BYTES >> 20:,} MiB"
        raise TooLargeError(f"more than {most}: give a part of it, as of kubectl logs --tail=100000")
