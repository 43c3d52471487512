"""Whether the status of the ClusterNetworkTopology tells what the tree is now."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, Tree
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.answers import topology as sentences


class StaleStatus(Struct, frozen=True):
    """The status differs from the tree, in what the message says."""

    message: str
    code: Literal["stale-status"] = "stale-status"


def stale_status(snapshot: Snapshot, tree: Tree) -> StaleStatus | None:
    """Compare the tree with what the scheduler last wrote into the status; None where it agrees or wrote nothing.

    How many nodes are below the parents of a merged domain is not compared: it may be below any of them.
    """
    written = snapshot.topologies[DEFAULT_NAME].status
    if written is None:
        return None
    then = {(domain.layer, domain.name): domain.nodes for domain in written}
    now = {(domain.layer, domain.name): domain.nodes for domain in tree.domains if domain.layer != NODE_LAYER}
    is_open = frozenset(_above_merged(tree)) & then.keys()
    differing = sorted(key for key in (then.keys() | now.keys()) - is_open if then.get(key) != now.get(key))
    if not differing:
        return None
    first = differing[0]
    return StaleStatus(sentences.stale_status(len(differing), first, then.get(first, 0), now.get(first, 0)))


def _above_merged(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the layers and names of the domains that a merged domain may be below, but for the root."""
    places = {(domain.layer, domain.name): index for index, domain in enumerate(tree.domains)}
    for one in tree.merged:
        above = tree.layers[tree.layers.index(one.layer) - 1]
        for parent in one.parents:
            for index in tree.ancestors(places[above, parent]):
                if index:
                    yield tree.domains[index].layer, tree.domains[index].name
