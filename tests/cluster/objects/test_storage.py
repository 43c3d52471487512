"""Claims, volumes, and how volumes are made: what their objects say."""

import pytest

from kubectl_koord.errors import KoordError
from kubectl_koord.model.objects import Claim, Storage, StorageCapacity, StorageClass, Volume, VolumeRequest
from kubectl_koord.model.values import NodeTerm, Requirement, Selector
from tests.cluster.objects.test_load import a_node
from tests.cluster.objects.wire import Json, collect, pod, read, thing


def claim(name: str, volume: str | None, *modes: str) -> Json:
    return thing("PersistentVolumeClaim", name, spec={"volumeName": volume, "accessModes": list(modes)})


def test_claims_with_what_their_volumes_say() -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    spec = {
        "csi": {"driver": "ebs", "volumeHandle": "vol-1"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    found = read(
        claim("a", "pv-a", "ReadWriteOncePod"),
        claim("b", "pv-b"),
        claim("c", None),
        claim("d", "pv-d"),
        thing("PersistentVolume", "pv-a", labels={"zone": "a"}, spec=spec),
        thing("PersistentVolume", "pv-d", spec={"nodeAffinity": {}}),
    )
    assert found.claims == {
        "default/a": Claim(
            name="default/a",
            volume="pv-a",
            terms=(NodeTerm((Requirement("zone", "In", ("a",)),)),),
            labels=(("zone", "a"),),
            driver="ebs",
            handle="vol-1",
            single_pod=True,
            known=True,
            request=VolumeRequest(modes=("ReadWriteOncePod",)),
        ),
        "default/b": Claim("default/b", "pv-b"),
        "default/c": Claim("default/c"),
        "default/d": Claim("default/d", "pv-d", handle="pv-d", known=True),
    }


@pytest.mark.parametrize(
    ("fields", "has"),
    [
        ({"volumes": [{"persistentVolumeClaim": {"claimName": "d"}}]}, True),
        ({"volumes": [{"name": "scratch", "ephemeral": {}}]}, True),
        ({}, False),
    ],
)
def test_whether_any_waiting_pod_uses_a_claim_is_known(fields: Json, *, has: bool) -> None:
    assert collect(pod("p", **fields)).has_claims == has


ANY_HOST = [{"matchExpressions": [{"key": "host", "operator": "Exists"}]}]
OF_POD = [{"kind": "Pod", "name": "p", "uid": "u1", "controller": True}, {"kind": "Job", "name": "j"}]


def test_an_unbound_claim_says_what_it_asks_for() -> None:
    spec = {
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "volumeMode": "Block",
        "selector": {"matchLabels": {"tier": "a"}},
    }
    written = thing(
        "PersistentVolumeClaim",
        "a",
        spec=spec,
        ownerReferences=OF_POD,
        deletionTimestamp="2026-11-20T10:00:00Z",
        annotations={"volume.kubernetes.io/selected-node": "n1"},
    )
    assert read(written).claims["default/a"] == Claim(
        "default/a",
        class_name="fast",
        request=VolumeRequest(
            1 << 30,
            ("ReadOnlyMany", "ReadWriteOnce"),
            is_block=True,
            selector=Selector((Requirement("tier", "In", ("a",)),)),
        ),
        selected="n1",
        terminating=True,
        owner=("u1", "p"),
    )


@pytest.mark.parametrize(("spec", "name"), [({}, "old"), ({"storageClassName": "new"}, "old")])
def test_the_class_of_a_claim_may_stand_in_an_annotation(spec: Json, name: str) -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": "old"}
    claims = read(thing("PersistentVolumeClaim", "a", spec=spec, annotations=annotations)).claims
    assert claims["default/a"].class_name == name


def free(name: str, size: str, **fields: object) -> Json:
    spec = {"capacity": {"storage": size}, "storageClassName": "manual", "accessModes": ["ReadWriteOnce"]}
    return thing("PersistentVolume", name, spec={**spec, **fields}, status={"phase": "Available"})


def test_free_volumes_come_smallest_first() -> None:
    by_name = {"namespace": "default", "name": "c"}
    by_uid = {**by_name, "uid": "u"}
    found = read(
        free("b", "2Gi", nodeAffinity={"required": {"nodeSelectorTerms": ANY_HOST}}, volumeMode="Block"),
        free("a", "2Gi", claimRef=by_name),
        free("c", "1Gi"),
        free("begun", "1Gi", claimRef=by_uid),
        free("bound", "1Gi", claimRef=by_uid) | {"status": {"phase": "Bound"}},
        free("new", "3Gi", claimRef=by_name) | {"status": {}},
        free("nobodys", "3Gi") | {"status": {}},
        thing("PersistentVolume", "released", status={"phase": "Released"}),
        thing("PersistentVolume", "dying", status={"phase": "Available"}, deletionTimestamp="2026-11-20T10:00:00Z"),
    )
    once = ("ReadWriteOnce",)
    assert found.storage.volumes == (
        Volume("begun", "manual", 1 << 30, once, promised="default/c", promised_uid="u"),
        Volume("c", "manual", 1 << 30, once),
        Volume("a", "manual", 2 << 30, once, promised="default/c"),
        Volume("b", "manual", 2 << 30, once, is_block=True, terms=(NodeTerm((Requirement("host", "Exists"),)),)),
        Volume("new", "manual", 3 << 30, once, promised="default/c"),
    )


def test_classes_drivers_and_capacities_tell_how_volumes_are_made() -> None:
    allowed = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}, {}]
    zone = {"matchLabels": {"zone": "a"}}
    found = read(
        thing("StorageClass", "late", provisioner="csi", volumeBindingMode="WaitForFirstConsumer"),
        thing("StorageClass", "zonal", provisioner="csi", allowedTopologies=allowed),
        thing("CSIDriver", "csi", spec={"storageCapacity": True}),
        thing("CSIDriver", "other", spec={}),
        thing("CSIStorageCapacity", "a", storageClassName="late", capacity="2Gi", nodeTopology=zone),
        thing("CSIStorageCapacity", "b", storageClassName="late", capacity="2Gi", maximumVolumeSize="1Gi"),
        thing("CSIStorageCapacity", "c", storageClassName="late"),
    )
    assert found.storage == Storage(
        classes={
            "late": StorageClass("late", "csi", waits=True),
            "zonal": StorageClass("zonal", "csi", topologies=((Requirement("zone", "In", ("a", "b")),), ())),
        },
        tracked=frozenset({"csi"}),
        capacities=(
            StorageCapacity("late", 2 << 30, Selector((Requirement("zone", "In", ("a",)),))),
            StorageCapacity("late", 1 << 30, None),
            StorageCapacity("late", None, None),
        ),
    )


def test_a_capacity_that_is_no_quantity_is_told_with_its_object() -> None:
    with pytest.raises(KoordError, match="CSIStorageCapacity a: storage: 'lots' is not a quantity"):
        read(thing("CSIStorageCapacity", "a", capacity="lots"))


def test_a_pod_keeps_the_names_of_its_ephemeral_volumes() -> None:
    written = pod("p", volumes=[{"name": "scratch", "ephemeral": {}}, {"name": "x", "emptyDir": {}}])
    written["metadata"]["uid"] = "u1"
    (found,) = read(written).pending
    assert (found.requirements.ephemeral, found.uid) == (("scratch",), "u1")


@pytest.mark.parametrize(
    ("annotations", "status", "binding"),
    [
        ({}, {"phase": "Bound"}, "complete"),
        ({}, {}, "complete"),
        ({"pv.kubernetes.io/bind-completed": "yes"}, {"phase": "Pending"}, "complete"),
        ({}, {"phase": "Pending"}, "begun"),
        ({}, {"phase": "Lost"}, "lost"),
    ],
)
def test_a_claim_may_name_a_volume_and_not_be_bound_to_it(annotations: Json, status: Json, binding: str) -> None:
    written = thing("PersistentVolumeClaim", "a", spec={"volumeName": "pv"}, annotations=annotations, status=status)
    assert read(written).claims["default/a"].binding == binding


def test_a_volume_of_a_source_that_a_driver_took_over_is_the_driver_s() -> None:
    volume = thing("PersistentVolume", "pv", spec={"awsElasticBlockStore": {"volumeID": "vol-1"}})
    found = read(claim("a", "pv"), volume).claims["default/a"]
    assert (found.driver, found.handle) == ("ebs.csi.aws.com", "pv")


def test_the_class_of_a_free_volume_may_stand_in_an_annotation() -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": "old"}
    volume = thing("PersistentVolume", "pv", annotations=annotations, status={"phase": "Available"})
    assert [one.class_name for one in read(volume).storage.volumes] == ["old"]


def test_attached_volumes_are_those_of_csi_drivers_by_driver_and_handle() -> None:
    def attached(name: str, volume: str | None, attacher: str = "csi", node: str = "n1") -> Json:
        source = {"persistentVolumeName": volume}
        return thing("VolumeAttachment", name, spec={"attacher": attacher, "nodeName": node, "source": source})

    found = read(
        a_node(),
        thing("CSINode", "n1", spec={"drivers": [{"name": "csi", "allocatable": {"count": 5}}]}),
        thing("PersistentVolume", "pv-1", spec={"csi": {"driver": "csi", "volumeHandle": "h-1"}}),
        thing("PersistentVolume", "pv-2", spec={"csi": {"driver": "csi"}}),
        thing("PersistentVolume", "old", spec={"local": {}}),
        attached("a", "pv-1"),
        attached("b", "pv-2"),
        attached("c", "old"),
        attached("d", "gone"),
        attached("e", None),
        attached("f", "pv-1", attacher=""),
        attached("g", "pv-1", node="n2"),
    )
    assert found.nodes["n1"].attached == (("csi", "h-1"), ("csi", "pv-2"))
