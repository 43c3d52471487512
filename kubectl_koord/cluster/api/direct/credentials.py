"""Who we are to the API server, for places without kubectl.

Exec plugins are run here and not by the client library, which only logs that one has failed and
then sends requests as nobody.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from kubectl_koord import leaving
from kubectl_koord.cluster.api.direct.kubeconfig import Access, data_or_file, needs_kubectl
from kubectl_koord.cluster.api.transport import no_credentials, unable
from kubectl_koord.errors import KoordError

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_CLUSTER_INFO = {
    "server": "server",
    "tls-server-name": "tls-server-name",
    "insecure-skip-tls-verify": "insecure-skip-tls-verify",
    "certificate-authority-data": "certificate-authority-data",
    "proxy-url": "proxy-url",
    "disable-compression": "disable-compression",
}


class Credentials(Struct, frozen=True):
    """A bearer token, a client certificate with its key (PEM), or both."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""


def of(access: Access) -> Credentials:
    """Return the credentials of the user, running the exec plugin if it takes one; none for plain HTTP.

    Raises:
        KoordError: in kubectl's words, when there are none. Nothing is ever sent without.

    """
    user = access.user
    if not access.cluster["server"].startswith("https://"):
        # As kubectl does: a secret never travels in the clear.
        return Credentials()
    token = _token(user)
    certificate, key = data_or_file(user, "client-certificate"), data_or_file(user, "client-key")
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise KoordError(f"error: the kubeconfig user has no {missing}")
    # A token ends the search: `--token` works beside an exec plugin.
    if user.get("exec") and not token:
        return _run(user["exec"], access.cluster)
    if not (token or certificate):
        raise no_credentials()
    return Credentials(token, certificate, key)


def _token(user: dict[str, Any]) -> str:
    file = user.get("tokenFile")
    if not file:
        return str(user.get("token") or "")
    try:
        return Path(file).read_text("utf-8").strip()
    except OSError as problem:
        raise unable(f"open {file}: {problem.strerror}") from None


def _run(plugin: dict[str, Any], cluster: dict[str, Any]) -> Credentials:
    """Run the plugin, its errors going to the user, and return what it gives."""
    _refuse_policy()
    command = str(plugin.get("command") or "")
    if plugin.get("apiVersion") not in _VERSIONS or not command:
        raise _failed(f"exec: invalid apiVersion {json.dumps(plugin.get('apiVersion'))}")
    interactive = _interactive(plugin)
    info: dict[str, Any] = {"interactive": interactive}
    if plugin.get("provideClusterInfo"):
        info["cluster"] = _cluster_info(cluster)
    try:
        child = subprocess.Popen(  # noqa: S603 - the kubeconfig names it: that is what exec plugins are
            [
                _program(command, str(plugin.get("installHint") or "")),
                *(str(word) for word in plugin.get("args") or []),
            ],
            env=_environment(plugin, info),
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
    except OSError as problem:
        raise _failed(f"exec: fork/exec {command}: {(problem.strerror or '').lower()}") from None
    leaving.first(child.kill)
    with child:
        answer, _ = child.communicate()
    leaving.no_more(child.kill)
    if child.returncode:
        raise _failed(f"exec: executable {command} failed with exit code {child.returncode}")
    return _decode(answer, plugin["apiVersion"])


def _refuse_policy() -> None:
    """Refuse to run a plugin where a kuberc restricts which may run: judging that is kubectl's."""
    if os.environ.get("KUBERC") == "off":
        return
    path = Path(os.environ.get("KUBERC") or Path.home() / ".kube" / "kuberc")
    try:
        restricts = b"credentialPlugin" in path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as problem:
        raise KoordError(f"error: unable to read {path}: {problem.strerror}") from None
    if restricts:
        needs_kubectl("the credential plugin policy of kuberc")


def _interactive(plugin: dict[str, Any]) -> bool:
    mode = plugin.get("interactiveMode") or "IfAvailable"
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise _failed("exec plugin cannot support interactive mode: standard input is not a terminal")
    return terminal and mode != "Never"


def _program(command: str, hint: str) -> str:
    found = command if "/" in command else shutil.which(command)
    if not found:
        raise _failed(f"exec: executable {command} not found", hint)
    return found


def _environment(plugin: dict[str, Any], spec: dict[str, Any]) -> dict[str, str]:
    given = {str(entry["name"]): str(entry.get("value", "")) for entry in plugin.get("env") or []}
    info = {"kind": "ExecCredential", "apiVersion": plugin["apiVersion"], "spec": spec}
    return {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _cluster_info(cluster: dict[str, Any]) -> dict[str, Any]:
    info = {name: cluster[name] for name in _CLUSTER_INFO if cluster.get(name)}
    if authority := data_or_file(cluster, "certificate-authority"):
        import base64  # noqa: PLC0415

        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    for extension in cluster.get("extensions") or []:
        if extension.get("name") == "client.authentication.k8s.io/exec":
            info["config"] = extension.get("extension")
    return info


def _decode(output: bytes, version: str) -> Credentials:
    try:
        answer = json.loads(output)
        given = answer["apiVersion"]
    except (ValueError, KeyError, TypeError):
        raise _failed("decoding stdout: couldn't get version/kind of what the plugin printed") from None
    if given != version:
        raise _failed(f"exec plugin is configured to use API version {version}, plugin returned version {given}")
    status = answer.get("status")
    if not isinstance(status, dict):
        raise _failed("exec plugin didn't return a status field")
    token = str(status.get("token") or "")
    certificate = str(status.get("clientCertificateData") or "").encode()
    key = str(status.get("clientKeyData") or "").encode()
    if bool(certificate) != bool(key):
        raise _failed("exec plugin returned only certificate or key, not both")
    if not (token or certificate):
        raise _failed("exec plugin didn't return a token or cert/key pair")
    return Credentials(token, certificate, key)


def _failed(reason: str, hint: str = "") -> KoordError:
    return unable(f"getting credentials: {reason}", hint)
