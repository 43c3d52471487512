"""Saved answers and logs of the scheduler: files, perhaps packed, or standard input for `-`, read within bounds."""

from collections.abc import Iterator

from kubectl_koord.cluster.reading.opening import by_line, opened, unpacked, whole
from kubectl_koord.cluster.scheduler_api import LONGEST

LONGEST_LINE = 8 << 20


def answer(name: str) -> bytes:
    """Return what a file holds.

    Raises:
        KoordError: when it cannot be read, or is too large for an answer.

    """
    return whole(name, LONGEST)


def lines(name: str) -> Iterator[str]:
    """Yield the lines of a log; of one that is longer than any that the scheduler writes, the beginning.

    Raises:
        KoordError: when it cannot be read.

    """
    with opened(name) as packed:
        file = by_line(unpacked(packed)[1])
        while line := file.readline(LONGEST_LINE):
            yield line.decode("utf-8", "replace")
            while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
