"""Which language is spoken: the flag beats our variable, that the system; English where the other cannot be printed."""

import subprocess
from collections.abc import Iterator

import pytest

from kubectl_koord import language
from kubectl_koord.cli import languages
from kubectl_koord.cli.main import run
from kubectl_koord.render.plain import harmless
from kubectl_koord.wording.words import count, listed
from tests.forked import PROGRAM

CHINESE = {"LANG": "zh_CN.UTF-8"}


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    language.speak("en", str)


@pytest.mark.parametrize(
    ("words", "environment", "spoken"),
    [
        ((), {}, "en"),
        ((), CHINESE, "zh"),
        ((), {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ((), {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN"}, "zh"),
        ((), {"LANG": "zh_SG.utf8@pinyin"}, "zh"),
        ((), {"LANG": "zh_TW.UTF-8"}, "en"),
        ((), {"LANG": "fr_FR.UTF-8"}, "en"),
        ((), {**CHINESE, "KUBECTL_KOORD_LANG": "en"}, "en"),
        ((), {"KUBECTL_KOORD_LANG": "zh-Hans"}, "zh"),
        (("topo", "--lang", "en"), {"KUBECTL_KOORD_LANG": "zh"}, "en"),
        (("--lang=zh", "topo"), {}, "zh"),
        (("--lang=zh", "topo", "--lang", "en"), {}, "en"),
        (("node", "--", "--lang=zh"), {}, "en"),
        (("topo", "--lang"), {}, "en"),
    ],
)
def test_the_flag_beats_the_variable_and_that_the_system(
    words: tuple[str, ...], environment: dict[str, str], spoken: str
) -> None:
    languages.choose(words, environment, "utf-8")

    assert language.spoken() == spoken


@pytest.mark.parametrize("encoding", ["ascii", "", "latin-1"])
def test_what_cannot_print_chinese_gets_english(encoding: str) -> None:
    languages.choose(("--lang=zh",), {}, encoding)

    assert language.spoken() == "en"


@pytest.mark.parametrize(
    ("words", "variable", "line"),
    [
        (["topo", "--demo", "--lang", "klingon"], "", "error: --lang 'klingon' is not one of en, zh\n"),
        (["topo", "--demo"], "tlh", "error: KUBECTL_KOORD_LANG 'tlh' is not one of en, zh\n"),
        (["topo", "--demo", "--lang"], "", "error: flag needs an argument: --lang\n"),
    ],
)
def test_a_language_that_is_not_spoken_here_is_refused_in_one_line(
    words: list[str], variable: str, line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECTL_KOORD_LANG", variable)

    assert run(words) == 2
    assert capfd.readouterr() == ("", line)


def test_a_text_without_a_translation_stays_english_and_a_name_is_no_text() -> None:
    texts = {"{number} pods": "{number} \u4e2a Pod", " and ": " \u548c "}
    language.speak("zh", lambda text: texts.get(text, text))

    assert language.say("none {here}", here="{x}") == "none {x}"
    assert count(3, "pod") == "3 \u4e2a Pod"
    assert count(3, "{odd}") == "3 {odd}s"
    assert listed(["a", "b"]) == "a \u548c b"


def test_a_stop_beside_chinese_is_full_width_and_a_sign_that_is_explained_stays() -> None:
    language.speak("zh", str)

    assert harmless("\u8282\u70b9, a; b") == "\u8282\u70b9\uff0ca; b"
    assert harmless(". \u7a7a\u95f2 (\uff08. \u7a7a\u95f2\uff09)") == ". \u7a7a\u95f2 (\uff08. \u7a7a\u95f2\uff09)"


def test_an_answer_its_codes_and_its_document_in_chinese() -> None:
    def said(*words: str) -> str:
        environment = {"KUBECTL_KOORD_LANG": "zh", "PYTHONUTF8": "1"}
        return subprocess.run(
            [PROGRAM, *words, "--demo"], capture_output=True, encoding="utf-8", check=False, env=environment
        ).stdout

    answer, document = said("why-pending", "train/one-short"), said("why-pending", "train/one-short", "-o", "json")

    assert "\u7b49\u5f85\u8c03\u5ea6" in answer
    assert "explain insufficient-slots" in said("why-pending", "train/one-short", "-o", "wide")
    assert '"code": "insufficient-slots"' in document
