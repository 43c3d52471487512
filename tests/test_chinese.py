"""The catalogue of Simplified Chinese is whole, and what is printed is Chinese."""

import ast
import re
import subprocess
import sys

from distribution import messages

_FIELD = re.compile(r"\{(\w+)[^{}]*\}")
_GRAMMAR = re.compile(
    "(ask|be|choose|come|do|end|fit|follow|go|hold|keep|lack|need|offer|read|recreate|report|run|say|start|stay|take|wait)"
    "(e?s)?|has|have|is|are|was|were|its?|they|them|their|this|these|that|those|there|whose|such|nouns?|verbs?|part|s|anew"
)
"""What is filled in for the grammar of English alone; `part` and `part2` are such forms, too."""
_ELSEWHERE = {
    "kubectl_koord/cli/command_line.py": "verbs and their groups",
    "kubectl_koord/cli/completion.py": "verbs",
    "kubectl_koord/cli/help_text.py": "what Typer's commands say",
    "kubectl_koord/render/pages/manual.py": "headings of the manual",
    "kubectl_koord/leaving.py": "last words",
    "kubectl_koord/render/pages/why.py": "layers",
    "kubectl_koord/reports/manual.py": "the manual",
    "kubectl_koord/wording/words.py": "nouns, and what stands between the items of a list",
}
"""Who says what is no text where it stands, and what that is: `distribution.messages` knows where it is from."""


def test_every_text_has_a_translation() -> None:
    found = messages.catalogue()

    assert [one.id for one in found if one.id and not one.string] == []


def test_a_translation_has_the_values_of_its_text_and_leaves_out_at_most_grammar() -> None:
    for one in messages.catalogue():
        if not one.id:
            continue
        ours, theirs = (set(_FIELD.findall(str(text))) for text in (one.id, one.string))

        assert theirs <= ours, one.string
        assert all(_GRAMMAR.fullmatch(name.rstrip("_0123456789")) for name in ours - theirs), one
        assert str(one.string).count("\n") == str(one.id).count("\n"), one.string


def test_the_catalogue_is_what_the_source_says_and_is_compiled() -> None:
    assert (messages.PO.read_bytes(), messages.MO.read_bytes()) == messages.written(messages.catalogue())


def test_what_is_said_is_a_text_where_it_is_said() -> None:
    """What is not can be extracted by who knows it only."""
    others = set()
    for path in sorted(messages.PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="say"), args=[ast.Constant(), *_]):
                    pass
                case (
                    ast.Call(func=ast.Name(id="say")) | ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="say"), *_])
                ):
                    others.add(str(path.relative_to(messages.ROOT)))
                case _:
                    pass

    assert others == set(_ELSEWHERE)


def test_the_golden_screens_in_chinese_are_current() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.chinese"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
