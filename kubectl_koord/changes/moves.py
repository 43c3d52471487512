"""What the steps of a plan of moves write: patches, and PodMigrationJobs with a Reservation where each pod goes."""

from collections.abc import Mapping
from typing import Any

from kubectl_koord.changes.values import MINIMUM, Fields, mapping, merge_patch
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.remedies.next_steps import minimum_to_wake
from kubectl_koord.reports.change import Change, ObjectName
from kubectl_koord.reports.jobs import PlanStep

_CORDONED, _EXPIRES = "spec.unschedulable", "spec.expires"
_SCHEDULING = "scheduling.koordinator.sh/v1alpha1"
_TTL = "10m0s"
_BOOKED = frozenset(("device-allocated", "resource-status", "reservation-allocated"))
"""Annotations (behind `scheduling.koordinator.sh/`) with what a pod has where it is."""


def changes_of(snapshot: Snapshot, subject: Subject, step: PlanStep) -> tuple[Change, ...]:
    """Return what a step changes of objects that are there; nothing for one that evicts."""
    match step.action:
        case "cordon" | "uncordon":
            return (cordon(step.object, closed=step.action == "cordon"),)
        case "release-reservation":
            return (_change(ObjectName("Reservation", "", step.object), {}, {_EXPIRES: snapshot.moment}),)
        case "wake-gang" if (found := minimum_to_wake(subject, snapshot)) is not None:
            group = ObjectName("PodGroup", *found[0].split("/", 1))
            there: Fields = {MINIMUM: found[1]}
            above: Fields = {MINIMUM: found[2]}
            return (_change(group, there, above), _change(group, above, there))
        case _:
            return ()


def cordon(node: str, *, closed: bool) -> Change:
    """Return what closes a node to new pods, or opens it again."""
    before, after = (None, True) if closed else (True, None)
    return _change(ObjectName("Node", "", node), {_CORDONED: before}, {_CORDONED: after})


def _change(target: ObjectName, before: Fields, after: Fields) -> Change:
    return Change(target, before, after, merge_patch(after, ""), "")


def migration(pod: Mapping[str, Any], node: str) -> tuple[Change, ...]:
    """Return what moves a pod, as it is written, to a node: a Reservation there, and the PodMigrationJob that uses it.

    The Reservation is for whom the pod's controller makes next. Mirrors `CreateOrUpdateReservationOptions` and
    `GenerateReserveResourceOwners` in pkg/descheduler/controllers/migration/reservation/util.go.
    """
    metadata = mapping(pod.get("metadata"))
    namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
    own = f"plan-{metadata.get('uid')}"
    annotations = {
        key: value
        for key, value in mapping(metadata.get("annotations")).items()
        if key.rpartition("/")[2] not in _BOOKED
    }
    template = {
        "metadata": {"namespace": namespace, "labels": metadata.get("labels") or {}, "annotations": annotations},
        "spec": _only_on(mapping(pod.get("spec")), node),
    }
    owners = [
        {"controller": {**one, "namespace": namespace}}
        for one in metadata.get("ownerReferences") or ()
        if one.get("controller")
    ]
    reservation = {"allocateOnce": True, "ttl": _TTL, "owners": owners, "template": template}
    job = {
        "mode": "ReservationFirst",
        "ttl": _TTL,
        "podRef": {"namespace": namespace, "name": name},
        "reservationOptions": {"reservationRef": {"name": own}},
    }
    return _created("Reservation", own, reservation), _created("PodMigrationJob", own, job)


def _created(kind: str, name: str, spec: Mapping[str, Any]) -> Change:
    manifest = {"apiVersion": _SCHEDULING, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return Change(ObjectName(kind, "", name), {}, {}, manifest, "")


def _only_on(spec: Mapping[str, Any], node: str) -> dict[str, Any]:
    """Return the spec of a pod that goes to one node: each term of its node affinity names it, as one is enough."""
    affinity = mapping(spec.get("affinity"))
    of_nodes = mapping(affinity.get("nodeAffinity"))
    required = mapping(of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution"))
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = [
        {**term, "matchFields": [*(term.get("matchFields") or ()), field]}
        for term in map(mapping, required.get("nodeSelectorTerms") or [None])
    ]
    of_nodes = {**of_nodes, "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    kept = {name: value for name, value in spec.items() if name != "nodeName"}
    return {**kept, "affinity": {**affinity, "nodeAffinity": of_nodes}}
