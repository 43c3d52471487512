"""The scheduler's words, read: composed samples of each shape, and every recorded condition."""

from pathlib import Path

import pytest

from kubectl_koord.explain.messages import (
    DomainSlots,
    Rejection,
    TopologyWords,
    Words,
    attempted_by,
    read,
)
from tests.conformance import Case, read_cases

SPINES = "topology topologyNode SpineLayer/s0: 3;topology topologyNode SpineLayer/s1: 2"
CPU = Words(nodes=12, counts=((7, "Insufficient cpu"),))
CASES = list(read_cases(Path(__file__).parents[1] / "cases"))


def test_a_histogram_is_read_as_counts_and_the_preemption_text_apart() -> None:
    message = (
        "0/5 nodes are available: 2 node(s) had untolerated taint {a: b}, 3 Insufficient cpu."
        " preemption: 0/5 nodes are available: 3 no potential victims., preemption: 0/5 nodes are available: 1 x."
    )

    assert read(message) == Words(
        nodes=5,
        counts=((2, "node(s) had untolerated taint {a: b}"), (3, "Insufficient cpu")),
        preemption=(
            "0/5 nodes are available: 3 no potential victims",
            "0/5 nodes are available: 1 x",
        ),
    )


@pytest.mark.parametrize(
    ("domains", "expected"),
    [
        (
            SPINES,
            TopologyWords(4, (DomainSlots("SpineLayer", "s0", 3), DomainSlots("SpineLayer", "s1", 2)), None, (), CPU),
        ),
        ("max offer slot among 2 must-gather topology nodes: 3", TopologyWords(4, (), (2, 3), (), CPU)),
        ("", TopologyWords(4, (), None, (), CPU)),
    ],
    ids=["by domain", "only the best (koordinator#3191)", "a layer that does not exist"],
)
def test_a_failed_plan_yields_its_slots(domains: str, expected: TopologyWords) -> None:
    plan = "no candidate topology nodes can accommodate job, desiredOfferSlot: 4"

    words = read(f"0/12 nodes are available: {plan}, {domains}, 0/12 nodes are available: 7 Insufficient cpu..")

    assert words == Words(nodes=12, topology=expected)


def test_multiples_and_a_plan_without_the_nested_histogram_are_read() -> None:
    plan = f"no candidate topology nodes can accommodate job, desiredOfferSlot: 6, {SPINES}"

    words = read(f"0/9 nodes are available: {plan}; podCountMultiple constraints: BlockLayer=4, SpineLayer=2.")

    assert words.topology == TopologyWords(
        6,
        (DomainSlots("SpineLayer", "s0", 3), DomainSlots("SpineLayer", "s1", 2)),
        None,
        (("BlockLayer", 4), ("SpineLayer", 2)),
        None,
    )


def test_a_quoted_member_is_unquoted_and_read_itself() -> None:
    message = (
        '0/12 nodes are available: GangGroup "ns/g" gets rejected due to member Pod "ns/w-0" is unschedulable with'
        ' reason "0/12 nodes are available: 7 Insufficient \\"cpu\\"\\x2e", alreadyWaitForBound: 3. preemption:'
        " preemption already attempted by ns/w-0 with message preempt success, alreadyWaitingForBound: 3/8"
    )

    words = read(message)

    quoted = Words(nodes=12, counts=((7, 'Insufficient "cpu"'),))
    attempt = "preemption already attempted by ns/w-0 with message preempt success, alreadyWaitingForBound: 3/8"
    assert words == Words(nodes=12, rejected=Rejection("ns/g", "ns/w-0", quoted, 3), preemption=(attempt,))
    assert words.has_preempted
    assert attempted_by(attempt) == ("ns/w-0", "preempt success, alreadyWaitingForBound: 3/8")
    assert attempted_by("no pending pods") is None


def test_quoting_that_is_no_go_string_is_left_as_it_is() -> None:
    message = (
        'GangGroup "g" gets rejected due to member Pod "p" is unschedulable with reason "\\q", alreadyWaitForBound: 0'
    )

    assert read(message).rejected == Rejection("g", "p", Words(text="\\q"), 0)


def test_a_quota_refusal_names_the_quota_and_keeps_its_text() -> None:
    text = (
        "Insufficient quotas, quotaName: q, runtime: cpu:1, used: cpu:1, pod's request: cpu:1, exceedDimensions: [cpu]"
    )

    assert read(f"0/3 nodes are available: {text}.") == Words(nodes=3, quota="q", text=text)


@pytest.mark.parametrize(
    "text",
    [
        "rejected due to timeout after waiting 10m0s at plugin Coscheduling",
        "no cluster network topology",
        "etwas anderes",
    ],
)
def test_what_is_not_understood_stays_text(text: str) -> None:
    assert read(text) == Words(text=text)


def test_nesting_ends_at_some_depth() -> None:
    quote = 'GangGroup "g" gets rejected due to member Pod "p" is unschedulable with reason "x", alreadyWaitForBound: 0'
    plan = "no candidate topology nodes can accommodate job, desiredOfferSlot: 1, , 0/1 nodes are available: 1 x."

    assert read(quote, 0) == Words(text=quote)
    assert read(plan, 0) == Words(topology=TopologyWords(1, (), None, (), None))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_recorded_condition_is_understood(case: Case) -> None:
    known = ("preempt success", "no cluster network topology", "all pending pods is already been attempted")
    messages = [
        (state.get("scheduled") or {}).get("message", "")
        for record in case.records.values()
        for states in record["firstStates"].values()
        for state in states
    ]

    not_read = [words.text for words in map(_innermost, filter(None, messages)) if words.text]

    assert [text for text in not_read if not text.startswith(known)] == []


def _innermost(message: str) -> Words:
    words = read(message)
    while words.rejected is not None:
        words = words.rejected.words
    return words
