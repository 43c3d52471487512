"""What quotas keep from being placed, who has what of whose minimum, and who would be evicted for it."""

import pytest

from kubectl_koord.engine.quota.state import (
    Lending,
    QuotaRoom,
    QuotaState,
    headroom,
    held_back,
    is_on,
    lending,
    over_used,
    quota_state,
    revoked,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.quotas import NAME_LABEL, PREEMPTIBLE_LABEL, ROOT, QuotaSettings
from tests.build import Drawing, cluster, cpus, node, pending, running


def sized(cpu: float) -> Drawing:
    return cluster().with_nodes(node("n1", cpu=cpu))


def quota(drawing: Drawing, name: str, least: float, most: float, **fields: object) -> Drawing:
    return drawing.with_quota(name, min=cpus(least), max=cpus(most), weight=cpus(most), **fields)


def using(drawing: Drawing, name: str, cpu: float, pod: str = "", **fields: object) -> Drawing:
    return drawing.with_running(pod or f"r-{name}", on="n1", cpu=cpu, labels=((NAME_LABEL, name),), **fields)


def asking(drawing: Drawing, name: str, cpu: float, pod: str, **fields: object) -> Drawing:
    return drawing.with_pods(pending(pod, cpu, labels=((NAME_LABEL, name),), **fields))


def state(drawing: Drawing) -> QuotaState:
    return quota_state(of(drawing), rules(drawing.config.version))


def held(drawing: Drawing) -> dict[str, list[str]]:
    found = held_back(state(drawing), drawing.pending)
    return {name: [one.pod.name for one in some] for name, some in found.items()}


def test_what_the_parent_has_above_all_minimums_is_borrowed_first_and_lenders_give_the_rest() -> None:
    drawing = using(quota(quota(sized(20), "a", 8, 20), "b", 8, 20), "a", 14)
    assert lending(state(drawing), "", ROOT) == {"cpu": Lending({"a": 6000}, {"b": 2000})}


def test_nobody_lends_where_what_is_above_all_minimums_is_enough() -> None:
    drawing = using(quota(quota(sized(20), "a", 4, 20), "b", 4, 20), "a", 10)
    assert lending(state(drawing), "", ROOT) == {"cpu": Lending({"a": 6000}, {})}


def test_of_several_lenders_the_most_that_each_may_lend_is_told() -> None:
    drawing = using(quota(quota(quota(sized(20), "a", 5, 20), "b", 5, 20), "c", 10, 20), "a", 12)
    drawing = quota(drawing, "keeps", 0, 5, lends=False)
    assert lending(state(drawing), "", ROOT) == {"cpu": Lending({"a": 7000}, {"b": 5000, "c": 7000}, exact=False)}
    assert lending(state(using(drawing, "a", 8, "more")), "", ROOT)["cpu"].exact


def test_who_does_not_lend_lends_nothing_and_a_resource_without_maximum_is_not_counted() -> None:
    drawing = using(quota(quota(sized(20), "a", 10, 20), "b", 10, 20, lends=False), "a", 15)
    drawing = drawing.with_quota("other", max=(("memory", 5),))
    assert lending(state(drawing), "", ROOT) == {"cpu": Lending({"a": 5000}, {})}


def test_pods_are_held_back_once_those_of_higher_priority_have_taken_the_quota() -> None:
    drawing = quota(sized(20), "a", 0, 5)
    drawing = asking(asking(asking(drawing, "a", 3, "low"), "a", 3, "high", priority=9), "a", 2, "small")
    drawing = asking(asking(drawing, "a", 3, "low-too"), "nobody", 50, "free")
    assert held(drawing) == {"a": ["low", "low-too"]}


def test_where_parents_are_checked_what_one_quota_takes_is_missing_in_another() -> None:
    drawing = quota(quota(quota(sized(20), "p", 0, 5), "a", 0, 5, parent="p"), "b", 0, 5, parent="p")
    drawing = asking(asking(drawing, "a", 5, "x", priority=9), "b", 5, "y")
    assert held(drawing.configured(quotas=QuotaSettings(by_runtime=False))) == {}
    assert held(drawing.configured(quotas=QuotaSettings(by_runtime=False, check_parents=True))) == {"b": ["y"]}


def test_headroom_is_told_from_a_pods_own_quota_upwards() -> None:
    drawing = quota(quota(sized(20), "p", 0, 9), "a", 0, 8, parent="p")
    drawing = asking(using(drawing, "a", 2), "a", 2, "x")
    levels = headroom(state(drawing), drawing.pending[0])
    assert levels == (
        QuotaRoom("a", "cpu", 4000, 2000, 2000, 1, checked=True),
        QuotaRoom("p", "cpu", 4000, 2000, 2000, 1, checked=False),
    )


def test_a_quota_over_its_limit_has_room_for_nobody_whatever_they_ask_for() -> None:
    drawing = quota(sized(20), "a", 0, 1)
    drawing = asking(using(drawing, "a", 2), "a", 0, "nothing")
    assert headroom(state(drawing), drawing.pending[0]) == (QuotaRoom("a", "cpu", 1000, 2000, 0, 0, checked=True),)


def test_a_quota_that_limits_nothing_of_a_pod_has_no_number_and_a_faulty_one_no_level() -> None:
    drawing = asking(sized(20).with_quota("a", max=(("memory", 5),)), "a", 1, "x")
    assert headroom(state(drawing), drawing.pending[0]) == (QuotaRoom("a", "", 0, 0, 0, None, checked=True),)
    lost = asking(quota(sized(20), "a", 0, 1, parent="gone"), "a", 1, "x")
    assert headroom(state(lost), lost.pending[0]) == ()


PODS = {"p1": (10, 20), "p2": (9, 20), "p3": (8, 40), "p4": (7, 10)}


@pytest.mark.parametrize(
    ("size", "gone"),
    [(85, ["p4"]), (50, ["p3"]), (30, ["p2", "p3"]), (0, ["p1", "p2", "p3", "p4"]), (90, [])],
)
def test_the_least_important_pods_are_evicted_and_spared_where_the_quota_stays_within_its_runtime(
    size: int, gone: list[str]
) -> None:
    drawing = sized(200).with_quota("a", max=(("cpu", 1000 * size),))
    for name, (priority, cpu) in PODS.items():
        drawing = using(drawing, "a", cpu, name, priority=priority)
    now = state(drawing)
    assert sorted(pod.name for pod in revoked(now, "a", drawing.running["n1"])) == gone
    assert over_used(now) == ({"a": ("cpu",)} if gone else {})


def test_non_preemptible_pods_are_never_evicted_and_later_ones_go_first() -> None:
    drawing = quota(sized(20), "a", 0, 2)
    pods = tuple(
        running(name, "n1", 3, labels=((NAME_LABEL, "a"), *extra), scheduled=at)
        for name, at, extra in (
            ("fixed", "2026-01-03T00:00:00Z", ((PREEMPTIBLE_LABEL, "false"),)),
            ("old", "2026-01-01T00:00:00Z", ()),
            ("new", "2026-01-02T00:00:00Z", ()),
        )
    )
    drawing = drawing.but(running={"n1": pods})
    assert [pod.name for pod in revoked(state(drawing), "a", pods)] == ["new", "old"]


def test_the_controller_runs_where_all_quotas_are_monitored_and_runtimes_count() -> None:
    settings = (QuotaSettings(revokes=True), QuotaSettings(), QuotaSettings(revokes=True, by_runtime=False))
    assert [is_on(state(sized(1).configured(quotas=each))) for each in settings] == [True, False, False]
