"""What one kubeconfig file says, for places without kubectl.

As much of it as can be honoured in full; everything else is refused by name, never approximated.
"""

import base64
import os
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.context import DEFAULT, SERVICE_ACCOUNT, Target, in_pod
from kubectl_koord.errors import KoordError

_REFUSED_FLAGS = (
    "as",
    "as-group",
    "as-uid",
    "as-user-extra",
    "kuberc",
    "match-server-version",
    "password",
    "username",
)
_REFUSED_USER_FIELDS = ("as", "as-groups", "as-uid", "as-user-extra", "auth-provider", "password", "username")
_FLAGS_OF_CLUSTER = ("server", "certificate-authority", "tls-server-name", "insecure-skip-tls-verify")
_FLAGS_OF_USER = ("token", "client-certificate", "client-key")


class Access(Struct, frozen=True):
    """How to reach one API server, and as whom: `cluster` and `user` as in the kubeconfig.

    File names in them are absolute. `cluster["server"]` is never empty.
    """

    cluster: dict[str, Any]
    user: dict[str, Any]


def load(connection: Connection) -> Access:
    """Return the access that the flags, the kubeconfig or the pod's service account give.

    Raises:
        KoordError: in kubectl's words, or naming what needs kubectl.

    """
    for name in _REFUSED_FLAGS:
        if connection.value(name) not in ("", "false"):
            needs_kubectl(f"the flag --{name}")
    config, folder = _read(connection)
    if config is None and _in_cluster() and not connection.value("context"):
        cluster, user = _service_account()
    else:
        cluster, user = _current(config or {}, folder, connection)
    cluster |= _given(connection, _FLAGS_OF_CLUSTER, cluster)
    user |= _given(connection, _FLAGS_OF_USER, user)
    if not cluster.get("server"):
        raise KoordError("error: no configuration has been provided: no kubeconfig, no pod, no --server")
    return Access(cluster, user)


def namespace(connection: Connection) -> str:
    """Return the namespace flag, else the context's, else the pod's own, else `default`.

    Raises:
        KoordError: when the kubeconfig cannot be read.

    """
    if connection.namespace:
        return connection.namespace
    config, _ = _read(connection)
    if config is None:
        return in_pod() or DEFAULT
    return _context(config, connection).get("namespace") or DEFAULT


def target(connection: Connection) -> Target:
    """Return the names of the current context and of its cluster.

    Raises:
        KoordError: when the kubeconfig cannot be read.

    """
    config, _ = _read(connection)
    if config is None:
        return Target()
    name = connection.value("context") or config.get("current-context") or ""
    return Target(str(_context(config, connection).get("cluster") or ""), str(name))


def needs_kubectl(what: str) -> NoReturn:
    """Refuse what cannot be honoured without kubectl."""
    raise KoordError(f"error: {what} cannot be honoured without kubectl: put kubectl on PATH")


def _read(connection: Connection) -> tuple[dict[str, Any] | None, Path]:
    """Return the kubeconfig, None when there is none, and the folder of its relative paths."""
    path = _path(connection)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        if connection.value("kubeconfig"):
            raise KoordError(f"error: stat {path}: no such file or directory") from None
        return None, Path()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise KoordError(f"error: error loading config file {str(path)!r}: {reason}") from None
    return (_parse(text, path) if text.strip() else None), path.absolute().parent


def _path(connection: Connection) -> Path:
    if given := connection.value("kubeconfig"):
        return Path(given)
    paths = [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    if len(set(paths)) > 1:
        needs_kubectl("KUBECONFIG with several files")
    return Path(paths[0]) if paths else Path.home() / ".kube" / "config"


def _parse(text: str, path: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415

    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        reason = " ".join(str(problem).split())
        raise KoordError(f'error: error loading config file "{path}": {reason}') from None
    if not isinstance(config, dict):
        raise KoordError(f'error: error loading config file "{path}": it holds no Config')
    return config


def _current(config: dict[str, Any], folder: Path, connection: Connection) -> tuple[dict[str, Any], dict[str, Any]]:
    context = _context(config, connection)
    cluster = _named(config, "clusters", connection.value("cluster") or context.get("cluster"), "cluster")
    user = _named(config, "users", connection.value("user") or context.get("user"), "auth info")
    for field in _REFUSED_USER_FIELDS:
        if user.get(field):
            needs_kubectl(f"the field {field!r} of the kubeconfig user")
    return _absolute(cluster, folder), _absolute(user, folder)


def _context(config: dict[str, Any], connection: Connection) -> dict[str, Any]:
    return _named(config, "contexts", connection.value("context") or config.get("current-context"), "context")


def _named(config: dict[str, Any], section: str, name: object, what: str) -> dict[str, Any]:
    """Return the body of a named entry: the first of the name, as in kubectl; {} for no name."""
    if not name:
        return {}
    field = {"clusters": "cluster", "contexts": "context", "users": "user"}[section]
    for entry in config.get(section) or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            body = entry.get(field)
            return dict(body) if isinstance(body, dict) else {}
    raise KoordError(f'error: {what} "{name}" does not exist')


def _absolute(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the entry with its file names made absolute: they are relative to the kubeconfig."""
    names = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
    files: dict[str, Any] = {name: str(folder / body[name]) for name in names if body.get(name)}
    plugin = body.get("exec")
    if isinstance(plugin, dict):
        command = str(plugin.get("command") or "")
        if "/" in command:
            files["exec"] = plugin | {"command": str(folder / command)}
    return body | files


def _given(connection: Connection, names: tuple[str, ...], body: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that flags overrule; a file given as a flag replaces the data of the kubeconfig."""
    given: dict[str, Any] = {name: value for name in names if (value := connection.value(name))}
    for name in given.keys() & {"certificate-authority", "client-certificate", "client-key"}:
        body.pop(f"{name}-data", None)
    if "insecure-skip-tls-verify" in given:
        given["insecure-skip-tls-verify"] = given["insecure-skip-tls-verify"] == "true"
    if "token" in given:
        body.pop("tokenFile", None)
    server = given.get("server", "")
    if server and "://" not in server:
        given["server"] = f"http://{server}"
    return given


def _in_cluster() -> bool:
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and Path(SERVICE_ACCOUNT, "token").is_file()


def _service_account() -> tuple[dict[str, Any], dict[str, Any]]:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    cluster = {
        "server": f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        "certificate-authority": f"{SERVICE_ACCOUNT}/ca.crt",
    }
    return cluster, {"tokenFile": f"{SERVICE_ACCOUNT}/token"}


def data_or_file(body: dict[str, Any], name: str) -> bytes:
    """Return what `NAME-data` or the file `NAME` holds, empty when neither is given.

    Raises:
        KoordError: when it cannot be read.

    """
    try:
        if data := body.get(f"{name}-data"):
            return base64.b64decode(data, validate=True)
        return Path(body[name]).read_bytes() if body.get(name) else b""
    except ValueError:
        raise KoordError(f"error: {name}-data of the kubeconfig is no base64") from None
    except OSError as problem:
        raise KoordError(f"error: unable to read {name} {body[name]}: {problem.strerror}") from None
