"""`explain`: the manual, offline; and the hint to it."""

import json

import pytest

from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.reports import common
from kubectl_koord.reports.manual import Explanation
from tests.cli.conftest import Run


def test_a_code_is_explained_without_a_cluster(koord: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    done = koord("explain", "insufficient-slots")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No domain has enough slots.\ninsufficient-slots (cause)\n")


def test_without_a_code_all_are_listed(koord: Run) -> None:
    done = koord("explain")
    assert done.code == 0
    for _, group in common.GROUPS:
        assert all(f"  {code} " in done.out for code in group)


def test_a_code_is_one_document_for_programs(koord: Run) -> None:
    done = koord("explain", "quota", "-o", "json")
    page = shipped_manual().explained("quota")
    assert isinstance(page, Explanation)
    assert json.loads(done.out) == {
        "apiVersion": "kubectl-koord/v1alpha1",
        "kind": "Explanation",
        "verdict": "yes",
        "code": "quota",
        "usedAs": ["cause"],
        "title": page.title,
        "text": page.text,
        "how": page.how,
        "see": list(page.see),
        "remedy": page.remedy,
    }


def test_the_list_is_one_document_for_programs(koord: Run) -> None:
    written = json.loads(koord("explain", "-o", "json").out)
    assert (written["kind"], written["verdict"]) == ("Explanations", "yes")
    assert [item["code"] for item in written["items"]] == [code for _, group in common.GROUPS for code in group]


def test_a_mistyped_code_is_one_line_with_the_nearest(koord: Run) -> None:
    done = koord("explain", "insufficient-slot")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: no code 'insufficient-slot', did you mean insufficient-slots")
    assert done.err.count("\n") == 1


def test_a_code_that_is_like_none_brings_where_all_stand(koord: Run) -> None:
    done = koord("explain", "xyzzy")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: no code 'xyzzy'; 'kubectl koord explain' lists them all\n"


def test_hostile_text_for_a_code_is_shown_escaped(koord: Run) -> None:
    done = koord("explain", "\x1b[31mquota")
    assert (done.code, done.out) == (2, "")
    assert "\x1b" not in done.err


def test_the_page_of_a_cause_says_how_to_learn_more(koord: Run, cluster: str) -> None:
    page = koord("why-pending", "few", "--snapshot", cluster).out.splitlines()
    assert page[2] == "Details: kubectl koord explain too-few-pods"
