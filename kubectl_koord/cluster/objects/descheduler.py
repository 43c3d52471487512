"""koord-descheduler's configuration, PodMigrationJobs, and ColocationProfiles."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import (
    Int32,
    LabelSelector,
    Meta,
    arguments_of,
    label_selector,
    mapping,
    mappings,
    names_of,
)
from kubectl_koord.model import installation
from kubectl_koord.model.installation import ConfigState
from kubectl_koord.model.values import Selector


class ProfileSpec(Struct, gc=False, rename="camel"):
    """spec of a ClusterColocationProfile."""

    namespace_selector: LabelSelector | None = None
    selector: LabelSelector | None = None
    probability: int | str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    label_keys_mapping: dict[str, str] | None = None
    annotation_keys_mapping: dict[str, str] | None = None
    label_suffixes: dict[str, str] | None = None
    scheduler_name: str | None = None
    qos_class: str | None = None
    priority_class_name: str | None = None
    koordinator_priority: Int32 | None = None
    patch: dict[str, Any] | None = None


class ColocationProfile(Struct, gc=False):
    """One ClusterColocationProfile."""

    metadata: Meta
    spec: ProfileSpec = field(default_factory=ProfileSpec)


CONFIG = "koord-descheduler-config"
EVICTOR = "MigrationController"
CHOOSING = ("deschedule", "balance")
OF_ALL = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")
OF_EVICTOR: Mapping[str, object] = {
    "maxMigratingGlobally": None,
    "maxMigratingPerNode": 2,
    "maxMigratingPerNamespace": None,
    "maxMigratingPerWorkload": None,
    "maxUnavailablePerWorkload": None,
}
"""Limits of MigrationController, and what each is where it is not set (`SetDefaults_MigrationControllerArgs`)."""


UNREADABLE = installation.Descheduler("unreadable")


def is_configuration(name: str, text: str) -> bool:
    """Tell whether an entry of a ConfigMap is koord-descheduler's configuration, by its name or its `kind`."""
    return name == CONFIG or "DeschedulerConfiguration" in text


def text_of(data: Mapping[str, str], key: str = CONFIG) -> str | None:
    """Return the configuration that a ConfigMap holds: what is under the key, or else the one there is."""
    known = (text for name, text in data.items() if is_configuration(name, text))
    return data.get(key) or next(known, None)


def configuration(state: ConfigState, parsed: Mapping[str, Any]) -> installation.Descheduler | None:
    """Return the configuration; None where there is none.

    `state`: whether it is there, and can be read.
    """
    if state == "absent":
        return None
    if state == "unreadable":
        return UNREADABLE
    try:
        profiles = tuple(_profile(one, parsed) for one in mappings(parsed.get("profiles")))
    except msgspec.ValidationError:  # of a label selector: koord-descheduler does not start with it
        return UNREADABLE
    return installation.Descheduler(
        dry_run=parsed.get("dryRun") is True, interval=str(parsed.get("deschedulingInterval") or ""), profiles=profiles
    )


def _profile(written: Mapping[str, Any], parsed: Mapping[str, Any]) -> installation.DeschedulerProfile:
    plugins = mapping(written.get("plugins"))
    of_evictor = arguments_of(written, EVICTOR)
    gates = {str(gate) for gate in _list(of_evictor.get("skipEvictionGates"))}
    evictors = _enabled(mapping(plugins.get("evict")), (EVICTOR,))
    return installation.DeschedulerProfile(
        name=str(written.get("name") or "koord-descheduler"),
        plugins=tuple(
            installation.DeschedulerPlugin(name, point, _own_namespaces(arguments_of(written, name)))
            for point in CHOOSING
            for name in _enabled(mapping(plugins.get(point)), ())
        ),
        evictors=() if of_evictor.get("dryRun") is True else evictors,
        evictable=_evictable(of_evictor, gates),
        limits=tuple(_limits(parsed, of_evictor, gates)),
    )


def _evictable(arguments: Mapping[str, Any], gates: set[str]) -> installation.Evictable:
    below = mapping(arguments.get("priorityThreshold")).get("value")
    return installation.Evictable(
        namespaces=installation.Namespaces() if "Namespaces" in gates else _namespaces(arguments.get("namespaces")),
        priority_below=below if isinstance(below, int) and "PriorityThreshold" not in gates else None,
        selector=None if "LabelSelector" in gates else _selector(arguments.get("labelSelector")),
        critical=arguments.get("evictSystemCriticalPods") is True or "SystemCritical" in gates,
        bare=arguments.get("evictAllBarePods") is True or "BarePods" in gates,
    )


def _selector(written: object) -> Selector | None:
    return label_selector(msgspec.convert(written, LabelSelector)) if written else None


def _limits(parsed: Mapping[str, Any], arguments: Mapping[str, Any], gates: set[str]) -> Iterator[tuple[str, str]]:
    for name in OF_ALL:
        if parsed.get(name) is not None:
            yield name, str(parsed[name])
    for name, usual in OF_EVICTOR.items():
        found = arguments.get(name)
        value = usual if found is None else found
        if value is not None and f"{name[0].upper()}{name[1:]}" not in gates:
            yield name, str(value)


def _own_namespaces(arguments: Mapping[str, Any]) -> installation.Namespaces:
    return _namespaces(arguments.get("evictableNamespaces") or arguments.get("namespaces"))


def _namespaces(written: object) -> installation.Namespaces:
    found = mapping(written)
    include, exclude = (tuple(map(str, _list(found.get(name)))) for name in ("include", "exclude"))
    return installation.Namespaces(include, exclude)


def _enabled(point: Mapping[str, Any], usual: Iterable[str]) -> tuple[str, ...]:
    """Return what is enabled at a point, the usual plugins first (`mergePluginSet`)."""
    off = {*names_of(point.get("disabled"))}
    kept = [name for name in usual if not off & {name, "*"}]
    return tuple(dict.fromkeys((*kept, *names_of(point.get("enabled")))))


def _list(written: object) -> list[Any]:
    return written if isinstance(written, list) else []


class ObjectReference(Struct, gc=False):
    """A reference to a pod or a Reservation."""

    namespace: str | None = None
    name: str | None = None


class ReservationOptions(Struct, gc=False, rename="camel"):
    """spec.reservationOptions."""

    reservation_ref: ObjectReference | None = None


class MigrationSpec(Struct, gc=False, rename="camel"):
    """spec of a PodMigrationJob."""

    paused: bool | None = None
    mode: str | None = None
    pod_ref: ObjectReference | None = None
    reservation_options: ReservationOptions | None = None


class MigrationStatus(Struct, gc=False, rename="camel"):
    """status of a PodMigrationJob."""

    phase: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    pod_ref: ObjectReference | None = None


class PodMigrationJob(Struct, gc=False):
    """One PodMigrationJob."""

    metadata: Meta
    spec: MigrationSpec = field(default_factory=MigrationSpec)
    status: MigrationStatus = field(default_factory=MigrationStatus)


def migration_job(written: PodMigrationJob) -> installation.MigrationJob:
    """Return the job."""
    meta, spec, status = written.metadata, written.spec, written.status
    options = spec.reservation_options
    reserved = options.reservation_ref if options is not None else None
    return installation.MigrationJob(
        name=meta.name,
        pod=_key(spec.pod_ref),
        uid=meta.uid or "",
        mode=spec.mode or "ReservationFirst",
        paused=bool(spec.paused),
        phase=status.phase or "",
        status=status.status or "",
        reason=status.reason or "",
        message=status.message or "",
        reservation=(reserved.name if reserved is not None else None) or "",
        replacement=_key(status.pod_ref),
    )


def _key(pod: ObjectReference | None) -> str:
    return f"{pod.namespace or 'default'}/{pod.name}" if pod is not None and pod.name else ""
