"""Which pods go to which node, as a table."""

from collections.abc import Iterator, Mapping

from kubectl_koord.render.document import Block, Column, Line, Row, Table
from kubectl_koord.render.shown import Shown, and_more, parted
from kubectl_koord.render.words import local
from kubectl_koord.wording.words import count


def by_node(places: Mapping[str, str], gang: str, shown: Shown, header: str = "PODS") -> Iterator[Block]:
    """Return a row per node with its pods.

    Args:
        places: node by `namespace/name` of the pod.
        gang: whose namespace goes without saying.
        shown: how many nodes.
        header: what the pods are.

    """
    pods: dict[str, list[str]] = {}
    for pod, node in sorted(places.items()):
        pods.setdefault(node, []).append(local(pod, gang))
    nodes, rest = parted(sorted(pods), shown.rows)
    rows = tuple(Row((node, ", ".join(pods[node]))) for node in nodes)
    yield Table((Column("NODE"), Column(header, flow="wrap")), rows)
    if rest:
        more = count(sum(len(pods[node]) for node in rest), "pod")
        yield Line(and_more(f"{more} on {len(rest)} more nodes"), "dim", indent=2)
