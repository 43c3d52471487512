"""CPUs that are bound, NUMA zones, and amplified nodes: upstream's own cases, and those of the recordings."""

from collections.abc import Mapping
from functools import reduce
from itertools import product
from operator import and_
from random import Random

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import placed, prepare, rejection, unscored
from kubectl_koord.engine.filters.numa import Placing
from kubectl_koord.engine.filters.numa_state import (
    Booked,
    Hint,
    Hints,
    ZoneAffinity,
    ZonesWith,
    booked_of,
    books,
    chosen,
    wants_of,
)
from kubectl_koord.engine.reasons import (
    BindPolicyConflict,
    FractionalBinding,
    FractionalCPUs,
    InsufficientAmplifiedCPU,
    InsufficientInZones,
    InvalidAmplification,
    NoCPUTopology,
    NotEnoughCPUs,
    NoZones,
    NUMAPolicyMismatch,
    PartialCores,
    PreFilterRefusal,
    Reason,
    TooManyPods,
    UnalignedZones,
    UnreadableAnnotation,
    UnsatisfiedZones,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import NodeSlots, offer_slots, slots_on
from kubectl_koord.engine.state import NodeState, View, of
from kubectl_koord.engine.table import NodeSet, StateSees
from kubectl_koord.model.hardware import (
    CPU,
    Allocations,
    CPUAllocation,
    CPUTopology,
    NodeNUMA,
    NUMAPolicy,
    NUMASettings,
    PodNUMA,
    Scoring,
    Zone,
    members,
    set_of,
)
from kubectl_koord.model.pods import PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.values import Identity, Resources
from tests.build import (
    SPINE,
    Drawing,
    attempt_of,
    cluster,
    failing_pod,
    pending,
    preempt_of,
    preemption_of,
    running,
    why_of,
)

GIB = 1 << 30


def topology(sockets: int = 2, cores: int = 4, threads: int = 2) -> CPUTopology:
    """Return sockets of one zone each; the CPUs of a core are neighbours."""
    every = range(sockets * cores)
    return CPUTopology(
        tuple(
            CPU(threads * core + thread, core, core // cores, core // cores)
            for core in every
            for thread in range(threads)
        )
    )


def zones(*cpus: int, memory: int = 8) -> tuple[Zone, ...]:
    return tuple(Zone(number, (("cpu", cpu * 1000), ("memory", memory * GIB))) for number, cpu in enumerate(cpus))


SIXTEEN = NodeNUMA(cpus=topology(), zones=zones(8, 8))
FULL = structs.replace(SIXTEEN, bind_policy="FullPCPUs")
SINGLE = structs.replace(SIXTEEN, policy="SingleNUMANode")
RESTRICTED = structs.replace(SIXTEEN, policy="Restricted")
BEST_EFFORT = structs.replace(SIXTEEN, policy="BestEffort")
TWICE = structs.replace(SIXTEEN, ratio=2.0, zone_ratio=2.0, zones=zones(16, 16))
BINDS = PodNUMA(binds=True)
BY_DEFAULT = NUMASettings()
WHOLE = PodNUMA(binds=True, required="FullPCPUs")
ODD = structs.replace(SIXTEEN, policy="Unknown", unknown_policy="single-numa-node")
APART = PodNUMA(binds=True, required="SpreadByPCPUs")
NOT_KNOWN = NodeNUMA(known=False)


def drawn(numa: NodeNUMA | None, cpu: float = 16) -> Drawing:
    allocatable: Resources = (("cpu", int(cpu * 1000)), ("memory", 64 * GIB), ("pods", 110))
    return cluster("s0: b0[n1]").change("n1", numa=numa, allocatable=allocatable)


def holding(name: str, *cpus: int, zone: int | None = None, cpu: float = 0, **fields: object) -> RunningPod:
    """Return a pod that holds CPUs, and of a zone as many."""
    amount = cpu or len(cpus)
    amounts = ((zone, (("cpu", int(amount * 1000)),)),) if zone is not None else ()
    booked = Allocations(cpus=CPUAllocation(cpus, amounts))
    return structs.replace(running(name, "n1", amount, **fields), allocations=booked)


def asks(cpu: float, numa: PodNUMA | None = None, name: str = "p", **fields: object) -> PendingPod:
    return pending(name, cpu, numa=numa or PodNUMA(), **fields)


def refused(
    pod: PendingPod, numa: NodeNUMA | None, *there: RunningPod, cpu: float = 40, version: str = "1.8"
) -> Reason | PreFilterRefusal | None:
    view = of(drawn(numa, cpu).but(running={"n1": there}))
    prepared = prepare(pod, view, rules(version))
    return prepared.refusal or rejection(pod, view.state("n1"), prepared)


def seated(
    pod: PendingPod, numa: NodeNUMA, *there: RunningPod, settings: NUMASettings = BY_DEFAULT
) -> CPUAllocation | Reason | PreFilterRefusal | None:
    """Return what a pod that is placed on the node gets there."""
    view = of(drawn(numa, 40).but(running={"n1": there}).configured(numa=settings))
    found = placed(pod, view.state("n1"), prepare(pod, view, rules("1.8")))
    if not isinstance(found, PendingPod):
        return found
    assert found.allocations is not None
    return found.allocations.cpus


MOST_TAKEN = holding("h", 0, 2, 4, 6, 8, 10)
"""One thread of six of the eight cores."""


@pytest.mark.parametrize(
    ("pod", "numa", "there", "reason"),
    [
        (asks(4), None, (), None),
        (asks(0), FULL, (), None),
        (asks(5), FULL, (), PartialCores(5, 2)),
        (asks(5.2), FULL, (), FractionalCPUs(5200)),
        (asks(4, BINDS), FULL, (), None),
        (asks(4), FULL, (MOST_TAKEN,), None),
        (asks(6), FULL, (MOST_TAKEN,), NotEnoughCPUs(6, 4, "FullPCPUs")),
        (
            asks(4, WHOLE),
            structs.replace(SIXTEEN, bind_policy="SpreadByPCPUs"),
            (),
            BindPolicyConflict("SpreadByPCPUs", "FullPCPUs"),
        ),
        (asks(4, APART), FULL, (), BindPolicyConflict("FullPCPUs", "SpreadByPCPUs")),
        (asks(8, APART), SIXTEEN, (), None),
        (asks(9, APART), SIXTEEN, (), NotEnoughCPUs(9, 8, "SpreadByPCPUs")),
        (asks(4, WHOLE), None, (), NoCPUTopology()),
        (asks(4, BINDS), structs.replace(SIXTEEN, cpus=None), (), NoCPUTopology()),
        (asks(15, BINDS), SIXTEEN, (MOST_TAKEN,), None),
        (asks(4, PodNUMA(policy="Restricted")), SINGLE, (), NUMAPolicyMismatch("SingleNUMANode", "Restricted")),
        (asks(4, PodNUMA(policy="Restricted")), RESTRICTED, (), None),
        (asks(4, PodNUMA(policy="None")), SIXTEEN, (), None),
        (asks(4), ODD, (), None),
        (asks(4), structs.replace(ODD, zones=()), (), NoZones()),
        (asks(4, PodNUMA(policy="Restricted")), ODD, (), NUMAPolicyMismatch("single-numa-node", "Restricted")),
        (asks(4, PodNUMA(policy="single-numa-node")), ODD, (), None),
        (asks(4, PodNUMA(policy="None")), NodeNUMA(), (), NoZones()),
        (asks(4), NodeNUMA(policy="SingleNUMANode"), (), NoZones()),
        (asks(4, PodNUMA(policy="SingleNUMANode")), None, (), NoZones()),
        (asks(8), SINGLE, (), None),
        (asks(10), SINGLE, (), UnalignedZones("SingleNUMANode", (("cpu", (3,), (3,)),))),
        (asks(10), RESTRICTED, (), None),
        (asks(15), RESTRICTED, (holding("h", zone=0, cpu=2),), UnsatisfiedZones(("cpu",))),
        (asks(1.5, BINDS), SIXTEEN, (), FractionalBinding(1500)),
        (asks(1, PodNUMA(unreadable="a")), SIXTEEN, (), UnreadableAnnotation("a")),
        (asks(4, PodNUMA(binds=True, required="ConstrainedBurst")), SIXTEEN, (), None),
        (asks(3, PodNUMA(binds=True, required="Default")), SIXTEEN, (), PartialCores(3, 2)),
    ],
)
def test_a_node_is_refused_for_its_cpus_and_zones(
    pod: PendingPod, numa: NodeNUMA | None, there: tuple[RunningPod, ...], reason: Reason | None
) -> None:
    assert refused(pod, numa, *there) == reason


@pytest.mark.parametrize(
    ("pod", "there", "reason"),
    [
        (asks(32), (running("h", "n1", 32),), None),
        (asks(1), (running("h", "n1", 64),), "plain"),
        (asks(1), (holding("h", *range(32)),), InsufficientAmplifiedCPU(1000, 0)),
        (asks(32, BINDS), (running("h", "n1", 32),), InsufficientAmplifiedCPU(64000, 32000)),
        (asks(30), (holding("h", *range(32), cpu=31),), None),
    ],
)
def test_bound_cpus_of_an_amplified_node_count_more_than_once(
    pod: PendingPod, there: tuple[RunningPod, ...], reason: Reason | str | None
) -> None:
    numa = NodeNUMA(cpus=topology(2, 8, 2), ratio=2.0, zone_ratio=2.0)
    found = refused(pod, numa, *there, cpu=64)
    assert found is not None if reason == "plain" else found == reason, found


def test_an_amplified_node_must_tell_its_ratio_and_its_cpus() -> None:
    assert refused(asks(1), NodeNUMA(bad_ratio=True)) == InvalidAmplification()
    assert refused(asks(1), NodeNUMA(ratio=2.0)) == NoCPUTopology()
    assert refused(asks(1), structs.replace(NOT_KNOWN, ratio=2.0)) is None
    mixed = of(cluster("s0: b0[n1:8 n2:8]").change("n1", numa=TWICE).change("n2", numa=SIXTEEN))
    assert set(
        offer_slots(mixed, mixed.names(), [asks(4)] * 3, prepare(asks(4), mixed, rules("1.8"))).counts.values()
    ) == {2}


def test_members_that_are_counted_on_an_amplified_node_take_their_plain_requests() -> None:
    numa = NodeNUMA(cpus=topology(2, 4, 2), ratio=1.5, zone_ratio=1.5)
    view = of(drawn(numa, 24).but(running={"n1": (holding("h", *range(8)),)}))
    pods = [asks(6, BINDS, name) for name in "abc"]
    prepared = prepare(pods[0], view, rules("1.8"))
    assert slots_on(view.state("n1"), [pods], prepared) == NodeSlots(1, InsufficientAmplifiedCPU(9000, 6000)).slots
    odd = view.state("n1").copy()
    assert (
        next(check for check in prepared.checks if type(check).__name__ == "AmplifiedCPUs").most(
            odd, prepared.trigger.requirements, (("memory", 1),)
        )
        is None
    )


@pytest.mark.parametrize(
    ("pod", "numa", "there", "cpus", "amounts"),
    [
        (asks(4, BINDS), SIXTEEN, (), (0, 1, 2, 3), ()),
        (asks(4, BINDS), SIXTEEN, (holding("h", 0),), (8, 9, 10, 11), ()),
        (asks(4, BINDS), structs.replace(SIXTEEN, most_allocated=True), (holding("h", 0),), (2, 3, 4, 5), ()),
        (asks(4, APART), SIXTEEN, (), (0, 2, 4, 6), ()),
        (asks(10, BINDS), SIXTEEN, (), tuple(range(10)), ()),
        (asks(3, BINDS), SIXTEEN, (MOST_TAKEN, holding("i", 12, 14)), (1, 3, 5), ()),
        (asks(4), RESTRICTED, (holding("h", zone=0, cpu=1),), (), ((1, (("cpu", 4000),)),)),
        (
            asks(10, BINDS),
            RESTRICTED,
            (),
            (0, 1, 2, 3, 4, 8, 9, 10, 11, 12),
            ((0, (("cpu", 5000),)), (1, (("cpu", 5000),))),
        ),
        (
            asks(10, WHOLE),
            RESTRICTED,
            (),
            (0, 1, 2, 3, 8, 9, 10, 11, 12, 13),
            ((0, (("cpu", 4000),)), (1, (("cpu", 6000),))),
        ),
        (asks(4, BINDS), structs.replace(SINGLE, zones=zones(16), cpus=topology(1, 8)), (), (0, 1, 2, 3), ()),
        (asks(4), SIXTEEN, (), None, None),
        (asks(20), structs.replace(BEST_EFFORT, zones=(Zone(0, (("memory", 8),)),)), (), (), ()),
    ],
)
def test_a_pod_that_is_placed_gets_cpus_and_amounts_of_zones(
    pod: PendingPod, numa: NodeNUMA, there: tuple[RunningPod, ...], cpus: tuple[int, ...] | None, amounts: object
) -> None:
    view = of(drawn(numa, 32).but(running={"n1": there}))
    found = placed(pod, view.state("n1"), prepare(pod, view, rules("1.8")))
    assert isinstance(found, PendingPod), found
    got = found.allocations.cpus if found.allocations is not None else None
    assert (got and got.cpus, got and got.zones) == (cpus, amounts)


@pytest.mark.parametrize(
    ("wish", "policy", "taken"),
    [
        ("PCPULevel", "SpreadByPCPUs", (2, 4)),
        ("NUMANodeLevel", "SpreadByPCPUs", (8, 10)),
        ("NUMANodeLevel", "FullPCPUs", (8, 9)),
        ("", "SpreadByPCPUs", (8, 10)),
    ],
)
def test_pods_that_want_cores_or_zones_for_themselves_keep_away_from_each_other(
    wish: str, policy: str, taken: tuple[int, ...]
) -> None:
    asked = PodNUMA(binds=True, preferred=policy, exclusive=wish)
    there = holding("h", 0, numa=asked)
    numa = structs.replace(SIXTEEN, most_allocated=wish == "PCPULevel")
    found = seated(asks(2, asked), numa, there)
    assert isinstance(found, CPUAllocation)
    assert found.cpus == taken
    alone = seated(
        asks(1, asked), structs.replace(SIXTEEN, cpus=topology(1, 1, 2), zones=()), holding("h", 0, numa=asked)
    )
    assert isinstance(alone, CPUAllocation)
    assert alone.cpus == (1,)


def test_a_pod_that_binds_cpus_for_the_nodes_sake_keeps_away_from_nobody() -> None:
    alone = PodNUMA(binds=True, exclusive="NUMANodeLevel")
    there = holding("h", 0, numa=alone)
    assert seated(asks(6, alone), SIXTEEN, there) == CPUAllocation((8, 9, 10, 11, 12, 13))
    mine = seated(asks(6, structs.replace(alone, binds=False)), FULL, holding("h", 8, numa=alone), holding("i", 0, 1))
    assert mine == CPUAllocation((2, 3, 4, 5, 6, 7))
    apart = seated(asks(6, structs.replace(alone, binds=False)), FULL, holding("h", 0, numa=alone), holding("i", 8, 9))
    assert apart == CPUAllocation((2, 3, 4, 5, 6, 7))


def test_wide_pods_take_sockets_as_a_whole_before_parts_of_them() -> None:
    four = NodeNUMA(cpus=topology(4, 2, 2))
    wide = seated(asks(10, BINDS), four)
    assert isinstance(wide, CPUAllocation)
    assert wide.cpus == (*range(8), 8, 9)
    spread = seated(asks(5, PodNUMA(binds=True, preferred="SpreadByPCPUs")), four)
    assert isinstance(spread, CPUAllocation)
    assert len(spread.cpus) == 5
    two_zones = CPUTopology(tuple(CPU(n, n // 2, n // 4, 0) for n in range(8)))
    within = [
        seated(asks(5, PodNUMA(binds=True, preferred=how)), NodeNUMA(cpus=two_zones))
        for how in ("FullPCPUs", "SpreadByPCPUs")
    ]
    assert [isinstance(one, CPUAllocation) and one.cpus for one in within] == [(0, 1, 2, 3, 4), (0, 1, 2, 4, 6)]
    partly = seated(asks(7, BINDS), NodeNUMA(cpus=topology(2, 2, 2)), holding("h", 0))
    assert isinstance(partly, CPUAllocation)
    assert partly.cpus == (1, 2, 3, 4, 5, 6, 7)


SPREADS, WISHES_NOTHING = NUMASettings("SpreadByPCPUs"), NUMASettings("")
DEFAULT = PodNUMA(binds=True, preferred="Default", required="Default")


@pytest.mark.parametrize(
    ("pod", "settings", "found"),
    [
        (asks(3, DEFAULT), BY_DEFAULT, PartialCores(3, 2)),
        (asks(3, DEFAULT), SPREADS, CPUAllocation((0, 2, 4))),
        (asks(3, BINDS), BY_DEFAULT, CPUAllocation((0, 1, 2))),
        (asks(3, BINDS), SPREADS, CPUAllocation((0, 2, 4))),
        (asks(3, WHOLE), SPREADS, PartialCores(3, 2)),
        (asks(2, PodNUMA(binds=True, preferred="FullPCPUs")), SPREADS, CPUAllocation((0, 1))),
        (asks(3, BINDS), WISHES_NOTHING, None),
        (asks(1.5, DEFAULT), WISHES_NOTHING, None),
        (asks(2, WHOLE), WISHES_NOTHING, CPUAllocation((0, 1))),
    ],
)
def test_pods_that_do_not_say_how_they_bind_cpus_do_it_as_the_scheduler_is_configured(
    pod: PendingPod, settings: NUMASettings, found: object
) -> None:
    assert seated(pod, SIXTEEN, settings=settings) == found


def scoring(*weights: tuple[str, int], most_allocated: bool = False) -> NUMASettings:
    return NUMASettings(scoring=Scoring(weights, most_allocated))


@pytest.mark.parametrize(
    ("settings", "zone"),
    [
        (BY_DEFAULT, 1),
        (scoring(("cpu", 1), ("memory", 1), most_allocated=True), 0),
        (scoring(("memory", 1)), 0),
        (scoring(("cpu", 1), ("memory", 3)), 0),
        (scoring(("cpu", 3), ("memory", 1)), 1),
        (scoring(("example.com/other", 1)), 0),
        (scoring(), 0),
    ],
)
def test_the_configuration_tells_which_of_two_zones_is_taken(settings: NUMASettings, zone: int) -> None:
    there = structs.replace(
        running("h", "n1"),
        allocations=Allocations(cpus=CPUAllocation((), ((0, (("cpu", 4000),)), (1, (("memory", 2 * GIB),))))),
    )
    found = seated(asks(2), RESTRICTED, there, settings=settings)
    assert isinstance(found, CPUAllocation)
    assert [number for number, _ in found.zones] == [zone]


def test_the_configuration_tells_which_zones_are_filled_first_where_a_node_does_not() -> None:
    fills = scoring(("cpu", 1), most_allocated=True)
    spares = structs.replace(SIXTEEN, most_allocated=False)
    assert seated(asks(4, BINDS), SIXTEEN, holding("h", 0), settings=fills) == CPUAllocation((2, 3, 4, 5))
    assert seated(asks(4, BINDS), spares, holding("h", 0), settings=fills) == CPUAllocation((8, 9, 10, 11))


@pytest.mark.parametrize("policy", ["Restricted", "SingleNUMANode"])
def test_a_pod_without_cpus_is_refused_where_those_that_are_to_be_bound_are_not_told(policy: NUMAPolicy) -> None:
    untold = structs.replace(FULL, cpus=None, policy=policy)
    asked = PodRequirements((("memory", GIB),))
    pod = structs.replace(asks(0), requirements=asked)
    assert refused(pod, untold) == NoCPUTopology(unresolvable=False)
    assert refused(pod, structs.replace(untold, bind_policy="")) is None
    view = of(drawn(untold, 40))
    check = Placing(wants_of(asked, BY_DEFAULT), filters_best_effort=False)
    assert check.refused(view, pod, 1) == 1


def test_a_pod_without_cpus_goes_where_the_node_could_bind_most() -> None:
    node = structs.replace(SINGLE, bind_policy="FullPCPUs")
    found = seated(asks(0, requests=(("memory", GIB),)), node, holding("h", 0, 2, 4, 6))
    assert found == CPUAllocation((), ((1, (("memory", GIB),)),))


def test_an_odd_number_of_cpus_of_several_sockets_takes_one_more() -> None:
    # The second socket gives a core, and so does the third, though one CPU is left to take.
    wide = NodeNUMA(cpus=topology(sockets=3, cores=2))
    assert seated(asks(7, BINDS), wide) == CPUAllocation((0, 1, 2, 3, 4, 5, 8, 9))
    assert seated(asks(8, BINDS), wide) == CPUAllocation((0, 1, 2, 3, 4, 5, 6, 7))
    assert seated(asks(6, BINDS), wide) == CPUAllocation((0, 1, 2, 3, 4, 5))


def test_best_effort_is_looked_at_before_a_node_is_chosen_only_in_17() -> None:
    short = (holding("h", zone=0, cpu=7), holding("i", zone=1, cpu=7))
    reason = InsufficientInZones((("cpu", 4000, 2000),))
    assert [refused(asks(4), BEST_EFFORT, *short, version=one) for one in ("1.7", "1.8", "main")] == [
        reason,
        None,
        None,
    ]
    assert seated(asks(4), BEST_EFFORT, *short) == reason
    assert seated(asks(4), structs.replace(BEST_EFFORT, zones=())) == NoZones()
    assert refused(asks(4), structs.replace(BEST_EFFORT, zones=()), version="1.7") == NoZones()


def beside(*others: str, asked: PodNUMA = BINDS) -> Drawing:
    """Return a cluster with n1, on which 2 of 16 CPUs are left to bind, and nodes like it on which all are."""
    nodes = ("n1", *others)
    allocatable: Resources = (("cpu", 40000), ("memory", 64 * GIB), ("pods", 110))
    drawing = cluster(f"s0: b0[{' '.join(nodes)}]").but(running={"n1": (holding("h", *range(14)),)})
    for name in nodes:
        drawing = drawing.change(name, numa=BEST_EFFORT, allocatable=allocatable)
    return drawing.with_gang("job", 1, 4, numa=asked)


NO_NODE = "default/job-0 passes all filters on n1, and cannot be bound there: 2 of 4 CPUs free to bind; no other node"


def test_a_node_with_too_few_cpus_that_is_ranked_ends_the_attempt_in_18() -> None:
    told = {one: why_of(beside("n2").version(one)) for one in ("1.7", "1.8", "main")}
    assert {one: report.verdict for one, report in told.items()} == {"1.7": "yes", "1.8": "no", "main": "unknown"}
    cause = told["1.8"].cause
    assert cause is not None
    assert cause.message.startswith(NO_NODE)


@pytest.mark.parametrize(
    ("drawing", "verdict"),
    [
        pytest.param(beside("n2", asked=PodNUMA()), "yes", id="one that asks for no CPUs of its own"),
        pytest.param(beside(), "no", id="the only node that takes it"),
        pytest.param(beside("n2").cordon("n1"), "yes", id="a node that does not take it"),
        pytest.param(beside(*(f"m{number}" for number in range(100))), "unknown", id="maybe not looked at"),
    ],
)
def test_only_nodes_that_are_ranked_can_end_an_attempt(drawing: Drawing, verdict: str) -> None:
    assert why_of(drawing).verdict == verdict


@pytest.mark.parametrize("numa", [SIXTEEN, structs.replace(BEST_EFFORT, cpus=None)])
def test_nodes_whose_cpus_are_not_looked_at_are_ranked(numa: NodeNUMA) -> None:
    drawing = beside("n2").change("n1", numa=numa)
    (pod,) = drawing.pending
    view = of(drawing)
    assert unscored(pod, view.state("n1"), prepare(pod, view, rules("1.8"))) is None


def test_amounts_that_leave_half_cores_cannot_be_bound_as_whole_ones() -> None:
    half = (holding("h", zone=0, cpu=5), holding("i", zone=1, cpu=5))
    found = refused(asks(6, WHOLE), RESTRICTED, *half)
    assert isinstance(found, UnsatisfiedZones)
    assert refused(
        asks(4, PodNUMA(binds=True, policy="BestEffort")), SIXTEEN, *(holding("x", *range(14)),), version="1.7"
    ) == (NotEnoughCPUs(4, 2))
    without_cpu = structs.replace(RESTRICTED, zones=(Zone(0, (("memory", 8),)), Zone(1, (("memory", 8),))))
    asked = structs.replace(asks(4, BINDS).requirements, requests=(("cpu", 4000), ("memory", 4)))
    assert isinstance(refused(structs.replace(asks(4), requirements=asked), without_cpu), UnsatisfiedZones)


SPANS = holding("s", 7, 8)
ALONE = holding("a", 0)


FOUR = NodeNUMA(cpus=topology(sockets=4), zones=zones(8, 8, 8, 8), policy="Restricted")


@pytest.mark.parametrize(
    ("free", "taken"),
    [
        ((1, 2, 4, 8), {2: 4000, 3: 6000}),
        ((2, 1, 4, 8), {0: 2000, 2: 3333, 3: 4667}),
        ((2, 1, 8, 4), {2: 6000, 3: 4000}),
    ],
)
def test_zones_give_in_the_order_of_the_zones_whose_numbers_are_their_places(
    free: tuple[int, ...], taken: Mapping[int, int]
) -> None:
    # Whether zone 3 gives before zone 2 depends on what is left of zones 0 and 1.
    there = [holding(f"h{zone}", zone=zone, cpu=8 - left) for zone, left in enumerate(free)]
    found = seated(asks(10), FOUR, *there)
    zones_of = found.zones if isinstance(found, CPUAllocation) else ()
    assert {zone: dict(amounts)["cpu"] for zone, amounts in zones_of} == taken


def test_cores_of_different_zones_may_have_the_same_number() -> None:
    cpus = tuple(CPU(number, number % 4 // 2, number // 4, 0) for number in range(8))
    assert CPUTopology(cpus).per_core == 2
    assert refused(asks(2, WHOLE), NodeNUMA(cpus=CPUTopology(cpus))) == NotEnoughCPUs(2, 0, "FullPCPUs")


@pytest.mark.parametrize(
    ("numa", "asked", "there", "fits"),
    [
        (SIXTEEN, PodNUMA(policy="SingleNUMANode"), (SPANS,), False),
        (SIXTEEN, PodNUMA(policy="SingleNUMANode", zone_exclusive="Preferred"), (SPANS,), True),
        (SINGLE, PodNUMA(), (SPANS,), True),
        (SINGLE, PodNUMA(zone_exclusive="Required"), (SPANS,), False),
        (SIXTEEN, PodNUMA(policy="SingleNUMANode"), (ALONE,), True),
    ],
)
def test_pods_in_one_zone_keep_away_from_those_that_span_several(
    *, numa: NodeNUMA, asked: PodNUMA, there: tuple[RunningPod, ...], fits: bool
) -> None:
    assert (refused(asks(2, asked), numa, *there) is None) == fits


def test_wide_pods_keep_away_from_those_in_one_zone() -> None:
    wide = asks(12, PodNUMA(policy="Restricted"))
    assert isinstance(refused(wide, SIXTEEN, ALONE), UnalignedZones)
    assert refused(wide, SIXTEEN, ALONE, holding("b", 7, 8)) is None


def test_amplified_zones_count_cpus_that_are_held_more_than_once() -> None:
    single = structs.replace(TWICE, policy="SingleNUMANode")
    there = (holding("h", 0, 1, 2, 3, zone=0), holding("i", 8, 9, 10, 11, zone=1))
    assert refused(asks(9), single, *there, cpu=32) == UnalignedZones("SingleNUMANode", (("cpu", (3,), (3,)),))
    assert refused(asks(8), single, *there, cpu=32) is None
    assert isinstance(seated(asks(4, BINDS), single), CPUAllocation)


def test_what_is_booked_of_a_zone_that_does_not_tell_of_it_is_lacking() -> None:
    there = structs.replace(
        holding("h"), allocations=Allocations(cpus=CPUAllocation((), ((0, (("gpu", 1),)), (-1, ()))))
    )
    asked = structs.replace(asks(1).requirements, requests=(("cpu", 1000), ("gpu", 1)))
    numa = structs.replace(BEST_EFFORT, zones=zones(8, 8))
    view = of(drawn(numa).but(running={"n1": (there,)}))
    pod = structs.replace(asks(1), requirements=asked)
    check = Placing(wants_of(asked, BY_DEFAULT), filters_best_effort=True)
    assert check.reject(pod, view.state("n1"), asked) == InsufficientInZones((("gpu", 1, 0),))


def test_members_are_counted_against_the_same_cpus_and_then_one_does_not_fit() -> None:
    there = holding("h", 0, 2, 4, 6, 8, 10)
    drawing = drawn(SIXTEEN).but(running={"n1": (there,)})
    gang = drawing.with_gang("job", 2, 4, must_gather=SPINE, numa=WHOLE)
    found = attempt_of(gang)
    assert (found.placement, failing_pod(found)) == (None, "default/job-1")
    assert found.failed_seat is not None
    assert found.failed_seat.reason == NotEnoughCPUs(4, 0, "FullPCPUs")


def test_victims_give_back_their_cpus_and_what_waits_holds_its_own() -> None:
    there = [structs.replace(holding(f"h{n}", 4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3), priority=-5) for n in range(4)]
    drawing = drawn(SIXTEEN).but(running={"n1": tuple(there)})
    assert len(preemption_of(drawing.with_pod("solo", cpu=4, numa=WHOLE), "pod/solo").victims) == 1
    plain = drawn(SIXTEEN, 40).but(running={"n1": tuple(there[1:])})
    failed = attempt_of(plain.with_gang("job", 2, 4, numa=WHOLE))
    ((waiting,),) = failed.waiting.values()
    assert waiting.allocations == Allocations(cpus=CPUAllocation((0, 1, 2, 3)))


@pytest.mark.parametrize(("asked", "slots"), [(12, 1), (8, 2), (4, 5), (3, 6), (25, 0)])
def test_cpus_of_a_victim_count_as_amplified_once_members_take_up_as_many(asked: int, slots: int) -> None:
    numa = NodeNUMA(cpus=topology(2, 4, 2), ratio=1.5, zone_ratio=1.5)
    victim = holding("h", *range(8))
    view = of(drawn(numa, 24).but(running={"n1": (victim,)})).without_any(lambda _view: {"n1": (victim,)})
    pods = [asks(asked, name=name) for name in "abcdefgh"]
    prepared = prepare(pods[0], view, rules("main"))
    one_by_one = view.state("n1").copy()
    taken = 0
    while rejection(pods[0], one_by_one, prepared) is None:
        one_by_one.add(pods[taken])
        taken += 1
    assert (slots_on(view.state("n1"), [pods], prepared), taken) == (slots, slots)


def test_cpus_of_victims_that_are_only_thought_away_still_count_on_an_amplified_node() -> None:
    numa = NodeNUMA(cpus=topology(), ratio=1.5, zone_ratio=1.5)
    there = structs.replace(holding("h", *range(8)), priority=-5)
    view = of(drawn(numa, 24).but(running={"n1": (there,)}))
    gone = view.without_any(lambda _view: {"n1": (there,)})
    pod = asks(21)
    prepared = prepare(pod, view, rules("1.8"))
    assert rejection(pod, gone.state("n1"), prepared) is None  # fewer are requested than are held
    filled = gone.with_pods({"n1": (running("x", "n1", 8),)}).state("n1").copy()
    filled.before = view.held("n1")
    assert rejection(asks(13), filled, prepare(asks(13), view, rules("1.8"))) == InsufficientAmplifiedCPU(13000, 12000)
    assert rejection(pod, view.without([there]).state("n1"), prepared) is None


def _preferring(*, other: bool) -> Drawing:
    drawing = cluster("s0: b0[n1:16 n2:15]")
    drawing = drawing.change("n1", numa=structs.replace(SIXTEEN, reserved=set_of(range(14))))
    drawing = drawing.change("n2", numa=SIXTEEN if other else structs.replace(SIXTEEN, reserved=set_of(range(14))))
    return drawing.with_pod("solo", cpu=4, numa=BINDS)


def test_where_only_some_nodes_can_be_booked_it_depends_on_the_score() -> None:
    report = why_of(_preferring(other=True), "pod/solo")
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "several-outcomes")
    assert report.cause is not None
    assert report.cause.message == (
        "it depends on which node scores best: n1 passes all filters, and it cannot be bound there (2 of 4 CPUs free to"
        " bind); no other node is tried, and no pod is preempted."
    )
    assert [(one.when, one.verdict) for one in report.alternatives] == [
        ("n1 scores best for default/solo", "no"),
        ("another node than n1 scores best", "yes"),
    ]


def test_what_preemption_comes_to_depends_on_the_score_too() -> None:
    report = preempt_of(_preferring(other=True), "pod/solo")
    assert (report.verdict, report.message) == ("unknown", "pod default/solo: cannot tell whether preemption helps.")
    assert [(one.when, one.reason) for one in report.alternatives] == [
        ("n1 scores best for default/solo", "not-helpful"),
        ("another node than n1 scores best", "not-needed"),
    ]


def test_where_no_node_can_be_booked_nobody_is_preempted() -> None:
    drawing = _preferring(other=False).with_running("low", on="n1", priority=-5)
    report = why_of(drawing, "pod/solo")
    assert report.verdict == "no"
    assert report.cause is not None
    assert report.cause.code == "no-feasible-node"
    assert report.cause.message.startswith("default/solo passes all filters on n")
    assert preemption_of(drawing, "pod/solo").victims == ()


class Cards:
    """A plugin that has cards in some zones."""

    def __init__(self, hints: Hints | Reason, refusal: Reason | None = None) -> None:
        self._hints, self._refusal = hints, refusal

    def hints(self, _pod: PendingPod, _state: NodeState) -> Hints | Reason:
        return self._hints

    def refusal(self, _pod: PendingPod, _state: NodeState, _zones: int | None) -> Reason | None:
        return self._refusal

    @property
    def sees(self) -> StateSees:
        raise NotImplementedError

    def zones(self, _view: View, among: NodeSet) -> ZonesWith:
        return ZonesWith({}, among)


SECOND: Mapping[str, tuple[Hint, ...]] = {"gpu": (Hint(2, preferred=True, score=5),)}


@pytest.mark.parametrize(
    ("cards", "cpu", "found"),
    [
        (Cards(SECOND), 4, ((1, (("cpu", 4000),)),)),
        (Cards({}), 4, ((0, (("cpu", 4000),)),)),
        (Cards(TooManyPods(1)), 4, TooManyPods(1)),
        (Cards(SECOND, TooManyPods(2)), 4, TooManyPods(2)),
        (Cards({"gpu": ()}), 4, UnsatisfiedZones(("gpu",))),
        (Cards(SECOND), 10, UnalignedZones("Restricted", (("cpu", (3,), (3,)), ("gpu", (2,), (2,))))),
    ],
)
def test_other_plugins_have_a_say_in_zones(cards: Cards, cpu: float, found: object) -> None:
    pod = asks(cpu)
    state = of(drawn(RESTRICTED)).state("n1")
    check = Placing(wants_of(pod.requirements, BY_DEFAULT), filters_best_effort=False, providers=(cards,))
    got = check.reserve(pod, state, Allocations())
    assert (got.cpus.zones if isinstance(got, Allocations) and got.cpus else got) == found
    assert (check.reject(pod, state, pod.requirements) is None) == isinstance(got, Allocations)


def test_zones_without_amounts_may_lack_when_they_are_taken() -> None:
    numa = structs.replace(RESTRICTED, zones=zones(8, 8))
    pod = asks(10)
    check = Placing(
        wants_of(pod.requirements, BY_DEFAULT),
        filters_best_effort=True,
        providers=(Cards({"gpu": (Hint(1, preferred=True),)}),),
    )
    best = structs.replace(numa, policy="BestEffort")
    assert check.reject(pod, of(drawn(best)).state("n1"), pod.requirements) is None
    lone = Placing(wants_of(asks(20).requirements, BY_DEFAULT), filters_best_effort=True, providers=(Cards({}),))
    assert lone.reject(asks(20), of(drawn(best)).state("n1"), pod.requirements) == InsufficientInZones(
        (("cpu", 20000, 16000),)
    )


def test_what_the_settings_refuse_is_refused_wherever_it_is_asked() -> None:
    pod = asks(1.5)
    state = of(drawn(FULL)).state("n1")
    check = Placing(wants_of(pod.requirements, BY_DEFAULT), filters_best_effort=False)
    assert (
        check.reject(pod, state, pod.requirements) == check.reserve(pod, state, Allocations()) == FractionalCPUs(1500)
    )
    assert rejection(pod, state, prepare(pod, of(drawn(FULL)), rules("1.8"))) == FractionalCPUs(1500)
    nothing = Placing(wants_of(asks(4).requirements, BY_DEFAULT), filters_best_effort=False)
    assert nothing.reserve(asks(4), of(drawn(SIXTEEN)).state("n1"), Allocations()) == Allocations()
    twice = of(drawn(structs.replace(FULL, ratio=2.0)))
    assert refused(asks(1.5), structs.replace(FULL, ratio=2.0)) == FractionalCPUs(1500)
    assert twice.node("n1").numa is not None


def _hint(zones: int | None, *, preferred: bool = True, score: int = 0) -> Hint:
    return Hint(zones, preferred=preferred, score=score)


@pytest.mark.parametrize(
    ("policy", "hints", "zone"),
    [
        ("Restricted", {}, 3),
        ("SingleNUMANode", {}, None),
        ("BestEffort", {}, 3),
        ("Restricted", {"cpu": (_hint(1, score=1), _hint(2, score=2))}, 2),
        ("Restricted", {"cpu": (_hint(2, score=1), _hint(1, score=1))}, 1),
        ("Restricted", {"cpu": (_hint(None), _hint(3))}, 3),
        ("BestEffort", {"cpu": (_hint(1), _hint(3, preferred=False)), "memory": (_hint(3),)}, 3),
        ("BestEffort", {"cpu": (_hint(1), _hint(2)), "memory": (_hint(2), _hint(1))}, 1),
        ("BestEffort", {"cpu": (_hint(2, preferred=False),)}, 2),
        ("BestEffort", {"cpu": (_hint(1),), "memory": (_hint(2),)}, 3),
        ("BestEffort", {"cpu": ()}, 3),
    ],
)
def test_the_policy_chooses_zones(policy: str, hints: Hints, zone: int | None) -> None:
    found = chosen(policy, (0, 1), (hints,), Booked(), exclusive=True)  # type: ignore[arg-type]
    assert found == ZoneAffinity(zone)


def test_zones_of_others_are_not_preferred_by_those_who_keep_apart() -> None:
    booked = Booked(spanning=1)
    assert chosen("Restricted", (0,), ({},), booked, exclusive=True) == UnalignedZones("Restricted", ())
    assert Identity(booked) != Identity(Booked(spanning=1))
    assert members(5) == (0, 2)


def test_a_zone_without_free_amounts_is_no_hint_and_gives_nothing() -> None:
    full = holding("h", zone=0, cpu=8)
    found = seated(asks(4, WHOLE), RESTRICTED, full)
    assert found == CPUAllocation((8, 9, 10, 11), ((1, (("cpu", 4000),)),))
    uneven = structs.replace(RESTRICTED, zones=(*zones(8), Zone(1, (("cpu", 0), ("memory", 8 * GIB)))))
    asked = structs.replace(asks(4, BINDS).requirements, requests=(("cpu", 4000), ("memory", 10 * GIB)))
    best = structs.replace(asks(4), requirements=asked)
    assert isinstance(refused(best, uneven), UnsatisfiedZones)
    wide = seated(best, structs.replace(uneven, policy="BestEffort"))
    assert isinstance(wide, CPUAllocation)
    assert wide.cpus == (0, 1, 2, 3)


def test_threads_are_taken_across_sockets_where_none_has_enough() -> None:
    spread = PodNUMA(binds=True, preferred="SpreadByPCPUs")
    held = (holding("h", 0, 1, 2), holding("i", 8, 9, 10))
    found = seated(asks(8, spread), SIXTEEN, *held)
    assert isinstance(found, CPUAllocation)
    assert len(found.cpus) == 8
    assert len({*found.cpus} & {0, 1, 2, 8, 9, 10}) == 0
    assert isinstance(seated(asks(16, spread), SIXTEEN), CPUAllocation)
    split = CPUTopology(tuple(CPU(n, n // 2, n // 4, 0) for n in range(8)))
    assert isinstance(seated(asks(4, BINDS), NodeNUMA(cpus=split), holding("h", 0), holding("i", 4)), CPUAllocation)
    assert isinstance(
        seated(asks(3, spread), NodeNUMA(cpus=split), holding("h", 0, 1), holding("i", 4, 5)), CPUAllocation
    )
    assert isinstance(
        seated(asks(8, BINDS), NodeNUMA(cpus=topology(3, 2, 2)), holding("h", 0), holding("i", 5)), CPUAllocation
    )


def test_nodes_that_tell_nothing_are_let_pass_beside_amplified_ones() -> None:
    view = of(cluster("s0: b0[n1:8 n2:8]").change("n1", numa=TWICE))
    assert rejection(asks(1), view.state("n2"), prepare(asks(1), view, rules("1.8"))) is None


def test_what_a_pod_asks_of_cpus_may_be_invalid() -> None:
    report = why_of(cluster("s0: b0[n1]").with_pod("solo", cpu=1.5, numa=BINDS), "pod/solo")
    assert report.cause is not None
    assert (report.cause.code, report.cause.pods) == ("invalid-request", ("default/solo",))
    assert report.cause.message == (
        "no node is looked at for default/solo: it asks to bind its CPUs, which must be whole ones, and requests 1500m."
    )
    odd = why_of(cluster("s0: b0[n1]").with_pod("solo", cpu=1, numa=PodNUMA(unreadable="a/b")), "pod/solo")
    assert odd.cause is not None
    assert odd.cause.message == "no node is looked at for default/solo: its annotation a/b cannot be read."


def test_of_all_permutations_of_hints_the_best_is_found_in_their_order_however_many_there_are() -> None:
    rng = Random(1)  # noqa: S311
    for _ in range(60):
        hints = [_some_hints(rng) for _ in range(3)]
        given = [{str(at): found} for at, found in enumerate(hints)]
        expected = _best_of_all(0b111, hints)
        assert chosen("BestEffort", (0, 1, 2), given, Booked(), exclusive=False) == ZoneAffinity(expected)
    best_last = [Hint(zones, preferred=False) for zones in (*range(2, 1 << 8, 2), 1)]
    many = [{"cpu": best_last}, {"memory": best_last}, {"gpu": best_last}]
    assert chosen("BestEffort", range(8), many, Booked(), exclusive=False) == ZoneAffinity(1)


def _some_hints(rng: Random) -> list[Hint]:
    """Return hints for three zones, as few as none, of which some are preferred."""
    named = rng.sample(range(1, 8), rng.randint(0, 7))
    found = [Hint(zones, preferred=rng.random() < 0.4, score=rng.choice((0, 1, 50))) for zones in named]
    return found or [Hint(None, preferred=True)] * rng.randint(0, 1)


def _best_of_all(everywhere: int, hints: list[list[Hint]]) -> int:
    """Return what the scheduler chooses, permutation after permutation (`mergeFilteredHints`)."""
    best = (False, everywhere, 0, False)
    for together in product(*(found or [Hint(None, preferred=False, unsatisfied=True)] for found in hints)):
        named = [hint.zones for hint in together if hint.zones is not None]
        zones = reduce(and_, named, everywhere)
        preferred = all(hint.preferred for hint in together) and len({*named}) <= 1
        widest = max((one.bit_count() for one in named), default=zones.bit_count())
        lacks = widest != zones.bit_count() or any(hint.unsatisfied for hint in together)
        found = (preferred, zones, sum(hint.score for hint in together if hint.zones == zones), lacks)
        if not zones or best[0] > preferred:
            continue
        size, before = zones.bit_count(), best[1].bit_count()
        is_narrower = (size, zones) < (before, best[1])
        if preferred > best[0] or is_narrower or (size == before and found[2] > best[2]):
            best = found
    return everywhere if best[3] else best[1]


def test_best_effort_keeps_a_preferred_zone_over_one_that_pods_spanning_zones_are_in() -> None:
    hints = {"cpu": (Hint(0b01, preferred=True), Hint(0b10, preferred=True, score=5))}
    assert chosen("BestEffort", (0, 1), (hints,), Booked(spanning=0b10), exclusive=True) == ZoneAffinity(0b01)
    assert chosen("BestEffort", (0, 1), (hints,), Booked(spanning=0b01), exclusive=True) == ZoneAffinity(0b10)


def test_books_that_are_added_up_as_members_come_are_those_of_all_of_them() -> None:
    state = of(drawn(SIXTEEN)).state("n1").copy()
    for number, (wish, cpus, zone) in enumerate(
        (("", (0, 1), 0), ("PCPULevel", (8, 9), 1), ("NUMANodeLevel", (2,), 1))
    ):
        booked = Allocations(cpus=CPUAllocation(cpus, ((zone, (("cpu", 1000),)),)))
        state.add(structs.replace(asks(1, PodNUMA(exclusive=wish), str(number)), allocations=booked))
        assert books(state) == booked_of(SIXTEEN, state.occupants, state.occupants)
