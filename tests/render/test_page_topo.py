from msgspec.structs import replace

from kubectl_koord.render.show import TopoOptions, text
from kubectl_koord.reports.common import DomainName, Notice
from kubectl_koord.wording.facts import legend_of_signs
from tests.render.samples import ASCII_TERMINAL, NO_TOPO, PIPE, TERMINAL, TOPO, TOPO_FOR


def test_topo_is_a_tree_with_what_is_free_and_what_is_wrong() -> None:
    expected = """\
The topology tree has 2 spines and 4 nodes; 12 of 32 GPU free.

DOMAIN       NODES   FREE GPU   TOTAL GPU   SLOTS   NOTES
cluster          4         12          32       3   1 cordoned
├─ spine-0       2          4          16       1   1 cordoned, 1 not ready
└─ spine-1       2          8          16       2

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

2 nodes outside the tree (gangs with a topology spec are never placed there):
  node-8, node-9: lack the label network.topology/spine

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(TOPO, style=TERMINAL) == expected


def test_a_terminal_with_room_draws_what_is_in_use_as_a_bar() -> None:
    nothing_seen = replace(TOPO.domains[1], free=None)
    crumb = replace(TOPO.domains[2], free=1, total=1000)
    some = replace(TOPO, domains=(TOPO.domains[0], nothing_seen, crumb))
    found = text(some, style=replace(ASCII_TERMINAL, width=100))
    assert found.splitlines()[2:6] == [
        "DOMAIN       NODES   IN USE     FREE GPU   TOTAL GPU   SLOTS   NOTES",
        "cluster          4   #####...         12          32       3   1 cordoned",
        "|- spine-0       2                     ?          16       1   1 cordoned, 1 not ready",
        "`- spine-1       2   #######.          1        1000       2",
    ]


def test_what_the_signs_of_cards_mean_is_told_below_the_nodes() -> None:
    signed = replace(TOPO, nodes=tuple(replace(row, cards={"gpu": ".#?"}) for row in TOPO.nodes))
    lines = text(signed, style=PIPE, topo_options=TopoOptions(nodes=True)).splitlines()
    (legend,) = (line for line in lines if line.startswith("CARDS: "))
    assert legend == f"CARDS: {legend_of_signs(is_unseen=True)}."


def test_cards_are_shown_as_signs_with_what_these_mean() -> None:
    cards = ({"gpu": "##.x", "rdma": ".."}, {"gpu": "?"})
    nodes = tuple(replace(row, cards=each) for row, each in zip(TOPO.nodes, cards, strict=False))
    found = text(replace(TOPO, nodes=nodes), style=PIPE, topo_options=TopoOptions(nodes=True))
    assert "   ##.x ..   " in found
    legend = ". whole and free, + in use in part, # in use, x unhealthy"
    assert f"CARDS: {legend}, ? not known.\n" in found
    one = replace(TOPO, nodes=(nodes[0],))
    assert f"CARDS: {legend}.\n" in text(one, style=PIPE, topo_options=TopoOptions(nodes=True))


def test_topo_in_a_pipe_indents_and_draws_nothing() -> None:
    expected = """\
The topology tree has 2 spines and 4 nodes; 12 of 32 GPU free.

DOMAIN      NODES   FREE GPU   TOTAL GPU   SLOTS   NOTES
cluster         4         12          32       3   1 cordoned
  spine-0       2          4          16       1   1 cordoned, 1 not ready
  spine-1       2          8          16       2

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

2 nodes outside the tree (gangs with a topology spec are never placed there):
  node-8, node-9: lack the label network.topology/spine

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(TOPO, style=PIPE) == expected


def test_topo_shows_nodes_when_asked() -> None:
    expected = """\
The topology tree has 2 spines and 4 nodes; 12 of 32 GPU free.

DOMAIN         NODES   FREE GPU   TOTAL GPU   SLOTS   NOTES
cluster            4         12          32       3   1 cordoned
├─ spine-0         2          4          16       1   1 cordoned, 1 not ready
│  ├─ node-0                  0           8       0   cordoned
│  └─ node-1                  4           8       1   not ready
└─ spine-1         2          8          16       2
   ├─ node-2                  8           8       2
   └─ node-3                  0           8       0   full

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

2 nodes outside the tree (gangs with a topology spec are never placed there):
  node-8, node-9: lack the label network.topology/spine

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(TOPO, style=TERMINAL, topo_options=TopoOptions(nodes=True)) == expected


def test_topo_draws_with_ascii_where_it_must() -> None:
    expected = """\
The topology tree has 2 spines and 4 nodes; 12 of 32 GPU free.

DOMAIN         NODES   FREE GPU   TOTAL GPU   SLOTS   NOTES
cluster            4         12          32       3   1 cordoned
|- spine-0         2          4          16       1   1 cordoned, 1 not ready
|  |- node-0                  0           8       0   cordoned
|  `- node-1                  4           8       1   not ready
`- spine-1         2          8          16       2
   |- node-2                  8           8       2
   `- node-3                  0           8       0   full

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

2 nodes outside the tree (gangs with a topology spec are never placed there):
  node-8, node-9: lack the label network.topology/spine

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(TOPO, style=ASCII_TERMINAL, topo_options=TopoOptions(nodes=True)) == expected


def test_topo_shows_the_slots_of_a_gang() -> None:
    expected = """\
default/job needs 2 slots (1 slot = room for 1 pod). Domains with enough slots: 1 of 2 spines.

DOMAIN      NODES   FREE CPU   TOTAL CPU   SLOTS   NOTES
cluster         4          6          32     3/2   1 cordoned
  spine-0       2          2          16     1/2   1 cordoned, 1 not ready
  spine-1       2          4          16     2/2

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(TOPO_FOR, style=PIPE) == expected


def test_topo_does_not_call_slots_too_few_that_were_not_counted() -> None:
    bare = tuple(replace(row, offer_slots=None) for row in TOPO_FOR.domains)
    uncounted = replace(TOPO_FOR, domains=bare, no_slots="it ran before.")
    assert text(uncounted, style=PIPE).startswith(
        "No slots are counted for default/job: it ran before. Use --shape to count how many pods of a shape fit.\n"
    )
    idle = replace(uncounted, desired_offer_slot=0)
    assert text(idle, style=PIPE).startswith("default/job has no pending pods: no slots are counted for it.\n")


def test_topo_of_depth_0_is_the_cluster() -> None:
    expected = """\
The topology tree has 2 spines and 4 nodes; 12 of 32 GPU free.

DOMAIN    NODES   FREE GPU   TOTAL GPU   SLOTS   NOTES
cluster       4         12          32       3   1 cordoned

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

2 nodes outside the tree (gangs with a topology spec are never placed there):
  node-8, node-9: lack the label network.topology/spine

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(TOPO, style=PIPE, topo_options=TopoOptions(depth=0)) == expected


def test_a_tree_that_cannot_be_built_says_why() -> None:
    expected = """\
The topology tree cannot be built: there is no ClusterNetworkTopology named default.

What to do next
  1. See which topology the labels of the nodes tell
     kubectl koord topo init

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(NO_TOPO, style=PIPE) == expected
    broken = replace(NO_TOPO, warnings=(Notice("layer-cycle", "layer A is its own ancestor."),))
    assert "  kubectl koord topo init --diff" in text(broken, style=PIPE)
    assert "What to do next" not in text(replace(NO_TOPO, warnings=()), style=PIPE)


def test_a_domain_that_is_its_own_parent_is_not_drawn() -> None:
    own = replace(TOPO.domains[1], name="loop", parent=DomainName("SpineLayer", "loop"))
    assert "loop" not in text(replace(TOPO, domains=(*TOPO.domains, own)), style=PIPE)
