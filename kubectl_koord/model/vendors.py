"""By which labels, annotations and scheduling gates clouds and queues hold jobs: one row each, with what says so.

A row is all that a queue or cloud needs which does no more than name its queue, quota or gate in such a way.
"""

from collections.abc import Iterator

from msgspec import Struct

from kubectl_koord.model import keys


class Vendor(Struct, frozen=True):
    """Who it is, the page or source that says so, and the keys that it reads, of labels or annotations of a job.

    `queues` name the queue of a job, `quotas` the quota that it counts for, `classes` its priority there; `suspends`
    keep a job back where they are "true". `gates` are the domains of its scheduling gates, or what they end with.
    """

    name: str
    source: str
    queues: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    suspends: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()


_DOMAIN = "the domain is theirs"

VENDORS = (
    Vendor(
        "Kueue",
        "https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/",
        queues=("kueue.x-k8s.io/queue-name",),
        classes=("kueue.x-k8s.io/priority-class",),
        gates=("kueue.x-k8s.io",),
    ),
    Vendor(
        "ACK",
        "https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/"
        "use-ack-kube-queue-to-manage-job-queues",
        queues=("kube-queue/queue-name",),
        quotas=("quota.scheduling.alibabacloud.com/name",),  # it counts before Koordinator's own
        suspends=(keys.QUEUE_SUSPENDS,),
        gates=("alibabacloud.com",),
    ),
    Vendor(
        "koord-queue",
        "https://koordinator.sh/docs/user-manuals/koord-queue",
        queues=("koord-queue/queue-name",),
        quotas=(keys.QUOTA_NAME,),
        suspends=(keys.QUEUE_SUSPENDS,),
    ),
    Vendor(
        "Volcano",
        "https://github.com/volcano-sh/volcano (staging/src/volcano.sh/apis/pkg/apis)",
        queues=("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"),
        gates=("scheduling.volcano.sh", "volcano.sh"),
    ),
    Vendor("Grove", "https://github.com/ai-dynamo/grove (operator/internal/controller/podclique)", gates=("grove.io",)),
    Vendor("Volcengine", _DOMAIN, gates=("volcengine.com",)),
    Vendor("JobSet", _DOMAIN, gates=("jobset.sigs.k8s.io",)),
    Vendor("LeaderWorkerSet", _DOMAIN, gates=("leaderworkerset.x-k8s.io",)),
    Vendor("Koordinator", _DOMAIN, gates=("scheduling.koordinator.sh",)),
    Vendor("Karmada", _DOMAIN, gates=("karmada.io",)),
    Vendor("Run:ai", _DOMAIN, gates=("run.ai",)),
    Vendor("Karpenter", _DOMAIN, gates=("karpenter.sh",)),
)
"""The keys of a row that stands before another count before those of that one."""


def keys_of(field: str) -> tuple[str, ...]:
    """Return the keys of a field of all rows, the one that counts first before the others."""
    return tuple(dict.fromkeys(key for row in VENDORS for key in getattr(row, field)))


def owner_of_gate(gate: str) -> str:
    """Return who removes a scheduling gate, empty where that is not known."""
    domain = gate.partition("/")[0]
    return next((who for known, who in _gates() if domain == known or domain.endswith(f".{known}")), "")


def _gates() -> Iterator[tuple[str, str]]:
    return ((domain, row.name) for row in VENDORS for domain in row.gates)
