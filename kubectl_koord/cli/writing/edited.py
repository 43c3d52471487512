"""Manifests that are changed in place of the cluster, and printed."""

import sys
from typing import TYPE_CHECKING

from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.changes.values import Wanted
    from kubectl_koord.cli.session import Session


def print_changed(session: "Session", files: "Sequence[str]", name: str, wanted: "Wanted", *, overwrite: bool) -> None:
    """Print manifests, their PodGroups (or the one of a name) changed and everything else as it was.

    Raises:
        KoordError: when a file cannot be read, holds no such PodGroup, or a value cannot be set.

    """
    from kubectl_koord.changes.manifests import changed_manifest, is_pod_group, key_in
    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cli.session import write
    from kubectl_koord.cluster.edits import manifests as manifest_edits
    from kubectl_koord.cluster.reading.folders import files_of
    from kubectl_koord.simulation import subjects

    if session.options.output not in {"", "json", "yaml"}:
        raise KoordError("error: manifests are printed as -o yaml or json")
    namespace = session.connection.namespace or "default"
    meant = subjects.pod_group_key(name, namespace) if name else ""
    changed = []

    def change(manifest: manifest_edits.Manifest) -> manifest_edits.Manifest:
        if not is_pod_group(manifest):
            return manifest
        key = key_in(manifest, namespace)
        if meant and key != meant:
            return manifest
        changed.append(key)
        return changed_manifest(manifest, key, wanted, overwrite=overwrite)

    documents = manifest_edits.read(files_of(files, recursive=session.options.recursive))
    try:
        printed = [manifest_edits.replaced(document, change) for document in documents]
    except RefusedError as refused:
        raise KoordError(f"error: {refused}") from None
    if not changed:
        raise KoordError(f"error: no PodGroup{f' {meant}' if meant else ''} in {', '.join(files)}")
    sys.stderr.write("Warning: layers and gangs were not checked, as no cluster was read; comments are not kept.\n")
    write(manifest_edits.to_json(printed) if session.options.output == "json" else manifest_edits.to_yaml(printed))
