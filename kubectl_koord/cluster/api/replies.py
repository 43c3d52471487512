"""What a failed answer of the API server says, in kubectl's words."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap, GapCode

_UNAUTHORIZED = 401
_SERVER_FAULT = 500
_NOT_FOUND = 404
_TOO_MANY = 429
_GAPS: dict[int, GapCode] = {403: "forbidden", _NOT_FOUND: "missing", _TOO_MANY: "unavailable"}
_REFUSALS = range(400, 500)
BUDGET_CAUSE = "DisruptionBudget"
"""Why an eviction is answered with 429 that was looked at: no reason to ask again."""
_LONGEST_WAIT = 9
"""Digits of a Retry-After."""
CRD_GROUPS = (
    "/apis/scheduling.sigs.k8s.io/",
    "/apis/scheduling.koordinator.sh/",
    "/apis/slo.koordinator.sh/",
    "/apis/config.koordinator.sh/",
    "/apis/topology.node.k8s.io/",
)
_SHOWN = 300
LONGEST_REPLY = 1 << 20
"""How many bytes of a refusal are read: it is a sentence or two."""
_TIMEOUT = "the server was unable to return a response in the time allotted, but may still be processing the request"

# client-go's NewGenericServerResponse: what kubectl says where the server says nothing.
_GENERIC = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Expired", "the requested resource is no longer available"),
    415: ("UnsupportedMediaType", "the body of the request was in an unknown format"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", _TIMEOUT),
}


class StatusCause(Struct):
    """One reason behind a refusal."""

    reason: str | None = None
    message: str | None = None


class Details(Struct, rename="camel"):
    """What a refusal is about."""

    causes: list[StatusCause] | None = None
    retry_after_seconds: int | None = None


class Status(Struct):
    """The API's own account of a failure."""

    kind: str = ""
    message: str | None = None
    reason: str | None = None
    details: Details | None = None
    code: int | None = None


_STATUS = decoder(Status)


def status_of(body: bytes) -> Status | None:
    """Return the Status of a body, None when it holds no such thing."""
    try:
        status: Status = _STATUS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def is_refusal(status: int, body: bytes) -> bool:
    """Tell whether this is the API server's own word that it has not done what it was asked: a Status of 4xx."""
    return status in _REFUSALS and status_of(body) is not None


def asks_to_wait(status: int, headers: Mapping[str, str], body: bytes = b"") -> float | None:
    """Return after how many seconds an answer asks for the same request again, None where it does not.

    Mirrors client-go's `checkWait` (rest/with_retry.go): with Retry-After, and 429 or at least 500.
    """
    text = headers.get("retry-after", "").strip()
    if not (status == _TOO_MANY or status >= _SERVER_FAULT) or not (text.isascii() and text.isdecimal()):
        return None
    said = status_of(body)
    causes = (said.details.causes if said and said.details else None) or ()
    if len(text) > _LONGEST_WAIT or any(cause.reason == BUDGET_CAUSE for cause in causes):
        return None
    return float(text)


def failure(status: int, body: bytes, path: str) -> KoordError:
    """Return the one line that kubectl would print for this answer to a request of `path`."""
    status_object = status_of(body)
    reason, message = _GENERIC.get(status, ("", ""))
    if status_object:
        reason, message = status_object.reason or reason, status_object.message or message
    elif not message:
        reason, message = _unexpected(status, body, path)
    message = " ".join(message.split())
    if status == _UNAUTHORIZED:
        return KoordError(f"error: You must be logged in to the server ({message})")
    return KoordError(f"Error from server ({reason}): {message}" if reason else f"Error from server: {message}")


def message_of(status: int, body: bytes, path: str) -> str:
    """Return the server's own message alone, on one line."""
    status_object = status_of(body)
    if status_object and status_object.message:
        return " ".join(status_object.message.split())
    return failure(status, body, path).message


def gap_of(kind: str, status: int, body: bytes, path: str) -> Gap | None:
    """Return what an answer to a list says of its kind: not to be read, not served, not now; None for others."""
    code = _GAPS.get(status)
    if code is None:
        return None
    status_object = status_of(body)
    message = " ".join((status_object.message or "").split()) if status_object else ""
    if code == "missing" and message in {"", _GENERIC[_NOT_FOUND][1]}:
        is_crd = path.startswith(CRD_GROUPS)
        message = (
            f"the {kind} CRD is not installed" if is_crd else f"the server does not serve {path.partition('?')[0]}"
        )
    generic = _GENERIC[status][1] if code == "unavailable" else _unexpected(status, body, path)[1]
    return Gap(kind, code, message or generic)


def not_read(gap: Gap) -> KoordError:
    """Return the line for a kind without which there is no answer: kubectl's, where the server refused to list it."""
    if gap.code == "forbidden":
        return KoordError(f"Error from server (Forbidden): {gap.message}")
    return KoordError(f"error: {gap.kind} could not be read: {gap.message}")


def _unexpected(status: int, body: bytes, path: str) -> tuple[str, str]:
    """Return reason and message for an answer that does not come from the API itself."""
    text = " ".join(body.decode("utf-8", "replace").split())[:_SHOWN]
    message = "unknown" if not text or text[0] == "{" else text
    if status == 403:  # noqa: PLR2004
        return "Forbidden", f"{path.partition('?')[0]} is forbidden ({message})"
    if status >= _SERVER_FAULT:
        return "InternalError", f'an error on the server ("{message}") has prevented the request from succeeding'
    return "", f"the server answered {path.partition('?')[0]} with the unexpected status {status}"
