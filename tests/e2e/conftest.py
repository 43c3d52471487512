"""A kube-apiserver and an etcd of a folder, with the demo cluster and its CRDs, and users with the roles of deploy/."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import RESOURCES, Object
from tests.cli.conftest import home, koord, plain_output

__all__ = ["home", "koord", "plain_output"]

ROOT = Path(__file__).parents[2]
FOLDER = os.environ.get("KUBEBUILDER_ASSETS", "")
PROGRAMS = ("kube-apiserver", "etcd")
ROLES = {"viewer": "kubectl-koord-view", "operator": "kubectl-koord-operate"}
READY_SECONDS = 120
OF_CLUSTERS = ("Namespace", "Node", "Pod", "PriorityClass", "PodDisruptionBudget", "Deployment", "ConfigMap")


class Refused(Exception):  # noqa: N818
    """The status and the words with which the server refused a request."""


class Real:
    """A real API server: where it is, and a kubeconfig of each user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = tuple(_free() for _ in range(3))
        self.url = f"https://127.0.0.1:{self._ports[2]}"
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        users = [("admin", "system:masters"), *((name, name) for name in ROLES)]
        (folder / "tokens").write_text("".join(f'{name},{name},{name},"{group}"\n' for name, group in users))
        subprocess.run(["openssl", "genrsa", "-out", folder / "key", "2048"], check=True, capture_output=True)
        self.configs = {name: _config(folder, self.url, name) for name, _ in users}

    def start(self) -> None:
        """Start what does not run, and return when it answers."""
        store, peers, port = self._ports
        etcd = [f"--data-dir={self._folder / 'data'}", "--unsafe-no-fsync"]
        etcd += [f"--listen-peer-urls=http://127.0.0.1:{peers}"]
        etcd += [f"--{what}-client-urls=http://127.0.0.1:{store}" for what in ("listen", "advertise")]
        api = [f"--etcd-servers=http://127.0.0.1:{store}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
        api += [f"--cert-dir={self._folder / 'certs'}", f"--token-auth-file={self._folder / 'tokens'}"]
        api += [f"--service-account-{what}={self._folder / 'key'}" for what in ("key-file", "signing-key-file")]
        api += ["--authorization-mode=RBAC", "--service-account-issuer=https://tests"]
        api += ["--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"]
        api += ["--service-cluster-ip-range=10.0.0.0/24"]
        with (self._folder / "log").open("ab") as log:
            for name, words in zip(reversed(PROGRAMS), (etcd, api), strict=True):
                if name not in self._started:
                    argv: list[str | Path] = [Path(FOLDER) / name, *words]
                    self._started[name] = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self._folder)
        wait_until(lambda: self.send("GET", "/version"))

    def stop(self, *names: str) -> None:
        """End programs at once, as a crash does, and return when they have ended."""
        for name in names:
            if process := self._started.pop(name, None):
                process.kill()
                process.wait()

    def restart(self) -> None:
        """Start the API server anew, and return when it answers: what it has read by then is its own affair."""
        self.stop("kube-apiserver")
        self.start()

    def send(self, method: str, path: str, body: object = None, form: str = "application/json") -> Any:  # noqa: ANN401
        """Send a request as an administrator, and return what is answered."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer admin", "Content-Type": form}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, context=_unchecked(), timeout=30) as answer:  # noqa: S310
                content = answer.read()
                return json.loads(content) if answer.headers.get_content_subtype() == "json" else content
        except urllib.error.HTTPError as refused:
            raise Refused(refused.code, f"{method} {path}: {refused.read().decode()}") from None

    def merge(self, path: str, change: object, query: str = "") -> Any:  # noqa: ANN401
        """Change an object as an administrator."""
        return self.send("PATCH", path + query, change, "application/merge-patch+json")


def wait_until(attempt: Callable[[], object]) -> None:
    """Try something until it is not refused: of what it waits for no server tells."""
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            attempt()
        except (OSError, Refused):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Start the server, and load the demo cluster into it; without the programs the test is skipped."""
    if not all(shutil.which(name, path=FOLDER) for name in PROGRAMS):
        pytest.skip("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd")
    server = Real(tmp_path_factory.mktemp("real"))
    try:
        server.start()
        wait_until(lambda: server.send("GET", "/readyz"))
        wait_until(lambda: server.send("GET", "/api/v1/namespaces/default"))
        _load(server)
        yield server
    finally:
        server.stop(*PROGRAMS)


@pytest.fixture
def as_user(real: Real, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a user's kubeconfig the current one."""
    return lambda name: monkeypatch.setenv("KUBECONFIG", str(real.configs[name]))


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def _unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _config(folder: Path, url: str, user: str) -> Path:
    written = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": user, "user": {"token": user}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": user, "namespace": "train"}}],
        "current-context": "real",
    }
    path = folder / f"{user}.yaml"
    path.write_text(yaml.safe_dump(written))
    return path


def _load(server: Real) -> None:
    """Create CRDs, roles, and the demo cluster."""
    of_koordinator = [one for one in RESOURCES if _is_custom(one.group_version)]
    for one in of_koordinator:
        server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _crd(one))
    for name, role in ROLES.items():
        for document in yaml.safe_load_all((ROOT / f"deploy/clusterrole-{role.rpartition('-')[2]}.yaml").read_text()):
            server.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", document)
        subject = {"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
        ref = {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
        server.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    for name in ("train", "research", "inference", "koordinator-system"):
        server.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for value in (1000, 10000):
        of_value = {"metadata": {"name": f"of-{value}"}, "value": value}
        server.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", of_value)
    known = {(one.group_version, one.kind): one for one in RESOURCES}
    content = resources.files("kubectl_koord.cluster").joinpath("demo.json").read_bytes()
    for item in json.loads(content)["items"]:
        resource = known.get((item["apiVersion"], item["kind"]))
        if item["kind"] == "NodeMetric":  # it would be too old
            continue
        if resource is not None and (item["kind"] in OF_CLUSTERS or resource in of_koordinator):
            _create(server, resource, item)


def _create(server: Real, resource: Any, item: Object) -> None:  # noqa: ANN401
    meta = item["metadata"]
    item["metadata"] = {key: meta[key] for key in meta.keys() - {"resourceVersion", "creationTimestamp", "uid"}}
    for owner in meta.get("ownerReferences", ()):
        owner["uid"] = "11111111-1111-4111-8111-111111111111"
    if item["kind"] == "Pod":  # the server writes what the PriorityClass gives
        spec = item["spec"]
        item["spec"] = {key: spec[key] for key in spec.keys() - {"priority", "preemptionPolicy"}}
        item["spec"]["priorityClassName"] = f"of-{spec['priority']}"
    if item["kind"] == "Deployment":
        item["spec"]["selector"] = {"matchLabels": {"app": meta["name"]}}
        item["spec"]["template"]["metadata"] = {"labels": {"app": meta["name"]}}
        item["status"]["readyReplicas"] = item["status"]["availableReplicas"]
    create(server, resource, item)


def create(server: Real, resource: Any, item: Object) -> None:  # noqa: ANN401
    """Create an object with its status."""
    name = item["metadata"]["name"]
    group = f"/apis/{resource.group_version}" if "/" in resource.group_version else f"/api/{resource.group_version}"
    where = f"/namespaces/{item['metadata']['namespace']}" if resource.namespaced else ""
    path = f"{group}{where}/{resource.plural}"
    if _is_custom(resource.group_version):  # a CRD is served some time after it was made
        wait_until(lambda: server.send("GET", path))
    server.send("POST", path, item)
    if item.get("status") and not _is_custom(resource.group_version):
        server.merge(f"{path}/{name}/status", {"status": item["status"]})


def _is_custom(group_version: str) -> bool:
    return any(name in group_version for name in ("koordinator.sh/", "scheduling.sigs.k8s.io/", "topology.node"))


def _crd(one: Any) -> Object:  # noqa: ANN401
    group, version = one.group_version.split("/")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": one.plural, "kind": one.kind, "singular": one.kind.lower()}
    approved = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return {
        "metadata": {"name": f"{one.plural}.{group}", "annotations": approved},
        "spec": {
            "group": group,
            "scope": "Namespaced" if one.namespaced else "Cluster",
            "names": names,
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }
