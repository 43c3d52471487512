"""Why a pod's resource claims keep it from being tried, or from nodes, in English."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from kubectl_koord.engine.fit.resource_claims.readiness import UnreadyClaim
from kubectl_koord.engine.reasons.claims import (
    ClaimElsewhere,
    ClaimReason,
    NotEnoughDevices,
    SelectorFails,
    SelectorProblemCode,
    TooManyDevices,
)
from kubectl_koord.engine.reasons.prefilter import ClaimsUnallocated
from kubectl_koord.wording.words import count, listed

_PROBLEMS: Mapping[SelectorProblemCode, str] = {
    "no-such-key": "no such key",
    "no-such-overload": "no such overload",
    "unsupported-attribute": "unsupported attribute value",
    "no-boolean": "its result is no boolean",
    "no-version": "no semantic version",
    "no-quantity": "no quantity",
    "no-integer": "no integer",
    "integer-overflow": "integer overflow",
    "division-by-zero": "division by zero",
    "no-value": "optional value that is not there",
    "unhashable": "versions cannot be looked up in a list of texts",
}


def claim_obstacle(reason: ClaimReason) -> str:
    """Return why a node cannot serve a claim, in a few plain words."""
    match reason:
        case ClaimElsewhere(claim):
            return f"resource claim {claim} (allocated on other nodes)"
        case NotEnoughDevices(claim, request, wanted, free, every=True):
            told = f"all {count(wanted, 'device')}, {free} free" if wanted else "all devices that match, none does"
            return f"resource claim {claim} (request {request} wants {told})"
        case NotEnoughDevices(claim, request, wanted, free):
            return f"resource claim {claim} (request {request} wants {count(wanted, 'device')}, {free} free)"
        case SelectorFails(claim, request, expression, problem):
            told = f"{_PROBLEMS[problem.code]}{f': {problem.about}' if problem.about else ''}"
            return f"resource claim {claim} (CEL selector {expression} of request {request} fails: {told})"
        case TooManyDevices(claim, wanted):
            return f"resource claim {claim} (wants {count(wanted, 'device')}, more than one claim may get)"
        case _:
            assert_never(reason)


def unready_clause(claims: Sequence[UnreadyClaim]) -> str:
    """Return what claims wait for: the first of them, and how many more there are."""
    first, *more = claims
    return f"{_unready(first)} (and {count(len(more), 'more claim')})" if more else _unready(first)


def _unready(claim: UnreadyClaim) -> str:
    match claim.fault:
        case "not-made":
            return f"its resource claim {claim.name} was not made from its template yet"
        case "missing":
            return f"resource claim {claim.name} does not exist"
        case "being-deleted":
            return f"resource claim {claim.name} is being deleted"
        case "not-owner":
            return f"resource claim {claim.name} exists, but was made for another pod"
        case _:
            assert_never(claim.fault)


def claims_sentence(refusal: ClaimsUnallocated) -> str:
    """Return why a claim cannot be used on any node."""
    claim = refusal.claim
    match refusal.fault:
        case "no-class":
            return (
                f"request {refusal.request} of resource claim {claim} names DeviceClass {refusal.about},"
                " which does not exist."
            )
        case "in-use":
            return f"as many pods use resource claim {claim} as may at once."
        case "being-allocated":
            return (
                f"resource claim {claim} is being allocated for another pod that waits to be bound;"
                " pods that are bound together cannot share a claim that is not allocated yet."
            )
        case _:
            assert_never(refusal.fault)


def not_allocated(obstacles: Sequence[tuple[str, int]], nodes: int) -> str:
    """Return which claims so many nodes cannot serve, the most frequent reason first."""
    parts = [f"{number} of {count(nodes, 'node')} cannot serve {words}" for words, number in obstacles]
    return f"{listed(parts)}."
