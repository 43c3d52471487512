"""A pod as what it is: running, pending or finished.

Pods that merely run become compact records, whose requirements and strings are shared between equals.
"""

from collections.abc import Iterator, Mapping
from sys import intern

from msgspec import Struct

from kubectl_koord.cluster.objects.fields.meta import Condition, Meta, namespace, owner, strings
from kubectl_koord.cluster.objects.fields.owners import references
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.cluster.objects.koordinator import gangs
from kubectl_koord.cluster.objects.pods import reservations
from kubectl_koord.cluster.objects.pods.fields import FINISHED, Pod, PodSpec
from kubectl_koord.cluster.objects.pods.listed_fields import BoundPod, ListedPod
from kubectl_koord.cluster.objects.pods.pool import BOOKED, PodLabels, PodPool
from kubectl_koord.messages.preempted import job_preemption
from kubectl_koord.model import pods
from kubectl_koord.model.hardware.allocations import NOTHING
from kubectl_koord.model.marks import NO_MARKS, GangAnnotations, Marks
from kubectl_koord.model.resource_claims import PodClaim

_SELECTOR_ANNOTATION = "scheduling.koordinator.sh/network-topology-selector"
ANNOTATIONS = frozenset((_SELECTOR_ANNOTATION, gangs.GANG_ANNOTATION, *gangs.TERMS, *BOOKED))
"""The annotations that are read of bound pods, besides those that their requirements are made of."""


class Alike(Struct, frozen=True, gc=False):
    """What bound pods of one owner have alike, if their labels and specs are; `gang` is the one that labels name.

    Of such as are not `plain` labels say more: they have marks. A gang that `needs_group` is not told by its pods.
    """

    namespace: str
    owner: str
    gang: str
    said: PodLabels
    offers: bool
    priority: int
    requirements: pods.PodRequirements
    plain: bool
    needs_group: bool
    minimum: str


def pod(written: Pod, pool: PodPool) -> pods.RunningPod | pods.PendingPod | pods.FinishedPod:
    """Return the pod as what it is: finished, running (bound), or pending.

    Raises:
        QuantityError: when a request is no quantity.

    """
    if written.status.phase in FINISHED:
        return _finished(written)
    if written.spec.node_name:
        said = pool.pod_labels(written.metadata.labels)
        priority = pool.priority(written.spec.priority or 0)
        found = alike(written.metadata, said, priority, pool.requirements(written, said.qos))
        is_offer = found.offers and reservations.offers(written)
        offers = (written.metadata.uid or written.metadata.name) if is_offer else ""
        counts = found.requirements.estimated_for
        initialized = _initialized(written.status.conditions) if counts and counts.after_initialized else ""
        return running(bound(written, written.metadata.annotations), found, pool, offers, initialized)
    return pending(written, pool)


def _finished(written: Pod) -> pods.FinishedPod:
    meta = written.metadata
    return pods.FinishedPod(
        namespace=namespace(meta),
        name=meta.name,
        gang=gang_of(meta),
        was_bound=bool(written.spec.node_name),
        created=meta.creation_timestamp or "",
        owner=owner(meta),
    )


def gang_of(meta: Meta) -> str:
    """Return the id of the gang that a pod is in, empty for none."""
    return gangs.gang_of(meta)[0]


def alike(meta: Meta, said: PodLabels, priority: int, requirements: pods.PodRequirements) -> Alike:
    """Return what a bound pod has in common with others: of `meta` namespace, labels and owners are read."""
    offers = reservations.may_offer(meta.labels)
    return Alike(
        namespace=namespace(meta),
        owner=owner(meta),
        gang=gangs.label_of(meta),
        said=said,
        offers=offers,
        priority=priority,
        requirements=requirements,
        plain=not (offers or said.job or said.protected or requirements.estimated_for),
        needs_group=gangs.needs_group(meta),
        minimum=gangs.light_minimum(meta.labels),
    )


def bound(written: Pod | ListedPod, annotations: Mapping[str, str | None] | None, group: int = 0) -> BoundPod:
    """Return what a bound pod has of its own; of `annotations` at least those of `ANNOTATIONS` are given."""
    meta = written.metadata
    created = meta.creation_timestamp or ""
    scheduled, disruption = _history(written.status.conditions)
    preempted = disruption is not None and disruption.reason == "PreemptionByScheduler"
    said = job_preemption(disruption.message or "") if preempted and disruption is not None else None
    return BoundPod(
        group,
        meta.name,
        written.spec.node_name or "",
        created,
        None if scheduled == created else scheduled,
        annotations,
        preempted,
        meta.deletion_timestamp,
        preemptor=said.preemptor if said is not None else "",
    )


def running(own: BoundPod, alike: Alike, pool: PodPool, offers: str = "", initialized: str = "") -> pods.RunningPod:
    """Return a pod that is bound, of what it has of its own and in common; the rest is as `Marks` have it."""
    gang, selector, allocations, annotations = alike.gang, "", NOTHING, own.annotations
    if annotations:
        gang = gang or gangs.annotated(alike.namespace, annotations)
        selector = annotations.get(_SELECTOR_ANNOTATION) or ""
        allocations = pool.allocations(annotations)
    marks, terms = NO_MARKS, None
    if gang and pool.details and not alike.needs_group:
        terms = shared(gangs.terms(alike.minimum, strings(annotations)))
    if not alike.plain or own.preempted or selector or own.deleted is not None or terms is not None:
        marks = _marks(own, alike.said, selector, offers, initialized, terms)
    if pool.details:
        created, owned_by = own.created, alike.owner
        scheduled = created if own.scheduled is None else own.scheduled
    else:
        created = scheduled = owned_by = ""
    return pods.RunningPod(
        alike.namespace,
        own.name,
        intern(own.node),
        alike.priority,
        alike.requirements,
        gang,
        created,
        owned_by,
        alike.said.labels,
        scheduled,
        allocations,
        marks,
    )


def _marks(
    own: BoundPod, said: PodLabels, selector: str, offers: str, initialized: str, terms: GangAnnotations | None
) -> Marks:
    return shared(
        Marks(
            job=said.job,
            protected=said.protected,
            terminating=own.deleted is not None,
            preempted=own.preempted,
            selector=selector,
            gone_by=own.deleted or "",
            offers=offers,
            initialized=initialized,
            preemptor=own.preemptor,
            gang_terms=terms,
        )
    )


def _initialized(conditions: list[Condition] | None) -> str:
    """Return since when the init containers of a pod have run, empty where they have not."""
    found = next((one for one in conditions or () if one.type == "Initialized"), None)
    return (found.last_transition_time or "") if found is not None and found.status == "True" else ""


def _history(conditions: list[Condition] | None) -> tuple[str, Condition | None]:
    """Return since when a pod has been scheduled (or nothing), and the condition that says that it is disrupted."""
    scheduled, disruption = "", None
    for condition in conditions or ():
        kind = condition.type
        if kind == "PodScheduled":
            if condition.status == "True" and not scheduled:
                scheduled = condition.last_transition_time or ""
        elif kind == "DisruptionTarget" and disruption is None:
            disruption = condition
    return scheduled, disruption if disruption is not None and disruption.status == "True" else None


def pending(written: Pod, pool: PodPool) -> pods.PendingPod:
    """Return a pod that waits for a node.

    Raises:
        QuantityError: when a request is no quantity.

    """
    meta, spec = written.metadata, written.spec
    annotations = strings(meta.annotations)
    gang, needs_group = gangs.gang_of(meta)
    said = pool.said(meta.labels)
    return pods.PendingPod(
        namespace=namespace(meta),
        name=meta.name,
        priority=pool.priority(spec.priority or 0),
        requirements=pool.requirements(written, said.qos),
        scheduler=_scheduler(written),
        gang=gang,
        needs_pod_group=needs_group,
        gang_terms=shared(gangs.gang_annotations(strings(meta.labels), annotations)),
        never_preempts=spec.preemption_policy == "Never",
        index=gangs.topology_index(annotations),
        selector=annotations.get(_SELECTOR_ANNOTATION, ""),
        job=said.job,
        nominated=written.status.nominated_node_name or "",
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        terminating=meta.deletion_timestamp is not None,
        condition=_scheduled_condition(written.status.conditions),
        created=meta.creation_timestamp or "",
        owner=owner(meta),
        labels=pool.labels(meta.labels),
        resource_version=meta.resource_version or "",
        uid=meta.uid or "",
        foreign_gang="" if gang else _native_group(spec) or gangs.foreign_gang(meta),
        volcano_group=gangs.volcano_group(meta),
        owners=shared(references(meta)),
        resource_claims=tuple(_claims(written)) if spec.resource_claims else (),
    )


def _native_group(spec: PodSpec) -> str:
    """Return the field by which a pod is in a gang of Kubernetes' own, empty for none."""
    if spec.scheduling_group is not None and spec.scheduling_group.pod_group_name:
        return "spec.schedulingGroup"
    return "spec.workloadRef" if spec.workload_ref is not None and spec.workload_ref.name else ""


def _scheduler(written: Pod) -> str:
    """Return which scheduler the pod is for, as koord-scheduler reads it.

    Mirrors `GetSchedulerName` in apis/extension/multi_scheduler.go, and what the API server makes of an empty name.
    """
    named = (written.metadata.labels or {}).get(pods.SCHEDULER_LABEL)
    return (written.spec.scheduler_name or "default-scheduler") if named is None else named


def _claims(written: Pod) -> Iterator[PodClaim]:
    """Yield the resource claims that the pod names, and those that were made for it from templates.

    Mirrors `Name` in k8s.io/dynamic-resource-allocation/resourceclaim.
    """
    home = namespace(written.metadata)
    made = {one.name: one.resource_claim_name for one in written.status.resource_claim_statuses or ()}
    for claim in written.spec.resource_claims or ():
        name = claim.resource_claim_name
        if name is not None:
            yield PodClaim(claim.name, f"{home}/{name}")
        elif claim.name not in made:
            yield PodClaim(claim.name, is_made=True)
        elif made[claim.name] is not None:
            yield PodClaim(claim.name, f"{home}/{made[claim.name]}", is_made=True)


def _scheduled_condition(conditions: list[Condition] | None) -> pods.Condition | None:
    for condition in conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            told = (condition.reason or "", condition.message or "", condition.last_transition_time or "")
            return shared(pods.Condition(*told))
    return None
