"""`kubectl koord node`, also called `domain`: what there is to know of one node, or of one domain of the topology."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import NODE, check_several, without_types
from kubectl_koord.cli.flags import All
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.reports.capacity import DomainReport, NodeReport

EXAMPLES = """\b
Examples:
  # What runs on a node, what is free, who could use it, what a drain would do
  kubectl koord node node-1
  # Two of them, one after the other
  kubectl koord node node-1 node-2
  # The same of a domain of the topology
  kubectl koord node spine-1
  # One of several domains of that name
  kubectl koord node BlockLayer/block-0
  # The same on the embedded demo cluster
  kubectl koord node block-2 --demo
"""


def command(
    context: typer.Context,
    name: Annotated[
        list[str], typer.Argument(metavar="[LAYER/]NAME...", help="Nodes, or domains of the topology tree.")
    ],
    everything: All = False,
) -> None:
    """Show what runs on a node or in a domain, what is free, which gangs could use it, and what a drain would do.

    Where a node and a domain have one name, `node` shows the node and `domain` the domain.
    """
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine.tree import NoTree, tree_of
    from kubectl_koord.explain.place import domain_report, domains_named, full_name, full_names, node_report

    session: Session = context.obj
    session.everything = everything
    asked = without_types(name, NODE)
    check_several(session.options, asked, alone=False)
    snapshot = session.snapshot((*kinds.DISRUPTION_KINDS, *kinds.MIGRATION_KINDS))
    tree = tree_of(snapshot)
    wants_domain = context.info_name == "domain"

    def report(one: str) -> "NodeReport | DomainReport":
        found = domains_named(tree, one)
        if wants_domain and not found:
            session.require(snapshot, "tree")
        if one in snapshot.nodes and not (wants_domain and found):
            return node_report(snapshot, one)
        if isinstance(tree, NoTree) or not found:
            if wants_domain:
                session.unknown_name(snapshot, "tree", say("domain"), one, full_names(tree))
            session.unknown_name(snapshot, "nodes", say("node"), one, (*snapshot.nodes, *full_names(tree)))
        session.require(snapshot, "tree")
        if len(found) > 1:
            choices = ", ".join(full_name(tree, index) for index in found)
            raise KoordError(say("error: several domains are named {one!r}: {choices}", one=one, choices=choices))
        return domain_report(snapshot, tree, found[0])

    session.show_each([report(one) for one in asked])
