"""`kubectl koord why-pending`: the one root cause, with its evidence and what helps."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.options import ALL_HELP, GANG_HELP
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  kubectl koord why-pending              every pending gang of the namespace, one line each
  kubectl koord why-pending -A           of all namespaces
  kubectl koord why-pending job          why gang job is pending, and what helps
  kubectl koord why-pending pod/job-0    by the name of a pod; pytorchjob/x by an owner
  kubectl koord why-pending job --nodes  and why each node is out
  kubectl koord why-pending job -w       and every change, as it happens
  kubectl koord why-pending job --until scheduled --timeout 30m
                                         wait: 0 scheduled, 1 not within the time, 2 failure
  kubectl koord why-pending job --raw    with the scheduler's own texts, untouched
"""


def command(
    context: typer.Context,
    gang: Annotated[str, typer.Argument(metavar="[GANG]", help=GANG_HELP)] = "",
    every: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List gangs of all namespaces.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on, and print what changes.")] = False,
    until: Annotated[
        str,
        typer.Option("--until", metavar="scheduled", help="Wait until the gang has its pods on nodes: exit code 0."),
    ] = "",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="30m", help="Wait no longer (default: for ever): exit code 1.")
    ] = "",
    nodes: Annotated[bool, typer.Option("--nodes", help="Add why each node takes no more of its pods.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Add what the scheduler wrote on the pods, untouched.")] = False,
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """Say why a gang is pending: slots per domain, what is in the way, and what helps."""
    from kubectl_koord.cli import follow
    from kubectl_koord.cluster import source
    from kubectl_koord.explain.said import with_texts
    from kubectl_koord.explain.why import every_pending, why, with_nodes

    session: Session = context.obj
    session.everything = everything
    if gang and every:
        raise KoordError("error: a resource cannot be retrieved by name across all namespaces")
    wish = follow.take_wish(session, gang, watch=watch, until=until, timeout=timeout)
    if (raw or nodes) and (not gang or wish is not None):
        flag = "--raw" if raw else "--nodes"
        raise KoordError(f"error: {flag} needs the name of a gang, and neither --watch nor --until")
    if wish is not None and gang:
        follow.follow_gang(session, gang, wish)
        return
    if wish is not None:
        follow.follow_listing(session, "" if every else session.namespace())
        return
    snapshot = session.snapshot(source.GANG_KINDS)
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
        session.show(every_pending(snapshot, wanted))
