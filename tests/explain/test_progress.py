"""What is told of a change: what a person cares about, in one line; and when a wait is over."""

import pytest
from msgspec.structs import replace

from kubectl_koord.explain import every_pending as progress
from kubectl_koord.explain.every_pending import ProgressNote, every_pending, gangs
from kubectl_koord.explain.why import why
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.reports.common import Notice, WayOut
from kubectl_koord.reports.jobs import Cause, SlotRow, WhyReport
from kubectl_koord.simulation.subjects import again
from tests.build import BLOCK, SPINE, Drawing, cluster, pending, why_of

EMPTY = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
GANG = EMPTY.with_gang("job", 2, 8, must_gather=SPINE, never_preempts=True)
FULL = GANG.with_running("low-1", on="n1", cpu=8).with_running("low-3", on="n3", cpu=8)
MISSING = "no spine has room for its 2 pods; the best has"


def told(before: Drawing, after: Drawing, name: str = "job") -> str:
    return progress.changes(why_of(before, name), why_of(after, name))


def bound(drawing: Drawing, *names: str) -> Drawing:
    """Return the cluster in which pods of the gang have got nodes of their own."""
    left = drawing.but(pending=tuple(pod for pod in drawing.pending if pod.name not in names))
    for node, name in zip(drawing.nodes, names, strict=False):
        left = left.with_running(name, on=node, cpu=8, gang="default/job")
    return left


def without(drawing: Drawing, *names: str) -> Drawing:
    return drawing.but(pending=tuple(pod for pod in drawing.pending if pod.name not in names))


def test_nothing_is_told_where_nothing_that_counts_has_changed() -> None:
    assert told(FULL, FULL.but(moment="2027-01-01T00:00:00Z")) == ""
    assert told(GANG, GANG.with_running("low-1", on="n1", cpu=1)) == ""
    assert told(bound(GANG, "job-0", "job-1"), bound(FULL, "job-0", "job-1")) == ""


def test_an_age_alone_is_no_change() -> None:
    dying = cluster("s0: b0[n1]").with_gang("job", 1, 8, nominated="n1")
    dying = dying.with_running("low", "n1", 8, terminating=True, preempted=True, gone_by="2026-11-20T07:00:00Z")
    at = {second: dying.but(moment=f"2026-11-20T07:01:{second:02}Z") for second in (30, 31)}
    reasons = [report.cause.message for report in map(why_of, at.values()) if report.cause]
    assert ["90s ago" in reasons[0], "91s ago" in reasons[1]] == [True, True]
    assert told(at[30], at[31]) == ""
    before = why_of(FULL)
    leaves = [WayOut("wait-for-terminating", f"Wait: x should have terminated {age} ago") for age in ("90s", "3m")]
    first, second = (replace(before, unblock=(way,)) for way in leaves)
    assert progress.changes(first, second) == ""


def test_slots_are_told_by_domain_with_what_they_were_and_what_helps_now() -> None:
    fuller = FULL.with_running("low-2", on="n2", cpu=8)
    both = "Add 2 nodes like n1 in spine s0"
    prefer = "Use PreferGather instead of MustGather"
    assert told(FULL, fuller) == f"0 of 2 slots in s0 (was 1); now helps: {both} (the first of 2)"
    assert told(fuller, FULL) == f"1 of 2 slots in s0 (was 0); now helps: {prefer} (the first of 5)"


def test_what_helps_no_longer_is_told_where_nothing_new_helps() -> None:
    before = why_of(FULL)
    after = replace(before, unblock=before.unblock[1:])
    assert progress.changes(before, after) == f"no longer helps: {before.unblock[0].message}"
    assert progress.changes(after, before) == f"now helps: {before.unblock[0].message}"


def test_a_verdict_that_changes_is_told_with_its_reason() -> None:
    assert told(FULL, GANG) == "would be placed now: 2 pods on n1 and n2"
    gained = "now helps: Use PreferGather instead of MustGather (the first of 9)"
    assert told(GANG, FULL) == f"pending: {MISSING} 1; {gained}"
    unseen = "it depends on reservations (Reservation objects could not be read), which is not evaluated"
    assert told(FULL, FULL.with_gap("Reservation")) == f"cannot tell whether it would be placed: {unseen}"
    assert told(GANG, GANG.with_gap("Reservation")) == f"cannot tell whether it would be placed: {unseen}"


def test_a_gang_without_topology_would_be_placed_nobody_knows_where() -> None:
    plain = EMPTY.with_gang("job", 2, 8, never_preempts=True)
    for name in ("n1", "n2", "n3"):
        plain = plain.cordon(name)
    assert told(plain, EMPTY.with_gang("job", 2, 8, never_preempts=True)) == "would be placed now"
    assert told(EMPTY.with_gang("job", 2, 8), plain).startswith(
        "pending: only 1 of its 2 pods fits at the same time, 2 must"
    )


def test_another_reason_of_the_same_cause_is_told_beside_the_slots() -> None:
    base = why_of(FULL)
    assert base.cause is not None
    other = replace(
        base.cause, message="default/high has higher priority and takes its place; otherwise it would be placed."
    )
    rows = (replace(base.domains[0], offer_slots=0), base.domains[1])
    after = replace(base, cause=other, domains=rows)
    assert progress.changes(base, after) == (
        "0 of 2 slots in s0 (was 1); pending: default/high has higher priority and takes its place;"
        " otherwise it would be placed"
    )
    assert progress.changes(base, replace(base, cause=replace(base.cause, message="no spine."))) == "pending: no spine"


def test_of_many_domains_each_is_told() -> None:
    rows = tuple(SlotRow(BLOCK, f"b{number}", number, 5 - number) for number in range(5))
    before = replace(why_of(FULL), domains=tuple(replace(row, offer_slots=9) for row in rows[1:]), unblock=())
    after = replace(before, domains=rows, desired_offer_slot=None)
    slots = "4 slots in b4 (was 9); 3 slots in b3 (was 9); 2 slots in b2 (was 9); 1 slots in b1 (was 9)"
    assert progress.changes(before, after) == f"{slots}; 0 slots in b0 (new)"
    new = replace(before, domains=(*before.domains, replace(rows[0], name="")))
    assert progress.changes(before, new) == "0 of 2 slots in the block (new)"


def test_pods_that_come_and_get_nodes_are_counted() -> None:
    third = FULL.with_pod("job-2", "job", 8, never_preempts=True)
    assert told(FULL, third).startswith(
        "3 pods pending (was 2); pending: its 3 pods (8 CPU) do not fit even in an empty spine"
    )
    assert told(FULL, bound(FULL, "job-0")).startswith("1 of 2 pods on a node (was 0); ")
    plain = EMPTY.with_gang("job", 4, 1)
    assert told(plain, without(plain, "job-3")).startswith("3 pods pending (was 4); pending: it has 3 of the 4 pods")


def test_a_gang_of_which_nobody_is_pending_is_scheduled_if_it_has_its_minimum() -> None:
    done = bound(GANG, "job-0", "job-1")
    assert told(GANG, done) == "scheduled: 2 pods on a node"
    assert told(done, done.without_running("default/job-0")) == "no pending pods, 1 on a node, 2 needed"
    assert told(done, GANG) == "0 of 2 pods on a node (was 2); would be placed now: 2 pods on n1 and n2"


def test_a_lone_pod_is_scheduled_when_it_is_on_a_node() -> None:
    waits = EMPTY.with_pod("one", "", 8)
    runs = EMPTY.with_running("one", on="n1", cpu=8)
    found = again(runs, "default/one", lone_pod=True)
    assert found is not None
    assert progress.changes(why_of(waits, "one"), why(runs, found)) == "scheduled: it is on a node"
    assert again(EMPTY, "default/one", lone_pod=True) is None


def test_a_reason_may_be_a_warning_or_missing() -> None:
    base = replace(why_of(FULL), verdict="unknown", cause=None, domains=(), unblock=())
    warned = replace(base, warnings=(Notice("assumed-config", "nobody knows."),))
    assert progress.changes(base, warned) == "cannot tell whether it would be placed: nobody knows"
    assert progress.changes(warned, base) == "cannot tell whether it would be placed: no reason was found"


def test_ways_out_of_another_verdict_are_not_told_as_lost() -> None:
    base = replace(why_of(FULL), unblock=())
    before = replace(base, verdict="unknown", unblock=(WayOut("touch-podgroup", "Touch it"),))
    assert progress.changes(before, base) == f"pending: {MISSING} 1"


# --- listings -------------------------------------------------------------------------------


def listed(before: Drawing, after: Drawing) -> tuple[ProgressNote, ...]:
    return progress.listing_changes(after, every_pending(before), every_pending(after))


def test_a_listing_tells_who_begins_to_wait_and_for_what_else() -> None:
    assert listed(FULL, FULL) == ()
    assert listed(FULL, FULL.with_running("low-2", on="n2", cpu=8)) == ()  # slots are for those who ask for the gang
    assert listed(EMPTY, FULL) == (ProgressNote("default/job", f"pending: {MISSING} 1", "no"),)
    assert listed(FULL, GANG) == (ProgressNote("default/job", "would be placed now: 2 pods on n1 and n2", "yes"),)
    assert listed(EMPTY, EMPTY.with_pod("one", "", 8)) == (
        ProgressNote("pod/default/one", "would be placed now", "yes"),
    )


def test_a_listing_tells_what_became_of_those_who_wait_no_more() -> None:
    assert listed(GANG, bound(GANG, "job-0", "job-1")) == (
        ProgressNote("default/job", "scheduled: 2 pods on a node", "yes"),
    )
    assert listed(GANG, EMPTY) == (ProgressNote("default/job", "gone", "unknown"),)
    emptied = without(GANG, "job-0", "job-1")
    assert listed(GANG, emptied) == (ProgressNote("default/job", "no pending pods, 0 on a node, 2 needed", "yes"),)


def test_of_all_gangs_those_are_told_that_have_changed_or_are_gone() -> None:
    before = gangs(FULL.with_group("idle", 1).with_group("other", 1))
    after = gangs(FULL.with_group("other", 1, phase="Running"))
    assert progress.gang_changes(before, before) == ()
    assert progress.gang_changes(before, after) == (
        ProgressNote(
            "default/other", "no pods: 0 of 0 pods bound, 0 pending; its phase is stale: too few pods are bound", "yes"
        ),
        ProgressNote("default/idle", "gone", "unknown"),
    )
    stale = gangs(FULL.with_group("other", 1, phase="Running").with_running("o", on="n2", gang="default/other"))
    (note,) = [one for one in progress.gang_changes(before, stale) if one.subject == "default/other"]
    assert note.text == "running: 1 of 1 pod bound, 0 pending"


def test_a_gang_group_is_one_whichever_of_its_gangs_still_waits() -> None:
    groups = '["default/a", "default/b"]'
    both = EMPTY.with_gang("a", 1, 8, groups=groups).with_gang("b", 1, 8, groups=groups)
    assert listed(both, without(both, "a-0").with_running("a-0", on="n1", cpu=8, gang="default/a")) == ()


# --- waiting --------------------------------------------------------------------------------


def scheduled(drawing: Drawing, name: str = "job") -> bool:
    return progress.is_scheduled(drawing.subject(name))


def test_a_gang_is_scheduled_when_nobody_waits_and_its_minimum_is_on_nodes() -> None:
    assert not scheduled(GANG)
    assert not scheduled(bound(GANG, "job-0"))
    assert scheduled(bound(GANG, "job-0", "job-1"))
    assert not scheduled(without(GANG, "job-0", "job-1"))
    assert not scheduled(EMPTY.with_group("job", 0))  # nobody is there


def test_pods_on_their_way_out_are_not_what_was_waited_for() -> None:
    leaving = without(GANG, "job-0", "job-1")
    for name in ("job-0", "job-1"):
        leaving = leaving.with_running(name, on="n1", gang="default/job", terminating=True)
    assert not scheduled(leaving)


def test_every_gang_of_a_group_has_to_be_scheduled() -> None:
    group = EMPTY.with_group("job", 1, groups='["default/job", "default/other"]')
    alone = group.with_running("job-0", on="n1", gang="default/job")
    assert not scheduled(alone)
    assert not scheduled(alone.with_group("other", 1))
    assert scheduled(alone.with_group("other", 1).with_running("other-0", on="n2", gang="default/other"))


def test_a_gang_that_never_initialises_is_not_scheduled() -> None:
    light = EMPTY.with_light_gang("job", 1, gang_terms=GangAnnotations(minimum="many"))
    assert not scheduled(light)
    assert not scheduled(without(light.with_finished("old", "job"), "job-0").with_pod("lost-0", "lost"), "lost")


def test_a_lone_pod_is_waited_for_until_it_has_a_node() -> None:
    assert not scheduled(EMPTY.with_pod("one", "", 8), "one")
    assert scheduled(EMPTY.with_running("one", on="n1"), "one")


def report(drawing: Drawing, **fields: object) -> WhyReport:
    return replace(why_of(drawing), **fields)


@pytest.mark.parametrize(
    ("ended", "reached", "said"),
    [
        (report(bound(GANG, "job-0", "job-1")), True, "default/job is scheduled: 2 pods on a node."),
        (report(GANG, lone_pod=True), True, "pod default/job is scheduled: it is on a node."),
        (report(FULL), False, f"default/job is still pending after 5m: {MISSING} 1."),
        (
            report(FULL, verdict="unknown", cause=Cause("not-evaluated", "it depends.")),
            False,
            "default/job is still pending after 5m: cannot tell whether it would be placed: it depends.",
        ),
        (
            report(GANG),
            False,
            "default/job is still pending after 5m: it would be placed now, but the scheduler has not retried yet.",
        ),
        (
            report(without(GANG, "job-0", "job-1")),
            False,
            "default/job is not scheduled after 5m: no pending pods, 0 on a node, 2 needed.",
        ),
    ],
    ids=["reached", "lone-pod", "no", "unknown", "yes", "too-few"],
)
def test_a_wait_ends_with_one_sentence(ended: WhyReport, said: str, *, reached: bool) -> None:
    assert progress.outcome(ended, reached=reached, waited="5m") == said


def test_a_listing_tells_once_that_others_may_be_missing_and_calls_nobody_gone_who_may_be_there() -> None:
    seen = every_pending(GANG.with_pods(pending("one", 1)))
    blind = EMPTY.with_gap("PodGroup")
    news = [
        ProgressNote("this list", "may be incomplete: PodGroup could not be read: you may not read it", "unknown"),
        ProgressNote("default/job", "no unfinished pods any more", "unknown"),
        ProgressNote("pod/default/one", "gone", "unknown"),
    ]
    assert list(progress.listing_changes(blind, seen, every_pending(blind))) == news
    assert progress.listing_changes(blind, every_pending(blind), every_pending(blind)) == ()


def test_what_is_gone_is_told_as_far_as_it_can_be_seen() -> None:
    gang, pod = GANG.subject("job"), EMPTY.with_pod("one", "", 8).subject("one")
    sentence = "default/job no longer exists: it has no unfinished pods and no PodGroup"
    assert progress.gone(EMPTY, gang) == sentence
    unseen = "default/job has no unfinished pods left, and PodGroups could not be read"
    assert progress.gone(EMPTY.with_gap("PodGroup"), gang) == unseen
    assert progress.gone(EMPTY, pod) == "pod default/one was deleted or has finished"
