"""A small Kubernetes API server, for tests: objects in a dict, served over real HTTP."""

import base64
import contextlib
import copy
import http.server
import json
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml

from kubectl_koord.cluster.protobuf import MIME as PROTOBUF
from tests import encoded

Object = dict[str, Any]


class Resource(NamedTuple):
    group_version: str
    kind: str
    plural: str
    namespaced: bool
    short: tuple[str, ...] = ()
    is_second: bool = False
    """Whether another group has a kind of this name, too."""

    @property
    def row(self) -> str:
        """What rows of kinds call it."""
        return f"{self.kind}.{self.group_version.partition('/')[0]}" if self.is_second else self.kind

    @property
    def store(self) -> str:
        """Under which name its objects are kept: `plural`, with the group behind it for a second one."""
        return f"{self.plural}.{self.group_version.partition('/')[0]}" if self.is_second else self.plural


RESOURCES = (
    Resource("v1", "Node", "nodes", namespaced=False, short=("no",)),
    Resource("v1", "Pod", "pods", namespaced=True, short=("po",)),
    Resource("v1", "Namespace", "namespaces", namespaced=False, short=("ns",)),
    Resource("v1", "ConfigMap", "configmaps", namespaced=True, short=("cm",)),
    Resource("events.k8s.io/v1", "Event", "events", namespaced=True),
    Resource("apps/v1", "Deployment", "deployments", namespaced=True),
    Resource("batch/v1", "Job", "jobs", namespaced=True),
    Resource("coordination.k8s.io/v1", "Lease", "leases", namespaced=True),
    Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True, short=("pdb",)),
    Resource("v1", "LimitRange", "limitranges", namespaced=True),
    Resource("v1", "ResourceQuota", "resourcequotas", namespaced=True),
    Resource("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False),
    Resource(
        "config.koordinator.sh/v1alpha1", "ClusterColocationProfile", "clustercolocationprofiles", namespaced=False
    ),
    Resource("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False),
    Resource("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "trainingruntimes", namespaced=True),
    Resource("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False),
    Resource("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "podgroups", namespaced=True),
    Resource("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", "elasticquotas", namespaced=True),
    Resource(
        "scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology", "clusternetworktopologies", namespaced=False
    ),
    Resource("scheduling.koordinator.sh/v1alpha1", "Device", "devices", namespaced=False),
    Resource("scheduling.koordinator.sh/v1alpha1", "Reservation", "reservations", namespaced=False),
    Resource("scheduling.koordinator.sh/v1alpha1", "PodMigrationJob", "podmigrationjobs", namespaced=False),
    Resource("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", namespaced=True, is_second=True),
    Resource("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False, is_second=True),
    Resource("slo.koordinator.sh/v1alpha1", "NodeMetric", "nodemetrics", namespaced=False),
    Resource("topology.node.k8s.io/v1alpha1", "NodeResourceTopology", "noderesourcetopologies", namespaced=False),
    Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True, short=("pvc",)),
    Resource("v1", "PersistentVolume", "persistentvolumes", namespaced=False, short=("pv",)),
    Resource("storage.k8s.io/v1", "CSINode", "csinodes", namespaced=False),
    Resource("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", namespaced=False),
    Resource("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False),
    Resource("storage.k8s.io/v1", "CSIDriver", "csidrivers", namespaced=False),
    Resource("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", namespaced=True),
    Resource("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", namespaced=True),
    Resource("resource.k8s.io/v1", "DeviceClass", "deviceclasses", namespaced=False),
    Resource("resource.k8s.io/v1", "ResourceSlice", "resourceslices", namespaced=False),
    Resource(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
    ),
    Resource(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
    ),
    Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False),
    Resource("batch/v1", "CronJob", "cronjobs", namespaced=True),
    Resource("apps/v1", "ReplicaSet", "replicasets", namespaced=True),
    Resource("apps/v1", "StatefulSet", "statefulsets", namespaced=True),
    Resource("apps/v1", "DaemonSet", "daemonsets", namespaced=True),
    Resource("v1", "ReplicationController", "replicationcontrollers", namespaced=True),
    Resource("kubeflow.org/v1", "PyTorchJob", "pytorchjobs", namespaced=True),
    Resource("kubeflow.org/v1", "TFJob", "tfjobs", namespaced=True),
    Resource("kubeflow.org/v1", "XGBoostJob", "xgboostjobs", namespaced=True),
    Resource("kubeflow.org/v1", "PaddleJob", "paddlejobs", namespaced=True),
    Resource("kubeflow.org/v1", "JAXJob", "jaxjobs", namespaced=True),
    Resource("kubeflow.org/v2beta1", "MPIJob", "mpijobs", namespaced=True),
    Resource("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs", namespaced=True),
    Resource("jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", namespaced=True),
    Resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets", namespaced=True),
    Resource("ray.io/v1", "RayJob", "rayjobs", namespaced=True),
    Resource("ray.io/v1", "RayCluster", "rayclusters", namespaced=True),
    Resource("ray.io/v1", "RayService", "rayservices", namespaced=True),
    Resource("batch.volcano.sh/v1alpha1", "Job", "jobs", namespaced=True, is_second=True),
    Resource("sparkoperator.k8s.io/v1beta2", "SparkApplication", "sparkapplications", namespaced=True),
    Resource("kueue.x-k8s.io/v1beta2", "Workload", "workloads", namespaced=True),
    Resource("kueue.x-k8s.io/v1beta2", "LocalQueue", "localqueues", namespaced=True),
    Resource("kueue.x-k8s.io/v1beta2", "ClusterQueue", "clusterqueues", namespaced=False),
    Resource("kueue.x-k8s.io/v1beta2", "Cohort", "cohorts", namespaced=False),
    Resource("kueue.x-k8s.io/v1beta2", "AdmissionCheck", "admissionchecks", namespaced=False),
    Resource("scheduling.x-k8s.io/v1alpha1", "QueueUnit", "queueunits", namespaced=True),
    Resource("scheduling.x-k8s.io/v1alpha1", "Queue", "queues", namespaced=True, is_second=True),
)

_OBJECT_PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+/[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[^/]))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)


@dataclass(frozen=True)
class Request:
    """One request as it came in; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in ("1", "true")

    @property
    def json(self) -> Object:
        """Return the body, which is a JSON object in all that we send."""
        decoded: Object = json.loads(self.body)
        return decoded


@dataclass(frozen=True)
class Rule:
    """What to do with requests whose path matches, instead of serving them.

    `hang` waits for the event, then serves; `stall` stops in the middle of the answer until the event, and with
    `drips` blanks come meanwhile, one by one; `cut` ends the connection in the middle of the body
    ("length" or "chunked"), before any answer ("head", or "reset" without waiting for what was sent), or within its
    head ("status", "headers"); `raw` is sent as it is, `parts` one after the
    other; otherwise the answer is a Status. After the first `skips` only `times` requests are met, if that is given;
    `watch` True means watches alone, False everything else. What `applies` is carried out all the same, before.
    """

    path: str
    status: int = 200
    reason: str = ""
    message: str = ""
    method: str = ""
    raw: bytes | None = None
    parts: tuple[bytes | memoryview, ...] = ()
    hang: threading.Event | None = None
    stall: threading.Event | None = None
    drips: bool = False
    cut: str = ""
    times: int | None = None
    skips: int = 0
    applies: bool = False
    watch: bool | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    causes: tuple[Mapping[str, str], ...] = ()

    def matches(self, request: Request) -> bool:
        if self.watch not in (None, request.is_watch):
            return False
        return re.fullmatch(self.path, request.path) is not None and self.method in ("", request.method)


class Change(NamedTuple):
    """What happened to an object (of "" for a bookmark): before and after, None where it was not there."""

    plural: str
    version: int
    before: Object | None = None
    after: Object | None = None


class Tls(NamedTuple):
    """A certificate that is its own authority."""

    certificate: Path
    key: Path


class Refusal(Exception):  # noqa: N818
    """A failed request."""

    def __init__(self, status: int, reason: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.status = status
        self.body = status_body(status, reason, message, **details)


class ApiServer:
    """Serves the objects of a v1 List until closed. Everything is changed under one lock.

    `token` asks for `tls`: kubectl sends credentials over TLS only.
    """

    def __init__(self, objects: Mapping[str, Any] | None = None, *, token: str = "", tls: Tls | None = None) -> None:
        self.token = token
        self.tls = tls
        self.rules: list[Rule] = []
        self.log: list[Request] = []
        self.protobuf = False
        """Whether nodes and pods are listed in protobuf, to who accepts that."""
        self.date = ""
        """What its answers have as their Date, if not the time."""
        self.closing = threading.Event()
        lock = threading.RLock()
        self.changed = threading.Condition(lock)
        self.came = threading.Condition(lock)
        """What is told of each request: watches, which wait for changes, sleep on."""
        self.events: list[Change] = []
        self._objects: dict[str, dict[tuple[str, str], Object]] = {resource.store: {} for resource in RESOURCES}
        self._version = 1000
        self._oldest_token = 0
        self._oldest_event = 0
        self.endings = 0
        self._ended_at = 0
        self._broken = False
        self._met: dict[int, tuple[int, Rule]] = {}
        for item in (objects or {}).get("items", []):
            self.put(item)
        self._http = _Http(self)
        self.port = self._http.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.closing.set()
        with self.changed:
            self.changed.notify_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def put(self, item: Mapping[str, Any]) -> Object:
        """Store an object under its kind, namespace and name, which come to be; watchers see it."""
        stored: Object = copy.deepcopy(dict(item))
        resource = _resource_of(stored)
        meta = stored.setdefault("metadata", {})
        if resource.namespaced:
            home = meta.setdefault("namespace", "default")
            if ("", home) not in self._objects["namespaces"]:
                self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
        with self.changed:
            key = (meta.get("namespace", ""), meta["name"])
            before = self._objects[resource.store].get(key)
            self._version += 1
            meta["resourceVersion"] = str(self._version)
            meta.setdefault("uid", f"uid-{resource.plural}-{'-'.join(key)}")
            meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            self._objects[resource.store][key] = stored
            self._tell(Change(resource.store, self._version, before, copy.deepcopy(stored)))
        return copy.deepcopy(stored)

    def delete(self, plural: str, namespace: str, name: str) -> None:
        with self.changed:
            gone = self._objects[plural].pop((namespace, name))
            self._version += 1
            self._tell(Change(plural, self._version, gone))

    def bookmark(self) -> None:
        """Tell every watcher that asks for bookmarks how far the server is, and that nothing else happened."""
        with self.changed:
            self._version += 1
            self._tell(Change("", self._version))

    def forget_events(self) -> None:
        """Let every watch from a version before now be answered with 410, as an event."""
        with self.changed:
            self._version += 1
            self._oldest_event = self._version

    def end_watches(self, *, broken: bool = False) -> None:
        """End every watch that is open: as the server does after some minutes, or in the middle of a line."""
        with self.changed:
            self.endings += 1
            self._ended_at, self._broken = self._version, broken
            self.changed.notify_all()

    def wait_for(self, path: str, number: int, *, watch: bool = True, seconds: float = 20) -> None:
        """Wait until so many watches (or other requests) of a path have come in."""

        def came() -> bool:
            return sum(1 for one in list(self.log) if (one.path, one.is_watch) == (path, watch)) >= number

        with self.came:
            assert self.came.wait_for(came, seconds), f"{number} x {path} did not come: {self.log}"

    def get(self, plural: str, namespace: str, name: str) -> Object:
        with self.changed:
            return copy.deepcopy(self._objects[plural][namespace, name])

    def expire_tokens(self) -> None:
        """Let every continue token given so far be answered with 410."""
        with self.changed:
            self._version += 1
            self._oldest_token = self._version

    def requests(self, path: str, method: str = "GET") -> list[Request]:
        """Return what was asked of a path, in order."""
        return [request for request in list(self.log) if (request.method, request.path) == (method, path)]

    def kubeconfig(
        self,
        folder: Path,
        *,
        user: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        namespace: str = "",
    ) -> Path:
        """Write a kubeconfig with the one context `test` and return its path."""
        seen: dict[str, Any] = {"server": self.url}
        if self.tls:
            seen["certificate-authority"] = str(self.tls.certificate)
        context = {"cluster": "test", "user": "test", **({"namespace": namespace} if namespace else {})}
        own = {"token": self.token or "any"} if user is None else dict(user)
        path = folder / f"kubeconfig-{self.port}-{len(list(folder.iterdir()))}"
        path.write_text(write_kubeconfig(seen | dict(cluster or {}), own, context))
        return path

    def rule_for(self, request: Request) -> Rule | None:
        with self.changed:
            for rule in self.rules:
                if not rule.matches(request):
                    continue
                met = self._met.get(id(rule), (0, rule))[0] + 1
                self._met[id(rule)] = met, rule  # kept: another one may not get its id
                if rule.skips < met and (rule.times is None or met <= rule.skips + rule.times):
                    return rule
        return None

    def answer(self, request: Request) -> tuple[int, Object]:
        """Return status and body for a request that is neither a rule's nor a watch."""
        discovery = _discovery(request.path)
        if discovery and request.method == "GET":
            return 200, discovery
        match = _OBJECT_PATH.fullmatch(request.path)
        resource = find_resource(match)
        if not match or not resource:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        where = (unquote(match["namespace"] or ""), unquote(match["name"] or ""))
        with self.changed:
            if match["sub"] == "eviction" and request.method == "POST":
                return 201, self._evict(request, where)
            if request.method == "GET":
                return 200, self._get(resource, where) if where[1] else self._list(resource, where[0], request)
            if request.method == "POST" and not where[1]:
                return 201, self._create(resource, where[0], request)
            if request.method == "PATCH" and where[1]:
                return 200, self._patch(resource, where, request)
        raise Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def current(self, plural: str, namespace: str, query: Mapping[str, str]) -> list[Object]:
        """Return the objects of a list in order of their names."""
        found = sorted(self._objects[plural].items())
        return [
            item
            for (home, _), item in found
            if namespace in ("", home)
            and _selected(item, query.get("fieldSelector", ""))
            and _labelled(item, query.get("labelSelector", ""))
        ]

    def watched(
        self, plural: str, namespace: str, query: Mapping[str, str], ending: int
    ) -> Iterator[tuple[str, Object] | None]:
        """Yield the events of a watch: what is there, unless it starts at a version, and what happens from then on.

        `ending` is how often watches had been ended when it was asked for. None, at the end, is for a watch
        that is to break off in the middle of a line.
        """
        since = int(query.get("resourceVersion") or 0)
        end = time.monotonic() + int(query.get("timeoutSeconds") or 3600)
        with self.changed:
            seen, too_old = len(self.events), 0 < since < self._oldest_event
            first = [] if since else [("ADDED", item) for item in self.current(plural, namespace, query)]
            later = [change for change in self.events if since and change.version > since]
        if too_old:
            message = f"too old resource version: {since} ({self._oldest_event})"
            yield "ERROR", status_body(410, "Expired", message)
            return
        yield from first
        is_over = False
        while True:
            seen_so_far = (_as_seen(change, plural, namespace, query) for change in later)
            yield from (event for event in seen_so_far if event)
            if is_over:
                break
            with self.changed:
                left = end - time.monotonic()
                is_late = not self.changed.wait_for(lambda: self._is_over(ending) or len(self.events) > seen, left)  # noqa: B023
                later, seen = self.events[seen:], len(self.events)
                is_over = is_late or self._is_over(ending)
                if self._is_over(ending):
                    later = [change for change in later if change.version <= self._ended_at]
        if self._broken:
            yield None

    def _is_over(self, ending: int) -> bool:
        return self.closing.is_set() or self.endings > ending

    def _tell(self, change: Change) -> None:
        self.events.append(change)
        self.changed.notify_all()

    def _get(self, resource: Resource, where: tuple[str, str]) -> Object:
        item = self._objects[resource.store].get(where)
        if item is None:
            group = resource.group_version.rpartition("/")[0].partition("/")[0]
            name = f"{resource.plural}.{group}" if "/" in resource.group_version else resource.plural
            raise Refusal(404, "NotFound", f'{name} "{where[1]}" not found', name=where[1], kind=resource.plural)
        return item

    def _list(self, resource: Resource, namespace: str, request: Request) -> Object:
        items = self.current(resource.store, namespace, request.query)
        start = self._start(request.query)
        limit = int(request.query.get("limit", "0")) or len(items)
        meta: Object = {"resourceVersion": str(self._version)}
        if start + limit < len(items):
            meta["continue"] = base64.urlsafe_b64encode(f"{self._version}:{start + limit}=".encode()).decode()
            meta["remainingItemCount"] = len(items) - start - limit
        return {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.group_version,
            "metadata": meta,
            "items": items[start : start + limit],
        }

    def _start(self, query: Mapping[str, str]) -> int:
        token = query.get("continue")
        if not token:
            return 0
        if query.get("resourceVersion"):
            raise Refusal(400, "BadRequest", "specifying resource version is not allowed when using continue")
        version, _, start = base64.urlsafe_b64decode(token).decode().rstrip("=").partition(":")
        if int(version) < self._oldest_token:
            raise Refusal(
                410, "Expired", "The provided continue parameter is too old to display a consistent list result."
            )
        return int(start)

    def _patch(self, resource: Resource, where: tuple[str, str], request: Request) -> Object:
        item = self._get(resource, where)
        patch = request.json
        wanted = (patch.get("metadata") or {}).get("resourceVersion")
        if wanted and wanted != item["metadata"]["resourceVersion"]:
            what = f'Operation cannot be fulfilled on {resource.plural} "{where[1]}": the object has been modified'
            raise Refusal(409, "Conflict", f"{what}; please apply your changes to the latest version and try again")
        merged: Object = merge(item, patch)
        return merged if request.query.get("dryRun") == "All" else self.put(merged)

    def _create(self, resource: Resource, namespace: str, request: Request) -> Object:
        item = request.json
        name = item["metadata"]["name"]
        if (namespace, name) in self._objects[resource.store]:
            raise Refusal(409, "AlreadyExists", f'{resource.plural} "{name}" already exists')
        return item if request.query.get("dryRun") == "All" else self.put(item)

    def _evict(self, request: Request, where: tuple[str, str]) -> Object:
        pod = self._get(RESOURCES[1], where)
        options = request.json.get("deleteOptions") or {}
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != pod["metadata"]["uid"]:
            raise Refusal(409, "Conflict", f"the UID in the precondition ({uid}) does not match the UID in record")
        budgets = [budget for budget in self.current("poddisruptionbudgets", where[0], {}) if _covers(budget, pod)]
        if len(budgets) > 1:
            what = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise Refusal(500, "InternalError", what)
        if budgets and budgets[0].get("status", {}).get("disruptionsAllowed", 0) <= 0:
            name = budgets[0]["metadata"]["name"]
            cause = {"reason": "DisruptionBudget", "message": f"The disruption budget {name} needs more healthy pods"}
            what = "Cannot evict pod as it would violate the pod's disruption budget."
            raise Refusal(429, "TooManyRequests", what, causes=[cause])
        if "All" not in (request.query.get("dryRun"), *options.get("dryRun", [])):
            self.delete("pods", *where)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class _Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)
        if api.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(api.tls.certificate, api.tls.key)
            # The handshake belongs into the thread of the request, where a failed one harms nobody.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_close(self) -> None:
        """Hang up on clients that nobody serves: they would be reset, and `ssl` leaves unclosed what it wraps then."""
        with contextlib.suppress(OSError):  # none is left, or it is closed already
            self.socket.settimeout(0)
            while True:
                socket.socket.accept(self.socket)[0].close()
        super().server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that went away, or did not like our certificate, are what tests are about."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet per answer: Nagle's algorithm and delayed acknowledgements would add 40 ms.
    wbufsize = -1
    server: _Http
    ending = 0

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing: `ApiServer.log` is the log."""

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self.server.api.date or super().date_time_string(timestamp)

    def _serve(self) -> None:
        api = self.server.api
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(
            self.command,
            parts.path,
            dict(reversed(parse_qsl(parts.query, keep_blank_values=True))),  # the first one counts, as in Go
            headers,
            self._body(),
        )
        if api.closing.is_set():
            self.close_connection = True
            return
        with api.changed:
            api.log.append(request)
            self.ending = api.endings
            api.came.notify_all()
        try:
            self._answer(api, request)
        except Refusal as refusal:
            self._json(refusal.status, refusal.body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, api: ApiServer, request: Request) -> None:
        rule = api.rule_for(request)
        if rule and rule.applies:
            with contextlib.suppress(Refusal):
                api.answer(request)
        if rule and rule.hang and rule.applies:
            self._wait(rule.hang)
            self.close_connection = True
            return
        if rule and rule.hang:
            self._wait(rule.hang)
        elif rule and rule.stall:
            self._stall(rule, rule.stall, json.dumps(api.answer(request)[1]).encode())
            return
        elif rule:
            self._obey(rule)
            return
        if api.token and request.headers.get("authorization") != f"Bearer {api.token}":
            raise Refusal(401, "Unauthorized", "Unauthorized")
        if request.is_watch:
            self._watch(api, request)
            return
        status, body = api.answer(request)
        kind = str(body.get("kind", "")).removesuffix("List")
        if api.protobuf and kind in {"Node", "Pod"} and "items" in body and PROTOBUF in request.headers["accept"]:
            meta = body["metadata"]
            page = encoded.page(kind, body["items"], version=meta["resourceVersion"], more=meta.get("continue", ""))
            self._send(status, {"Content-Type": PROTOBUF}, page)
        else:
            self._json(status, body)

    def _wait(self, event: threading.Event) -> None:
        while not (event.wait(0.01) or self.server.api.closing.is_set()):
            pass

    def _obey(self, rule: Rule) -> None:
        if rule.cut:
            self._cut(rule)
        elif rule.raw is not None or rule.parts:
            self._send(rule.status, rule.headers, *(rule.parts or (rule.raw or b"",)))
        else:
            details = {"causes": list(rule.causes)} if rule.causes else {}
            body = status_body(rule.status, rule.reason, rule.message, **details)
            self._send(rule.status, rule.headers, json.dumps(body).encode())

    def _stall(self, rule: Rule, until: threading.Event, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        half = len(body) // 2
        self._chunk(body[:half])
        while not (until.wait(0.01) or self.server.api.closing.is_set()):
            if rule.drips:
                self._chunk(b" ")
        self._chunk(body[half:])
        self._chunk(b"")

    def _chunk(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.flush()

    def _cut(self, rule: Rule) -> None:
        self.close_connection = True
        if rule.cut == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        if rule.cut in {"head", "reset"}:
            return
        if rule.cut in {"status", "headers"}:
            self.wfile.write(b"HTTP/1.1 20" if rule.cut == "status" else b"HTTP/1.1 200 OK\r\nContent-Ty")
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        part = rule.raw or b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + b" " * 70_000
        if rule.cut == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            part = b"%x\r\n%s\r\n" % (len(part), part)
        else:
            self.send_header("Content-Length", str(len(part) + 1000))
        self.end_headers()
        self.wfile.write(part)

    def _json(self, status: int, body: Object) -> None:
        self._send(status, {}, json.dumps(body).encode())

    def _send(self, status: int, headers: Mapping[str, str], *parts: bytes | memoryview) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Audit-Id": "1"} | dict(headers)).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(sum(map(len, parts))))
        self.end_headers()
        for part in parts if self.command != "HEAD" else ():
            self.wfile.write(part)
        self.wfile.flush()

    def _watch(self, api: ApiServer, request: Request) -> None:
        match = _OBJECT_PATH.fullmatch(request.path)
        resource = find_resource(match)
        if not match or not resource:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for event in api.watched(resource.store, unquote(match["namespace"] or ""), request.query, self.ending):
            if event is None:
                self.wfile.write(b'1000\r\n{"type":"MODIFIED","object":{"metadata":')
                self.close_connection = True
                return
            line = json.dumps({"type": event[0], "object": event[1]}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


def _as_seen(change: Change, plural: str, namespace: str, query: Mapping[str, str]) -> tuple[str, Object] | None:
    """Return the event that a watcher gets: an object that leaves its selection is deleted to it."""
    if not change.plural:
        resource = next(one for one in RESOURCES if one.store == plural)
        if query.get("allowWatchBookmarks") not in ("1", "true"):
            return None
        meta = {"resourceVersion": str(change.version), "creationTimestamp": None}
        return "BOOKMARK", {"kind": resource.kind, "apiVersion": resource.group_version, "metadata": meta}
    item = change.after or change.before or {}
    if change.plural != plural or namespace not in ("", item["metadata"].get("namespace")):
        return None
    selector = query.get("fieldSelector", "")
    was = change.before is not None and _selected(change.before, selector)
    if change.after is not None and _selected(change.after, selector):
        return "MODIFIED" if was else "ADDED", change.after
    if not was:
        return None
    gone = copy.deepcopy(change.before or {})
    gone["metadata"]["resourceVersion"] = str(change.version)
    return "DELETED", gone


def _labelled(item: Object, selector: str) -> bool:
    """Tell whether an object has the label of a selector `key=value`; every object for none."""
    key, _, value = selector.partition("=")
    return not selector or (item["metadata"].get("labels") or {}).get(key) == value


def status_body(status: int, reason: str, message: str, **details: object) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": status,
    }


def merge(target: object, patch: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the outcome of a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    base = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = merge(base.get(name), value)
    return base


def find_resource(match: re.Match[str] | None) -> Resource | None:
    if match is None:
        return None
    group_version = match["core"] or match["group"]
    known = (one for one in RESOURCES if (one.group_version, one.plural) == (group_version, match["plural"]))
    return next(known, None)


def _resource_of(item: Object) -> Resource:
    kind = (item.get("apiVersion"), item.get("kind"))
    return next(one for one in RESOURCES if (one.group_version, one.kind) == kind)


def _selected(item: Object, selector: str) -> bool:
    return all(_term(item, term) for term in selector.split(",") if term)


def _term(item: Object, term: str) -> bool:
    path, operator, wanted = re.split(r"(!=|==|=)", term, maxsplit=1)
    value: Any = item
    for name in path.split("."):
        value = value.get(name, "") if isinstance(value, dict) else ""
    return bool(value == wanted) == (operator != "!=")


def _covers(budget: Object, pod: Object) -> bool:
    wanted = (budget.get("spec", {}).get("selector") or {}).get("matchLabels") or {}
    labels = pod["metadata"].get("labels") or {}
    return bool(wanted) and all(labels.get(name) == value for name, value in wanted.items())


def _discovery(path: str) -> Object | None:
    if path == "/version":
        return {"major": "1", "minor": "32", "gitVersion": "v1.32.4", "platform": "linux/amd64"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups()}
    group_version = path.removeprefix("/apis/") if path != "/api/v1" else "v1"
    resources = [_described(one) for one in RESOURCES if one.group_version == group_version]
    return {"kind": "APIResourceList", "groupVersion": group_version, "resources": resources} if resources else None


def _groups() -> list[Object]:
    found: dict[str, list[Object]] = {}
    for whole in sorted({one.group_version for one in RESOURCES if "/" in one.group_version}):
        group, _, version = whole.partition("/")
        found.setdefault(group, []).append({"groupVersion": whole, "version": version})
    return [{"name": name, "versions": each, "preferredVersion": each[0]} for name, each in found.items()]


def _described(one: Resource) -> Object:
    return {
        "name": one.plural,
        "singularName": one.kind.lower(),
        "kind": one.kind,
        "namespaced": one.namespaced,
        "verbs": ["get", "list", "patch", "watch"],
        "shortNames": list(one.short),
    }


def write_kubeconfig(cluster: Mapping[str, Any], user: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    """Return the text of a kubeconfig with the one context `test`."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": dict(cluster)}],
            "contexts": [{"name": "test", "context": dict(context)}],
            "users": [{"name": "test", "user": dict(user)}],
        }
    )


def self_signed(folder: Path, names: str = "IP:127.0.0.1,DNS:localhost") -> Tls | None:
    """Return a certificate of openssl's making, None where there is no openssl."""
    if not shutil.which("openssl"):
        return None
    made = Tls(folder / f"cert-{time.monotonic_ns()}.pem", folder / f"key-{time.monotonic_ns()}.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    subject = ["-subj", f"/CN=test-{folder.name}", "-addext", f"subjectAltName={names}"]
    subprocess.run(
        [*command, *subject, "-keyout", str(made.key), "-out", str(made.certificate)],
        check=True,
        capture_output=True,
    )
    return made
