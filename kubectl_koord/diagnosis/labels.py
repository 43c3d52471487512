"""Node labels that tell where a node is: which families there are, which layers they propose, which nodes lack them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, product

from msgspec import Struct, structs

from kubectl_koord.engine import tree
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, ROOT_LAYER, NoTree, Tree
from kubectl_koord.language import say
from kubectl_koord.model import objects
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.refusals import fault_clause
from kubectl_koord.wording.words import count, layer_noun, listed

PLACEHOLDERS = frozenset({"no-imds-data"})
"""Values that stand for none, beside the empty one."""
ZONE = "topology.kubernetes.io/zone"
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_NO_PLACE = ("kubernetes.io/", "beta.kubernetes.io/", "node.kubernetes.io/", "node-role.kubernetes.io/")
_MOST_CANDIDATES = 5
_TIER = re.compile(r"fabric\.topograph\.run/tier-(\d{1,3})")


class LabelFamily(Struct, frozen=True):
    """One provider's labels, from the top to the nodes; of each level several keys, the newest first.

    `accelerators` are keys of domains of linked accelerators, which need not lie below the lowest level.
    """

    source: str
    levels: tuple[tuple[str, ...], ...]
    accelerators: tuple[tuple[str, ...], ...] = ()


class FamilyLevel(Struct, frozen=True):
    """One level of a family as the nodes have it: of each node that has a value, the value."""

    keys: tuple[str, ...]
    values: Mapping[str, str]
    is_accelerator: bool = False


def _keys(prefix: str, *names: str) -> tuple[tuple[str, ...], ...]:
    return tuple((prefix + name,) for name in names)


_CLIQUE = ("nvidia.com/gpu.clique",)
_NVIDIA, _OLD_NVIDIA = "network.topology.nvidia.com/", "network.topology.kubernetes.io/"
_LEVEL = "topology.kubernetes.io/network-level-"
_FABRIC = (
    LabelFamily("aws", _keys("topology.k8s.aws/network-node-layer-", *"1234"), (("topology.k8s.aws/ultraserver-id",),)),
    LabelFamily("google", _keys("cloud.google.com/gce-topology-", "block", "subblock", "host")),
    LabelFamily(
        "oracle",
        (
            ("oci.oraclecloud.com/rdma.hpc_island_id",),
            ("oci.oraclecloud.com/rdma.network_block_id", "oci.oraclecloud.com/host.network_block_id"),
            ("oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/host.rack_id"),
        ),
    ),
    LabelFamily("alibaba", _keys("alibabacloud.com/", "point-of-delivery", "asw-id")),
    LabelFamily("coreweave", _keys("backend.coreweave.cloud/", "fabric", "leafgroup")),
    LabelFamily("coreweave-infiniband", _keys("ib.coreweave.cloud/", "fabric", "superpod", "leafgroup")),
    LabelFamily(
        "nebius",
        _keys("topology.nebius.com/", "gpu-cluster-id", "tier-2", "tier-1"),
        (("topology.nebius.com/tier-0", "topology.nebius.com/nvl-instance-group-id"),),
    ),
    LabelFamily("volcano", _keys("volcano.sh/", "hypercluster", "hypernode", "tor")),
    LabelFamily("cloud.provider.com", _keys("cloud.provider.com/", "topology-block", "topology-rack")),
)
GENERIC = "kubernetes"
"""The source of the family that every provider has."""
_GENERIC = LabelFamily(GENERIC, _keys("topology.kubernetes.io/", "region", "zone", "rack"))


def families(nodes: Iterable[Node]) -> tuple[LabelFamily, ...]:
    """Return the families that may apply, those of a fabric first; what topograph numbers is as deep as it is here."""
    tiers = {int(match[1]) for node in nodes for key, _ in node.labels if (match := _TIER.fullmatch(key))}
    deepest = max(tiers, default=-1)
    older = (("block", "leaf"), ("spine",), ("datacenter", "core"))
    levels = []
    for tier in range(max(deepest, len(older) - 1), -1, -1):
        new = (f"fabric.topograph.run/tier-{tier}",)
        names = older[tier] if tier < len(older) else ()
        old = tuple(prefix + name for prefix in (_NVIDIA, _OLD_NVIDIA) for name in names)
        levels.append((*new, *old, *((f"{_LEVEL}{tier + 1}",) if names else ())))
    topograph = LabelFamily(
        "topograph",
        tuple(levels),
        (
            ("accelerator.topograph.run/domain", _NVIDIA + "accelerator", _OLD_NVIDIA + "accelerator"),
            ("accelerator.topograph.run/sub-domain",),
        ),
    )
    return (topograph, *_FABRIC, _GENERIC)


def workers(nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    """Return the nodes that count: those with accelerators, else all that are no part of the control plane."""
    usual = [node for node in nodes.values() if not {key for key, _ in node.labels} & set(_CONTROL_PLANE)]
    equipped = [node for node in usual if objects.of_node(dict(node.allocatable))]
    return tuple(equipped or usual)


def levels_of(family: LabelFamily, nodes: Sequence[Node]) -> tuple[FamilyLevel, ...]:
    """Return the levels of which any node has a value, those of accelerators last."""
    found = [*_levels(family.levels, nodes, are_accelerators=False)]
    if found:
        found += _levels((*family.accelerators, _CLIQUE), nodes, are_accelerators=True)
    return tuple(found)


def _levels(
    wanted: Iterable[tuple[str, ...]], nodes: Sequence[Node], *, are_accelerators: bool
) -> Iterator[FamilyLevel]:
    for keys in wanted:
        there = tuple(key for key in keys if any(_value(dict(node.labels), key) for node in nodes))
        values = {}
        for node in nodes:
            labels = dict(node.labels)
            if value := next(filter(None, (_value(labels, key) for key in there)), ""):
                values[node.name] = value
        if values:
            yield FamilyLevel(there, values, are_accelerators)


def disagreeing(level: FamilyLevel, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the older keys of a level that group the nodes otherwise than the newest, where nodes carry both."""
    return tuple(key for key in level.keys[1:] if not _agree(_pairs(level.keys[0], key, nodes)))


def renamed(level: FamilyLevel, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the older keys of a level that group the nodes as the newest does, but by other names."""
    return tuple(key for key in level.keys[1:] if any(one != other for one, other in _pairs(level.keys[0], key, nodes)))


def _pairs(one: str, other: str, nodes: Sequence[Node]) -> set[tuple[str, str]]:
    every = (dict(node.labels) for node in nodes)
    pairs = ((_value(labels, one), _value(labels, other)) for labels in every)
    return {(first, second) for first, second in pairs if first and second}


def _agree(pairs: set[tuple[str, str]]) -> bool:
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def placeholders(family: LabelFamily, nodes: Sequence[Node]) -> Mapping[tuple[str, str], int]:
    """Return of how many nodes each label of a family holds a placeholder, or nothing, with that value."""
    keys = {key for level in (*family.levels, *family.accelerators) for key in level}
    found: dict[tuple[str, str], int] = {}
    for node in nodes:
        for key, value in node.labels:
            if key in keys and (not value or value in PLACEHOLDERS):
                found[key, value] = found.get((key, value), 0) + 1
    return found


def _value(labels: Mapping[str, str], key: str) -> str:
    value = labels.get(key, "")
    return "" if value in PLACEHOLDERS else value


def level_of(keys: tuple[str, ...], nodes: Sequence[Node]) -> FamilyLevel:
    """Return the level of these keys, whether any node has one of them or not."""
    return next(_levels((keys,), nodes, are_accelerators=False), FamilyLevel(keys, {}))


def same_domains(one: FamilyLevel, other: FamilyLevel) -> bool:
    """Tell whether two levels of the same nodes divide them alike."""
    return one.values.keys() == other.values.keys() and nests(one, other) and nests(other, one)


def candidates(nodes: Sequence[Node]) -> Mapping[str, int]:
    """Return keys of labels that divide the nodes, and into how many domains: the fewest first, no more than a few.

    Most nodes have them, and several have the same value.
    """
    values: dict[str, list[str]] = {}
    for node in nodes:
        for key, value in node.labels:
            if value and not key.startswith(_NO_PLACE):
                values.setdefault(key, []).append(value)
    found = {key: len(set(each)) for key, each in values.items() if 2 * len(each) > len(nodes)}
    dividing = [(number, key) for key, number in found.items() if 1 < number <= len(values[key]) // 2]
    return {key: number for number, key in sorted(dividing)[:_MOST_CANDIDATES]}


def nests(lower: FamilyLevel, higher: FamilyLevel) -> bool:
    """Tell whether each value of the lower level is found under exactly one of the higher."""
    return not repeated(lower, higher)


def repeated(lower: FamilyLevel, higher: FamilyLevel) -> tuple[str, ...]:
    """Return the values of the lower level that are found under several of the higher."""
    above: dict[str, set[str]] = {}
    for node, value in lower.values.items():
        if node in higher.values:
            above.setdefault(value, set()).add(higher.values[node])
    return tuple(sorted(value for value, parents in above.items() if len(parents) > 1))


class LabelScheme(Struct, frozen=True):
    """Labels that are set together: the whole keys, or what keys begin with; families of one `maker` follow another."""

    maker: str
    keys: tuple[str, ...] = ()
    prefix: str = ""

    def has(self, key: str) -> bool:
        """Tell whether a label is of this family."""
        return key in self.keys or bool(self.prefix and key.startswith(self.prefix))


def _family(maker: str, domain: str, *names: str) -> LabelScheme:
    return LabelScheme(maker, tuple(f"{domain}/{name}" for name in names))


_NVIDIA_LABEL, _K8S = "network.topology.nvidia.com", "network.topology.kubernetes.io"
_OCI, _COREWEAVE = "oci.oraclecloud.com", "coreweave.cloud"
FAMILIES = (
    LabelScheme("topograph", prefix="fabric.topograph.run/tier-"),
    _family("topograph", "accelerator.topograph.run", "domain", "sub-domain"),
    _family("topograph", _NVIDIA_LABEL, "core", "spine", "leaf", "accelerator"),
    _family("topograph", _NVIDIA_LABEL, "datacenter", "spine", "block", "accelerator"),
    LabelScheme("topograph", prefix=f"{_NVIDIA_LABEL}/tier-"),
    _family("topograph", _K8S, "datacenter", "spine", "block", "accelerator"),
    LabelScheme("topograph", prefix="topology.kubernetes.io/network-level-"),
    LabelScheme("eks", prefix="topology.k8s.aws/network-node-layer-"),
    _family("gke", "cloud.google.com", "gce-topology-block", "gce-topology-subblock", "gce-topology-host"),
    _family("oke", _OCI, "rdma.hpc_island_id", "rdma.network_block_id", "rdma.local_block_id", "rdma.host_id"),
    _family("oke", _OCI, "host.network_block_id", "host.rack_id"),
    _family("ack", "alibabacloud.com", "point-of-delivery", "asw-id"),
    _family("coreweave", f"backend.{_COREWEAVE}", "fabric", "leafgroup"),
    _family("coreweave", f"ib.{_COREWEAVE}", "fabric", "superpod", "leafgroup"),
    _family("nebius", "topology.nebius.com", "gpu-cluster-id", "tier-2", "tier-1", "tier-0"),
)
NO_VALUES = frozenset({"no-imds-data", "unknown", "none", "null", "nil", "n-a", "na", "undefined", "placeholder"})
"""Values, in small letters, that stand for no value."""


def makers(keys: Iterable[str]) -> frozenset[str]:
    """Return whose labels are among these keys."""
    return frozenset(family.maker for key in keys for family in FAMILIES if family.has(key))


_ALIKE, _NEARLY = 0.75, 0.85


class OutsideRoom(Struct, frozen=True):
    """Nodes outside a layer that would take so many pods of a gang, and the keys of labels that any of them lacks.

    `are_alone` is whether each is a domain of its own, as it lacks no label but that of the lowest layer.
    """

    nodes: tuple[str, ...]
    lacking: tuple[str, ...]
    pods: int
    are_alone: bool = False


class EmptyLayer(Struct, frozen=True):
    """A layer that no node is in: which keys nodes lack, and which they have that no layer names."""

    layer: str
    nodes: tuple[str, ...]
    lacking: tuple[str, ...]
    instead: tuple[str, ...]


def room(first: Attempt, snapshot: Snapshot) -> OutsideRoom | None:
    """Return which nodes outside the tree have slots that an attempt could not use, None where none has."""
    plan = first.plan
    if plan is None:
        return None
    counts, tree = plan.nodes.counts, plan.tree
    found = [one for one in tree.outside if counts[one.node]]
    alone = [] if found else [name for name in alone_in(tree, plan.requirements.must_gather) if counts[name]]
    nodes = (*(one.node for one in found), *alone)
    if not nodes:
        return None
    lacking = dict.fromkeys(key for one in found for key in one.missing)
    if alone:
        lacking = dict.fromkeys(layers_of(snapshot, tree)[-1].label_keys)
    return OutsideRoom(nodes, tuple(lacking), sum(counts[name] for name in nodes), are_alone=bool(alone))


def alone_in(tree: Tree, layer: str) -> tuple[str, ...]:
    """Return the nodes that are domains of their own in a layer in which others are together."""
    domains = [tree.domains[index] for index in tree.at_layer(layer)] if layer in tree.layers else []
    if all(domain.virtual for domain in domains) or layer == NODE_LAYER:
        return ()
    return tuple(domain.name for domain in domains if domain.virtual)


def empty_layer(snapshot: Snapshot, plan: PlacementPlan) -> EmptyLayer | None:
    """Return the layer that the gang must gather in where no node has a label of it, None where some have."""
    layer, tree = plan.requirements.must_gather, plan.tree
    if not snapshot.nodes or layer not in tree.layers or layer == NODE_LAYER:
        return None
    domains = [tree.domains[index] for index in tree.at_layer(layer)]
    if any(not domain.virtual for domain in domains):
        return None
    layers = layers_of(snapshot, tree)
    own = next(one for one in layers if one.name == layer)
    nodes = tuple(sorted(snapshot.nodes))
    instead = instead_of(snapshot, layers, nodes)
    if not instead:
        named = {key for one in layers for key in one.label_keys}
        instead = tuple(sorted(candidates(workers(snapshot.nodes)).keys() - named))
    return EmptyLayer(layer, nodes, own.label_keys, instead)


def layers_of(snapshot: Snapshot, tree: Tree) -> tuple[Layer, ...]:
    """Return the layers of a tree as they are written, from the top, without that of the nodes."""
    by_name = {layer.name: layer for layer in snapshot.topologies[DEFAULT_NAME].layers}
    return tuple(by_name[name] for name in tree.layers if name != NODE_LAYER)


def instead_of(snapshot: Snapshot, layers: Iterable[Layer], nodes: Iterable[str]) -> tuple[str, ...]:
    """Return labels of nodes that no layer names, and that may be meant: of a known provider, or nearly of a name."""
    named = tuple(key for layer in layers for key in layer.label_keys)
    carried = {key for name in nodes for key, _ in snapshot.nodes[name].labels} - {*named}
    return tuple(sorted(key for key in carried if makers([key]) or nearest(key, named)))


def nearest(key: str, named: Sequence[str]) -> str:
    """Return the one of several keys that another is nearly: misspelt, or of another domain; empty for none."""
    return next((one for one in named if one != key and _is_nearly(key, one)), "")


def _is_nearly(one: str, other: str) -> bool:
    (domain, _, name), (domain2, _, name2) = one.rpartition("/"), other.rpartition("/")
    if domain == domain2:
        return _ratio(name, name2) >= _ALIKE
    return name == name2 and bool(domain and domain2) and _ratio(domain, domain2) >= _NEARLY


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


_FEW = 5
_PROVIDERS = {
    "google": say("Google Cloud"),
    "oracle": say("Oracle Cloud"),
    "alibaba": say("Alibaba Cloud"),
    "coreweave-infiniband": say("CoreWeave InfiniBand"),
    "aws": "AWS",
    "coreweave": "CoreWeave",
    "nebius": "Nebius",
    "volcano": "Volcano",
    "kubernetes": "Kubernetes",
}


def source(name: str, nodes: int, of: int) -> str:
    """Return whose labels were used, and how many of the nodes that count have them."""
    return say(
        "From the labels of {name}, which {nodes} of {nodes2} carry.",
        name=_PROVIDERS.get(name, name),
        nodes=nodes,
        nodes2=count(of, "node"),
    )


def no_labels(candidates: Mapping[str, int]) -> str:
    """Return that no labels of a provider tell where nodes are, and which others may."""
    if candidates:
        return say(
            "no node has labels of a provider that tell its place in the network: {name_them}",
            name_them=_name_them(candidates),
        )
    return say("no node has labels that tell its place in the network: give each its labels first, see topo label")


def nothing_tells(candidates: Mapping[str, int]) -> str:
    """Return that the labels that were looked at divide nothing, and which others may."""
    told = _name_them(candidates) if candidates else say("no layer is left to propose")
    return say("the labels of the nodes divide them nowhere: {told}", told=told)


def _name_them(candidates: Mapping[str, int]) -> str:
    counted = [say("{key} ({number} values)", key=key, number=number) for key, number in candidates.items()]
    example = say("--layer SpineLayer={iter}", iter=next(iter(candidates)))
    return say(
        "name yours, from the top: {example}; labels that divide the nodes: {counted}",
        example=example,
        counted=listed(counted),
    )


def layers_named(name: str, keys: Sequence[str], nodes: int, of: int) -> str:
    """Return how many of the nodes that count have the labels of a layer that was named."""
    return say(
        "{name} from {keys}, which {nodes} of {nodes2} carry.",
        name=name,
        keys=listed(keys, "or"),
        nodes=nodes,
        nodes2=count(of, "node"),
    )


def no_such_key(name: str, keys: Sequence[str], candidates: Mapping[str, int]) -> str:
    """Return that no node has a label of a layer that was named, and which others may tell."""
    others = f": {_name_them(candidates)}" if candidates else ""
    return say(
        "no node has the label {keys} of --layer {name}{others}", keys=listed(keys, "or"), name=name, others=others
    )


def not_within(name: str, above: str, values: Sequence[str]) -> str:
    """Return that a layer does not lie within the one that was named before it."""
    verb = "stands" if len(values) == 1 else "stand"
    return say(
        "--layer {name} does not lie within {above}: {some} {verb} below several of its domains",
        name=name,
        above=above,
        some=_some(values),
        verb=verb,
    )


def placeholder(key: str, value: str, nodes: int) -> str:
    """Return that a label says nothing on some nodes, and what the scheduler takes that for."""
    if not value:
        return say("{key} is empty on {nodes}, as good as missing.", key=key, nodes=count(nodes, "node"))
    where = say("{key} is the placeholder {value} on {nodes}", key=key, value=value, nodes=count(nodes, "node"))
    return say("{where}, which the scheduler takes for a domain: remove it.", where=where)


def repeats(key: str, above: str, names: Sequence[str]) -> str:
    """Return that a level is left out as its values stand below several of the one above."""
    verb = "stands" if len(names) == 1 else "stand"
    return say(
        "{key} is left out: {some} {verb} below several values of {above}, and a name must be unique "
        "in its layer (prefix the values with those above them).",
        key=key,
        some=_some(names),
        verb=verb,
        above=above,
    )


def disagree(newest: str, key: str) -> str:
    """Return that a second key of a level groups the nodes otherwise."""
    return say(
        "{key} is left out: nodes that carry it and {newest} are grouped differently by them.", key=key, newest=newest
    )


def other_names(newest: str, key: str) -> str:
    """Return that a second key of a level has other names for the same domains."""
    return say(
        "{key} has other names than {newest} for the same domains: nodes that carry only one of them are set apart.",
        key=key,
        newest=newest,
    )


def not_nested(key: str) -> str:
    """Return that a level lies neither within nor around the others."""
    return say("{key} is left out: its domains lie neither within those of the other levels nor around them.", key=key)


def as_live() -> str:
    """Return the sentence for a live topology that equals the proposed one."""
    return say("ClusterNetworkTopology default unchanged.")


def layer_in_use(layer: str, gangs: Sequence[str]) -> str:
    """Return that gangs gather on a layer that would be gone."""
    verb = "gathers" if len(gangs) == 1 else "gather"
    return say(
        "there would be no layer {layer}, on which {some} {verb}.",
        layer=layer or say("(none)"),
        some=_some(gangs),
        verb=verb,
    )


def tree_notes(built: Tree | NoTree) -> tuple[str, ...]:
    """Return what the resulting tree is: its domains by layer, nodes outside, names that stand below several."""
    if isinstance(built, NoTree):
        return (say("There is no tree: {fault_clause}.", fault_clause=fault_clause(built.fault)),)
    numbers = Counter(domain.layer for domain in built.domains if domain.layer != ROOT_LAYER)
    sizes = [count(numbers[layer], "node" if layer == NODE_LAYER else layer_noun(layer)) for layer in built.layers]
    notes = [say("Resulting tree: {sizes}.", sizes=listed(sizes))]
    if built.outside:
        names = [one.node for one in built.outside]
        lacking = dict.fromkeys(key for one in built.outside for key in one.missing)
        notes.append(
            say("Outside the tree: {some}, without {lacking}.", some=_some(names), lacking=listed(tuple(lacking), "or"))
        )
    virtual = sum(1 for domain in built.domains if domain.virtual)
    if virtual:
        notes.append(say("{nodes} without a label of the lowest layer: a domain each.", nodes=count(virtual, "node")))
    notes += [
        say(
            "{layer} {name} stands below {parents}: one domain for the scheduler, below the first.",
            layer=one.layer,
            name=one.name,
            parents=listed(one.parents),
        )
        for one in built.merged
    ]
    return tuple(notes)


def unknown_nodes(names: Sequence[str]) -> str:
    """Return that a file names nodes that do not exist."""
    return say(
        "there is no node {some}: nothing is labelled while the file names nodes that do not exist",
        some=_some(names, "or"),
    )


def unknown_column(name: str, layers: Sequence[str]) -> str:
    """Return that a file names what is neither a layer nor a label key."""
    there = say(" ({layers})", layers=listed(layers)) if layers else ""
    return say("{name!r} is neither a layer of the topology{there} nor a label key", name=name, there=there)


def bad_label(node: str, key: str, value: str) -> str:
    """Return that no label can have such a value."""
    return say(
        "node {node}: {value!r} is no value of label {key}: up to 63 letters, digits, -, _ and .",
        node=node,
        value=value,
        key=key,
    )


def too_deep(levels: int, layers: Sequence[str]) -> str:
    """Return that a file has more levels of switches than the topology has layers."""
    there = listed(layers) if layers else say("none")
    return say(
        "the file has {levels} of switches, the topology fewer layers above the nodes: {there}",
        levels=count(levels, "level"),
        there=there,
    )


def nothing_named() -> str:
    """Return that a file names no labels."""
    return say("the file names no labels")


def labels_unchanged() -> str:
    """Return that all nodes have these labels already."""
    return say("All nodes have these labels already.")


def _some(names: Sequence[str], last: str = "and") -> str:
    if len(names) <= _FEW:
        return listed(tuple(names), last)
    return say("{names} and {number} more", names=say(", ").join(names[:_FEW]), number=len(names) - _FEW)


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

    Of all families of labels the one counts that most nodes have; each layer is proven from the data to lie within the
    one above it. Raises NothingTellsError when the nodes have no such labels.
    """
    counted = workers(snapshot.nodes)
    every = tuple(snapshot.nodes.values())
    family, levels = _best(counted)
    notes = [source(family.source, len(levels[0].values.keys() & {one.name for one in counted}), len(counted))]
    notes += [placeholder(key, value, number) for (key, value), number in placeholders(family, every).items()]
    whole = levels_of(family, every)
    chain = [level for level in whole if not level.is_accelerator]
    chain = list(_one_name(_in_order(chain, notes), every, notes))
    chain = list(_telling(chain, len(every), notes))
    for level in whole:
        if level.is_accelerator:
            _place(chain, level, notes)
    zone = next(_levels(((ZONE,),), every, are_accelerators=False), None)
    if family.source != GENERIC and zone and len(set(zone.values.values())) > 1:
        _add_zone(chain, zone, notes)
    chain = list(_dividing(chain, notes))
    if not chain:
        raise NothingTellsError(nothing_tells(candidates(counted)))
    return _proposal(snapshot, _layers(chain), notes)


def of_names(snapshot: Snapshot, named: Sequence[NamedLayer]) -> Proposal:
    """Return the topology of layers with these names and keys, each within the one before it.

    Raises NothingTellsError when no node has a key, or the domains of a layer lie not within those of the one before
    it.
    """
    nodes = tuple(snapshot.nodes.values())
    counted = workers(snapshot.nodes)
    levels = [level_of(one.keys, nodes) for one in named]
    for one, level in zip(named, levels, strict=True):
        if not level.values:
            raise NothingTellsError(no_such_key(one.name, one.keys, candidates(counted)))
    for (above, higher), (below, lower) in pairwise(zip(named, levels, strict=True)):
        if names := repeated(lower, higher):
            raise NothingTellsError(not_within(below.name, above.name, names))
    have = [sum(node.name in level.values for node in counted) for level in levels]
    notes = [layers_named(one.name, one.keys, number, len(counted)) for one, number in zip(named, have, strict=True)]
    return _proposal(snapshot, _chained([(one.name, one.keys) for one in named]), notes)


def filled(snapshot: Snapshot, live: Sequence[Layer], wanted: str) -> tuple[Layer, ...]:
    """Return layers of a topology, from the top, where those that no node has a label of name labels that nodes have.

    These divide the nodes and lie within each other; of several such chains that counts which has the most layers, then
    keys that sound like them. Nothing but the wanted layer must be there. Empty where no labels can be meant.
    """
    nodes = tuple(snapshot.nodes.values())
    own = {layer.name: level_of(layer.label_keys, nodes) for layer in live}
    named = {key for layer in live for key in layer.label_keys}
    found = [level_of((key,), nodes) for key in candidates(workers(snapshot.nodes)) if key not in named]
    choices: list[tuple[FamilyLevel | None, ...]] = []
    for layer in live[-_MOST_FILLED:]:
        meant = [own[layer.name]] if own[layer.name].values else found
        choices.append((*meant,) if layer.name == wanted else (*meant, None))
    best: tuple[tuple[int, int, int], tuple[Layer, ...]] = ((0, 0, 0), ())
    for chosen in product(*choices):
        chain = [(layer, level) for layer, level in zip(live[-_MOST_FILLED:], chosen, strict=True) if level is not None]
        if len({level.keys for _, level in chain}) < len(chain) or not all(
            nests(lower, higher) for (_, higher), (_, lower) in pairwise(chain)
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
    return Proposal(layers, (*notes, *tree_notes(built)))


def _dividing(chain: Sequence[FamilyLevel], notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels, without those of accelerators that have the same domains as the one above."""
    above: FamilyLevel | None = None
    for level in chain:
        if above is not None and level.is_accelerator and same_domains(level, above):
            notes.append(
                say("{keys} is left out: it has the same domains as {keys2}.", keys=level.keys[0], keys2=above.keys[0])
            )
        else:
            above = level
            yield level


def _best(nodes: Sequence[Node]) -> tuple[LabelFamily, tuple[FamilyLevel, ...]]:
    """Return the family that most nodes have a label of; of equals the first, and the generic one only alone."""
    *fabric, generic = families(nodes)
    found = [(family, levels_of(family, nodes)) for family in fabric]
    told = [(family, levels) for family, levels in found if levels]
    if told:
        return max(told, key=lambda one: len({node for level in one[1] for node in level.values}))
    levels = levels_of(generic, nodes)
    if not levels:
        raise NothingTellsError(no_labels(candidates(nodes)))
    return generic, levels


def _in_order(levels: list[FamilyLevel], notes: list[str]) -> list[FamilyLevel]:
    """Return the levels that lie within each other: in the usual order, else in the reverse, else as many as do."""
    for order in (levels, levels[::-1]):
        if all(nests(lower, higher) for higher, lower in pairwise(order)):
            if order is not levels:
                notes.append(
                    say("The levels lie within each other in the reverse of their usual order: taken as they lie.")
                )
            return order
    kept: list[FamilyLevel] = []
    for level in levels:
        names = repeated(level, kept[-1]) if kept else ()
        if names:
            notes.append(repeats(level.keys[0], kept[-1].keys[0], names))
        else:
            kept.append(level)
    return kept


def _one_name(levels: Sequence[FamilyLevel], nodes: Sequence[Node], notes: list[str]) -> Iterator[FamilyLevel]:
    """Yield the levels, without keys that contradict the newest."""
    for level in levels:
        wrong = disagreeing(level, nodes)
        notes += [disagree(level.keys[0], key) for key in wrong]
        notes += [other_names(level.keys[0], key) for key in renamed(level, nodes) if key not in wrong]
        yield structs.replace(level, keys=tuple(key for key in level.keys if key not in wrong))


def _telling(levels: Sequence[FamilyLevel], nodes: int, notes: list[str]) -> Iterator[FamilyLevel]:
    for level in levels:
        domains = set(level.values.values())
        if len(domains) == 1 and len(level.values) == nodes:
            notes.append(say("{keys} is left out: all nodes have the same value.", keys=level.keys[0]))
        elif len(domains) == len(level.values):
            notes.append(say("{keys} is left out: every node has a value of its own.", keys=level.keys[0]))
        else:
            yield level


def _place(chain: list[FamilyLevel], level: FamilyLevel, notes: list[str]) -> None:
    """Put a level of linked accelerators where it nests, the lowest place first, or leave it out and say so."""
    for at in range(len(chain), -1, -1):
        higher, lower = chain[at - 1 : at] if at else [], chain[at : at + 1]
        if all(nests(level, one) for one in higher) and all(nests(one, level) for one in lower):
            if at < len(chain):
                notes.append(
                    say(
                        "Domains of {keys} span several of {keys2}: placed above it.",
                        keys=level.keys[0],
                        keys2=chain[at].keys[0],
                    )
                )
            chain.insert(at, level)
            return
    notes.append(not_nested(level.keys[0]))


def _add_zone(chain: list[FamilyLevel], zone: FamilyLevel, notes: list[str]) -> None:
    if chain and nests(chain[0], zone):
        chain.insert(0, zone)
    elif chain:
        notes.append(not_nested(zone.keys[0]))


def _layers(chain: Sequence[FamilyLevel]) -> tuple[Layer, ...]:
    """Return the layers with the names that Koordinator's manual recommends, counted from the nodes up."""
    names: list[str] = []
    used = 0
    for level in reversed(chain):
        if level.is_accelerator:
            name = _ACCELERATOR if _ACCELERATOR not in names else f"{_ACCELERATOR}{len(names)}"
        elif level.keys == (ZONE,) and level is chain[0]:
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
