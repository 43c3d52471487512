"""`kubectl koord quota`: the elastic quotas."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import QUOTA, check_several, name_given, without_types
from kubectl_koord.cli.flags import All, Resource, Watch
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.capacity import QuotaTreeReport

EXAMPLES = """\b
Examples:
  # All quotas: what each may use and uses, who lends, what is held back
  kubectl koord quota
  # One of them, with those above it and its pods
  kubectl koord quota team-a
  # Two of them, one after the other
  kubectl koord quota team-a team-b
  # How many pods of gang job its quotas admit
  kubectl koord quota --for job
  # Another resource than GPU (or CPU)
  kubectl koord quota --resource memory
  # Those of one namespace and its pods
  kubectl koord quota -n team-a
"""


def command(
    context: typer.Context,
    name: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of quotas; their namespace does not count.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Show the quotas of all namespaces (default without -n).")
    ] = False,
    gang: Annotated[
        str | None, typer.Option("--for", metavar="GANG", help="Show how many pods of this gang quotas admit.")
    ] = None,
    resource: Resource = None,
    watch: Watch = False,
    everything: All = False,
) -> None:
    """Show elastic quotas: min, max, used, request and runtime, who lends, what is held back, what is wrong."""
    from kubectl_koord.cli.follow import follow_report
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain import quota

    session: Session = context.obj
    session.everything = everything
    asked, wanted, counted = without_types(name or (), QUOTA), name_given(gang), name_given(resource)
    check_several(session.options, asked, alone=watch)
    if asked and every:
        raise KoordError(say("error: a resource cannot be retrieved by name across all namespaces"))
    if asked and wanted:
        raise KoordError(say("error: name a quota or give --for, not both"))
    namespace = "" if every or asked or wanted else session.connection.namespace or ""

    def ask(snapshot: "Snapshot", one: str) -> "QuotaTreeReport":
        if one and one not in quota.names(snapshot):
            session.unknown_name(snapshot, "quota-names", say("quota"), one, quota.names(snapshot))
        subject = session.subject(snapshot, wanted) if wanted else None
        found = quota.counted_as(snapshot, counted) if counted else ""
        if counted and not found:
            session.unknown_name(snapshot, "quota-names", say("resource"), counted, quota.resource_names(snapshot))
        return quota.quotas(snapshot, one, namespace=namespace, resource=found, subject=subject)

    names = asked or ("",)
    if watch:
        follow_report(session, kinds.GANG_KINDS, partial(ask, one=names[0]))
    else:
        snapshot = session.snapshot(kinds.GANG_KINDS)
        session.show_each([ask(snapshot, one) for one in names])
