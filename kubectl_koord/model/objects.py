"""Nodes, PodGroups, volumes, accelerators and workloads as values."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import add
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.hardware import NodeDevices, NodeNUMA
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.unevaluated import NodeSetting
from kubectl_koord.model.values import Labels, NodeTerm, Requirement, Resources, Selector, Taint


class Node(Struct, frozen=True, gc=False):
    """One node; `allocatable` holds every resource, `pods` among them.

    `unevaluated` holds settings that decide about pods and are not evaluated, such as a NUMA policy.
    `metric` is None where nothing was measured, `devices` where there is no Device object, `numa` where nothing is
    known of its CPUs and NUMA zones; `volume_limits` holds attachable volumes by CSI driver, `attached` the drivers and
    handles of volumes that are; `none_of` names the resources that it reports, and has nothing of; `lost` is how many
    cards of its capacity are not allocatable, by resource.
    """

    name: str
    allocatable: Resources
    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    unevaluated: tuple[NodeSetting, ...] = ()
    metric: NodeMetric | None = None
    volume_limits: Resources = ()
    attached: tuple[tuple[str, str], ...] = ()
    devices: NodeDevices | None = None
    numa: NodeNUMA | None = None
    none_of: tuple[str, ...] = ()
    lost: Resources = ()


class PodGroup(Struct, frozen=True, gc=False):
    """One PodGroup. Annotation values are as written, None where absent."""

    namespace: str
    name: str
    min_member: int = 0
    timeout_seconds: int | None = None
    mode: str = ""
    match_policy: str = ""
    groups: str | None = None
    topology: str | None = None
    total: str | None = None
    annotations: Labels = ()
    phase: str = ""
    created: str = ""
    resource_version: str = ""
    labels: Labels = ()

    @property
    def key(self) -> str:
        """The gang id: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Layer(Struct, frozen=True, gc=False):
    """One entry of a ClusterNetworkTopology's spec."""

    name: str
    parent: str = ""
    label_keys: tuple[str, ...] = ()

    def value(self, labels: Mapping[str, str]) -> str:
        """Return which domain of the layer a node with these labels is in, empty for none."""
        return next(filter(None, (labels.get(key) for key in self.label_keys)), "")


class DomainStatus(Struct, frozen=True, gc=False):
    """One entry of `status.detailStatus`: how many nodes the scheduler last saw below a domain."""

    layer: str
    name: str
    nodes: int


class NetworkTopology(Struct, frozen=True, gc=False):
    """One ClusterNetworkTopology; `status` is None where the scheduler has written none."""

    name: str
    layers: tuple[Layer, ...]
    status: tuple[DomainStatus, ...] | None = None
    resource_version: str = ""


class Budget(Struct, frozen=True, gc=False):
    """One PodDisruptionBudget; the scheduler's job preemption ignores it, we show it."""

    namespace: str
    name: str
    selector: Selector | None
    allowed: int


class Lease(Struct, frozen=True, gc=False):
    """One leader lease.

    `holder` is empty once the leader has given it up; `acquired`, `renewed` and `seen` are RFC 3339: since
    when the leader leads, when it last renewed the lease, and the API server's own time when that was read
    (empty where it sent none).
    `seconds` is `leaseDurationSeconds`: for how long a renewal counts.
    """

    name: str
    holder: str
    renewed: str
    acquired: str = ""
    seconds: int = 15
    seen: str = ""


CARD = 100
GPU = "gpu"
_SHARES = _WHOLE, _CORE, _RATIO = "koordinator.sh/gpu", "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"
_OTHERS = frozenset({"npu", "xpu", "tpu", "dcu", "mlu", "ppu", "gcu"})
_BEGINNINGS = ("mig-", "Ascend", "npu-core")
_MOST_NAMES = 1 << 10


@lru_cache(_MOST_NAMES)
def family(resource: str) -> str:
    """Return which cards a resource counts: `gpu`, the resource's own name, or nothing where it counts none."""
    vendor, _, name = resource.rpartition("/")
    if resource in _SHARES or (vendor and name == GPU):
        return GPU
    return resource if vendor and (name in _OTHERS or name.startswith(_BEGINNINGS)) else ""


def is_family(kind: str) -> bool:
    """Tell whether this is a family of cards, which may go by several resources, or a resource that counts some."""
    return kind == GPU or bool(family(kind))


def of_node(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the cards of a node by family: of several names for the same cards the one that has most of them."""
    return _counted(amounts, max, max(amounts.get(name, 0) for name in _SHARES))


def of_pods(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the cards that pods request together, by family: each of them goes by one name."""
    shares = amounts.get(_WHOLE, 0) + max(amounts.get(_CORE, 0), amounts.get(_RATIO, 0))
    return _counted(amounts, add, shares)


def main_of(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return what counts most of what pods request, by resource: cards, else CPUs, else the first there is."""
    cards = of_pods(amounts)
    if cards:
        found = {resource_of(kind, amounts, [number]): number for kind, number in cards.items()}
        return {resource: number // unit(resource) for resource, number in found.items()}
    first = "cpu" if "cpu" in amounts else min(amounts, default="")
    return {first: amounts[first]} if first else {}


def families(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return the families of cards that nodes have, the one that most of them have first; CPU where none has any."""
    sizes = Counter(node.allocatable for node in nodes)
    found: Counter[str] = Counter()
    for size, number in sizes.items():
        found.update(dict.fromkeys(of_node(dict(size)), number))
    return tuple(sorted(found, key=lambda kind: (-found[kind], kind))) or ("cpu",)


def resource_of(kind: str, names: Iterable[str], amounts: Iterable[int]) -> str:
    """Return the resource to count a family in: the vendor's, unless there is none or cards are shared.

    Args:
        kind: the family, or any other resource, which is counted in itself.
        names: of resources, each as often as it counts.
        amounts: of the family, in hundredths.
    """
    if kind != GPU:
        return kind
    vendors = Counter(name for name in names if family(name) == GPU and name not in _SHARES)
    if not vendors or any(amount % CARD for amount in amounts):
        return _CORE
    return max(vendors, key=lambda name: (vendors[name], name))


def is_share(resource: str) -> bool:
    """Tell whether the resource counts hundredths of a card."""
    return resource in _SHARES


def unit(resource: str) -> int:
    """Return how many hundredths of a card one of this resource is; 1 where it counts no cards."""
    return CARD if family(resource) and not is_share(resource) else 1


def _counted(amounts: Mapping[str, int], both: Callable[[int, int], int], shares: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for resource, number in amounts.items():
        kind = family(resource)
        if kind and number and resource not in _SHARES:
            found[kind] = found.get(kind, 0) + number * CARD
    if shares:  # Koordinator counts Huawei's cards as GPUs, their cores beside them
        found = {kind: number for kind, number in found.items() if not kind.endswith("/npu-core")}
        found[GPU] = both(found.get(GPU, 0), shares)
    return found


Binding: TypeAlias = Literal["complete", "begun", "lost"]


class VolumeRequest(Struct, frozen=True, gc=False):
    """What a claim asks of a volume: size in bytes, access modes in order, a raw block device or not, labels."""

    size: int = 0
    modes: tuple[str, ...] = ()
    is_block: bool = False
    selector: Selector | None = None


class Claim(Struct, frozen=True, gc=False):
    """One PersistentVolumeClaim with the volume it is bound to.

    `volume` is empty while it is unbound; `binding` tells whether the claim is bound to it, is to be, or has lost it.
    `terms` are the volume's required node affinity (None: any node), `labels` its zone labels, `driver` and `handle`
    what attaches it, and calls it so. `single_pod` is ReadWriteOncePod; `known` tells whether the volume itself was
    read, `is_read` whether the claim was. `class_name` is its StorageClass; `selected` the node for which its volume is
    being made; `owner` the pod that owns it, by uid and name (empty for none); `uid` its own.
    """

    name: str
    volume: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    labels: Labels = ()
    driver: str = ""
    handle: str = ""
    single_pod: bool = False
    known: bool = False
    binding: Binding = "complete"
    is_read: bool = True
    class_name: str = ""
    request: VolumeRequest = VolumeRequest()
    selected: str = ""
    terminating: bool = False
    owner: tuple[str, str] = ("", "")
    uid: str = ""


class Volume(Struct, frozen=True, gc=False):
    """One PersistentVolume that no claim is bound to.

    `promised` is the one claim that may have it, empty for any; only with that `promised_uid`, where it is told.
    """

    name: str
    class_name: str
    size: int
    modes: tuple[str, ...] = ()
    is_block: bool = False
    labels: Labels = ()
    terms: tuple[NodeTerm, ...] | None = None
    promised: str = ""
    promised_uid: str = ""


class StorageClass(Struct, frozen=True, gc=False):
    """One StorageClass. `waits` is WaitForFirstConsumer; `topologies` its allowed topologies, of which one holds."""

    name: str
    provisioner: str = ""
    waits: bool = False
    topologies: tuple[tuple[Requirement, ...], ...] = ()


class StorageCapacity(Struct, frozen=True, gc=False):
    """One CSIStorageCapacity: how large a volume of a class may be on the nodes of a segment; None: not told."""

    class_name: str
    largest: int | None
    nodes: Selector | None


class Storage(Struct, frozen=True):
    """All that unbound claims may get their volumes from.

    `volumes` are those that are free, the smallest first; `tracked` the drivers that tell how much room there is.
    """

    volumes: tuple[Volume, ...] = ()
    classes: Mapping[str, StorageClass] = {}
    tracked: frozenset[str] = frozenset()
    capacities: tuple[StorageCapacity, ...] = ()


class GangSummary(Struct, frozen=True):
    """One gang. Pods are `namespace/name`.

    `children` are all of its pods: `pending`, `waiting` in Permit, `bound`. `satisfied` is whether a member of its
    group was ever bound, `minimum` is None for a gang that is not initialised. `representative` is the only pod of the
    group that may be tried next, empty for none.
    """

    key: str
    minimum: int | None
    mode: str
    match_policy: str
    group: tuple[str, ...]
    defined_by: str
    satisfied: bool
    children: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    representative: str = ""


class QuotaSummary(Struct, frozen=True):
    """One quota: its amounts by field (`min`, `max`, `used`, `request`, `runtime`)."""

    name: str
    parent: str
    amounts: Mapping[str, Resources]


class NodeSummary(Struct, frozen=True):
    """One node: its pods, those included that are assumed on it, what they request, and what it can give."""

    name: str
    pods: frozenset[str]
    requested: Resources
    allocatable: Resources


class DeviceSummary(Struct, frozen=True):
    """One device of a node: what it has, what is free of it, and the pods that have a part of it."""

    node: str
    type: str
    minor: int
    total: Resources
    free: Resources
    pods: frozenset[str] = frozenset()


class CPUSummary(Struct, frozen=True):
    """The CPUs of a node that pods may still bind, and those that each pod has bound."""

    node: str
    available: frozenset[int]
    pods: Mapping[str, frozenset[int]]


class ReservationSummary(Struct, frozen=True):
    """One Reservation on a node, or a pod that is one: what it holds, what of it is taken, and by which pods."""

    name: str
    kind: str
    allocatable: Resources
    allocated: Resources
    pods: frozenset[str] = frozenset()


Keys: TypeAlias = tuple[str | int, ...]
"""The way from an object down to a part of it."""
NoGang: TypeAlias = Literal["of-another-scheduler", "from-runtime", "in-turn", "no-name", "no-pods", "owned"]
"""Why a workload cannot be made a gang: Volcano, or a training runtime, makes its pods; it makes them one after the
other; it gets a name with each run; it has no pods; or another workload makes it."""


class Template(Struct, frozen=True):
    """A pod template: where its labels and its schedulerName stand, and whether its pods are in the gang."""

    labels: Keys
    scheduler: Keys
    is_member: bool = True


class Workload(Struct, frozen=True):
    """What is to become a gang: `pods` are made at once, of which `minimum` are enough to begin.

    With an `obstacle` it cannot, for what `detail` says.
    """

    kind: str
    namespace: str
    name: str
    pods: int = 0
    minimum: int = 0
    templates: tuple[Template, ...] = ()
    obstacle: NoGang | None = None
    detail: str = ""
