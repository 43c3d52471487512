"""Changes to the pending pods of a gang, each for itself: their topology index and selector."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, structs

from kubectl_koord.changes.planning import change_of, plan_of
from kubectl_koord.changes.settings import INDEX, SELECTOR, Fields, Value, pod_key_of
from kubectl_koord.changes.values import RefusedError, nearest, refuse_unread
from kubectl_koord.diagnosis import visibility
from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import ChangePlan, ObjectName
from kubectl_koord.wording.answers import changes as sentences

if TYPE_CHECKING:
    from kubectl_koord.model.pods import PendingPod

_RANK = re.compile(r"(\d+)$")
_LONGEST_SELECTOR = 253


class PodsWanted(Struct, frozen=True):
    """What each pod is to be given: an index by its name or by `order` (names of pods), a selector; or be rid of."""

    index: bool = False
    order: tuple[str, ...] = ()
    selector: str = ""
    removed: tuple[str, ...] = ()


class Ranked(Protocol):
    """A pod that may get an index within its gang."""

    @property
    def key(self) -> str:
        """Its `namespace/name`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def gang(self) -> str:
        """The id of its gang."""


def pods_plan(snapshot: Snapshot, subject: Subject, wanted: PodsWanted, *, overwrite: bool) -> ChangePlan:
    """Return the plan for each pending pod of a gang.

    Raises:
        RefusedError: when there is no gang, its pods could not all be read, a name ends in no number, two pods
            share one, the order does not name each pod once, or a value is set already.

    """
    if isinstance(subject, PodSubject):
        raise RefusedError(sentences.not_in_a_gang(subject.key))
    refuse_unread(visibility.unread_members(subject, snapshot))
    _removed(wanted)
    if not subject.pending:
        raise RefusedError(sentences.no_pending_pods(subject.key))
    ranks = ranks_of(subject.pending, wanted)
    changes = []
    later: dict[str, PendingPod] = {}
    for pod in subject.pending:
        after = values_of(wanted, ranks.get(pod.key))
        now: Mapping[str, Value] = {
            INDEX: None if pod.index is None else str(pod.index),
            SELECTOR: pod.selector or None,
        }
        name = ObjectName("Pod", pod.namespace, pod.name)
        before = {field: now[field] for field in after}
        changes.append(change_of(name, before, after, pod.resource_version, overwrite=overwrite))
        index, selector = ({**now, **after}[field] for field in (INDEX, SELECTOR))
        later[pod.key] = structs.replace(pod, index=None if index is None else int(index), selector=str(selector or ""))
    planned = structs.replace(snapshot, pending=tuple(later.get(pod.key, pod) for pod in snapshot.pending))
    return plan_of(snapshot, planned, subject.key, changes)


def ranks_of(pods: Sequence[Ranked], wanted: PodsWanted) -> dict[str, int]:
    """Return the index of each pod by its key, nothing where none is wanted.

    Raises:
        RefusedError: when a name ends in no number, two pods share one, or the order does not name each pod once.

    """
    if wanted.index:
        return _numbered(pods)
    return _ordered(pods, wanted.order) if wanted.order else {}


def values_of(wanted: PodsWanted, rank: int | None) -> Fields:
    """Return the value of each field that a pod is to have, None of one that is to be removed.

    Raises:
        RefusedError: when that is nothing, or no setting of a pod, or contradicts itself.

    """
    values: Fields = dict.fromkeys(_removed(wanted))
    if rank is not None:
        values[INDEX] = str(rank)
    if wanted.selector:
        values[SELECTOR] = wanted.selector
    return values


def _removed(wanted: PodsWanted) -> tuple[str, ...]:
    keys = {name: pod_key_of(name) for name in wanted.removed}
    set_now = {INDEX: wanted.index or wanted.order, SELECTOR: wanted.selector}
    for name, key in keys.items():
        if not key:
            raise RefusedError(sentences.no_pod_setting(name))
        if set_now[key]:
            raise RefusedError(sentences.set_and_removed(name))
    if not keys and not any(set_now.values()):
        raise RefusedError(sentences.NOTHING_FOR_PODS)
    if wanted.index and wanted.order:
        raise RefusedError(sentences.INDEX_AND_ORDER)
    if len(wanted.selector) > _LONGEST_SELECTOR or wanted.selector != wanted.selector.strip():
        raise RefusedError(sentences.bad_selector(wanted.selector))
    return tuple(keys.values())


def _numbered(pods: Sequence[Ranked]) -> dict[str, int]:
    """Return the number that each name ends in: within a gang each its own."""
    taken: dict[tuple[str, int], str] = {}
    for pod in pods:
        match = _RANK.search(pod.name)
        if match is None:
            raise RefusedError(sentences.no_number(pod.key))
        rank = int(match[1])
        if (pod.gang, rank) in taken:
            raise RefusedError(sentences.same_number(taken[pod.gang, rank], pod.key, rank))
        taken[pod.gang, rank] = pod.key
    return {key: rank for (_, rank), key in taken.items()}


def _ordered(pods: Sequence[Ranked], order: Sequence[str]) -> dict[str, int]:
    """Return the place of each pod among those of its gang that the order names."""
    by_name = {name: pod for pod in pods for name in (pod.key, pod.name)}
    ranks: dict[str, int] = {}
    so_far: dict[str, int] = {}
    for name in order:
        pod = by_name.get(name)
        if pod is None:
            raise RefusedError(sentences.not_pending(name, nearest(name, by_name)))
        if pod.key in ranks:
            raise RefusedError(sentences.named_twice(name))
        ranks[pod.key] = so_far.get(pod.gang, 0)
        so_far[pod.gang] = ranks[pod.key] + 1
    left_out = [pod.key for pod in pods if pod.key not in ranks]
    if left_out:
        raise RefusedError(sentences.not_in_the_order(left_out))
    return ranks
