"""Recorded clusters, and how our answers compare with what the real schedulers did in them."""

from tests.conformance.cases import CASES, PLAIN, VERSIONS, Case, names_of, read_cases, snapshot_of, subject_of
from tests.conformance.grading import slots_shown

__all__ = ["CASES", "PLAIN", "VERSIONS", "Case", "names_of", "read_cases", "slots_shown", "snapshot_of", "subject_of"]
