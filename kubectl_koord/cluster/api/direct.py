"""The way to the API server without kubectl: kubeconfig, credentials, TLS and proxies."""

import base64
import contextlib
import io
import ipaddress
import json
import logging
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

import msgspec
import urllib3
from msgspec import Struct, field, structs
from urllib3.exceptions import HTTPError, NewConnectionError, ReadTimeoutError
from urllib3.exceptions import TimeoutError as Timeout

from kubectl_koord import leaving
from kubectl_koord.cluster.api import transport
from kubectl_koord.cluster.api.connection import DEFAULT, SERVICE_ACCOUNT, Connection, Target, in_pod
from kubectl_koord.cluster.api.transport import (
    JSON,
    USER_AGENT,
    Deadline,
    Limits,
    Notify,
    Sending,
    TimedReader,
    checked,
    interrupted,
    no_body_in_time,
    no_credentials,
    no_headers_in_time,
    refused,
    unable,
    unsent,
)
from kubectl_koord.errors import KoordError

_LARGEST, _MOST_VALUES = 8 << 20, 200_000
"""Bytes of a kubeconfig, and values in it, each alias counted as what it stands for."""


class Variable(Struct):
    """One variable of a plugin's environment."""

    name: str = ""
    value: str = ""


class Plugin(Struct, rename="camel"):
    """`exec` of a user."""

    command: str = ""
    args: list[str] = []
    env: list[Variable] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class Extension(Struct):
    """`extensions[]` of a cluster: data for credential plugins."""

    name: str = ""
    extension: Any = None


class Cluster(Struct, rename="kebab"):
    """`cluster` of a kubeconfig."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] = []


class User(Struct, rename="kebab"):
    """`user` of a kubeconfig."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    impersonate: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    username: str = ""
    password: str = ""
    auth_provider: dict[str, Any] | None = None
    exec: Plugin | None = None


class _Context(Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(Struct):
    name: str = ""
    cluster: Cluster = field(default_factory=Cluster)


class _NamedUser(Struct):
    name: str = ""
    user: User = field(default_factory=User)


class _NamedContext(Struct):
    name: str = ""
    context: _Context = field(default_factory=_Context)


class _File(Struct, rename="kebab"):
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


class _Merged(Struct):
    """All files together: of entries of one name, and of current contexts, the first counts."""

    current: str = ""
    clusters: dict[str, Cluster] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    contexts: dict[str, _Context] = field(default_factory=dict)

    def add(self, file: _File) -> None:
        """Add a file: entries and contexts that are there already stay."""
        self.current = self.current or file.current_context
        self.clusters = {one.name: one.cluster for one in file.clusters} | self.clusters
        self.users = {one.name: one.user for one in file.users} | self.users
        self.contexts = {one.name: one.context for one in file.contexts} | self.contexts


class Access(Struct, frozen=True):
    """An API server and the user to log in as. File names are absolute; `cluster.server` is never empty."""

    cluster: Cluster
    user: User


_UNHONOURED_FLAGS = (
    "as",
    "as-group",
    "as-uid",
    "as-user-extra",
    "kuberc",
    "match-server-version",
    "password",
    "username",
)
_UNHONOURED_FIELDS: Mapping[str, Callable[[User], object]] = {
    "as": lambda user: user.impersonate,
    "as-groups": lambda user: user.as_groups,
    "as-uid": lambda user: user.as_uid,
    "as-user-extra": lambda user: user.as_user_extra,
    "auth-provider": lambda user: user.auth_provider,
}
"""Flags, and fields of a user, that neither we nor the client library honour."""


def load(connection: Connection) -> Access:
    """Return the access that the flags, the kubeconfig or the pod's service account give.

    Raises KoordError, in kubectl's words, or naming what needs kubectl.
    """
    for name in _UNHONOURED_FLAGS:
        if connection.value(name) not in ("", "false"):
            needs_kubectl(f"the flag --{name}")
    config = _read(connection)
    if config is None and _in_cluster() and not connection.value("context"):
        access = _service_account()
    else:
        access = _current(config or _Merged(), connection)
    cluster, user = _flagged(access, connection)
    if not cluster.server:
        raise KoordError("error: no configuration has been provided: no kubeconfig, no pod, no --server")
    return Access(cluster, user)


def kubeconfig_namespace(connection: Connection) -> str:
    """Return the namespace flag, else the context's, else the pod's own, else `default`.

    Raises KoordError when the kubeconfig cannot be read.
    """
    if connection.namespace:
        return connection.namespace
    config = _read(connection)
    if config is None:
        return in_pod() or DEFAULT
    return _context(config, connection).namespace or DEFAULT


def kubeconfig_target(connection: Connection) -> Target:
    """Return the names of the current context and of its cluster.

    Raises KoordError when the kubeconfig cannot be read.
    """
    config = _read(connection)
    if config is None:
        return Target()
    return Target(_context(config, connection).cluster, connection.value("context") or config.current)


def needs_kubectl(what: str) -> NoReturn:
    """Refuse what cannot be honoured without kubectl. Always raises KoordError."""
    raise KoordError(f"error: {what} cannot be honoured without kubectl: put kubectl on PATH")


def invalid(what: str, why: str) -> KoordError:
    """Return the error for a field of the kubeconfig that cannot be used. It quotes no value: some are secret."""
    return KoordError(f"error: invalid configuration: {what} of the kubeconfig {why}")


def _read(connection: Connection) -> _Merged | None:
    """Return the merged kubeconfig files, None when all are missing or empty."""
    given = connection.value("kubeconfig")
    found = list(filter(None, (_file(path, is_needed=bool(given)) for path in _paths(given))))
    if not found:
        return None
    merged = _Merged()
    for file in found:
        merged.add(file)
    return merged


def home() -> list[Path]:
    """Return the folder `~/.kube`, an empty list without a HOME, as in many pods."""
    found = os.environ.get("HOME")
    return [Path(found, ".kube")] if found else []


def _paths(given: str) -> list[Path]:
    if given:
        return [Path(given)]
    paths = list(dict.fromkeys(path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path))
    return [Path(path) for path in paths] or [folder / "config" for folder in home()]


def _file(path: Path, *, is_needed: bool) -> _File | None:
    """Return a decoded kubeconfig file with absolute file names, None where it is missing or empty.

    Raises KoordError, naming it, and the field that is wrong.
    """
    value = _value(_text(path, is_needed=is_needed), path)
    if value is None:
        return None
    try:
        found = msgspec.convert(value, _File)
    except (msgspec.ValidationError, RecursionError) as problem:
        raise _unreadable(path, _told(str(problem))) from None
    if found.api_version not in ("", "v1") or found.kind not in ("", "Config"):
        raise _unreadable(path, f"no kind {found.kind!r} is registered for version {found.api_version!r}")
    _check_names(found, path)
    folder = path.absolute().parent
    for cluster in found.clusters:
        cluster.cluster = _absolute(cluster.cluster, folder, "certificate_authority")
    for user in found.users:
        user.user = _absolute(user.user, folder, "client_certificate", "client_key", "token_file")
        plugin = user.user.exec
        if plugin and "/" in plugin.command:
            user.user.exec = _absolute(plugin, folder, "command")
    return found


def _text(path: Path, *, is_needed: bool) -> str:
    """Return the text of a file, none where it is missing."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode()
    except FileNotFoundError:
        if is_needed:
            raise KoordError(f"error: stat {path}: no such file or directory") from None
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, getattr(problem, "strerror", None) or "it is not UTF-8") from None
    if len(content) > _LARGEST:
        raise _unreadable(path, f"it is larger than {_LARGEST >> 20} MiB")
    return text


def _value(text: str, path: Path) -> Any:  # noqa: ANN401 - any value
    """Return the value of YAML without what is null in it, as Go leaves such fields alone; None of an empty text."""
    import yaml  # noqa: PLC0415 - 30 ms that a pod's own account need not pay

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Leaves timestamps alone: a token may look like one."""

    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
    try:
        value = yaml.load(text, Loader)  # noqa: S506 - a safe one
        if _size(value, {}) > _MOST_VALUES:
            raise _unreadable(path, f"it has more than {_MOST_VALUES:,} values")
        return _without_null(value)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise _unreadable(path, f"{where}{getattr(problem, 'problem', None) or 'not YAML'}") from None
    except RecursionError:
        raise _unreadable(path, "it is nested too deeply") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):  # of tags that do not fit
        raise _unreadable(path, "a value is not what its tag says") from None


def _size(value: object, known: dict[int, int]) -> int:
    """Return of how many values it consists; of one that contains itself too many."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = _MOST_VALUES + 1
        parts: Iterable[object] = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(value)]


def _without_null(value: Any) -> Any:  # noqa: ANN401 - any value
    match value:
        case dict():
            return {name: _without_null(part) for name, part in value.items() if part is not None}
        case list():
            return [_without_null(part) for part in value]
        case str():
            value.encode()  # half of a surrogate pair is no text
        case _:
            pass
    return value


def _check_names(file: _File, path: Path) -> None:
    for section in ("clusters", "users", "contexts"):
        names = [one.name for one in getattr(file, section)]
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise _unreadable(path, f"duplicate name {twice!r} in {section}")


def _absolute(body: Any, folder: Path, *names: str) -> Any:  # noqa: ANN401 - one of the parts above
    """Return a part with its file names made absolute: they are relative to the kubeconfig."""
    return structs.replace(body, **{name: str(folder / given) for name in names if (given := getattr(body, name))})


def _told(problem: str) -> str:
    """Return what is wrong with a field, the field first: `users[0].user.token: expected str, got int`."""
    what, _, where = problem.partition(" - at `")
    return f"{where.removeprefix('$').removeprefix('.').rstrip('`') or 'it'}: {what[:1].lower()}{what[1:]}"


def _unreadable(path: Path, why: str) -> KoordError:
    return KoordError(f'error: error loading config file "{path}": {" ".join(why.split())}')


def _current(config: _Merged, connection: Connection) -> Access:
    context = _context(config, connection)
    cluster = _named(config.clusters, connection.value("cluster") or context.cluster, "cluster") or Cluster()
    user = _named(config.users, connection.value("user") or context.user, "auth info") or User()
    for name, of in _UNHONOURED_FIELDS.items():
        if of(user):
            needs_kubectl(f"the field {name!r} of the kubeconfig user")
    return Access(cluster, user)


def _context(config: _Merged, connection: Connection) -> _Context:
    return _named(config.contexts, connection.value("context") or config.current, "context") or _Context()


def _named(entries: Mapping[str, Any], name: str, what: str) -> Any:  # noqa: ANN401 - one of the parts above
    if not name:
        return None
    if name not in entries:
        raise KoordError(f"error: {what} {_quoted(name)} does not exist")
    return entries[name]


def _quoted(text: str) -> str:
    """Return a text as Go quotes it, on one line."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _flagged(access: Access, connection: Connection) -> tuple[Cluster, User]:
    """Return both with what flags overrule; a file given as a flag replaces the data of the kubeconfig."""
    value = connection.value
    cluster, user = access.cluster, access.user
    if server := value("server"):
        cluster = structs.replace(cluster, server=server)
    if name := value("tls-server-name"):
        cluster = structs.replace(cluster, tls_server_name=name)
    if insecure := value("insecure-skip-tls-verify"):
        cluster = structs.replace(cluster, insecure_skip_tls_verify=insecure == "true")
    if authority := value("certificate-authority"):
        cluster = structs.replace(cluster, certificate_authority=authority, certificate_authority_data="")
    if token := value("token"):
        user = structs.replace(user, token=token, token_file="")
    if certificate := value("client-certificate"):
        user = structs.replace(user, client_certificate=certificate, client_certificate_data="")
    if key := value("client-key"):
        user = structs.replace(user, client_key=key, client_key_data="")
    return cluster, user


def _in_cluster() -> bool:
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and Path(SERVICE_ACCOUNT, "token").is_file()


def _service_account() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    cluster = Cluster(server=server, certificate_authority=f"{SERVICE_ACCOUNT}/ca.crt")
    return Access(cluster, User(token_file=f"{SERVICE_ACCOUNT}/token"))


def data_or_file(part: Cluster | User, name: str) -> bytes:
    """Return what `NAME-data` or the file `NAME` holds, empty when neither is given.

    Raises KoordError when it cannot be read.
    """
    data, file = (str(getattr(part, f"{name.replace('-', '_')}{end}")) for end in ("_data", ""))
    try:
        if data:
            return base64.b64decode("".join(data.split()), validate=True)
        return Path(file).read_bytes() if file else b""
    except OSError as problem:
        shown = file if file.isprintable() else _quoted(file)
        raise KoordError(f"error: unable to read {name} {shown}: {problem.strerror}") from None
    except ValueError:
        raise invalid(f"{name}-data" if data else name, "is no base64" if data else "is no path") from None


_PORTS = {"http": 80, "https": 443}
_SOCKS = ("socks5", "socks5h")


class Way(NamedTuple):
    """A URL of a server or proxy without who goes there, and who that is: a name and a password, or nothing."""

    url: str
    name: str = ""
    password: str = ""


def server_of(given: str) -> Way:
    """Return the address of a server; without a scheme it is http.

    Raises KoordError when it is no URL that kubectl would take.
    """
    parts = _split(given)
    if parts is None or not (parts.scheme and parts.netloc):
        parts = _split(f"http://{given}")
        if parts is None or not parts.netloc or parts.path not in ("", "/"):
            raise invalid("server", "must be a URL or a host:port pair")
    if parts.scheme not in _PORTS or not parts.hostname:
        raise invalid("server", "has an unsupported protocol scheme: http or https is needed")
    if parts.query or parts.fragment:
        needs_kubectl("a query in the server's URL")
    way = _without_user(parts)
    return way._replace(url=way.url.rstrip("/"))


def proxy_of(cluster: Cluster) -> Way | None:
    """Return the proxy that leads to the server, None for none.

    Mirrors clientcmd's `parseProxyURL`, and x/net/http/httpproxy: `proxy-url` counts alone; of the environment the
    variable in capitals counts first, ALL_PROXY is not known, and this machine needs no proxy.

    Raises KoordError when it is none, or one that needs kubectl.
    """
    if cluster.proxy_url:
        parts = _split(cluster.proxy_url)
        if parts is None or not parts.scheme or not parts.netloc:
            raise invalid("proxy-url", "is no URL")
        if parts.scheme not in (*_PORTS, "socks5"):
            raise invalid("proxy-url", "has an unsupported scheme: it must be http, https, or socks5")
    else:
        server = urlsplit(cluster.server)
        name = f"{server.scheme}_proxy"
        given = os.environ.get(name.upper()) or os.environ.get(name) or ""
        if not given or not _is_proxied(server, os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""):
            return None
        parts = _split(given)
        if parts is None or not parts.scheme or not parts.netloc:
            parts = _split(f"http://{given}")
        if parts is None or not parts.netloc:
            raise unsent(f"proxyconnect: {name.upper()} holds no address of a proxy")
        if parts.scheme not in (*_PORTS, *_SOCKS):
            raise unsent(f"proxyconnect: {name.upper()} has an unknown scheme")
    if parts.scheme in _SOCKS:
        needs_kubectl("a SOCKS proxy")
    return _without_user(parts)


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, None of what is none."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port, parts.hostname.encode("idna") if parts.hostname else b""
    except ValueError:
        return None
    return parts


def _without_user(parts: SplitResult) -> Way:
    whole = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return Way(whole, unquote(parts.username or ""), unquote(parts.password or ""))


def _is_proxied(server: SplitResult, no_proxy: str) -> bool:
    """Tell whether the environment's proxy is for this server (httpproxy's `useProxy`)."""
    host = (server.hostname or "").lower()
    port = str(server.port or _PORTS[server.scheme])
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    return not any(_matches(one.strip().lower(), host, port, address) for one in no_proxy.split(","))


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _matches(entry: str, host: str, port: str, address: _Address | None) -> bool:
    """Tell whether an entry of NO_PROXY names a server."""
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry and address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _host_and_port(entry)
    if wanted not in ("", port) or not name:
        return False
    named = _address(name)
    if named is not None:
        return named == address
    name = name.removeprefix("*") if name.startswith("*.") else name
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _host_and_port(entry: str) -> tuple[str, str]:
    if entry.startswith("[") and "]" in entry:
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.partition(":")
    return (name, port) if colon and ":" not in port else (entry, "")


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


PIECE = 64 * 1024


class ClientBody:
    """A `Body` over a response of urllib3."""

    def __init__(self, response: Any, deadline: Deadline) -> None:  # noqa: ANN401 - urllib3 has no stable types
        self.status: int = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.deadline = deadline
        self._response = response

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all that is left for -1."""
        pieces = []
        while size and (piece := self._piece(PIECE if size < 0 else min(size, PIECE))):
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer and return how many bytes came, fewer than it holds only at the end."""
        view = memoryview(buffer)
        filled = 0
        while filled < len(view) and (piece := self._piece(min(len(view) - filled, PIECE))):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def pieces(self) -> Iterator[bytes]:
        """Yield what comes as soon as it comes, until the end."""
        try:
            yield from self._response.stream(PIECE)
        except (TimeoutError, ReadTimeoutError):
            raise self.deadline.error(no_body_in_time) from None
        except (HTTPError, HTTPException, OSError, ValueError):
            raise unable("unexpected EOF") from None

    def prolong(self, seconds: float) -> None:
        """Let the rest of the body take up to `seconds` from now, with or without progress."""
        self.deadline.prolong(seconds)

    def interrupt(self) -> None:
        """End the body for whichever thread reads it."""
        connected = getattr(getattr(self._response, "connection", None), "sock", None)
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection up."""
        self._response.close()

    def _piece(self, size: int) -> bytes:
        try:
            piece: bytes = self._response.read(size)
        except (TimeoutError, ReadTimeoutError):
            raise self.deadline.error(no_body_in_time) from None
        except (HTTPError, HTTPException, OSError, ValueError):
            raise interrupted() from None
        return piece


class Forbidden:
    """What kubectl's proxy answers to a method that it does not let through."""

    status = 403
    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._left = b"Forbidden"

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        piece, self._left = self._left[:size], self._left[size:]
        return piece

    def close(self) -> None:
        """Drop what is left."""
        self._left = b""


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
        self._now = who.authorization
        self._user = who.user
        self._read_at = time.monotonic()

    def __call__(self) -> str:
        """Return the header; a token of a file is read anew once it is old, and stays where that fails."""
        if self._user.token_file and time.monotonic() - self._read_at >= EVERY:
            self._read_at = time.monotonic()
            with contextlib.suppress(KoordError):
                self._now = _bearer(_token(self._user))
        return self._now


def of(cluster: Cluster, user: User) -> Credentials:
    """Return the credentials of the user, running the exec plugin if it takes one; none for plain HTTP.

    Raises KoordError, in kubectl's words, when there are none. Nothing is ever sent without.
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
    """Return the bearer token: the content of `tokenFile`, or else `token`."""
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
    """Return the Authorization header of a token. The error for one that no header can hold does not quote it."""
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


# OpenSSL's numbers for failures that x509 in Go words.
_UNTRUSTED = (2, 18, 19, 20, 21)
_EXPIRED = (9, 10)
_OTHER_NAME = (62, 64)


def failure(problem: Exception, server: str, deadline: Deadline) -> KoordError:
    """Return the error in kubectl's words."""
    address = server.partition("://")[2].partition("/")[0]
    chain = list(_causes(problem))
    for cause in chain:
        if isinstance(cause, ConnectionRefusedError):
            return refused(address)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return unsent(f"tls: failed to verify certificate: x509: {_x509(cause, address)}")
        if isinstance(cause, socket.gaierror):
            return unsent(f"dial tcp: lookup {address.rpartition(':')[0] or address}: no such host")
    # urllib3 calls every failure to connect a timeout as well.
    if any(isinstance(cause, (Timeout, TimeoutError)) and not isinstance(cause, NewConnectionError) for cause in chain):
        return deadline.error(no_headers_in_time)
    last = chain[-1]
    if any(isinstance(cause, NewConnectionError) for cause in chain):
        return unsent(str(last))
    return unable(_said(last))


def _said(problem: BaseException) -> str:
    """Return the text of an exception, or a general one where it may quote a secret."""
    if isinstance(problem, ValueError):
        return "net/http: malformed HTTP request or response"
    return "EOF" if "RemoteDisconnected" in type(problem).__name__ else str(problem)


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all from which it came, down to the first."""
    while problem is not None:
        yield problem
        inner = next((part for part in problem.args if isinstance(part, BaseException)), None)
        problem = inner or problem.__cause__ or problem.__context__


def _x509(problem: ssl.SSLCertVerificationError, address: str) -> str:
    if problem.verify_code in _UNTRUSTED:
        return "certificate signed by unknown authority"
    if problem.verify_code in _EXPIRED:
        return "certificate has expired or is not yet valid"
    if problem.verify_code in _OTHER_NAME:
        return f"cannot validate certificate for {address.rpartition(':')[0] or address}: it is for another name"
    return str(problem.verify_message)


def context_of(cluster: Cluster, who: Credentials) -> ssl.SSLContext:
    """Return the context of TLS connections to the cluster.

    The key is on the disk for a moment only, in a file that nobody else can read: the client library would leave it
    there until the process ends in an orderly way.

    Raises KoordError when the certificates cannot be used.
    """
    authority = data_or_file(cluster, "certificate-authority")
    if authority and cluster.insecure_skip_tls_verify:
        raise KoordError("error: specifying a root certificates file with the insecure flag is not allowed")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        # Python 3.13 turns away CAs that kubectl takes; chain and name are still checked.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if cluster.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if who.certificate:
            _load_key(context, who)
    except (ssl.SSLError, ValueError) as problem:
        reason = getattr(problem, "reason", None) or "it is no PEM"
        raise KoordError(f"error: unable to use the certificates of the kubeconfig: {reason}") from None
    return context


def _load_key(context: ssl.SSLContext, who: Credentials) -> None:
    with leaving.SignalsBlocked():
        descriptor, path = tempfile.mkstemp(prefix="kubectl-koord-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(who.certificate + b"\n" + who.key)
            # An encrypted key is refused, and no password asked for on the terminal, as kubectl has it.
            context.load_cert_chain(path, password=lambda: b"")
        finally:
            Path(path).unlink()


_READS = frozenset({"GET"})
_WRITES = frozenset({"GET", "PATCH", "POST"})
_DIAL_SECONDS = 30.0
_CONNECTIONS = 64
_INTERIM, _MOST_INTERIM = range(100, 200), 5
_HEADERS, _LINE = 200, 64 * 1024


class ClientTransport(Sending[ClientBody]):
    """A `Transport` over the `kubernetes` client's pool; `target` is the server's address and the Authorization."""

    def __init__(
        self,
        connection: Connection,
        pool: Any,  # noqa: ANN401
        target: tuple[str, Callable[[], str]],
        methods: frozenset[str],
        notify: Notify | None = None,
    ) -> None:
        self._connection = connection
        self._limits = Limits(connection, notify)
        self._current = _CurrentRequest()
        self._pool = pool
        timed = {scheme: _timed(kind, self._current) for scheme, kind in pool.pool_classes_by_scheme.items()}
        pool.pool_classes_by_scheme = timed
        self._server, self._authorization = target
        self._methods = methods
        self._headers = {"User-Agent": USER_AGENT, "Accept": JSON, "Accept-Encoding": "identity"}

    def open(self, path: str, accept: str = JSON) -> ClientBody:
        """Send a GET and return once the status is known.

        Raises KoordError, in kubectl's words, when the API server cannot be reached.
        """
        return self._request("GET", path, {"Accept": accept}, b"")

    def page(self, path: str) -> ClientBody:
        """Send a GET that asks for anything, not for JSON alone.

        Raises KoordError, in kubectl's words, when the server cannot be reached.
        """
        return self._request("GET", path, {"Accept": "*/*"}, b"")

    def namespace(self) -> str:
        """Return the namespace that kubectl would use. Raises KoordError when the kubeconfig cannot be read."""
        return kubeconfig_namespace(self._connection)

    def server(self) -> str:
        """Return the address of the server."""
        return self._server

    def target(self) -> Target:
        """Return which cluster is meant. Raises KoordError when the kubeconfig cannot be read."""
        return self._connection.meant(kubeconfig_target(self._connection))

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> ClientBody:
        deadline = self._current.deadline = Deadline(self._limits, path)
        if method not in self._methods:
            return ClientBody(Forbidden(), deadline)
        if authorization := self._authorization():
            headers = {"Authorization": authorization, **headers}
        try:
            left = deadline.left()
            response = self._pool.request(
                method,
                f"{self._server}{checked(path)}",
                body=body or None,
                headers=self._headers | headers,
                timeout=urllib3.Timeout(connect=left or _DIAL_SECONDS, read=left),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, HTTPException, OSError, ValueError) as problem:
            raise failure(problem, self._server, deadline) from None
        return ClientBody(response, deadline)


class _CurrentRequest(threading.local):
    """The request that this thread waits for: urllib3 hands nothing down to the socket."""

    deadline: Deadline


class _Socket:
    """A connected socket that is read before the deadline of the current request."""

    def __init__(self, connected: Any, current: _CurrentRequest) -> None:  # noqa: ANN401
        self._connected = connected
        self._current = current

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(TimedReader(self._connected, self._current.deadline), PIECE)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._connected, name)


class _Head:
    """A file of header lines: a line that is cut off is an error, unless it is the first."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401
        self.file = file
        self._is_first = True

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self.file.readline(limit)
        if not (self._is_first or line.endswith(b"\n") or len(line) == limit):
            raise HTTPException("unexpected EOF")
        self._is_first = False
        return line

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.file, name)


class _Response(HTTPResponse):
    """An HTTP response whose headers are complete; up to five interim (1xx) ones before it are skipped, as Go does."""

    _interim = 0

    def begin(self) -> None:
        head = _Head(self.fp)
        self.fp: Any = head
        super().begin()
        if self.fp is head:
            self.fp = head.file

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status not in _INTERIM:
                return version, status, reason
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                raise HTTPException("net/http: too many 1xx informational responses")
            for _ in range(_HEADERS):
                if self.fp.readline(_LINE) in (b"\r\n", b"\n", b""):
                    break
            else:
                raise HTTPException("net/http: server response headers exceeded what is read")


def _timed(kind: Any, current: _CurrentRequest) -> Any:  # noqa: ANN401
    """Return a class of connection pools whose connections obey the deadline of the current request."""

    class Timed(kind.ConnectionCls):  # type: ignore[misc]
        response_class = _Response

        def connect(self) -> None:
            notice = threading.Timer(transport.NOTICE, current.deadline.notify)
            notice.daemon = True
            notice.start()
            try:
                super().connect()
            finally:
                notice.cancel()
            self.sock: Any = _Socket(self.sock, current)

    return type(kind.__name__, (kind,), {"ConnectionCls": Timed})


def start(connection: Connection, *, writes: bool, notify: Notify | None = None) -> ClientTransport:
    """Return a way to the cluster of the kubeconfig or of the pod; nothing is sent yet.

    Unless `writes`, nothing but GET is sent; with it, PATCH and POST as well.

    Raises KoordError when there is no such cluster, or when it needs kubectl to honour what is asked.
    """
    access = load(connection)
    server = server_of(access.cluster.server)
    cluster = structs.replace(access.cluster, server=server.url)
    proxy = proxy_of(cluster)
    who = of(cluster, access.user)
    pool = _pool(cluster, proxy, who)
    # As Go has it, who is named in the URL comes before who is named elsewhere.
    if given := basic(server.name, server.password):
        who = Credentials(given)
    target = (server.url, Authorization(who))
    return ClientTransport(connection, pool, target, _WRITES if writes else _READS, notify)


_URL_SECONDS = 60.0
_MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK = 200
_KEPT = "/%:=&?~+!$,;'@()*[]"


def fetched(url: str) -> ClientBody:
    """Return what a web server answers to a GET of this URL, redirects followed as kubectl's `-f URL` does.

    It takes a minute at most. No credentials go there: a URL that holds a password is refused, as names are printed.

    Raises KoordError when there is no such page, without its name.
    """
    place = url
    for _ in range(_MOST_REDIRECTS + 1):
        parts = _split(place)
        if parts is None or parts.scheme not in _PORTS or not parts.hostname:
            raise KoordError("error: no URL" if place == url else f"error: redirected to {place!r}")
        if "@" in parts.netloc:
            raise KoordError("error: the URL holds a user: read it with curl, and give -f -")
        answer = _answer(parts)
        where = answer.headers.get("location", "")
        if answer.status == _OK:
            return answer
        answer.close()
        if answer.status not in _REDIRECTS or not where:
            raise KoordError(f"error: the server answered with status code {answer.status}")
        place = urljoin(place, where)
    raise KoordError(f"error: more than {_MOST_REDIRECTS} redirects")


def _answer(parts: SplitResult) -> ClientBody:
    server = f"{parts.scheme}://{parts.netloc}"
    path = quote(f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}", safe=_KEPT)
    cluster, nobody = Cluster(server=server), Credentials()
    pool = _pool(cluster, proxy_of(cluster), nobody)
    way = ClientTransport(Connection(request_timeout=_URL_SECONDS), pool, (server, Authorization(nobody)), _READS)
    return way.page(path)


def _pool(cluster: Cluster, proxy: Way | None, who: Credentials) -> Any:  # noqa: ANN401
    from kubernetes import client  # noqa: PLC0415 - takes long, and a kubeconfig may be at fault before

    configuration = client.Configuration()
    configuration.host = cluster.server
    configuration.connection_pool_maxsize = _CONNECTIONS
    configuration.verify_ssl = not cluster.insecure_skip_tls_verify
    configuration.tls_server_name = cluster.tls_server_name or None
    configuration.proxy = proxy.url if proxy else None
    configuration.no_proxy = ""  # which proxy is decided
    if proxy and proxy.name:
        configuration.proxy_headers = urllib3.make_headers(proxy_basic_auth=f"{proxy.name}:{proxy.password}")
    logging.getLogger("urllib3").setLevel(logging.CRITICAL + 1)  # what it logs would go to the terminal
    pool = client.rest.RESTClientObject(configuration).pool_manager
    if cluster.server.startswith("https"):
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        pool.connection_pool_kw["ssl_context"] = context_of(cluster, who)
    return pool
