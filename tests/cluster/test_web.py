"""URLs and kustomizations in the place of files."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kubectl_koord.cluster import files
from kubectl_koord.cluster.api import direct
from kubectl_koord.cluster.files import Kustomization, files_of, named, opened, whole
from kubectl_koord.errors import KoordError

_MOST = 1 << 20
_PAGES = {"/job.yaml": b"kind: Job\n", "/a%C3%A4?ref=main": b"found\n"}
_LOGGED = 'E1128 20:52:35.219353    3055 run.go:72] "command failed" err="not a directory"'
_ELSEWHERE = {"/moved": "/job.yaml", "/round": "/round", "/to-file": "file:///etc/passwd", "/nowhere": ""}


class _Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            while not self.server.is_over.wait(0.02):  # type: ignore[attr-defined]
                self.wfile.write(b"x")
            return
        body = _PAGES.get(self.path, b"")
        self.send_response(200 if body else 302 if self.path in _ELSEWHERE else 404)
        if where := _ELSEWHERE.get(self.path):
            self.send_header("Location", where)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        server.is_over = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.is_over.set()  # type: ignore[attr-defined]
        server.shutdown()


def test_a_url_is_read_as_a_file_is(web: str) -> None:
    assert files_of([f"{web}/job.yaml"]) == (f"{web}/job.yaml",)
    assert whole(f"{web}/job.yaml", _MOST) == b"kind: Job\n"
    assert whole(f"{web}/moved", _MOST) == b"kind: Job\n"
    assert whole(f"{web}/aä?ref=main#part", _MOST) == b"found\n"
    into = bytearray(4)
    with opened(f"{web}/job.yaml") as page:
        assert (page.readinto(into), bytes(into), page.read()) == (4, b"kind", b": Job\n")


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("/missing", "error: {}/missing: the server answered with status code 404"),
        ("/nowhere", "error: {}/nowhere: the server answered with status code 302"),
        ("/round", "error: {}/round: more than 10 redirects"),
        ("/to-file", "error: {}/to-file: redirected to 'file:///etc/passwd'"),
    ],
)
def test_what_no_server_hands_out_is_an_error_that_names_the_url(web: str, page: str, why: str) -> None:
    with pytest.raises(KoordError) as raised:
        whole(web + page, _MOST)
    assert str(raised.value) == why.format(web)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://", "error: http://: no URL"),
        ("https://me:secret@x/y", "error: https://x/y: the URL holds a user: read it with curl, and give -f -"),
    ],
)
def test_a_url_that_is_none_or_has_a_password_is_refused(url: str, why: str) -> None:
    with pytest.raises(KoordError) as raised:
        whole(url, _MOST)
    assert str(raised.value) == why


def test_a_page_without_an_end_is_given_up(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_URL_SECONDS", 0.2)
    with pytest.raises(KoordError, match=rf"^error: {web}/endless: .*Client.Timeout"):
        whole(f"{web}/endless", _MOST)


def test_a_page_beyond_the_bound_is_too_large(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LARGEST_PAGE", 4)
    with pytest.raises(KoordError, match=r"job\.yaml: more than 0 MiB"), opened(f"{web}/job.yaml") as page:
        page.read()


def test_a_server_that_is_not_there_is_said_with_the_url() -> None:
    with pytest.raises(KoordError, match=r"^error: http://127\.0\.0\.1:1/x: .* refused"):
        whole("http://127.0.0.1:1/x", _MOST)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that alone is on the PATH, but for the shell's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}")
    return folder


def _script(program: Path, name: str, text: str) -> None:
    (program / name).write_text(f"#!/bin/sh\n{text}\n")
    (program / name).chmod(0o755)


def test_a_kustomization_is_built_by_kubectl_before_kustomize(program: Path, tmp_path: Path) -> None:
    folder = Kustomization(tmp_path)
    _script(program, "kustomize", 'echo "built: $*"')
    assert whole(folder, _MOST) == f"built: build -- {tmp_path}\n".encode()
    _script(program, "kubectl", 'echo "kubectl: $*"')
    assert files_of([folder]) == (folder,)
    assert whole(folder, _MOST) == f"kubectl: kustomize -- {tmp_path}\n".encode()


@pytest.mark.usefixtures("program")
def test_a_kustomization_without_a_program_is_one_clear_line() -> None:
    with pytest.raises(KoordError) as raised:
        whole(Kustomization("base"), _MOST)
    assert str(raised.value) == "error: -k needs kubectl or kustomize, and neither is on PATH"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'error: no kustomization.yaml' >&2; exit 1", "kustomize failed: no kustomization.yaml"),
        (f"echo '{_LOGGED}' >&2; exit 1", "kustomize failed: not a directory"),
        ("exit 3", "kustomize failed: exit code 3"),
        ("exec /bin/sleep 20", "kustomize did not end within 0.2 s"),
    ],
)
def test_a_kustomization_that_cannot_be_built_says_why(
    program: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    monkeypatch.setattr(files, "_BUILD_SECONDS", 0.2)
    _script(program, "kubectl", text)
    with pytest.raises(KoordError) as raised:
        whole(Kustomization("base"), _MOST)
    assert str(raised.value) == f"error: base: {why}"


def test_files_and_a_kustomization_exclude_each_other() -> None:
    assert named(["a"], "") == ["a"]
    assert [type(one) for one in named([], "base")] == [Kustomization]
    with pytest.raises(KoordError, match="only one of -f and -k can be given"):
        named(["a"], "base")
