"""One job, read: its own objects by name, its pods by label, its queue; and the pods that it will make."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import structs

from kubectl_koord.cluster.api.transport import Transport, failure, gap_of
from kubectl_koord.cluster.around import Around
from kubectl_koord.cluster.bounds import BOUNDS, Meter
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import EVENT, KINDS, NAMESPACE
from kubectl_koord.cluster.lists import ListRequest, Pages, read_lists
from kubectl_koord.cluster.manifests.read import planned
from kubectl_koord.cluster.objects import jobs as written_jobs
from kubectl_koord.cluster.objects.events import OF_CONTROLLERS
from kubectl_koord.cluster.objects.jobs import (
    BY_KIND,
    CHECK,
    CLUSTER_QUEUE,
    COHORT,
    LISTED_OWNERS,
    LOCAL_QUEUE,
    MANAGER,
    OWNERS,
    QUEUE,
    QUEUES,
    RECORDED,
    UNIT,
    WORKLOAD,
    OwnerKind,
    QueueKind,
    at,
    text,
)
from kubectl_koord.cluster.objects.pod_states import ReportedEvent, StatedPod
from kubectl_koord.cluster.reading import read_page
from kubectl_koord.cluster.source import events_request, is_missing
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.jobs import ClusterQueue, Jobs, Owner
from kubectl_koord.model.reservations import OwnerReference
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.simulation import owners

if TYPE_CHECKING:
    from kubectl_koord.model.pods import Event

_OK, _NOT_FOUND = 200, 404
_MOST_NAMED = 8
"""So many objects of a kind are read one by one; of more all."""
_MOST_ABOVE = 20
"""Bound of the cohorts, or owners, above another that are read: more are a circle."""
_KUEUE_GATE = "kueue.x-k8s.io/"
_OF_QUEUES = frozenset(row.name for row in QUEUES.values())
_ALWAYS = ("", "apps", "batch")
"""API groups that every cluster serves."""


def of_job(
    snapshot: Snapshot,
    around: Around,
    transport: Transport | None,
    name: str,
    namespace: str,
    pods: Collection[str] = (),
) -> Snapshot:
    """Return a snapshot whose `jobs` are about the one job, or pods, that a name means; as it was where it means none.

    Args:
        snapshot: the cluster.
        around: what was taken of the files that the snapshot is of; of a live cluster it is read now.
        transport: the way to a live cluster, None where there is none.
        name: as `why-pending` takes it.
        namespace: that of names without one.
        pods: the pods of the gang that it means, as `namespace/name`, none where it means no gang.

    Raises KoordError when a live cluster cannot be reached, or answers with nonsense.
    """
    gaps: tuple[Gap, ...] = ()
    events: tuple[Event, ...] = ()
    root: Owner | None = None
    if transport is not None:
        reader = _Reader(transport, around)
        root = reader.read(name, namespace, frozenset(pods))
        events = reader.events
        gaps = tuple(gap for kind, gap in sorted(reader.gaps.items()) if snapshot.gap(kind) is None)
    jobs = around.jobs()
    found = owners.of_owner(jobs, root) if root else _meant(jobs, name, namespace, pods, is_file=transport is None)
    if around.gaps and found is not None:
        gaps = tuple(gap for gap in around.gaps if gap.kind not in _OF_QUEUES or _is_queued(found))
    if found is None:
        return snapshot if not gaps else structs.replace(snapshot, gaps=(*snapshot.gaps, *gaps))
    if found.owners and not found.pods:
        found = _with_planned(found, around, snapshot.moment)
    return structs.replace(snapshot, jobs=found, events=(*snapshot.events, *events), gaps=(*snapshot.gaps, *gaps))


def every_job(snapshot: Snapshot, around: Around, transport: Transport, namespace: str) -> Snapshot:
    """Return a snapshot whose `jobs` are all those of a namespace, or of every (""), with what queues them.

    Each kind is listed once, and only where its API group is served. What may not be read is a gap of its own.

    Raises KoordError when the cluster cannot be reached, or answers with nonsense.
    """
    reader = _Reader(transport, around)
    reader.read_all(namespace)
    gaps = tuple(gap for kind, gap in sorted(reader.gaps.items()) if snapshot.gap(kind) is None)
    events = (*snapshot.events, *reader.events)
    return structs.replace(snapshot, jobs=around.jobs(), events=events, gaps=(*snapshot.gaps, *gaps))


def read_around(around: Around, transport: Transport, makers: Collection[tuple[str, str]] = ()) -> list[Gap]:
    """Read all owners and queues of a cluster, and return a gap for each of their kinds that may not be read.

    `makers` are apiVersion and kind of what else makes pods there. Raises KoordError as `every_job`.
    """
    reader = _Reader(transport, around)
    reader.read_whole(makers)
    return [gap for kind, gap in sorted(reader.gaps.items()) if kind not in KINDS]


def _with_planned(jobs: Jobs, around: Around, moment: str) -> Jobs:
    """Return a job with the pods that it will make: of the highest owner whose template tells them."""
    for one in reversed(jobs.owners):
        written = around.written.get((one.kind, one.key, one.group))
        if written is not None and (one.group, one.kind) in BY_KIND:
            pods, groups, why_not = planned(written, around.beside, moment)
            if pods:
                return structs.replace(jobs, planned=pods, planned_groups=groups)
            jobs = structs.replace(jobs, not_planned=why_not)
    return jobs


def _meant(jobs: Jobs, name: str, namespace: str, pods: Collection[str], *, is_file: bool) -> Jobs | None:
    owner = owners.find(jobs, name, namespace)
    if owner is None and is_file and not pods:
        owner = owners.find_anywhere(jobs, name)
    if owner is not None:
        return owners.of_owner(jobs, owner)
    if pods:
        return owners.of_pods(jobs, f"PodGroup/{min(pods).partition('/')[0]}/{name.rpartition('/')[2]}", pods)
    pod = owners.find_pod(jobs, name, namespace) or (owners.find_pod_anywhere(jobs, name) if is_file else None)
    return None if pod is None else owners.of_pods(jobs, f"Pod/{pod.key}", {pod.key})


class _Reader:
    """Reads one job of a live cluster: its own objects by name, its pods by label, and its queue."""

    def __init__(self, transport: Transport, around: Around) -> None:
        self.around = around
        self.gaps: dict[str, Gap] = {}
        self.events: tuple[Event, ...] = ()
        self._transport = transport
        self._groups: list[dict[str, Any]] | None = None

    def read(self, name: str, namespace: str, pods: frozenset[str]) -> Owner | None:
        """Read all that a name may stand for, until something is there; return the owner that it means."""
        home = next(iter(pods)).partition("/")[0] if pods else ""
        root = self._root(name, namespace, is_gang=bool(pods))
        if root is not None:
            home = root.namespace
            self._above(root.namespace, root.owner)
            self._below(root)
        elif not pods:
            for word, where, bare in owners.meanings(name, namespace):
                if not self.around.pods and word.lower() in {"", "pod", "pods", "po"}:
                    self._pods(where, f"fieldSelector=metadata.name%3D{quote(bare, safe='')}")
                    home = where if self.around.pods else home
        else:
            self._pods(home, "")
        if not home:
            return None
        if root is None:
            self._above_pods(pods)
        self._events(home, "type=Warning")
        if _is_queued(self.around.jobs()):
            self._queues(home)
        if root is not None and not self.around.pods:
            self._beside()
            self._controllers()
        return root

    def read_all(self, namespace: str) -> None:
        """Read all owners of kinds that are served, what queues them, and what was said of pods that were not made."""
        served = {text(one, "name") for one in self._served()}
        for row in LISTED_OWNERS:
            if row.group in served or row.group in _ALWAYS:
                self._list(row, namespace)
        if WORKLOAD.group in served:
            for queue in (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE, COHORT):
                self._list(queue, namespace if queue.namespaced else "")
        if UNIT.group in served:
            for queue in (UNIT, QUEUE):
                self._list(queue, namespace if queue is UNIT else "")
        self._events(namespace, OF_CONTROLLERS)
        self._refused()

    def _refused(self) -> None:
        """Read what is not listed as it is no job, and could not make a pod: by name, or all where there are many."""
        about = {(one.kind, one.namespace, one.name) for one in self.around.jobs().events if owners.is_not_made(one)}
        for row in (one for one in OWNERS if one not in LISTED_OWNERS):
            named = sorted((home, name) for kind, home, name in about if kind == row.kind)
            if len(named) > _MOST_NAMED:
                for each in (row, *([BY_KIND["apps", "Deployment"]] if row.kind == "ReplicaSet" else ())):
                    self._list(each, "")
                continue
            for home, name in named:
                if self._get(row, home, name) and (found := written_owner(self.around, row, home, name)):
                    self._above(home, found.owner)

    def read_whole(self, makers: Collection[tuple[str, str]]) -> None:
        """Read all owners and queues of kinds that are served, and the others that make pods, of a few kinds."""
        served = {text(one, "name") for one in self._served()} | {*_ALWAYS}
        for row in RECORDED:
            if row.group in served:
                self._list(row, "")
        others = {(written_jobs.group_of(version), kind, version.rpartition("/")[2]) for version, kind in makers}
        more = sorted(one for one in others if one[0] in served - {*_ALWAYS} and one[:2] not in BY_KIND)
        for group, kind, version in more[:_MOST_ABOVE]:
            self._list(OwnerKind(group, kind, (version,), f"{kind.lower()}s"), "")

    def _controllers(self) -> None:
        """Read whether what should make the pods is there."""
        groups = {one.group for one in self.around.jobs().owners}
        if groups & {*written_jobs.OF_MANAGER}:
            lease = self._object("Lease", f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{MANAGER}")
            self.around.managers += [] if lease is None else [written_jobs.manager(lease)]
        for name, theirs in written_jobs.CONTROLLERS.items():
            if groups & {*theirs}:
                path = f"/apis/apps/v1/deployments?fieldSelector=metadata.name%3D{name}"
                for one in self._items("Deployment", path) or ():
                    self.around.take({"apiVersion": "apps/v1", "kind": "Deployment", **one})

    def _beside(self) -> None:
        """Read what the pods are made with that the job will make: PriorityClasses, and the runtime of a TrainJob."""
        for written in list(self.around.written.values()):
            for name in sorted(set(_values(written, "priorityClassName"))):
                self._beside_one("scheduling.k8s.io/v1", "PriorityClass", f"priorityclasses/{quote(name, safe='')}")
            runtime = at(written, "spec", "runtimeRef")
            if text(written, "kind") == "TrainJob" and runtime:
                kind, name = text(runtime, "kind") or "ClusterTrainingRuntime", quote(text(runtime, "name"), safe="")
                home = quote(text(written, "metadata", "namespace"), safe="")
                where = f"clustertrainingruntimes/{name}"
                if kind == "TrainingRuntime":
                    where = f"namespaces/{home}/trainingruntimes/{name}"
                self._beside_one(text(written, "apiVersion"), kind, where)

    def _beside_one(self, api_version: str, kind: str, where: str) -> None:
        found = self._object(kind, f"/apis/{api_version}/{where}")
        if found is not None:
            self.around.take({"apiVersion": api_version, "kind": kind, **found})

    def _root(self, name: str, namespace: str, *, is_gang: bool) -> Owner | None:
        """Return the owner that a name means: of a known kind, of any known kind, else of one that is served."""
        meant = [*owners.meanings(name, namespace)]
        for word, where, bare in meant:
            rows = [row for row in OWNERS if word and owners.is_meant(word, row.group, row.kind)]
            if found := self._first(rows, where, bare):
                return found
        if is_gang or any(_is_pod(word) for word, _, _ in meant):
            return None
        for word, where, bare in meant:
            served = {text(one, "name") for one in self._served()} if not word else set()
            rows = [row for row in OWNERS if row.group in served or row.group in _ALWAYS]
            home = f"{NAMESPACE.path()}/{quote(where, safe='')}"
            is_there = word or where == namespace or not is_missing(self._transport, home)
            if not word and is_there and (found := self._first(rows, where, bare)):
                return found
        if any(owners.is_meant(word, row.group, row.kind) for word, _, _ in meant if word for row in OWNERS):
            return None
        for word, where, bare in meant:
            if word and (found := self._first(self._discovered(word), where, bare)):
                return found
        return None

    def _first(self, rows: Iterable[OwnerKind], namespace: str, name: str) -> Owner | None:
        for row in rows:
            if self._get(row, namespace, name):
                return written_owner(self.around, row, namespace, name)
        return None

    def _served(self) -> list[dict[str, Any]]:
        if self._groups is None:
            self._groups = written_jobs.objects(self._object("APIGroup", "/apis"), "groups")
        return self._groups

    def _versions(self, row: OwnerKind | QueueKind) -> tuple[str, ...]:
        """Return in which versions a kind may be there: those that are served, where that was asked."""
        if self._groups is None or row.group in _ALWAYS:
            return row.versions
        group = next((one for one in self._groups if text(one, "name") == row.group), {})
        served = {text(one, "version") for one in written_jobs.objects(group, "versions")}
        return tuple(one for one in row.versions if one in served)

    def _get(self, row: OwnerKind, namespace: str, name: str) -> bool:
        for version in self._versions(row):
            api = f"/apis/{row.group}/{version}" if row.group else f"/api/{version}"
            where = f"{api}/namespaces/{quote(namespace, safe='')}/{row.plural}/{quote(name, safe='')}"
            found = self._object(row.name, where)
            if found is not None:
                api_version = f"{row.group}/{version}" if row.group else version
                self.around.take({"apiVersion": api_version, "kind": row.kind, **found})
                return True
            if row.name in self.gaps:
                return False
        return False

    def _discovered(self, word: str) -> Iterator[OwnerKind]:
        """Yield the kinds that the server has for a word which is none of the known ones."""
        known = {row.group for row in OWNERS}
        for group in self._served():
            version = text(group, "preferredVersion", "groupVersion")
            if text(group, "name") in known or not version or text(group, "name").endswith(".k8s.io"):
                continue
            for one in written_jobs.objects(self._object("APIResource", f"/apis/{version}"), "resources"):
                plural = text(one, "name")
                names = {plural, text(one, "singularName"), text(one, "kind").lower(), *(at(one, "shortNames") or ())}
                if "/" not in plural and word.lower().partition(".")[0] in names:
                    yield OwnerKind(text(group, "name"), text(one, "kind"), (version.rpartition("/")[2],), plural)

    def _above(self, namespace: str, reference: OwnerReference | None) -> None:
        for _ in range(_MOST_ABOVE):
            if reference is None:
                return
            group = written_jobs.group_of(reference.api_version)
            version = reference.api_version.rpartition("/")[2]
            known = BY_KIND.get((group, reference.kind))
            row = known or OwnerKind(group, reference.kind, (version,), f"{reference.kind.lower()}s")
            if not (version and self._get(row, namespace, reference.name)):
                return
            found = written_owner(self.around, row, namespace, reference.name)
            reference = found.owner if found else None

    def _above_pods(self, pods: Collection[str]) -> None:
        """Read who made the first of the pods, and what else that one made."""
        for pod in self.around.pods:
            if (not pods or pod.key in pods) and pod.owner:
                kind, _, name = pod.owner.partition("/")
                rows = [row for row in OWNERS if row.kind == kind]
                found = next((row for row in rows if self._get(row, pod.key.partition("/")[0], name)), None)
                if found:
                    owner = written_owner(self.around, found, pod.key.partition("/")[0], name)
                    self._above(pod.key.partition("/")[0], owner.owner if owner else None)
                for one in self.around.jobs().owners:
                    if one.kind in _LISTED_BELOW and one.wanted is not None:
                        self._list_below(one, one.selector)
                return

    def _below(self, root: Owner) -> None:
        """Read the pods of an owner, and what makes them for it."""
        for group, kind, name in _MADE_BY.get(root.kind, _nobody)(root):
            row = BY_KIND[group, kind]
            self._get(row, root.namespace, name)
        selector = root.selector or next((one.selector for one in self.around.jobs().owners if one.selector), "")
        if root.kind in _LISTED_BELOW:
            self._list_below(root, selector)
        self._pods(root.namespace, f"labelSelector={quote(selector, safe='')}" if selector else "")
        if selector and not self.around.pods and "Pod" not in self.gaps:
            self._pods(root.namespace, "")  # those that have no such label are known by their ownerReferences
            self.around.keep_pods({pod.key for pod in owners.of_owner(self.around.jobs(), root).pods})

    def _list_below(self, root: Owner, selector: str) -> None:
        row, label = _LISTED_BELOW[root.kind]
        self._list_owners(row, root.namespace, f"{label}={root.name}" if label else selector)

    def _list_owners(self, row: OwnerKind, namespace: str, selector: str) -> None:
        api = f"/apis/{row.group}/{row.versions[0]}"
        path = f"{api}/namespaces/{quote(namespace, safe='')}/{row.plural}?labelSelector={quote(selector, safe='')}"
        for one in self._items(row.name, path) or ():
            self.around.take({"apiVersion": f"{row.group}/{row.versions[0]}", "kind": row.kind, **one})

    def _pods(self, namespace: str, query: str) -> None:
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods{f'?{query}' if query else ''}"
        for one in self._items("Pod", path) or ():
            self.around.take_pod(msgspec.convert(one, StatedPod, strict=False))

    def _events(self, namespace: str, selected: str) -> None:
        """Read events once, for the layers and for what is said of pods that were not made or placed."""
        found = self._items(EVENT.name, events_request(namespace, selected).path) or ()
        written = [msgspec.convert(one, ReportedEvent, strict=False) for one in found]
        for one in written:
            self.around.take_event(one)
        collector = Collector()
        collector.add_all(EVENT.name, written)
        self.events = collector.snapshot(moment="", source="").events

    def _queues(self, namespace: str) -> None:
        self._served()  # one request for what are four where no queue is there
        self._list(WORKLOAD, namespace)
        names = {one.queue for one in self.around.of_queue(WORKLOAD).values() if one.queue}
        names |= {one.queue for one in self.around.jobs().owners if one.queue}
        if WORKLOAD.name not in self.gaps:
            for name in sorted(names):
                self._one(LOCAL_QUEUE, name, namespace)
            if self.around.of_queue(WORKLOAD) or self.around.of_queue(LOCAL_QUEUE):
                self._list(CLUSTER_QUEUE, "")  # all of them: what a cohort lends depends on its other queues
            queues: Mapping[str, ClusterQueue] = self.around.of_queue(CLUSTER_QUEUE)
            if any(queue.cohort for queue in queues.values()):
                self._list(COHORT, "")
            for local in self.around.of_queue(LOCAL_QUEUE).values():
                for check in queues[local.cluster_queue].checks if local.cluster_queue in queues else ():
                    self._one(CHECK, check)
        self._list(UNIT, namespace)
        if UNIT.name not in self.gaps:
            self._list(QUEUE, "")

    def _one(self, row: QueueKind, name: str, namespace: str = "") -> bool:
        if not name or row.name in self.gaps:
            return False
        within = f"/namespaces/{quote(namespace, safe='')}" if row.namespaced else ""
        for version in self._versions(row):
            path = f"/apis/{row.group}/{version}{within}/{row.plural}/{quote(name, safe='')}"
            found = self._object(row.name, path)
            if found is not None:
                self.around.take({"apiVersion": f"{row.group}/{version}", "kind": row.kind, **found})
                return True
            if row.name in self.gaps:
                return False
        return False

    def _list(self, row: QueueKind | OwnerKind, namespace: str) -> None:
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        for version in self._versions(row):
            api = f"/apis/{row.group}/{version}" if row.group else f"/api/{version}"
            found = self._items(row.name, f"{api}{within}/{row.plural}")
            for one in found or ():
                self.around.take({"apiVersion": f"{row.group}/{version}".lstrip("/"), "kind": row.kind, **one})
            if found is not None or row.name in self.gaps:
                return

    def _items(self, kind: str, path: str) -> list[dict[str, Any]] | None:
        """Return the objects of a list, None where it is not served; a refusal is a gap of the kind.

        Raises KoordError when it is answered with anything else.
        """
        found = read_lists(self._transport, [ListRequest(kind, path)], "", _decoded).values[kind]
        if not isinstance(found, Gap):
            return found
        if found.code != "missing":
            self.gaps.setdefault(kind, found)
        return None

    def _object(self, kind: str, path: str) -> dict[str, Any] | None:
        """Return what the server has at a path, None for nothing; a refusal is a gap of the kind.

        Raises KoordError when it answers with anything else.
        """
        body = self._transport.open(path)
        try:
            content = body.read(BOUNDS.object_bytes)
            if body.status == _NOT_FOUND:
                return None
            if body.status != _OK:
                gap = gap_of(kind, body.status, content, path)
                if gap is None:
                    raise failure(body.status, content, path)
                self.gaps.setdefault(kind, gap)
                return None
        finally:
            body.close()
        try:
            found: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
        except msgspec.DecodeError as problem:
            raise KoordError(
                say("error: the server's {kind} cannot be read: {problem}", kind=kind, problem=problem)
            ) from None
        return found


def _decoded(_: str, pages: Pages) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    meter = Meter()
    for page in pages:
        before = meter.objects
        pages.continue_token = read_page(page, dict[str, Any], found.extend, meter=meter).meta.continue_ or ""
        pages.came(meter.objects - before)
    return found


def written_owner(around: Around, row: OwnerKind, namespace: str, name: str) -> Owner | None:
    """Return an owner that was taken."""
    return around.owner(row.kind, f"{namespace}/{name}", row.group)


def _is_queued(jobs: Jobs) -> bool:
    """Tell whether a queue has a say: the job names one, is suspended, or its pods have a gate of Kueue."""
    has_gate = any(gate.startswith(_KUEUE_GATE) for pod in jobs.pods for gate in pod.gates)
    return has_gate or any(one.suspended or one.queue for one in jobs.owners if not one.finished)


def _values(written: Any, field: str) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield the strings that a field has, wherever it stands."""
    inner = written.items() if isinstance(written, dict) else enumerate(written) if isinstance(written, list) else ()
    for name, value in inner:
        if name == field and isinstance(value, str) and value:
            yield value
        else:
            yield from _values(value, field)


def _is_pod(word: str) -> bool:
    return word.lower().partition(".")[0] in {"pod", "pods", "po", "podgroup", "podgroups", "pg", "gang"}


def _nobody(_: Owner) -> Iterable[tuple[str, str, str]]:
    return ()


_MADE_BY: Mapping[str, Callable[[Owner], Iterable[tuple[str, str, str]]]] = {
    "TrainJob": lambda owner: [("jobset.x-k8s.io", "JobSet", owner.name)],
    "RayJob": lambda owner: [("ray.io", "RayCluster", owner.selector.rpartition("=")[2])] if owner.selector else [],
    "RayService": lambda owner: [("ray.io", "RayCluster", owner.selector.rpartition("=")[2])] if owner.selector else [],
}
"""What an owner makes that makes pods itself, and is known by name: group, kind, name."""
_LISTED_BELOW = {
    "JobSet": (BY_KIND["batch", "Job"], "jobset.sigs.k8s.io/jobset-name"),
    "TrainJob": (BY_KIND["batch", "Job"], "jobset.sigs.k8s.io/jobset-name"),
    "Deployment": (BY_KIND["apps", "ReplicaSet"], ""),
    "LeaderWorkerSet": (BY_KIND["apps", "StatefulSet"], "leaderworkerset.sigs.k8s.io/name"),
    "MPIJob": (BY_KIND["batch", "Job"], "training.kubeflow.org/job-name"),
}
"""What an owner makes several of that make pods, with the label that they have; empty: that of the pods."""
