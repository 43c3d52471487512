"""The configuration of Koordinator's parts: Deployments, plugins, and arguments of LoadAware and quotas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects import fields
from kubectl_koord.cluster.objects.fields import (
    Int32,
    Int64,
    Meta,
    arguments_of,
    mapping,
    mappings,
    namespace,
    parse_int,
    texts,
)
from kubectl_koord.cluster.objects.pool import Amounts, limits
from kubectl_koord.model import installation, keys, quotas, values
from kubectl_koord.model.installation import OF_KUBERNETES, ORDERING, POINTS, DefaultPreemption, Extender, Plugins
from kubectl_koord.model.load import AggregatedThresholds, EstimatedTime, LoadSettings, Percentages, Thresholds

SCHEDULER, MANAGER, DESCHEDULER = "koord-scheduler", "koord-manager", "koord-descheduler"
KOORDLET = "koordlet"
PARTS = (MANAGER, DESCHEDULER, SCHEDULER)
LABEL = "koord-app"
_CONFIG = "--config"


class Mount(Struct, gc=False, rename="camel"):
    """A container's volumeMounts[]."""

    name: str = ""
    mount_path: str = ""
    sub_path: str = ""


class ImageContainer(Struct, gc=False, rename="camel"):
    """A container's image and how it is started."""

    image: str = ""
    name: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    volume_mounts: list[Mount] | None = None


class KeyPath(Struct, gc=False):
    """A key of a ConfigMap, and the file that has it."""

    key: str = ""
    path: str = ""


class ConfigSource(Struct, gc=False):
    """The ConfigMap of a volume."""

    name: str = ""
    items: list[KeyPath] | None = None


class Source(Struct, gc=False, rename="camel"):
    """projected.sources[]."""

    config_map: ConfigSource | None = None


class Projected(Struct, gc=False):
    """A volume of several sources."""

    sources: list[Source] | None = None


class ConfigVolume(Struct, gc=False, rename="camel"):
    """A volume, perhaps of a ConfigMap."""

    name: str = ""
    config_map: ConfigSource | None = None
    projected: Projected | None = None
    host_path: dict[str, Any] | None = None
    secret: dict[str, Any] | None = None

    @property
    def config_maps(self) -> list[ConfigSource]:
        """The ConfigMaps that it has files of."""
        parts = (one.config_map for one in (self.projected.sources or () if self.projected else ()))
        return [one for one in (self.config_map, *parts) if one is not None]

    @property
    def kind(self) -> str:
        """The kind of source, empty for an unknown one."""
        if self.host_path is not None:
            return " ".join(filter(None, ("hostPath", str(self.host_path.get("path") or ""))))
        return "Secret" if self.secret is not None else "other"


class ImageSpec(Struct, gc=False):
    """A pod template's spec."""

    containers: list[ImageContainer] | None = None
    volumes: list[ConfigVolume] | None = None


class Template(Struct, gc=False):
    """A pod template."""

    spec: ImageSpec = field(default_factory=ImageSpec)


class DeploymentSpec(Struct, gc=False):
    """spec of a Deployment."""

    replicas: Int32 | None = None
    template: Template = field(default_factory=Template)


class DeploymentStatus(Struct, gc=False, rename="camel"):
    """status of a Deployment; no number is 0."""

    available_replicas: Int32 | None = None
    ready_replicas: Int32 | None = None

    @property
    def available(self) -> int:
        """How many pods are available; those that are ready count, too, as they are to be in a moment."""
        return max(self.available_replicas or 0, self.ready_replicas or 0)


class Deployment(Struct, gc=False):
    """One Deployment."""

    metadata: Meta
    spec: DeploymentSpec = field(default_factory=DeploymentSpec)
    status: DeploymentStatus | None = None

    @property
    def containers(self) -> list[ImageContainer]:
        """The containers of its pods."""
        return self.spec.template.spec.containers or []


class DaemonSetStatus(Struct, gc=False, rename="camel"):
    """status of a DaemonSet; no number is 0."""

    desired_number_scheduled: Int32 | None = None
    number_ready: Int32 | None = None


class DaemonSet(Struct, gc=False):
    """One DaemonSet."""

    metadata: Meta
    status: DaemonSetStatus = field(default_factory=DaemonSetStatus)


def agents(written: DaemonSet) -> installation.Agents | None:
    """Return how many pods of koordlet are wanted, and ready; None for any other DaemonSet."""
    if written.metadata.name != KOORDLET:
        return None
    status = written.status
    name = f"{namespace(written.metadata)}/{written.metadata.name}"
    return installation.Agents(name, status.desired_number_scheduled or 0, status.number_ready or 0)


class Config(NamedTuple):
    """A configuration's place: the ConfigMap, and the key in it; without a name the `volume` that is none of one."""

    name: str
    key: str
    volume: str = ""


def is_part(deployment: Deployment, part: str) -> bool:
    """Tell whether a Deployment is this part of Koordinator: by its name, its label, or an image."""
    meta = deployment.metadata
    named = {meta.name, (meta.labels or {}).get(LABEL), *(_repository(one.image) for one in deployment.containers)}
    return part in named


def find(deployments: Iterable[Deployment], part: str, home: str) -> Deployment | None:
    """Return the Deployment of a part: the one of its name and in this namespace, if there is such a one."""

    def how_unusual(one: Deployment) -> tuple[bool, bool, str, str]:
        meta = one.metadata
        return meta.namespace != home, meta.name != part, meta.namespace or "", meta.name

    return min((one for one in deployments if is_part(one, part)), key=how_unusual, default=None)


def _repository(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def image(deployment: Deployment, part: str) -> str:
    """Return the image of a part: of the container that the Helm chart names after it, or else the first."""
    chosen = [one for one in deployment.containers if one.name == part.removeprefix("koord-")]
    return next((one.image for one in (*chosen, *deployment.containers)), "")


def words(deployment: Deployment) -> Iterator[str]:
    """Yield its command lines, word by word."""
    for container in deployment.containers:
        yield from (*(container.command or ()), *(container.args or ()))


def words_of(deployment: Deployment, part: str) -> Iterator[str]:
    """Yield the command-line words of a component's container, by its name or image; of all containers if none fits."""
    name = part.removeprefix("koord-")
    own = [one for one in deployment.containers if one.name == name or _repository(one.image) == part]
    for container in own or deployment.containers:
        yield from (*(container.command or ()), *(container.args or ()))


def config_of(deployment: Deployment) -> Config | None:
    """Return the ConfigMap that the file of --config is from, None where no volume holds it."""
    volumes = {one.name: one for one in deployment.spec.template.spec.volumes or ()}
    path = flag_value([*words(deployment)], _CONFIG)
    mounts = [one for container in deployment.containers for one in container.volume_mounts or ()]
    for mount in sorted(mounts, key=lambda one: -len(one.mount_path)):
        file = _file_of(mount, path)
        if file and mount.name in volumes:
            return _config_in(volumes[mount.name], file)
    return None


def _file_of(mount: Mount, path: str) -> str:
    """Return which file of its volume a mount shows at a path, empty where it shows none there."""
    folder = mount.mount_path.rstrip("/") + "/"
    if path and path == mount.mount_path:
        return mount.sub_path
    return "/".join(filter(None, (mount.sub_path, path.removeprefix(folder)))) if path.startswith(folder) else ""


def _config_in(volume: ConfigVolume, file: str) -> Config:
    """Return the ConfigMap and key of a file; a ConfigMap without items has each key as a file."""
    for one in volume.config_maps:
        items = {item.path: item.key for item in one.items or ()}
        if file in items or not items:
            return Config(one.name, items.get(file, file))
    return Config("", file, volume.kind)


def flag_value(written: Sequence[str], flag: str) -> str:
    """Return the value of a flag, `--flag=value` or `--flag value`, empty where it is missing."""
    for word, following in pairwise([*written, ""]):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return ""


def installed(deployment: Deployment, part: str) -> installation.Deployment:
    """Return how a part is installed: its image, replicas and command line."""
    wanted, status = deployment.spec.replicas, deployment.status
    return installation.Deployment(
        deployment.metadata.name,
        image(deployment, part),
        1 if wanted is None else wanted,
        None if status is None else status.available,
        tuple(words(deployment)),
        part,
    )


_DEFAULT_EXPIRATION = 180
_RESOURCES = ("cpu", "memory")
ANNOTATIONS = (keys.LOAD_FACTORS, keys.LOAD_AFTER_SCHEDULED, keys.LOAD_AFTER_INITIALIZED)
"""The annotations by which a pod says how its usage is to be estimated."""
_MOST = 1 << 8


class Aggregated(Struct, gc=False, rename="camel"):
    """aggregatedUsage of the annotation, or `aggregated` of the arguments."""

    usage_thresholds: dict[str, Int64] | None = None
    usage_aggregation_type: str = ""
    usage_aggregated_duration: str | None = None


class Custom(Struct, gc=False, rename="camel"):
    """The annotation usage-thresholds of a node."""

    usage_thresholds: dict[str, Int64] | None = None
    prod_usage_thresholds: dict[str, Int64] | None = None
    aggregated_usage: Aggregated | None = None


class Arguments(Struct, gc=False, rename="camel"):
    """LoadAwareSchedulingArgs."""

    usage_thresholds: dict[str, Int64] | None = None
    prod_usage_thresholds: dict[str, Int64] | None = None
    aggregated: Aggregated | None = None
    filter_expired_node_metrics: bool | None = None
    node_metric_expiration_seconds: Int64 | None = None
    enable_schedule_when_node_metrics_expired: bool | None = None
    estimated_scaling_factors: dict[str, Int64] | None = None
    estimated_seconds_after_pod_scheduled: Int64 | None = None
    estimated_seconds_after_initialized: Int64 | None = None
    prod_usage_include_sys: bool = False
    allow_customize_estimation: bool = False


@lru_cache(maxsize=1024)
def own_thresholds(annotation: str | None) -> Thresholds:
    """Return a node's own thresholds; one that cannot be read counts for nothing, as the scheduler has it."""
    if not annotation:
        return Thresholds()
    try:
        written: Custom = fields.decode(annotation, Custom)
    except (msgspec.DecodeError, RecursionError):
        return Thresholds()
    if not _is_duration(written.aggregated_usage):
        return Thresholds()
    return _thresholds(written.usage_thresholds, written.prod_usage_thresholds, written.aggregated_usage)


def settings(arguments: Mapping[str, Any]) -> LoadSettings:
    """Return the plugin's arguments, with upstream's defaults for what they leave out.

    Arguments that the scheduler could not read either are taken as none. Mirrors `SetDefaults_LoadAwareSchedulingArgs`.
    """
    try:
        written = msgspec.convert(arguments, Arguments)
    except msgspec.ValidationError:
        written = Arguments()
    defaults = LoadSettings()
    own = _thresholds(written.usage_thresholds, written.prod_usage_thresholds, written.aggregated)
    expiration = written.node_metric_expiration_seconds
    return LoadSettings(
        thresholds=own.over(Thresholds(whole=defaults.thresholds.whole)),
        factors=_percentages(dict(defaults.factors) | (written.estimated_scaling_factors or {})),
        filters_expired=written.filter_expired_node_metrics is not False,
        expiration=_DEFAULT_EXPIRATION if expiration is None else expiration,
        passes_expired=bool(written.enable_schedule_when_node_metrics_expired),
        after_scheduled=max(0, written.estimated_seconds_after_pod_scheduled or 0),
        prod_includes_system=written.prod_usage_include_sys,
        after_initialized=max(0, written.estimated_seconds_after_initialized or 0),
        customizable=written.allow_customize_estimation,
        limits_others=any(_limited_others(written)),
    )


def own_factors(annotations: Mapping[str, str | None]) -> Mapping[str, int]:
    """Return the percentages that a pod sets itself, none where they cannot be read.

    Mirrors `GetCustomEstimatedScalingFactors` in apis/extension/load_aware.go.
    """
    written = annotations.get(keys.LOAD_FACTORS)
    return _own_factors(written) if written else {}


@lru_cache(_MOST)
def _own_factors(written: str) -> Mapping[str, int]:
    try:
        found = msgspec.json.decode(written, type=dict[str, Int64 | None] | None)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {resource: percent or 0 for resource, percent in (found or {}).items()}


def estimated_time(annotations: Mapping[str, str | None]) -> EstimatedTime | None:
    """Return how long a pod's load estimate counts by its own annotations, None without any that can be decoded.

    Mirrors `GetCustomEstimatedSecondsAfterPodScheduled` and `...AfterInitialized` in apis/extension/load_aware.go.
    """
    found = EstimatedTime(
        _seconds(annotations.get(keys.LOAD_AFTER_SCHEDULED)), _seconds(annotations.get(keys.LOAD_AFTER_INITIALIZED))
    )
    return None if found == EstimatedTime() else found


def _seconds(written: str | None) -> int | None:
    """Return seconds, None for what is no number, and for what is below 0."""
    value = parse_int(written)
    return value if value is not None and value >= 0 else None


def _limited_others(written: Arguments) -> Iterator[int]:
    """Yield the thresholds of resources that are not measured here."""
    aggregated = written.aggregated.usage_thresholds if written.aggregated is not None else None
    for group in (written.usage_thresholds, written.prod_usage_thresholds, aggregated):
        yield from (percent for resource, percent in (group or {}).items() if resource not in _RESOURCES)


def _is_duration(written: Aggregated | None) -> bool:
    """Tell whether the duration, if any, is one; where it is not, nothing of the annotation can be read."""
    text = written.usage_aggregated_duration if written is not None else None
    return text is None or (text != "" and fields.seconds(text) is not None)


def _thresholds(whole: dict[str, int] | None, prod: dict[str, int] | None, aggregated: Aggregated | None) -> Thresholds:
    return Thresholds(_percentages(whole), _percentages(prod), _aggregated(aggregated))


def _percentages(written: Mapping[str, int] | None) -> Percentages:
    """Return what is written of the resources that are measured; a group that names others alone is switched off."""
    known = tuple((resource, written[resource]) for resource in _RESOURCES if written and resource in written)
    return known or ((("cpu", 0),) if written else ())


def _aggregated(written: Aggregated | None) -> AggregatedThresholds | None:
    if written is None or not written.usage_thresholds or not written.usage_aggregation_type:
        return None
    seconds = fields.seconds(written.usage_aggregated_duration or "") or 0
    return AggregatedThresholds(_percentages(written.usage_thresholds), written.usage_aggregation_type, seconds)


PREEMPTION = "DefaultPreemption"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_AFFINITY, _FIT = "NodeAffinity", "NodeResourcesFit"
_PREEMPTING = ("Coscheduling", "ElasticQuota")
_BY_DEFAULT = frozenset((*OF_KUBERNETES, PREEMPTION))
_EVERY = "*"
DECIDING = ("multiPoint", "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "reserve", "permit")
"""The points at which a plugin may keep pods from nodes, or choose victims."""
KNOWN = frozenset((*POINTS, *_BY_DEFAULT, *ORDERING))
"""The plugins of kube-scheduler and Koordinator."""


def plugins_of(profile: dict[str, Any]) -> Plugins:
    """Return the plugins that a profile does not enable, none without `plugins`, and arguments that restrain them."""
    plugins, fit = mapping(profile.get("plugins")), arguments_of(profile, _FIT)
    added = arguments_of(profile, _AFFINITY).get("addedAffinity")
    return Plugins(
        tuple(_off(plugins)) if plugins else (),
        _default_preemption(plugins) if plugins else "",
        mapping(added).get(REQUIRED) is not None,
        texts(fit.get("ignoredResources")),
        texts(fit.get("ignoredResourceGroups")),
    )


def unknown_of(profile: dict[str, Any]) -> Iterator[str]:
    """Yield the unknown plugins that a profile enables at points where they may decide."""
    plugins = mapping(profile.get("plugins"))
    enabled = dict.fromkeys(name for point in DECIDING for name in names(plugins, point, "enabled"))
    return (name for name in enabled if name not in KNOWN)


def extenders_of(found: dict[str, Any]) -> tuple[Extender, ...]:
    """Return the extenders of a configuration that have a say in where pods go, or in who is preempted."""
    every = mappings(found.get("extenders"))
    told = (Extender(bool(one.get("filterVerb")), bool(one.get("preemptVerb")), _managed(one)) for one in every)
    return tuple(one for one in told if one.filters or one.preempts)


def _managed(extender: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(one.get("name")) for one in mappings(extender.get("managedResources")))


def _off(plugins: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, points in POINTS.items():
        lacking = tuple(point for point in points if not _is_enabled(plugins, name, point))
        if lacking:
            yield name, lacking


def _is_enabled(plugins: dict[str, Any], name: str, point: str) -> bool:
    """Tell whether a plugin runs at a point; mirrors `expandMultiPointPlugins` of kube-scheduler's framework."""
    if name in names(plugins, point, "enabled"):
        return True
    by_default = name in _BY_DEFAULT and _is_left(plugins, name, "multiPoint")
    everywhere = by_default or name in names(plugins, "multiPoint", "enabled")
    return everywhere and _is_left(plugins, name, point)


def _is_left(plugins: dict[str, Any], name: str, point: str) -> bool:
    return {name, _EVERY}.isdisjoint(names(plugins, point, "disabled"))


def _default_preemption(plugins: dict[str, Any]) -> DefaultPreemption:
    """Return when DefaultPreemption runs: what is enabled at all points comes before what is listed for this one."""
    if not _is_enabled(plugins, PREEMPTION, "postFilter"):
        return ""
    listed = names(plugins, "postFilter", "enabled")
    before = listed[: listed.index(PREEMPTION)] if PREEMPTION in listed else []
    is_last = not _is_left(plugins, PREEMPTION, "postFilter") and set(_PREEMPTING) & {*listed} <= {*before}
    return "last" if is_last else "first"


def names(plugins: dict[str, Any], point: str, part: str) -> list[str]:
    """Return the plugins that are enabled or disabled at a point, in their order."""
    found = plugins.get(point)
    listed = found.get(part) if isinstance(found, dict) else None
    return [str(one.get("name")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


_OPEN_GATES = ("ElasticQuotaIgnorePodOverhead", quotas.IGNORE_TERMINATING)


def quota_settings(arguments: Mapping[str, Any], gates: Mapping[str, bool]) -> quotas.QuotaSettings:
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


def _maximum(written: Any) -> values.Resources:  # noqa: ANN401
    try:
        return limits(msgspec.convert(written, Amounts)) if written else quotas.UNLIMITED
    except (msgspec.ValidationError, values.QuantityError):
        return quotas.UNLIMITED
