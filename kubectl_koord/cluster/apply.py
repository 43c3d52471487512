"""The only module that changes anything in a cluster."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, Literal
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.api.transport import (
    BUDGET_CAUSE,
    Reply,
    Transport,
    Unsent,
    failure,
    is_refusal,
    message_of,
    status_of,
)
from kubectl_koord.cluster.bounds import BOUNDS
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

FIELD_MANAGER = "kubectl-koord"

_MERGE_PATCH = "application/merge-patch+json"
_DONE = (200, 201)
_FORBIDDEN, _NOT_FOUND, _CONFLICT, _TOO_MANY, _SERVER_FAULT = 403, 404, 409, 429, 500
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"

Verdict = Literal["allowed", "gone", "refused", "forbidden", "throttled"]


class EvictionAnswer(Struct, frozen=True):
    """The API server's answer to an eviction that it did not carry out.

    `refused` is a budget's word, `gone` a pod that no longer exists; `forbidden` (we may not
    ask) and `throttled` (ask again later) say nothing of the pod, and `allowed` is false then.
    """

    verdict: Verdict
    message: str = ""

    @property
    def allowed(self) -> bool:
        """Tell whether nothing stands in the way: the eviction is allowed, or no longer needed."""
        return self.verdict in ("allowed", "gone")


class ConflictError(KoordError):
    """The object is newer than the one that was read, or is there already: nothing was changed."""


class MissingError(KoordError):
    """The object does not exist."""


class UnsureError(KoordError):
    """A write with an unknown end: it may have been carried out, or may still be.

    That is every failure but a connection that was not made and a Status of 4xx.
    """


def read(transport: Transport, path: str) -> dict[str, Any]:
    """Return the object at `path`.

    Raises MissingError when there is none. Raises KoordError: `Error from server (Forbidden): ...` and so on; also when
    what comes is not this object.
    """
    with closing(transport.open(path)) as body:
        content = body.read(BOUNDS.object_bytes)
    if body.status not in _DONE:
        error = failure(body.status, content, path)
        is_missing = body.status == _NOT_FOUND and is_refusal(body.status, content)
        raise MissingError(error.message) if is_missing else error
    return _object(content, path, unquote(path.rpartition("/")[2]))


def patch(
    transport: Transport,
    path: str,
    patch: Mapping[str, Any],
    *,
    dry_run_server: bool,
    field_manager: str = FIELD_MANAGER,
) -> dict[str, Any]:
    """Send a JSON merge patch to the object at `path`, and return the new object.

    With `metadata.resourceVersion` in the patch the server refuses to change a newer object. With `dry_run_server` it
    checks everything and stores nothing. Raises ConflictError when the object is newer. Raises UnsureError when nobody
    knows whether it was done. Raises KoordError: `Error from server (Forbidden): ...` and so on, when it was not done.
    """
    return _sent(transport, ("PATCH", path, _MERGE_PATCH), patch, field_manager, dry_run_server=dry_run_server)


def create(
    transport: Transport, path: str, manifest: Mapping[str, Any], *, dry_run_server: bool, field_manager: str
) -> dict[str, Any]:
    """Create an object in the list at `path` and return it; an object of that name is not changed.

    Raises ConflictError when there is one of this name. Raises UnsureError when nobody knows whether it was done.
    Raises KoordError: `Error from server (Forbidden): ...` and so on, when it was not done.
    """
    return _sent(transport, ("POST", path, "application/json"), manifest, field_manager, dry_run_server=dry_run_server)


def _sent(
    transport: Transport, way: tuple[str, str, str], body: Mapping[str, Any], manager: str, *, dry_run_server: bool
) -> dict[str, Any]:
    method, path, content_type = way
    query = f"?fieldManager={quote(manager, safe='')}{'&dryRun=All' if dry_run_server else ''}"
    name = body["metadata"]["name"] if method == "POST" else unquote(path.rpartition("/")[2])
    try:
        reply = transport.send(method, path + query, msgspec.json.encode(body), content_type)
        if reply.status in _DONE:
            return _object(reply.body, path, name)
    except Unsent:
        raise
    except KoordError as problem:
        raise UnsureError(problem.message) from None
    error = failure(reply.status, reply.body, path)
    if reply.doubtful or not is_refusal(reply.status, reply.body):
        raise UnsureError(error.message)
    raise ConflictError(error.message) if reply.status == _CONFLICT else error


def _object(content: bytes, path: str, name: str) -> dict[str, Any]:
    """Return the object of an answer: the one that was asked for, and no other."""
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        raise KoordError(say("error: the server's answer to {path} is no object", path=path))
    metadata = decoded.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("name") != name:
        raise KoordError(say("error: the server's answer to {path} is another object", path=path))
    return decoded


def evict_dry_run(transport: Transport, namespace: str, name: str, uid: str = "") -> EvictionAnswer:
    """Ask whether a pod could be evicted now; nothing is evicted.

    With `uid` only that very pod is meant, not another of the same name. Raises KoordError when the server fails in
    another way than those of `EvictionAnswer`.
    """
    path, reply = _evicted(transport, namespace, name, uid, dry_run=True)
    verdict = _verdict(reply)
    if verdict is None:
        raise failure(reply.status, reply.body, path)
    return EvictionAnswer(verdict, "" if verdict == "allowed" else message_of(reply.status, reply.body, path))


def evict(transport: Transport, namespace: str, name: str, uid: str) -> EvictionAnswer:
    """Evict the pod that has this uid, as its budgets allow.

    Raises UnsureError when nobody knows whether it was done. Raises KoordError when it was not done, for another reason
    than those of `EvictionAnswer`.
    """
    try:
        path, reply = _evicted(transport, namespace, name, uid, dry_run=False)
    except Unsent:
        raise
    except KoordError as problem:
        raise UnsureError(problem.message) from None
    verdict, error = _verdict(reply), failure(reply.status, reply.body, path)
    is_refused = is_refusal(reply.status, reply.body)
    if reply.doubtful or not (is_refused or verdict == "refused" or reply.status in _DONE):
        raise UnsureError(error.message)
    if verdict is None:
        raise error
    return EvictionAnswer(verdict, "" if verdict == "allowed" else message_of(reply.status, reply.body, path))


def eviction(namespace: str, name: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the Eviction of a pod."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}


def _evicted(transport: Transport, namespace: str, name: str, uid: str, *, dry_run: bool) -> tuple[str, Reply]:
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}/eviction"
    options: dict[str, Any] = {"dryRun": ["All"]} if dry_run else {}
    if uid:
        options["preconditions"] = {"uid": uid}
    body = msgspec.json.encode(eviction(namespace, name, **options))
    return path, transport.send("POST", f"{path}{'?dryRun=All' if dry_run else ''}", body, "application/json")


def _verdict(reply: Reply) -> Verdict | None:
    """Return what the answer means, None when it is a failure."""
    status = status_of(reply.body)
    if reply.status in _DONE:
        return "allowed"
    if reply.status == _TOO_MANY:
        causes = (status.details.causes if status and status.details else None) or []
        return "refused" if any(cause.reason == BUDGET_CAUSE for cause in causes) else "throttled"
    if reply.status == _SERVER_FAULT and status and _SEVERAL_BUDGETS in (status.message or ""):
        return "refused"
    # 409: the uid asked for is no longer the pod's.
    known: dict[int, Verdict] = {_FORBIDDEN: "forbidden", _NOT_FOUND: "gone", _CONFLICT: "gone"}
    return known.get(reply.status)
