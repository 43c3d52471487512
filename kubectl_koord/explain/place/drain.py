"""What draining nodes would do: whom it evicts, which gangs break, where the pods could go."""

from collections.abc import Collection, Sequence

from kubectl_koord.diagnosis import disruption
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal
from kubectl_koord.model.pods import RunningPod, claim_names
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.capacity.place import Drain, DrainedPod
from kubectl_koord.simulation.drained import MovedPod, moved
from kubectl_koord.simulation.simulation import Scenario
from kubectl_koord.wording.answers import place as sentences
from kubectl_koord.wording.evidence import lost_nodes
from kubectl_koord.wording.refusals.prefilter import lacking


def drain(cluster: Scenario, names: Collection[str]) -> Drain:
    """Return what `kubectl drain` of these nodes at once would do.

    Pods that come back there at once stay, those of DaemonSets and of the nodes themselves; pods that terminate
    already go anyway.
    """
    snapshot = cluster.snapshot
    there = [pod for name in sorted(names) for pod in cluster.view.occupants(name) if isinstance(pod, RunningPod)]
    leaving = [pod for pod in there if pod.terminating]
    stays = [pod for pod in there if disruption.comes_back_there(pod) and not pod.terminating]
    evicted = [pod for pod in there if not pod.terminating and not disruption.comes_back_there(pod)]
    goes = {pod.key: DrainedPod(pod.key, "unknown", bool(pod.owner), reason=_open(snapshot, pod)) for pod in evicted}
    tried = [pod for pod in evicted if not goes[pod.key].reason]
    goes |= {one.pod.key: _gone(one) for one in moved(cluster, names, tried, [*evicted, *leaving])}
    return Drain(
        evicts=disruption.freed(snapshot, evicted),
        goes=tuple(goes[key] for key in sorted(goes)),
        stays=tuple(pod.key for pod in _by_name(stays)),
        terminating=tuple(pod.key for pod in _by_name(leaving)),
        broken_gangs=disruption.broken_gangs(snapshot, evicted),
        daemon_sets=tuple(sorted({_daemon_set(pod) for pod in stays} - {""})),
    )


def _daemon_set(pod: RunningPod) -> str:
    """Return the DaemonSet of a pod, `namespace/name`; empty where it has none."""
    kind, _, name = pod.owner.partition("/")
    return f"{pod.namespace}/{name}" if kind == "DaemonSet" else ""


def _by_name(pods: Sequence[RunningPod]) -> list[RunningPod]:
    return sorted(pods, key=lambda pod: pod.key)


def _open(snapshot: Snapshot, pod: RunningPod) -> str:
    """Return why it is open where a pod could go; empty where it can be tried."""
    if pod.allocations.reservation:
        return sentences.DRAWS
    if pod.requirements.has_resource_claims:
        return sentences.HAS_CLAIMS
    return sentences.VOLUMES_UNREAD if any(name not in snapshot.claims for name in claim_names(pod)) else ""


def _gone(one: MovedPod) -> DrainedPod:
    if one.to:
        return DrainedPod(one.pod.key, "fits", bool(one.pod.owner), one.to)
    why = lacking(one.why) if isinstance(one.why, PreFilterRefusal) else lost_nodes(one.why)
    return DrainedPod(one.pod.key, "no-node", bool(one.pod.owner), reason=why)
