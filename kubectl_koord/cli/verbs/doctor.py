"""`kubectl koord doctor`: what is wrong with the installation, the topology, devices and gangs."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.model.installation import Lack

EXAMPLES = """\b
Examples:
  kubectl koord doctor                exit code 1 where something is broken
  kubectl koord doctor --print-rbac   the role that reading needs, offline
  kubectl koord doctor --print-rbac --command why-pending
  kubectl koord doctor --demo         the same on the embedded demo cluster
"""


def command(
    context: typer.Context,
    print_rbac: Annotated[
        bool, typer.Option("--print-rbac", help="Print the smallest ClusterRole for all commands that read.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--command", metavar="NAME", help="Print the role for this command; may be repeated."),
    ] = None,
) -> None:
    """Look for what is wrong: installation, configuration, topology, devices, gangs, and what may not be read."""
    from kubectl_koord.cli.session import write
    from kubectl_koord.cli.verb_table import reading
    from kubectl_koord.cluster import kinds, rbac

    session: Session = context.obj
    if print_rbac:
        if session.options.output not in {"", "yaml"}:
            raise KoordError(say("error: --print-rbac prints YAML: use it without -o, or with -o yaml"))
        write(_roles(only))
        return
    if only is not None:
        raise KoordError(say("error: --command is for --print-rbac"))
    from kubectl_koord.explain.doctor import doctor

    snapshot = session.snapshot(kinds.DOCTOR_KINDS)
    lacks: tuple[Lack, ...] = ()
    if session.transport is not None:
        from kubectl_koord.cluster.rights import lacking

        lacks = lacking(session.transport, reading(), snapshot.config.home.namespace, session.namespace)
    session.show(doctor(snapshot, rbac.needed(reading()), lacks))


def _roles(commands: "Sequence[str] | None") -> str:
    """Return the role for all commands that only read, or the roles for some of them."""
    from kubectl_koord.cli.verb_table import reading
    from kubectl_koord.cluster import rbac

    reads = reading()
    if commands is None:
        return rbac.cluster_role(rbac.VIEW, rbac.viewing(reads.values()))
    for name in commands:
        if name not in reads:
            raise KoordError(say("error: --command {name!r} is not one of {reads}", name=name, reads=", ".join(reads)))
    every = [one for name in commands for one in reads[name]]
    role = rbac.cluster_role(f"kubectl-koord-{'-'.join(commands)}", rbac.reading(every))
    return f"{role}---\n{rbac.leader_role()}" if "leader" in every else role
