"""ClusterNetworkTopologies."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta
from kubectl_koord.model import objects


class LayerSpec(Struct, gc=False, rename="camel"):
    """spec.networkTopologySpec[] of a ClusterNetworkTopology."""

    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: list[str] | None = None


class TopologySpec(Struct, gc=False, rename="camel"):
    """spec of a ClusterNetworkTopology."""

    network_topology_spec: list[LayerSpec] | None = None


class TopologyInfo(Struct, gc=False, rename="camel"):
    """The identity of a domain."""

    topology_layer: str = ""
    topology_name: str = ""


class DetailStatus(Struct, gc=False, rename="camel"):
    """status.detailStatus[]."""

    topology_info: TopologyInfo = field(default_factory=TopologyInfo)
    node_num: Int32 = 0


class TopologyStatus(Struct, gc=False, rename="camel"):
    """status of a ClusterNetworkTopology."""

    detail_status: list[DetailStatus] | None = None


class NetworkTopology(Struct, gc=False):
    """One ClusterNetworkTopology."""

    metadata: Meta
    spec: TopologySpec = field(default_factory=TopologySpec)
    status: TopologyStatus | None = None


def topology(written: NetworkTopology) -> objects.NetworkTopology:
    """Return the ClusterNetworkTopology with what the scheduler last wrote into its status."""
    detail = written.status.detail_status if written.status else None
    return objects.NetworkTopology(
        name=written.metadata.name,
        layers=tuple(
            objects.Layer(entry.topology_layer, entry.parent_topology_layer, tuple(entry.label_key or ()))
            for entry in written.spec.network_topology_spec or ()
        ),
        status=None
        if detail is None
        else tuple(
            objects.DomainStatus(d.topology_info.topology_layer, d.topology_info.topology_name, d.node_num)
            for d in detail
        ),
        resource_version=written.metadata.resource_version or "",
    )
