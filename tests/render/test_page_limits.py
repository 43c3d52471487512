"""What the pages say when there is much of something, or nothing."""

import pytest
from msgspec.structs import replace

from kubectl_koord.render.show import text
from kubectl_koord.render.shown import ON_A_SCREEN
from kubectl_koord.render.structured import Report
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.jobs import Cause, PendingGangsReport, SlotRow, Victim, WhyAlternative
from tests.render.samples import BASIS, CHANGE, LONE, NO_TOPO, NOT_NEEDED, PENDING, PIPE, PLACED, PREEMPT, TOPO, WHY


def first_line(report: Report) -> str:
    return text(report, style=PIPE).partition("\n")[0]


def test_of_many_domains_the_best_are_shown() -> None:
    domains = tuple(SlotRow("rack", f"rack-{number}", number, 40 - number) for number in range(40))
    written = text(replace(WHY, domains=domains, desired_offer_slot=None), style=PIPE, shown=ON_A_SCREEN)
    assert "  RACK      SLOTS   MISSING\n  rack-39   39            1\n" in written
    assert "  rack-25   25           15\n  ... and 25 more, with 24 slots or fewer each (--all shows them)\n" in written


def test_what_is_left_out_of_domains_is_told_in_the_right_number() -> None:
    for slots, told in ((1, "with 1 slot or fewer each"), (0, "with no slots")):
        domains = tuple(SlotRow("rack", f"rack-{number}", slots, 4) for number in range(40))
        written = text(replace(WHY, domains=domains), style=PIPE, shown=ON_A_SCREEN)
        assert f"more, {told} (--all shows them)\n" in written


def test_domains_of_several_layers_are_told_apart() -> None:
    domains = (SlotRow("SpineLayer", "a", 1, 3), SlotRow("ClusterTopologyLayer", "", 2, 2))
    written = text(replace(WHY, domains=domains), style=PIPE)
    assert "  DOMAIN            SLOTS   MISSING\n  cluster cluster   2/4           2\n" in written


def test_a_placement_on_many_nodes_is_folded() -> None:
    placement = {f"default/job-{number}": f"node-{number // 2:02}" for number in range(40)}
    written = text(replace(PLACED, placement=placement), style=PIPE, shown=ON_A_SCREEN)
    assert written.startswith("default/job would be placed now: 40 pods on 20 nodes.\n")
    assert "  node-14   job-28, job-29\n  ... and 10 pods on 5 more nodes (--all shows them)\n" in written


def test_a_gang_with_nothing_pending_is_not_called_pending() -> None:
    report = replace(PLACED, pending_pods=(), placement=None, cause=None, bound_pods=3)
    assert first_line(report) == "default/job has no pending pods: 3 pods on a node, 3 needed."


@pytest.mark.parametrize(
    ("node", "sentence"), [("node-0", "pod default/job is on node-0."), ("", "pod default/job has finished.")]
)
def test_a_lone_pod_with_nothing_pending_is_where_it_is(node: str, sentence: str) -> None:
    report = replace(PLACED, pending_pods=(), placement=None, cause=None, bound_pods=1, lone_pod=True, node=node)
    assert first_line(report) == sentence


def test_a_plain_gang_that_fits_is_told_without_nodes() -> None:
    assert first_line(replace(PLACED, placement=None)) == "default/job fits now; on which nodes is left to scoring."


def test_several_outcomes_without_a_cause_are_counted() -> None:
    report = replace(WHY, verdict="unknown", cause=None)
    assert first_line(report) == "Cannot tell whether default/job would be placed: 2 outcomes are possible."


def test_pods_that_the_sentence_names_are_not_named_twice() -> None:
    cause = Cause("no-feasible-node", "no node has room for default/job-0.", ("default/job-0",))
    assert "It is about" not in text(replace(WHY, cause=cause), style=PIPE)


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("yes", "No gang has pending pods."),
        ("unknown", "No gang has pending pods among the objects that could be read."),
    ],
)
def test_without_pending_gangs_there_is_no_table(verdict: str, sentence: str) -> None:
    report = PendingGangsReport("yes" if verdict == "yes" else "unknown", BASIS, (), ())
    assert text(report, style=PIPE) == f"{sentence}\n\nEvaluated as Koordinator 1.8 (from the image tag)\n"


def test_gangs_that_were_not_asked_for_may_have_pending_pods() -> None:
    nothing = PendingGangsReport("yes", BASIS, (), ())
    assert first_line(replace(nothing, namespace="team")) == "No gang has pending pods in namespace team."
    assert first_line(replace(nothing, selected=True)) == "No gang with pending pods matches."
    of_team = replace(nothing, namespace="team", selected=True)
    assert first_line(of_team) == "No gang with pending pods matches in namespace team."


def test_one_gang_is_one() -> None:
    assert first_line(replace(PENDING, items=(WHY,))) == "1 gang has pending pods: 1 cannot start now."
    assert first_line(replace(PENDING, items=(LONE,))) == "1 pod is pending: 1 unknown."


def test_of_many_victims_the_first_are_shown() -> None:
    victims = tuple(Victim(f"a/p-{i:03}", f"node-{i:03}", 1, None, None, None, None) for i in range(100))
    report = replace(PREEMPT, victims=victims, rounds=(), nominations={"a/job-0": "node-000"})
    written = text(report, style=PIPE, shown=ON_A_SCREEN)
    assert "Attempt 1: preempts 100 pods\n  VICTIM    NODE       PRIORITY\n" in written
    repeated = text(replace(report, nominations={}), style=PIPE, shown=ON_A_SCREEN)
    assert "Attempts from 1 on: preempt 100 pods\n  VICTIM    NODE       PRIORITY\n" in repeated
    assert "  a/p-058   node-058          1\n  ... and 41 more victims (--all shows them)\n" in written


def test_what_next_depends_on_whether_it_helps() -> None:
    helps = text(replace(PREEMPT, verdict="yes", helps=True), style=PIPE)
    in_vain = text(replace(PREEMPT, verdict="no", helps=False), style=PIPE)
    in_part = text(replace(PREEMPT, verdict="no", helps=False, rounds=PREEMPT.rounds[:1]), style=PIPE)
    open_yet = text(replace(PREEMPT, verdict="unknown", reason="not-needed"), style=PIPE)
    assert "1. Wait: the scheduler preempts these pods when it next tries the gang." in helps
    assert "1. See why the gang is pending, and what else helps." in in_vain
    assert "1. Wait for the pods that are nominated, and see why the others are pending." in in_part
    assert "1. See why the gang is pending, and what else helps." in open_yet


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("yes", "Preemption lets default/job run."),
        ("no", "Preemption does not let default/job run."),
        ("unknown", "default/job: cannot tell what preemption would do."),
    ],
)
def test_a_preemption_without_a_message_gets_one(verdict: str, sentence: str) -> None:
    reports = {
        "yes": replace(NOT_NEEDED, verdict="yes", reason=None),
        "no": replace(NOT_NEEDED, verdict="no", reason="other"),
        "unknown": replace(NOT_NEEDED, verdict="unknown", reason=None),
    }
    assert first_line(reports[verdict]) == sentence
    assert "See why the gang is pending, and what else helps." in text(reports["no"], style=PIPE)


def test_a_change_says_what_became_of_it() -> None:
    assert first_line(replace(CHANGE, applied=True)) == "Changed 1 object."
    assert first_line(replace(CHANGE, dry_run="none")) == "Nothing was written; 1 object would change."
    assert first_line(replace(CHANGE, changes=())) == "Nothing to change."
    assert first_line(replace(CHANGE, message="Declined.")) == "Declined."
    assert text(replace(CHANGE, verdict="no", message="Declined."), style=PIPE) == "Declined.\n"
    assert "why-pending" not in text(replace(CHANGE, effect=None), style=PIPE)


def test_nodes_outside_the_tree_are_told_once() -> None:
    report = replace(TOPO, warnings=(Notice("outside-nodes", "2 nodes outside the tree."),))
    assert text(report, style=PIPE).count("outside the tree") == 1


def test_the_warning_that_tells_why_there_is_no_tree_is_the_headline() -> None:
    notices = (Notice("assumed-config", "assumed."), Notice("one-namespace-list", "Node: forbidden."))
    report = replace(NO_TOPO, verdict="unknown", warnings=notices, message="Node could not be read: forbidden")
    written = text(report, style=PIPE)
    assert written.startswith("Cannot build the topology tree: Node could not be read: forbidden.\n\nWarning: assumed.")
    slots = text(replace(report, gang="default/job"), style=PIPE)
    assert slots.startswith("Cannot count the slots for default/job: Node could not be read: forbidden.\n")
    assert first_line(replace(NO_TOPO, warnings=())) == "The topology tree cannot be built: no reason was found."


def test_an_outcome_without_a_cause_is_told_by_its_verdict() -> None:
    verdicts: tuple[Verdict, ...] = ("yes", "no", "unknown")
    outcomes = tuple(WhyAlternative(f"{verdict} it is", verdict) for verdict in verdicts)
    lines = text(replace(WHY, alternatives=outcomes), style=PIPE).splitlines()
    assert [line.strip() for line in lines if " it is:" in line] == [
        "1. If yes it is: it would be placed.",
        "2. If no it is: it stays pending.",
        "3. If unknown it is: unknown.",
    ]


def test_an_attempt_without_nominations_shows_no_empty_table() -> None:
    bare = replace(PREEMPT, rounds=tuple(replace(one, nominations={}) for one in PREEMPT.rounds), nominations={})
    assert "NOMINATED PODS" not in text(bare, style=PIPE)


def test_an_attempt_that_only_waits_for_dying_pods_kills_nobody() -> None:
    idle = replace(PREEMPT, rounds=tuple(replace(one, victims=()) for one in PREEMPT.rounds), victims=())
    assert "Attempt 1: preempts no pods" in text(idle, style=PIPE)
