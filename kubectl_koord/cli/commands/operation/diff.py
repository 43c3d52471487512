"""`kubectl koord diff`: two readings of a cluster compared."""

from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.options import ALL_HELP, name_given
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.explain.operation.diff import Asked
    from kubectl_koord.model.snapshot import Snapshot

EXAMPLES = """\b
Examples:
  # What changed since a snapshot: free cards, nodes and pods
  kubectl koord diff yesterday.json.gz -
  # Where slots for gang job came and went
  kubectl koord diff yesterday.json.gz today.json.gz --for job
  # The same for pods of 8 GPUs
  kubectl koord diff yesterday.json.gz - --request gpu=8
"""
_MANY = 1000
"""Pods that slots are counted for where no gang says how many there are: more than a node takes."""


def command(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A snapshot, or - for the live cluster.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="A snapshot, or - for the live cluster.")],
    gang: Annotated[
        str | None, typer.Option("--for", metavar="GANG", help="Compare the slots for the pending pods of this gang.")
    ] = None,
    requests: Annotated[
        list[str] | None,
        typer.Option("--request", metavar="RESOURCE=AMOUNT", help="Compare the slots for such pods; may be repeated."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """Show what differs between two snapshots: free cards or slots by domain, and the nodes and pods behind it."""
    from kubectl_koord.explain.operation.diff import diff

    session: Session = context.obj
    session.everything = everything
    name = name_given(gang)
    if not session.options.is_live:
        raise KoordError("error: diff takes the names of two snapshots; --snapshot and --demo are for other commands")
    if before == after:
        raise KoordError("error: diff needs two different snapshots")
    if name and requests:
        raise KoordError("error: give --for or --request, not both")
    first, second = _read(session, before), _read(session, after)
    asked = _gang(session, (second, first), name) if name else (_shape(second, requests) if requests else None)
    session.show(diff(first, second, asked))


def _read(session: "Session", file: str) -> "Snapshot":
    from kubectl_koord.cluster import kinds, offline

    if file == "-":
        return session.snapshot(kinds.GANG_KINDS)
    return offline.from_files((file,), session.options.version, kinds=kinds.GANG_KINDS)


def _gang(session: "Session", snapshots: "Sequence[Snapshot]", name: str) -> "Asked":
    """Return the pending pods of a gang: the later ones, or those before, where they are pending no more."""
    from kubectl_koord.engine.subjects import Subject
    from kubectl_koord.explain.operation.diff import Asked
    from kubectl_koord.simulation import subjects

    for snapshot in snapshots:
        found = subjects.find(snapshot, name, session.namespace())
        subject = found if isinstance(found, Subject) else subjects.find_anywhere(snapshot, name)
        if subject is not None and subject.pending:
            return Asked(subject.key, subject, subject.pending)
    raise KoordError(f"error: no gang or pod {name!r} with pending pods in either snapshot")


def _shape(snapshot: "Snapshot", written: "Sequence[str]") -> "Asked":
    """Return pods that request this, and nothing else, of the scheduler's first profile."""
    from kubectl_koord.cluster.objects.fields.meta import Meta
    from kubectl_koord.cluster.objects.pods.decode import pending
    from kubectl_koord.cluster.objects.pods.fields import Container, Pod, PodSpec, ResourceRequirements
    from kubectl_koord.cluster.objects.pods.pool import PodPool
    from kubectl_koord.engine.subjects import PodSubject
    from kubectl_koord.explain.capacity.topo import resource_names
    from kubectl_koord.explain.operation.diff import Asked
    from kubectl_koord.model.values.quantity import QuantityError
    from kubectl_koord.wording.words import requests

    known = resource_names(snapshot)
    wanted: dict[str, str | int | float] = {}
    for one in written:
        name, equals, amount = one.partition("=")
        resource = next((full for full in known if name in {full, full.rpartition("/")[2]}), "")
        if not equals or not resource:
            raise KoordError(
                f"error: --request {one!r} is not of the form RESOURCE=AMOUNT with a resource of the nodes"
            )
        wanted[resource] = amount
    spec = PodSpec(
        containers=[Container(resources=ResourceRequirements(requests=wanted, limits=wanted))],
        scheduler_name=snapshot.config.profiles[0],
    )
    try:
        pod = pending(Pod(metadata=Meta(name="pod"), spec=spec), PodPool())
    except QuantityError as problem:
        raise KoordError(f"error: --request: {problem}") from None
    return Asked(f"pods of {requests(pod.requirements.requests)}", PodSubject(pod), (pod,) * _MANY)
