"""`kubectl koord doctor`: what is wrong with the installation, the topology, devices and gangs."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session

EXAMPLES = """\b
Examples:
  kubectl koord doctor                exit code 1 where something is broken
  kubectl koord doctor --print-rbac   the role that reading needs, offline
  kubectl koord doctor --demo         the same on the embedded demo cluster
"""


def command(
    context: typer.Context,
    print_rbac: Annotated[
        bool, typer.Option("--print-rbac", help="Print the smallest ClusterRole for all commands that read.")
    ] = False,
) -> None:
    """Look for what is wrong: installation, configuration, topology, devices, gangs, and what may not be read."""
    from kubectl_koord.cli.session import write
    from kubectl_koord.cluster import kinds, rbac

    session: Session = context.obj
    if print_rbac:
        if session.options.output not in {"", "yaml"}:
            raise KoordError("error: --print-rbac prints YAML: use it without -o, or with -o yaml")
        write(rbac.cluster_role())
        return
    from kubectl_koord.explain.operation.doctor import doctor

    session.show(doctor(session.snapshot(kinds.DOCTOR_KINDS), rbac.rights()))
