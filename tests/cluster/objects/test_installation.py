"""How Koordinator is installed: which plugins a profile enables, images, replicas, webhooks without a caBundle."""

from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster.collect import Collector, installation
from kubectl_koord.cluster.kinds import WIRE_TYPES
from kubectl_koord.cluster.objects.events import profiles
from kubectl_koord.model.installation import Agents, Deployment, Descheduler, Installation, PriorityClass, Webhooks

KIND = "kind: KubeSchedulerConfiguration\n"


def enabled(plugins: Any, point: str) -> tuple[str, ...]:  # noqa: ANN401 - anything may be written
    (one,) = profiles({"profiles": [{"plugins": plugins}]})
    return one.at(point)


A, B = {"name": "A"}, {"name": "B"}
DEFAULT = "DefaultPreemption"


def test_multi_point_skips_points_that_a_plugin_lacks() -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "PrioritySort"}]}}
    assert enabled(plugins, "queueSort") == ("PrioritySort",)
    assert enabled(plugins, "permit") == ("Coscheduling", "PrioritySort")
    assert enabled({"queueSort": {"enabled": [{"name": "Coscheduling"}]}}, "queueSort") == ("Coscheduling",)


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ({}, (DEFAULT,)),
        (None, (DEFAULT,)),
        ({"postFilter": {"enabled": [A]}}, (DEFAULT, "A")),
        ({"postFilter": {"enabled": [A], "disabled": [{"name": "*"}]}}, ("A",)),
        ({"postFilter": {"disabled": [{"name": DEFAULT}]}}, ()),
        ({"multiPoint": {"disabled": [{"name": "*"}]}}, ()),
        ({"multiPoint": {"enabled": [B]}, "postFilter": {"enabled": [A]}}, (DEFAULT, "B", "A")),
        ({"multiPoint": {"enabled": [B]}, "postFilter": {"enabled": [A, B], "disabled": [B]}}, (DEFAULT, "A", "B")),
        ({"postFilter": {"enabled": "A"}}, (DEFAULT,)),
        ({"postFilter": {"enabled": ["A", A]}}, (DEFAULT, "A")),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_enabled_at_a_point_is_as_kubernetes_merges_it(plugins: object, expected: tuple[str, ...]) -> None:
    assert enabled(plugins, "postFilter") == expected


def test_arguments_are_spelled_as_in_yaml() -> None:
    config = [{"name": "Other"}, {"name": "Coscheduling", "args": {"a": True, "b": 3, "c": None, "d": "60s"}}]
    (one,) = profiles({"profiles": [{"pluginConfig": config, "schedulerName": "mine"}]})
    assert (one.scheduler, one.arguments) == ("mine", (("a", "true"), ("b", "3"), ("c", ""), ("d", "60s")))
    (bare,) = profiles({"profiles": [{"pluginConfig": config[:1]}, "none"]})
    assert (bare.scheduler, bare.arguments) == ("default-scheduler", ())


def taken(*written: dict[str, Any]) -> Installation:
    collector = Collector()
    for one in written:
        collector.add(one["kind"], msgspec.convert(one, WIRE_TYPES[one["kind"]]))
    return installation(collector)


def named(kind: str, name: str, **more: object) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": "koordinator-system"}, **more}


def test_all_that_is_read_of_an_installation() -> None:
    containers = [{"name": "proxy", "image": "p:1"}, {"name": "manager", "image": "m:1", "args": ["--a"]}]
    spec = {"replicas": 0, "template": {"spec": {"containers": containers}}}
    hooks = [{"name": "a", "clientConfig": {"caBundle": "eA=="}}, {"name": "b"}]
    found = taken(
        named("Deployment", "koord-manager", spec=spec, status={}),
        named("Deployment", "koord-scheduler"),
        named("DaemonSet", "koordlet", status={"desiredNumberScheduled": 2, "numberReady": 1}),
        named("DaemonSet", "calico-node"),
        named("PriorityClass", "koord-prod", value=9000),
        named("MutatingWebhookConfiguration", "m", webhooks=hooks),
        named("ValidatingWebhookConfiguration", "v"),
    )
    assert found == Installation(
        deployments=(
            Deployment("koord-manager", "m:1", 0, 0, ("--a",), "koord-manager"),
            Deployment("koord-scheduler", part="koord-scheduler"),
        ),
        priority_classes=(PriorityClass("koord-prod", 9000),),
        webhooks=(
            Webhooks("MutatingWebhookConfiguration", "m", ("b",), ("a", "b")),
            Webhooks("ValidatingWebhookConfiguration", "v"),
        ),
        agents=(Agents("koordinator-system/koordlet", 2, 1),),
        kinds=(
            "DaemonSet",
            "Deployment",
            "MutatingWebhookConfiguration",
            "PriorityClass",
            "ValidatingWebhookConfiguration",
        ),
    )


@pytest.mark.parametrize(
    ("data", "state"),
    [(None, "absent"), ({}, "absent"), ({"koord-scheduler-config": "["}, "unreadable"),
     ({"koord-scheduler-config": "- a"}, "unreadable"), ({"koord-scheduler-config": KIND + "profiles: []"}, "read")],
    ids=str,
)  # fmt: skip
def test_a_configuration_is_absent_unreadable_or_read(data: object, state: str) -> None:
    assert taken(named("ConfigMap", "koord-scheduler-config", data=data)).config == state


def test_the_configuration_of_the_descheduler_is_taken_beside_that_of_the_scheduler() -> None:
    both = (
        named("ConfigMap", "koord-descheduler-config", data={"koord-descheduler-config": "dryRun: true"}),
        named("ConfigMap", "koord-scheduler-config", data={"koord-scheduler-config": KIND + "profiles: []"}),
        named("ConfigMap", "other", data={"other": "["}),
    )
    found = taken(*both)
    assert (found.config, found.descheduler) == ("read", Descheduler(dry_run=True))
    assert taken(*both[1:]).descheduler is None


def test_one_of_another_name_is_found_by_what_it_says_it_is_where_the_deployment_names_its_file() -> None:
    mounted = {"name": "c", "mountPath": "/c"}
    spec = {
        "containers": [
            {"image": "koord-descheduler:v1.8.0", "args": ["--config=/c/d.yaml"], "volumeMounts": [mounted]}
        ],
        "volumes": [{"name": "c", "configMap": {"name": "evictions"}}],
    }
    deployment = named("Deployment", "koord-descheduler", spec={"template": {"spec": spec}})
    text = "kind: DeschedulerConfiguration\ndryRun: true"
    assert taken(deployment, named("ConfigMap", "evictions", data={"d.yaml": text})).descheduler == Descheduler(
        dry_run=True
    )
    assert taken(
        deployment, named("ConfigMap", "evictions", data={"e.yaml": text, "x": ""})
    ).descheduler == Descheduler(dry_run=True)
