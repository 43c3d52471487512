"""What expressions read of a device: devices that are equal in it are matched alike."""

from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from kubectl_koord.engine.fit.resource_claims.cel.faults import UnsupportedError
from kubectl_koord.engine.fit.resource_claims.cel.syntax import Call, Field, Item, Items, Literal, Name, Node, parsed
from kubectl_koord.model.resource_claims import ClaimableDevice

_PLAIN = frozenset({"string", "int", "bool"})  # any other may be wrong, which fails every expression


class Read(Struct, frozen=True, gc=False):
    """The attributes and capacities that are read, by domain and name; `is_all` where it may be any."""

    attributes: tuple[tuple[str, str], ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()
    is_all: bool = False

    def key(self, device: ClaimableDevice) -> Hashable:
        """Return what a device has of it."""
        if self.is_all:
            return (device.id[0], device.attributes, device.capacity)
        attributes, capacity = dict(device.attributes), dict(device.capacity) if self.capacity else {}
        return (
            device.id[0],
            tuple([attributes.get(one) for one in self.attributes]),
            tuple([capacity.get(one) for one in self.capacity]),
            tuple([told for _, told in device.attributes if told[0] not in _PLAIN]),
        )


def read_by(expressions: Iterable[str]) -> Read:
    """Return what expressions read."""
    found = [one for expression in expressions for one in _places(expression)]
    return Read(
        tuple(sorted({(domain, name) for kind, domain, name in found if kind == "attributes"})),
        tuple(sorted({(domain, name) for kind, domain, name in found if kind == "capacity"})),
        any(not kind for kind, _, _ in found),
    )


@lru_cache(maxsize=1 << 8)
def _places(expression: str) -> tuple[tuple[str, str, str], ...]:
    try:
        return tuple(_read(parsed(expression)))
    except UnsupportedError:
        return ()


def _read(tree: Node) -> Iterator[tuple[str, str, str]]:
    """Yield kind, domain and name of what is read, empty ones for what may be anything."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        path = _path(node)
        match path:
            case ("device", "driver"):
                continue
            case ("device", kind, domain, name, *_):
                yield kind, domain, name
            case ("device", *_):
                yield "", "", ""
            case _:
                nodes += _parts(node)


def _path(node: Node) -> tuple[str, ...]:
    """Return `device`, `attributes`, domain, name for `device.attributes[domain].name`; empty for another node."""
    names: list[str] = []
    while True:
        match node:
            case Field(of, name):
                node = of
                names.append(name)
            case Item(of, Literal(str(name))):
                node = of
                names.append(name)
            case Name("device"):
                return ("device", *reversed(names))
            case _:
                return ()


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Field(of):
            return (of,)
        case Item(of, key):
            return (of, key)
        case Items(nodes) | Call(_, nodes):
            return nodes
        case _:
            return ()
