"""`kubectl koord gangs`: all gangs at once."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.flags import All, AllNamespaces, Limit, NoHeaders, Selector, SortBy, Watch
from kubectl_koord.cli.session import Listing

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # Every gang of the namespace, or of all namespaces
  kubectl koord gangs
  kubectl koord gangs -A
  # Also what changes, as it happens
  kubectl koord gangs -A -w
  # Those with pending pods
  kubectl koord gangs -A --pending
  # Those with a label, with every column, the most spread first
  kubectl koord gangs -A -l team=vision -o wide --sort-by=-.hops.mean
  # The same on the embedded demo cluster
  kubectl koord gangs --demo
"""


def command(
    context: typer.Context,
    every: AllNamespaces = False,
    pending: Annotated[bool, typer.Option("--pending", help="List only gangs with pending pods.")] = False,
    selector: Selector = "",
    sort_by: SortBy = "",
    limit: Limit = None,
    no_headers: NoHeaders = False,
    watch: Watch = False,
    everything: All = False,
) -> None:
    """List gangs: what is wanted, bound and pending of each, whether it can start, and how far it is spread."""
    from kubectl_koord.cli.follow import follow_report
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.every_pending import gangs

    session: Session = context.obj
    session.everything = everything
    session.listing = Listing(sort_by, limit, no_headers)
    wanted = parsed(selector)
    read = (*kinds.GANG_KINDS, *kinds.ELSEWHERE_KINDS)
    ask = partial(gangs, selector=wanted, only_pending=pending)
    if watch:
        follow_report(session, read, lambda snapshot: session.listed(snapshot, ask, every=every))
    else:
        session.show(session.listed(session.snapshot(read), ask, every=every))
