"""What a pod takes up where: all that is read of it where nobody asks who it is."""

from msgspec import Struct, convert, field, structs

from kubectl_koord.cluster.objects.fields.amounts import Amounts
from kubectl_koord.cluster.objects.pods.fields import PodSpec
from kubectl_koord.cluster.objects.pods.pool import encoded
from kubectl_koord.cluster.objects.pods.requests import has_own_resources, requests
from kubectl_koord.model.pods import PodAmounts, PodRequirements, RunningPod


class PlacedMeta(Struct, gc=False):
    """metadata of a Pod, for messages."""

    name: str = ""
    namespace: str | None = None


class Requested(Struct, gc=False, omit_defaults=True):
    """containers[].resources."""

    requests: Amounts | None = None


class PlacedContainer(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.containers[] and initContainers[]."""

    resources: Requested | None = None
    restart_policy: str | None = None


class PlacedSpec(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec of a Pod."""

    node_name: str | None = None
    containers: list[PlacedContainer] | None = None
    init_containers: list[PlacedContainer] | None = None
    overhead: Amounts | None = None
    resources: Requested | None = None


class PlacedStatus(Struct, gc=False):
    """status of a Pod."""

    phase: str | None = None


class PlacedPod(Struct, gc=False):
    """One Pod."""

    metadata: PlacedMeta
    spec: PlacedSpec = field(default_factory=PlacedSpec)
    status: PlacedStatus = field(default_factory=PlacedStatus)


class Rooms:
    """What pods take up: one value for all that request the same, without a name.

    `by_containers_too` is set once a pod was seen that requests something as a whole.
    """

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.by_containers_too = False
        self._by_spec: dict[bytes, RunningPod] = {}

    def of(self, written: PlacedPod) -> RunningPod:
        """Return what a pod takes up.

        Raises:
            QuantityError: when a request is no quantity.

        """
        spec = written.spec
        spec.node_name = None
        key = encoded(spec)
        found = self._by_spec.get(key)
        if found is None:
            whole = convert(spec, PodSpec, from_attributes=True)
            requested = PodRequirements(requests=requests(whole))
            if has_own_resources(whole):
                less = PodAmounts(requests(structs.replace(whole, resources=None)))
                requested = structs.replace(requested, by_containers=less)
                self.by_containers_too = True
            found = self._by_spec[key] = RunningPod("", "", "", 0, requested)
        return found
