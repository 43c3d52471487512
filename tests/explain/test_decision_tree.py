"""The decision tree, row by row: for each a small cluster, and the whole answer.

Rows 2 to 8 are silent: no condition and no event tells them. Rows 6, 8, 9, 16 and 19 to 21 are the
scheduler's memory or races, which no object shows: what is left of them on a pod is `waiting-for-retry`.
"""

from typing import Any, NamedTuple

import pytest

from kubectl_koord.model.objects import Layer, Lease
from kubectl_koord.model.pods import Condition, GangAnnotations
from kubectl_koord.reports.common import CauseCode
from tests.build import BLOCK, LAYERS, MOMENT, NODE, SPINE, Drawing, cluster, rules, why_of

FREE = cluster("s0: b0[n1 n2] b1[n3]; s1: b2[n4]")
BOTH = '["default/job", "default/peer"]'
DEAD = Lease("koord-scheduler", "koord-scheduler-0_x", "2026-11-20T09:50:00Z")
SAID = "0/4 nodes are available: 4 Insufficient cpu."
OTHER = "its pods have schedulerName default-scheduler; koord-scheduler handles only koord-scheduler."
QUOTA = (
    "0/4 nodes are available: Insufficient quotas, quotaName: team-a, runtime: cpu:4,memory:8Gi, used: cpu:4,"
    "memory:1Gi, pod's request: cpu:1,memory:1Gi, exceedDimensions: [cpu]. preemption: 0/4 nodes are available:"
    " 4 no potential victims."
)


class Row(NamedTuple):
    """A row of the tree: its number, a cluster with gang `job`, and the answer."""

    number: str
    drawing: Drawing
    verdict: str
    code: CauseCode | None
    message: str | None
    pods: tuple[str, ...] = ()
    also_wrong: tuple[CauseCode, ...] = ()
    steps: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()


def no(
    number: str,
    drawing: Drawing,
    code: CauseCode,
    message: str,
    *pods: str,
    also: tuple[CauseCode, ...] = (),
    steps: tuple[str, ...] = (),
    ways: tuple[str, ...] = (),
) -> Row:
    return Row(number, drawing, "no", code, message, tuple(f"default/{pod}" for pod in pods), also, steps, ways)


def gang(pods: int = 2, **fields: Any) -> Drawing:  # noqa: ANN401 - as `with_gang` has them
    return FREE.with_gang("job", pods, **fields)


def light(minimum: str | None) -> Drawing:
    return FREE.with_light_gang("job", 1, gang_terms=GangAnnotations(minimum))


def refused(drawing: Drawing, message: str = SAID) -> Drawing:
    return drawing.change_pods(condition=Condition("Unschedulable", message, "2026-11-20T09:55:00Z"))


JOB = ("job-0", "job-1")
HALF = gang(2, minimum=1)
ROWS = (
    no("0 other", gang(scheduler="default-scheduler"), "other-scheduler", OTHER, *JOB, steps=("set-scheduler-name",)),
    no(
        "0 mixed",
        gang().change_pods("job-1", scheduler="volcano"),
        "mixed-schedulers",
        "1 of its 2 pods has schedulerName volcano: koord-scheduler does not place it, and the other"
        " pods keep waiting.",
        "job-1",
        steps=("set-scheduler-name",),
    ),
    no(
        "0 no leader",
        gang().but(leases=(DEAD,)),
        "no-scheduler",
        (
            "koord-scheduler is not active: lease koord-scheduler (held by koord-scheduler-0_x) was last"
            " renewed 10m ago; an active scheduler renews it every few seconds."
        ),
        steps=("see-scheduler",),
    ),
    no(
        "0 other goes before no leader",
        gang(scheduler="default-scheduler").but(leases=(DEAD,)),
        "other-scheduler",
        OTHER,
        *JOB,
        also=("no-scheduler",),
        steps=("set-scheduler-name",),
    ),
    no(
        "0 all deleted",
        gang(terminating=True),
        "being-deleted",
        "its 2 pending pods are being deleted.",
        *JOB,
        steps=("see-finalizers",),
    ),
    no(
        "0 some deleted",
        gang().change_pods("job-0", terminating=True),
        "being-deleted",
        "1 of its 2 pending pods is being deleted: too few others are left.",
        "job-0",
        steps=("see-finalizers",),
    ),
    no(
        "1 gates",
        gang(gates=("kueue",)),
        "scheduling-gated",
        "its pods are held back by scheduling gate kueue.",
        *JOB,
        steps=("ungate",),
    ),
    no(
        "2, 3 no PodGroup",
        FREE.with_members(JOB, "job"),
        "no-podgroup",
        "its pods name PodGroup job, which does not exist.",
        *JOB,
        ways=("create-podgroup",),
    ),
    *(
        no(
            f"3 min-available {written!r}",
            light(written),
            "gang-not-initialised",
            f"the gang is not initialised: {said}.",
            "job-0",
            steps=("set-min-available",),
        )
        for written, said in [
            (None, "its pods do not set min-available"),
            *(
                (bad, f"min-available {bad!r} is not a whole number")
                for bad in ("2147483648", "1.0", " 1", "1_0", "0x1", "\u0661")
            ),
        ]
    ),
    *(Row(f"3 min-available {good!r}", light(good), "yes", None, None) for good in ("1", "+1", "0001", "-1")),
    Row(
        "4 once satisfied skips 5 to 8",
        gang(1, minimum=4, groups=BOTH)
        .with_running("job-9", on="n1", gang="default/job")
        .with_group("peer", 4, groups=BOTH),
        "yes",
        None,
        None,
    ),
    no(
        "5 too few pods",
        gang(minimum=4),
        "too-few-pods",
        "it has 2 of the 4 pods it needs.",
        *JOB,
        steps=("add-pods",),
        ways=("lower-minimum",),
    ),
    no(
        "5 finished pods count and never wait",
        gang(2, minimum=3).with_finished("job-9", "job", was_bound=False),
        "too-few-pods",
        ("default/job has 2 pending pods, but needs 3 at once: finished pods (1) count as members but never wait."),
        *JOB,
        steps=("add-pods",),
        ways=("lower-minimum",),
    ),
    no(
        "5 gang of the group missing",
        gang(1, groups=BOTH),
        "group-member-missing",
        "gang default/peer of its group does not exist.",
        "peer",
        steps=("fix-groups", "create-podgroup"),
    ),
    Row(
        "5 id without namespace",
        gang(1, groups='["default/job", "peer"]').with_gang("peer", 1, groups='["default/job", "peer"]'),
        "no",
        "group-member-missing",
        "gang peer of its group does not exist (ids must be NAMESPACE/NAME).",
        ("peer",),
        (),
        ("fix-groups",),
    ),
    no(
        "5 gang of the group without its PodGroup",
        gang(1, groups=BOTH).with_members(("peer-0",), "peer"),
        "group-member-missing",
        "its pods name PodGroup peer, which does not exist.",
        "peer-0",
        also=("groups-differ",),
        ways=("create-podgroup",),
    ),
    no(
        "5 gang of the group never initialised",
        gang(1, groups=BOTH).with_light_gang("peer", 1, gang_terms=GangAnnotations("x", groups=BOTH)),
        "group-member-missing",
        "the gang is not initialised: min-available 'x' is not a whole number.",
        "peer-0",
        steps=("set-min-available",),
    ),
    no(
        "5 gang of the group too small",
        gang(1, groups=BOTH).with_gang("peer", 1, minimum=2, groups=BOTH),
        "group-member-too-few-pods",
        "gang default/peer of its group has 1 of the 2 pods it needs.",
        "peer-0",
        steps=("add-pods",),
        ways=("lower-minimum",),
    ),
    no(
        "5 groups differ",
        gang(1, groups=BOTH).with_gang("peer", 1),
        "groups-differ",
        "the groups annotation of default/job differs from that of default/peer.",
        "peer",
        steps=("fix-groups",),
    ),
    Row(
        "5 groups of one set in another order",
        gang(1, groups='["default/peer", "default/job"]').with_gang("peer", 1, groups=BOTH),
        "yes",
        None,
        None,
    ),
    Row("5 broken groups leave the gang alone", gang(1, groups="[oops"), "yes", None, None),
    no(
        "10 no topology",
        gang(must_gather=SPINE).but(topologies={}),
        "no-topology",
        "there is no ClusterNetworkTopology default.",
        steps=("create-topology",),
    ),
    no(
        "10 topology of another name",
        gang(must_gather=SPINE).with_layers(*LAYERS, name="fabric"),
        "no-topology",
        "no ClusterNetworkTopology is named default; there is fabric, which is ignored.",
        steps=("create-topology",),
    ),
    no(
        "10 broken chain",
        gang(must_gather=SPINE).with_layers(*LAYERS[:2]),
        "broken-layer-chain",
        "layer NodeTopologyLayer, where every chain begins, has no entry; not on the chain: BlockLayer, SpineLayer.",
        steps=("fix-layers",),
    ),
    no(
        "10 cycle",
        gang(must_gather=SPINE).with_layers(Layer(BLOCK, NODE), Layer(NODE, BLOCK), LAYERS[0]),
        "broken-layer-chain",
        "layer NodeTopologyLayer is its own ancestor.",
        steps=("fix-layers",),
    ),
    no(
        "10 no tree goes before no awareness",
        gang(1, must_gather=SPINE).but(topologies={}).configured(aware_of_topology=False),
        "no-topology",
        "there is no ClusterNetworkTopology default.",
        steps=("create-topology",),
    ),
    Row("10 a spec that does not parse asks for no tree", gang(topology="{").but(topologies={}), "yes", None, None),
    Row(
        "13 quota",
        gang().with_quota("team-a", "default", cpu=0.5),
        "no",
        "quota",
        "quota team-a: 0 CPU in use, 500m allowed (its max); default/job-0 wants 1 CPU more.",
        ("default/job-0",),
        ways=("raise-quota",),
    ),
    no(
        "14 awareness off",
        gang(must_gather=SPINE).configured(aware_of_topology=False),
        "no-topology",
        (
            "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration:"
            " only its first pod is ever placed."
        ),
        steps=("set-topology-aware",),
    ),
    Row(
        "14 the first member gets a node",
        gang(1, must_gather="Rack").configured(aware_of_topology=False),
        "yes",
        None,
        None,
    ),
    no(
        "15 unknown layer",
        gang(must_gather="Rack"),
        "unknown-layer",
        "it must gather in layer Rack, which is not in the topology (SpineLayer, BlockLayer and NodeTopologyLayer).",
        ways=("use-layer",),
    ),
    no(
        "15 slots",
        gang(3, cpu=8, must_gather=BLOCK).with_running("low", on="n2"),
        "never-fits",
        "its 3 pods (8 CPU) do not fit even in an empty block; waiting does not help.",
        "job-0",
        "job-1",
        "job-2",
        ways=("prefer-gather", "smaller-request", "add-nodes", "add-nodes", "add-nodes", "fewer-pods"),
    ),
    no(
        "15 slots for the minimum alone",
        gang(3, cpu=8, must_gather=SPINE, minimum=2).with_running("low", on="n3", priority=9, cpu=8),
        "insufficient-slots",
        "no spine has room for its 3 pods; the best has 2.",
        "job-0",
        "job-1",
        "job-2",
        also=("surplus-pods",),
        ways=("prefer-gather", "smaller-request", "add-nodes", "add-nodes", "fewer-pods", "move-pod", "free-pods"),
    ),
    no(
        "17 no node",
        gang(1, cpu=8).taint("n1", "x").taint("n2", "x").taint("n3", "x").taint("n4", "x"),
        "no-feasible-node",
        "no node fits default/job-0 (8 CPU): taint x:NoSchedule (4 nodes).",
        "job-0",
        ways=("tolerate",),
    ),
    no(
        "18 victims terminating",
        gang(1, cpu=8, nominated="n1")
        .but(nodes={"n1": FREE.nodes["n1"]})
        .with_running("low", on="n1", cpu=8, terminating=True, preempted=True, priority=-1),
        "waiting-for-preemption",
        "it waits for 1 preempted pod to terminate: default/low.",
        "low",
        ways=("wait-for-terminating",),
    ),
    no(
        "21 only those that wait count",
        gang(1, minimum=2, match_policy="only-waiting").with_running("job-9", on="n1", gang="default/job"),
        "replacement-waits",
        (
            "default/job has 1 pending pod, but needs 2 at once: with match policy only-waiting, bound"
            " pods (1) do not count."
        ),
        "job-0",
        steps=("set-match-policy",),
    ),
    no(
        "21 surplus pods are too few to wait",
        gang(1, minimum=2, match_policy="only-waiting")
        .with_running("job-8", on="n1", gang="default/job")
        .with_running("job-9", on="n1", gang="default/job"),
        "surplus-pods",
        (
            "default/job has 1 pending pod, but needs 2 at once: with match policy only-waiting, bound"
            " pods (2) do not count."
        ),
        "job-0",
        steps=("set-match-policy",),
    ),
    Row(
        "22 refused earlier, placed now, and from 1.8 on mostly soon",
        refused(gang(must_gather=SPINE)),
        "yes",
        "waiting-for-retry",
        (
            "it would be placed now, but the scheduler has not retried yet: mostly it is tried again within seconds,"
            " and at the latest 5 min 30 s after its last attempt, here by 2026-11-20T10:00:30Z."
        ),
        ("default/job-0", "default/job-1"),
        (),
        (),
        ("wake-gang",),
    ),
    Row(
        "22 refused earlier, placed now",
        refused(gang(must_gather=SPINE)).version("1.7"),
        "yes",
        "waiting-for-retry",
        (
            "it would be placed now, but the scheduler has not retried yet: freed room need not wake it,"
            " and it is tried again at the latest 5 min 30 s after its last attempt, here by"
            " 2026-11-20T10:00:30Z."
        ),
        ("default/job-0", "default/job-1"),
        (),
        (),
        ("wake-gang",),
    ),
    Row(
        "22 a plain gang is woken by what changes",
        refused(gang()).version("1.7"),
        "yes",
        "waiting-for-retry",
        (
            "it would be placed now, but the scheduler has not retried yet: not every change wakes it, and it is tried"
            " again at the latest 5 min 30 s after its last attempt, here by 2026-11-20T10:00:30Z."
        ),
        ("default/job-0", "default/job-1"),
        ways=("wake-gang",),
    ),
    no(
        "all at once, in order",
        gang(1, minimum=2, must_gather="Rack", gates=("kueue",), groups=BOTH)
        .but(leases=(DEAD,))
        .change_pods(scheduler="x", terminating=True),
        "other-scheduler",
        "its pod has schedulerName x; koord-scheduler handles only koord-scheduler.",
        "job-0",
        also=(
            "no-scheduler",
            "being-deleted",
            "scheduling-gated",
            "too-few-pods",
            "group-member-missing",
            "unknown-layer",
        ),
        steps=("set-scheduler-name",),
    ),
)


@pytest.mark.untraced
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_each_row_of_the_tree_is_answered_whole(row: Row) -> None:
    report = why_of(row.drawing)
    cause = report.cause
    answer = (report.verdict, cause and cause.code, cause and cause.message, cause.pods if cause else ())
    assert answer == row[2:6]
    assert report.also_wrong == row.also_wrong
    assert tuple(step.action for step in report.next_steps) == row.steps
    assert tuple(way.action for way in report.unblock) == row.ways
    assert bool(report.no_way_out) == (row.verdict == "no" and not row.ways)


def test_a_lone_pod_is_answered_as_one() -> None:
    drawing = FREE.with_pod("lone", terminating=True)
    assert why_of(drawing, "lone").next_steps[0].command == (
        "kubectl get pod lone -n default -o jsonpath='{.metadata.finalizers}'"
    )


def warned(drawing: Drawing, name: str = "job") -> dict[str, str]:
    return {notice.code: notice.message for notice in why_of(drawing, name).warnings}


OLD = "2026-11-20T09:00:00Z"


@pytest.mark.parametrize(
    ("drawing", "code", "message"),
    [
        (
            HALF.change_pods("job-1", scheduler="volcano"),
            "mixed-schedulers",
            "1 of its 2 pending pods has schedulerName volcano (default/job-1).",
        ),
        (
            HALF.change_pods("job-1", terminating=True),
            "being-deleted",
            (
                "1 of its 2 pending pods is being deleted (default/job-1): they still count as members"
                " but are not scheduled."
            ),
        ),
        (
            gang(minimum=0),
            "min-member-zero",
            "default/job has minimum 0: its pods never wait for each other, and its PodGroup stays in phase Pending.",
        ),
        (
            gang(phase="Finished"),
            "stale-phase",
            "phase Finished of PodGroup default/job is from an earlier run: it is stale and has no effect.",
        ),
        (
            gang(phase="Running"),
            "stale-phase",
            "phase Running of PodGroup default/job is from an earlier run: it is stale and has no effect.",
        ),
        (
            gang(created=OLD).version("1.7"),
            "stuck-representative",
            (
                "the scheduler has not reported anything about it. Koordinator 1.7 tries a gang group"
                " through one representative pod and never replaces it after a failed gang check:"
                " delete the oldest pod, or restart the scheduler."
            ),
        ),
        (
            gang(1, must_gather=SPINE).configured(aware_of_topology=False),
            "topology-not-aware",
            "awareNetworkTopology is off in the scheduler's configuration: the topology spec has no effect.",
        ),
        (
            gang(1, minimum=2).with_running("job-9", on="n1", gang="default/job"),
            "replacement-waits",
            (
                "if it stays pending, the scheduler forgot in a restart that the gang ran, and waits"
                " for as many new pods as the minimum: touch the PodGroup."
            ),
        ),
        (
            gang(must_gather=SPINE, minimum=1),
            "surplus-pods",
            (
                "only 1 of its 2 pods is certain to be bound at once: the round ends when the"
                " minimum is met, and the others follow some minutes later."
            ),
        ),
        (
            gang().but(leases=()),
            "lease-missing",
            (
                "lease koord-scheduler does not exist in koordinator-system: the scheduler has never"
                " been active, runs elsewhere (--koordinator-namespace), or runs without leader election."
            ),
        ),
    ],
)
def test_what_is_odd_is_warned_of_and_stops_nobody(drawing: Drawing, code: str, message: str) -> None:
    found = warned(drawing)
    assert found[code] == message
    assert found.keys() <= {code, "surplus-pods"}
    assert why_of(drawing).verdict == "yes"


@pytest.mark.parametrize(
    "drawing",
    [
        gang(created=OLD),
        gang(1, created=OLD).version("1.7"),
        gang(created=MOMENT).version("1.7"),
        gang().version("1.7"),
        refused(gang(created=OLD)).version("1.7"),
        gang(1, minimum=1, created=OLD).with_running("job-9", on="n1", gang="default/job").version("1.7"),
        gang(1, phase="Running", minimum=1).with_running("job-9", on="n1", gang="default/job"),
        gang(0, minimum=0).with_pod("lone"),
        gang().but(leases=()).configured(elects_leader=False),
    ],
)
def test_what_is_in_order_needs_no_warning(drawing: Drawing) -> None:
    assert warned(drawing) == {}


@pytest.mark.parametrize(
    ("marker", "scheduler", "codes"),
    [
        ("scheduling.k8s.io/group-name", "koord-scheduler", ["foreign-gang-marker"]),
        ("scheduling.k8s.io/group-name", "volcano", []),
        ("", "koord-scheduler", []),
    ],
)
def test_the_marker_of_another_gang_scheduler_makes_no_gang(marker: str, scheduler: str, codes: list[str]) -> None:
    drawing = FREE.with_pod("lone", foreign_gang=marker, scheduler=scheduler)
    assert list(warned(drawing, "lone")) == codes


SPREAD = gang(1, minimum=2, topology=rules(f"MustGather {SPINE}"))


@pytest.mark.parametrize(
    ("drawing", "code"),
    [
        (SPREAD.with_running("job-9", on="n1", gang="default/job"), "replacement-waits"),
        (
            SPREAD.with_running("job-8", on="n1", gang="default/job").with_running(
                "job-9", on="n1", gang="default/job"
            ),
            "surplus-pods",
        ),
        (SPREAD.with_finished("job-9", "job"), "satisfied-by-earlier-pods"),
    ],
)
def test_what_a_restart_may_have_lost_leaves_two_outcomes(drawing: Drawing, code: str) -> None:
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", code)
    assert [(one.verdict, one.cause and one.cause.code) for one in report.alternatives] == [("yes", None), ("no", code)]
    assert (report.unblock, [step.action for step in report.next_steps]) == ((), ["touch-podgroup"])


@pytest.mark.parametrize(
    ("acquired", "elects", "verdict"),
    [
        ("2026-11-20T08:00:00Z", True, "yes"),
        ("2026-11-20T09:00:00Z", True, "unknown"),
        ("2026-11-20T08:00:00Z", False, "unknown"),
        ("", True, "unknown"),
    ],
)
def test_a_leader_that_has_bound_a_member_remembers(acquired: str, elects: bool, verdict: str) -> None:  # noqa: FBT001
    lease = Lease("koord-scheduler", "me", MOMENT, acquired)
    drawing = SPREAD.with_running("job-9", on="n1", gang="default/job", scheduled="2026-11-20T08:30:00Z")
    assert why_of(drawing.but(leases=(lease,)).configured(elects_leader=elects)).verdict == verdict


@pytest.mark.parametrize(
    ("renewed", "seen", "seconds", "is_silent"),
    [
        ("2026-11-20T09:59:58.123456Z", "", 15, False),
        ("2026-11-20T09:59:41Z", "", 15, False),
        ("2026-11-20T09:59:39Z", "", 15, True),
        ("2026-11-20T09:59:39Z", "", 60, False),
        ("2026-11-20T11:00:00Z", "", 15, False),  # a clock that is off
        ("2026-11-20T09:59:00Z", "2026-11-20T09:59:05Z", 15, False),  # ours is; the server's own time counts
        ("soon", "", 15, False),
        ("2026-11-20T09:00:00", "", 15, False),
    ],
)
def test_a_lease_is_old_after_some_15_seconds_of_the_servers_time(
    renewed: str,
    seen: str,
    seconds: int,
    is_silent: bool,  # noqa: FBT001
) -> None:
    report = why_of(gang().but(leases=(Lease("koord-scheduler", "", renewed, "", seconds, seen),)))
    assert (report.verdict == "no") == is_silent
    assert (report.cause is not None and "(no holder)" in report.cause.message) == is_silent


@pytest.mark.parametrize(
    ("renewed", "words"),
    [("2026-11-20T09:59:00Z", "60s"), ("2026-11-20T07:00:00Z", "3h"), ("2026-11-10T10:00:00Z", "10d")],
)
def test_the_age_of_a_lease_is_told(renewed: str, words: str) -> None:
    cause = why_of(gang().but(leases=(Lease("koord-scheduler", "", renewed),))).cause
    assert cause is not None
    assert f"was last renewed {words} ago" in cause.message


def test_without_leader_election_a_lease_says_nothing() -> None:
    assert why_of(gang().but(leases=(DEAD,)).configured(elects_leader=False)).verdict == "yes"
