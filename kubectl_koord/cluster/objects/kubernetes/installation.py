"""What `doctor` reads: priority classes, webhooks, and the scheduler's profiles in whole."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta
from kubectl_koord.model import installation

_POINTS = ("preEnqueue", "queueSort", "preFilter", "postFilter", "reserve", "permit", "postBind")
_DEFAULTS = {"postFilter": ("DefaultPreemption",)}
"""Of the plugins that Kubernetes enables by itself, the one that matters here."""


class PriorityClass(Struct, gc=False, rename="camel"):
    """One PriorityClass."""

    metadata: Meta
    value: Int32 = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


class ClientConfig(Struct, gc=False, rename="camel"):
    """How a webhook is called."""

    ca_bundle: str | None = None


class Hook(Struct, gc=False, rename="camel"):
    """webhooks[]."""

    name: str = ""
    client_config: ClientConfig = field(default_factory=ClientConfig)


class Webhooks(Struct, gc=False):
    """One MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""

    metadata: Meta
    webhooks: list[Hook] | None = None


def priority_class(written: PriorityClass) -> installation.PriorityClass:
    """Return the PriorityClass."""
    return installation.PriorityClass(
        written.metadata.name, written.value, bool(written.global_default), written.preemption_policy or ""
    )


def mutating(written: Webhooks) -> installation.Webhooks:
    """Return the webhooks that change objects."""
    return _webhooks("MutatingWebhookConfiguration", written)


def validating(written: Webhooks) -> installation.Webhooks:
    """Return the webhooks that refuse objects."""
    return _webhooks("ValidatingWebhookConfiguration", written)


def _webhooks(kind: str, written: Webhooks) -> installation.Webhooks:
    unsigned = tuple(hook.name for hook in written.webhooks or () if not hook.client_config.ca_bundle)
    hooks = tuple(hook.name for hook in written.webhooks or ())
    return installation.Webhooks(kind, written.metadata.name, unsigned, hooks)


def profiles(parsed: Mapping[str, Any]) -> tuple[installation.Profile, ...]:
    """Return the profiles of a KubeSchedulerConfiguration."""
    return tuple(
        installation.Profile(
            str(one.get("schedulerName") or "default-scheduler"),
            tuple((point, _enabled(_mapping(one.get("plugins")), point)) for point in _POINTS),
            _arguments(one),
        )
        for one in _mappings(parsed.get("profiles"))
    )


def _enabled(plugins: Mapping[str, Any], point: str) -> tuple[str, ...]:
    """Return what is enabled at a point, there or at all points (`multiPoint`), and not disabled."""
    here, everywhere = _mapping(plugins.get(point)), _mapping(plugins.get("multiPoint"))
    off = {*_names(here, "disabled")}
    never = off | {*_names(everywhere, "disabled")}
    usual = [name for name in _DEFAULTS.get(point, ()) if not never & {name, "*"}]
    wide = [name for name in _names(everywhere, "enabled") if not off & {name, "*"} and _has(name, point)]
    return tuple(dict.fromkeys((*usual, *wide, *_names(here, "enabled"))))


def _has(name: str, point: str) -> bool:
    """Tell whether a plugin may run at a point: `multiPoint` skips those that it lacks, such as queueSort of most."""
    return point != "queueSort" or name == "PrioritySort"


def _arguments(profile: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    for plugin in _mappings(profile.get("pluginConfig")):
        if plugin.get("name") == "Coscheduling":
            return tuple((str(name), _spelled(value)) for name, value in _mapping(plugin.get("args")).items())
    return ()


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _names(plugins: Mapping[str, Any], field_name: str) -> Iterator[str]:
    yield from (str(one.get("name") or "") for one in _mappings(plugins.get(field_name)))


def _mapping(written: object) -> Mapping[str, Any]:
    return written if isinstance(written, dict) else {}


def _mappings(written: object) -> Iterable[Mapping[str, Any]]:
    return [one for one in written if isinstance(one, dict)] if isinstance(written, list) else []
