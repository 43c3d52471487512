"""The sentences of `snapshot`."""

from kubectl_koord.model.snapshot import Gap
from kubectl_koord.wording.words import count

ANONYMOUS = "Names are replaced by others, in the same order; numbers, hardware, resources and their amounts are not."
NAMED = "It holds names of nodes, namespaces, pods and whatever they refer to; --anonymize replaces them."
NOT_HELD = "It holds no environment, arguments, Secrets, or labels and annotations that no answer rests on."


def wrote(file: str, objects: int, size: int) -> str:
    """Return where to, how many objects and how much was written."""
    return f"Wrote {file or 'to standard output'}: {count(objects, 'object')}, {kilobytes(size)}."


def kilobytes(size: int) -> str:
    """Return a size, rounded up: `3 kB`."""
    return f"{-(-size // 1000):,} kB"


def not_read(gap: Gap) -> str:
    """Return that a kind could not be read, and why."""
    return f"Not in it: {gap.kind} ({gap.message})."


def how_to_read(file: str) -> str:
    """Return how to read it again."""
    return f"Read it with: kubectl koord why-pending --snapshot {file}"
