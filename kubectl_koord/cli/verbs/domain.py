"""`kubectl koord domain`: what there is to know of one domain of the topology."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import name_given
from kubectl_koord.cli.flags import All
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # What runs in a domain, what is free, who could use it, what a drain would do
  kubectl koord domain spine-1
  # One of several domains of that name
  kubectl koord domain BlockLayer/block-0
  # The same on the embedded demo cluster
  kubectl koord domain block-2 --demo
"""


def command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[LAYER/]NAME", help="A domain of the topology tree.")],
    everything: All = False,
) -> None:
    """Show what runs in a domain, what is free, which pending gangs could use it, and what a drain would do."""
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine.tree import NoTree, tree_of
    from kubectl_koord.explain.place import domain_report, domains_named, full_name, full_names

    session: Session = context.obj
    session.everything = everything
    asked = name_given(name)
    snapshot = session.snapshot((*kinds.DISRUPTION_KINDS, *kinds.MIGRATION_KINDS))
    tree = tree_of(snapshot)
    found = domains_named(tree, asked)
    if isinstance(tree, NoTree) or not found:
        session.unknown_name(snapshot, "tree", "domain", asked, full_names(tree))
    session.require(snapshot, "tree")
    if len(found) > 1:
        choices = ", ".join(full_name(tree, index) for index in found)
        raise KoordError(f"error: several domains are named {asked!r}: {choices}")
    session.show(domain_report(snapshot, tree, found[0]))
