"""Settings that do not do what was meant, as facts."""

import pytest

from kubectl_koord.engine.admission import (
    DifferingSpecs,
    ForeignGangMarker,
    GroupsUnreadable,
    IndexNotHonoured,
    MinimumZero,
    Oddity,
    SatisfiedByEarlierPods,
    SatisfiedWithoutItself,
    SomeBeingDeleted,
    SomeOfOtherScheduler,
    SpecWithoutEffect,
    StalePhase,
    TopologySpecUnreadable,
    UnknownPreferredLayer,
    UnknownStrategy,
    WorstFit,
    oddities,
)
from kubectl_koord.engine.tree import build
from tests.build import SPINE, Drawing, cluster, rules

FREE = cluster("s0: b0[n1 n2 n3 n4]")
BOTH = '["default/job", "default/peer"]'
JOB, SECOND = "default/job", ("default/job-1",)
INDEXED = FREE.with_gang("job", 0, minimum=2, must_gather=SPINE)


@pytest.mark.parametrize(
    ("drawing", "odd"),
    [
        (
            FREE.with_gang("job", 2, minimum=1).change_pods("job-1", scheduler="x"),
            [SomeOfOtherScheduler(SECOND, 2, ("x",))],
        ),
        (FREE.with_gang("job", 2, minimum=1).change_pods("job-1", terminating=True), [SomeBeingDeleted(SECOND, 2)]),
        (FREE.with_pod("job", foreign_gang="volcano.sh/x"), [ForeignGangMarker(JOB, "volcano.sh/x")]),
        (FREE.with_pod("job", foreign_gang="volcano.sh/x", scheduler="x"), []),
        (FREE.with_gang("job", 1, groups="oops"), [GroupsUnreadable(JOB)]),
        (FREE.with_gang("job", 1, topology="oops"), [TopologySpecUnreadable(JOB)]),
        (FREE.with_gang("job", 1, topology=rules(f"Gather {SPINE}")), [UnknownStrategy(JOB, "Gather")]),
        (FREE.with_gang("job", 1, topology=rules("PreferGather Rack")), [UnknownPreferredLayer(JOB, "Rack")]),
        (FREE.with_gang("job", 1, topology=rules(f"PreferGather {SPINE}")), []),
        (FREE.with_gang("job", 1, topology=rules("PreferGather Rack")).but(topologies={}), []),
        (FREE.with_gang("job", 1, minimum=0), [MinimumZero(JOB)]),
        (FREE.with_gang("job", 1, phase="Failed"), [StalePhase(JOB, "Failed")]),
        (FREE.with_gang("job", 1, phase="Running"), [StalePhase(JOB, "Running")]),
        (FREE.with_gang("job", 1, phase="Running").with_running("job-9", on="n1", gang=JOB), []),
        (FREE.with_group("job", 0, phase="Failed"), []),
        (
            FREE.with_gang("job", 1, must_gather=SPINE, groups=BOTH).with_gang("peer", 1, groups=BOTH),
            [DifferingSpecs()],
        ),
        (
            FREE.with_gang("job", 1, groups='["default/peer"]')
            .with_group("peer", 1, groups='["default/peer"]')
            .with_running("peer-0", on="n1", gang="default/peer"),
            [SatisfiedWithoutItself(JOB)],
        ),
        (FREE.with_gang("job", 1).with_finished("job-9", "job"), [SatisfiedByEarlierPods()]),
        (FREE.with_gang("job", 1, must_gather=SPINE).configured(aware_of_topology=False), [SpecWithoutEffect()]),
        (
            INDEXED.with_pod("w-2", gang="job", index=2).with_pod("w-10", gang="job", index=10),
            [IndexNotHonoured(("w-10", "w-2"))],
        ),
        (INDEXED.with_pod("w-1", gang="job", index=1).with_pod("w-2", gang="job", index=2), []),
        (
            INDEXED.with_pod("w-2", gang="job", index=2)
            .with_pod("w-10", gang="job", index=10)
            .configured(aware_of_topology=False),
            [],
        ),
        (FREE.with_gang("job", 1, must_gather=SPINE, selector="ring"), [WorstFit()]),
        (FREE.with_gang("job", 1, must_gather=SPINE, selector="ring").version("1.7"), []),
    ],
)
def test_a_setting_that_does_not_do_what_was_meant_is_returned_with_its_facts(
    drawing: Drawing, odd: list[Oddity]
) -> None:
    tree = build(drawing.topologies, drawing.nodes)
    assert list(oddities(drawing.subject("job"), drawing, tree)) == odd
