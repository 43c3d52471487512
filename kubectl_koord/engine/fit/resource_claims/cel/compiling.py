"""Whether a device matches an expression: from its tree to functions that evaluate it."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from kubectl_koord.engine.fit.resource_claims.cel.faults import AbortError, EvaluationError, UnsupportedError, graver
from kubectl_koord.engine.fit.resource_claims.cel.overloads import called
from kubectl_koord.engine.fit.resource_claims.cel.patterns import matcher
from kubectl_koord.engine.fit.resource_claims.cel.syntax import Call, Field, Item, Items, Literal, Name, Node, parsed
from kubectl_koord.engine.fit.resource_claims.cel.values import (
    Amount,
    Domains,
    Optional,
    Value,
    Version,
    equal,
    version,
)
from kubectl_koord.model.resource_claims import ClaimableDevice

_MOST_STEPS = 1 << 10
"""How often macros may evaluate their bodies for one device."""
_MOST_DEEP = 64
_KINDS = frozenset({"string", "int", "bool", "version"})


class Subject:
    """A device as expressions see it: the variable `device`.

    With `device` None nothing is known of it but its driver.
    """

    def __init__(self, driver: str, device: ClaimableDevice | None = None) -> None:
        """Take the driver of a device, and the device."""
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

        Raises:
            EvaluationError: when one has no value, or none of a type that the scheduler knows.
            UnsupportedError: when they are not known.

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

    Raises:
        EvaluationError: when the evaluation fails.
        UnsupportedError: when it cannot be told.

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
