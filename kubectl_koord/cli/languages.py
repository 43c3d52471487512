"""Which language the user asks for, and its texts: what prints is imported after it was chosen."""

import os
import sys
from collections.abc import Mapping, Sequence

from kubectl_koord import language, leaving

LANGUAGES = ("en", "zh")
FLAG, VARIABLE = "--lang", "KUBECTL_KOORD_LANG"
_OF_SYSTEM = ("LC_ALL", "LC_MESSAGES", "LANG")
_SIMPLIFIED = {"zh", "zh_cn", "zh_sg", "zh_hans", "zh_hans_cn"}


def asked(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the language that a command line or our own variable names, empty where neither does."""
    end = words.index("--") if "--" in words else len(words)
    named = ""
    for place, word in enumerate(words[:end]):
        flag, equals, value = word.partition("=")
        if flag == FLAG:
            named = value if equals else "".join(words[place + 1 : place + 2])
    return named or environment.get(VARIABLE, "")


def understood(name: str) -> str:
    """Return the language that a name such as `zh_CN.UTF-8` means; empty for none of ours."""
    plain = name.partition(".")[0].partition("@")[0].replace("-", "_").lower()
    if plain in _SIMPLIFIED:
        return "zh"
    return "en" if plain.partition("_")[0] == "en" else ""


def choose(words: Sequence[str], environment: Mapping[str, str], encoding: str) -> None:
    """Speak the language that is asked for, or that of the system; English where the output cannot carry the other."""
    of_system = next((environment[name] for name in _OF_SYSTEM if environment.get(name)), "")
    wanted = understood(asked(words, environment) or of_system)
    if wanted == "zh" and encoding.lower().startswith("utf"):
        speak_chinese()


def speak_chinese() -> None:
    """Say everything in Simplified Chinese."""
    import gettext
    from pathlib import Path

    catalogues = Path(__file__).parents[1] / "locale"
    leaving.speak("utf-8")
    language.speak("zh", gettext.translation("kubectl_koord", catalogues, ["zh_CN"]).gettext)


def here() -> None:
    """Choose for this process."""
    choose(sys.argv[1:], os.environ, getattr(sys.stdout, "encoding", "") or "")
