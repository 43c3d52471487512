"""How volumes are made: StorageClasses, CSIDrivers and CSIStorageCapacities."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.fields.selectors import LabelSelector, label_selector
from kubectl_koord.model import storage
from kubectl_koord.model.values.selectors import Requirement


class TopologyExpression(Struct, gc=False):
    """allowedTopologies[].matchLabelExpressions[] of a StorageClass."""

    key: str = ""
    values: list[str] | None = None


class AllowedTopology(Struct, gc=False, rename="camel"):
    """allowedTopologies[] of a StorageClass."""

    match_label_expressions: list[TopologyExpression] | None = None


class StorageClass(Struct, gc=False, rename="camel"):
    """One StorageClass."""

    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[AllowedTopology] | None = None


class CSIDriverSpec(Struct, gc=False, rename="camel"):
    """spec of a CSIDriver."""

    storage_capacity: bool | None = None


class CSIDriver(Struct, gc=False):
    """One CSIDriver."""

    metadata: Meta
    spec: CSIDriverSpec = field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(Struct, gc=False, rename="camel"):
    """One CSIStorageCapacity."""

    metadata: Meta
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
    node_topology: LabelSelector | None = None


def storage_class(written: StorageClass) -> storage.StorageClass:
    """Return the StorageClass."""
    topologies = (
        tuple(Requirement(one.key, "In", tuple(one.values or ())) for one in allowed.match_label_expressions or ())
        for allowed in written.allowed_topologies or ()
    )
    return storage.StorageClass(
        name=written.metadata.name,
        provisioner=written.provisioner,
        waits=written.volume_binding_mode == "WaitForFirstConsumer",
        topologies=tuple(topologies),
    )


def tracked_driver(written: CSIDriver) -> str | None:
    """Return the name of a driver that tells how much room there is for volumes, None of any other."""
    return written.metadata.name if written.spec.storage_capacity else None


def storage_capacity(written: CSIStorageCapacity) -> storage.StorageCapacity:
    """Return how large a volume may be.

    Raises:
        QuantityError: when that is no quantity.

    """
    limit = written.capacity if written.maximum_volume_size is None else written.maximum_volume_size
    amount: Amounts = {} if limit is None else {"storage": limit}
    return storage.StorageCapacity(
        class_name=written.storage_class_name,
        largest=None if limit is None else dict(resources(amounts(amount))).get("storage", 0),
        nodes=label_selector(written.node_topology),
    )
