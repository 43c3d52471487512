"""What stands in deploy/ for `serve` fits what it is: its flags, its paths, its metrics and their labels."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from distribution.generated import ROOT
from kubectl_koord import __version__
from kubectl_koord.cli.command_line import flags_of
from kubectl_koord.cluster import stored
from kubectl_koord.live.faces import preemption_of, state_of
from kubectl_koord.live.metrics import METRICS
from tests.distribution.promql import named
from tests.live.served import questions

PROMTOOL = shutil.which("promtool") or ""
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus-rules.yaml"
OBJECTS = [one for one in yaml.safe_load_all((DEPLOY / "serve.yaml").read_text("utf-8")) if one]
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
_LABEL = re.compile(r"\$labels\.(\w+)|\{\{(\w+)\}\}")


def of(kind: str) -> Mapping[str, Any]:
    (found,) = (one for one in OBJECTS if one["kind"] == kind)
    return dict(found)


def rules() -> Iterator[Mapping[str, Any]]:
    for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"]:
        assert group.keys() == {"name", "rules"}
        yield from group["rules"]


def check(expression: str, told: str) -> None:
    """Let an expression name metrics that there are, with labels that they have; `told` names those of its results."""
    found = named(expression)
    assert found.metrics
    for metric, matched in found.metrics:
        assert metric in METRICS, expression
        assert set(matched) <= set(METRICS[metric].labels), expression
        assert set(found.grouped) <= set(METRICS[metric].labels), expression
    labels = set(found.grouped) or {label for metric, _ in found.metrics for label in METRICS[metric].labels}
    assert {one or other for one, other in _LABEL.findall(told)} <= labels, (expression, told)


def test_the_deployment_starts_what_there_is_with_the_role_for_looking_alone() -> None:
    pod = of("Deployment")["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    verb, *flags = container["args"]
    assert verb == "serve"
    assert {flag.partition("=")[0] for flag in flags} <= set(flags_of(verb))
    assert container["image"].endswith(f":{__version__}")
    assert "--port=9094" in flags
    assert container["ports"] == [{"name": "http", "containerPort": 9094}]
    assert [container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")] == [
        "/healthz",
        "/readyz",
    ]
    account = of("ServiceAccount")["metadata"]
    binding = of("ClusterRoleBinding")
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    ]
    role = yaml.safe_load((DEPLOY / "clusterrole-view.yaml").read_text("utf-8"))
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert pod["spec"]["serviceAccountName"] == account["name"]
    labels = pod["metadata"]["labels"]
    assert of("Service")["spec"]["selector"] == of("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    home = of("Service")["metadata"]
    assert f"--host={home['name']}.{home['namespace']}.svc" in flags
    assert {one["metadata"].get("namespace", home["namespace"]) for one in OBJECTS} == {home["namespace"]}


def test_each_alert_rests_on_metrics_and_labels_that_there_are() -> None:
    seen = set()
    for rule in rules():
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"Koord[A-Za-z]+", rule["alert"])
        assert re.fullmatch(r"\d+[mh]", rule["for"])
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}
        told = " ".join(rule["annotations"].values())
        assert told.count("{{") == told.count("}}")
        check(rule["expr"], told)
        seen.add(rule["alert"])
    assert len(seen) == len(list(rules()))


def test_each_panel_shows_metrics_that_there_are_and_stands_beside_the_others() -> None:
    variables = {one["name"] for one in DASHBOARD["templating"]["list"]}
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            check(target["expr"], target["legendFormat"])
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= variables
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    for one in DASHBOARD["templating"]["list"]:
        if found := re.fullmatch(r"label_values\((\w+), (\w+)\)", one.get("definition", "")):
            assert found[2] in METRICS[found[1]].labels
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.parametrize(
    "expression",
    ["sum(koord_up", "koord_up)", "sum by () (koord_up)", "koord_up{a=b}", 'koord_up{a="("}', "koord_up >", "a b", "§"],
)
def test_an_expression_that_cannot_be_read_is_none(expression: str) -> None:
    with pytest.raises((ValueError, re.error)):
        named(expression)


def exposition() -> bytes:
    snapshot = stored.demo("", installed=False)
    state = state_of(snapshot, questions(shapes=("8gpu",)))
    return state.metrics + preemption_of(snapshot, state.pending, 3)


def test_each_metric_has_its_help_and_the_labels_of_the_table() -> None:
    for family in text_string_to_metric_families(exposition().decode()):
        metric = METRICS[family.name]
        assert (family.documentation, family.type) == (metric.help, metric.kind)
        for sample in family.samples:
            assert set(sample.labels) == set(metric.labels)


@pytest.mark.soak
@pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed")
def test_promtool_finds_nothing_wrong() -> None:
    checked = subprocess.run([PROMTOOL, "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    checked = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=exposition().decode(), capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
