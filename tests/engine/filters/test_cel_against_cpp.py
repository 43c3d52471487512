"""CEL selectors beside Google's own evaluator, `cel-expr-python`: whatever is written, both make the same of it."""

import random
from collections import Counter

import pytest

from kubectl_koord.engine.cel.evaluate import Subject, matches
from kubectl_koord.engine.cel.syntax import EvaluationError, UnsupportedError
from kubectl_koord.model.resource_claims import ClaimableDevice

HOW_MANY, FEWEST = 60_000, 10_000
TOLD: dict[str, tuple[str, str | int | bool]] = {
    "model": ("string", "A100"),
    "numa": ("int", 1),
    "ok": ("bool", True),
    "text": ("string", "äB\n1"),
}
DEVICE = ClaimableDevice(("x", "p", "d"), attributes=tuple((("x", name), value) for name, value in TOLD.items()))
PLAIN = {"driver": "x", "attributes": {"x": {name: value for name, (_, value) in TOLD.items()}}, "capacity": {}}
_TEXTS = ('"A100"', '"a1"', '"0"', '""', "'ä'", 'r"a\\d"', '"\\u0041"', "device.driver")
_OF_TEXT = ("device.attributes['x'].model", 'device.attributes["x"].text', "device.attributes.x.model")
_NUMBERS = ("0", "1", "-1", "2", "0x10", "9223372036854775807", 'device.attributes["x"].numa')
_PATTERNS = ('"^A"', '"[0-9]+$"', '"a|1"', '"(?i)a100"', '"."', '"\\\\d{2}"')
_BROKEN = ('device.attributes["x"].nope', 'device.attributes["y"].model', "device.attributes.x.model.foo")


class Written:
    """Expressions, each made of smaller ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - not for secrets

    def _one(self, of: tuple[str, ...]) -> str:
        return self._random.choice(of)

    def text(self, deep: int) -> str:
        kinds = [
            lambda: self._one(_TEXTS),
            lambda: self._one(_OF_TEXT),
            lambda: self._one(_BROKEN),
            lambda: f"{self.text(deep - 1)} + {self._one(_TEXTS)}",
            lambda: f"({self.text(deep - 1)}).lowerAscii()",
            lambda: f"({self.boolean(deep - 1)} ? {self.text(deep - 1)} : {self.text(deep - 1)})",
            lambda: f"string({self.number(deep - 1)})",
        ]
        return self._random.choice(kinds[: 7 if deep > 0 else 2])()

    def number(self, deep: int) -> str:
        kinds = [
            lambda: self._one(_NUMBERS),
            lambda: f"size({self._one(_TEXTS)})",
            lambda: f"({self.number(deep - 1)} {self._one(('+', '-', '*', '/', '%'))} {self.number(deep - 1)})",
            lambda: f"-({self.number(deep - 1)})",
            lambda: f"({self.boolean(deep - 1)} ? {self.number(deep - 1)} : {self.number(deep - 1)})",
            lambda: f"int({self._one(_TEXTS)})",
        ]
        return self._random.choice(kinds[: 6 if deep > 0 else 2])()

    def boolean(self, deep: int) -> str:
        compare = self._one(("==", "!=", "<", "<=", ">", ">="))
        kinds = [
            lambda: self._one(("true", "false", 'device.attributes["x"].ok')),
            lambda: self._one(('has(device.attributes["x"].model)', 'has(device.attributes["x"].nope)')),
            lambda: f"{self.number(deep - 1)} {compare} {self.number(deep - 1)}",
            lambda: f"{self.text(deep - 1)} {compare} {self.text(deep - 1)}",
            lambda: f"({self.boolean(deep - 1)} && {self.boolean(deep - 1)})",
            lambda: f"({self.boolean(deep - 1)} || {self.boolean(deep - 1)})",
            lambda: f"!({self.boolean(deep - 1)})",
            lambda: f"({self.text(deep - 1)}).{self._one(('startsWith', 'endsWith', 'contains'))}({self._one(_TEXTS)})",
            lambda: f"({self.text(deep - 1)}).matches({self._one(_PATTERNS)})",
            lambda: f"{self.number(deep - 1)} in [{self.number(deep - 1)}, {self.number(deep - 1)}]",
            lambda: f"{self._one(_TEXTS)} in device.attributes['x']",
            lambda: f"[{self.number(deep - 1)}, 1].{self._one(('exists', 'all', 'exists_one'))}(n, n {compare} 1)",
            lambda: f"device.attributes['x'].exists(k, k == {self._one(_TEXTS)})",
            lambda: f"{self.text(deep - 1)} == {self.number(deep - 1)}",
        ]
        return self._random.choice(kinds[: 14 if deep > 0 else 2])()


@pytest.mark.soak
def test_what_is_written_means_to_us_what_it_means_to_the_evaluator_of_google() -> None:
    cel = pytest.importorskip("cel_expr_python.cel", reason="cel-expr-python is not installed")
    strings = pytest.importorskip("cel_expr_python.ext.ext_strings").ExtStrings()
    world = cel.NewEnv(variables={"device": cel.Type.DYN}, extensions=[strings])
    written = Written(1)
    different: dict[str, tuple[object, object]] = {}
    outcomes: Counter[object] = Counter()
    for _ in range(HOW_MANY):
        expression = written.boolean(4)
        try:
            ours: object = matches(expression, Subject("x", DEVICE))
        except EvaluationError:
            ours = "error"
        except UnsupportedError:
            continue
        outcomes[ours] += 1
        try:
            answer = world.compile(expression, disable_check=True).eval(data={"device": PLAIN})
            theirs: object = answer.value() if answer.type() == cel.Type.BOOL else "error"
        except Exception as failure:  # noqa: BLE001 - whatever it says of an expression that cannot be compiled
            theirs = f"not compiled: {failure}"
        if ours != theirs:
            different[expression] = ours, theirs
    assert different == {}
    assert min(outcomes[True], outcomes[False], outcomes["error"]) > FEWEST
