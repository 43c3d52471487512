"""`kubectl koord snapshot`: what the commands read, as a file."""

import gc
import sys
from typing import IO, TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.session import to_stdout, write
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.recorded import Recording
    from kubectl_koord.cluster.recording.recorder import Recorder, Taken

EXAMPLES = """\b
Examples:
  # What the commands read, to be read with --snapshot
  kubectl koord snapshot -o cluster.json.gz
  # To hand on: with other names, consistently, in the same order
  kubectl koord snapshot -o cluster.json.gz --anonymize
  # Out of what kubectl get printed
  kubectl koord snapshot --snapshot all.json -o cluster.json.gz
  # With a label that nothing in the cluster refers to, for -l team=vision
  kubectl koord snapshot -o cluster.json.gz --label team
"""


def command(
    context: typer.Context,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace names, consistently and in the same order.")
    ] = False,
    labels: Annotated[
        list[str] | None, typer.Option("--label", metavar="KEY", help="Also keep this label; may be repeated.")
    ] = None,
) -> None:
    """Write what the commands read to a new file (-o FILE, - for standard output), by a list of what is kept.

    A name that ends in .json gets JSON as it is; otherwise it is packed with gzip.
    """
    from kubectl_koord.cluster.recording.recorder import NewFile, check_ending

    session: Session = context.obj
    file = session.options.file
    if not file:
        raise KoordError(say("error: snapshot needs the name of a file, as in -o cluster.json.gz"))
    if session.options.version:
        raise KoordError(
            say("error: a snapshot holds what tells the version; give --koordinator-version where you read it")
        )
    if file == "-":
        if sys.stdout.isatty():
            raise KoordError(say("error: a snapshot is not written to a terminal"))
        with to_stdout():
            taken = _written(session, sys.stdout.buffer, labels or (), anonymize=anonymize)
            sys.stdout.buffer.flush()
        sys.stderr.write(_told(session, taken, ""))
        return
    check_ending(file)
    with NewFile(file) as target:
        taken = _written(session, target.file, labels or (), anonymize=anonymize)
        target.complete()
    write(_told(session, taken, file))


def _written(session: "Session", file: IO[bytes], labels: "Sequence[str]", *, anonymize: bool) -> "Taken":
    from kubectl_koord.cluster.recording import recorder as reading

    recorder, recording = _read(session)
    names = reading.new_names(recorder, recording, labels) if anonymize else None
    packed = reading.is_packed(session.options.file)
    return reading.write(recorder, recording, file, names=names, labels=labels, packed=packed)


def _read(session: "Session") -> "tuple[Recorder, Recording]":
    from kubectl_koord.cli.session import Progress
    from kubectl_koord.cluster.recording import recorder as reading

    gc.disable()  # reading makes millions of values and no cycles
    if session.options.demo:
        return reading.demo()
    seen: dict[str, int] = {}
    with Progress(sys.stderr, seen):
        if session.options.snapshots:
            return reading.from_files(session.files(), seen)
        return reading.live(session.live_transport(), session.namespace, seen, session.options.home)


def _told(session: "Session", taken: "Taken", file: str) -> str:
    from kubectl_koord.render.pages.operation import snapshot_blocks
    from kubectl_koord.render.plain import to_plain

    recording = taken.recording
    objects = {kind: (number, taken.sizes[kind]) for kind, number in taken.objects.items()}
    page = snapshot_blocks(file, taken.packed, objects, recording.gaps, anonymized=recording.anonymized)
    return to_plain(page, unicode=session.style().unicode)
