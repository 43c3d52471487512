"""Manifests that are changed in place of the cluster, and printed."""

import sys
from typing import TYPE_CHECKING

from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubectl_koord.changes.manifests import Change, Manifest, Meant
    from kubectl_koord.cli.session import Session

    Planned = Callable[[Sequence[Manifest], Meant], Change | None]


def print_changed(
    session: "Session", files: "Sequence[str]", name: str, plan: "Planned", *, what: str, overwrite: bool
) -> None:
    """Print manifests with a change made to them, and everything else as it was.

    Layers and gangs are checked against a file, or the demo, that is given in place of a cluster.

    Args:
        session: this run of the program.
        files: files and folders; `-` is standard input.
        name: the PodGroup or gang that is meant, empty for all.
        plan: returns the change to be made to the objects of the files, None where none of them is meant.
        what: what is meant, for the error where there is none.
        overwrite: whether other values may be replaced.

    Raises:
        KoordError: when a file cannot be read, nothing in it is meant, or a value cannot be set.

    """
    from kubectl_koord.changes.manifests import Meant
    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cli.session import write
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.edits import manifests as manifest_edits
    from kubectl_koord.cluster.reading.folders import files_of
    from kubectl_koord.simulation import subjects

    if session.options.output not in {"", "json", "yaml"}:
        raise KoordError("error: manifests are printed as -o yaml or json")
    if "-" in files and "-" in session.options.snapshots:
        raise KoordError("error: -f and --snapshot cannot both read standard input")
    namespace = session.connection.namespace or "default"
    key = subjects.pod_group_key(name, namespace) if name else ""
    snapshot = None if session.options.is_live else session.snapshot(kinds.GANG_KINDS)
    documents = manifest_edits.read(files_of(files, recursive=session.options.recursive))
    try:
        change = plan([*manifest_edits.objects(documents)], Meant(key, namespace, overwrite, snapshot))
        if change is None:
            raise KoordError(f"error: no {what}{f' {key}' if key else ''} in {', '.join(files)}")
        printed = [manifest_edits.replaced(document, change) for document in documents]
    except RefusedError as refused:
        raise KoordError(f"error: {refused}") from None
    unchecked = "layers and gangs were not checked, as no cluster was read; " if snapshot is None else ""
    sys.stderr.write(f"Warning: {unchecked}comments are not kept.\n")
    write(manifest_edits.to_json(printed) if session.options.output == "json" else manifest_edits.to_yaml(printed))
