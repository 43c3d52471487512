"""What may be tried for a gang, and what comes of it in the same engine."""

import pytest

from kubectl_koord.explain import choices as module
from kubectl_koord.explain.choices import Choice, choices
from kubectl_koord.explain.why import why
from kubectl_koord.reports.common import AddNode, DeletePod
from tests.build import BLOCK, SPINE, Drawing, cluster, rules, short

ROOM = cluster("spine-0: block-0[n1:8] block-1[n2:8]; spine-1: block-2[n3:8]").with_running("old", on="n1", cpu=8)
JOB = ROOM.with_gang("job", 3, cpu=8, topology=rules(f"MustGather {SPINE}"))


def told(drawing: Drawing, name: str = "job") -> list[tuple[str, str]]:
    """Try each choice that is no proven way out: its words and the verdict."""
    subject = drawing.subject(name)
    every = [one for one in choices(drawing, subject) if not one.is_proven]
    return [(one.text, why(drawing, subject, brief=True, edits=one.edits).verdict) for one in every]


def test_each_kind_of_change_is_offered_and_its_answer_is_the_engines() -> None:
    assert told(JOB) == [
        ("Fewer pods: 2 instead of 3", "no"),
        ("Fewer pods: 1 instead of 3", "yes"),
        ("Other layer: all pods in one block (BlockLayer)", "no"),
        ("Other layer: none, as a preference only", "no"),
        ("One more node like n1 in block-0", "no"),
        ("One more node like n2 in block-1", "no"),
        ("One more node like n3 in block-2", "no"),
        ("Without pod default/old on n1 (priority 0)", "no"),
    ]


def test_one_more_node_lets_a_gang_start_where_one_is_missing() -> None:
    short_by_one = ROOM.with_gang("job", 2, cpu=8, topology=rules(f"MustGather {SPINE}"))
    (more,) = [one for one in choices(short_by_one, short_by_one.subject("job")) if "like n2" in one.text]
    assert more.edits == (AddNode("n2-more", "n2"),)
    found = why(short_by_one, short_by_one.subject("job"), brief=True, edits=more.edits)
    assert (found.verdict, set(short(found.placement).values())) == ("yes", {"n2", "n2-more"})
    (without,) = [one for one in choices(short_by_one, short_by_one.subject("job")) if one.text.startswith("Without")]
    assert why(short_by_one, short_by_one.subject("job"), brief=True, edits=without.edits).verdict == "yes"


def test_proven_ways_out_come_first_and_changes_are_nothing_for_who_does_not_wait() -> None:
    few = cluster("spine-0: block-0[n1:8]").with_gang("job", 2, cpu=8, topology=rules(f"MustGather {SPINE}"))
    first = choices(few, few.subject("job"))[0]
    assert first.is_proven
    assert why(few, few.subject("job"), brief=True, edits=first.edits).verdict == "yes"
    runs = ROOM.with_running("job-0", on="n2", gang="default/job").with_group("job", 1)
    assert choices(runs, runs.subject("job")) == ()


def test_a_pod_alone_has_no_fewer_pods_and_no_layer() -> None:
    alone = ROOM.with_pod("lone", cpu=9)
    assert [text for text, _ in told(alone, "lone")] == [
        "One more node like n1 in block-0",
        "One more node like n2 in block-1",
        "One more node like n3 in block-2",
        "Without pod default/old on n1 (priority 0)",
    ]


def test_a_gang_without_topology_may_gather_and_one_that_gathers_on_a_block_may_gather_wider() -> None:
    plain = ROOM.with_gang("job", 3, cpu=8)
    assert ("Other layer: all pods in one spine (SpineLayer)", "no") in told(plain)
    narrow = ROOM.with_gang("job", 2, cpu=4, topology=rules(f"MustGather {BLOCK}"))
    assert ("Other layer: all pods in one spine (SpineLayer)", "yes") in told(narrow)


def test_without_a_tree_there_are_no_layers_and_no_domains() -> None:
    assert [text for text, _ in told(JOB.but(topologies={}))] == [
        "Fewer pods: 2 instead of 3",
        "Fewer pods: 1 instead of 3",
        "Without pod default/old on n1 (priority 0)",
    ]


def test_a_gang_of_a_group_has_no_fewer_pods() -> None:
    both = ROOM.with_gang("job", 2, cpu=9, groups='["default/job", "default/other"]')
    both = both.with_gang("other", 1, cpu=1, groups='["default/job", "default/other"]')
    assert not [text for text, _ in told(both) if text.startswith("Fewer")]


def test_of_many_running_pods_those_of_the_lowest_priority_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PODS", 1)
    many = ROOM.with_running("mean", on="n3", cpu=1, priority=-1).with_running("lost", on="gone", cpu=1, priority=-9)
    waiting = many.with_pod("lone", cpu=9)
    offered = choices(waiting, waiting.subject("lone"))[4:]
    assert offered == (Choice("(2 more pods of higher priority not listed)", ()),)
    monkeypatch.setattr(module, "MOST_PODS", 2)
    offered = choices(waiting, waiting.subject("lone"))[4:]
    assert [one.edits for one in offered] == [(DeletePod("default/mean", "n3"),), ()]
