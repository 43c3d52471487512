"""The scheduler's words beside what is computed now: how old, whether they hold, when it tries again."""

import pytest

from kubectl_koord.diagnosis.scheduler_says import with_texts
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs import SaidText, SchedulerSays
from tests.build import SPINE, Drawing, cluster, why_of

SINCE, SEEN = "2026-11-20T09:55:00Z", "2026-11-20T09:59:00.5Z"
SELDOM = "it retries within 5 min 30 s, or at once when a pod is added or minMember goes above its pods and back"
OFTEN = "it mostly retries within seconds, after 5 min 30 s at the latest"
SOON = "it retries when resources are freed or the cluster changes, after 5 min 30 s at the latest"
TWO = cluster("s0: b0[n1 n2 n3]; s1: b1[n4 n5 n6 n7]")
JOB = TWO.with_gang("job", 4, 8, must_gather=SPINE)
STUCK = TWO.with_running("x", "n7", 8).with_gang("job", 4, 8, must_gather=SPINE)


def plan(s0: int, s1: int) -> str:
    slots = f"topology topologyNode SpineLayer/s0: {s0};topology topologyNode SpineLayer/s1: {s1}"
    told = f"no candidate topology nodes can accommodate job, desiredOfferSlot: 4, {slots}"
    return f"0/7 nodes are available: {told}, 0/7 nodes are available: 7 Insufficient cpu."


def says(drawing: Drawing) -> SchedulerSays:
    found = why_of(drawing).scheduler_says
    assert found is not None
    return found


def test_slots_that_have_grown_are_told_beside_those_of_then_with_the_next_try() -> None:
    assert says(JOB.with_message("job-0", plan(2, 3)).with_event("job-1", "x")) == SchedulerSays(
        message=plan(2, 3),
        since=SINCE,
        agrees=False,
        pod="default/job-0",
        last_seen=SEEN,
        reads="the scheduler counted 3 of 4 slots in s1",
        now="it is 4 of 4",
        retry=OFTEN,
    )


def test_before_18_and_alone_a_pod_that_coscheduling_refused_waits_for_the_flush() -> None:
    message = plan(2, 3)
    lone = TWO.with_gang("job", 1, 8, must_gather=SPINE)
    for drawing, retry in ((JOB.version("1.7"), SELDOM), (JOB.version("main"), OFTEN), (lone, SELDOM)):
        assert says(drawing.with_message("job-0", message)).retry == retry


@pytest.mark.parametrize(
    ("message", "agrees", "now", "retry"),
    [
        (plan(3, 3), True, "it is unchanged", ""),
        (plan(4, 1), False, "it is 3 of 4", OFTEN),
        (plan(2, 3), False, "the most is 3 of 4 in s0", OFTEN),
        ("0/7 nodes are available: 7 Insufficient cpu.", None, "it would still not be placed", ""),
    ],
)
def test_what_holds_now_is_told_in_words(message: str, *, agrees: bool | None, now: str, retry: str) -> None:
    found = says(STUCK.with_message("job-0", message))

    assert (found.agrees, found.now, found.retry, found.last_seen) == (agrees, now, retry, None)


def test_what_was_said_of_the_request_holds_while_it_is_the_cause() -> None:
    said = "0/3 nodes are available: invalid resource unit koordinator.sh/rdma: 150."
    for amount, agrees in ((150, True), (99, None)):
        job = TWO.with_gang("job", 1, requests=(("koordinator.sh/rdma", amount),))
        found = says(job.with_message("job-0", said))
        assert (found.reads, found.agrees) == (
            "the scheduler refused the amount 150 of koordinator.sh/rdma",
            agrees,
        )


@pytest.mark.parametrize(
    ("message", "reads"),
    [
        ("invalid resource device requests: [a b]", "the scheduler refused this set of device resources: a b"),
        (
            "invalid DeviceAllocateHint annotation, err: odd",
            "the scheduler could not read annotation DeviceAllocateHint: odd",
        ),
        (
            "invalid VFSelector of DeviceHint, deviceType: rdma, err: odd",
            "the scheduler could not read VFSelector of the device hint for rdma: odd",
        ),
        (
            "no matched GPU shared resource template",
            "the scheduler found no template for the requested share of the device",
        ),
        (
            'running "DeviceShare" filter plugin: GPUIsolationProviderHAMICore not found on the node',
            (
                "the scheduler gave up the attempt because plugin DeviceShare failed: GPUIsolationProviderHAMICore not"
                " found on the node"
            ),
        ),
    ],
)
def test_what_deviceshare_says_is_understood(message: str, reads: str) -> None:
    assert says(STUCK.with_message("job-0", message)).reads == reads


@pytest.mark.parametrize(
    ("message", "reads", "retry"),
    [
        ("0/7 nodes are available: 5 a, 2 b.", "the scheduler found no node: 5 a and 2 b", SOON),
        ("no cluster network topology", "the scheduler had no topology tree", SELDOM),
        ("preempted", "the scheduler gave the place of this waiting pod to another", ""),
        ("no such words", "", ""),
        (
            (
                "Insufficient quotas, quotaNameTopo: [root q], runtime: cpu:8, used: <empty>, pod's request: cpu:9,"
                " exceedDimensions: [cpu]"
            ),
            "the scheduler found quota root/q exhausted: cpu 0 used, 9 requested, limit 8",
            SOON,
        ),
        (
            (
                "Insufficient non-preemptible quotas, quotaName: q, min: cpu:8, nonPreemptibleUsed: cpu:8,"
                " pod's request: cpu:9, exceedDimensions: [cpu]"
            ),
            ("the scheduler found non-preemptible quota q exhausted: cpu 8 used, 9 requested, limit 8"),
            SOON,
        ),
    ],
    ids=["histogram", "no tree", "preempted", "unknown", "quota", "quota min"],
)
def test_words_that_no_longer_hold_say_when_the_next_try_comes(message: str, reads: str, retry: str) -> None:
    found = says(JOB.with_message("job-0", message))

    assert (found.reads, found.agrees, found.retry, found.now) == (reads, False, retry, "it would be placed")


@pytest.mark.parametrize(
    ("listed", "reads", "now"),
    [
        (
            "max offer slot among 2 must-gather topology nodes: 3",
            "counted at most 3 of 4 slots in each of 2 domains",
            "the most is 4 of 4 in s1",
        ),
        ("", "found no domain in the requested layer", "the most is 4 of 4 in s1"),
        (
            "x",
            "found no domain in the requested layer (part of its list could not be read)",
            "the most is 4 of 4 in s1",
        ),
    ],
    ids=["only the best", "unknown layer", "unread"],
)
def test_plans_without_a_slot_table_are_told_too(listed: str, reads: str, now: str) -> None:
    told = f"no candidate topology nodes can accommodate job, desiredOfferSlot: 4, {listed}"

    found = says(JOB.with_message("job-0", f"0/7 nodes are available: {told}, 0/7 nodes are available: 7 x."))

    assert (found.reads, found.now) == (f"the scheduler {reads}", now)


def test_the_whole_cluster_has_no_name() -> None:
    told = "no candidate topology nodes can accommodate job, desiredOfferSlot: 8, topology topologyNode"
    drawing = TWO.with_gang(
        "job", 8, 8, topology='{"gatherStrategy": [{"layer": "BlockLayer", "strategy": "PreferGather"}]}'
    )

    found = says(drawing.with_message("job-0", f"{told} ClusterTopologyLayer/: 6"))

    assert (found.reads, found.now) == ("the scheduler counted 6 of 8 slots in the whole cluster", "it is 7 of 8")


def test_without_a_condition_the_events_are_read_and_those_of_earlier_pods_are_not() -> None:
    drawing = JOB.with_event("job-0", plan(2, 3)).with_event("job-1", "0/7 nodes are available: 7 x", first_seen="2026")
    renewed = drawing.change_pods(created="2026-11-20T09:59:30Z")

    found = says(drawing)

    assert (found.message, found.since, found.last_seen, found.pod) == (
        plan(2, 3),
        "2026-11-20T09:50:00Z",
        SEEN,
        "default/job-0",
    )
    assert why_of(renewed).scheduler_says is None
    assert why_of(JOB.with_event("job-0", "x", reason="Preempted").with_event("other", "x")).scheduler_says is None


def test_every_distinct_text_is_told_with_its_pods_the_root_cause_first() -> None:
    drawing = JOB.with_message("job-0", "a").with_message("job-1", "b").with_message("job-2", "b")
    pending = drawing.subject("job").pending

    found = with_texts(why_of(drawing), pending).scheduler_says
    of_event = with_texts(why_of(JOB.with_event("job-3", "c")), pending).scheduler_says

    assert found is not None
    assert found.texts == (SaidText("a", ("default/job-0",)), SaidText("b", ("default/job-1", "default/job-2")))
    assert of_event is not None
    only = with_texts(why_of(JOB.with_event("job-3", "c")), JOB.subject("job").pending).scheduler_says
    assert only is not None
    assert only.texts == (SaidText("c", ("default/job-3",)),)
    assert with_texts(why_of(JOB), pending) == why_of(JOB)


FAILED = "0/7 nodes are available: 7 Insufficient cpu."
NO_VICTIMS = "0/7 nodes are available: 7 no potential victims."
NO_ROOM = "0/7 nodes are available: 6 Insufficient cpu, 1 Too many pods."
TRIED = f"{FAILED} preemption: {NO_VICTIMS}"


def quoting(reason: str) -> str:
    told = f'gets rejected due to member Pod "default/job-9" is unschedulable with reason "{reason}"'
    return f'0/7 nodes are available: GangGroup "default/job" {told}, alreadyWaitForBound: 2.'


def waited(text: str) -> str:
    return f"0/1 nodes are available: 1 {text}."


UNRESERVED = waited('Gang "default/job" gets rejected due to Pod "default/job-1" in Unreserve')
TIMED_OUT = waited("rejected due to timeout after waiting 10m0s at plugin Coscheduling")
ROUND_ENDED = waited("all pending pods is already been attempted")
UNPLANNED = 'running PreFilter plugin "Coscheduling": no planned pods'
OLD_QUOTE = 'Gang "default/job" gets rejected due to member Pod "default/job-9" is unschedulable with reason "x"'


@pytest.mark.parametrize(
    ("texts", "root"),
    [
        ((waited(NO_VICTIMS.rstrip(".")), TRIED), 1),
        ((NO_VICTIMS, TRIED), 1),
        ((NO_ROOM, f"{FAILED} preemption: {NO_ROOM}"), 1),
        ((waited(NO_VICTIMS), quoting(FAILED)), 1),
        ((waited("preempt success, alreadyWaitingForBound: 1/2"), FAILED), 1),
        ((quoting(FAILED), ROUND_ENDED, FAILED), 2),
        ((ROUND_ENDED, OLD_QUOTE), 1),
        ((UNPLANNED, FAILED), 1),
        ((ROUND_ENDED, UNPLANNED), 1),
        ((UNRESERVED, TIMED_OUT), 1),
        ((UNRESERVED, 'running PreBind plugin "x": no'), 1),
        ((waited(NO_VICTIMS), waited(NO_VICTIMS)), 0),
    ],
)
def test_what_a_pod_was_told_that_had_waited_is_no_root_cause_where_another_failed(
    texts: tuple[str, ...], root: int
) -> None:
    drawing = STUCK
    for number, text in enumerate(texts):
        drawing = drawing.with_message(f"job-{number}", text)

    found = says(drawing)

    assert (found.pod, found.message) == (f"default/job-{root}", texts[root])


@pytest.mark.parametrize("text", [NO_VICTIMS, waited(NO_VICTIMS)], ids=["1.7", "1.8"])
def test_a_failed_preemption_is_not_told_as_a_search_for_nodes(text: str) -> None:
    assert says(STUCK.with_message("job-0", text)).reads == (
        "the scheduler could not preempt for it: 7 no potential victims"
    )


def test_unreadable_events_are_told_only_where_they_would_have_told_something() -> None:
    silent = why_of(JOB.with_gap("Event"))
    told = why_of(JOB.with_message("job-0", plan(2, 3)).with_gap("Event"))

    assert (silent.verdict, silent.warnings) == ("yes", ())
    assert told.verdict == "yes"
    message = "Event: you may not read it: the time of the scheduler's last message is unknown."
    assert told.warnings == (Notice("forbidden-list", message),)
