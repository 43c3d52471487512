"""The screens as values: lines, marks, commands; the texts are those of the commands."""

from functools import partial

import pytest
from msgspec import structs

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.errors import KoordError
from kubectl_koord.explain.choices import Choice
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.happened import Happened
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.quota import quotas
from kubectl_koord.explain.way import way
from kubectl_koord.live import views
from kubectl_koord.live.cells import NO_MARKS, Cell, Line, Look, Marks, Target, of_report, said
from kubectl_koord.live.views import Choosing, Overview, Page, Questions, State, View
from kubectl_koord.model.installation import Volcano, VolcanoGroup
from kubectl_koord.model.quotas import NAME_LABEL
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.reports.common import DomainName
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.wording.words import Aim
from tests.build import SPINE, Drawing, cluster

LOOK = Look(80)
PLAIN = State()
ROOM = cluster("spine-0: block-0[n1:8 n2:8]; spine-1: block-1[n3:8]")
JOB = cluster("spine-0: block-0[n1:8 n2:8 n4:8]; spine-1: block-1[n3:8]").with_running("old", on="n4", cpu=8)
JOB = JOB.with_gang("job", 3, cpu=8, must_gather=SPINE, created="2026-11-20T09:00:00Z")
WAITING = (
    JOB.with_gang("fits", 1, cpu=1, created="2026-11-20T09:30:00Z")
    .with_group("few", 2)
    .with_members(["few-0"], gang="few")
)


def subject_of(snapshot: Snapshot, name: str) -> Subject:
    assert isinstance(snapshot, Drawing)
    return snapshot.subject(name.rpartition("/")[2])


QUESTIONS = Questions(
    pending=every_pending,
    waiting=pending_subjects,
    gang=lambda snapshot, name: way(snapshot, subject_of(snapshot, name)),
    subject=subject_of,
)
OVERVIEW = Overview(QUESTIONS, "kubectl koord why-pending -A")


def texts(lines: list[Line]) -> list[str]:
    return [said(line).rstrip() for line in lines]


def shown(view: View, drawing: Drawing, look: Look = LOOK, state: State = PLAIN) -> list[str]:
    return texts(view.lines(view.ask(drawing), look, state, {}))


def marks(view: View, drawing: Drawing) -> Marks:
    return view.marks(view.ask(drawing))


def test_the_overview_counts_by_cause_and_names_the_gangs_below() -> None:
    assert shown(OVERVIEW, WAITING) == [
        "   1 ################ insufficient-slots  3 pods",
        "     default/job  3 pods, 60m  no spine has room for its 3 pods; the best has 2.",
        "   1 ################ too-few-pods  1 pod",
        "     default/few  1 pod  it has 1 of the 2 pods it needs.",
        "   1 ################ would-start  1 pod",
        "     default/fits  1 pod, 30m",
    ]
    assert marks(OVERVIEW, WAITING) == NO_MARKS


def test_who_waits_is_told_before_it_is_known_why() -> None:
    waiting = OVERVIEW.waiting(WAITING)
    assert texts(OVERVIEW.lines_now(None, waiting, LOOK, PLAIN, WAITING.moment)) == [
        "Computing why 3 gangs wait ...",
        "   3 not answered yet  5 pods",
        "     default/few  1 pod",
        "     default/fits  1 pod, 30m",
        "     default/job  3 pods, 60m",
    ]
    folded = views.toggled(PLAIN, views.TO_COME, is_open=True)
    assert len(OVERVIEW.lines_now(None, waiting, LOOK, folded, WAITING.moment)) == 2


def test_while_an_answer_is_old_it_is_shown_without_those_that_wait_no_more() -> None:
    answer = OVERVIEW.ask(WAITING)
    later = JOB.with_pod("lone-0")
    assert texts(OVERVIEW.lines_now(answer, OVERVIEW.waiting(later), LOOK, PLAIN, later.moment)) == [
        "   1 ################ insufficient-slots  3 pods",
        "     default/job  3 pods, 60m  no spine has room for its 3 pods; the best has 2.",
        "   1 not answered yet  1 pod",
        "     pod/default/lone-0  1 pod",
    ]
    assert texts(OVERVIEW.lines_now(answer, (), LOOK, PLAIN, later.moment)) == ["No gang has pending pods."]
    alone = OVERVIEW.waiting(ROOM.with_pod("lone-0"))
    assert texts(OVERVIEW.lines_now(answer, alone, LOOK, PLAIN, later.moment))[0] == "   1 not answered yet  1 pod"


def test_causes_fold_and_unfold_and_gangs_are_sorted() -> None:
    more = WAITING.with_group("also", 3).with_members(["also-0", "also-1"], gang="also", created="2026-11-20T08:00:00Z")
    more = more.with_group("big", 4).with_members(["big-0", "big-1", "big-2"], gang="big")
    state = State()
    names = {}
    for _ in views.SORTS:
        lines = shown(OVERVIEW, more, state=state)
        names[state.sort] = [line.split()[0] for line in lines if "need" in line]
        state = views.with_sort(state)
    assert state == State()
    assert names == {
        "name": ["default/also", "default/big", "default/few"],
        "age": ["default/also", "default/big", "default/few"],
        "pods": ["default/big", "default/also", "default/few"],
    }
    folded = views.toggled(State(), "too-few-pods", is_open=True)
    assert not [line for line in shown(OVERVIEW, more, state=folded) if "default/few" in line]
    opened = views.toggled(folded, "too-few-pods", is_open=False)
    assert (opened.folded, opened.unfolded) == (frozenset(), frozenset(["too-few-pods"]))


def test_of_many_gangs_only_the_causes_are_shown_until_one_is_opened() -> None:
    many = ROOM
    for number in range(21):
        many = many.with_group(f"g{number:02}", 2).with_members([f"g{number:02}-0"], gang=f"g{number:02}")
    assert shown(OVERVIEW, many, Look(40)) == ["  21 #### too-few-pods  21 pods"]
    assert not views.is_short(every_pending(many))
    opened = shown(OVERVIEW, many, state=State(unfolded=frozenset(["too-few-pods"])))
    assert len(opened) == 22


def test_the_overview_tells_that_nothing_waits_and_what_may_be_missing() -> None:
    assert shown(OVERVIEW, ROOM) == ["No gang has pending pods."]
    blind = WAITING.with_gap("PodGroup")
    assert shown(OVERVIEW, blind)[0].startswith("This list may be incomplete: ")
    unknown = WAITING.with_gap("Node")
    assert "   1 ########........ too-few-pods  1 pod" in shown(OVERVIEW, unknown)
    assert "   2 ################ not-readable  4 pods" in shown(OVERVIEW, unknown)


def test_hostile_names_are_shown_and_never_act() -> None:
    bad = ROOM.with_group("[red]x\x1b", 2).with_members(["[red]x\x1b-0"], gang="[red]x\x1b")
    assert "     default/[red]x\\x1b  1 pod" in "\n".join(shown(OVERVIEW, bad))


def test_a_gangs_screen_is_the_page_of_why_pending_and_marks_its_best_domains() -> None:
    page = views.of_gang(QUESTIONS, "default/job")
    style = OutputStyle(terminal=True, width=80, colour=False, unicode=True)
    assert "\n".join(shown(page, WAITING)) + "\n" == text(way(WAITING, WAITING.subject("job")), style=style)
    assert marks(page, WAITING) == Marks(domains=[DomainName(SPINE, "spine-0")])
    placed = ROOM.with_gang("job", 2, cpu=8, must_gather=SPINE)
    assert marks(page, placed) == Marks(placed={"n1", "n2"})
    assert views.shown_by(page, Look(80, aim=Aim(koord=("--demo",)))) == (
        "kubectl koord why-pending default/job --demo"
    )


def test_preemption_marks_its_victims_in_the_map_before_it_happens() -> None:
    full = ROOM.with_running("low-1", on="n1", cpu=8, priority=-5).with_running("low-3", on="n3", cpu=8, priority=-5)
    full = full.with_gang("job", 2, cpu=8, must_gather=SPINE, priority=9)
    page = views.of_preemption(QUESTIONS, "default/job")
    victims = {victim.node for victim in preempt(full, full.subject("job")).victims}
    assert victims == {"n1"}
    assert marks(page, full) == Marks(victims={"n1"}, placed={"n2"})


def test_a_node_and_a_domain_are_marked_and_a_domain_shows_its_cards() -> None:
    assert marks(views.of_node("n1"), WAITING) == Marks(node="n1")
    domain = views.of_domain(f"{SPINE}/spine-0")
    assert marks(domain, WAITING) == Marks(domains=[DomainName(SPINE, "spine-0")])
    assert any("has 3 nodes" in line for line in shown(domain, WAITING))
    assert marks(views.Quotas(), WAITING) == NO_MARKS


@pytest.mark.parametrize(
    ("view", "problem"),
    [
        (views.of_node("n9"), "error: no node 'n9'"),
        (views.of_domain("x"), "error: no domain 'x'"),
    ],
)
def test_what_is_gone_is_told(view: Page, problem: str) -> None:
    with pytest.raises(KoordError) as told:
        view.ask(WAITING)
    assert told.value.message == problem


def test_a_name_of_several_domains_is_told() -> None:
    twice = cluster("a: a[n1:8]")
    with pytest.raises(KoordError) as told:
        views.of_domain("a").ask(twice)
    assert told.value.message == "error: several domains: SpineLayer/a, BlockLayer/a"


def test_quotas_are_a_tree_with_bars_above_their_page() -> None:
    some = (
        ROOM.with_quota("team", max=(("cpu", 8000),), min=(("cpu", 4000),))
        .with_running("a", on="n1", cpu=2, labels=((NAME_LABEL, "team"),))
        .with_pod("b", cpu=9, labels=((NAME_LABEL, "team"),))
    )
    lines = shown(views.Quotas(), some)
    page = page_of_quotas(some)
    assert lines[-len(page) :] == page
    assert lines[: -len(page)] == ["  team  ####............  2 of 8 CPU", ""]
    tree = views.Quotas().lines(views.Quotas().ask(some), LOOK, State(), {})
    assert tree[0][0] == Cell("  team", "bad", target=Target("quota", "team"))
    one = views.Quotas("team")
    assert (one.title, one.shell) == ("quota team", "kubectl koord quota team")
    assert shown(one, some)
    assert shown(views.Quotas(), ROOM) == page_of_quotas(ROOM)
    with pytest.raises(KoordError, match="no quota 'x'"):
        views.Quotas("x").ask(some)


def page_of_quotas(drawing: Drawing) -> list[str]:
    return texts(of_report(quotas(drawing), LOOK, {}))


def test_gangs_of_volcano_are_listed_below() -> None:
    theirs = ROOM.but(volcano=Volcano(groups={"team/bert": VolcanoGroup("team", "bert", "q", 2, phase="Inqueue")}))
    lines = OVERVIEW.lines(OVERVIEW.ask(theirs), LOOK, State(), {})
    assert texts(lines) == ["Gangs of Volcano: 1", "     team/bert  Inqueue  0 pods pending"]
    assert lines[1][0].target == Target("gang", "podgroup.scheduling.volcano.sh/team/bert")


def test_what_if_lists_changes_and_shows_the_answer_of_each() -> None:
    choosing = Choosing(QUESTIONS, "default/job")
    every = choosing.ask(JOB)
    lines = choosing.lines(every, LOOK, State(), {})
    assert said(lines[0]) == "Enter tries it: nothing is sent to the cluster."
    assert lines[1][0].target == Target("choice", "0")
    assert (choosing.title, choosing.marks(every)) == ("What if: default/job", NO_MARKS)
    (fewer,) = [one for one in every if one.text == "Fewer pods: 2 instead of 3"]
    tried = choosing.tried(fewer)
    assert tried.title == "What if: default/job: Fewer pods: 2 instead of 3"
    answer = tried.ask(JOB)
    assert texts(tried.lines(answer, LOOK, State(), {}))[:3] == [
        "If: Fewer pods: 2 instead of 3",
        "",
        "default/job would be placed now: 2 pods on n1, n2.",
    ]
    assert tried.marks(answer) == Marks(placed={"n1", "n2"})
    assert views.shown_by(tried, LOOK) == ""
    (more,) = [one for one in every if one.text == "One more node like n1 in block-0"]
    with_more = choosing.tried(more)
    assert with_more.marks(with_more.ask(JOB)) == Marks(placed={"n1", "n2", "n1-more"}, added={"n1": "n1-more"})
    placed = ROOM.with_running("job-0", on="n1", gang="default/job").with_group("job", 1)
    assert shown(choosing, placed) == ["Nothing of it waits: there is nothing to try."]


def test_proven_ways_out_are_marked_and_what_cannot_be_tried_leads_nowhere() -> None:
    few = ROOM.with_gang("job", 3, cpu=8, must_gather=SPINE)
    lines = Choosing(QUESTIONS, "job").lines(Choosing(QUESTIONS, "job").ask(few), LOOK, State(), {})
    assert said(lines[1]).startswith("* ")
    nothing = Choosing(QUESTIONS, "job").lines((Choice("(2 more)", ()),), LOOK, State(), {})
    assert nothing[1] == (Cell("  (2 more)"),)


@pytest.mark.parametrize(
    ("words", "title", "shell"),
    [
        ("why-pending job", "gang job", "kubectl koord why-pending job"),
        ("gang job", "gang job", "kubectl koord why-pending job"),
        ("preempt job", "preempt job", "kubectl koord preempt job"),
        ("what-if job", "What if: job", ""),
        ("node n1", "node n1", "kubectl koord node n1"),
        ("domain spine-0", "domain spine-0", "kubectl koord domain spine-0"),
        ("quota a", "quota a", "kubectl koord quota a"),
        ("quota", "quota", "kubectl koord quota"),
        ("devices n1", "devices n1", "kubectl koord devices n1"),
        ("devices", "devices", "kubectl koord devices"),
        ("topo", "topo", "kubectl koord topo"),
        ("gangs", "gangs", "kubectl koord gangs"),
        ("why-pending", "Pending", "kubectl koord why-pending -A"),
    ],
)
def test_a_typed_command_names_a_screen(words: str, title: str, shell: str) -> None:
    view = views.named(words.split(), QUESTIONS, OVERVIEW)
    assert (view.title, view.shell) == (title, shell)


@pytest.mark.parametrize("words", ["topo", "gangs", "devices", "devices n1", "node n1", "domain spine-0"])
def test_each_typed_command_has_an_answer(words: str) -> None:
    view = views.named(words.split(), QUESTIONS, OVERVIEW)
    assert shown(view, WAITING)
    assert (marks(view, WAITING) == NO_MARKS) == (words.split(maxsplit=1)[0] in {"topo", "gangs", "devices"})


def test_what_is_no_command_is_told_with_those_that_there_are() -> None:
    with pytest.raises(KoordError) as told:
        views.named(["toppo"], QUESTIONS, OVERVIEW)
    assert told.value.message.startswith("error: no screen 'toppo'; there are devices, domain, gang, ")
    with pytest.raises(KoordError):
        views.named(["node"], QUESTIONS, OVERVIEW)


def test_what_happened_is_a_line_each() -> None:
    found = [Happened("2026-11-20T09:00:00Z", "bound", "default/job", "2 pods bound"), Happened("", "gone", "x", "y")]
    lines = views.happenings(found, LOOK)
    assert texts(lines) == ["09:00:00 bound     default/job  2 pods bound", "-        gone      x  y"]
    assert lines[0][2].target == Target("gang", "default/job")


def test_help_tells_the_keys_and_what_could_not_be_read() -> None:
    assert len(views.help_lines(None, LOOK)) == len(views.HELP) == len(views.help_lines(WAITING, LOOK))
    blind = WAITING.with_gap("Node").with_gap("Device", "not-in-input", "none in the file")
    assert texts(views.help_lines(blind, LOOK))[-2:] == ["Node: you may not read it", "Device: none in the file"]
    assert views.gaps_told(blind.gaps) != ""
    assert views.gaps_told(WAITING.with_gap("Device", "not-in-input").gaps) == ""


def test_who_waits_without_a_cause_is_listed_by_the_verdict() -> None:
    answer = every_pending(WAITING)
    bare = structs.replace(answer, items=tuple(structs.replace(item, cause=None) for item in answer.items))
    assert [said(line).split()[2] for line in OVERVIEW.lines(bare, LOOK, State(), {}) if "/" not in said(line)] == [
        "no", "would-start",
    ]  # fmt: skip


def test_the_namespace_and_selector_are_those_of_the_listing() -> None:
    own = Overview(structs.replace(QUESTIONS, pending=partial(every_pending, namespace="other")), "")
    assert shown(own, WAITING) == ["No gang has pending pods in namespace other."]
