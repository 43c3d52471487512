"""What could not be looked at."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed


def no_right(resource: str, why: str, commands: Sequence[str]) -> str:
    """Return that a resource may not be listed, and which commands rest on it."""
    need = f"; {listed(commands)} read it" if commands else ""
    return f"the verb list is missing for {resource}: {why.rstrip('.')}{need}."


def crds(kinds: Sequence[str]) -> str:
    """Return which CRDs are not installed."""
    what = "the CRD of" if len(kinds) == 1 else "the CRDs of"
    return f"{what} {listed(kinds)} {'is' if len(kinds) == 1 else 'are'} not installed: the scheduler waits for them."


def not_checked(kinds: Sequence[str], why: str = "") -> str:
    """Return which kinds were not looked at, and why: by default as the input holds none of them."""
    return f"{listed(kinds)} could not be checked: {why.rstrip('.') or 'the input holds none'}."
