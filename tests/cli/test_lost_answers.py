"""Whatever becomes of the answer to a write: what is said of each object is what the server holds of it."""

import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from kubectl_koord.changes.values import LABEL, PREFIX, is_in, merge_patch
from kubectl_koord.cli.sending import name_of, path_of, send
from kubectl_koord.cluster.api.connect import connect, find_kubectl
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.cluster.api.retrying import TRIES, RetryingTransport
from kubectl_koord.cluster.api.transport import Body, Reply, Transport
from kubectl_koord.errors import KoordError
from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
from kubectl_koord.reports.common import Basis
from kubectl_koord.wording.words import HERE, Aim
from tests.apiserver import ApiServer, Rule, merge, status_body
from tests.cli.conftest import Run
from tests.cli.world import Object, topology, world

WORLD = world()
GROUP = ("PodGroup", "podgroups", "default")
STORES = {"PodGroup": "podgroups", "Node": "nodes", "Pod": "pods", "ClusterNetworkTopology": "clusternetworktopologies"}
TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
MODE = PREFIX + "mode"


class Case(NamedTuple):
    """Writes of one command, and which of them is hit: by its place in the plan, or as what takes the first back."""

    kind: str
    names: tuple[str, ...]
    at: int = 0
    all_or_none: bool = False
    rollback: bool = False
    creates: bool = False
    field: str = MODE

    @property
    def label(self) -> str:
        what = "create" if self.creates else self.field.partition(".")[0]
        return f"{what} {self.kind} {self.at + 1} of {len(self.names)}{' rollback' if self.rollback else ''}"


GROUPS = ("few", "high", "job")
CASES = (
    Case("PodGroup", ("job",)),
    *(Case("PodGroup", GROUPS, at, all_or_none=True) for at in range(3)),
    Case("PodGroup", GROUPS, 0, all_or_none=True, rollback=True),
    *(Case("Pod", ("job-0", "job-1", "tiny-0"), at) for at in range(2)),
    *(Case("Node", ("a0", "a1", "b0"), at, field=f"{LABEL}rack") for at in (1, 2)),
    Case("ClusterNetworkTopology", ("default",)),
    Case("ClusterNetworkTopology", ("default",), creates=True),
)
OTHER = json.dumps({"kind": "PodGroup", "metadata": {"name": "other", "resourceVersion": "7"}}).encode()
STALE = b"the object before"
OURS = json.dumps(status_body(200, "", "")).encode()
LATER = {"Retry-After": "1"}
UNSURE: Mapping[str, dict[str, Any]] = {
    "cut before the answer": {"cut": "head"},
    "reset before the answer": {"cut": "reset"},
    "cut in the status line": {"cut": "status"},
    "cut in the headers": {"cut": "headers"},
    "cut in the body": {"cut": "length", "raw": OTHER},
    "cut in a chunk": {"cut": "chunked", "raw": OTHER},
    "200 without a body": {"raw": b""},
    "200 that is no JSON": {"raw": b"<html>sign in</html>"},
    "200 that is a list": {"raw": b"[]"},
    "200 that is a Status": {"raw": OURS},
    "200 of another object": {"raw": OTHER},
    "200 of the object as it was": {"raw": STALE},
    "204": {"status": 204, "raw": b""},
    "302": {"status": 302, "raw": b"", "headers": {"Location": "/elsewhere"}},
    "403 of a proxy": {"status": 403, "raw": b"<html>no</html>"},
    "404 of a proxy": {"status": 404, "raw": b"404 page not found"},
    "409 of a proxy": {"status": 409, "raw": b"conflict"},
    "429 of a proxy": {"status": 429, "raw": b"busy"},
    "500": {"status": 500, "reason": "InternalError", "message": "etcdserver: leader changed"},
    "500 of a proxy": {"status": 500, "raw": b"oops", "headers": {"Content-Type": "text/html"}},
    "502": {"status": 502, "raw": b"<html>bad gateway</html>"},
    "503": {"status": 503, "reason": "ServiceUnavailable", "message": "shutting down"},
    "503 of a proxy": {"status": 503, "raw": b""},
    "503 again and again": {"status": 503, "raw": b"", "headers": LATER},
    "504": {"status": 504, "reason": "Timeout", "message": "request did not complete within the allotted timeout"},
    "504 of a proxy": {"status": 504, "raw": b""},
}
REFUSED: Mapping[str, dict[str, Any]] = {
    "400": {"status": 400, "reason": "BadRequest", "message": "no"},
    "401": {"status": 401, "reason": "Unauthorized", "message": "no"},
    "403": {"status": 403, "reason": "Forbidden", "message": "a webhook says no"},
    "409 of a webhook": {"status": 409, "reason": "Conflict", "message": "a webhook says no"},
    "413": {"status": 413, "reason": "RequestEntityTooLarge", "message": "no"},
    "422": {"status": 422, "reason": "Invalid", "message": "spec.minMember: field is immutable"},
    "429": {"status": 429, "reason": "TooManyRequests", "message": "slow down"},
    "429 again and again": {"status": 429, "reason": "TooManyRequests", "message": "slow down", "headers": LATER},
}
PASSING: Mapping[str, dict[str, Any]] = {
    "429 once": {"status": 429, "reason": "TooManyRequests", "message": "slow down", "headers": LATER},
    "503 once": {"status": 503, "reason": "ServiceUnavailable", "message": "not ready", "headers": LATER},
    "504 once": {"status": 504, "reason": "Timeout", "message": "too late", "headers": LATER},
}


class Detour:
    """A way to a server, of which one write goes to a port where nobody listens."""

    def __init__(self, transport: Transport, dead: Transport, at: int) -> None:
        self._transport, self._dead, self._left = transport, dead, at

    def open(self, path: str) -> Body:
        return self._transport.open(path)

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        self._left -= 1
        way = self._dead if self._left == -1 else self._transport
        return way.send(method, path, body, content_type)


class Way(NamedTuple):
    """A server, and a way there, one that leads nowhere, and one that waits for two seconds at most."""

    server: ApiServer
    there: Transport
    dead: Transport
    hasty: Transport


@pytest.fixture(scope="module", params=["kubectl", "client"])
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    """Both ways to a server, one after the other, each opened once."""
    folder = tmp_path_factory.mktemp("way")
    with ExitStack() as stack:
        server = stack.enter_context(ApiServer(world()))
        config = server.kubeconfig(folder)

        def opened(*flags: str) -> Transport:
            connection, _ = take_connection((f"--kubeconfig={config}", *flags))
            transport = connect(connection, writes=True)
            return stack.enter_context(RetryingTransport(transport, connection, wait=lambda *_: None))

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(folder))
            variables = (one for one in os.environ if one.lower().endswith("_proxy"))
            for variable in ("KUBECTL_PATH", "KUBERC", "KUBERNETES_SERVICE_HOST", *variables):
                patch.delenv(variable, raising=False)
            if request.param == "client":
                patch.setenv("PATH", str(folder))
            elif not find_kubectl():
                pytest.skip("no kubectl here")
            there, hasty = opened(), opened("--request-timeout=2s")
            dead = opened("--server=http://127.0.0.1:1")
        yield Way(server, there, dead, hasty)


def name(case: Case, called: str) -> ObjectName:
    return ObjectName(case.kind, "default" if case.kind in {"PodGroup", "Pod"} else "", called)


def planned(server: ApiServer, case: Case) -> ChangePlan:
    """Put back what is of the kind that a case changes, and return its plan."""
    server.rules.clear()
    server.log.clear()
    for item in WORLD["items"]:
        if item["kind"] == case.kind:
            server.put(item)
    if case.creates:
        server.delete("clusternetworktopologies", "", "default")
    changes = tuple(_change(server, case, called) for called in case.names)
    basis = Basis("1.8", "flag", "2026-01-01T00:00:00Z", "cluster")
    return ChangePlan("yes", basis, (), changes, applied=False, effect=None)


def _change(server: ApiServer, case: Case, called: str) -> Change:
    target = name(case, called)
    wanted = topology()
    wanted["spec"]["networkTopologySpec"][0]["labelKey"] = ["other"]
    if case.creates:
        return Change(target, {"spec.x": None}, {"spec.x": "y"}, wanted, "")
    version = server.get(STORES[case.kind], target.namespace, called)["metadata"]["resourceVersion"]
    if case.kind == "ClusterNetworkTopology":
        patch = {"metadata": {"resourceVersion": version}, "spec": wanted["spec"]}
        return Change(target, {"spec.x": "z"}, {"spec.x": "y"}, patch, version)
    return Change(target, {case.field: None}, {case.field: "x"}, merge_patch({case.field: "x"}, version), version)


def held(server: ApiServer, change: Change) -> Object | None:
    with server.changed:
        store = server._objects[STORES[change.object.kind]]  # noqa: SLF001 - it may be missing
        return store.get((change.object.namespace, change.object.name))


def written(server: ApiServer, plan: ChangePlan) -> list[str]:
    """Return how each object of a plan is stored: `wanted`, or else `before`."""
    return ["wanted" if is_in(one, held(server, one) or {}) else "before" for one in plan.changes]


def path(case: Case, change: Change) -> str:
    return re.escape(TOPOLOGIES if case.creates else path_of(change.object))


def arranged(server: ApiServer, case: Case, plan: ChangePlan, fault: dict[str, Any], *, readable: bool) -> None:
    """Let a write of a plan be met by a fault; where it is a rollback, the second write is refused before."""
    hit = plan.changes[case.at]
    method = "POST" if case.creates else "PATCH"
    if fault.get("raw") == STALE:
        old = held(server, hit) or {}
        fault |= {"raw": json.dumps(merge(old, hit.patch) if case.rollback else old).encode()}
    server.rules.append(Rule(path(case, hit), method=method, skips=int(case.rollback), **fault))
    if case.rollback:
        server.rules.append(Rule(path(case, plan.changes[1]), 403, "Forbidden", "not yours", "PATCH"))
    if not readable:
        server.rules.append(Rule(re.escape(path_of(hit.object)), 500, "InternalError", "it broke", "GET"))


class Told(NamedTuple):
    """How a plan ended: the last line, empty where all is done, and the lines before it."""

    last: str
    lines: list[str]


def carried_out(
    transport: Transport, plan: ChangePlan, case: Case, capsys: pytest.CaptureFixture[str], aim: Aim = HERE
) -> Told:
    capsys.readouterr()
    try:
        send(transport, plan, "test", aim, all_or_none=case.all_or_none)
        last = ""
    except KoordError as error:
        last = error.message
    return Told(last, capsys.readouterr().err.splitlines())


CLAIMS = {
    ": changed, and rolled back": "before",
    ": changed, and NOT rolled back": "wanted",
    ": changed, and perhaps rolled back": "unknown",
    ": not changed: ": "before",
    ": read again, it is as before": "before",
    ": may have been changed, and could not be read again": "unknown",
    ": not sent": "before",
}
END = re.compile(r" \((\d+) of (\d+) changed before that\)$")
ROLLED = re.compile(
    r" \((?:all of it was rolled back|(?:(\d+) objects? of \d+ could not be rolled back)?(?:, )?"
    r"(?:(\d+) objects? of \d+ may be changed)?)(; what was sent last may still be carried out)?\)$"
)


def claimed(told: Told, plan: ChangePlan, case: Case) -> list[str]:
    """Return what was said of each object."""
    targets = [name_of(one.object) for one in plan.changes]
    if not told.last:
        return ["wanted"] * len(targets)
    if case.all_or_none:
        claims = [_claim(told, target) for target in targets]
        end = ROLLED.search(told.last)
        assert end, told
        counts = [int(number or 0) for number in end.groups()[:2]]
        assert counts == [claims.count("wanted"), claims.count("unknown")], told
        hit = name_of(plan.changes[1 if case.rollback else case.at].object)
        is_open = any(line.startswith(f"{hit}: read again, it is as before; ") for line in told.lines)
        assert is_open is bool(end[3]), told
        return claims
    found = END.search(told.last)
    done = int(found[1]) if found else 0
    unknown = "may have been changed, and could not be read again" in told.last
    return ["wanted"] * done + ["unknown" if unknown else "before"] + ["before"] * (len(targets) - done - 1)


def _claim(told: Told, target: str) -> str:
    said = [claim for line in told.lines for words, claim in CLAIMS.items() if line.startswith(f"{target}{words}")]
    assert len(said) == 1, (target, told)
    return said[0]


def is_right(said: list[str], stored: list[str], *, readable: bool) -> bool:
    """Tell whether all that was said is so; that nobody knows is right of what cannot be read alone."""
    return all(one == real or (one == "unknown" and not readable) for one, real in zip(said, stored, strict=True))


def wrong(
    way: Way,
    fault: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    cases: Sequence[Case] = CASES,
    *,
    certain: bool = False,
) -> list[object]:
    """Return which cases were told wrong, with what was said."""
    found: list[object] = []
    for case in cases:
        for applies in (False,) if certain else (False, True):
            for readable in (True,) if certain or case.at else (True, False):
                plan = planned(way.server, case)
                arranged(way.server, case, plan, fault | {"applies": applies}, readable=readable)
                told = carried_out(way.there, plan, case, capsys)
                said, stored = claimed(told, plan, case), written(way.server, plan)
                failed = bool(told.last)
                if case.rollback:
                    assert f"{name_of(plan.changes[1].object)}: not changed: " in "\n".join(told.lines), told
                expected = case.rollback or not applies or not readable
                if not is_right(said, stored, readable=readable) or failed != expected:
                    found.append((case.label, applies, readable, said, stored, told))
    return found


@pytest.mark.parametrize("fault", UNSURE, ids=str)
def test_an_answer_that_does_not_tell_is_followed_by_a_look(
    way: Way, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = [*UNSURE].index(fault) % 3
    assert wrong(way, UNSURE[fault], capsys, CASES[turn::3]) == []


@pytest.mark.soak
@pytest.mark.parametrize("fault", UNSURE, ids=str)
def test_so_it_is_whatever_is_written(way: Way, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong(way, UNSURE[fault], capsys) == []


@pytest.mark.parametrize("fault", REFUSED, ids=str)
def test_a_refusal_of_the_api_is_final(way: Way, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong(way, REFUSED[fault], capsys, certain=True) == []


@pytest.mark.parametrize("applies", [False, True], ids=["not-applied", "applied"])
@pytest.mark.parametrize("fault", PASSING, ids=str)
def test_what_passes_is_waited_for_and_no_write_counts_twice(
    way: Way, fault: str, capsys: pytest.CaptureFixture[str], *, applies: bool
) -> None:
    if applies and fault == "429 once":
        return  # a Status of 4xx is a word that nothing was done
    for case in CASES:
        plan = planned(way.server, case)
        arranged(way.server, case, plan, PASSING[fault] | {"applies": applies, "times": 1}, readable=True)
        told = carried_out(way.there, plan, case, capsys)
        stored = written(way.server, plan)
        assert (claimed(told, plan, case), bool(told.last)) == (stored, case.rollback), case.label
        assert set(stored) == {"before" if case.rollback else "wanted"}, (case.label, told)


def test_where_nobody_listens_nothing_was_sent(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    for case in CASES:
        plan = planned(way.server, case)
        if case.rollback:
            arranged(way.server, case, plan, {"times": 0}, readable=True)
        at = 2 if case.rollback else case.at
        told = carried_out(Detour(way.there, way.dead, at), plan, case, capsys)  # type: ignore[arg-type] # it is enough
        assert "was refused - did you specify the right host or port?" in "".join((*told.lines, told.last))
        assert "may " not in "".join((*told.lines, told.last))
        assert claimed(told, plan, case) == written(way.server, plan), (case.label, told)


@pytest.mark.parametrize("applies", [False, True], ids=["not-applied", "applied"])
def test_a_write_that_is_never_answered_is_looked_after(
    way: Way, capsys: pytest.CaptureFixture[str], *, applies: bool
) -> None:
    case = CASES[2]
    plan = planned(way.server, case)
    over = threading.Event()
    arranged(way.server, case, plan, {"hang": over, "applies": applies}, readable=True)
    told = carried_out(way.hasty, plan, case, capsys)
    assert claimed(told, plan, case) == written(way.server, plan), told
    assert bool(told.last) is not applies
    way.server.rules.clear()
    over.set()  # it is carried out now
    assert applies or told.last.endswith("; what was sent last may still be carried out)")


def test_what_others_did_meanwhile_is_told_and_kept(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[0]
    plan = planned(way.server, case)
    arranged(way.server, case, plan, {"cut": "head"}, readable=True)
    item = way.server.get("podgroups", "default", "job")
    item["metadata"]["annotations"][MODE] = "z"
    item["metadata"]["managedFields"] = [{"manager": "argocd", "time": "2026-01-01T00:00:00Z"}]
    way.server.put(item)
    told = carried_out(way.there, plan, case, capsys)
    state = f"read again, it is changed, but not as wanted by argocd: {MODE} was absent, is now 'z'"
    assert told.last.endswith(f"EOF (PodGroup default/job: {state})")
    way.server.delete("podgroups", "default", "job")
    assert carried_out(way.there, plan, case, capsys).last.endswith(
        "(PodGroup default/job: read again, it is not there any more)"
    )


def test_how_to_look_is_said_where_we_cannot(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[0]
    plan = planned(way.server, case)
    arranged(way.server, case, plan, {"cut": "head", "applies": True}, readable=False)
    why = "could not be read again (Error from server (InternalError): it broke)"
    look = "see: kubectl get podgroup job -n default -o yaml"
    said = f"Unable to connect to the server: EOF (PodGroup default/job: may have been changed, and {why}; {look})"
    assert carried_out(way.there, plan, case, capsys).last == said
    there = Aim(kubectl=("--context=eu",))
    assert carried_out(way.there, plan, case, capsys, there).last == said.replace(
        "kubectl get", "kubectl --context=eu get"
    )


def test_a_dry_run_that_is_not_answered_changes_nothing(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[0]
    plan = replace(planned(way.server, case), dry_run="server")
    arranged(way.server, case, plan, {"cut": "head"}, readable=True)
    assert carried_out(way.there, plan, case, capsys) == Told("Unable to connect to the server: EOF", [])


def test_it_is_tried_ten_times_more_and_no_longer(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[0]
    plan = planned(way.server, case)
    arranged(way.server, case, plan, REFUSED["429 again and again"], readable=True)
    carried_out(way.there, plan, case, capsys)
    assert len(way.server.requests(path_of(plan.changes[0].object), "PATCH")) == TRIES + 1


WRITES: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "annotate podgroup": (("podgroup", "job", "--mode=NonStrict"), "PATCH", "podgroups/job"),
    "annotate gang": (("gang", "job", "--groups=job,tiny"), "PATCH", "podgroups/tiny"),
    "annotate pods": (("pods", "job", "--index"), "PATCH", "pods/job-1"),
    "topo init": (("init", "--apply"), "POST", "clusternetworktopologies"),
    "topo label": (("label", "-f", "LABELS", "--overwrite"), "PATCH", "nodes/b0"),
}


@pytest.mark.parametrize("applies", [False, True], ids=["not-applied", "applied"])
@pytest.mark.parametrize("verb", WRITES)
def test_every_verb_that_writes_looks_after_what_was_not_answered(
    koord: Run, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, *, applies: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    if verb == "topo init":
        for called, rack in (("a0", "x"), ("a1", "x"), ("b0", "y"), ("b1", "y")):
            item = server.get("nodes", "", called)
            item["metadata"]["labels"]["network.topology.nvidia.com/spine"] = rack
            server.put(item)
        server.delete("clusternetworktopologies", "", "default")
    labels = tmp_path / "labels.csv"
    labels.write_text("node,SpineLayer\na0,left\nb0,right\n")
    rest, method, lost = WRITES[verb]
    server.rules.append(Rule(f".*/{lost}", method=method, cut="head", applies=applies))
    words = (verb.partition(" ")[0], *(str(labels) if word == "LABELS" else word for word in rest), "--yes")
    done = koord(*words)
    assert any(request.path.endswith(lost) for request in server.log if request.method == method)
    if applies:
        assert (done.code, done.err.count("read again, it is as wanted, though this came back: ")) == (0, 1), done
    else:
        assert (done.code, done.err.count("read again, it is as before; what was sent may still be")) == (2, 1), done
