"""Sentences that several pages share."""

from collections.abc import Iterable, Sequence

from kubectl_koord.wording.words import count

DETAILS = "Details: "
NEXT_STEPS = "What to do next"
CODES = "kubectl koord explain CODE shows what a code means and what to do next."
_MOST_CASES = 2
OUTCOMES = "Possible outcomes (no object shows which one)"


def and_more(what: str, how: str = "") -> str:
    """Return that there is more than is shown, such as `19 more`, and how to see it."""
    return f"... and {what}{how} (--all shows them)"


def more(number: int, things: str = "") -> str:
    """Return that there are so many more: `... and 4 more victims (--all shows them)`."""
    return and_more(f"{number} more {things}" if things else f"{number} more")


def told(found: Iterable[tuple[Sequence[str], str]]) -> list[str]:
    """Return outcomes, each with the cases in which it comes: those of the same cases in one."""
    by_case: dict[str, list[str]] = {}
    for cases, outcome in found:
        by_case.setdefault(_cases(tuple(dict.fromkeys(cases))), []).append(outcome)
    return [f"If {case}: {' Or: '.join(outcomes)}" for case, outcomes in by_case.items()]


def _cases(cases: Sequence[str]) -> str:
    if len(cases) <= _MOST_CASES:
        return ", or ".join(cases)
    return f"{cases[0]}, or in {len(cases) - 1} other cases"


def beyond_limit(number: int, things: str = "") -> str:
    """Return that there are so many more than `--limit` allows."""
    return f"... and {number} more {things}".rstrip()


def more_pods(pods: int, nodes: int) -> str:
    """Return how many more pods there are, on how many more nodes."""
    return and_more(f"{count(pods, 'pod')} on {nodes} more nodes")


def first_names(names: Sequence[str], more: int) -> str:
    """Return the first names of a list, and how many more there are."""
    return f"{', '.join(names)} and {more} more (--all shows them)"


def columns_left_out(titles: Sequence[str]) -> str:
    """Return that there is no room for columns."""
    return f"(no room for {', '.join(titles)})"


def command_left_out(size: int) -> str:
    """Return that a command is too long to be shown."""
    return f"(a command of {size} characters: -o json has it)"
