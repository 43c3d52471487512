"""Where the process begins: a signal ends it silently from here on, so this is the first module to be imported."""

import sys

from kubectl_koord import leaving

# Whatever else the words may mean: nothing has been sent so far.
leaving.on_signals(leaving.NOTHING_SENT if "annotate" in sys.argv else "")


def main() -> None:
    """Run the program."""
    from kubectl_koord.cli.main import main

    main()


def complete() -> None:
    """Answer kubectl's question for completions."""
    from kubectl_koord.cli.completion import main

    main()
