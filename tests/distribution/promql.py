"""PromQL as far as our rules and panels use it: reads an expression, and tells which metrics and labels it names."""

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\")|(?P<range>\[\d+[smhdw]\])|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_:][\w:]*)|(?P<sign>==|!=|=~|!~|>=|<=|[-+*/%^<>=(){},]))"
)
_AGGREGATES = {"sum", "max", "min", "avg", "count"}
_FUNCTIONS = {"absent", "rate", "increase", "sort_desc"}
_COMPARED = {"==", "!=", ">", "<", ">=", "<="}
_BINARY = {"+", "-", "*", "/", "%", "^", *_COMPARED, "and", "or", "unless"}


class Named(NamedTuple):
    """What an expression names: metrics with the labels that are matched, and labels that results are grouped by."""

    metrics: tuple[tuple[str, tuple[str, ...]], ...]
    grouped: tuple[str, ...]


def named(text: str) -> Named:
    """Return what an expression names. Raises ValueError where it cannot be read."""
    reader = _Reader(text)
    reader.expression()
    if reader.at < len(reader.tokens):
        raise ValueError(f"what is {reader.tokens[reader.at][1]!r} for in {text!r}?")
    return Named(tuple(reader.metrics), tuple(reader.grouped))


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        self.metrics: list[tuple[str, tuple[str, ...]]] = []
        self.grouped: list[str] = []
        end, text = 0, text.rstrip()
        while end < len(text):
            found = _TOKEN.match(text, end)
            if found is None or not found.lastgroup:
                raise ValueError(f"cannot read {text[end:]!r}")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            end = found.end()

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str, kind: str = "") -> str:
        found = self.tokens[self.at] if self.at < len(self.tokens) else ("", "the end")
        if (wanted and found[1] not in wanted) or (kind and found[0] != kind):
            raise ValueError(f"{found[1]!r} in place of {wanted or kind}")
        self.at += 1
        return found[1]

    def expression(self) -> None:
        self.operand()
        while self.peek() in _BINARY:
            self.take()
            if self.peek() in {"on", "ignoring"}:
                self.take()
                self.grouped += self.labels()
            self.operand()

    def operand(self) -> None:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind == "number":
            self.take()
        elif text == "(":
            self.take("(")
            self.expression()
            self.take(")")
        elif text in _AGGREGATES | _FUNCTIONS:
            self.take()
            if text in _AGGREGATES and self.peek() in {"by", "without"}:
                kept = self.take() == "by"
                self.grouped += [label for label in self.labels() if kept]
            self.take("(")
            self.expression()
            self.take(")")
        else:
            self.selector()

    def selector(self) -> None:
        name, matched = self.take(kind="name"), []
        if self.peek() == "{":
            self.take("{")
            while self.peek() != "}":
                matched.append(self.take(kind="name"))
                self.take("=", "!=", "=~", "!~")
                re.compile(self.take(kind="text")[1:-1])
                if self.peek() != "}":
                    self.take(",")
            self.take("}")
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "range":
            self.take()
        self.metrics.append((name, tuple(matched)))

    def labels(self) -> list[str]:
        self.take("(")
        found = [self.take(kind="name")]
        while self.peek() == ",":
            self.take(",")
            found.append(self.take(kind="name"))
        self.take(")")
        return found
