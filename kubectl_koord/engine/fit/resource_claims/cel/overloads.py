"""The functions, methods and operators of CEL that are evaluated, by the types of what they are applied to.

Those of semantic versions and quantities are Kubernetes' own (k8s.io/apiserver/pkg/cel/library).
"""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kubectl_koord.engine.fit.resource_claims.cel.faults import EvaluationError, UnsupportedError
from kubectl_koord.engine.fit.resource_claims.cel.values import (
    MOST,
    Amount,
    Domains,
    Optional,
    Value,
    Version,
    amount,
    version,
)
from kubectl_koord.model.values.quantity import NANO

_MOST_CHARACTERS = 1 << 10
_INT = re.compile(r"[+-]?[0-9]{1,19}")

Overloads: TypeAlias = dict[tuple[type, ...], Callable[..., Value]]


def called(name: str, *values: Value) -> Value:
    """Return what a function, method or operator makes of values.

    Raises:
        EvaluationError: when it takes no such values, or fails.
        UnsupportedError: when it is not evaluated.

    """
    overloads = OVERLOADS.get(name)
    if overloads is None:
        raise UnsupportedError
    found = overloads.get(tuple(map(type, values)))
    if found is None:
        raise EvaluationError("no-such-overload", name)
    return found(*values)


def _int64(number: int) -> int:
    if not -MOST - 1 <= number <= MOST:
        raise EvaluationError("integer-overflow")
    return number


def _quotient(number: int, by: int) -> int:
    if not by:
        raise EvaluationError("division-by-zero")
    found = abs(number) // abs(by)
    return _int64(found if (number < 0) is (by < 0) else -found)


def _rest(number: int, by: int) -> int:
    return number - by * _quotient(number, by)


def _joined(first: str, second: str) -> str:
    if len(first) + len(second) > _MOST_CHARACTERS:
        raise UnsupportedError
    return first + second


def _unsupported(*_values: Value) -> Value:
    raise UnsupportedError


def _as_int(text: str) -> int:
    if not _INT.fullmatch(text):
        raise EvaluationError("no-integer", text)
    return _int64(int(text))


def _does(make: Callable[[str], Value]) -> Callable[[str], bool]:
    """Return what tells whether a text can be made into a value."""

    def does(text: str) -> bool:
        try:
            make(text)
        except EvaluationError:
            return False
        return True

    return does


def _is_integer(of: Amount) -> bool:
    if not of.is_plain and of.nano % NANO == 0:
        raise UnsupportedError  # it depends on how it was written
    return of.nano % NANO == 0


def _as_integer(of: Amount) -> int:
    if not _is_integer(of):
        raise EvaluationError("no-integer")
    return of.nano // NANO


def _sign(of: Any, to: Any) -> int:  # noqa: ANN401 - what is ordered
    return int(of > to) - int(of < to)


def _dereferenced(of: Optional) -> Value:
    if not of.values:
        raise EvaluationError("no-value")
    return of.values[0]


def _capitals(text: str, change: Callable[[bytes], bytes]) -> str:
    """Return a text with its ASCII letters changed."""
    return change(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _comparison(holds: Callable[[Any, Any], bool]) -> Overloads:
    same: Overloads = {(kind, kind): holds for kind in (bool, int, float, str)}
    return same | {
        (int, float): lambda number, to: holds(float(number), to),
        (float, int): lambda number, to: holds(number, float(to)),
    }


def _compared(holds: Callable[[int], Value]) -> Overloads:
    return {
        (Version, Version): lambda of, to: holds(_sign(of, to)),
        (Amount, Amount): lambda of, to: holds(_sign(of.nano, to.nano)),
    }


def _of_texts(tells: Callable[[str, str], bool]) -> Overloads:
    return {(str, str): tells}


_WITH_INT: Overloads = {(Amount, int): _unsupported}
OVERLOADS: Mapping[str, Overloads] = {
    "+": {
        (int, int): lambda first, second: _int64(first + second),
        (float, float): operator.add,
        (str, str): _joined,
        (tuple, tuple): _unsupported,
    },
    "-": {(int, int): lambda first, second: _int64(first - second), (float, float): operator.sub},
    "*": {(int, int): lambda first, second: _int64(first * second), (float, float): operator.mul},
    "/": {(int, int): _quotient, (float, float): _unsupported},
    "%": {(int, int): _rest},
    "negate": {(int,): lambda number: _int64(-number), (float,): operator.neg},
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "size": {(kind,): len for kind in (str, tuple, dict, Domains)},
    "int": {(int,): int, (str,): _as_int, (float,): _unsupported},
    "string": {(str,): str, (int,): str, (bool,): lambda told: "true" if told else "false", (float,): _unsupported},
    "contains": _of_texts(operator.contains),
    "startsWith": _of_texts(str.startswith),
    "endsWith": _of_texts(str.endswith),
    "lowerAscii": {(str,): lambda text: _capitals(text, bytes.lower)},
    "upperAscii": {(str,): lambda text: _capitals(text, bytes.upper)},
    "semver": {(str,): version, (str, bool): _unsupported},
    "isSemver": {(str,): _does(version), (str, bool): _unsupported},
    "major": {(Version,): lambda of: of.major},
    "minor": {(Version,): lambda of: of.minor},
    "patch": {(Version,): lambda of: of.patch},
    "quantity": {(str,): amount},
    "isQuantity": {(str,): _does(amount)},
    "isInteger": {(Amount,): _is_integer},
    "asInteger": {(Amount,): _as_integer},
    "add": {(Amount, Amount): lambda of, more: Amount(of.nano + more.nano, is_plain=False), **_WITH_INT},
    "sub": {(Amount, Amount): lambda of, less: Amount(of.nano - less.nano, is_plain=False), **_WITH_INT},
    "compareTo": _compared(lambda order: order),
    "isGreaterThan": _compared(lambda order: order > 0),
    "isLessThan": _compared(lambda order: order < 0),
    "value": {(Optional,): _dereferenced},
    "hasValue": {(Optional,): lambda of: bool(of.values)},
}
"""What is evaluated, by its name: the function for each list of types."""
