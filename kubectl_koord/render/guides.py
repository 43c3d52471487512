"""The lines that a terminal draws in front of the rows of a tree."""

from msgspec import Struct


class Glyphs(Struct, frozen=True):
    """The signs of one character set; the first three are of one width."""

    through: str = "\u2502  "
    branch: str = "\u251c\u2500 "
    last: str = "\u2514\u2500 "
    ellipsis: str = "\u2026"


def leads(depths: list[int], glyphs: Glyphs) -> list[str]:
    """Return what to draw in front of each row of a tree in pre-order; nothing at depth 0."""
    blank = " " * len(glyphs.through)
    out: list[str] = []
    follows: list[bool] = []  # per depth: whether a sibling comes below the row at hand
    for depth in reversed(depths):
        follows = [*follows[: depth + 1], *[False] * (depth + 1 - len(follows))]
        above = "".join(glyphs.through if more else blank for more in follows[1:depth])
        out.append(above + (glyphs.branch if follows[depth] else glyphs.last) if depth else "")
        follows[depth] = True
    return out[::-1]
