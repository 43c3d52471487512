"""Resource claims: what pods ask of dynamic resource allocation, and which devices there are (resource.k8s.io)."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.model.unevaluated import ClaimFeature
from kubectl_koord.model.values import Memo, NodeTerm

DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool and name of a device."""

AttributeValue: TypeAlias = tuple[str, str | int | bool]
"""The type of an attribute, as the API names it, and its value."""


GATES: Mapping[ClaimFeature, str] = {
    "taints": "DRADeviceTaints",
    "counters": "DRAPartitionableDevices",
    "node-selection": "DRAPartitionableDevices",
    "binding-conditions": "DRADeviceBindingConditions",
    "shared-device": "DRAConsumableCapacity",
    "capacity": "DRAConsumableCapacity",
}
"""The feature gates of the scheduler, off by default, without which it does not know what a claim or device uses."""


class ClaimSettings(Struct, frozen=True):
    """How the scheduler is told to treat resource claims: the `gates` of `GATES` that are on.

    It `releases` those that are allocated and that no other pod uses where its profile has plugin DynamicResources at
    postFilter, which the chart's does not.
    """

    gates: frozenset[str] = frozenset()
    releases: bool = False

    def knows(self, feature: ClaimFeature) -> bool:
        """Tell whether the scheduler knows what a claim or a device uses; all that has no gate of its own it does."""
        return feature not in GATES or GATES[feature] in self.gates


class DeviceRequest(Struct, frozen=True, gc=False):
    """One request of a claim: so many devices of a class, or `every` one that the selectors match.

    `classes` are the DeviceClasses that must exist, several where there are `alternatives`, of which the first that can
    be served is taken. `selectors` are CEL expressions. With `admin` access devices need not be free. `open` is what
    the request uses that is not evaluated.
    """

    name: str
    classes: tuple[tuple[str, str], ...]
    selectors: tuple[str, ...] = ()
    count: int = 1
    every: bool = False
    admin: bool = False
    alternatives: tuple["DeviceRequest", ...] = ()
    open: tuple[ClaimFeature, ...] = ()


class SameAttribute(Struct, frozen=True, gc=False):
    """One constraint of a claim: the devices of these `requests`, of all for none, have one value of an attribute."""

    attribute: tuple[str, str]
    requests: tuple[str, ...] = ()


class ResourceClaim(Struct, frozen=True, gc=False):
    """One ResourceClaim.

    `name` is `namespace/name`, `uid` that of the object. Once `allocated`, it can be used on nodes that match one of
    its `terms` (None: on any). `reserved` are the uids of the pods that may use it. `owner` is the pod that it was
    made for, by uid and name (empty for none). `constraints` hold between its devices; `open` is what it uses that is
    not evaluated.
    """

    name: str
    requests: tuple[DeviceRequest, ...] = ()
    allocated: bool = False
    terms: tuple[NodeTerm, ...] | None = None
    reserved: tuple[str, ...] = ()
    owner: tuple[str, str] = ("", "")
    terminating: bool = False
    constraints: tuple[SameAttribute, ...] = ()
    open: tuple[ClaimFeature, ...] = ()


class PodClaim(Struct, frozen=True, gc=False):
    """One claim of a pod, by the name that the pod gives it.

    `claim` is the ResourceClaim as `namespace/name`, empty where none was made yet from the template; `is_made` tells
    that it is made from one, and must be the pod's own. `found` is the object itself, None where it was not read.
    """

    name: str
    claim: str = ""
    is_made: bool = False
    found: ResourceClaim | None = None


class DeviceReach(Struct, frozen=True, gc=False):
    """From where a device can be used: from one node, or from those that match a term; with neither from all."""

    node: str = ""
    terms: tuple[NodeTerm, ...] | None = None


class ClaimableDevice(Struct, frozen=True, gc=False):
    """One device of a ResourceSlice: its attributes, and its capacities in billionths, by domain and name.

    `open` is what bears on it besides: it counts where the scheduler knows it.
    """

    id: DeviceId
    place: DeviceReach = DeviceReach()
    attributes: tuple[tuple[tuple[str, str], AttributeValue], ...] = ()
    capacity: tuple[tuple[tuple[str, str], int], ...] = ()
    open: tuple[ClaimFeature, ...] = ()


class DeviceSlice(Struct, frozen=True, gc=False):
    """One ResourceSlice: a part of the pool of a driver; `count` is of how many slices its generation consists."""

    name: str
    driver: str
    pool: str
    generation: int = 0
    count: int = 1
    devices: tuple[ClaimableDevice, ...] = ()


class DynamicResources(Memo, Struct, frozen=True, dict=True):
    """What resource claims are allocated from.

    `classes` are the selectors of the DeviceClasses by name (CEL expressions), `devices` those of all pools, `taken`
    the ids of those that claims hold. `incomplete` are pools, by driver and name, of which not all slices are there.
    """

    classes: Mapping[str, tuple[str, ...]] = {}
    devices: tuple[ClaimableDevice, ...] = ()
    taken: frozenset[DeviceId] = frozenset()
    incomplete: tuple[tuple[str, str], ...] = ()


NO_DEVICES = DynamicResources()
"""No class, no device."""
