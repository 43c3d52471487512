"""What a pod says of its own preemption."""

from sys import intern

from kubectl_koord.cluster.objects.fields.meta import Condition, namespace, owner
from kubectl_koord.cluster.objects.koordinator import gangs
from kubectl_koord.cluster.objects.pods.fields import Pod
from kubectl_koord.model import pods
from kubectl_koord.model.traces import PodTrace

_QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"


def trace(written: Pod) -> PodTrace:
    """Return what the pod says of a preemption."""
    meta = written.metadata
    return PodTrace(
        namespace=namespace(meta),
        name=meta.name,
        uid=meta.uid or "",
        node=intern(written.spec.node_name or ""),
        priority=written.spec.priority or 0,
        gang=gangs.gang_of(meta)[0],
        owner=owner(meta),
        quota=(meta.labels or {}).get(_QUOTA_LABEL) or "",
        phase=written.status.phase or "",
        terminating=meta.deletion_timestamp is not None,
        preempted=_preempted(written.status.conditions),
        created=meta.creation_timestamp or "",
    )


def _preempted(conditions: list[Condition] | None) -> pods.Condition | None:
    found = next((one for one in conditions or () if _is_preemption(one)), None)
    return pods.Condition(found.reason or "", found.message or "", found.last_transition_time or "") if found else None


def _is_preemption(condition: Condition) -> bool:
    """Tell whether a condition says that a scheduler preempted the pod."""
    wanted = ("DisruptionTarget", "True", "PreemptionByScheduler")
    return (condition.type, condition.status, condition.reason) == wanted
