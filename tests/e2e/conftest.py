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
from typing import Any, NamedTuple

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
NOT_FOUND = 404
OF_CLUSTERS = ("Namespace", "Node", "Pod", "PriorityClass", "PodDisruptionBudget", "Deployment", "ConfigMap")


class Refused(Exception):  # noqa: N818
    """The status and the words with which the server refused a request."""


class Real(NamedTuple):
    """A real API server: where it is, and a kubeconfig of each user."""

    url: str
    configs: dict[str, Path]

    def send(self, method: str, path: str, body: object = None, form: str = "application/json") -> Any:  # noqa: ANN401
        """Send a request as an administrator, and return what is answered."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer admin", "Content-Type": form}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, context=_unchecked(), timeout=30) as answer:  # noqa: S310
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            raise Refused(refused.code, f"{method} {path}: {refused.read().decode()}") from None


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Start the server, and load the demo cluster into it; without the programs the test is skipped."""
    if not all(shutil.which(name, path=FOLDER) for name in PROGRAMS):
        pytest.skip("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd")
    folder = tmp_path_factory.mktemp("real")
    store, peers, port = (_free() for _ in range(3))
    url = f"https://127.0.0.1:{port}"
    subprocess.run(["openssl", "genrsa", "-out", folder / "key", "2048"], check=True, capture_output=True)
    users = [("admin", "system:masters"), *((name, name) for name in ROLES)]
    (folder / "tokens").write_text("".join(f'{name},{name},{name},"{group}"\n' for name, group in users))
    etcd = [f"--data-dir={folder / 'data'}", "--unsafe-no-fsync", f"--listen-peer-urls=http://127.0.0.1:{peers}"]
    etcd += [f"--{what}-client-urls=http://127.0.0.1:{store}" for what in ("listen", "advertise")]
    api = [f"--etcd-servers=http://127.0.0.1:{store}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
    api += [f"--cert-dir={folder / 'certs'}", f"--token-auth-file={folder / 'tokens'}", "--authorization-mode=RBAC"]
    api += [f"--service-account-{what}={folder / 'key'}" for what in ("key-file", "signing-key-file")]
    api += ["--service-account-issuer=https://tests"]
    api += [
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]
    started = []
    with (folder / "log").open("wb") as log:
        for name, words in zip(reversed(PROGRAMS), (etcd, api), strict=True):
            started.append(subprocess.Popen([Path(FOLDER) / name, *words], stdout=log, stderr=log, cwd=folder))
        try:
            server = Real(url, {name: _config(folder, url, name) for name, _ in users})
            _until_ready(server)
            _load(server)
            yield server
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(30)


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


def _until_ready(server: Real) -> None:
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            server.send("GET", "/version")
            server.send("GET", "/api/v1/namespaces/default")
            server.send("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")
        except (OSError, Refused):
            if time.monotonic() > end:
                raise
            time.sleep(0.2)  # it has no event that tells when it is ready
        else:
            return


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
    group = f"/apis/{resource.group_version}" if "/" in resource.group_version else f"/api/{resource.group_version}"
    where = f"/namespaces/{meta['namespace']}" if resource.namespaced else ""
    path = f"{group}{where}/{resource.plural}"
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            server.send("POST", path, item)
        except Refused as refused:
            if refused.args[0] != NOT_FOUND or time.monotonic() > end:  # a CRD is served some time after it was made
                raise
            time.sleep(0.2)
        else:
            break
    if item.get("status") and not _is_custom(resource.group_version):
        status = f"{path}/{meta['name']}/status"
        server.send("PATCH", status, {"status": item["status"]}, "application/merge-patch+json")


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
