"""The syntax of CEL: from text to a tree."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.resource_claims.cel.faults import UnsupportedError
from kubectl_koord.engine.fit.resource_claims.cel.values import MOST

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

    Raises:
        UnsupportedError: when the text is too long, nested too deep, or no expression as far as this goes.

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
