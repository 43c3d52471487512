"""The first item of a snapshot file: when the cluster was read, which kinds, and what could not be read."""

from msgspec import Struct

from kubectl_koord.model.snapshot import Gap

API_VERSION = "kubectl-koord/v1alpha1"
KIND = "ClusterSnapshot"


class RecordingMeta(Struct, gc=False):
    """metadata."""

    name: str = ""


class Recording(Struct, rename="camel", kw_only=True):
    """How a cluster was read, so that the file leads to the answers of the live cluster.

    `moment` is when; `kinds` are those that were read of the cluster itself, None where it was made of files, which
    need not hold all; `lease_seen` and `crd_version` are as the collector has them, `namespace_only` and `gaps` as
    the snapshot. `around` tells whether it holds what lies around the scheduler: owners, queues, container states.
    `anonymized` tells whether names stand for others.
    """

    metadata: RecordingMeta
    moment: str = ""
    kinds: list[str] | None = None
    crd_version: str | None = None
    lease_seen: str | None = None
    namespace_only: str = ""
    around: bool = False
    anonymized: bool = False
    gaps: list[Gap] = []
