"""`kubectl koord preempt`: which pods the scheduler would preempt, and whether it helps."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.command_line import check_several, several_names
from kubectl_koord.cli.flags import GANG_HELP, All, Watch
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubectl_koord.cli.session import Session
    from kubectl_koord.reports.jobs import PreemptReport, Round, Victim

EXAMPLES = """\b
Examples:
  # Which pods the scheduler would preempt for gang job
  kubectl koord preempt job
  # Also ask the API server about each eviction
  kubectl koord preempt job --dry-run=server
"""


def command(
    context: typer.Context,
    gang: Annotated[list[str], typer.Argument(metavar="GANG...", help=GANG_HELP)],
    dry_run: Annotated[
        str,
        typer.Option(
            "--dry-run", metavar="[client|server]", help="server: also ask the API server; nothing is ever changed."
        ),
    ] = "client",
    watch: Watch = False,
    everything: All = False,
) -> None:
    """Show which pods job preemption would preempt for a gang, attempt by attempt, and whether it helps."""
    from kubectl_koord.cli.follow import follow_report
    from kubectl_koord.cluster import kinds
    from kubectl_koord.explain.preempt import preempt

    session: Session = context.obj
    names = several_names(gang)
    check_several(session.options, names, alone=watch)
    session.everything = everything
    if dry_run not in {"client", "server"}:
        why = say("this command only shows what the scheduler would preempt")
        raise KoordError(
            say("error: --dry-run={dry_run} is not one of client, server: {why}", dry_run=dry_run, why=why)
        )
    if dry_run == "server" and not session.options.is_live:
        raise KoordError(say("error: --dry-run=server needs a live cluster"))
    if watch and dry_run == "server":
        raise KoordError(say("error: --dry-run=server asks once: it cannot be used with --watch"))
    if watch:
        (name,) = names
        follow_report(session, kinds.DISRUPTION_KINDS, lambda seen: preempt(seen, session.subject(seen, name)))
        return
    snapshot = session.snapshot(kinds.DISRUPTION_KINDS)
    reports = [preempt(snapshot, session.subject(snapshot, name)) for name in names]
    reports = [_asked_of_server(session, report) for report in reports] if dry_run == "server" else reports
    session.show_each(reports)


def _asked_of_server(session: "Session", report: "PreemptReport") -> "PreemptReport":
    """Return the report with the API server's word on evicting each victim; nothing is evicted."""
    from msgspec import structs

    from kubectl_koord.cluster.apply import evict_dry_run

    def asked(victim: "Victim") -> "Victim":
        namespace, _, name = victim.pod.partition("/")
        answer = evict_dry_run(session.live_transport(), namespace, name)
        return structs.replace(victim, eviction=answer.message or answer.verdict)

    def each_asked(rounds: "Iterable[Round]") -> "tuple[Round, ...]":
        return tuple(structs.replace(one, victims=tuple(map(asked, one.victims))) for one in rounds)

    rounds, may_follow = each_asked(report.rounds), each_asked(report.may_follow)
    return structs.replace(report, rounds=rounds, may_follow=may_follow, victims=rounds[0].victims if rounds else ())
