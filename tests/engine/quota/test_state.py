"""Whole trees of quotas: what each requests, uses and may use, and whom it refuses."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec import structs

from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.quota.usage import capacity
from kubectl_koord.engine.reasons import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, PREEMPTIBLE_LABEL, ROOT, SYSTEM, Quota, QuotaSettings
from kubectl_koord.model.values import Labels, Resources
from tests.build import Drawing, cluster, cpus, node, pending, running

CPU, MEMORY, GPU = "cpu", "memory", "nvidia.com/gpu"


def amounts(cpu: float, memory: int = 0, **others: int) -> tuple[tuple[str, int], ...]:
    return (*cpus(cpu), *((MEMORY, memory),) * bool(memory), *sorted(others.items()))


def sized(cpu: float, memory: int = 0) -> Drawing:
    """Return one node of this size."""
    return cluster().with_nodes(node("n1", allocatable=(*amounts(cpu, memory), ("pods", 110))))


def of_quota(name: str, *, fixed: bool = False) -> Labels:
    return ((NAME_LABEL, name), *(((PREEMPTIBLE_LABEL, "false"),) * fixed))


def asking(drawing: Drawing, quota: str, cpu: float, memory: int = 0, name: str = "") -> Drawing:
    """Let a pod of a quota wait."""
    pod = pending(name or f"asks-{quota}", requests=amounts(cpu, memory), labels=of_quota(quota))
    return drawing.with_pods(pod)


def using(drawing: Drawing, quota: str, cpu: float, memory: int = 0, name: str = "", *, fixed: bool = False) -> Drawing:
    """Let a pod of a quota run."""
    labels = of_quota(quota, fixed=fixed)
    return drawing.with_running(name or f"uses-{quota}", on="n1", requests=amounts(cpu, memory), labels=labels)


def state(drawing: Drawing) -> QuotaState:
    return quota_state(of(drawing), rules(drawing.config.version))


def quota(drawing: Drawing, name: str, least: float = 0, most: float = 100, **fields: object) -> Drawing:
    """Add a quota of CPU."""
    return drawing.with_quota(name, min=cpus(least), max=cpus(most), weight=cpus(most), **fields)


def runtimes(drawing: Drawing, names: str) -> list[float]:
    """Return the CPU that each quota may use."""
    found = state(drawing)
    return [found.runtime(name).get(CPU, 0) / 1000 for name in names.split()]


@pytest.mark.parametrize(
    ("lending", "requests", "expected"),
    [
        ((False, False, False), 0, [60, 20, 20]),
        ((False, False, False), 40, [60, 40, 20]),
        ((False, False, False), 60, [80, 60, 20]),
        ((True, False, True), 0, [20, 20, 0]),
        ((True, False, True), 40, [40, 40, 0]),
        ((True, False, True), 60, [60, 60, 0]),
        ((True, False, False), 0, [40, 20, 20]),
        ((True, False, False), 40, [60, 40, 20]),
        ((True, False, False), 60, [80, 60, 20]),
    ],
)
def test_who_does_not_lend_keeps_its_minimum_and_requests_it_of_its_parent(
    lending: tuple[bool, bool, bool], requests: float, expected: list[float]
) -> None:
    drawing = quota(sized(100), "R", 60, 96, lends=lending[0])
    drawing = quota(drawing, "c1", 20, 96, parent="R", lends=lending[1])
    drawing = quota(drawing, "c2", 20, 96, parent="R", lends=lending[2])

    assert runtimes(asking(drawing, "c1", requests), "R c1 c2") == expected


@pytest.mark.parametrize(
    ("total", "version", "scales", "expected"),
    [
        (200, "main", True, [200, 66.667, 66.667, 66.666]),
        (200, "1.8", True, [200, 66.667, 66.667, 66.667]),
        (200, "1.7", True, [200, 66.667, 66.667, 66.667]),
        (600, "main", True, [600, 200, 200, 200]),
        (200, "main", False, [300, 100, 100, 100]),
    ],
)
def test_minimums_shrink_in_proportion_where_there_is_too_little_for_them(
    total: float, version: str, expected: list[float], *, scales: bool
) -> None:
    drawing = quota(sized(total), "p", 300, 1000)
    for name in "abc":
        drawing = asking(quota(drawing, name, 100, 1000, parent="p"), name, 200)
    drawing = drawing.version(version).configured(quotas=QuotaSettings(scale_min=scales))

    assert runtimes(drawing, "p a b c") == expected


def test_an_idle_quota_counts_when_minimums_shrink_and_lends_what_it_keeps() -> None:
    drawing = quota(sized(200), "p", 300, 1000)
    for name in "abc":
        drawing = quota(drawing, name, 100, 1000, parent="p")
    drawing = asking(asking(drawing, "a", 200), "c", 200)

    assert state(drawing).minimum("b") == {CPU: 66_666}
    assert runtimes(drawing, "p a b c") == [200, 100, 0, 100]


def test_nothing_is_kept_for_anybody_where_there_is_nothing() -> None:
    drawing = asking(quota(quota(sized(0), "a", 10), "b", 10, lends=False), "a", 20)

    assert (state(drawing).minimum("a"), runtimes(drawing, "a b")) == ({CPU: 10_000}, [10, 10])  # no node has CPU
    drawing = drawing.change("n1", allocatable=((CPU, 0), ("pods", 110)))
    assert (state(drawing).minimum("a"), runtimes(drawing, "a b")) == ({CPU: 0}, [0, 0])


def test_a_hierarchy_shares_what_the_parent_may_use() -> None:
    drawing = quota(quota(sized(100), "A", 20, 100), "B", 80, 100)
    for name, least, most in (("A1", 10, 10), ("A2", 10, 10), ("B1", 20, 40), ("B2", 40, 70)):
        drawing = asking(quota(drawing, name, least, most, parent=name[0]), name, 100)
    found = state(drawing)

    assert [dict(found.request(name))[CPU] / 1000 for name in ("A", "B", "A1", "B2")] == [20, 110, 100, 100]
    assert [dict(found.passed_up(name))[CPU] / 1000 for name in ("A", "B", "A1", "B2")] == [20, 100, 10, 70]
    assert runtimes(drawing, "A B A1 A2 B1 B2") == [20, 80, 10, 10, 27.273, 52.727]


def test_a_child_may_have_a_larger_maximum_than_its_parent_and_gets_no_more() -> None:
    drawing = quota(quota(sized(350), "p", 176, 300), "c", 100, 500, parent="p")
    drawing = asking(drawing, "c", 400)

    assert (dict(state(drawing).request("p")), runtimes(drawing, "p c")) == ({CPU: 400_000}, [300, 300])


def test_a_resource_of_which_the_parent_has_no_maximum_is_no_limit_below_it() -> None:
    drawing = quota(sized(10, 100), "p", 0, 10).with_quota("c", parent="p", max=amounts(10, 50))
    drawing = asking(drawing, "c", 1, 40)

    assert (state(drawing).runtime("c"), state(drawing).request("p")) == ({CPU: 1000}, {CPU: 1000, MEMORY: 40})


@pytest.mark.parametrize(
    ("running_too", "expected"),
    [(None, ({MEMORY: 450, CPU: 45_000}, {MEMORY: 550, CPU: 55_000})),
     (False, ({MEMORY: 350, CPU: 45_135}, {MEMORY: 450, CPU: 55_135})),
     (True, ({MEMORY: 250, CPU: 35_105}, {MEMORY: 350, CPU: 45_105}))],
)  # fmt: skip
def test_pods_without_a_quota_take_from_all_others_and_twice_once_they_run(
    expected: tuple[Mapping[str, int], Mapping[str, int]], *, running_too: bool | None
) -> None:
    most = amounts(100, 1000)
    drawing = sized(100, 1000).with_quota("a", max=most, weight=most)
    drawing = drawing.with_quota("b", min=amounts(10, 100), max=most, weight=most)
    drawing = asking(asking(drawing, "a", 100, 1000), "b", 100, 1000)
    if running_too is not None:
        put = using if running_too else asking
        drawing = put(drawing, DEFAULT, 20, 200)

    assert (state(drawing).runtime("a"), state(drawing).runtime("b")) == expected


def test_built_in_quotas_are_never_limited_by_a_runtime() -> None:
    found = state(using(sized(1), SYSTEM, 5))

    assert [found.runtime(name) for name in (ROOT, SYSTEM, DEFAULT)] == [{}, {}, {}]
    assert found.total("") == {CPU: -4000, "pods": 110}
    assert found.refusal(pending("p", 50)) is None


GIVEN = sized(7, 5).with_quota("test1", min=amounts(5, 5), max=amounts(10, 8), weight=amounts(10, 8))


def test_a_refusal_tells_the_resources_and_counts_those_that_are_not_asked_for() -> None:
    drawing = using(using(using(GIVEN, "test1", 2, 1, "r1"), "test1", 2, 1, "r2"), "test1", 2, 2, "r3")
    drawing = asking(drawing, "test1", 2, 1)
    (pod,) = drawing.pending

    assert state(drawing).refusal(pod) == QuotaExceeded(
        pod.key, ("test1",), "runtime", amounts(7, 5), amounts(6, 4), amounts(2, 1), (CPU,)
    )
    full = drawing.configured(quotas=QuotaSettings(by_runtime=False))
    assert state(full).refusal(pod) is None
    over = using(full, "test1", 0, 9, "r4")
    none = pending("empty", 0, labels=of_quota("test1"))
    assert state(over).refusal(none) == QuotaExceeded(
        none.key, ("test1",), "max", amounts(10, 8), amounts(6, 13), (), (MEMORY,)
    )


def test_non_preemptible_pods_stay_within_the_minimum_as_it_is_written() -> None:
    drawing = using(GIVEN.change("n1", allocatable=(*amounts(8, 5), ("pods", 9))), "test1", 2, 1, "r1")
    drawing = using(using(drawing, "test1", 2, 1, "r2", fixed=True), "test1", 2, 1, "r3", fixed=True)
    pod = pending("p", requests=amounts(2, 2), labels=of_quota("test1", fixed=True))
    drawing = drawing.with_pods(pod)

    assert state(drawing).refusal(pod) == QuotaExceeded(
        pod.key, ("test1",), "min", amounts(5, 5), amounts(4, 2), amounts(2, 2), (CPU,)
    )
    assert state(drawing.with_pods(pod)).refusal(pending("q", requests=amounts(2, 2), labels=of_quota("test1"))) is None
    small = pending("s", requests=amounts(1, 1), labels=of_quota("test1", fixed=True))
    assert state(drawing).refusal(small) is None


def test_parents_are_checked_where_the_scheduler_is_told_to_and_only_for_what_is_asked() -> None:
    drawing = quota(quota(quota(sized(100), "top", 0, 3), "mid", 0, 100, parent="top"), "leaf", 0, 100, parent="mid")
    drawing = using(asking(drawing, "leaf", 2), "mid", 2)
    (pod,) = drawing.pending
    plain = drawing.configured(quotas=QuotaSettings(by_runtime=False))
    checking = drawing.configured(quotas=QuotaSettings(by_runtime=False, check_parents=True))

    assert state(plain).refusal(pod) is None
    assert state(checking).refusal(pod) == QuotaExceeded(
        pod.key, ("top", "mid", "leaf"), "max", cpus(3), cpus(2), cpus(2), (CPU,)
    )
    assert state(checking).refusal(pending("p", 1, labels=of_quota("leaf"))) is None
    assert state(checking).refusal(pending("p", 1, labels=of_quota(DEFAULT))) is None


def test_members_are_counted_one_after_the_other() -> None:
    drawing = quota(sized(100), "q", 0, 4).with_gang("job", 6, labels=of_quota("q"))
    found = state(drawing)

    assert found.first_refused(drawing.pending[:4]) is None
    stopped = found.first_refused(drawing.pending)
    assert stopped is not None
    assert (stopped[0], stopped[1].pod, dict(stopped[1].used)) == (4, "default/job-4", {CPU: 4000})
    assert state(sized(1)).first_refused(drawing.pending) is None


def behind(drawing: Drawing, pods: Sequence[PendingPod]) -> tuple[tuple[str, ...], Resources]:
    stopped = state(drawing).first_refused(pods)
    assert stopped is not None
    return stopped[1].ahead, stopped[1].taken


def test_a_refusal_tells_who_is_counted_before_and_what_they_take_besides_what_is_used() -> None:
    drawing = using(quota(sized(100), "q", 0, 4), "q", 2, name="r").with_gang("job", 3, labels=of_quota("q"))
    assert behind(drawing, drawing.pending) == (("default/job-0", "default/job-1"), ((CPU, 2000),))
    full = using(drawing, "q", 2, name="more")
    assert behind(full, full.pending) == ((), ())
    wide = quota(sized(100), "q", 0, 6).with_gang("job", 7, labels=of_quota("q"))
    assert behind(wide, wide.pending) == (tuple(f"default/job-{n}" for n in range(4)), ((CPU, 6000),))


def test_only_who_counts_for_the_refusal_is_told() -> None:
    drawing = quota(quota(quota(sized(100), "top", 0, 2), "leaf", 0, 8, parent="top"), "other", 0, 8)
    drawing = drawing.configured(quotas=QuotaSettings(by_runtime=False, check_parents=True))
    names = ("", "other", "leaf", "leaf", "leaf")
    pods = [pending(f"p-{at}", labels=of_quota(name) if name else ()) for at, name in enumerate(names)]
    assert behind(drawing.with_pods(*pods), pods) == (("default/p-2", "default/p-3"), ((CPU, 2000),))
    pods = [pending(f"p-{at}", labels=of_quota("q", fixed=at > 0)) for at in range(3)]
    least = quota(sized(100), "q", 1, 8)
    assert behind(least.with_pods(*pods), pods) == (("default/p-1",), ((CPU, 1000),))


@pytest.mark.parametrize(("room", "passing"), [(7, 6), (6, 6), (5, 5), (1, 1)])
def test_members_pass_as_far_as_the_parent_that_is_checked_has_room(room: int, passing: int) -> None:
    drawing = quota(quota(sized(100), "top", 0, room), "leaf", 0, 8, parent="top")
    drawing = drawing.with_gang("job", 6, labels=of_quota("leaf"))
    found = state(drawing.configured(quotas=QuotaSettings(by_runtime=False, check_parents=True)))

    assert found.fitting(drawing.pending) == passing
    assert found.first_refused(drawing.pending[:passing]) is None
    assert (found.first_refused(drawing.pending) is None) == (passing == 6)


def test_members_without_a_quota_leave_less_to_share_for_those_that_follow() -> None:
    drawing = quota(sized(10), "q", 0, 10).with_pods(
        pending("a", 6), pending("b", 6, labels=of_quota("q")), pending("c", 1, labels=((NAME_LABEL, "q"),))
    )
    first, second, third = drawing.pending
    found = state(drawing)

    assert found.first_refused([second, first]) is None
    stopped = found.first_refused([first, second, third])
    assert stopped is not None
    assert (stopped[0], stopped[1].limit[0][1] < 6000) == (1, True)


def test_where_usage_is_guaranteed_nobody_lends_and_what_is_used_is_kept() -> None:
    drawing = quota(quota(quota(sized(100), "p", 20, 100), "a", 10, 100, parent="p"), "b", 10, 100)
    drawing = asking(using(drawing, "a", 50), "b", 90).configured(quotas=QuotaSettings(guarantees=True))
    found = state(drawing)

    assert (found.guaranteed("p"), found.guaranteed("b")) == ({CPU: 50_000}, {CPU: 10_000})
    assert runtimes(drawing, "p a b") == [50, 50, 50]
    assert found.after(drawing.pending[0]).runtime("b") == {CPU: 90_000}  # and so is what is placed now


def test_what_a_parents_own_pods_use_is_guaranteed_beside_what_is_kept_below_it() -> None:
    drawing = quota(quota(quota(sized(100), "p"), "a", parent="p"), "b")
    drawing = asking(asking(using(using(drawing, "p", 40), "a", 10), "p", 50), "b", 100)
    drawing = drawing.configured(quotas=QuotaSettings(guarantees=True))

    assert state(drawing).guaranteed("p") == {CPU: 50_000}
    assert runtimes(drawing, "p a b") == [75, 10, 25]


def test_trees_share_a_total_of_their_own_and_leave_the_rest() -> None:
    head = {"tree": "A", "heads_tree": True, "total": cpus(200)}
    drawing = quota(quota(sized(300), "headA", 0, 1000, **head), "q", 0, 1000)
    drawing = quota(drawing, "inA", 0, 1000, tree="A", parent="headA")
    drawing = asking(asking(drawing, "q", 500), "inA", 500)
    several = drawing.configured(quotas=QuotaSettings(trees=True))

    assert runtimes(several, "q headA inA") == [100, 200, 200]
    beside = several.but(quotas=tuple(one for one in several.quotas if one.name != "headA"))
    beside = quota(beside, "headA", 0, 1000, **head, beside_default=True)
    assert runtimes(beside, "q headA inA") == [300, 200, 200]
    assert runtimes(drawing, "q inA") == [150, 150]  # one tree of all
    assert state(several).total("unknown") == {}


def test_terminating_pods_count_unless_the_scheduler_is_told_to_ignore_them() -> None:
    drawing = quota(sized(10), "q")
    pod = running("gone", "n1", 2, labels=of_quota("q"), terminating=True)
    drawing = drawing.but(running={"n1": (pod,)}).with_pods(pending("dying", 3, labels=of_quota("q"), terminating=True))

    found = state(drawing)
    assert (found.used("q"), found.request("q")) == ({CPU: 2000}, {CPU: 5000})
    found = state(drawing.configured(quotas=QuotaSettings(ignores_terminating=True)))
    assert (found.used("q"), found.request("q")) == ({}, {})


def test_a_what_if_counts_only_what_differs() -> None:
    drawing = quota(sized(10), "q").with_reserved("r", "n1")
    drawing = asking(using(using(drawing, "q", 1, name="one"), "q", 2, name="two", fixed=True), "q", 4)
    view = of(drawing)
    one, two = drawing.running["n1"]
    (pod,) = drawing.pending
    known = rules("1.8")
    without = quota_state(view.without([one]), known)
    placed = quota_state(view.with_pods({"n1": [pod]}), known)
    smaller = quota_state(view.with_nodes([node("n1", 3)]), known)
    other = quota_state(view, known, (pending("x", 7, labels=of_quota("q")),))

    assert (quota_state(view, known).used("q"), quota_state(view, known).request("q")) == ({CPU: 3000}, {CPU: 7000})
    assert (without.used("q"), without.request("q"), without.fixed("q")) == ({CPU: 2000}, {CPU: 6000}, {CPU: 2000})
    assert (placed.used("q"), placed.request("q")) == ({CPU: 7000}, {CPU: 7000})
    assert (smaller.total("")[CPU], other.request("q")) == (3000, {CPU: 10_000})
    assert quota_state(view.without([one, two]), known).used("q") == {CPU: 0}


def test_of_a_quota_with_a_fault_nothing_is_refused_and_its_sums_go_nowhere() -> None:
    drawing = using(quota(quota(sized(10), "lost", 0, 1, parent="gone"), "q"), "lost", 5)
    found = state(drawing)

    assert (found.used("lost"), found.used("q")) == ({CPU: 5000}, {})
    assert found.refusal(pending("p", 9, labels=of_quota("lost"))) is None
    assert found.after(pending("p", 9, labels=of_quota("lost"))).used("lost") == {CPU: 14_000}


def test_without_a_default_quota_pods_without_label_have_none() -> None:
    drawing = quota(sized(10), "q", 0, 1).configured(quotas=QuotaSettings(no_default=True))
    drawing = drawing.with_running("r", on="n1", cpu=3).with_pods(pending("p", 9))
    (pod,) = drawing.pending
    found = state(drawing)

    assert (quota_tree(drawing).name_of(pod), found.refusal(pod), found.own) == ("", None, {})
    assert found.after(pod) is found


def test_quotas_that_are_in_no_tree_share_with_nobody() -> None:
    drawing = quota(quota(sized(10), "x", 1, parent="y"), "y", 1, parent="x")
    drawing = asking(quota(quota(drawing, "lost", 1, parent="gone"), "under-lost", 1, parent="lost"), "under-lost", 3)
    found = state(asking(drawing, "x", 2))

    assert [dict(found.request(name)) for name in ("x", "y", "lost", "under-lost")] == [
        {CPU: 2000},
        {},
        {},
        {CPU: 3000},
    ]
    assert [found.runtime(name) for name in ("x", "lost", "under-lost")] == [{}, {}, {}]
    assert (found.minimum("x"), found.guaranteed("x")) == ({CPU: 1000}, {CPU: 1000})


@pytest.mark.untraced  # tracing takes it ten times as long
def test_no_chain_of_quotas_is_too_long() -> None:
    chain = tuple(
        Quota("default", f"q{number}", max=cpus(9), weight=cpus(9), parent=f"q{number - 1}" if number else ROOT)
        for number in range(1200)
    )

    assert state(asking(sized(10).but(quotas=chain), "q1199", 4)).runtime("q1199") == {CPU: 4000}


def test_pods_that_share_their_requirements_count_each() -> None:
    drawing = using(quota(sized(10), "q"), "q", 2)
    (pod,) = drawing.running["n1"]
    twins = drawing.but(running={"n1": (pod, structs.replace(pod, name="twin"))})

    assert state(twins).used("q") == {CPU: 4000}


def test_a_built_in_quota_is_below_the_root_whatever_is_written_on_it() -> None:
    drawing = using(sized(10).with_quota(SYSTEM, max=cpus(9), parent="gone"), SYSTEM, 4)

    assert state(drawing).total("")[CPU] == 6000


@pytest.mark.parametrize("guarantees", [False, True])
def test_of_members_that_are_alike_the_first_refused_is_found(guarantees: bool) -> None:  # noqa: FBT001
    drawing = quota(sized(100), "a", 0, 10).configured(quotas=QuotaSettings(guarantees=guarantees))
    for number in range(5):
        drawing = asking(drawing, "a", 4, name=f"p{number}")
    found = state(drawing).first_refused(drawing.pending)
    assert found is not None
    assert (found[0], found[1].pod) == (2, "default/p2")


def test_pods_that_wait_and_request_the_same_are_counted_once() -> None:
    drawing = asking(quota(sized(8), "a", most=4), "a", 2)
    view, known = of(drawing), rules(drawing.config.version)
    tolerant = tuple(structs.replace(pod, nominated="n1") for pod in drawing.pending)
    assert quota_state(view, known, tolerant) is quota_state(view, known)


@pytest.mark.parametrize("kept", [(0, 1, 2, 3), (1, 2, 3), (0, 3), (0, 1, 2), ()])
def test_where_other_pods_wait_than_were_read_quotas_are_as_if_those_had_been_read(kept: tuple[int, ...]) -> None:
    drawing = using(quota(quota(sized(20), "a"), "b"), "a", 2)
    for number, name in enumerate("abab"):
        drawing = asking(drawing, name, number + 1, name=f"p{number}")
    more = pending("more", 5, labels=of_quota("b"))
    pods = (*(drawing.pending[position] for position in kept), more)
    now = quota_state(of(drawing), rules(drawing.config.version), pods)
    read = state(drawing.but(pending=pods))

    assert [now.request(name) for name in "ab"] == [{CPU: 0, **read.request(name)} for name in "ab"]
    assert [now.used(name) for name in "ab"] == [read.used(name) for name in "ab"]
    assert [now.runtime(name) for name in "ab"] == [read.runtime(name) for name in "ab"]


@pytest.mark.parametrize(
    ("only_node", "expected"),
    [
        (node("n1", allocatable=(*amounts(8), (GPU, 8))), 8),
        (node("n1", allocatable=(*amounts(8), (GPU, 4))), 4),
        (node("n1", none_of=(GPU, "hugepages-2Mi")), 0),
        (node("n1"), 8),
    ],
)
def test_a_minimum_shrinks_to_nothing_where_nodes_report_nothing_and_stays_where_they_report_no_such_resource(
    only_node: Node, expected: int
) -> None:
    limits, waiting = (*amounts(8), (GPU, 8)), pending("new", requests=amounts(1), labels=of_quota("a"))
    drawing = cluster().with_nodes(only_node).with_quota("a", min=limits, max=limits, weight=limits)
    found = state(drawing.with_running("old", on="n1", requests=((GPU, 8),), labels=of_quota("a")).with_pods(waiting))
    assert found.runtime("a")[GPU] == expected
    assert "hugepages-2Mi" not in found.total("")
    refusal = found.refusal(waiting)
    assert (refusal.over if refusal else ()) == (() if expected == 8 else (GPU,))


def test_what_one_node_reports_as_nothing_and_another_has_counts_as_it_is() -> None:
    drawing = cluster().with_nodes(node("n1", none_of=(GPU,)), node("n2", allocatable=(*amounts(8), (GPU, 8))))
    drawing = drawing.with_quota("a", min=((GPU, 8),), max=((GPU, 8),))
    view = of(drawing)
    assert [capacity(one)[GPU] for one in (view, view.with_nodes([node("n2", none_of=(GPU,))]))] == [8, 0]
    assert capacity(of(cluster().with_nodes(node("n1"))).with_nodes([node("n1", none_of=(GPU,))]))[GPU] == 0
