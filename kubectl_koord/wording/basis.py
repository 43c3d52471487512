"""What an answer rests on: whose behaviour, what could not be read, and its warnings."""

from collections.abc import Iterable

from kubectl_koord.model.installation import Home
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.reports.common import Basis, Notice
from kubectl_koord.wording.words import listed


def assumed_config(why: str) -> str:
    """Return that the configuration is assumed; `why` it could not be read, empty where it was not found."""
    if not why:
        return "the scheduler's configuration was not read; assuming Helm chart defaults."
    return f"the scheduler's configuration could not be read ({why}); assuming Helm chart defaults."


def lease_missing(home: Home) -> str:
    """Return that there is no leader lease."""
    return (
        f"lease {home.lease} does not exist in {home.namespace}: the scheduler has never been active, runs elsewhere"
        " (--koordinator-namespace), or runs without leader election."
    )


def could_not_be_read(gaps: Iterable[Gap]) -> str:
    """Return which kinds could not be read, and why, without a full stop."""
    kinds = dict.fromkeys(gap.kind for gap in gaps)
    reasons = dict.fromkeys(gap.message for gap in gaps)
    return f"{listed(tuple(kinds))} could not be read: {listed(tuple(reasons))}"


def not_followed(outcomes: int) -> str:
    """Return that there are more outcomes than were followed, and that nothing is known of the others."""
    return f"followed {outcomes} of more outcomes: what the others come to is unknown"


def not_read(kinds: Iterable[str], reason: str) -> str:
    """Return the warning of kinds that could not be read for one reason."""
    return f"{listed(tuple(dict.fromkeys(kinds)))}: {reason}"


def none_in_input(kinds: Iterable[str]) -> str:
    """Return the warning of kinds of which the input holds nothing."""
    return f"snapshot contains no {listed(tuple(kinds), 'or')}; assuming none exist."


def evaluated_as(basis: Basis, facts: Iterable[str] = ()) -> str:
    """Return the facts counted, whose behaviour the answer reproduces, and of which cluster it is."""
    by = f"Evaluated as Koordinator {basis.koordinator_version} ({basis.version_from})"
    return ". ".join(filter(None, ["; ".join(filter(None, facts)), by, named(basis)]))


def named(basis: Basis) -> str:
    """Return the names that the kubeconfig has for the cluster, empty where it has none."""
    if not basis.context:
        return f"Cluster {basis.cluster}" if basis.cluster else ""
    return ", ".join(filter(None, [f"Context {basis.context}", basis.cluster and f"cluster {basis.cluster}"]))


def read_at(basis: Basis) -> str:
    """Return what was read, and when."""
    source = {"file": "a file", "demo": "the demo cluster"}.get(basis.source, f"the {basis.source}")
    return ". ".join(filter(None, [f"Read from {source} at {basis.moment}", named(basis)]))


def warning(notice: Notice) -> str:
    """Return a warning with its code."""
    return f"Warning: {notice.message} ({notice.code})"
