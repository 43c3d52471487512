"""Saved answers and logs of the scheduler: files, or standard input for `-`, read within bounds."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kubectl_koord.cluster.scheduler_api import LONGEST
from kubectl_koord.errors import KoordError

LONGEST_LINE = 8 << 20


def answer(name: str) -> bytes:
    """Return what a file holds.

    Raises:
        KoordError: when it cannot be read, or is too large for an answer.

    """
    try:
        with _opened(name) as file:
            text = file.read(LONGEST + 1)
    except OSError as problem:
        raise KoordError(f"error: {name}: {problem.strerror}") from None
    if len(text) > LONGEST:
        raise KoordError(f"error: {name}: the answer is larger than {LONGEST >> 20} MiB")
    return text


def lines(name: str) -> Iterator[str]:
    """Yield the lines of a log; of one that is longer than any that the scheduler writes, the beginning.

    Raises:
        KoordError: when it cannot be read.

    """
    try:
        with _opened(name) as file:
            while line := file.readline(LONGEST_LINE):
                yield line.decode("utf-8", "replace")
                while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    line = file.readline(LONGEST_LINE)
    except OSError as problem:
        raise KoordError(f"error: {name}: {problem.strerror}") from None


def _opened(name: str) -> BinaryIO:
    return sys.stdin.buffer if name == "-" else Path(name).open("rb")
