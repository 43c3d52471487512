"""What could not be looked at."""

from collections.abc import Sequence

from kubectl_koord.wording.words import listed, verb


def no_right(
    resources: Sequence[str], verbs: Sequence[str], why: str, readers: Sequence[str], followers: Sequence[str]
) -> str:
    """Return what may not be done with resources, and which commands rest on it; `why` is said of the first."""
    missing = f"the {verb(len(verbs), 'verb', 'verbs')} {listed(verbs)} {verb(len(verbs), 'is', 'are')} missing"
    blind = [f"{listed(readers)} {verb(len(readers), 'reads', 'read')} {_it(resources)}"] if readers else []
    blind += (
        [f"{listed(followers)} with -w {verb(len(followers), 'follows', 'follow')} {_it(resources)}"]
        if followers
        else []
    )
    need = f"; {' and '.join(blind)}" if blind else ""
    return f"{missing} for {listed(resources)}: {why.rstrip('.')}{need}."


def not_told(resource: str, missing: str, why: str) -> str:
    """Return that nobody knows whether something may be done with a resource."""
    return f"whether you may {missing} {resource} could not be found out: {why.rstrip('.')}."


def _it(resources: Sequence[str]) -> str:
    return "it" if len(resources) == 1 else "them"


def crds(kinds: Sequence[str]) -> str:
    """Return which CRDs are not installed."""
    what = "the CRD of" if len(kinds) == 1 else "the CRDs of"
    return f"{what} {listed(kinds)} {'is' if len(kinds) == 1 else 'are'} not installed: the scheduler waits for them."


def not_checked(kinds: Sequence[str], why: str = "") -> str:
    """Return which kinds were not looked at, and why: by default as the input holds none of them."""
    return f"{listed(kinds)} could not be checked: {why.rstrip('.') or 'the input holds none'}."
