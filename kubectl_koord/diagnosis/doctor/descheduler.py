"""koord-descheduler: which plugins evict pods, how many and where, and which gangs that could break."""

from collections.abc import Iterator

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.doctor.finding import found
from kubectl_koord.engine.gangs import all_gangs
from kubectl_koord.model.installation import Installation
from kubectl_koord.model.others.descheduler import Descheduler, DeschedulerProfile
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.selectors import matches
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.wording.doctor import descheduler as sentences

_CONFIG, _DEPLOYMENT = ("koord-descheduler-config",), "koord-descheduler"
_CRITICAL = 2_000_000_000
"""The priority from which on pods are those of the system (`SystemCriticalPriority`)."""


def of_descheduler(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what koord-descheduler does by its configuration, where that was read."""
    installed = snapshot.installation or Installation()
    configured = installed.descheduler
    if configured is None:
        return
    if configured.state == "unreadable":
        yield found("descheduler-unreadable", "warning", "ConfigMap", _CONFIG, sentences.UNREADABLE)
        return
    deployment = installed.deployment(_DEPLOYMENT)
    is_off = deployment is not None and not deployment.wanted
    yield found("descheduler-settings", "info", "ConfigMap", _CONFIG, sentences.settings(configured, is_off=is_off))
    broken = [] if is_off else _could_break(snapshot, configured)
    if broken:
        yield found("descheduler-breaks-gangs", "warning", "Gang", broken, sentences.breaks(broken))


def _could_break(snapshot: Snapshot, configured: Descheduler) -> list[str]:
    """Return the running gangs that the eviction of any one pod brings below their minimum."""
    profiles = tuple(configured.evicting())
    return [
        key
        for key, gang in all_gangs(snapshot).items()
        if len(gang.running) == gang.minimum
        and any(_may_evict(profile, pod) for profile in profiles for pod in gang.running)
    ]


def _may_evict(profile: DeschedulerProfile, pod: RunningPod) -> bool:
    """Tell whether a plugin may choose a pod, and MigrationController lets it be evicted (its `NewEvictorFilter`).

    Limits of a workload, PodDisruptionBudgets, the load of nodes and what plugins look at are left out.
    """
    terms = profile.evictable
    return (
        terms.namespaces.cover(pod.namespace)
        and any(plugin.namespaces.cover(pod.namespace) for plugin in profile.plugins)
        and (terms.priority_below is None or pod.priority < terms.priority_below)
        and (terms.critical or pod.priority < _CRITICAL)
        and (terms.selector is None or matches(terms.selector, dict(pod.labels)))
        and (terms.bare or bool(pod.owner))
        and not disruption.comes_back_there(pod)
        and not pod.terminating
    )
