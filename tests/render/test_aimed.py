from msgspec import structs

from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.render import show, shown
from kubectl_koord.render.document import Block, Bullet, Bullets, Command, Line
from kubectl_koord.reports.common import Basis, WayOut
from kubectl_koord.reports.jobs import FitGang, FitReport, PlanReport, PlanStep
from kubectl_koord.reports.manual import Explanation
from kubectl_koord.reports.operation import DoctorReport, Finding
from kubectl_koord.wording.words import HERE, Aim, evaluated_as, read_at
from tests.render import samples

AIM = Aim(("--context=c",), ("--demo",), "Mind.")
PATCH = WayOut("lower-minimum", "Lower it", "kubectl patch x")
LOOK = WayOut("wait-for-preemption", "Wait", "kubectl koord preempt x --dry-run")


def test_the_commands_of_a_page_are_aimed_and_the_note_stands_below_the_last_of_kubectls() -> None:
    points = Bullets((Bullet("a", "kubectl patch x"), Bullet("b")))
    details = Command("kubectl koord why-pending x", label="Details: ")
    found = shown.page([Line("kubectl get"), Command("kubectl get x"), points, details], AIM)
    assert found == [
        Line("kubectl get"),
        Command("kubectl --context=c get x"),
        Bullets((Bullet("a", "kubectl --context=c patch x"), Bullet("b"))),
        Line("Mind.", "dim", indent=2),
        Command("kubectl koord why-pending x --demo", label="Details: "),
    ]


def test_a_page_without_kubectls_commands_needs_no_note() -> None:
    assert shown.page([Command("kubectl koord topo")], AIM) == [Command("kubectl koord topo --demo")]


def test_the_current_context_needs_no_word() -> None:
    page: list[Block] = [Command("kubectl get x"), Line("y")]
    assert shown.page(page, HERE) == page


def test_programs_get_the_same_commands_and_the_note_in_what_the_answer_rests_on() -> None:
    report = structs.replace(samples.WHY, unblock=(PATCH,), next_steps=(LOOK,))
    found = shown.report(report, AIM)
    assert found == structs.replace(
        report,
        unblock=(structs.replace(PATCH, command="kubectl --context=c patch x"),),
        next_steps=(structs.replace(LOOK, command="kubectl koord preempt x --dry-run --demo"),),
        basis=structs.replace(report.basis, commands_for="Mind."),
    )
    only_ours = structs.replace(report, unblock=(LOOK,), next_steps=())
    assert shown.report(only_ours, AIM).basis == report.basis  # type: ignore[union-attr]


def test_so_do_those_of_the_steps_of_a_plan() -> None:
    steps = tuple(PlanStep("cordon", "n0", "", "", "why", command=command) for command in ("kubectl cordon n0", ""))
    report = PlanReport("yes", samples.BASIS, (), "a/x", 1, steps)
    found = shown.report(report, AIM)
    assert isinstance(found, PlanReport)
    assert [step.command for step in found.steps] == ["kubectl --context=c cordon n0", ""]
    assert found.basis.commands_for == "Mind."


def test_so_do_those_of_jobs_that_are_not_submitted_yet() -> None:
    gang = FitGang("a/x", 1, "no", "not-now", None, None, (), (), None, unblock=(PATCH,), next_steps=(LOOK,))
    report = FitReport("no", samples.BASIS, (), (gang,))
    found = shown.report(report, AIM)
    assert isinstance(found, FitReport)
    assert [way.command for way in (*found.gangs[0].unblock, *found.gangs[0].next_steps)] == [
        "kubectl --context=c patch x",
        "kubectl koord preempt x --dry-run --demo",
    ]
    assert found.basis.commands_for == "Mind."


def test_so_are_those_of_findings() -> None:
    finding = Finding("numa-policy-unknown", "error", "Node/n1", "a", "b", command="kubectl label node n1 x-")
    ours = structs.replace(finding, command="kubectl koord doctor --print-rbac")
    report = DoctorReport("no", samples.BASIS, (), (finding, ours))
    found = shown.report(report, AIM)
    assert isinstance(found, DoctorReport)
    commands = [one.command for one in found.findings]
    assert commands == ["kubectl --context=c label node n1 x-", "kubectl koord doctor --print-rbac --demo"]
    assert found.basis.commands_for == "Mind."


def test_the_commands_of_the_manual_are_aimed_whether_printed_or_handed_on() -> None:
    page = shipped_manual().explained("insufficient-slots")
    assert isinstance(page, Explanation)
    found = shown.report(page, AIM)
    assert isinstance(found, Explanation)
    assert found.see[0] == "kubectl koord topo --for GANG -n NAMESPACE --demo"
    html = show.to_hand_on(page, "html", aim=AIM)
    assert found.see[0] in html


def test_what_has_no_commands_stays() -> None:
    assert shown.report(shipped_manual().contents(), AIM) == shipped_manual().contents()


def test_context_and_cluster_are_named_where_the_kubeconfig_names_them() -> None:
    report = samples.WHY
    found = shown.named(report, "eu", "prod")
    assert found == structs.replace(report, basis=structs.replace(report.basis, cluster="eu", context="prod"))
    assert shown.named(report, "", "") is report
    page = shipped_manual().contents()
    assert shown.named(page, "eu", "prod") is page


def test_the_last_line_names_them() -> None:
    basis = Basis("1.8", "as requested", "2026-11-20T10:00:00Z", "cluster", context="prod", cluster="eu")
    assert evaluated_as(basis) == "Evaluated as Koordinator 1.8 (as requested). Context prod, cluster eu"
    assert read_at(structs.replace(basis, context="")) == "Read from the cluster at 2026-11-20T10:00:00Z. Cluster eu"
    assert read_at(structs.replace(basis, cluster="")) == "Read from the cluster at 2026-11-20T10:00:00Z. Context prod"
