"""What blocks a gang or a pod before a node is looked at, as facts, in the scheduler's order."""

from datetime import timedelta

import pytest
from msgspec import structs

from kubectl_koord.engine.admission import before_trying, is_open
from kubectl_koord.engine.blockers import (
    BeingDeleted,
    Blocker,
    BoundDoNotCount,
    FinishedNeverWait,
    Gated,
    GroupsDiffer,
    MixedSchedulers,
    NoLeader,
    NoPodGroup,
    NoSuchGangs,
    NotInitialised,
    OmitsItself,
    OpenConfiguration,
    OtherScheduler,
    TooFewPods,
    UnknownLayer,
)
from kubectl_koord.engine.reasons import NoTopologyTree, TopologyManagerOff, TopologyNotAware
from kubectl_koord.engine.tree import NoTopology, build
from kubectl_koord.model.installation import Plugins
from kubectl_koord.model.objects import Lease
from kubectl_koord.model.pods import GangAnnotations
from kubectl_koord.model.unevaluated import OpenPlugin, OtherProfile
from tests.build import BLOCK, MOMENT, NODE, SPINE, Drawing, cluster

NO_PERMIT = Plugins((("Coscheduling", ("permit",)),))
TWO_PROFILES: dict[str, object] = {"profiles": ("koord-scheduler", "own"), "differing": ("own",)}
FREE = cluster("s0: b0[n1 n2 n3 n4]")
BOTH = '["default/job", "default/peer"]'
ONE, TWO = ("default/job-0",), ("default/job-0", "default/job-1")
OLD = Lease("koord-scheduler", "a", renewed="2026-11-20T09:00:00Z")
MIXED = FREE.with_gang("job", 2).change_pods("job-1", scheduler="volcano")
OF_PEER = FREE.with_gang("job", 1, groups=BOTH)
RAN = FREE.with_gang("job", 1, minimum=4, groups=BOTH).with_running("job-9", on="n1", gang="default/job")


def blockers(drawing: Drawing, name: str = "job") -> tuple[Blocker, ...]:
    return before_trying(drawing.subject(name), drawing, build(drawing.topologies, drawing.nodes))


@pytest.mark.parametrize(
    ("drawing", "blocker"),
    [
        (FREE.with_gang("job", 2, scheduler="x"), OtherScheduler(TWO, ("x",), ("koord-scheduler",), in_gang=True)),
        (MIXED, MixedSchedulers(TWO[1:], 2, ("volcano",))),
        (FREE.with_gang("job", 1).but(leases=(OLD,)), NoLeader("koord-scheduler", "a", timedelta(hours=1))),
        (FREE.with_gang("job", 2, terminating=True), BeingDeleted(TWO, 2, in_gang=True)),
        (FREE.with_pod("job", terminating=True), BeingDeleted(("default/job",), 1, in_gang=False)),
        (
            FREE.with_gang("job", 2, gates=("b", "a")),
            Gated(TWO, 2, in_gang=True, gates=("a", "b"), enough_others=False),
        ),
        (FREE.with_members(("job-0",), "job"), NoPodGroup("default/job", ONE, own=True)),
        (
            FREE.with_light_gang("job", 1, gang_terms=GangAnnotations("many")),
            NotInitialised("default/job", ONE, own=True, written="many"),
        ),
        (FREE.with_gang("job", 2, minimum=3), TooFewPods("default/job", TWO, own=True, children=2, minimum=3)),
        (OF_PEER, NoSuchGangs(("default/peer",))),
        (FREE.with_gang("job", 1, groups='["default/job", "peer"]'), NoSuchGangs(("peer",))),
        (
            OF_PEER.with_light_gang("peer", 1, gang_terms=GangAnnotations(groups=BOTH)),
            NotInitialised("default/peer", ("default/peer-0",), own=False, written=""),
        ),
        (
            OF_PEER.with_group("peer", 2, groups=BOTH),
            TooFewPods("default/peer", (), own=False, children=0, minimum=2),
        ),
        (
            FREE.with_gang("job", 1, minimum=2, match_policy="only-waiting").with_finished(
                "job-9", "job", was_bound=False
            ),
            FinishedNeverWait("default/job", ONE, needed=2, finished=1),
        ),
        (
            FREE.with_gang("job", 1, minimum=2, match_policy="only-waiting").with_running(
                "job-9", on="n1", gang="default/job"
            ),
            BoundDoNotCount("default/job", ONE, 2, bound=1, match_policy="only-waiting", complete=False),
        ),
        (
            FREE.with_gang("job", 1, groups='["default/peer"]').with_gang("peer", 1, groups='["default/peer"]'),
            OmitsItself("default/job", ("default/peer",)),
        ),
        (OF_PEER.with_gang("peer", 1), GroupsDiffer("default/job", ("default/peer",))),
        (FREE.with_gang("job", 1, must_gather=SPINE).but(topologies={}), NoTopologyTree(NoTopology())),
        (FREE.with_gang("job", 2, must_gather=SPINE).configured(aware_of_topology=False), TopologyNotAware()),
        (FREE.with_gang("job", 1, must_gather=SPINE).configured(manages_topology=False), TopologyManagerOff()),
        (
            FREE.with_gang("job", 1, minimum=2).configured(plugins=NO_PERMIT),
            OpenConfiguration((OpenPlugin("Coscheduling", ("permit",)),)),
        ),
        (
            FREE.with_gang("job", 1, must_gather="Rack", scheduler="own").configured(**TWO_PROFILES),
            OpenConfiguration((OtherProfile("own"),)),
        ),
        (FREE.with_gang("job", 1, must_gather="Rack"), UnknownLayer("Rack", (SPINE, BLOCK, NODE))),
    ],
)
def test_what_blocks_a_gang_or_a_pod_is_returned_with_its_facts(drawing: Drawing, blocker: Blocker) -> None:
    assert blockers(drawing) == (blocker,)


@pytest.mark.parametrize(
    "drawing",
    [
        FREE.with_gang("job", 2),
        FREE.with_pod("job"),
        FREE.with_group("job", 4),
        FREE.with_gang("job", 2, minimum=1).change_pods("job-1", scheduler="volcano"),
        FREE.with_gang("job", 2, minimum=1).change_pods("job-1", terminating=True),
        RAN.with_group("peer", 4, groups=BOTH),
        RAN.with_group("peer", 2, groups=BOTH, match_policy="waiting-and-running")
        .with_running("peer-0", on="n1", gang="default/peer")
        .with_running("peer-1", on="n1", gang="default/peer"),
        OF_PEER.with_group("peer", 1).with_running("peer-0", on="n1", gang="default/peer"),
        FREE.with_gang("job", 1).but(leases=(Lease("koord-scheduler", "a", renewed=MOMENT),)),
        FREE.with_gang("job", 1, must_gather=SPINE),
        FREE.with_gang("job", 1, must_gather=SPINE).configured(aware_of_topology=False),
        FREE.with_gang("job", 3, minimum=1, must_gather=SPINE).configured(aware_of_topology=False),
        FREE.with_gang("job", 1, must_gather="Rack").configured(aware_of_topology=False),
        FREE.with_gang("job", 1, must_gather=SPINE).but(topologies={}).with_gap("ClusterNetworkTopology"),
        FREE.with_gang("job", 1, minimum=2).with_gap("Pod"),
        FREE.with_members(("job-0",), "job").with_gap("PodGroup"),
        FREE.with_gang("job", 1, groups='["default/job", "far/peer"]').with_gap("PodGroup"),
        FREE.with_gang("job", 1, must_gather="Rack", groups=BOTH).with_gang("peer", 1, groups=BOTH),
    ],
)
def test_nothing_blocks_where_it_is_enough_or_was_not_read(drawing: Drawing) -> None:
    assert blockers(drawing) == ()


@pytest.mark.parametrize(
    ("drawing", "blocker"),
    [
        (RAN, NoSuchGangs(("default/peer",))),
        (RAN.with_members(("peer-0",), "peer"), NoPodGroup("default/peer", ("default/peer-0",), own=False)),
        (
            RAN.with_group("peer", 2, groups=BOTH, match_policy="waiting-and-running").with_running(
                "peer-0", on="n1", gang="default/peer"
            ),
            TooFewPods("default/peer", (), own=False, children=1, minimum=2),
        ),
        (
            RAN.with_group("peer", 1, groups=BOTH, match_policy="only-waiting").with_running(
                "peer-0", on="n1", gang="default/peer"
            ),
            BoundDoNotCount("default/peer", (), 1, bound=1, match_policy="only-waiting", complete=False),
        ),
    ],
)
def test_pods_of_a_satisfied_gang_wait_for_every_other_gang_of_the_group(drawing: Drawing, blocker: Blocker) -> None:
    assert blockers(drawing) == (blocker,)


def test_a_gang_of_the_group_whose_pod_group_is_missing_has_no_list_either() -> None:
    assert blockers(OF_PEER.with_members(("peer-0",), "peer")) == (
        NoPodGroup("default/peer", ("default/peer-0",), own=False),
        GroupsDiffer("default/job", ("default/peer",)),
    )


@pytest.mark.parametrize(
    "peer", [OF_PEER.with_group("peer"), OF_PEER.with_gang("peer", 1).with_running("p", on="n1", gang="default/peer")]
)
def test_another_list_of_a_gang_that_nobody_waits_for_blocks_nobody(peer: Drawing) -> None:
    assert blockers(peer) == ()


def test_what_is_open_goes_last() -> None:
    drawing = FREE.with_gang("job", 2, minimum=1, groups=BOTH).change_pods("job-1", gates=("a",))
    gated = Gated(TWO[1:], 2, in_gang=True, gates=("a",), enough_others=True)
    assert blockers(drawing) == (NoSuchGangs(("default/peer",)), gated)
    assert [is_open(blocker) for blocker in blockers(drawing)] == [False, True]
    assert is_open(OmitsItself("default/job", ("default/peer",)))


def test_a_gang_that_its_own_list_omits_is_blocked_by_those_that_it_lists() -> None:
    drawing = FREE.with_gang("job", 2, minimum=9, groups='["default/peer"]').with_gang("peer", 1, minimum=2)
    assert blockers(drawing.change_pods("job-1", scheduler="volcano")) == (
        TooFewPods("default/peer", ("default/peer-0",), own=False, children=1, minimum=2),
        OmitsItself("default/job", ("default/peer",)),
    )


def test_each_spec_that_refuses_its_gang_is_named_once_and_none_where_another_gang_may_come_first() -> None:
    drawing = FREE.with_gang("job", 1, must_gather="Rack", groups=BOTH)
    row = UnknownLayer("Row", (SPINE, BLOCK, NODE))
    rack = UnknownLayer("Rack", (SPINE, BLOCK, NODE))
    assert blockers(drawing.with_gang("peer", 1, must_gather="Row", groups=BOTH)) == (rack, row)
    assert blockers(drawing.with_gang("peer", 1, must_gather=SPINE, groups=BOTH)) == ()
    assert blockers(drawing.with_gang("peer", 1, must_gather="Rack", groups=BOTH)) == (rack,)


@pytest.mark.parametrize(("number", "code"), [(1, "replacement-waits"), (2, "surplus-pods")])
def test_pods_beyond_those_that_run_are_surplus_and_others_replace(number: int, code: str) -> None:
    drawing = FREE.with_gang("job", 1, minimum=2, match_policy="only-waiting")
    for each in range(number):
        drawing = drawing.with_running(f"job-{9 - each}", on="n1", gang="default/job")
    assert [blocker.code for blocker in blockers(drawing)] == [code]


OTHER = OtherScheduler(TWO, ("x",), ("koord-scheduler",), in_gang=True)


@pytest.mark.parametrize(
    ("drawing", "is_known"),
    [(FREE, True), (FREE.configured(assumed=True), False), (FREE.with_gap("ConfigMap"), True)],
)
def test_any_scheduler_may_be_a_profile_of_a_configuration_that_was_not_read(
    drawing: Drawing, *, is_known: bool
) -> None:
    found = blockers(drawing.with_gang("job", 2, scheduler="x"))
    assert found == (structs.replace(OTHER, known=is_known),)
    assert is_open(found[0]) is not is_known


@pytest.mark.parametrize(
    ("drawing", "is_known"),
    [
        (MIXED.configured(assumed=True), True),
        (MIXED.configured(assumed=True).with_gap("ConfigMap"), False),
        (MIXED.configured(assumed=True).with_gap("Deployment"), False),
        (MIXED.with_gap("Deployment"), True),
    ],
)
def test_one_that_others_name_is_the_profile_of_a_configuration_that_is_not_there_but_not_of_a_hidden_one(
    drawing: Drawing, *, is_known: bool
) -> None:
    found = blockers(drawing)
    assert found == (MixedSchedulers(TWO[1:], 2, ("volcano",), known=is_known),)
    assert is_open(found[0]) is not is_known
