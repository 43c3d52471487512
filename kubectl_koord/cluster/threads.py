"""Work in threads, whose failures are raised where its outcome is waited for."""

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Outcomes(Generic[T]):
    """What some threads came to, in the order in which they did."""

    def __init__(self) -> None:
        """Start with nothing to be done."""
        self._done: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()

    def begin(self, work: Callable[[], T]) -> None:
        """Do work in a thread of its own, which keeps nobody from leaving."""
        threading.Thread(target=self._do, args=(work,), daemon=True).start()

    def wait(self) -> T:
        """Return what the next of them came to, or raise what it raised."""
        outcome = self._done.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _do(self, work: Callable[[], T]) -> None:
        try:
            self._done.put(work())
        except Exception as error:  # noqa: BLE001 - it is raised where the outcome is waited for
            self._done.put(error)
