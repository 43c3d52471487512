"""What is said at once of the nodes that volumes can be attached to is what is said of each."""

from itertools import chain
from random import Random

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import prepare
from kubectl_koord.engine.filters.volumes import Volumes
from kubectl_koord.engine.preemption import without_victims
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import _on_node, offer_slots
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.table import NodeSet, every_node, members
from kubectl_koord.model.objects import Claim, Storage, StorageCapacity, StorageClass, Volume, VolumeRequest
from kubectl_koord.model.pods import PendingPod, RunningPod, claim_names
from kubectl_koord.model.values import NodeTerm, Requirement, Selector
from tests.build import Drawing, cluster, pending

ZONE, RACK = "topology.kubernetes.io/zone", "rack"
CLASSES = {
    "late": StorageClass("late", "csi", waits=True, topologies=((Requirement(ZONE, "In", ("a", "b")),),)),
    "manual": StorageClass("manual", "kubernetes.io/no-provisioner", waits=True),
    "told": StorageClass("told", "told", waits=True),
}
IN_A = Requirement(ZONE, "In", ("a",))
STORAGE = Storage(
    (Volume("pv-1", "manual", 20, terms=(NodeTerm((Requirement(RACK, "In", ("1",)),)),)), Volume("pv-2", "manual", 30)),
    CLASSES,
    frozenset({"told"}),
    (StorageCapacity("told", 50, Selector((IN_A,))), StorageCapacity("told", 50, None)),
)
CLAIMS = {
    "bound": Claim("default/bound", "pv", driver="csi", handle="h-1", terms=(NodeTerm((IN_A,)),)),
    "zonal": Claim("default/zonal", "pv-z", driver="csi", labels=((ZONE, "b"),)),
    "elsewhere": Claim("default/elsewhere", "pv-e", driver="other"),
    "nowhere": Claim("default/nowhere", "pv-n"),
    "late": Claim("default/late", class_name="late"),
    "manual": Claim("default/manual", class_name="manual", request=VolumeRequest(25)),
    "told": Claim("default/told", class_name="told", request=VolumeRequest(40)),
    "chosen": Claim("default/chosen", class_name="told", selected="n2"),
    "gone": Claim("default/gone", class_name="told", selected="n99"),
    "single": Claim("default/single", "pv-s", driver="csi", single_pod=True),
}
EVERY = {one.name: structs.replace(one, known=bool(one.volume)) for one in CLAIMS.values()}


def drawn(seed: int, limited: tuple[str, ...]) -> Drawing:
    """Return a cluster in which pods use some of the claims, and drivers have limits."""
    rng = Random(seed)  # noqa: S311 - data, no secret
    drawing = cluster("s0: b0[" + " ".join(f"n{at}" for at in range(12)) + "]")
    for name in list(drawing.nodes):
        labels = {key: rng.choice(values) for key, values in {ZONE: "abc", RACK: "12"}.items() if rng.random() < 0.8}
        limits = tuple((driver, rng.randint(0, 3)) for driver in limited if rng.random() < 0.8)
        attached = tuple(("csi", rng.choice(("h-1", "pv-z", "idle"))) for _ in range(rng.randint(0, 1)))
        drawing = drawing.label(name, **labels).change(name, volume_limits=limits, attached=attached)
        for number in range(rng.randint(0, 2)):
            used = rng.sample(["bound", "zonal", "elsewhere", "late", "unread"], rng.randint(0, 2))
            drawing = drawing.with_running(f"{name}-{number}", on=name, claims=tuple(used), priority=-number)
    return drawing.but(claims=EVERY, storage=STORAGE)


def variants(view: View, pod: PendingPod) -> list[View]:
    """Return the cluster, what-ifs that differ in few nodes and in all, and two on trial."""
    names = list(view.names())
    gone = [one for name in names[:2] for one in view.occupants(name) if isinstance(one, RunningPod)]
    stronger = structs.replace(pod, priority=1)
    moved = view.with_nodes([structs.replace(view.node("n2"), labels=((ZONE, "b"),), volume_limits=(("csi", 1),))])
    return [
        view,
        view.without(gone),
        view.with_pods({"n5": [pod]}).without(gone),
        moved,
        View(view.snapshot, {}, dict.fromkeys(names, ()), view),
        without_victims(view, stronger),
        without_victims(view.with_pods({names[-1]: [pod]}), stronger),
    ]


def named(view: View, nodes: NodeSet) -> list[str]:
    return list(members(view, nodes))


@pytest.mark.parametrize(("limited", "version"), [(("csi",), "1.7"), (("csi", "other", "told"), "1.8")])
@pytest.mark.parametrize("claims", [*((one,) for one in CLAIMS), ("zonal", "manual", "elsewhere"), ("told", "chosen")])
def test_volumes_are_refused_at_once_where_they_are_refused_one_by_one(
    claims: tuple[str, ...], limited: tuple[str, ...], version: str
) -> None:
    pod = pending("p", claims=claims)
    for view in variants(of(drawn(len(claims), limited)), pod):
        (check,) = (one for one in prepare(pod, view, rules(version), claims=EVERY).checks if isinstance(one, Volumes))
        reasons = {name: check.reject(pod, view.state(name), pod.requirements) for name in view.names()}
        refused = check.refused(view, pod, every_node(view))
        assert named(view, refused) == [name for name, reason in reasons.items() if reason is not None]
        parts = [named(view, part) for part in check.parts(view, (pod,), refused)]
        assert sorted(chain.from_iterable(parts)) == sorted(named(view, refused))
        assert [len({reasons[name] for name in part}) for part in parts] == [1] * len(parts)


@pytest.mark.parametrize("limited", [(), ("csi", "other")])
def test_nodes_take_members_with_claims_of_their_own_as_one_by_one(limited: tuple[str, ...]) -> None:
    volumes = (("csi", "pv-1"), ("csi", "h-1"), ("other", "pv-2"), ("csi", "pv-z"), ("", "pv-3"))
    pods = [pending(f"p{number}", ephemeral=("tmp",)) for number in range(len(volumes))]
    own = {
        name: Claim(name, volume, driver=driver, known=True, owner=(pod.uid, pod.name))
        for pod, (driver, volume) in zip(pods, volumes, strict=True)
        for name in claim_names(pod)
    }
    drawing = drawn(3, limited).but(claims={**EVERY, **own})
    for view in variants(of(drawing), pods[0]):
        prepared = prepare(pods[0], view, rules("1.8"), claims=drawing.claims)
        offer = offer_slots(view, view.names(), pods, prepared)
        assert offer == {name: _on_node(view.state(name), (pods,), prepared) for name in view.names()}
