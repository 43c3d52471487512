"""Random small clusters as values: what the laws are tried on."""

import json
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import HostPort, PodTerm, Spread
from kubectl_koord.model.values import NodeTerm, Requirement, Taint, Toleration
from tests.build import BLOCK, BLOCK_KEY, NODE, ROOT, SPINE, SPINE_KEY, Drawing, cluster, cpus, having, rules

VERSIONS = ("1.7", "1.8", "main")
PRIORITIES = (0, 3, 5, 9)
MINE = 5
_TAINT = Taint("gpu", "", "NoSchedule")
_TOLERATION = Toleration("gpu", "Exists")
_APP = (("app", "web"),)


class Kind(Struct, frozen=True):
    """What may be in a cluster.

    alike: one gang of equal pods; filters: ports, selectors, affinity, spread, nominated pods;
    multiples: podCountMultiple; others: more gangs and lone pods; odd: groups that name anybody, and
    members that are never tried; held: quotas and reservations.
    """

    nodes: int = 12
    pods: int = 6
    alike: bool = False
    filters: bool = True
    multiples: bool = True
    others: bool = True
    odd: bool = False
    held: bool = False


ANY = Kind()
ODD = Kind(odd=True)
ALIKE = Kind(alike=True, filters=False, multiples=False, others=False)
TINY = Kind(nodes=6, pods=4, alike=True, filters=False, multiples=False, others=False)
ALONE = Kind(others=False)
HELD = Kind(nodes=6, pods=4, filters=False, multiples=False, others=False, held=True)


def random_cluster(rng: Random, kind: Kind = ANY) -> Drawing:
    """Return a cluster in which gang `job` waits (among others)."""
    drawing = cluster().with_nodes(*_nodes(rng, kind)).version(rng.choice(VERSIONS))
    for number in range(rng.randint(0, 10)):
        drawing = _with_running(rng, drawing, f"run-{number}", kind)
    drawing = _with_gang(rng, drawing, "job", kind)
    if kind.others:
        drawing = _with_others(rng, drawing, kind)
    if kind.held:
        drawing = _with_reservations(rng, _with_quotas(rng, drawing))
    return _with_odd_groups(rng, drawing) if kind.odd else drawing


@st.composite
def clusters(draw: st.DrawFn, kind: Kind = ANY) -> Drawing:
    """Random clusters of a kind."""
    return random_cluster(draw(st.randoms(use_true_random=False)), kind)


def _nodes(rng: Random, kind: Kind) -> list[Node]:
    spines = rng.randint(1, 3)
    nodes = []
    for number in range(rng.randint(1, kind.nodes)):
        spine, block = rng.randrange(spines), rng.randrange(2)
        labels = {SPINE_KEY: f"s{spine}", BLOCK_KEY: f"s{spine}-b{block}"}
        if _rarely(rng):
            del labels[rng.choice((SPINE_KEY, BLOCK_KEY))]
        if kind.filters and rng.random() < 0.5:
            labels["disk"] = "ssd"
        places = rng.choice((110, 110, 110, 3))
        nodes.append(
            Node(
                f"n{number}",
                (*cpus(rng.choice((2, 4, 8, 16))), ("pods", places)),
                tuple(sorted(labels.items())),
                taints=(_TAINT,) if _rarely(rng) else (),
                unschedulable=_rarely(rng),
                ready=not _rarely(rng),
            )
        )
    return nodes


def _rarely(rng: Random) -> bool:
    return rng.random() < 0.12


def _with_running(rng: Random, drawing: Drawing, name: str, kind: Kind) -> Drawing:
    terminating = _rarely(rng)
    fields: dict[str, Any] = {
        "priority": rng.choice(PRIORITIES),
        "protected": _rarely(rng),
        "job": rng.choice(("", "", "x", "y")),
        "gang": rng.choice(("", "", "default/old")),
        "terminating": terminating,
        "preempted": terminating and rng.random() < 0.5,
    }
    if kind.filters:
        fields["labels"] = rng.choice(((), _APP))
        fields["ports"] = rng.choice(((), (), (HostPort(80),)))
        fields["selector"] = rng.choice(("", "ring"))
        if _rarely(rng):
            fields["pod_anti_affinity"] = (PodTerm(BLOCK_KEY, having(app="web")),)
    return drawing.with_running(name, on=rng.choice(tuple(drawing.nodes)), cpu=rng.randint(0, 6), **fields)


def _with_gang(rng: Random, drawing: Drawing, name: str, kind: Kind) -> Drawing:
    number = rng.randint(1, kind.pods)
    spec = _spec(rng, kind) if rng.random() < 0.75 else None
    fields = _filters(rng, drawing) if kind.filters and rng.random() < 0.5 else {}
    fields["priority"] = MINE
    fields["never_preempts"] = _rarely(rng)
    minimum = number if rng.random() < 0.7 else rng.randint(0, number)
    drawing = drawing.with_gang(name, number, rng.randint(0, 8), minimum=minimum, topology=spec, **fields)
    if not kind.alike and number > 1 and rng.random() < 0.4:
        cpu, priority = rng.randint(0, 8), rng.choice((MINE, MINE, 4))
        drawing = drawing.with_pod(f"{name}-0", gang=name, cpu=cpu, **(fields | {"priority": priority}))
    if not kind.alike and number > 1 and _rarely(rng):
        drawing = drawing.change_pods(f"{name}-1", never_preempts=True, index=0)
    return drawing


def _spec(rng: Random, kind: Kind) -> str:
    multiples = kind.multiples and rng.random() < 0.3
    written = []
    for layer in (SPINE, BLOCK, NODE):
        if rng.random() < 0.4:
            strategy = rng.choice(("MustGather", "PreferGather"))
            written.append(f"{strategy} {layer}" + (f" x{rng.choice((2, 3))}" if multiples else ""))
    if _rarely(rng):
        written.append(f"MustGather {ROOT}")
    return rules(*written)


def _filters(rng: Random, drawing: Drawing) -> dict[str, Any]:
    term = PodTerm(rng.choice((SPINE_KEY, BLOCK_KEY)), having(app="web"))
    possible = {
        "labels": _APP,
        "ports": (HostPort(80),),
        "node_selector": (("disk", "ssd"),),
        "affinity": (NodeTerm(labels=(Requirement("disk", "NotIn", ("hdd",)),)),),
        "tolerations": (_TOLERATION,),
        "pod_affinity": (term,),
        "pod_anti_affinity": (term,),
        "spread": (Spread(SPINE_KEY, rng.randint(1, 2), having(app="web")),),
        "selector": "ring",
        "nominated": rng.choice((*drawing.nodes, "gone")),
    }
    return {name: value for name, value in possible.items() if rng.random() < 0.2}


def _with_others(rng: Random, drawing: Drawing, kind: Kind) -> Drawing:
    if rng.random() < 0.4:
        drawing = _with_gang(rng, drawing, "peer", kind).change_pods(
            *(f"peer-{number}" for number in range(kind.pods)), priority=rng.choice(PRIORITIES)
        )
    if rng.random() < 0.3:
        nominated = rng.choice((*drawing.nodes, ""))
        drawing = drawing.with_pod("lone", cpu=rng.randint(0, 8), priority=rng.choice(PRIORITIES), nominated=nominated)
    if "default/peer" in drawing.pod_groups and rng.random() < 0.3:
        ids = '["default/job", "default/peer"]'
        for name in ("job", "peer"):
            group = drawing.pod_groups[f"default/{name}"]
            drawing = drawing.with_group(name, group.min_member, topology=group.topology, groups=ids)
    if _rarely(rng):
        drawing = drawing.with_running("job-r", on=rng.choice(tuple(drawing.nodes)), gang="default/job")
    return drawing


def _with_odd_groups(rng: Random, drawing: Drawing) -> Drawing:
    """Let gangs list anybody or nobody, themselves or not, and some members be nothing for the scheduler."""
    for key, group in tuple(drawing.pod_groups.items()):
        ids = rng.sample(("default/job", "default/peer", "default/zz", "other/job", "job", ""), rng.randint(0, 3))
        topology = rng.choice((group.topology, group.topology, rules("MustGather Rack"), None))
        drawing = drawing.with_group(key, group.min_member, topology=topology, groups=json.dumps(ids))
    for pod in drawing.pending:
        fields = rng.choice(({}, {}, {"scheduler": "default-scheduler"}, {"terminating": True}, {"gates": ("hold",)}))
        drawing = drawing.with_pods(replace(pod, **fields))
    return drawing.but(topologies={}) if _rarely(rng) else drawing


def _with_quotas(rng: Random, drawing: Drawing) -> Drawing:
    """Let some pods count against a tree of quotas that are too small, now and then."""
    names = ("a", "b", "a1", "a2", "b1")
    for name in names:
        most = cpus(rng.randint(2, 30))
        drawing = drawing.with_quota(
            name,
            max=most,
            min=cpus(rng.randint(0, 3)),
            weight=cpus(rng.randint(1, 9)),
            weighs_max=False,
            lends=not _rarely(rng),
            **({"parent": name[0]} if len(name) > 1 else {"is_parent": True}),
        )
    own = rng.choice(names[2:])
    fixed = (("quota.scheduling.koordinator.sh/preemptible", "false"),) if _rarely(rng) else ()
    drawing = drawing.change_pods(labels=(("quota.scheduling.koordinator.sh/name", own), *fixed))
    running = {
        node: tuple(
            replace(pod, labels=(("quota.scheduling.koordinator.sh/name", rng.choice(names[2:])),)) for pod in held
        )
        for node, held in drawing.running.items()
    }
    settings = replace(drawing.config.quotas, by_runtime=not _rarely(rng), check_parents=rng.random() < 0.3)
    return drawing.but(running=running).configured(quotas=settings)


def _with_reservations(rng: Random, drawing: Drawing) -> Drawing:
    for number in range(rng.randint(0, 3)):
        name, app = rng.choice(tuple(drawing.nodes)), rng.choice(("web", "job"))
        drawing = drawing.with_reservation(f"res-{number}", name, rng.randint(1, 4), app)
    return drawing
