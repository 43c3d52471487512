"""Where the process begins: a signal ends it silently from here on, so this is the first module to be imported."""

import gc
import sys

from kubectl_koord import leaving

leaving.hold_signals()
gc.disable()  # what is imported is no garbage; where we stay for long, it is turned on again

from kubectl_koord.cli import languages  # noqa: E402 - a signal waits for what is to be said

languages.here()  # texts of modules are in the language in which they are imported

from kubectl_koord.cli import verb_table  # noqa: E402

# Whatever else the words may mean: nothing has been sent so far.
leaving.on_signals(leaving.NOTHING_SENT if any(map(verb_table.changes, sys.argv)) else "")


def main() -> None:
    """Run the program."""
    from kubectl_koord.cli.main import main

    main()


def complete() -> None:
    """Answer kubectl's question for completions."""
    from kubectl_koord.cli.completion import main

    main()
