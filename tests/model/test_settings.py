"""The table of settings: what is set and decides is told, and what nobody here knows; all else is not."""

import pytest

from kubectl_koord.model.settings import TABLE, SetOtherwise, arguments_set, flags_set, gates_set


def test_each_setting_has_one_row() -> None:
    names = [(row.kind, row.name) for row in TABLE]
    assert len(set(names)) == len(names)
    assert not [row for row in TABLE if row.kind == "argument" and "." not in row.name]


QUOTAS = (
    "MultiQuotaTree DisableDefaultQuota ElasticQuotaGuaranteeUsage ElasticQuotaIgnorePodOverhead"
    " ElasticQuotaIgnoreTerminatingPod ElasticQuotaImmediateIgnoreTerminatingPod SupportParentQuotaSubmitPod"
)
OF_17 = (
    "CSIStorageCapacity CleanExpiredReservationAllocated CompatibleCSIStorageCapacity CompatiblePodDisruptionBudget"
    " DevicePluginAdaption DisableCSIStorageCapacityInformer DisablePodDisruptionBudgetInformer DynamicSchedulerCheck"
    " GenericEphemeralVolume LazyReservationRestore OmitNodeLabelsForReservation PodDisruptionBudget ResizePod"
    f" SkipReservationFitsNode {QUOTAS}"
)
OF_18 = f"{OF_17} DisableDynamicResourceAllocationInformer SyncBarrier"
OF_MAIN = (
    f"{OF_18} CrossSchedulerNomination EnableBatchScheduleNodeSnapshot EnableInlineBatchSchedule"
    " GangPendingPodsConditionPatch SkipFilterWithNominatedPods"
)


@pytest.mark.parametrize(
    ("version", "gates", "number"), [("1.7", OF_17, 21), ("1.8", OF_18, 23), ("main", OF_MAIN, 28)]
)
def test_each_gate_that_koord_scheduler_registers_has_a_row_for_its_version(
    version: str, gates: str, number: int
) -> None:
    rows = {row.name for row in TABLE if row.kind == "feature gate" and version in row.versions}
    assert len(gates.split()) == number
    assert set(gates.split()) <= rows


@pytest.mark.parametrize(
    ("version", "gates", "found"),
    [
        ("1.8", {"SyncBarrier": True, "MultiQuotaTree": True, "GenericEphemeralVolume": True}, ()),
        (
            "1.8",
            {"GenericEphemeralVolume": False},
            (SetOtherwise("feature gate", "GenericEphemeralVolume", "volumes"),),
        ),
        ("main", {"EnableInlineBatchSchedule": True}, ()),
        (
            "1.8",
            {"EnableInlineBatchSchedule": True},
            (SetOtherwise("feature gate", "EnableInlineBatchSchedule", known=False),),
        ),
        ("1.7", {"Mine": False}, (SetOtherwise("feature gate", "Mine", known=False),)),
        ("1.7", {"AllAlpha": False, "AllBeta": False}, (SetOtherwise("feature gate", "AllBeta"),)),
        ("1.8", {"PriorityTransformer": True}, (SetOtherwise("feature gate", "PriorityTransformer", "told"),)),
    ],
)
def test_gates_that_decide_or_are_not_known_to_the_version_are_told(
    version: str, gates: dict[str, bool], found: tuple[SetOtherwise, ...]
) -> None:
    assert tuple(gates_set(version, gates)) == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["koord-scheduler", "--config=/x", "--v=4", "-v=4", "--", "sh"], ()),
        (["--secure_port=10259", "--feature-gates", "A=true"], ()),
        (["--emulated-version", "1.34"], (SetOtherwise("flag", "emulated-version"),)),
        (["--emulation-forward-compatible=false"], ()),
        (["--emulation-forward-compatible"], (SetOtherwise("flag", "emulation-forward-compatible"),)),
        (["--mine=1"], (SetOtherwise("flag", "mine", known=False),)),
    ],
)
def test_flags_that_decide_or_are_not_known_are_told(words: list[str], found: tuple[SetOtherwise, ...]) -> None:
    assert tuple(flags_set("1.8", words)) == found


@pytest.mark.parametrize(
    ("plugin", "written", "found"),
    [
        ("Coscheduling", {"apiVersion": "x", "kind": "y", "enablePreemption": True, "defaultTimeout": "1m"}, ()),
        ("Coscheduling", {"mine": None}, (SetOtherwise("argument", "Coscheduling.mine", known=False),)),
        ("Reservation", {"enablePreemption": False, "preAllocationConfig": None}, ()),
        (
            "Reservation",
            {"enablePreemption": True},
            (SetOtherwise("argument", "Reservation.enablePreemption", "reservations"),),
        ),
        ("PodTopologySpread", {"defaultConstraints": []}, ()),
        (
            "PodTopologySpread",
            {"defaultConstraints": [{"maxSkew": 1}]},
            (SetOtherwise("argument", "PodTopologySpread.defaultConstraints"),),
        ),
        ("Reservation", {"ignoredResources": ["cpu"]}, ()),
        ("Mine", {"any": 1}, ()),
    ],
)
def test_arguments_that_decide_or_that_a_plugin_does_not_have_are_told(
    plugin: str, written: dict[str, object], found: tuple[SetOtherwise, ...]
) -> None:
    assert tuple(arguments_set("1.8", plugin, written)) == found
