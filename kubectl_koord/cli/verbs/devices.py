"""`kubectl koord devices`: the single devices of nodes."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import NODE, name_given, without_types
from kubectl_koord.cli.flags import All, Limit, NoHeaders, SortBy
from kubectl_koord.cli.session import Listing
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # What is free of GPUs, RDMA cards and FPGAs, a sign for each
  kubectl koord devices
  # Each card, with its memory and place
  kubectl koord devices -o wide
  # Those of one node
  kubectl koord devices node-1
  # Those of the nodes below one domain of the topology
  kubectl koord devices --domain block-0
  # The same on the embedded demo cluster
  kubectl koord devices --demo
"""


def command(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(metavar="[NODE]...", help="Names of nodes.")] = None,
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="NAME", help="Show only nodes below this topology domain.")
    ] = None,
    sort_by: SortBy = "",
    limit: Limit = None,
    no_headers: NoHeaders = False,
    everything: All = False,
) -> None:
    """Show the devices of nodes: what is free of each, who has the rest, where it sits, and how many pods fit."""
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.devices import devices, domain_names

    session: Session = context.obj
    session.everything = everything
    session.listing = Listing(sort_by, limit, no_headers)
    names = without_types(nodes or (), NODE)
    within = name_given(domain)
    if names and within:
        raise KoordError(say("error: name nodes or give --domain, not both"))
    snapshot = session.snapshot(kinds.DEVICE_KINDS)
    unknown = next((name for name in names if name not in snapshot.nodes), "")
    if unknown:
        session.unknown_name(snapshot, "nodes", say("node"), unknown, snapshot.nodes)
    if within and within not in domain_names(snapshot):
        session.unknown_name(snapshot, "tree", say("domain"), within, domain_names(snapshot))
    session.show(devices(snapshot, names, within))
