"""Flags that several verbs take, each declared once. `flags.json` is made of these and of what each verb declares."""

from typing import Annotated, TypeAlias

import typer

MANAGER = "kubectl-koord"
GANG_HELP = "NAME, NAMESPACE/NAME, KIND/NAME, KIND NAME or KIND/NAMESPACE/NAME."

All: TypeAlias = Annotated[
    bool, typer.Option("--all", help="Show everything, also on a terminal (in a pipe nothing is left out).")
]
AllNamespaces: TypeAlias = Annotated[bool, typer.Option("--all-namespaces", "-A", help="List gangs of all namespaces.")]
DryRun: TypeAlias = Annotated[
    str, typer.Option("--dry-run", metavar="[none|client|server]", help="Only preview the change.")
]
FieldManager: TypeAlias = Annotated[
    str, typer.Option("--field-manager", metavar="NAME", help="The manager that the changed fields get.")
]
Kustomize: TypeAlias = Annotated[
    str, typer.Option("--kustomize", "-k", metavar="DIR", help="The manifests that kustomize builds of a folder.")
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="List the first N only.")]
NoHeaders: TypeAlias = Annotated[bool, typer.Option("--no-headers", help="Print rows alone, without headers.")]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace existing values.")]
Priority: TypeAlias = Annotated[
    int | None, typer.Option("--priority", metavar="N", help="The priority of all pods, in place of their own.")
]
PriorityClass: TypeAlias = Annotated[
    str, typer.Option("--priority-class", metavar="NAME", help="The PriorityClass of all pods.")
]
Resource: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Count this resource (default: accelerators, else CPU).")
]
Selector: TypeAlias = Annotated[
    str, typer.Option("--selector", "-l", metavar="KEY=VALUE", help="List gangs whose PodGroup or pods match.")
]
SortBy: TypeAlias = Annotated[
    str,
    typer.Option(
        "--sort-by",
        metavar="JSONPATH",
        help="Sort the list by a field of its items, as -o json names it; -.FIELD: downwards.",
    ),
]
Watch: TypeAlias = Annotated[
    bool, typer.Option("--watch", "-w", help="Keep running, and print what changes (needs a live cluster).")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
