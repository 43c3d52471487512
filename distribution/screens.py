"""What the program prints, run in this process: for pages that show it."""

import contextlib
import gc
import io
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from kubectl_koord.cli.main import run

ROOT = Path(__file__).parents[1]
_PLAIN = {"NO_COLOR": "1", "COLUMNS": "80", "LINES": "24"}


def printed(line: str) -> str:
    """Return what `kubectl koord` prints with these words, warnings on standard error first, as into a pipe.

    It runs in the root of the repository.

    Raises:
        ValueError: when it fails: the words are wrong.

    """
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    said = io.StringIO()
    with _as_always(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        run(shlex.split(line))
    out.flush()
    if "error" in said.getvalue().lower():
        raise ValueError(f"{line}: {said.getvalue()}")
    text = said.getvalue() + out.buffer.getvalue().decode()
    return "\n".join(part.rstrip() for part in text.splitlines()) + "\n"


@contextlib.contextmanager
def _as_always() -> Iterator[None]:
    """Let nothing of whoever runs this show: no colours, 80 columns, names of files from the root."""
    before = dict(os.environ)
    os.environ.update(_PLAIN)
    try:
        with contextlib.chdir(ROOT):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        gc.enable()
