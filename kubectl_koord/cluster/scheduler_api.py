"""The endpoints of the leading scheduler, asked with GET through the API server's proxy to its pod.

The paths below are all that is ever asked: the switches under /debug/ change the scheduler, and are none of them.
"""

import re
from typing import Literal, TypeAlias
from urllib.parse import quote

import msgspec

from kubectl_koord.cluster.api.transport import Transport, message_of, status_of
from kubectl_koord.cluster.kinds import LEASE, POD, only_named
from kubectl_koord.cluster.objects import scheduler
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.installation import HOME

Endpoint: TypeAlias = Literal[
    "gangs", "gang", "node", "quotas", "quota", "devices", "devices-of-node", "numa", "reservations", "services"
]
PATHS: dict[Endpoint, str] = {
    "gangs": "plugins/Coscheduling/gangs",
    "gang": "plugins/Coscheduling/gang/{}",
    "node": "nodes/{}",
    "quotas": "plugins/ElasticQuota/quotas",
    "quota": "plugins/ElasticQuota/quotas/{}",
    "devices": "plugins/DeviceShare/nodeDeviceSummaries",
    "devices-of-node": "plugins/DeviceShare/nodeDeviceSummaries/{}",
    "numa": "plugins/NodeNUMAResource/nodes/{}",
    "reservations": "plugins/Reservation/nodeReservations/{}",
    "services": "__services__",
}
PORT = 10251
LONGEST = 64 << 20

_OF_NAME = only_named(HOME.lease)
_TO_NOBODY = (401, 403)
_OK, _FORBIDDEN, _NOT_FOUND, _UNAVAILABLE = 200, 403, 404, 503
_NAME = re.compile(r"[a-z0-9A-Z](?:[-a-z0-9A-Z_]|\.(?!\.))*")
_NONE_OF_IT = re.compile(r"(?:cannot find |.*\bnot found)")
_PORTS = re.compile(r"(?:^|\s)--?port[= ]([0-9]{1,5})(?!\S)")
_SECURE = re.compile(r"(?:^|\s)--?secure-port[= ]([0-9]{1,5})(?!\S)")
_MOST_PORTS = 4
_UNSEEN = say("error: could not see what the scheduler knows")


class _Message(msgspec.Struct):
    message: str = ""


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] = []


class _Port(msgspec.Struct, rename="camel"):
    container_port: int = 0


class _Container(msgspec.Struct):
    command: list[str] = []
    args: list[str] = []
    ports: list[_Port] = []


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []


class _Pod(msgspec.Struct):
    spec: _PodSpec


class Answer(msgspec.Struct, frozen=True):
    """Who answered, and what: None for a gang, quota or node that the scheduler does not know."""

    asked: str
    body: bytes | None


def ask(transport: Transport, endpoint: Endpoint, name: str = "", port: int = PORT, home: str = "") -> Answer:
    """Return the answer of the leading scheduler.

    Args:
        transport: the way to the API server.
        endpoint: what to ask for.
        name: of the gang (`namespace/name`), quota or node, where there is one.
        port: on which the scheduler answers plain HTTP. Where it does not on the usual one, those are asked that its
            pod states: `--port`, else those of its containers, and `--secure-port`.
        home: the namespace that it runs in, empty where that is to be found out.

    Raises KoordError saying what keeps it from being seen: no leader, no permission, an endpoint that is off.
    """
    segments = name.split("/") if name else []
    if not all(map(_NAME.fullmatch, segments)):
        raise KoordError(say("error: {name!r} is not a name that an object can have", name=name))
    namespace, pod = leader(transport, home)
    path = _path(namespace, f"http:{pod}:{port}", endpoint, name)
    status, body = _get(transport, path)
    if status >= _UNAVAILABLE and port == PORT and not _own_message(body):
        for scheme, stated in _stated_ports(transport, namespace, pod):
            other = _path(namespace, f"{scheme}:{pod}:{stated}", endpoint, name)
            found = _get(transport, other)
            if found[0] < _UNAVAILABLE and not (scheme == "https" and found[0] in _TO_NOBODY):
                path, (status, body) = other, found
                break
    if status == _OK:
        return Answer(pod, body)
    own = _own_message(body)
    if status == _NOT_FOUND and _NONE_OF_IT.match(own):
        return Answer(pod, None)
    raise KoordError(f"{_UNSEEN}: {_why(status, body, path, (namespace, pod), own)}")


def _path(namespace: str, where: str, endpoint: Endpoint, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{where}/proxy/apis/v1/{PATHS[endpoint].format(name)}"


def _stated_ports(transport: Transport, namespace: str, pod: str) -> list[tuple[str, int]]:
    """Return by scheme the ports but the usual one that a pod states: by flags, of which the last counts, or by itself.

    None where it may not be read. On a TLS port the API server is nobody, whom only some schedulers answer.
    """
    first = _first(*_get(transport, f"{POD.path(namespace)}?{only_named(pod)}"))
    try:
        containers = msgspec.json.decode(first or b"", type=_Pod).spec.containers
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    words = " ".join(word for one in containers for word in (*one.command, *one.args))
    secure = [int(port) for port in _SECURE.findall(words)[-1:]]
    plain = [int(port) for port in _PORTS.findall(words)[-1:]]
    plain = plain or [port.container_port for one in containers for port in one.ports]
    found = dict.fromkeys(("http", port) for port in plain if port not in {0, PORT, *secure})
    return [*found, *(("https", port) for port in secure if port)][:_MOST_PORTS]


def leader(transport: Transport, home: str = "") -> tuple[str, str]:
    """Return the namespace and name of the pod that holds the leader lease.

    It is looked for in `home`, or in the usual namespace and, where it is not there, in all. Raises KoordError when the
    lease cannot be read, or nobody holds it.
    """
    path = f"{LEASE.path(home or HOME.namespace)}/{HOME.lease}"
    status, body = _get(transport, path)
    if status == _NOT_FOUND and not home:
        every = f"{LEASE.path()}?{_OF_NAME}"
        found = _first(*_get(transport, every))
        status, body = (_OK, found) if found else (status, body)
    if status != _OK:
        raise KoordError(f"{_UNSEEN}: its leader is not known: {message_of(status, body, path)}")
    try:
        written = msgspec.json.decode(body, type=scheduler.Lease)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise KoordError(f"{_UNSEEN}: Lease {home or HOME.namespace}/{HOME.lease} cannot be read: {problem}") from None
    namespace = written.metadata.namespace or home or HOME.namespace
    lease, pod = f"Lease {namespace}/{HOME.lease}", (written.spec.holder_identity or "").partition("_")[0]
    if not pod:
        raise KoordError(f"{_UNSEEN}: no scheduler leads: {lease} has no holder")
    if not (_NAME.fullmatch(pod) and _NAME.fullmatch(namespace)):
        raise KoordError(f"{_UNSEEN}: {lease} is held by {written.spec.holder_identity!r}, which is no pod")
    return namespace, pod


def _first(status: int, body: bytes) -> bytes | None:
    """Return the first object of a list, None where there is none or it cannot be read."""
    try:
        items = msgspec.json.decode(body, type=_Items).items if status == _OK else []
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return bytes(items[0]) if items else None


def _why(status: int, body: bytes, path: str, leading: tuple[str, str], own: str) -> str:
    namespace, pod = leading
    if own:
        again = "; it may have lost the lease just now: try again" if status == _UNAVAILABLE else ""
        return f"{pod} answers: {own}{again}"
    said = message_of(status, body, path)
    if status == _FORBIDDEN:
        return f"{said} (it takes get of pods/proxy in {namespace})"
    if status_of(body) is None and status == _NOT_FOUND:
        return f"{pod} does not serve {path.partition('/proxy')[2]}: its plugin is off, or the version has no such path"
    if status >= _UNAVAILABLE:
        return f"{said} (it listens where --port tells it to, 10251 by default; 0 is off)"
    return said


def _own_message(body: bytes) -> str:
    """Return the message of an error that the scheduler itself sent."""
    if status_of(body) is not None:
        return ""
    try:
        return " ".join(msgspec.json.decode(body, type=_Message).message.split())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _get(transport: Transport, path: str) -> tuple[int, bytes]:
    body = transport.open(quote(path, safe="/:_?=%"))
    try:
        text = body.read(LONGEST + 1)
    finally:
        body.close()
    if len(text) > LONGEST:
        raise KoordError(f"{_UNSEEN}: the answer is larger than {LONGEST >> 20} MiB")
    return body.status, text
