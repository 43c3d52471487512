"""The edits that a way out consists of: each says one thing that would be different in a cluster."""

from typing import Literal, TypeAlias

from msgspec import Struct


class _Edit(Struct, frozen=True, rename="camel", tag_field="op"):
    """One change to the objects of a cluster, named by `op` in JSON."""


class DeletePod(_Edit, frozen=True, tag="delete-pod"):
    """A pod is gone; `node` is empty for one that waits."""

    pod: str
    node: str = ""


class MovePod(_Edit, frozen=True, tag="move-pod"):
    """A running pod is on another node."""

    pod: str
    node: str
    to: str


class Uncordon(_Edit, frozen=True, tag="uncordon"):
    """A node is schedulable again."""

    node: str


class MendNode(_Edit, frozen=True, tag="mend-node"):
    """A node is ready and reachable again, and the pods that terminate there have ended."""

    node: str


class Threshold(Struct, frozen=True):
    """How many percent of a resource may be used."""

    resource: str
    percent: int


class SetThresholds(_Edit, frozen=True, tag="set-thresholds"):
    """A node has these thresholds of load for its usage as a whole."""

    node: str
    percent: tuple[Threshold, ...]


class AddNode(_Edit, frozen=True, tag="add-node"):
    """There is one more node, empty, like another in labels, taints and size."""

    node: str
    like: str


class Tolerate(_Edit, frozen=True, tag="tolerate"):
    """The pods tolerate one more taint."""

    pods: tuple[str, ...]
    key: str
    value: str
    effect: str


class SetRequest(_Edit, frozen=True, tag="set-request"):
    """The pods request no more than this of a resource, summed over their containers; if `limits`, they use no more."""

    pods: tuple[str, ...]
    resource: str
    amount: str
    limits: bool = False


class SetTopology(_Edit, frozen=True, tag="set-topology"):
    """A gang has another topology spec; `defined_by` tells where it stands: `PodGroup` or `pods`."""

    gang: str
    defined_by: str
    spec: str


class SetMinimum(_Edit, frozen=True, tag="set-minimum"):
    """A gang has another minimum; `defined_by` tells where it stands."""

    gang: str
    defined_by: str
    minimum: int


class CreatePodGroup(_Edit, frozen=True, tag="create-pod-group"):
    """There is a PodGroup for a gang; `groups` are the ids of its gang group, empty for none."""

    gang: str
    minimum: int
    groups: tuple[str, ...] = ()


class SetQuota(_Edit, frozen=True, tag="set-quota"):
    """An ElasticQuota (`namespace/name`) has another `min` or `max` of a resource that it has one of."""

    quota: str
    field: Literal["min", "max"]
    resource: str
    amount: str


class UseQuota(_Edit, frozen=True, tag="use-quota"):
    """Pending pods count against another quota, by their label."""

    pods: tuple[str, ...]
    quota: str


class ReleaseReservation(_Edit, frozen=True, tag="release-reservation"):
    """A Reservation is gone; the pods that draw on it keep their places."""

    reservation: str


class NodeLabel(Struct, frozen=True, rename="camel"):
    """A label and its value."""

    key: str
    value: str


class LabelNode(_Edit, frozen=True, tag="label-node"):
    """A node has these labels, too."""

    node: str
    labels: tuple[NodeLabel, ...]


class LayerKeys(Struct, frozen=True, rename="camel"):
    """A layer of a topology, and the keys of its labels."""

    layer: str
    label_keys: tuple[str, ...]


class SetLayers(_Edit, frozen=True, tag="set-layers"):
    """The ClusterNetworkTopology has these layers, from the top to the nodes."""

    layers: tuple[LayerKeys, ...]


class SupplyClaims(_Edit, frozen=True, tag="supply-claims"):
    """Claims (`namespace/name`) are bound to volumes, or have devices allocated, that any node can reach."""

    volume_claims: tuple[str, ...] = ()
    resource_claims: tuple[str, ...] = ()


Edit: TypeAlias = (
    DeletePod
    | MendNode
    | MovePod
    | Uncordon
    | AddNode
    | Tolerate
    | SetRequest
    | SetThresholds
    | SetTopology
    | SetMinimum
    | CreatePodGroup
    | SetQuota
    | UseQuota
    | ReleaseReservation
    | LabelNode
    | SetLayers
    | SupplyClaims
)
