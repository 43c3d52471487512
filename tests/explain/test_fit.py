"""Whether pods that do not exist yet would be placed, and how many such gangs."""

from collections.abc import Iterator

import pytest
from msgspec import structs

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.manifests.completed import Overrides
from kubectl_koord.cluster.manifests.read import Manifests
from kubectl_koord.engine.gangs import GangSubject
from kubectl_koord.engine.state import View
from kubectl_koord.explain.fit import fit
from kubectl_koord.explain.why import why
from kubectl_koord.model.pods import GangAnnotations, HostPort, PodRequirements
from kubectl_koord.model.quotas import QuotaSettings
from kubectl_koord.model.unevaluated import PodSetting, UnreadRuntimeClass
from kubectl_koord.render.show import text
from kubectl_koord.reports.common import Notice, WayOut
from kubectl_koord.reports.jobs import Cause, FitGang, FitReport
from kubectl_koord.simulation import what_if
from kubectl_koord.simulation.simulation import Simulation, cluster_of, likeliest_outcome, open_outcomes, simulate
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.simulation.submitted import Submitted, of_profile, with_copy
from tests.build import BLOCK, SPINE, Drawing, cluster, cpus, rules, short
from tests.build import node as node_of
from tests.render.samples import PIPE

BY_THREE = rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x3")
TREE = "s0: b0[n1:8 n2:8] b1[n3:8]; s1: b2[n4:8]"
TWO_KINDS = cluster(TREE).with_pod("job-a", gang="job", cpu=0.1).with_pod("job-b", gang="job", cpu=0.2)


def submitted(drawn: Drawing, *gangs: str, **fields: object) -> Submitted:
    names = gangs or ("job",)
    pods = frozenset(pod.key for pod in drawn.pending if pod.name.rpartition("-")[0] in names)
    return structs.replace(Submitted(pods), **fields)


def asked(drawn: Drawing, *gangs: str, count: bool = False) -> FitReport:
    return fit(drawn, submitted(drawn, *gangs), count=count)


def only(report: FitReport) -> FitGang:
    (one,) = report.gangs
    return one


def page(report: FitReport) -> str:
    return text(report, style=PIPE)


def test_a_gang_that_fits_carries_its_plan() -> None:
    drawn = cluster(TREE).with_gang("job", 2, cpu=8, must_gather=SPINE)
    report = asked(drawn)
    found = only(report)
    assert (report.verdict, found.verdict, found.fits, found.pods) == ("yes", "yes", "now", 2)
    assert (found.desired_offer_slot, found.must_gather) == (2, SPINE)
    assert set((found.placement or {}).values()) < {"n1", "n2", "n3"}
    assert (found.how_many, found.largest) == (None, None)
    assert page(report).startswith("default/job fits now: 2 pods on n")
    assert "MustGather SpineLayer (all pods in one spine)" in page(report)


def test_the_answer_is_that_of_why_pending() -> None:
    drawn = cluster(TREE).with_gang("job", 3, cpu=8, must_gather=SPINE).with_running("x", "n1", cpu=4)
    (subject,) = pending_subjects(drawn)
    expected, found = why(drawn, subject), only(asked(drawn))
    assert (found.verdict, found.cause, found.domains) == (expected.verdict, expected.cause, expected.domains)
    assert [way.action for way in found.unblock] == [way.action for way in expected.unblock]
    assert (found.fits, found.victims) == ("not-now", ())


def test_ways_out_have_the_commands_that_are_about_objects_of_the_cluster_alone() -> None:
    drawn = cluster(TREE).with_gang("job", 3, cpu=8, must_gather=SPINE).cordon("n1")
    commands = {way.action: way.command for way in only(asked(drawn)).unblock}
    assert commands["uncordon"] == "kubectl uncordon n1"
    assert commands["prefer-gather"] == ""


def test_a_gang_that_only_preemption_places_names_the_victims_of_all_attempts() -> None:
    drawn = cluster(TREE).with_gang("job", 3, cpu=8, must_gather=SPINE, priority=10)
    drawn = drawn.with_running("low", "n1", cpu=4, gang="default/low").with_group("low", 1)
    report = asked(drawn)
    found = only(report)
    assert (found.verdict, found.fits, [one.pod for one in found.victims]) == ("no", "by-preemption", ["default/low"])
    assert [one.gang for one in found.broken_gangs] == ["default/low"]
    assert "default/job fits only by preempting 1 pod: " in page(report)
    assert "The scheduler would preempt 1 pod, and then run it\n" in page(report)
    as_it_is = "Submit it as it is: the scheduler preempts default/low and then places it"
    assert [way.message for way in found.unblock if way.action == "wait-for-preemption"] == [as_it_is]


def test_to_submit_it_stands_first_where_jobs_ahead_make_waiting_no_way_out() -> None:
    manifests = Manifests(lambda: "default", overrides=Overrides(5000))
    manifests.add_shape("shape", 4, {"nvidia.com/gpu": "8"}, "SpineLayer")
    snapshot = of_profile(stored.demo("1.8", join=manifests.join), manifests.submitted())
    (found,) = fit(snapshot, manifests.submitted()).gangs
    assert (found.fits, found.unblock[0].message) == (
        "by-preemption",
        "Submit it as it is: the scheduler preempts train/eval-0 and train/eval-1 and then places it",
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"cpu": 9}, "never-fits"), ({"scheduler": "other"}, "other-scheduler"), ({"minimum": 5}, "too-few-pods")],
)
def test_what_waiting_does_not_end_is_never(fields: dict[str, object], code: str) -> None:
    drawn = cluster(TREE).with_gang("job", 2, **fields)  # type: ignore[arg-type]
    report = asked(drawn)
    found = only(report)
    assert (found.fits, found.cause and found.cause.code) == ("never", code)
    assert page(report).startswith("default/job never fits: ")


def test_pods_of_another_scheduler_are_asked_about_as_if_they_were_koordinators_and_that_is_told() -> None:
    drawn = cluster(TREE).with_pod("job-0", cpu=8)
    drawn = drawn.with_pod("job-1", cpu=8, scheduler="other").with_pod("job-2", cpu=9, scheduler="other", owner="Job/x")
    report = asked(drawn)
    assert [(one.gang, one.fits, one.other_scheduler) for one in report.gangs] == [
        ("default/job-0", "now", ""),
        ("default/job-1", "now", "other"),
        ("default/job-2", "never", "other"),
    ]
    assert report.warnings[0] == Notice(
        "other-scheduler",
        "Pod/job-1 and Job/x have schedulerName other: computed as if it were koord-scheduler, as no decision is"
        " computed for another scheduler. Set schedulerName koord-scheduler to make it so.",
    )
    assert "As if koord-scheduler placed all of its pods, also those with schedulerName other.\n" in page(report)


@pytest.mark.parametrize("made_by", ["assumed", "of_others"])
def test_so_are_those_of_a_gang_that_their_operator_makes(made_by: str) -> None:
    drawn = cluster(TREE).with_gang("job", 2, cpu=8, scheduler="volcano", owner="Job/job")
    pods = frozenset(pod.key for pod in drawn.pending)
    report = fit(drawn, Submitted(pods, **{made_by: ("default/job",)}))  # type: ignore[arg-type]
    found = only(report)
    assert (found.fits, found.other_scheduler, found.min_member) == ("now", "volcano", 2)
    assert report.warnings[0].message.startswith("Job/job has schedulerName volcano: ")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Job/a",), "Job/a is suspended, and makes no pods before somebody resumes it."),
        (("Job/a", "Job/b"), "Job/a and Job/b are suspended, and make no pods before somebody resumes them."),
    ],
)
def test_workloads_that_are_suspended_are_told(names: tuple[str, ...], expected: str) -> None:
    drawn = cluster(TREE).with_pod("job-0", cpu=8)
    report = fit(drawn, Submitted(frozenset({"default/job-0"}), suspended=names))
    assert (report.verdict, report.warnings[0]) == ("yes", Notice("suspended", expected))


def test_workloads_that_make_pods_on_a_schedule_are_told() -> None:
    drawn = cluster(TREE).with_pod("job-0", cpu=8)
    times = (("CronJob/a", "0 2 * * *"), ("RayCronJob/b", "@daily"))
    report = fit(drawn, Submitted(frozenset({"default/job-0"}), scheduled=times))
    told = "pods are made on a schedule: CronJob/a at '0 2 * * *' and RayCronJob/b at '@daily'."
    expected = Notice("scheduled", f"{told} The answer is for pods that are made now.")
    assert (report.verdict, report.warnings[0]) == ("yes", expected)


def test_pods_of_a_workload_without_a_gang_are_one_answer_for_all_of_them() -> None:
    drawn = cluster(TREE)
    for number in range(5):
        drawn = drawn.with_pod(f"job-{number}", cpu=8, owner="Deployment/job")
    report = asked(drawn)
    found = only(report)
    assert (found.gang, found.pods, found.alone, found.fits) == ("default/job", 5, True, "never")
    assert "Its pods are in no gang: the scheduler places each alone." in page(report)
    fewer = structs.replace(drawn, pending=drawn.pending[:4])
    counted = asked(fewer, count=True)
    assert only(counted).fits == "now"
    assert "\n1 such workload fits; the largest has 4 pods.\n" in page(counted)
    full = only(asked(fewer.with_running("low", "n1", cpu=1)))
    assert full.fits == "not-now"
    assert "Submit it as it is: 3 pods start, the others once there is room" in [way.message for way in full.unblock]


def test_gangs_that_fit_alone_and_not_together_do_not_fit() -> None:
    drawn = cluster(TREE).with_gang("a", 3, cpu=8, must_gather=SPINE).with_gang("b", 2, cpu=8)
    report = asked(drawn, "a", "b")
    assert [(one.gang, one.fits) for one in report.gangs] == [("default/a", "now"), ("default/b", "not-now")]
    cause = report.gangs[1].cause
    assert cause is not None
    assert (cause.code, cause.message) == (
        "insufficient-capacity",
        "it fits alone, but not once default/a has been placed.",
    )
    assert page(report).startswith("2 gangs: 1 fits now, 1 does not fit now.\n\ndefault/a fits now")
    pods = structs.replace(report.gangs[1], alone=True)
    mixed = structs.replace(report, gangs=(report.gangs[0], pods))
    assert page(mixed).startswith("2 workloads: 1 fits now, 1 does not fit now.")
    both = structs.replace(report, gangs=(report.gangs[0], report.gangs[0]))
    assert page(both).startswith("2 gangs: 2 fit now.")
    topology = drawn.with_gang("b", 2, cpu=8, must_gather=SPINE)
    assert [one.cause and one.cause.code for one in asked(topology, "a", "b").gangs] == [None, "insufficient-slots"]


def test_gangs_that_fit_beside_each_other_fit() -> None:
    drawn = cluster(TREE).with_gang("a", 3, cpu=8).with_gang("b", 1, cpu=8)
    assert asked(drawn, "a", "b").verdict == "yes"


def test_gangs_that_are_submitted_together_are_placed_one_after_the_other() -> None:
    drawn = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
    drawn = drawn.with_gang("a", 2, cpu=8, must_gather=SPINE).with_gang("b", 2, cpu=8, must_gather=SPINE)
    found = [(one.verdict, short(one.placement), one.alternatives) for one in asked(drawn, "a", "b").gangs]
    assert found == [
        ("yes", {"a-0": "n1", "a-1": "n2"}, ()),
        ("yes", {"b-0": "n3", "b-1": "n4"}, ()),
    ]


def test_a_gang_group_is_one_answer() -> None:
    groups = '["default/a", "default/b"]'
    drawn = cluster(TREE).with_gang("a", 1, groups=groups).with_gang("b", 1, groups=groups)
    report = asked(drawn, "a", "b", count=True)
    found = only(report)
    assert (found.gang_group, found.pods, found.how_many, found.largest) == (("default/a", "default/b"), 2, 16, None)
    assert "It starts only together with default/b (same gang group)." in page(report)


def test_what_else_is_wrong_is_told() -> None:
    drawn = cluster(TREE).with_gang("job", 2, gates=("g",), minimum=5)
    report = asked(drawn)
    assert only(report).also_wrong
    told = "; ".join(f"{one.message.rstrip('.')} ({one.code})" for one in only(report).also)
    assert f"Other problems: {told}." in page(report)


def test_what_is_never_tried_is_not_counted() -> None:
    gated = only(asked(cluster(TREE).with_gang("job", 2, gates=("g",)), count=True))
    assert (gated.verdict, gated.cause and gated.cause.code) == ("no", "scheduling-gated")
    assert (gated.how_many, gated.largest) == (None, None)


def test_what_is_not_evaluated_leaves_it_open() -> None:
    drawn = cluster(TREE).with_gang("job", 2, unevaluated=(PodSetting("default-storage-class"),))
    report = asked(drawn, count=True)
    found = only(report)
    assert (report.verdict, found.fits, found.how_many) == ("unknown", "unknown", None)
    said = "Cannot tell whether default/job fits: it depends on default StorageClass for a volume claim"
    assert page(report).startswith(said)


@pytest.mark.parametrize("pods", [2, 9])
def test_what_may_add_requests_and_tolerations_leaves_both_answers_open(pods: int) -> None:
    found = only(asked(cluster(TREE).with_gang("job", pods, cpu=8, unevaluated=(UnreadRuntimeClass("kata"),))))
    assert (found.fits, found.cause and found.cause.code) == ("unknown", "not-evaluated")


@pytest.mark.parametrize("kind", ["PriorityClass", "LimitRange"])
def test_a_yes_is_unknown_where_what_the_server_fills_in_could_not_be_read(kind: str) -> None:
    drawn = cluster(TREE).with_gang("job", 2).with_gap(kind)
    assert only(asked(drawn)).fits == "now"
    found = only(fit(drawn, submitted(drawn, is_filled=True)))
    assert (found.fits, found.cause and found.cause.code) == ("unknown", "not-readable")
    stays = cluster(TREE).with_gang("job", 9, cpu=8).with_gap(kind)
    assert only(fit(stays, submitted(stays, is_filled=True))).verdict == "no"


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ({}, "LimitRange"),
        ({"is_mutated": True}, "LimitRange or ClusterColocationProfile"),
        (
            {"is_mutated": True, "asks_parts": True},
            "LimitRange, ClusterColocationProfile or MutatingWebhookConfiguration",
        ),
    ],
)
def test_kinds_that_change_pods_and_that_a_file_holds_none_of_are_warned_of(more: dict[str, bool], kinds: str) -> None:
    drawn = cluster(TREE).with_gang("job", 1)
    for kind in ("LimitRange", "ClusterColocationProfile", "MutatingWebhookConfiguration"):
        drawn = drawn.with_gap(kind, "not-in-input")
    report = fit(drawn, submitted(drawn, is_filled=True, **more))
    assert report.warnings[0].message == f"snapshot contains no {kinds}; assuming none exist."


@pytest.mark.parametrize(
    ("offered", "asked", "told"), [(0, ".shared", True), (100, ".shared", False), (0, "-core", False)]
)
def test_cards_that_no_node_offers_are_warned_of(offered: int, asked: str, told: bool) -> None:  # noqa: FBT001
    wanted = PodRequirements(((f"koordinator.sh/gpu{asked}", 1),))
    room = ("koordinator.sh/gpu.shared", offered)
    drawn = cluster().with_nodes(node_of("n1", allocatable=(room,))).with_gang("job").change_pods(requirements=wanted)
    codes = [one.code for one in fit(drawn, submitted(drawn, asks_parts=True)).warnings]
    assert ("gpu-shared-not-offered" in codes) == told


def test_a_priority_that_no_class_gives_is_warned_of() -> None:
    drawn = cluster(TREE).with_gang("job", 1)
    (warning,) = fit(drawn, submitted(drawn, own_priority=("Job/a", "Pod/b"))).warnings
    assert warning.code == "priority-without-class"
    assert warning.message.startswith("Job/a and Pod/b have a priority that no PriorityClass gives: ")


def test_what_was_left_out_or_assumed_is_warned_of() -> None:
    drawn = cluster(TREE).with_gang("job", 1)
    report = fit(drawn, submitted(drawn, skipped=("ConfigMap", "Service"), assumed=("default/job",)))
    assert [one.code for one in report.warnings][:2] == ["kinds-skipped", "podgroup-assumed"]
    assert "the manifests also have ConfigMap and Service: " in page(report)
    assert "PodGroup default/job: made by the job's operator, if " in page(report)
    both = fit(drawn, submitted(drawn, assumed=("default/a", "default/b")))
    assert "PodGroups default/a and default/b: made" in page(both)


def gangs() -> Iterator[tuple[Drawing, int, int]]:
    """Yield clusters with a gang, how many such gangs fit, and the largest."""
    plain = cluster(TREE)
    yield plain.with_gang("job", 2, cpu=4), 4, 8
    yield plain.with_gang("job", 3, cpu=4), 2, 8
    yield plain.with_gang("job", 2, cpu=8, must_gather=SPINE), 1, 3
    yield plain.with_gang("job", 2, cpu=4, must_gather=BLOCK), 4, 4
    yield plain.with_gang("job", 4, cpu=8, must_gather=SPINE), 0, 3
    yield plain.with_gang("job", 2, cpu=9), 0, 0
    multiple = rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")
    yield plain.with_gang("job", 2, cpu=8, topology=multiple).version("main"), 1, 2
    mixed = plain.with_gang("job", 2, cpu=2).with_pod("job-main", gang="job", cpu=8)
    yield mixed.with_group("job", 3), 2, 13
    launched = plain.with_pod("job-a", gang="job", cpu=0.1).with_pod("job-b", gang="job", cpu=4)
    yield launched.with_group("job", 2), 5, 8
    running = plain.with_running("x", "n1", cpu=8)
    yield running.with_gang("job", 1, cpu=8), 3, 3


@pytest.mark.untraced
@pytest.mark.parametrize(("drawn", "many", "largest"), list(gangs()), ids=range(10))
def test_the_count_is_what_repeated_placement_gives(drawn: Drawing, many: int, largest: int) -> None:
    found = only(asked(drawn, count=True))
    assert (found.how_many, found.largest) == (many, largest)
    assert placed_again_and_again(drawn) == many


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param(drawn, marks=pytest.mark.soak if number in {7, 8} else [])
        for number, (drawn, *_) in enumerate(gangs())
    ],
)
def test_copies_that_are_counted_at_once_are_as_many_as_one_after_the_other(
    drawn: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = only(asked(drawn, count=True))
    monkeypatch.setattr(what_if, "_at_once", lambda *_: None)
    in_turn = only(asked(drawn, count=True))
    assert (in_turn.how_many, in_turn.largest) == (found.how_many, found.largest)
    monkeypatch.setattr(what_if, "MOST_COPIES", 1)
    assert only(asked(drawn, count=True)).how_many == min(found.how_many or 0, 1)


def test_a_count_that_takes_too_many_steps_ends_with_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = cluster(TREE).with_gang("job", 2, cpu=2, must_gather=SPINE)
    whole = only(asked(drawn, count=True))
    monkeypatch.setattr(what_if, "_MOST_STEPS", 2)
    report = asked(drawn, count=True)
    cut = only(report)
    assert (cut.how_many, cut.counted_to, cut.largest, cut.largest_counted_to) == (3, 3, 2, 2)
    assert ((whole.how_many or 0) > 3, (whole.largest or 0) > 2) == (True, True)
    assert "3 or more such gangs fit; the largest has 2 pods or more.\n" in page(report)


def likeliest_may_differ() -> Iterator[Drawing]:
    """Yield clusters with a gang of which the first trigger finds no place, or none does, in each version."""
    unequal = cluster("s0: b0[n1:8]").with_pod("job-0", gang="job", cpu=9).with_pod("job-1", gang="job", cpu=1)
    for version in ("1.7", "1.8", "main"):
        for drawn in (unequal, cluster(TREE).with_gang("job", 2, cpu=8), cluster(TREE).with_gang("job", 9, cpu=8)):
            yield drawn.configured(version=version)


@pytest.mark.parametrize("drawn", list(likeliest_may_differ()), ids=range(9))
def test_the_likeliest_outcome_is_the_first_of_all(drawn: Drawing) -> None:
    simulation = simulate(drawn, drawn.subject("job"))
    first = open_outcomes(simulation, preemption=False)[0]
    found = likeliest_outcome(simulation)
    assert (found.trigger, found.placed_at_once) == (first.trigger, first.placed_at_once)


def test_copies_count_against_quotas_and_keep_each_other_away() -> None:
    drawn = cluster(TREE).configured(quotas=QuotaSettings(by_runtime=False)).with_gang("job", 1, cpu=1)
    assert only(asked(drawn.with_quota("few", "default", cpu=2), count=True)).how_many == 2
    assert only(asked(drawn.with_quota("none", "default", cpu=0.5), count=True)).how_many == 0
    assert only(asked(cluster(TREE).with_gang("job", 1, ports=(HostPort(80),)), count=True)).how_many == 4


def runtime_quotas() -> Iterator[tuple[Drawing, int, int]]:
    """Yield a gang whose quota may use more the more it requests, how often it fits, and how large it may be."""
    drawn = cluster(TREE).with_quota("a", "default", min=cpus(4), max=cpus(20), weight=cpus(20))
    beside = drawn.with_quota("b", "other", min=cpus(8), max=cpus(32), weight=cpus(12))
    yield beside.with_gang("job", 2, cpu=2), 5, 10
    yield beside.with_gang("other/x", 4, cpu=8, priority=-1).with_gang("job", 2, cpu=2), 4, 8
    yield beside.with_gang("job", 2, cpu=2, must_gather=SPINE), 5, 10


@pytest.mark.untraced
@pytest.mark.parametrize(("drawn", "many", "largest"), list(runtime_quotas()), ids=range(3))
def test_all_copies_request_of_their_quota(drawn: Drawing, many: int, largest: int) -> None:
    found = only(asked(drawn, count=True))
    assert (found.how_many, found.largest) == (many, largest)
    assert placed_again_and_again(drawn) == many


def placed_again_and_again(drawn: Drawing) -> int:
    """Return how often `why-pending` says yes, each time with the pods of the last time running where it put them."""
    for number in range(100):
        subject = drawn.subject("job")
        if why(drawn, subject).verdict != "yes":
            return number
        simulation = cluster_of(drawn).simulation(subject)
        (outcome, *_) = open_outcomes(simulation, preemption=False)
        by_key = {pod.key: pod for pod in subject.pending}
        for key, node in (outcome.first.placement or {}).items():
            requirements = by_key[key].requirements
            cpu = dict(requirements.requests)["cpu"] / 1000
            drawn = drawn.with_running(f"{key}-{number}", node, cpu=cpu)
    raise AssertionError


def test_a_count_without_end_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "MOST_COPIES", 3)
    monkeypatch.setattr(what_if, "_MOST_AT_ONCE", 8)
    drawn = cluster(TREE).with_gang("job", 1)
    report = asked(drawn, count=True)
    found = only(report)
    assert (found.how_many, found.counted_to, found.largest, found.largest_counted_to) == (3, 3, 8, 8)
    assert "3 or more such gangs fit; the largest has 8 pods or more.\n" in page(report)


@pytest.mark.parametrize(
    ("drawn", "largest", "counted_to"),
    [
        (TWO_KINDS.with_pod("job-c", gang="job", cpu=0.3).with_group("job", 3), 7, 7),
        (TWO_KINDS.with_group("job", 2), 7, 7),
        (cluster(TREE).with_gang("job", 1, cpu=0.1, must_gather=SPINE), 7, 7),
        (cluster(TREE).with_gang("job", 3, cpu=0.1, topology=BY_THREE).version("main"), 6, 6),
        (cluster(TREE).with_gang("job", 9, cpu=0.1, must_gather=SPINE), 9, 9),
    ],
    ids=["two-others", "one-other", "spine", "by-three", "more-than-are-tried"],
)
def test_a_gang_is_counted_up_to_the_most_pods_that_are_tried(
    drawn: Drawing, largest: int, counted_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "_MOST_IN_TURN", 7)
    found = only(asked(drawn, count=True))
    assert (found.largest, found.largest_counted_to) == (largest, counted_to)


def test_how_large_a_gang_may_be_beside_a_launcher_takes_few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def fits(simulation: Simulation, pods: int, view: View) -> bool:
        tried.append(pods)
        return before(simulation, pods, view)

    before = what_if._fits  # noqa: SLF001 - counted
    monkeypatch.setattr(what_if, "_fits", fits)
    drawn = cluster(TREE).with_pod("job-a", gang="job", cpu=2).with_pod("job-b", gang="job", cpu=0.5)
    found = only(asked(drawn.with_pod("job-c", gang="job", cpu=0.5).with_group("job", 3), count=True))
    assert (found.largest, tried) == (61, [65, 63, 59, 61, 62])


def test_the_page_counts_one_and_none() -> None:
    one = cluster(TREE).with_gang("job", 2, cpu=8, must_gather=SPINE)
    assert "\n1 such gang fits; the largest has 3 pods.\n" in page(asked(one, count=True))
    none = cluster(TREE).with_gang("job", 2, cpu=9)
    assert "\nNo such gang fits.\n" in page(asked(none, count=True))
    pod = cluster(TREE).with_pod("job-0", cpu=8)
    assert "\n4 such pods fit.\n" in page(asked(pod, count=True))


def test_a_gang_that_is_not_tried_is_not_counted() -> None:
    drawn = cluster(TREE).with_gang("job", 1, minimum=2)
    assert only(asked(drawn, count=True)).how_many is None


def test_jobs_that_go_first_take_their_room_before_copies_are_counted() -> None:
    drawn = cluster(TREE).with_gang("job", 1, cpu=8).with_gang("first", 3, cpu=8, priority=9)
    assert only(asked(drawn, count=True)).how_many == 1


def test_a_copy_of_a_gang_has_its_pods_anew() -> None:
    drawn = cluster(TREE).with_gang("job", 1, cpu=8, must_gather=SPINE, minimum=2, nominated="n1")
    drawn = drawn.with_running("job-9", "n1", cpu=8, gang="default/job")
    (subject,) = pending_subjects(drawn)
    assert isinstance(subject, GangSubject)
    snapshot, copied = with_copy(drawn, subject)
    found = only(fit(snapshot, copied))
    assert copied.pods == {"default/job-copy-0", "default/job-copy-1"}
    assert (found.gang, found.must_gather, found.min_member) == ("default/job-copy", SPINE, 2)
    assert (found.verdict, found.cause and found.cause.code) == ("unknown", "contended")


def test_a_copy_of_a_gang_that_its_pods_define_has_what_they_say() -> None:
    terms = GangAnnotations(minimum="1", topology=rules(f"MustGather {SPINE}"))
    drawn = cluster(TREE).with_light_gang("job", 1, gang_terms=terms)
    (subject,) = pending_subjects(drawn)
    assert isinstance(subject, GangSubject)
    assert only(fit(*with_copy(drawn, subject))).must_gather == SPINE
    running = cluster(TREE).with_running("job-0", "n1", gang="default/job").with_group("job", 1)
    assert running.running


@pytest.mark.parametrize(
    ("drawn", "code"),
    [
        (cluster(TREE).with_members(["job-0"], "job", cpu=1), "no-podgroup"),
        (
            cluster(TREE).with_light_gang("job", 1, gang_terms=GangAnnotations(minimum="three")),
            "gang-not-initialised",
        ),
    ],
)
def test_a_copy_of_a_gang_that_cannot_start_has_the_same_fault(drawn: Drawing, code: str) -> None:
    (subject,) = pending_subjects(drawn)
    assert isinstance(subject, GangSubject)
    found = only(fit(*with_copy(drawn, subject)))
    assert (found.gang, found.verdict, found.cause and found.cause.code) == ("default/job-copy", "no", code)


def test_a_shape_goes_to_the_first_profile() -> None:
    drawn = cluster(TREE).with_gang("job", 1).with_pod("other", scheduler="x").configured(profiles=("mine",))
    found = of_profile(drawn, submitted(drawn))
    assert {pod.name: pod.scheduler for pod in found.pending} == {"job-0": "mine", "other": "x"}


def test_pods_that_request_different_amounts_are_told_apart() -> None:
    drawn = cluster(TREE).with_group("job", 4).with_members(["job-0", "job-1"], "job", cpu=2)
    report = asked(drawn.with_members(["job-2"], "job", cpu=1).with_members(["job-3"], "job", cpu=0))
    assert [(one.pods, one.requests, dict(one.resources)) for one in only(report).shapes] == [
        (2, "2 CPU", {"cpu": "2"}),
        (1, "1 CPU", {"cpu": "1"}),
        (1, "no resources", {}),
    ]
    assert "Its pods request 2 CPU (2 pods), 1 CPU (1 pod) or no resources (1 pod). " in page(report)


SAID = 'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'


def admitted(drawing: Drawing, *refused: str) -> FitReport:
    pods = frozenset(pod.key for pod in drawing.pending)
    return fit(drawing, Submitted(pods, is_filled=True, refused=dict.fromkeys(refused, SAID)))


def test_a_gang_of_which_too_few_pods_are_made_does_not_fit_for_what_the_server_says() -> None:
    report = admitted(cluster(TREE).with_gang("job", 2, cpu=1), "default/job-1")
    (found,) = report.gangs
    assert (report.verdict, found.fits, found.unblock, found.victims) == ("no", "not-now", (), ())
    assert found.cause == Cause("not-admitted", f"the API server refuses 1 of its 2 pods: {SAID}.", ("default/job-1",))
    raised = """kubectl patch resourcequota q -n default --type merge -p '{"spec":{"hard":{"pods":"3"}}}'"""
    message = "Raise pods from 2 to 3 in ResourceQuota q, or free as much of it; then create the pods again"
    assert found.next_steps == (WayOut("raise-resource-quota", message, raised),)


def test_a_gang_that_has_enough_pods_without_those_that_are_refused_fits_with_a_warning() -> None:
    report = admitted(cluster(TREE).with_gang("job", 3, cpu=1, minimum=2), "default/job-2")
    assert (report.verdict, report.gangs[0].cause) == ("yes", None)
    assert Notice("not-admitted", f"the API server refuses 1 of its 3 pods: {SAID}.") in report.warnings


def test_a_pod_that_is_refused_and_one_that_is_not_are_told_apart() -> None:
    report = admitted(cluster(TREE).with_pod("a").with_pod("b"), "default/b")
    assert [(one.gang, one.fits) for one in report.gangs] == [("default/a", "now"), ("default/b", "not-now")]


def test_quotas_that_could_not_be_read_leave_manifests_open_and_a_shape_not() -> None:
    drawn = cluster(TREE).with_pod("p").with_gap("ResourceQuota")
    found = [
        fit(drawn, Submitted(frozenset({"default/p"}), is_filled=True, is_mutated=is_one)) for is_one in (True, False)
    ]
    assert [report.verdict for report in found] == ["unknown", "yes"]
