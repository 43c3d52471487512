"""The fields of a Pod in a list: what many pods have alike is left as bytes."""

from msgspec import Raw, Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32
from kubectl_koord.cluster.objects.pods.fields import PodStatus

NOTHING = b"null"
ABSENT = Raw(NOTHING)


class ListedMeta(Struct, gc=False, omit_defaults=True, rename="camel"):
    """metadata of a Pod."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: Raw = ABSENT
    annotations: dict[str, str | None] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str | None = None
    owner_references: Raw = ABSENT


class ListedContainer(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.containers[] and initContainers[]."""

    resources: Raw = ABSENT
    ports: Raw = ABSENT
    restart_policy: str | None = None


class ListedSpec(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec of a Pod."""

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    containers: list[ListedContainer] | None = None
    init_containers: list[ListedContainer] | None = None
    overhead: Raw = ABSENT
    resources: Raw = ABSENT
    node_selector: Raw = ABSENT
    affinity: Raw = ABSENT
    tolerations: Raw = ABSENT
    topology_spread_constraints: Raw = ABSENT
    scheduling_gates: Raw = ABSENT
    volumes: Raw = ABSENT
    resource_claims: Raw = ABSENT


class ListedPod(Struct, gc=False):
    """One Pod: the fields of `Pod`, of which some are bytes."""

    metadata: ListedMeta
    spec: ListedSpec = field(default_factory=ListedSpec)
    status: PodStatus = field(default_factory=PodStatus)
