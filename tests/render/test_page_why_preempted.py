from msgspec.structs import replace

from kubectl_koord.render.show import text
from kubectl_koord.render.shown import ON_A_SCREEN
from kubectl_koord.reports.jobs import Evidence, PreemptedPod
from tests.render.samples import NOT_PREEMPTED, PIPE, PREEMPTED, TERMINAL


def test_the_preempted_pods_of_a_gang_in_a_pipe() -> None:
    expected = """\
2 pods of default/low were preempted by default/hp, other/big (job preemption).
hp (priority 9000) is still pending: it waits for its victims to terminate (2 pending, minimum 2).
other/big no longer exists.

  POD     NODE     PRIORITY   WHEN   STATE         PREEMPTOR   PREEMPTOR PRIORITY   TRIGGER POD
  low-0   node-0       1000     5m   terminating   hp                        9000   hp-1
  low-1   node-1                9m   gone          other/big                        other/big

The condition of low-0 says: "koord-scheduler: preempting to accommodate higher priority pods"
The event of low-1 says: "Preempted by pod 1-2 on node node-1"

What to do next
  1. Check why hp is pending.
     kubectl koord why-pending default/hp
  2. Job preemption spares pods with label scheduling.koordinator.sh/disable-preemptible=true, and pods of equal or higher priority.

Warning: membership of deleted pods is inferred from their names: default/low-1. (member-by-name)

Evaluated as Koordinator 1.8 (from the image tag)
"""  # noqa: E501
    assert text(PREEMPTED, style=PIPE) == expected


def test_no_sign_of_a_preemption_is_told_with_its_reason() -> None:
    expected = """\
default/low-0: no evidence of preemption: no event tells of one.

Evaluated as Koordinator 1.8 (from the image tag)
"""
    unknown = replace(NOT_PREEMPTED, verdict="unknown", message="Event objects could not be read: no")

    assert text(NOT_PREEMPTED, style=TERMINAL) == expected
    assert "cannot tell whether it was preempted: Event objects" in text(unknown, style=PIPE)


def test_one_pod_of_which_nobody_knows_who_did_it() -> None:
    lone = PreemptedPod("a/p", "n", 1, None, "then", "other", None, None, None, "unknown", (), "gone")
    report = replace(PREEMPTED, verdict="unknown", asked="a/p", is_pod=True, pods=(lone,), preemptors=(), warnings=())

    page = text(report, style=PIPE)

    assert page.splitlines()[0] == (
        "a/p was preempted (ElasticQuota, Reservation or DefaultPreemption); the preemptor is unknown."
    )
    assert "then" in page
    assert "What to do next" not in page


def test_many_victims_are_folded_and_everyone_is_counted() -> None:
    many = tuple(replace(PREEMPTED.pods[0], pod=f"default/low-{number:03}") for number in range(80))

    page = text(replace(PREEMPTED, pods=many), style=PIPE, shown=ON_A_SCREEN)

    assert page.splitlines()[0].startswith("80 pods of default/low were preempted")
    assert "... and 21 more (--all shows them)" in page
    assert "low-058   " in page
    assert "low-059   " not in page
    assert "low-059   " in text(replace(PREEMPTED, pods=many), style=PIPE)


def test_many_texts_are_cut_on_a_terminal_only() -> None:
    many = tuple(
        replace(PREEMPTED.pods[0], pod=f"default/low-{number}", evidence=(Evidence("event", f"Text {number}."),))
        for number in range(20)
    )
    report = replace(PREEMPTED, pods=many)
    assert "\n... and 5 more texts (--all shows them)\n" in text(report, style=TERMINAL)
    assert 'The event of low-19 says: "Text 19."\n' in text(report, style=PIPE)


def test_every_fate_has_words() -> None:
    fates = ("placed", "partly-placed", "pending", "gone", "unknown")
    preemptors = tuple(replace(PREEMPTED.preemptors[0], state=fate, bound=1) for fate in fates)
    dead = tuple(replace(pod, state="gone") for pod in PREEMPTED.pods)

    lines = text(replace(PREEMPTED, preemptors=preemptors, pods=dead), style=PIPE).splitlines()[1:6]

    assert lines == [
        "hp (priority 9000) runs: 1 on nodes, minimum 2.",
        "hp (priority 9000) runs partly: 1 on nodes, minimum 2, 2 pending.",
        "hp (priority 9000) is still pending: the preemption has not helped so far (2 pending, minimum 2).",
        "hp (priority 9000) no longer exists.",
        "hp (priority 9000) could not be read.",
    ]
