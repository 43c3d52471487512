"""Pods may be tried: no scheduling gate keeps them out of the scheduler's queue.

Which scheduler they name, and whether that runs, the engine tells under the same name.
"""

from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording.words import count, listed, verb

NAME = "may be tried"
READS = ("Pod",)

OWNERS = {
    "kueue.x-k8s.io": "Kueue",
    "grove.io": "Grove",
    "jobset.sigs.k8s.io": "JobSet",
    "leaderworkerset.x-k8s.io": "LeaderWorkerSet",
    "scheduling.koordinator.sh": "Koordinator",
    "scheduling.volcano.sh": "Volcano",
    "volcano.sh": "Volcano",
    "karmada.io": "Karmada",
    "run.ai": "Run:ai",
    "karpenter.sh": "Karpenter",
    "alibabacloud.com": "ACK",
    "volcengine.com": "Volcengine",
}
"""Who removes a gate, by the domain before its slash, or what that ends with."""


def owner_of(gate: str) -> str:
    """Return who removes a gate, empty where that is not known."""
    domain = gate.partition("/")[0]
    return next((who for known, who in OWNERS.items() if domain == known or domain.endswith(f".{known}")), "")


def ask(job: Job, _snapshot: Snapshot) -> Answer:
    """Tell whether pods that have no node have scheduling gates."""
    pending = _pending(job)
    gated = {key: gates for key, (gates, _) in pending.items() if gates}
    if not gated:
        return NotHere()
    gates = sorted({gate for found in gated.values() for gate in found})
    owners = [f"{gate}{f' (removed by {owner_of(gate)})' if owner_of(gate) else ''}" for gate in gates]
    of_all = f"{len(gated)} of {count(len(pending), 'pod')} {verb(len(gated), 'has', 'have')}"
    what = f"{of_all} scheduling gate {listed(owners)}"
    free = len(pending) - len(gated)
    if free and free + sum(1 for pod in job.pods if pod.key not in pending) >= job.minimum:
        return Passed(what)
    step = WayOut("ungate", f"Check the controller that must remove scheduling gate {listed(gates)}")
    since = min(pending[key][1] for key in gated)
    return Held("scheduling-gated", f"{what}.", what, f"Pod/{next(iter(gated))}", since, tuple(gated), (step,))


def _pending(job: Job) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the pods of the job that have no node, whether of its gang or not: their gates, and since when."""
    found = {pod.key: (pod.gates, pod.created) for pod in job.pods if pod.is_waiting}
    found |= {pod.key: (pod.gates, pod.created) for pod in (job.subject.pending if job.subject else ())}
    return dict(sorted(found.items()))
