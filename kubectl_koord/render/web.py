"""Blocks as one HTML page to hand on: it holds all it needs, runs nothing and asks for nothing."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib import resources
from typing import TypeAlias, assert_never

from msgspec import Struct

from kubectl_koord.language import spoken
from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Command,
    EmptyLine,
    Line,
    Row,
    Table,
    TreeTable,
)
from kubectl_koord.render.plain import clipped, harmless
from kubectl_koord.wording.words import command, count


class Markup(Struct, frozen=True):
    """Elements as they are written, made by `element` and `empty` alone."""

    text: str


def element(tag: str, *inside: Markup | str, **attributes: str) -> Markup:
    """Return an element; a text in it, or in an attribute, is shown and never acts.

    An attribute that is empty is left out; `class_` is `class`, `aria_label` is `aria-label`.
    """
    return Markup(f"<{tag}{_attributes(attributes)}>{''.join(map(_written, inside))}</{tag}>")


def empty(tag: str, **attributes: str) -> Markup:
    """Return an element that holds nothing."""
    return Markup(f"<{tag}{_attributes(attributes)}/>")


def lines(texts: Iterable[str]) -> Markup:
    """Return texts, a line for each."""
    return Markup("\n".join(map(_written, texts)))


def together(*parts: Markup) -> Markup:
    """Return elements one after the other, a line for each."""
    return Markup("\n".join(part.text for part in parts if part.text))


def style_sheet(name: str) -> Markup:
    """Return a style sheet of ours as an element; it is ASCII, without the signs that HTML or XML would act on."""
    text = resources.files("kubectl_koord.render").joinpath(name).read_text("ascii")
    return Markup(f"<style>{text}</style>")


def allowance(style: Markup) -> str:
    """Return what a content security policy names a style element by."""
    content = style.text.removeprefix("<style>").removesuffix("</style>")
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def ascii_only(document: str) -> str:
    """Return a document with references in place of all that is not ASCII: it reads the same in any encoding."""
    return document.encode("ascii", "xmlcharrefreplace").decode()


def _attributes(attributes: dict[str, str]) -> str:
    given = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value)
    return "".join(f' {name}="{_written(value)}"' for name, value in given)


def _written(part: Markup | str) -> str:
    return part.text if isinstance(part, Markup) else escape(harmless(part), quote=True)


_Part: TypeAlias = Line | Command | Table | TreeTable | Bullets

_DEEPEST = 9  # the style sheet indents no further
_LONG = 40  # a table of more rows can be folded
_TITLE = 120
_TAGS = {"en": "en", "zh": "zh-CN"}


def to_html(blocks: Sequence[Block]) -> str:
    """Return the page: the first line is its heading, gaps divide it, faint lines at its end are its footer."""
    head, *parts = _parted(blocks)
    footer = []
    if parts and all(isinstance(block, Line) and block.style == "dim" for block in parts[-1]):
        footer = [_part("footer", parts.pop())]
    main = element("main", together(_headed(head), *(_part("section", part) for part in parts), *footer))
    title = next((block.text for block in head[:1] if isinstance(block, Line)), command())
    document = element("html", _head(clipped(title, _TITLE)), element("body", main), lang=_TAGS[spoken()])
    return ascii_only(f"<!DOCTYPE html>\n{document.text}\n")


_FIRST_CELL = re.compile(r'(<th scope="row">)([^<]+)(</th>)')


def linked(page: str, links: Mapping[str, str]) -> str:
    """Return a page of ours whose rows lead on: the text of their first cell to a path of the server that has both."""
    known = {ascii_only(_written(text)): path for text, path in links.items()}

    def leads(found: re.Match[str]) -> str:
        begin, text, end = found.groups()
        path = known.get(text)
        return found[0] if path is None else f"{begin}{element('a', href=path).text[:-4]}{text}</a>{end}"

    return _FIRST_CELL.sub(leads, page)


def _head(title: str) -> Markup:
    style = style_sheet("page.css")
    policy = {"default-src": "'none'", "style-src": allowance(style), "base-uri": "'none'", "form-action": "'none'"}
    return element(
        "head",
        empty("meta", charset="utf-8"),
        empty("meta", http_equiv="Content-Security-Policy", content="; ".join(map(" ".join, policy.items()))),
        empty("meta", name="viewport", content="width=device-width,initial-scale=1"),
        empty("meta", name="format-detection", content="telephone=no"),
        element("title", title),
        style,
    )


def _parted(blocks: Iterable[Block]) -> list[list[_Part]]:
    """Return what stands between gaps."""
    parts: list[list[_Part]] = [[]]
    for block in blocks:
        if isinstance(block, EmptyLine):
            parts.append([])
        else:
            parts[-1].append(block)
    return parts


def _headed(part: Sequence[_Part]) -> Markup:
    """Return the first part; the line that it begins with is the heading of the page."""
    first, rest = part[:1], part[1:]
    if not first or not isinstance(first[0], Line):
        return _part("section", part)
    heading = element("h1", first[0].text, class_=first[0].style)
    return element("header", together(heading, *map(_element, rest)))


def _part(tag: str, part: Iterable[_Part]) -> Markup:
    return element(tag, together(*map(_element, part)))


def _element(block: _Part) -> Markup:
    match block:
        case Line():
            return _line(block)
        case Command():
            label = [element("p", block.label.strip())] if block.label else []
            return together(*label, _command(block.text))
        case Bullets():
            return element("ol", *map(_point, block.items))
        case Table() | TreeTable():
            return _grid(block)
        case _:
            assert_never(block)


def _line(line: Line) -> Markup:
    if line.style == "bold":
        return element("h2", line.text)
    tag = "blockquote" if line.quoted else "p"
    return element(tag, line.text, class_=_classes(line.style, "inner" if line.indent else ""))


def _point(item: Bullet) -> Markup:
    return element("li", item.text, *map(_command, item.commands))


def _command(text: str) -> Markup:
    return element("pre", element("code", text))


def _grid(block: Table | TreeTable) -> Markup:
    """Return a table; where there is no room, one with sentences is stacked, any other scrolls."""
    stacks = any(column.flow == "wrap" for column in block.columns)
    headers = any(column.header for column in block.columns)
    head = element("tr", *(element("th", one.header, scope="col", class_=_of(one)) for one in block.columns))
    rows = (_row(row, block.columns, stacks=stacks) for row in block.rows)
    body = element("tbody", together(*rows))
    table = element("table", *([element("thead", head)] if headers else []), body, class_="stacks" if stacks else "")
    scrolls = element("div", table, class_="scrolls", tabindex="0")
    if len(block.rows) <= _LONG:
        return scrolls
    return element("details", element("summary", count(len(block.rows), "row")), scrolls, open_="open")


def _row(row: Row, columns: Sequence[Column], *, stacks: bool) -> Markup:
    look = _classes(row.style, f"d{min(row.depth, _DEEPEST)}" if row.depth else "")
    if row.across:
        return element("tr", element("th", row.cells[0], scope="row", colspan=str(len(columns))), class_=look)
    return element("tr", *_cells(row, columns, stacks=stacks), class_=look)


def _cells(row: Row, columns: Sequence[Column], *, stacks: bool) -> Iterator[Markup]:
    yield element("th", row.cells[0], scope="row", class_=_of(columns[0]))
    for cell, column in zip(row.cells[1:], columns[1:], strict=True):
        yield element("td", cell, class_=_of(column), data_head=column.header if stacks and cell else "")


def _of(column: Column) -> str:
    return _classes("number" if column.right else "", "wrap" if column.flow == "wrap" else "")


def _classes(*names: str) -> str:
    return " ".join(filter(None, names))
