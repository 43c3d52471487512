"""How Koordinator is installed, as far as a collector took it."""

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collecting import home
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.objects.fields import deployments
from kubectl_koord.cluster.objects.fields.deployments import Deployment
from kubectl_koord.cluster.objects.kubernetes.installation import profiles
from kubectl_koord.model.installation import Installation


def descheduler_config(collector: Collector) -> tuple[str, str]:
    """Return namespace and name of the ConfigMap of koord-descheduler, as far as what was taken tells them."""
    where, _ = home.descheduler_config(_descheduler(collector), collector.scheduler().home.namespace)
    return where


def installation(collector: Collector) -> Installation:
    """Return the parts of Koordinator, their configuration, and what belongs to them."""
    own = collector.scheduler()
    config_maps = collector.values(kinds.CONFIG_MAP)
    return Installation(
        deployments=home.parts(own, collector.values(kinds.DEPLOYMENT).values()),
        priority_classes=tuple(one for _, one in sorted(collector.values(kinds.PRIORITY_CLASS).items())),
        webhooks=(*collector.values(kinds.MUTATING).values(), *collector.values(kinds.VALIDATING).values()),
        config=own.state,
        config_fault=own.fault,
        config_from=_from(own),
        config_unused=own.unused,
        profiles=profiles(own.parsed or {}),
        kinds=tuple(sorted(collector.kinds)),
        descheduler=home.descheduler_found(_descheduler(collector), config_maps, own.home.namespace),
    )


def _from(own: home.Scheduler) -> str:
    """Return what the scheduler's Deployment has its configuration from, empty where it does not tell."""
    if own.place is None:
        return ""
    return f"key {own.place.key} of ConfigMap {own.place.name}" if own.place.name else f"{own.place.volume} volume"


def _descheduler(collector: Collector) -> Deployment | None:
    beside = collector.scheduler().home.namespace
    return deployments.find(collector.values(kinds.DEPLOYMENT).values(), deployments.DESCHEDULER, beside)
