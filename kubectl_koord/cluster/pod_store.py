"""The pods of a cluster while it is read: of one name the later counts, and all come out in name order."""

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from kubectl_koord.model import pods

AnyPod: TypeAlias = pods.RunningPod | pods.PendingPod | pods.FinishedPod


class Sorted(NamedTuple):
    """Pods in name order, the running ones by node."""

    running: dict[str, pods.Held]
    waiting: tuple[pods.PendingPod, ...]
    finished: tuple[pods.FinishedPod, ...]


class _Place:
    """The pods of one node."""

    __slots__ = ("pods", "ports", "requested")

    def __init__(self) -> None:
        self.pods: list[pods.RunningPod] = []
        self.requested: dict[str, int] = {}
        self.ports: list[pods.HostPort] = []

    def append(self, pod: pods.RunningPod) -> None:
        self.pods.append(pod)
        requested, shape = self.requested, pod.shape
        for resource, amount in shape.requests:
            requested[resource] = requested.get(resource, 0) + amount
        if shape.ports:
            self.ports.extend(shape.ports)


class _Line:
    """Pods that came in name order."""

    def __init__(self) -> None:
        self.running: defaultdict[str, _Place] = defaultdict(_Place)
        self.waiting: list[pods.PendingPod] = []
        self.finished: list[pods.FinishedPod] = []
        self._namespace = self._name = ""

    def append(self, pod: AnyPod) -> bool:
        """Take the next pod; return whether it is one that belongs behind the last."""
        namespace, name = pod.namespace, pod.name
        if namespace != self._namespace:
            if namespace < self._namespace:
                return False
            self._namespace = namespace
        elif name <= self._name:
            return False
        self._name = name
        if isinstance(pod, pods.RunningPod):
            self.running[pod.node].append(pod)
        elif isinstance(pod, pods.PendingPod):
            self.waiting.append(pod)
        else:
            self.finished.append(pod)
        return True


class PodStore:
    """Takes pods one by one.

    API servers list in name order, mostly: then they are in order when the last one is there, and nobody waits
    until hundreds of thousands of them are sorted.
    """

    def __init__(self) -> None:
        """Start with none."""
        self.by_namespace: dict[str, dict[str, AnyPod]] = {}
        self.line: _Line | None = _Line()  # None once a pod came out of order

    def add(self, pod: AnyPod) -> None:
        """Take a pod."""
        if self.line is not None and not self.line.append(pod):
            self.line = None
        try:
            self.by_namespace[pod.namespace][pod.name] = pod
        except KeyError:
            self.by_namespace[pod.namespace] = {pod.name: pod}

    def pop(self, key: tuple[str, str], default: None) -> AnyPod | None:
        """Forget a pod; one that is not there is no fault."""
        self.line = None
        return self.by_namespace.get(key[0], {}).pop(key[1], default)

    def clear(self) -> None:
        """Forget all."""
        self.by_namespace, self.line = {}, _Line()

    def update(self, other: "PodStore") -> None:
        """Take the pods of another store, which is not used any more."""
        if not other.by_namespace:
            return
        if not self.by_namespace:
            self.by_namespace, self.line = other.by_namespace, other.line
            return
        for namespace, found in other.by_namespace.items():
            self.by_namespace.setdefault(namespace, {}).update(found)
        self.line = None

    def get(self, namespace: str, name: str) -> AnyPod:
        """Return a pod that was taken."""
        return self.by_namespace[namespace][name]

    def waiting(self) -> Iterable[pods.PendingPod]:
        """Return the pods that wait, in no order."""
        every = (pod for found in self.by_namespace.values() for pod in found.values())
        return self.line.waiting if self.line else (pod for pod in every if isinstance(pod, pods.PendingPod))

    def sorted(self, reserved: Iterable[pods.RunningPod] = ()) -> Sorted:
        """Return all pods; those that stand for reservations belong to no namespace and go first on their nodes."""
        line = self.line or self._lined_up()
        self.line = None  # reservations come in between: whoever asks again gets a line of its own
        running = line.running
        for rest in reversed(list(reserved)):
            place = running[rest.node]
            place.append(rest)
            place.pods.insert(0, place.pods.pop())
        places = sorted(running.items(), key=itemgetter(0))
        by_node = {node: pods.Held.of(place.pods, place.requested, place.ports) for node, place in places}
        return Sorted(by_node, tuple(line.waiting), tuple(line.finished))

    def _lined_up(self) -> _Line:
        line = _Line()
        for _, found in sorted(self.by_namespace.items()):
            for name in sorted(found):
                line.append(found[name])
        return line
