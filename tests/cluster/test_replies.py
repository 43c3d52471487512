import json

import pytest

from kubectl_koord.cluster.replies import failure, is_gap, message_of
from tests.apiserver import status_body

PODS = "/api/v1/pods?limit=1"
PREVENTED = "has prevented the request from succeeding"


def status(code: int, reason: str, message: str) -> bytes:
    return json.dumps(status_body(code, reason, message)).encode()


@pytest.mark.parametrize(
    ("code", "body", "line"),
    [
        (401, status(401, "Unauthorized", "Unauthorized"), "error: You must be logged in to the server (Unauthorized)"),
        (403, status(403, "Forbidden", "pods is forbidden"), "Error from server (Forbidden): pods is forbidden"),
        (404, status(404, "NotFound", 'pods "x" not found'), 'Error from server (NotFound): pods "x" not found'),
        (409, status(409, "Conflict", "modified"), "Error from server (Conflict): modified"),
        (429, status(429, "TooManyRequests", "later"), "Error from server (TooManyRequests): later"),
        (500, status(500, "InternalError", "a\nb"), "Error from server (InternalError): a b"),
        (418, status(418, "", "teapot"), "Error from server: teapot"),
        (403, b"", "Error from server (Forbidden): /api/v1/pods is forbidden (unknown)"),
        (403, b'{"kind":', "Error from server (Forbidden): /api/v1/pods is forbidden (unknown)"),
        (404, b'{"kind":"Pod"}', "Error from server (NotFound): the server could not find the requested resource"),
        (404, b"[1]", "Error from server (NotFound): the server could not find the requested resource"),
        (404, b"\xff", "Error from server (NotFound): the server could not find the requested resource"),
        (302, b"", "Error from server: the server answered /api/v1/pods with the unexpected status 302"),
        (
            502,
            b"bad gateway",
            f'Error from server (InternalError): an error on the server ("bad gateway") {PREVENTED}',
        ),
    ],
)
def test_every_failure_is_one_line_of_kubectl(code: int, body: bytes, line: str) -> None:
    assert failure(code, body, PODS).message == line


def test_a_page_of_html_is_cut() -> None:
    assert len(failure(500, b"<p>" * 1000, PODS).message) < 500


def test_the_bare_message_is_the_servers() -> None:
    assert message_of(403, status(403, "Forbidden", "no"), PODS) == "no"
    assert message_of(404, b"", PODS).startswith("Error from server (NotFound)")


def test_only_forbidden_and_missing_are_gaps() -> None:
    assert [is_gap(code) for code in (200, 401, 403, 404, 410, 500)] == [None, None, "forbidden", "missing", None, None]
