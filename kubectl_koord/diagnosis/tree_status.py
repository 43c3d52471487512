"""Whether the status of the ClusterNetworkTopology tells what the tree is now."""

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
    """Compare the tree with what the scheduler last wrote into the status; None where it agrees or wrote nothing."""
    written = snapshot.topologies[DEFAULT_NAME].status
    if written is None:
        return None
    then = {(domain.layer, domain.name): domain.nodes for domain in written}
    now = {(domain.layer, domain.name): domain.nodes for domain in tree.domains if domain.layer != NODE_LAYER}
    differing = sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))
    if not differing:
        return None
    first = differing[0]
    return StaleStatus(sentences.stale_status(len(differing), first, then.get(first, 0), now.get(first, 0)))
