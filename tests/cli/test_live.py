"""The verbs on a live cluster: what they send, and what they say when it may not be read or does not answer."""

import json
import re
import threading
from pathlib import Path

import pytest

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.api import retrying
from kubectl_koord.cluster.lists import ListRequest
from tests.apiserver import ApiServer, Rule, Tls
from tests.cli.conftest import Done, Run
from tests.cli.world import Object, lasting, pod, pod_group, world

READING = (
    ("topo",),
    ("topo", "--for", "job"),
    ("devices",),
    ("quota",),
    ("why-pending",),
    ("why-pending", "job"),
    ("preempt", "high", "--dry-run"),
)
OTHER_PATHS = "/api/v1/namespaces/[^/]+/pods|/apis/.*/namespaces/[^/]+/.*"
SPECIFIC = {request.kind: request for request in kinds.REQUESTS.values()}


def bare(request: ListRequest) -> str:
    return request.path.partition("?")[0]


def document(done: Done) -> Object:
    report: Object = json.loads(done.out)
    return report


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_live_cluster_and_its_file_give_the_same_answer(
    koord: Run, server: ApiServer, cluster: str, words: tuple[str, ...]
) -> None:
    live = koord(*words, "-o", "json")
    file = koord(*words, "-o", "json", "--snapshot", cluster)
    assert live.code == file.code
    for name in ("verdict", "domains", "items", "cause", "victims", "placement", "rounds"):
        mine, other = (lasting(document(done)).get(name) for done in (live, file))
        if name == "items":
            mine, other = ([(one["gang"], one["verdict"]) for one in part or ()] for part in (mine, other))
        assert mine == other
    assert {request.method for request in server.log} == {"GET"}


def test_nothing_that_only_shows_sends_anything_but_get(koord: Run, server: ApiServer) -> None:
    for words in READING:
        koord(*words)
    koord("annotate", "podgroup", "job", "--mode", "NonStrict", "--dry-run=client")
    assert {request.method for request in server.log} == {"GET"}
    assert not [request for request in server.log if "/secrets" in request.path]


def test_a_dry_run_on_the_server_asks_of_each_victim_and_evicts_nobody(koord: Run, server: ApiServer) -> None:
    done = koord("preempt", "high", "--dry-run=server", "-o", "json")
    report = document(done)
    assert done.code == 0
    posts = [request for request in server.log if request.method != "GET"]
    assert len(posts) == len(report["victims"]) == 1
    assert posts[0].query == {"dryRun": "All"}
    assert posts[0].json["deleteOptions"]["dryRun"] == ["All"]
    assert report["victims"][0]["eviction"] == "allowed"
    assert server.get("pods", "default", "filler-a")
    assert server.get("pods", "default", "filler-b")


@pytest.fixture(scope="module")
def told() -> dict[str, tuple[Object, set[str]]]:
    """What each gang is told while all can be read, and the paths that are asked for it."""
    return {}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param(kind, status, marks=[] if (number + status) % 2 else pytest.mark.soak)
        for number, kind in enumerate(kinds.REQUESTS)
        for status in (403, 404)
    ],
)
def test_a_list_that_cannot_be_read_is_a_named_gap_and_never_a_wrong_answer(
    koord: Run, direct: ApiServer, kind: str, status: int, told: dict[str, tuple[Object, set[str]]]
) -> None:
    for gang in ("job", "tiny", "few", "high") if not told else ():
        direct.log.clear()
        words = ("preempt", gang, "--dry-run") if gang == "high" else ("why-pending", gang)
        told[gang] = document(koord(*words, "-o", "json")), {request.path for request in direct.log}
    path = bare(SPECIFIC[kind])
    namespaced = bare(ListRequest("", SPECIFIC[kind].namespaced_path or path)).replace("{namespace}", "[^/]+")
    reason = {403: "Forbidden", 404: "NotFound"}[status]
    rule = Rule(f"{re.escape(path)}|{namespaced}", status, reason, f"no {kind} for you")
    direct.rules.append(rule)
    # Where it is not asked for, nothing is different.
    asked = {gang for gang, (_, paths) in told.items() if any(re.fullmatch(rule.path, path) for path in paths)}
    for gang in sorted(asked - {"high"}):
        before = told[gang][0]
        done = koord("why-pending", gang, "-o", "json")
        if not done.out:  # without pods nobody is known by that name
            assert (done.code, kind in {"Pod", "PodGroup"}) == (2, True)
            assert "no " + kind in done.err
            continue
        report = document(done)
        assert report["verdict"] in {"unknown", before["verdict"]}
        assert done.code == {"yes": 0, "no": 1, "unknown": 2}[report["verdict"]]
        if report["verdict"] == before["verdict"] == "no":
            assert report["cause"]["code"] == before["cause"]["code"]
        if kind not in {"Deployment", "ConfigMap"}:
            lines = [f"{one['code']} {one['message']}" for one in report["warnings"]]
            assert [line for line in lines if kind in line] or report["verdict"] == before["verdict"]
    if "high" in asked and (plan := koord("preempt", "high", "--dry-run", "-o", "json")).out:
        assert document(plan)["verdict"] in {"unknown", "yes"} or kind == "ConfigMap"


@pytest.mark.parametrize("kind", ["Node", "Pod", "ClusterNetworkTopology"])
def test_without_nodes_pods_or_topology_no_gang_is_told_yes_or_no(koord: Run, server: ApiServer, kind: str) -> None:
    server.rules.append(Rule(f".*/{bare(SPECIFIC[kind]).rpartition('/')[2]}", 403, "Forbidden", f"no {kind} for you"))
    for gang in ("job", "tiny"):
        done = koord("why-pending", gang, "-o", "json")
        assert done.code == 2
        assert not done.out or document(done)["verdict"] == "unknown"
        assert f"no {kind} for you" in done.out + done.err


def test_a_tenant_learns_what_its_own_objects_tell(koord: Run, server: ApiServer) -> None:
    """May list pods and PodGroups of one namespace, and nothing of the cluster."""
    for request in kinds.REQUESTS.values():
        server.rules.append(Rule(re.escape(bare(request)), 403, "Forbidden", f"may not list {request.kind}"))
    few = koord("why-pending", "few", "-o", "json")
    assert (few.code, document(few)["cause"]["code"]) == (1, "too-few-pods")
    lost = koord("why-pending", "lost", "-o", "json")
    assert (lost.code, document(lost)["cause"]["code"]) == (1, "no-podgroup")
    for gang in ("job", "tiny"):
        blind = koord("why-pending", gang, "-o", "json")
        assert (blind.code, document(blind)["verdict"]) == (2, "unknown")
    listed = koord("why-pending", "-o", "json")
    assert {item["gang"] for item in document(listed)["items"]} == {
        f"default/{g}" for g in ("job", "tiny", "high", "few", "lost")
    }


def failing(koord: Run, *words: str) -> str:
    done = koord(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    return done.err


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule("/api/v1/nodes", 401, "Unauthorized", "Unauthorized"), "error: You must be logged in to the server"),
        (Rule("/api/v1/nodes", 500, "InternalError", "it broke"), "Error from server (InternalError): it broke"),
        (Rule("/api/v1/nodes", 503, raw=b"busy"), "Error from server (ServiceUnavailable): the server is currently"),
        (Rule("/api/v1/nodes", raw=b'{"items": [{]'), "error: the server's list of Node cannot be read: "),
        (Rule("/api/v1/nodes", raw=b"<html>login</html>"), "error: the server's list of Node cannot be read: "),
        (Rule("/api/v1/nodes", raw=b'{"items": [{"metadata": {"name": 7}}]}'), "error: the server's list of Node"),
        (Rule("/api/v1/nodes", cut="chunked"), "Unable to connect to the server: "),
        (Rule("/api/v1/nodes", cut="head"), "Unable to connect to the server: "),
    ],
    ids=["401", "500", "503", "broken-json", "html", "wrong-type", "cut", "no-answer"],
)
def test_a_server_that_fails_is_told_of_in_one_line(koord: Run, server: ApiServer, rule: Rule, said: str) -> None:
    server.rules.append(rule)
    words = ("annotate", "podgroup", "job", "--mode=Strict", "--yes") if rule.cut else ("why-pending", "job")
    assert failing(koord, *words).startswith(said)
    assert {request.method for request in server.log} == {"GET"}


BUSY = {"Retry-After": "1"}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited for in place of letting it pass."""
    waited: list[float] = []
    monkeypatch.setattr(retrying, "WAIT", lambda _, seconds: waited.append(seconds))
    return waited


def test_a_list_that_the_server_cannot_answer_yet_is_waited_for(
    koord: Run, server: ApiServer, waits: list[float]
) -> None:
    """An API server answers so until the cache of a kind that nobody else reads is filled."""
    groups = "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups"
    usual = koord("why-pending", "job")
    asked = len(server.requests(groups))
    server.rules.append(Rule(groups, 429, "TooManyRequests", "storage is (re)initializing", times=2, headers=BUSY))
    done = koord("why-pending", "job", "-v", "6")
    assert (done.code, done.out.splitlines()[0]) == (usual.code, usual.out.splitlines()[0])
    assert done.err.count(" 429 Too Many Requests in ") == 2
    assert [line for line in done.err.splitlines() if "Retry-After" in line] == [
        f"Got a Retry-After 1s response (429) for attempt {n} to podgroups" for n in (1, 2)
    ]
    assert (waits, len(server.requests(groups))) == ([1, 1], asked + 3)


def test_a_list_that_is_never_answered_is_named_and_the_others_are_read(
    koord: Run, server: ApiServer, waits: list[float]
) -> None:
    said = "storage is (re)initializing"
    server.rules.append(Rule("/apis/.*/elasticquotas", 429, "TooManyRequests", said, headers=BUSY))
    report = document(done := koord("why-pending", "tiny", "-o", "json"))
    assert (done.code, report["verdict"], waits) == (2, "unknown", [1] * 10)
    notices = [one for one in report["warnings"] if one["code"] == "unavailable-list"]
    assert [one["message"] for one in notices] == [f"ElasticQuota: {said}"]
    assert done.err == "Waiting for the API server (elasticquotas: it asks to be asked again in 1 s) ...\n"
    server.rules[:] = [Rule("/api/v1/nodes", 429, "TooManyRequests", said)]
    for words in (("topo",), ("why-pending", "job")):
        done = koord(*words)
        assert (done.code, f"Node could not be read: {said}" in done.out + done.err) == (2, True), done
    assert {request.method for request in server.log} == {"GET"}


def test_a_server_that_refuses_the_connection_is_told_of_as_kubectl_does(koord: Run, server: ApiServer) -> None:
    server.close()
    said = (
        f"The connection to the server 127.0.0.1:{server.port} was refused - did you specify the right host or port?\n"
    )
    assert failing(koord, "topo") == said


def test_a_server_that_hangs_is_given_up_after_the_time_asked_for(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule("/api/v1/nodes", hang=threading.Event()))
    assert failing(koord, "topo", "--request-timeout=1s").startswith("Unable to connect to the server: ")


def test_an_unknown_context_is_told_of_in_one_line(koord: Run, server: ApiServer) -> None:
    assert "nowhere" in failing(koord, "topo", "--context", "nowhere")
    assert not server.log


def test_connection_flags_stand_before_and_after_the_verb(koord: Run, server: ApiServer) -> None:
    server.put(pod_group("job", 3, "other"))
    server.put(pod("job-0", "job", namespace="other"))
    for words in (("-n", "other", "why-pending", "job"), ("why-pending", "job", "--namespace=other")):
        assert document(koord(*words, "-o", "json"))["gang"] == "other/job"
    assert document(koord("why-pending", "job", "-o", "json"))["gang"] == "default/job"
    everywhere = document(koord("why-pending", "-A", "-o", "json"))
    here = document(koord("why-pending", "-o", "json"))
    assert "other/job" in {item["gang"] for item in everywhere["items"]} - {item["gang"] for item in here["items"]}


def test_hostile_words_of_the_server_are_shown_harmlessly(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule("/api/v1/nodes", 500, "InternalError", "\x1b[2J\u202eevil\nsecond line"))
    said = failing(koord, "topo")
    assert "evil" in said
    assert all(char.isprintable() or char == "\n" for char in said)


@pytest.mark.usefixtures("no_kubectl")
def test_without_kubectl_the_answer_is_the_same(
    koord: Run, cluster: str, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ApiServer(world(), token="secret", tls=tls) as api:  # noqa: S106
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        live = koord("why-pending", "job")
        assert (live.code, live.err) == (1, "")
        assert live.out.splitlines()[0] == koord("why-pending", "job", "--snapshot", cluster).out.splitlines()[0]
        assert {request.headers["authorization"] for request in api.log} == {"Bearer secret"}
        wrong = str(api.kubeconfig(tmp_path, user={"token": "other"}))
        assert failing(koord, "topo", "--kubeconfig", wrong).startswith("error: You must be logged in to the server")
