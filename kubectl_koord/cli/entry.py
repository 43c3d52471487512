"""Where the process begins: a signal ends it silently from here on, so this is the first module to be imported."""

import gc
import sys

from kubectl_koord import leaving

leaving.hold_signals()
gc.disable()  # what is imported is no garbage; where we stay for long, it is turned on again

from kubectl_koord.cli import verb_table  # noqa: E402 - a signal waits for what is to be said

# Whatever else the words may mean: nothing has been sent so far.
leaving.on_signals(leaving.NOTHING_SENT if any(map(verb_table.changes, sys.argv)) else "")


def main() -> None:
    """Run the program."""
    _choose_language()
    from kubectl_koord.cli.main import main

    main()


def complete() -> None:
    """Answer kubectl's question for completions."""
    _choose_language()
    from kubectl_koord.cli.completion import main

    main()


def _choose_language() -> None:
    """Choose it before all else is imported: texts of modules are in the language in which they are imported."""
    from kubectl_koord.cli import languages

    languages.here()
