"""The fields of a Pod in a list: what many pods have alike is left as bytes, and told once."""

from collections.abc import Mapping
from typing import TypeAlias

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
    scheduling_group: Raw = ABSENT
    workload_ref: Raw = ABSENT
    volumes: Raw = ABSENT
    resource_claims: Raw = ABSENT


class ListedPod(Struct, gc=False):
    """One Pod: the fields of `Pod`, of which some are bytes."""

    metadata: ListedMeta
    spec: ListedSpec = field(default_factory=ListedSpec)
    status: PodStatus = field(default_factory=PodStatus)


class Common(Struct, array_like=True, gc=False):
    """What bound pods of one owner have in common: that of which their requirements are made, and their labels.

    `owned_by`, `labels`, `spec` and `volumes` are JSON; `read` are the values of `compared.READ`, 0 for each that is
    missing, or nothing where all are.
    """

    namespace: str | None
    owned_by: bytes
    labels: bytes
    spec: bytes
    volumes: bytes
    priority: int
    qos: str | None
    read: tuple[str | int | None, ...]


class BoundPod(Struct, array_like=True, gc=False, omit_defaults=True):
    """What a bound pod has of its own.

    `scheduled` is None where it is the same as `created`; of `annotations` there are at least those of
    `decode.ANNOTATIONS`. What it has in `common` with others is that of the pod before it in its `group`, unless
    it is told.
    """

    group: int
    name: str
    node: str
    created: str
    scheduled: str | None = None
    annotations: Mapping[str, str | None] | None = None
    preempted: bool = False
    deleted: str | None = None
    common: Common | None = None
    preemptor: str = ""


Told: TypeAlias = BoundPod | bytes
"""A pod of a list: one that is bound by what it has of its own, any other whole, as JSON."""
