"""Without kubectl the same server is reached as with it, as the same user and by the same proxy, or a line says why."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from kubectl_koord.cluster.api import direct
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.errors import KoordError
from tests.apiserver import Tls
from tests.cluster.seen import PATH, SETTINGS, SHAPES, Given, Place, Proxy, Seen, Server

_SOCKS = "error: a SOCKS proxy cannot be honoured without kubectl: put kubectl on PATH"
WITHOUT = {
    "socks5": _SOCKS,
    "proxy-url of socks5": _SOCKS,
    # Go speaks HTTP with it.
    "unknown scheme": "Unable to connect to the server: proxyconnect: HTTPS_PROXY has an unknown scheme",
}
"""What kubectl does, and we refuse."""


class Reached(NamedTuple):
    """Whether there was an answer, what the server saw of who asked for it, and what the proxy was asked."""

    answered: bool
    seen: frozenset[Seen] = frozenset()
    proxied: tuple[str, ...] = ()


def by_kubectl(kubectl: str, given: Given, folder: Path) -> str:
    """Return why there is no answer, empty where there is one."""
    command = [kubectl, "get", "--raw", PATH, "--request-timeout=20s", *given.flags]
    environment = {**os.environ, **given.environment}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return done.stderr if done.returncode else ""


def by_us(given: Given, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the same of our way without kubectl."""
    monkeypatch.chdir(folder)
    for name, value in given.environment.items():
        monkeypatch.setenv(name, value)
    connection, _ = take_connection(["--request-timeout=20s", *given.flags])
    try:
        with direct.start(connection, writes=False) as transport:
            transport.open(PATH).close()
    except KoordError as error:
        return error.message
    return ""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "kubectl", tmp_path / "ours"
    for folder in made:
        folder.mkdir()
    return made


@pytest.mark.parametrize("name", SHAPES)
def test_a_kubeconfig_means_what_it_means_to_kubectl(
    name: str, kubectl: str, folders: tuple[Path, Path], tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    its, own = folders
    with Server(tls) as server:
        refused = by_kubectl(kubectl, SHAPES[name](Place(its, server.url, tls)), its)
        expected = Reached(not refused, frozenset(() if refused else server.seen))
    with Server(tls) as server:
        refused = by_us(SHAPES[name](Place(own, server.url, tls)), own, monkeypatch)
        assert Reached(not refused, frozenset(server.seen)) == expected, refused
    assert "\n" not in refused
    assert "pw" not in refused
    assert not [folder for folder in folders if (folder / "hijacked").exists()]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_proxy_is_the_one_that_kubectl_takes(
    name: str, kubectl: str, folders: tuple[Path, Path], tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[Reached] = []
    refused = ""
    for folder in folders:
        with Server(tls) as server, Proxy(server.port) as proxy:
            given = SETTINGS[name].given(Place(folder, server.url, tls), server, proxy)
            refused = by_us(given, folder, monkeypatch) if reached else by_kubectl(kubectl, given, folder)
            reached.append(Reached(not refused, frozenset(server.seen), tuple(proxy.asked[:1])))
    if name in WITHOUT:
        assert refused == WITHOUT[name]
        assert reached[0].answered
        return
    assert reached[1] == reached[0], refused


def test_there_is_a_kubectl_to_compare_with() -> None:
    """In CI: a comparison that is always left out shows nothing."""
    assert shutil.which("kubectl") or not os.environ.get("CI")
