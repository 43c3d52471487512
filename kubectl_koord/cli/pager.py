"""Long answers in a pager, on a terminal alone, as git has it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping

_LESS = {"LESS": "FRX", "LV": "-c"}
"""What the usual pagers are told where the user says nothing: end with a short page, show colours, leave the text."""


def chosen(environ: Mapping[str, str]) -> str:
    """Return the pager to use: KUBECTL_KOORD_PAGER, else PAGER, else less where it is; empty for none.

    `cat` and an empty value are none, and so is what cannot move its cursor.
    """
    named = next((environ[name] for name in ("KUBECTL_KOORD_PAGER", "PAGER") if name in environ), None)
    pager = ("less" if shutil.which("less") else "") if named is None else named.strip()
    return "" if pager == "cat" or environ.get("TERM", "dumb") == "dumb" else pager


def show(pager: str, text: bytes) -> bool:
    """Show text in a pager until its user leaves it; return whether there is such a pager.

    Ctrl-C is for the pager meanwhile.
    """
    environment = _LESS | dict(os.environ)
    before = signal.signal(signal.SIGINT, lambda *_: None)  # the child would inherit that it is ignored
    try:
        child = subprocess.Popen(["/bin/sh", "-c", pager], stdin=subprocess.PIPE, env=environment)  # noqa: S603
        child.communicate(text)
    finally:
        signal.signal(signal.SIGINT, before)
    return child.returncode not in _NO_PAGER


_NO_PAGER = {126, 127}
"""What a shell ends with that cannot run a command."""
