"""A pending gang of a recorded cluster, given as a manifest, gets the answer of `why-pending` to where it waits."""

from pathlib import Path

import pytest

from kubectl_koord.explain.fit import fit
from kubectl_koord.explain.why import why
from kubectl_koord.simulation.subjects import pending_subjects
from tests.conformance.cases import CASES, names_of, read_cases, snapshot_of, subject_of
from tests.manifested import joined, parted, together

EACH = 16
"""One case in so many is asked each time, all of them by `make soak`."""


@pytest.mark.parametrize("every", [EACH, pytest.param(1, marks=pytest.mark.soak)])
def test_a_gang_given_as_a_manifest_gets_the_answer_of_why_pending(tmp_path: Path, every: int) -> None:
    asked = 0
    for case in list(read_cases(CASES))[::every]:
        subject = subject_of(snapshot_of(case.cluster, "1.8"))
        rest, manifest = parted(case.cluster, subject)
        there = together(rest, manifest, "1.8")
        waiting = next(one for one in pending_subjects(there) if one.key == subject.key)
        expected = why(there, waiting)
        answers = fit(*joined(rest, manifest, "1.8", tmp_path)).gangs
        found = next(one for one in answers if one.gang == subject.key)
        assert (found.verdict, found.cause, found.placement, found.domains, found.also_wrong) == (
            expected.verdict,
            expected.cause,
            expected.placement,
            expected.domains,
            expected.also_wrong,
        ), case.name
        asked += 1
    assert asked >= len(names_of(CASES)) // every
