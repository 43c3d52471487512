"""What is not evaluated makes a yes unknown; a no stays a no."""

import pytest

from kubectl_koord.explain.limits import basis, may_widen, not_evaluated
from kubectl_koord.explain.reports import Basis, Cause
from tests.build import MOMENT, Drawing, cluster, cpus, why_of

FREE = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8)
GPU = FREE.change("n1", "n2", allocatable=(*cpus(8, nvidia_gpu=8), ("pods", 110)))
GPU = GPU.with_members(("job-0", "job-1"), "job", requests=cpus(1, nvidia_gpu=1))
OWN = (("quota.scheduling.koordinator.sh/name", "team"),)


@pytest.mark.parametrize(
    ("drawing", "what"),
    [
        (FREE.change_pods("job-1"), ()),
        (FREE.with_members(("job-1",), "job", unseen=("resource claims",)), ("resource claims",)),
        (FREE.with_quota("default"), ("quota default",)),
        (FREE.with_quota("shared", "default"), ("quota shared",)),
        (FREE.with_quota("other", "elsewhere"), ()),
        (FREE.with_quota("team").change_pods(labels=OWN), ("quota team",)),
        (FREE.with_quota("koordinator-default-quota").change_pods(labels=OWN), ("quota koordinator-default-quota",)),
        (FREE.with_quota("koordinator-default-quota", limited=False), ()),
        (FREE.with_gap("ElasticQuota"), ("quotas (ElasticQuota objects could not be read)",)),
        (FREE.with_gap("ElasticQuota", "not-in-input"), ()),
        (FREE.with_gap("NodeMetric"), ("the measured load of the nodes (NodeMetric objects could not be read)",)),
        (FREE.with_gap("Reservation"), ("reservations (Reservation objects could not be read)",)),
        (FREE.with_gap("Device"), ()),
        (GPU, ()),
        (GPU.with_gap("Device"), ("the cards of the nodes (Device objects could not be read)",)),
        (GPU.but(devices=frozenset({"n1"})), ("the cards of the nodes (Device objects)",)),
        (FREE.but(devices=frozenset({"n1"})), ()),
        (FREE.change("n1", unseen=("NUMA topology policy",)), ("node settings (NUMA topology policy)",)),
    ],
)
def test_what_is_not_evaluated_is_named_once(drawing: Drawing, what: tuple[str, ...]) -> None:
    assert not_evaluated(drawing.subject("job"), drawing) == what


def test_a_yes_that_rests_on_it_is_unknown() -> None:
    report = why_of(FREE.with_quota("default"))
    words = "it depends on quota default, which is not evaluated here."
    assert (report.verdict, report.cause) == ("unknown", Cause("not-evaluated", words))


def test_a_no_stays_a_no() -> None:
    report = why_of(FREE.with_quota("default").with_running("low", on="n1"))
    assert (report.verdict, report.cause and report.cause.code) == ("no", "insufficient-capacity")


@pytest.mark.parametrize(("item", "widens"), [("pod-level resources", True), ("quota a", False)])
def test_some_things_could_also_turn_a_no_into_a_yes(item: str, *, widens: bool) -> None:
    assert may_widen((item,)) == widens
    report = why_of(FREE.with_members(("job-0",), "job", cpu=9, unseen=(item,)))
    assert report.verdict == ("unknown" if widens else "no")


def test_an_answer_names_what_it_rests_on() -> None:
    assert basis(FREE) == Basis("1.8", "assumed", MOMENT, "cluster")
