"""The pods of a cluster while it is read: of one name the later counts, and all come out in name order."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

from kubectl_koord.model import pods

AnyPod: TypeAlias = pods.RunningPod | pods.PendingPod | pods.FinishedPod
_namespace = attrgetter("namespace")


class Sorted(NamedTuple):
    """Pods in name order, the running ones by node."""

    running: pods.RunningPods
    waiting: tuple[pods.PendingPod, ...]
    finished: tuple[pods.FinishedPod, ...]


class Place:
    """The pods of one node, and what they take up."""

    __slots__ = ("pods", "ports", "requested")

    def __init__(self) -> None:
        """Start with none."""
        self.pods: list[pods.RunningPod] = []
        self.requested: dict[str, int] = {}
        self.ports: list[pods.HostPort] = []

    def append(self, pod: pods.RunningPod) -> None:
        """Take one more."""
        self.pods.append(pod)
        requested, requirements = self.requested, pod.requirements
        for resource, amount in requirements.requests:
            requested[resource] = requested.get(resource, 0) + amount
        if requirements.ports:
            self.ports.extend(requirements.ports)


class _Line:
    """Pods that came in name order within each namespace.

    Namespaces come one after the other, but in the order of the server's keys, in which `a-b/` is before `a/`.
    """

    def __init__(self) -> None:
        self.running: defaultdict[str, Place] = defaultdict(Place)
        self.listed: list[pods.RunningPod] = []
        self.waiting: list[pods.PendingPod] = []
        self.finished: list[pods.FinishedPod] = []
        self._namespace = self._name = ""
        self._namespaces: set[str] = set()
        self._is_in_order = True

    def append(self, pod: AnyPod) -> bool:
        """Take the next pod; return whether it is one that may follow the last."""
        namespace, name = pod.namespace, pod.name
        if namespace != self._namespace:
            if namespace in self._namespaces:
                return False
            self._namespaces.add(namespace)
            self._is_in_order = self._is_in_order and namespace > self._namespace
            self._namespace = namespace
        elif name <= self._name:
            return False
        self._name = name
        if isinstance(pod, pods.RunningPod):
            self.running[pod.node].append(pod)
            self.listed.append(pod)
        elif isinstance(pod, pods.PendingPod):
            self.waiting.append(pod)
        else:
            self.finished.append(pod)
        return True

    def in_order(self) -> "_Line":
        """Return the same with the namespaces in order, too."""
        if self._is_in_order:
            return self
        line = _Line()
        line.listed = self.listed
        for node, place in self.running.items():
            for pod in sorted(place.pods, key=_namespace):
                line.running[node].append(pod)
        line.waiting = sorted(self.waiting, key=_namespace)
        line.finished = sorted(self.finished, key=_namespace)
        return line

    def every(self) -> Iterator[AnyPod]:
        """Yield all, in no order."""
        yield from self.listed
        yield from self.waiting
        yield from self.finished


class Store(Protocol):
    """Objects by name: a dict, or what holds pods."""

    def pop(self, key: Any, default: None, /) -> Any:  # noqa: ANN401
        """Forget one."""

    def clear(self) -> None:
        """Forget all."""

    def update(self, other: Any, /) -> None:  # noqa: ANN401
        """Take over all of another."""


class PodStore:
    """Takes pods one by one.

    API servers list in the order of their keys: then they are in order when the last one is there, nobody waits until
    hundreds of thousands of them are sorted, and no index of their names is kept. The first pod that is not in
    order, or that goes, makes it one.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._line = _Line()
        self._by_name: dict[tuple[str, str], AnyPod] | None = None  # None while they come in order
        self._is_shared = False

    def add(self, pod: AnyPod) -> None:
        """Take a pod."""
        if self._by_name is None and not self._is_shared and self._line.append(pod):
            return
        self._indexed()[pod.namespace, pod.name] = pod

    def pop(self, key: tuple[str, str], default: None) -> AnyPod | None:
        """Forget a pod; one that is not there is no fault."""
        return self._indexed().pop(key, default)

    def clear(self) -> None:
        """Forget all."""
        self._line, self._by_name, self._is_shared = _Line(), None, False

    def update(self, other: "PodStore") -> None:
        """Take the pods of another store, which is not used any more."""
        if other.is_empty():
            return
        if self.is_empty():
            self.__dict__.update(other.__dict__)
        else:
            self._indexed().update(((pod.namespace, pod.name), pod) for pod in other.every())

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
        if self._by_name is not None:
            self._line = _Line()
            for key in sorted(self._by_name):
                self._line.append(self._by_name[key])
        self._is_shared = True  # the sums of what is given away must not change any more
        line = self._line.in_order()
        return Sorted(pods.RunningPods(by_node(line.running), line.listed), tuple(line.waiting), tuple(line.finished))

    def _indexed(self) -> dict[tuple[str, str], AnyPod]:
        if self._by_name is None:
            self._by_name = {(pod.namespace, pod.name): pod for pod in self._line.every()}
        return self._by_name


def by_node(places: Mapping[str, Place]) -> dict[str, pods.NodePods]:
    """Return the pods of all nodes, with the sums of what they take up."""
    return {
        node: pods.NodePods.of(place.pods, place.requested, place.ports)
        for node, place in sorted(places.items(), key=itemgetter(0))
    }
