"""How Koordinator is installed, and what other schedulers, the descheduler and Volcano are told."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.values import Selector

DeschedulerState: TypeAlias = Literal["unreadable", "read"]


class Namespaces(Struct, frozen=True):
    """Of which namespaces pods may be evicted: of all for none, without those that are excluded."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def cover(self, namespace: str) -> bool:
        """Tell whether pods of a namespace may be evicted."""
        return (not self.include or namespace in self.include) and namespace not in self.exclude


class DeschedulerPlugin(Struct, frozen=True):
    """A plugin that chooses pods, at which point (`deschedule` or `balance`), and of which namespaces."""

    name: str
    point: str
    namespaces: Namespaces = Namespaces()


class Evictable(Struct, frozen=True):
    """Which pods MigrationController evicts, whoever chose them.

    `priority_below` None stands for any priority, `selector` None for any labels, `critical` for those of the system,
    and `bare` for pods that no controller owns.
    """

    namespaces: Namespaces = Namespaces()
    priority_below: int | None = None
    selector: Selector | None = None
    critical: bool = False
    bare: bool = False


class DeschedulerProfile(Struct, frozen=True):
    """A profile: `limits` of evictions by the names of the settings, spelled as in YAML."""

    name: str
    plugins: tuple[DeschedulerPlugin, ...] = ()
    evictors: tuple[str, ...] = ()
    evictable: Evictable = Evictable()
    limits: tuple[tuple[str, str], ...] = ()


class Descheduler(Struct, frozen=True):
    """The configuration of koord-descheduler; a `dry_run` evicts nothing. Of an unreadable one there is no more."""

    state: DeschedulerState = "read"
    dry_run: bool = False
    interval: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()

    def evicting(self) -> Iterator[DeschedulerProfile]:
        """Yield the profiles in which some plugin chooses pods, and another evicts them."""
        yield from (one for one in self.profiles if one.plugins and one.evictors and not self.dry_run)


TREE_MANAGER = "--enable-network-topology-manager"
"""The flag with which koord-scheduler builds a topology tree; without it there is none."""
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))

_RELEASE = re.compile(r":v?(\d+)\.(\d+)(?:\.(\d+))?(?:[.\-+@].*)?$")
_OF_MAIN = re.compile(r":(?:main|master)(?:[.\-@].*)?$")
_DATE = re.compile(r":[^/]*?(20\d\d)-?(\d\d)-?(\d\d)(?!\d)[^/]*$")
_NEWEST = {(1, 7): 0, (1, 8): 0}
_LAST_DAY = "20260724"
COMPARED = "1.7.0, 1.8.0 and main as of July 2026"
"""The schedulers whose recorded decisions the answers are compared with."""

ConfigState: TypeAlias = Literal["absent", "unreadable", "read", "elsewhere"]
"""It is `elsewhere` where the scheduler reads it of no ConfigMap."""


WEBHOOKS: Mapping[str, str] = {
    "koordinator-mutating-webhook-configuration": "MutatingWebhookConfiguration",
    "koordinator-validating-webhook-configuration": "ValidatingWebhookConfiguration",
}
"""The kinds of Koordinator's webhook configurations, by their names."""


class Home(Struct, frozen=True):
    """Where Koordinator is installed: the namespace, and what there tells of the scheduler; as by the Helm chart."""

    namespace: str = "koordinator-system"
    scheduler: str = "koord-scheduler"
    config: str = "koord-scheduler-config"
    lease: str = "koord-scheduler"


HOME = Home()


class Deployment(Struct, frozen=True):
    """One Deployment of this `part` of Koordinator.

    `available` is None where its status tells nothing, `flags` where no command line is shown.
    """

    name: str
    image: str = ""
    wanted: int = 1
    available: int | None = None
    flags: tuple[str, ...] = ()
    part: str = ""

    @property
    def is_down(self) -> bool:
        """Whether none of its pods is available, or wanted."""
        return self.wanted == 0 or self.available == 0


class Agents(Struct, frozen=True):
    """koordlet's DaemonSet (`namespace/name`): how many pods are wanted, and how many of them are ready."""

    name: str
    wanted: int = 0
    ready: int = 0


class PriorityClass(Struct, frozen=True):
    """One PriorityClass; `is_default` is globalDefault."""

    name: str
    value: int
    is_default: bool = False
    preemption_policy: str = ""


class Webhooks(Struct, frozen=True):
    """One webhook configuration, with the names of its webhooks; those without a caBundle are `unsigned`."""

    kind: str
    name: str
    unsigned: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


class Profile(Struct, frozen=True):
    """A scheduler profile: which plugins are enabled at each extension point, and Coscheduling's arguments as written.

    Of Kubernetes' own plugins only DefaultPreemption is known. An argument is spelled as in YAML.
    """

    scheduler: str
    plugins: tuple[tuple[str, tuple[str, ...]], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()

    def at(self, point: str) -> tuple[str, ...]:
        """Return the plugins that are enabled at an extension point."""
        return dict(self.plugins).get(point, ())


class Installation(Struct, frozen=True):
    """What was read of the installation.

    It is `whole` where the cluster itself was read, if only once for a snapshot: what is not there does not exist. A
    file need not hold all: `kinds` are those of which there is anything. `config_fault` is why the scheduler cannot
    decode its configuration, `config_from` what it reads that from, where its Deployment tells, `config_unused` are
    ConfigMaps with another. `descheduler` is None where its configuration was not read, or there is none.
    """

    deployments: tuple[Deployment, ...] = ()
    agents: tuple[Agents, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    webhooks: tuple[Webhooks, ...] = ()
    config: ConfigState = "absent"
    config_fault: str = ""
    config_from: str = ""
    config_unused: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()
    kinds: tuple[str, ...] = ()
    descheduler: Descheduler | None = None
    whole: bool = True

    def deployment(self, part: str) -> Deployment | None:
        """Return the Deployment of a part of Koordinator, None where it was not read."""
        return next((one for one in self.deployments if part in {one.part, one.name}), None)


class Right(Struct, frozen=True):
    """What a command needs to be allowed: the resource with its API group, and which commands read it."""

    resource: str
    commands: tuple[str, ...] = ()


class Lack(Struct, frozen=True):
    """What may not be done with a resource, which commands need it, and the server's own words.

    It is not `is_sure` where the server did not say whether it may be done.
    """

    resource: str
    verb: str
    commands: tuple[str, ...] = ()
    why: str = ""
    is_sure: bool = True


def of_main(image: str) -> bool:
    """Tell whether an image's tag is one of main's: by its name, or by a day after that of the main that is known."""
    return _OF_MAIN.search(image) is not None or (_day(image) > _LAST_DAY)


def is_newer(image: str) -> bool:
    """Tell whether an image may be newer than all that answers are compared with; nothing is told by a private tag."""
    found = _RELEASE.search(image)
    if found is None:
        return of_main(image) and not ("" < _day(image) <= _LAST_DAY)
    release = (int(found[1]), int(found[2]))
    return release > max(_NEWEST) or int(found[3] or 0) > _NEWEST.get(release, int(found[3] or 0))


def is_older(image: str) -> bool:
    """Tell whether an image is of a release before the first whose rules are known."""
    found = _RELEASE.search(image)
    return found is not None and (int(found[1]), int(found[2])) < min(_NEWEST)


def _day(image: str) -> str:
    found = _DATE.search(image)
    return "".join(found.groups()) if found is not None else ""


def manages_topology(flags: Collection[str]) -> bool:
    """Tell whether a command line lets the scheduler build a topology tree; taken to be so where it shows nothing."""
    told = [word for word in flags if word.partition("=")[0] == TREE_MANAGER]
    return not flags or bool(told and (told[-1] == TREE_MANAGER or told[-1].partition("=")[2] in _TRUE))


_ACTIVE = {"", "Pending", "Running"}


class MigrationJob(Struct, frozen=True, gc=False):
    """One PodMigrationJob, which moves one pod: `pod` is its `namespace/name`.

    `mode`, `phase`, `status`, `reason` and `message` are as written; without a mode a Reservation comes first.
    `reservation` is the name of the Reservation for the pod that is to replace it, `replacement` that pod
    (`namespace/name`), each empty where the job names none.
    """

    name: str
    pod: str
    uid: str = ""
    mode: str = "ReservationFirst"
    paused: bool = False
    phase: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    reservation: str = ""
    replacement: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it is not over: neither Succeeded, Failed nor Aborted."""
        return self.phase in _ACTIVE


class VolcanoCondition(Struct, frozen=True, gc=False):
    """One of a PodGroup's conditions, as written."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    since: str = ""


class VolcanoGroup(Struct, frozen=True):
    """One PodGroup of Volcano; the numbers are those of its status, `owner` is `Kind/name`.

    `min_resources` is what its queue has to have for it to be let in.
    """

    namespace: str
    name: str
    queue: str = "default"
    min_member: int = 0
    priority_class: str = ""
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[VolcanoCondition, ...] = ()
    owner: str = ""
    created: str = ""
    min_resources: Mapping[str, int] = {}

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class VolcanoQueue(Struct, frozen=True):
    """A Queue of Volcano: its state (empty where none is told), and what it may have, deserves, is given, and has.

    A resource that is not in `capability` has no limit. `pending`, `inqueue` and `running` count its PodGroups.
    """

    state: str = ""
    parent: str = ""
    weight: int = 0
    capability: Mapping[str, int] = {}
    deserved: Mapping[str, int] = {}
    guarantee: Mapping[str, int] = {}
    allocated: Mapping[str, int] = {}
    reclaimable: bool = True
    pending: int = 0
    inqueue: int = 0
    running: int = 0


class Volcano(Struct, frozen=True):
    """What was read of Volcano: PodGroups by `namespace/name`, and its queues by name.

    `policies` holds the preemptionPolicy of PriorityClasses by name, as far as those were read.
    """

    groups: Mapping[str, VolcanoGroup] = {}
    queues: Mapping[str, VolcanoQueue] = {}
    policies: Mapping[str, str] = {}


_STATEFUL = ("preFilter", "filter")
_BOOKING = ("preFilter", "filter", "reserve")
OF_KUBERNETES: Mapping[str, tuple[str, ...]] = {
    "NodeUnschedulable": ("filter",),
    "TaintToleration": ("filter",),
    "NodeAffinity": _STATEFUL,
    "NodePorts": _STATEFUL,
    "NodeResourcesFit": _STATEFUL,
    "VolumeRestrictions": _STATEFUL,
    "NodeVolumeLimits": _STATEFUL,
    "VolumeBinding": _BOOKING,
    "VolumeZone": _STATEFUL,
    "PodTopologySpread": _STATEFUL,
    "InterPodAffinity": _STATEFUL,
    "DynamicResources": _BOOKING,
}
"""The points at which plugins decide that kube-scheduler enables where a profile does not disable them."""
POINTS: Mapping[str, tuple[str, ...]] = {
    **OF_KUBERNETES,
    "Reservation": _BOOKING,
    "LoadAwareScheduling": ("filter", "reserve"),
    "NodeNUMAResource": _BOOKING,
    "DeviceShare": _BOOKING,
    "ElasticQuota": ("preFilter", "postFilter", "reserve"),
    "Coscheduling": ("preFilter", "postFilter", "reserve", "permit"),
}
"""The points at which plugins decide, with those of Koordinator, which are enabled where a profile says so."""
ORDERING = frozenset((
    "PrioritySort", "SchedulingGates", "NodeName", "ImageLocality", "NodeResourcesBalancedAllocation", "DefaultBinder",
    "DefaultPreBind", "NodeResourcesFitPlus", "ScarceResourceAvoidance", "SchedulingHint", "NodeDeclaredFeatures",
    "GangScheduling",
))  # fmt: skip
"""The others of kube-scheduler and Koordinator: they order nodes, or what they decide is told elsewhere."""
FILTERS_ALONE = frozenset(("LoadAwareScheduling", "NodePorts", "PodTopologySpread", "InterPodAffinity"))
"""Plugins of which nothing but the filter refuses nodes."""
VOLUMES = frozenset(("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"))
DefaultPreemption: TypeAlias = Literal["", "first", "last"]
"""Whether kube-scheduler's DefaultPreemption runs: not at all, before other plugins that preempt, or after them."""
INLINE_BATCH = "EnableInlineBatchSchedule"
"""The feature gate with which a plan is carried out for all its pods at once."""
GATES: Mapping[str, tuple[str, ...]] = {
    "PriorityTransformer": ("1.7", "1.8", "main"),
    "PreemptionPolicyTransformer": ("1.7", "1.8", "main"),
    "OmitNodeLabelsForReservation": ("1.7", "1.8", "main"),
    "ReplaceResourcesTransformer": ("1.8", "main"),
    INLINE_BATCH: ("main",),
    "SkipFilterWithNominatedPods": ("main",),
    "CrossSchedulerNomination": ("main",),
}
"""The feature gates that decide, where they are on, about more than quotas, and the versions that know them."""


class Extender(Struct, frozen=True):
    """A program that the scheduler asks about nodes or victims, of pods that request one of the resources, if any."""

    filters: bool = False
    preempts: bool = False
    resources: tuple[str, ...] = ()


class Plugins(Struct, frozen=True):
    """Which plugins a profile does not enable: `off` holds their points, by name; what is not there is enabled.

    `adds_affinity` is whether NodeAffinity requires more of nodes than pods do; `ignored` and `ignored_groups` are the
    extended resources, and their domains, that NodeResourcesFit does not count.
    """

    off: tuple[tuple[str, tuple[str, ...]], ...] = ()
    default_preemption: DefaultPreemption = ""
    adds_affinity: bool = False
    ignored: tuple[str, ...] = ()
    ignored_groups: tuple[str, ...] = ()

    def ignores(self, resource: str) -> bool:
        """Tell whether NodeResourcesFit ignores an extended resource, by its name or by the domain before the slash."""
        return resource in self.ignored or resource.partition("/")[0] in self.ignored_groups

    def lacks(self, name: str) -> tuple[str, ...]:
        """Return the points at which a plugin decides and is not enabled."""
        return dict(self.off).get(name, ())

    def filters(self, name: str) -> bool:
        """Tell whether a plugin may refuse nodes: not where none of its points is left that could."""
        lacking = self.lacks(name)
        return "filter" not in lacking if name in FILTERS_ALONE else lacking != POINTS[name]

    def is_partial(self, name: str) -> bool:
        """Tell whether a plugin that refuses nodes lacks a point at which it does more than that."""
        return bool(self.lacks(name)) and self.filters(name)

    @property
    def preempts_in_quotas(self) -> bool:
        """Whether ElasticQuota preempts, by what its PreFilter has found out."""
        return {"preFilter", "postFilter"}.isdisjoint(self.lacks("ElasticQuota"))
