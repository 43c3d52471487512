"""The picture of a terminal: the golden screen, whatever the font, without anything that acts."""

import re
from xml.etree import ElementTree as ET

from distribution.generated import ROOT
from distribution.picture import pictures, screen

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - of our own making


def rows(picture: ET.Element) -> list[str]:
    return (picture.findtext(f"{SVG}desc") or "").splitlines()


def test_the_readmes_picture_is_the_golden_screen() -> None:
    golden = (ROOT / "tests" / "golden" / "demo.80.txt").read_text("utf-8")
    answer = golden.partition("\n$ kubectl koord why-pending train/one-short --demo\n")[2].splitlines()
    command, *shown, dots = rows(parsed(pictures()["docs/images/why-pending.svg"]))
    assert (command, dots) == ("$ kubectl koord why-pending one-short -n train --demo", "...")
    assert shown == answer[: len(shown)]
    assert shown[-1].startswith("  spine-2 ")


def test_each_run_of_text_stands_in_its_cells_in_its_look() -> None:
    picture = parsed(screen("koord", "a  \x1b[1;31mb c\x1b[0m d\n\n\x1b[36mcode\x1b[0m\nmore\n", most=3))
    texts = [
        (one.text, one.get("class"), one.get("x"), one.get("y"), one.get("textLength")) for one in text_of(picture)
    ]
    assert texts == [
        ("$ koord", "bold", "16.0", "48", "58.8"),
        ("a", None, "16.0", "66", "8.4"),
        ("b c", "bad", "41.2", "66", "25.2"),
        ("d", None, "74.8", "66", "8.4"),
        ("code", "code", "16.0", "102", "33.6"),
        ("...", "dim", "16.0", "120", "25.2"),
    ]
    assert rows(picture) == ["$ koord", "a  b c d", "", "code", "..."]
    assert (picture.get("width"), picture.get("height")) == ("99", "140")


def text_of(picture: ET.Element) -> list[ET.Element]:
    return list(picture.iter(f"{SVG}text"))


def test_whatever_is_printed_is_shown_and_never_acts() -> None:
    written = screen("x", '<script>alert(1)</script> & "\u202e\x07 \x1b]0;t\x07 \x1b[5m \u4e2d', most=9)
    assert written.isascii()
    assert not re.search(r"<script|[\x00-\x08\x0b-\x1f\x7f]", written)
    shown = " ".join(one.text or "" for one in text_of(parsed(written)))
    assert shown == '$ x <script>alert(1)</script> & "\\u202e\\x07 \\x1b]0;t\\x07 \u4e2d'


def test_it_is_readable_where_it_is_light_and_where_it_is_dark() -> None:
    """Text and background change together: every class that has a colour has one for each."""
    style = parsed(pictures()["docs/images/why-pending.svg"]).findtext(f"{SVG}style") or ""
    light, _, dark = style.partition("@media (prefers-color-scheme: dark)")
    coloured = r"^ *(\S+) \{[^}]*(?:fill|stroke): #"
    assert set(re.findall(coloured, light, re.MULTILINE)) == set(re.findall(coloured, dark, re.MULTILINE))
    for part, paper in ((light, "#f6f8fa"), (dark, "#0d1117")):
        assert f".window {{ fill: {paper}" in part
        inks = set(re.findall(r"fill: (#\w{6})", part.replace("\n", " "))) - set(
            re.findall(r"\.bar \{ fill: (#\w+)", part)
        )
        assert min(contrast(ink, paper) for ink in inks - {paper}) > 4.5  # what WCAG asks of text


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * share for part, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))
