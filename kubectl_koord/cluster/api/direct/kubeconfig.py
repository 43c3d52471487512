"""What the kubeconfig files say, for places without kubectl.

They are read, checked field by field and merged as client-go does it (tools/clientcmd). What cannot be honoured without
kubectl is refused by name, never approximated: all of it stands in two tables here.
"""

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.cluster.api.context import DEFAULT, SERVICE_ACCOUNT, in_pod
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
    """What a cluster tells credential plugins."""

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
        """Take what was not said before."""
        self.current = self.current or file.current_context
        self.clusters = {one.name: one.cluster for one in file.clusters} | self.clusters
        self.users = {one.name: one.user for one in file.users} | self.users
        self.contexts = {one.name: one.context for one in file.contexts} | self.contexts


class Access(Struct, frozen=True):
    """How to reach one API server, and as whom. File names are absolute; `cluster.server` is never empty."""

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

    Raises:
        KoordError: in kubectl's words, or naming what needs kubectl.

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


def namespace(connection: Connection) -> str:
    """Return the namespace flag, else the context's, else the pod's own, else `default`.

    Raises:
        KoordError: when the kubeconfig cannot be read.

    """
    if connection.namespace:
        return connection.namespace
    config = _read(connection)
    if config is None:
        return in_pod() or DEFAULT
    return _context(config, connection).namespace or DEFAULT


def target(connection: Connection) -> Target:
    """Return the names of the current context and of its cluster.

    Raises:
        KoordError: when the kubeconfig cannot be read.

    """
    config = _read(connection)
    if config is None:
        return Target()
    return Target(_context(config, connection).cluster, connection.value("context") or config.current)


def needs_kubectl(what: str) -> NoReturn:
    """Refuse what cannot be honoured without kubectl.

    Raises:
        KoordError: always.

    """
    raise KoordError(f"error: {what} cannot be honoured without kubectl: put kubectl on PATH")


def invalid(what: str, why: str) -> KoordError:
    """Return the line for a field of the kubeconfig that cannot be used; values are not told, some are secret."""
    return KoordError(f"error: invalid configuration: {what} of the kubeconfig {why}")


def _read(connection: Connection) -> _Merged | None:
    """Return the files merged, None when they say nothing."""
    given = connection.value("kubeconfig")
    found = list(filter(None, (_file(path, is_needed=bool(given)) for path in _paths(given))))
    if not found:
        return None
    merged = _Merged()
    for file in found:
        merged.add(file)
    return merged


def home() -> list[Path]:
    """Return the folder of one's own kubeconfig; none where nobody has a home, as in many pods."""
    found = os.environ.get("HOME")
    return [Path(found, ".kube")] if found else []


def _paths(given: str) -> list[Path]:
    if given:
        return [Path(given)]
    paths = list(dict.fromkeys(path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path))
    return [Path(path) for path in paths] or [folder / "config" for folder in home()]


def _file(path: Path, *, is_needed: bool) -> _File | None:
    """Return what a file says, None where it is missing or empty; names of files in it made absolute.

    Raises:
        KoordError: naming it, and the field that is wrong.

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
    """Return the entry of a name, None for no name."""
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

    Raises:
        KoordError: when it cannot be read.

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
