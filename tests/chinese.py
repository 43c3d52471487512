"""The golden screens and the help in Chinese.

    python -m tests.chinese --write

A process of its own: texts of modules are in the language in which they are imported.
"""

from kubectl_koord.cli import languages

languages.speak_chinese()

from pathlib import Path  # noqa: E402

import typer  # noqa: E402

from kubectl_koord.cli import app, command_line, help_text  # noqa: E402
from tests import sentences  # noqa: E402

GOLDEN = sentences.ROOT / "tests" / "golden.zh"


def golden() -> dict[Path, str]:
    """Return what each golden file is to hold."""
    files = {GOLDEN / path.name: content for path, content in sentences.golden().items() if ".plain" not in path.name}
    return {**files, GOLDEN / "help.txt": _help()}


def _help() -> str:
    """Return the front page, and the help of each verb in 80 columns."""
    command = typer.main.get_command(app.tree())
    help_text.translate(command)
    root = typer.Context(command, info_name="kubectl koord", terminal_width=80)
    verbs = (
        typer.Context(each, info_name=name, parent=root, terminal_width=80).get_help()
        for name, each in getattr(command, "commands", {}).items()
    )
    return "\n\n".join([command_line.front_page(short=True), command_line.front_page(short=False), *verbs])


if __name__ == "__main__":
    sentences.kept(golden(), GOLDEN)
