"""No request that fails makes a yes: every verb, each request that it sends, and each way in which it may fail.

The rows are what a verb really sends, read off the server's log: a request that is new is a new row. In `make test`
each command has every row refused (lists of the command lines of `test_sight` there, with the answer that is expected
of each) with the first of its command lines that sends it, and each request fails in one of the other ways with the
first verb that sends it; in `make soak` all fail in all ways.
"""

import copy
import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, repeat
from pathlib import Path
from typing import NamedTuple

import pytest

from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cluster.kinds import DOCTOR_KINDS
from tests.apiserver import RESOURCES, ApiServer, Request, Rule
from tests.cli.conftest import Done, Run
from tests.cli.test_sight import DEMO, document, lists_of, objects, said
from tests.cli.test_sight import VERBS as OF_SIGHT
from tests.cli.world import Object, lease

DRY, YES = "--dry-run=client", "--yes"
OF_SCHEDULER = "/api/v1/namespaces/koordinator-system/pods/http:koord-scheduler-0:10251/proxy/apis/v1/.*"
SPINE = "network.topology.nvidia.com/spine"
TABLE: tuple[tuple[str, ...], ...] = (
    ("why-pending", "tiny"),
    ("preempt", "high", "--dry-run=server"),
    ("fit", "--pods", "1", "--request", "cpu=1"),
    ("plan", "tiny"),
    ("why-pending",),
    ("topo",),
    ("topo", "--for", "job"),
    ("topo", "init"),
    ("topo", "init", "--apply", YES),
    ("topo", "label", "-f", "LABELS", YES),
    ("evict", "done-0", YES),
    ("devices",),
    ("node", "a0"),
    ("domain", "spine-a"),
    ("quota",),
    ("gangs",),
    ("why-preempted", "filler-a"),
    ("scheduler", "gangs"),
    ("scheduler", "gang", "job"),
    ("scheduler", "node", "a0"),
    ("scheduler", "quotas"),
    ("scheduler", "devices"),
    ("scheduler", "numa", "a0"),
    ("scheduler", "reservations", "a0"),
    ("scheduler", "services"),
    ("snapshot",),
    ("diff", "-", DEMO, "--for", "job"),
    ("doctor",),
    ("annotate", "podgroup", "job", "--mode=NonStrict", DRY),
    ("annotate", "podgroup", "job", "--mode=NonStrict", YES),
    ("annotate", "gang", "job", "--mode=NonStrict", YES),
    ("annotate", "pods", "job", "--index", YES),
    ("why-pending", "nobody"),
)
SILENT = ("explain", "version", "completion")
SCREEN = ("live", "serve")
"""What asks as `--watch` does, and shows on a terminal or tells what it may not read as a gap (`tests/live`)."""
OF_LOGS = ("scheduler scores", "scheduler filters", "scheduler diagnosis")
PARENTS = ("scheduler", "annotate")


class Row(NamedTuple):
    """One request: its method, and what it is for: the kind that it lists, or its path."""

    method: str
    what: str

    @property
    def path(self) -> str:
        """What matches the paths of the request."""
        listed = next((one for one in RESOURCES if one.row == self.what), None)
        return lists_of(listed) if listed else re.escape(self.what)


def row_of(request: Request) -> Row:
    listed = (one.row for one in RESOURCES if re.fullmatch(lists_of(one), request.path) and request.method == "GET")
    return Row(request.method, next(listed, request.path))


def refused(row: Row, status: int, reason: str) -> Rule:
    return Rule(row.path, status, reason, f"{row.what} is refused", method=row.method)


def failing(way: str, row: Row) -> Rule:
    match way:
        case "403":
            return refused(row, 403, "Forbidden")
        case "404":
            return refused(row, 404, "NotFound")
        case "500":
            return refused(row, 500, "InternalError")
        case _:
            return Rule(row.path, method=row.method, hang=threading.Event())


class World(NamedTuple):
    """What is different from a cluster in which everything runs: how these three are answered, and who is asked."""

    change: Callable[[list[Object]], None]
    verdicts: tuple[str, str, str]


def _of(kind: str, items: list[Object]) -> Object:
    return next(item for item in items if item["kind"] == kind)


def _dead(items: list[Object]) -> None:
    items.remove(_of("Lease", items))
    items.append(lease("2026-01-01T00:00:00Z"))


def _unavailable(items: list[Object]) -> None:
    items.remove(_of("Lease", items))
    deployment = _of("Deployment", items)
    deployment["spec"]["replicas"], deployment["status"] = 2, {"replicas": 2, "unavailableReplicas": 2}


def _without_preemption(items: list[Object]) -> None:
    data = _of("ConfigMap", items)["data"]
    data.update({name: text.replace("enablePreemption: true, ", "") for name, text in data.items()})


def _no_tree(items: list[Object]) -> None:
    _of("Deployment", items)["spec"]["template"]["spec"]["containers"][0]["args"] = ["--v=4"]


WORLDS = {
    "runs": World(lambda _items: None, ("yes", "yes", "yes")),
    "scheduler dead": World(_dead, ("no", "no", "no")),
    "scheduler unavailable": World(_unavailable, ("no", "no", "no")),
    "without preemption": World(_without_preemption, ("yes", "no", "yes")),
    "without a tree": World(_no_tree, ("no", "no", "yes")),
}


class Asked(NamedTuple):
    """A server, a command line, and its answer while nothing fails."""

    server: ApiServer
    words: tuple[str, ...]
    before: Done
    rows: tuple[Row, ...]


@pytest.fixture
def asking(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None
) -> Iterator[Callable[..., Asked]]:
    """Ask a server of a small cluster; what is written comes to be as it was before each question."""
    assert no_kubectl is None
    servers: list[ApiServer] = []
    labels = tmp_path / "labels.csv"
    labels.write_text(f"node,{SPINE}\na0,s0\n")

    def ask(words: tuple[str, ...], items: list[Object]) -> Asked:
        for server in servers:
            server.close()
        servers[:] = [ApiServer({"items": items})]
        servers[0].rules.append(Rule(OF_SCHEDULER, raw=b"{}"))
        monkeypatch.setenv("KUBECONFIG", str(servers[0].kubeconfig(tmp_path)))
        line = tuple(str(labels) if word == "LABELS" else word for word in words)
        line = (*line, "-o", "-" if words == ("snapshot",) else "json")
        before = answered(koord, line)
        rows = tuple(dict.fromkeys(row_of(one) for one in servers[0].log))
        return Asked(servers[0], line, before, rows)

    yield ask
    for server in servers:
        server.close()


def answered(koord: Run, words: tuple[str, ...]) -> Done:
    """Return how a command line ends; what a snapshot holds is compressed, and no report."""
    done = koord(*words)
    return done._replace(out="") if words[0] == "snapshot" else done


def cluster(world: str = "runs") -> list[Object]:
    items = copy.deepcopy(objects())
    for item in items:
        if item["kind"] == "Node":
            item["metadata"]["labels"][SPINE] = item["metadata"]["name"][0]
    WORLDS[world].change(items)
    return items


def verdict(done: Done) -> str:
    found: str = document(done).get("verdict", "")
    return found


def wrong(asked: Asked, row: Row, way: str, after: Done) -> str:
    """Return what is wrong about an answer that was given while a request failed, empty for nothing."""
    told, answer = said(after), verdict(after)
    code = {"yes": 0, "no": 1, "unknown": 2}.get(answer) if asked.words[0] != "doctor" else None
    is_same = (after.code, answer) == (asked.before.code, verdict(asked.before))
    names = {row.what, row.what.partition(".")[0], row.what.lower(), row.what.rpartition("/")[2]}
    names |= {"Unable to connect to the server"} if way == "hang" else set()
    faults = {
        "it crashed": "internal error" in told or "Traceback" in told,
        f"it ended with {after.code}": after.code not in {0, 1, 2},
        f"exit code {after.code} with {answer}": code is not None and after.code != code,
        "it became a yes": after.code == 0 != asked.before.code,
        f"it does not name {row.what}: {told!r}": not is_same and not any(name in told for name in names),
    }
    return next((fault for fault, is_so in faults.items() if is_so), "")


def ask_again(koord: Run, asked: Asked, way: str, *rows: Row) -> Done:
    rules = [failing(way, row) for row in rows]
    asked.server.rules[:0] = rules
    done = answered(koord, (*asked.words, *(("--request-timeout=300ms",) if way == "hang" else ())))
    for rule in rules:
        if rule.hang:
            rule.hang.set()
        asked.server.rules.remove(rule)
    return done


def is_list(row: Row) -> bool:
    return any(one.row == row.what for one in RESOURCES)


def together(asked: Asked) -> Iterator[tuple[Row, ...]]:
    """Yield the rows: each alone, but what doctor asks of kinds to learn of rights alone, or snapshot saves, is one."""
    asks_for_all = asked.words[0] in {"doctor", "snapshot"}
    probes = [row for row in asked.rows if asks_for_all and is_list(row) and row.what not in DOCTOR_KINDS]
    yield from ((row,) for row in asked.rows if row not in probes)
    if probes:
        yield tuple(probes)


def found_wrong(
    koord: Run, ask: Callable[[], Asked], ways: Iterator[str], seen: set[Row], *, lists: bool = True
) -> dict[str, str]:
    """Return what is wrong about a verb, by request and the way in which it failed; those of `seen` are passed over.

    Each request takes the next of the ways.
    """
    asked = ask()
    found: dict[str, str] = {}
    for some in together(asked):
        rows = [row for row in some if row not in seen and (lists or not is_list(row))]
        if not rows:
            continue
        if rows[0].method != "GET":
            asked = ask()  # what was changed by the last question is to be changed anew
        way = next(ways)
        if asked.words[0] == "snapshot" and way not in {"403", "404"}:
            rows = rows[:1]  # it ends with the first that fails so
        seen.update(rows)
        done = ask_again(koord, asked, way, *rows)
        for row in rows:
            if told := wrong(asked, row, way, done):
                found[f"{' '.join(asked.words)}: {way} for {row.method} {row.what}"] = told
    return found


def test_the_table_holds_every_verb_that_sends_anything() -> None:
    names = {" ".join(words) for words in TABLE}
    missing = [
        verb
        for verb in VERBS
        if not any(name == verb or name.startswith(f"{verb} ") for name in names)
        and verb.partition(" ")[0] not in SILENT
        and verb not in (*OF_LOGS, *PARENTS, *SCREEN)
    ]
    assert missing == []


def test_the_rows_are_what_was_sent(asking: Callable[..., Asked]) -> None:
    asked = asking(("why-pending", "tiny"), cluster())
    assert {"Lease", "ConfigMap", "Deployment", "Pod"} <= {row.what for row in asked.rows}
    asked = asking(("preempt", "high", "--dry-run=server"), cluster())
    assert {row.what for row in asked.rows if row.method == "POST"} == {
        "/api/v1/namespaces/default/pods/filler-a/eviction",
        "/api/v1/namespaces/default/pods/done-0/eviction",
    }


@pytest.mark.parametrize("command", dict.fromkeys(words[0] for words in TABLE))
def test_a_request_that_is_refused_never_makes_a_yes(koord: Run, asking: Callable[..., Asked], command: str) -> None:
    seen: set[Row] = set()
    found: dict[str, str] = {}
    for words in TABLE:
        if words[0] == command:
            lists = not any(verb.words == words for verb in OF_SIGHT)
            found |= found_wrong(koord, partial(asking, words, cluster()), repeat("403"), seen, lists=lists)
    assert found == {}


def test_no_request_that_fails_in_another_way_makes_a_yes(koord: Run, asking: Callable[..., Asked]) -> None:
    seen: set[Row] = set()
    found: dict[str, str] = {}
    ways = cycle(("404", "500", "hang"))
    for words in TABLE:
        found |= found_wrong(koord, partial(asking, words, cluster()), ways, seen)
    assert found == {}


@pytest.mark.soak
@pytest.mark.parametrize("words", TABLE, ids=" ".join)
@pytest.mark.parametrize("way", ["403", "404", "500", "hang"])
def test_no_request_of_any_verb_that_fails_in_any_way_makes_a_yes(
    koord: Run, asking: Callable[..., Asked], words: tuple[str, ...], way: str
) -> None:
    assert found_wrong(koord, partial(asking, words, cluster()), repeat(way), set()) == {}


@pytest.mark.parametrize("world", [name for name in WORLDS if name != "runs"])
def test_what_is_wrong_with_the_scheduler_and_not_seen_never_makes_a_yes(
    koord: Run, asking: Callable[..., Asked], world: str
) -> None:
    found = {}
    for words, expected in zip(TABLE, WORLDS[world].verdicts, strict=False):
        asked = asking(words, cluster(world))
        assert (words, verdict(asked.before)) == (words, expected)
        for row in asked.rows:
            if row.what in {"Deployment", "ConfigMap", "Lease"} or (words, world) == (TABLE[0], "scheduler dead"):
                after = ask_again(koord, asked, "403", row)
                told = wrong(asked, row, "403", after)
                if told:
                    found[" ".join(words), row.what] = told
    assert found == {}


def test_a_table_that_sees_a_wrong_answer_says_so() -> None:
    row = Row("GET", "Lease")
    before, answers = Done(1, json.dumps({"verdict": "no"}), ""), json.dumps({"verdict": "yes"})
    asked = Asked(None, ("why-pending", "tiny"), before, (row,))  # type: ignore[arg-type]
    assert wrong(asked, row, "403", Done(0, answers, "")) == "it became a yes"
    assert wrong(asked, row, "403", Done(1, answers, "")) == "exit code 1 with yes"
    assert wrong(asked, row, "403", Done(2, "", "error: internal error: x")) == "it crashed"
    assert wrong(asked, row, "403", Done(2, "", "error: no")) == "it does not name Lease: 'error: no'"
    assert wrong(asked, row, "403", Done(2, "", "error: no Lease")) == ""
