from msgspec.structs import replace

from kubectl_koord.explain.reports import SlotRow, WhatIf
from kubectl_koord.render.show import text
from kubectl_koord.render.shown import ON_A_SCREEN
from tests.render.samples import LONE, PIPE, PLACED, TERMINAL, WHY


def test_a_pending_gang_on_a_terminal() -> None:
    expected = """\
default/job is pending: no spine has room for its 4 pods, the best has 3.
It is about job-0.
It starts only together with default/ps (one gang group).
Also wrong, or so the scheduler said: quota, which is not evaluated here.
kubectl koord explain insufficient-slots

  SPINE     SLOTS   SHORT   IN THE WAY
  spine-0   3/4         1   node-0: low-0, node-1: low-1, node-2: low-2 (8 CPU
                            each, priority 1000)
  spine-1   3/4         1   node-5: low-5 (8 CPU, priority 1000)
  spine-2   2/4         2   has 3 nodes only: can never take 4

Slots if
  SPINE     NOW   NO LOWER PRIORITY   EMPTY
  spine-1     3                   4       4

  NODE     DOMAIN    SLOTS   WHY NO MORE
  node-1   block-0   4/4
  node-0   block-0   0/4     too little CPU

What to do next
  1. Create the missing pod: look at what should create them

What helps, the cheapest first
  1. Wait: the scheduler will preempt default/low-5 and place the gang in
     spine-1
     kubectl koord preempt job --dry-run
  2. Free 1 pod of lower priority in spine-0: default/low-0 on node-0 (8 CPU,
     priority 1000)
  ... and 1 more of these kinds (--all shows them)

It depends on what cannot be seen from outside the scheduler
  1. If job-0 is tried first: it would be placed, 1 pod on node-8. Best: spine
     spine-1, 4 slots.
  2. If job-1 is tried first: the quota team-a is used up.

5m ago the scheduler counted 3 of 4 slots in spine-1; now it is 4 of 4; it tries
again soon.

What the scheduler wrote
  on 1 pod (job-0):
    no candidate topology nodes can take job

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

12 nodes, 11 not cordoned, 9 with 8 CPU free; MustGather SpineLayer (all pods in
one spine); as koordinator 1.8 decides (from the image tag)
"""
    assert text(WHY, style=TERMINAL) == expected


def test_a_pending_gang_in_a_pipe() -> None:
    expected = """\
default/job is pending: no spine has room for its 4 pods, the best has 3.
It is about job-0.
It starts only together with default/ps (one gang group).
Also wrong, or so the scheduler said: quota, which is not evaluated here.
kubectl koord explain insufficient-slots

  SPINE     SLOTS   SHORT   IN THE WAY
  spine-0   3/4         1   node-0: low-0, node-1: low-1, node-2: low-2 (8 CPU each, priority 1000)
  spine-1   3/4         1   node-5: low-5 (8 CPU, priority 1000)
  spine-2   2/4         2   has 3 nodes only: can never take 4

Slots if
  SPINE     NOW   NO LOWER PRIORITY   EMPTY
  spine-1     3                   4       4

  NODE     DOMAIN    SLOTS   WHY NO MORE
  node-1   block-0   4/4
  node-0   block-0   0/4     too little CPU

What to do next
  1. Create the missing pod: look at what should create them

What helps, the cheapest first
  1. Wait: the scheduler will preempt default/low-5 and place the gang in spine-1   kubectl koord preempt job --dry-run
  2. Free 1 pod of lower priority in spine-0: default/low-0 on node-0 (8 CPU, priority 1000)
  3. Free 1 pod of lower priority in spine-1: default/low-5 on node-5 (8 CPU, priority 1000)

It depends on what cannot be seen from outside the scheduler
  1. If job-0 is tried first: it would be placed, 1 pod on node-8. Best: spine spine-1, 4 slots.
  2. If job-1 is tried first: the quota team-a is used up.

5m ago the scheduler counted 3 of 4 slots in spine-1; now it is 4 of 4; it tries again soon.

What the scheduler wrote
  on 1 pod (job-0):
    no candidate topology nodes can take job

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

12 nodes, 11 not cordoned, 9 with 8 CPU free; MustGather SpineLayer (all pods in one spine); as koordinator 1.8 decides (from the image tag)
"""  # noqa: E501
    assert text(WHY, style=PIPE) == expected


def test_a_gang_that_would_be_placed() -> None:
    expected = """\
default/job would be placed now: 3 pods on node-4, node-5.
The scheduler has not tried again yet.
kubectl koord explain waiting-for-retry

  NODE     PODS
  node-4   job-0, job-2
  node-5   job-1

MustGather SpineLayer (all pods in one spine); as koordinator 1.8 decides (from the image tag)
"""
    assert text(PLACED, style=PIPE) == expected


def test_a_lone_pod_of_which_nothing_can_be_told() -> None:
    expected = """\
pod default/single: cannot tell, ElasticQuotas may not be read.
Of 12 nodes, 0 could take a pod; the others: 11 too little CPU, 1 cordoned.

What helps: whether anything helps depends on quotas, which is not evaluated.

Within the last 2d the scheduler said, which may no longer hold: "0/12 nodes are available"

12 nodes, 11 not cordoned, 0 with 8 CPU free; as koordinator 1.7 decides (as asked)
"""
    assert text(LONE, style=PIPE) == expected


def test_of_many_domains_only_those_that_could_gain_most_are_shown_in_other_states() -> None:
    domains = tuple(
        SlotRow("SpineLayer", f"spine-{number}", 1, 3, "", WhatIf(1, 1, 1, number)) for number in range(2, 10)
    )
    page = text(replace(WHY, domains=domains), style=PIPE, shown=ON_A_SCREEN)
    assert [line.split() for line in page.splitlines() if line.startswith("  spine-") and line.endswith("9")] == [
        ["spine-9", "1", "9"]
    ]
    assert "  spine-5     1       5\n  ... and 3 more (--all shows them)\n" in page
    assert "  spine-2     1       2\n" in text(replace(WHY, domains=domains), style=PIPE)


def test_what_else_is_wrong_is_told_apart_from_what_only_the_scheduler_said() -> None:
    also = "Also wrong, but not what stops it first: no-topology, unknown-layer.\n"
    said = "Also wrong, or so the scheduler said: quota, which is not evaluated here.\n"

    both = text(replace(WHY, also_wrong=("no-topology", "unknown-layer", "quota")), style=PIPE)
    alone = text(replace(WHY, also_wrong=("no-topology", "unknown-layer")), style=PIPE)
    neither = text(replace(WHY, also_wrong=()), style=PIPE)

    assert also + said in both
    assert (also in alone, said in alone) == (True, False)
    assert "Also wrong" not in neither
