"""Who we are to the API server, for places without kubectl.

Exec plugins are run here and not by the client library, which only logs that one has failed and then sends requests as
nobody; it also keeps back what they print, and starts programs of the kubeconfig's folder.
"""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kubectl_koord import leaving
from kubectl_koord.cluster.api.direct.kubeconfig import (
    Cluster,
    Plugin,
    User,
    data_or_file,
    home,
    invalid,
    needs_kubectl,
)
from kubectl_koord.cluster.api.transport import no_credentials, unsent
from kubectl_koord.errors import KoordError

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MODES = ("", "Never", "IfAvailable", "Always")
_EXTENSION = "client.authentication.k8s.io/exec"


EVERY = 60.0
"""Seconds after which the file of a token is read again, as client-go has it: a pod's expires after an hour."""


class Credentials(Struct, frozen=True):
    """The value of the header Authorization, a client certificate with its key (PEM), or both.

    The header is that of a token that stands in `user.token_file`, where there is one.
    """

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""
    user: User = field(default_factory=User)


class Authorization:
    """The value of the header, each time that it is sent. Several threads may ask at once."""

    def __init__(self, who: Credentials) -> None:
        """Begin with what is known."""
        self._now = who.authorization
        self._user = who.user
        self._read_at = time.monotonic()

    def __call__(self) -> str:
        """Return it, read anew where it is old; where that fails it stays."""
        if self._user.token_file and time.monotonic() - self._read_at >= EVERY:
            self._read_at = time.monotonic()
            with contextlib.suppress(KoordError):
                self._now = _bearer(_token(self._user))
        return self._now


def of(cluster: Cluster, user: User) -> Credentials:
    """Return the credentials of the user, running the exec plugin if it takes one; none for plain HTTP.

    Raises:
        KoordError: in kubectl's words, when there are none. Nothing is ever sent without.

    """
    if not cluster.server.startswith("https://"):
        # As kubectl does: a secret never travels in the clear.
        return Credentials()
    token = _token(user)
    if user.username and token:
        raise invalid("username and token", "may not both be set")
    certificate, key = data_or_file(user, "client-certificate"), data_or_file(user, "client-key")
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise KoordError(f"error: the kubeconfig user has no {missing}")
    authorization = _bearer(token) or basic(user.username, user.password)
    # What is known without it ends the search: `--token` works beside an exec plugin.
    if user.exec and not authorization:
        return _run(user.exec, cluster)
    if not (authorization or certificate):
        raise no_credentials()
    return Credentials(authorization, certificate, key, user)


def _token(user: User) -> str:
    """Return the token; that of a file counts before one that is written beside it."""
    if not user.token_file:
        return user.token
    try:
        found = Path(user.token_file).read_text("utf-8").strip()
    except (OSError, ValueError) as problem:
        if user.token:
            return user.token
        raise unsent(f"open {user.token_file}: {getattr(problem, 'strerror', None) or 'no text'}") from None
    if not (found or user.token):
        raise unsent(f"read empty token from file {user.token_file!r}")
    return found or user.token


def _bearer(token: str) -> str:
    """Return the header for a token; one that is no header's value is refused, and not told."""
    if token and not (token.isascii() and token.isprintable()):
        raise unsent('net/http: invalid header field value for "Authorization"')
    return f"Bearer {token}" if token else ""


def basic(name: str, password: str) -> str:
    """Return the header for a name and a password, nothing for no name."""
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}" if name else ""


def _run(plugin: Plugin, cluster: Cluster) -> Credentials:
    """Run the plugin, its errors going to the user, and return what it gives."""
    _refuse_policy()
    if plugin.api_version not in _VERSIONS:
        raise _failed(f"exec: invalid apiVersion {plugin.api_version!r}")
    if not plugin.command:
        raise invalid("exec.command", "is empty")
    info: dict[str, Any] = {"interactive": _is_interactive(plugin)}
    if plugin.provide_cluster_info:
        info["cluster"] = _cluster_info(cluster)
    program = _program(plugin.command, plugin.install_hint)
    try:
        child = subprocess.Popen(  # noqa: S603 - the kubeconfig names it: that is what exec plugins are
            [program, *plugin.args],
            env=_environment(plugin, info),
            stdin=None if info["interactive"] else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
    except (OSError, ValueError) as problem:  # a word with a NUL byte is no word
        reason = (getattr(problem, "strerror", None) or "invalid argument").lower()
        raise _failed(f"exec: fork/exec {plugin.command}: {reason}") from None
    leaving.first(child.kill)
    with child:
        answer, _ = child.communicate()
    leaving.no_more(child.kill)
    if child.returncode:
        raise _failed(f"exec: executable {plugin.command} failed with exit code {child.returncode}")
    return _decode(answer, plugin.api_version)


def _refuse_policy() -> None:
    """Refuse to run a plugin where a kuberc restricts which may run: judging that is kubectl's."""
    if os.environ.get("KUBERC") == "off":
        return
    given = os.environ.get("KUBERC")
    for path in [Path(given)] if given else [folder / "kuberc" for folder in home()]:
        try:
            restricts = b"credentialPlugin" in path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise KoordError(f"error: unable to read {path}: {problem.strerror}") from None
        if restricts:
            needs_kubectl("the credential plugin policy of kuberc")


def _is_interactive(plugin: Plugin) -> bool:
    mode = plugin.interactive_mode
    if mode not in _MODES:
        raise invalid("exec.interactiveMode", f"is {mode!r} and not one of {', '.join(_MODES[1:])}")
    if not mode and plugin.api_version == _VERSIONS[0]:
        raise invalid("exec.interactiveMode", "must be specified")
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise _failed("exec plugin cannot support interactive mode: standard input is not a terminal")
    return terminal and mode != "Never"


def _program(command: str, hint: str) -> str:
    """Return where a program is; one of the current folder, which PATH may name as such, is not run, as Go has it."""
    found = command if "/" in command else shutil.which(command)
    if not found:
        raise _failed(f"exec: executable {command} not found", hint)
    if not os.path.isabs(found):  # noqa: PTH117
        reason = "cannot run executable found relative to current directory"
        raise _failed(f"exec: {command!r}: {reason}")
    return found


def _environment(plugin: Plugin, spec: dict[str, Any]) -> dict[str, str]:
    given = {one.name: one.value for one in plugin.env if one.name}
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info, default=str)}


def _cluster_info(cluster: Cluster) -> dict[str, Any]:
    authority = data_or_file(cluster, "certificate-authority")
    info: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": next((one.extension for one in cluster.extensions if one.name == _EXTENSION), None),
    }
    return {name: value for name, value in info.items() if value}


def _decode(output: bytes, version: str) -> Credentials:
    try:
        answer = json.loads(output)
        given = answer["apiVersion"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _failed("decoding stdout: couldn't get version/kind of what the plugin printed") from None
    if given != version:
        raise _failed(f"exec plugin is configured to use API version {version}, plugin returned version {given!s:.100}")
    status = answer.get("status")
    if not isinstance(status, dict):
        raise _failed("exec plugin didn't return a status field")
    names = ("token", "clientCertificateData", "clientKeyData")
    values = [status.get(name) or "" for name in names]
    wrong = next((name for name, value in zip(names, values, strict=True) if not isinstance(value, str)), None)
    if wrong:
        raise _failed(f"decoding stdout: status.{wrong} is no text")
    token, certificate, key = values
    if bool(certificate) != bool(key):
        raise _failed("exec plugin returned only certificate or key, not both")
    if not (token or certificate):
        raise _failed("exec plugin didn't return a token or cert/key pair")
    return Credentials(_bearer(token), certificate.encode(errors="replace"), key.encode(errors="replace"))


def _failed(reason: str, hint: str = "") -> KoordError:
    return unsent(f"getting credentials: {reason}", hint)
