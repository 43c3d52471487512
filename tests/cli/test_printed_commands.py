"""What is printed to be pasted: it exists, it is accepted, and it does what was said, on recorded clusters."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_koord.cli.command_line import in_full, take_globals
from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain.why import why
from kubectl_koord.reports import common
from kubectl_koord.reports.common import WayOut
from kubectl_koord.reports.jobs import WhyReport
from kubectl_koord.reports.manual import Explanation
from kubectl_koord.simulation import subjects
from tests.cli.conftest import Run
from tests.conformance.cases import Case, read_cases, snapshot_of, subject_of
from tests.pasting import Call, Json, changed_as_planned, done, pasted, understood

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
FAMILIES = sorted(path.name.partition(".")[0] for path in CASES.glob("*.jsonl.gz"))
FEW, MANY = 5, {"gang": 40}
"""How many clusters of a family are asked about in each run; next steps are those of gangs."""
_NO_PROMISE = {"touch-podgroup", "wake-gang", "wait-for-preemption", "wait-for-terminating"}
"""What the scheduler does by itself later on."""
_SHOWN = re.compile(r"^ *(?:Details: )?(kubectl koord .* --demo)$", re.MULTILINE)


def spread(cases: list[Case], most: int) -> list[Case]:
    return cases[:: max(1, len(cases) // most)][:most]


def carried_out(koord: Run, command: str, cluster: Json, folder: Path) -> Json:
    """Return the cluster after a command; what only shows something is run as it is."""
    for call in pasted(command, folder):
        if call.words[0] != "koord":
            cluster = done(call, cluster)
            continue
        words = call.words[1:]
        file = folder / "cluster.json"
        file.write_text(json.dumps(cluster))
        row = VERBS[in_full(take_globals(words)[1])]
        is_change = "" in row.sends and row.only_with in ("", *words)
        answer = koord(*words, *(["--dry-run=client", "-o", "json"] if is_change else []), "--snapshot", str(file))
        assert not answer.err, command
        if words[0] == "evict":
            gone = [item["metadata"] for item in json.loads(answer.out)["items"]]
            cluster = without_pods(cluster, {(one["namespace"], one["name"]) for one in gone})
            continue
        assert answer.out
        cluster = changed_as_planned(cluster, json.loads(answer.out)) if is_change else cluster
    return cluster


def without_pods(cluster: Json, gone: set[tuple[str, str]]) -> Json:
    def is_gone(item: Json) -> bool:
        meta = item["metadata"]
        return item["kind"] == "Pod" and (meta.get("namespace", "default"), meta["name"]) in gone

    assert sum(map(is_gone, cluster["items"])) == len(gone)
    return cluster | {"items": [item for item in cluster["items"] if not is_gone(item)]}


def check(koord: Run, case: Case, folder: Path) -> int:
    """Paste every command of an answer; return how many there are."""
    snapshot = snapshot_of(case.cluster, "1.8")
    subject = subject_of(snapshot)
    report = why(snapshot, subject)
    ways = [way for way in (*report.unblock, *report.next_steps) if way.command]
    for way in ways:
        said = f"{case.name}: {way.message}: {way.command}"
        after = carried_out(koord, way.command, case.cluster, folder)
        if after != case.cluster and way.action not in _NO_PROMISE:
            assert is_kept(report, way, asked_again(after, subject)), said
    return len(ways)


def asked_again(cluster: Json, subject: Subject) -> WhyReport:
    snapshot = snapshot_of(cluster, "1.8")
    name = subject.key if subject.gangs else f"pod/{subject.key}"
    found = subjects.find(snapshot, name, "default")
    assert isinstance(found, Subject)
    return why(snapshot, found)


def is_kept(before: WhyReport, way: WayOut, now: WhyReport) -> bool:
    """Tell whether the gang starts; of a next step, whether its cause is another."""
    if way in before.unblock:
        return now.verdict == "yes"
    return now.verdict == "yes" or now.cause is None or before.cause is None or now.cause.code != before.cause.code


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_printed_is_accepted_and_does_what_is_said(koord: Run, family: str, tmp_path: Path) -> None:
    cases = list(read_cases(CASES, (family,)))
    assert cases
    for case in spread(cases, MANY.get(family, FEW)):
        check(koord, case, tmp_path)


def test_a_hundred_answers_are_tried_in_each_run() -> None:
    sizes = [len(spread(list(read_cases(CASES, (family,))), MANY.get(family, FEW))) for family in FAMILIES]
    assert sum(sizes) >= 100


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_so_is_what_is_printed_for_every_recorded_cluster(koord: Run, family: str, tmp_path: Path) -> None:
    for case in read_cases(CASES, (family,)):
        check(koord, case, tmp_path)


def of_manual() -> Iterator[str]:
    manual = shipped_manual()
    for code in dict.fromkeys(code for _, group in common.GROUPS for code in group):
        page = manual.explained(code)
        assert isinstance(page, Explanation)
        yield from page.see


def test_the_commands_of_the_manual_exist(koord: Run, tmp_path: Path) -> None:
    calls = {call.words for command in set(of_manual()) for call in pasted(command, tmp_path)}
    assert len(calls) > 50
    for words in sorted(calls):
        if words[0] == "koord":
            assert " see 'kubectl koord" not in koord(*words[1:], "--demo").err, words
        else:
            assert understood(Call(words)).verb, words


def test_our_own_commands_on_the_screens_of_the_demo_run_as_printed(koord: Run, tmp_path: Path) -> None:
    shown = (ROOT / "tests" / "golden" / "demo.plain.txt").read_text("utf-8")
    commands = {command for command in _SHOWN.findall(shown) if "GANG" not in command}
    assert len(commands) > 5
    for command in sorted(commands):
        (call,) = pasted(command, tmp_path)
        answer = koord(*call.words[1:])
        assert (answer.err, answer.code in {0, 1}) == ("", True), command
