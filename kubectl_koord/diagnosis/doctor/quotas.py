"""Quotas: what `quota` finds wrong with them."""

from collections.abc import Iterator

from kubectl_koord.diagnosis import visibility
from kubectl_koord.diagnosis.quotas import findings, holding
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.view import of
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.wording.doctor.naming import about


def of_quotas(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with quotas; without pods or nodes what they tell alone."""
    if visibility.unread(snapshot, "quota-names"):
        return
    view = of(snapshot)
    if visibility.unread(snapshot, "quotas"):
        found = findings.of_quotas(quota_tree(snapshot))
    else:
        found = findings.findings(view, holding.state_of(view))
    for one in found:
        named = about("ElasticQuota", [one.object])
        yield Finding(one.code, one.severity, named, one.message, one.remedy, (one.object,))
