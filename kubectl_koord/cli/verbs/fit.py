"""`kubectl koord fit`: whether a job would be placed, before it is submitted."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.flags import All, Kustomize, Priority, PriorityClass
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.model.snapshot import Snapshot
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
    priority: Priority = None,
    priority_class: PriorityClass = "",
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
    from kubectl_koord.cli.writing import joined, shaped
    from kubectl_koord.cluster.files import named
    from kubectl_koord.cluster.manifests.completed import Overrides
    from kubectl_koord.cluster.manifests.read import Manifests
    from kubectl_koord.explain.fit import fit

    session: Session = context.obj
    session.everything = everything
    files = [*named(files or (), kustomize)]
    if sum(map(bool, (files, pods, like))) != 1:
        raise KoordError(say("error: one of -f, -k, --pods and --like is required"))
    if not pods and (request or must_gather):
        raise KoordError(say("error: --request and --must-gather are for --pods"))
    if like and (priority is not None or priority_class):
        raise KoordError(say("error: --priority and --priority-class are for -f and --pods"))
    if priority is not None and priority_class:
        raise KoordError(say("error: --priority and --priority-class cannot be used together"))
    if like:
        snapshot, submitted = _copied(session, like)
    else:
        manifests = Manifests(session.namespace, session.connection.namespace, Overrides(priority, priority_class))
        if pods:
            snapshot, submitted = shaped(session, manifests, pods, ("--request", ",".join(request or ())), must_gather)
        else:
            snapshot, submitted = joined(session, manifests, files)
    if not submitted.pods:
        left_out = (
            say(": {skipped} left out, as no pods are known of them", skipped=", ".join(submitted.skipped))
            if submitted.skipped
            else ""
        )
        raise KoordError(say("error: the manifests make no pods{left_out}", left_out=left_out))
    report = fit(snapshot, submitted, count=count)
    session.show(report)
    if detailed and report.verdict == "no":
        session.exit_code = _exit_code(report)


def _copied(session: "Session", name: str) -> "tuple[Snapshot, Submitted]":
    from kubectl_koord.cluster import kinds
    from kubectl_koord.engine.gangs import GangSubject
    from kubectl_koord.simulation.submitted import with_copy

    snapshot = session.snapshot(kinds.DISRUPTION_KINDS)
    subject = session.subject(snapshot, name)
    if not isinstance(subject, GangSubject):
        raise KoordError(say("error: {name!r} is no gang", name=name))
    copied, submitted = with_copy(snapshot, subject)
    if not submitted.pods:
        session.require(snapshot, "members", subject.key.partition("/")[0])
        raise KoordError(say("error: gang {key} has no pods", key=subject.key))
    return copied, submitted


def _exit_code(report: "FitReport") -> int:
    found: set[Fits] = {gang.fits for gang in report.gangs if gang.verdict == "no"}
    return 4 if "never" in found else 1 if "not-now" in found else 3
