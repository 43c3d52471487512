"""Whose behaviour it is: image tag, CRD shape, ConfigMap."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.cluster.objects import scheduler
from kubectl_koord.cluster.recording.kept import kept_settings
from kubectl_koord.model.hardware import NUMASettings, Scoring
from kubectl_koord.model.load import AggregatedThresholds, LoadSettings, Thresholds
from kubectl_koord.model.resource_claims import GATES, ClaimSettings
from kubectl_koord.model.snapshot import SchedulerConfig
from tests.cluster.objects.wire import collect, thing

KIND = "kind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("ghcr.io/koordinator-sh/koord-scheduler:v1.8.0", "1.8"),
        ("koord-scheduler:1.7.0", "1.7"),
        ("koord-scheduler:v1.6.1", "1.7"),
        ("koord-scheduler:v0.9.0", "1.7"),
        ("koord-scheduler:v1.9.0-rc.1", "main"),
        ("koord-scheduler:v2.0", "main"),
        ("koord-scheduler:v1.8", "1.8"),
        ("koord-scheduler:v1.8.0@sha256:0f", "1.8"),
        ("registry:5000/koord-scheduler:v1.7.0", "1.7"),
        ("registry:5000/koord-scheduler", None),
        ("registry:1.8/koord-scheduler:main", "main"),
        ("koord-scheduler:main-8a1b2c3d", "main"),
        ("koord-scheduler:maintenance", None),
        ("koord-scheduler:20261101-8a1b2c3d", "main"),
        ("koord-scheduler:20240101-8a1b2c3d", None),
        ("koord-scheduler:latest", None),
        ("koord-scheduler@sha256:0f", None),
        ("koord-scheduler", None),
    ],
)
def test_the_image_tag_tells_the_version(image: str, found: str | None) -> None:
    assert scheduler.from_image(image) == found


@pytest.mark.parametrize(
    ("schema", "found"),
    [({"questionObjectKey": {}}, "1.8"), ({"questionObjectReference": {}}, "1.7"), ({}, None)],
)
def test_the_schema_of_explanations_tells_the_version(schema: dict[str, Any], found: str | None) -> None:
    assert scheduler.from_explanation_schema({"spec": {"properties": schema}}) == found


def deployment(name: str, *containers: tuple[str, str]) -> dict[str, Any]:
    written = [{"name": container, "image": image} for container, image in containers]
    return thing("Deployment", name, spec={"template": {"spec": {"containers": written}}})


@pytest.mark.parametrize(
    ("objects", "crd", "chosen", "config"),
    [
        ([], None, "", ("1.8", "assumed: newest known release")),
        ([], "1.7", "", ("1.7", "from the CRDs")),
        ([], "1.7", "main", ("main", "as requested")),
        ([deployment("koord-scheduler", ("scheduler", "k:v1.7.0"))], None, "", ("1.7", "from the image tag")),
        (
            [deployment("koord-scheduler", ("proxy", "p:v1.8"), ("scheduler", "k:v1.7.0"))],
            None,
            "",
            ("1.7", "from the image tag"),
        ),
        ([deployment("koord-scheduler", ("main", "k:v1.7.0"))], None, "", ("1.7", "from the image tag")),
        ([deployment("koord-scheduler", ("scheduler", "k:private"))], "1.7", "", ("1.7", "from the CRDs")),
        ([deployment("koord-scheduler")], None, "", ("1.8", "assumed: newest known release")),
        (
            [deployment("koord-manager", ("manager", "k:v1.7.0"))],
            None,
            "",
            ("1.8", "assumed: newest known release"),
        ),
    ],
)
def test_the_best_evidence_for_the_version_wins(
    objects: list[dict[str, Any]], crd: str | None, chosen: str, config: tuple[str, str]
) -> None:
    collector = collect(*objects)
    collector.crd_version = crd
    found = collector.snapshot(moment="", source="file", chosen_version=chosen).config
    assert (found.version, found.version_from) == config


def configured(text: str | None) -> SchedulerConfig:
    return scheduler.config("1.8", "asked", scheduler.parsed(text) if text else None)


ASSUMED = SchedulerConfig("1.8", "asked", unshareable_gpus=(("huawei", "Ascend-310P3-300I-DUO"),))
FULL = """\
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: Other
    args: {enablePreemption: false}
  - name: Coscheduling
    args: {enablePreemption: true, awareNetworkTopology: true, defaultMatchPolicy: only-waiting}
  - name: LoadAwareScheduling
    args: {usageThresholds: {memory: 90, cpu: 70, gpu: 1}, aggregated: {}}
  - name: DeviceShare
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: koordinator.sh/rdma, weight: 2}, {name: a}]}
      gpuShareUnsupportedModels: [{vendor: huawei, model: 310P}]
      disableDeviceNUMATopologyAlignment: true
  - name: NodeNUMAResource
    args:
      defaultCPUBindPolicy: SpreadByPCPUs
      scoringStrategy: {type: LeastAllocated, resources: [{name: memory, weight: 1}]}
      numaScoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
- {}
"""


def test_the_config_map_tells_how_the_scheduler_is_configured() -> None:
    assert configured(FULL) == SchedulerConfig(
        version="1.8",
        version_from="asked",
        profiles=("koord-scheduler", "default-scheduler"),
        differing=("default-scheduler",),
        preemption=True,
        aware_of_topology=True,
        default_match_policy="only-waiting",
        load=structs.replace(
            BY_DEFAULT, thresholds=Thresholds(whole=(("cpu", 70), ("memory", 90))), limits_others=True
        ),
        numa=NUMASettings("SpreadByPCPUs", Scoring((("memory", 1),), most_allocated=True)),
        device_scoring=Scoring((("koordinator.sh/rdma", 2), ("a", 0)), most_allocated=True),
        aligns_devices=False,
        unshareable_gpus=(("huawei", "310P"),),
        assumed=False,
    )


def test_a_snapshot_keeps_all_that_is_read_of_the_configuration() -> None:
    for text in (
        FULL,
        KIND + "profiles: [{pluginConfig: [{name: NodeNUMAResource, args: {defaultCPUBindPolicy: odd}}]}]",
    ):
        assert configured(kept_settings(text)) == configured(text)
    assert configured(FULL).numa != NUMASettings()


def test_what_the_configuration_leaves_out_is_off() -> None:
    found = configured("profiles: [{schedulerName: koord-scheduler}]")
    assert (found.preemption, found.aware_of_topology, found.default_match_policy, found.assumed) == (
        False,
        False,
        "once-satisfied",
        False,
    )


LOAD = """
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: LoadAwareScheduling
    args: %s
"""
BY_DEFAULT = LoadSettings(filters_expired=True, expiration=180)
OFF_FOR_PROD = structs.replace(BY_DEFAULT.thresholds, prod=(("cpu", 0),))


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ("{}", BY_DEFAULT),
        ("{usageThresholds: {cpu: many}}", BY_DEFAULT),
        (
            "{filterExpiredNodeMetrics: false, nodeMetricExpirationSeconds: 300, usageThresholds: {}}",
            LoadSettings(),
        ),
        (
            "{usageThresholds: {cpu: 0, memory: 0}, prodUsageThresholds: {cpu: 55}}",
            structs.replace(BY_DEFAULT, thresholds=Thresholds((("cpu", 0), ("memory", 0)), (("cpu", 55),))),
        ),
        (
            (
                "{aggregated: {usageThresholds: {cpu: 60}, usageAggregationType: p95, usageAggregatedDuration: 10m},"
                " enableScheduleWhenNodeMetricsExpired: true}"
            ),
            structs.replace(
                BY_DEFAULT,
                thresholds=structs.replace(
                    BY_DEFAULT.thresholds, aggregated=AggregatedThresholds((("cpu", 60),), "p95", 600)
                ),
                passes_expired=True,
            ),
        ),
        (
            "{estimatedScalingFactors: {cpu: 50}, estimatedSecondsAfterPodScheduled: 30, prodUsageIncludeSys: true}",
            structs.replace(
                BY_DEFAULT, factors=(("cpu", 50), ("memory", 70)), after_scheduled=30, prod_includes_system=True
            ),
        ),
        ("{allowCustomizeEstimation: true}", structs.replace(BY_DEFAULT, customizable=True)),
        ("{estimatedSecondsAfterInitialized: 30}", structs.replace(BY_DEFAULT, after_initialized=30)),
        ("{estimatedSecondsAfterInitialized: -30, estimatedSecondsAfterPodScheduled: -1}", BY_DEFAULT),
        ("{prodUsageThresholds: {example.com/gpu: 0}}", structs.replace(BY_DEFAULT, thresholds=OFF_FOR_PROD)),
        (
            "{prodUsageThresholds: {example.com/gpu: 80}}",
            structs.replace(BY_DEFAULT, thresholds=OFF_FOR_PROD, limits_others=True),
        ),
        ("{aggregated: {usageThresholds: {example.com/gpu: 80}}}", structs.replace(BY_DEFAULT, limits_others=True)),
    ],
)
def test_the_config_map_tells_how_load_is_looked_at(arguments: str, settings: LoadSettings) -> None:
    assert configured(LOAD % arguments).load == settings


BOMB = "a: &a [x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n" for before, one in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "5",
        "a: [",
        "profiles: 5",
        "profiles: {}",
        "profiles: [5]",
        "a: 2026-13-45",
        "a: " + "[" * 50_000,
        "- " * 5_000,
        "a: &a [*a]",
        "a: 1\n---\nb: 1",
        BOMB,
    ],
)
def test_where_it_cannot_be_read_the_charts_settings_are_assumed(text: str | None) -> None:
    assert configured(text) == ASSUMED


@pytest.mark.parametrize("plugins", ["5", "{}", "[5]", "[{name: Coscheduling, args: 5}]", "[{name: Coscheduling}]"])
def test_odd_plugin_settings_count_as_none(plugins: str) -> None:
    found = configured(f"profiles: [{{pluginConfig: {plugins}}}]")
    assert (found.preemption, found.assumed) == (False, False)


def test_only_the_schedulers_own_config_map_counts() -> None:
    data = {"koord-scheduler-config": FULL}
    other, own = (thing("ConfigMap", name, data=data) for name in ("other", "koord-scheduler-config"))
    foreign = thing("ConfigMap", "other", data={"config.yaml": FULL})
    found = [collect(one).snapshot(moment="", source="file").config.assumed for one in (foreign, other, own)]
    assert found == [True, False, False]


@pytest.mark.parametrize(
    ("election", "elects"),
    [
        ("", True),
        ("leaderElection: 5", True),
        ("leaderElection: {}", True),
        ("leaderElection: {leaderElect: true, resourceName: koord-scheduler}", True),
        ("leaderElection: {leaderElect: false}", False),
        ("leaderElection: {resourceName: mine}", True),
    ],
)
def test_a_lease_leads_unless_configured_otherwise(election: str, elects: bool) -> None:  # noqa: FBT001
    for profiles in ("", "profiles: [{schedulerName: koord-scheduler}]"):
        assert configured(f"{election}\n{profiles}").elects_leader is elects


@pytest.mark.parametrize(
    ("name", "container", "elects"),
    [
        ("koord-scheduler", {"args": ["--v=4", "--leader-elect=false"]}, False),
        ("koord-scheduler", {"command": ["koord-scheduler", "--leader-elect=false"]}, False),
        ("koord-scheduler", {"args": ["--leader-elect=true"]}, True),
        ("koord-scheduler", {}, True),
        ("koord-manager", {"args": ["--leader-elect=false"]}, True),
    ],
)
def test_the_schedulers_flags_may_switch_the_election_off(name: str, container: dict[str, Any], elects: bool) -> None:  # noqa: FBT001
    written = thing("Deployment", name, spec={"template": {"spec": {"containers": [container]}}})
    assert collect(written).snapshot(moment="", source="file").config.elects_leader is elects


@pytest.mark.parametrize(
    ("arguments", "manages"),
    [
        ([], True),
        (["--config=x"], False),
        (["--enable-network-topology-manager"], True),
        (["--enable-network-topology-manager=true"], True),
        (["--enable-network-topology-manager=T"], True),
        (["--enable-network-topology-manager=true", "--enable-network-topology-manager=false"], False),
    ],
)
def test_without_its_flag_the_scheduler_manages_no_topology(arguments: list[str], manages: bool) -> None:  # noqa: FBT001
    container = {"image": "koord-scheduler", "args": arguments}
    deployment = thing("Deployment", "koord-scheduler", spec={"template": {"spec": {"containers": [container]}}})
    text = KIND + "profiles: [{schedulerName: koord-scheduler}]"
    written = thing("ConfigMap", "koord-scheduler-config", data={"koord-scheduler-config": text})
    for objects in ((deployment,), (deployment, written)):
        assert collect(*objects).snapshot(moment="", source="file").config.manages_topology is manages


@pytest.mark.parametrize(
    ("plugins", "flag", "expected"),
    [
        ("{}", "", ClaimSettings()),
        ("{postFilter: {disabled: [{name: '*'}]}}", "", ClaimSettings()),
        ("{postFilter: {disabled: [{name: DynamicResources}]}}", "", ClaimSettings()),
        ("{score: {}}", "", ClaimSettings(releases=True)),
        (
            "{postFilter: {disabled: [{name: '*'}], enabled: [{name: DynamicResources}]}}",
            "DRADeviceTaints=true,Other=true",
            ClaimSettings(frozenset({"DRADeviceTaints"}), releases=True),
        ),
        (
            "{}",
            "AllAlpha=true,DRAConsumableCapacity=false",
            ClaimSettings(frozenset(GATES.values()) - {"DRAConsumableCapacity"}),
        ),
    ],
)
def test_how_resource_claims_are_treated_is_told(plugins: str, flag: str, expected: ClaimSettings) -> None:
    container = {"image": "koord-scheduler", "args": [f"--feature-gates={flag}"] if flag else []}
    deployment = thing("Deployment", "koord-scheduler", spec={"template": {"spec": {"containers": [container]}}})
    text = KIND + f"profiles:\n- schedulerName: koord-scheduler\n  plugins: {plugins}\n"
    written = thing("ConfigMap", "koord-scheduler-config", data={"koord-scheduler-config": text})
    assert collect(deployment, written).snapshot(moment="", source="file").config.claims == expected


NOT_LATER = ("filter", "reserve")


@pytest.mark.parametrize(
    ("plugins", "lacks"),
    [
        ("{}", ()),
        ("[]", ()),
        ("{score: {enabled: [{name: Reservation}]}}", ("preFilter", "filter", "reserve")),
        ("{preFilter: {enabled: [{name: Reservation}]}, filter: {enabled: [{name: Other}, 5]}, reserve: 3}", NOT_LATER),
        ("{multiPoint: {enabled: [{name: Reservation}]}}", ()),
        ("{multiPoint: {enabled: [{name: Reservation}]}, reserve: {disabled: [{name: Reservation}]}}", ("reserve",)),
        ("{multiPoint: {enabled: [{name: Reservation}]}, filter: {disabled: [{name: '*'}]}}", ("filter",)),
    ],
)
def test_the_profile_tells_where_reservations_are_not_enabled(plugins: str, lacks: tuple[str, ...]) -> None:
    found = configured(f"profiles:\n- schedulerName: koord-scheduler\n  plugins: {plugins}\n")
    assert found.plugins.lacks("Reservation") == lacks


OLDER = "; the image is older than 1.7, the first whose rules are known"
NEWER = "; the image may be newer than what answers are compared with, 1.7.0, 1.8.0 and main as of July 2026"


@pytest.mark.parametrize(
    ("image", "newer"),
    [
        ("koord-scheduler:v1.9.0", NEWER),
        ("koord-scheduler:v1.9.0-rc.1", NEWER),
        ("koord-scheduler:v2.0", NEWER),
        ("koord-scheduler:v1.8.1", NEWER),
        ("koord-scheduler:v1.7.2", NEWER),
        ("koord-scheduler:main", NEWER),
        ("koord-scheduler:master-8a1b2c3d", NEWER),
        ("koord-scheduler:main-20261101", NEWER),
        ("koord-scheduler:main-2026-07-25", NEWER),
        ("koord-scheduler:main-20260724", ""),
        ("koord-scheduler:v1.8.0", ""),
        ("koord-scheduler:v1.8.0@sha256:0f", ""),
        ("koord-scheduler:v1.7.0", ""),
        ("koord-scheduler:v1.6.1", OLDER),
        ("registry:5000/koord-scheduler", ""),
        ("koord-scheduler:latest", ""),
        ("", ""),
    ],
)
def test_a_scheduler_that_may_be_newer_than_what_is_known_is_told(image: str, newer: str) -> None:
    assert scheduler.version("main", image, None) == ("main", f"as requested{newer}")
    found = scheduler.from_image(image)
    if found is not None:
        assert scheduler.version("", image, None) == (found, f"from the image tag{newer}")


@pytest.mark.parametrize(
    ("image", "gates", "expected"),
    [
        ("koord-scheduler:latest", "EnableInlineBatchSchedule=true", ("main", "from its feature gates")),
        ("koord-scheduler:v1.8.0", "EnableInlineBatchSchedule=true", ("1.8", "from the image tag")),
        ("koord-scheduler:latest", "SyncBarrier=true,Mine=true", ("1.7", "from the CRDs")),
        ("koord-scheduler:latest", "", ("1.7", "from the CRDs")),
    ],
)
def test_feature_gates_that_one_version_alone_knows_tell_it(image: str, gates: str, expected: tuple[str, str]) -> None:
    assert scheduler.version("", image, "1.7", [f"--feature-gates={gates}"]) == expected
