"""ElasticQuota, whose PreFilter refuses a pod for all nodes (elasticquota/plugin.go)."""

from kubectl_koord.engine.fit.check import Cluster
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.reasons.prefilter import QuotaExceeded
from kubectl_koord.model.pods import PendingPod


def prepare(trigger: PendingPod, cluster: Cluster) -> QuotaExceeded | None:
    """Return why its quota refuses the pod, None where it does not: no node is looked at for it."""
    if not quotas_of(cluster.view).may_refuse(trigger):
        return None
    return quota_state(cluster.view, cluster.rules, cluster.pending).refusal(trigger)
