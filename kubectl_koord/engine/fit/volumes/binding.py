"""Where a pod's claims can be bound: the volumes that a node can reach, and those that could be made for it.

Mirrors `FindPodVolumes` in plugins/volumebinding/binder.go.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from kubectl_koord.engine.fit.node_affinity import term_matches
from kubectl_koord.engine.reasons.nodes import (
    NotEnoughStorage,
    NoVolumeToBind,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.storage import Claim, Storage, Volume
from kubectl_koord.model.values.selectors import NodeTerm, Requirement, holds, matches

NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NAMELESS = Node("", ())


def reaches(terms: tuple[NodeTerm, ...] | None, node: Node) -> bool:
    """Tell whether a volume with this node affinity can be reached from a node, which its labels alone tell."""
    labels = dict(node.labels)
    return terms is None or any(term_matches(term, _NAMELESS, labels) for term in terms)


def bindings(
    claims: Iterable[Claim], storage: Storage, taken: Collection[str], node: Node
) -> Mapping[str, str] | NoVolumeToBind | NotEnoughStorage:
    """Return the volume that each unbound claim gets on a node (empty for one to be made), or why one gets none.

    The smallest claim chooses first, and takes the smallest volume that does; each serves one claim.
    """
    found: dict[str, str] = {}
    to_make: list[Claim] = []
    for claim in sorted(claims, key=lambda claim: claim.request.size):
        used = {*taken, *found.values()}
        volume = None if claim.selected else _smallest(claim, storage.volumes, used, node)
        if volume is None:
            to_make.append(claim)
        else:
            found[claim.name] = volume.name
    for claim in to_make:
        refused = _cannot_make(claim, storage, node)
        if refused is not None:
            return refused
        found[claim.name] = ""
    return found


def labels_read(claims: Iterable[Claim], storage: Storage) -> Iterator[str]:
    """Yield the labels of a node that decide whether unbound claims are bound there."""
    for claim in claims:
        kind = storage.classes[claim.class_name]
        of_class = (one.terms for one in storage.volumes if one.class_name == kind.name)
        yield from keys_of(term.labels for terms in of_class for term in terms or ())
        yield from keys_of(kind.topologies)
        segments = (one.nodes for one in storage.capacities if one.class_name == kind.name)
        yield from keys_of(one.requirements for one in segments if one is not None)


def keys_of(several: Iterable[Iterable[Requirement]]) -> Iterator[str]:
    """Yield the labels that requirements are about."""
    return (one.key for requirements in several for one in requirements)


def _smallest(claim: Claim, volumes: Iterable[Volume], used: Collection[str], node: Node) -> Volume | None:
    """Return the smallest volume that does (`FindMatchingVolume`).

    One that is promised to the claim goes first, whatever else the claim asks for, and no other where the node cannot
    reach it.
    """
    large = [one for one in volumes if one.name not in used and _is_large_enough(one, claim)]
    promised = next((one for one in large if _is_promised(one, claim)), None)
    if promised is not None:
        return promised if reaches(promised.terms, node) else None
    return next((one for one in large if _serves(one, claim) and reaches(one.terms, node)), None)


def _is_promised(volume: Volume, claim: Claim) -> bool:
    """Tell whether a volume is promised to a claim (`IsVolumeBoundToClaim`), by its name where it has no uid."""
    return volume.promised == claim.name and (not claim.uid or volume.promised_uid in {"", claim.uid})


def _is_large_enough(volume: Volume, claim: Claim) -> bool:
    wanted = claim.request
    return volume.class_name == claim.class_name and volume.size >= wanted.size and volume.is_block == wanted.is_block


def _serves(volume: Volume, claim: Claim) -> bool:
    wanted = claim.request
    return (
        not volume.promised
        and set(wanted.modes) <= set(volume.modes)
        and (wanted.selector is None or matches(wanted.selector, dict(volume.labels)))
    )


def _cannot_make(claim: Claim, storage: Storage, node: Node) -> NoVolumeToBind | NotEnoughStorage | None:
    """Return why no volume can be made for the claim on a node (`checkVolumeProvisions`)."""
    kind = storage.classes[claim.class_name]
    labels = dict(node.labels)
    is_allowed = not kind.topologies or any(
        allowed and all(holds(one, labels) for one in allowed) for allowed in kind.topologies
    )
    if kind.provisioner in {"", NO_PROVISIONER} or not is_allowed or claim.selected not in {"", node.name}:
        return NoVolumeToBind(claim.name)
    if kind.provisioner not in storage.tracked:
        return None
    room = (
        one.largest is not None and one.largest >= claim.request.size
        for one in storage.capacities
        if one.class_name == kind.name and one.nodes is not None and matches(one.nodes, labels)
    )
    return None if any(room) else NotEnoughStorage(claim.name, claim.request.size)
