"""What every listing can be asked for: other formats, an order, labels, causes, a limit, no headers."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.measured


def listed(koord: Run, cluster: str, *words: str) -> list[str]:
    out = koord("why-pending", "--snapshot", cluster, "-o", "jsonpath={.items[*].gang}", *words).out
    return out.split()


def test_names_are_objects_that_kubectl_gets(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "-o", "name")
    assert done.code == 0
    assert "podgroup.scheduling.sigs.k8s.io/job\n" in done.out
    assert "pod/lost-0\n" in done.out  # its PodGroup does not exist


@pytest.mark.parametrize("words", [("podgroup", "job"), ("podgroup/job",), ("podgroup.scheduling.sigs.k8s.io/job",)])
def test_a_type_and_a_name_are_one_or_two_words(koord: Run, cluster: str, words: tuple[str, ...]) -> None:
    done = koord("why-pending", *words, "--snapshot", cluster, "-o", "jsonpath={.gang}")
    assert done.out == "default/job"


def test_without_headers_there_are_rows_alone(koord: Run, cluster: str) -> None:
    rows = koord("why-pending", "--snapshot", cluster, "--no-headers").out.splitlines()
    assert [row.split()[0] for row in rows] == listed(koord, cluster)
    cards = koord("devices", "--demo", "--no-headers", "--limit", "1").out.splitlines()
    assert len(cards) == 1
    assert {row.split()[0] for row in cards} == {"node-0"}


def test_a_wide_listing_has_more_columns(koord: Run, cluster: str) -> None:
    usual, wide = (koord("why-pending", "--snapshot", cluster, *more).out for more in ((), ("-o", "wide")))
    assert "MUST GATHER" in wide
    assert "MUST GATHER" not in usual
    assert "ID" in koord("devices", "--demo", "-o", "wide").out


def test_a_listing_is_sorted_by_any_field(koord: Run, cluster: str) -> None:
    usual = listed(koord, cluster)
    assert listed(koord, cluster, "--sort-by", ".gang") == sorted(usual)
    by_minimum = koord(
        "why-pending", "--snapshot", cluster, "--sort-by={.minMember}", "-o", "jsonpath={.items[*].minMember}"
    )
    numbers = list(map(int, by_minimum.out.split()))
    assert numbers == sorted(numbers)
    assert len(numbers) == len(usual)


def test_what_lacks_the_field_comes_last(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "--sort-by", ".cause.code", "-o", "json")
    codes = [(item["cause"] or {}).get("code") for item in json.loads(done.out)["items"]]
    known = [code for code in codes if code]
    assert codes == [*sorted(known), *[None] * (len(codes) - len(known))]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".gangg", '"{.gangg}" in the list of objects, did you mean .gang?'),
        ("{.nosuch}", '"{.nosuch}" in the list of objects'),
        ("['minMembers']", "\"{['minMembers']}\" in the list of objects, did you mean .minMember?"),
    ],
)
def test_a_field_that_no_item_has_is_refused_in_kubectls_words(koord: Run, cluster: str, path: str, said: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "--sort-by", path)
    assert (done.code, done.out, done.err) == (2, "", f"error: couldn't find any field with path {said}\n")


def test_a_field_that_may_be_there_is_none_that_nobody_has(koord: Run, cluster: str) -> None:
    usual = listed(koord, cluster)
    assert listed(koord, cluster, "--sort-by", ".funnel.nodes") == usual
    assert koord("gangs", "--demo", "-n", "nowhere", "--sort-by", ".nosuch").err.startswith("error: the snapshot")


def test_a_limit_cuts_the_list_and_says_so(koord: Run, cluster: str) -> None:
    usual = listed(koord, cluster)
    assert listed(koord, cluster, "--limit", "2") == usual[:2]
    text = koord("why-pending", "--snapshot", cluster, "--limit", "2").out
    assert f"... and {len(usual) - 2} more\n" in text
    assert "... and 11 more nodes\n" in koord("devices", "--demo", "--limit", "1").out


def test_a_listing_is_restricted_to_causes(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "--cause", "too-few-pods", "-o", "json")
    assert {item["cause"]["code"] for item in json.loads(done.out)["items"]} == {"too-few-pods"}
    wrong = koord("why-pending", "--snapshot", cluster, "--cause", "to-few-pods")
    assert (wrong.code, wrong.err) == (
        2,
        "error: no cause 'to-few-pods', did you mean too-few-pods?; see 'kubectl koord explain'\n",
    )


def test_custom_columns_have_a_row_for_each_item(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "-o", "custom-columns=GANG:.gang,FIRST:.pendingPods[0,1]")
    header, *rows = done.out.splitlines()
    assert header.split() == ["GANG", "FIRST"]
    assert [row.split()[0] for row in rows] == listed(koord, cluster)
    one = koord("why-pending", "job", "--snapshot", cluster, "-o", "custom-columns=GANG:.gang,X:.nothing")
    assert one.out.split() == ["GANG", "X", "default/job", "<none>"]


@pytest.mark.parametrize(
    ("verb", "items", "name"),
    [
        ("gangs", "items", "gang"),
        ("devices", "nodes", "node"),
        ("doctor", "findings", "code"),
        ("explain", "items", "code"),
        ("quota", "quotas", "name"),
        ("topo", "domains", "layer"),
        ("why-pending", "items", "pendingPods[0]"),
    ],
)
def test_columns_jsonpath_and_order_see_the_items_of_every_listing(
    koord: Run, verb: str, items: str, name: str
) -> None:
    written = json.loads(koord(verb, "--demo", "-o", "json").out)[items]
    first = [one["pendingPods"][0] if name.startswith("pending") else one[name] for one in written]
    assert koord(verb, "--demo", "-o", f"custom-columns=A:.{name}").out.split() == ["A", *first]
    assert koord(verb, "--demo", "-o", f"jsonpath={{.{items}[*].{name}}}").out.split() == first
    if verb not in {"doctor", "explain", "quota", "topo"}:
        ordered = koord(verb, "--demo", "--sort-by", f".{name}", "-o", f"jsonpath={{.{items}[*].{name}}}")
        assert ordered.out.split() == sorted(first)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("-o", "custom-columns="), "error: custom-columns format specified but no custom columns given"),
        (
            ("-o", "custom-columns=A"),
            "error: unexpected custom-columns spec: A, expected <header>:<json-path-expr>",
        ),
        (("-o", "jsonpath={.a"), "error: error parsing jsonpath {.a, unclosed action"),
        (("-l", "a=="), None),
        (("-l", "a in b"), "error: unable to parse requirement 'a in b' of the selector 'a in b'"),
        (("-l", "a in (b c)"), "error: unable to parse requirement 'a in (b c)' of the selector 'a in (b c)'"),
        (
            ("job", "-l", "a=b"),
            "error: -l, --cause, --sort-by, --limit and --no-headers are for the list, without a GANG",
        ),
    ],
)
def test_a_mistake_is_one_line(koord: Run, cluster: str, words: tuple[str, ...], line: str | None) -> None:
    done = koord("why-pending", *words, "--snapshot", cluster)
    assert (done.code, done.err) == ((2, f"{line}\n") if line else (0, ""))


def test_names_are_for_answers_about_objects(koord: Run) -> None:
    done = koord("explain", "too-few-pods", "-o", "name")
    assert (done.code, done.err) == (2, "error: -o name is for answers about objects of the cluster\n")


def test_the_version_is_a_document_too(koord: Run) -> None:
    found = json.loads(koord("version", "-o", "json").out)
    assert (found["kind"], found["evaluates"]) == ("Version", ["1.7", "1.8", "main"])
    assert koord("version", "-o", "jsonpath={.version}").out == found["version"]


def test_what_is_to_be_changed_is_named_with_its_group(koord: Run) -> None:
    words = ("fits", "-n", "train", "--demo", "--dry-run=client", "-o", "name")
    done = koord("annotate", "podgroup", *words, "--mode", "Strict")
    assert done.out == "podgroup.scheduling.sigs.k8s.io/fits\n"
    assert koord("annotate", "pods", *words, "--index").out.splitlines()[0] == "pod/fits-0"


def test_quotas_are_named_where_they_are_objects(koord: Run, tmp_path: Path) -> None:
    quotas = "elasticquota.scheduling.sigs.k8s.io/inference\nelasticquota.scheduling.sigs.k8s.io/research\n"
    assert koord("quota", "--demo", "-o", "name").out == quotas
    meta = {"name": "koordinator-default-quota", "namespace": "koordinator-system"}
    quota = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": meta, "spec": {}}
    (tmp_path / "a.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [quota]}))
    done = koord("quota", "--snapshot", str(tmp_path / "a.json"), "-o", "name")
    assert done.out == "elasticquota.scheduling.sigs.k8s.io/koordinator-default-quota\n"
