"""Whether a device matches a CEL expression: its tree compiled to functions."""

import operator
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.cel.patterns import matcher
from kubectl_koord.engine.cel.syntax import (
    MOST,
    AbortError,
    Amount,
    Call,
    Domains,
    EvaluationError,
    Field,
    Item,
    Items,
    Literal,
    Name,
    Node,
    Optional,
    UnsupportedError,
    Value,
    Version,
    amount,
    equal,
    graver,
    parsed,
    version,
)
from kubectl_koord.model.resource_claims import ClaimableDevice
from kubectl_koord.model.values import NANO

_MOST_CHARACTERS = 1 << 10
_INT = re.compile(r"[+-]?[0-9]{1,19}")

Overloads: TypeAlias = dict[tuple[type, ...], Callable[..., Value]]


def called(name: str, *values: Value) -> Value:
    """Return what a function, method or operator makes of values.

    Raises EvaluationError when it takes no such values, or fails. Raises UnsupportedError when it is not evaluated.
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


def _overloads_joined(first: str, second: str) -> str:
    if len(first) + len(second) > _MOST_CHARACTERS:
        raise UnsupportedError
    return first + second


def _overloads_unsupported(*_values: Value) -> Value:
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


_WITH_INT: Overloads = {(Amount, int): _overloads_unsupported}
OVERLOADS: Mapping[str, Overloads] = {
    "+": {
        (int, int): lambda first, second: _int64(first + second),
        (float, float): operator.add,
        (str, str): _overloads_joined,
        (tuple, tuple): _overloads_unsupported,
    },
    "-": {(int, int): lambda first, second: _int64(first - second), (float, float): operator.sub},
    "*": {(int, int): lambda first, second: _int64(first * second), (float, float): operator.mul},
    "/": {(int, int): _quotient, (float, float): _overloads_unsupported},
    "%": {(int, int): _rest},
    "negate": {(int,): lambda number: _int64(-number), (float,): operator.neg},
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "size": {(kind,): len for kind in (str, tuple, dict, Domains)},
    "int": {(int,): int, (str,): _as_int, (float,): _overloads_unsupported},
    "string": {
        (str,): str,
        (int,): str,
        (bool,): lambda told: "true" if told else "false",
        (float,): _overloads_unsupported,
    },
    "contains": _of_texts(operator.contains),
    "startsWith": _of_texts(str.startswith),
    "endsWith": _of_texts(str.endswith),
    "lowerAscii": {(str,): lambda text: _capitals(text, bytes.lower)},
    "upperAscii": {(str,): lambda text: _capitals(text, bytes.upper)},
    "semver": {(str,): version, (str, bool): _overloads_unsupported},
    "isSemver": {(str,): _does(version), (str, bool): _overloads_unsupported},
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


_MOST_STEPS = 1 << 10
"""How often macros may evaluate their bodies for one device."""
_MOST_DEEP = 64
_KINDS = frozenset({"string", "int", "bool", "version"})


class Subject:
    """A device as expressions see it: the variable `device`.

    With `device` None nothing is known of it but its driver.
    """

    def __init__(self, driver: str, device: ClaimableDevice | None = None) -> None:
        self.driver = driver
        self.device = device
        self._attributes: Domains | None = None
        self._capacity: Domains | None = None

    def field(self, name: str) -> Value:
        """Return a field of the variable."""
        match name:
            case "driver":
                return self.driver
            case "attributes":
                return self.attributes()
            case "capacity":
                return self._capacities()
            case _:
                raise UnsupportedError

    def attributes(self) -> Domains:
        """Return the attributes.

        Raises EvaluationError when one has no value, or none of a type that the scheduler knows. Raises
        UnsupportedError when they are not known.
        """
        if self.device is None:
            raise UnsupportedError
        if self._attributes is None:
            found = Domains()
            for (domain, name), (kind, told) in self.device.attributes:
                if kind not in _KINDS:
                    raise EvaluationError("unsupported-attribute", name)
                value = version(str(told)) if kind == "version" else told
                found.setdefault(domain, {})[name] = value
            self._attributes = found
        return self._attributes

    def _capacities(self) -> Domains:
        if self.device is None:
            raise UnsupportedError
        if self._capacity is None:
            self._capacity = Domains()
            for (domain, name), nano in self.device.capacity:
                self._capacity.setdefault(domain, {})[name] = Amount(nano)
        return self._capacity


class _Scope:
    """The variables, and how many steps macros have taken."""

    def __init__(self, variables: Mapping[str, "_Evaluate"], steps: list[None]) -> None:
        self.variables = variables
        self.steps = steps

    def having(self, name: str, value: "_Evaluate") -> "_Scope":
        self.steps.append(None)
        if len(self.steps) > _MOST_STEPS:
            raise UnsupportedError
        return _Scope({**self.variables, name: value}, self.steps)


_Evaluate: TypeAlias = Callable[[_Scope], Value]


def matches(expression: str, subject: Subject) -> bool:
    """Tell whether a device matches an expression (`DeviceMatches`).

    Raises EvaluationError when the evaluation fails. Raises UnsupportedError when it cannot be told.
    """
    if subject.device is not None:
        subject.attributes()  # whatever the expression asks for, they are looked at
    try:
        found = _compiled(expression)(_Scope({"device": lambda _: subject}, []))
    except AbortError:
        raise EvaluationError("unhashable") from None
    if not isinstance(found, bool):
        raise EvaluationError("no-boolean")
    return found


@lru_cache(maxsize=1 << 8)
def _compiled(expression: str) -> _Evaluate:
    try:
        return _evaluating(parsed(expression), 0)
    except UnsupportedError:
        return _unsupported


def _unsupported(_scope: _Scope) -> Value:
    raise UnsupportedError


def _evaluating(node: Node, deep: int) -> _Evaluate:
    """Return what evaluates a node; what is not evaluated tells so where it is reached."""
    if deep > _MOST_DEEP:
        raise UnsupportedError
    match node:
        case Literal(value):
            return lambda _: value
        case Name(name):
            return lambda scope: scope.variables.get(name, _unsupported)(scope)
        case Field(of, name, optional):
            return _lookup(_evaluating(of, deep + 1), lambda _: name, optional=optional)
        case Item(of, key, optional):
            return _lookup(_evaluating(of, deep + 1), _evaluating(key, deep + 1), optional=optional)
        case Items(nodes):
            values = [_evaluating(one, deep + 1) for one in nodes]
            return lambda scope: tuple([one(scope) for one in values])
        case _:
            return _call(node, deep + 1)


def _call(call: Call, deep: int) -> _Evaluate:
    macro = _MACROS.get(call.name)
    evaluate = macro(call, deep) if macro is not None else None
    if evaluate is not None:
        return evaluate
    parts = [_evaluating(one, deep) for one in call.nodes]
    if call.name in {"&&", "||"}:
        return _joined(parts, decides=call.name == "||")
    special = _SPECIAL.get((call.name, len(parts)))
    if special is not None:
        return special(*parts)
    return lambda scope: called(call.name, *[one(scope) for one in parts])


def _joined(parts: list[_Evaluate], *, decides: bool) -> _Evaluate:
    """Return `&&` or `||`: a value that decides does so in any place, whatever else fails."""

    def joined(scope: _Scope) -> Value:
        return _decided(((part, scope) for part in parts), decides=decides)

    return joined


def _decided(parts: Iterable[tuple[_Evaluate, _Scope]], *, decides: bool) -> bool:
    problem: Exception | None = None
    for part, scope in parts:
        try:
            found = part(scope)
        except (EvaluationError, UnsupportedError) as raised:
            problem = graver(problem, raised)
            continue
        if found is decides:
            return decides
        if not isinstance(found, bool):
            problem = graver(problem, EvaluationError("no-such-overload"))
    if problem is not None:
        raise problem
    return not decides


def _every(call: Call, deep: int) -> _Evaluate | None:
    """Return `all` or `exists`: of the keys of a map, or of what a list has."""
    match call.nodes:
        case (whole, Name(name), each):
            of, body, decides = _evaluating(whole, deep), _evaluating(each, deep), call.name == "exists"
        case _:
            return None

    def every(scope: _Scope) -> Value:
        found = of(scope)
        if not isinstance(found, (dict, tuple)):
            raise UnsupportedError
        return _decided(((body, scope.having(name, _constant(one))) for one in found), decides=decides)

    return every


def _constant(value: Value) -> _Evaluate:
    return lambda _: value


def _bound(call: Call, deep: int) -> _Evaluate | None:
    """Return `cel.bind`: the value is computed once, where it is used."""
    match call.nodes:
        case (Name("cel"), Name(name), named, last):
            value, body = _evaluating(named, deep), _evaluating(last, deep)
        case _:
            return None

    def bound(scope: _Scope) -> Value:
        known: list[Value] = []

        def once(_scope: _Scope) -> Value:
            if not known:
                try:
                    known.append(value(scope))
                except (EvaluationError, UnsupportedError) as problem:
                    known.append(problem)
            if isinstance(known[0], Exception):
                raise known[0]
            return known[0]

        return body(scope.having(name, once))

    return bound


def _matching(call: Call, deep: int) -> _Evaluate | None:
    match call.nodes:
        case (of, Literal(str(pattern))):
            text = _evaluating(of, deep)
        case _:
            return None
    try:
        is_in = matcher(pattern)
    except UnsupportedError:
        return _unsupported

    def matching(scope: _Scope) -> Value:
        found = text(scope)
        if not isinstance(found, str):
            raise EvaluationError("no-such-overload")
        return is_in(found)

    return matching


def _has(call: Call, deep: int) -> _Evaluate | None:
    match call.nodes:
        case (Field(whole, name, False),):
            of = _evaluating(whole, deep)
        case _:
            return None

    def has(scope: _Scope) -> Value:
        found = of(scope)
        match found:
            case Subject():
                found.field(name)
                return True
            case Optional():
                raise UnsupportedError
            case Domains():
                return True
            case _:
                return isinstance(found, dict) and name in found

    return has


def _lookup(of: _Evaluate, key: _Evaluate, *, optional: bool) -> _Evaluate:
    """Return a field, or an item: of an optional value, or where it is asked for so, as an optional value."""

    def lookup(scope: _Scope) -> Value:
        found, name = of(scope), key(scope)
        if not optional and not isinstance(found, Optional):
            return _looked_up(found, name)
        values = found.values if isinstance(found, Optional) else (found,)
        try:
            return Optional(tuple(_looked_up(one, name) for one in values))
        except EvaluationError:
            return Optional()

    return lookup


def _looked_up(of: Value, key: Value) -> Value:
    match of, key:
        case Subject(), str():
            return of.field(key)
        case Domains(), str():
            return of.get(key, {})
        case dict(), str() if key in of:
            return of[key]
        case tuple(), _:
            raise UnsupportedError
        case _:
            raise EvaluationError("no-such-key", str(key))


def _among(call: Call, deep: int) -> _Evaluate | None:
    """Return `in` of a list that is written: where all of it is, upstream makes it a set, which a version breaks.

    So it does where functions make constants of constants; of versions there are none.
    """
    match call.nodes:
        case (key, Items(nodes)):
            value_of = _evaluating(key, deep)
        case _:
            return None
    written = [one.value for one in nodes if isinstance(one, Literal)]
    values = [_evaluating(one, deep) for one in nodes]

    def among(scope: _Scope) -> Value:
        if not values:
            return False
        value = value_of(scope)
        if len(written) == len(values) and None not in written:
            if isinstance(value, Version):
                raise AbortError
            return _contained(value, tuple(written))
        found = tuple([one(scope) for one in values])
        if isinstance(value, Version) and not any(isinstance(one, Version) for one in found):
            raise UnsupportedError
        return _contained(value, found)

    return among


def _contained(value: Value, of: Value) -> bool:
    match of:
        case tuple():
            return any(not _differ(value, one) for one in of)
        case dict():
            return isinstance(value, str) and value in of
        case _:
            raise EvaluationError("no-such-overload")


def _differ(first: Value, second: Value) -> bool:
    """Tell whether values are not equal; those that cannot be compared are not."""
    try:
        return not equal(first, second)
    except EvaluationError:
        return True


def _negated(part: _Evaluate) -> _Evaluate:
    return lambda scope: not _boolean(part(scope))


def _conditional(condition: _Evaluate, then: _Evaluate, otherwise: _Evaluate) -> _Evaluate:
    return lambda scope: then(scope) if _boolean(condition(scope)) else otherwise(scope)


def _boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError("no-such-overload")
    return value


def _value_or(of: _Evaluate, otherwise: _Evaluate) -> _Evaluate:
    """Return `orValue`; what is no optional value is taken as it is, by this and `or`."""

    def value_or(scope: _Scope) -> Value:
        found = of(scope)
        if not isinstance(found, Optional):
            return found
        return found.values[0] if found.values else otherwise(scope)

    return value_or


def _first_of(of: _Evaluate, otherwise: _Evaluate) -> _Evaluate:
    def first_of(scope: _Scope) -> Value:
        found = of(scope)
        return otherwise(scope) if found == Optional() else found

    return first_of


def _some(call: Call, deep: int) -> _Evaluate | None:
    """Return `optional.of` and `optional.none`."""
    match call.name, call.nodes:
        case "none", (Name("optional"),):
            return lambda _: Optional()
        case "of", (Name("optional"), one):
            value = _evaluating(one, deep)
            return lambda scope: Optional((value(scope),))
        case _:
            return None


_SPECIAL: Mapping[tuple[str, int], Callable[..., _Evaluate]] = {
    ("==", 2): lambda first, second: lambda scope: equal(first(scope), second(scope)),
    ("!=", 2): lambda first, second: lambda scope: _differ(first(scope), second(scope)),
    ("in", 2): lambda first, second: lambda scope: _contained(first(scope), second(scope)),
    ("!", 1): _negated,
    ("?:", 3): _conditional,
    ("or", 2): _first_of,
    ("orValue", 2): _value_or,
}
_MACROS: Mapping[str, Callable[[Call, int], _Evaluate | None]] = {
    "in": _among,
    "has": _has,
    "bind": _bound,
    "exists": _every,
    "all": _every,
    "none": _some,
    "of": _some,
    "matches": _matching,
}
"""What is evaluated unlike a function of values, by its name; None for another use of the name."""


_PLAIN = frozenset({"string", "int", "bool"})  # any other may be wrong, which fails every expression


class Read(Struct, frozen=True, gc=False):
    """The attributes and capacities that are read, by domain and name; `is_all` where it may be any."""

    attributes: tuple[tuple[str, str], ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()
    is_all: bool = False

    def key(self, device: ClaimableDevice) -> Hashable:
        """Return the cache key of a device: the attributes and capacities of it that are read."""
        if self.is_all:
            return (device.id[0], device.attributes, device.capacity)
        attributes, capacity = dict(device.attributes), dict(device.capacity) if self.capacity else {}
        return (
            device.id[0],
            tuple([attributes.get(one) for one in self.attributes]),
            tuple([capacity.get(one) for one in self.capacity]),
            tuple([told for _, told in device.attributes if told[0] not in _PLAIN]),
        )


def read_by(expressions: Iterable[str]) -> Read:
    """Return what expressions read."""
    found = [one for expression in expressions for one in _places(expression)]
    return Read(
        tuple(sorted({(domain, name) for kind, domain, name in found if kind == "attributes"})),
        tuple(sorted({(domain, name) for kind, domain, name in found if kind == "capacity"})),
        any(not kind for kind, _, _ in found),
    )


@lru_cache(maxsize=1 << 8)
def _places(expression: str) -> tuple[tuple[str, str, str], ...]:
    try:
        return tuple(_read(parsed(expression)))
    except UnsupportedError:
        return ()


def _read(tree: Node) -> Iterator[tuple[str, str, str]]:
    """Yield kind, domain and name of what is read, empty ones for what may be anything."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        path = _path(node)
        match path:
            case ("device", "driver"):
                continue
            case ("device", kind, domain, name, *_):
                yield kind, domain, name
            case ("device", *_):
                yield "", "", ""
            case _:
                nodes += _parts(node)


def _path(node: Node) -> tuple[str, ...]:
    """Return `device`, `attributes`, domain, name for `device.attributes[domain].name`; empty for another node."""
    names: list[str] = []
    while True:
        match node:
            case Field(of, name):
                node = of
                names.append(name)
            case Item(of, Literal(str(name))):
                node = of
                names.append(name)
            case Name("device"):
                return ("device", *reversed(names))
            case _:
                return ()


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Field(of):
            return (of,)
        case Item(of, key):
            return (of, key)
        case Items(nodes) | Call(_, nodes):
            return nodes
        case _:
            return ()
