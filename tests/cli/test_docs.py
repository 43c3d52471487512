"""What the documents show is what the program prints, what they tell to paste works, and what they link to is there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from distribution.symptoms import anchor, symptoms
from kubectl_koord.cli import command_line
from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.reports.common import CauseCode, ReasonCode, members
from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
PATHS = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in PATHS}
ENGLISH, CHINESE = TEXTS["README.md"], TEXTS["README.zh-CN.md"]
PROMPT = "$ kubectl koord "
KNOWN = set(command_line.OF_ALL)


def blocks(text: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def is_generated(name: str) -> bool:
    """Tell whether a page is made of what the program prints: that it is current is tested beside its generator."""
    return name.startswith("docs/commands/") and not name.endswith("README.md")


EXAMPLES = {
    block: name
    for name, text in sorted(TEXTS.items(), reverse=True)
    for block in blocks(text)
    if block.startswith(PROMPT) and not is_generated(name)
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda block: f"{EXAMPLES[block]}: {block.splitlines()[0]}")
def test_an_example_prints_what_it_shows_where_dots_stand_for_lines_left_out(
    koord: Run, monkeypatch: pytest.MonkeyPatch, example: str
) -> None:
    monkeypatch.chdir(ROOT)
    first, _, shown = example.partition("\n")
    done = koord(*shlex.split(first.removeprefix(PROMPT)))
    lines = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    assert re.fullmatch("(.*\n)*".join(map(re.escape, lines)), done.out), done.out
    assert done.err == ""


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield every line that somebody may paste, in blocks, help and sentences, and where it stands."""
    for name, text in TEXTS.items():
        for block in blocks(text):
            yield from ((name, line) for line in re.findall(r"^ *\$? ?kubectl koord (.*)$", block, re.MULTILINE))
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        yield from ((name, line) for line in re.findall(r"`kubectl koord ([^`]*)`", outside))


def unknown_words(line: str) -> list[str]:
    """Return the verb of a command line, or its flags, that the program does not know."""
    line = re.split(r" [|>&] | \$\(|   ", line)[0]
    words = shlex.split(re.sub(r"[\[\]]|\\?\|", " ", line), comments=True)
    name = command_line.in_full(words)
    if name not in VERBS:
        return words[:1] if words and not words[0].startswith("-") and not words[0].isupper() else []
    verbs = [verb for verb in VERBS if verb == name or verb.startswith(f"{name} ")]
    flags = {word.partition("=")[0] for word in words if re.match("--?[a-zA-Z]", word)}
    return sorted(flags - KNOWN - {flag for verb in verbs for flag in command_line.flags_of(verb)})


def test_every_command_line_has_a_verb_and_flags_that_there_are() -> None:
    lines = list(command_lines())
    assert len(lines) > 200
    unknown = [(name, line, found) for name, line in lines if (found := unknown_words(line))]
    assert unknown == []


@pytest.mark.parametrize("first", ["mkdir cluster", "kubectl koord snapshot"])
def test_a_cluster_can_be_saved_as_told_where_custom_resources_are_not_installed(
    server: ApiServer, tmp_path: Path, first: str
) -> None:
    (block,) = {block for text in TEXTS.values() for block in blocks(text) if block.startswith(first)}
    no_such = (404, "NotFound", "the server could not find the requested resource")
    server.rules += [Rule("/apis/slo.koordinator.sh/v1alpha1", *no_such), Rule(".*/elasticquotas", *no_such)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", block], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    answers = re.findall(
        "^(.*)/job is pending: no .* has room for its 2 pods; the best has 1.$", done.stdout, re.MULTILINE
    )
    assert answers == ["default"], done.stdout + done.stderr
    assert done.returncode == 1
    if first == "mkdir cluster":
        saved = {path.name.removesuffix(".json") for path in (tmp_path / "cluster").iterdir()}
        assert {"nodes", "pods", "podgroups.scheduling.sigs.k8s.io", "podmigrationjobs"} <= saved
        assert not saved & {"elasticquotas", "nodemetrics"}
        assert 'doesn\'t have a resource type "nodemetrics"' in done.stderr


def links(text: str) -> set[str]:
    """Return what a text links to, or shows, within the repository."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return {target for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", outside) if "://" not in target}


def test_what_is_linked_to_is_there() -> None:
    lost = [(name, link) for name, text in TEXTS.items() for link in links(text) if not is_there(name, link)]
    assert lost == []


def is_there(name: str, link: str) -> bool:
    return (ROOT / name).parent.joinpath(link).exists()


def test_every_page_is_reached_from_the_readme() -> None:
    reached, todo = set[str](), ["README.md"]
    while todo:
        name = todo.pop()
        if name in TEXTS and name not in reached:
            reached.add(name)
            folder = (ROOT / name).parent
            todo += (os.path.relpath(folder / link, ROOT) for link in links(TEXTS[name]))
    assert set(TEXTS) - reached == {"docs/sentences.md"}  # which is read aloud by those who change wording


def test_the_readme_shows_an_answer_before_anything_else() -> None:
    for text in (ENGLISH, CHINESE):
        assert "(docs/images/why-pending.svg)" in text.partition("\n## ")[0]


def test_the_chinese_readme_has_all_that_the_english_one_has() -> None:
    def of(text: str) -> dict[str, object]:
        return {
            "headings": re.findall(r"^#+ (?=\S)", text, re.MULTILINE),
            "blocks": blocks(text),
            "links": sorted(links(text) - {"README.md", "README.zh-CN.md"}),
            "rows": [line.count("|") for line in text.splitlines() if line.startswith("|")],
            "commands": sorted(set(re.findall(r"`(?:kubectl koord|make|--|-o|annotate|topo)[^`]*`", text))),
            "numbers": sorted(re.findall(r"\d+(?:[.,]\d+)*", re.sub(r"```.*?```", "", text, flags=re.DOTALL))),
        }

    assert of(CHINESE) == of(ENGLISH)


def test_the_targets_of_make_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for name in ("README.md", "README.zh-CN.md", "docs/compatibility.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", TEXTS[name], re.MULTILINE))
        assert named
        assert named <= targets


def test_every_test_that_a_page_names_is_there() -> None:
    for name in ("docs/security.md", "docs/compatibility.md"):
        named = re.findall(r"tests/[\w/]+(?:\.\w+)?", TEXTS[name])
        assert named
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_code_of_an_answer_is_found_by_a_symptom() -> None:
    assert {*members(CauseCode), *members(ReasonCode)} - {code for one in symptoms() for code in one.codes} == set()


def test_a_newcomer_comes_from_the_index_to_a_page_and_its_command() -> None:
    rows = re.findall(
        r"^\| [^|]+\? \| \[[^]]+\]\(([^)]+)\) \| `kubectl koord ([^`]+)` \|$", TEXTS["docs/README.md"], re.MULTILINE
    )
    assert len(rows) == 20
    for link, command in rows:
        path, _, part = link.partition("#")
        page = TEXTS[os.path.normpath(f"docs/{path}")]
        assert not part or part in map(anchor, re.findall(r"^#+ (.+)$", page, re.MULTILINE)), link
        assert f"kubectl koord {command}" in page, link
