"""Manifests, read: documents, the pods and PodGroups that they would become, and workloads that may become gangs."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Container as Contained
from contextlib import suppress
from json import JSONDecoder
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.bounds import Bounds, Meter, TooLargeError
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.files import opened, told, unpacked
from kubectl_koord.cluster.kinds import Kind, whole_name
from kubectl_koord.cluster.manifests import completed as completed_module
from kubectl_koord.cluster.manifests.allowed import Quotas, Tolerations, lacking, refused_by_ranges
from kubectl_koord.cluster.manifests.completed import Admission, Completed, Filler, Overrides, admission, ranges_of
from kubectl_koord.cluster.manifests.completed import completed as completed_template
from kubectl_koord.cluster.manifests.workload import (
    Based,
    Made,
    Names,
    Set,
    TemplateSpec,
    WorkloadKind,
    checked_namespace,
)
from kubectl_koord.cluster.manifests.workloads import FAMILIES, OBJECTS
from kubectl_koord.cluster.objects import gangs, scheduler
from kubectl_koord.cluster.objects.fields import Meta, Owner
from kubectl_koord.cluster.objects.pod_wire import ClaimSource, Container, Pod, ResourceRequirements, Volume
from kubectl_koord.cluster.objects.pods import PodPool, pending
from kubectl_koord.cluster.objects.storage import ClaimSpec, PersistentVolumeClaim
from kubectl_koord.cluster.reading import Rejoined, Source, completed
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model import keys
from kubectl_koord.model.objects import Keys, PodGroup, Template, Workload
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import PodSetting, PodUnevaluated
from kubectl_koord.model.values import QuantityError
from kubectl_koord.simulation.submitted import Submitted

BOUNDS = Bounds(objects=10_000, memory=256 << 20)
"""Of all manifests together."""
_LONGEST_NAME = 253
_NO_JSON = (msgspec.DecodeError, ValueError, RecursionError)
_FILLING = {"sparkoperator.k8s.io", "trainer.kubeflow.org"}
"""Groups of operators that fill in the containers of templates."""
_NO_BLANK = re.compile(r"\S")


class Head(Struct, rename="camel"):
    """What every object has."""

    class Meta(Struct, rename="camel"):
        """metadata, as far as it names the object."""

        name: str = ""
        generate_name: str = ""
        namespace: str | None = None

    api_version: str = ""
    kind: str = ""
    metadata: "Head.Meta" = msgspec.field(default_factory=Meta)


class Document(Struct, frozen=True):
    """One object; `file` and `number` are where it stands, items of a List stand where the List does."""

    file: str
    number: int
    value: Any

    @property
    def where(self) -> str:
        """The file and the document, as errors begin."""
        return say("error: {file}: document {number}", file=self.file, number=self.number)


def read_documents(names: Iterable[str], bounds: Bounds = BOUNDS) -> Iterator[Document]:
    """Yield the objects of files, YAML or JSON, packed or not; `-` is standard input.

    Raises KoordError, naming the file and the document that cannot be read.
    """
    meter = Meter(bounds)
    for name in names:
        found = False
        with opened(name) as raw:
            head, source = unpacked(raw)
            values = _braced(name, source, meter) if head.lstrip()[:1] in {b"{", b"["} else _yaml(name, source, meter)
            for number, value in values:
                found = found or value is not None
                yield from _objects(Document(name, number, value))
        if not found:
            raise KoordError(say("error: {name}: the file is empty", name=name))


def _braced(name: str, source: Source, meter: Meter) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file that begins as JSON does; what is none, or larger than one object may be, is YAML."""
    most = meter.bounds.object_bytes
    text = source.read(most + 1)
    values = _json(name, text, meter) if len(text) <= most else None
    if values is None:
        yield from _yaml(name, Rejoined(text, source), meter, "neither JSON nor YAML")
    else:
        yield from enumerate(values, 1)


def _json(name: str, text: bytes, meter: Meter) -> list[Any] | None:
    """Return the values of JSON, one after the other as kubectl takes them; None of what may be YAML.

    Raises KoordError when it begins with JSON, and an object that follows is none.
    """
    with suppress(*_NO_JSON):
        whole = msgspec.json.decode(text)
        meter.count(1, len(text))
        return [whole]
    values: list[Any] = []
    written, start, end = "", 0, 0
    try:
        written = text.decode()
        while found := _NO_BLANK.search(written, end):
            start = found.start()
            _, end = JSONDecoder().raw_decode(written, start)
            values.append(msgspec.json.decode(written[start:end]))
            meter.count(1, end - start)
    except _NO_JSON as problem:
        if values and written[start] == "{":
            raise KoordError(
                say(
                    "error: {name}: document {number}: not JSON: {problem}",
                    name=name,
                    number=len(values) + 1,
                    problem=problem,
                )
            ) from None
        return None
    except TooLargeError as problem:
        raise KoordError(
            say("error: {name}: document {number}: {problem}", name=name, number=len(values), problem=problem)
        ) from None
    return values


def _yaml(name: str, source: Source, meter: Meter, fault: str = "not YAML") -> Iterator[tuple[int, Any]]:
    import yaml  # noqa: PLC0415  (30 ms that JSON need not pay)

    from kubectl_koord.cluster.files import NumberedObjects  # noqa: PLC0415

    objects = NumberedObjects(source, meter)
    try:
        for value in objects:
            yield objects.document, value
    except TooLargeError as problem:
        raise KoordError(
            say("error: {name}: document {document}: {problem}", name=name, document=objects.document, problem=problem)
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        message = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
        raise KoordError(
            say(
                "error: {name}: document {document}: {where}{fault}: {message}",
                name=name,
                document=objects.document,
                where=where,
                fault=fault,
                message=message,
            )
        ) from None


def _objects(document: Document) -> Iterator[Document]:
    """Yield the object, or the items of a List; an empty document is none. Raises KoordError when it is no object."""
    value = document.value
    if value is None:
        return
    if not isinstance(value, dict):
        raise KoordError(f"{document.where}: not a Kubernetes object")
    if isinstance(value.get("items"), list) and str(value.get("kind") or "List").endswith("List"):
        for item in value["items"]:
            whole = completed(item, value.get("kind"), value.get("apiVersion"))
            yield from _objects(Document(document.file, document.number, whole))
    else:
        yield document


def described(value: Any) -> str:  # noqa: ANN401
    """Return `Kind name` of an object, cut to the longest possible name."""
    meta = value.get("metadata")
    name = (meta.get("name") or meta.get("generateName")) if isinstance(meta, dict) else None
    return " ".join(str(part)[:_LONGEST_NAME] for part in (value.get("kind") or "an object", name) if part)


class _ClaimTemplate(Struct, gc=False):
    """volumeClaimTemplate of an ephemeral volume."""

    spec: ClaimSpec = field(default_factory=ClaimSpec)


def own_volumes(
    pod: Pod, templates: Iterable[PersistentVolumeClaim], known: Contained[str], classless: Contained[str] = ()
) -> tuple[list[PersistentVolumeClaim], bool]:
    """Return the claims that are made for a pod, which gets volumes for them, and whether some are not evaluated.

    Those that are there already are used. A claim without a class gets the default one, which
    is not known: its volume is left out, as are those of `classless` claims.

    Raises msgspec.ValidationError when the template of an ephemeral volume cannot be read.
    """
    meta = pod.metadata
    volumes = {one.name: one for one in pod.spec.volumes or ()}
    made: list[PersistentVolumeClaim] = []
    for template in templates:
        own = f"{template.metadata.name}-{meta.name}"
        volumes[template.metadata.name] = Volume(template.metadata.name, ClaimSource(own))
        if f"{meta.namespace}/{own}" not in known:
            made.append(PersistentVolumeClaim(Meta(name=own, namespace=meta.namespace), template.spec))
    made += (one for one in _ephemeral(pod) if f"{meta.namespace}/{one.metadata.name}" not in known)
    own_classless = {one.metadata.name for one in made if is_classless(one)}

    def is_open(volume: Volume) -> bool:
        name = _claim_of(volume, meta.name)
        return name in own_classless or f"{meta.namespace}/{name}" in classless

    kept = [one for one in volumes.values() if not is_open(one)]
    pod.spec = structs.replace(pod.spec, volumes=kept or None)
    return [one for one in made if one.metadata.name not in own_classless], len(kept) < len(volumes)


def is_classless(claim: PersistentVolumeClaim) -> bool:
    """Tell whether a claim would get the default class, or none where there is no default."""
    annotated = (claim.metadata.annotations or {}).get(keys.STORAGE_CLASS)
    return claim.spec.storage_class_name is None and not claim.spec.volume_name and not annotated


def _ephemeral(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    meta = pod.metadata
    for volume in pod.spec.volumes or ():
        if volume.ephemeral is not None:
            template = msgspec.convert(volume.ephemeral.get("volumeClaimTemplate") or {}, _ClaimTemplate)
            owner = Owner("Pod", meta.name, meta.uid or "", controller=True)
            own = Meta(name=f"{meta.name}-{volume.name}", namespace=meta.namespace, owner_references=[owner])
            yield PersistentVolumeClaim(own, template.spec)


def _claim_of(volume: Volume, pod: str) -> str:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else ""


def pending_pod(pod: Pod, unevaluated: Iterable[PodUnevaluated], pool: PodPool) -> PendingPod:
    """Return the pod as it would wait.

    `pod`: what is written of it. `unevaluated`: what cannot be told of what is filled in.

    Raises QuantityError when a request is no quantity.
    """
    claims = pod.spec.resource_claims or ()
    named = [one for one in claims if one.resource_claim_name is not None]
    pod.spec = structs.replace(pod.spec, resource_claims=named or None)
    found = pending(pod, pool)
    more = [*unevaluated]
    if len(named) < len(claims):
        more.append(PodSetting("resource-claim-template"))  # its claims would be made with the pod
    if not more:
        return found
    requirements = structs.replace(found.requirements, unevaluated=(*found.requirements.unevaluated, *more))
    return structs.replace(found, requirements=requirements)


MOST_PODS = 50_000
"""More pods than that are refused: a count is a few bytes, its pods are not."""


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
        """Begin without manifests.

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

        Raises KoordError, naming the file, the document and the field that cannot be read.
        """
        for document in read_documents(names):
            self.take(document)
            _check_containers(document)

    def add_shape(self, name: str, pods: int, requests: Mapping[str, str], must_gather: str = "") -> None:
        """Add a gang of equal pods, which may have to gather in one domain of a layer.

        Raises KoordError when they are too many.
        """
        self._is_shape = True
        home = self._namespace()
        spec = json.dumps({"gatherStrategy": [{"layer": must_gather, "strategy": "MustGather"}]})
        meta = Meta(name=name, namespace=home, annotations={keys.GANG_TOPOLOGY: spec} if must_gather else None)
        group = gangs.PodGroup(meta, gangs.PodGroupSpec(min_member=pods))
        self._objects.append((say("error: --pods"), kinds.POD_GROUP, group))
        template = TemplateSpec(containers=[Container(ResourceRequirements(requests=dict(requests)))])
        for number in range(self._counted(say("error: --pods"), pods)):
            own = Meta(name=f"{name}-{number}", namespace=home, labels={keys.POD_GROUP: name})
            self._workloads.append(_Workload(say("error: --request"), "Pod", own, None, template))

    @property
    def more_kinds(self) -> tuple[str, ...]:
        """The kinds to read for the manifests, besides those for any pods."""
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
        """Add everything to a cluster; it replaces objects of equal names and the pods of its workloads.

        `moment`: when the pods are made. `gaps`: what could not be read of the cluster.

        Raises KoordError, naming the object of which a value cannot be read, or whose PriorityClass is not there.
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
        """Take an object. Raises KoordError, naming the document and the field that cannot be read."""
        try:
            head = msgspec.convert(document.value, Head)
            title = f"{document.where}: {described(document.value)}"
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
                self._asks_parts = self._asks_parts or completed_module.asks_parts(written.spec)
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
            raise KoordError(f"{document.where}: {described(document.value)}: {what}") from None

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
            self._asks_parts = self._asks_parts or completed_module.asks_parts(one.template.spec)

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
        done = completed_template(made_in, workload.title, own, written)
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
            meta = structs.replace(meta, labels={**labels, keys.POD_GROUP: workload.meta.name})
        filler = named or (first if joins else "")  # an operator that makes PodGroups fills in both
        pod = completed_template(made_in, workload.title, meta, one.template.spec, Filler(filler, one.priority_class))
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


def _check_containers(document: Document) -> None:
    """Let pass a pod or workload whose containers have what no operator fills in.

    Raises KoordError, in the words of the API server.
    """
    head = msgspec.convert(document.value, Head)
    key = (head.api_version.rpartition("/")[0], head.kind)
    is_checked = key == ("", "Pod") or (key in FAMILIES and key[0] not in _FILLING)
    for why in lacking(document.value.get("spec")) if is_checked else ():
        raise KoordError(f"{document.where}: {described(document.value)}: the API server refuses it: {why}")


def _add(collector: Collector, title: str, kind: Kind[Any, Any], written: Any) -> None:  # noqa: ANN401
    try:
        collector.add(kind.name, written)
    except KoordError as problem:
        raise KoordError(f"{title}: {problem.message.removeprefix('error: ')}") from None


def planned(
    written: Mapping[str, Any], beside: Iterable[Mapping[str, Any]], moment: str
) -> tuple[tuple[PendingPod, ...], Mapping[str, PodGroup], str]:
    """Return the pods that a workload of a cluster makes once it is let in, their PodGroups, and why there are none.

    Args:
        written: the workload, as the cluster has it.
        beside: what decides about its pods: classes, ranges, runtimes, PodGroups; a class that is not there is open.
        moment: when the pods are made.
    """
    namespace = written["metadata"].get("namespace") or "default"
    title = say("error: {described}", described=described(written))
    collector = Collector()
    manifests = Manifests(lambda: namespace)
    try:
        for one in beside:
            head = msgspec.convert(one, Head)
            kind = OBJECTS.get((head.api_version.rpartition("/")[0], head.kind))
            if kind is not None:
                _add(collector, title, kind, msgspec.convert(one, kind.wire_type, strict=False))
        manifests.take(Document(described(written), 1, as_created(written)))
        missing = [Gap(name, "missing", "not read") for name in kinds.FIT_KINDS if name not in collector.kinds]
        manifests.join(collector, moment, missing)
    except (KoordError, msgspec.ValidationError) as problem:
        return (), {}, str(problem).partition("; --priority")[0].rpartition(f"{described(written)}: ")[2]
    snapshot = collector.snapshot(moment=moment, source="")
    if not snapshot.pending:
        return (), {}, "no pods are known of it"
    return snapshot.pending, snapshot.pod_groups, ""


_OF_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OF_JOB = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)
"""Labels that the server gives the templates of Jobs, which a new one must not have."""
_VERSIONS: Mapping[str, tuple[str, ...]] = {
    "batch": ("v1",),
    "apps": ("v1",),
    "kubeflow.org": ("v2beta1", "v1"),
    "ray.io": ("v1",),
    "jobset.x-k8s.io": ("v1alpha2",),
    "leaderworkerset.x-k8s.io": ("v1",),
    "sparkoperator.k8s.io": ("v1beta2",),
    "trainer.kubeflow.org": ("v1alpha1",),
    "batch.volcano.sh": ("v1alpha1",),
}
IMMUTABLE = frozenset({"Job", "JobSet", "RayJob"})
"""The kinds whose pod templates cannot be changed once they are there."""


def paths_of(kind: str, namespace: str) -> Iterator[str]:
    """Yield where the objects of a kind of workload may be listed; none for what is no such kind."""
    wanted = kind.lower()
    for group, name in FAMILIES:
        if wanted in {name.lower(), f"{name.lower()}s"}:
            for version in _VERSIONS[group]:
                yield f"/apis/{group}/{version}/namespaces/{quote(namespace, safe='')}/{name.lower()}s"


def as_created(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without what the server wrote, so that it can be created anew."""
    found = {key: value for key, value in written.items() if key != "status"}
    meta = {key: value for key, value in written["metadata"].items() if key not in _OF_SERVER}
    notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key != _LAST_APPLIED}
    meta["annotations"] = notes
    found["metadata"] = {key: value for key, value in meta.items() if value or key != "annotations"}
    spec = found.get("spec")
    if found.get("kind") == "Job" and isinstance(spec, dict) and not spec.get("manualSelector"):
        found["spec"] = _new_job(spec)
    return found


def _new_job(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = spec.get("template") or {}
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key not in _OF_JOB}
    kept = {key: value for key, value in meta.items() if key not in {"labels", "creationTimestamp"}}
    metadata = {**kept, "labels": labels} if labels else kept
    own = {key: value for key, value in template.items() if key != "metadata"} | (
        {"metadata": metadata} if metadata else {}
    )
    return {key: value for key, value in spec.items() if key not in {"selector", "template"}} | {"template": own}


def workload(written: Any, namespace: str) -> Workload | None:  # noqa: ANN401 - any object
    """Return the workload of an object, None for an object that makes no pods.

    `namespace`: that of objects which name none.

    Raises KoordError, naming the object and the field that cannot be read.
    """
    try:
        head = msgspec.convert(written, Head)
        family = FAMILIES.get((head.api_version.rpartition("/")[0], head.kind))
        if family is None:
            return None
        name = head.metadata.name
        bare = Workload(head.kind, head.metadata.namespace or namespace, name or head.metadata.generate_name)
        if not name:
            return msgspec.structs.replace(bare, obstacle="no-name")
        decoded = msgspec.convert(written, family.wire_type)
        owner = next((one for one in decoded.metadata.owner_references or () if one.controller), None)
        if owner is not None:
            return msgspec.structs.replace(bare, obstacle="owned", detail=f"{owner.kind} {owner.name}")
        if family.basis is not None:
            return msgspec.structs.replace(bare, obstacle="from-runtime")
        return _gang(bare, family.made(name, decoded))
    except msgspec.ValidationError as problem:
        raise KoordError(say("error: {problem}", problem=problem)) from None


def _gang(bare: Workload, made: Made) -> Workload:
    if made.of_another:
        return msgspec.structs.replace(bare, obstacle="of-another-scheduler")
    if made.in_turn:
        return msgspec.structs.replace(bare, obstacle="in-turn", detail=made.in_turn)
    pods = least = 0
    templates: dict[Keys, Template] = {}
    for one in made.sets:
        if one.at:
            templates.setdefault(one.at, _template(one))
        if not one.come_later:
            pods += one.count
            least += one.count if one.least is None else min(one.least, one.count)
    if not pods:
        return msgspec.structs.replace(bare, obstacle="no-pods")
    minimum = least if made.minimum is None else made.minimum
    return msgspec.structs.replace(bare, pods=pods, minimum=max(minimum, 1), templates=tuple(templates.values()))


def _template(one: Set) -> Template:
    within: Keys = () if one.is_flat else ("metadata",)
    spec: Keys = () if one.is_flat else ("spec",)
    return Template((*one.at, *within, "labels"), (*one.at, *spec, "schedulerName"), is_member=not one.come_later)
