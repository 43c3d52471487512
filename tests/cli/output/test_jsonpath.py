"""Templates of `-o jsonpath=`: what they find is what kubectl finds."""

import pytest

from kubectl_koord.cli.jsonpath import filled, find, path, template
from kubectl_koord.errors import KoordError

DOCUMENT = {
    "items": [
        {"gang": "a/b", "pods": 3, "labels": {"x.y": "z"}, "list": [1, 2, 3], "ready": True},
        {"gang": "c", "pods": 5, "cause": None, "ready": False},
    ]
}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{.items[*].gang}", "a/b c"),
        ('{range .items[*]}{.gang}{"\\t"}{.pods}{"\\n"}{end}', "a/b\t3\nc\t5\n"),
        ("{range .items[*]}{range .list[*]}<{@}>{end};{end}", "<1><2><3>;;"),
        (r"{.items[0].labels.x\.y}", "z"),
        ("{.items[0].labels['x.y']}", "z"),
        ("{.items[0].labels.*}", "z"),
        ("{.items[?(@.pods>3)].gang}", "c"),
        ("{.items[?(@.pods >= 3)].gang}", "a/b c"),
        ("{.items[?(@.pods<=3)].gang}", "a/b"),
        ("{.items[?(@.pods<5)].gang}", "a/b"),
        ("{.items[?(@.gang=='c')].pods}", "5"),
        ('{.items[?(@.gang!="c")].pods}', "3"),
        ("{.items[?(@.ready==true)].gang}", "a/b"),
        ("{.items[?(@.labels)].gang}", "a/b"),
        ("{.items[-1].pods}", "5"),
        ("{.items[0].list[0:2]}", "1 2"),
        ("{.items[0].list[::2]}", "1 3"),
        ("{.items[0].list[0,2]}", "1 3"),
        ("{.items[7].gang}", ""),
        ("{.items[0].pods[0]}{.items[0].pods[0:1]}{.items[0].pods.x}{.items[0].pods[*]}", ""),
        ("{..pods}", "3 5"),
        ("{$.items[0]['gang', \"pods\"]}", "a/b 3"),
        ("x{.items[1].cause}{.nothing.here}y", "xy"),
        ("{.items[0].labels}", '{"x.y":"z"}'),
        ("{.items.[0].gang}", "a/b"),
        ("{.items[0].ready}", "true"),
        ("no braces", "no braces"),
        ("", ""),
    ],
)
def test_a_template_finds_what_kubectl_finds(text: str, says: str) -> None:
    assert filled(template(text), DOCUMENT) == says


@pytest.mark.parametrize("text", ["{.a.b}", ".a.b", "a.b", "$.a.b", "@.a.b"])
def test_a_path_may_be_written_in_any_of_kubectls_ways(text: str) -> None:
    assert find(path(text), {"a": {"b": 1}}) == [1]


def test_the_path_of_everything_is_a_dot() -> None:
    assert find(path("."), 7) == [7]


def test_values_are_made_harmless_and_the_templates_own_text_is_not_touched() -> None:
    assert filled(template('{.a}{"\\n"}'), {"a": "x\x1b[2J\ny"}) == "x\\x1b[2J\\x0ay\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{.a", "unclosed action"),
        ("}", "unexpected }"),
        ("{end}", "not in range, nothing to end"),
        ("{range .a}", "range is not ended"),
        ("{.a[x]}", "cannot read [x]"),
        ("{.a b}", "cannot read ' b'"),
        ("{.a[?(@.b==c)]}", "cannot read 'c'"),
        ("{.a[0:1:0]}", "a step of 0"),
    ],
)
def test_a_mistake_is_named(text: str, problem: str) -> None:
    with pytest.raises(KoordError) as refused:
        template(text)
    assert refused.value.message.startswith("error: error parsing jsonpath ")
    assert refused.value.message.endswith(f", {problem}")
