"""The syntax of CEL: text to a tree, and the values in it."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.reasons import SelectorProblem, SelectorProblemCode
from kubectl_koord.model import values


class EvaluationError(Exception):
    """A runtime error of CEL, such as an attribute that a device lacks; `&&`, `||` and their like may absorb it."""

    def __init__(self, code: SelectorProblemCode, about: str = "") -> None:
        super().__init__(code, about)
        self.problem = SelectorProblem(code, about)


class AbortError(Exception):
    """A runtime error of CEL that nothing absorbs: a value that cannot be looked up in a set."""


class UnsupportedError(Exception):
    """Something outside the subset of CEL that is evaluated."""


def graver(first: Exception | None, second: Exception) -> Exception:
    """Return what several problems amount to: what is not evaluated may be no error, and may absorb one."""
    return first if isinstance(first, UnsupportedError) else second


MOST = (1 << 63) - 1
_MOST_UNSIGNED = (1 << 64) - 1
_VALUES_MOST_CHARACTERS = 256
_NUMBER = r"(0|[1-9][0-9]*)"
_LABEL = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_LABEL}(?:\.{_LABEL})*))?{_BUILD}")
_FRACTION = re.compile(r"[.num]")

Value: TypeAlias = object


class Version(Struct, frozen=True, order=True, gc=False):
    """A semantic version, ordered as these are; what it was built of does not count."""

    major: int
    minor: int
    patch: int
    is_release: bool = True
    labels: tuple[tuple[bool, int, str], ...] = ()


class Amount(Struct, frozen=True, gc=False):
    """A quantity in billionths; `is_plain` tells that it was written without fraction."""

    nano: int
    is_plain: bool = True


class Optional(Struct, frozen=True, gc=False):
    """An optional value: none, or one."""

    values: tuple[Value, ...] = ()


class Domains(dict[str, dict[str, Value]]):
    """Attributes or capacities by domain and name; a domain that is not there is empty."""


def version(text: str) -> Version:
    """Return a semantic version.

    Raises EvaluationError when the text is none. Raises UnsupportedError when it is very long.
    """
    if len(text) > _VALUES_MOST_CHARACTERS:
        raise UnsupportedError
    found = _VERSION.fullmatch(text)
    if found is None:
        raise EvaluationError("no-version", text)
    major, minor, patch = (int(one) for one in found.groups()[:3])
    labels = tuple((not one.isdigit(), int(one) if one.isdigit() else 0, one) for one in (found[4] or "0").split("."))
    if max(major, minor, patch, *(number for _, number, _ in labels)) > _MOST_UNSIGNED:
        raise EvaluationError("no-version", text)
    return Version(major, minor, patch, not found[4], labels)


def amount(text: str) -> Amount:
    """Return a quantity. Raises EvaluationError when the text is none."""
    try:
        return Amount(values.parse(text), not _FRACTION.search(text))
    except values.QuantityError:
        raise EvaluationError("no-quantity", text) from None


def equal(left: Value, right: Value) -> bool:
    """Tell whether values are equal: those of different types are not, but numbers may be.

    Raises EvaluationError when a version or a quantity is compared with another type.
    """
    if left is None or right is None:
        return left is right
    kind = type(right)
    match left:
        case bool() | str():
            return kind is type(left) and left == right
        case int() | float():
            return kind in {int, float} and (left == right if kind is type(left) else float(left) == float(right))  # type: ignore[arg-type]
        case Version() | Amount():
            if kind is not type(left):
                raise EvaluationError("no-such-overload")
            return left == right if isinstance(left, Version) else left.nano == right.nano  # type: ignore[attr-defined]
        case _:
            raise UnsupportedError


_MOST_CHARACTERS = 10 << 10
"""How long an expression may be (`CELSelectorExpressionMaxLength`)."""
_MOST_DEEP = 16
_MOST_LINKS = 32
_TOKEN = re.compile(
    r"(?P<string>[rR]?(?:\"(?:[^\"\\\r\n]|\\.)*\"|'(?:[^'\\\r\n]|\\.)*'))"
    r"|(?P<double>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]])"
)
_SPACE = re.compile(r"(?:[ \t\r\n\f]|//[^\n]*)*")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED |= {one: one for one in "\\?\"'`"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_RELATIONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})


class Literal(Struct, frozen=True):
    """A value that is written."""

    value: object


class Name(Struct, frozen=True):
    """A variable."""

    name: str


class Field(Struct, frozen=True):
    """`of.name`, or `of.?name`."""

    of: "Node"
    name: str
    optional: bool = False


class Item(Struct, frozen=True):
    """`of[key]`, or `of[?key]`."""

    of: "Node"
    key: "Node"
    optional: bool = False


class Items(Struct, frozen=True):
    """A list."""

    nodes: tuple["Node", ...]


class Call(Struct, frozen=True):
    """A function, method or operator with what it is applied to: of a method first what it is a method of."""

    name: str
    nodes: tuple["Node", ...]


Node: TypeAlias = Literal | Name | Field | Item | Items | Call


def parsed(text: str) -> Node:
    """Return the tree of an expression.

    Raises UnsupportedError when the text is too long, nested too deep, or no expression as far as this goes.
    """
    if len(text) > _MOST_CHARACTERS:
        raise UnsupportedError
    parser = _Parser(_tokens(text))
    node = parser.expression()
    parser.expect("end", "")
    return node


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    at = _after_space(text, 0)
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise UnsupportedError
        tokens.append((found.lastgroup or "", found[0]))
        at = _after_space(text, found.end())
    return [*tokens, ("end", "")]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._deep = 0

    def _take(self, *signs: str) -> str:
        """Return the next token, and go past it, when it is one of these signs or words; else the empty text."""
        kind, text = self._tokens[self._at]
        if text not in signs or kind not in {"sign", "name"}:
            return ""
        self._at += 1
        return text

    def expect(self, kind: str, *texts: str) -> str:
        """Return the next token, and go past it."""
        found, text = self._tokens[self._at]
        if found != kind or (texts and text not in texts):
            raise UnsupportedError
        self._at += 1
        return text

    def expression(self) -> Node:
        self._deep += 1
        if self._deep > _MOST_DEEP:
            raise UnsupportedError
        node = self._any()
        if self._take("?"):
            then = self._any()
            self.expect("sign", ":")
            node = Call("?:", (node, then, self.expression()))
        self._deep -= 1
        return node

    def _any(self) -> Node:
        return self._several("||", partial(self._several, "&&", self._relation))

    def _several(self, sign: str, part: Callable[[], Node]) -> Node:
        nodes = [part()]
        while self._take(sign):
            nodes.append(part())
        return Call(sign, tuple(nodes)) if len(nodes) > 1 else nodes[0]

    def _relation(self) -> Node:
        return self._chain(_RELATIONS, self._sum)

    def _sum(self) -> Node:
        return self._chain({"+", "-"}, partial(self._chain, {"*", "/", "%"}, self._unary))

    def _chain(self, signs: set[str] | frozenset[str], part: Callable[[], Node]) -> Node:
        node = part()
        for _ in range(_MOST_LINKS):
            sign = self._take(*signs)
            if not sign:
                return node
            node = Call(sign, (node, part()))
        raise UnsupportedError

    def _unary(self) -> Node:
        signs: list[str] = []
        while len(signs) < _MOST_LINKS and (sign := self._take("!", "-")):
            signs.append(sign)
        if signs and signs[-1] == "-" and self._tokens[self._at][0] in {"int", "double"}:
            kind, text = self._tokens[self._at]
            self._tokens[self._at] = (kind, f"-{text}")
            del signs[-1]
        node = self._member()
        for sign in reversed(signs):
            node = Call("!" if sign == "!" else "negate", (node,))
        return node

    def _member(self) -> Node:
        node = self._primary()
        for _ in range(_MOST_LINKS):
            if self._take("."):
                node = self._field(node)
            elif self._take("["):
                optional = bool(self._take("?"))
                node = Item(node, self.expression(), optional)
                self.expect("sign", "]")
            else:
                return node
        raise UnsupportedError

    def _field(self, of: Node) -> Node:
        optional = bool(self._take("?"))
        name = self.expect("name")
        if optional or not self._take("("):
            return Field(of, name, optional)
        return Call(name, (of, *self._list(")")))

    def _list(self, end: str) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while not self._take(end):
            if nodes:
                self.expect("sign", ",")
            nodes.append(self.expression())
        return tuple(nodes)

    def _primary(self) -> Node:
        kind, text = self._tokens[self._at]
        self._at += 1
        match kind, text:
            case (("string" | "double" | "int"), _):
                return Literal(_LITERALS[kind](text))
            case "name", _:
                if text in _WORDS:
                    return Literal(_WORDS[text])
                return Call(text, self._list(")")) if self._take("(") else Name(text)
            case "sign", "[":
                return Items(self._list("]"))
            case "sign", "(":
                node = self.expression()
                self.expect("sign", ")")
                return node
            case _:
                raise UnsupportedError


def _int(text: str) -> int:
    number = int(text, 16) if "x" in text else int(text) if len(text) <= len(str(-MOST)) else MOST + 1
    if not -MOST - 1 <= number <= MOST:
        raise UnsupportedError
    return number


def _string(text: str) -> str:
    if text[0] in "rR":
        return text[2:-1]
    return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16))
    if found[3] not in _ESCAPED:
        raise UnsupportedError
    return _ESCAPED[found[3]]


_LITERALS: Mapping[str, Callable[[str], object]] = {"string": _string, "double": float, "int": _int}
