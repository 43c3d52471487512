"""Colour, pipes, formats and what is imported: what a run leaves on its outputs."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kubectl_koord.cli import output
from tests.cli.conftest import Run
from tests.cli.world import GATHER, Object, node, pod, pod_group, scheduler, topology, world, write
from tests.forked import forked

ESCAPE = "\x1b"
LINES = (
    ("topo",),
    ("devices",),
    ("quota",),
    ("topo", "--for", "job"),
    ("why-pending",),
    ("why-pending", "job"),
    ("preempt", "high", "--dry-run"),
)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_a_pipe_gets_no_escape_and_no_wrapping(koord: Run, cluster: str, words: tuple[str, ...]) -> None:
    narrow = koord(*words, "--snapshot", cluster)
    assert ESCAPE not in narrow.out
    assert not [line for line in narrow.out.splitlines() if line != line.rstrip()]


def test_the_width_of_the_terminal_does_not_reach_a_pipe(installed: Run, cluster: str) -> None:
    answers = {installed("why-pending", "job", "--snapshot", cluster, COLUMNS=width) for width in ("20", "200")}
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("environment", "flags", "coloured"),
    [
        ({}, (), False),
        ({}, ("--color=always",), True),
        ({}, ("--color", "never"), False),
        ({"FORCE_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": "1"}, ("--color=never",), False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
        ({"NO_COLOR": "1"}, ("--color=always",), True),
        ({"NO_COLOR": ""}, ("--color=auto",), False),
    ],
)
def test_colour_is_as_asked(
    koord: Run,
    cluster: str,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    flags: tuple[str, ...],
    coloured: bool,  # noqa: FBT001
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (ESCAPE in koord("why-pending", "job", *flags, "--snapshot", cluster).out) == coloured


def on_a_terminal(*argv: str, **environment: str) -> str:
    """Return what the program writes on a terminal of its own."""
    ours, theirs = pty.openpty()
    command = [*forked(), *argv]
    with subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL, env=dict(os.environ) | environment):
        os.close(theirs)
        written = b""
        while piece := _read(ours):
            written += piece
    os.close(ours)
    return written.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # a terminal whose other side is gone
        return b""


def test_a_terminal_gets_colour_unless_it_is_dumb(cluster: str) -> None:
    words = ("why-pending", "job", "--snapshot", cluster)
    assert ESCAPE in on_a_terminal(*words, TERM="xterm")
    assert ESCAPE not in on_a_terminal(*words, TERM="dumb")
    assert ESCAPE not in on_a_terminal(*words, TERM="xterm", NO_COLOR="1")


def test_what_is_longer_than_the_terminal_is_shown_in_the_pager_of_its_user() -> None:
    loud = "tr a-z A-Z"
    assert "INSUFFICIENT-SLOTS" in on_a_terminal("explain", TERM="xterm", KUBECTL_KOORD_PAGER=loud, PAGER="cat")
    for words, environment in {
        ("explain", "--no-pager"): {},
        ("explain", "--no-pager=false"): {"TERM": "dumb"},
        ("version",): {},
        ("explain",): {"KUBECTL_KOORD_PAGER": "cat", "PAGER": loud},
    }.items():
        shown = on_a_terminal(*words, **{"TERM": "xterm", "KUBECTL_KOORD_PAGER": loud, **environment})
        assert shown != shown.upper()


def test_a_page_that_is_paged_is_whole_and_does_not_end_with_its_verdict_again(tmp_path: Path) -> None:
    words = ("gangs", "--snapshot", crowded(tmp_path), "--color=never")
    paged = on_a_terminal(*words, TERM="xterm", KUBECTL_KOORD_PAGER="sed p")
    once = on_a_terminal(*words, TERM="xterm")
    assert paged.splitlines()[::2] == once.splitlines()[: len(paged.splitlines()) // 2]
    assert once.count(once.splitlines()[0]) == 2


def test_a_pager_that_is_none_or_is_left_early_loses_nothing_and_fails_nothing() -> None:
    missing = on_a_terminal("explain", TERM="xterm", KUBECTL_KOORD_PAGER="no-such-pager 2>&-")
    assert missing == on_a_terminal("explain", TERM="xterm")
    left = on_a_terminal("explain", TERM="xterm", KUBECTL_KOORD_PAGER="head -n 1")
    assert left.count("\n") == 1


def test_which_pager_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert output.chosen({"TERM": "xterm"}) == "less"
    assert output.chosen({"TERM": "xterm", "PAGER": "more -d"}) == "more -d"
    assert output.chosen({"TERM": "xterm", "PAGER": "more", "KUBECTL_KOORD_PAGER": " "}) == ""
    assert output.chosen({"PAGER": "more"}) == ""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert output.chosen({"TERM": "xterm"}) == ""


def test_ctrl_c_is_for_the_pager_while_it_runs() -> None:
    assert output.show("kill -INT $PPID; cat >/dev/null", b"x")


def crowded(tmp_path: Path) -> str:
    """Write a cluster of which no page fits on a screen: 90 spines, 90 gangs, a gang that preempts on 90 nodes."""
    items = [*scheduler(), topology(), pod_group("wide", 90), pod_group("gone", 90)]
    for number in range(90):
        name = f"n{number:02}"
        items += [node(name, f"spine-{name}"), pod(f"filler-{name}", cpu="7", on=name)]
        items += [pod(f"wide-{number:02}", "wide", priority=9), pod_group(f"g{number:02}", 2, **GATHER)]
        items += [pod(f"g{number:02}-{member}", f"g{number:02}") for member in "ab"]
        victim = pod(f"gone-{number:02}", "gone", on=name)
        message = (
            "koord-scheduler: preempting to accommodate higher priority pods, preemptor: far/big, triggerPod: far/b"
        )
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        victim["status"] = {"phase": "Failed", "conditions": [condition | {"message": message}]}
        items.append(victim)
    return write(tmp_path, {"apiVersion": "v1", "kind": "List", "items": items})


@pytest.mark.parametrize(
    "words",
    [("topo",), ("why-pending",), ("why-pending", "g01"), ("preempt", "wide", "--dry-run"), ("why-preempted", "gone")],
    ids=" ".join,
)
def test_a_cut_on_a_terminal_says_how_to_see_the_rest_and_all_shows_what_a_pipe_gets(
    koord: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = crowded(tmp_path)
    at = ("--snapshot", path, "--color=never")
    cut, whole, piped = on_a_terminal(*words, *at), on_a_terminal("--all", *words, *at), koord(*words, *at).out
    names = set(re.findall(r"[\w-]+\d\d\b", piped))
    assert len(names) >= 90
    assert "--all shows" in cut
    assert names - set(re.findall(r"[\w-]+\d\d\b", cut))
    for text in (whole, piped):
        assert names <= set(re.findall(r"[\w-]+\d\d\b", text))
        assert "--all" not in text
        assert not re.search(r"\d more", text)


def test_structured_output_has_no_colour_ever(koord: Run, cluster: str) -> None:
    for form in ("json", "yaml"):
        assert ESCAPE not in koord("why-pending", "job", "-o", form, "--color=always", "--snapshot", cluster).out


def test_an_output_without_unicode_is_written_all_the_same(installed: Run, cluster: str) -> None:
    done = installed("topo", "--snapshot", cluster, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.code, done.err) == (0, "")
    assert done.out.isascii()


EVIL = "\x1b[2J\x9b31m\u202eevil\u2066\u200b[/red] [link=http://x]\r\n:smile: \x07\x00"
_KEPT = {"apiVersion", "kind", "schedulerName", "phase", "topologyLayer", "parentTopologyLayer", "type", "status"}


def planted(value: object, key: str = "") -> object:
    """Return an object with hostile text in every string that carries no meaning of the API itself."""
    match value:
        case dict():
            return {name: planted(part, name) for name, part in value.items()}
        case list():
            return [planted(part, key) for part in value]
        case str() if key not in _KEPT and not value[:1].isdigit() and not value.startswith("{"):
            return value + EVIL
        case _:
            return value


@pytest.fixture(scope="module")
def hostile() -> Object:
    objects: Object = {"apiVersion": "v1", "kind": "List", "items": []}
    for item in world()["items"]:
        if item["kind"] in {"Deployment", "ConfigMap"}:
            continue
        changed = planted(item)
        assert isinstance(changed, dict)
        if item["kind"] == "ClusterNetworkTopology":
            changed["metadata"]["name"] = "default"
            changed["spec"] = item["spec"]
        if item["kind"] == "Node":
            changed["metadata"]["labels"] = {"spine": changed["metadata"]["labels"]["spine"]}
        if item["kind"] == "Pod" and "nodeName" not in item["spec"]:
            said = {"type": "PodScheduled", "status": "False", "message": EVIL, "reason": "Unschedulable"}
            changed["status"]["conditions"] = [said]
            changed["metadata"]["ownerReferences"] = [{"kind": "Job" + EVIL, "name": EVIL, "controller": True}]
        objects["items"].append(changed)
    return objects


HOSTILE_LINES = (
    ("topo", "--nodes"),
    ("topo", "--nodes", "--for", "job"),
    ("why-pending", "-A"),
    ("why-pending", "job"),
    ("why-pending", "few"),
    ("why-pending", "lost"),
    ("preempt", "high", "--dry-run"),
    ("why-pending", "nobody"),
)


@pytest.mark.parametrize("words", HOSTILE_LINES, ids=" ".join)
def test_hostile_text_stays_text_in_every_format(
    koord: Run, hostile: Object, tmp_path_factory: pytest.TempPathFactory, words: tuple[str, ...]
) -> None:
    path = write(tmp_path_factory.mktemp("hostile"), hostile)
    named = [word + EVIL if word in {"job", "few", "lost", "high"} else word for word in words]
    spelled = (*named, "--snapshot", path, "-n", "default" + EVIL)
    plain = koord(*spelled)
    assert plain.code in {0, 1, 2}
    for written in (plain.out + plain.err, koord(*spelled, "-o", "json").out, koord(*spelled, "-o", "yaml").out):
        assert all(char.isprintable() or char == "\n" for char in written), written
    assert "evil" in plain.out + plain.err
    if plain.out:
        as_json = json.loads(koord(*spelled, "-o", "json").out)
        assert as_json["kind"] == yaml.safe_load(koord(*spelled, "-o", "yaml").out)["kind"]
        assert EVIL in json.dumps(as_json, ensure_ascii=False) or EVIL in str(as_json) or "\\u202e" in str(as_json)
    coloured = koord(*spelled, "--color=always").out
    assert not {"\x9b", "\u202e", "\x07", "\x00"} & set(coloured)
    assert "\x1b[2J" not in coloured


IMPORTED = """
import json, sys
from kubectl_koord.cli import output as pager
from kubectl_koord.cli.main import run
for words in json.loads(sys.argv[1]):
    code = run(words)
    sys.stdout.flush()
    print(json.dumps([code, *sys.modules]), file=sys.stderr)
"""
HEAVY = {"kubernetes", "rich", "pydantic", "numpy", "requests", "urllib3", "asyncio"}


def imported(*lines: tuple[str, ...]) -> list[set[str]]:
    """Return what is imported after each of some command lines, one after the other in a process of their own."""
    command = [sys.executable, "-c", IMPORTED, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert {code for code, *_ in told} <= {0, 1}
    return [set(modules) for _, *modules in told]


def test_a_piped_command_imports_nothing_heavy(cluster: str) -> None:
    where = ("--snapshot", cluster)
    lines = [("version",), ("--help",), *((*words, "-o", "json", *where) for words in LINES)]
    lines += [(*words, *where) for words in LINES]
    assert [(line, odd) for line, after in zip(lines, imported(*lines), strict=True) if (odd := HEAVY & after)] == []


def test_what_needs_no_cluster_imports_neither_yaml_nor_what_decides(cluster: str) -> None:
    (version,), (page,), (verbs,), (names,) = (
        imported(words)
        for words in (
            ("version",),
            ("explain", "not-admitted"),
            ("__complete", ""),
            ("__complete", "topo", "--snapshot", cluster, "--for", ""),
        )
    )
    assert not [name for name in page if name.startswith("kubectl_koord.engine.")]
    assert "yaml" not in version
    assert "kubectl_koord.engine.rounds" not in verbs
    assert "typer" not in names
