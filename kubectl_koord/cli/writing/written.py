"""Objects as they are written, read one by one before they are changed."""

from typing import TYPE_CHECKING, Any

from kubectl_koord.cli.writing.sending import path_of
from kubectl_koord.cluster import apply
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cli.session import Session


def workload_as_written(session: "Session", name: str) -> "dict[str, Any]":
    """Return a workload, `KIND/NAME`, as its user would write it: of a live cluster, or out of the files in its place.

    Raises:
        KoordError: when there is none.

    """
    from kubectl_koord.cluster.edits import manifests as manifest_edits
    from kubectl_koord.cluster.manifests.workloads import as_created, paths_of

    kind, _, bare = name.partition("/")
    if not bare:
        raise KoordError("error: --create needs -f, or a workload as KIND/NAME: job/x, pytorchjob/x")
    namespace = session.namespace()
    paths = tuple(paths_of(kind, namespace))
    if not paths:
        raise KoordError(f"error: {kind!r} is no kind of workload that is known here")
    if session.transport is None:
        if "-" in session.options.snapshots:
            raise KoordError("error: a workload is read twice: give a file instead of standard input")
        documents = manifest_edits.demo() if session.options.demo else manifest_edits.read(session.files())
        wanted = {kind.lower(), kind.lower().removesuffix("s")}
        for written in manifest_edits.objects(documents):
            meta = written.get("metadata")
            if str(written.get("kind")).lower() not in wanted or not isinstance(meta, dict):
                continue
            if (meta.get("namespace") or "default", meta.get("name")) == (namespace, bare):
                return as_created(written)
        raise KoordError(f"error: no {kind} {bare} in namespace {namespace}")
    *others, last = paths
    for path in others:
        try:
            return as_created(apply.read(session.transport, f"{path}/{bare}"))
        except apply.MissingError:
            pass  # of a kind that has two versions one may not be served
    return as_created(apply.read(session.transport, f"{last}/{bare}"))


def pods_as_written(session: "Session", keys: "Sequence[str]") -> "dict[str, dict[str, Any]]":
    """Return pods as they are: of a live cluster read now, each by its name; else out of the same files."""
    from kubectl_koord.cluster.edits import manifests as manifest_edits

    if not keys:
        return {}
    if session.transport is not None:
        from kubectl_koord.reports.change import ObjectName

        return {key: apply.read(session.transport, path_of(ObjectName("Pod", *key.split("/", 1)))) for key in keys}
    if "-" in session.options.snapshots:
        raise KoordError("error: pods that define a gang are read twice: give a file instead of standard input")
    documents = manifest_edits.demo() if session.options.demo else manifest_edits.read(session.files())
    found = {}
    for written in manifest_edits.objects(documents):
        metadata = written.get("metadata")
        if written.get("kind") == "Pod" and isinstance(metadata, dict):
            found[f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"] = written
    missing = [key for key in keys if key not in found]
    if missing:
        raise KoordError(f"error: pod {missing[0]} cannot be found as it was written: its settings are not known")
    return {key: found[key] for key in keys}
