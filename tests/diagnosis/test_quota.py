"""Quota refusals in the scheduler's own words."""

import pytest

from kubectl_koord.model.pods import Condition, PodRequirements
from kubectl_koord.model.quotas import QuotaSettings
from kubectl_koord.model.unevaluated import OpenCards, OpenProfile, UnreadRuntimeClass
from kubectl_koord.model.values import Labels
from tests.build import SPINE, Drawing, cluster, cpus, why_of

FREE = cluster("s0: b0[n1 n2]").with_gang("job", 2).with_gap("ElasticQuota")
WIDENING = OpenProfile("batch", "patch")
SMALL = cluster("s0: b0[n1 n2]").with_quota("team-a", "default", cpu=1)
OWN = (
    "0/2 nodes are available: Insufficient quotas, quotaName: team-a, runtime: cpu:4,nvidia.com/gpu:8, used:"
    " cpu:4,nvidia.com/gpu:8, pod's request: cpu:1,nvidia.com/gpu:1, exceedDimensions: [cpu nvidia.com/gpu]."
)
PARENT = (
    "0/2 nodes are available: Insufficient quotas, quotaNameTopo: [root team-a], runtime: <empty>, used: <empty>,"
    " pod's request: cpu:1, exceedDimensions: [cpu]."
)
GUARANTEED = (
    "0/2 nodes are available: Insufficient non-preemptible quotas, quotaName: team-a, min: cpu:2, nonPreemptibleUsed:"
    " cpu:2, pod's request: cpu:1, exceedDimensions: [cpu]."
)
QUOTING = (
    '0/2 nodes are available: GangGroup "default/job" gets rejected due to member Pod "default/job-1" is unschedulable'
    ' with reason "' + OWN + '", alreadyWaitForBound: 0.'
)
NOTHING_NAMED = (
    "0/2 nodes are available: Insufficient quotas, quotaName: team-a, runtime: cpu:4, used: cpu:4, pod's request:"
    " cpu:1, exceedDimensions: []."
)


def refused(message: str, drawing: Drawing = FREE, since: str = "2026-11-20T09:00:00Z") -> Drawing:
    return drawing.change_pods("job-0", condition=Condition("Unschedulable", message, since))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            OWN,
            (
                "quota team-a has no room for default/job-0 (CPU: 4 of 4 used, 1 requested and GPU: 8 of 8 used,"
                " 1 requested)"
            ),
        ),
        (PARENT, "quota root team-a has no room for default/job-0 (CPU: 0 of 0 used, 1 requested)"),
        (GUARANTEED, "quota team-a has no room for default/job-0 (CPU: 2 of 2 used, 1 requested)"),
        (NOTHING_NAMED, "quota team-a has no room for default/job-0"),
    ],
)
def test_the_cause_names_quota_numbers_and_since_when(message: str, words: str) -> None:
    report = why_of(refused(message))
    assert report.verdict == "unknown"
    assert report.cause is not None
    assert (report.cause.code, report.cause.pods) == ("quota", ("default/job-0",))
    told = f"the scheduler reports since 2026-11-20T09:00:00Z that {words}; quotas are not evaluated."
    assert report.cause.message == told


def test_a_refusal_without_time_is_told_without() -> None:
    cause = why_of(refused(NOTHING_NAMED, since="")).cause
    assert cause is not None
    assert cause.message.startswith("the scheduler reports that quota team-a")


@pytest.mark.parametrize(
    ("drawing", "code"),
    [
        (refused("0/2 nodes are available: 2 Insufficient cpu."), "not-evaluated"),
        (FREE, "not-evaluated"),
        (refused(OWN, FREE.but(gaps=())), "waiting-for-retry"),
        (refused(OWN, FREE.but(gaps=()).with_gap("NodeMetric")), "not-evaluated"),
        (refused(OWN, FREE.but(gaps=()).with_quota("team-a", "default", parent="gone")), "quota"),
        (refused(OWN, FREE.cordon("n1", "n2")), "no-feasible-node"),
    ],
)
def test_only_a_refusal_that_still_may_hold_is_the_cause(drawing: Drawing, code: str) -> None:
    cause = why_of(drawing).cause
    assert cause is not None
    assert cause.code == code


@pytest.mark.parametrize(
    ("drawing", "code", "others"),
    [
        (FREE.with_gang("job", 9, 8, must_gather=SPINE), "never-fits", ("quota",)),
        (FREE.with_gang("job", 2, 8, must_gather=SPINE).with_running("x", "n1", 8), "insufficient-slots", ("quota",)),
        (FREE.with_gang("job", 2, must_gather="Rack"), "unknown-layer", ("quota",)),
        (FREE.with_gang("job", 2, minimum=3, must_gather="Rack"), "too-few-pods", ("unknown-layer", "quota")),
        (FREE.but(gaps=()).with_gang("job", 2, must_gather="Rack"), "unknown-layer", ()),
        (SMALL.with_gang("job", 2, must_gather="Rack"), "unknown-layer", ("quota",)),
        (SMALL.with_gang("job", 2, minimum=1, node_selector=(("a", "b"),)), "no-feasible-node", ()),
    ],
    ids=["never fits", "slots", "layer", "two others", "no quota any more", "computed", "enough are let in"],
)
def test_a_refusal_is_told_beside_what_stops_the_gang_for_sure(
    drawing: Drawing, code: str, others: tuple[str, ...]
) -> None:
    report = why_of(refused(OWN, drawing))

    assert report.cause is not None
    assert (report.verdict, report.cause.code, report.also_wrong) == ("no", code, others)


def test_where_it_would_be_placed_but_for_the_quota_nothing_else_is_wrong() -> None:
    assert why_of(refused(OWN)).also_wrong == ()


def labelled(name: str, *more: tuple[str, str]) -> Labels:
    return (("quota.scheduling.koordinator.sh/name", name), *more)


FIXED = ("quota.scheduling.koordinator.sh/preemptible", "false")
CHECKING = QuotaSettings(by_runtime=False, check_parents=True)
EMPTY = cluster("s0: b0[n1 n2]")


@pytest.mark.parametrize(
    ("drawing", "words"),
    [
        (
            EMPTY.with_quota("q", cpu=1).with_gang("job", 2, labels=labelled("q")),
            (
                "quota q: 1 CPU in use (1 of it for default/job-1, which goes first), 1 allowed (its max);"
                " default/job-0 wants 1 CPU more."
            ),
        ),
        (
            EMPTY.with_quota("q", cpu=1).with_gang("job", 2, must_gather=SPINE, labels=labelled("q")),
            (
                "quota q: 1 CPU in use (1 of it for default/job-0, which goes first), 1 allowed (its max);"
                " default/job-1 wants 1 CPU more."
            ),
        ),
        (
            EMPTY.with_quota("q", min=cpus(0.5)).with_gang("job", 1, labels=labelled("q", FIXED)),
            (
                "quota q: 0 CPU in use, 500m allowed (its min, which non-preemptible pods must stay within);"
                " default/job-0 wants 1 CPU more."
            ),
        ),
        (
            EMPTY.with_quota("top", cpu=1)
            .with_quota("q", parent="top")
            .with_gang("job", 2, labels=labelled("q"))
            .configured(quotas=CHECKING),
            (
                "quota top (above q): 1 CPU in use (1 of it for default/job-1, which goes first), 1 allowed (its max);"
                " default/job-0 wants 1 CPU more."
            ),
        ),
    ],
    ids=["pod by pod", "planned", "minimum", "parent"],
)
def test_a_computed_refusal_is_a_no_with_its_arithmetic(drawing: Drawing, words: str) -> None:
    report = why_of(drawing)

    assert report.cause is not None
    assert (report.verdict, report.cause.code, report.cause.message) == ("no", "quota", words)
    assert report.also_wrong == ()


@pytest.mark.parametrize("must_gather", ["", SPINE])
def test_a_gang_runs_where_the_quota_has_room_for_as_many_as_it_needs_at_once(must_gather: str) -> None:
    drawing = EMPTY.with_quota("q", cpu=2).with_gang("job", 3, minimum=2, must_gather=must_gather, labels=labelled("q"))
    report = why_of(drawing)

    assert (report.verdict, report.cause, report.also_wrong) == ("yes", None, ())
    assert [notice.code for notice in report.warnings if notice.code == "surplus-pods"] == ["surplus-pods"]
    nowhere = why_of(drawing.cordon("n1", "n2"))
    assert nowhere.cause is not None
    assert "quota" not in (nowhere.cause.code, *nowhere.also_wrong)


def test_what_nodes_might_offer_besides_opens_no_quota() -> None:
    drawing = EMPTY.with_quota("q", cpu=0.5).with_gang("job", 1, labels=labelled("q")).with_gap("Reservation")
    wider = drawing.change_pods(requirements=PodRequirements(cpus(1), unevaluated=(WIDENING,)))

    other = drawing.change_pods(requirements=PodRequirements(cpus(1), unevaluated=(OpenProfile("a", "patch"),)))
    split = drawing.change_pods(requirements=PodRequirements(cpus(1), unevaluated=(OpenCards("unread"),)))
    added = drawing.change_pods(requirements=PodRequirements(cpus(1), unevaluated=(UnreadRuntimeClass("kata"),)))

    assert (why_of(drawing).verdict, why_of(wider).verdict) == ("no", "unknown")
    assert (why_of(other).verdict, why_of(split).verdict, why_of(added).verdict) == ("unknown", "unknown", "no")


def test_of_many_pods_that_are_counted_before_the_first_are_named() -> None:
    cause = why_of(EMPTY.with_quota("q", cpu=5).with_gang("job", 6, must_gather=SPINE, labels=labelled("q"))).cause
    assert cause is not None
    assert cause.message == (
        "quota q: 5 CPU in use (5 of it for default/job-0, default/job-1, default/job-2 and others, which go first),"
        " 5 allowed (its max); default/job-5 wants 1 CPU more."
    )


def test_a_share_of_the_runtime_and_a_minimum_that_is_scaled_down_are_said_where_the_quota_refuses() -> None:
    drawing = EMPTY.with_quota("q", min=cpus(20)).with_quota("other", min=cpus(20), weight=cpus(1))
    drawing = drawing.with_pod("greedy", cpu=99, labels=labelled("other"))
    cause = why_of(drawing.with_gang("job", 1, cpu=99, labels=labelled("q"))).cause
    assert cause is not None
    assert cause.message == (
        "quota q: 0 CPU in use, 8 allowed now (its runtime share; its min of 20 counts as 8, as it and those beside it"
        " are together more than there is); default/job-0 wants 99 CPU more."
    )


def test_where_the_quota_is_over_its_limit_of_what_a_pod_asks_nothing_of_that_is_said() -> None:
    drawing = EMPTY.with_quota("q", cpu=1).with_running("large", on="n1", cpu=2, labels=labelled("q"))
    cause = why_of(drawing.with_gang("job", 1, requests=(("memory", 1 << 30),), labels=labelled("q"))).cause
    assert cause is not None
    assert cause.message == (
        "quota q: 2 CPU in use, 1 allowed (its max); until then default/job-0, which asks for none of it, waits."
    )
