"""The files that are generated and kept.

From the command tree: man pages, completion scripts, what flags are for. From the kinds that are read: ClusterRoles.
From what the program prints: pages of the commands, pictures. From the reports: the schema of the documents.
From the tables of settings and metrics, and of symptoms with the manual: their pages.

python -m distribution.generated --write
"""

import json
import sys
from pathlib import Path

from distribution import live, manpages, metrics, pages, picture, roles, schema, settings, symptoms
from distribution.tree import commands
from kubectl_koord.cli import shells

ROOT = Path(__file__).parents[1]
_SCRIPTS = {
    "bash": "completions/kubectl-koord.bash",
    "zsh": "completions/_kubectl-koord",
    "fish": "completions/kubectl-koord.fish",
    "kubectl": "completions/kubectl_complete-koord",
}


def files() -> dict[str, str]:
    """Return the text of each file by its path."""
    return {
        "kubectl_koord/cli/flags.json": _flags(),
        **{path: shells.script(shell) for shell, path in _SCRIPTS.items()},
        **roles.files(),
        **{f"man/{name}": text for name, text in manpages.pages().items()},
        **pages.pages(),
        **picture.pictures(),
        **live.files(),
        schema.PATH: schema.text(),
        settings.PATH: settings.text(),
        metrics.PATH: metrics.text(),
        symptoms.PATH: symptoms.text(),
    }


def _flags() -> str:
    """Return the flags of each verb, one a line: its name, what stands for its value, what it is for."""
    of_verbs = {one.verb: {name: flag for flag in one.flags for name in flag.names} for one in commands() if one.flags}
    written = {
        verb: ",\n".join(
            f"    {json.dumps(name)}: {json.dumps([flag.metavar, flag.text])}" for name, flag in flags.items()
        )
        for verb, flags in of_verbs.items()
    }
    return "{\n" + ",\n".join(f'  "{verb}": {{\n{lines}\n  }}' for verb, lines in written.items()) + "\n}\n"


def main() -> None:
    """Write the files, and remove the pages of verbs that are gone."""
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    wanted = files()
    for name in kept() - set(wanted):
        (ROOT / name).unlink()
    for name, text in wanted.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, "utf-8")


def kept() -> set[str]:
    """Return the paths of all files in the folders where every file is generated, but for their README."""
    folders = ("man", pages.FOLDER, "docs/images", "docs/schema")
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if path.name != "README.md"}


if __name__ == "__main__":
    main()
