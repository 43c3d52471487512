"""What labels and annotations of pods say about reservations."""

from collections.abc import Mapping
from sys import intern
from typing import Any, TypeAlias

import msgspec

from kubectl_koord.cluster.objects.fields import go_json
from kubectl_koord.cluster.objects.fields.meta import strings
from kubectl_koord.cluster.objects.fields.owners import ReservationOwner, owners
from kubectl_koord.cluster.objects.fields.selectors import NodeSelectorTerm, Toleration, label_requirements
from kubectl_koord.cluster.objects.pods import fields
from kubectl_koord.model import pods, reservations
from kubectl_koord.model.values import selectors

_SCHEDULING = "scheduling.koordinator.sh/"
_AFFINITY = _SCHEDULING + "reservation-affinity"
_EXACT = _SCHEDULING + "exact-match-reservation"
_IGNORED = _SCHEDULING + "reservation-ignored"
ALLOCATED = _SCHEDULING + "reservation-allocated"
_OWNERS = _SCHEDULING + "reservation-owners"
_CURRENT_OWNER = _SCHEDULING + "reservation-current-owner"

Written: TypeAlias = Mapping[str, str | None] | None
Use: TypeAlias = tuple[str | None, str, bool]
_NO_USE: Use = (None, "", False)


class _Required(msgspec.Struct, gc=False, rename="camel"):
    reservation_selector_terms: list[NodeSelectorTerm] | None = None


class _Affinity(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    reservation_selector: dict[str, str] | None = None
    required: _Required | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    tolerations: list[Toleration] | None = None


class _Exact(msgspec.Struct, gc=False, rename="camel"):
    resource_names: list[str] | None = None


class _Allocated(msgspec.Struct, gc=False):
    uid: str = ""


_allocated = msgspec.json.Decoder(_Allocated)


class _CurrentOwner(msgspec.Struct, gc=False):
    """An object reference: that it is one counts."""


def read_of(annotations: Written, labels: Written) -> Use:
    """Return what is said about using reservations, as written: equal texts mean the same."""
    ignores = labels is not None and labels.get(_IGNORED) == "true"
    if not annotations:
        return (None, "", True) if ignores else _NO_USE
    return annotations.get(_AFFINITY), annotations.get(_EXACT) or "", ignores


def use(read: Use) -> reservations.ReservationUse | None:
    """Return what is said about using reservations, None for nothing; an affinity that is empty requires just one."""
    if read == _NO_USE:
        return None
    affinity, exact, ignores = read
    wanted = None if affinity is None else _decoded(affinity or "{}", _Affinity)
    names = _decoded(exact, _Exact)
    unreadable = [
        key for key, text, said in ((_AFFINITY, affinity, wanted), (_EXACT, exact, names)) if text and not said
    ]
    return reservations.ReservationUse(
        affinity=_affinity(wanted) if isinstance(wanted, _Affinity) else None,
        ignores=ignores,
        exact=tuple(names.resource_names or ()) if isinstance(names, _Exact) else (),
        unreadable=unreadable[0] if unreadable else "",
    )


def _affinity(found: _Affinity) -> reservations.ReservationAffinity:
    required = found.required
    terms = (
        None
        if required is None
        else tuple(
            reservations.ReservationTerm(
                label_requirements(term.match_expressions), label_requirements(term.match_fields)
            )
            for term in required.reservation_selector_terms or ()
        )
    )
    return reservations.ReservationAffinity(
        name=found.name,
        selector=tuple(sorted((found.reservation_selector or {}).items())),
        terms=terms,
        tolerations=tuple(selectors.Toleration(t.key, t.operator, t.value, t.effect) for t in found.tolerations or ()),
    )


def _decoded(text: str, wanted: Any) -> object:  # noqa: ANN401
    try:
        return go_json.decode(text, wanted) if text else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def drawn_on(annotations: Written) -> str:
    """Return the uid of the reservation that the pod was allocated from, empty for none."""
    text = annotations.get(ALLOCATED) if annotations else None
    if not text:
        return ""
    try:
        found = _allocated.decode(text)
        if not found.uid:  # only then the text may have another key: to look for it takes longer than to decode
            found = go_json.decode(text, _Allocated)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return intern(found.uid)


def may_offer(labels: Written) -> bool:
    """Tell whether a pod says that it is a reservation itself."""
    return labels is not None and labels.get(reservations.OPERATING_MODE) == "Reservation"


def offers(written: fields.Pod) -> bool:
    """Tell whether a pod that says so is one: it runs, is ready, and does not name its owner yet (`IsMatchable`)."""
    status, owner = written.status, (written.metadata.annotations or {}).get(_CURRENT_OWNER)
    is_ready = any(one.type == "Ready" and one.status == "True" for one in status.conditions or ())
    return status.phase == "Running" and is_ready and _decoded(owner or "", _CurrentOwner) is None


def operating(written: fields.Pod, pod: pods.RunningPod) -> reservations.Reservation:
    """Return the reservation that a running pod is itself."""
    size = pod.requirements.requests
    return reservations.Reservation(
        uid=pod.offers,
        name=pod.name,
        node=pod.node,
        size=size,
        owners=_operating_owners(written.metadata.annotations),
        policy="Aligned",
        unschedulable=pod.terminating,
        labels=tuple(sorted(strings(written.metadata.labels).items())),
        resources=tuple(resource for resource, _ in size),
        is_pod=True,
        terminating=pod.terminating,
    )


def _operating_owners(annotations: Written) -> tuple[reservations.ReservationOwner, ...]:
    """Return for whom such a pod holds its room; nobody where that cannot be read."""
    found = _decoded((annotations or {}).get(_OWNERS) or "", list[ReservationOwner])
    return owners(found) if isinstance(found, list) else ()
