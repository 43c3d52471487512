"""The layers of a topology that node labels tell: proposed by what providers set, or by keys that are named."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from msgspec import Struct, structs

from kubectl_koord.diagnosis import families
from kubectl_koord.diagnosis.families import FamilyLevel, LabelFamily
from kubectl_koord.engine import tree
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.answers import layers as sentences

_FROM_BELOW = ("BlockLayer", "SpineLayer", "DatacenterLayer")
_MOST_FILLED = 4
_ACCELERATOR, _ZONE = "AcceleratorLayer", "ZoneLayer"


class NothingTellsError(ValueError):
    """No topology can be proposed, for the reason that it gives."""


class Proposal(Struct, frozen=True):
    """The layers that node labels prove, from the top to the nodes, and what is to be said of them."""

    layers: tuple[Layer, ...]
    notes: tuple[str, ...]


class NamedLayer(Struct, frozen=True):
    """A layer that a user names, with the keys of its labels, the newest first."""

    name: str
    keys: tuple[str, ...]


def proposed(snapshot: Snapshot) -> Proposal:
    """Return the topology that the labels of the nodes tell.

    Of all families of labels the one counts that most nodes have; each layer is proven from the data to lie within
    the one above it.

    Raises:
        NothingTellsError: when the nodes have no such labels.

    """
    counted = families.workers(snapshot.nodes)
    every = tuple(snapshot.nodes.values())
    family, levels = _best(counted)
    notes = [
        sentences.source(family.source, len(levels[0].values.keys() & {one.name for one in counted}), len(counted))
    ]
    notes += [
        sentences.placeholder(key, value, number)
        for (key, value), number in families.placeholders(family, every).items()
    ]
    whole = families.levels_of(family, every)
    chain = [level for level in whole if not level.is_accelerator]
    chain = list(_one_name(_in_order(chain, notes), every, notes))
    chain = list(_telling(chain, len(every), notes))
    for level in whole:
        if level.is_accelerator:
            _place(chain, level, notes)
    zone = families.zone_of(every)
    if family.source != families.GENERIC and zone and len(set(zone.values.values())) > 1:
        _add_zone(chain, zone, notes)
    chain = list(_dividing(chain, notes))
    if not chain:
        raise NothingTellsError(sentences.nothing_tells(families.candidates(counted)))
    return _proposal(snapshot, _layers(chain), notes)


def of_names(snapshot: Snapshot, named: Sequence[NamedLayer]) -> Proposal:
    """Return the topology of layers with these names and keys, each within the one before it.

    Raises:
        NothingTellsError: when no node has a key, or the domains of a layer lie not within those of the one before it.

    """
    nodes = tuple(snapshot.nodes.values())
    counted = families.workers(snapshot.nodes)
    levels = [families.level_of(one.keys, nodes) for one in named]
    for one, level in zip(named, levels, strict=True):
        if not level.values:
            raise NothingTellsError(sentences.no_such_key(one.name, one.keys, families.candidates(counted)))
    for (above, higher), (below, lower) in pairwise(zip(named, levels, strict=True)):
        if names := families.repeated(lower, higher):
            raise NothingTellsError(sentences.not_within(below.name, above.name, names))
    have = [sum(node.name in level.values for node in counted) for level in levels]
    notes = [sentences.named(one.name, one.keys, number, len(counted)) for one, number in zip(named, have, strict=True)]
    return _proposal(snapshot, _chained([(one.name, one.keys) for one in named]), notes)


def filled(snapshot: Snapshot, live: Sequence[Layer], wanted: str) -> tuple[Layer, ...]:
    """Return layers of a topology, from the top, where those that no node has a label of name labels that nodes have.

    These divide the nodes and lie within each other; of several such chains that counts which has the most layers, then
    keys that sound like them. Nothing but the wanted layer must be there. Empty where no labels can be meant.
    """
    nodes = tuple(snapshot.nodes.values())
    own = {layer.name: families.level_of(layer.label_keys, nodes) for layer in live}
    named = {key for layer in live for key in layer.label_keys}
    found = [
        families.level_of((key,), nodes)
        for key in families.candidates(families.workers(snapshot.nodes))
        if key not in named
    ]
    choices: list[tuple[FamilyLevel | None, ...]] = []
    for layer in live[-_MOST_FILLED:]:
        meant = [own[layer.name]] if own[layer.name].values else found
        choices.append((*meant,) if layer.name == wanted else (*meant, None))
    best: tuple[tuple[int, int, int], tuple[Layer, ...]] = ((0, 0, 0), ())
    for chosen in product(*choices):
        chain = [(layer, level) for layer, level in zip(live[-_MOST_FILLED:], chosen, strict=True) if level is not None]
        if len({level.keys for _, level in chain}) < len(chain) or not all(
            families.nests(lower, higher) for (_, higher), (_, lower) in pairwise(chain)
        ):
            continue
        alike = sum(layer.name.removesuffix("Layer").casefold() in level.keys[0].casefold() for layer, level in chain)
        rank = (len(chain), alike, -sum(len(set(level.values.values())) for _, level in chain))
        if not best[1] or rank > best[0]:
            best = (rank, _chained([(layer.name, level.keys) for layer, level in chain]))
    return best[1]


def _chained(named: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[Layer, ...]:
    layers, parent = [], tree.ROOT_LAYER
    for name, keys in named:
        layers.append(Layer(name, parent, keys))
        parent = name
    return (*layers, Layer(tree.NODE_LAYER, parent))


def _proposal(snapshot: Snapshot, layers: tuple[Layer, ...], notes: Sequence[str]) -> Proposal:
    built = tree.build({tree.DEFAULT_NAME: NetworkTopology(tree.DEFAULT_NAME, layers)}, snapshot.nodes)
    return Proposal(layers, (*notes, *sentences.tree_notes(built)))


def _dividing(chain: Sequence[FamilyLevel], notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels, without those of accelerators that have the same domains as the one above."""
    above: FamilyLevel | None = None
    for level in chain:
        if above is not None and level.is_accelerator and families.same_domains(level, above):
            notes.append(sentences.same_domains(level.keys[0], above.keys[0]))
        else:
            above = level
            yield level


def _best(nodes: Sequence[Node]) -> tuple[LabelFamily, tuple[FamilyLevel, ...]]:
    """Return the family that most nodes have a label of; of equals the first, and the generic one only alone."""
    *fabric, generic = families.families(nodes)
    found = [(family, families.levels_of(family, nodes)) for family in fabric]
    told = [(family, levels) for family, levels in found if levels]
    if told:
        return max(told, key=lambda one: len({node for level in one[1] for node in level.values}))
    levels = families.levels_of(generic, nodes)
    if not levels:
        raise NothingTellsError(sentences.no_labels(families.candidates(nodes)))
    return generic, levels


def _in_order(levels: list[FamilyLevel], notes: list[str]) -> list[FamilyLevel]:
    """Return the levels that lie within each other: in the usual order, else in the reverse, else as many as do."""
    for order in (levels, levels[::-1]):
        if all(families.nests(lower, higher) for higher, lower in pairwise(order)):
            if order is not levels:
                notes.append(sentences.reversed_order())
            return order
    kept: list[FamilyLevel] = []
    for level in levels:
        names = families.repeated(level, kept[-1]) if kept else ()
        if names:
            notes.append(sentences.repeats(level.keys[0], kept[-1].keys[0], names))
        else:
            kept.append(level)
    return kept


def _one_name(levels: Sequence[FamilyLevel], nodes: Sequence[Node], notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels, without keys that contradict the newest."""
    for level in levels:
        wrong = families.disagreeing(level, nodes)
        notes += [sentences.disagree(level.keys[0], key) for key in wrong]
        notes += [
            sentences.other_names(level.keys[0], key) for key in families.renamed(level, nodes) if key not in wrong
        ]
        yield structs.replace(level, keys=tuple(key for key in level.keys if key not in wrong))


def _telling(levels: Sequence[FamilyLevel], nodes: int, notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels that divide the nodes."""
    for level in levels:
        domains = set(level.values.values())
        if len(domains) == 1 and len(level.values) == nodes:
            notes.append(sentences.one_value(level.keys[0]))
        elif len(domains) == len(level.values):
            notes.append(sentences.one_node_each(level.keys[0]))
        else:
            yield level


def _place(chain: list[FamilyLevel], level: FamilyLevel, notes: list[str]) -> None:
    """Put a level of linked accelerators where it nests, the lowest place first, or leave it out and say so."""
    for at in range(len(chain), -1, -1):
        higher, lower = chain[at - 1 : at] if at else [], chain[at : at + 1]
        if all(families.nests(level, one) for one in higher) and all(families.nests(one, level) for one in lower):
            if at < len(chain):
                notes.append(sentences.accelerators_above(level.keys[0], chain[at].keys[0]))
            chain.insert(at, level)
            return
    notes.append(sentences.not_nested(level.keys[0]))


def _add_zone(chain: list[FamilyLevel], zone: FamilyLevel, notes: list[str]) -> None:
    if chain and families.nests(chain[0], zone):
        chain.insert(0, zone)
    elif chain:
        notes.append(sentences.not_nested(zone.keys[0]))


def _layers(chain: Sequence[FamilyLevel]) -> tuple[Layer, ...]:
    """Return the layers with the names that Koordinator's manual recommends, counted from the nodes up."""
    names: list[str] = []
    used = 0
    for level in reversed(chain):
        if level.is_accelerator:
            name = _ACCELERATOR if _ACCELERATOR not in names else f"{_ACCELERATOR}{len(names)}"
        elif level.keys == (families.ZONE,) and level is chain[0]:
            name = _ZONE
        else:
            name = _FROM_BELOW[used] if used < len(_FROM_BELOW) else f"Tier{used}Layer"
            used += 1
        names.append(name)
    layers = []
    parent = tree.ROOT_LAYER
    for name, level in zip(reversed(names), chain, strict=True):
        layers.append(Layer(name, parent, level.keys))
        parent = name
    return (*layers, Layer(tree.NODE_LAYER, parent))
