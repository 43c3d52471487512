"""The scheduler's words, read: composed samples of each shape, and every recorded condition and event."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kubectl_koord.explain.why import why
from kubectl_koord.messages.parser import (
    DomainSlots,
    Fragment,
    ParsedMessage,
    Phrase,
    QuotaMessage,
    Rejection,
    Suggestion,
    TopologyMessage,
    read,
)
from tests.conformance.cases import PLAIN, VERSIONS, Case, read_cases, snapshot_of, subject_of
from tests.conformance.grading import slots_shown

FOLDER = Path(__file__).parents[1] / "cases"
CASES = list(read_cases(FOLDER, PLAIN))
SPINES = "topology topologyNode SpineLayer/s0: 3;topology topologyNode SpineLayer/s1: 2"
S0, S1 = DomainSlots("SpineLayer", "s0", 3), DomainSlots("SpineLayer", "s1", 2)
CPU = ParsedMessage(nodes=12, counts=((7, "Insufficient cpu"),))
PLAN = "no candidate topology nodes can accommodate job, desiredOfferSlot: 4"


class Said(msgspec.Struct, frozen=True):
    """One recorded text: of a condition, an event, a victim's condition, or an event `Preempted`."""

    kind: str
    versions: tuple[str, ...]
    case: str
    text: str


RECORDED = [
    msgspec.json.decode(line, type=Said)
    for line in gzip.decompress((FOLDER / "messages.txt.gz").read_bytes()).splitlines()
]


def rejected(reason: str, waiting: int = 3) -> str:
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'GangGroup "ns/g" gets rejected due to member Pod "ns/w-0" is unschedulable with reason "{quoted}",'
        f" alreadyWaitForBound: {waiting}"
    )


def test_a_histogram_is_read_as_counts_and_the_preemption_text_apart() -> None:
    message = (
        "0/5 nodes are available: 2 node(s) had untolerated taint {a: b}, 3 Insufficient cpu."
        " preemption: 0/5 nodes are available: 3 no potential victims., preemption: 0/5 nodes are available: 1 x."
    )

    assert read(message) == ParsedMessage(
        nodes=5,
        counts=((2, "node(s) had untolerated taint {a: b}"), (3, "Insufficient cpu")),
        preemption=(
            Fragment(ParsedMessage(nodes=5, counts=((3, "no potential victims"),))),
            Fragment(ParsedMessage(nodes=5, counts=((1, "x"),))),
        ),
    )


def test_what_reservations_add_behind_the_histogram_is_counted_too() -> None:
    words = read(
        "0/3 nodes are available: 3 Insufficient cpu. 2 Reservation(s) x, 2 Reservation(s) matched owner total."
    )

    assert words.counts == ((3, "Insufficient cpu"), (2, "Reservation(s) x"), (2, "Reservation(s) matched owner total"))


@pytest.mark.parametrize("number", ["", "12 "], ids=["bare", "counted"])
@pytest.mark.parametrize(
    ("domains", "expected"),
    [
        (SPINES, TopologyMessage(4, (S0, S1), None, (), CPU)),
        ("max offer slot among 2 must-gather topology nodes: 3", TopologyMessage(4, (), (2, 3), (), CPU)),
        ("", TopologyMessage(4, (), None, (), CPU)),
        ("some day more", TopologyMessage(4, (), None, (), CPU, "some day more")),
        (f"{SPINES};x", TopologyMessage(4, (S0, S1), None, (), CPU, "x")),
    ],
    ids=["by domain", "only the best (koordinator#3191)", "a layer that does not exist", "unknown", "unknown item"],
)
def test_a_failed_plan_yields_its_slots(domains: str, expected: TopologyMessage, number: str) -> None:
    message = f"0/12 nodes are available: {number}{PLAN}, {domains}, 0/12 nodes are available: 7 Insufficient cpu.."

    assert read(message) == ParsedMessage(nodes=12, topology=expected)


@pytest.mark.parametrize("fit", ["", ", 0/12 nodes are available: 7 Insufficient cpu."])
def test_multiples_are_read_with_and_without_the_nested_histogram(fit: str) -> None:
    words = read(f"0/9 nodes are available: {PLAN}, {SPINES}{fit}; podCountMultiple constraints: B=4, S=2, odd.")

    assert words.topology == TopologyMessage(4, (S0, S1), None, (("B", 4), ("S", 2)), CPU if fit else None, "odd")


@pytest.mark.parametrize("prefix", ["0/12 nodes are available: ", "", "0/1 nodes are available: 1 "])
def test_a_quoted_member_is_unquoted_and_read_itself(prefix: str) -> None:
    attempt = "preemption already attempted by ns/w-0 with message preempt success, alreadyWaitingForBound: 3/8"
    message = f"{prefix}{rejected('0/12 nodes are available: 7 Insufficient cpu.')}. preemption: {attempt}"

    words = read(message)

    success = Phrase("preempt-success", (("waiting", "3"), ("members", "8")))
    assert words == ParsedMessage(
        nodes={"": None}.get(prefix, int(prefix[2:4].strip() or 0) if prefix else 0),
        rejected=Rejection("ns/g", "ns/w-0", CPU, 3),
        preemption=(Fragment(ParsedMessage(phrase=success), by="ns/w-0"),),
    )
    assert words.has_preempted
    assert words.is_quote
    assert words.root == CPU
    assert dict(success.about) == success.names == {"waiting": "3", "members": "8"}


def test_quotations_are_followed_three_levels_deep() -> None:
    message = (
        f"0/9 nodes are available: {rejected(rejected(rejected(f'0/9 nodes are available: 9 {PLAN}, {SPINES}.')))}"
    )

    words = read(message)

    assert words.slots == TopologyMessage(4, (S0, S1))
    assert words.rejected is not None
    assert words.rejected.words.rejected is not None


def test_nesting_ends_at_some_depth_and_keeps_the_rest_as_text() -> None:
    quote = rejected("x")
    plan = f"{PLAN}, , 0/1 nodes are available: 1 x"

    assert read(quote, 0) == ParsedMessage(text=quote)
    assert read(plan, 0).topology == TopologyMessage(4, nodes=ParsedMessage(text="0/1 nodes are available: 1 x"))
    assert read("x preemption: y", 0) == ParsedMessage(text="x", preemption=(Fragment(ParsedMessage(text="y")),))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('\\a\\b\\f\\n\\r\\t\\v\\\\\\"', '\a\b\f\n\r\t\v\\"'),
        ("\\x41\\u00e4\\U0001f600", "A\u00e4\U0001f600"),
        ("\\\\x41", "\\x41"),
        ("\\q\\Uffffffff", "\\q\\Uffffffff"),
    ],
)
def test_go_quoting_is_undone_and_what_is_none_left_as_it_is(written: str, meant: str) -> None:
    member = 'gets rejected due to member Pod "p" is unschedulable with reason "x", alreadyWaitForBound: 0'
    message = f'GangGroup "{written}" {member}'

    assert read(message).rejected == Rejection(meant, "p", ParsedMessage(text="x"), 0)


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        (
            (
                "Insufficient quotas, quotaName: q, runtime: cpu:1,memory:2Gi, used: <empty>, pod's request: cpu:1,"
                " exceedDimensions: [cpu memory]"
            ),
            QuotaMessage(("q",), "runtime", (("cpu", "1"), ("memory", "2Gi")), (), (("cpu", "1"),), ("cpu", "memory")),
        ),
        (
            (
                "Insufficient quotas, quotaNameTopo: [root q], runtime: cpu:1, used: cpu:1, pod's request: cpu:1,"
                " exceedDimensions: [cpu]"
            ),
            QuotaMessage(("root", "q"), "runtime", (("cpu", "1"),), (("cpu", "1"),), (("cpu", "1"),), ("cpu",)),
        ),
        (
            (
                "Insufficient non-preemptible quotas, quotaName: q, min: cpu:1, nonPreemptibleUsed: cpu:1,"
                " pod's request: nvidia.com/gpu:1, exceedDimensions: []"
            ),
            QuotaMessage(("q",), "min", (("cpu", "1"),), (("cpu", "1"),), (("nvidia.com/gpu", "1"),), ()),
        ),
    ],
    ids=["quota", "parents", "non-preemptible"],
)
def test_a_quota_refusal_becomes_a_value(text: str, quota: QuotaMessage) -> None:
    assert read(f"0/3 nodes are available: {text}.") == ParsedMessage(nodes=3, quota=quota)
    assert read(f"0/3 nodes are available: 3 {text}.") == ParsedMessage(nodes=3, quota=quota)  # as others quote it


def test_what_reservations_add_behind_a_refusal_before_any_node_is_counted_beside_it() -> None:
    quota = "Insufficient quotas, quotaName: q, runtime: cpu:1, used: , pod's request: cpu:2, exceedDimensions: [cpu]"
    claim = "pod has unbound immediate PersistentVolumeClaims"
    counts = ((1, "Reservation(s) x, y"), (1, "Reservation(s) matched owner total"))
    for refusal in (quota, claim):
        alone = read(f"0/3 nodes are available: {refusal}.")
        behind = "1 Reservation(s) x, y, 1 Reservation(s) matched owner total, preemption: no pending pods."
        words = read(f"0/3 nodes are available: {refusal}. {behind}")
        assert structs.replace(words, preemption=()) == structs.replace(alone, counts=counts)
        cut = read(f"0/3 nodes are available: {refusal}. 1 Reservation(s) x ...")
        assert cut == structs.replace(alone, text="1 Reservation(s) x", cut=True)


PHRASES = [
    ("can't find gang, gangName: ns/g, podName: ns/p", "gang-unknown", {"gang": "ns/g", "pod": "ns/p"}),
    ("gang has not init, gangName: ns/g, podName: ns/p", "gang-not-initialised", {"gang": "ns/g", "pod": "ns/p"}),
    (
        "gangGroup [a/b c/d] basic check: memberGangs [a/b] doesn't exists, 2/4, current gang: c/d, podName: c/p",
        "group-incomplete",
        {"group": "[a/b c/d]", "reason": "memberGangs [a/b] doesn't exists, 2/4", "gang": "c/d", "pod": "c/p"},
    ),
    ("gangGroup a/b,c/d is scheduling and this pod has not been attempted", "group-in-round", {"group": "a/b,c/d"}),
    (
        "representative pod a/p of gangGroupID a/b already exists",
        "member-represents",
        {"pod": "a/p", "group": "a/b"},
    ),
    ("pod a/p is not exists in gangCache", "member-not-known", {"pod": "a/p"}),
    ("no cluster network topology", "no-topology", {}),
    (
        'running PreFilter plugin "Coscheduling": no planned pods',
        "plugin-failed",
        {"point": "PreFilter", "plugin": "Coscheduling", "reason": "no planned pods"},
    ),
    ("no pending pods", "no-pending-pods", {}),
    (
        (
            "job failed due to job batch schedule failed, assumed 2 pods, failed 1 pods, first failed pod a/p@n"
            " failed due to x, assumed pods on node n: [a/q]"
        ),
        "batch-failed",
        {"assumed": "2", "failed": "1", "pod": "a/p", "node": "n", "reason": "x, assumed pods on node n: [a/q]"},
    ),
    (
        "inline batch permit did not complete: 2 pods are still waiting after all pods were permitted",
        "batch-waits",
        {"pods": "2"},
    ),
    ("permit failed for pod a/p@n: x", "batch-not-permitted", {"pod": "a/p", "node": "n", "reason": "x"}),
    ("Gang not found", "gang-gone", {}),
    ("gang is nil, may be already deleted", "gang-gone", {}),
    ("node(s) no reservations match reservation affinity", "no-reservation", {}),
    ("the requested CPUs must be integer", "cpus-not-integer", {}),
    ("pod has unbound immediate PersistentVolumeClaims", "claim-unbound", {}),
    ('persistentvolumeclaim "x" not found', "claim-missing", {"claim": "x"}),
    ('persistentvolumeclaim "x" is being deleted', "claim-deleted", {"claim": "x"}),
    ("PVC a/x was not created for pod a/p (pod is not owner)", "claim-of-other", {"claim": "a/x"}),
    (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "x"',
        "claim-awaited",
        {"claim": "x"},
    ),
    ('persistentvolume "v" not found', "volume-missing", {"volume": "v"}),
    (
        'persistentvolumeclaim "x" bound to non-existent persistentvolume "v"',
        "volume-missing",
        {"claim": "x", "volume": "v"},
    ),
    ("request r: device class c does not exist", "device-class-missing", {"request": "r", "class": "c"}),
    ('Gang "a/g" gets rejected due to Pod "p" in Unreserve', "member-unreserved", {"gang": "a/g", "pod": "p"}),
    ("all pending pods is already been attempted", "group-attempted", {}),
    (
        "rejected due to timeout after waiting 10m0s at plugin Coscheduling",
        "permit-timeout",
        {"waited": "10m0s", "plugin": "Coscheduling"},
    ),
    ("preempted", "preempted", {}),
    ("preempt success, alreadyWaitingForBound: 0/2", "preempt-success", {"waiting": "0", "members": "2"}),
    ("plan become invalid, wait for the next round", "plan-invalid", {}),
    ("not eligible due to preemptionPolicy=Never", "preempts-never", {}),
    ("not eligible due to terminating pod on the nominated node", "victims-terminate", {}),
    ("not eligible due to a terminating pod on the nominated node", "victims-terminate", {}),
    ("CheckPod failed for hook plugin k, err: e, f", "quota-hook", {"plugin": "k", "reason": "e, f"}),
    ("schedulerName unmatched", "other-scheduler", {}),
    ("pod is being deleted", "being-deleted", {}),
    ("gang child pod not collect enough, gangName: g", "before-1.7-too-few-pods", {"reason": "gangName: g"}),
    ("gang scheduleCycle not valid, x", "before-1.7-cycle", {"reason": "x"}),
    (
        'Gang "g" gets rejected due to member Pod "p" is unschedulable with reason "z"',
        "before-1.7-rejected",
        {"gang": "g", "pod": "p", "reason": "z"},
    ),
]


@pytest.mark.parametrize("wrapping", ["{}", "0/1 nodes are available: 1 {}.", "0/9 nodes are available: {}.."])
@pytest.mark.parametrize(("text", "code", "names"), PHRASES, ids=[text[:40] for text, _, _ in PHRASES])
def test_every_fixed_sentence_is_recognised_in_each_wrapping(
    text: str, code: str, names: dict[str, str], wrapping: str
) -> None:
    words = read(wrapping.format(text))

    assert (words.phrase and words.phrase.code, words.phrase and words.phrase.names, words.text) == (code, names, "")
    assert words.is_of_old_scheduler == code.startswith("before-1.7")
    assert read(f"x. preemption: {text}.").preemption == (Fragment(ParsedMessage(phrase=words.phrase)),)


def test_the_failed_preemption_that_a_waiting_member_is_told_is_read_too() -> None:
    words = read("0/1 nodes are available: 1 0/7 nodes are available: 5 no potential victims, 2 Insufficient cpu.")

    inner = ParsedMessage(nodes=7, counts=((5, "no potential victims"), (2, "Insufficient cpu")))
    assert words == ParsedMessage(nodes=1, permit=inner)
    assert words.root == inner


@pytest.mark.parametrize("post", ["", " preemption: no pending pods."])
def test_a_suggestion_is_taken_from_the_end(post: str) -> None:
    words = read(
        f"0/2 nodes are available: 2 Insufficient cpu.{post} Suggestion: {{type: DeleteConflictPVC, message: a. b}}"
    )

    assert words.suggestion == Suggestion("DeleteConflictPVC", "a. b")
    assert (words.counts, words.text) == (((2, "Insufficient cpu"),), "")
    assert [fragment.words for fragment in words.preemption] == (
        [ParsedMessage(phrase=Phrase("no-pending-pods"))] if post else []
    )
    assert read("Suggestion: {type: half").text == "Suggestion: {type: half"


def test_a_percent_sign_that_version_1_7_garbled_is_mended() -> None:
    assert read("0/1 nodes are available: 1 usage above 65%!o(MISSING)f.").counts == ((1, "usage above 65%of"),)


MANY = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        f"0/{MANY} nodes are available: 1 Insufficient cpu",
        f"0/1 nodes are available: {MANY} Insufficient cpu",
        f"{PLAN.removesuffix('4')}{MANY}, topology topologyNode SpineLayer/s0: 3",
        f"{PLAN}, topology topologyNode SpineLayer/s0: {MANY}",
        f"{PLAN}, max offer slot among {MANY} must-gather topology nodes: 3",
        f"{PLAN}, max offer slot among 3 must-gather topology nodes: {MANY}",
        f"{PLAN}, {SPINES}; podCountMultiple constraints: SpineLayer={MANY}",
        f"{PLAN}, {SPINES}, 0/{MANY} nodes are available: 1 Insufficient cpu",
        rejected("x").removesuffix("3") + MANY,
        rejected(f"0/{MANY} nodes are available: 1 Insufficient cpu"),
    ],
)
def test_a_number_longer_than_any_count_stays_text(text: str) -> None:
    assert f"{MANY}" in repr(read(text))


def test_what_nodes_say_too_is_counted_where_several_say_it() -> None:
    words = read("0/3 nodes are available: 3 the requested CPUs must be integer.")
    assert words == ParsedMessage(nodes=3, counts=((3, "the requested CPUs must be integer"),))


@pytest.mark.parametrize("text", ["etwas anderes", 'persistentvolumeclaim "x" is odd', "0/3 nodes"])
def test_what_is_not_understood_stays_text(text: str) -> None:
    assert read(text) == ParsedMessage(text=text)
    assert read(f"0/3 nodes are available: {text}.") == ParsedMessage(nodes=3, text=text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{PLAN}, {SPINES} ...", TopologyMessage(4, (S0,), text="topology topologyNode SpineLayer/s1: 2 ...")),
        (
            f"{PLAN}, {SPINES}; podCountMultiple constraints: B=4, S=2 ...",
            TopologyMessage(4, (S0, S1), None, (("B", 4),), None, "S=2 ..."),
        ),
        (
            f"{PLAN}, {SPINES}, 0/12 nodes are available: 7 Insufficient cpu, 5 Insuff ...",
            TopologyMessage(
                4, (S0, S1), None, (), ParsedMessage(12, ((7, "Insufficient cpu"),), text="5 Insuff", cut=True)
            ),
        ),
        (f"{PLAN} ...", None),
    ],
    ids=["in the domains", "in the multiples", "in the histogram", "in the number"],
)
def test_of_a_plan_that_is_cut_only_what_is_whole_is_read(text: str, expected: TopologyMessage | None) -> None:
    words = read(f"0/12 nodes are available: {text}")

    assert (words.topology, words.cut) == (expected, True)


@pytest.mark.parametrize("end", [-36, -20, -2, None], ids=["in the reason", "after it", "in the number", "behind it"])
def test_a_quotation_that_is_cut_is_read_as_far_as_it_goes(end: int | None) -> None:
    text = rejected('0/12 nodes are available: 7 Insufficient cpu, 5 Too many "p"ods.', waiting=34)[:end]

    found = read(f"0/12 nodes are available: {text} ...").rejected

    assert found is not None
    assert (found.group, found.pod, found.waiting) == ("ns/g", "ns/w-0", None)
    assert found.words.counts[:1] == ((7, "Insufficient cpu"),)


def test_a_cut_in_the_preemption_text_touches_its_last_item_only() -> None:
    words = read("0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 1 a, 1 No vic ...")

    assert words.counts == ((2, "Insufficient cpu"),)
    assert words.preemption == (Fragment(ParsedMessage(2, ((1, "a"),), text="1 No vic", cut=True)),)


def not_read(words: ParsedMessage) -> Iterator[str]:
    """Yield all that was left as text, other than the end of a message that is cut."""
    if words.text and not words.cut:
        yield words.text
    plan = words.topology
    if plan is not None and not plan.text.endswith(" ..."):
        yield from [plan.text] if plan.text else []
    quoted = words.rejected.words if words.rejected else None
    for each in (words.permit, quoted, plan.nodes if plan else None, *(part.words for part in words.preemption)):
        yield from not_read(each) if each is not None else ()


@pytest.mark.parametrize("kind", ["condition", "event"])
def test_every_recorded_text_is_understood(kind: str) -> None:
    said = [one for one in RECORDED if one.kind == kind]

    assert len(said) > 300
    assert {version for one in said for version in one.versions} == set(VERSIONS)
    assert {one.case.partition("-")[0] for one in said} >= {"quota", "device", "random", "gang", "topology"}
    assert {one.text: left for one in said if (left := list(not_read(read(one.text))))} == {}


def tables(case: Case, recorded: str) -> list[tuple[int, dict[str, int]]]:
    """Return the slot tables of the first conditions of a record, each once."""
    states = (state for states in case.records[recorded]["firstStates"].values() for state in states)
    found = (read((state.get("scheduled") or {}).get("message", "")).slots for state in states)
    each = [(plan.desired, {f"{d.layer}/{d.name}": d.slots for d in plan.domains}) for plan in found if plan]
    return [table for index, table in enumerate(each) if table not in each[:index]]


_FORGOT = "Its PodGroup was made after its pods were bound, so that the scheduler plans for a gang that ran."
KNOWN_DIFFERENCES: dict[tuple[str, str], str] = {
    ("gang-replace-restart-topology-preempt", recorded): _FORGOT for recorded in VERSIONS
}
"""Case and version of a record whose slots differ from ours: the reason."""


@pytest.mark.untraced
@pytest.mark.parametrize("recorded", VERSIONS)
def test_the_slots_that_were_said_are_those_that_we_reckon_for_that_state(recorded: str) -> None:
    differing = {}
    compared = 0
    for case in CASES:
        said = tables(case, recorded) if recorded in case.records else []
        if not said:
            continue
        compared += 1
        snapshot = snapshot_of(case.cluster, VERSIONS[recorded])
        report = why(snapshot, subject_of(snapshot), brief=True)
        ours = [(report.desired_offer_slot, slots_shown(one)) for one in (report.alternatives or (report,))]
        # Where an attempt had an effect, later tables are of another state than the one that we were given.
        is_first_state = not any(one["victims"] or one["bound"] for one in case.records[recorded]["rounds"])
        agrees = all(table in ours for table in said) if is_first_state else any(table in ours for table in said)
        if not agrees:
            differing[case.name, recorded] = (said, ours)
    assert compared > 30
    assert differing.keys() == {key for key in KNOWN_DIFFERENCES if key[1] == recorded}, differing


PIECES = st.sampled_from(
    (
        "0/12 nodes are available: ",
        "12 Insufficient cpu",
        ", ",
        ". ",
        "preemption: ",
        "preemption already attempted by ns/w-0 with message ",
        PLAN,
        SPINES,
        "max offer slot among 2 must-gather topology nodes: 3",
        "; podCountMultiple constraints: S=2",
        rejected("0/12 nodes are available: 7 Insufficient cpu."),
        'GangGroup "',
        '" gets rejected due to member Pod "',
        '" is unschedulable with reason "',
        '", alreadyWaitForBound: ',
        "Insufficient quotas, quotaName: q, runtime: cpu:1, used: cpu:1, pod's request: cpu:1, exceedDimensions: [cpu]",
        "Suggestion: {type: a, message: b}",
        *(text for text, _, _ in PHRASES[:12]),
        "%!x(MISSING)",
        "\\",
        '\\"',
        " ...",
        "\n",
    )
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=8), st.from_regex(r" zz[0-9]{3}qq ", fullmatch=True)), max_size=14)


@given(TEXTS.map("".join))
def test_no_text_raises_and_no_word_of_it_is_lost(message: str) -> None:
    told = repr(msgspec.to_builtins(read(message)))

    assert [mark for mark in re.findall(r"zz[0-9]{3}qq", message) if mark not in told] == []


@given(st.text())
def test_any_text_is_kept_verbatim(message: str) -> None:
    found = read(message)
    assert bare(found.text) == bare(message) or found != ParsedMessage(text=found.text)


def bare(text: str) -> str:
    """Return the text without blanks, commas and dots around it."""
    return re.sub(r"^[\s.,]+|[\s.,]+$", "", text)


@pytest.mark.untraced
@pytest.mark.parametrize(
    "piece",
    [
        '0/1 nodes are available: GangGroup "',
        f"{PLAN}, , 0/1 nodes are available: 1 x",
        "; podCountMultiple constraints: ",
        "preemption: ",
        "Suggestion: {type: ",
        "gangGroup a basic check: , current gang: ",
        "1 x, ",
        "\\",
        "... ",
    ],
)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    # A quadratic reader would need minutes for a megabyte; the test's own limit is that it ends.
    read(piece * (1_000_000 // len(piece)))
