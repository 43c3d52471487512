"""Which Koordinator this is, how its scheduler is configured, and who leads: image tag, CRD, ConfigMap, Lease."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, pairwise
from typing import Any

from msgspec import Struct, field, structs

from kubectl_koord.cluster.bounds import TooLargeError
from kubectl_koord.cluster.objects import settings
from kubectl_koord.cluster.objects.fields import Int32, Meta, arguments_of, mapping, mappings
from kubectl_koord.cluster.objects.settings import (
    extenders_of,
    flag_value,
    names,
    plugins_of,
    quota_settings,
    unknown_of,
)
from kubectl_koord.language import say
from kubectl_koord.model import objects
from kubectl_koord.model.hardware import DEVICE_SCORING, NUMASettings, Scoring
from kubectl_koord.model.installation import COMPARED, GATES, is_newer, is_older, manages_topology, of_main
from kubectl_koord.model.resource_claims import GATES as OF_CLAIMS
from kubectl_koord.model.resource_claims import ClaimSettings
from kubectl_koord.model.settings import SetOtherwise, arguments_set, flags_set, gates_set, only_version
from kubectl_koord.model.snapshot import SchedulerConfig

NEWEST_RELEASE = "1.8"
LEASE = "koord-scheduler"
CONFIG = "koord-scheduler-config"
EXPLANATIONS = "scheduleexplanations.scheduling.koordinator.sh"
"""The CRD whose shape tells the version."""
_OF_CHART = (("huawei", "Ascend-310P3-300I-DUO"),)
_GATES = "--feature-gates"
_RELEASING = "DynamicResources"
_BIND_POLICIES = ("", "FullPCPUs", "SpreadByPCPUs")
_TAG = re.compile(r":v?(\d+)\.(\d+)(?:[.\-+].*)?$")


class ConfigMap(Struct, gc=False):
    """One ConfigMap, for the scheduler's configuration."""

    metadata: Meta
    data: dict[str, str] | None = None


class LeaseSpec(Struct, gc=False, rename="camel"):
    """spec of a Lease."""

    holder_identity: str | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: Int32 | None = None


class Lease(Struct, gc=False):
    """One Lease, for the scheduler's leader."""

    metadata: Meta
    spec: LeaseSpec = field(default_factory=LeaseSpec)


def lease(written: Lease) -> objects.Lease:
    """Return the Lease."""
    spec = written.spec
    return objects.Lease(
        name=written.metadata.name,
        holder=spec.holder_identity or "",
        renewed=spec.renew_time or "",
        acquired=spec.acquire_time or "",
        seconds=spec.lease_duration_seconds or 0,
    )


def from_image(image: str) -> str | None:
    """Return the version whose behaviour fits the image's tag, None for a private tag.

    Older releases than 1.7 read as 1.7, newer ones than 1.8 as main, and so what is built of main.
    """
    match = _TAG.search(image)
    if match is None:
        return "main" if of_main(image) else None
    release = (int(match[1]), int(match[2]))
    if release <= (1, 7):
        return "1.7"
    return "1.8" if release == (1, 8) else "main"


def from_explanation_schema(crd: Any) -> str | None:  # noqa: ANN401
    """Return the version by the fields of the ScheduleExplanation CRD, None where it has none that differs."""
    written = str(crd)
    if "questionObjectKey" in written:
        return "1.8"
    return "1.7" if "questionObjectReference" in written else None


def version(chosen: str, image: str, of_crds: str | None, flags: Iterable[str] = ()) -> tuple[str, str]:
    """Return the scheduler's version, and where it is from.

    Args:
        chosen: what the user says, empty for nothing: it beats what the cluster says.
        image: that of the scheduler, empty where it was not read.
        of_crds: the version of Koordinator's CRDs, None where they do not tell it.
        flags: those of the scheduler: one version alone may know its feature gates.
    """
    newer = ""
    if is_newer(image):
        newer = say("; the image may be newer than what answers are compared with, {compared}", compared=COMPARED)
    if is_older(image):
        newer = say("; the image is older than 1.7, the first whose rules are known")
    if chosen:
        return chosen, say("as requested") + newer
    by_image = from_image(image)
    if by_image:
        return by_image, say("from the image tag") + newer
    by_gates = only_version(_feature_gates(flags))
    if by_gates:
        return by_gates, say("from its feature gates")
    if of_crds:
        return of_crds, say("from the CRDs")
    return NEWEST_RELEASE, say("assumed: newest known release")


def is_configuration(name: str, text: str) -> bool:
    """Tell whether an entry of a ConfigMap is a scheduler's configuration, by its name or its `kind`."""
    return name == CONFIG or "KubeSchedulerConfiguration" in text


def text_of(config_map: ConfigMap, key: str = CONFIG) -> str | None:
    """Return the configuration that a ConfigMap holds: what is under the key, or else the one there is."""
    data = config_map.data or {}
    known = {name: text for name, text in data.items() if is_configuration(name, text)}
    return data.get(key) or next(iter(known.values()), None) or None


def _feature_gates(flags: Iterable[str]) -> dict[str, bool]:
    """Return the feature gates that are set: `--feature-gates=A=true,B=false`, also as two words."""
    told = (
        following if word == _GATES else word.removeprefix(f"{_GATES}=")
        for word, following in pairwise([*flags, ""])
        if word.partition("=")[0] == _GATES
    )
    written = [pair for value in told for pair in value.split(",") if pair.strip()]
    return {name.strip(): value.strip().lower() == "true" for name, _, value in (one.partition("=") for one in written)}


def config(
    version: str,
    version_from: str,
    found: dict[str, Any] | None,
    flags: Sequence[str] = (),
    own_flags: Sequence[str] | None = None,
) -> SchedulerConfig:
    """Return the configuration: the one that was found and could be read, the Helm chart's otherwise.

    `own_flags` are those of the scheduler's container alone, None for all.
    """
    elects = _elects_leader(found or {}) and "--leader-elect=false" not in flags
    gates = _feature_gates(flags)
    profiles = _profiles(found or {})
    settings_of = (*gates_set(version, gates), *flags_set(version, flags if own_flags is None else own_flags))
    if not profiles:
        return SchedulerConfig(
            version=version,
            version_from=version_from,
            manages_topology=manages_topology(flags),
            unshareable_gpus=_OF_CHART,
            elects_leader=elects,
            extenders=extenders_of(found or {}),
            gates=_open_gates(version, gates),
            quotas=quota_settings({}, gates),
            claims=_claims({}, gates),
            settings=settings_of,
        )
    base = SchedulerConfig(
        version=version,
        version_from=version_from,
        manages_topology=manages_topology(flags),
        elects_leader=elects,
        extenders=extenders_of(found or {}),
        gates=_open_gates(version, gates),
        settings=settings_of,
        assumed=False,
    )
    every = [_of_profile(one, base, gates) for one in profiles]
    told = [bool(one.get("plugins")) for one in profiles]
    names = _names_of(profiles)
    unlike = (one != every[0] or is_told is not told[0] for one, is_told in zip(every, told, strict=True))
    return structs.replace(every[0], profiles=names, differing=tuple(compress(names, unlike)))


def _of_profile(profile: dict[str, Any], base: SchedulerConfig, gates: dict[str, bool]) -> SchedulerConfig:
    arguments, devices = arguments_of(profile, "Coscheduling"), arguments_of(profile, "DeviceShare")
    plugins = plugins_of(profile)
    quotas = quota_settings(arguments_of(profile, "ElasticQuota"), gates)
    return structs.replace(
        base,
        preemption=bool(arguments.get("enablePreemption", False)) and "postFilter" not in plugins.lacks("Coscheduling"),
        aware_of_topology=bool(arguments.get("awareNetworkTopology", False)),
        default_match_policy=str(arguments.get("defaultMatchPolicy") or "once-satisfied"),
        load=settings.settings(arguments_of(profile, "LoadAwareScheduling")),
        numa=_numa(arguments_of(profile, "NodeNUMAResource")),
        device_scoring=_scoring(devices.get("scoringStrategy"), DEVICE_SCORING),
        aligns_devices=devices.get("disableDeviceNUMATopologyAlignment") is not True,
        unshareable_gpus=_models(devices.get("gpuShareUnsupportedModels")),
        quotas=structs.replace(quotas, enforced="preFilter" not in plugins.lacks("ElasticQuota")),
        plugins=plugins,
        claims=_claims(profile, gates),
        settings=tuple(dict.fromkeys((*base.settings, *_arguments_set(base.version, profile)))),
    )


def _arguments_set(version: str, profile: dict[str, Any]) -> Iterator[SetOtherwise]:
    yield from (SetOtherwise("plugin", name, known=False) for name in unknown_of(profile))
    for one in mappings(profile.get("pluginConfig")):
        if isinstance(one.get("args"), dict):
            yield from arguments_set(version, str(one.get("name")), one["args"])


def _open_gates(version: str, gates: dict[str, bool]) -> tuple[str, ...]:
    """Return the feature gates that are on and let the scheduler see other values than the objects have."""
    every = gates.get("AllAlpha", False)
    return tuple(gate for gate, versions in GATES.items() if version in versions and gates.get(gate, every))


def profiles(found: dict[str, Any]) -> tuple[str, ...]:
    """Return the schedulerNames that a configuration serves; those of the Helm chart for one without profiles."""
    return _names_of(_profiles(found)) or SchedulerConfig().profiles


def _profiles(found: dict[str, Any]) -> list[dict[str, Any]]:
    return mappings(found.get("profiles"))


def _names_of(profiles: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(str(one.get("schedulerName") or "default-scheduler") for one in profiles)


def _claims(profile: dict[str, Any], gates: dict[str, bool]) -> ClaimSettings:
    """Return the settings for resource claims; without `plugins` no plugin is enabled at postFilter."""
    found = mapping(profile.get("plugins"))
    here, off = (set(names(found, "postFilter", part)) for part in ("enabled", "disabled"))
    releases = _RELEASING in here or (bool(found) and off.isdisjoint({_RELEASING, "*"}))
    every = gates.get("AllAlpha", False)
    return ClaimSettings(frozenset(gate for gate in OF_CLAIMS.values() if gates.get(gate, every)), releases)


def _elects_leader(parsed: dict[str, Any]) -> bool:
    election = parsed.get("leaderElection")
    return not isinstance(election, dict) or election.get("leaderElect", True) is not False


def lease_of(parsed: dict[str, Any], flags: Sequence[str] = ()) -> tuple[str, str]:
    """Return the name and the namespace (empty: the scheduler's own) of the lease by which leaders are elected."""
    written = mapping(parsed.get("leaderElection"))
    name, home = written.get("resourceName"), written.get("resourceNamespace")
    return (
        flag_value(flags, "--leader-elect-resource-name") or (name if isinstance(name, str) else "") or LEASE,
        flag_value(flags, "--leader-elect-resource-namespace") or (home if isinstance(home, str) else ""),
    )


@lru_cache(maxsize=4)
def parsed(text: str) -> dict[str, Any] | None:
    """Return the configuration that a text is, None where it is none."""
    import yaml  # noqa: PLC0415  (only where there is a configuration to read)

    from kubectl_koord.cluster.files import read_document  # noqa: PLC0415

    try:
        found = read_document(text)
    except (yaml.YAMLError, RecursionError, ValueError, TooLargeError):
        return None
    return found if isinstance(found, dict) else None


def _numa(written: dict[str, Any]) -> NUMASettings:
    """Return how pods bind CPUs by default, and how zones are scored.

    Upstream weighs resources of zones as those of nodes: see `resourceStrategyTypeMap` in nodenumaresource/scoring.go.
    """
    default = NUMASettings()
    policy = written.get("defaultCPUBindPolicy")
    of_zones = _scoring(written.get("numaScoringStrategy"), default.scoring)
    of_nodes = _scoring(written.get("scoringStrategy"), default.scoring)
    return NUMASettings(
        policy if policy in _BIND_POLICIES else default.bind_policy,
        Scoring(of_nodes.weights, of_zones.most_allocated),
    )


def _scoring(written: Any, default: Scoring) -> Scoring:  # noqa: ANN401
    """Return a strategy; one that is written counts no resource but those that it names."""
    if not isinstance(written, dict):
        return default
    weights = tuple((str(one.get("name")), _weight(one.get("weight"))) for one in mappings(written.get("resources")))
    return Scoring(weights, written.get("type") == "MostAllocated")


def _weight(written: Any) -> int:  # noqa: ANN401
    return written if isinstance(written, int) and not isinstance(written, bool) else 0


def _models(written: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401
    return tuple((str(one.get("vendor") or ""), str(one.get("model") or "")) for one in mappings(written))
