"""HTML pages: all that a pipe gets, as a page that runs nothing and asks for nothing, whatever names it holds."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Columns,
    Command,
    EmptyLine,
    Line,
    Row,
    Table,
    TreeTable,
)
from kubectl_koord.render.show import OutputStyle, TopoOptions, text, to_hand_on
from kubectl_koord.render.structured import Report
from kubectl_koord.render.web import to_html
from kubectl_koord.reports.manual import VersionReport
from tests.layers.drawing import alone, asked, pod, waiting
from tests.render.planting import planted_everywhere, planted_one_by_one, shown_as_blocks
from tests.render.samples import PENDING, PIPE, REPORTS, WHY

ELEMENTS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
    "section",
    "footer",
    "h1",
    "h2",
    "p",
    "blockquote",
    "pre",
    "code",
    "ol",
    "li",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "details",
    "summary",
}
ATTRIBUTES = {
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "scope",
    "colspan",
    "tabindex",
    "data-head",
    "open",
}
MARKUP = (
    '</title></style></td></pre><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">'
    "' onmouseover='alert(1) \" onmouseover=\"alert(1) <!-- ]]> &lt;b&gt; &#60; <style>@import url(//evil)</style>"
    "\x1b[2J\x00\u202etxt\u2066\u200b\u2028\nb\r\ud800 \U000e0041 节点"
)
PAGE: list[Block] = [
    Line("It's <b>", "bad"),
    Line("A remark."),
    Command("explain x", label="Details: "),
    EmptyLine(),
    Line("Next", "bold"),
    Table(
        (Column("NODE"), Column("N", right=True), Column("WHY", flow="wrap")),
        (Row(("a", "1", "full")), Row(("b", "10", ""), "good"), Row(("... and 4 more", "", ""), "dim", across=True)),
    ),
    Line("below", "dim", indent=2),
    Line("as it was said", indent=4, quoted=True),
    EmptyLine(),
    TreeTable((Column("DOMAIN"), Column("N", right=True)), (Row(("cluster", "1")), Row(("x", "2"), depth=12))),
    Bullets((Bullet("First", "kubectl get 'x'"), Bullet("Then"))),
    EmptyLine(),
    Line("Evaluated", "dim"),
]

of_each_report = pytest.mark.parametrize("name", REPORTS)


class Read(HTMLParser):
    """What a browser finds in a page: elements with their attributes, and text by element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[tuple[str, tuple[tuple[str, str], ...]]] = []
        self.texts: list[tuple[str, str]] = []
        self.inside: list[str] = []
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, tuple((name, value or "") for name, value in attrs)))
        self.inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, tuple((name, value or "") for name, value in attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.inside[-1] if self.inside else "", data))

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    @property
    def structure(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The elements and their attributes, but for those that hold text from the cluster."""
        return [
            (tag, [(key, value) for key, value in attributes if key != "data-head"]) for tag, attributes in self.opened
        ]

    def text(self) -> str:
        return " ".join(data for tag, data in self.texts if tag not in {"style", "title"})


def html(report: Report) -> str:
    return to_hand_on(report, "html", topo_options=TopoOptions(nodes=True))


def body(page: str) -> str:
    return page.partition("<main>")[2].partition("</main>")[0]


def test_every_block_has_its_element() -> None:
    assert (
        body(to_html(PAGE))
        == """\
<header><h1 class="bad">It&#x27;s &lt;b&gt;</h1>
<p>A remark.</p>
<p>Details:</p>
<pre><code>explain x</code></pre></header>
<section><h2>Next</h2>
<div class="scrolls" tabindex="0"><table class="stacks"><thead><tr><th scope="col">NODE</th>\
<th scope="col" class="number">N</th><th scope="col" class="wrap">WHY</th></tr></thead>\
<tbody><tr><th scope="row">a</th><td class="number" data-head="N">1</td><td class="wrap" data-head="WHY">full</td></tr>
<tr class="good"><th scope="row">b</th><td class="number" data-head="N">10</td><td class="wrap"></td></tr>
<tr class="dim"><th scope="row" colspan="3">... and 4 more</th></tr></tbody></table></div>
<p class="dim inner">below</p>
<blockquote class="inner">as it was said</blockquote></section>
<section><div class="scrolls" tabindex="0"><table><thead><tr><th scope="col">DOMAIN</th>\
<th scope="col" class="number">N</th></tr></thead><tbody><tr><th scope="row">cluster</th><td class="number">1</td></tr>
<tr class="d9"><th scope="row">x</th><td class="number">2</td></tr></tbody></table></div>
<ol><li>First<pre><code>kubectl get &#x27;x&#x27;</code></pre></li><li>Then</li></ol></section>
<footer><p class="dim">Evaluated</p></footer>"""
    )


def test_the_verdict_is_the_title_and_the_heading_in_its_colour() -> None:
    read = Read(html(WHY))
    verdict = text(WHY, style=PIPE).partition("\n")[0]
    assert ("title", verdict) in read.texts
    assert ("h1", verdict) in read.texts
    assert ("h1", (("class", "bad"),)) in read.opened


def test_a_page_says_at_its_end_whose_behaviour_it_tells_and_when_that_was_read() -> None:
    footer = html(WHY).partition("<footer>")[2]
    assert "Evaluated as Koordinator 1.8 (from the image tag)</p>" in footer
    assert "Read from the cluster at 2026-11-20T10:00:00Z</p>" in footer


def test_a_page_that_rests_on_no_cluster_says_none() -> None:
    assert "Read from" not in html(VersionReport("yes", "1.0", ("1.8",), "main"))


@of_each_report
def test_a_page_says_all_that_a_pipe_is_told(name: str) -> None:
    shown = re.sub(r"(?m)^  \d+\. ", "", text(REPORTS[name], style=PIPE, topo_options=TopoOptions(nodes=True)))
    assert set(shown.split()) <= set(Read(html(REPORTS[name])).text().split())


@of_each_report
def test_no_text_becomes_an_element_or_an_attribute_wherever_it_stands(name: str) -> None:
    tame = planted_one_by_one(REPORTS[name], "QQ")
    for (replaced, wild), (_, same) in zip(planted_one_by_one(REPORTS[name], MARKUP), tame, strict=True):
        page = html(wild)
        assert page.isascii()
        if replaced not in shown_as_blocks(REPORTS[name]):
            assert Read(body(page)).structure == Read(body(html(same))).structure, replaced


@of_each_report
def test_a_page_holds_nothing_that_runs_or_is_fetched(name: str) -> None:
    read = Read(html(planted_everywhere(REPORTS[name], MARKUP)))
    assert {tag for tag, _ in read.opened} <= ELEMENTS
    assert {key for _, attributes in read.opened for key, _ in attributes} <= ATTRIBUTES
    assert read.others == ["DOCTYPE html"]
    assert read.inside == []


def test_what_hides_or_reorders_text_is_shown() -> None:
    shown = Read(to_html([Line(MARKUP)])).text()
    assert r"\x1b[2J\x00\u202etxt\u2066\u200b\u2028\x0ab\x0d\ud800 \U000e0041 节点" in shown


def test_the_policy_allows_our_style_sheet_alone() -> None:
    page = html(WHY)
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    metas = [dict(attributes) for tag, attributes in Read(page).opened if tag == "meta"]
    assert {"http-equiv": "Content-Security-Policy", "content": policy} == metas[1]
    assert metas[0] == {"charset": "utf-8"}
    assert not re.search(r"url\(|@import|src|[&<]", style)


def test_a_page_fits_phones_paper_and_the_dark() -> None:
    page = html(WHY)
    assert '<meta name="viewport" content="width=device-width,initial-scale=1"/>' in page
    for media in ("(prefers-color-scheme: dark)", "(max-width: 40rem)", "@media print"):
        assert media in page


@pytest.mark.parametrize(("rows", "folds"), [(40, False), (41, True)])
def test_a_long_table_can_be_folded(rows: int, folds: bool) -> None:  # noqa: FBT001
    table = Table((Column("A"),), tuple(Row((str(number),)) for number in range(rows)))
    page = to_html([Line("Many."), table])
    assert ('<details open="open"><summary>41 rows</summary><div' in page) == folds


def test_without_headers_there_are_rows_alone() -> None:
    page = to_hand_on(PENDING, "html", columns=Columns(headers=False))
    read = Read(page)
    assert ("title", "kubectl koord") in read.texts
    assert "thead" not in {tag for tag, _ in read.opened}
    rows = text(
        PENDING, style=OutputStyle(terminal=False, width=0, colour=False, unicode=True), columns=Columns(headers=False)
    )
    assert set(rows.split()) <= set(read.text().split())


def test_a_page_of_nothing_is_a_page() -> None:
    assert body(to_html([])) == "<section></section>"


def test_the_way_of_a_job_is_a_table_of_layers_of_which_that_which_holds_it_stands_out() -> None:
    report = asked(alone(pod("job-0", waiting("ErrImagePull"))), "pod/job-0")
    page = to_hand_on(report, "html")
    rows = re.findall(r'<tr( class="bad")?><th scope="row">(\w+)</th><td data-head="LAYER">([^<]*)</td>', page)
    assert [(state, layer, bool(bad)) for bad, state, layer in rows] == [
        ("ok", "gang, quota, topology", False),
        ("HELD", "bound, not running", True),
    ]
