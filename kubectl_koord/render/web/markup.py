"""The one place where text becomes markup: whatever is no markup of ours is made harmless and escaped."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from importlib import resources

from msgspec import Struct

from kubectl_koord.render.escape import harmless


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
    text = resources.files("kubectl_koord.render.web").joinpath(name).read_text("ascii")
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
