"""All gangs: what is counted, what of each runs where, and what the PodGroup's phase does not know."""

import pytest
from msgspec import structs

from kubectl_koord.explain.every_pending import gangs
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.model.values import Requirement, Selector
from kubectl_koord.render.document import Columns
from kubectl_koord.render.show import text
from kubectl_koord.reports.jobs import GangRow, GangsReport, Hops
from tests.build import BLOCK, NODE, SPINE, Drawing, cluster, rules, why_of
from tests.render.samples import PIPE

TREE = "s0: b0[n1:8 n2:8] b1[n3:8]; s1: b2[n4:8]; -[n5:8]"


def row(report: GangsReport, name: str = "job") -> GangRow:
    return next(item for item in report.items if item.gang == f"default/{name}")


def running(*nodes: str, minimum: int = 0, **fields: object) -> Drawing:
    drawn = cluster(TREE).with_group("job", minimum, **fields)
    for number, node in enumerate(nodes):
        drawn = drawn.with_running(f"job-{number}", node, gang="default/job")
    return drawn


def test_a_waiting_gang_carries_the_answer_of_why_pending() -> None:
    drawn = cluster(TREE).with_gang("job", 3, cpu=8, minimum=3, topology=rules(f"MustGather {BLOCK}"))
    assert row(gangs(drawn)) == GangRow(
        gang="default/job",
        gang_group=("default/job",),
        min_member=3,
        pods=3,
        bound=0,
        pending=3,
        mode="Strict",
        match_policy="once-satisfied",
        must_gather=BLOCK,
        span={},
        verdict="no",
        cause="never-fits",
        defined_by="PodGroup",
        layer="topology",
    )


def test_the_span_counts_the_domains_of_running_members() -> None:
    found = row(gangs(running("n1", "n1", "n3", "n4")))
    assert found.span == {SPINE: 2, BLOCK: 3, NODE: 3}
    assert found.verdict == "yes"
    assert (found.running, found.bound, found.pending) == (4, 4, 0)


def test_hops_are_layers_between_neighbouring_numbers() -> None:
    assert row(gangs(running("n1", "n1", "n2", "n3", "n4"))).hops == Hops(pairs=4, far=1, most=3, mean=1.5)
    assert row(gangs(running("n1", "n5"))).hops == Hops(pairs=1, far=1, most=3, mean=3.0)
    assert row(gangs(running("n1"))).hops is None


def test_members_outside_the_must_gather_domain_are_counted() -> None:
    topology = rules(f"MustGather {BLOCK}")
    assert row(gangs(running("n1", "n2", "n3", "n5", topology=topology))).outside == 2
    assert row(gangs(running("n1", "n3"))).outside == 0


def test_without_a_tree_nothing_is_told_of_places() -> None:
    found = row(gangs(running("n1", "n2").but(topologies={})))
    assert (found.span, found.hops, found.outside) == ({}, None, 0)


@pytest.mark.parametrize(
    ("phase", "bound", "waits", "stale"),
    [
        ("Scheduling", 2, 0, "more-bound"),
        ("Scheduling", 1, 0, None),
        ("Running", 1, 1, "fewer-bound"),
        ("Running", 2, 0, None),
        ("Finished", 0, 1, "used-again"),
        ("Finished", 0, 0, None),
        ("", 2, 0, None),
    ],
)
def test_what_a_phase_does_not_know_is_told(phase: str, bound: int, waits: int, stale: str | None) -> None:
    drawn = running(*["n1"] * bound, minimum=2, phase=phase)
    drawn = drawn.with_members([f"wait-{number}" for number in range(waits)], "job")
    assert row(gangs(drawn)).stale == stale


def test_a_gang_of_annotations_is_listed_and_one_of_another_namespace_is_not() -> None:
    drawn = cluster(TREE).with_light_gang("light", 2, gang_terms=GangAnnotations(minimum="2")).with_group("other/x", 1)
    assert [item.gang for item in gangs(drawn, "default").items] == ["default/light"]
    assert [item.gang for item in gangs(drawn).items] == ["default/light", "other/x"]
    assert [item.gang for item in gangs(drawn, only_pending=True).items] == ["default/light"]
    waiting = drawn.with_pod("other/y-0", "other/y").with_pod("lone")
    assert [item.gang for item in gangs(waiting, "default").items] == ["default/light"]


BOTH = '["default/one", "default/two"]'


@pytest.mark.parametrize(
    ("drawing", "verdicts"),
    [
        pytest.param(
            cluster(TREE).with_gang("one", 1, groups=BOTH).with_gang("two", 1, minimum=2, groups='["default/two"]'),
            {"one": "no", "two": "no"},
            id="another that waits has a list of its own",
        ),
        pytest.param(
            cluster(TREE).with_gang("one", 1, groups='["default/none"]').with_gang("two", 1, groups=BOTH),
            {"one": "no", "two": "no"},
            id="one lists nobody that is there",
        ),
        pytest.param(
            cluster(TREE)
            .with_gang("one", 1, minimum=1, match_policy="only-waiting", groups=BOTH)
            .with_gang("two", 1, minimum=3, groups=BOTH)
            .with_running("two-9", on="n1", gang="default/two"),
            {"one": "no", "two": "no"},
            id="one of the group has run, and none is tried",
        ),
        pytest.param(
            cluster(TREE)
            .with_gang("one", 1, minimum=0, match_policy="only-waiting", groups=BOTH)
            .with_gang("two", 1, minimum=3, groups=BOTH)
            .with_running("two-9", on="n1", gang="default/two"),
            {"one": "no", "two": "yes"},
            id="one of the group has run, and needs nobody",
        ),
    ],
)
def test_each_gang_has_the_answer_of_its_own(drawing: Drawing, verdicts: dict[str, str]) -> None:
    assert {item.gang.removeprefix("default/"): item.verdict for item in gangs(drawing).items} == verdicts
    assert {name: why_of(drawing, name).verdict for name in verdicts} == verdicts


def test_labels_of_a_podgroup_or_of_a_pending_pod_select() -> None:
    drawn = cluster(TREE).with_group("one", 1, labels=(("team", "a"),)).with_group("two", 1)
    drawn = drawn.with_pod("two-0", "two", labels=(("team", "a"),)).with_group("three", 1)
    wanted = Selector((Requirement("team", "In", ("a",)),))
    assert [item.gang for item in gangs(drawn, "", wanted).items] == ["default/one", "default/two"]


def test_kinds_that_could_not_be_read_make_the_list_unknown() -> None:
    report = gangs(cluster(TREE).with_gap("PodGroup", "forbidden"))
    assert (report.verdict, "PodGroup" in report.message) == ("unknown", True)
    assert text(report, style=PIPE).startswith("There is no gang among the objects that could be read.\n")


def test_that_there_is_no_gang_tells_what_was_asked_for() -> None:
    drawn = cluster(TREE)
    wanted = Selector((Requirement("team", "In", ("a",)),))
    assert text(gangs(drawn), style=PIPE).startswith("There is no gang.\n")
    assert text(gangs(drawn, "default"), style=PIPE).startswith("There is no gang in namespace default.\n")
    assert text(gangs(drawn, "", wanted), style=PIPE).startswith("There is no such gang.\n")
    assert text(gangs(drawn, only_pending=True), style=PIPE).startswith("There is no such gang.\n")


def test_the_page_tells_how_each_gang_does() -> None:
    drawn = running("n1", "n3", minimum=2, phase="Scheduling", topology=rules(f"MustGather {BLOCK}"))
    drawn = drawn.with_gang("big", 3, cpu=8, minimum=3, topology=rules(f"MustGather {BLOCK}")).with_group("none", 1)
    drawn = drawn.with_gang("fits", 1, minimum=1).with_finished("old-0", "old")
    lines = text(gangs(drawn), style=PIPE, columns=Columns(wide=True)).splitlines()
    assert lines[0] == "5 gangs, 2 with pending pods: 1 cannot start now, 1 would be placed now."
    states = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[3:8]}
    assert states["default/big"].startswith("never-fits 3 3 0 3 topology BlockLayer Strict")
    assert states["default/fits"].startswith("would-start 1 1 0 1 Strict")
    assert states["default/job"].startswith(
        "running 2 2 2 0 BlockLayer 1 spine, 2 blocks 2 1 2, 2 Scheduling its phase is stale: enough pods are bound"
    )
    assert states["default/none"].startswith("no pods 1 0 0 0")
    assert states["default/old"].startswith("finished 0 1 1 0")
    assert "OUTSIDE: members that run outside" in "\n".join(lines)


def test_pods_that_could_not_be_read_are_not_said_to_be_absent() -> None:
    lines = text(gangs(cluster(TREE).with_group("none", 1).with_gap("Pod", "forbidden")), style=PIPE).splitlines()
    assert lines[0] == "1 gang, none with pending pods among the objects that could be read."
    assert " ".join(lines[4].split()).startswith("default/none pods not read 1 0 0 0")


def test_a_long_list_is_cut_where_a_limit_or_a_screen_says_so() -> None:
    drawn = cluster(TREE)
    for name in "abcdef":
        drawn = drawn.with_group(name, 1)
    report = gangs(drawn)
    assert report.items[0].gang == "default/a"
    assert "6 gangs, none with pending pods.\n" in text(report, style=PIPE)
    assert "  ... and 4 more\n" in text(report, style=PIPE, columns=Columns(most=2))
    everyone = structs.replace(report, items=report.items * 20)
    assert "more (--all shows them)\n" in text(everyone, style=structs.replace(PIPE, width=80, terminal=True))
