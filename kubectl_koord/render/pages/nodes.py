"""Which pods go to which node, as a table."""

from collections.abc import Iterator, Mapping

from kubectl_koord.explain.words import count
from kubectl_koord.render.document import Block, Column, Line, Row, Table
from kubectl_koord.render.words import local, some

_MOST_ROWS = 15
_MOST_PODS = 6


def by_node(places: Mapping[str, str], gang: str, header: str = "PODS") -> Iterator[Block]:
    """Return a row per node with its pods, folded where there are many.

    Args:
        places: node by `namespace/name` of the pod.
        gang: whose namespace goes without saying.
        header: what the pods are.

    """
    pods: dict[str, list[str]] = {}
    for pod, node in sorted(places.items()):
        pods.setdefault(node, []).append(local(pod, gang))
    nodes = sorted(pods)
    shown = nodes if len(nodes) <= _MOST_ROWS + 1 else nodes[:_MOST_ROWS]
    rows = tuple(Row((node, some(pods[node], _MOST_PODS))) for node in shown)
    yield Table((Column("NODE"), Column(header, flow="wrap")), rows)
    rest = nodes[len(shown) :]
    if rest:
        more = count(sum(len(pods[node]) for node in rest), "pod")
        yield Line(f"and {more} on {len(rest)} more nodes", "dim", indent=2)
