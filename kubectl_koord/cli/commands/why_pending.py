"""`kubectl koord why-pending`: the one root cause, with its evidence and what helps."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  kubectl koord why-pending              every pending gang of the namespace, one line each
  kubectl koord why-pending -A           of all namespaces
  kubectl koord why-pending job          why gang job is pending, and what helps
  kubectl koord why-pending pod/job-0    by the name of a pod; pytorchjob/x by an owner
"""


def command(
    context: typer.Context,
    gang: Annotated[str, typer.Argument(metavar="[GANG]", help="NAME, NAMESPACE/NAME, pod/NAME or OWNER/NAME.")] = "",
    every: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List gangs of all namespaces.")] = False,
) -> None:
    """Say why a gang is pending: slots per domain, what is in the way, and what helps."""
    from kubectl_koord.cluster import source
    from kubectl_koord.explain.why import every_pending, why

    session: Session = context.obj
    snapshot = session.snapshot(source.GANG_KINDS)
    if gang:
        session.show(why(snapshot, session.subject(snapshot, gang)))
    else:
        wanted = (
            "" if every or (snapshot.source != "cluster" and not session.connection.namespace) else session.namespace()
        )
        session.show(every_pending(snapshot, wanted))
