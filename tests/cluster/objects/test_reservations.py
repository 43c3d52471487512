"""Reservations: what they hold, for whom, and what pods say about using them."""

import msgspec
import pytest
from msgspec.structs import replace

from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.errors import KoordError
from kubectl_koord.model.hardware import NOTHING, Allocations, CPUAllocation, PodNUMA
from kubectl_koord.model.pods import EVERY_ADDRESS, HostPort, PodRequirements, PodTerm, ReservedRoom
from kubectl_koord.model.reservations import (
    OwnerController,
    OwnerObject,
    Reservation,
    ReservationAffinity,
    ReservationOwner,
    ReservationTerm,
    ReservationUse,
    ReservedMember,
)
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import NodeTerm, Requirement, Resources, Selector, Taint, Toleration
from tests.build import having
from tests.cluster.objects.wire import Json, collect, pending, pod, read, running, thing

SCHEDULING = "scheduling.koordinator.sh/"
HIGHEST = 2**31 - 1
NODE = thing("Node", "n1", status={"allocatable": {"cpu": 8, "pods": 9}})
OWNERS = [
    {"object": {"namespace": "ml", "name": "p", "uid": "u"}},
    {"controller": {"kind": "Job", "name": "j", "namespace": "ml", "apiVersion": "batch/v1", "controller": True}},
    {"labelSelector": {"matchLabels": {"a": "b"}}},
    {},
]


def template(**spec: object) -> Json:
    return {"metadata": {"namespace": "ml", "labels": {"x": "y"}}, "spec": {"containers": [ASKS], **spec}}


ASKS = {"resources": {"requests": {"cpu": "3"}}}


def written(status: Json | None = None, meta: Json | None = None, **spec: object) -> Json:
    known = {"phase": "Available", "nodeName": "n1", "allocatable": {"cpu": "4", "memory": "1Ki", "pods": "2"}}
    return thing("Reservation", "r", spec=spec, status={**known, **(status or {})}, **(meta or {}))


def held(*objects: Json, **fields: object) -> Snapshot:
    return read(NODE, written(**fields), *objects)  # type: ignore[arg-type]


def test_a_reservation_is_read_as_a_whole() -> None:
    meta = {
        "labels": {SCHEDULING + "reservation-order": "7", SCHEDULING + "questioned-object-key": "j"},
        "annotations": {
            "node.koordinator.sh/reservation": '{"resources": {"cpu": "1"}}',
            SCHEDULING + "reservation-restricted-options": '{"resources": ["cpu", "other"]}',
        },
    }
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"a": "b"}}}
    against = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    found = held(
        meta=meta,
        owners=OWNERS,
        allocateOnce=False,
        allocatePolicy="Restricted",
        unschedulable=True,
        taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}],
        template=template(
            priority=5, containers=[{"ports": [{"hostPort": 80}]}], affinity={"podAntiAffinity": against}
        ),
    )
    reservation = Reservation(
        uid="r",
        name="r",
        node="n1",
        size=(("cpu", 4000), ("memory", 1024), ("pods", 2)),
        owners=(
            ReservationOwner(OwnerObject("p", "ml", "u")),
            ReservationOwner(controller=OwnerController("Job", "j", "ml", "", "batch/v1", controller=True)),
            ReservationOwner(selector=Selector((Requirement("a", "In", ("b",)),))),
            ReservationOwner(),
        ),
        policy="Restricted",
        once=False,
        unschedulable=True,
        taints=(Taint("k", "v", "NoSchedule"),),
        labels=tuple(sorted(meta["labels"].items())),
        kept_back=(("cpu", 1000),),
        resources=("cpu",),
        order=7,
    )
    room = ReservedRoom(
        "r",
        "n1",
        PodRequirements(
            (("cpu", 4000), ("memory", 1024)),
            ports=(HostPort(80, "TCP", EVERY_ADDRESS),),
            pod_anti_affinity=(PodTerm("host", having(a="b")),),
        ),
        5,
        Allocations(reservation="r"),
        ("cpu",),
        job="j",
        namespace="ml",
        labels=tuple(sorted({**meta["labels"], "x": "y"}.items())),
    )
    assert (found.reservations, found.reserved) == ((reservation,), (room,))


@pytest.mark.parametrize(
    ("allocatable", "size", "taken"),
    [
        (None, (), (("cpu", 3000),)),
        ({"memory": "1Ki"}, (("memory", 1024),), (("cpu", 3000), ("memory", 1024))),
        ({"cpu": "5"}, (("cpu", 5000),), (("cpu", 5000),)),
    ],
)
def test_what_a_template_requests_is_taken_though_the_status_does_not_say_so(
    allocatable: Json | None, size: Resources, taken: Resources
) -> None:
    found = held(status={"allocatable": allocatable}, template=template())
    assert (found.reservations[0].size, found.reserved[0].requirements.requests) == (size, taken)
    assert found.reserved[0].resources == tuple(name for name, _ in size)


def test_the_cpus_and_zones_of_a_reservation_are_those_of_its_own_annotation() -> None:
    status = '{"cpuset": "0-1", "numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]}'
    found = held(meta={"annotations": {SCHEDULING + "resource-status": status}})
    cpus = CPUAllocation((0, 1), ((1, (("cpu", 2000),)),))
    assert [room.allocations for room in found.reserved] == [Allocations(cpus=cpus, reservation="r")]


def test_what_a_template_says_of_cpus_holds_where_the_reservation_says_nothing_else() -> None:
    spec, status = SCHEDULING + "resource-spec", SCHEDULING + "resource-status"
    copied = {spec: '{"preferredCPUExclusivePolicy": "PCPULevel"}', status: '{"cpuset": "0-1"}'}
    pod_template = template() | {"metadata": {"annotations": copied}}
    (room,) = held(template=pod_template).reserved
    assert room.requirements.numa == PodNUMA(exclusive="PCPULevel")
    assert room.allocations == Allocations(cpus=CPUAllocation((0, 1)), reservation="r")
    (room,) = held(template=pod_template, meta={"annotations": {status: '{"cpuset": "4-5"}'}}).reserved
    assert room.allocations == Allocations(cpus=CPUAllocation((4, 5)), reservation="r")


def test_the_claims_of_a_template_are_those_of_the_pod_that_stands_for_it() -> None:
    named = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    volumes = [named, {"name": "e", "ephemeral": {}}, {"name": "c", "configMap": {}}]
    (room,) = held(template=template(volumes=volumes)).reserved
    assert (room.namespace, room.requirements.claims) == ("ml", ("data",))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"policy": "Default", "once": True, "resources": ("cpu", "memory", "pods"), "order": 0}),
        ({"allocatePolicy": "Aligned"}, {"policy": "Aligned", "pre_allocates": False}),
        ({"preAllocation": True}, {"pre_allocates": True}),
        ({"meta": {"deletionTimestamp": "2026-11-20T09:00:00Z"}}, {"unschedulable": True}),
        ({"meta": {"labels": {SCHEDULING + "reservation-order": "x"}}}, {"order": 0}),
        *(
            (
                {
                    "allocatePolicy": "Restricted",
                    "meta": {"annotations": {SCHEDULING + "reservation-restricted-options": text}},
                },
                {"resources": ("cpu", "memory", "pods"), "owners": (ReservationOwner(),) if readable else ()},
            )
            for text, readable in (
                ("{", False),
                ("[]", False),
                ('{"resources": 5}', False),
                ('{"resources": [5]}', False),
                ("{}", True),
                ('{"resources": ["other"]}', True),
            )
        ),
    ],
)
def test_what_a_reservation_leaves_out_has_its_default(fields: Json, expected: Json) -> None:
    (found,) = held(**{"owners": [{}], **fields}).reservations
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("spec", "labels", "priority"),
    [
        ({}, {}, HIGHEST),
        ({"template": template(priority=5)}, {"koordinator.sh/priority": "7"}, 5),
        ({"template": template()}, {"koordinator.sh/priority": "7"}, 7),
        ({}, {"koordinator.sh/priority": "high"}, HIGHEST),
        ({}, {"koordinator.sh/priority": "9999999999"}, HIGHEST),
    ],
)
def test_a_reservation_has_the_priority_of_its_template_or_its_label(spec: Json, labels: Json, priority: int) -> None:
    assert held(meta={"labels": labels}, **spec).reserved[0].priority == priority


@pytest.mark.parametrize(
    "fields",
    [
        {"status": {"phase": "Pending"}},
        {"status": {"phase": "Succeeded"}},
        {"status": {"nodeName": None}},
        {"status": {"nodeName": "gone"}},
        {"expires": "2026-11-20T09:59:59Z"},
        {"ttl": "1h0m0s", "meta": {"creationTimestamp": "2026-11-20T08:59:59Z"}},
        {"ttl": "24h0m0s", "expires": "2999-01-01T00:00:00Z", "meta": {"creationTimestamp": "2026-11-19T09:59:59Z"}},
        {"ttl": "24h0m0s", "expires": "2026-11-20T09:59:59Z", "meta": {"creationTimestamp": "2026-11-20T09:00:00Z"}},
    ],
)
def test_a_reservation_that_holds_no_room_is_none(fields: Json) -> None:
    found = held(**fields)
    assert (found.reservations, found.reserved) == ((), ())


@pytest.mark.parametrize(
    "fields",
    [
        {"expires": "2026-11-20T10:00:01Z"},
        {"expires": "never"},
        {"ttl": "1h0m0.5s", "meta": {"creationTimestamp": "2026-11-20T09:00:00Z"}},
        {"ttl": "0s", "meta": {"creationTimestamp": "2020-11-20T09:00:00Z"}},
        {"ttl": "0s", "expires": "2026-11-20T09:59:59Z"},
        {"ttl": "1m"},
        {"ttl": "1m", "expires": "2999-01-01T00:00:00", "meta": {"creationTimestamp": "2020-11-20T09:00:00Z"}},
    ],
)
def test_a_reservation_holds_room_until_it_expires(fields: Json) -> None:
    assert len(held(**fields).reserved) == 1


@pytest.mark.parametrize(
    ("fields", "expires"),
    [
        ({"expires": "2999-01-01T01:00:00+01:00"}, "2999-01-01T01:00:00+01:00"),
        ({"ttl": "24h", "meta": {"creationTimestamp": "2998-12-31T00:00:00Z"}}, "2999-01-01T00:00:00Z"),
        ({"ttl": "0s", "meta": {"creationTimestamp": "2998-12-31T00:00:00Z"}}, ""),
        ({"ttl": "0s", "expires": "2999-01-01T00:00:00Z"}, ""),
        ({"ttl": "24h"}, ""),
        ({"expires": "soon"}, ""),
    ],
)
def test_when_a_reservation_expires_is_told_where_it_is_known(fields: Json, expires: str) -> None:
    (reservation,) = held(**fields).reservations
    assert (reservation.expires, reservation.terminating) == (expires, False)


def test_a_reservation_that_is_being_deleted_says_so() -> None:
    (reservation,) = held(meta={"deletionTimestamp": "2999-01-01T00:00:00Z"}).reservations
    assert reservation.terminating


def test_a_reservation_for_one_owner_ends_when_it_has_one() -> None:
    owner = pod("p", nodeName="n1", annotations={SCHEDULING + "reservation-allocated": '{"name": "x", "uid": "r"}'})
    assert held(owner).reserved == ()
    shared = held(owner, allocateOnce=False)
    assert (len(shared.reserved), shared.running["n1"][0].allocations) == (1, Allocations(reservation="r"))


@pytest.mark.parametrize("text", ["{", "[]", '{"uid": 5}', "{}"])
def test_a_pod_that_names_no_reservation_draws_on_none(text: str) -> None:
    assert running(annotations={SCHEDULING + "reservation-allocated": text}).allocations == NOTHING


def test_a_reservation_that_waits_for_a_place_is_a_pod() -> None:
    meta = {"labels": {"z": "1"}, "creationTimestamp": "2026-11-20T09:00:00Z"}
    said = [
        {"type": "Ready", "status": "False"},
        {
            "type": "Scheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1",
            "lastTransitionTime": "t",
        },
    ]
    found = held(status={"phase": "Pending", "nodeName": None, "conditions": said}, meta=meta, template=template())
    (waiting,) = found.reserve_pods
    assert (waiting.key, waiting.priority, waiting.scheduler, waiting.created) == (
        "ml/r",
        HIGHEST,
        "default-scheduler",
        "2026-11-20T09:00:00Z",
    )
    assert (waiting.labels, waiting.requirements.requests) == ((("x", "y"), ("z", "1")), (("cpu", 3000),))
    assert waiting.condition is not None
    assert waiting.condition.message == "0/1"
    assert waiting.reserves == Reservation("r", "r", "", (("cpu", 3000),), labels=(("z", "1"),), resources=("cpu",))
    assert found.pending == ()


def test_one_that_names_a_node_goes_nowhere_else() -> None:
    pin = Requirement("metadata.name", "In", ("n1",))
    (waiting,) = held(status={"phase": ""}, template=template(nodeName="n1")).reserve_pods
    assert waiting.requirements.affinity == (NodeTerm((), (pin,)),)
    own = Requirement("a", "Exists")
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    (waiting,) = held(status={"phase": ""}, template=template(nodeName="n1", affinity=affinity)).reserve_pods
    assert waiting.requirements.affinity == (NodeTerm((own,), (pin,)),)


@pytest.mark.parametrize(
    ("fields", "versions"),
    [
        ({"status": {"phase": "Waiting"}, "template": template()}, {"1.7"}),
        ({"status": {"phase": "Failed"}, "template": template()}, set()),
        ({"status": {"phase": "Pending"}}, set()),
        ({"status": {"phase": "Pending"}, "template": template(), "expires": "2026-11-20T09:00:00Z"}, set()),
    ],
)
def test_only_pending_reservations_are_placed_and_in_1_7_waiting_ones(fields: Json, versions: set[str]) -> None:
    collector = collect(NODE, written(**fields))
    seen = {
        version
        for version in ("1.7", "1.8", "main")
        if collector.snapshot(moment="2026-11-20T10:00:00Z", source="file", chosen_version=version).reserve_pods
    }
    assert seen == versions


def test_a_reservation_that_waits_in_a_gang_is_a_member() -> None:
    meta = {"labels": {"pod-group.scheduling.sigs.k8s.io": "job"}}
    found = held(
        pod("a", namespace="ml"), pod("z", namespace="ml"), status={"phase": ""}, meta=meta, template=template()
    )
    assert [(one.name, one.gang, one.reserves is not None) for one in found.pending] == [
        ("a", "", False),
        ("r", "ml/job", True),
        ("z", "", False),
    ]


@pytest.mark.parametrize("phase", ["Available", "Succeeded", "Failed"])
def test_a_reservation_on_a_node_is_a_bound_member_whatever_has_become_of_it(phase: str) -> None:
    label, annotation = "pod-group.scheduling.sigs.k8s.io", "gang.scheduling.koordinator.sh/name"
    by_label = held(status={"phase": phase}, meta={"labels": {label: "job"}}, template=template())
    assert by_label.reserved_members == (ReservedMember("ml/job", "r"),)
    by_annotation = held(status={"phase": phase}, meta={"annotations": {annotation: "job"}})
    assert by_annotation.reserved_members == (ReservedMember("default/job", "r"),)
    assert held(status={"phase": phase}, template=template()).reserved_members == ()
    pending = held(status={"phase": "Pending", "nodeName": None}, meta={"labels": {label: "job"}}, template=template())
    assert pending.reserved_members == ()


def test_what_a_pod_says_about_reservations_is_read() -> None:
    affinity = """{"name": "r", "reservationSelector": {"b": "2", "a": "1"},
        "requiredDuringSchedulingIgnoredDuringExecution": {"reservationSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "Exists"}],
             "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["r"]}]}]},
        "tolerations": [{"key": "t", "operator": "Exists"}]}"""
    exact = SCHEDULING + "exact-match-reservation"
    annotations = {SCHEDULING + "reservation-affinity": affinity, exact: '{"resourceNames": ["cpu"]}'}
    labels = {SCHEDULING + "reservation-ignored": "true"}
    wanted = ReservationAffinity(
        name="r",
        selector=(("a", "1"), ("b", "2")),
        terms=(ReservationTerm((Requirement("k", "Exists"),), (Requirement("metadata.name", "In", ("r",)),)),),
        tolerations=(Toleration("t", "Exists"),),
    )
    assert pending(annotations=annotations, labels=labels).requirements.reservation == ReservationUse(
        wanted, ignores=True, exact=("cpu",)
    )
    assert pending(labels=labels).requirements.reservation == ReservationUse(ignores=True)
    assert pending(annotations={exact: "{"}).requirements.reservation == ReservationUse(unreadable=exact)
    assert pending(annotations={"a": "b"}).requirements.reservation is None
    assert running(annotations=annotations, labels=labels).requirements.reservation is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", ReservationUse(ReservationAffinity())),
        ("", ReservationUse(ReservationAffinity())),
        ("{", ReservationUse(unreadable=SCHEDULING + "reservation-affinity")),
        ('{"name": 5}', ReservationUse(unreadable=SCHEDULING + "reservation-affinity")),
        (
            '{"requiredDuringSchedulingIgnoredDuringExecution": {}}',
            ReservationUse(ReservationAffinity(terms=())),
        ),
    ],
)
def test_an_affinity_that_requires_nothing_is_met_by_none_and_one_may_not_be_read(
    text: str, wanted: ReservationUse
) -> None:
    found = pending(annotations={SCHEDULING + "reservation-affinity": text}).requirements.reservation
    assert found == wanted


def operating(owners: str = '[{"labelSelector": {"matchLabels": {"a": "b"}}}]', **status: object) -> Json:
    ready = [{"type": "Ready", "status": "True"}]
    return pod(
        "holder",
        nodeName="n1",
        requests={"cpu": 2},
        labels={SCHEDULING + "operating-mode": "Reservation"},
        annotations={SCHEDULING + "reservation-owners": owners},
        status={"phase": "Running", "conditions": ready, **status},
    )


def test_a_running_pod_may_be_a_reservation_itself() -> None:
    found = read(NODE, operating())
    (own,) = found.reservations
    assert own == Reservation(
        uid="holder",
        name="holder",
        node="n1",
        size=(("cpu", 2000),),
        owners=(ReservationOwner(selector=Selector((Requirement("a", "In", ("b",)),))),),
        policy="Aligned",
        labels=((SCHEDULING + "operating-mode", "Reservation"),),
        resources=("cpu",),
        is_pod=True,
    )
    assert (found.reserved, found.running["n1"][0].offers) == ((), "holder")
    assert replace(own, owners=()) == read(NODE, operating("{")).reservations[0]


@pytest.mark.parametrize("status", [{"phase": "Pending"}, {"conditions": []}, {"conditions": None}])
def test_one_that_is_not_ready_is_none(status: Json) -> None:
    assert read(NODE, operating(**status)).reservations == ()


@pytest.mark.parametrize(("text", "is_one"), [('{"uid": "u"}', False), ("{}", False), ("", True), ("{", True)])
def test_one_that_says_who_owns_it_is_none(text: str, *, is_one: bool) -> None:
    owned = operating()
    owned["metadata"]["annotations"][SCHEDULING + "reservation-current-owner"] = text
    assert bool(read(NODE, owned).reservations) == is_one


def test_one_that_is_being_deleted_is_unschedulable() -> None:
    leaving = operating()
    leaving["metadata"]["deletionTimestamp"] = "2026-11-20T09:00:00Z"
    (own,) = read(NODE, leaving).reservations
    assert (own.unschedulable, own.terminating) == (True, True)


def test_a_pod_that_is_a_reservation_no_more_is_forgotten() -> None:
    collector = collect(NODE, operating(), pod("x", nodeName="n1"))
    later = collect(operating(conditions=[]))
    collector.merge(later)
    collector.add("Pod", next(iter(_pods(operating(conditions=[])))))
    found = collector.snapshot(moment="2026-11-20T10:00:00Z", source="file")
    assert found.reservations == ()


def _pods(*objects: Json) -> list[object]:
    return [msgspec.convert(one, Pod) for one in objects]


def test_an_amount_of_a_template_that_cannot_be_read_is_told() -> None:
    bad = {"resources": {"requests": {"cpu": "x"}}}
    with pytest.raises(KoordError, match="Reservation r: cpu: 'x' is not a quantity"):
        held(template=template(containers=[bad]))
