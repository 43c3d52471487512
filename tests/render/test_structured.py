import json
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from msgspec.structs import replace

from kubectl_koord.render.structured import document, to_json, to_json_line, to_yaml
from kubectl_koord.reports.jobs import Victim
from tests.render.samples import CHANGE, PENDING, PREEMPT, REPORTS, TOPO, WHY

ROOT = Path(__file__).parents[2]
ENVELOPE = ["apiVersion", "kind", "verdict", "koordinatorVersion", "versionFrom", "moment", "source", "warnings"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("topo", "Topology"),
        ("why", "WhyPending"),
        ("pending", "PendingGangs"),
        ("preempt", "PreemptionDryRun"),
        ("change", "ChangePlan"),
    ],
)
def test_every_document_begins_with_the_envelope(name: str, kind: str) -> None:
    parsed = json.loads(to_json(REPORTS[name]))
    assert list(parsed)[:8] == ENVELOPE
    assert [parsed["apiVersion"], parsed["kind"]] == ["kubectl-koord/v1alpha1", kind]


def test_json_is_indented_and_ends_with_a_line_break() -> None:
    written = to_json(WHY)
    assert written.startswith('{\n  "apiVersion": "kubectl-koord/v1alpha1",\n  "kind": "WhyPending",\n')
    assert written.endswith("}\n")


def test_why_pending_has_the_keys_of_the_contract() -> None:
    parsed = json.loads(to_json(WHY))
    assert list(parsed)[8:] == [
        "gang",
        "gangGroup",
        "pendingPods",
        "boundPods",
        "minMember",
        "mustGather",
        "desiredOfferSlot",
        "domains",
        "placement",
        "cause",
        "alsoWrong",
        "unblock",
        "schedulerSays",
        "alternatives",
        "funnel",
        "requests",
        "lonePod",
        "noWayOut",
        "waysNotTried",
        "nextSteps",
        "waiting",
        "waitingSince",
        "waitingFor",
        "nodes",
        "node",
        "quotaHolders",
        "definedBy",
        "migrations",
        "reservations",
        "volcano",
        "shapes",
        "also",
        "priority",
        "owners",
        "ownerKind",
        "layers",
    ]
    assert {"layer", "name", "offerSlots", "short"} <= set(parsed["domains"][0])
    assert list(parsed["cause"]) == ["code", "message", "pods"]
    assert list(parsed["unblock"][0]) == ["action", "message", "command", "edits", "freed", "brokenGangs", "released"]
    says = ["message", "since", "agrees", "pod", "lastSeen", "reads", "now", "retry", "texts"]
    assert list(parsed["schedulerSays"]) == says


def test_topology_has_the_keys_of_the_contract() -> None:
    parsed = json.loads(to_json(TOPO))
    assert parsed["domains"][0]["parent"] is None
    assert parsed["domains"][1]["parent"] == {"layer": "ClusterTopologyLayer", "name": ""}
    assert {"layer", "name", "parent", "nodes", "offerSlots"} <= set(parsed["domains"][0])
    assert parsed["outside"][0] == {"node": "node-8", "missing": ["network.topology/spine"]}


def test_items_of_pending_gangs_are_whole_documents_without_a_version() -> None:
    items = json.loads(to_json(PENDING))["items"]
    whole = json.loads(to_json(WHY))
    assert list(items[0])[:2] == ["kind", "verdict"]
    assert {"apiVersion": "kubectl-koord/v1alpha1", **items[0]} == whole


def test_a_victim_has_the_keys_of_the_contract() -> None:
    victim = json.loads(to_json(PREEMPT))["victims"][0]
    assert {key: victim[key] for key in ("pod", "node", "priority", "gang", "owner", "ageSeconds")} == {
        "pod": "default/low-0",
        "node": "node-0",
        "priority": 1000,
        "gang": "default/low",
        "owner": "job/low",
        "ageSeconds": 7300,
    }
    assert victim["podDisruptionBudget"] == {"name": "default/low-pdb", "violated": True}


def test_what_is_not_there_is_null_and_not_left_out() -> None:
    bare = Victim("default/a", "node-0", 0, None, None, None, None)
    victim = json.loads(to_json(replace(PREEMPT, victims=(bare,))))["victims"][0]
    assert [victim[key] for key in ("gang", "owner", "ageSeconds", "podDisruptionBudget")] == [None] * 4


def test_preemption_has_the_keys_of_the_contract() -> None:
    parsed = json.loads(to_json(PREEMPT))
    assert {"victims", "brokenGangs", "nominations", "eligible", "reason", "helps", "rounds", "alternatives"} <= set(
        parsed
    )
    assert list(parsed["rounds"][0]) == ["victims", "nominations", "when"]
    assert parsed["brokenGangs"][0] == {"gang": "default/low", "bound": 4, "minMember": 4, "left": 3}


def test_a_change_has_the_keys_of_the_contract_and_the_patch_as_it_is() -> None:
    change = json.loads(to_json(CHANGE))["changes"][0]
    assert list(change) == ["object", "before", "after", "patch", "resourceVersion"]
    assert change["before"] == {"spec.minMember": 4, "spec.mode": None}
    assert change["patch"] == {"spec": {"minMember": 3, "mode": "Strict"}, "metadata": {"finalizers": ["a"]}}


def test_mappings_need_not_be_dicts() -> None:
    report = replace(WHY, placement=MappingProxyType({"default/a": "node-0"}))
    assert document(report)["placement"] == {"default/a": "node-0"}


def test_json_escapes_what_acts_on_a_terminal() -> None:
    written = to_json(replace(WHY, gang="\x1b\x7f\x9b\u202e\u200b\ud800"))
    assert r'"gang": "\u001b\u007f\u009b\u202e\u200b\ud800"' in written


@pytest.mark.parametrize("name", REPORTS)
def test_yaml_equals_json(name: str) -> None:
    assert yaml.safe_load(to_yaml(REPORTS[name])) == json.loads(to_json(REPORTS[name]))


def test_yaml_is_a_plain_block_with_words_quoted_that_yaml_would_misread() -> None:
    names = ("1e3", "0o17", "y", "no", "1.8", "2026-11-20", "123e4567")
    written = to_yaml(replace(WHY, gang_group=names, requests="w " * 200))
    listed = 'gangGroup:\n- "1e3"\n- "0o17"\n- "y"\n- \'no\'\n- "1.8"\n- \'2026-11-20\'\n- "123e4567"\n'
    assert listed in written
    assert f"requests: '{'w ' * 200}'\n" in written
    assert "&id" not in to_yaml(replace(PREEMPT, rounds=PREEMPT.rounds * 2))


def test_a_lone_surrogate_in_yaml_is_escaped_and_read_back() -> None:
    written = to_yaml(replace(WHY, gang="\ud800"))
    assert r'gang: "\uD800"' in written
    assert yaml.load(written, Loader=yaml.SafeLoader)["gang"] == "\ud800"


def test_json_needs_no_yaml() -> None:
    code = (
        "import sys; from tests.render.samples import WHY; from kubectl_koord.render.structured import to_json;"
        "to_json(WHY); sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


@pytest.mark.parametrize("name", REPORTS)
def test_a_document_may_be_a_line_of_its_own(name: str) -> None:
    written = to_json_line(REPORTS[name])
    assert (written.count("\n"), written[-1]) == (1, "\n")
    assert json.loads(written) == json.loads(to_json(REPORTS[name]))
