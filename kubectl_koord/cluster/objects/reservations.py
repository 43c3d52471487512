"""Reservations: those that hold room on a node, and the pods that stand for those that are not placed yet."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects import fields, pod_devices
from kubectl_koord.cluster.objects import pods as pod_objects
from kubectl_koord.cluster.objects.fields import (
    Condition,
    Meta,
    ReservationOwner,
    Taint,
    kept_back,
    namespace,
    owners,
    parse_int,
    strings,
    taints,
)
from kubectl_koord.cluster.objects.pod_wire import Pod, PodSpec, PodStatus
from kubectl_koord.cluster.objects.pods import PodPool, gang_of, host_ports, pending, pod_terms, requests
from kubectl_koord.cluster.objects.pool import Amounts, amounts, resources
from kubectl_koord.model import keys, pods, reservations
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.values import NodeTerm, Requirement, Resources

_HIGHEST = 2**31 - 1
_POLICIES: Mapping[str, reservations.AllocatePolicy] = {"Aligned": "Aligned", "Restricted": "Restricted"}
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(h|ms|us|µs|ns|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


class PodTemplate(Struct, gc=False):
    """spec.template of a Reservation."""

    metadata: Meta = field(default_factory=Meta)
    spec: PodSpec = field(default_factory=PodSpec)


class ReservationSpec(Struct, gc=False, rename="camel"):
    """spec of a Reservation."""

    template: PodTemplate | None = None
    owners: list[ReservationOwner] | None = None
    ttl: str | None = None
    expires: str | None = None
    pre_allocation: bool | None = None
    allocate_once: bool | None = None
    allocate_policy: str | None = None
    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class ReservationStatus(Struct, gc=False, rename="camel"):
    """status of a Reservation."""

    phase: str | None = None
    node_name: str | None = None
    allocatable: Amounts | None = None
    conditions: list[Condition] | None = None


class _Restricted(Struct, gc=False):
    """scheduling.koordinator.sh/reservation-restricted-options."""

    resources: list[str] | None = None


class Reservation(Struct, gc=False):
    """One Reservation."""

    metadata: Meta
    spec: ReservationSpec = field(default_factory=ReservationSpec)
    status: ReservationStatus = field(default_factory=ReservationStatus)


def readable(written: Reservation) -> Reservation:
    """Return the object, once all of its amounts were parsed. Raises QuantityError when an amount is no quantity."""
    _size(written)
    if written.spec.template is not None:
        requests(written.spec.template.spec)
    return written


def held(written: Reservation, moment: str) -> reservations.Reservation | None:
    """Return the Reservation if it holds room on a node now, else None.

    It does in phase Available, until it expires: the scheduler's controller ends it then.
    """
    status = written.status
    if status.phase != "Available" or not status.node_name or _is_over(written, moment):
        return None
    return _reservation(written, status.node_name, _size(written))


def _reservation(written: Reservation, node: str, size: Resources) -> reservations.Reservation:
    meta, spec = written.metadata, written.spec
    policy = _POLICIES.get(spec.allocate_policy or "", "Default")
    annotations, labels = strings(meta.annotations), strings(meta.labels)
    restricted = _restricted(annotations.get(keys.RESERVATION_RESTRICTED, "")) if policy == "Restricted" else ()
    return reservations.Reservation(
        uid=uid(meta),
        name=meta.name,
        node=node,
        size=size,
        owners=() if restricted is None else owners(spec.owners or ()),
        policy=policy,
        once=spec.allocate_once is not False,
        unschedulable=bool(spec.unschedulable) or meta.deletion_timestamp is not None,
        taints=taints(spec.taints),
        labels=tuple(sorted(labels.items())),
        kept_back=resources(kept_back(annotations.get(keys.NODE_RESERVATION, ""))),
        resources=_counted(size, restricted or ()),
        order=parse_int(labels.get(keys.RESERVATION_ORDER, "")) or 0,
        expires=_expires(written),
        terminating=meta.deletion_timestamp is not None,
        pre_allocates=bool(spec.pre_allocation),
    )


def room(written: Reservation, reservation: reservations.Reservation, pool: PodPool) -> pods.ReservedRoom:
    """Return the room that a Reservation takes up on its node.

    It is its size, and what its template requests besides (`UpdateReservePodWithAllocatable`).
    """
    template = written.spec.template or PodTemplate()
    labels, annotations = _labels(written), _annotations(written)
    shared = pool.pod_labels(labels)
    taken = {**dict(requests(template.spec)), **dict(reservation.size)}
    requests_of = tuple(sorted((name, n) for name, n in taken.items() if name != "pods"))
    return pods.ReservedRoom(
        name=reservation.name,
        node=reservation.node,
        requirements=pods.PodRequirements(
            requests_of,
            ports=tuple(host_ports(template.spec)),
            pod_anti_affinity=pod_terms(template.spec.affinity.pod_anti_affinity if template.spec.affinity else None),
            numa=pod_objects.numa_request(annotations, qos=None, priority_class=""),
            claims=tuple(
                [
                    one.persistent_volume_claim.claim_name
                    for one in template.spec.volumes or ()
                    if one.persistent_volume_claim is not None
                ]
            ),
        ),
        namespace=namespace(template.metadata),
        labels=tuple(sorted(strings(labels).items())),
        priority=_priority(written),
        allocations=Allocations(
            devices=pod_devices.allocated(annotations),
            cpus=pod_objects.allocated(annotations),
            reservation=reservation.uid,
        ),
        resources=reservation.resources,
        job=shared.job,
        protected=shared.protected,
    )


def reserve_pod(written: Reservation, moment: str, pool: PodPool, *, waiting_too: bool) -> pods.PendingPod | None:
    """Return the pod that stands for a Reservation which is to be placed, None for all others.

    Mirrors `NewReservePod` in pkg/util/reservation/reservation.go.

    `moment`: now; those that have expired are not placed any more. `waiting_too`: whether phase Waiting counts as
    Pending.
    """
    template = written.spec.template
    phases = {None, "", "Pending", *(("Waiting",) if waiting_too else ())}
    if template is None or written.status.phase not in phases or _is_over(written, moment):
        return None
    meta, inner = written.metadata, template.metadata
    spec = structs.replace(
        template.spec,
        node_name=None,
        priority=_priority(written),
        scheduler_name=template.spec.scheduler_name or "default-scheduler",
    )
    said = (condition for condition in written.status.conditions or () if condition.type == "Scheduled")
    conditions = [structs.replace(condition, type="PodScheduled") for condition in said]
    found = pending(
        Pod(
            metadata=Meta(
                name=uid(meta),
                namespace=inner.namespace,
                uid=meta.uid,
                labels=_labels(written),
                annotations=_annotations(written),
                creation_timestamp=meta.creation_timestamp,
                deletion_timestamp=meta.deletion_timestamp,
            ),
            spec=spec,
            status=PodStatus(conditions=conditions),
        ),
        pool,
    )
    requirements = found.requirements
    return structs.replace(
        found,
        reserves=_reservation(written, "", requirements.requests),
        requirements=_pinned(requirements, template.spec.node_name),
    )


def reads_namespaces(written: Reservation) -> bool:
    """Tell whether a term of the pod that stands for a Reservation selects namespaces by their labels."""
    affinity = written.spec.template.spec.affinity if written.spec.template else None
    if affinity is None:
        return False
    terms = (*pod_terms(affinity.pod_affinity), *pod_terms(affinity.pod_anti_affinity))
    return any(term.reads_namespaces for term in terms)


def reserved_member(written: Reservation) -> reservations.ReservedMember | None:
    """Return the member of a gang that a Reservation on a node stands for; None where there is no such gang or node.

    In no phase does the gang cache drop it (`NewReservationToPodEventHandler` in pkg/util/reservation, `onPodAdd` and
    `onPodUpdate` in coscheduling/core/gang_cache.go).
    """
    if not written.status.node_name:
        return None
    inner = written.spec.template.metadata if written.spec.template is not None else Meta()
    gang = gang_of(Meta(namespace=inner.namespace, labels=_labels(written), annotations=_annotations(written)))
    return reservations.ReservedMember(gang, written.metadata.name) if gang else None


def uid(meta: Meta) -> str:
    """Return the object's uid; its name where a hand-written file leaves it out."""
    return meta.uid or meta.name


def _pinned(requirements: pods.PodRequirements, node: str | None) -> pods.PodRequirements:
    """Return the requirements of a pod that goes to no other node than the one its template names."""
    if not node:
        return requirements
    pin = Requirement("metadata.name", "In", (node,))
    terms = requirements.affinity or (NodeTerm(),)
    pinned = tuple(NodeTerm(term.labels, (*term.fields, pin)) for term in terms)
    return structs.replace(requirements, affinity=pinned)


def _size(written: Reservation) -> Resources:
    return resources(amounts(written.status.allocatable))


def _labels(written: Reservation) -> dict[str, str | None]:
    template = written.spec.template
    return {**((template.metadata.labels if template else None) or {}), **(written.metadata.labels or {})}


def _annotations(written: Reservation) -> dict[str, str | None]:
    """Return those of the template, which a migration copies from its pod, with those of the Reservation laid over."""
    template = written.spec.template
    return {**((template.metadata.annotations if template else None) or {}), **(written.metadata.annotations or {})}


def _priority(written: Reservation) -> int:
    template = written.spec.template
    if template is not None and template.spec.priority is not None:
        return template.spec.priority
    found = parse_int(strings(written.metadata.labels).get(keys.PRIORITY, ""))
    return _HIGHEST if found is None or not -(1 << 31) <= found <= _HIGHEST else found


def _restricted(options: str) -> tuple[str, ...] | None:
    """Return the resources that policy Restricted is limited to, None for unreadable ones: no pod fits then."""
    try:
        told: _Restricted = fields.decode(options or "{}", _Restricted)
    except (ValueError, RecursionError):
        return None
    return tuple(told.resources or ())


def _counted(size: Resources, named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the resources that count (`GetReservationRestrictedResources`): all, where none of them is named."""
    every = tuple(resource for resource, _ in size)
    return tuple(one for one in every if one in named) or every


def _is_over(written: Reservation, moment: str) -> bool:
    """Tell whether a Reservation has expired (`isReservationNeedExpiration`)."""
    expires = _expires(written)
    try:
        return bool(expires) and datetime.fromisoformat(moment) > datetime.fromisoformat(expires)
    except (ValueError, TypeError):  # no time, or one of them without a zone
        return False


def _expires(written: Reservation) -> str:
    """Return when a Reservation expires, empty for never, or where what is written is no time.

    It does so by what comes first of its time and its life, and by neither where its life is set to nothing.
    """
    spec, created = written.spec, written.metadata.creation_timestamp
    life = _duration(spec.ttl or "")
    if spec.ttl and not life:
        return ""
    try:
        ends = [datetime.fromisoformat(spec.expires)] if spec.expires else []
        if life and created:
            ends.append(datetime.fromisoformat(created) + timedelta(seconds=life))
        return min(ends).isoformat().replace("+00:00", "Z") if ends else ""
    except (ValueError, OverflowError, TypeError):  # no time, beyond the calendar, or one of them without a zone
        return ""


def _duration(text: str) -> float:
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
