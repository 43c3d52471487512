import json

import pytest

from kubectl_koord.cluster.api.transport import failure, gap_of, message_of, not_read
from kubectl_koord.model.snapshot import Gap
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


GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups?x=y"
NOT_FOUND = status(404, "NotFound", "the server could not find the requested resource")


def test_only_forbidden_and_missing_are_gaps() -> None:
    found = [gap_of("Pod", code, b"", PODS) for code in (200, 401, 403, 404, 410, 500)]
    assert [gap and gap.code for gap in found] == [None, None, "forbidden", "missing", None, None]


@pytest.mark.parametrize(
    ("kind", "code", "body", "path", "message"),
    [
        ("PodGroup", 404, NOT_FOUND, GROUPS, "the PodGroup CRD is not installed"),
        ("PodGroup", 404, b"404 page not found\n", GROUPS, "the PodGroup CRD is not installed"),
        ("PodGroup", 404, status(404, "NotFound", "gone for\ngood"), GROUPS, "gone for good"),
        ("Pod", 404, NOT_FOUND, PODS, "the server does not serve /api/v1/pods"),
        ("Pod", 403, status(403, "Forbidden", "pods is forbidden"), PODS, "pods is forbidden"),
        ("Pod", 403, b"", PODS, "/api/v1/pods is forbidden (unknown)"),
    ],
)
def test_a_gap_says_why_in_the_servers_words_or_that_a_crd_is_not_installed(
    kind: str, code: int, body: bytes, path: str, message: str
) -> None:
    assert gap_of(kind, code, body, path) == Gap(kind, "forbidden" if code == 403 else "missing", message)


def test_a_kind_without_which_there_is_no_answer_is_named() -> None:
    assert not_read(Gap("Pod", "forbidden", "pods is forbidden")).message == (
        "Error from server (Forbidden): pods is forbidden"
    )
    assert not_read(Gap("Pod", "missing", "not served")).message == "error: Pod could not be read: not served"
