from msgspec.structs import replace

from kubectl_koord.render.show import text
from kubectl_koord.render.shown import ON_A_SCREEN
from kubectl_koord.reports.capacity import Share
from kubectl_koord.reports.common import Notice, WayOut
from kubectl_koord.reports.jobs import Cause, Funnel, PodShape, SchedulerSays, SlotRow, WhatIf, WhyAlternative
from tests.build import MOMENT
from tests.render.samples import LONE, PIPE, PLACED, TERMINAL, WHY


def test_a_pending_gang_on_a_terminal() -> None:
    expected = """\
default/job is pending: no spine has room for its 4 pods; the best has 3.
Affected pods: job-0.
It starts only together with default/ps (same gang group).
Other problems: q is full (quota).
Details: kubectl koord explain insufficient-slots

What to do next (cheapest first)
  1. Wait: the scheduler will preempt default/low-5 and place the gang in
     spine-1
     kubectl koord preempt job --dry-run
  2. Evict 1 lower-priority pod in spine-0: default/low-0 on node-0 (8 CPU,
     priority 1000)
  3. Create 1 missing pod: check the controller of the job (may not be enough)
  ... and 1 more way of these kinds (--all shows them)

  SPINE     SLOTS   MISSING   IN THE WAY
  spine-0   3/4           1   node-0: low-0, node-1: low-1, node-2: low-2 (8 CPU
                              each, priority 1000)
  spine-1   3/4           1   node-5: low-5 (8 CPU, priority 1000)
  spine-2   2/4           2   has 3 nodes only: can never take 4

Slots per spine: now | without pods of lower priority | with nothing running
  SPINE     NOW   NO LOWER PRIORITY   EMPTY
  spine-1     3                   4       4

  NODE     DOMAIN    SLOTS   REASON
  node-1   block-0   4/4
  node-0   block-0   0/4     insufficient CPU

Possible outcomes (no object shows which one)
  1. If job-0 is tried first: it would be placed, 1 pod on node-8. Best: spine
     spine-1, 4 slots.
  2. If job-1 is tried first: the quota team-a is used up.

5m ago the scheduler counted 3 of 4 slots in spine-1; now it is 4 of 4; it tries
again soon.

Scheduler messages
  on 1 pod (job-0):
    no candidate topology nodes can take job

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

12 nodes, 11 not cordoned, 9 with 8 CPU free; MustGather SpineLayer (all pods in
one spine). Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(WHY, style=TERMINAL) == expected


def test_a_pending_gang_in_a_pipe() -> None:
    expected = """\
default/job is pending: no spine has room for its 4 pods; the best has 3.
Affected pods: job-0.
It starts only together with default/ps (same gang group).
Other problems: q is full (quota).
Details: kubectl koord explain insufficient-slots

What to do next (cheapest first)
  1. Wait: the scheduler will preempt default/low-5 and place the gang in spine-1
     kubectl koord preempt job --dry-run
  2. Evict 1 lower-priority pod in spine-0: default/low-0 on node-0 (8 CPU, priority 1000)
  3. Evict 1 lower-priority pod in spine-1: default/low-5 on node-5 (8 CPU, priority 1000)
  4. Create 1 missing pod: check the controller of the job (may not be enough)

  SPINE     SLOTS   MISSING   IN THE WAY
  spine-0   3/4           1   node-0: low-0, node-1: low-1, node-2: low-2 (8 CPU each, priority 1000)
  spine-1   3/4           1   node-5: low-5 (8 CPU, priority 1000)
  spine-2   2/4           2   has 3 nodes only: can never take 4

Slots per spine: now | without pods of lower priority | with nothing running
  SPINE     NOW   NO LOWER PRIORITY   EMPTY
  spine-1     3                   4       4

  NODE     DOMAIN    SLOTS   REASON
  node-1   block-0   4/4
  node-0   block-0   0/4     insufficient CPU

Possible outcomes (no object shows which one)
  1. If job-0 is tried first: it would be placed, 1 pod on node-8. Best: spine spine-1, 4 slots.
  2. If job-1 is tried first: the quota team-a is used up.

5m ago the scheduler counted 3 of 4 slots in spine-1; now it is 4 of 4; it tries again soon.

Scheduler messages
  on 1 pod (job-0):
    no candidate topology nodes can take job

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

12 nodes, 11 not cordoned, 9 with 8 CPU free; MustGather SpineLayer (all pods in one spine). Evaluated as Koordinator 1.8 (from the image tag)
"""  # noqa: E501
    assert text(WHY, style=PIPE) == expected


def test_a_gang_that_would_be_placed() -> None:
    expected = """\
default/job would be placed now: 3 pods on node-4, node-5.
The scheduler has not tried again yet.
Details: kubectl koord explain waiting-for-retry

What to do next
  1. Wait until it is scheduled; after some minutes look whether koord-scheduler runs (doctor)
     kubectl koord why-pending default/job --until scheduled

  NODE     PODS
  node-4   job-0, job-2
  node-5   job-1

MustGather SpineLayer (all pods in one spine). Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(PLACED, style=PIPE) == expected


def test_who_would_be_placed_and_waits_for_long_untried_is_told_to_look_whether_the_scheduler_runs() -> None:
    late = replace(PLACED, waiting_since="2026-11-01T09:00:00Z", basis=replace(PLACED.basis, moment=MOMENT))
    page = text(late, style=PIPE)
    assert "  1. It has waited for 19d, and the scheduler said nothing: look whether koord-scheduler runs\n" in page
    assert "     kubectl koord doctor\n" in page
    assert "Wait until it is scheduled" in text(replace(late, waiting_since="2026-11-20T09:30:00Z"), style=PIPE)
    assert "Wait until it is scheduled" in text(replace(late, scheduler_says=WHY.scheduler_says), style=PIPE)


def test_a_lone_pod_of_which_nothing_can_be_told() -> None:
    expected = """\
Cannot tell whether pod default/single would be placed: ElasticQuotas may not be read.
0 of 12 nodes fit: 11 insufficient CPU, 1 cordoned.

What to do next: whether anything helps depends on quotas, which is not evaluated.

Within the last 2d the scheduler reported (may be outdated): "0/12 nodes are available"

12 nodes, 11 not cordoned, 0 with 8 CPU free. Evaluated as Koordinator 1.7 (as requested)
"""
    assert text(LONE, style=PIPE) == expected


def test_a_message_of_which_nobody_knows_the_time_begins_the_sentence() -> None:
    says = SchedulerSays("0/12 nodes are available", "", agrees=None)
    assert '\nThe scheduler reported (may be outdated): "0/12' in text(replace(LONE, scheduler_says=says), style=PIPE)
    counted = replace(says, reads="the scheduler counted 3 of 4 slots in spine-1")
    page = text(replace(LONE, scheduler_says=counted), style=PIPE)
    assert "\nThe scheduler counted 3 of 4 slots in spine-1.\n" in page


def test_what_is_told_below_a_yes_is_a_sentence_of_its_own() -> None:
    cause = Cause("waiting-for-retry", "it would be placed now: wait.")
    assert "\nIt would be placed now: wait.\n" in text(replace(PLACED, cause=cause), style=PIPE)


def test_of_many_domains_only_those_that_could_gain_most_are_shown_in_other_states() -> None:
    domains = tuple(
        SlotRow("SpineLayer", f"spine-{number}", 1, 3, "", WhatIf(1, 1, 1, number)) for number in range(2, 10)
    )
    page = text(replace(WHY, domains=domains), style=PIPE, shown=ON_A_SCREEN)
    assert [line.split() for line in page.splitlines() if line.startswith("  spine-") and line.endswith("9")] == [
        ["spine-9", "1", "1", "9"]
    ]
    assert "  spine-5     1                   1       5\n  ... and 3 more (--all shows them)\n" in page
    assert "  spine-2     1                   1       2\n" in text(replace(WHY, domains=domains), style=PIPE)


def test_what_else_is_wrong_is_told() -> None:
    also = "Other problems: none is there (no-topology); q is full (quota).\n"

    two = (Cause("no-topology", "none is there."), Cause("quota", "q is full."))
    both = text(replace(WHY, also_wrong=("no-topology", "quota"), also=two), style=PIPE)
    neither = text(replace(WHY, also_wrong=(), also=()), style=PIPE)

    assert (also in both, "Other problems" in neither) == (True, False)


def test_what_to_do_stands_under_one_heading_and_what_is_not_proven_comes_last() -> None:
    both = replace(PLACED, unblock=WHY.unblock[:1], next_steps=WHY.next_steps)
    page = text(both, style=PIPE)
    assert page.count("What to do next") == 1
    assert "  2. Create 1 missing pod: check the controller of the job (may not be enough)\n" in page


def test_a_way_out_that_is_the_only_one_of_its_kind_stands_alone_with_its_command_below() -> None:
    written = text(replace(WHY, unblock=WHY.unblock[:1]), style=PIPE)
    way = WHY.unblock[0]
    assert f"What to do next\n  1. {way.message}\n     {way.command}\n" in written


def test_what_was_not_tried_is_told_below_the_ways_out_that_are_shown() -> None:
    page = text(replace(WHY, unblock=WHY.unblock[:1], next_steps=(), ways_not_tried="the search ended."), style=PIPE)
    assert f"     {WHY.unblock[0].command}\nThere may be more: the search ended.\n" in page


def test_where_no_single_change_helps_the_plan_of_moves_stands_below_why_none_does() -> None:
    plan = WayOut("plan-moves", "See which moves make room", "kubectl koord plan job")
    page = text(replace(WHY, unblock=(), next_steps=(plan,), no_way_out="none was found."), style=PIPE)
    assert "What to do next: none was found.\n  1. See which moves make room\n     kubectl koord plan job\n" in page
    assert "What to do next: none was found.\n" in text(replace(LONE, no_way_out="none was found."), style=PIPE)


def test_a_layer_that_is_not_in_the_topology_is_shown_as_it_is() -> None:
    cause = Cause("unknown-layer", "it must gather in layer SpinelLayer, which is not in the topology.")
    page = text(replace(WHY, must_gather="SpinelLayer", cause=cause), style=PIPE)
    assert "; MustGather SpinelLayer. Evaluated as Koordinator 1.8" in page
    assert "spinel" not in page


def test_where_no_nodes_were_counted_the_last_line_tells_what_each_pod_requests() -> None:
    last = text(replace(WHY, funnel=None), style=PIPE).splitlines()[-1]
    assert "Each pod requests 8 CPU" in last


def test_where_pods_differ_the_last_line_tells_how_many_request_what_and_whom_nodes_were_counted_for() -> None:
    shapes = (PodShape(3, "8 CPU", {"cpu": "8"}), PodShape(1, "2 CPU", {"cpu": "2"}))
    last = "its pods request 8 CPU (3 pods) or 2 CPU (1 pod)"
    assert WHY.funnel is not None
    counted = replace(WHY, shapes=shapes, funnel=replace(WHY.funnel, pod="default/job-3"), domains=())
    page = text(counted, style=PIPE)
    assert "9 of 12 nodes fit job-3: 1 cordoned, 2 insufficient CPU." in page
    assert f"12 nodes, 11 not cordoned, 9 with 8 CPU free; {last};" in page.splitlines()[-1]
    everywhere = replace(counted, funnel=Funnel(12, (), 12, pod="default/job-3"))
    assert f"12 nodes, all with room for job-3; {last};" in text(everywhere, style=PIPE).splitlines()[-1]
    nowhere = replace(counted, funnel=Funnel(0, (), 0, pod="default/job-3"))
    assert f"0 nodes; {last};" in text(nowhere, style=PIPE).splitlines()[-1]
    uncounted = text(replace(counted, funnel=None), style=PIPE).splitlines()[-1]
    assert "Its pods request 8 CPU (3 pods) or 2 CPU (1 pod);" in uncounted


def test_what_slots_leave_out_stands_right_below_them() -> None:
    notice = Notice("slots-incomplete", "slots are counted without resource claims: there may be fewer.")
    page = text(replace(WHY, warnings=(*WHY.warnings, notice)), style=TERMINAL)
    below = """\
  spine-2   2/4           2   has 3 nodes only: can never take 4
Warning: slots are counted without resource claims: there may be fewer.
(slots-incomplete)

Slots per spine: now | without pods of lower priority | with nothing running
"""
    assert below in page
    assert page.count("slots-incomplete") == 1
    assert "(slots-incomplete)" in text(replace(WHY, domains=(), warnings=(notice,)), style=TERMINAL)


def test_who_has_what_a_quota_lacks_is_told_below_the_verdict() -> None:
    shares = (Share("cpu", "4", ("a", "b")), Share("cpu", "2", ("c",)), Share("memory", "1Gi", ("a",)))
    page = text(replace(WHY, quota_holders=shares), style=PIPE)
    assert "\nUsed above their minimums: a and b 4 CPU, c 2 CPU and a 1Gi memory.\n" in page


def test_outcomes_are_told_once_each_and_once_per_case() -> None:
    no = WhyAlternative("a is first", "no", cause=Cause("insufficient-slots", "too little."))
    every = (
        no,
        replace(no, when="b is first"),
        WhyAlternative("a is first", "yes"),
        WhyAlternative("c is first", "yes"),
    )
    page = text(replace(WHY, alternatives=every), style=PIPE)
    assert "  1. If a is first, or b is first: too little.\n" in page
    assert "  2. If a is first, or c is first: it would be placed.\n" in page
    both = text(replace(WHY, alternatives=(no, WhyAlternative("a is first", "yes"))), style=PIPE)
    assert "  1. If a is first: too little. Or: it would be placed.\n" in both


def test_outcomes_that_differ_in_the_nodes_alone_are_one_and_none_where_there_is_no_other() -> None:
    on = [WhyAlternative(f"{name} is first", "yes", placement={"default/a-0": name}) for name in ("n1", "n2")]
    no = WhyAlternative("c is first", "no", cause=Cause("insufficient-slots", "too little."))
    page = text(replace(WHY, alternatives=(*on, no)), style=PIPE)
    assert "  1. If n1 is first, or n2 is first: it would be placed; on which nodes is open.\n" in page
    assert "Possible outcomes" not in text(replace(WHY, alternatives=tuple(on)), style=PIPE)


def test_below_the_verdict_stands_what_is_asked_for_by_whom_and_since_when() -> None:
    asked = replace(WHY, priority=9, owners=("Job/a", "Job/b"), shapes=WHY.shapes[:1], waiting_since="")
    assert "\nPriority 9, Job/a and Job/b; each pod requests 8 CPU.\n" in text(asked, style=PIPE)
    since = replace(asked, owners=(), waiting_since="2026-11-20T09:00:00Z", shapes=())
    assert "\nPriority 9, waiting for 60m.\n" in text(since, style=PIPE)
    assert "\nPriority " not in text(replace(asked, priority=None), style=PIPE)


def test_other_problems_are_told_with_their_numbers_where_there_are_some() -> None:
    also = (Cause("quota", "quota q has no room: 4 of 4 CPU used, 2 requested."),)
    page = text(replace(WHY, also_wrong=("satisfied-by-earlier-pods", "quota"), also=also), style=PIPE)
    assert "\nOther problems: quota q has no room: 4 of 4 CPU used, 2 requested (quota).\n" in page
