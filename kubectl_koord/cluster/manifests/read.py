"""Manifests as what they would be in the cluster: pending pods and PodGroups, added to what was read of it."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.kind import Kind, whole_name
from kubectl_koord.cluster.manifests import cards, documents
from kubectl_koord.cluster.manifests.allowed import Quotas, refused_by_ranges
from kubectl_koord.cluster.manifests.completed import (
    Admission,
    Completed,
    Filler,
    Overrides,
    admission,
    completed,
    ranges_of,
)
from kubectl_koord.cluster.manifests.documents import Document, Head
from kubectl_koord.cluster.manifests.families import FAMILIES, OBJECTS
from kubectl_koord.cluster.manifests.names import Names, checked_namespace
from kubectl_koord.cluster.manifests.pods import is_classless, own_volumes, pending_pod
from kubectl_koord.cluster.manifests.tolerations import Tolerations
from kubectl_koord.cluster.manifests.workload import Based, Made, Set, TemplateSpec, WorkloadKind
from kubectl_koord.cluster.objects.fields.meta import Meta, Owner
from kubectl_koord.cluster.objects.koordinator import gangs, scheduler
from kubectl_koord.cluster.objects.kubernetes.storage import PersistentVolumeClaim
from kubectl_koord.cluster.objects.pods.fields import Container, Pod, ResourceRequirements
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.cluster.reading.unquoted import told
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import PodSetting, PodUnevaluated
from kubectl_koord.model.values.quantity import QuantityError
from kubectl_koord.simulation.submitted import Submitted

MOST_PODS = 50_000
"""More pods than that are refused: a count is a few bytes, its pods are not."""

_GANG = "pod-group.scheduling.sigs.k8s.io"
_SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"


class _PodManifest(Struct):
    """A Pod; its status is not that of a pod which does not exist."""

    metadata: Meta
    spec: TemplateSpec


class _Workload(Struct, frozen=True):
    """A workload or a pod: `title` is what errors call it."""

    title: str
    kind: str
    meta: Meta
    made: Callable[[Collector], Made] | None
    spec: TemplateSpec | None = None


class Manifests:
    """What was submitted, to be joined with a cluster."""

    def __init__(self, namespace: Callable[[], str], fixed: str = "", overrides: Overrides = Overrides()) -> None:  # noqa: B008
        """Start with nothing.

        Args:
            namespace: returns the namespace of objects that name none.
            fixed: the only namespace that objects may name, where one was asked for.
            overrides: what all pods get.

        """
        self._namespace = namespace
        self._fixed = fixed
        self._overrides = overrides
        self._objects: list[tuple[str, Kind[Any, Any], Any]] = []
        self._workloads: list[_Workload] = []
        self._skipped: dict[str, None] = {}
        self._assumed: list[str] = []
        self._of_others: list[str] = []
        self._suspended: list[str] = []
        self._scheduled: list[tuple[str, str]] = []
        self._own_priority: dict[str, None] = {}
        self._pods: dict[str, None] = {}
        self._pool = PodPool()
        self._count = 0
        self._is_shape = self._asks_parts = self._reads_runtimes = False
        self._classless: set[str] = set()
        self._names = Names()
        self._quotas = Quotas(())
        self._replacing: set[str] = set()
        self._refused: dict[str, str] = {}
        self._profiles: tuple[str, ...] = ()
        self._tolerations = Tolerations({}, {})

    def read(self, names: Iterable[str]) -> None:
        """Take the objects of files.

        Raises:
            KoordError: naming the file, the document and the field that cannot be read.

        """
        for document in documents.read(names):
            self.take(document)

    def add_shape(self, name: str, pods: int, requests: Mapping[str, str], must_gather: str = "") -> None:
        """Take a gang of pods that are alike, which perhaps must gather in a domain of a layer.

        Raises:
            KoordError: when they are too many.

        """
        self._is_shape = True
        home = self._namespace()
        spec = json.dumps({"gatherStrategy": [{"layer": must_gather, "strategy": "MustGather"}]})
        meta = Meta(name=name, namespace=home, annotations={_SPEC: spec} if must_gather else None)
        group = gangs.PodGroup(meta, gangs.PodGroupSpec(min_member=pods))
        self._objects.append(("error: --pods", kinds.POD_GROUP, group))
        template = TemplateSpec(containers=[Container(ResourceRequirements(requests=dict(requests)))])
        for number in range(self._counted("error: --pods", pods)):
            own = Meta(name=f"{name}-{number}", namespace=home, labels={_GANG: name})
            self._workloads.append(_Workload("error: --request", "Pod", own, None, template))

    @property
    def more_kinds(self) -> tuple[str, ...]:
        """What is to be read for the manifests, besides what is read for any pods."""
        of_parts = kinds.WEBHOOK_KINDS if self._asks_parts or self._reads_runtimes else ()
        return (*kinds.MANIFEST_KINDS, *of_parts, *(kinds.TRAIN_JOB_KINDS if self._reads_runtimes else ()))

    def submitted(self) -> Submitted:
        """Return which pods were submitted; there are none before they were joined with a cluster."""
        return Submitted(
            frozenset(self._pods),
            tuple(sorted(self._skipped)),
            tuple(self._assumed),
            is_filled=True,
            of_others=tuple(self._of_others),
            suspended=tuple(self._suspended),
            scheduled=tuple(self._scheduled),
            refused=dict(self._refused),
            own_priority=tuple(self._own_priority),
            is_mutated=not self._is_shape,
            asks_parts=self._asks_parts,
        )

    def join(self, collector: Collector, moment: str, gaps: Collection[Gap] = ()) -> None:
        """Add everything to a cluster, in place of objects of the same name and of pods that workloads have there.

        Args:
            collector: the cluster.
            moment: when the pods are made.
            gaps: what could not be read of the cluster.

        Raises:
            KoordError: naming the object of which a value cannot be read, or whose PriorityClass is not there.

        """
        for title, kind, written in self._objects:
            _add(collector, title, kind, written)
        self._tolerations = Tolerations.of(collector)
        self._quotas = Quotas(collector.values(kinds.RESOURCE_QUOTA).values())
        replaced = {(one.meta.namespace or "", f"{one.kind}/{one.meta.name}") for one in self._workloads if one.made}
        self._replacing = {pod.namespace for pod in collector.every_pod if (pod.namespace, pod.owner) in replaced}
        made_in = admission(collector, self._overrides, gaps, is_mutated=not self._is_shape)
        self._profiles = scheduler.profiles(collector.scheduler().parsed or {})
        collector.forget_pods_of(replaced)
        for workload in sorted(self._workloads, key=lambda one: one.spec is None):  # pods keep their names
            if workload.spec is not None:
                self._join_pod(made_in, workload, workload.spec, moment)
            elif workload.made is not None:
                self._join_made(made_in, workload, workload.made(collector), moment)

    def take(self, document: Document) -> None:
        """Take an object.

        Raises:
            KoordError: naming the document and the field that cannot be read.

        """
        try:
            head = msgspec.convert(document.value, Head)
            title = f"{document.where}: {documents.described(document.value)}"
            if not head.kind or not head.api_version:
                raise KoordError(f"{title} has no {'apiVersion' if head.kind else 'kind'}")
            group = head.api_version.rpartition("/")[0]
            key = (group, head.kind)
            if key in FAMILIES:
                self._take_workload(title, head, FAMILIES[key], document.value)
            elif key == ("", "Pod"):
                written = msgspec.convert(document.value, _PodManifest)
                meta = self._placed(title, head, written.metadata)
                self._counted(title, 1)
                self._asks_parts = self._asks_parts or cards.asks_parts(written.spec)
                self._workloads.append(_Workload(title, "Pod", meta, None, written.spec))
            elif key in OBJECTS:
                kind = OBJECTS[key]
                taken = msgspec.convert(document.value, kind.wire_type)
                taken.metadata = self._placed(title, head, taken.metadata)
                if isinstance(taken, PersistentVolumeClaim) and is_classless(taken):
                    self._classless.add(whole_name(taken.metadata))
                else:
                    self._objects.append((title, kind, taken))
            else:
                self._skipped[head.kind] = None
        except msgspec.ValidationError as problem:
            what = told(problem, document.value)
            raise KoordError(f"{document.where}: {documents.described(document.value)}: {what}") from None

    def _take_workload(self, title: str, head: Head, family: WorkloadKind, value: Any) -> None:  # noqa: ANN401
        written = msgspec.convert(value, family.wire_type)
        meta = self._placed(title, head, written.metadata)
        if family.basis is None:
            self._count_sets(title, family.made(meta.name, written))
            self._workloads.append(_Workload(title, head.kind, meta, lambda _: family.made(meta.name, written)))
            return
        basis = family.basis(meta.namespace or "", written)
        self._reads_runtimes = True

        def made(collector: Collector) -> Made:
            based = Based(written, collector.values(basis.kind).get(basis.key))
            try:
                self._count_sets(title, family.made(meta.name, based))
                return family.made(meta.name, based)
            except msgspec.ValidationError as problem:
                raise KoordError(f"{title}: {basis.kind.name} {basis.key}: {problem}") from None

        self._workloads.append(_Workload(title, head.kind, meta, made))

    def _count_sets(self, title: str, made: Made) -> None:
        for one in made.sets:
            self._counted(title, max(one.count, 1))  # a set without pods takes time, too
            self._asks_parts = self._asks_parts or cards.asks_parts(one.template.spec)

    def _placed(self, title: str, head: Head, meta: Meta) -> Meta:
        """Return the metadata with the name and the namespace that the object would have."""
        if self._fixed and head.metadata.namespace not in {None, self._fixed}:
            named = f"the namespace from the provided object {head.metadata.namespace!r} does not match"
            raise KoordError(f"{title}: {named} the namespace {self._fixed!r}")
        own = head.metadata.namespace
        namespace = checked_namespace(title, own) if own else self._namespace()
        kind = (head.api_version.rpartition("/")[0], head.kind, namespace)
        name = self._names.take(title, kind, head.metadata.name, head.metadata.generate_name)
        return structs.replace(meta, name=name, namespace=namespace)

    def _counted(self, title: str, pods: int) -> int:
        self._count += pods
        if self._count > MOST_PODS:
            raise KoordError(f"{title}: more than {MOST_PODS:,} pods in all")
        return pods

    def _join_pod(self, made_in: Admission, workload: _Workload, written: TemplateSpec, moment: str) -> None:
        meta = workload.meta
        own = structs.replace(
            meta, deletion_timestamp=None, creation_timestamp=meta.creation_timestamp or moment, resource_version=None
        )
        done = completed(made_in, workload.title, own, written)
        self._keep(made_in.collector, workload, done, (), self._quotas)

    def _join_made(self, made_in: Admission, workload: _Workload, made: Made, moment: str) -> None:
        collector, meta = made_in.collector, workload.meta
        key = whole_name(meta)
        for claim in made.claims:
            own = Meta(name=claim.metadata.name, namespace=meta.namespace)
            if is_classless(claim):
                self._classless.add(whole_name(own))
            elif whole_name(own) not in collector.values(kinds.VOLUME_CLAIM):
                _add(collector, workload.title, kinds.VOLUME_CLAIM, PersistentVolumeClaim(own, claim.spec))
        in_operators_group = False
        for one in made.sets:
            in_operators_group |= self._join_set(made_in, workload, one, moment, made)
        if made.is_suspended:
            self._suspended.append(f"{workload.kind}/{meta.name}")
        if made.schedule:
            self._scheduled.append((f"{workload.kind}/{meta.name}", made.schedule))
        if in_operators_group and key not in collector.values(kinds.POD_GROUP):
            own = Meta(name=meta.name, namespace=meta.namespace, annotations=meta.annotations)
            collector.add(kinds.POD_GROUP.name, gangs.PodGroup(own, gangs.PodGroupSpec(min_member=made.minimum)))
            (self._of_others if made.of_another else self._assumed).append(key)

    def _join_set(self, made_in: Admission, workload: _Workload, one: Set, moment: str, made: Made) -> bool:
        """Add the pods of a set; return whether they are in the PodGroup that the operator makes."""
        labels = {**(one.template.metadata.labels or {}), **one.labels}
        meta = Meta(
            name=one.stem,
            namespace=workload.meta.namespace,
            labels=labels,
            annotations=one.template.metadata.annotations,
            creation_timestamp=moment,
            owner_references=[Owner(workload.kind, workload.meta.name, controller=True)],
        )
        first = self._profiles[0]
        named = one.template.spec.scheduler_name or (first if one.scheduler is None else one.scheduler)
        is_made = made.minimum is not None and not (made.of_another and named in self._profiles)
        joins = is_made and not gangs.gang_of(meta)[0]
        if joins:
            meta = structs.replace(meta, labels={**labels, _GANG: workload.meta.name})
        filler = named or (first if joins else "")  # an operator that makes PodGroups fills in both
        pod = completed(made_in, workload.title, meta, one.template.spec, Filler(filler, one.priority_class))
        quotas = Quotas(()) if made.is_suspended else self._quotas  # resumed later, it finds others gone
        for name in one.names():
            is_taken = f"{meta.namespace}/{name}" in self._pods  # by a pod of another workload
            own = f"{name}-{workload.kind.lower()}" if is_taken else name
            one_pod = structs.replace(
                pod, meta=structs.replace(pod.meta, name=own), unevaluated=(*one.unevaluated, *pod.unevaluated)
            )
            self._keep(made_in.collector, workload, one_pod, one.claims, quotas)
        return joins and one.count > 0

    def _keep(
        self, collector: Collector, workload: _Workload, done: Completed, claims: Iterable[Any], quotas: Quotas
    ) -> None:
        home = done.meta.namespace or ""
        refused = ""
        opened: tuple[PodUnevaluated, ...] = ()
        if not self._is_shape and home not in self._replacing:  # what is replaced gives back what it used
            refused = refused_by_ranges(done.spec, ranges_of(collector, home)) or quotas.take(home, done.spec)
            opened = quotas.open(home)
        pod = Pod(done.meta, done.spec)
        if done.is_priority_refused:
            self._own_priority[f"{workload.kind}/{workload.meta.name}"] = None
        try:
            made, without_class = own_volumes(pod, claims, collector.values(kinds.VOLUME_CLAIM), self._classless)
        except msgspec.ValidationError as problem:
            raise KoordError(f"{workload.title}: the claim template of an ephemeral volume: {problem}") from None
        for claim in made:
            _add(collector, workload.title, kinds.VOLUME_CLAIM, claim)
        classless = (PodSetting("default-storage-class"),) if without_class else ()
        try:
            value = pending_pod(pod, (*classless, *opened, *done.unevaluated), self._pool)
        except QuantityError as problem:
            raise KoordError(f"{workload.title}: {problem}") from None
        value = self._tolerations.completed(value)
        collector.keep_pod(value)
        self._pods[value.key] = None
        if refused:
            self._refused[value.key] = f'pods "{done.meta.name}" is forbidden: {refused}'


def _add(collector: Collector, title: str, kind: Kind[Any, Any], written: Any) -> None:  # noqa: ANN401
    try:
        collector.add(kind.name, written)
    except KoordError as problem:
        raise KoordError(f"{title}: {problem.message.removeprefix('error: ')}") from None
