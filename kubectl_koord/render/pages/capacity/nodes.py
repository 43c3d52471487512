"""Which pods go to which node, as a table."""

from collections.abc import Iterator, Mapping

from kubectl_koord.render.document import Block, Column, Row, Table
from kubectl_koord.render.lines import more_line
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.wording.pages.common import more_pods
from kubectl_koord.wording.words import name_within


def by_node(places: Mapping[str, str], gang: str, shown: Shown, header: str = "PODS") -> Iterator[Block]:
    """Return a row per node with its pods.

    Args:
        places: node by `namespace/name` of the pod.
        gang: its namespace is left out of the names of its pods.
        shown: how many nodes.
        header: what the pods are.

    """
    pods: dict[str, list[str]] = {}
    for pod, node in sorted(places.items()):
        pods.setdefault(node, []).append(name_within(gang, pod))
    nodes, rest = parted(sorted(pods), shown.rows)
    rows = tuple(Row((node, ", ".join(pods[node]))) for node in nodes)
    yield Table((Column("NODE"), Column(header, flow="wrap")), rows)
    if rest:
        yield more_line(more_pods(sum(len(pods[node]) for node in rest), len(rest)))
