"""`kubectl koord plan` on the command line."""

import json

import pytest

from tests.cli.conftest import Run


def test_the_document_is_as_promised(koord: Run) -> None:
    done = koord("plan", "train/one-short", "--demo", "-o", "json")
    report = json.loads(done.out)
    assert (done.code, report["kind"], report["verdict"], report["gang"]) == (1, "Plan", "no", "train/one-short")
    assert {"steps", "cost", "cheapest", "nodes", "risks", "cause", "message"} <= {*report}


def test_weights_and_pods_to_keep_are_taken(koord: Run) -> None:
    done = koord("plan", "train/fits", "--demo", "--keep", "app=x", "--weight", "hours=2", "--weight", "pods=0")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "train/fits: Nothing has to be moved: it would be placed as things are.",
    )


@pytest.mark.parametrize(
    ("weight", "why"),
    [
        ("days=1", "no such weight; there are hours, pods, gangs, waits, cordons, reservations"),
        ("hours", "no number"),
        ("hours=-1", "must be from 0 upwards"),
        ("hours=nan", "must be from 0 upwards"),
    ],
)
def test_a_weight_that_is_none_is_a_mistake(koord: Run, weight: str, why: str) -> None:
    assert koord("plan", "train/fits", "--demo", "--weight", weight) == (
        2,
        "",
        f"error: --weight '{weight}': {why}\n",
    )
