"""Against a real API server (`make e2e`): roles, protobuf, restarts, refusals, conflicts, writes, budgets."""

import json
import re
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.observed import REQUESTS, ObservedTransport
from kubectl_koord.cluster.api.transport import Sending
from kubectl_koord.cluster.kinds import GANG_KINDS
from kubectl_koord.cluster.source import StatedInstallation
from kubectl_koord.cluster.watching import ClusterWatch
from kubectl_koord.model.snapshot import Snapshot
from tests.apiserver import RESOURCES, Object
from tests.cli.conftest import Run
from tests.cli.world import node, pod, pod_group
from tests.e2e.conftest import Real, Refused, create, wait_until

pytestmark = pytest.mark.e2e

GROUP = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/train/podgroups/one-short"
TOPOLOGY = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies/default"
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
WAIT_SECONDS = 120
NOT_FOUND = 404
KNOWN = {(one.group_version, one.kind): one for one in RESOURCES}
MODE = "gang.scheduling.koordinator.sh/mode"
READING = (
    ("topo",),
    ("topo", "--for", "one-short"),
    ("devices",),
    ("quota",),
    ("gangs", "-A"),
    ("why-pending", "-A"),
    ("why-pending", "one-short"),
    ("why-pending", "pod/silent-0"),
    ("preempt", "helped"),
    ("preempt", "in-vain"),
    ("plan", "one-short"),
    ("fit", "--like", "one-short"),
    ("node", "node-0"),
    ("domain", "spine-0"),
    ("doctor",),
    ("why-preempted", "sweep-0"),
)
PREVIEWS = (
    ("annotate", "podgroup", "one-short", "--mode=NonStrict"),
    ("annotate", "gang", "one-short", "--mode=NonStrict"),
    ("annotate", "pods", "one-short", "--index"),
    ("evict", "notebook-5"),
    ("topo", "label", "-f"),
)
OTHERS = {"topo init", "snapshot", "diff", "live", "serve"}
"""Verbs that read a cluster and have tests of their own; `live` and `serve` go on, and read as `--watch` does."""
AGE = re.compile(r"\b\d+(ms|[smhd])\b")


OF_TIME = {"moment", "age", "ageSeconds"}
OF_PLACE = {"source", "context", "cluster", "commandsFor", "layers", "ownerKind", "command"}


def bare(value: Any, left_out: set[str] = OF_TIME) -> Any:  # noqa: ANN401 - any JSON value
    """Return an answer without what goes on with time."""
    if isinstance(value, dict):
        return {name: bare(part, left_out) for name, part in value.items() if name not in left_out}
    if isinstance(value, str):
        return AGE.sub("", value)
    return [bare(part, left_out) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_who_may_look_is_refused_nothing_and_protobuf_answers_as_json(
    koord: Run, as_user: Callable[[str], None], words: tuple[str, ...]
) -> None:
    as_user("viewer")
    first, again = (koord(*words, "-o", "json", *form) for form in ((), ("--request-format", "json")))
    assert first.code == again.code
    assert first.code in {0, 1}, first.err
    document = json.loads(first.out)
    assert bare(document) == bare(json.loads(again.out))
    codes = [one["code"] for one in (*document.get("warnings", ()), *document.get("findings", ()))]
    assert not set(codes) & {"forbidden-list", "missing-list", "unavailable-list", "crd-missing", "rbac-missing"}


def test_who_may_only_look_changes_nothing_and_is_told_so(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("viewer")
    done = koord("annotate", "podgroup", "one-short", "--mode=NonStrict", "--yes")
    assert done.code == 2
    assert "cannot patch resource" in done.err
    assert MODE not in real.send("GET", GROUP)["metadata"].get("annotations", {})


def test_a_dry_run_on_the_server_changes_nothing_and_a_write_does(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("operator")
    words = ("annotate", "podgroup", "one-short", "--mode=NonStrict")
    assert koord(*words, "--dry-run=server", "--yes").code == 0
    assert MODE not in real.send("GET", GROUP)["metadata"].get("annotations", {})
    done = koord(*words, "--yes")
    assert done.code == 0, done.err
    assert real.send("GET", GROUP)["metadata"]["annotations"][MODE] == "NonStrict"
    assert koord("annotate", "podgroup", "one-short", "mode-", "--yes").code == 0
    assert MODE not in real.send("GET", GROUP)["metadata"]["annotations"]


def test_the_server_is_asked_whether_a_budget_lets_victims_go(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("operator")
    done = koord("preempt", "helped", "--dry-run=server")
    assert done.code == 0, done.err
    assert "notebook-5" in done.out
    assert "would violate" in done.out
    assert real.send("GET", "/api/v1/namespaces/train/pods/notebook-5")["metadata"].get("deletionTimestamp") is None


def test_a_topology_is_proposed_and_is_what_the_cluster_has(koord: Run, as_user: Callable[[str], None]) -> None:
    as_user("operator")
    assert "Resulting tree: 3 spines, 5 blocks and 11 nodes." in koord("topo", "init").out


def test_every_verb_that_reads_a_cluster_is_run() -> None:
    found = {" ".join(words[:count]) for words in (*READING, *PREVIEWS) for count in (1, 2)} | OTHERS
    reading = {verb for verb, row in VERBS.items() if row.reads and not verb.startswith("scheduler ")}
    assert not reading - found


@pytest.mark.parametrize("words", PREVIEWS, ids=" ".join)
def test_who_may_look_may_preview_changes(
    koord: Run, real: Real, as_user: Callable[[str], None], tmp_path: Path, words: tuple[str, ...]
) -> None:
    as_user("viewer")
    (labels := tmp_path / "labels.csv").write_text("node,example.com/row\nnode-0,r1\n")
    version = real.send("GET", GROUP)["metadata"]["resourceVersion"]
    done = koord(*words, *([str(labels)] if words[-1] == "-f" else []), "--dry-run=client")
    assert done.code == 0, done.err
    assert real.send("GET", GROUP)["metadata"]["resourceVersion"] == version


def test_a_snapshot_answers_as_the_cluster_it_was_made_of(
    koord: Run, as_user: Callable[[str], None], tmp_path: Path
) -> None:
    as_user("viewer")
    file = str(tmp_path / "cluster.json")
    assert koord("snapshot", "-o", file).code == 0
    for words in (("topo",), ("why-pending", "one-short"), ("quota",)):
        live, kept = (koord(*words, "-o", "json", *more) for more in ((), ("--snapshot", file)))
        assert live.code == kept.code
        assert bare(json.loads(live.out), OF_TIME | OF_PLACE) == bare(json.loads(kept.out), OF_TIME | OF_PLACE)
    assert koord("diff", file, "-").code == 0


def test_a_scheduler_that_is_not_there_is_told_in_one_line(koord: Run, as_user: Callable[[str], None]) -> None:
    as_user("viewer")
    done = koord("scheduler", "gangs")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


# ---- Restarts ----


def until(watch: ClusterWatch, holds: Callable[[Snapshot], bool]) -> None:
    """Wait for changes until something holds."""
    while not holds(watch.snapshot()):
        assert select.select([watch], [], [], WAIT_SECONDS)[0], "nothing has changed"


def minimum(snapshot: Snapshot, gang: str = "train/one-short") -> int:
    return next(group.min_member for name, group in snapshot.pod_groups.items() if name == gang)


def test_a_watch_goes_on_after_a_restart_from_lists_where_the_server_forgot(
    real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("viewer")
    requests: list[str] = []
    told = StatedInstallation()
    with connect(Connection(), writes=False) as way:
        seen = ObservedTransport(way, requests.append, REQUESTS)
        with ClusterWatch(seen, GANG_KINDS, way.namespace, told) as watch:
            before = minimum(watch.snapshot())
            real.merge(GROUP, {"spec": {"minMember": before + 1}})
            until(watch, lambda now: minimum(now) == before + 1)
            requests.clear()
            real.restart()
            wait_until(lambda: real.merge(GROUP, {"spec": {"minMember": before}}))
            until(watch, lambda now: minimum(now) == before)
            made(real, pod("late"))
            until(watch, lambda now: any(one.name == "late" for one in now.pending))
            remove(real, f"{PODS}/late")
            until(watch, lambda now: not any(one.name == "late" for one in now.pending))
    assert any("/pods?" in one and "watch=1" not in one for one in requests), requests


def test_an_answer_right_after_a_restart_is_the_same_or_says_what_it_could_not_see(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("admin")
    words = ("why-pending", "one-short", "-o", "json")
    before = koord(*words)
    real.restart()
    after = koord(*words)
    assert (before.code, bare(json.loads(before.out))) == (after.code, bare(json.loads(after.out)))


# ---- Refusals, conflicts, budgets ----


@pytest.fixture
def frozen(real: Real) -> Iterator[None]:
    """Refuse changes of PodGroups, and evictions, by a policy."""
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": [operation], "resources": [resource]}
        for group, operation, resource in (
            ("scheduling.sigs.k8s.io", "UPDATE", "podgroups"),
            ("", "CREATE", "pods/eviction"),
        )
    ]
    validations = [{"expression": "false", "message": "frozen until Monday"}]
    policy = {"matchConstraints": {"resourceRules": rules}, "validations": validations}
    binding = {"policyName": "frozen", "validationActions": ["Deny"]}
    for plural, spec in (("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)):
        real.send("POST", f"{ADMISSION}/{plural}", {"metadata": {"name": "frozen"}, "spec": spec})

    def is_refused() -> None:
        try:
            real.merge(GROUP, {"metadata": {"labels": {"x": "y"}}}, "?dryRun=All")
        except Refused:
            return
        raise Refused(200, "the policy does not act yet")

    wait_until(is_refused)
    yield
    for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        real.send("DELETE", f"{ADMISSION}/{plural}/frozen")
    wait_until(lambda: real.merge(GROUP, {"metadata": {"labels": {"x": "y"}}}, "?dryRun=All"))


@pytest.mark.usefixtures("frozen")
def test_what_a_policy_refuses_is_told_in_its_words_and_changes_nothing(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("operator")
    for more in ((), ("--dry-run=server",)):
        done = koord("annotate", "podgroup", "one-short", "--mode=NonStrict", "--yes", *more)
        assert done.code == 2
        assert "frozen until Monday" in done.err
    assert MODE not in real.send("GET", GROUP)["metadata"].get("annotations", {})
    done = koord("preempt", "helped", "--dry-run=server")
    assert "frozen until Monday" in done.out + done.err


Before = Callable[[str, str, Callable[[], object]], None]


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Let something happen once, right before a request with a method and a part of a path is sent."""

    def add(method: str, part: str, act: Callable[[], object]) -> None:
        send, waiting = Sending.send, [act]

        def first(self: Any, *request: Any) -> Any:  # noqa: ANN401
            if waiting and request[0] == method and part in request[1]:
                waiting.pop()()
            return send(self, *request)

        monkeypatch.setattr(Sending, "send", first)

    return add


def test_what_others_changed_meanwhile_is_not_overwritten(
    koord: Run, real: Real, as_user: Callable[[str], None], before: Before
) -> None:
    as_user("operator")
    words = ("annotate", "podgroup", "one-short", "--mode=NonStrict", "--yes")
    before("PATCH", "podgroups", lambda: real.merge(GROUP, {"metadata": {"annotations": {"by": "x"}}}))
    done = koord(*words)
    assert done.code == 0
    assert "was changed meanwhile" in done.err
    assert real.send("GET", GROUP)["metadata"]["annotations"].items() >= {MODE: "NonStrict", "by": "x"}.items()
    assert koord("annotate", "podgroup", "one-short", "mode-", "--yes").code == 0
    before("PATCH", "podgroups", lambda: real.merge(GROUP, {"metadata": {"annotations": {MODE: "Strict"}}}))
    done = koord(*words)
    assert done.code == 2
    assert "is now 'Strict'; nothing was overwritten" in done.err
    real.merge(GROUP, {"metadata": {"annotations": {MODE: None, "by": None}}})


def test_a_topology_that_changed_meanwhile_is_left_alone(
    koord: Run, real: Real, as_user: Callable[[str], None], before: Before
) -> None:
    as_user("operator")
    live = real.send("GET", TOPOLOGY)["spec"]
    real.merge(TOPOLOGY, {"spec": {"networkTopologySpec": live["networkTopologySpec"][1:]}})
    before("PATCH", "topologies", lambda: real.merge(TOPOLOGY, {"metadata": {"labels": {"by": "x"}}}))
    done = koord("topo", "init", "--apply", "--yes")
    assert done.code == 2
    assert "was changed meanwhile by Python-urllib; nothing was overwritten" in done.err
    assert koord("topo", "init", "--apply", "--yes").code == 0
    assert len(real.send("GET", TOPOLOGY)["spec"]["networkTopologySpec"]) == len(live["networkTopologySpec"])


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "u", "controller": True}


def made(real: Real, item: Object) -> None:
    """Create an object of the small cluster of other tests, as far as this server takes it."""
    if item["kind"] == "Node":
        item["metadata"]["labels"]["moving"] = "yes"
        item["status"]["capacity"] = item["status"]["allocatable"]
    if item["kind"] == "Pod":
        item["spec"] |= {"nodeSelector": {"moving": "yes"}, "priorityClassName": "of-1000"}
        del item["spec"]["priority"]
        item["spec"]["containers"][0]["image"] = "x:1"
    create(real, KNOWN[item["apiVersion"], item["kind"]], item)


def remove(real: Real, path: str) -> None:
    """Delete an object at once, if it is there."""
    try:
        real.send("DELETE", f"{path}?gracePeriodSeconds=0")
    except Refused as refused:
        if refused.args[0] != NOT_FOUND:
            raise


def owned(name: str, on: str) -> Object:
    found = pod(name, on=on, cpu="2")
    found["metadata"] |= {"labels": {"app": "a"}, "ownerReferences": [OWNER]}
    found["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return found


@pytest.fixture
def moving(real: Real) -> Iterator[None]:
    """Two more nodes, of which pod `a` blocks one for the gang `job`."""
    job = [pod_group("job", 1), pod("job-0", "job")]
    for item in (node("n0", "none"), node("n1", "none"), *job, owned("a", "n0"), pod("b", on="n1", cpu="3")):
        made(real, item)
    yield
    for name in ("job-0", "a", "a-2", "b"):
        remove(real, f"{PODS}/{name}")
    for name in ("n0", "n1"):
        remove(real, f"/api/v1/nodes/{name}")
    remove(real, "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups/job")


@pytest.mark.usefixtures("moving")
def test_a_plan_stops_at_a_budget_that_came_meanwhile_and_goes_on_without_it(
    koord: Run, real: Real, as_user: Callable[[str], None], before: Before
) -> None:
    as_user("operator")
    words = ("plan", "default/job", "--apply", "--yes", "--timeout", "5s")

    def forbid() -> None:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
        real.send("POST", BUDGETS, {"metadata": {"name": "keep"}, "spec": spec})
        status = {"observedGeneration": 1, "disruptionsAllowed": 0, "expectedPods": 1, "currentHealthy": 1}
        real.merge(f"{BUDGETS}/keep/status", {"status": status | {"desiredHealthy": 1}})

    before("POST", "pods/a/eviction", forbid)
    done = koord(*words)
    assert done.code == 2
    assert "Cannot evict pod as it would violate the pod's disruption budget" in done.err
    assert "still cordoned by this plan: kubectl uncordon n0" in done.err
    assert real.send("GET", f"{PODS}/a")["metadata"].get("deletionTimestamp") is None
    remove(real, f"{BUDGETS}/keep")
    real.merge("/api/v1/nodes/n0", {"spec": {"unschedulable": None}})

    def replace() -> None:
        remove(real, f"{PODS}/a")
        made(real, owned("a", "n0"))

    before("POST", "pods/a/eviction", replace)
    done = koord(*words)
    assert done.code == 2
    assert "would not make room any more" in done.err
    assert real.send("GET", f"{PODS}/a")["metadata"].get("deletionTimestamp") is None
    real.merge("/api/v1/nodes/n0", {"spec": {"unschedulable": None}})

    def moved() -> None:
        remove(real, f"{PODS}/a")
        made(real, owned("a-2", "n1"))

    before("PATCH", "nodes/n0", lambda: real.merge("/api/v1/nodes/n0", {"metadata": {"annotations": {"by": "x"}}}))
    before("POST", "pods/a/eviction", moved)
    done = koord(*words)
    assert done.code == 0, done.err
    assert "Node n0 was changed meanwhile" in done.err
    assert not real.send("GET", "/api/v1/nodes/n0")["spec"].get("unschedulable")
