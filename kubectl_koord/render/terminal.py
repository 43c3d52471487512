"""Blocks for a terminal: colours, and no line wider than it is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from kubectl_koord.render.document import Block, EmptyLine, Style
from kubectl_koord.render.layout import Screen, Span, laid_out

_RICH_LINES = 100  # Rich takes some 0.04 ms per line, our own writer next to nothing

_RICH: Mapping[Style, str] = MappingProxyType(
    {"": "", "good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "bold": "bold", "code": "cyan"}
)
_SGR: Mapping[Style, str] = MappingProxyType(
    {"": "", "good": "32", "bad": "1;31", "warn": "33", "dim": "2", "bold": "1", "code": "36"}
)


def to_terminal(
    blocks: Sequence[Block],
    *,
    width: int,
    colour: bool,
    unicode: bool,
    write: Callable[[str], object],
    height: int = 0,
    names: int | None = None,
) -> None:
    """Write the page to a terminal.

    Args:
        blocks: the page.
        width: cells per line, 0 for no limit (nothing is then cut or wrapped).
        colour: whether escape codes for colours may be written.
        unicode: False for a terminal that knows ASCII only.
        write: takes the text, in one or more parts.
        height: lines of the terminal, 0 for no limit. A longer page ends with its first block, the verdict, which
            has scrolled away by then.
        names: how many names a list in a sentence may have before it is folded, None for any number.

    """
    screen = Screen(width, unicode, names)
    lines = [_trimmed(line) for line in laid_out(blocks, screen)]
    if 0 < height <= len(lines):
        lines += [_trimmed(line) for line in laid_out([EmptyLine(), *blocks[:1]], screen)]
    if not colour:
        write("".join("".join(span.text for span in line) + "\n" for line in lines))
    elif len(lines) <= _RICH_LINES:
        write(painted_by_rich(lines))
    else:
        write(painted(lines))


def painted(lines: Iterable[tuple[Span, ...]]) -> str:
    """Return the lines with ANSI colours, written by ourselves: for long pages."""
    return "".join("".join(map(_coloured, line)) + "\n" for line in lines)


def painted_by_rich(lines: list[tuple[Span, ...]]) -> str:
    """Return the lines with the colours that Rich gives them. Rich is imported here only."""
    from rich.console import Console  # noqa: PLC0415 - it costs 30 ms that a pipe need not pay
    from rich.text import Text  # noqa: PLC0415

    # Everything is set here, so that no environment variable and no guess of Rich decides.
    console = Console(
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        width=10_000,
        height=25,
    )
    with console.capture() as caught:
        for line in lines:
            text = Text.assemble(*((span.text, _RICH[span.style]) for span in line), no_wrap=True, overflow="ignore")
            console.print(text, soft_wrap=True)
    return caught.get()


def _coloured(span: Span) -> str:
    code = _SGR[span.style]
    return f"\x1b[{code}m{span.text}\x1b[0m" if code and span.text else span.text


def _trimmed(line: tuple[Span, ...]) -> tuple[Span, ...]:
    while line and not line[-1].text.rstrip(" "):
        line = line[:-1]
    if not line:
        return ()
    return (*line[:-1], Span(line[-1].text.rstrip(" "), line[-1].style))
