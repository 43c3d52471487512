"""The leading scheduler, asked through the API server: who is asked, for what, and what keeps it from being seen."""

import json
from typing import Any

import pytest

from kubectl_koord.cluster import scheduler_api
from kubectl_koord.cluster.objects import summaries
from kubectl_koord.cluster.scheduler_api import PATHS, Answer, Endpoint, ask, leader
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule
from tests.cli.world import lease
from tests.cluster.conftest import Reach

LEASE = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koord-scheduler"
POD = "/api/v1/namespaces/koordinator-system/pods/http:koord-scheduler-0:10251/proxy"
GANGS = f"{POD}/apis/v1/plugins/Coscheduling/gangs"


@pytest.fixture
def led(server: ApiServer) -> ApiServer:
    """The server, with a scheduler that holds the lease."""
    server.put(lease())
    return server


def failing(reach: Reach, endpoint: Endpoint = "gangs", name: str = "") -> str:
    with pytest.raises(KoordError) as raised:
        ask(reach(), endpoint, name)
    return raised.value.message


@pytest.mark.usefixtures("way")
def test_the_holder_of_the_lease_is_asked_on_its_plain_port(led: ApiServer, reach: Reach) -> None:
    led.rules.append(Rule(GANGS, raw=b"{}"))
    assert ask(reach(), "gangs") == Answer("koord-scheduler-0", b"{}")
    asked = [(one.method, one.path) for one in led.log if one.path != "/version"]
    assert asked == [("GET", LEASE), ("GET", GANGS)]


@pytest.mark.parametrize("endpoint", PATHS)
def test_no_endpoint_is_a_switch(endpoint: Endpoint) -> None:
    assert "debug" not in PATHS[endpoint]
    assert not PATHS[endpoint].startswith(("/", "."))


@pytest.mark.parametrize("name", ["..", "a/../../../debug/flags/v", "a..b", "%2e%2e", "a b", "a?b", "/", "a//b"])
def test_a_name_that_would_lead_elsewhere_is_refused_and_nothing_is_asked(
    led: ApiServer, reach: Reach, name: str
) -> None:
    assert failing(reach, "gang", name) == f"error: {name!r} is not a name that an object can have"
    assert not [request for request in led.log if request.path != "/version"]  # kubectl may ask for that itself


@pytest.mark.parametrize(
    ("holder", "said"),
    [
        ("", "no scheduler leads: Lease koordinator-system/koord-scheduler has no holder"),
        ("../x_1", "Lease koordinator-system/koord-scheduler is held by '../x_1', which is no pod"),
    ],
)
def test_a_lease_that_names_no_pod_is_no_leader(server: ApiServer, reach: Reach, holder: str, said: str) -> None:
    held = lease()
    held["spec"]["holderIdentity"] = holder
    server.put(held)
    assert failing(reach) == f"error: could not see what the scheduler knows: {said}"


def test_a_lease_that_is_missing_or_unreadable_is_told(server: ApiServer, reach: Reach) -> None:
    assert "its leader is not known: leases.coordination.k8s.io" in failing(reach)
    server.rules.append(Rule(LEASE, raw=b"[]"))
    assert "Lease koordinator-system/koord-scheduler cannot be read: " in failing(reach)


def raw(status: int, body: Any, kind: str = "application/json") -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {"status": status, "raw": text, "headers": {"Content-Type": kind}}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"status": 403, "reason": "Forbidden", "message": "no"},
            "no (it takes get of pods/proxy in koordinator-system)",
        ),
        ({"status": 404, "reason": "NotFound", "message": 'pods "x" not found'}, 'pods "x" not found'),
        (raw(404, b"404 page not found"), "koord-scheduler-0 does not serve /apis/v1/plugins/Coscheduling/gangs: its"),
        (
            {"status": 503, "reason": "ServiceUnavailable", "message": "dial tcp: connection refused"},
            "dial tcp: connection refused (it listens where --port tells it to, 10251 by default; 0 is off)",
        ),
        (
            raw(503, {"message": "the instance is not leader"}),
            "koord-scheduler-0 answers: the instance is not leader; it may have lost the lease just now: try again",
        ),
        (raw(500, {"message": "invalid topology"}), "koord-scheduler-0 answers: invalid topology"),
    ],
)
def test_what_keeps_it_from_being_seen_is_one_clear_line(
    led: ApiServer, reach: Reach, rule: dict[str, Any], said: str
) -> None:
    led.rules.append(Rule(GANGS, **rule))
    message = failing(reach)
    assert message.startswith(f"error: could not see what the scheduler knows: {said}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("container", "asked", "is_answered"),
    [
        ({"args": ["--secure-port=1", "--port=10300"]}, ["http:10300"], True),
        ({"command": ["koord-scheduler", "--port=1", "--port", "10300"]}, ["http:10300"], True),
        ({"ports": [{"containerPort": 10251}, {"containerPort": 10300}]}, ["http:10300"], True),
        ({"args": ["--secure-port=10300"], "ports": [{"containerPort": 10300}]}, ["https:10300"], True),
        ({"args": ["--port=0", "--secure-port=10302"]}, ["https:10302"], False),
        ({"ports": [{"containerPort": 10301}]}, ["http:10301"], False),
        ({"args": ["--port=0"]}, [], False),
        ({"args": [1]}, [], False),
    ],
)
def test_a_scheduler_that_does_not_answer_is_asked_on_the_ports_that_its_pod_states(
    led: ApiServer,
    reach: Reach,
    container: dict[str, Any],
    asked: list[str],
    is_answered: bool,  # noqa: FBT001
) -> None:
    def at(where: str) -> str:
        scheme, _, port = where.partition(":")
        return GANGS.replace("http:", f"{scheme}:").replace("10251", port)

    for port in ("10251", "10301"):
        led.rules.append(Rule(at(f"http:{port}"), status=503, reason="ServiceUnavailable", message="dial tcp: refused"))
    led.rules.append(Rule(at("https:10302"), status=403, reason="Forbidden", message="anonymous"))
    led.rules += [Rule(at(f"{scheme}:10300"), raw=b"{}") for scheme in ("http", "https")]
    metadata = {"namespace": "koordinator-system", "name": "koord-scheduler-0"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    led.rules.append(Rule("/api/v1/namespaces/koordinator-system/pods", raw=json.dumps({"items": [pod]}).encode()))
    if is_answered:
        assert ask(reach(), "gangs") == Answer("koord-scheduler-0", b"{}")
    else:
        assert "refused (it listens where --port tells it to" in failing(reach)
    assert [one.path for one in led.log if "/proxy" in one.path] == [GANGS, *map(at, asked)]


def test_what_the_scheduler_does_not_know_is_an_answer(led: ApiServer, reach: Reach) -> None:
    path = f"{POD}/apis/v1/plugins/Coscheduling/gang/default/x"
    led.rules.append(Rule(path, **raw(404, {"message": "cannot find gang default/x"})))
    assert ask(reach(), "gang", "default/x") == Answer("koord-scheduler-0", None)


def test_an_answer_beyond_the_bound_is_refused(led: ApiServer, reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_api, "LONGEST", 1 << 20)
    led.rules.append(Rule(GANGS, raw=b" " * ((1 << 20) + 1)))
    assert failing(reach).endswith("the answer is larger than 1 MiB")
    assert leader(reach()) == ("koordinator-system", "koord-scheduler-0")


def test_a_node_lists_its_pods_and_what_they_request() -> None:
    pod = {"Pod": {"metadata": {"namespace": "default", "name": "a"}}}
    resource = {"MilliCPU": 1500, "Memory": 1024, "EphemeralStorage": 0, "ScalarResources": {"nvidia.com/gpu": 2}}
    text = json.dumps({"node": {"metadata": {"name": "n1"}}, "pods": [pod], "requested": resource}).encode()
    found = summaries.node(text, "f")
    assert (found.name, found.pods, found.allocatable) == ("n1", frozenset({"default/a"}), ())
    assert found.requested == (("cpu", 1500), ("memory", 1024), ("nvidia.com/gpu", 2))


def test_cpus_are_spelled_as_linux_does() -> None:
    pods = [{"namespace": "d", "name": "a", "cpuset": "0-1,5"}]
    found = summaries.cpus(json.dumps({"name": "n", "availableCPUs": "2-4", "allocatedPods": pods}).encode(), "f")
    assert (found.available, found.pods) == (frozenset({2, 3, 4}), {"d/a": frozenset({0, 1, 5})})
    huge = summaries.cpus(b'{"availableCPUs": "0-99999"}', "f")
    assert len(huge.available) <= 1 << 15


def test_reservations_name_the_pods_that_draw_on_them() -> None:
    one = {"name": "r", "kind": "Reservation", "allocatable": {"cpu": "4"}, "allocated": {"cpu": "1500m"}}
    text = json.dumps({"items": [one | {"assignedPods": [{"Namespace": "d", "Name": "a"}]}]}).encode()
    found = summaries.reservations(text, "f")["r"]
    assert (found.allocatable, found.allocated, found.pods) == ((("cpu", 4000),), (("cpu", 1500),), frozenset({"d/a"}))


def test_one_gang_quota_or_node_is_read_as_well_as_all() -> None:
    assert list(summaries.gangs(b'{"name": "d/a"}', "f")) == list(summaries.gangs(b'{"d/a": {"name": "d/a"}}', "f"))
    assert list(summaries.quotas(b'{"name": "q", "min": {"cpu": 1}}', "f")) == ["q"]
    detail = {"gpu": {"0": {"koordinator.sh/gpu-core": 100}}}
    devices = {"deviceTotalDetail": detail, "allocateSet": {"gpu": {"d/a": {"0": {}}}}}
    (one,) = summaries.devices_of(json.dumps(devices).encode(), "f", "n1")
    assert (one.node, one.minor, one.pods, one.free) == ("n1", 0, frozenset({"d/a"}), ())


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (summaries.gangs, b"[]"),
        (summaries.gangs, b'{"a": 1}'),
        (summaries.gangs, b"\xff"),
        (summaries.quotas, b'{"q": {"name": "q", "min": {"cpu": "lots"}}}'),
        (summaries.devices, b'{"n": {"deviceTotalDetail": {"gpu": {"x": {}}}}}'),
        (summaries.cpus, b'{"availableCPUs": "1-x"}'),
        (summaries.services, b'{"GET": 1}'),
        (summaries.gangs, b"[" * 100_000),
    ],
)
def test_what_is_no_answer_of_the_scheduler_is_one_clear_line(read: Any, text: bytes) -> None:  # noqa: ANN401
    with pytest.raises(KoordError) as raised:
        read(text, "saved.json")
    assert raised.value.message.startswith("error: saved.json")
    assert "\n" not in raised.value.message
