"""Names, reasons and amounts in English."""

import pytest

from kubectl_koord.engine import reasons as nodes
from kubectl_koord.engine.reasons import Reason
from kubectl_koord.model.values import Resources, Taint
from kubectl_koord.wording.refusals import obstacle, refusal_counts, stage
from kubectl_koord.wording.words import (
    amount_of,
    amounts,
    amounts_of,
    command,
    count,
    layer_noun,
    listed,
    name_within,
    requests,
    resource_name,
    resource_names,
    sentence,
    unit,
)


def test_one_is_singular() -> None:
    assert [count(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    assert [count(number, "switch") for number in (1, 2)] == ["1 switch", "2 switches"]


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("the scheduler stopped.", "The scheduler stopped."),
        ("gang train/a is short.", "Gang train/a is short."),
        ("train/a has minimum 0.", "train/a has minimum 0."),
        ("rack r1 has several parents.", "rack r1 has several parents."),
        ("2 pods wait.", "2 pods wait."),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_letter_unless_a_name_does(clause: str, words: str) -> None:
    assert sentence(clause) == words


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and d"),
    ],
)
def test_a_list_is_read_out(items: list[str], words: str) -> None:
    assert listed(items) == words


def test_the_resource_that_counts_comes_first() -> None:
    wanted = (("cpu", 8000), ("memory", 1 << 30), ("nvidia.com/gpu", 4))
    assert requests(wanted) == "4 GPU, 8 CPU and 1Gi memory"
    assert (requests(()), amounts([("cpu", 500)])) == ("no resources", "500m CPU")


def test_no_amount_is_shown_as_0_that_is_not() -> None:
    assert [amount_of("cpu", number, "rounded") for number in (0, 1, -4, 6, 1004)] == ["0", "1m", "-4m", "0.01", "1"]


@pytest.mark.parametrize(
    ("resource", "number", "rounded", "exact"),
    [
        ("cpu", 8000, "8 CPU", "8"),
        ("cpu", 1500, "1.5 CPU", "1500m"),
        ("cpu", 10_000_000, "10000 CPU", "10000"),
        ("nvidia.com/gpu", 3, "3 GPU", "3"),
        ("koordinator.sh/gpu-core", 150, "1.5 GPU", "1.5"),
        ("koordinator.sh/rdma", 150, "1.5 RDMA", "1.5"),
        ("example.com/rdma", 2, "2 RDMA", "2"),
        ("memory", 3 << 30, "3Gi memory", "3Gi"),
        ("memory", 0, "0 memory", "0"),
        ("memory", 3_435_973_837, "3.2Gi memory", "3.2Gi"),
        ("memory", 3_435_973_838, "3.2Gi memory", "3435973838"),
        ("hugepages-2Mi", 3 << 19, "1.5Mi hugepages-2Mi", "1536Ki"),
        ("kubernetes.io/batch-memory", 3 << 29, "1.5Gi batch-memory", "1536Mi"),
        ("kubernetes.io/batch-cpu", 60000, "60000 batch-cpu", "60000"),
        ("koordinator.sh/gpu-memory-ratio", 100, "100 gpu-memory-ratio", "100"),
        ("example.com/fpga", 2, "2 fpga", "2"),
        ("huawei.com/npu", 2, "2 NPU", "2"),
    ],
)
def test_an_amount_is_rounded_in_tables_and_exact_in_sentences(
    resource: str, number: int, rounded: str, exact: str
) -> None:
    resource_name.cache_clear()  # who asked before may not have been traced
    assert f"{amount_of(resource, number, 'rounded')} {unit(resource)}" == rounded
    assert amount_of(resource, number) == exact


@pytest.mark.parametrize(
    ("resource", "numbers", "told"),
    [
        ("memory", (32 << 30, 3_435_973_837, 4 << 30), ["32Gi", "3.2Gi", "4Gi"]),
        ("memory", (32 << 30, 11_453_246_123), ["32Gi", "10.667Gi"]),
        ("memory", (11_453_246_123, 11_453_246_123), ["10.667Gi", "10.667Gi"]),
        ("memory", (11_453_246_123, 11_453_250_000), ["10.666667Gi", "10.66667Gi"]),
        ("memory", (11_453_246_123, 11_453_246_124), ["11453246123", "11453246124"]),
        ("memory", (1 << 30, (1 << 30) + 1), ["1Gi", "1073741825"]),
        ("cpu", (1_234_567, 8000), ["1234567m", "8"]),
    ],
)
def test_amounts_of_one_sentence_are_readable_and_never_look_equal(
    resource: str, numbers: tuple[int, ...], told: list[str]
) -> None:
    assert amounts_of(resource, *numbers) == told


def test_a_command_can_be_pasted_whatever_the_name_is() -> None:
    assert command("why-pending", "default/a; rm -rf $HOME") == "kubectl koord why-pending 'default/a; rm -rf $HOME'"


def test_only_the_namespace_of_the_gang_is_left_out() -> None:
    named = [name_within(gang, pod) for gang, pod in (("a/gang", "a/x"), ("a/gang", "b/x"), ("gang", "a/x"))]
    assert named == ["x", "b/x", "a/x"]


@pytest.mark.parametrize(
    ("layer", "noun"),
    [
        ("SpineLayer", "spine"),
        ("NodeTopologyLayer", "node"),
        ("ClusterTopologyLayer", "cluster"),
        ("Layer", "Layer"),
        ("rack", "rack"),
        ("superPod", "superPod"),
        ("SpinelLayer", "spinel"),
        ("SpineTopologyLayer", "spine"),
    ],
)
def test_a_domain_is_called_by_its_layer(layer: str, noun: str) -> None:
    assert layer_noun(layer) == noun


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (nodes.Cordoned(), "cordoned"),
        (nodes.Untolerated(Taint("gpu", "a100", "NoSchedule")), "taint gpu=a100:NoSchedule"),
        (nodes.Untolerated(Taint("gpu", "", "NoExecute")), "taint gpu:NoExecute"),
        (nodes.NotSelected(), "node selector or affinity"),
        (nodes.SidecarsUnknown(), "sidecar containers, not supported by this version"),
        (nodes.PortTaken(80), "host port 80 in use"),
        (nodes.TooManyPods(110), "pod limit 110 reached"),
        (nodes.Insufficient((("cpu", 2, 1), ("nvidia.com/gpu", 1, 0))), "insufficient CPU and GPU"),
        (nodes.ClaimInUse("ns/data"), "volume claim ns/data is in use by another pod"),
        (nodes.VolumeElsewhere("ns/data"), "volume of claim ns/data is not reachable"),
        (nodes.NoVolumeToBind("ns/data"), "no volume for claim ns/data can be had here"),
        (nodes.NotEnoughStorage("ns/data", 10 << 30), "less storage than the 10Gi of claim ns/data"),
        (nodes.TooManyVolumes("csi"), "volume limit of csi reached"),
        (nodes.Overloaded("cpu", 70, 65), "CPU usage 70 % above 65 %"),
        (nodes.Overloaded("cpu", 70, 65, aggregated=True), "aggregated CPU usage 70 % above 65 %"),
        (nodes.MetricExpired("2026-11-20T08:00:00Z"), "NodeMetric expired, last updated 2026-11-20T08:00:00Z"),
        (nodes.MetricExpired(""), "NodeMetric expired, never updated"),
        (nodes.SpreadTooSkewed("zone"), "topology spread over zone"),
        (nodes.SpreadLabelMissing("zone"), "no label zone for the topology spread"),
        (nodes.PodAffinityUnmet(), "pod affinity"),
        (nodes.AntiAffinityViolated(), "pod anti-affinity"),
        (nodes.ExistingAntiAffinityViolated(), "anti-affinity of existing pods"),
        (nodes.NUMAPolicyMismatch("Restricted", "BestEffort"), "NUMA policy Restricted, not BestEffort"),
        (nodes.FractionalCPUs(1500), "binds whole CPUs, not 1500m"),
        (nodes.InvalidAmplification(), "amplification ratio not readable"),
        (nodes.InsufficientAmplifiedCPU(9000, 500), "insufficient amplified CPU (500m of 9 free)"),
        (nodes.NoCPUTopology(), "no CPU topology"),
        (nodes.BindPolicyConflict("FullPCPUs", "SpreadByPCPUs"), "binds CPUs by FullPCPUs, not SpreadByPCPUs"),
        (nodes.PartialCores(5, 2), "5 CPUs are no whole cores of 2"),
        (nodes.NotEnoughCPUs(4, 2), "2 of 4 CPUs free to bind"),
        (nodes.NotEnoughCPUs(4, 2, "FullPCPUs"), "2 of 4 CPUs free to bind by FullPCPUs"),
        (nodes.NoZones(), "no NUMA zones known"),
        (nodes.UnsatisfiedZones(("cpu", "memory")), "no NUMA zones with enough CPU and memory"),
        (
            nodes.UnalignedZones("Restricted", (("cpu", (1,), (1,)), ("memory", (2,), (2,)))),
            "no NUMA zones by Restricted for CPU and memory together",
        ),
        (
            nodes.UnalignedZones("Restricted", (("cpu", (1,), (1,)), ("gpu", (2,), (2,)), ("x.y/fpga", (2,), (2,)))),
            "no NUMA zones by Restricted for CPU, GPU and x.y/fpga together",
        ),
        (nodes.InsufficientInZones((("cpu", 2, 1),)), "insufficient CPU in its NUMA zones"),
    ],
)
def test_each_reason_has_its_words(reason: Reason, words: str) -> None:
    assert obstacle(reason) == words


def refused(*reasons: Reason) -> list[nodes.Refused]:
    return [nodes.Refused(reason, number) for number, reason in enumerate(reasons, start=1)]


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (
            (nodes.Overloaded("cpu", 72, 65), nodes.Overloaded("cpu", 110, 65), nodes.Overloaded("cpu", 66, 65)),
            [("CPU usage 66 to 110 % above 65 %", 6)],
        ),
        (
            (
                nodes.Overloaded("cpu", 72, 65),
                nodes.Overloaded("cpu", 72, 70),
                nodes.Overloaded("memory", 90, 65),
                nodes.Overloaded("cpu", 72, 65, aggregated=True),
                nodes.Overloaded("cpu", 72, 65),
            ),
            [
                ("CPU usage 72 % above 65 %", 6),
                ("aggregated CPU usage 72 % above 65 %", 4),
                ("memory usage 90 % above 65 %", 3),
                ("CPU usage 72 % above 70 %", 2),
            ],
        ),
        (
            (
                nodes.MetricExpired("2026-11-20T08:00:00Z"),
                nodes.MetricExpired(""),
                nodes.MetricExpired("2026-11-19T08:00:00Z"),
            ),
            [
                ("NodeMetric expired, last updated 2026-11-19T08:00:00Z to 2026-11-20T08:00:00Z", 4),
                ("NodeMetric expired, never updated", 2),
            ],
        ),
        (
            (nodes.InsufficientAmplifiedCPU(9000, 0), nodes.InsufficientAmplifiedCPU(9000, 1500)),
            [("insufficient amplified CPU (0 to 1500m of 9 free)", 3)],
        ),
        (
            (nodes.NotEnoughCPUs(4, 3), nodes.NotEnoughCPUs(4, 0), nodes.NotEnoughCPUs(4, 2, "FullPCPUs")),
            [("0 to 3 of 4 CPUs free to bind", 3), ("2 of 4 CPUs free to bind by FullPCPUs", 3)],
        ),
        (
            (
                nodes.Insufficient((("cpu", 2, 1),)),
                nodes.Cordoned(),
                nodes.Insufficient((("cpu", 4, 1),)),
            ),
            [("insufficient CPU", 4), ("cordoned", 2)],
        ),
    ],
)
def test_nodes_that_differ_in_what_was_measured_are_told_together(
    reasons: tuple[Reason, ...], words: list[tuple[str, int]]
) -> None:
    assert refusal_counts(refused(*reasons)) == tuple(words)


@pytest.mark.parametrize(
    ("reason", "passing"),
    [
        (nodes.FractionalCPUs(1500), (110, "whose CPU and NUMA policies allow it")),
        (nodes.InvalidAmplification(), (120, "with amplified CPU free")),
        (nodes.NoZones(), (130, "with CPUs and NUMA zones for it")),
    ],
)
def test_nodes_that_pass_what_numa_settings_ask_are_counted_last(reason: Reason, passing: tuple[int, str]) -> None:
    assert stage(reason, ()) == passing


def test_a_node_that_is_short_of_what_another_member_asks_for_is_told_with_that() -> None:
    short = nodes.Insufficient((("memory", 5, 1), ("nvidia.com/gpu", 2, 0)))

    assert stage(short, (("cpu", 48000),)) == (51, "with 2 GPU free")
    assert stage(short, (("cpu", 48000), ("memory", 3))) == (51, "with 3 memory free")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (nodes.NotReserved(), ("with a reservation that matches", "no reservation that matches")),
        (
            nodes.OtherPolicy(),
            ("with reservations of the same allocate policy", "reservations of another allocate policy"),
        ),
        (
            nodes.BeyondReservation((), of_reservation=(("cpu", 2000, 1000),)),
            ("with room in a reservation that matches", "too little CPU in its reservations"),
        ),
        (
            nodes.BeyondReservation((), full=True),
            ("with room in a reservation that matches", "no pod place in its reservations"),
        ),
        (
            nodes.BeyondReservation(of_node=(("cpu", 2000, 1000),)),
            ("with room in a reservation that matches", "insufficient CPU with a reservation"),
        ),
        (
            nodes.BeyondReservation(()),
            ("with room in a reservation that matches", "no reservation that can be used"),
        ),
    ],
)
def test_what_reservations_refuse_has_a_stage_and_words(reason: Reason, words: tuple[str, str]) -> None:
    assert (stage(reason, ())[1], obstacle(reason)) == words


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ((("koordinator.sh/gpu-core", 800), ("koordinator.sh/gpu-memory-ratio", 800)), "8 GPU"),
        (
            (
                ("koordinator.sh/gpu-core", 800),
                ("koordinator.sh/gpu-memory-ratio", 800),
                ("koordinator.sh/gpu.shared", 8),
            ),
            "8 GPU",
        ),
        (
            (("koordinator.sh/gpu-core", 50), ("koordinator.sh/gpu-memory-ratio", 100)),
            "0.5 GPU and 100 koordinator.sh/gpu-memory-ratio",
        ),
        (
            (("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu.shared", 2)),
            "1 GPU and 2 koordinator.sh/gpu.shared",
        ),
        ((("koordinator.sh/gpu-memory-ratio", 50),), "50 koordinator.sh/gpu-memory-ratio"),
    ],
)
def test_cards_are_told_once_unless_another_name_of_them_says_more(needs: Resources, words: str) -> None:
    assert requests(needs) == words


def test_beside_gpus_the_names_of_their_parts_are_left_out() -> None:
    parts = ("koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu.shared", "cpu")
    assert resource_names(parts) == ["GPU", "CPU"]
    assert resource_names(parts[1:3]) == ["koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu.shared"]
