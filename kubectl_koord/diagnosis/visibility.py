"""Which kinds decide which question, and which of them could not be read.

The one rule for all verbs: an answer that rests on a kind that could not be read is unknown, and names the kind
and why. Kinds that may only refuse what would else be a yes (quotas, cards, load, volumes) are in `coverage`.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine.subjects import GangSubject, PodSubject, Subject
from kubectl_koord.model.snapshot import Gap, Snapshot

About: TypeAlias = Literal[
    "tree",
    "listing",
    "members",
    "pod",
    "podgroup",
    "layers",
    "attempt",
    "preempted",
    "devices",
    "nodes",
    "quotas",
    "quota-names",
    "volcano",
]

DECIDE: dict[About, tuple[str, ...]] = {
    "tree": ("ClusterNetworkTopology", "Node"),
    "listing": ("Node", "Pod", "PodGroup"),
    "members": ("Pod", "PodGroup"),
    "pod": ("Pod",),
    "podgroup": ("PodGroup",),
    "layers": ("ClusterNetworkTopology",),
    "attempt": ("Node", "Pod"),
    "preempted": ("Pod", "Event"),
    "devices": ("Device", "Node"),
    "nodes": ("Node",),
    "quotas": ("ElasticQuota", "Pod", "Node"),
    "quota-names": ("ElasticQuota",),
    "volcano": ("Pod", "PodGroup.scheduling.volcano.sh"),
}
"""What each question rests on: the tree; which gangs are pending; which pods a name means, and which of them are
pending or on a node; the same of a pod without a gang; whether a PodGroup, or a layer, exists; where pods would be
placed; which pods were preempted; which devices there are; whether a node exists; what quotas use and may use; which
quotas there are; how far a gang of Volcano is."""

_NAMESPACED = {"Pod", "PodGroup", "PodGroup.scheduling.volcano.sh", "PersistentVolumeClaim", "Event"}


def unread(snapshot: Snapshot, about: About, *namespaces: str) -> tuple[Gap, ...]:
    """Return why the kinds that decide a question could not be read: in these namespaces, or everywhere for none."""
    return tuple(dict.fromkeys(_unread(snapshot, DECIDE[about], namespaces or ("",))))


def _unread(snapshot: Snapshot, kinds: Iterable[str], namespaces: Iterable[str]) -> Iterator[Gap]:
    for kind in kinds:
        for namespace in namespaces if kind in _NAMESPACED else ("",):
            gap = snapshot.unread(kind, namespace)
            if gap is not None:
                yield gap


def unread_members(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps that leave open which pods belong to the subject, and which of them are pending."""
    if isinstance(subject, PodSubject):
        return unread(snapshot, "pod", subject.key.partition("/")[0])
    return unread(snapshot, "members", *_namespaces(subject))


def unread_for(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps without which nothing can be computed for the subject: others' pods take room everywhere."""
    gaps = [*unread(snapshot, "attempt")]
    if isinstance(subject, GangSubject):
        gaps += unread(snapshot, "podgroup", *_namespaces(subject))
        if any(gang.topology is not None for gang in subject.group.everyone):
            gaps += unread(snapshot, "layers")
    return tuple(gaps)


def unread_for_slots(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps without which the slots that domains offer the subject are not known.

    Beyond what decides at all: what nodes may refuse its pods for, where its pods are counted in slots.
    """
    gaps = dict.fromkeys(unread_for(subject, snapshot))
    if any(spec is not None for spec in subject.specs):
        gaps |= dict.fromkeys(unread_for_room(subject, snapshot))
    return tuple(gaps)


def unread_for_room(subject: Subject, snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the gaps without which it is not known how many of the subject's pods a node takes."""
    asked = {resource for pod in subject.pending for resource, _ in pod.requirements.requests}
    kinds = ["NodeMetric", "Reservation"]
    kinds += ["Device"] if any(coverage.is_device(resource) for resource in asked) else []
    kinds += (*coverage.volume_kinds(subject, snapshot), *coverage.claim_kinds(subject, snapshot))
    return tuple(dict.fromkeys((*unread(snapshot, "attempt"), *_unread(snapshot, kinds, _namespaces(subject)))))


def _namespaces(subject: Subject) -> tuple[str, ...]:
    """Return the namespaces of the subject and of the gangs that its list names."""
    return tuple(dict.fromkeys(key.partition("/")[0] for key in (subject.key, *subject.gangs)))
