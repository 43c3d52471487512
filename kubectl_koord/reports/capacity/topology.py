"""The answer of `topo`."""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.reports.capacity.quota import Headroom
from kubectl_koord.reports.common import Basis, DomainName, Notice, Verdict


class Amount(Struct, frozen=True, rename="camel"):
    """What is free of a resource and what there is; `free` is None where pods went unseen."""

    free: int | None
    total: int


class NodeRow(Struct, frozen=True, rename="camel"):
    """One node of the tree with what is free of the resource that the report counts.

    `state` is empty, `cordoned` or `not ready`; `offer_slots` and `reason` only with a gang. Of a node that is
    out nothing counts as free: `withheld` is what would. `others` are further resources, by name; `whole` is as of
    domains.
    """

    node: str
    parent: DomainName
    free: int | None
    total: int
    state: str = ""
    offer_slots: int | None = None
    reason: str = ""
    withheld: int | None = 0
    others: Mapping[str, Amount] = {}
    whole: int | None = None
    shape_pods: int | None = None


class DomainRow(Struct, frozen=True, rename="camel"):
    """One domain above the nodes, in pre-order; `parent` is None for the root, `free` where pods went unseen.

    `withheld` is what would be free on nodes that are cordoned or not ready: `free` is without it. `others` are
    further resources, by name. `whole` counts cards that are whole and free as Device objects say, on nodes that can be
    used; None where that was not asked for, or could not be read. `shape_pods` is how many pods of the shape that was
    asked for it takes, `shape_gangs` how many gangs of them that gather in it.
    """

    layer: str
    name: str
    parent: DomainName | None
    nodes: int
    free: int | None = 0
    total: int = 0
    cordoned: int = 0
    not_ready: int = 0
    offer_slots: int | None = None
    withheld: int | None = 0
    others: Mapping[str, Amount] = {}
    whole: int | None = None
    shape_pods: int | None = None
    shape_gangs: int | None = None


class OutsideNode(Struct, frozen=True, rename="camel"):
    """A node that is not in the tree, and the label keys that it lacks."""

    node: str
    missing: tuple[str, ...]


class TopologyReport(Struct, frozen=True, rename="camel"):
    """The topology tree as the scheduler builds it, and what is wrong with it.

    `resource` names what `free` and `total` count: `nvidia.com/gpu`, `koordinator.sh/gpu-core` in hundredths of
    a GPU, or `cpu` in milli-CPU. `resources` are all that are counted, that one first. `whole` is whether
    whole cards are counted. `message` names what could not be read where that leaves the tree, or the slots of a gang,
    unknown. `no_slots` is why no slots are counted for a gang that has pending pods. `headroom` is how many of the
    gang's pods its quotas admit, None where none limits it. `shape` is that which was asked for, `shape_requests` what
    a pod of it requests, as quantities, `shape_members` how many make a gang, `shape_refusal` why no node takes any.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    layers: tuple[str, ...]
    domains: tuple[DomainRow, ...]
    outside: tuple[OutsideNode, ...]
    nodes: tuple[NodeRow, ...]
    resource: str
    gang: str | None = None
    desired_offer_slot: int | None = None
    message: str = ""
    resources: tuple[str, ...] = ()
    whole: bool = False
    headroom: Headroom | None = None
    shape: str = ""
    shape_requests: Mapping[str, str] = {}
    shape_members: int | None = None
    shape_refusal: str = ""
    no_slots: str = ""
