"""Every answer to every recorded cluster and to the demo as JSON, to compare two states of the code byte by byte.

    python -m tests.answers FOLDER

writes one file for each cluster and version. Run it before and after a change that must not change an answer, then
`diff -r BEFORE AFTER`.
"""

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubectl_koord.cli.main import run
from kubectl_koord.cluster import source, stored
from tests.conformance.cases import read_cases

_VERSIONS = ("1.7", "1.8", "main")
_MOMENT = "2026-11-20T10:00:00Z"


def answer(*words: str) -> str:
    """Return the exit code and what a command prints on both streams."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*words, "-o", "json"])
    out.seek(0)
    file = words[-1] if "--snapshot" in words else ""
    printed = f"{out.read()}{err.getvalue()}"
    # Commands to paste name the file, whose folder is another in each run.
    return f"$ {' '.join(words[: -2 if file else None])}\n{code}\n{printed.replace(file, 'FILE') if file else printed}"


def answers(*where: str) -> Iterator[str]:
    """Yield the answers to every question about one cluster."""
    yield answer("topo", "--nodes", *where)
    listing = answer("why-pending", "-A", *where)
    yield listing
    found: dict[str, Any] = json.loads(listing.split("\n", 2)[2] or "{}")
    for item in found.get("items", ()):
        name = ("pod/" if item.get("lonePod") else "") + item["gang"]
        for verb in (("why-pending", name, "--nodes"), ("preempt", name, "--dry-run"), ("topo", "--for", name)):
            yield answer(*verb, *where)


def main() -> None:
    """Write the files."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    for module in (source, stored):
        vars(module)["now"] = lambda: _MOMENT  # ages would differ from run to run
    with tempfile.TemporaryDirectory() as home:
        for version in _VERSIONS:
            chosen = ("--koordinator-version", version)
            (folder / f"demo.{version}").write_text("".join(answers(*chosen, "--demo")))
            for case in read_cases(Path(__file__).parent / "cases"):
                file = Path(home) / "cluster.json"
                file.write_text(json.dumps(case.cluster))
                (folder / f"{case.name}.{version}").write_text("".join(answers(*chosen, "--snapshot", str(file))))


if __name__ == "__main__":
    main()
