"""What pending pods use, read as soon as one has come that uses it, while other pods still come."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from kubectl_koord.cluster.collecting.collect import Collector, uses_volumes
from kubectl_koord.cluster.kinds import CLAIM_KINDS, VOLUME_KINDS
from kubectl_koord.model.pods import PendingPod

T = TypeVar("T")

Kinds: TypeAlias = tuple[str, ...]
"""Kinds that are read together."""


class Ahead(Generic[T]):
    """Reads kinds in threads of their own."""

    def __init__(self, read: Callable[[Kinds], T]) -> None:
        """Keep how kinds are read; nothing is read yet."""
        self._read = read
        self._begun: dict[Kinds, queue.SimpleQueue[T | Exception]] = {}

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
            outcome = self._begun[kinds].get()
            if isinstance(outcome, Exception):
                raise outcome
            yield outcome

    def _look(self, pod: PendingPod) -> None:
        if uses_volumes(pod):
            self._begin(VOLUME_KINDS)
        if pod.resource_claims:
            self._begin(CLAIM_KINDS)

    def _begin(self, kinds: Kinds) -> None:
        if kinds not in self._begun:
            outcome: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()
            self._begun[kinds] = outcome
            threading.Thread(target=self._work, args=(kinds, outcome), daemon=True).start()

    def _work(self, kinds: Kinds, outcome: "queue.SimpleQueue[T | Exception]") -> None:
        try:
            outcome.put(self._read(kinds))
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
            outcome.put(error)
