"""Which job a name means among owners of pods, and all that belongs to it: its owners, what it made, pods, events."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TypeAlias, TypeVar

from msgspec import structs

from kubectl_koord.model.jobs import JobEvent, Jobs, Owner, PodState, QueueUnit
from kubectl_koord.model.reservations import OwnerReference

T = TypeVar("T")
_PODS = {"pod", "pods", "po"}
_MOST = 20
"""Bound of the owners above an object, or makers below it, that are followed: more are a circle."""
SHORT: Mapping[str, tuple[str, ...]] = {
    "CronJob": ("cj",),
    "Deployment": ("deploy",),
    "ReplicaSet": ("rs",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "ReplicationController": ("rc",),
    "LeaderWorkerSet": ("lws",),
    "SparkApplication": ("sparkapp",),
}
"""Names that kubectl has for kinds."""
_OF_MANY = ("CronJob", "DaemonSet", "Deployment", "ReplicaSet", "ReplicationController")
"""Kinds that are not one job: they make others again and again, or serve, and there are many of them."""
_NOT_MADE = re.compile("Failed(To)?Create.*")
"""The reasons of such events: FailedCreate, FailedCreatePod, FailedToCreateWorkerPod."""
_VOLCANO = ("vcjob", "vj")


def meanings(name: str, namespace: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a name may stand for, the likeliest first: the word for a kind (empty for any), namespace, name."""
    match name.split("/"):
        case [bare]:
            yield "", namespace, bare
        case [first, bare]:
            yield first, namespace, bare
            yield "", first, bare
        case [first, second, bare]:
            yield first, second, bare
            yield second, first, bare
        case _:
            return


def is_meant(word: str, group: str, kind: str) -> bool:
    """Tell whether a word means a kind: `job`, `jobs`, `job.batch`, `jobs.v1.batch`, `lws`; an empty one any."""
    base, _, rest = word.lower().partition(".")
    plain = kind.lower()
    short = _VOLCANO if group == "batch.volcano.sh" else SHORT.get(kind, ())
    is_kind = base in {plain, f"{plain}s", f"{plain}es", *short}
    return not word or (is_kind and (not rest or rest == group or rest.partition(".")[2] == group))


def find(jobs: Jobs, name: str, namespace: str) -> Owner | None:
    """Return the owner that a name means; of several that which none of the others owns."""
    for word, home, bare in meanings(name, namespace):
        found = [one for one in jobs.owners if (one.namespace, one.name) == (home, bare)]
        found = [one for one in found if is_meant(word, one.group, one.kind)]
        if found:
            return _highest(found)
    return None


def find_anywhere(jobs: Jobs, name: str) -> Owner | None:
    """Return the owner that a name without a namespace means in any of them, None where that is not one."""
    homes = sorted({one.namespace for one in jobs.owners})
    found = [one for home in homes if (one := find(jobs, name, home)) is not None]
    return found[0] if len(found) == 1 else None


def find_pod(jobs: Jobs, name: str, namespace: str) -> PodState | None:
    """Return the pod that a name means."""
    for word, home, bare in meanings(name, namespace):
        if word.lower() in {"", *_PODS}:
            for pod in jobs.pods:
                if pod.key == f"{home}/{bare}":
                    return pod
    return None


def find_pod_anywhere(jobs: Jobs, name: str) -> PodState | None:
    """Return the pod that a name without a namespace means in any of them, None where that is not one."""
    homes = sorted({_split(pod.key)[0] for pod in jobs.pods})
    found = [one for home in homes if (one := find_pod(jobs, name, home)) is not None]
    return found[0] if len(found) == 1 else None


def _highest(found: list[Owner]) -> Owner:
    names = {(one.kind, one.name) for one in found}
    return next((one for one in found if one.owner is None or (one.owner.kind, one.owner.name) not in names), found[0])


def of_owner(jobs: Jobs, asked: Owner) -> Jobs:
    """Return what belongs to one owner, which is asked about."""
    return _Around(jobs).of_owner(asked)


def with_few_pods(jobs: Jobs, namespace: str = "") -> Iterator[Jobs]:
    """Yield each job that has fewer pods than it wants, or pods with gates, with what belongs to it, in name order.

    One that has ended or wants none is passed over. What is not one job counts where a pod of it was refused.
    """
    homes: dict[str, list[Owner]] = {}
    for one in jobs.owners:
        if one.is_known and (not namespace or one.namespace == namespace):
            homes.setdefault(one.namespace, []).append(one)
    for home, owned in sorted(homes.items()):
        pods = tuple(pod for pod in jobs.pods if _split(pod.key)[0] == home)
        made = Counter(pod.owner for pod in pods if pod.node or not pod.gates)
        part = structs.replace(
            jobs, owners=tuple(owned), pods=pods, events=tuple(one for one in jobs.events if one.namespace == home)
        )
        around = _Around(part)
        names = {(one.kind, one.name) for one in owned if one.kind != "CronJob"}  # whose Jobs are jobs of their own
        for one in owned:
            is_root = one.owner is None or (one.owner.kind, one.owner.name) not in names
            over = one.finished or one.deleting or one.wanted == 0
            if is_root and not over and (one.wanted is None or made[f"{one.kind}/{one.name}"] < one.wanted):
                job = around.of_owner(one)
                if one.kind not in _OF_MANY or any(is_not_made(event) for event in job.events):
                    yield job


def is_not_made(event: JobEvent) -> bool:
    """Tell whether an event says that a pod could not be made."""
    return event.kind != "Pod" and _NOT_MADE.fullmatch(event.reason) is not None


def of_pods(jobs: Jobs, asked: str, pods: Collection[str]) -> Jobs:
    """Return what belongs to pods of these names, such as those of a gang.

    Of the owners of the first pod the highest that says how many pods it makes stands for all.

    `jobs`: all that was read. `asked`: what is asked about, as `Kind/namespace/name`.
    """
    around = _Around(jobs)
    found = tuple(pod for pod in jobs.pods if pod.key in pods)
    above: tuple[Owner, ...] = ()
    for pod in found:
        kind, _, name = pod.owner.partition("/")
        above = above or (around.above(pod.key.partition("/")[0], OwnerReference(kind, name)) if kind else ())
    highest = max((at for at, one in enumerate(above) if one.wanted is not None), default=0)
    above = above[highest:]
    return around.narrowed(asked, above, around.made(above[0]) if above else (), found)


_Name: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name."""


class _Around:
    """All that was read, by the names under which jobs refer to it: a list asks of thousands of jobs."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    @cached_property
    def _owners(self) -> Mapping[_Name, Sequence[Owner]]:
        return _grouped(self.jobs.owners, lambda one: (one.kind, one.namespace, one.name))

    @cached_property
    def _below(self) -> Mapping[_Name, Sequence[Owner]]:
        return _grouped(self.jobs.owners, lambda one: _named(one.owner, one.namespace))

    @cached_property
    def _pods(self) -> Mapping[_Name, Sequence[tuple[int, PodState]]]:
        return _grouped(enumerate(self.jobs.pods), lambda numbered: _maker(numbered[1]))

    @cached_property
    def _events(self) -> Mapping[_Name, Sequence[tuple[int, JobEvent]]]:
        events = enumerate(self.jobs.events)
        return _grouped(events, lambda numbered: (numbered[1].kind, numbered[1].namespace, numbered[1].name))

    @cached_property
    def _units(self) -> Mapping[_Name, Sequence[QueueUnit]]:
        return _grouped(self.jobs.koord.units.values(), lambda unit: _named(unit.consumer, unit.consumer_namespace))

    def of_owner(self, asked: Owner) -> Jobs:
        """Return what belongs to one owner, which is asked about."""
        made = self.made(asked)
        makers = dict.fromkeys((one.kind, one.namespace, one.name) for one in (asked, *made))
        chosen = [_selected(one) for one in (asked, *made) if one.selector]
        numbered = dict(chain.from_iterable(self._pods.get(maker, ()) for maker in makers))
        if chosen:
            every = enumerate(self.jobs.pods)
            numbered.update((place, pod) for place, pod in every if any(is_of(pod) for is_of in chosen))
        pods = tuple(pod for _, pod in sorted(numbered.items(), key=itemgetter(0)))
        above = self.above(asked.namespace, asked.owner)
        return self.narrowed(f"{asked.kind}/{asked.key}", (asked, *above), made, pods)

    def narrowed(
        self, asked: str, owners: tuple[Owner, ...], made: tuple[Owner, ...], pods: tuple[PodState, ...]
    ) -> Jobs:
        """Return these owners, what they made and these pods, with the events about them and who controls them."""
        about = {(one.kind, one.namespace, one.name) for one in (*owners, *made)}
        about |= {("Pod", *_split(pod.key)) for pod in pods}
        about |= {("PersistentVolumeClaim", _split(pod.key)[0], claim) for pod in pods for claim in pod.volumes}
        home, _, name = asked.partition("/")[2].partition("/")
        about.add((asked.partition("/")[0], home, name))
        units = chain.from_iterable(self._units.get(one, ()) for one in about)
        about |= {("QueueUnit", unit.namespace, unit.name) for unit in units}
        events = sorted(chain.from_iterable(self._events.get(one, ()) for one in about), key=itemgetter(0))
        groups = {one.group for one in (*owners, *made)}
        return structs.replace(
            self.jobs,
            asked=asked,
            owners=owners,
            made=made,
            pods=pods,
            events=_latest_first(event for _, event in events),
            controllers=tuple(one for one in self.jobs.controllers if groups & {*one.groups}),
        )

    def above(self, namespace: str, reference: OwnerReference | None) -> tuple[Owner, ...]:
        """Return whom a reference names, and that one's owner, and so on, as far as they were read."""
        found: list[Owner] = []
        while reference is not None and len(found) < _MOST:
            named = self._owners.get((reference.kind, namespace, reference.name), ())
            same = [one for one in named if one.uid and one.uid == reference.uid] or named
            if not same:
                break
            found.append(same[0])
            reference = same[0].owner
        return tuple(found)

    def made(self, asked: Owner) -> tuple[Owner, ...]:
        """Return what an owner made, and what that made, in the order of kinds and names."""
        found: list[Owner] = []
        level = [asked]
        for _ in range(_MOST):
            level = [each for one in level for each in self._below.get((one.kind, one.namespace, one.name), ())]
            found += level
        unique = {(one.kind, one.key): one for one in found if one is not asked}
        return tuple(one for _, one in sorted(unique.items()))


def _named(reference: OwnerReference | None, namespace: str) -> _Name:
    return (reference.kind, namespace, reference.name) if reference is not None else ("", "", "")


def _grouped(items: Iterable[T], name: Callable[[T], _Name]) -> dict[_Name, list[T]]:
    found: dict[_Name, list[T]] = {}
    for one in items:
        found.setdefault(name(one), []).append(one)
    return found


def _latest_first(events: Iterable[JobEvent]) -> tuple[JobEvent, ...]:
    return tuple(sorted(events, key=lambda one: one.last, reverse=True))


def _split(key: str) -> tuple[str, str]:
    home, _, name = key.partition("/")
    return home, name


def _maker(pod: PodState) -> _Name:
    kind, _, name = pod.owner.partition("/")
    return kind, _split(pod.key)[0], name


def _selected(owner: Owner) -> Callable[[PodState], bool]:
    wanted = [part.partition("=") for part in owner.selector.split(",")]

    def is_of(pod: PodState) -> bool:
        return _split(pod.key)[0] == owner.namespace and all(
            pod.labels.get(label) == value for label, _, value in wanted
        )

    return is_of
