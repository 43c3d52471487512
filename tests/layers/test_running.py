"""Running, not ready, or broken: which member, with what exit code, since when; and gangs below their minimum."""

import pytest

from kubectl_koord.explain.way import SCHEDULER, is_running
from kubectl_koord.layers import binding, running
from kubectl_koord.model.jobs import ContainerState, JobEvent, ObjectCondition, PodState
from kubectl_koord.model.values import Taint
from kubectl_koord.simulation import subjects
from tests.layers.drawing import HOUR_AGO, alone, asked, event, gang_of, pod, ready, said, states, steps, told, waiting

CRASH = waiting("CrashLoopBackOff", restarts=5, last_exit_code=1, last_reason="Error")
UNREADY = ready(ready=False)


def failed(name: str = "p", code: int = 1, reason: str = "Error") -> PodState:
    ended = ContainerState("main", state="terminated", exit_code=code, reason=reason)
    return pod(name, ended, phase="Failed")


ONE_POD: list[tuple[str, PodState, tuple[JobEvent, ...], str, str]] = [
    (
        "a container crashes again and again",
        pod("p", CRASH, phase="Running", ready_since=HOUR_AGO),
        (),
        (
            "was started and is broken: it on n0 has container main, which ended with exit code 1, 5 restarts "
            "(CrashLoopBackOff)."
        ),
        "kubectl logs p -n default -c main --previous",
    ),
    (
        "a container is killed for its memory",
        pod("p", waiting("CrashLoopBackOff", restarts=1, last_exit_code=137, last_reason="OOMKilled")),
        (),
        (
            "was started and is broken: it on n0 has container main, which was killed as it used more memory than its "
            "limit (OOMKilled), 1 restart (CrashLoopBackOff)."
        ),
        "kubectl logs p -n default -c main --previous",
    ),
    (
        "a container has just ended with a signal",
        pod("p", ContainerState("main", state="terminated", exit_code=139, reason="Error"), phase="Running"),
        (),
        "was started and is broken: it on n0 has container main, which ended with exit code 139 (SIGSEGV).",
        "kubectl logs p -n default -c main",
    ),
    (
        "nobody says how a container has ended",
        pod("p", waiting("CrashLoopBackOff", restarts=1)),
        (),
        "was started and is broken: it on n0 has container main, which ended, 1 restart (CrashLoopBackOff).",
        "kubectl logs p -n default -c main --previous",
    ),
    (
        "only the reason is told of how a container has ended",
        pod("p", waiting("CrashLoopBackOff", restarts=1, last_reason="ContainerStatusUnknown")),
        (),
        (
            "was started and is broken: it on n0 has container main, which ended (ContainerStatusUnknown), 1 restart "
            "(CrashLoopBackOff)."
        ),
        "kubectl logs p -n default -c main --previous",
    ),
    (
        "a pod that is not started again",
        failed(),
        (),
        "was started and is broken: it on n0 has container main, which ended with exit code 1.",
        "kubectl logs p -n default -c main",
    ),
    (
        "an evicted pod",
        PodState(
            key="default/p",
            phase="Failed",
            node="n0",
            reason="Evicted",
            message="The node was low on resource: memory.",
        ),
        (),
        "was started and is broken: it on n0 has failed (Evicted: The node was low on resource: memory).",
        "kubectl describe pod p -n default",
    ),
    (
        "a pod that has failed though no container ended with an error",
        failed(code=0, reason="Completed"),
        (),
        "was started and is broken: it on n0 has failed (Failed).",
        "kubectl describe pod p -n default",
    ),
    (
        "a probe fails",
        pod("p", UNREADY, phase="Running", ready_since=HOUR_AGO),
        (event("p", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),),
        (
            "runs and is not ready: it on n0 has not been ready for 60m (container main): Readiness probe failed: "
            "HTTP probe failed with statuscode: 503."
        ),
        "kubectl describe pod p -n default",
    ),
    (
        "nobody says why a pod is not ready",
        pod("p", ready(), phase="Running", ready=False, scheduled=""),
        (),
        "runs and is not ready: it on n0 has not been ready (the pod).",
        "kubectl describe pod p -n default",
    ),
    (
        "a readiness gate is not met",
        pod("p", ready(), ready=False, unready_gates=(ObjectCondition("example.com/lb", "False"),)),
        (),
        "runs and is not ready: it on n0 has not been ready for 60m: readiness gate example.com/lb is not met.",
        "kubectl describe pod p -n default",
    ),
    (
        "a sidecar crashes",
        pod("p", waiting("CrashLoopBackOff", name="proxy", init=True, restarts=2, last_exit_code=143), ready()),
        (),
        (
            "was started and is broken: it on n0 has container proxy, which ended with exit code 143 (SIGTERM), "
            "2 restarts (CrashLoopBackOff)."
        ),
        "kubectl logs p -n default -c proxy --previous",
    ),
]


@pytest.mark.parametrize(
    ("one", "events", "why", "command"), [row[1:] for row in ONE_POD], ids=[row[0] for row in ONE_POD]
)
def test_a_pod_that_was_started_and_is_not_well_tells_why(
    one: PodState, events: tuple[JobEvent, ...], why: str, command: str
) -> None:
    report = asked(alone(one, *events), "p")
    assert said(report) == (running.NAME, why)
    assert [step[2] for step in steps(report)] == [command]
    assert (report.verdict, report.cause and report.cause.code) == ("no", "not-ready")


def test_a_node_that_is_lost_comes_before_what_its_pods_last_said() -> None:
    tainted = (Taint("node.kubernetes.io/not-ready", "", "NoExecute"),)
    drawn = alone(pod("p", UNREADY, phase="Running")).change("n0", ready=False, taints=tainted)
    assert said(asked(drawn, "p")) == (
        running.NAME,
        "was started and is broken: it on n0 cannot run: node n0 is not ready.",
    )


def test_the_member_that_holds_is_named_and_how_many_are_like_it() -> None:
    drawn = gang_of(
        pod("w-0", ready()),
        pod("w-1", CRASH, node="n1"),
        pod("w-2", CRASH, node="n2"),
        pod("w-3", UNREADY, node="n3", phase="Running"),
    )
    report = asked(drawn)
    assert said(report) == (
        running.NAME,
        (
            "was started and is broken: w-1 on n1 has container main, which ended with exit code 1, 5 restarts "
            "(CrashLoopBackOff), 1 more alike; 1 more pod not ready."
        ),
    )
    assert states(report) == {SCHEDULER: "passed", binding.NAME: "passed", running.NAME: "held"}
    held = report.layers[-1]
    assert held.message == "3 of 4 pods: w-1 on n1 with container main, which ended with exit code 1"
    assert (held.object, held.since) == ("Pod/default/w-1", HOUR_AGO)


def test_a_gang_below_its_minimum_is_told_with_those_that_are_left() -> None:
    left = gang_of(pod("w-0", ready()), pod("w-1", ready(), node="n1"), minimum=3)
    assert said(asked(left)) == (
        running.NAME,
        "is below its minimum: 2 of 3 members left; no pod waits to take the place of the others.",
    )
    assert [step[0] for step in steps(asked(left))] == ["add-pods"]
    pods = (pod("w-0", ready()), failed("w-1", code=0))
    assert "w-1 on n0 has failed (Failed)" in said(asked(gang_of(*pods, minimum=2)))[1]


def test_pods_that_run_and_those_that_have_finished_pass() -> None:
    both = gang_of(pod("w-0", ready()), pod("w-1", ready(), node="n1"))
    report = asked(both)
    assert (report.verdict, said(report)) == ("yes", ("", ""))
    assert report.layers[-1].message == "2 of 2 pods ready"
    assert is_running(both, subjects.again(both, "default/job", lone_pod=False))
    done = gang_of(pod("w-0", phase="Succeeded"), pod("w-1", phase="Succeeded"))
    assert asked(done).layers[-1].message == "2 pods finished"
    starts = gang_of(pod("w-0", ready()), pod("w-1", waiting("ContainerCreating"), node="n1"))
    assert not is_running(starts, subjects.again(starts, "default/job", lone_pod=False))


def test_events_tell_of_probes_of_the_pod_that_is_not_ready() -> None:
    drawn = told(gang_of(pod("w-0", UNREADY, phase="Running")), event("w-1", "Unhealthy", "probe failed"))
    assert "probe failed" not in said(asked(drawn))[1]
