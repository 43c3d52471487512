"""In a real browser: no name of a cluster runs, and no page asks for anything."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kubectl_koord.render.show import TopoOptions, to_hand_on
from kubectl_koord.render.structured import Report
from tests.browser import seen
from tests.render.planting import planted_everywhere
from tests.render.samples import REPORTS, TOPO

pytestmark = [pytest.mark.browser, pytest.mark.untraced]

RAN = "this ran"


class Listener(HTTPServer):
    """Counts what is asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []

    def evil(self) -> str:
        """Return markup that runs and asks wherever it is not escaped."""
        here = f"http://127.0.0.1:{self.server_port}"
        script = f"document.body.append('{RAN.replace(' ', chr(39) + '+String.fromCharCode(32)+' + chr(39))}')"
        return (
            f"</title></style></desc></text></td></pre></code>\"'><img src={here}/img onerror={script}>"
            f"<script>{script}</script><script src={here}/script></script><link rel=stylesheet href={here}/css>"
            f"<iframe src={here}/frame></iframe><style>@import url({here}/import);</style>"
            f"<svg xmlns='http://www.w3.org/2000/svg' onload={script}><image href='{here}/image'/></svg>"
            f"<meta http-equiv=refresh content='0;url={here}/refresh'>"
        )


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Listener)
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    server = Listener()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def written(folder: Path, report: Report, form: str) -> Path:
    page = folder / f"page.{form}"
    page.write_text(to_hand_on(report, form, topo_options=TopoOptions(nodes=True)), "ascii")
    return page


def test_the_names_that_are_planted_would_run_and_ask(listener: Listener, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<body>{listener.evil().partition('<meta')[0]}", "ascii")
    assert RAN in seen(page)
    assert {"/img", "/script", "/css", "/frame", "/import", "/image"} <= set(listener.asked)


@pytest.mark.parametrize("name", ["why", "pending", "topo", "change"])
def test_a_page_runs_nothing_and_asks_for_nothing(listener: Listener, tmp_path: Path, name: str) -> None:
    found = seen(written(tmp_path, planted_everywhere(REPORTS[name], listener.evil()), "html"))
    assert RAN not in found
    assert "<h1" in found
    assert [tag for tag in ("<script", "<img", "<iframe", "<svg", "<link") if tag in found] == []
    assert listener.asked == []


def test_a_picture_runs_nothing_and_asks_for_nothing(listener: Listener, tmp_path: Path) -> None:
    found = seen(written(tmp_path, planted_everywhere(TOPO, listener.evil()), "svg"))
    assert RAN not in found
    assert "<desc" in found
    assert [tag for tag in ("<script", "<img", "<iframe", "<image", "<link") if tag in found] == []
    assert listener.asked == []


def test_the_policy_stops_even_what_is_not_escaped(listener: Listener, tmp_path: Path) -> None:
    page = written(tmp_path, REPORTS["why"], "html")
    evil = listener.evil().partition("<meta")[0]
    page.write_text(page.read_text("ascii").replace("<main>", f"<main>{evil}"), "ascii")
    found = seen(page)
    assert "<img" in found
    assert RAN not in found
    assert listener.asked == []
