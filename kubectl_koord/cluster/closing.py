"""What is closed at the end of a `with` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Something that holds connections, processes or files until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. May be called twice."""

    def __enter__(self) -> Self:
        """Return this, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close."""
        self.close()
