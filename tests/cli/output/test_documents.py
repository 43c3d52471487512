"""`-o html` and `-o svg`: one whole document to hand on, for every answer that is a page."""

import json
from pathlib import Path

import pytest

from tests.apiserver import ApiServer
from tests.cli.conftest import Run
from tests.cli.world import pod, pod_group, world, write  # noqa: F401


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("why-pending",), 0),
        (("why-pending", "train/one-short"), 1),
        (("why-pending", "train/one-short", "--nodes", "--raw"), 1),
        (("topo",), 0),
        (("topo", "--for", "train/one-short"), 0),
        (("devices",), 0),
        (("quota",), 0),
        (("gangs", "-A"), 0),
        (("doctor",), 1),
        (("preempt", "train/helped", "--dry-run"), 0),
        (("why-preempted", "train/one-short"), 1),
        (("annotate", "podgroup", "one-short", "-n", "train", "--mode=NonStrict", "--dry-run=client"), 0),
        (("explain",), 0),
        (("explain", "insufficient-slots"), 0),
        (("version",), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_answer_is_one_page_with_its_own_exit_code(koord: Run, words: tuple[str, ...], code: int) -> None:
    usual = koord(*words, "--demo")
    done = koord(*words, "--demo", "-o", "html")
    assert (usual.code, done.code, done.err) == (code, code, usual.err)
    assert done.out.startswith('<!DOCTYPE html>\n<html lang="en"><head>')
    assert done.out.endswith("</html>\n")
    assert done.out.isascii()


def test_nodes_are_in_the_page_and_the_picture_of_the_tree_when_asked_for(koord: Run) -> None:
    for form in ("html", "svg"):
        assert "node-3" not in koord("topo", "--demo", "-o", form).out
        assert "node-3" in koord("topo", "--demo", "--nodes", "-o", form).out
        assert "block-3" not in koord("topo", "--demo", "--depth", "1", "-o", form).out


def test_a_page_says_how_many_more_a_limit_leaves_out(koord: Run) -> None:
    assert "and 4 more" in koord("why-pending", "--demo", "--limit", "1", "-o", "html").out


@pytest.mark.parametrize(
    "words",
    [
        ("why-pending", "--demo"),
        ("annotate", "podgroup", "job", "--mode=NonStrict", "--yes"),
        ("explain",),
        ("version",),
    ],
)
def test_only_the_tree_is_a_picture_and_nothing_is_done_for_others(
    koord: Run, server: ApiServer, words: tuple[str, ...]
) -> None:
    done = koord(*words, "-o", "svg")
    assert (done.code, done.out, done.err) == (2, "", "error: -o svg is for topo\n")
    assert not server.log


@pytest.mark.usefixtures("server")
def test_a_watch_is_no_document(koord: Run) -> None:
    done = koord("why-pending", "job", "--watch", "-o", "html")
    assert (done.code, done.out, done.err) == (2, "", "error: -o html cannot be used with --watch\n")


def test_the_page_of_a_file_says_when_the_file_was_read(koord: Run, tmp_path: Path) -> None:
    page = koord("topo", "--snapshot", write(tmp_path, world()), "-o", "html").out
    read = json.loads(koord("topo", "--snapshot", write(tmp_path, world()), "-o", "json").out)["moment"]
    assert f"Read from a file at {read[:10]}" in page
