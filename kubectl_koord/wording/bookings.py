"""What is booked twice, or may be forgotten, of CPUs and devices."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from kubectl_koord.model.objects import Node
from kubectl_koord.wording.words import amount_of, count, device_name, listed

CPUS_FORGOTTEN = (
    "it depends on CPUs of running pods: a scheduler of this version may forget them when it starts, and then takes"
    " them for free."
)
_MOST_NAMED = 3
_CORE = "koordinator.sh/gpu-core"


class Unbooked(Struct, frozen=True):
    """A pod that runs with devices of a type by its requests, and with none by its annotation; in hundredths."""

    pod: str
    node: str
    type: str
    amount: int


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


def not_booked(found: Sequence[Unbooked]) -> str:
    """Return which pods have devices that the scheduler does not know to be taken, and what comes of that."""
    named = [
        f"{one.pod} holds {amount_of(_CORE, one.amount)} {device_name(one.type)} on {one.node}"
        for one in found[:_MOST_NAMED]
    ]
    rest = len(found) - len(named)
    more = f" (and {count(rest, 'more pod')})" if rest else ""
    return (
        f"{'; '.join(named)}{more}, and no annotation says which: DeviceShare takes these cards for free, and may give"
        " them to another pod as well."
    )


def cards_lost(nodes: Sequence[Node]) -> str:
    """Return which nodes offer fewer cards than their capacity says, of which resource how many."""
    named = []
    for node in nodes[:_MOST_NAMED]:
        has = dict(node.allocatable)
        lost = [f"{has.get(name, 0)} of {has.get(name, 0) + number} {name}" for name, number in node.lost]
        named.append(f"{node.name} offers {listed(lost)}")
    rest = len(nodes) - len(named)
    more = f" (and {count(rest, 'more node')})" if rest else ""
    return f"{'; '.join(named)}{more}: the device plugin calls the others unhealthy, or has not registered them."


def _what(one: HeldTwice) -> str:
    kind = "device" if one.kind not in {"cpu", "gpu", "rdma", "fpga"} else one.kind.upper()
    return f"{kind} {','.join(_ranges(one.numbers))}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield `0-2` and `5` for 0, 1, 2 and 5, as Linux writes CPU lists."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])
