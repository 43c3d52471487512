"""`kubectl koord why-pending`: the one root cause, with its evidence and what helps."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import check_several, several_names
from kubectl_koord.cli.flags import GANG_HELP, All, AllNamespaces, Limit, NoHeaders, Selector, SortBy, Watch
from kubectl_koord.cli.session import WHOLE, Listing
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.around import Around
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.jobs import PendingGangsReport, WhyReport

EXAMPLES = """\b
Examples:
  # All pending gangs of the namespace, or of all namespaces
  kubectl koord why-pending
  kubectl koord why-pending -A
  # Those with a label, the one that has waited longest first
  kubectl koord why-pending -A -l team=vision --sort-by .waitingSince
  # Why gang job is pending, and what to do next
  kubectl koord why-pending job
  # Two of them, one after the other
  kubectl koord why-pending job other
  # The same by the name of a pod or of an owner
  kubectl koord why-pending pod/job-0
  kubectl koord why-pending pytorchjob/x
  # Also why each node does not fit, or the scheduler's own messages
  kubectl koord why-pending job --nodes
  kubectl koord why-pending job --raw
  # As a page to hand on
  kubectl koord why-pending job -o html > job.html
  # Also every change, as it happens
  kubectl koord why-pending job -w
  # Why a job does not run, whichever layer holds it
  kubectl koord why-pending jobset/llm
  # Wait until its pods run and are ready
  kubectl koord why-pending jobset/llm --until running
  # Wait; exit code 0 scheduled, 1 timed out, 2 failed
  kubectl koord why-pending job --until scheduled --timeout 30m
"""


def command(
    context: typer.Context,
    name: Annotated[list[str] | None, typer.Argument(metavar="[GANG]...", help=GANG_HELP)] = None,
    every: AllNamespaces = False,
    watch: Watch = False,
    until: Annotated[
        str,
        typer.Option("--until", metavar="GOAL", help="Wait until it is scheduled, or running; then exit with 0."),
    ] = "",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="30m", help="Stop waiting, and exit with 1 (default: no limit).")
    ] = "",
    nodes: Annotated[bool, typer.Option("--nodes", help="Also show why no more pods fit on each node.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Also show the scheduler's own messages, unchanged.")] = False,
    selector: Selector = "",
    causes: Annotated[
        list[str] | None, typer.Option("--cause", metavar="CODE", help="List gangs with this cause; may be repeated.")
    ] = None,
    sort_by: SortBy = "",
    limit: Limit = None,
    no_headers: NoHeaders = False,
    everything: All = False,
) -> None:
    """Show why a gang is pending: slots per domain, what blocks it, and what to do next."""
    from kubectl_koord.cli import follow
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.explain.every_pending import every_pending

    session: Session = context.obj
    session.everything = everything
    session.listing = Listing(sort_by, limit, no_headers)
    asked = several_names(name)
    gang = ", ".join(asked)
    if gang and every:
        raise KoordError(say("error: a resource cannot be retrieved by name across all namespaces"))
    if gang and (selector or causes or session.listing != WHOLE):
        raise KoordError(
            say("error: -l, --cause, --sort-by, --limit and --no-headers are for the list, without a GANG")
        )
    ask = partial(every_pending, selector=parsed(selector), causes=_known(causes or ()))
    options = follow.follow_options(session, gang, watch=watch, until=until, timeout=timeout)
    if (raw or nodes) and (not gang or options is not None):
        flag = "--raw" if raw else "--nodes"
        raise KoordError(say("error: {flag} needs a GANG, and cannot be used with --watch or --until", flag=flag))
    check_several(session.options, asked, alone=options is not None)
    if options is not None and gang:
        follow.follow_gang(session, gang, options)
    elif options is not None:
        home = "" if every else session.namespace()
        follow.follow_listing(session, home, partial(ask, namespace=home))
    elif gang:
        _show(session, asked, nodes=nodes, raw=raw)
    else:
        _show_all(session, ask, every=every)


def _show(session: "Session", gangs: "Sequence[str]", *, nodes: bool, raw: bool) -> None:
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.around import Around

    around = Around()
    wanted = (*kinds.DISRUPTION_KINDS, *kinds.ELSEWHERE_KINDS)
    snapshot = session.snapshot(wanted, later=(kinds.EVENT.name,), around=around)
    reports = [_report(session, snapshot, around, gang, nodes=nodes, raw=raw) for gang in gangs]
    session.show_each(reports)


def _report(
    session: "Session", snapshot: "Snapshot", around: "Around", gang: str, *, nodes: bool, raw: bool
) -> "WhyReport":
    from kubectl_koord.cli.follow import EventsAround, of_volcano, with_job
    from kubectl_koord.diagnosis.scheduler_says import with_texts
    from kubectl_koord.explain import volcano
    from kubectl_koord.explain.way import way
    from kubectl_koord.explain.why import with_nodes

    if theirs := of_volcano(session, snapshot, gang):
        return volcano.why(snapshot, theirs)
    snapshot, subject = with_job(session, snapshot, around, gang)
    snapshot = EventsAround(session).added(snapshot, subject)
    with session.looking_for_ways_out():
        report = way(snapshot, subject)
    if subject is None:
        return report
    report = with_nodes(report, snapshot, subject) if nodes else report
    return with_texts(report, subject.pending) if raw else report


def _show_all(session: "Session", ask: "partial[PendingGangsReport]", *, every: bool) -> None:
    from kubectl_koord.cli.follow import with_jobs
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.around import Around

    around = Around(with_pods=False)
    wanted = (*kinds.GANG_KINDS, *kinds.ELSEWHERE_KINDS)
    snapshot = session.snapshot(wanted, later=(kinds.EVENT.name,), around=around)
    snapshot = with_jobs(session, snapshot, around, every=every)
    session.show(session.listed(snapshot, ask, every=every))


def _known(causes: "Sequence[str]") -> tuple[str, ...]:
    """Return the codes; `no` in place of one is a mistake that would show an empty list.

    Raises KoordError for a code that no cause has.
    """
    from kubectl_koord.reports.common import CAUSES
    from kubectl_koord.wording.suggestions import near

    for code in causes:
        if code not in CAUSES:
            meant = ", ".join(near(code, CAUSES))
            raise KoordError(
                say(
                    "error: no cause {code!r}{meant}; see 'kubectl koord explain'",
                    code=code,
                    meant=meant and say(", did you mean {meant}?", meant=meant),
                )
            )
    return tuple(causes)
