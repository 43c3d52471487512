"""`kubectl koord annotate`: set gang and topology annotations, the effect shown before anything is sent."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.flags import GANG_HELP, MANAGER, DryRun, FieldManager, Kustomize, Overwrite, Yes
from kubectl_koord.cli.writing import How, carry_out, create_gang, print_changed
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubectl_koord.changes.values import WantedSettings
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cli.writing import Planned
    from kubectl_koord.reports.change import ChangePlan

EXAMPLES = """\b
Examples:
  # Show what a hard layer would change, and its effect
  kubectl koord annotate podgroup job --must-gather SpineLayer --dry-run
  # Place multiples of 4 pods in each block
  kubectl koord annotate podgroup job --multiple BlockLayer=4 --overwrite
  # Wait 20 minutes for the gang, and do not ask
  kubectl koord annotate podgroup job --waiting-time 20m --yes
  # Take the mode and the topology away
  kubectl koord annotate podgroup job mode- topology-
  # Change a manifest instead of the cluster
  kubectl koord annotate podgroup -f job.yaml --min-member 6 --overwrite
  # Let two gangs start together: both PodGroups are changed, or none
  kubectl koord annotate gang job --groups job,other
  # Number the pods as their names do
  kubectl koord annotate pods job --index
  # Make a gang of a job: show what that changes, and whether it fits
  kubectl koord annotate gang -f job.yaml --create --must-gather SpineLayer
  # Print the manifests of a job as a gang
  kubectl koord annotate gang -f job.yaml --create -o yaml
  # Let the gangs of several manifests start together
  kubectl koord annotate gang -f jobs/ --groups job,other
"""

app = typer.Typer(
    help="Set gang and topology annotations: check them, show their effect, ask, then write.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    no_args_is_help=True,
)
_MustGather = Annotated[
    list[str] | None, typer.Option(metavar="LAYER", help="Require all pods in one domain of this layer.")
]
_PreferGather = Annotated[list[str] | None, typer.Option(metavar="LAYER", help="Prefer one domain.")]
_Multiple = Annotated[list[str] | None, typer.Option(metavar="LAYER=N", help="Place a multiple of N pods per domain.")]
_Mode = Annotated[str, typer.Option(metavar="MODE", help="Strict or NonStrict.")]
_MatchPolicy = Annotated[
    str, typer.Option(metavar="POLICY", help="only-waiting, waiting-and-running or once-satisfied.")
]
_Groups = Annotated[
    list[str] | None, typer.Option(metavar="GANG,...", help="Gangs that start together, including this one.")
]
_WaitingTime = Annotated[str, typer.Option(metavar="DURATION", help="How long bound pods wait for the others.")]
_Total = Annotated[int | None, typer.Option(metavar="N", help="Set the total number of pods (informational).")]
_MinMember = Annotated[int | None, typer.Option("--min-member", metavar="N", help="Set the minimum of the gang.")]
_Words = Annotated[list[str] | None, typer.Argument(metavar="[NAME] [SETTING-]...")]
_GangWords = Annotated[list[str] | None, typer.Argument(metavar="[GANG] [SETTING-]...", help=GANG_HELP)]
_Files = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="FILE", help="Change these manifests and print them: FILE, DIR, URL, -."),
]
_SeveralNames = say("error: one name at a time, not {}: {} (a setting to be removed ends in -)")


@app.command("podgroup", epilog=EXAMPLES)
def podgroup(
    context: typer.Context,
    words: _Words = None,
    must_gather: _MustGather = None,
    prefer_gather: _PreferGather = None,
    multiple: _Multiple = None,
    mode: _Mode = "",
    match_policy: _MatchPolicy = "",
    groups: _Groups = None,
    waiting_time: _WaitingTime = "",
    total: _Total = None,
    min_member: _MinMember = None,
    files: _Files = None,
    kustomize: Kustomize = "",
    dry_run: DryRun = "none",
    yes: Yes = False,
    overwrite: Overwrite = False,
    field_manager: FieldManager = MANAGER,
) -> None:
    """Set the gang and topology settings of a PodGroup; SETTING- removes one.

    With -f manifests are changed instead of the cluster, and printed; comments stay. What they name is
    checked against --snapshot or --demo where one is given.
    """
    from kubectl_koord.changes.manifests import pod_groups_change
    from kubectl_koord.cluster.files import named

    session: Session = context.obj
    files = [*named(files or (), kustomize)]
    name, removed = _name_and_removed(words)
    wanted = _wanted(
        (must_gather, prefer_gather, multiple, groups), (mode, match_policy, waiting_time), (total, min_member), removed
    )

    def plan() -> "ChangePlan":
        from kubectl_koord.changes.annotate import pod_group_plan
        from kubectl_koord.cluster import kinds
        from kubectl_koord.simulation import subjects

        snapshot = session.snapshot(kinds.GANG_KINDS)
        key = subjects.pod_group_key(name, session.namespace())
        home = key.partition("/")[0]
        if key not in snapshot.pod_groups and snapshot.sees("PodGroup", home):
            nowhere = session.no_namespace(snapshot, home)
            if nowhere:
                raise nowhere
        return pod_group_plan(snapshot, key, wanted, overwrite=overwrite)

    change = partial(pod_groups_change, wanted=wanted)
    _change(session, name, files, change, "PodGroup", plan, How(dry_run, yes, field_manager), overwrite=overwrite)


@app.command("gang", epilog=EXAMPLES)
def gang(
    context: typer.Context,
    words: _GangWords = None,
    must_gather: _MustGather = None,
    prefer_gather: _PreferGather = None,
    multiple: _Multiple = None,
    mode: _Mode = "",
    match_policy: _MatchPolicy = "",
    groups: _Groups = None,
    waiting_time: _WaitingTime = "",
    total: _Total = None,
    min_member: _MinMember = None,
    files: _Files = None,
    kustomize: Kustomize = "",
    create: Annotated[
        bool, typer.Option("--create", help="Make a gang of a job: show its PodGroup and templates; send nothing.")
    ] = False,
    dry_run: DryRun = "none",
    yes: Yes = False,
    overwrite: Overwrite = False,
    field_manager: FieldManager = MANAGER,
) -> None:
    """Set the settings of a gang's whole group: on all its PodGroups or none, or on all pods of a gang without one.

    With --groups the gangs named there are meant. What was changed before a failure is rolled back.
    With -f manifests are changed instead: PodGroups, or Pods and pod templates of gangs without one.
    With --create a job becomes a gang: of -f, or KIND/NAME of the cluster. That shows the PodGroup, its label and the
    scheduler's name in every pod template, and whether it fits; -o yaml prints the new manifests. Nothing is sent.
    """
    from kubectl_koord.changes.manifests import gangs_change
    from kubectl_koord.cluster.files import named

    session: Session = context.obj
    files = [*named(files or (), kustomize)]
    name, removed = _name_and_removed(words)
    wanted = _wanted(
        (must_gather, prefer_gather, multiple, groups), (mode, match_policy, waiting_time), (total, min_member), removed
    )
    if create:
        create_gang(session, files, name, wanted, overwrite=overwrite)
        return

    def plan() -> "ChangePlan":
        from kubectl_koord.changes.annotate import gang_plan, pods_to_read
        from kubectl_koord.cli.sending import pods_as_written
        from kubectl_koord.cluster import kinds

        snapshot = session.snapshot(kinds.GANG_KINDS)
        subject = session.subject(snapshot, name)
        written = pods_as_written(session, pods_to_read(snapshot, subject, wanted))
        return gang_plan(snapshot, subject, wanted, written, overwrite=overwrite)

    change = partial(gangs_change, wanted=wanted)
    how = How(dry_run, yes, field_manager, all_or_none=True)
    _change(session, name, files, change, "gang", plan, how, overwrite=overwrite)


@app.command("pods", epilog=EXAMPLES)
def pods(
    context: typer.Context,
    words: _GangWords = None,
    index: Annotated[
        bool, typer.Option("--index", help="Set each pod's topology index to the number at the end of its name.")
    ] = False,
    index_order: Annotated[
        str,
        typer.Option(metavar="POD,...|FILE", help="Set each pod's topology index to its place in this list or file."),
    ] = "",
    topology_selector: Annotated[
        str,
        typer.Option(
            metavar="VALUE", help="Set network-topology-selector: domains with pods of the same value go first."
        ),
    ] = "",
    files: _Files = None,
    kustomize: Kustomize = "",
    dry_run: DryRun = "none",
    yes: Yes = False,
    overwrite: Overwrite = False,
    field_manager: FieldManager = MANAGER,
) -> None:
    """Set the topology index and selector of a gang's pending pods.

    With -f manifests are changed instead, of the pods that are in a gang.
    """
    from kubectl_koord.cluster.files import named

    session: Session = context.obj
    files = [*named(files or (), kustomize)]
    name, removed = _name_and_removed(words)
    if not (index or index_order or topology_selector or removed):
        from kubectl_koord.changes.values import NOTHING_FOR_PODS

        raise KoordError(say("error: {nothing_for_pods}", nothing_for_pods=NOTHING_FOR_PODS))
    from kubectl_koord.changes.annotate import PodsWanted
    from kubectl_koord.changes.manifests import pods_change

    wanted = PodsWanted(index, _order(index_order) if index_order else (), topology_selector, removed)

    def plan() -> "ChangePlan":
        from kubectl_koord.changes.annotate import pods_plan
        from kubectl_koord.cluster import kinds

        snapshot = session.snapshot(kinds.GANG_KINDS)
        subject = session.subject(snapshot, name)
        return pods_plan(snapshot, subject, wanted, overwrite=overwrite)

    change, what = partial(pods_change, wanted=wanted), say("pods of gang") if name else say("pod of a gang")
    _change(session, name, files, change, what, plan, How(dry_run, yes, field_manager), overwrite=overwrite)


def _name_and_removed(words: "Sequence[str] | None") -> tuple[str, tuple[str, ...]]:
    """Return the name, and the settings to be removed: words that end in `-`, which no name of an object does."""
    names = [word for word in words or () if not word.endswith("-")]
    if "" in names:
        raise KoordError(say("error: resource name may not be empty"))
    if len(names) > 1:
        raise KoordError(_SeveralNames.format(len(names), ", ".join(names)))
    return "".join(names), tuple(word.removesuffix("-") for word in words or () if word.endswith("-"))


def _change(
    session: "Session",
    name: str,
    files: "Sequence[str] | None",
    change: "Planned",
    what: str,
    plan: "Callable[[], ChangePlan]",
    how: How,
    *,
    overwrite: bool,
) -> None:
    """Change the manifests where some are given, else the objects of the cluster."""
    if files:
        print_changed(session, files, name, change, what=what, overwrite=overwrite)
    elif name:
        carry_out(session, plan, how)
    else:
        raise KoordError(say("error: resource name may not be empty"))


def _wanted(
    lists: "Sequence[Sequence[str] | None]",
    texts: "Sequence[str]",
    numbers: "Sequence[int | None]",
    removed: tuple[str, ...],
) -> "WantedSettings":
    from kubectl_koord.changes.values import WantedSettings

    must_gather, prefer_gather, multiples, groups = (tuple(given or ()) for given in lists)
    mode, match_policy, waiting_time = texts
    total, min_member = numbers
    return WantedSettings(
        must_gather=must_gather,
        prefer_gather=prefer_gather,
        multiples=multiples,
        mode=mode,
        match_policy=match_policy,
        groups=groups,
        waiting_time=waiting_time,
        total=total,
        min_member=min_member,
        removed=removed,
    )


def _order(given: str) -> tuple[str, ...]:
    """Return the names of an order: with commas between them, or one a line in a file."""
    import os

    if "," in given or not os.path.isfile(given):  # noqa: PTH113 - pathlib costs start-up time
        return tuple(name.strip() for name in given.split(",") if name.strip())
    try:
        with open(given, encoding="utf-8") as file:  # noqa: PTH123 - ditto
            return tuple(line.strip() for line in file if line.strip() and not line.startswith("#"))
    except (OSError, UnicodeDecodeError) as problem:
        raise KoordError(
            say("error: the path {given!r} cannot be read: {problem}", given=given, problem=problem)
        ) from None
