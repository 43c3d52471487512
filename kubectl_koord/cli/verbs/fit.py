"""`kubectl koord fit`: whether a job would be placed, before it is submitted."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.flags import All, Kustomize
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.collect import Collector
    from kubectl_koord.cluster.manifests.read import Manifests
    from kubectl_koord.cluster.source import Join
    from kubectl_koord.model.objects import Node
    from kubectl_koord.model.snapshot import Gap, Snapshot
    from kubectl_koord.reports.jobs import FitReport, Fits
    from kubectl_koord.simulation.submitted import Submitted

EXAMPLES = """\b
Examples:
  # Would the jobs of a manifest be placed now
  kubectl koord fit -f job.yaml
  # The same in CI; exit code 3 only by preemption, 4 never
  kubectl koord fit -f manifests/ -R --detailed-exit-code
  # A gang that is not written yet
  kubectl koord fit --pods 16 --request nvidia.com/gpu=8 --must-gather SpineLayer
  # How many more gangs like this one, and how large one may be
  kubectl koord fit --like podgroup/x --count
"""
_SHAPE = "shape"


def command(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="FILE", help="Manifests: file, folder, URL, or -; may be repeated."),
    ] = None,
    kustomize: Kustomize = "",
    pods: Annotated[
        int | None, typer.Option("--pods", metavar="N", min=1, help="A gang of N pods in place of manifests.")
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option("--request", metavar="NAME=AMOUNT", help="What each of --pods requests; may be repeated."),
    ] = None,
    must_gather: Annotated[
        str, typer.Option("--must-gather", metavar="LAYER", help="The layer that --pods must gather in.")
    ] = "",
    like: Annotated[str, typer.Option("--like", metavar="GANG", help="One more gang like this one.")] = "",
    priority: Annotated[
        int | None, typer.Option("--priority", metavar="N", help="The priority of all pods, in place of their own.")
    ] = None,
    priority_class: Annotated[
        str, typer.Option("--priority-class", metavar="NAME", help="The PriorityClass of all pods.")
    ] = "",
    count: Annotated[
        bool, typer.Option("--count", help="Also tell how many such gangs fit, and how large one may be.")
    ] = False,
    detailed: Annotated[
        bool, typer.Option("--detailed-exit-code", help="Exit with 3 if it fits only by preemption, 4 if never.")
    ] = False,
    everything: All = False,
) -> None:
    """Show whether a job would be placed before it is submitted, whom it would preempt, and what is short.

    Pods are read from PodGroups, Pods, Jobs, CronJobs, StatefulSets, Deployments, ReplicaSets, PyTorchJobs, TFJobs,
    MPIJobs, TrainJobs, RayClusters, RayJobs, RayCronJobs, RayServices, JobSets, LeaderWorkerSets, SparkApplications
    and Volcano Jobs, as their controllers would make them, and with what LimitRanges, RuntimeClasses and
    ClusterColocationProfiles change. They take the place of objects of the same name; status and nodeName do not count.
    """
    from kubectl_koord.cluster.files import named
    from kubectl_koord.cluster.manifests.completed import Overrides
    from kubectl_koord.cluster.manifests.read import Manifests
    from kubectl_koord.explain.fit import fit

    session: Session = context.obj
    session.everything = everything
    files = [*named(files or (), kustomize)]
    if sum(map(bool, (files, pods, like))) != 1:
        raise KoordError("error: one of -f, -k, --pods and --like is required")
    if not pods and (request or must_gather):
        raise KoordError("error: --request and --must-gather are for --pods")
    if like and (priority is not None or priority_class):
        raise KoordError("error: --priority and --priority-class are for -f and --pods")
    if priority is not None and priority_class:
        raise KoordError("error: --priority and --priority-class cannot be used together")
    if like:
        snapshot, submitted = _copied(session, like)
    else:
        manifests = Manifests(session.namespace, session.connection.namespace, Overrides(priority, priority_class))
        if pods:
            snapshot, submitted = _shaped(session, manifests, pods, request or (), must_gather)
        else:
            manifests.read(_files(session, files))
            snapshot, submitted = _read(session, manifests.join, manifests.more_kinds), manifests.submitted()
    if not submitted.pods:
        left_out = (
            f": {', '.join(submitted.skipped)} left out, as no pods are known of them" if submitted.skipped else ""
        )
        raise KoordError(f"error: the manifests make no pods{left_out}")
    report = fit(snapshot, submitted, count=count)
    session.show(report)
    if detailed and report.verdict == "no":
        session.exit_code = _exit_code(report)


def _files(session: "Session", names: "Sequence[str]") -> "Sequence[str]":
    from kubectl_koord.cluster.files import files_of

    if "-" in names and "-" in session.options.snapshots:
        raise KoordError("error: -f and --snapshot cannot both read standard input")
    if names.count("-") > 1:
        raise KoordError("error: -f - can be given only once")
    return files_of(names, recursive=session.options.recursive)


def _read(session: "Session", join: "Join", more: "Sequence[str]" = ()) -> "Snapshot":
    from kubectl_koord.cluster import kinds

    return session.snapshot((*kinds.DISRUPTION_KINDS, *kinds.FIT_KINDS, *more), join=join)


def _shaped(
    session: "Session", manifests: "Manifests", pods: int, written: "Sequence[str]", must_gather: str
) -> "tuple[Snapshot, Submitted]":
    """Return the cluster with a gang whose pods request this: which resources there are is known once it is read."""
    from kubectl_koord.simulation.submitted import of_profile

    _requests((), written)  # a mistake is told before anything is read

    def join(collector: "Collector", moment: str, gaps: "Collection[Gap]") -> None:
        manifests.add_shape(_SHAPE, pods, _requests(collector.nodes.values(), written), must_gather)
        manifests.join(collector, moment, gaps)

    snapshot = _read(session, join)
    submitted = manifests.submitted()
    return of_profile(snapshot, submitted), submitted


def _copied(session: "Session", name: str) -> "tuple[Snapshot, Submitted]":
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine.gangs import GangSubject
    from kubectl_koord.simulation.submitted import with_copy

    snapshot = session.snapshot(kinds.DISRUPTION_KINDS)
    subject = session.subject(snapshot, name)
    if not isinstance(subject, GangSubject):
        raise KoordError(f"error: {name!r} is no gang")
    copied, submitted = with_copy(snapshot, subject)
    if not submitted.pods:
        session.require(snapshot, "members", subject.key.partition("/")[0])
        raise KoordError(f"error: gang {subject.key} has no pods")
    return copied, submitted


def _requests(nodes: "Iterable[Node]", written: "Sequence[str]") -> dict[str, str]:
    from kubectl_koord.model.values import spell
    from kubectl_koord.simulation.submitted import ShapeError, requested

    try:
        found = requested(nodes, ",".join(written), known=False) if written else {}
    except ShapeError as problem:
        raise KoordError(f"error: --request: {problem}") from None
    return {name: spell(name, amount) for name, amount in found.items()}


def _exit_code(report: "FitReport") -> int:
    found: set[Fits] = {gang.fits for gang in report.gangs if gang.verdict == "no"}
    return 4 if "never" in found else 1 if "not-now" in found else 3
