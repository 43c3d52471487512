"""`quota`: the trees, what is held back, findings, the over-use controller, and headroom."""

import pytest
from msgspec import structs

from kubectl_koord.diagnosis.quotas import headroom_of
from kubectl_koord.engine.state import of
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.quota import counted_as, names, quotas, resource_names
from kubectl_koord.explain.topo import topo
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, ROOT, SYSTEM, QuotaSettings
from kubectl_koord.render.pages.preempt import next_step
from kubectl_koord.render.show import text
from kubectl_koord.reports.capacity import ChainLevel, QuotaTreeReport, Share
from tests.build import Drawing, cluster, cpus, node, pending, preempt_of, why_of
from tests.render.samples import PIPE

BASE = cluster("s0: b0[n1 n2]")  # 8 CPU each


def of_quota(name: str) -> tuple[tuple[str, str], ...]:
    return ((NAME_LABEL, name),)


def quota(drawing: Drawing, name: str, least: float, most: float, **fields: object) -> Drawing:
    return drawing.with_quota(name, min=cpus(least), max=cpus(most), weight=cpus(most), **fields)


def team() -> Drawing:
    """Return quota a, of which a gang of 3 wants more than is left, and b, which lent."""
    drawing = quota(quota(BASE, "a", 4, 16), "b", 8, 16)
    drawing = drawing.with_gang("job", 3, 4, labels=of_quota("a"))
    drawing = drawing.with_running("x", on="n1", cpu=6, labels=of_quota("a"))
    return drawing.with_running("y", on="n2", cpu=1, labels=of_quota("b"))


def codes(report: QuotaTreeReport) -> list[tuple[str, str, str]]:
    return [(one.severity, one.code, one.object) for one in report.findings]


def test_the_tree_has_every_quota_with_what_it_may_use_and_uses() -> None:
    report = quotas(team())
    assert [(row.name, row.depth, row.children) for row in report.quotas] == [
        (ROOT, 0, ("a", "b", DEFAULT, SYSTEM)),
        ("a", 1, ()),
        ("b", 1, ()),
        (DEFAULT, 1, ()),
        (SYSTEM, 1, ()),
    ]
    root, a, b = report.quotas[:3]
    assert root.total is not None
    assert root.total["cpu"] == "16"
    assert (a.min, a.max, a.shared_weight) == ({"cpu": "4"}, {"cpu": "16"}, {"cpu": "16"})
    assert (a.used, a.request, a.runtime, a.limit) == ({"cpu": "6"}, {"cpu": "18"}, {"cpu": "15"}, {"cpu": "15"})
    assert (b.used, b.request, b.runtime, b.guaranteed) == ({"cpu": "1"}, {"cpu": "1"}, {"cpu": "1"}, {"cpu": "8"})


def test_the_first_line_says_what_is_held_back() -> None:
    report = quotas(team())
    assert report.message == "1 quota holds back 4 CPU of 1 gang (1 pod)."
    (held,) = report.held_back
    assert (held.quota, held.requests, held.waiting_for) == ("a", {"cpu": "4"}, "4 CPU")
    assert [(hold.gang, hold.pods, hold.of) for hold in held.gangs] == [("default/job", ("default/job-2",), 3)]


def test_who_lends_and_who_borrows_is_told_of_each_quota() -> None:
    drawing = team().with_running("z", on="n2", cpu=5, labels=of_quota("a"))
    a, b = quotas(drawing).quotas[1:3]
    assert a.borrowed == (Share("cpu", "7", ("b",), of_it="3"),)
    assert b.lent == (Share("cpu", "3", ("a",)),)


def test_without_quotas_it_says_so() -> None:
    report = quotas(BASE)
    assert (report.verdict, report.message) == ("yes", "No ElasticQuota exists: no pod is limited by a quota.")
    assert [row.name for row in report.quotas] == [ROOT, DEFAULT, SYSTEM]
    assert report.resource == "cpu"
    assert "QUOTA" not in text(report, style=PIPE)
    assert "\nCounted: CPU.\n" in text(quotas(BASE, DEFAULT), style=PIPE)


def test_without_quotas_what_counts_is_what_counts_of_the_nodes() -> None:
    cards = node("n9", allocatable=(("cpu", 8000), ("nvidia.com/gpu", 8)))
    assert quotas(BASE.with_nodes(cards)).resource == "nvidia.com/gpu"


def test_each_pod_lacks_under_its_own_name() -> None:
    drawn = team().with_gang("more", 3, 4, labels=of_quota("a"))
    lacking = [pod for pod in quotas(drawn, "a").pods if pod.lacks]
    assert len(lacking) > 1
    assert all(pod.pod in pod.lacks for pod in lacking)


@pytest.mark.parametrize("kind", ["Pod", "Node"])
def test_where_pods_or_nodes_could_not_be_read_quotas_are_listed_as_written(kind: str) -> None:
    report = quotas(team().with_gap(kind))
    assert report.verdict == "unknown"
    assert report.message.startswith(f"Cannot tell what quotas use and may use: {kind} could not be read")
    assert [(row.name, row.used, row.runtime) for row in report.quotas[1:3]] == [("a", None, None), ("b", None, None)]


def test_where_quotas_could_not_be_read_nothing_is_listed() -> None:
    report = quotas(team().with_gap("ElasticQuota"))
    assert (report.verdict, report.quotas) == ("unknown", ())
    assert report.message == "Cannot show quotas: ElasticQuota could not be read: you may not read it."


def test_one_quota_is_shown_with_those_above_and_below_it_and_its_pods() -> None:
    drawing = quota(quota(team(), "p", 0, 9, is_parent=True), "c", 0, 9, parent="p")
    drawing = quota(drawing, "d", 0, 9, parent="c")
    assert [row.name for row in quotas(drawing, "c").quotas] == [ROOT, "p", "c", "d"]
    report = quotas(team(), "a")
    assert report.message == "Quota a has 4 pods, 3 of them pending; it holds back 1 of these."
    assert [(pod.pod, pod.node, bool(pod.lacks)) for pod in report.pods] == [
        ("default/x", "n1", False),
        ("default/job-0", "", False),
        ("default/job-1", "", False),
        ("default/job-2", "", True),
    ]
    assert quotas(drawing, "c").message == "Quota c (below p) has 0 pods."
    assert [row.name for row in quotas(drawing, DEFAULT).quotas] == [DEFAULT]


def test_of_a_namespace_its_quotas_and_those_of_its_pods_are_shown() -> None:
    drawing = quota(quota(quota(BASE, "far/a", 0, 9), "far/p", 0, 9), "b", 0, 9, parent="p")
    drawing = drawing.with_pods(pending("near/w", 1, labels=of_quota("b")))
    drawing = drawing.with_running("near/r", on="n1", cpu=1, labels=of_quota("nobody"))
    assert [row.name for row in quotas(drawing, namespace="near").quotas] == [ROOT, "p", "b", DEFAULT]
    assert [row.name for row in quotas(drawing, namespace="far").quotas] == [ROOT, "a", "p"]


def test_each_tree_has_its_own_total_and_quotas_in_none_come_last() -> None:
    drawing = quota(BASE, "t", 0, 9, tree="gpu", heads_tree=True, total=cpus(6))
    drawing = quota(quota(drawing, "u", 0, 9, tree="gpu", parent="t"), "lost", 0, 9, parent="gone")
    report = quotas(drawing.configured(quotas=QuotaSettings(trees=True)))
    assert [(row.name, row.depth) for row in report.quotas if not row.built_in] == [("t", 1), ("u", 2), ("lost", 1)]
    totals = {row.name: dict(row.total)["cpu"] for row in report.quotas if row.total is not None}
    assert totals == {ROOT: "10", "t": "6"}
    assert report.quotas[-1].fault == "no-parent"


def test_what_is_counted_is_the_accelerator_that_most_quotas_limit_else_cpu() -> None:
    drawing = BASE.with_quota("a", max=(("cpu", 1000), ("nvidia.com/gpu", 8)))
    assert (quotas(BASE).resource, quotas(drawing).resource) == ("cpu", "nvidia.com/gpu")
    assert quotas(drawing, resource="memory").resource == "memory"
    assert resource_names(drawing) == ("cpu", "memory", "nvidia.com/gpu")
    assert [counted_as(drawing, name) for name in ("GPU", "cpu", "disk")] == ["nvidia.com/gpu", "cpu", ""]
    assert names(drawing) == ("a", DEFAULT, ROOT, SYSTEM)


def test_what_the_webhook_would_refuse_is_found() -> None:
    drawing = quota(quota(BASE, "p", 2, 9), "far/c", 3, 2, parent="p", tree="t", namespaces=("n",))
    drawing = drawing.with_quota("c", max=(("memory", 5),), min=(("memory", -1),), parent="p", namespaces=("n",))
    drawing = drawing.with_quota("d", max=(), min=cpus(1), namespaces=("n",), unreadable=("namespaces",))
    drawing = quota(quota(quota(drawing, "x", 0, 1, parent="y"), "y", 0, 1, parent="x"), "z", 0, 1, parent="gone")
    drawing = quota(drawing, "into", 0, 1, parent="x")
    assert set(codes(quotas(drawing))) >= {
        ("error", "quota-same-name", "c"),
        ("error", "quota-same-namespace", "c"),
        ("error", "quota-other-tree", "c"),
        ("error", "quota-min-above-max", "c"),
        ("error", "quota-negative", "c"),
        ("error", "quota-resources-differ", "c"),
        ("error", "quota-min-not-in-parent", "c"),
        ("error", "quota-parent-without-label", "p"),
        ("error", "quota-min-above-max", "d"),
        ("error", "quota-unreadable", "d"),
        ("error", "quota-cycle", "x"),
        ("error", "quota-cycle", "y"),
        ("error", "quota-no-parent", "z"),
    }
    assert ("error", "quota-cycle", "into") not in codes(quotas(drawing))
    assert codes(quotas(team())) == []


def test_minimums_below_a_quota_and_of_all_are_held_against_what_there_is() -> None:
    drawing = quota(quota(BASE, "p", 20, 30, is_parent=True), "c", 25, 30, parent="p")
    report = quotas(drawing)
    assert codes(report) == [("error", "quota-min-above-parent", "p"), ("warning", "quota-min-above-total", ROOT)]
    assert report.findings[0].message == "min of 1 quota below it comes to 25 CPU, its own is 20."
    assert report.findings[1].message == "minimums come to 20 CPU, and there are 16: each is scaled down."
    unscaled = quotas(drawing.configured(quotas=QuotaSettings(scale_min=False)))
    assert "they are not scaled down" in unscaled.findings[1].message
    forced = quota(quota(BASE, "p", 2, 30, is_parent=True, forced=True), "c", 5, 30, parent="p")
    assert codes(quotas(forced)) == []


def test_what_pods_and_the_scheduler_say_is_held_against_what_is_computed() -> None:
    drawing = quota(BASE, "p", 0, 9, is_parent=True, used=cpus(3), runtime=cpus(9), strict=("cpu",))
    drawing = quota(drawing, "a", 0, 2, used=cpus(3), runtime=cpus(1), strict=("cpu",))
    for name in ("p", "a", "gone"):
        drawing = drawing.with_running(name, on="n1", cpu=3, labels=of_quota(name))
    report = quotas(drawing)
    assert codes(report) == [
        ("error", "quota-max-below-used", "a"),
        ("warning", "quota-over-used", "a"),
        ("warning", "quota-pods-in-parent", "p"),
        ("warning", "quota-unknown", "gone"),
        ("info", "quota-runtime-differs", "a"),
    ]
    assert [one.message for one in report.findings[1:]] == [
        "it uses more than its runtime: 3 of 2 CPU.",
        "it is a parent, and pods of its own request 3 CPU.",
        "1 pod (such as default/gone) names it, it does not exist: it counts against koordinator-default-quota.",
        "the scheduler wrote runtime 1 CPU, computed are 2; answers rest on what is computed.",
    ]
    later = quotas(drawing.but(quotas=tuple(structs.replace(one, used=cpus(1)) for one in drawing.quotas)))
    assert ("info", "quota-used-differs", "p") in codes(later)


@pytest.mark.parametrize(
    ("least", "most", "remedy"),
    [
        (0, 2, "Raise max, or end pods: it uses more than its max, which a higher min does not change."),
        (8, 10, "Wait until pods end, or raise min to 8 CPU: until then no pod of its own is admitted."),
        (12, 10, "Wait until pods end: a higher min alone does not give it as much."),
    ],
)
def test_a_higher_minimum_is_named_only_where_it_brings_a_quota_within_its_runtime(
    least: int, most: int, remedy: str
) -> None:
    drawing = quota(quota(BASE, "q", 0, most), "r", least, 16)
    drawing = drawing.with_running("x", on="n1", cpu=8, labels=of_quota("q"))
    drawing = drawing.with_pod("w", cpu=16, labels=of_quota("r"))
    (found,) = [one for one in quotas(drawing).findings if one.code == "quota-over-used"]
    assert found.remedy == remedy


def test_the_over_use_controller_names_its_victims_where_it_runs_or_one_quota_is_asked_for() -> None:
    drawing = quota(BASE, "a", 0, 4)
    drawing = drawing.with_running("x", on="n1", cpu=3, labels=of_quota("a"), priority=5)
    drawing = drawing.with_running("y", on="n1", cpu=3, labels=of_quota("a"))
    on = drawing.configured(quotas=QuotaSettings(revokes=True))
    for report in (quotas(on), quotas(on, "a"), quotas(drawing, "a")):
        assert report.over_use is not None
        assert [[pod.pod for pod in one.pods] for one in report.over_use.evicts] == [["default/y"]]
    off = quotas(drawing).over_use
    assert off is not None
    assert (off.on, off.evicts) == (False, ())
    by_max = quotas(drawing.configured(quotas=QuotaSettings(revokes=True, by_runtime=False))).over_use
    assert by_max is not None
    assert by_max.message.startswith("The over-use controller is off (enableRuntimeQuota)")


def test_headroom_tells_how_many_members_quotas_admit_and_what_stops_the_next() -> None:
    drawing = team()
    headroom = quotas(drawing, subject=drawing.subject("job")).headroom
    assert headroom is not None
    assert (headroom.pods, headroom.admits, headroom.stopped_by, headroom.resources) == (3, 2, "a", ("cpu",))
    assert headroom.chain == (ChainLevel("a", "cpu", "15", "6", "4", 2, checked=True),)
    assert headroom.message.startswith("Quotas admit 2 of 3 pending pods of default/job: quota a:")
    assert topo(drawing, drawing.subject("job")).headroom == headroom


@pytest.mark.parametrize(
    ("drawing", "admits", "message"),
    [
        (quota(BASE, "a", 0, 16).with_gang("job", 2, 4, labels=of_quota("a")), 2, "Quotas admit all 2 pending pods"),
        (BASE.with_gang("job", 2, 4), 2, "No quota limits default/job."),
        (
            quota(BASE, "a", 0, 9, parent="gone").with_gang("job", 2, 4, labels=of_quota("a")),
            None,
            "Cannot tell how many pods of default/job quotas admit: that depends on quota a",
        ),
        (team().with_gap("Pod"), None, "Cannot tell how many pods of default/job quotas admit: Pod could not be read"),
        (BASE.with_gang("job", 2, 4, gates=("x",)), 0, "default/job has no pending pods"),
    ],
)
def test_headroom_says_when_nothing_stops_it_or_it_is_open(drawing: Drawing, admits: int | None, message: str) -> None:
    headroom = headroom_of(drawing.subject("job"), of(drawing))
    assert (headroom.admits, headroom.message[: len(message)]) == (admits, message)


def test_topo_says_nothing_of_quotas_where_none_limits_the_gang_and_that_it_is_open_where_they_went_unread() -> None:
    drawing = BASE.with_gang("job", 2, 4)
    assert topo(drawing, drawing.subject("job")).headroom is None
    blind = drawing.with_gap("ElasticQuota")
    headroom = topo(blind, blind.subject("job")).headroom
    assert headroom is not None
    assert headroom.admits is None


def test_why_pending_names_who_uses_what_the_quota_lacks() -> None:
    drawing = team().with_running("z", on="n2", cpu=1, labels=of_quota("a"))
    drawing = quota(drawing, "c", 0, 16).with_running("w", on="n2", cpu=2, labels=of_quota("c"))
    report = why_of(drawing)
    assert report.cause is not None
    assert (report.cause.code, report.quota_holders) == ("quota", (Share("cpu", "2", ("c",)),))


def test_those_beside_the_parent_are_named_where_none_beside_the_quota_has_it() -> None:
    drawing = quota(quota(BASE, "p", 0, 16), "a", 0, 16, parent="p")
    drawing = quota(drawing, "c", 0, 16).with_running("w", on="n2", cpu=8, labels=of_quota("c"))
    drawing = drawing.with_gang("job", 3, 4, labels=of_quota("a"))
    assert why_of(drawing).quota_holders == (Share("cpu", "8", ("c",)),)


def test_a_maximum_is_nobodys_doing_and_neither_is_a_minimum() -> None:
    drawing = quota(quota(BASE, "a", 0, 5), "c", 0, 16).with_running("w", on="n2", cpu=8, labels=of_quota("c"))
    assert why_of(drawing.with_gang("job", 3, 4, labels=of_quota("a"))).quota_holders == ()
    by_max = drawing.with_gang("job", 3, 4, labels=of_quota("a")).configured(quotas=QuotaSettings(by_runtime=False))
    assert why_of(by_max).quota_holders == ()


def test_preempt_names_the_quota_that_refuses_whatever_is_freed() -> None:
    report = preempt_of(quota(BASE, "a", 0, 5).with_gang("job", 2, 4, labels=of_quota("a")))
    assert (report.verdict, report.refusing_quota) == ("no", "a")
    assert next_step(report) == "See why the gang is pending, and what else helps."
    assert preempt_of(BASE.with_gang("job", 2, 4)).refusing_quota == ""


def test_the_listing_of_pending_gangs_says_what_quotas_hold_back_of_its_namespace() -> None:
    drawing = quota(BASE, "a", 0, 5).with_gang("job", 2, 4, labels=of_quota("a"))
    (held,) = every_pending(drawing).held_back
    assert (held.quota, held.waiting_for) == ("a", "4 CPU")
    assert every_pending(drawing, "other").held_back == ()
    assert every_pending(drawing.with_gap("ElasticQuota")).held_back == ()
    assert every_pending(BASE.with_gang("job", 2, 4)).held_back == ()


def test_quotas_that_are_as_they_should_be_give_no_findings() -> None:
    drawing = quota(BASE, "a", 0, 5, namespaces=("n",), used=cpus(1), runtime=cpus(2)).with_quota(DEFAULT)
    for name in ("x", "y"):
        drawing = drawing.with_running(f"n/{name}", on="n1", cpu=1)
    assert codes(quotas(drawing.but(quotas=tuple(structs.replace(q, used=None) for q in drawing.quotas)))) == []
    assert len(quotas(drawing, "a").pods) == 2


def test_nobody_is_named_where_nobody_has_what_is_lacking() -> None:
    drawing = quota(quota(BASE, "p", 0, 6), "a", 0, 16, parent="p").with_gang("job", 2, 4, labels=of_quota("a"))
    assert why_of(drawing).quota_holders == ()
