"""What pending pods use, read as soon as one has come that uses it, while other pods still come."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from kubectl_koord.cluster.collecting.collect import Collector, uses_volumes
from kubectl_koord.cluster.kinds import CLAIM_KINDS, NAMESPACE, NAMESPACE_KINDS, VOLUME_KINDS
from kubectl_koord.cluster.threads import Outcomes
from kubectl_koord.model.pods import PendingPod

T = TypeVar("T")

Kinds: TypeAlias = tuple[str, ...]
"""Kinds that are read together."""


class Ahead(Generic[T]):
    """Reads kinds in threads of their own."""

    def __init__(self, read: Callable[[Kinds], T], asked: Collection[str] = ()) -> None:
        """Keep how kinds are read, and which are in any case; nothing is read yet."""
        self._read = read
        self._asked = frozenset(asked)
        self._begun: dict[Kinds, Outcomes[T]] = {}

    def watch(self, pods: Collector) -> None:
        """Look at pods that are listed, perhaps anew: what was read before they were may not have what they use."""
        self._begun = {}
        pods.when_waiting = self._look

    def found(self, wanted: Sequence[Kinds]) -> Iterator[T]:
        """Yield what was read of kinds, once it is there; what was not begun is begun now, all at once.

        Raises:
            KoordError: when it could not be read.

        """
        for kinds in wanted:
            self._begin(kinds)
        for kinds in wanted:
            yield self._begun[kinds].wait()

    def _look(self, pod: PendingPod) -> None:
        if uses_volumes(pod):
            self._begin(VOLUME_KINDS)
        if pod.resource_claims:
            self._begin(CLAIM_KINDS)
        if pod.requirements.reads_namespaces and NAMESPACE.name not in self._asked:
            self._begin(NAMESPACE_KINDS)

    def _begin(self, kinds: Kinds) -> None:
        if kinds not in self._begun:
            self._begun[kinds] = Outcomes()
            self._begun[kinds].begin(partial(self._read, kinds))
