"""The language of what is printed: each text stands in English where it is said, and is looked up there."""

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Callable


STOP = ".\u3002"
"""What ends a sentence."""


class _Spoken:
    """The language, and what gives its text for an English one."""

    def __init__(self) -> None:
        self.name = "en"
        self.found: Callable[[str], str] = str


_SPOKEN = _Spoken()


def say(template: str, /, **values: object) -> str:
    """Return a text in the language that is spoken, with its values; in English where it has no translation.

    Codes, commands, and what the cluster says are values, or no texts of this kind: they stay as they are.
    """
    text = _SPOKEN.found(template)
    return text.format_map(values) if values else text


def spoken() -> str:
    """Return the language: `en` or `zh`."""
    return _SPOKEN.name


def speak(name: str, found: "Callable[[str], str]") -> None:
    """Say everything in a language from now on; texts that modules keep are in the one in which they were imported."""
    _SPOKEN.name, _SPOKEN.found = name, found
