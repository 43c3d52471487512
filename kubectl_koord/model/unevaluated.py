"""What bears on a pod or a node and is not evaluated: one frozen class each, one closed union.

Each class says what it may do to an answer: `may_refuse` turns a yes into an unknown, `may_admit` a no;
`changes_slots` is whether nodes may offer other slots than were counted.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct


class _Unevaluated(Struct, frozen=True, gc=False):
    may_refuse: ClassVar[bool] = True
    may_admit: ClassVar[bool] = False
    changes_slots: ClassVar[bool] = True


QuotaFault: TypeAlias = Literal["no-parent", "cycle", "same-name", "same-namespace"]
"""Why it is open what becomes of a quota: its parent does not exist, it is below itself, several have its name, or
list its namespace. Upstream it depends on what came first."""


class OpenQuota(_Unevaluated, frozen=True, gc=False):
    """An elastic quota that the pods count against, and of which it is open what becomes."""

    changes_slots: ClassVar[bool] = False
    name: str
    fault: QuotaFault


class QuotaSetting(_Unevaluated, frozen=True, gc=False):
    """A setting of the scheduler that decides about quotas: a hook plugin, or a feature gate, by its name."""

    changes_slots: ClassVar[bool] = False
    kind: Literal["hook-plugin", "feature-gate"]
    name: str


class UnreadQuotas(_Unevaluated, frozen=True, gc=False):
    """ElasticQuotas that could not be read."""

    changes_slots: ClassVar[bool] = False


class UnreadCards(_Unevaluated, frozen=True, gc=False):
    """Devices that could not be read."""


class UnreadLoad(_Unevaluated, frozen=True, gc=False):
    """NodeMetrics that could not be read."""


class UnreadTopologies(_Unevaluated, frozen=True, gc=False):
    """NodeResourceTopologies that could not be read: which CPUs and zones nodes have, and by which policy."""


class UnreadScheduler(_Unevaluated, frozen=True, gc=False):
    """The scheduler itself, where kinds could not be read that tell how it is set up, and whether it is active."""

    changes_slots: ClassVar[bool] = False
    kinds: tuple[str, ...]


class UnreadReservations(_Unevaluated, frozen=True, gc=False):
    """Reservations that could not be read: they hold room, and may give it."""

    may_admit: ClassVar[bool] = True


class UnreadNamespaces(_Unevaluated, frozen=True, gc=False):
    """Namespaces that could not be read, by whose labels terms of inter-pod affinities select them."""

    may_admit: ClassVar[bool] = True


class UnreadStorage(_Unevaluated, frozen=True, gc=False):
    """A volume claim that has no volume yet, where a kind that tells how it gets one could not be read."""

    name: str
    kind: str


class UnreadVolume(_Unevaluated, frozen=True, gc=False):
    """A volume claim whose volume could not be read."""

    name: str


class UnreadVolumeLimits(_Unevaluated, frozen=True, gc=False):
    """How many volumes of a driver nodes can attach, where CSINodes could not be read."""


class UnreadAttachments(_Unevaluated, frozen=True, gc=False):
    """Which volumes are attached to nodes, where VolumeAttachments could not be read."""


class UnreadClaims(_Unevaluated, frozen=True, gc=False):
    """How many volumes of a driver nodes hold already, where not all claims could be read."""


ClaimFeature: TypeAlias = Literal[
    "selector",
    "attribute",
    "constraints",
    "all-devices",
    "every-alternative",
    "admin-access",
    "beside-allocated",
    "prioritized-list",
    "capacity",
    "shared-device",
    "counters",
    "taints",
    "binding-conditions",
    "node-selection",
]
"""What a resource claim, or a device that it may get, uses beyond classes, counts and plain selectors."""


class OpenClaim(_Unevaluated, frozen=True, gc=False):
    """A resource claim that is to be allocated, and something that bears on it; `detail` is the CEL expression."""

    name: str
    feature: ClaimFeature
    detail: str = ""


class WideningClaim(_Unevaluated, frozen=True, gc=False):
    """A resource claim that is to be allocated, and something that may also open a node which was counted as closed."""

    may_admit: ClassVar[bool] = True
    name: str
    feature: ClaimFeature


class IdleClaim(_Unevaluated, frozen=True, gc=False):
    """A resource claim that is allocated, and that no other pod uses: the scheduler may release it."""

    may_admit: ClassVar[bool] = True
    name: str


class IncompletePool(_Unevaluated, frozen=True, gc=False):
    """A pool of devices of which not all ResourceSlices are there: it is being updated."""

    may_admit: ClassVar[bool] = True
    driver: str
    pool: str


class UnreadDevices(_Unevaluated, frozen=True, gc=False):
    """Resource claims, where a kind that decides about them could not be read."""

    kind: str


class AttachedVolume(_Unevaluated, frozen=True, gc=False):
    """A volume that is attached to the node and written in the pod itself, by its name there."""

    name: str


PodSettingCode: TypeAlias = Literal[
    "npu-template",
    "scheduling-hint",
    "unknown-numa-policy",
    "default-storage-class",
    "resource-claim-template",
    "exclusive-topology",
    "volume-claim-policy",
    "resource-quota-scope",
]


class PodSetting(_Unevaluated, frozen=True, gc=False):
    """A setting of a pod that only ever refuses nodes."""

    code: PodSettingCode


WideningCode: TypeAlias = Literal["exclusive-node-selector", "training-runtime", "training-runtime-patches"]


class WideningPodSetting(_Unevaluated, frozen=True, gc=False):
    """A setting of a pod that may also open a node which was counted as closed."""

    may_admit: ClassVar[bool] = True
    code: WideningCode


class UnreadRuntimeClass(_Unevaluated, frozen=True, gc=False):
    """A RuntimeClass that could not be read: it may add amounts, selectors and tolerations to pods that name it."""

    may_admit: ClassVar[bool] = True
    name: str


class OpenToleration(_Unevaluated, frozen=True, gc=False):
    """A toleration that the API server adds to a pod where its plugin is on, which no pod tells: it is taken to do so.

    `key` is that of the taint, and the resource's name.
    """

    key: str


OpenProfileCode: TypeAlias = Literal["unread", "namespaces", "probability", "mapping", "patch"]
"""Why it cannot be told what a profile does: it, or the namespaces that it selects, could not be read; it is applied at
random; it maps keys onto each other, in any order; or its patch changes containers or has directives."""


class OpenProfile(_Unevaluated, frozen=True, gc=False):
    """A ClusterColocationProfile that may change a pod when it is made: its priority, its scheduler, what it requests.

    The name is empty where none could be read.
    """

    may_admit: ClassVar[bool] = True
    name: str
    code: OpenProfileCode


OpenCardsCode: TypeAlias = Literal["unread", "version"]
"""Why it cannot be told how many cards a pod asks for once it is made: whether there is a webhook that tells them
could not be read; or versions of it differ."""


class OpenCards(_Unevaluated, frozen=True, gc=False):
    """Parts of GPUs that a pod asks for, and that Koordinator's webhook may change when it is made."""

    may_admit: ClassVar[bool] = True
    code: OpenCardsCode


NodeSettingCode: TypeAlias = Literal["load-estimates", "load-thresholds", "numa-topology-policy", "unknown-numa-policy"]
"""Estimates of load for a time after pods are initialized; thresholds for other resources than CPU and memory; the NUMA
policy of a node with too many zones; one that crashes the scheduler."""


class NodeSetting(_Unevaluated, frozen=True, gc=False):
    """A setting of a node that only ever refuses pods."""

    code: NodeSettingCode


class OpenPlugin(_Unevaluated, frozen=True, gc=False):
    """A plugin of the scheduler's that a profile does not enable at some points, and without which is not evaluated."""

    may_admit: ClassVar[bool] = True
    name: str
    points: tuple[str, ...]


class OtherProfile(_Unevaluated, frozen=True, gc=False):
    """A profile of the scheduler that is configured otherwise than its first, whose settings are read."""

    may_admit: ClassVar[bool] = True
    name: str


class OpenGate(_Unevaluated, frozen=True, gc=False):
    """A feature gate of the scheduler that is on, and changes what it sees of pods or reservations."""

    may_admit: ClassVar[bool] = True
    name: str


class OpenSetting(_Unevaluated, frozen=True, gc=False):
    """A feature gate, flag or argument of the scheduler's that decides, or that nobody here knows."""

    may_admit: ClassVar[bool] = True
    kind: str
    name: str
    known: bool = True


class ForeignPlugin(_Unevaluated, frozen=True, gc=False):
    """A plugin that a profile of the scheduler enables, and that is neither Kubernetes' nor Koordinator's."""

    name: str


class AddedAffinity(_Unevaluated, frozen=True, gc=False):
    """A node affinity that the scheduler's configuration adds to that of every pod."""


class IgnoredResource(_Unevaluated, frozen=True, gc=False):
    """A resource that pods request and that the scheduler's configuration does not let nodes be short of."""

    may_refuse: ClassVar[bool] = False
    may_admit: ClassVar[bool] = True
    name: str


class OpenExtender(_Unevaluated, frozen=True, gc=False):
    """An extender of the scheduler: another program, which may refuse nodes or victims."""


PodUnevaluated: TypeAlias = (
    AttachedVolume | PodSetting | WideningPodSetting | UnreadRuntimeClass | OpenToleration | OpenProfile | OpenCards
)
"""What a pod's own spec may bring."""

Unevaluated: TypeAlias = (
    PodUnevaluated
    | OpenQuota
    | QuotaSetting
    | UnreadQuotas
    | UnreadCards
    | UnreadLoad
    | UnreadTopologies
    | UnreadScheduler
    | UnreadReservations
    | UnreadNamespaces
    | UnreadStorage
    | UnreadVolume
    | UnreadVolumeLimits
    | UnreadAttachments
    | UnreadClaims
    | OpenClaim
    | WideningClaim
    | IdleClaim
    | IncompletePool
    | UnreadDevices
    | NodeSetting
    | OpenPlugin
    | OtherProfile
    | OpenGate
    | OpenSetting
    | ForeignPlugin
    | AddedAffinity
    | IgnoredResource
    | OpenExtender
)
