"""Pods may be tried: no scheduling gate keeps them out of the scheduler's queue.

Which scheduler they name, and whether that runs, the engine tells under the same name.
"""

from kubectl_koord.language import say
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.vendors import owner_of_gate
from kubectl_koord.reports.common import WayOut
from kubectl_koord.wording.words import count, listed, verb

NAME = "may be tried"
READS = ("Pod",)


def ask(job: Job, _snapshot: Snapshot) -> Answer:
    """Tell whether pods that have no node have scheduling gates."""
    pending = _pending(job)
    gated = {key: gates for key, (gates, _) in pending.items() if gates}
    if not gated:
        return NotHere()
    gates = sorted({gate for found in gated.values() for gate in found})
    owners = [
        say(
            "{gate}{part}",
            gate=gate,
            part=say(" (removed by {owner_of_gate})", owner_of_gate=owner_of_gate(gate)) if owner_of_gate(gate) else "",
        )
        for gate in gates
    ]
    of_all = say(
        "{number} of {pods} {have}",
        number=len(gated),
        pods=count(len(pending), "pod"),
        have=verb(len(gated), "has", "have"),
    )
    what = say("{of_all} scheduling gate {owners}", of_all=of_all, owners=listed(owners))
    free = len(pending) - len(gated)
    if free and free + sum(1 for pod in job.pods if pod.key not in pending) >= job.minimum:
        return Passed(what)
    step = WayOut("ungate", say("Check the controller that must remove scheduling gate {gates}", gates=listed(gates)))
    since = min(pending[key][1] for key in gated)
    return Held(
        "scheduling-gated", say("{what}.", what=what), what, f"Pod/{next(iter(gated))}", since, tuple(gated), (step,)
    )


def _pending(job: Job) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the pods of the job that have no node, whether of its gang or not: their gates, and since when."""
    found = {pod.key: (pod.gates, pod.created) for pod in job.pods if pod.is_waiting}
    found |= {pod.key: (pod.gates, pod.created) for pod in (job.subject.pending if job.subject else ())}
    return dict(sorted(found.items()))
