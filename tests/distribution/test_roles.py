"""The ClusterRoles grant what the program asks for, no more and no less: every verb is run, and the log is compared."""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from distribution.generated import ROOT
from kubectl_koord.cli.verb_table import VERBS, reading
from kubectl_koord.cluster import rbac
from kubectl_koord.cluster.rbac import Right, lean
from tests.apiserver import RESOURCES, ApiServer, Request, Rule
from tests.cli.conftest import Run
from tests.cli.moving import DESCHEDULER, HELD, Cluster
from tests.cli.test_sight import selecting_namespaces, with_a_resource_claim
from tests.cli.test_topo_changes import BLOCK, SPINE
from tests.cli.world import Object, pod

READING: tuple[tuple[str, ...], ...] = (
    ("topo", "--for", "using"),
    ("topo", "--for", "nobody"),
    ("topo", "init"),
    ("devices",),
    ("quota",),
    ("quota", "--for", "using"),
    ("quota", "--for", "nobody", "-n", "nowhere"),
    ("gangs", "-n", "nowhere"),
    ("gangs",),
    ("why-pending", "-A"),
    ("why-pending", "heavy"),
    ("why-pending", "using"),
    ("why-pending", "x", "-n", "nowhere"),
    ("why-pending", "done", "--until", "scheduled", "--timeout", "20s"),
    ("why-pending", *(f"{word}/held" for word in ("job", "deploy", "pytorchjob", "trainjob", "lws", "raycluster"))),
    ("why-pending", *(f"{word}/held" for word in ("vcjob", "sparkapplication", "jobset"))),
    ("why-pending", "trainjob/own"),
    ("preempt", "using", "--dry-run"),
    ("preempt", "x", "-n", "nowhere", "--dry-run"),
    ("why-preempted", "filler-a"),
    ("why-preempted", "x", "-n", "nowhere"),
    ("doctor",),
    ("node", "a0"),
    ("domain", "spine-a"),
    ("fit", "--pods", "2", "--request", "cpu=1"),
    ("evict", "nobody", "--dry-run=client"),
    ("plan", "nobody", "-n", "nowhere"),
    ("plan", "--filename", "job.yaml"),
    ("fit", "--filename", "job.yaml"),
    ("fit", "--like", "nobody", "-n", "nowhere"),
    ("snapshot", "-o", "-"),
    ("diff", "-", "EMPTY"),
    ("scheduler", "gangs"),
    ("scheduler", "quotas"),
    ("scheduler", "gang", "nobody", "-n", "nowhere"),
)
"""Each verb with the flags with which it reads most."""
ON_A_SCREEN = {"live": "why-pending", "serve": "why-pending"}
"""What goes on, and whose requests it makes."""
WRITING: tuple[tuple[str, ...], ...] = (
    ("annotate", "podgroup", "job", "--mode=NonStrict", "--yes"),
    ("annotate", "pods", "job", "--index", "--yes"),
    ("annotate", "gang", "job", "--mode=Strict", "--overwrite", "--yes"),
    ("topo", "label", "--filename", "layers.csv", "--yes", "--overwrite"),
    ("topo", "init", "--apply", "--yes"),
    ("preempt", "high", "--dry-run=server"),
)
VERB = {"GET": "get", "PATCH": "patch", "POST": "create", "PUT": "update", "DELETE": "delete"}


def with_a_private_image() -> list[Object]:
    """Return a cluster whose scheduler's version is told by its CRDs alone: the tag of its image is a private one.

    It has a gang of Volcano, too, with a PriorityClass, and a pod whose anti-affinity selects namespaces by labels.
    """
    text = json.dumps(with_a_resource_claim()).replace("koord-scheduler:v1.8.0", "koord-scheduler:ours")
    items: list[Object] = json.loads(text)
    api, theirs = "scheduling.volcano.sh/v1beta1", {"priorityClassName": "high"}
    items.append(selecting_namespaces("shy-0", "team", "a", on="a0"))
    return [*items, {"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "theirs"}, "spec": theirs}]


def held() -> list[Object]:
    """Return a job of each API group, suspended and in a queue of Kueue, whose pods are not made."""
    kinds = (
        ("batch/v1", "Job"),
        ("apps/v1", "Deployment"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("ray.io/v1", "RayCluster"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    )
    labels = {"kueue.x-k8s.io/queue-name": "default"}
    template = {"spec": {"containers": [{"name": "main"}], "priorityClassName": "high"}}
    own = {"runtimeRef": {"name": "torch", "kind": "TrainingRuntime"}, "suspend": True}
    spec = {"suspend": True, "template": template, "runtimeRef": {"name": "torch"}}
    kueue = "kueue.x-k8s.io/v1beta2"
    checks = {"admissionChecks": [{"name": "check"}]}
    return [
        *(
            {"apiVersion": api, "kind": kind, "metadata": {"name": "held", "labels": labels}, "spec": spec}
            for api, kind in kinds
        ),
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "own"}, "spec": own},
        {"apiVersion": kueue, "kind": "LocalQueue", "metadata": {"name": "default"}, "spec": {"clusterQueue": "all"}},
        {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": "all"},
            "spec": {"cohortName": "lab", "admissionChecksStrategy": checks},
        },
    ]


def of_viewers(asked: set[rbac.Right]) -> set[rbac.Right]:
    """Return those that one who only looks has, by name or whatever the name."""
    rights = rbac.viewing(reading().values()) | rbac.asking_leader()
    return {one for one in asked if one in rights or one._replace(name="") in rights}


@pytest.mark.usefixtures("no_kubectl")
def test_the_roles_grant_what_is_asked_for_and_nothing_else(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = json.dumps(pod("new")).replace('"cpu"', '"koordinator.sh/gpu"')
    asking = asking.replace('"name": "main"', '"name": "main", "image": "a:1"')
    trained = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train"},
        "spec": {"runtimeRef": {"name": "torch"}},
    }
    asking = f"{asking}\n{json.dumps(trained)}"
    (tmp_path / "job.yaml").write_text(asking)
    (tmp_path / "EMPTY").write_text('{"kind": "List", "items": []}')
    (tmp_path / "layers.csv").write_text("node,SpineLayer\na0,other\n")
    monkeypatch.chdir(tmp_path)
    with ApiServer({"items": [*with_a_private_image(), *held()]}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        api.rules.append(Rule(".*/proxy/.*", raw=b"{}"))
        asked = {words: requests_of(koord, api, words) for words in READING}
        for verb, reads in reading().items():
            if verb != "annotate":
                seen = set().union(*(asked[words] for words in READING if words[0] == ON_A_SCREEN.get(verb, verb)))
                seen |= watched(reads, seen)
                needed = rbac.reading(reads) | of_leader(reads)
                if verb == "doctor":  # which asks for the rights of all commands
                    assert needed <= lean(seen) <= of_viewers(seen)
                    continue
                assert lean(seen) == needed, verb
        koord("__complete", "topo", "-n", "")
        assert granted("view") == lean({*map(asked_for, of_objects(api.log))} - rbac.asking_leader())
        conflicts = [
            Rule(".*", 409, "Conflict", "the object has been modified", method="PATCH", times=1) for _ in WRITING
        ]
        for words, conflict in zip(WRITING, conflicts, strict=True):
            if words[:2] == ("topo", "init"):
                label_as_topograph(api)
            # Once somebody else is faster, and the object is read again.
            api.rules[:] = [conflict]
            koord(*words)
            api.rules.clear()
            done = koord(*words)
            assert done.code == 0, (words, done)
        api.delete("clusternetworktopologies", "", "default")
        assert koord("topo", "init", "--apply", "--yes").code == 0
    logs = (*of_objects(api.log), *carried_out(koord, tmp_path, monkeypatch))
    assert granted("operate") == lean({*map(asked_for, logs)} - rbac.asking_leader())


def watched(reads: Collection[str], seen: set[Right]) -> set[Right]:
    """Return what is watched by a command that does not end by itself, or waits for its own steps."""
    if "followed" in reads:
        return {right._replace(verb="watch") for right in seen if right.verb == "list"}
    return {right for right in rbac.reading(reads) if right.verb == "watch"} if "applied" in reads else set()


def carried_out(koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Request]:
    """Yield the requests of plans: by koord-descheduler, which fails once, and one that releases a Reservation."""
    with Cluster(DESCHEDULER) as failing:
        failing.ends = {"phase": "Failed"}
        monkeypatch.setenv("KUBECONFIG", str(failing.kubeconfig(tmp_path)))
        assert koord("plan", "job", "--apply", "--yes").code == 2
        yield from of_objects(failing.log)
    with Cluster(DESCHEDULER) as moving:
        moving.migrates = True
        monkeypatch.setenv("KUBECONFIG", str(moving.kubeconfig(tmp_path)))
        assert koord("plan", "job", "--apply", "--yes").code == 0
        moving.delete("pods", "default", "a-2")
        moving.put(HELD)
        assert koord("plan", "job", "--apply", "--yes").code == 0
        steps = {right for right in map(asked_for, of_objects(moving.log)) if right.verb == "watch"}
        assert set() < steps <= rbac.reading(VERBS["plan"].reads)
        yield from of_objects(moving.log)


def requests_of(koord: Run, api: ApiServer, words: tuple[str, ...]) -> set[Right]:
    before = len(api.log)
    koord(*words)
    return set(map(asked_for, of_objects(api.log[before:])))


def of_objects(log: Iterable[Request]) -> Iterator[Request]:
    """Yield the requests but those of which groups and kinds there are, which everybody may ask."""
    return (one for one in log if not re.fullmatch("/apis(/[^/]+/[^/]+)?", one.path))


def of_leader(reads: Iterable[str]) -> set[Right]:
    """Return what a verb needs besides that asks the leading scheduler."""
    return rbac.asking_leader() if "leader" in reads else set()


def test_the_scheduler_is_asked_through_a_role_of_its_own(koord: Run) -> None:
    text = (ROOT / "deploy/role-scheduler.yaml").read_text("utf-8")
    document = yaml.safe_load(text)
    assert (document["kind"], document["metadata"]["namespace"]) == ("Role", "koordinator-system")
    assert set(_rights(document["rules"])) == rbac.asking_leader()
    printed = koord("doctor", "--print-rbac", "--command", "scheduler").out
    assert printed.partition("---\n")[2] == text
    for role in ("view", "operate"):
        assert not {right for right in granted(role) if right.resource == "pods/proxy"}


def test_every_verb_that_reads_a_cluster_is_run_above() -> None:
    live = {name for name, row in VERBS.items() if row.live and row.words != ("target",)} - ON_A_SCREEN.keys()
    behind = {name for name in VERBS if " " in name and VERBS[name.split()[0]].live}
    live = {name for name in live if not name.startswith("scheduler ")} | {"scheduler gangs", "scheduler gang"}
    run = {" ".join(words) for words in (*READING, *WRITING)}
    assert [name for name in sorted(live | behind) if not any(line.startswith(name) for line in run)] == []


def test_the_roles_name_no_secret_and_no_star() -> None:
    for role in ("view", "operate"):
        assert not [right for right in granted(role) if "*" in right or right.resource == "secrets"]
    assert {right.verb for right in granted("view")} == {"get", "list", "watch"}


def label_as_topograph(api: ApiServer) -> None:
    for number, name in enumerate(("a0", "a1", "b0", "b1")):
        item = api.get("nodes", "", name)
        item["metadata"]["labels"] |= {SPINE: f"s{name[0]}", BLOCK: f"block{number // 2}"}
        api.put(item)


def granted(role: str) -> set[Right]:
    document = yaml.safe_load((ROOT / "deploy" / f"clusterrole-{role}.yaml").read_text("utf-8"))
    assert (document["kind"], document["metadata"]["name"]) == ("ClusterRole", f"kubectl-koord-{role}")
    return set(_rights(document["rules"]))


def _rights(rules: Iterable[Object]) -> Iterator[Right]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield from (Right(group, resource, verb, name) for name in rule.get("resourceNames", [""]))


def asked_for(request: Request) -> Right:
    """Return what RBAC asks of whoever sends a request; a list of one name by field selector is one of that name."""
    match = re.fullmatch(
        r"/api(?:/v1|s/(?P<group>[^/]+)/[^/]+)(?:/namespaces/[^/]+(?=/))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?"
        r"(?:/(?P<sub>[^/]+)(?:/.*)?)?",
        request.path,
    )
    assert match, request.path
    group, plural, name, sub = (part or "" for part in match.groups())
    assert plural in {resource.plural for resource in RESOURCES}
    selected = re.search(r"metadata\.name=([^,]+)", request.query.get("fieldSelector", ""))
    verb = VERB[request.method] if name or request.method != "GET" else "watch" if request.is_watch else "list"
    limit = selected[1] if selected else name if plural in {"customresourcedefinitions", "leases"} else ""
    return Right(group, f"{plural}/{sub}" if sub else plural, verb, limit)
