"""The page of `doctor`: the verdict first, then each finding with its remedy; a line where nothing is wrong."""

from kubectl_koord.render.show import text
from kubectl_koord.reports.common import Basis
from kubectl_koord.reports.operation import DoctorReport, Finding
from tests.render.samples import PIPE, TERMINAL

BASIS = Basis("1.8", "from the image tag", "2026-11-20T10:00:00Z", "cluster")
ERROR = Finding("no-scheduler", "error", "Lease/koord-scheduler", "the lease is old.", "Look at the logs.")
BARE = Finding("rbac-missing", "info", "nodes", "not yours.", "Ask.", command="kubectl koord doctor --print-rbac")
WARNING = Finding("outside-nodes", "warning", "Node/n1", "1 node lacks a label (n1).", "Label it.", ("n1",))
NOTE = Finding("not-checked", "info", "Installation", "Deployment could not be checked.", "Add it.")


def page(*findings: Finding, verdict: str = "no") -> str:
    assert verdict in {"yes", "no", "unknown"}
    return text(DoctorReport(verdict, BASIS, (), findings, nodes=1, gangs=2), style=PIPE)  # type: ignore[arg-type]


def test_each_finding_has_its_remedy() -> None:
    assert page(ERROR, WARNING, WARNING) == (
        """\
1 error, 2 warnings.

Error: Lease/koord-scheduler (no-scheduler)
  The lease is old.
  Remedy: Look at the logs.
"""
        + 2
        * """
Warning: Node/n1 (outside-nodes)
  1 node lacks a label (n1).
  Remedy: Label it.
"""
        + """
More about a code: kubectl koord explain CODE
Evaluated as Koordinator 1.8 (from the image tag)
"""
    )


def test_its_command_stands_below_the_remedy_in_a_line_of_its_own() -> None:
    assert "\n  Remedy: Ask.\n    kubectl koord doctor --print-rbac\n\nMore" in page(BARE)


def test_what_could_not_be_checked_is_said_at_once() -> None:
    assert page(NOTE, verdict="unknown").startswith("1 note; not everything could be checked.\n\nNote: Installation")
    assert page(NOTE, verdict="yes").startswith("1 note.\n")


def test_the_name_that_begins_a_finding_stays_as_it_is() -> None:
    told = "train/a has minimum 0."
    assert f"\n  {told}\n" in page(Finding("min-member-zero", "warning", "Gang/train/a", told, "Set minMember."))


def test_nothing_wrong_is_one_line() -> None:
    assert page(verdict="yes") == "No problems found: 1 node and 2 gangs were checked.\n"


def test_a_terminal_is_not_overrun() -> None:
    long = Finding("merged-domains", "error", "BlockLayer/b0", "a b " * 40, "Rename them.")
    shown = text(DoctorReport("no", BASIS, (), (long,)), style=TERMINAL)
    assert max(map(len, shown.splitlines())) <= TERMINAL.width
