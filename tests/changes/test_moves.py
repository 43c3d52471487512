"""What steps of a plan write: patches, and a PodMigrationJob with the Reservation of its pod."""

from typing import Any

from kubectl_koord.changes.moves import changes_of, migration
from kubectl_koord.explain.plan import plan
from kubectl_koord.remedies.plan import Weights
from tests.build import SPINE, cluster

SHORT = (
    cluster("s: b[n0 n1 n2]")
    .with_running("a", "n0", 2, owner="ReplicaSet/a")
    .with_running("b", "n1", 4)
    .with_running("c", "n2", 5)
    .with_gang("job", 1, cpu=8, must_gather=SPINE)
)


def test_each_step_is_a_patch_or_evicts() -> None:
    subject = SHORT.subject("job")
    steps = plan(SHORT, subject, Weights()).steps
    changes = [(step.action, [one.patch for one in changes_of(SHORT, subject, step)]) for step in steps]
    assert changes == [
        ("cordon", [{"metadata": {}, "spec": {"unschedulable": True}}]),
        ("move-pod", []),
        ("uncordon", [{"metadata": {}, "spec": {"unschedulable": None}}]),
        ("wake-gang", [{"metadata": {}, "spec": {"minMember": 2}}, {"metadata": {}, "spec": {"minMember": 1}}]),
    ]
    held = cluster("s: b[n0]").with_reservation("held", "n0", 4).with_gang("job", 1, cpu=8)
    (release,) = [
        one for one in plan(held, held.subject("job"), Weights()).steps if one.action == "release-reservation"
    ]
    (change,) = changes_of(held, held.subject("job"), release)
    assert (change.object.kind, change.object.name, change.before) == ("Reservation", "held", {})
    assert change.patch == {"metadata": {}, "spec": {"expires": held.moment}}


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "1", "controller": True}
POD: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "namespace": "default",
        "uid": "77",
        "labels": {"app": "a"},
        "annotations": {"scheduling.koordinator.sh/device-allocated": "{}", "note": "x"},
        "ownerReferences": [OWNER, {**OWNER, "name": "other", "controller": False}],
    },
    "spec": {"nodeName": "n0", "schedulerName": "koord-scheduler"},
}
ONLY = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
WHERE = "requiredDuringSchedulingIgnoredDuringExecution"


def test_a_pod_is_moved_by_a_reservation_on_its_node_for_the_next_of_its_controller() -> None:
    reservation, job = migration(POD, "n1")
    assert reservation.patch == {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": "plan-77"},
        "spec": {
            "allocateOnce": True,
            "ttl": "10m0s",
            "owners": [{"controller": {**OWNER, "namespace": "default"}}],
            "template": {
                "metadata": {"namespace": "default", "labels": {"app": "a"}, "annotations": {"note": "x"}},
                "spec": {
                    "schedulerName": "koord-scheduler",
                    "affinity": {"nodeAffinity": {WHERE: {"nodeSelectorTerms": [{"matchFields": [ONLY]}]}}},
                },
            },
        },
    }
    assert job.patch["spec"] == {
        "mode": "ReservationFirst",
        "ttl": "10m0s",
        "podRef": {"namespace": "default", "name": "a"},
        "reservationOptions": {"reservationRef": {"name": "plan-77"}},
    }


def test_each_term_of_its_own_affinity_is_kept_and_names_the_node() -> None:
    zone = {"key": "zone", "operator": "Exists"}
    terms = [{"matchExpressions": [zone]}, {"matchFields": [{"key": "metadata.name"}]}]
    affinity = {"nodeAffinity": {WHERE: {"nodeSelectorTerms": terms}}, "podAffinity": {}}
    spec = migration({**POD, "spec": {"affinity": affinity}}, "n1")[0].patch["spec"]["template"]["spec"]
    assert spec["affinity"] == {
        "nodeAffinity": {
            WHERE: {
                "nodeSelectorTerms": [
                    {"matchExpressions": [zone], "matchFields": [ONLY]},
                    {"matchFields": [{"key": "metadata.name"}, ONLY]},
                ]
            }
        },
        "podAffinity": {},
    }
