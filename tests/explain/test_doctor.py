"""What doctor finds: for each code a cluster that has it, and the nearest one that has not."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pytest
from msgspec import structs

from kubectl_koord.cluster import stored
from kubectl_koord.diagnosis.doctor import command_of, remedy
from kubectl_koord.explain.doctor import doctor
from kubectl_koord.model.hardware import NodeNUMA, Zone
from kubectl_koord.model.installation import (
    Agents,
    Deployment,
    Installation,
    Lack,
    PriorityClass,
    Profile,
    Right,
    Webhooks,
)
from kubectl_koord.model.load import AggregatedThresholds, ExpectedUse, NodeMetric, Thresholds
from kubectl_koord.model.objects import Layer, Lease
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.reports.common import DoctorCode, members
from kubectl_koord.reports.operation import DoctorReport, Finding
from tests.build import (
    BLOCK,
    BLOCK_KEY,
    LAYERS,
    MOMENT,
    NODE,
    ROOT,
    SPINE,
    SPINE_KEY,
    Drawing,
    card,
    cluster,
    cpus,
    devices,
    having,
    holding,
    pending,
    rules,
)

TREE = "s0: b0[n1:8 n2:8] b1[n3:8 n4:8]; s1: b2[n5:8 n6:8]"
POINTS = ("preEnqueue", "preFilter", "postFilter", "reserve", "permit", "postBind")
PLUGINS = tuple((point, ("Reservation", "Coscheduling")) for point in POINTS)
PROFILE = Profile("koord-scheduler", PLUGINS, (("enablePreemption", "true"), ("awareNetworkTopology", "true")))
MANAGES = "--enable-network-topology-manager=true"
MUTATING = "koordinator-mutating-webhook-configuration"
VALIDATING = "koordinator-validating-webhook-configuration"
INSTALLED = Installation(
    deployments=(
        Deployment("koord-manager", "r/koord-manager:v1.8.0", 2, 2),
        Deployment("koord-scheduler", "r/koord-scheduler:v1.8.0", 2, 2, (MANAGES,)),
    ),
    priority_classes=(
        PriorityClass("koord-batch", 5000),
        PriorityClass("koord-free", 3999),
        PriorityClass("koord-mid", 7000),
        PriorityClass("koord-prod", 9000),
    ),
    webhooks=(
        Webhooks("MutatingWebhookConfiguration", MUTATING),
        Webhooks("ValidatingWebhookConfiguration", VALIDATING),
    ),
    config="read",
    profiles=(PROFILE,),
)
KINDS = (
    "ConfigMap",
    "DaemonSet",
    "Deployment",
    "Device",
    "MutatingWebhookConfiguration",
    "Node",
    "PriorityClass",
    "ValidatingWebhookConfiguration",
)
GPU = "nvidia.com/gpu"
Change: TypeAlias = Callable[[Drawing], Drawing]


def sound() -> Drawing:
    """Return a small cluster in which nothing is wrong: nodes in a tree, a gang that runs, and one that waits."""
    drawn = cluster(TREE).with_gang("job", 2, must_gather=SPINE).with_running("run-0", "n1", gang="default/run")
    leases = (Lease("koord-scheduler", "a", MOMENT, seen=MOMENT),)
    return drawn.with_group("run", 1, phase="Running").but(installation=INSTALLED, leases=leases)


def codes(drawn: Drawing) -> list[tuple[str, str, str]]:
    return [(one.code, one.severity, one.object) for one in doctor(drawn).findings]


def installed(**fields: object) -> Change:
    return lambda drawn: drawn.but(installation=structs.replace(INSTALLED, **fields))


def scheduler(**fields: object) -> Change:
    manager, usual = INSTALLED.deployments
    return installed(deployments=(manager, structs.replace(usual, **fields)))


GANG = "gang.scheduling.koordinator.sh/"
AGENTS = "koordinator-system/koordlet"


def koordlet(*nodes: str, unready: bool = False) -> Change:
    def changed(drawn: Drawing) -> Drawing:
        for name in nodes:
            pod = f"koordinator-system/koordlet-{name}"
            drawn = drawn.with_running(pod, name, owner="DaemonSet/koordlet", of_daemon_set=True, unready=unready)
        return drawn

    return changed


def manager(**fields: object) -> Change:
    usual, other = INSTALLED.deployments
    return installed(deployments=(structs.replace(usual, **fields), other))


def priority(name: str, value: int) -> Change:
    every = {one.name: one for one in INSTALLED.priority_classes} | {name: PriorityClass(name, value)}
    return installed(priority_classes=tuple(every.values()))


def plugins(**changed: tuple[str, ...]) -> Change:
    return installed(profiles=(structs.replace(PROFILE, plugins=tuple((dict(PLUGINS) | changed).items())),))


def arguments(version: str = "1.8", **written: str) -> Change:
    profile = structs.replace(PROFILE, arguments=(*PROFILE.arguments, *written.items()))
    return lambda drawn: installed(profiles=(profile,))(drawn).version(version)


def lease(renewed: str) -> Change:
    return lambda drawn: drawn.but(leases=(Lease("koord-scheduler", "a", renewed, seen=MOMENT),))


def labelled(*nodes: str, **labels: str) -> Change:
    """Label nodes; an empty value takes a label away."""

    def changed(drawn: Drawing) -> Drawing:
        for name in nodes:
            kept = dict(drawn.nodes[name].labels) | {key.replace("__", "/"): value for key, value in labels.items()}
            drawn = drawn.change(name, labels=tuple(sorted((key, value) for key, value in kept.items() if value)))
        return drawn

    return changed


def drawing(tree: str, layers: tuple[Layer, ...] = LAYERS) -> Change:
    def changed(drawn: Drawing) -> Drawing:
        other = cluster(tree, layers)
        return drawn.but(nodes=other.nodes, topologies=other.topologies, running={}, pod_groups={}, pending=())

    return changed


def gpus(name: str, *cards: int, **fields: object) -> Change:
    """Give a node GPUs, and a Device with so many of them; without a Device where none is given."""
    room = (*cpus(8, nvidia_gpu=8), ("pods", 110))
    held = devices(*(structs.replace(card(minor), **fields) for minor in range(cards[0]))) if cards else None
    return lambda drawn: drawn.change(name, allocatable=tuple(sorted(room)), devices=held)


def measured(system: float, **thresholds: object) -> Change:
    metric = NodeMetric(
        cpus(system), MOMENT, system=cpus(system), thresholds=structs.replace(Thresholds(), **thresholds)
    )
    return lambda drawn: drawn.change(*drawn.nodes, metric=metric)


def wants(amount: int, **fields: object) -> Change:
    expected = (ExpectedUse("cpu", amount),)
    big = pending("big", amount / 1000, expected=expected, **fields)
    return lambda drawn: measured(0)(drawn).with_pods(big)


def both(*changes: Change) -> Change:
    def changed(drawn: Drawing) -> Drawing:
        for change in changes:
            drawn = change(drawn)
        return drawn

    return changed


def group(name: str = "run", **fields: object) -> Change:
    return lambda drawn: drawn.with_group(name, 1, **fields)


SWAPPED = (Layer(BLOCK, ROOT, (BLOCK_KEY,)), Layer(SPINE, BLOCK, (SPINE_KEY,)), Layer(NODE, SPINE))
TOPOLOGY, CONFIG = "ClusterNetworkTopology/default", "ConfigMap/koord-scheduler-config"
LATE, LATELY = "2026-11-20T09:00:00Z", "2026-11-20T09:59:50Z"
NVIDIA = "network.topology.nvidia.com"
RENAMED = both(
    lambda drawn: drawn.with_layers(
        Layer(SPINE, ROOT, (f"{NVIDIA}/spine",)), Layer(BLOCK, SPINE, (f"{NVIDIA}/block",)), Layer(NODE, BLOCK)
    ),
    labelled("n1", "n2", "n3", **{f"{NVIDIA}__spine": "s", f"{NVIDIA}__block": "b"}),
)


def newer(*nodes: str) -> Change:
    tiers = {"fabric.topograph.run__tier-1": "s", "fabric.topograph.run__tier-0": "b"}
    return both(RENAMED, labelled(*nodes, **tiers), lambda drawn: drawn.but(nodes={n: drawn.nodes[n] for n in nodes}))


CASES: dict[str, tuple[Change, str, str, Change]] = {
    "deployment-missing": (
        installed(deployments=INSTALLED.deployments[:1]),
        "error",
        "Deployment/koord-scheduler",
        lambda drawn: drawn,
    ),
    "deployment-unavailable": (
        scheduler(available=0),
        "error",
        "Deployment/koord-scheduler",
        scheduler(available=None),
    ),
    "koordlet-not-ready": (
        both(installed(agents=(Agents(AGENTS, 2, 1),)), koordlet("n1", unready=True)),
        "warning",
        f"DaemonSet/{AGENTS}",
        both(installed(agents=(Agents(AGENTS, 1, 1),)), koordlet("n1")),
    ),
    "version-unsupported": (
        both(
            lambda drawn: drawn.version("1.7"),
            installed(
                deployments=tuple(structs.replace(one, image=f"r/{one.name}:v1.6.2") for one in INSTALLED.deployments)
            ),
        ),
        "warning",
        "Deployment/koord-scheduler",
        installed(
            deployments=tuple(structs.replace(one, image=f"r/{one.name}:v1.7.0") for one in INSTALLED.deployments)
        ),
    ),
    "version-newer": (
        installed(
            deployments=tuple(structs.replace(one, image=f"r/{one.name}:v1.9.0") for one in INSTALLED.deployments)
        ),
        "warning",
        "Deployment/koord-scheduler",
        lambda drawn: drawn,
    ),
    "versions-differ": (
        manager(image="other.registry:5000/koord-manager:v1.7.1"),
        "warning",
        "Deployment/koord-scheduler and 1 more",
        manager(image="other.registry:5000/koord-manager:v1.8.0@sha256:00"),
    ),
    "no-scheduler": (lease(LATE), "error", "Lease/koord-scheduler", lease(LATELY)),
    "lease-missing": (
        lambda drawn: drawn.but(leases=()),
        "warning",
        "Lease/koord-scheduler",
        lambda drawn: drawn.but(leases=()).configured(elects_leader=False),
    ),
    "crd-missing": (
        lambda drawn: drawn.with_gap("Reservation", "missing"),
        "error",
        "CustomResourceDefinition/Reservation",
        lambda drawn: drawn.with_gap("Reservation", "not-in-input"),
    ),
    "webhook-missing": (
        installed(webhooks=INSTALLED.webhooks[:1]),
        "warning",
        f"ValidatingWebhookConfiguration/{VALIDATING}",
        lambda drawn: drawn,
    ),
    "webhook-without-ca": (
        installed(
            webhooks=(INSTALLED.webhooks[0], Webhooks("ValidatingWebhookConfiguration", VALIDATING, ("vpod", "vquota")))
        ),
        "error",
        f"ValidatingWebhookConfiguration/{VALIDATING}",
        installed(webhooks=(*INSTALLED.webhooks, Webhooks("ValidatingWebhookConfiguration", "other", ("x",)))),
    ),
    "priority-class-missing": (
        installed(priority_classes=INSTALLED.priority_classes[:-1]),
        "warning",
        "PriorityClass/koord-prod",
        installed(priority_classes=(*INSTALLED.priority_classes, PriorityClass("mine", 1))),
    ),
    "priority-class-value": (
        priority("koord-batch", 6000),
        "error",
        "PriorityClass/koord-batch",
        priority("koord-batch", 5999),
    ),
    "config-unreadable": (
        installed(config="unreadable", profiles=()),
        "error",
        CONFIG,
        installed(config="absent", profiles=()),
    ),
    "config-elsewhere": (
        installed(config="elsewhere", config_from="hostPath volume", profiles=()),
        "warning",
        "Deployment/koord-scheduler",
        installed(config="absent", config_from="", profiles=()),
    ),
    "plugin-not-enabled": (
        plugins(permit=(), postBind=("Other",)),
        "error",
        CONFIG,
        plugins(filter=()),
    ),
    "reservation-not-reserved": (
        plugins(reserve=("Coscheduling",)),
        "warning",
        CONFIG,
        plugins(permit=("Coscheduling",)),
    ),
    "two-preemptions": (
        plugins(postFilter=("Coscheduling", "DefaultPreemption")),
        "warning",
        CONFIG,
        installed(
            profiles=(
                structs.replace(
                    PROFILE, plugins=(*PLUGINS, ("postFilter", ("Coscheduling", "DefaultPreemption"))), arguments=()
                ),
            )
        ),
    ),
    "no-job-preemption": (
        installed(profiles=(structs.replace(PROFILE, arguments=()),)),
        "warning",
        CONFIG,
        lambda drawn: drawn,
    ),
    "unknown-setting": (arguments("1.7", defaultMatchPolicy="once-satisfied"), "error", CONFIG, arguments()),
    "invalid-setting": (
        arguments(apiVersion="kubescheduler.config.k8s.io/v1beta3"),
        "error",
        CONFIG,
        arguments("1.7", apiVersion="kubescheduler.config.k8s.io/v1beta3"),
    ),
    "topology-manager-off": (
        scheduler(flags=("--config=x",)),
        "error",
        "Deployment/koord-scheduler",
        scheduler(flags=()),
    ),
    "topology-not-aware": (
        lambda drawn: drawn.but(pending=(), pod_groups={}).configured(aware_of_topology=False),
        "warning",
        CONFIG,
        lambda drawn: drawn.but(pending=(), pod_groups={}, topologies={}).configured(aware_of_topology=False),
    ),
    "no-topology": (
        lambda drawn: drawn.but(topologies={}),
        "error",
        TOPOLOGY,
        lambda drawn: drawn.but(topologies={}, pod_groups={}, pending=()),
    ),
    "topology-other-name": (
        lambda drawn: drawn.with_layers(*LAYERS, name="main"),
        "error",
        "ClusterNetworkTopology/main",
        lambda drawn: drawn.but(topologies={**drawn.topologies, **drawn.with_layers(*LAYERS, name="main").topologies}),
    ),
    "broken-layer-chain": (
        lambda drawn: drawn.with_layers(LAYERS[0], LAYERS[2]),
        "error",
        TOPOLOGY,
        lambda drawn: drawn.with_layers(LAYERS[0], Layer(NODE, SPINE)),
    ),
    "layer-cycle": (
        lambda drawn: drawn.with_layers(Layer(SPINE, BLOCK, (SPINE_KEY,)), *LAYERS[1:], Layer("RackLayer", ROOT)),
        "error",
        TOPOLOGY,
        lambda drawn: drawn.with_layers(*LAYERS),
    ),
    "merged-domains": (
        drawing("s0: b0[n1 n2] b1[n3 n4]; s1: b0[n5] b1[n6]"),
        "error",
        f"{BLOCK}/b0 and 1 more",
        drawing("s0: b0[n1 n2] b1[n3 n4]; s1: b2[n5 n6]"),
    ),
    "layers-reversed": (
        drawing(f"{TREE}; s1: b3[n7 n8]", SWAPPED),
        "error",
        f"ClusterNetworkTopology/{BLOCK} and 1 more",
        drawing(f"{TREE}; s1: b3[n7 n8]"),
    ),
    "outside-nodes": (
        labelled("n5", network__spine=""),
        "warning",
        "Node/n5",
        both(labelled("n5", network__spine=""), labelled("n5", **{"node-role.kubernetes.io__control-plane": "true"})),
    ),
    "virtual-domains": (labelled("n5", network__block=""), "warning", "Node/n5", labelled("n5", other="")),
    "stale-status": (
        lambda drawn: drawn.with_status(("SpineLayer", "s0", 3)),
        "warning",
        TOPOLOGY,
        lambda drawn: drawn.with_status(
            (ROOT, "", 6), (SPINE, "s0", 4), (SPINE, "s1", 2), (BLOCK, "b0", 2), (BLOCK, "b1", 2), (BLOCK, "b2", 2)
        ),
    ),
    "placeholder-label": (
        labelled("n5", "n6", network__block="No-IMDS-data"),
        "warning",
        "Node/n5 and 1 more",
        labelled("n5", "n6", network__block="imds"),
    ),
    "one-node-domains": (
        drawing("s0: b0[n1] b1[n2]"),
        "warning",
        f"ClusterNetworkTopology/{BLOCK}",
        drawing("s0: b0[n1] b1[n2 n3]"),
    ),
    "device-empty": (gpus("n1", 0), "error", "Node/n1", gpus("n1", 8)),
    "device-missing": (gpus("n1"), "warning", "Node/n1", gpus("n1", 8)),
    "device-not-booked": (
        lambda drawn: gpus("n1", 2)(drawn).with_running("low", on="n1", requests=cpus(1, nvidia_gpu=1)),
        "warning",
        "Pod/default/low",
        lambda drawn: gpus("n1", 2)(drawn).with_running(
            "low", on="n1", requests=cpus(1, nvidia_gpu=1), allocations=holding(0)
        ),
    ),
    "doubly-booked": (
        lambda drawn: (
            gpus("n1", 2)(drawn)
            .with_running("a", on="n1", allocations=holding(0))
            .with_running("b", on="n1", allocations=holding(0))
        ),
        "error",
        "Pod/default/a and 1 more",
        lambda drawn: (
            gpus("n1", 2)(drawn)
            .with_running("a", on="n1", allocations=holding(0))
            .with_running("b", on="n1", allocations=holding(1))
        ),
    ),
    "cards-lost": (
        lambda drawn: gpus("n1", 8)(drawn).change("n1", lost=(("nvidia.com/gpu", 2),)),
        "warning",
        "Node/n1",
        gpus("n1", 8),
    ),
    "resource-not-offered": (
        both(
            labelled("n1", **{"nvidia.com__gpu.present": "true"}),
            lambda drawn: drawn.change("n1", devices=devices(card())),
        ),
        "error",
        "Node/n1",
        both(gpus("n1", 1), labelled("n1", **{"nvidia.com__gpu.present": "true"})),
    ),
    "device-unhealthy": (gpus("n1", 1, healthy=False), "warning", "Node/n1", gpus("n1", 1)),
    "numa-policy-unknown": (
        lambda drawn: drawn.change("n1", numa=NodeNUMA(policy="Unknown", unknown_policy="None")),
        "error",
        "Node/n1",
        lambda drawn: drawn.change("n1", numa=NodeNUMA(policy="Restricted")),
    ),
    "numa-policy-ignored": (
        lambda drawn: drawn.change("n1", "n2", numa=NodeNUMA(ignored_policy="RestrictedPodLevel")),
        "warning",
        "Node/n1 and 1 more",
        lambda drawn: drawn.change("n1", numa=NodeNUMA(policy="Restricted")),
    ),
    "threshold-never-met": (wants(6200), "error", "Pod/default/big", wants(6100)),
    "rbac-missing": (
        lambda drawn: drawn.with_gap("Event"),
        "info",
        "Event",
        lambda drawn: drawn,
    ),
    "not-checked": (
        lambda drawn: drawn.with_gap("PriorityClass", "missing"),
        "info",
        "PriorityClass",
        lambda drawn: drawn,
    ),
    "no-podgroup": (
        lambda drawn: drawn.with_pod("lost-0", "lost"),
        "error",
        "Gang/default/lost",
        lambda drawn: drawn.with_pod("lost-0", "lost").with_group("lost", 1),
    ),
    "gang-not-initialised": (
        lambda drawn: drawn.with_light_gang("light", gang_terms=GangAnnotations(minimum="three")),
        "error",
        "Gang/default/light",
        lambda drawn: drawn.with_light_gang("light", gang_terms=GangAnnotations(minimum="1")),
    ),
    "group-member-missing": (
        lambda drawn: drawn.with_gang("a", groups='["default/a", "default/gone"]'),
        "error",
        "Gang/default/a",
        lambda drawn: drawn.with_gang("a", groups='["default/a"]'),
    ),
    "groups-differ": (
        lambda drawn: drawn.with_gang("a", groups='["default/a", "default/b"]').with_gang("b"),
        "error",
        "Gang/default/a",
        lambda drawn: drawn.with_gang("a", groups='["default/a"]').with_gang("b"),
    ),
    "groups-unreadable": (group(groups="default/a"), "warning", "Gang/default/run", group(groups='["default/run"]')),
    "topology-spec-unreadable": (
        group(topology="SpineLayer"),
        "warning",
        "Gang/default/run",
        group(topology=rules(f"MustGather {SPINE}")),
    ),
    "unknown-layer": (
        lambda drawn: drawn.with_gang("a", must_gather="RackLayer"),
        "error",
        "Gang/default/a",
        lambda drawn: drawn.with_gang("a", must_gather=BLOCK),
    ),
    "unknown-strategy": (
        group(topology=rules(f"Gather {SPINE}")),
        "warning",
        "Gang/default/run",
        group(topology=rules(f"PreferGather {SPINE}")),
    ),
    "min-member-zero": (
        lambda drawn: drawn.with_gang("a", minimum=0),
        "warning",
        "Gang/default/a",
        lambda drawn: drawn.with_gang("a", minimum=1),
    ),
    "stale-phase": (
        lambda drawn: drawn.with_gang("a", phase="Finished"),
        "warning",
        "Gang/default/a",
        lambda drawn: drawn.with_gang("a", phase="Pending"),
    ),
    "foreign-gang-marker": (
        lambda drawn: drawn.with_pod("lone", foreign_gang="scheduling.x-k8s.io/pod-group"),
        "warning",
        "Pod/default/lone",
        lambda drawn: drawn.with_pod(
            "lone", foreign_gang="scheduling.x-k8s.io/pod-group", scheduler="default-scheduler"
        ),
    ),
    "misspelt-key": (
        lambda drawn: drawn.with_gang("a", annotations=((f"{GANG}network-topology-specs", "{}"),)),
        "warning",
        "Gang/default/a",
        lambda drawn: drawn.with_gang("a", annotations=((f"{GANG}waiting-time", "9s"), (f"{GANG}note", "b"))),
    ),
}


def test_what_is_wrong_with_quotas_is_found_as_by_quota() -> None:
    drawn = sound().with_quota("team", cpu=-1)
    assert codes(drawn) == [("quota-negative", "error", "ElasticQuota/team")]
    unseen = [code for code, _, _ in codes(drawn.with_gap("Node"))]
    assert unseen == ["quota-negative", "rbac-missing"]
    assert [code for code, _, _ in codes(drawn.with_gap("ElasticQuota"))] == ["rbac-missing"]
    assert codes(sound().with_quota("team", cpu=1)) == []


OF_DESCHEDULER = {"descheduler-unreadable", "descheduler-settings", "descheduler-breaks-gangs"}
"""Found in tests/diagnosis/test_descheduler.py."""
OTHERWISE = {"selector-outside-tree", "differing-specs", "mixed-schedulers", "index-not-honoured", "renamed-labels"}
OTHERWISE |= OF_DESCHEDULER


def messages(change: Change) -> list[str]:
    return [finding.message for finding in doctor(change(sound())).findings]


def test_a_configuration_that_is_not_decoded_is_told_with_the_reason_and_of_a_scheduler_that_runs() -> None:
    stopped = tuple(structs.replace(one, available=None) for one in INSTALLED.deployments)
    broken = installed(config="unreadable", config_fault="it has no kind", profiles=(), deployments=stopped)
    what = "the configuration cannot be decoded as the scheduler does: it has no kind:"
    assert messages(broken) == [f"{what} the scheduler cannot start."]
    again = "the scheduler that runs has read another, and cannot start again with this one."
    assert messages(installed(config="unreadable", config_fault="it has no kind", profiles=())) == [f"{what} {again}"]
    assert messages(installed(config="unreadable", profiles=()))[0].endswith(again)


def test_what_the_scheduler_mounts_instead_is_told() -> None:
    absent = installed(config="absent", config_from="key k of ConfigMap a", config_unused=("b", "c"), profiles=())
    what = "koord-scheduler reads its configuration from the key k of ConfigMap a, which was not seen"
    assert messages(absent) == [f"{what}; the ConfigMaps b and c are not mounted."]
    one = installed(config="absent", config_from="key k of ConfigMap a", config_unused=("b",), profiles=())
    assert messages(one) == [f"{what}; ConfigMap b is not mounted."]


def test_the_configuration_of_a_scheduler_that_is_older_than_all_that_are_known_is_not_judged() -> None:
    odd = structs.replace(PROFILE, plugins=(("queueSort", ("Coscheduling",)),))
    older = tuple(structs.replace(one, image="r/koord-scheduler:v1.6.0") for one in INSTALLED.deployments)
    assert "invalid-setting" in [code for code, _, _ in codes(installed(profiles=(odd,))(sound()))]
    assert [code for code, _, _ in codes(installed(profiles=(odd,), deployments=older)(sound()))] == [
        "version-unsupported"
    ]


def test_every_code_is_among_the_cases_or_has_a_test_of_its_own() -> None:
    assert CASES.keys() | OTHERWISE == {*members(DoctorCode)}


def test_nothing_is_found_in_a_sound_cluster() -> None:
    assert doctor(sound()) == DoctorReport("yes", doctor(sound()).basis, (), (), nodes=6, gangs=2)


@pytest.mark.parametrize("code", CASES)
def test_each_code_is_found_where_it_holds_and_nothing_in_the_nearest_cluster_without(code: str) -> None:
    change, severity, about, nearest = CASES[code]
    assert codes(change(sound())) == [(code, severity, about)]
    assert codes(nearest(sound())) == []


def only(drawn: Drawing) -> Finding:
    (one,) = doctor(drawn).findings
    return one


def test_a_finding_carries_its_evidence_and_its_remedy() -> None:
    assert only(labelled("n5", "n6", network__spine="")(sound())) == Finding(
        "outside-nodes",
        "warning",
        "Node/n5 and 1 more",
        "2 nodes lack the label network/spine (n5 and n6): outside the tree, where gangs with a topology spec are never"
        " placed.",
        remedy("outside-nodes"),
        ("n5", "n6"),
    )


def test_koordlets_that_are_not_ready_are_told_with_their_nodes_and_where_to_look() -> None:
    drawn = koordlet("n2")(koordlet("n1", unready=True)(installed(agents=(Agents(AGENTS, 3, 1),))(sound())))
    one = only(drawn)
    assert one.message == (
        "1 of 3 pods of koordlet is ready; not on n1: Device, NodeMetric and NUMA zones there are out of date, or"
        " missing."
    )
    assert one.command == "kubectl get pods -A -o wide -l koord-app=koordlet"
    assert "; not on n1 and n2: " in only(installed(agents=(Agents(AGENTS, 2),))(drawn)).message
    none = installed(agents=(Agents(AGENTS, 2),))(sound())
    assert only(none).message.startswith("0 of 2 pods of koordlet are ready: Device")


def test_pods_with_a_marker_of_another_gang_scheduler_are_one_finding() -> None:
    drawn = sound()
    for name in ("a", "b"):
        drawn = drawn.with_pod(name, foreign_gang="scheduling.x-k8s.io/pod-group")
    one = only(drawn)
    assert (one.object, one.objects) == ("Pod/default/a and 1 more", ("default/a", "default/b"))
    assert one.message.startswith("Koordinator ignores scheduling.x-k8s.io/pod-group of 2 pods: ")


def test_a_scheduler_without_pods_and_without_a_lease_is_told_once() -> None:
    drawn = scheduler(available=0)(sound())
    own = Deployment("koord-scheduler", wanted=2, available=0)
    assert only(drawn.configured(deployment=own).but(leases=None)).code == "deployment-unavailable"


OTHER_WAYS: dict[str, tuple[Change, tuple[str, str, str]]] = {
    "one replica": (scheduler(available=1), ("deployment-unavailable", "warning", "Deployment/koord-scheduler")),
    "scaled down": (
        manager(wanted=0, available=0),
        ("deployment-unavailable", "error", "Deployment/koord-manager"),
    ),
    "no manager": (
        installed(deployments=INSTALLED.deployments[1:]),
        ("deployment-missing", "warning", "Deployment/koord-manager"),
    ),
    "no koordlet": (
        both(installed(agents=(Agents(AGENTS, 2, 0),)), koordlet("n1", "n2")),
        ("koordlet-not-ready", "error", f"DaemonSet/{AGENTS}"),
    ),
    "queue sort": (plugins(queueSort=("Coscheduling",)), ("invalid-setting", "error", CONFIG)),
    "no worker": (arguments(controllerWorkers="0"), ("invalid-setting", "error", CONFIG)),
    "negative time": (arguments(defaultTimeout="-1s"), ("invalid-setting", "error", CONFIG)),
    "no such policy": (arguments(defaultMatchPolicy="always"), ("unknown-setting", "warning", CONFIG)),
    "misspelled": (arguments(enablePremption="true"), ("unknown-setting", "error", CONFIG)),
    "one of two profiles": (
        installed(profiles=(PROFILE, structs.replace(PROFILE, plugins=PLUGINS[:-1]))),
        ("plugin-not-enabled", "error", CONFIG),
    ),
    "busy system": (measured(6), ("threshold-never-met", "warning", "Node/n1 and 5 more")),
    "prod": (
        both(wants(6200, is_prod=True), measured(0, prod=(("cpu", 65),))),
        ("threshold-never-met", "error", "Pod/default/big"),
    ),
}


@pytest.mark.parametrize("name", OTHER_WAYS)
def test_other_ways_to_the_same_codes(name: str) -> None:
    change, expected = OTHER_WAYS[name]
    assert codes(change(sound())) == [expected]


RIGHT: dict[str, Change] = {
    "a gang that is not complete yet": lambda drawn: drawn.with_gang("a", 1, minimum=2),
    "usage over a time counts": both(wants(6200), measured(0, aggregated=AggregatedThresholds((("cpu", 90),), "p95"))),
    "a node is not measured": both(wants(6200), lambda drawn: drawn.change("n1", metric=None)),
    "a topology selector": lambda drawn: drawn.change_pods("job-0", selector=having(app="x")),
    "of a DaemonSet": wants(6200, of_daemon_set=True),
    "of another scheduler": wants(6200, scheduler="default-scheduler"),
    "arguments": arguments(controllerWorkers="4", defaultTimeout="60s", defaultMatchPolicy="only-waiting"),
    "a Device with cards": both(
        labelled("n1", **{"nvidia.com__gpu.present": "true"}),
        lambda drawn: drawn.change("n1", allocatable=cpus(8, nvidia_gpu=1), devices=devices(card())),
    ),
    "no cards and no Device": labelled("n1", **{"nvidia.com__gpu.present": "false"}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not_found(name: str) -> None:
    assert codes(RIGHT[name](sound())) == []


def test_a_label_that_names_no_policy_may_crash_the_scheduler_or_refuse_all_pods() -> None:
    odd = NodeNUMA(policy="Unknown", unknown_policy="None")
    zoned = structs.replace(odd, zones=(Zone(0, ()),))
    found = doctor(sound().change("n1", numa=odd).change("n2", numa=zoned)).findings
    label = "the label node.koordinator.sh/numa-topology-policy=None of 1 node"
    assert [(one.code, one.severity, one.message) for one in found] == [
        ("numa-policy-unknown", "error", f"{label} ({name}) names no policy: koord-scheduler {does}.")
        for name, does in (
            ("n1", "refuses every pod that requests anything there"),
            ("n2", "may crash when it tries a pod there"),
        )
    ]


def test_nodes_without_cards_are_only_noted_outside_a_tree_of_nodes_with_cards() -> None:
    drawn = both(gpus("n1", 8), labelled("n5", network__spine=""))(sound())
    assert codes(drawn) == [("outside-nodes", "info", "Node/n5")]
    assert doctor(drawn).verdict == "yes"


def test_a_topology_selector_where_nodes_are_outside_the_tree_is_a_warning_from_1_8_on() -> None:
    asking = both(lambda drawn: drawn.change_pods("job-0", selector="ring"), labelled("n5", network__spine=""))(sound())
    outside = ("outside-nodes", "warning", "Node/n5")
    assert codes(asking) == [("selector-outside-tree", "warning", "Pod/default/job-0"), outside]
    assert codes(asking.version("1.7")) == [outside]
    assert codes(asking.change_pods("job-0", scheduler="other"))[-1] == outside
    (told, _) = doctor(asking).findings
    assert told.message == (
        "1 pending pod has a network-topology-selector (default/job-0), and 1 node is outside the topology tree: where"
        " several nodes fit such a pod the scheduler may crash."
    )
    bare = asking.but(topologies={}, pod_groups={})
    assert ("selector-outside-tree", "warning", "Pod/default/job-0") in codes(bare)


def test_labels_of_the_same_tool_under_another_name_are_renamed_ones() -> None:
    assert codes(newer("n1", "n2", "n3", "n5", "n6")(sound().but(pending=(), pod_groups={}))) == [
        ("outside-nodes", "warning", "Node/n5 and 1 more"),
        ("renamed-labels", "warning", "Node/n5 and 1 more"),
    ]
    half = both(newer("n1", "n2", "n3", "n5", "n6"), labelled("n5", "n6", **{f"{NVIDIA}__spine": "s"}))
    assert codes(half(sound().but(pending=(), pod_groups={}))) == [
        ("virtual-domains", "warning", "Node/n5 and 1 more"),
        ("renamed-labels", "warning", "Node/n5 and 1 more"),
    ]


def test_labels_of_another_cloud_are_renamed_ones_only_where_no_node_in_the_tree_has_them() -> None:
    lacking = labelled("n5", network__spine="", **{"topology.k8s.aws__network-node-layer-1": "x"})
    found = [code for code, _, _ in codes(lacking(sound()))]
    assert found == ["outside-nodes", "renamed-labels"]
    also = labelled("n1", **{"topology.k8s.aws__network-node-layer-1": "x"})
    assert [code for code, _, _ in codes(both(lacking, also)(sound()))] == ["outside-nodes"]


def test_what_gangs_of_several_pods_contradict_is_found() -> None:
    mixed = sound().with_gang("a", 2).change_pods("a-1", scheduler="default-scheduler")
    assert codes(mixed) == [("mixed-schedulers", "error", "Gang/default/a")]
    enough = sound().with_gang("a", 2, minimum=1).change_pods("a-1", scheduler="default-scheduler")
    assert codes(enough) == [("mixed-schedulers", "warning", "Gang/default/a")]
    swapped = sound().change_pods("job-0", index=1).change_pods("job-1", index=0)
    assert codes(swapped) == [("index-not-honoured", "warning", "Gang/default/job")]
    both_gangs = '["default/a", "default/b"]'
    differing = sound().with_gang("a", groups=both_gangs, must_gather=SPINE).with_gang("b", groups=both_gangs)
    assert codes(differing) == [("differing-specs", "warning", "Gang/default/a")]


def test_what_is_odd_about_a_group_is_found_once() -> None:
    listed = '["default/a", "default/b"]'
    drawn = sound().with_group("a", groups=listed, topology="{").with_group("b", groups=listed)
    assert codes(drawn) == [("topology-spec-unreadable", "warning", "Gang/default/a")]


def test_what_may_not_be_read_is_said_with_the_verb_and_the_commands_and_the_verdict_is_unknown() -> None:
    right = {"PodGroup": Right("podgroups.scheduling.sigs.k8s.io", ("gangs", "doctor"))}
    report = doctor(sound().with_gap("PodGroup").with_group("run", 1, groups="{"), right)
    assert report.verdict == "unknown"
    assert report.findings == (
        Finding(
            "rbac-missing",
            "info",
            "podgroups.scheduling.sigs.k8s.io",
            "the verb list is missing for podgroups.scheduling.sigs.k8s.io: you may not read it; gangs and doctor read"
            " it.",
            remedy("rbac-missing"),
            command="kubectl koord doctor --print-rbac",
        ),
    )
    broken = both(lease(LATE))(sound().with_gap("PodGroup"))
    assert doctor(broken).verdict == "no"


def test_what_is_missing_for_several_resources_alike_is_one_finding_also_where_no_command_needs_it() -> None:
    report = doctor(
        sound(), None, (Lack("a", "list", (), "no."), Lack("b", "list"), Lack("c", "watch", ("topo",), "no"))
    )
    assert [(one.object, one.objects, one.message) for one in report.findings] == [
        ("a and 1 more", ("a", "b"), "the verb list is missing for a and b: no."),
        ("c", (), "the verb watch is missing for c: no; topo follows changes to it."),
    ]
    assert report.verdict == "yes"


def test_a_right_of_which_the_server_did_not_tell_is_not_checked_and_not_missing() -> None:
    report = doctor(sound(), None, (Lack("a", "list", ("topo",), "it timed out.", is_sure=False),))
    assert [(one.code, one.object, one.message) for one in report.findings] == [
        ("not-checked", "a", "whether you may list a could not be found out: it timed out.")
    ]


def test_a_finding_has_the_command_that_helps_with_the_names_that_it_is_about() -> None:
    gang = "kubectl koord annotate gang 'a b' -n default {} --overwrite"
    layered = ("topology-spec-unreadable", "differing-specs", "unknown-layer", "unknown-strategy")
    every: list[DoctorCode] = [*members(DoctorCode)]  # type: ignore[list-item]
    for code in every:
        made = command_of(code, "Gang", ["default/a b"])
        if code in layered:
            assert (made, command_of(code, "Pod", ["default/a"])) == (gang.format("--must-gather=LAYER"), "")
        elif code in {"groups-differ", "groups-unreadable"}:
            assert made == gang.format("--groups=GANG,GANG")
        else:
            of_names = {"deployment-unavailable", "koordlet-not-ready", "selector-outside-tree", "numa-policy-unknown"}
            assert bool(made) == (code in of_names)
    of_koordlet = command_of("deployment-unavailable", "Deployment", ["koordlet"])
    assert of_koordlet == "kubectl get pods -A -l koord-app=koordlet"
    assert command_of("numa-policy-unknown", "Node", ["n1", "n2"]) == (
        "kubectl label node n1 n2 node.koordinator.sh/numa-topology-policy-"
    )
    assert command_of("selector-outside-tree", "Pod", ["a/x"]) == "kubectl koord annotate pods GANG topology-selector-"


@pytest.mark.parametrize("kind", ["Deployment", "PriorityClass", "ValidatingWebhookConfiguration", "Node"])
def test_what_was_not_read_is_not_called_missing(kind: str) -> None:
    drawn = sound().but(installation=Installation()) if kind != "Node" else gpus("n1")(sound())
    kinds = ("Deployment", "PriorityClass", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    found = [one.code for one in doctor(gapped(drawn, (*kinds, kind))).findings]
    assert set(found) == {"rbac-missing"}


def test_a_crd_that_could_not_be_read_for_now_is_not_called_missing() -> None:
    report = doctor(sound().with_gap("ElasticQuota", "unavailable"))
    assert [(one.code, one.severity, one.object) for one in report.findings] == [
        ("not-checked", "info", "ElasticQuota")
    ]
    assert report.verdict == "unknown"


def gapped(drawn: Drawing, kinds: Iterable[str]) -> Drawing:
    for kind in dict.fromkeys(kinds):
        drawn = drawn.with_gap(kind)
    return drawn


def test_a_file_without_the_installation_is_not_taken_for_a_sound_one() -> None:
    bare = sound().but(source="file", installation=None, leases=None)
    assert codes(bare) == [("not-checked", "info", "Installation")]
    assert doctor(bare).verdict == "yes"
    held = structs.replace(INSTALLED, kinds=KINDS, deployments=INSTALLED.deployments[1:], whole=False)
    assert codes(bare.but(installation=held)) == []


def test_in_the_demo_exactly_what_was_planted_is_found() -> None:
    report = doctor(stored.demo("1.8", installed=True))
    assert [(one.code, one.severity, one.objects) for one in report.findings] == [
        ("priority-class-value", "error", ("koord-batch",)),
        ("versions-differ", "warning", ("koord-scheduler", "koord-manager")),
        ("outside-nodes", "warning", ("node-11",)),
    ]
    assert report.verdict == "no"
