"""Names for completion out of files, or of the demo. They take much of the engine, which a live cluster does not."""

from kubectl_koord.cli.command_line import Globals
from kubectl_koord.cluster import stored
from kubectl_koord.engine import gangs
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.tree import NoTree, tree_of
from kubectl_koord.model.snapshot import Snapshot

_STDIN = "-"


def find(what: str, word: str, chosen: Globals, namespace: str) -> list[str]:
    """Return the names of a kind that a word may become; gangs and pods of the namespace without it."""
    snapshot = _snapshot(chosen)
    if what == "node":
        return list(snapshot.nodes)
    if what == "quota":
        return sorted(quota_tree(snapshot).quotas)
    if what == "domain":
        return _domains(snapshot, full="/" in word)
    if what == "layer":
        return [layer.name for topology in snapshot.topologies.values() for layer in topology.layers]
    if what == "pod":
        keys = [pod.key for there in snapshot.running.values() for pod in there]
    else:
        keys = list(snapshot.pod_groups if what == "podgroup" else gangs.all_gangs(snapshot))
    if what == "namespace":
        return sorted({key.partition("/")[0] for key in keys})
    return keys if "/" in word else [key.removeprefix(f"{namespace}/") for key in keys]


def _snapshot(chosen: Globals) -> Snapshot:
    if chosen.demo:
        return stored.demo("")
    return stored.from_files([name for name in chosen.snapshots if name != _STDIN], "")


def _domains(snapshot: Snapshot, *, full: bool) -> list[str]:
    """Return the domains between the cluster and the nodes, in full as `LAYER/NAME`."""
    tree = tree_of(snapshot)
    if isinstance(tree, NoTree):
        return []
    found = [tree.domains[index] for index in tree.inner if tree.domains[index].name]
    return [f"{one.layer}/{one.name}" if full else one.name for one in found]
