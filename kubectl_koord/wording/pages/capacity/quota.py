"""The sentences of `quota`."""

from kubectl_koord.reports.capacity.quota import Eviction, QuotaFinding, QuotaRow, QuotaTreeReport
from kubectl_koord.wording.pages.common import and_more
from kubectl_koord.wording.words import count, listed, resource_name

FINDINGS = "Findings"
HEADROOM = "Room for more pods like its first, from its quota upwards"
NOT_CHECKED = "not checked, but limits those below"


def counted(report: QuotaTreeReport) -> str:
    """Return what the tree counts, and which other resources quotas have."""
    others = sorted({name for quota in report.quotas for name in quota.max if not quota.built_in} - {report.resource})
    more = f" (--resource counts another: {', '.join(others)})" if others else ""
    return f"Counted: {resource_name(report.resource)}{more}."


def finding(one: QuotaFinding) -> str:
    """Return what is wrong with a quota, and what to do."""
    return f"{one.severity}: {one.object}: {one.message} {one.remedy} ({one.code})"


def more_findings(number: int) -> str:
    """Return how many more findings there are."""
    return and_more(count(number, "more finding"))


def evicts(one: Eviction, *, on: bool) -> str:
    """Return which pods of a quota the over-use controller evicts, or would."""
    what = f"{one.quota} uses more than its runtime ({listed([resource_name(name) for name in one.resources])})"
    if not one.pods:
        return f"{what}: it has no pods of its own that may be evicted."
    when = "evicted if that lasts" if on else "would be evicted if the controller was on"
    return f"{what}; {when}: {listed([pod.pod for pod in one.pods])}."


def notes(quota: QuotaRow) -> str:
    """Return what is special about a quota, in a few words."""
    found = [f"tree {quota.tree}"] if quota.tree and quota.depth == 1 else []
    found += ["does not lend"] if not quota.lends and not quota.built_in else []
    found += [quota.fault] if quota.fault else []
    return ", ".join(found)
