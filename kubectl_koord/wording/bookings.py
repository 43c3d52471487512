"""What is booked twice, or may be forgotten, of CPUs and devices."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from kubectl_koord.wording.words import listed

CPUS_FORGOTTEN = (
    "it depends on CPUs of running pods: a scheduler of this version may forget them when it starts, and then takes"
    " them for free."
)
_MOST_NAMED = 3


class HeldTwice(Struct, frozen=True):
    """CPUs of a node, or a device by its type and minor, that these pods have at once."""

    node: str
    kind: str
    numbers: tuple[int, ...]
    pods: tuple[str, ...]


def doubly_booked(found: Sequence[HeldTwice]) -> str:
    """Return which CPUs and devices several pods have at once, and since what moment they are free."""
    named = [f"{_what(one)} of {one.node} by {listed(one.pods)}" for one in found[:_MOST_NAMED]]
    rest = len(found) - len(named)
    more = f" (and {rest} more)" if rest else ""
    return f"held by several pods at once, and free only when all of these are gone: {'; '.join(named)}{more}."


def _what(one: HeldTwice) -> str:
    kind = "device" if one.kind not in {"cpu", "gpu", "rdma", "fpga"} else one.kind.upper()
    return f"{kind} {','.join(_ranges(one.numbers))}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield `0-2` and `5` for 0, 1, 2 and 5, as Linux writes CPU lists."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])
