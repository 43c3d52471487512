"""`kubectl koord why-pending`: the one root cause, with its evidence and what helps."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.options import ALL_HELP, GANG_HELP, name_given
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  # All pending gangs of the namespace, or of all namespaces
  kubectl koord why-pending
  kubectl koord why-pending -A
  # Why gang job is pending, and what to do next
  kubectl koord why-pending job
  # The same by the name of a pod or of an owner
  kubectl koord why-pending pod/job-0
  kubectl koord why-pending pytorchjob/x
  # Also why each node does not fit, or the scheduler's own messages
  kubectl koord why-pending job --nodes
  kubectl koord why-pending job --raw
  # Also every change, as it happens
  kubectl koord why-pending job -w
  # Wait; exit code 0 scheduled, 1 timed out, 2 failed
  kubectl koord why-pending job --until scheduled --timeout 30m
"""


def command(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[GANG]", help=GANG_HELP)] = None,
    every: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List gangs of all namespaces.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep running and print changes.")] = False,
    until: Annotated[
        str,
        typer.Option("--until", metavar="scheduled", help="Wait until the gang is scheduled, then exit with 0."),
    ] = "",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="30m", help="Stop waiting, and exit with 1 (default: no limit).")
    ] = "",
    nodes: Annotated[bool, typer.Option("--nodes", help="Also show why no more pods fit on each node.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Also show the scheduler's own messages, unchanged.")] = False,
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """Show why a gang is pending: slots per domain, what blocks it, and what to do next."""
    from kubectl_koord.cli import follow
    from kubectl_koord.cluster import kinds, source
    from kubectl_koord.diagnosis.scheduler_says import with_texts
    from kubectl_koord.explain.why import every_pending, why, with_nodes

    session: Session = context.obj
    session.everything = everything
    gang = name_given(name)
    if gang and every:
        raise KoordError("error: a resource cannot be retrieved by name across all namespaces")
    options = follow.follow_options(session, gang, watch=watch, until=until, timeout=timeout)
    if (raw or nodes) and (not gang or options is not None):
        flag = "--raw" if raw else "--nodes"
        raise KoordError(f"error: {flag} needs a GANG, and cannot be used with --watch or --until")
    if options is not None and gang:
        follow.follow_gang(session, gang, options)
        return
    if options is not None:
        follow.follow_listing(session, "" if every else session.namespace())
        return
    snapshot = session.snapshot(kinds.DISRUPTION_KINDS if gang else kinds.GANG_KINDS)
    if gang:
        subject = session.subject(snapshot, gang)
        if session.options.is_live and subject.pending:
            homes = {pod.namespace for pod in subject.pending}
            snapshot = source.with_events(snapshot, session.live_transport(), homes, "FailedScheduling")
        report = why(snapshot, subject)
        report = with_nodes(report, snapshot, subject) if nodes else report
        session.show(with_texts(report, subject.pending) if raw else report)
    else:
        wanted = (
            "" if every or (snapshot.source != "cluster" and not session.connection.namespace) else session.namespace()
        )
        listing = every_pending(snapshot, wanted)
        if wanted and not listing.items and (nowhere := session.no_namespace(snapshot, wanted)):
            raise nowhere
        session.show(listing)
