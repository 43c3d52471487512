import pytest
from msgspec.structs import replace

from kubectl_koord.changes import values
from kubectl_koord.render.show import text
from kubectl_koord.reports.change import Change, Effect, VerdictSummary
from kubectl_koord.reports.common import CauseCode
from kubectl_koord.reports.jobs import FitReport
from tests.render.samples import ASSUMED, BASIS, CHANGE, PIPE, TERMINAL


def test_a_change_is_a_diff_with_its_effect_on_a_terminal() -> None:
    expected = """\
Would change 1 object (client dry run: nothing was sent).

PodGroup default/job
  - spec.minMember: 4
  + spec.minMember: 3
  + spec.mode: Strict

why-pending: no (unknown-layer) -> yes
  before: no such layer.
  after: it would be placed.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(CHANGE, style=TERMINAL) == expected


def test_a_change_is_a_diff_with_its_effect_in_a_pipe() -> None:
    expected = """\
Would change 1 object (client dry run: nothing was sent).

PodGroup default/job
  - spec.minMember: 4
  + spec.minMember: 3
  + spec.mode: Strict

why-pending: no (unknown-layer) -> yes
  before: no such layer.
  after: it would be placed.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert text(CHANGE, style=PIPE) == expected


def test_a_value_of_several_lines_stands_below_its_name_as_yaml_writes_it() -> None:
    change = replace(CHANGE.changes[0], before={"data.a": "x:\n  y: 1\n"}, after={"data.a": "x:\n\n  y: 2"})
    expected = """
  - data.a: |
      x:
        y: 1
  + data.a: |-
      x:

        y: 2
"""
    for style in (PIPE, TERMINAL):
        assert expected in text(replace(CHANGE, changes=(change,)), style=style)


def test_a_change_for_the_worse_says_so_in_a_line_of_its_own() -> None:
    effect = Effect(
        VerdictSummary("no", "insufficient-slots", "3 of 4."), VerdictSummary("no", "never-fits", "never."), worse=True
    )
    expected = """
why-pending: no (insufficient-slots) -> no (never-fits)
  before: 3 of 4.
  after: never.
This makes it worse: why-pending will answer no (never-fits) instead of no (insufficient-slots).
"""
    assert expected in text(replace(CHANGE, effect=effect), style=PIPE)
    assert "worse" not in text(CHANGE, style=PIPE)


@pytest.mark.parametrize(
    ("after", "answer", "line"),
    [
        ("insufficient-slots", "no (insufficient-slots) (unchanged)", ""),
        ("quota", "no (quota)", "  after: 3 of 4.\n"),
    ],
)
def test_what_is_noticed_only_after_a_restart_has_a_line_of_its_own(after: CauseCode, answer: str, line: str) -> None:
    now, then = VerdictSummary("no", "insufficient-slots", "3 of 4."), VerdictSummary("no", "never-fits", "never.")
    effect = Effect(now, replace(now, cause=after), worse=True, after_restart=then)
    expected = f"""
why-pending: no (insufficient-slots) -> {answer}
After a restart of the scheduler: no (never-fits)
  before: 3 of 4.
{line}  after a restart: never.
This makes it worse: why-pending will answer no (never-fits) instead of no (insufficient-slots).
"""
    assert expected in text(replace(CHANGE, effect=effect), style=PIPE)


def test_a_field_that_goes_has_no_line_for_after_and_an_outcome_without_words_none_at_all() -> None:
    gone = Change(CHANGE.changes[0].object, {"spec.mode": "Strict"}, {"spec.mode": None}, {}, "1234")
    effect = Effect(VerdictSummary("yes", None), VerdictSummary("yes", None))
    expected = """
PodGroup default/job
  - spec.mode: Strict

why-pending: yes -> yes (unchanged)

Warning: """
    assert expected in text(replace(CHANGE, changes=(gone,), effect=effect), style=PIPE)


def test_how_a_plan_came_to_be_stands_before_its_changes() -> None:
    expected = """\
Would change 1 object (client dry run: nothing was sent).

From the labels of topograph.
Resulting tree: 2 spines.

PodGroup default/job
"""
    notes = ("From the labels of topograph.", "Resulting tree: 2 spines.")
    assert text(replace(CHANGE, notes=notes), style=PIPE).startswith(expected)


def test_what_is_to_be_run_and_whether_that_fits_stand_in_place_of_an_effect() -> None:
    fits = FitReport("yes", BASIS, (ASSUMED,), ())
    expected = """\
Nothing was sent: 2 objects would change. -o yaml prints the new manifests.

PodGroup default/job
  - spec.minMember: 4
  + spec.minMember: 3
  + spec.mode: Strict

kubectl delete job x


Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    shown = replace(CHANGE, message=values.of_manifests(2), commands=("kubectl delete job x",), fit=fits)
    assert text(shown, style=PIPE) == expected


def test_why_a_workload_is_not_changed_in_place_is_said() -> None:
    told = values.recreate_workload("Deployment", "x", is_immutable=False)
    assert told.startswith(
        "Nothing was sent: Deployment x is not changed in place, as pods that run do not change, and"
    )
    assert "the pod template of a Job cannot be changed" in values.recreate_workload("Job", "x", is_immutable=True)
