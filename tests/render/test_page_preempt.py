from msgspec.structs import replace

from kubectl_koord.render.show import text, to_hand_on
from kubectl_koord.reports.jobs import PreemptAlternative, Round
from tests.render.samples import ASCII_TERMINAL, NOT_NEEDED, PIPE, PREEMPT, TERMINAL


def test_every_attempt_with_its_victims_on_a_terminal() -> None:
    expected = """\
default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot
run.

Attempt 1: preempts 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO    AGE   BUDGET
  spine-0
  └─ default/low-0   node-0       1000   default/low    2h   low-pdb (violated)
  Eviction of default/low-0: accepted

  NODE     NOMINATED PODS
  node-0   job-0, job-1

Attempt 2: preempts 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO       NOTE
  spine-0
  └─ default/low-1   node-1       1000   replicaset/web   wasted

  NODE     NOMINATED PODS
  node-1   job-1

Running gangs that would fall below their minimum
  GANG          RUNNING   LEFT   MINIMUM
  default/low         4      3         4

Wasted victims: default/low-1 (default/job would still not run).

Possible outcomes (no object shows which one)
  1. If node-1 is tried first: preempts default/low-1; nominated: job-0 ->
     node-1; breaks default/low; the gang still does not run (not-helpful).

What to do next
  1. See why the gang is pending, and what else helps.
     kubectl koord why-pending default/job

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

Gang priority 9000; computed only: no pod was deleted. Evaluated as Koordinator
1.8 (from the image tag)
"""
    assert text(PREEMPT, style=TERMINAL) == expected


def test_every_attempt_with_its_victims_in_a_pipe() -> None:
    expected = """\
default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot run.

Attempt 1: preempts 1 pod
  VICTIM            NODE     PRIORITY   BELONGS TO    AGE   BUDGET
  spine-0
    default/low-0   node-0       1000   default/low    2h   low-pdb (violated)
  Eviction of default/low-0: accepted

  NODE     NOMINATED PODS
  node-0   job-0, job-1

Attempt 2: preempts 1 pod
  VICTIM            NODE     PRIORITY   BELONGS TO       NOTE
  spine-0
    default/low-1   node-1       1000   replicaset/web   wasted

  NODE     NOMINATED PODS
  node-1   job-1

Running gangs that would fall below their minimum
  GANG          RUNNING   LEFT   MINIMUM
  default/low         4      3         4

Wasted victims: default/low-1 (default/job would still not run).

Possible outcomes (no object shows which one)
  1. If node-1 is tried first: preempts default/low-1; nominated: job-0 -> node-1; breaks default/low; the gang still does not run (not-helpful).

What to do next
  1. See why the gang is pending, and what else helps.
     kubectl koord why-pending default/job

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Gang priority 9000; computed only: no pod was deleted. Evaluated as Koordinator 1.8 (from the image tag)
"""  # noqa: E501
    assert text(PREEMPT, style=PIPE) == expected


def test_every_attempt_with_its_victims_on_an_ascii_terminal() -> None:
    expected = """\
default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot
run.

Attempt 1: preempts 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO    AGE   BUDGET
  spine-0
  `- default/low-0   node-0       1000   default/low    2h   low-pdb (violated)
  Eviction of default/low-0: accepted

  NODE     NOMINATED PODS
  node-0   job-0, job-1

Attempt 2: preempts 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO       NOTE
  spine-0
  `- default/low-1   node-1       1000   replicaset/web   wasted

  NODE     NOMINATED PODS
  node-1   job-1

Running gangs that would fall below their minimum
  GANG          RUNNING   LEFT   MINIMUM
  default/low         4      3         4

Wasted victims: default/low-1 (default/job would still not run).

Possible outcomes (no object shows which one)
  1. If node-1 is tried first: preempts default/low-1; nominated: job-0 ->
     node-1; breaks default/low; the gang still does not run (not-helpful).

What to do next
  1. See why the gang is pending, and what else helps.
     kubectl koord why-pending default/job

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

Gang priority 9000; computed only: no pod was deleted. Evaluated as Koordinator
1.8 (from the image tag)
"""
    assert text(PREEMPT, style=ASCII_TERMINAL) == expected


def test_preemption_that_is_not_needed() -> None:
    expected = """\
default/job needs no preemption.

What to do next
  1. Wait: the scheduler places the gang when it next tries it.
     kubectl koord why-pending default/job

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(NOT_NEEDED, style=PIPE) == expected


def test_of_a_lone_pod_it_is_spoken_as_one_and_it_is_asked_for_as_one() -> None:
    (like,) = PREEMPT.alternatives
    report = replace(PREEMPT, verdict="no", reason=None, lone_pod=True, alternatives=(replace(like, reason=None),))
    written = text(report, style=PIPE)
    assert "; the pod still does not run.\n" in written
    assert (
        "See why the pod is pending, and what else helps.\n     kubectl koord why-pending pod/default/job\n" in written
    )
    assert "\nPod priority 9000; computed only: no pod was deleted. Evaluated" in written
    assert "See why the pod is pending" in text(replace(report, reason="scheduling-gated"), style=PIPE)
    assert "  1. Nothing is to be done.\n" in text(replace(report, reason="no-pending-pods"), style=PIPE)


def test_an_outcome_in_which_only_nominated_pods_run_says_so() -> None:
    (like,) = PREEMPT.alternatives
    nominated, victims = {"default/job-0": "node-1"}, tuple(replace(one, wasted=False) for one in like.victims)
    once = (Round(victims, nominated),)
    some = replace(like, helps=False, reason=None, victims=victims, nominations=nominated, rounds=once)
    written = text(replace(PREEMPT, alternatives=(some,)), style=PIPE)
    assert "; the pods that are nominated then run.\n" in written


def outcomes(*later: str) -> list[str]:
    """Return the lines of outcomes that begin alike and preempt these pods, if any, in a second attempt."""
    (like,) = PREEMPT.alternatives
    rounds = [
        (like.rounds[0], Round(tuple(replace(like.victims[0], pod=pod) for pod in one.split()), {})) for one in later
    ]
    written = text(replace(PREEMPT, alternatives=tuple(replace(like, rounds=each) for each in rounds)), style=PIPE)
    return [line for line in written.splitlines() if "If node-1 is tried first" in line]


def test_outcomes_that_differ_in_a_later_attempt_alone_tell_its_victims() -> None:
    first = "preempts default/low-1; nominated: job-0 -> node-1"
    end = "; breaks default/low; the gang still does not run (not-helpful)."
    x, y = (f"{first}; attempt 2 preempts default/{name}{end}" for name in "xy")
    assert outcomes("default/x", "default/y", "") == [
        f"  1. If node-1 is tried first: {' Or: '.join((x, y, f'{first}{end}'))}"
    ]


def told(*alternatives: PreemptAlternative) -> list[str]:
    page = text(replace(PREEMPT, alternatives=alternatives), style=PIPE).splitlines()
    return [line for line in page if line.startswith("  ") and ". If " in line]


def test_attempts_that_follow_each_other_while_victims_terminate_are_one_table() -> None:
    (like,) = PREEMPT.alternatives
    later = [
        Round(
            (replace(like.victims[0], pod=f"default/x-{number}"),), {"default/job-0": f"n{number}"}, "while-terminating"
        )
        for number in (1, 2)
    ]
    end = replace(later[0], when="after", victims=())
    page = text(replace(PREEMPT, rounds=(like.rounds[0], *later, end), alternatives=()), style=PIPE)
    assert "\nAttempts 2 to 3, while these terminate: preempt 2 pods\n" in page
    assert "\nAttempt 4: preempts no pods\n" in page
    assert [page.count(f"default/x-{number}  ") for number in (1, 2)] == [1, 1]


def test_what_may_come_besides_is_one_table_and_no_outcome_of_its_own() -> None:
    (like,) = PREEMPT.alternatives
    besides = tuple(
        Round((replace(like.victims[0], pod=f"default/x-{number}"),), {"default/job-0": "n9"}, "while-terminating")
        for number in (1, 2, 1)
    )
    page = text(replace(PREEMPT, may_follow=besides, alternatives=()), style=PIPE)
    assert page.count("Perhaps, while these terminate: preempts 2 more pods in 3 attempts\n") == 1
    assert [page.count(f"default/x-{number} ") for number in (1, 2)] == [1, 1]
    alike = (like, replace(like, may_follow=besides))
    assert "Possible outcomes" not in (page := text(replace(PREEMPT, alternatives=alike), style=PIPE))
    assert "is open" not in page
    other = replace(like, when="node-3 is tried first", victims=(), rounds=())
    (first, _) = told(*alike, other)
    assert "; perhaps, while these terminate, preempts default/x-1 and default/x-2; breaks" in first


def test_outcomes_that_differ_in_the_nodes_that_pods_take_alone_are_one() -> None:
    assert outcomes("default/x", "default/x") == []
    (like,) = PREEMPT.alternatives
    elsewhere = replace(like, when="node-2 is tried first", nominations={"default/job-0": "node-2"})
    page = text(replace(PREEMPT, alternatives=(like, elsewhere)), style=PIPE)
    assert "\nWhich pod takes which node is open (2 outcomes).\n" in page
    assert "Possible outcomes" not in page
    other = replace(like, when="node-3 is tried first", victims=(), rounds=())
    end = "breaks default/low; the gang still does not run (not-helpful)."
    cases = "node-1 is tried first, or node-2 is tried first"
    assert told(like, elsewhere, other) == [
        f"  1. If {cases}: preempts default/low-1; which pod takes which node is open; {end}",
        f"  2. If node-3 is tried first: preempts no pods; nominated: job-0 -> node-1; {end}",
    ]
    many = [replace(elsewhere, when=f"node-{number} is tried first") for number in range(4, 7)]
    assert told(like, *many, other)[0].startswith("  1. If node-1 is tried first, or in 3 other cases: ")


def test_of_many_victims_an_outcome_tells_what_differs_from_those_above() -> None:
    (like,) = PREEMPT.alternatives
    victim = PREEMPT.victims[0]
    above = tuple(replace(victim, pod=f"default/v{number}") for number in range(9))
    others = tuple(replace(victim, pod=f"default/w{number}") for number in range(9))
    bare = replace(like, nominations={f"default/job-{number}": "n" for number in range(9)}, rounds=(), broken_gangs=())
    cases = {
        "same": above,
        "one": (*above[1:], others[0]),
        "more": (*above, others[0]),
        "fewer": above[:8],
        "others": others,
    }
    alternatives = tuple(replace(bare, when=when, victims=victims) for when, victims in cases.items())
    page = text(replace(PREEMPT, victims=above, alternatives=alternatives), style=PIPE).splitlines()
    found = [line.partition(": ")[2].partition(";")[0] for line in page if ". If " in line]
    assert found == [
        "preempts the 9 pods above",
        "preempts default/w0 in place of default/v0, and 8 of those above",
        "preempts default/w0, and 9 of those above",
        "preempts 8 of the pods above, not default/v8",
        "preempts default/w0, default/w1, default/w2, default/w3, default/w4, default/w5 and 3 more",
    ]


def test_where_only_some_outcomes_need_preemption_the_advice_is_to_wait() -> None:
    (like,) = PREEMPT.alternatives
    both = (replace(like, reason=None), replace(like, reason="not-needed", victims=(), nominations={}))
    written = text(replace(PREEMPT, verdict="yes", alternatives=both), style=PIPE)
    assert "  1. Wait: the gang runs in each of these outcomes.\n" in written


def test_a_yes_for_which_running_gangs_pay_is_not_green() -> None:
    paid = replace(PREEMPT, verdict="yes", message="", alternatives=())
    page = to_hand_on(paid, "html")
    assert '<h1 class="warn">Preemption lets default/job run.</h1>' in page
    assert '<p class="bad">It breaks 1 running gang: below.</p>' in page
    free = to_hand_on(replace(paid, broken_gangs=()), "html")
    assert '<h1 class="good">' in free
    assert "It breaks" not in free
