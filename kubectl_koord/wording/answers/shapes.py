"""What pods of a shape are called, and what is wrong with the text of one."""

from collections.abc import Iterable

from kubectl_koord.engine.reasons.nodes import Refused
from kubectl_koord.model.values.quantity import Resources
from kubectl_koord.wording.evidence import lost_nodes
from kubectl_koord.wording.words import requests

NO_GPUS = "no node has GPUs"


def pods_of(needs: Resources) -> str:
    """Return what pods are called that only request this."""
    return f"pods of {requests(needs)}"


def refused_by_nodes(reasons: Iterable[Refused]) -> str:
    """Return why nodes refuse pods of a shape for which they have enough free."""
    return f"nodes with enough free take none: {lost_nodes(reasons)}."


def twice(resource: str) -> str:
    """Return that a resource is given twice."""
    return f"{resource} is given twice"


def unreadable(part: str) -> str:
    """Return that a part has neither of the two forms."""
    return f"{part!r} is not of the form 8gpu or NAME=AMOUNT"


def no_quantity(part: str, problem: str) -> str:
    """Return what is wrong with an amount."""
    return f"{part!r}: {problem}"


def nothing(part: str) -> str:
    """Return that an amount must be more than 0."""
    return f"{part!r} must be more than 0"


def refused(resource: str, why: str) -> str:
    """Return that the API server refuses an amount."""
    return f"the amount of {resource} {why}"


def no_such_resource(name: str) -> str:
    """Return that no node has a resource."""
    return f"no node has the resource {name!r}"


def needs_shares(resource: str) -> str:
    """Return that a part of a GPU cannot be asked for by a vendor's resource."""
    return f"a part of a GPU needs nodes with {resource}"
