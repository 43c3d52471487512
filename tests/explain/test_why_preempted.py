"""Who killed a pod: from the condition, from events alone, and what became of whoever did it."""

from typing import Any

import pytest

from kubectl_koord.explain.preempt import VictimName, find, find_anywhere
from kubectl_koord.explain.why_preempted import other_namespaces, why_preempted
from kubectl_koord.model.installation import Plugins
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.reports.jobs import Evidence, PreemptedPod, Preemptor, WhyPreemptedReport
from kubectl_koord.simulation.subjects import Unknown
from tests.build import Drawing, cluster

JOB = "koord-scheduler: preempting to accommodate higher priority pods, preemptor: default/hp, triggerPod: default/hp-1"
POD = "koord-scheduler: preempting to accommodate a higher priority pod"
NOTE = "Preempted by pod uid-hp-1 on node n1"
AT = "2026-11-20T09:55:00Z"
EVENT_AT = "2026-11-20T09:50:00Z"


def both(drawing: Drawing, name: str, gang: str = "", on: str = "", **trace: Any) -> Drawing:  # noqa: ANN401
    """Add a pod, both as the engine sees it and as a trace."""
    owned: dict[str, Any] = {"gang": f"default/{gang}"} if gang else {}
    placed = drawing.with_running(name, on, **owned) if on else drawing.with_pod(name, gang)
    return placed.with_trace(name, gang, node=on, **trace)


HP = both(
    both(cluster("s0: b0[n1 n2]").with_group("hp", 2), "hp-0", "hp", priority=9000),
    "hp-1",
    "hp",
    priority=9000,
    uid="uid-hp-1",
)
VICTIM = both(HP, "low-0", "low", on="n1", preempted=JOB, priority=1000, uid="u0", terminating=True).with_group(
    "low", 1
)


def asked(drawing: Drawing, name: str) -> VictimName:
    found = find(drawing, name, "default")
    assert isinstance(found, VictimName), found
    return found


def report(drawing: Drawing, name: str) -> WhyPreemptedReport:
    return why_preempted(drawing, asked(drawing, name))


def test_the_condition_tells_gang_trigger_plugin_and_both_priorities() -> None:
    found = report(VICTIM.with_event("low-0", NOTE, "Preempted", uid="u0"), "pod/low-0")

    assert found.verdict == "yes"
    assert found.is_pod
    assert found.pods == (
        PreemptedPod(
            pod="default/low-0",
            node="n1",
            priority=1000,
            gang="default/low",
            when=AT,
            plugin="job-preemption",
            preemptor="default/hp",
            trigger_pod="default/hp-1",
            preemptor_priority=9000,
            preemptor_state="pending",
            evidence=(Evidence("condition", JOB), Evidence("event", NOTE)),
            state="terminating",
        ),
    )
    assert found.preemptors == (Preemptor("default/hp", "pending", 9000, 0, 2, 2, 1),)
    assert other_namespaces(found) == ("default",)


def test_a_pod_that_is_gone_is_found_by_its_event_alone() -> None:
    found = report(HP.with_event("low-0", NOTE, "Preempted", uid="u0"), "low-0")

    (pod,) = found.pods
    assert (found.verdict, pod.node, pod.priority, pod.when, pod.state) == ("yes", "n1", None, EVENT_AT, "gone")
    assert (pod.plugin, pod.preemptor, pod.trigger_pod) == (None, "default/hp", "default/hp-1")


@pytest.mark.parametrize(
    ("note", "related", "trigger", "preemptor"),
    [
        (NOTE, "other/big-0", "other/big-0", "other/big-0"),
        ("Preempted by default/hp-0 on node n1", "", "default/hp-0", "default/hp"),
        ("Preempted by pod uid-of-nobody on node n1", "", None, None),
        ("Preempted somehow", "", None, None),
    ],
    ids=["related", "old wording", "gone", "unknown wording"],
)
def test_the_event_names_the_preemptor_in_one_of_several_ways(
    note: str, related: str, trigger: str | None, preemptor: str | None
) -> None:
    found = report(HP.with_event("low-0", note, "Preempted", related=related), "low-0")

    assert (found.pods[0].trigger_pod, found.pods[0].preemptor) == (trigger, preemptor)
    assert found.verdict == ("yes" if preemptor else "unknown")
    assert found.pods[0].preemptor_state == {"other/big-0": "gone", "default/hp": "pending", None: "unknown"}[preemptor]


@pytest.mark.parametrize(
    ("mine", "theirs", "enabled", "plugin"),
    [
        ("q", "q", True, "elastic-quota"),
        ("q", "r", True, "other"),
        ("", "", True, "other"),
        ("q", "q", False, "other"),
    ],
)
def test_the_upstream_wording_is_quota_preemption_only_within_one_quota(
    mine: str, theirs: str, plugin: str, *, enabled: bool
) -> None:
    drawing = both(HP, "low-0", on="n1", preempted=POD, quota=mine).configured(preemption=enabled)
    drawing = both(drawing, "single", quota=theirs, priority=5)

    found = report(drawing.with_event("low-0", NOTE, "Preempted", related="default/single"), "low-0")

    (pod,) = found.pods
    assert (pod.plugin, pod.preemptor, pod.preemptor_priority) == (plugin, "default/single", 5)
    assert found.preemptors == (Preemptor("default/single", "pending", 5, 0, 1, None, 1),)


@pytest.mark.parametrize(
    "plugins", [Plugins(default_preemption="first"), Plugins((("ElasticQuota", ("postFilter",)),))]
)
def test_the_wording_is_not_that_of_quotas_where_another_plugin_may_preempt_or_theirs_does_not(
    plugins: Plugins,
) -> None:
    drawing = both(HP, "low-0", on="n1", preempted=POD, quota="q").configured(plugins=plugins)
    drawing = both(drawing, "single", quota="q", priority=5)
    found = report(drawing.with_event("low-0", NOTE, "Preempted", related="default/single"), "low-0")
    assert found.pods[0].plugin == "other"


@pytest.mark.parametrize(("message", "plugin"), [(POD, "other"), ("someone else: something", None)])
def test_a_condition_that_names_nobody_leaves_the_verdict_unknown(message: str, plugin: str | None) -> None:
    found = report(both(HP, "low-0", on="n1", preempted=message), "low-0")

    assert (found.verdict, found.pods[0].plugin, found.pods[0].preemptor) == ("unknown", plugin, None)


def test_a_gang_lists_all_its_victims_those_that_are_gone_by_their_name() -> None:
    drawing = both(VICTIM, "low-1", "low", on="n2").with_group("low-b", 1)
    for name, uid in (("low-1", "earlier"), ("low-2", ""), ("low-b-0", ""), ("lower", "")):
        drawing = drawing.with_event(name, NOTE, "Preempted", uid=uid)
    drawing = both(drawing, "low-3", on="n2").with_event("low-3", NOTE, "Preempted", last_seen="2026-11-20T09:00:00Z")
    drawing = drawing.but(
        traces=(
            *drawing.traces[:3],
            *(
                one if one.name != "low-1" else type(one)("default", "low-1", "later", "n2", gang="default/low")
                for one in drawing.traces[3:]
            ),
        )
    )

    found = report(drawing, "podgroup/low")

    assert [(pod.pod, pod.state, pod.member_by_name) for pod in found.pods] == [
        ("default/low-0", "terminating", False),
        ("default/low-1", "gone", False),
        ("default/low-2", "gone", True),
    ]
    assert [warning.code for warning in found.warnings] == ["member-by-name"]
    assert found.preemptors[0].killed == 3


def test_pods_of_an_owner_are_asked_for_together() -> None:
    drawing = HP.with_running("web-a", "n1", owner="ReplicaSet/web").with_running("web-b", "n1", owner="ReplicaSet/web")
    for name in ("web-a", "web-b"):
        drawing = drawing.with_trace(name, owner="ReplicaSet/web", node="n1", preempted=JOB, phase="Failed")

    found = report(drawing, "replicaset/web")

    assert [(pod.pod, pod.state) for pod in found.pods] == [
        ("default/web-a", "finished"),
        ("default/web-b", "finished"),
    ]


@pytest.mark.parametrize(
    ("bound", "waiting", "minimum", "state"),
    [(2, 0, 2, "placed"), (2, 1, 2, "placed"), (1, 1, 2, "partly-placed"), (0, 1, 2, "pending"), (0, 0, 2, "gone")],
)
def test_what_became_of_the_preemptor_is_told(bound: int, waiting: int, minimum: int, state: str) -> None:
    drawing = both(cluster("s0: b0[n1]"), "low-0", on="n1", preempted=JOB).with_group("hp", minimum)
    for number in range(bound + waiting):
        drawing = both(drawing, f"hp-{number}", "hp", on="n1" if number < bound else "")

    (preemptor,) = report(drawing, "low-0").preemptors

    assert (preemptor.state, preemptor.bound, preemptor.pending, preemptor.min_member) == (
        state,
        bound,
        waiting,
        minimum,
    )


def test_of_a_gang_group_every_gang_must_be_there() -> None:
    message = JOB.replace("default/hp,", "default/hp,default/hp-b,")
    drawing = both(HP, "low-0", on="n1", preempted=message)
    whole = both(drawing.with_group("hp-b"), "hp-b-0", "hp-b", on="n2")

    states = [report(one, "low-0").preemptors[0] for one in (drawing, whole)]

    assert [(one.name, one.state) for one in states] == [
        ("default/hp,default/hp-b", "gone"),
        ("default/hp,default/hp-b", "partly-placed"),
    ]


def test_a_preemptor_in_a_namespace_that_may_not_be_read_is_unknown() -> None:
    drawing = both(HP, "low-0", on="n1", preempted=JOB.replace("default/hp", "far/hp"))
    blind = drawing.but(gaps=(Gap("Pod", "forbidden", "not yours", "far"),))

    assert report(drawing, "low-0").preemptors[0].state == "gone"
    assert report(blind, "low-0").preemptors[0].state == "unknown"
    assert other_namespaces(report(blind, "low-0")) == ("far",)


@pytest.mark.parametrize(
    ("name", "words"),
    [("hp-0", "no condition or event shows it"), ("hp", "no condition or event of its pods shows it")],
)
def test_nothing_found_is_a_no_with_the_honest_reason(name: str, words: str) -> None:
    found = report(HP, name)

    assert (found.verdict, found.pods) == ("no", ())
    assert found.message == f"{words} (events are kept for about 1 hour)."


@pytest.mark.parametrize("kind", ["Event", "Pod"])
def test_where_events_or_pods_could_not_be_read_nothing_found_is_unknown(kind: str) -> None:
    found = report(HP.but(gaps=(Gap(kind, "forbidden", "not yours", "default"),)), "hp-0")

    assert (found.verdict, found.message) == ("unknown", f"{kind} could not be read: not yours")
    assert [(one.code, one.message) for one in found.warnings] == [("forbidden-list", f"{kind}: not yours")]


def test_kinds_that_a_file_lacks_are_named() -> None:
    found = report(HP.with_gap("Event", "not-in-input"), "hp-0")

    assert (found.verdict, [one.code for one in found.warnings]) == ("no", ["kind-not-in-input"])


def test_a_victim_that_only_lost_its_place_in_permit_is_alive() -> None:
    found = report(HP.with_event("hp-1", NOTE, "Preempted", uid="uid-hp-1", related="default/x"), "hp-1")

    assert [pod.state for pod in found.pods] == ["pending"]
    placed = both(cluster("s0: b0[n1]"), "low-0", on="n1", preempted=JOB)
    assert [pod.state for pod in report(placed, "low-0").pods] == ["running"]


def test_names_mean_gangs_pods_owners_and_what_only_events_remember() -> None:
    drawing = VICTIM.with_event("ghost-0", NOTE, "Preempted").with_pod("away/far")

    found = [find(drawing, name, "default") for name in ("low", "default/low", "low-0", "ghost-0", "ghost", "pod/hp-0")]

    assert found == [
        VictimName("gang", "default/low"),
        VictimName("gang", "default/low"),
        VictimName("pod", "default/low-0"),
        VictimName("pod", "default/ghost-0"),
        VictimName("gang", "default/ghost"),
        VictimName("pod", "default/hp-0"),
    ]
    assert find(drawing, "pod/nobody", "default") == Unknown("pod/nobody", ())
    assert find(drawing, "pod/default/ghost-0", "away") == VictimName("pod", "default/ghost-0")
    assert find(drawing, "podgroup/default/low", "away") == VictimName("gang", "default/low")
    assert isinstance(find(drawing, "nobody", "default"), Unknown)
    assert isinstance(find(drawing, "", "default"), Unknown)


def test_in_a_file_a_name_is_looked_for_in_every_namespace() -> None:
    drawing = HP.with_trace("away/far").with_trace("a/twice").with_trace("b/twice")

    assert find_anywhere(drawing, "far") == VictimName("pod", "away/far")
    assert find_anywhere(drawing, "twice") is None


def test_whether_enough_of_the_preemptor_run_is_not_told_without_its_pod_group() -> None:
    placed = both(both(cluster("s0: b0[n1 n2]"), "hp-0", "hp", on="n1"), "hp-1", "hp", on="n2", uid="uid-hp-1")
    drawing = both(placed, "low-0", "low", on="n1", preempted=JOB, uid="u0")
    assert report(drawing.with_group("hp", 2), "low-0").preemptors[0].state == "placed"
    assert report(drawing.with_gap("PodGroup"), "low-0").preemptors[0].state == "unknown"
