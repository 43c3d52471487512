"""Against a real API server (`make e2e`): roles, protobuf, cold CRDs, refusals, writes, budgets."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.e2e.conftest import Real

pytestmark = pytest.mark.e2e

GROUP = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/train/podgroups/one-short"
MODE = "gang.scheduling.koordinator.sh/mode"
READING = (
    ("topo",),
    ("topo", "--for", "one-short"),
    ("devices",),
    ("quota",),
    ("gangs", "-A"),
    ("why-pending", "-A"),
    ("why-pending", "one-short"),
    ("why-pending", "pod/silent-0"),
    ("preempt", "helped"),
    ("preempt", "in-vain"),
    ("plan", "one-short"),
    ("fit", "--like", "one-short"),
    ("node", "node-0"),
    ("domain", "spine-0"),
    ("doctor",),
    ("why-preempted", "sweep-0"),
)
AGE = re.compile(r"\b\d+(ms|[smhd])\b")


def bare(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return an answer without what goes on with time."""
    if isinstance(value, dict):
        return {name: bare(part) for name, part in value.items() if name not in {"moment", "age", "ageSeconds"}}
    if isinstance(value, str):
        return AGE.sub("", value)
    return [bare(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_who_may_look_is_refused_nothing_and_protobuf_answers_as_json(
    koord: Run, as_user: Callable[[str], None], words: tuple[str, ...]
) -> None:
    as_user("viewer")
    first, again = (koord(*words, "-o", "json", *form) for form in ((), ("--request-format", "json")))
    assert first.code == again.code
    assert first.code in {0, 1}, first.err
    document = json.loads(first.out)
    assert bare(document) == bare(json.loads(again.out))
    codes = [one["code"] for one in (*document.get("warnings", ()), *document.get("findings", ()))]
    assert not set(codes) & {"forbidden-list", "missing-list", "unavailable-list", "crd-missing", "rbac-missing"}


def test_who_may_only_look_changes_nothing_and_is_told_so(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("viewer")
    done = koord("annotate", "podgroup", "one-short", "--mode=NonStrict", "--yes")
    assert done.code == 2
    assert "cannot patch resource" in done.err
    assert MODE not in real.send("GET", GROUP)["metadata"].get("annotations", {})


def test_a_dry_run_on_the_server_changes_nothing_and_a_write_does(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("operator")
    words = ("annotate", "podgroup", "one-short", "--mode=NonStrict")
    assert koord(*words, "--dry-run=server", "--yes").code == 0
    assert MODE not in real.send("GET", GROUP)["metadata"].get("annotations", {})
    done = koord(*words, "--yes")
    assert done.code == 0, done.err
    assert real.send("GET", GROUP)["metadata"]["annotations"][MODE] == "NonStrict"
    assert koord("annotate", "podgroup", "one-short", "mode-", "--yes").code == 0
    assert MODE not in real.send("GET", GROUP)["metadata"]["annotations"]


def test_the_server_is_asked_whether_a_budget_lets_victims_go(
    koord: Run, real: Real, as_user: Callable[[str], None]
) -> None:
    as_user("operator")
    done = koord("preempt", "helped", "--dry-run=server")
    assert done.code == 0, done.err
    assert "notebook-5" in done.out
    assert "would violate" in done.out
    assert real.send("GET", "/api/v1/namespaces/train/pods/notebook-5")["metadata"].get("deletionTimestamp") is None


def test_a_topology_is_proposed_and_is_what_the_cluster_has(koord: Run, as_user: Callable[[str], None]) -> None:
    as_user("operator")
    assert "Resulting tree: 3 spines, 5 blocks and 11 nodes." in koord("topo", "init").out
