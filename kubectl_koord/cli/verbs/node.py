"""`kubectl koord node`: what there is to know of one node."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import NODE, without_type
from kubectl_koord.cli.flags import All

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # What runs on a node, what is free, who could use it, what a drain would do
  kubectl koord node node-1
  # The same on the embedded demo cluster
  kubectl koord node node-7 --demo
"""


def command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a node.")],
    everything: All = False,
) -> None:
    """Show what runs on a node, what is free, which pending gangs could use it, and what a drain would do."""
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.place import node_report

    session: Session = context.obj
    session.everything = everything
    asked = without_type(name, NODE)
    snapshot = session.snapshot((*kinds.DISRUPTION_KINDS, *kinds.MIGRATION_KINDS))
    if asked not in snapshot.nodes:
        session.unknown_name(snapshot, "nodes", "node", asked, snapshot.nodes)
    session.show(node_report(snapshot, asked))
