"""Ways to say which cluster, and as whom: what a server sees of each, whoever it is that reads the kubeconfig."""

import base64
import http.server
import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.apiserver import Tls

V1 = "client.authentication.k8s.io/v1"
PATH = "/api/v1/pods"


class Seen(NamedTuple):
    """What a server sees of a request: as whom it came, and under which name the server was asked for."""

    authorization: str = ""
    certificate: bool = False
    name: str = ""


class Server:
    """Answers `{}`, and keeps what it sees."""

    def __init__(self, tls: Tls | None) -> None:
        self.seen: list[Seen] = []
        names: list[str] = []
        seen = self.seen

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                certificate = isinstance(self.connection, ssl.SSLSocket) and bool(self.connection.getpeercert())
                seen.append(Seen(self.headers.get("Authorization", ""), certificate, names[-1] if names else ""))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass

        self._http = Quiet(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate, tls.key)
            context.load_verify_locations(tls.certificate)
            context.verify_mode = ssl.CERT_OPTIONAL
            context.sni_callback = lambda _socket, name, _context: names.append(name or "")
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._http.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


class Place(NamedTuple):
    """Where a shape is set up."""

    folder: Path
    url: str
    tls: Tls

    def config(self, user: object, cluster: Mapping[str, object] = {}, name: str = "config") -> str:
        """Write a kubeconfig, and return its path."""
        server = {"server": self.url} | ({} if "insecure-skip-tls-verify" in cluster else self.authority())
        return self.write(
            name,
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {**server, **cluster}}],
                "users": [{"name": "u", "user": user}],
            },
        )

    def write(self, name: str, content: object) -> str:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def program(self, name: str, text: str) -> str:
        path = Path(self.write(name, f"#!/bin/sh\n{text}\n"))
        path.chmod(0o755)
        return str(path)

    def authority(self) -> dict[str, str]:
        return {"certificate-authority-data": _data(self.tls.certificate)}

    def certificate(self) -> dict[str, str]:
        return {"client-certificate-data": _data(self.tls.certificate), "client-key-data": _data(self.tls.key)}

    def plugin(self, **more: object) -> dict[str, object]:
        """Return an exec plugin that answers with the token of its first argument, its environment behind it."""
        self.program(
            "bin/plugin",
            f"""echo '{{"apiVersion": "{more.get("apiVersion", V1)}", "kind": "ExecCredential","""
            """ "status": {"token": "'"$1$EXTRA"'"}}'""",
        )
        return {
            "exec": {
                "apiVersion": V1,
                "command": "./bin/plugin",
                "args": ["t"],
                "env": [{"name": "EXTRA", "value": "-more"}],
                "interactiveMode": "Never",
                **more,
            }
        }


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


class Given(NamedTuple):
    """The environment, and the flags, of one shape."""

    environment: Mapping[str, str] = {}
    flags: tuple[str, ...] = ()


def _named(path: str) -> Given:
    return Given({"KUBECONFIG": path})


def _merged(place: Place) -> Given:
    """The first file to say something counts; one that is missing does not."""
    first = place.config({"token": "first"}, name="first")
    second = place.config({"token": "second"}, {"server": "https://127.0.0.1:1"}, name="second")
    return _named(os.pathsep.join([str(place.folder / "missing"), first, second]))


def _spread(place: Place) -> Given:
    whole: dict[str, Any] = json.loads(Path(place.config({"token": "spread"})).read_text())
    fields = ("current-context", "contexts", "clusters", "users")
    names = [place.write(field, {field: whole.pop(field)}) for field in fields]
    other = place.write("other", {"current-context": "nowhere"})
    return _named(os.pathsep.join([place.write("empty", ""), *names, other]))


def _context_of(**names: str) -> Callable[[Place], Given]:
    def given(place: Place) -> Given:
        path = Path(place.config({"token": "t"}))
        config = json.loads(path.read_text())
        config["contexts"][0]["context"].update(names)
        path.write_text(json.dumps(config))
        return _named(str(path))

    return given


def _files(place: Place) -> Given:
    """Names of files are relative to the kubeconfig."""
    for source, name in ((place.tls.certificate, "pki/ca.pem"), (place.tls.key, "pki/me.key")):
        place.write(name, source.read_text())
    user = {"client-certificate": "pki/ca.pem", "client-key": "pki/me.key"}
    return _named(place.config(user, {"certificate-authority": "pki/ca.pem", "certificate-authority-data": ""}))


def _token_file(content: str, **more: str) -> Callable[[Place], Given]:
    def given(place: Place) -> Given:
        place.write("pki/token", content)
        return _named(place.config({"tokenFile": "pki/token", **more}))

    return given


def _user(**user: object) -> Callable[[Place], Given]:
    return lambda place: _named(place.config(user))


def _cluster(**fields: object) -> Callable[[Place], Given]:
    written = {name.replace("_", "-"): value for name, value in fields.items()}
    return lambda place: _named(place.config({"token": "t"}, written))


def _plugin(**more: object) -> Callable[[Place], Given]:
    return lambda place: _named(place.config(place.plugin(**more)))


def _on_path(place: Place) -> Given:
    path = f"{place.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return Given({"KUBECONFIG": place.config(place.plugin(command="plugin")), "PATH": path})


def _here(place: Place) -> Given:
    """A program of the current folder, which an empty element of PATH stands for."""
    place.program("hijack", f"touch {place.folder}/hijacked")
    return Given({"KUBECONFIG": place.config(place.plugin(command="hijack")), "PATH": f":{os.environ['PATH']}"})


def _twice(place: Place) -> Given:
    path = Path(place.config({"token": "t"}))
    config = json.loads(path.read_text())
    config["users"].append({"name": "u", "user": {}})
    path.write_text(json.dumps(config))
    return _named(str(path))


SHAPES: Mapping[str, Callable[[Place], Given]] = {
    "token": _user(token="t"),
    "token with a line feed": _user(token="t\n"),
    "token file": _token_file("f\n"),
    "token beside a token file": _token_file("f\n", token="t"),
    "token file that is empty": _token_file(" \n"),
    "token file that is missing": _user(tokenFile="nowhere"),
    "certificate as data": lambda place: _named(place.config(place.certificate())),
    "certificate in files": _files,
    "certificate without a key": lambda place: _named(
        place.config({"client-certificate-data": place.certificate()["client-certificate-data"]})
    ),
    "certificate and token": lambda place: _named(place.config({**place.certificate(), "token": "t"})),
    "user and password": _user(username="bob", password="pw"),
    "user, password and token": _user(username="bob", password="pw", token="t"),
    "plugin beside the kubeconfig": _plugin(),
    "plugin of v1beta1": _plugin(apiVersion="client.authentication.k8s.io/v1beta1"),
    "plugin of v1alpha1": _plugin(apiVersion="client.authentication.k8s.io/v1alpha1"),
    "plugin on PATH": _on_path,
    "plugin of the current folder": _here,
    "plugin that is missing": _plugin(command="nowhere", installHint="get it"),
    "plugin that fails": _plugin(command="false"),
    "plugin without a word": _plugin(command="true"),
    "plugin without an interactive mode": _plugin(interactiveMode=None),
    "plugin with an unknown interactive mode": _plugin(interactiveMode="Sometimes"),
    "plugin with a variable without a value": _plugin(env=[{"name": "EXTRA"}]),
    "plugin beside a token": lambda place: _named(place.config({**place.plugin(), "token": "t"})),
    "auth provider": _user(**{"auth-provider": {"name": "gcp"}}),
    "no credentials but the certificate's": lambda place: _named(place.config(place.certificate())),
    "another name of the server": _cluster(tls_server_name="localhost"),
    "a wrong name of the server": _cluster(tls_server_name="wrong.example"),
    "an insecure server": _cluster(insecure_skip_tls_verify=True),
    "an insecure server with an authority": lambda place: _named(
        place.config({"token": "t"}, {"insecure-skip-tls-verify": True, **place.authority()})
    ),
    "an unknown authority": _cluster(certificate_authority_data=""),
    "several files": _merged,
    "one field a file": _spread,
    "a missing file by flag": lambda place: Given({}, (f"--kubeconfig={place.folder / 'nowhere'}",)),
    "an empty file": lambda place: _named(place.write("config", "")),
    "a context of a missing cluster": _context_of(cluster="nowhere"),
    "a context of a missing user": _context_of(user="nowhere"),
    "a context without a user": _context_of(user=""),
    "a missing context by flag": lambda place: Given(_user(token="t")(place).environment, ("--context=nowhere",)),
    "a name twice": _twice,
    "a number for a token": _user(token=12345),
    "a server with a password": lambda place: _named(
        place.config({}, {"server": place.url.replace("://", "://bob:pw@")})
    ),
    "a server with a password, and a token": lambda place: _named(
        place.config({"token": "t"}, {"server": place.url.replace("://", "://bob:pw@")})
    ),
    "a server without a scheme": lambda place: _named(
        place.config({"token": "t"}, {"server": place.url.partition("://")[2]})
    ),
    "a server with a path": lambda place: _named(place.config({"token": "t"}, {"server": f"{place.url}/k8s/c-1/"})),
    "flags over the kubeconfig": lambda place: Given(
        {"KUBECONFIG": place.config({"token": "t"}, {"server": "https://127.0.0.1:1"})},
        (f"--server={place.url}", "--token=flag"),
    ),
}
"""Kubeconfigs by what they are about; each is set up at a place."""


class Proxy:
    """A proxy for HTTP (CONNECT too) and SOCKS 5 that leads every name to one server, and keeps what it is asked."""

    def __init__(self, port: int) -> None:
        self.asked: list[str] = []
        self._port = port
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        try:
            first = client.recv(65536)
            if first[:1] == b"\x05":
                client.sendall(b"\x05\x00")
                client.recv(65536)
                self.asked.append("SOCKS")
                client.sendall(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
                self._join(client, b"")
            else:
                has_password = b"proxy-authorization: basic" in first.lower()
                self.asked.append(f"{first.split(b' ')[0].decode()}{' as somebody' if has_password else ''}")
                if first.startswith(b"CONNECT"):
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    first = b""
                self._join(client, first)
        except OSError:
            pass
        finally:
            client.close()

    def _join(self, client: socket.socket, first: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            server.sendall(first)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join(5)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Setting(NamedTuple):
    """Where a server is, what the environment says (PROXY: the address of one), and what its proxy-url."""

    host: str
    environment: Mapping[str, str] = {}
    proxy_url: str = ""

    def given(self, place: Place, server: Server, proxy: Proxy) -> Given:
        """Write the kubeconfig, and return the environment."""

        def filled(text: str) -> str:
            return text.replace("PROXY", proxy.address).replace("PORT", str(server.port))

        address = {"server": f"https://{self.host}:{server.port}", "insecure-skip-tls-verify": True}
        more = {"proxy-url": filled(self.proxy_url)} if self.proxy_url else {}
        kubeconfig = place.config({"token": "t"}, {**address, **more})
        return Given({"KUBECONFIG": kubeconfig, **{key: filled(value) for key, value in self.environment.items()}})


_FAR = "k8s.invalid"
_ADDRESS = "240.1.2.3"
SETTINGS: Mapping[str, Setting] = {
    "nothing": Setting(_FAR),
    "HTTPS_PROXY": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY"}),
    "https_proxy": Setting(_FAR, {"https_proxy": "http://PROXY"}),
    "both, the large one counts": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "https_proxy": "http://127.0.0.1:1"}),
    "HTTP_PROXY is for others": Setting(_FAR, {"HTTP_PROXY": "http://PROXY", "http_proxy": "http://PROXY"}),
    "ALL_PROXY is not known": Setting(_FAR, {"ALL_PROXY": "http://PROXY", "all_proxy": "http://PROXY"}),
    "without a scheme": Setting(_FAR, {"HTTPS_PROXY": "PROXY"}),
    "with a password": Setting(_FAR, {"HTTPS_PROXY": "http://bob:p%40w@PROXY"}),
    "socks5": Setting(_FAR, {"HTTPS_PROXY": "socks5://PROXY"}),
    "unknown scheme": Setting(_FAR, {"HTTPS_PROXY": "gopher://PROXY"}),
    "this machine needs none": Setting("127.0.0.1", {"HTTPS_PROXY": "http://127.0.0.1:1"}),
    "NO_PROXY with the name": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "a, k8s.invalid"}),
    "no_proxy with the domain": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "no_proxy": ".INVALID"}),
    "NO_PROXY with a star": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "*.invalid"}),
    "NO_PROXY with an end": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "s.invalid"}),
    "NO_PROXY with everything": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "*"}),
    "NO_PROXY with the port": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "k8s.invalid:PORT"}),
    "NO_PROXY with another port": Setting(_FAR, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "k8s.invalid:1"}),
    "NO_PROXY with a network": Setting(_ADDRESS, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "240.1.0.0/16"}),
    "NO_PROXY with an address": Setting(_ADDRESS, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "240.1.2.3"}),
    "NO_PROXY with another network": Setting(_ADDRESS, {"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "10.0.0.0/8"}),
    "proxy-url": Setting(_FAR, {}, "http://PROXY"),
    "proxy-url for this machine": Setting("127.0.0.1", {}, "http://PROXY"),
    "proxy-url before the environment": Setting(_FAR, {"HTTPS_PROXY": "http://127.0.0.1:1"}, "http://PROXY"),
    "proxy-url and NO_PROXY": Setting(_FAR, {"NO_PROXY": "*"}, "http://PROXY"),
    "proxy-url with a password": Setting(_FAR, {}, "http://bob:pw@PROXY"),
    "proxy-url of socks5": Setting(_FAR, {}, "socks5://PROXY"),
    "proxy-url without a scheme": Setting(_FAR, {}, "PROXY"),
    "proxy-url of an unknown scheme": Setting(_FAR, {}, "gopher://PROXY"),
}


@contextmanager
def raw(answer: bytes) -> Iterator[int]:
    """Answer every connection with these bytes; yields the port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
                client.recv(65536)
                client.sendall(answer)
                client.close()
            except OSError:
                if listening.fileno() < 0:
                    return

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
