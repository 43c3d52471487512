"""Remedies for a quota that refuses: each whole, as it is offered."""

from typing import Any

from kubectl_koord.model.quotas import NAME_LABEL, QuotaSettings
from kubectl_koord.remedies import quotas
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.reports.common import DeletePod, SetQuota, UseQuota, WayOut
from kubectl_koord.simulation.simulation import next_attempt, simulate
from tests.build import Drawing, cluster, cpus, freed, having, why_of
from tests.remedies.test_pods import evicting

NONE = "none of the changes tried lets it start, alone or in pairs"
BUT = "higher limits alone would let it pass its quotas, but nodes have no place for it then"
COUNTED = "by counting slots, these would not help: more nodes like those there are"
NODES = cluster("s0: b0[n1:16 n2:16]")
OWN, OTHER = ((NAME_LABEL, "a"),), ((NAME_LABEL, "b"),)
PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"


def ways(drawing: Drawing, action: str) -> tuple[WayOut, ...]:
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.code) == ("no", "quota")
    return tuple(way for way in report.unblock if way.action == action)


def waiting(drawing: Drawing, pods: int = 2, cpu: int = 4) -> Drawing:
    return drawing.with_gang("job", pods, cpu, priority=5, never_preempts=True, labels=OWN)


def test_each_level_is_raised_to_the_least_that_is_enough_the_upper_first() -> None:
    drawing = waiting(NODES.with_quota("team", cpu=6, is_parent=True).with_quota("a", cpu=4, parent="team"))
    patch = 'kubectl patch elasticquota {} -n default --type merge -p \'{{"spec": {{"max": {{"cpu": "8"}}}}}}\''
    (way,) = ways(drawing, "raise-quota")
    assert way == WayOut(
        "raise-quota",
        "Raise max of quota team (CPU from 6 to 8) and max of quota a (CPU from 4 to 8)",
        f"{patch.format('team')} && {patch.format('a')}",
        (SetQuota("default/team", "max", "cpu", "8"), SetQuota("default/a", "max", "cpu", "8")),
    )


def test_where_a_higher_maximum_is_not_enough_the_minimum_is_raised_with_what_must_hold_it() -> None:
    drawing = NODES.with_quota("team", cpu=4, weight=cpus(1), is_parent=True)
    drawing = drawing.with_quota("a", cpu=4, parent="team").with_quota("b", cpu=99)
    drawing = drawing.with_pod("greedy", cpu=32, labels=OTHER)
    (way,) = ways(waiting(drawing), "raise-quota")
    assert way.message == (
        "Raise max of quota team (CPU from 4 to 8), min of quota team (CPU from 0 to 8), max of quota a (CPU from 4 to"
        " 8) and min of quota a (CPU from 0 to 8); others can borrow less then"
    )


def test_pods_that_no_preemption_may_end_need_a_minimum() -> None:
    drawing = waiting(NODES.with_quota("a", cpu=16, min=cpus(4)))
    drawing = drawing.change_pods(labels=((NAME_LABEL, "a"), (PREEMPTIBLE, "false")))
    (way,) = ways(drawing, "raise-quota")
    assert way.edits == (SetQuota("default/a", "min", "cpu", "8"),)


def test_where_the_maximum_is_held_against_pods_it_is_raised() -> None:
    drawing = NODES.with_quota("a", cpu=4).configured(quotas=QuotaSettings(by_runtime=False))
    (way,) = ways(waiting(drawing), "raise-quota")
    assert way.edits == (SetQuota("default/a", "max", "cpu", "8"),)


def borrowed(**fields: object) -> Drawing:
    """A parent of 16 CPUs, of which one child borrows 12 beyond its minimum of 2, by pods of 2 and 10."""
    drawing = NODES.with_quota("team", cpu=16, is_parent=True)
    drawing = drawing.with_quota("a", cpu=8, parent="team").with_quota("b", cpu=99, min=cpus(2), parent="team")
    drawing = drawing.with_running("small", on="n1", cpu=2, labels=OTHER, priority=1, **fields)
    return waiting(drawing.with_running("large", on="n2", cpu=10, labels=OTHER, priority=7))


def test_of_what_another_borrows_the_fewest_pods_are_evicted_and_who_recreates_them_is_scaled_down() -> None:
    (way,) = ways(borrowed(owner="Job/nightly"), "free-quota")
    assert [edit.pod for edit in way.edits if isinstance(edit, DeletePod)] == ["default/large"]
    assert way == WayOut(
        "free-quota",
        "Evict 1 pod to free 10 CPU that quota b borrows: default/large on n2 (priority 7)",
        evicting("large"),
        (DeletePod("default/large", "n2"),),
        (freed("large", on="n2", priority=7),),
    )


def test_what_harms_nobody_is_evicted_first_and_owners_are_told_to_scale_down() -> None:
    drawing = NODES.with_quota("team", cpu=16, is_parent=True).with_quota("a", cpu=8, parent="team")
    drawing = drawing.with_quota("b", cpu=99, parent="team").with_budget("strict", having(app="strict"), 0)
    drawing = drawing.with_running("kept", on="n1", cpu=8, labels=(("app", "strict"), *OTHER), priority=1)
    drawing = drawing.with_running("fair", on="n2", cpu=8, labels=OTHER, priority=9, owner="Job/fair")
    (way,) = ways(waiting(drawing), "free-quota")
    assert way.message == (
        "Evict 1 pod to free 8 CPU that quota b borrows: default/fair on n2 (priority 9); Job/fair recreates it: scale"
        " it down"
    )


def test_the_gang_may_run_in_a_sibling_with_room_first() -> None:
    drawing = NODES.with_quota("team", cpu=32, is_parent=True).with_quota("a", cpu=4, parent="team")
    drawing = drawing.with_quota("z", cpu=16, parent="team").with_quota("far", cpu=16)
    drawing = drawing.with_quota("tiny", cpu=1, parent="team")
    (way,) = ways(waiting(drawing).change_pods(owner="Job/train"), "other-quota")
    assert way == WayOut(
        "other-quota",
        "Run in quota z (or far): set label quota.scheduling.koordinator.sh/name in the pod template of Job/train and"
        " recreate the pods",
        "",
        (UseQuota(("default/job-0", "default/job-1"), "z"),),
    )


def test_where_nodes_have_no_place_either_both_are_changed_together() -> None:
    drawing = cluster("s0: b0[n1:8]").with_quota("a", cpu=2).cordon("n1")
    (way,) = why_of(waiting(drawing, 1)).unblock
    assert (way.action, way.message) == ("pair", "Uncordon n1, and raise max of quota a (CPU from 2 to 4)")


def test_where_no_node_would_do_it_is_said_that_quotas_alone_are_not_the_obstacle() -> None:
    drawing = cluster("s0: b0[n1:8]").with_quota("a", cpu=2)
    drawing = drawing.with_gang("job", 1, 4, never_preempts=True, labels=OWN, node_selector=(("disk", "ssd"),))
    report = why_of(drawing)
    assert (report.unblock, report.no_way_out) == (
        (),
        f"{NONE}: higher limits of its quotas; {COUNTED}; {BUT}.",
    )


def test_where_the_budget_is_spent_other_quotas_are_not_said_to_be_tried() -> None:
    drawing = waiting(NODES.with_quota("a", cpu=4).with_quota("b", cpu=16))
    simulation = simulate(drawing, drawing.subject("job"))
    budget = SearchBudget(simulation)
    search = Search(simulation, next_attempt(simulation)[0], budget)
    budget.left = 0
    assert [*quotas.other_quota(search)] == []
    assert "other-quota" in search.untried


def revoking(**settings: Any) -> Drawing:  # noqa: ANN401 - as QuotaSettings has them
    drawing = NODES.configured(quotas=QuotaSettings(check_parents=True, evict_after="5s", **settings))
    drawing = drawing.with_quota("team", cpu=10, min=cpus(10), is_parent=True)
    drawing = drawing.with_quota("a", cpu=10, min=cpus(10), parent="team").with_quota("b", cpu=10, parent="team")
    return waiting(drawing.with_running("low", on="n1", cpu=8, labels=OTHER), pods=1, cpu=6)


def test_whom_the_over_use_controller_evicts_by_itself_is_waited_for_first() -> None:
    drawing = revoking(revokes=True)
    message = "Wait: the over-use controller evicts default/low once quota b has been above its runtime for 5s"
    edits = (DeletePod("default/low", "n1"),)
    way = WayOut("wait-for-revoking", message, "", edits, (freed("low", on="n1"),))
    assert why_of(drawing).unblock[0] == way
    assert ways(revoking(), "wait-for-revoking") == ()
    more = drawing.with_quota("c", cpu=10, parent="team")
    for name in ("c1", "c2", "c3", "c4"):
        more = more.with_running(name, on="n2", cpu=1, labels=((NAME_LABEL, "c"),))
    (way,) = ways(more, "wait-for-revoking")
    assert way.message == (
        "Wait: the over-use controller evicts default/low, default/c1 and default/c2 once quotas b and c were above"
        " their runtime for 5s"
    )


def test_where_the_over_use_controller_has_nobody_to_evict_it_is_not_waited_for() -> None:
    drawing = waiting(NODES.configured(quotas=QuotaSettings(revokes=True)).with_quota("a", cpu=4))
    assert ways(drawing, "wait-for-revoking") == ()
