"""Which gaps leave which question open, and in which words."""

import pytest

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.coverage import About
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.wording.words import could_not_be_read
from tests.build import SPINE, Drawing, cluster, cpus, pending, why_of

FREE = cluster("s0: b0[n1 n2]; s1: b1[n3]")
JOB = FREE.with_gang("job", 2, 8, must_gather=SPINE)
TENANT = JOB.but(namespace_only="default")
THEIRS = "PodGroup.scheduling.volcano.sh"
ALL = ("Node", "Pod", "PodGroup", THEIRS, "ClusterNetworkTopology", "Event", "Device", "ElasticQuota")


def blind(drawing: Drawing, *kinds: str) -> Drawing:
    for kind in kinds:
        drawing = drawing.with_gap(kind)
    return drawing


@pytest.mark.parametrize("about", coverage.DECIDE)
def test_a_question_is_left_open_by_the_kinds_that_decide_it_alone(about: About) -> None:
    found = coverage.unread(blind(FREE, *ALL), about, "default", "other")
    assert [gap.kind for gap in found] == list(coverage.DECIDE[about])
    assert coverage.unread(FREE, about) == ()
    absent = FREE
    for kind in ALL:
        absent = absent.with_gap(kind, "not-in-input")
    assert coverage.unread(absent, about) == ()


def test_what_was_read_of_one_namespace_is_seen_there_alone() -> None:
    drawing = TENANT.with_gap("Pod", "one-namespace")
    assert coverage.unread(drawing, "pod", "default") == ()
    assert [gap.kind for gap in coverage.unread(drawing, "pod", "other")] == ["Pod"]
    assert [gap.kind for gap in coverage.unread(drawing, "pod", "default", "other")] == ["Pod"]
    assert [gap.kind for gap in coverage.unread(drawing, "pod")] == ["Pod"]
    elsewhere = FREE.but(gaps=(Gap("Pod", "forbidden", "no", "other"),))
    assert coverage.unread(elsewhere, "pod", "default") == ()
    assert len(coverage.unread(elsewhere, "pod", "other")) == len(coverage.unread(elsewhere, "pod")) == 1


def test_kinds_and_reasons_are_named_once_each() -> None:
    gaps = (Gap("Pod", "forbidden", "no"), Gap("PodGroup", "missing", "no"), Gap("Pod", "forbidden", "never"))
    assert could_not_be_read(gaps) == "Pod and PodGroup could not be read: no and never"


def test_what_slots_rest_on_depends_on_what_the_pods_ask_for() -> None:
    volumes = ("PersistentVolumeClaim", "PersistentVolume", "CSINode", "VolumeAttachment")
    kinds = ("NodeMetric", "Reservation", "Device", *volumes)
    for drawing, expected in (
        (FREE.with_gang("job", 1), ()),
        (FREE.with_pods(pending("job")), ()),
        (JOB, kinds[:2]),
        (JOB.with_members(("job-0",), "job", requests=cpus(1, nvidia_gpu=1)), kinds[:3]),
        (JOB.with_members(("job-0",), "job", claims=("data",)), (*kinds[:2], *kinds[3:])),
    ):
        found = coverage.unread_for_slots(drawing.subject("job"), blind(drawing, *kinds))
        assert [gap.kind for gap in found] == list(expected)


def test_no_tree_is_a_no_whatever_else_was_not_read() -> None:
    drawing = blind(JOB.but(topologies={}), "Pod")
    assert topo(drawing, drawing.subject("job")).verdict == "no"
    hidden = blind(JOB, "Pod")
    report = topo(hidden, hidden.subject("job"))
    message = "Pod could not be read: you may not read it"
    assert (report.verdict, report.message, report.desired_offer_slot) == ("unknown", message, None)
    assert {row.offer_slots for row in report.domains} == {None}


@pytest.mark.parametrize("kind", ["Pod", "PodGroup"])
def test_that_nothing_is_pending_is_only_told_where_it_was_seen(kind: str) -> None:
    drawing = FREE.with_group("job", 1).with_running("job-0", "n1", gang="default/job")
    subject = drawing.subject("job")
    hidden = blind(drawing, kind)
    words = f"{kind} could not be read: you may not read it"
    assert (why(drawing, subject).verdict, preempt(drawing, subject).reason) == ("yes", "no-pending-pods")
    report = why(hidden, subject)
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", words)
    idle = preempt(hidden, subject)
    assert (idle.verdict, idle.reason) == ("unknown", None)
    assert idle.message == f"default/job: cannot tell which pods it would preempt: {words}."
    own = TENANT.but(running=drawing.running, pending=()).with_gap(kind, "one-namespace")
    assert why(own, own.subject("job")).verdict == "yes"


def test_a_listing_of_one_namespace_needs_that_one_alone() -> None:
    drawing = TENANT.with_gap("PodGroup", "one-namespace", "only one").with_gap("Pod", "one-namespace", "only one")
    assert (every_pending(drawing, "default").verdict, every_pending(drawing, "default").message) == ("yes", "")
    everywhere = every_pending(drawing)
    assert (everywhere.verdict, everywhere.message) == ("unknown", "Pod and PodGroup could not be read: only one")


def test_jobs_of_higher_priority_that_cannot_be_judged_leave_a_yes_open_and_no_other() -> None:
    alone = FREE.with_pods(pending("job", 8))
    rival = alone.with_gang("first", 3, 8, priority=10)
    words = "jobs of higher priority may take its place: PodGroup could not be read: you may not read it"
    assert why_of(rival).verdict == "no"
    report = why_of(blind(rival, "PodGroup"))
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", words)
    assert why_of(blind(alone, "PodGroup")).verdict == "yes"
    assert why_of(blind(alone.with_gang("last", 3, 8, priority=-1), "PodGroup")).verdict == "yes"
    assert why_of(blind(rival.with_pods(pending("job", 99)), "PodGroup")).verdict == "no"


def test_a_claim_that_could_not_be_looked_for_is_not_missing() -> None:
    drawing = FREE.with_gang("job", 1, 1, claims=("data",))
    assert why_of(drawing).verdict == "no"
    report = why_of(blind(drawing, "PersistentVolumeClaim"))
    words = "it depends on volume claim data (its volume could not be read), which is not evaluated."
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", words)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("CSINode", "how many volumes the nodes can hold (CSINode objects could not be read)"),
        (
            "PersistentVolumeClaim",
            "how many volumes the nodes hold already (PersistentVolumeClaim objects could not all be read)",
        ),
    ],
)
def test_how_many_volumes_nodes_can_hold_is_open_where_it_was_not_read(kind: str, words: str) -> None:
    bound = {"default/data": Claim("default/data", "pv", driver="csi", known=True)}
    drawing = FREE.with_gang("job", 1, 1, claims=("data",)).but(claims=bound, namespace_only="default")
    assert why_of(drawing).verdict == "yes"
    report = why_of(drawing.with_gap(kind, "one-namespace"))
    expected = f"it depends on {words}, which is not evaluated."
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", expected)


def test_kinds_that_could_not_be_read_for_one_reason_are_one_warning() -> None:
    drawing = blind(JOB, "Node", "Device").with_gap("Reservation", "missing", "not there")
    warnings = why_of(drawing).warnings
    assert [(one.code, one.message) for one in warnings] == [
        ("forbidden-list", "Node and Device: you may not read it"),
        ("missing-list", "Reservation: not there"),
        ("slots-not-shown", "slots cannot be counted: Node could not be read: you may not read it"),
    ]
