"""The only module that changes anything in a cluster."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.api.replies import failure, message_of, status_of
from kubectl_koord.cluster.api.transport import Reply, Transport

FIELD_MANAGER = "kubectl-koord"

_MERGE_PATCH = "application/merge-patch+json"
_DONE = (200, 201)
_FORBIDDEN, _NOT_FOUND, _CONFLICT, _TOO_MANY, _SERVER_FAULT = 403, 404, 409, 429, 500
_BUDGET_CAUSE = "DisruptionBudget"
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"

Verdict = Literal["allowed", "gone", "refused", "forbidden", "throttled"]


class EvictionAnswer(Struct, frozen=True):
    """What the API server says to an eviction that it did not carry out.

    `refused` is a budget's word, `gone` a pod that no longer exists; `forbidden` (we may not
    ask) and `throttled` (ask again later) say nothing of the pod, and `allowed` is false then.
    """

    verdict: Verdict
    message: str = ""

    @property
    def allowed(self) -> bool:
        """Tell whether nothing stands in the way: the eviction is allowed, or no longer needed."""
        return self.verdict in ("allowed", "gone")


def patch(transport: Transport, path: str, patch: Mapping[str, Any], *, dry_run_server: bool) -> Reply:
    """Send a JSON merge patch to the object at `path` and return the answer.

    With `metadata.resourceVersion` in the patch the server refuses to change a newer object.
    With `dry_run_server` it checks everything and stores nothing.

    Raises:
        KoordError: `Error from server (Conflict): ...` and so on, when it was not done.

    """
    query = f"fieldManager={FIELD_MANAGER}{'&dryRun=All' if dry_run_server else ''}"
    whole = f"{path}{'&' if '?' in path else '?'}{query}"
    reply = transport.send("PATCH", whole, msgspec.json.encode(patch), _MERGE_PATCH)
    if reply.status not in _DONE:
        raise failure(reply.status, reply.body, path)
    return reply


def evict_dry_run(transport: Transport, namespace: str, name: str, uid: str = "") -> EvictionAnswer:
    """Ask whether a pod could be evicted now; nothing is evicted.

    With `uid` only that very pod is meant, not another of the same name.

    Raises:
        KoordError: when the server fails in another way than those of `EvictionAnswer`.

    """
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}/eviction"
    options: dict[str, Any] = {"dryRun": ["All"]}
    if uid:
        options["preconditions"] = {"uid": uid}
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": options,
    }
    reply = transport.send("POST", f"{path}?dryRun=All", msgspec.json.encode(eviction), "application/json")
    verdict = _verdict(reply)
    if verdict is None:
        raise failure(reply.status, reply.body, path)
    return EvictionAnswer(verdict, "" if verdict == "allowed" else message_of(reply.status, reply.body, path))


def _verdict(reply: Reply) -> Verdict | None:
    """Return what the answer means, None when it is a failure."""
    status = status_of(reply.body)
    if reply.status in _DONE:
        return "allowed"
    if reply.status == _TOO_MANY:
        causes = (status.details.causes if status and status.details else None) or []
        return "refused" if any(cause.reason == _BUDGET_CAUSE for cause in causes) else "throttled"
    if reply.status == _SERVER_FAULT and status and _SEVERAL_BUDGETS in (status.message or ""):
        return "refused"
    # 409: the uid asked for is no longer the pod's.
    known: dict[int, Verdict] = {_FORBIDDEN: "forbidden", _NOT_FOUND: "gone", _CONFLICT: "gone"}
    return known.get(reply.status)
