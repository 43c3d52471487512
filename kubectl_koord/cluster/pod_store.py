"""The pods of a cluster while it is read: of one name the later counts, and all come out in name order."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import structs

from kubectl_koord.model import pods
from kubectl_koord.model.hardware import NOTHING

AnyPod: TypeAlias = pods.RunningPod | pods.PendingPod | pods.FinishedPod
P = TypeVar("P", pods.PendingPod, pods.FinishedPod)
_namespace, _name = attrgetter("namespace"), attrgetter("name")
_key = attrgetter("namespace", "name")


class Sorted(NamedTuple):
    """Pods in name order, the running ones by node."""

    running: pods.RunningPods
    waiting: tuple[pods.PendingPod, ...]
    finished: tuple[pods.FinishedPod, ...]


class Place:
    """The pods of one node, and what they take up."""

    __slots__ = ("booked", "pods", "ports", "requested")

    def __init__(self) -> None:
        self.pods: list[pods.RunningPod] = []
        self.requested: dict[str, int] = {}
        self.ports: list[pods.HostPort] = []
        self.booked: tuple[pods.RunningPod, ...] = ()

    def append(self, pod: pods.RunningPod) -> None:
        """Take one more."""
        self.pods.append(pod)
        requested, requirements = self.requested, pod.requirements
        for resource, amount in requirements.requests:
            requested[resource] = requested.get(resource, 0) + amount
        if requirements.ports:
            self.ports.extend(requirements.ports)
        if pod.allocations is not NOTHING:
            self.booked = (*self.booked, pod)


class _Line:
    """Pods that came in name order within each namespace.

    Namespaces come one after the other, but in the order of the server's keys, in which `a-b/` is before `a/`. Behind
    them may come pods that wait, as those of manifests do, in any order.
    """

    def __init__(self) -> None:
        self.running: defaultdict[str, Place] = defaultdict(Place)
        self.listed: list[pods.RunningPod] = []
        self.waiting: list[pods.PendingPod] = []
        self.finished: list[pods.FinishedPod] = []
        self._namespace = self._name = ""
        self._starts: dict[str, int] = {}  # by namespace, how many pods run in those before it
        self._others: set[tuple[str, str]] | None = None  # those that do not run, once one came that was not the next

    def append(self, pod: AnyPod) -> bool:
        """Take the next pod; return whether it is one that may follow the last."""
        namespace, name = pod.namespace, pod.name
        if self._others is not None:
            return self._insert(pod)
        if namespace != self._namespace:
            if namespace in self._starts:
                return self._insert(pod)
            self._starts[namespace] = len(self.listed)
            self._namespace = namespace
        elif name <= self._name:
            return self._insert(pod)
        self._name = name
        if isinstance(pod, pods.RunningPod):
            self.running[pod.node].append(pod)
            self.listed.append(pod)
        elif isinstance(pod, pods.PendingPod):
            self.waiting.append(pod)
        else:
            self.finished.append(pod)
        return True

    def _insert(self, pod: AnyPod) -> bool:
        """Take a pod that is not the next; return whether it waits, and is the first of its name."""
        if self._others is None:
            self._others = set(map(_key, (*self.waiting, *self.finished)))
        key = pod.namespace, pod.name
        if not isinstance(pod, pods.PendingPod) or key in self._others or self._runs(*key):
            return False
        self._others.add(key)
        self.waiting.append(pod)
        return True

    def _runs(self, namespace: str, name: str) -> bool:
        start, end = self._listed_in().get(namespace, (0, 0))
        place = bisect_left(self.listed, name, start, end, key=_name)
        return place < end and self.listed[place].name == name

    def _listed_in(self) -> Mapping[str, tuple[int, int]]:
        """Return by namespace where its pods that run begin and end, in the order in which they came."""
        starts = self._starts.values()
        return dict(zip(self._starts, pairwise((*starts, len(self.listed))), strict=True))

    def in_order(self) -> "_Line":
        """Return the line sorted by namespace, too."""
        line = _Line()
        line.listed, line.running = self.listed, self.running
        if not self._runs_in_order():
            line.running = defaultdict(Place)
            for node, place in self.running.items():
                for pod in sorted(place.pods, key=_namespace):
                    line.running[node].append(pod)
        line.waiting = sorted(self.waiting, key=_key)
        line.finished = sorted(self.finished, key=_namespace)
        return line

    def _runs_in_order(self) -> bool:
        """Tell whether the namespaces in which pods run came in order: then those of each node are, too."""
        there = [namespace for namespace, (start, end) in self._listed_in().items() if start < end]
        return there == sorted(there)

    def every(self) -> Iterator[AnyPod]:
        """Yield all, in no order."""
        yield from self.listed
        yield from self.waiting
        yield from self.finished


class Store(Protocol):
    """Objects by name: a dict, or what holds pods."""

    def get(self, key: Any, /) -> Any:  # noqa: ANN401
        """Return one, None where there is none of this key."""

    def pop(self, key: Any, default: None, /) -> Any:  # noqa: ANN401
        """Forget one."""

    def clear(self) -> None:
        """Forget all."""

    def update(self, other: Any, /) -> None:  # noqa: ANN401
        """Take over all of another."""


class PodStore:
    """Takes pods one by one.

    API servers list in the order of their keys: such pods are appended, need no sorting, and no index by name is kept.
    The index is made for the first running pod that is out of order, replaces another, or is removed. From then on what
    was given away is kept: of the next, only nodes are made anew of which a pod has changed.
    """

    def __init__(self) -> None:
        self._line = _Line()
        self._by_name: dict[tuple[str, str], AnyPod] | None = None  # None while they come in order
        self._is_shared = False
        self._given: Sorted | None = None
        self._touched: dict[tuple[str, str], AnyPod | None] = {}  # since then, as they were then

    def add(self, pod: AnyPod) -> None:
        """Take a pod."""
        if self._by_name is None and not self._is_shared and self._line.append(pod):
            return
        key = pod.namespace, pod.name
        by_name = self._indexed()
        self._touched.setdefault(key, by_name.get(key))
        by_name[key] = pod

    def get(self, key: tuple[str, str]) -> AnyPod | None:
        """Return a pod, None where there is none of this name."""
        return self._indexed().get(key)

    def pop(self, key: tuple[str, str], default: None) -> AnyPod | None:
        """Forget a pod; one that is not there is no fault."""
        found = self._indexed().pop(key, default)
        self._touched.setdefault(key, found)
        return found

    def clear(self) -> None:
        """Forget all."""
        self._line, self._by_name, self._is_shared = _Line(), None, False
        self._given, self._touched = None, {}

    def update(self, other: "PodStore") -> None:
        """Take the pods of another store, which is not used any more."""
        if other.is_empty():
            return
        if self.is_empty():
            self.__dict__.update(other.__dict__)
        else:
            for pod in other.every():
                self.add(pod)

    def is_empty(self) -> bool:
        """Tell whether there is none."""
        return next(iter(self.every()), None) is None

    @property
    def has_index(self) -> bool:
        """Whether an index of names has been made."""
        return self._by_name is not None

    def every(self) -> Iterable[AnyPod]:
        """Return all, in no order."""
        return self._line.every() if self._by_name is None else self._by_name.values()

    def find(self, keys: Container[tuple[str, str]]) -> dict[tuple[str, str], AnyPod]:
        """Return the pods of these names."""
        return {key: pod for pod in self.every() if (key := (pod.namespace, pod.name)) in keys}

    def waiting(self) -> Iterable[pods.PendingPod]:
        """Return the pods that wait, in no order."""
        if self._by_name is None:
            return self._line.waiting
        return (pod for pod in self._by_name.values() if isinstance(pod, pods.PendingPod))

    def sorted(self) -> Sorted:
        """Return all pods."""
        self._is_shared = True  # the sums of what is given away must not change any more
        if self._by_name is None:
            return _sorted(self._line.in_order())
        if self._given is None or len(self._touched) * _FEW_OF > len(self._by_name):
            line = _Line()
            for key in sorted(self._by_name):
                line.append(self._by_name[key])
            self._given, self._line = _sorted(line.in_order()), _Line()
        elif self._touched:
            self._given = _renewed(self._given, self._touched, self._by_name)
        self._touched = {}
        return self._given

    def _indexed(self) -> dict[tuple[str, str], AnyPod]:
        if self._by_name is None:
            self._by_name = {(pod.namespace, pod.name): pod for pod in self._line.every()}
        return self._by_name


_FEW_OF = 16
"""Where more than one of so many pods has changed, all are sorted anew."""


def _sorted(line: _Line) -> Sorted:
    return Sorted(pods.RunningPods(by_node(line.running), line.listed), tuple(line.waiting), tuple(line.finished))


def _renewed(
    given: Sorted, touched: Mapping[tuple[str, str], AnyPod | None], now: Mapping[tuple[str, str], AnyPod]
) -> Sorted:
    """Return what was given away with the pods that have changed since, as they are now."""
    new = [now[key] for key in touched if key in now]
    running = [pod for pod in new if isinstance(pod, pods.RunningPod)]
    gone = [pod for pod in touched.values() if isinstance(pod, pods.RunningPod)]
    places: defaultdict[str, list[pods.RunningPod]] = defaultdict(list)
    for node in {pod.node for pod in gone}:
        places[node] += (pod for pod in given.running[node] if (pod.namespace, pod.name) not in touched)
    for pod in running:
        if pod.node not in places:
            places[pod.node] += given.running.get(pod.node, ())
        places[pod.node].append(pod)
    by_name = dict(given.running)
    for node, there in places.items():
        by_name[node] = _of_node(sorted(there, key=_key))
    ordered = by_name if by_name.keys() == given.running.keys() else dict(sorted(by_name.items()))
    kept = pods.RunningPods({node: there for node, there in ordered.items() if there}, _merged(given, gone, running))
    return Sorted(
        kept,
        _with(given.waiting, touched, (pod for pod in new if isinstance(pod, pods.PendingPod))),
        _with(given.finished, touched, (pod for pod in new if isinstance(pod, pods.FinishedPod))),
    )


def _of_node(there: Iterable[pods.RunningPod]) -> pods.NodePods:
    place = Place()
    for pod in there:
        place.append(pod)
    return pods.NodePods.of(place.pods, place.requested, place.ports, place.booked)


def _merged(
    given: Sorted, gone: Iterable[pods.RunningPod], new: Iterable[pods.RunningPod]
) -> Sequence[pods.RunningPod]:
    """Return all that run, in name order."""
    listed = list(given.running.listed)
    for pod in gone:
        del listed[bisect_left(listed, _key(pod), key=_key)]
    for pod in new:
        listed.insert(bisect_left(listed, _key(pod), key=_key), pod)
    return listed


def _with(given: tuple[P, ...], touched: Container[tuple[str, str]], new: Iterable[P]) -> tuple[P, ...]:
    kept: list[P] = [pod for pod in given if _key(pod) not in touched]
    return tuple(sorted(chain(kept, new), key=_key))


def by_node(places: Mapping[str, Place]) -> dict[str, pods.NodePods]:
    """Return the pods of all nodes, with the sums of what they take up."""
    return {
        node: pods.NodePods.of(place.pods, place.requested, place.ports, place.booked)
        for node, place in sorted(places.items(), key=itemgetter(0))
    }


def of_containers(running: Mapping[str, pods.NodePods]) -> pods.RunningPods:
    """Return the pods of nodes as a scheduler has them that does not know what pods request as a whole."""
    found: dict[str, pods.NodePods] = {}
    listed: list[pods.RunningPod] = []
    for node, there in running.items():
        found[node] = _of_node(structs.replace(pod, requirements=pod.requirements.of_containers) for pod in there)
        listed += found[node]
    return pods.RunningPods(found, listed)
