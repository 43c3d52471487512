"""The files that are generated and kept.

From the command tree: man pages, completion scripts, what flags are for. From the kinds that are read: ClusterRoles.

python -m distribution.generated --write
"""

import sys
from pathlib import Path

import msgspec

from distribution import manpages, roles
from distribution.tree import commands
from kubectl_koord.cli.completing import shells

ROOT = Path(__file__).parents[1]
_SCRIPTS = {
    "bash": "completions/kubectl-koord.bash",
    "zsh": "completions/_kubectl-koord",
    "fish": "completions/kubectl-koord.fish",
    "kubectl": "completions/kubectl_complete-koord",
}


def files() -> dict[str, str]:
    """Return the text of each file by its path."""
    texts = {
        one.verb: {name: flag.text for flag in one.flags for name in flag.names} for one in commands() if one.flags
    }
    table = msgspec.json.format(msgspec.json.encode(texts), indent=2).decode()
    return {
        "kubectl_koord/cli/flags.json": f"{table}\n",
        **{path: shells.script(shell) for shell, path in _SCRIPTS.items()},
        **roles.files(),
        **{f"man/{name}": text for name, text in manpages.pages().items()},
    }


def main() -> None:
    """Write the files, and remove the man pages of verbs that are gone."""
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    wanted = files()
    for path in (ROOT / "man").glob("*"):
        if f"man/{path.name}" not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (ROOT / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
