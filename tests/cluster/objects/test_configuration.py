"""What the scheduler does not decode of its configuration: as its strict decoder, and nothing that it takes."""

from typing import Any

import pytest

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector, installation
from kubectl_koord.cluster.objects.configuration import fault
from kubectl_koord.cluster.recording.kept import UNREADABLE, kept_settings
from kubectl_koord.model.installation import Installation
from kubectl_koord.model.snapshot import Snapshot
from tests.cluster.objects.wire import thing

ITEMS = [{"key": "k", "path": "koord-scheduler.config"}]
API = "apiVersion: kubescheduler.config.k8s.io/v1\n"
KIND = "kind: KubeSchedulerConfiguration\n"
WHOLE = f"""{API}{KIND}
parallelism: 16
leaderElection: {{leaderElect: true, leaseDuration: 15s, resourceLock: leases, resourceName: koord-scheduler}}
clientConnection: {{qps: 50, burst: 100}}
percentageOfNodesToScore: 0
enableProfiling: false
extenders:
- {{urlPrefix: http://x, filterVerb: f, enableHTTPS: true, httpTimeout: 5s, managedResources: [{{name: a.b/c}}]}}
profiles:
- schedulerName: koord-scheduler
  plugins:
    score: {{enabled: [{{name: NodeNUMAResource, weight: 1}}], disabled: [{{name: '*'}}]}}
    multiPoint: null
  pluginConfig:
  - {{name: Mine, args: [whatever]}}
  - name: Coscheduling
  - name: ElasticQuota
    args: {{kind: ElasticQuotaArgs, delayEvictTime: 2m30s, defaultQuotaGroupMax: {{cpu: 10, memory: 1Gi}}, unknown: 1}}
  - name: LoadAwareScheduling
    args: {{usageThresholds: {{cpu: 65}}, aggregated: {{}}, supportedResources: [cpu], estimator: null}}
- schedulerName: other
"""


def of_plugin(arguments: str) -> str:
    return f"{KIND}profiles: [{{pluginConfig: [{{name: Coscheduling, args: {arguments}}}]}}]"


@pytest.mark.parametrize("text", [WHOLE, KIND, of_plugin("{}"), of_plugin("null"), kept_settings(WHOLE)])
def test_what_the_scheduler_takes_has_no_fault(text: str) -> None:
    assert [fault(text, version) for version in ("1.7", "1.8", "main", "")] == [""] * 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "line 2: did not find expected node content"),
        ("- a", "it is no KubeSchedulerConfiguration"),
        ("profiles: []", "it has no kind"),
        ("kind: KubeSchedulerConfig", "its kind is KubeSchedulerConfig, not KubeSchedulerConfiguration"),
        (
            f"apiVersion: kubescheduler.config.k8s.io/v1beta3\n{KIND}",
            "its apiVersion is kubescheduler.config.k8s.io/v1beta3, not kubescheduler.config.k8s.io/v1",
        ),
        (f"apiVersion: v1\n{KIND}", "its apiVersion is v1, not kubescheduler.config.k8s.io/v1"),
        (f"{KIND}{KIND}", "line 2: the key 'kind' stands there twice"),
        (of_plugin("{enablePreemption: true, enablePreemption: false}"), "line 2: the key 'enablePreemption' stands"),
        (f"{KIND}profile: []", "Object contains unknown field `profile`"),
        (f"{KIND}profiles: [{{schedulerName: 1}}]", "Expected `str | null`, got `int` - at `$.profiles[0]"),
        (f"{KIND}leaderElection: {{leaderElect: 'true'}}", "Expected `bool | null`, got `str` - at `$.leaderElection"),
        (f"{KIND}profiles: [{{plugins: {{preFilters: {{}}}}}}]", "Object contains unknown field `preFilters`"),
        (
            of_plugin("{enablePreemption: 'true'}"),
            "profiles[0]: Coscheduling: enablePreemption: Expected `bool | null`",
        ),
        (of_plugin("{controllerWorkers: '1'}"), "profiles[0]: Coscheduling: controllerWorkers: Expected `int | null`"),
        (of_plugin("{defaultTimeout: 5 minutes}"), "profiles[0]: Coscheduling: defaultTimeout: '5 minutes' is no"),
        (of_plugin("[a]"), "profiles[0]: Coscheduling: args are no mapping"),
        (of_plugin("{kind: ElasticQuotaArgs}"), "profiles[0]: Coscheduling: args are of kind ElasticQuotaArgs, not"),
    ],
)
def test_what_the_scheduler_does_not_decode_is_told(text: str, why: str) -> None:
    assert fault(text, "1.8").startswith(why)
    assert kept_settings(text) == UNREADABLE or "v1beta3" in text


def test_the_older_api_is_that_of_1_7_too() -> None:
    assert fault(f"apiVersion: kubescheduler.config.k8s.io/v1beta3\n{KIND}", "1.7") == ""


def deployment(volume: dict[str, Any] | None, mount: dict[str, Any] | None = None, image: str = "v1.8.0") -> Any:  # noqa: ANN401
    mounts = [{"name": "c", "mountPath": "/config", **(mount or {})}, {"name": "absent", "mountPath": "/"}]
    container = {
        "name": "scheduler",
        "image": f"registry.example/koord-scheduler:{image}",
        "args": ["--config=/config/koord-scheduler.config"],
        "volumeMounts": mounts if volume is not None else [],
    }
    volumes = [{"name": "c", **volume}] if volume is not None else []
    spec = {"template": {"spec": {"containers": [container], "volumes": volumes}}}
    return thing("Deployment", "koord-scheduler", namespace="koordinator-system", spec=spec)


def config_map(name: str, key: str = "koord-scheduler.config", text: str = WHOLE) -> Any:  # noqa: ANN401
    return thing("ConfigMap", name, namespace="koordinator-system", data={key: text})


def taken(*objects: Any) -> tuple[Snapshot, Installation]:  # noqa: ANN401
    import json  # noqa: PLC0415

    collector = Collector()
    stored.take("f", json.dumps({"kind": "List", "items": objects}).encode(), collector)
    return collector.snapshot(moment="", source="file"), installation(collector)


@pytest.mark.parametrize(
    ("volume", "mount", "written"),
    [
        ({"configMap": {"name": "ours"}}, {}, config_map("ours")),
        ({"configMap": {"name": "ours", "items": ITEMS}}, {}, config_map("ours", "k")),
        ({"projected": {"sources": [{"secret": {}}, {"configMap": {"name": "ours"}}]}}, {}, config_map("ours")),
        (
            {"configMap": {"name": "ours"}},
            {"mountPath": "/config/koord-scheduler.config", "subPath": "k"},
            config_map("ours", "k"),
        ),
    ],
)  # fmt: skip
def test_the_config_map_is_that_which_the_deployment_mounts(volume: Any, mount: Any, written: Any) -> None:  # noqa: ANN401
    snapshot, found = taken(deployment(volume, mount), written, config_map("koord-scheduler-config", text=KIND))
    assert (found.config, snapshot.config.profiles) == ("read", ("koord-scheduler", "other"))


@pytest.mark.parametrize(
    ("volume", "state", "place", "why"),
    [
        ({"hostPath": {"path": "/etc/k"}}, "elsewhere", "hostPath /etc/k volume", "no ConfigMap: hostPath /etc/k"),
        ({"hostPath": {}}, "elsewhere", "hostPath volume", "no ConfigMap: hostPath"),
        ({"secret": {"secretName": "s"}}, "elsewhere", "Secret volume", "no ConfigMap: Secret"),
        ({"projected": {}}, "elsewhere", "other volume", "no ConfigMap: other"),
        ({"configMap": {"name": "gone"}}, "absent", "key koord-scheduler.config of ConfigMap gone", ""),
        (None, "read", "", ""),
    ],
)
def test_a_config_map_that_the_deployment_does_not_mount_does_not_count(
    volume: Any,  # noqa: ANN401
    state: str,
    place: str,
    why: str,
) -> None:
    snapshot, found = taken(deployment(volume), config_map("mine", "koord-scheduler-config"))
    assert (found.config, found.config_from, snapshot.config.assumed) == (state, place, state != "read")
    assert snapshot.config.unread.endswith(why)
    assert found.config_unused == (() if state == "read" else ("mine",))


def test_what_cannot_be_decoded_is_not_read_but_for_schedulers_older_than_those_that_are_known() -> None:
    twice = config_map("koord-scheduler-config", "koord-scheduler-config", KIND + "profiles: []\nprofiles: []")
    snapshot, found = taken(deployment(None), twice)
    why = "line 3: the key 'profiles' stands there twice"
    assert (found.config, found.config_fault) == ("unreadable", why)
    assert snapshot.config.unread == f"the scheduler cannot start with it: {why}"
    _, older = taken(deployment(None, image="v1.6.0"), twice)
    assert (older.config, older.config_fault) == ("read", "")


def test_plugins_of_ones_own_are_noticed_and_recorded() -> None:
    points = "filter: {enabled: [{name: Ours}, {name: DeviceShare}]}, score: {enabled: [{name: OurScore}]}"
    text = f"{KIND}profiles: [{{plugins: {{{points}}}}}]"
    for one in (text, kept_settings(text)):
        snapshot, _ = taken(config_map("koord-scheduler-config", "koord-scheduler-config", one))
        assert [(told.kind, told.name) for told in snapshot.config.settings] == [("plugin", "Ours")]
