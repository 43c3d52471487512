"""Remedies for claims that no node can serve: each whole, as it is offered."""

import pytest

from kubectl_koord.engine.filters.resource_claims import ClaimFault, UnreadyClaim
from kubectl_koord.engine.reasons import ClaimsUnallocated, VolumeFault, VolumesUnbound
from kubectl_koord.model.objects import Claim, Storage, StorageClass
from kubectl_koord.model.resource_claims import DeviceRequest, DynamicResources, PodClaim, ResourceClaim
from kubectl_koord.remedies.cluster import supply_command, supply_message
from kubectl_koord.remedies.next_steps import claim_command, claim_message
from kubectl_koord.reports.common import SetRequest, SupplyClaims, WayOut
from tests.build import Drawing, cluster, why_of

NODES = cluster("s0: b0[n1 n2]").but(storage=Storage(classes={"now": StorageClass("now", "csi")}))
DATA, SCRATCH = "default/data", "default/job-0-scratch"


def waiting(*claims: Claim, pods: int = 1, cpu: float = 8, **fields: object) -> Drawing:
    drawing = NODES.but(claims={claim.name: claim for claim in claims})
    return drawing.with_gang("job", pods, cpu, **(fields or {"claims": ("data",)}))  # type: ignore[arg-type]


def ways(drawing: Drawing) -> list[WayOut]:
    report = why_of(drawing)
    assert report.verdict == "no"
    return [way for way in report.unblock if way.action in {"supply-claims", "pair"}]


def test_claims_that_keep_the_pods_from_all_nodes_are_brought_in_order_together() -> None:
    drawing = waiting(Claim(DATA, class_name="now"), claims=("data", "logs"), ephemeral=("scratch",))
    assert ways(drawing) == [
        WayOut(
            "supply-claims",
            "Find out why StorageClass now binds no volume to volume claim default/data, create volume claim"
            " default/logs and find out why volume claim default/job-0-scratch is not made for pod default/job-0,"
            " so that any node can serve it",
            "kubectl describe pvc data -n default",
            (SupplyClaims((DATA, "default/logs", SCRATCH)),),
        )
    ]


def test_where_room_is_missing_as_well_it_is_the_first_of_two_changes() -> None:
    (way,) = ways(waiting(pods=3))
    lower = SetRequest(("default/job-0", "default/job-1", "default/job-2"), "cpu", "4")
    assert (way.action, way.edits) == ("pair", (SupplyClaims((DATA,)), lower))


def test_claims_in_order_are_left_alone() -> None:
    assert ways(waiting(Claim(DATA, "pv", known=True), pods=3)) == []
    assert ways(waiting(pods=3, labels=())) == []


def claiming(found: ResourceClaim | None) -> Drawing:
    drawing = waiting(pods=1, labels=()).version("1.8").but(dynamic_resources=DynamicResources())
    return drawing.change_pods("job-0", resource_claims=(PodClaim("own", "default/c", is_made=True, found=found),))


@pytest.mark.parametrize(
    ("found", "message", "command"),
    [
        (None, "Create resource claim default/c", ""),
        (
            ResourceClaim("default/c", (DeviceRequest("r", (("r", "gpu"),)),), owner=("", "job-0")),
            "Create DeviceClass gpu for resource claim default/c, so that any node can serve it",
            "kubectl describe resourceclaim c -n default",
        ),
    ],
)
def test_resource_claims_are_brought_in_order(found: ResourceClaim | None, message: str, command: str) -> None:
    edits = (SupplyClaims(resource_claims=("default/c",)),)
    assert ways(claiming(found)) == [WayOut("supply-claims", message, command, edits)]


def test_a_claim_that_is_not_made_yet_is_named_and_nothing_is_proven_of_it() -> None:
    drawing = claiming(None).change_pods("job-0", resource_claims=(PodClaim("own", is_made=True),))
    report = why_of(drawing)
    assert [(way.message, way.edits) for way in (*report.unblock, *report.next_steps)] == [
        ("Find out why resource claim own is not made from its template", ())
    ]


@pytest.mark.parametrize(
    ("fault", "message", "command"),
    [
        ("being-deleted", "Create volume claim n/c anew, once it is gone", "kubectl describe pvc c -n n"),
        ("not-bound", "Create the StorageClass of volume claim n/c, or a volume for it", "kubectl describe pvc c -n n"),
        ("binding", "Find out why volume pv is not bound to volume claim n/c", "kubectl describe pvc c -n n"),
        ("lost", "Create volume pv anew for volume claim n/c", "kubectl describe pvc c -n n"),
        ("volume-missing", "Create volume pv anew for volume claim n/c", "kubectl describe pvc c -n n"),
        ("not-owner", "Delete volume claim n/c, so that it is made for pod n/p", "kubectl delete pvc c -n n"),
    ],
)
def test_what_is_to_be_done_depends_on_what_is_wrong(fault: VolumeFault, message: str, command: str) -> None:
    lacking = (VolumesUnbound("n/p", "n/c", fault, "" if fault == "not-bound" else "pv"),)
    assert supply_message(lacking) == f"{message}, so that any node can serve it"
    assert supply_command(lacking[0]) == command


def test_so_it_does_for_resource_claims() -> None:
    for fault, message in (
        ("in-use", "End a pod that uses resource claim n/c"),
        ("being-allocated", "Wait until resource claim n/c is allocated"),
    ):
        lacking = (ClaimsUnallocated("n/p", "n/c", fault),)  # type: ignore[arg-type]
        assert supply_message(lacking) == f"{message}, so that any node can serve it"


@pytest.mark.parametrize(
    ("fault", "message", "command"),
    [
        (
            "being-deleted",
            "Create resource claim n/c anew, once it is gone",
            "kubectl describe resourceclaim c -n n",
        ),
        (
            "not-owner",
            "Delete resource claim n/c, so that it is made for the pod",
            "kubectl delete resourceclaim c -n n",
        ),
    ],
)
def test_claims_without_which_pods_are_not_tried(fault: ClaimFault, message: str, command: str) -> None:
    claim = UnreadyClaim("n/c", fault)
    assert (claim_message(claim), claim_command(claim)) == (message, command)
