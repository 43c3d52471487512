"""ElasticQuotas as written, and the settings of the scheduler that bear on them."""

import json

import pytest

from kubectl_koord.cluster.objects.settings import quota_settings
from kubectl_koord.model.quotas import IGNORE_TERMINATING, ROOT, UNLIMITED, Quota, QuotaSettings
from tests.cluster.objects.wire import read, thing

PREFIX = "quota.scheduling.koordinator.sh/"


def found(name: str = "team", **more: object) -> Quota:
    (quota,) = read(thing("ElasticQuota", name, **more)).quotas
    return quota


def test_a_quota_is_kept_whole() -> None:
    labels = {
        "parent": "org",
        "is-parent": "true",
        "allow-lent-resource": "false",
        "tree-id": "A",
        "is-root": "true",
        "ignore-default-tree": "true",
        "profile": "gpus",
    }
    annotations = {
        "shared-weight": '{"cpu": "1500m", "memory": 2}',
        "total-resource": '{"cpu": 100}',
        "namespaces": '["a", "b"]',
        "admission": '{"cpu": "3"}',
        "guaranteed": '{"cpu": "4"}',
        "runtime": '{"cpu": "5"}',
    }
    read_one = found(
        labels={PREFIX + key: value for key, value in labels.items()},
        annotations={PREFIX + key: value for key, value in annotations.items()},
        spec={"min": {"cpu": "0", "koordinator.sh/batch-cpu": 7}, "max": {"memory": "1Ki", "cpu": "10"}},
        status={"used": {"cpu": "1"}},
    )

    assert read_one == Quota(
        "default",
        "team",
        min=(("cpu", 0), ("kubernetes.io/batch-cpu", 7)),
        max=(("cpu", 10_000), ("memory", 1024)),
        parent="org",
        weight=(("cpu", 1500), ("memory", 2)),
        lends=False,
        is_parent=True,
        tree="A",
        heads_tree=True,
        beside_default=True,
        total=(("cpu", 100_000),),
        namespaces=("a", "b"),
        admission=(("cpu", 3000),),
        profile="gpus",
        guaranteed=(("cpu", 4000),),
        runtime=(("cpu", 5000),),
        used=(("cpu", 1000),),
    )


def test_what_is_not_written_is_as_the_scheduler_takes_it() -> None:
    assert found() == Quota("default", "team", weighs_max=True)
    assert found(ROOT).parent == ""


@pytest.mark.parametrize("written", ["", "{}", '{"cpu": "0"}', "{", '{"cpu": "x"}', '{"cpu": []}', "[" * 100_000])
def test_a_weight_that_says_nothing_is_the_maximum(written: str) -> None:
    most = {"max": {"cpu": "2"}}

    assert found(annotations={PREFIX + "shared-weight": written}, spec=most).weight == (("cpu", 2000),)


def test_the_plugin_is_configured_by_arguments_and_gates() -> None:
    arguments = {
        "enableRuntimeQuota": False,
        "enableCheckParentQuota": True,
        "enableMinQuotaScale": False,
        "defaultQuotaGroupMax": {"cpu": "4"},
        "systemQuotaGroupMax": {"memory": "1Ki"},
        "quotaGroupNamespace": "quotas",
        "hookPlugins": [{"key": "mine"}, "odd"],
        "disableDefaultQuotaPreemption": False,
        "monitorAllQuotas": True,
    }
    gates = dict.fromkeys(
        (
            "MultiQuotaTree",
            "DisableDefaultQuota",
            "ElasticQuotaGuaranteeUsage",
            "ElasticQuotaImmediateIgnoreTerminatingPod",
            "ElasticQuotaIgnorePodOverhead",
            IGNORE_TERMINATING,
        ),
        True,
    )

    assert quota_settings(arguments, gates) == QuotaSettings(
        by_runtime=False,
        check_parents=True,
        scale_min=False,
        default_max=(("cpu", 4000),),
        system_max=(("memory", 1024),),
        namespace="quotas",
        hooks=("mine",),
        spares_default=False,
        revokes=True,
        trees=True,
        no_default=True,
        guarantees=True,
        ignores_terminating=True,
        open_gates=("ElasticQuotaIgnorePodOverhead",),
    )


def test_a_gate_about_pods_that_terminate_is_open_unless_another_leaves_them_all_out() -> None:
    gates = {IGNORE_TERMINATING: True}

    assert quota_settings({}, gates).open_gates == (IGNORE_TERMINATING,)
    assert quota_settings({}, {**gates, "ElasticQuotaImmediateIgnoreTerminatingPod": True}).open_gates == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"enableRuntimeQuota": "no", "hookPlugins": "mine", "defaultQuotaGroupMax": {"cpu": "x"}},
        {"systemQuotaGroupMax": ["cpu"], "defaultQuotaGroupMax": {}},
    ],
)
def test_what_is_not_readable_is_as_by_default(arguments: dict[str, object]) -> None:
    assert quota_settings(arguments, {}) == QuotaSettings()
    assert dict(UNLIMITED) == {"cpu": 1844674407370955161000, "memory": 1844674407370955161}


def test_the_cluster_configures_quotas_in_the_config_map_and_in_the_flags_of_the_deployment() -> None:
    flags = ["--v=4", "--feature-gates=MultiQuotaTree=true,Other=false"]
    container = {"name": "scheduler", "image": "koord-scheduler:v1.8.0", "args": flags}
    deployment = thing("Deployment", "koord-scheduler", spec={"template": {"spec": {"containers": [container]}}})
    plugin = {"name": "ElasticQuota", "args": {"enableCheckParentQuota": True}}
    profile = {"schedulerName": "koord-scheduler", "pluginConfig": [plugin]}
    written = {"koord-scheduler-config": json.dumps({"kind": "KubeSchedulerConfiguration", "profiles": [profile]})}

    assert read(deployment).config.quotas == QuotaSettings(trees=True)
    both = read(deployment, thing("ConfigMap", "koord-scheduler-config", data=written))
    assert both.config.quotas == QuotaSettings(trees=True, check_parents=True)


@pytest.mark.parametrize(
    ("weight", "follows"), [('{"cpu": "2"}', False), ('{"cpu": "0"}', True), ("{", True), ("", True)]
)
def test_a_weight_that_is_not_written_is_the_maximum_and_follows_it(weight: str, *, follows: bool) -> None:
    quota = found(annotations={PREFIX + "shared-weight": weight}, spec={"max": {"cpu": "4"}})
    assert (quota.weighs_max, quota.key) == (follows, "default/team")
    assert (quota.weight == quota.max) is follows
