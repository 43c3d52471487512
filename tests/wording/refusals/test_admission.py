"""Sentences for facts that seldom occur; the others are asserted with the answers that hold them."""

from datetime import timedelta

import pytest

from kubectl_koord.engine.admission import ForeignGangMarker, MinimumZero, Oddity, SomeOfOtherScheduler, StalePhase
from kubectl_koord.engine.blockers import (
    Blocker,
    FinishedNeverWait,
    MixedSchedulers,
    NoLeader,
    NoReplica,
    OtherScheduler,
)
from kubectl_koord.wording.refusals import blocker_sentence, ignored_markers, oddity_sentence


@pytest.mark.parametrize(
    ("blocker", "sentence"),
    [
        (
            NoLeader("koord-scheduler", "", timedelta(hours=3)),
            (
                "koord-scheduler is not active: lease koord-scheduler (no holder) was last renewed 3h ago; an active"
                " scheduler renews it every few seconds."
            ),
        ),
        (
            NoLeader("koord-scheduler", "a_1", timedelta(seconds=90)),
            (
                "koord-scheduler is not active: lease koord-scheduler (held by a_1) was last renewed 90s ago; an active"
                " scheduler renews it every few seconds."
            ),
        ),
        (
            OtherScheduler(("train/a",), ("x",), ("koord-scheduler",), in_gang=False),
            "it has schedulerName x; koord-scheduler handles only koord-scheduler.",
        ),
        (
            OtherScheduler(("train/job-0", "train/job-1"), ("x",), ("koord-scheduler",), in_gang=True),
            "its pods have schedulerName x; koord-scheduler handles only koord-scheduler.",
        ),
        (
            OtherScheduler(("train/a",), ("x",), ("koord-scheduler",), in_gang=False, known=False),
            "it has schedulerName x; koord-scheduler may handle that or not: its configuration was not read.",
        ),
        (
            MixedSchedulers(("train/a",), 2, ("x",)),
            (
                "1 of its 2 pods has schedulerName x: koord-scheduler does not place it, and the other pods keep"
                " waiting."
            ),
        ),
        (
            MixedSchedulers(("train/a",), 2, ("x",), known=False),
            (
                "1 of its 2 pods has schedulerName x; koord-scheduler may handle that or not: its configuration was not"
                " read."
            ),
        ),
        (
            NoReplica("koord-scheduler", 2),
            "koord-scheduler is not active: Deployment koord-scheduler has 0 of 2 pods available.",
        ),
        (NoReplica("own", 0), "koord-scheduler is not active: Deployment own is scaled to 0."),
        (
            FinishedNeverWait("train/job", ("train/job-0",), needed=2, finished=1),
            "train/job has 1 pending pod, but needs 2 at once: finished pods (1) count as members but never wait.",
        ),
    ],
)
def test_what_blocks_is_told_in_a_sentence(blocker: Blocker, sentence: str) -> None:
    assert blocker_sentence(blocker) == sentence


@pytest.mark.parametrize(
    ("oddity", "sentence"),
    [
        (
            SomeOfOtherScheduler(("train/job-0", "train/job-1"), 3, ("volcano",)),
            "2 of its 3 pending pods have schedulerName volcano (train/job-0 and train/job-1).",
        ),
        (
            ForeignGangMarker("train/job-0", "volcano.sh/job-name"),
            (
                "Koordinator ignores volcano.sh/job-name: train/job-0 is scheduled alone, not in a gang (Koordinator's"
                " label is pod-group.scheduling.sigs.k8s.io)."
            ),
        ),
        (
            MinimumZero("train/job"),
            "train/job has minimum 0: its pods never wait for each other, and its PodGroup stays in phase Pending.",
        ),
        (
            StalePhase("train/job", "Failed"),
            "phase Failed of PodGroup train/job is from an earlier run: it is stale and has no effect.",
        ),
    ],
)
def test_what_is_odd_is_told_in_a_sentence(oddity: Oddity, sentence: str) -> None:
    assert oddity_sentence(oddity) == sentence


@pytest.mark.parametrize(
    ("pods", "who"),
    [(1, "1 pod: it is scheduled alone"), (2, "2 pods: they are scheduled each alone")],
)
def test_markers_of_other_gang_schedulers_are_told_with_how_many_pods_carry_them(pods: int, who: str) -> None:
    assert ignored_markers("spec.schedulingGroup", pods) == (
        f"Koordinator ignores spec.schedulingGroup of {who}, not in a gang (Koordinator's label is"
        " pod-group.scheduling.sigs.k8s.io)."
    )
