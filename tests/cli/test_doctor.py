"""`doctor` at a cluster that is served: what is read, what may not be read, and the role that it takes."""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
import yaml

from distribution.generated import ROOT
from kubectl_koord.cluster import kinds
from tests.apiserver import RESOURCES, ApiServer, Rule
from tests.cli.conftest import Done, Run
from tests.cli.world import Object

RESOURCE = {resource.row: resource for resource in RESOURCES}
OF_KOORDINATOR = [
    kind for kind in kinds.DOCTOR_KINDS if kinds.KINDS[kind].of_koordinator or kind == "NodeResourceTopology"
]
SOUND = "No problems found: 12 nodes and 6 gangs were checked.\n"


def sound() -> list[Object]:
    """Return the demo cluster without what was planted there, and with a leader whose clock is ahead."""
    content = resources.files("kubectl_koord.cluster").joinpath("demo.json").read_text("utf-8")
    mended = content.replace("koord-manager:v1.7.1", "koord-manager:v1.8.0").replace('"value": 9500', '"value": 5000')
    items: list[Object] = json.loads(mended)["items"]
    labels = next(item["metadata"]["labels"] for item in items if item["metadata"]["name"] == "node-10")
    next(item for item in items if item["metadata"]["name"] == "node-11")["metadata"]["labels"] = labels
    lease = {"holderIdentity": "a", "renewTime": "2099-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15}
    home = {"name": "koord-scheduler", "namespace": "koordinator-system"}
    return [*items, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": home, "spec": lease}]


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[ApiServer]:
    """Serve the sound cluster, which is the current context."""
    assert no_kubectl is None
    with ApiServer({"items": sound()}) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig(tmp_path)))
        yield served


def findings(done: Done) -> list[tuple[str, str, str]]:
    return [(one["code"], one["severity"], one["object"]) for one in json.loads(done.out)["findings"]]


def refuse(api: ApiServer, kind: str, status: int) -> None:
    resource = RESOURCE[kind]
    path = f"/apis?/{resource.group_version}(/namespaces/[^/]+)?/{resource.plural}"
    raw = b"404 page not found\n" if status == 404 else None
    api.rules[:] = [Rule(path, status, "Forbidden", f"{resource.plural} is forbidden", raw=raw)]


def test_a_sound_cluster_prints_one_line_and_is_read_with_get_alone(koord: Run, api: ApiServer) -> None:
    assert koord("doctor") == (0, SOUND, "")
    assert {request.method for request in api.log} == {"GET"}


def test_a_part_that_is_gone_is_an_error(koord: Run, api: ApiServer) -> None:
    api.delete("deployments", "koordinator-system", "koord-scheduler")
    done = koord("doctor", "-o", "json", "--koordinator-version", "1.8")
    assert (done.code, json.loads(done.out)["verdict"]) == (1, "no")
    assert findings(done) == [("deployment-missing", "error", "Deployment/koord-scheduler")]


@pytest.mark.parametrize("kind", kinds.DOCTOR_KINDS)
def test_what_may_not_be_read_is_never_sound(koord: Run, api: ApiServer, kind: str) -> None:
    refuse(api, kind, 403)
    done = koord("doctor", "-o", "json")
    assert (done.code, json.loads(done.out)["verdict"]) == (2, "unknown")
    resource = RESOURCE[kind]
    group = resource.group_version.rpartition("/")[0]
    assert ("rbac-missing", "info", ".".join(filter(None, (resource.plural, group)))) in findings(done)
    assert {severity for _, severity, _ in findings(done)} == {"info"}


@pytest.mark.parametrize("kind", OF_KOORDINATOR)
def test_a_crd_that_is_not_installed_is_an_error(koord: Run, api: ApiServer, kind: str) -> None:
    refuse(api, kind, 404)
    done = koord("doctor", "-o", "json")
    assert done.code == 1
    assert ("crd-missing", "error", f"CustomResourceDefinition/{kind}") in findings(done)


def test_another_kind_that_is_not_served_was_not_checked(koord: Run, api: ApiServer) -> None:
    refuse(api, "PriorityClass", 404)
    done = koord("doctor", "-o", "json")
    assert (done.code, findings(done)) == (2, [("not-checked", "info", "PriorityClass")])


def test_the_role_that_is_printed_is_the_one_that_is_delivered(koord: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    delivered = (ROOT / "deploy/clusterrole-view.yaml").read_text("utf-8")
    for words in ((), ("-o", "yaml")):
        assert koord("doctor", "--print-rbac", *words) == (0, delivered, "")


def test_the_role_for_some_commands_is_smaller(koord: Run) -> None:
    done = koord("doctor", "--print-rbac", "--command", "devices")
    role = yaml.safe_load(done.out)
    assert (done.code, role["metadata"]["name"]) == (0, "kubectl-koord-devices")
    lists = [name for rule in role["rules"] if rule["verbs"] == ["list"] for name in rule["resources"]]
    assert sorted(lists) == sorted(kinds.KINDS[kind].plural for kind in kinds.DEVICE_KINDS)
    both = koord("doctor", "--print-rbac", "--command", "devices", "--command", "why-preempted").out
    assert "name: kubectl-koord-devices-why-preempted\n" in both
    assert "resources: [events]" in both


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--print-rbac", "-o", "json"), "error: --print-rbac prints YAML: use it without -o, or with -o yaml"),
        (("--command", "topo"), "error: --command is for --print-rbac"),
        (("--print-rbac", "--command", "explain"), "error: --command 'explain' is not one of why-pending, preempt, "),
    ],
)
def test_what_is_no_role_is_one_line(koord: Run, words: tuple[str, ...], error: str) -> None:
    done = koord("doctor", "--demo", *words)
    assert (done.code, done.out, done.err.startswith(error), done.err.count("\n")) == (2, "", True, 1)


def test_a_file_of_all_that_is_sound_is_sound(koord: Run, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": sound()}))
    assert koord("doctor", "--snapshot", str(path)) == (0, SOUND, "")
    document = json.loads(koord("doctor", "--snapshot", str(path), "-o", "json").out)
    assert (document["kind"], document["verdict"], document["findings"]) == ("Doctor", "yes", [])


def test_the_configuration_of_the_descheduler_is_read_by_its_name(koord: Run, api: ApiServer) -> None:
    name = "koord-descheduler-config"
    config = "profiles: [{plugins: {balance: {enabled: [{name: LowNodeLoad}]}}}]"
    home = {"name": name, "namespace": "koordinator-system"}
    api.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": home, "data": {name: config}})
    done = koord("doctor", "-o", "json")
    assert findings(done)[-1] == ("descheduler-settings", "info", f"ConfigMap/{name}")
    listed = [one for one in api.log if one.path.endswith("/configmaps") and not one.is_watch]
    asked = [request.query["fieldSelector"] for request in listed]
    assert asked == ["metadata.name=koord-scheduler-config", f"metadata.name={name}"]


def missing(done: Done) -> dict[str, tuple[list[str], str, str]]:
    """Return by object what rights are said to be missing for: all resources, the message, the command."""
    return {
        one["object"]: (one["objects"], one["message"], one["command"])
        for one in json.loads(done.out)["findings"]
        if one["code"] == "rbac-missing"
    }


def forbidden(path: str, *, watch: bool | None = None) -> Rule:
    return Rule(path, 403, "Forbidden", "not yours", watch=watch)


def test_rights_that_other_commands_lack_are_named_with_the_commands_that_are_blind_without_them(
    koord: Run, api: ApiServer
) -> None:
    api.rules[:] = [
        forbidden("/apis/events.k8s.io/v1/events"),
        forbidden("/api/v1/nodes", watch=True),
        forbidden(".*/(persistentvolumes|csinodes)"),
        forbidden("/apis/resource.k8s.io/v1/.*"),
        Rule("/apis/resource.k8s.io/v1", 404, "NotFound", "no such group"),
        forbidden("/api/v1/namespaces/default"),
    ]
    done = koord("doctor", "-o", "json")
    assert (done.code, json.loads(done.out)["verdict"]) == (0, "yes")
    role = "kubectl koord doctor --print-rbac"
    volumes = ("csinodes.storage.k8s.io", "persistentvolumes")
    assert missing(done) == {
        f"{volumes[0]} and 1 more": (
            [*volumes],
            (
                f"the verbs list and watch are missing for {volumes[0]} and {volumes[1]}: not yours; why-pending,"
                " preempt, fit, plan, evict, annotate, topo, gangs, quota, node, doctor, live, serve, snapshot,"
                " diff, domain and scheduler read them and why-pending, preempt, plan, evict, topo, gangs, quota,"
                " live and serve follow changes to them."
            ),
            role,
        ),
        "events.events.k8s.io": (
            [],
            (
                "the verb list is missing for events.events.k8s.io: not yours; why-pending, why-preempted, live,"
                " serve and snapshot read it."
            ),
            role,
        ),
        "namespaces": (
            [],
            (
                "the verb get is missing for namespaces: not yours; why-pending, preempt, why-preempted, fit, plan,"
                " annotate, topo, gangs, quota, live, serve and scheduler read it."
            ),
            role,
        ),
        "nodes": (
            [],
            (
                "the verb watch is missing for nodes: not yours; why-pending, preempt, plan, evict, topo, gangs, quota,"
                " live and serve follow changes to it."
            ),
            role,
        ),
    }
    shown = koord("doctor")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "4 notes.")
    assert f"\n    {role}\n" in shown.out


def test_a_right_that_the_server_does_not_tell_of_is_neither_there_nor_missing(koord: Run, api: ApiServer) -> None:
    api.rules[:] = [Rule("/apis/events.k8s.io/v1/events", 500, "InternalError", "it broke")]
    done = koord("doctor", "-o", "json")
    (one,) = json.loads(done.out)["findings"]
    assert (one["code"], one["object"]) == ("not-checked", "events.events.k8s.io")
    assert one["message"] == "whether you may list events.events.k8s.io could not be found out: it broke."


def test_the_command_of_a_finding_goes_to_the_cluster_that_was_looked_at(koord: Run, api: ApiServer) -> None:
    api.rules[:] = [forbidden("/apis/events.k8s.io/v1/events")]
    done = koord("doctor", "--context", "test", "-o", "json")
    assert [command for _, _, command in missing(done).values()] == ["kubectl koord doctor --print-rbac --context=test"]
