"""The page of `devices`: what is free by domain, what is odd, each node, and each device with who has it."""

from msgspec.structs import replace

from kubectl_koord.render.document import Columns
from kubectl_koord.render.show import text
from kubectl_koord.render.shown import ON_A_SCREEN
from kubectl_koord.reports.capacity import Card, DevicesReport, Holder, NodeCards, TypeTotal
from tests.render.samples import DEVICES, NO_DEVICES, ODD_DEVICES, PIPE, SPINES, TERMINAL, device


def lines(report: DevicesReport) -> list[str]:
    return text(report, style=PIPE).splitlines()


def wide(report: DevicesReport) -> str:
    return text(report, style=PIPE, columns=Columns(wide=True))


def test_devices_in_a_pipe() -> None:
    expected = """\
1 of 4 GPU is free on 2 nodes, with room for no pod of 2 GPU; 1 of 1 RDMA is free.
1 GPU is in use in part, with 0.5 free in it.
1 GPU is unhealthy: the scheduler does not allocate it.
node-1 is cordoned or not ready: its 1 free GPU is not counted.
2 nodes have no Device object.

DOMAIN      NODES   FREE GPU   TOTAL GPU   IN SHARES   PODS OF 2
cluster         5          1           4         0.5           0
  spine-0       1          1           2         0.5           0

DOMAIN    NODES   FREE RDMA   TOTAL RDMA
cluster       5           1            1
IN SHARES: what is free of devices that are in use in part.
PODS OF n: how many pods with n whole devices fit on nodes of the domain, as devices alone go.

NODE     DOMAIN    GPU   RDMA   HELD BY                  NOTES
node-0   spine-0   +     .      reservation kept (0.5)
node-1   spine-1   x            a/whole                  cordoned
. whole and free, + in use in part, # in use, x unhealthy; each card: -o wide, or name a node.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(DEVICES, style=PIPE) == expected


def test_each_device_has_a_line_where_it_is_asked_for() -> None:
    expected = """\
NODE     DEVICE   FREE   FREE MEMORY   NUMA   PCIE   HELD BY                  NOTES                 ID
node-0   gpu 0     0.5          40Gi      1   pci1   reservation kept (0.5)                         GPU-0
node-0   rdma 0      1
node-1   gpu 0       0             0                 a/whole                  unhealthy, cordoned   GPU-2
"""
    assert expected in wide(DEVICES)
    assert "node-0   rdma 0      1\n" in text(replace(DEVICES, asked=("node-0", "node-1")), style=PIPE)


def test_of_a_device_of_which_nothing_is_known_each_cell_says_so() -> None:
    assert "node-8   gpu 0       ?   ?         not ready   GPU-4\n" in wide(ODD_DEVICES)


def test_a_node_shows_a_sign_for_each_device_and_who_has_how_many() -> None:
    def holds(name: str, share: int) -> Card:
        return device("gpu", 0, "", {"x": 1}, {"x": 1}, (), 100 - share, (Holder("pod", name, share),))

    cards = (holds("a/b", 100), holds("a/b", 100), holds("a/c", 25), device("gpu", 3, "", {"x": 1}, {"x": 1}, (), 100))
    one = replace(DEVICES, nodes=(replace(DEVICES.nodes[0], cards=cards),))
    assert "node-0   spine-0   ##+.   a/b (2), a/c (0.25)\n" in text(one, style=PIPE)


def test_nodes_stand_by_domain_unless_another_order_was_asked_for() -> None:
    swapped = replace(DEVICES, nodes=DEVICES.nodes[::-1])
    assert [line[:6] for line in lines(swapped) if line.startswith("node-") and "spine" in line] == ["node-0", "node-1"]
    ordered = text(swapped, style=PIPE, columns=Columns(ordered=True))
    assert ordered.index("\nnode-1   spine") < ordered.index("\nnode-0   spine")


def test_on_80_columns_what_has_no_room_is_named() -> None:
    card = replace(
        DEVICES.nodes[0].cards[0], healthy=False, holders=(Holder("pod", "training/llama-pretrain-worker-12", 50),)
    )
    crowded = replace(DEVICES.nodes[1], cards=(card,))
    page = text(replace(DEVICES, nodes=(crowded,)), style=TERMINAL, columns=Columns(wide=True))
    assert max(map(len, page.splitlines())) <= 80
    assert "└─ spine-0" in page
    assert "(no room for NUMA, PCIE, ID)" in page


def test_what_is_odd_is_told_and_what_was_not_seen_is_a_question_mark() -> None:
    expected = """\
1 GPU on 1 node, how many are free is unknown.
node-2 has nvidia.com/gpu but an empty Device object: koordlet has found no devices (for GPUs it has to load NVML), \
and the scheduler has none to give there.
node-3 has nvidia.com/gpu but no Device object, which koordlet writes.
node-4 has an empty Device object, and no accelerators.
node-1: pods have devices that no Device object lists: gpu 7 (a/lost).
node-8 is outside the topology tree.

NODE     GPU   HELD BY   NOTES
node-8   ?     ?         not ready
. whole and free, + in use in part, # in use, x unhealthy, ? not known; each card: -o wide, or name a node.

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(ODD_DEVICES, style=PIPE) == expected


def test_a_domain_of_which_nothing_is_known_to_be_free_shows_that() -> None:
    total = TypeTotal("gpu", 1, 0, None, None, None, None)
    unseen = replace(ODD_DEVICES, domains=(replace(ODD_DEVICES.domains[0], devices=(total,)),))
    assert "cluster       5          ?           1" in lines(unseen)


def test_several_nodes_are_told_in_the_plural() -> None:
    empty = [NodeCards(f"n{number}", SPINES[0], "", "empty", ()) for number in range(2)]
    missing = [NodeCards(f"m{number}", SPINES[0], "", "missing", (), ("nvidia.com/gpu",)) for number in range(2)]
    total = replace(DEVICES.devices[0], free=2, unhealthy=2, shared=2, withheld=2)
    out = [replace(DEVICES.nodes[1], node=f"o{number}") for number in range(2)]

    found = lines(replace(DEVICES, nodes=(*empty, *missing, *out), devices=(total,), without_devices=1))

    assert found[:7] == [
        "2 of 4 GPU are free on 2 nodes, with room for no pod of 2 GPU.",
        "2 GPU are in use in part, with 0.5 free in them.",
        "2 GPU are unhealthy: the scheduler does not allocate them.",
        "o0 and o1 are cordoned or not ready: their 2 free GPU are not counted.",
        "m0 and m1 have nvidia.com/gpu but no Device object, which koordlet writes.",
        "2 nodes have empty Device objects, and no accelerators.",
        "1 node has no Device object.",
    ]


def test_a_headline_names_the_node_that_was_asked_for_and_shows_no_domains() -> None:
    one = replace(DEVICES, asked=("node-0",), without_devices=0)
    assert lines(one)[0].startswith("1 of 4 GPU is free on node-0, with room")
    assert "DOMAIN" not in text(one, style=PIPE)
    assert lines(replace(DEVICES, asked=("a", "b")))[0].startswith("1 of 4 GPU is free on 2 nodes, with room")


def test_where_there_are_no_devices_that_is_the_headline() -> None:
    none = replace(DEVICES, nodes=(), devices=(), domains=(), warnings=())
    assert lines(none)[0] == "No devices are known."
    assert lines(replace(none, domain="spine-0"))[0] == "No devices are known in spine-0."
    assert lines(replace(none, asked=("a", "b")))[0] == "No devices are known of a and b."


def test_what_could_not_be_read_is_the_headline() -> None:
    assert lines(NO_DEVICES)[0] == "Cannot list the devices: Device could not be read: you may not."


def test_a_screen_shows_so_many_domains_and_devices_and_says_how_many_more_there_are() -> None:
    cards = tuple(device("gpu", number, "", {"x": 1}, {"x": 1}, (), 100) for number in range(90))
    nodes = (replace(DEVICES.nodes[0], cards=cards),)
    domains = DEVICES.domains[:1] * 40
    many = replace(DEVICES, nodes=nodes, domains=domains, devices=DEVICES.devices[:1])

    page = text(many, style=PIPE, shown=ON_A_SCREEN, columns=Columns(wide=True))

    assert "  ... and 25 more (--all shows them)\n" in page
    assert "  ... and 31 more (--all shows them)\n" in page
    assert page.count("gpu 8") == 1
    assert text(many, style=PIPE).count("\ncluster") == 40


def test_a_type_that_the_scheduler_does_not_know_is_listed_and_has_no_domains() -> None:
    odd = replace(DEVICES, devices=(replace(DEVICES.devices[0], type="tensor"),))
    assert lines(odd)[0].startswith("1 of 4 tensor is free on 2 nodes")
    assert "DOMAIN" not in wide(odd)


def test_pods_that_share_a_device_show_their_shares() -> None:
    holders = (Holder("pod", "a/one", 25), Holder("pod", "a/two", 50))
    card = replace(DEVICES.nodes[0].cards[0], holders=holders)
    assert "a/one (0.25), a/two (0.5)" in wide(replace(DEVICES, nodes=(replace(DEVICES.nodes[0], cards=(card,)),)))
