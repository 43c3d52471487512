"""How the scheduler is told to treat quotas: arguments of the ElasticQuota plugin, and feature gates."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubectl_koord.cluster.objects.fields.amounts import Amounts, limits
from kubectl_koord.model import quotas
from kubectl_koord.model.values import quantity

_OPEN_GATES = ("ElasticQuotaIgnorePodOverhead", quotas.IGNORE_TERMINATING)


def settings(arguments: Mapping[str, Any], gates: Mapping[str, bool]) -> quotas.QuotaSettings:
    """Return how the plugin is configured: what is not written, or is not readable, is as by default."""
    usual = quotas.QuotaSettings()
    hooks = arguments.get("hookPlugins")
    ignores_terminating = gates.get("ElasticQuotaImmediateIgnoreTerminatingPod", False)
    decided = {quotas.IGNORE_TERMINATING} if ignores_terminating else frozenset[str]()
    return quotas.QuotaSettings(
        by_runtime=_flag(arguments, "enableRuntimeQuota", default=usual.by_runtime),
        check_parents=_flag(arguments, "enableCheckParentQuota", default=usual.check_parents),
        scale_min=_flag(arguments, "enableMinQuotaScale", default=usual.scale_min),
        default_max=_maximum(arguments.get("defaultQuotaGroupMax")),
        system_max=_maximum(arguments.get("systemQuotaGroupMax")),
        namespace=str(arguments.get("quotaGroupNamespace") or usual.namespace),
        hooks=tuple(str(hook.get("key", "")) for hook in hooks if isinstance(hook, dict))
        if isinstance(hooks, list)
        else (),
        spares_default=_flag(arguments, "disableDefaultQuotaPreemption", default=usual.spares_default),
        revokes=_flag(arguments, "monitorAllQuotas", default=usual.revokes),
        evict_after=str(arguments.get("delayEvictTime") or usual.evict_after),
        trees=gates.get("MultiQuotaTree", False),
        no_default=gates.get("DisableDefaultQuota", False),
        guarantees=gates.get("ElasticQuotaGuaranteeUsage", False),
        ignores_terminating=ignores_terminating,
        open_gates=tuple(gate for gate in _OPEN_GATES if gates.get(gate) and gate not in decided),
    )


def _flag(arguments: Mapping[str, Any], name: str, *, default: bool) -> bool:
    written = arguments.get(name)
    return written if isinstance(written, bool) else default


def _maximum(written: Any) -> quantity.Resources:  # noqa: ANN401
    try:
        return limits(msgspec.convert(written, Amounts)) if written else quotas.UNLIMITED
    except (msgspec.ValidationError, quantity.QuantityError):
        return quotas.UNLIMITED
