"""Nodes that are not ready, where the scheduler places pods all the same."""

from collections.abc import Iterable, Iterator

from kubectl_koord.model.objects import Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Notice
from kubectl_koord.simulation.edits import NOT_READY
from kubectl_koord.wording.answers.topology import places_on_not_ready

_HARD = {"NoSchedule", "NoExecute"}


def where_placed(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Notice]:
    """Yield which of the nodes that pods are planned on are not ready."""
    yield from _notices(name for name in sorted({*names}) if not snapshot.nodes[name].ready)


def where_open(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Notice]:
    """Yield which of these nodes are not ready, and neither cordoned nor tainted for it: nothing keeps pods away."""
    yield from _notices(name for name in sorted({*names}) if _is_open(snapshot.nodes[name]))


def _is_open(node: Node) -> bool:
    is_tainted = any(taint.key in NOT_READY and taint.effect in _HARD for taint in node.taints)
    return not (node.ready or node.unschedulable or is_tainted)


def _notices(names: Iterable[str]) -> Iterator[Notice]:
    found = tuple(names)
    if found:
        yield Notice("not-ready-nodes", places_on_not_ready(found))
