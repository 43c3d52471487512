import json
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster.lists import ListRequest, Pages, read_lists
from kubectl_koord.cluster.source import StatedInstallation, live
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import Reach, pod

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
RED = "/api/v1/namespaces/red/pods"
POD_LIST = ListRequest("Pod", PODS, "/api/v1/namespaces/{namespace}/pods")
FORBIDDEN = Rule(PODS, 403, "Forbidden", "pods is forbidden: no list at the cluster scope")


def names(kind: str, pages: Pages) -> list[str]:
    """The simplest decoder there can be."""
    found: list[str] = []
    for body in pages:
        page: dict[str, Any] = msgspec.json.decode(body.read())
        assert page["kind"] == f"{kind}List"
        found += [item["metadata"]["name"] for item in page["items"]]
        pages.continue_token = page["metadata"].get("continue", "")
        pages.came(len(page["items"]))
    return found


def no_namespace() -> str:
    raise AssertionError("nobody should ask")


@pytest.fixture(autouse=True)
def both_ways(way: str) -> str:
    return way


def test_lists_are_read_from_the_servers_cache(server: ApiServer, reach: Reach) -> None:
    lists = read_lists(reach(), [ListRequest("Node", NODES), POD_LIST], no_namespace, names)
    assert dict(lists.values) == {"Node": [], "Pod": ["c", "a", "b"]}
    assert list(lists.values) == ["Node", "Pod"]
    assert not lists.namespace_only
    assert [request.query for request in server.requests(PODS)] == [{"resourceVersion": "0"}]


def test_lists_are_read_side_by_side(server: ApiServer, reach: Reach) -> None:
    gate = threading.Event()
    server.rules.append(Rule(NODES, hang=gate))

    def decode(kind: str, pages: Pages) -> list[str]:
        if kind == "Pod":
            gate.set()
        return names(kind, pages)

    assert len(read_lists(reach(), [ListRequest("Node", NODES), POD_LIST], no_namespace, decode).values) == 2


def test_what_has_come_is_told_while_another_list_still_comes(server: ApiServer, reach: Reach) -> None:
    gate = threading.Event()
    server.rules.append(Rule(PODS, hang=gate))
    told: list[tuple[str, object]] = []

    def arrived(kind: str, value: list[str] | Gap) -> None:
        told.append((kind, value))
        gate.set()

    read_lists(reach(), [ListRequest("Node", NODES), POD_LIST], no_namespace, names, arrived)
    assert told == [("Node", []), ("Pod", ["c", "a", "b"])]


def test_the_query_of_the_path_is_kept_on_every_page(server: ApiServer, reach: Reach) -> None:
    for number in range(5):
        server.put(pod(f"p{number}", "red", "Running"))
    path = f"{PODS}?fieldSelector=status.phase!=Succeeded,status.phase!=Failed&limit=3"
    lists = read_lists(reach(), [ListRequest("Pod", path)], no_namespace, names)
    assert lists.values["Pod"] == ["c", "a", "p0", "p1", "p2", "p3", "p4"]
    first, *later = [dict(request.query) for request in server.requests(PODS)]
    wanted = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed", "limit": "3"}
    assert first == wanted | {"resourceVersion": "0"}
    assert [query | {"continue": ""} for query in later] == [wanted | {"continue": ""}] * 2


def test_a_path_may_ask_for_the_newest_state(server: ApiServer, reach: Reach) -> None:
    read_lists(reach(), [ListRequest("Pod", f"{PODS}?resourceVersion=")], no_namespace, names)
    assert server.requests(PODS)[0].query == {"resourceVersion": ""}


def test_an_expired_list_is_begun_anew(server: ApiServer, reach: Reach) -> None:
    calls: list[int] = []

    def decode(kind: str, pages: Pages) -> list[str]:
        found: list[str] = []
        for body in pages:
            page: dict[str, Any] = msgspec.json.decode(body.read())
            found += [item["metadata"]["name"] for item in page["items"]]
            pages.continue_token = page["metadata"].get("continue", "")
            calls.append(len(found))
            if len(calls) == 1:
                server.expire_tokens()
        assert kind == "Pod"
        return found

    lists = read_lists(reach(), [ListRequest("Pod", f"{PODS}?limit=2")], no_namespace, decode)
    assert lists.values["Pod"] == ["c", "a", "b"]
    assert calls == [2, 2, 3]


def test_a_list_that_always_expires_is_given_up(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(PODS, 410, "Expired", "too old"))
    with pytest.raises(KoordError, match=r"^error: the list of Pod expired 3 times before it was read$"):
        read_lists(reach(), [POD_LIST], no_namespace, names)
    assert len(server.requests(PODS)) == 3


def page(token: str, *items: dict[str, Any]) -> bytes:
    return json.dumps({"kind": "PodList", "metadata": {"continue": token}, "items": items}).encode()


@pytest.mark.parametrize(
    ("tokens", "items", "why"),
    [
        (("a", "b", "a"), (pod("p"),), "a continue token comes twice"),
        ([str(at) for at in range(10)], (), "10 pages without items came, and more are to follow"),
    ],
)
def test_pages_that_would_never_end_are_refused(
    server: ApiServer, reach: Reach, tokens: Sequence[str], items: tuple[dict[str, Any], ...], why: str
) -> None:
    server.rules += [Rule(PODS, raw=page(token, *items), times=1) for token in tokens]
    with pytest.raises(KoordError) as caught:
        live(reach(), ["Pod"], lambda: "default", StatedInstallation())
    assert caught.value.message == f"error: the server's list of Pod cannot be read: it would not end: {why}"
    assert len(server.requests(PODS)) == len(tokens)


def test_a_few_pages_without_items_are_no_fault(server: ApiServer, reach: Reach) -> None:
    """A server may look at no more than so many objects for a page."""
    server.rules += [Rule(PODS, raw=page(str(at)), times=1) for at in range(5)]
    server.rules.append(Rule(PODS, raw=page("", pod("a"))))
    lists = read_lists(reach(), [POD_LIST], no_namespace, names)
    assert dict(lists.values) == {"Pod": ["a"]}


def test_a_forbidden_list_is_read_in_the_namespace(server: ApiServer, reach: Reach) -> None:
    server.rules.append(FORBIDDEN)
    lists = read_lists(reach(), [ListRequest("Node", NODES), POD_LIST], "red", names)
    assert lists.values["Pod"] == ["a", "b"]
    assert lists.namespace_only == {"Pod"}


def test_the_namespace_is_only_looked_up_when_needed_and_then_escaped(server: ApiServer, reach: Reach) -> None:
    server.rules.append(FORBIDDEN)
    read_lists(reach(), [POD_LIST], lambda: "a/b?x", names)
    assert server.log[-1].path == "/api/v1/namespaces/a%2Fb%3Fx/pods"


def test_what_may_not_be_read_or_is_not_served_is_a_gap(server: ApiServer, reach: Reach) -> None:
    server.rules += [FORBIDDEN, Rule(RED, 403, "Forbidden", "not even in red")]
    nope = ListRequest("Nope", "/apis/nope/v1/nopes")
    lists = read_lists(reach(), [POD_LIST, nope], "red", names)
    assert lists.values["Pod"] == Gap("Pod", "forbidden", FORBIDDEN.message)
    assert lists.values["Nope"] == Gap("Nope", "missing", "the server does not serve /apis/nope/v1/nopes")
    assert not lists.namespace_only


def test_a_gap_in_what_is_needed_is_an_error(server: ApiServer, reach: Reach) -> None:
    server.rules.append(FORBIDDEN)
    with pytest.raises(KoordError) as caught:
        read_lists(reach(), [ListRequest("Pod", PODS, optional=False)], "red", names)
    assert caught.value.message == f"Error from server (Forbidden): {FORBIDDEN.message}"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule(PODS, 500, "InternalError", "etcd"), "Error from server (InternalError): etcd"),
        (Rule(PODS, 401, "Unauthorized", "Unauthorized"), "error: You must be logged in to the server (Unauthorized)"),
        (
            Rule(PODS, raw=b'{"kind":"PodList","items":['),
            "error: the server's list of Pod cannot be read: Input data was truncated",
        ),
        (Rule(PODS, cut="chunked"), "Unable to connect to the server: unexpected EOF"),
        (Rule(PODS, cut="length"), "Unable to connect to the server: unexpected EOF"),
    ],
    ids=["500", "401", "broken-json", "cut-chunked", "cut-length"],
)
def test_any_other_failure_ends_the_reading_of_all(server: ApiServer, reach: Reach, rule: Rule, message: str) -> None:
    server.rules += [rule, Rule(NODES, hang=threading.Event())]
    with pytest.raises(KoordError) as caught:
        read_lists(reach(), [ListRequest("Node", NODES), POD_LIST], no_namespace, names)
    assert caught.value.message == message


@pytest.mark.parametrize("cut", ["chunked", "length"])
def test_a_list_that_breaks_off_is_begun_anew(server: ApiServer, reach: Reach, cut: str) -> None:
    server.rules.append(Rule(PODS, cut=cut, times=2))
    assert read_lists(reach(), [POD_LIST], no_namespace, names).values["Pod"] == ["c", "a", "b"]
    assert len(server.requests(PODS)) == 3


def test_the_other_lists_are_told_to_stop(server: ApiServer, reach: Reach) -> None:
    gate, stopped = threading.Event(), threading.Event()
    server.rules.append(Rule(PODS, 500, "InternalError", "etcd"))

    def decode(kind: str, pages: Pages) -> list[str]:
        for body in pages:
            gate.wait(10)
            try:
                body.read()
            except KoordError:
                stopped.set()
                raise
        return [kind]

    with pytest.raises(KoordError, match="etcd"):
        read_lists(reach(), [ListRequest("Node", NODES), POD_LIST], no_namespace, decode)
    gate.set()
    assert stopped.wait(10)
