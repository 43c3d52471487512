"""The node labels by which providers tell where a node is in the network: which there are, and what they say."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kubectl_koord.model import accelerators
from kubectl_koord.model.objects import Node

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
    equipped = [node for node in usual if accelerators.of_node(dict(node.allocatable))]
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


def zone_of(nodes: Sequence[Node]) -> FamilyLevel | None:
    """Return the zones, None where there are none."""
    return next(_levels(((ZONE,),), nodes, are_accelerators=False), None)


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
