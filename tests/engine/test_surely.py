"""Jobs that are surely placed."""

import pytest

from kubectl_koord.engine.state import of
from kubectl_koord.engine.trying import attempt, surely_placed, surely_placed_beside_all
from kubectl_koord.model.pods import PodTerm
from kubectl_koord.model.reservations import ReservationAffinity, ReservationUse
from tests.build import BLOCK, SPINE, Drawing, card, cluster, cpus, devices, having, jobs_of, rules

TWO_NODES = cluster("s0: b0[n1:4 n2:4]")
MIXED = TWO_NODES.with_gang("job", 2, 2).with_pod("job-2", gang="job", cpu=1)


def with_cards(drawing: Drawing, **healthy: int) -> Drawing:
    """Return the cluster in which nodes have two cards each, of which so many are healthy."""
    for name, number in healthy.items():
        cards = devices(card(0, healthy=number > 0), card(1, healthy=number > 1))
        drawing = drawing.change(name, allocatable=cpus(8, nvidia_gpu=2, pods=110), devices=cards)
    return drawing.with_gang("job", 2, requests=cpus(1, nvidia_gpu=1), must_gather=SPINE)


@pytest.mark.parametrize(
    ("drawing", "placed"),
    [
        (TWO_NODES.with_gang("job", 4, 2), True),
        (TWO_NODES.with_gang("job", 5, 2), False),
        (TWO_NODES.with_gang("job", 4, 2, minimum=5), False),
        (MIXED, False),
        (cluster("s0: b0[n1:4]").with_gang("job", 1, sidecars=True).version("1.7"), False),
        (cluster("s0: b0[n1:4]").with_gang("job", 1, pod_anti_affinity=(PodTerm("zone", having()),)), False),
        (cluster("s0: b0[n1:4]").with_gang("job", 1, reservation=ReservationUse(ReservationAffinity("gone"))), False),
        (TWO_NODES.with_gang("job", 4, 2, must_gather=SPINE), True),
        (TWO_NODES.with_gang("job", 5, 2, must_gather=SPINE), False),
        (TWO_NODES.with_gang("job", 4, 2, topology=rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")), False),
        (TWO_NODES.but(topologies={}).with_gang("job", 4, 2, must_gather=SPINE), False),
        (cluster("s0: b0[n1:4]; s1: b1[n2:4]").with_gang("job", 3, 2, must_gather=SPINE), False),
        (cluster("s0: b0[n1:4]; s1: b1[n2:4 n3:2]").with_gang("job", 3, 2, must_gather=SPINE), True),
        (with_cards(cluster("s0: b0[n1]"), n1=2), True),
    ],
)
def test_members_that_are_alike_are_surely_placed_where_all_find_room(drawing: Drawing, *, placed: bool) -> None:
    job = jobs_of(drawing)[0]
    assert surely_placed(job, of(drawing)) is placed
    assert not placed or attempt(job, of(drawing), job.triggers[0]).placement is not None


def test_of_a_domain_nodes_count_on_which_all_who_are_counted_find_their_places() -> None:
    """A plan may fail on the others, and is made anew without them."""
    ill = with_cards(cluster("s0: b0[n1 n2]"), n1=1, n2=1)
    assert not surely_placed(jobs_of(ill)[0], of(ill))
    one_ill = with_cards(cluster("s0: b0[n1 n2]"), n1=1, n2=2)
    assert surely_placed(jobs_of(one_ill)[0], of(one_ill))


TEAM = (("quota.scheduling.koordinator.sh/name", "team"),)


@pytest.mark.parametrize(
    ("drawing", "names", "placed"),
    [
        (TWO_NODES.with_gang("job", 2, 2), ("n2",), True),
        (TWO_NODES.with_gang("job", 3, 2), ("n2",), False),
        (TWO_NODES.with_gang("job", 2, 2, must_gather=SPINE), ("n2",), False),
        (TWO_NODES.with_gang("job", 1, 2).with_pod("job-1", gang="job", cpu=2, priority=1), ("n2",), False),
        (TWO_NODES.with_gang("job", 2, 2).with_pod("other", nominated="n1"), ("n1", "n2"), True),
        (TWO_NODES.with_gang("job", 2, 2).with_pod("other", nominated="n2"), ("n2",), False),
        (TWO_NODES.with_gang("job", 2, 2, labels=TEAM).with_quota("team", cpu=4), ("n2",), True),
        (TWO_NODES.with_gang("job", 2, 2, labels=TEAM).with_quota("team", cpu=3), ("n2",), False),
    ],
)
def test_a_job_without_a_plan_is_surely_placed_beside_quotas_and_who_is_nominated(
    drawing: Drawing, names: tuple[str, ...], *, placed: bool
) -> None:
    (job,) = jobs_of(drawing)
    assert surely_placed_beside_all(job, of(drawing), names) is placed


@pytest.mark.parametrize(
    ("drawing", "taken", "placed"),
    [
        (TWO_NODES.with_gang("job", 1, 2), 1, True),
        (TWO_NODES.with_gang("job", 1, 2), 2, False),
        (TWO_NODES.with_gang("job", 2, 2), 1, False),
        (TWO_NODES.with_gang("job", 2, 2), 0, True),
        (TWO_NODES.with_gang("job", 1, 2).with_pod("other", nominated="n2"), 1, False),
        (TWO_NODES.with_gang("job", 1, 2, minimum=2), 0, False),
        (with_cards(cluster("s0: b0[n1]"), n1=2).with_gang("job", 1, claims=("data",)), 0, False),
        (TWO_NODES.with_gang("job", 1, 2, labels=TEAM).with_quota("team", cpu=2), 1, True),
        (TWO_NODES.with_gang("job", 1, 2, labels=TEAM).with_quota("team", cpu=1), 1, False),
    ],
)
def test_a_job_is_surely_placed_that_has_a_node_for_each_pod_left_whichever_of_them_others_take(
    drawing: Drawing, taken: int, *, placed: bool
) -> None:
    (job,) = jobs_of(drawing)
    assert surely_placed_beside_all(job, of(drawing), ("n1", "n2"), taken) is placed
