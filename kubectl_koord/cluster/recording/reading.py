"""A cluster read to be recorded: all that any command reads of it."""

from collections.abc import Callable, Iterable
from urllib.parse import quote

from kubectl_koord.cluster import source
from kubectl_koord.cluster.api.transport import Transport
from kubectl_koord.cluster.kinds import EVENT, RECORDED_KINDS
from kubectl_koord.cluster.objects.kubernetes.events import OF_CONTROLLERS, REASONS
from kubectl_koord.cluster.reading.lists import ListRequest
from kubectl_koord.cluster.recorded import Recording, RecordingMeta
from kubectl_koord.cluster.recording.recorder import Recorder
from kubectl_koord.cluster.stored import files, offline

_META = RecordingMeta(name="cluster")


def live(
    transport: Transport, namespace: Callable[[], str], seen: dict[str, int] | None = None, home: str = ""
) -> tuple[Recorder, Recording]:
    """Return the cluster behind a transport, and how it was read; `seen` is counted up, by kind, while objects come.

    `home` is as `source.read` has it.

    Raises:
        KoordError: when the server cannot be reached or answers with anything but a list or a refusal.

    """
    recorder = Recorder(seen=seen)
    recorder.looked_in = home
    found = source.read(transport, source.requests(RECORDED_KINDS), namespace, recorder, home=home)
    narrowed = bool(found.namespace_only)
    gaps = source.absorb(found, recorder)
    gaps += source.with_descheduler(transport, namespace, recorder, gaps)
    for selected in (*(f"reason={reason}" for reason in REASONS), OF_CONTROLLERS):
        also = source.read(transport, [_events(selected)], namespace, recorder)
        narrowed = narrowed or bool(also.namespace_only)
        gaps += source.absorb(also, recorder)
    source.detect_version(transport, recorder, "")
    return recorder, Recording(
        metadata=_META,
        moment=source.now(),
        kinds=[*RECORDED_KINDS, EVENT.name],
        crd_version=recorder.crd_version,
        lease_seen=source.lease_seen(found),
        namespace_only=namespace() if narrowed else "",
        gaps=list({gap.kind: gap for gap in reversed(gaps)}.values())[::-1],
    )


def _events(selected: str) -> ListRequest:
    query = f"fieldSelector={quote(selected, safe='')}"
    return ListRequest(
        EVENT.name, f"{EVENT.path()}?{query}", f"{EVENT.api}/namespaces/{{namespace}}/{EVENT.plural}?{query}"
    )


def from_files(names: Iterable[str], seen: dict[str, int] | None = None) -> tuple[Recorder, Recording]:
    """Return the cluster that files hold, and how it was read: where one of them is a snapshot, as that says.

    Raises:
        KoordError: naming the file, and the object and field in it, that cannot be read.

    """
    recorder = Recorder(seen=seen)
    files.read(names, recorder)
    return recorder, recorder.recording or _of_input(recorder, source.now())


def demo() -> tuple[Recorder, Recording]:
    """Return the embedded demo cluster, and the moment for which it was made."""
    recorder = Recorder()
    offline.take_demo(recorder)
    return recorder, _of_input(recorder, offline.MOMENT_OF_DEMO)


def _of_input(recorder: Recorder, moment: str) -> Recording:
    gaps = offline.not_in_input(recorder)
    return Recording(metadata=_META, moment=moment, crd_version=recorder.crd_version, gaps=gaps)
