import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.cluster.api.transport import USER_AGENT, Unsent, failure, is_loopback
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule, Tls
from tests.cluster.conftest import Reach, pod

PODS = "/api/v1/pods"
MERGE = "application/merge-patch+json"
ParsedMessage = Callable[..., str]

pytestmark = pytest.mark.usefixtures("way")


def error_of(reach: Reach, *flags: str, path: str = PODS) -> str:
    """The sentence with which a GET fails, in its head or in its body."""
    with pytest.raises(KoordError) as caught, closing(reach(*flags).open(path)) as body:
        body.read()
    message = caught.value.message
    assert message
    assert "\n" not in message
    return message


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_a_list_is_read_as_the_server_wrote_it(server: ApiServer, reach: Reach) -> None:
    body = reach().open(f"{PODS}?limit=500")
    text = body.read()
    assert body.status == 200
    assert body.headers["content-type"] == "application/json"
    assert text.count(b'"kind": "Pod"') == 3
    assert body.read() == b""
    body.close()
    body.close()
    (request,) = server.requests(PODS)
    assert request.query == {"limit": "500"}
    assert request.headers["user-agent"] == USER_AGENT


def test_a_large_body_fills_every_buffer_to_its_end(server: ApiServer, reach: Reach) -> None:
    whole = bytes(range(256)) * 9000
    server.rules.append(Rule(PODS, raw=whole))
    body = reach().open(PODS)
    got = bytearray()
    buffer = bytearray(1_000_000)
    counts = []
    while count := body.readinto(buffer):
        counts.append(count)
        got += memoryview(buffer)[:count]
    body.close()
    assert got == whole
    assert counts == [1_000_000, 1_000_000, 304_000]


def test_several_threads_read_at_once(server: ApiServer, reach: Reach) -> None:
    gate = threading.Event()
    server.rules.append(Rule("/api/v1/nodes", hang=gate))
    transport = reach()
    answers: dict[str, int] = {}

    def read(path: str) -> None:
        body = transport.open(path)
        body.read()
        body.close()
        answers[path] = body.status
        if len(answers) == 4:
            gate.set()

    paths = ["/api/v1/nodes", PODS, "/version", "/api", "/apis/nope/v1/things"]
    threads = [threading.Thread(target=read, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == dict.fromkeys(paths, 200) | {"/apis/nope/v1/things": 404}


def test_a_refused_connection_is_told_in_kubectls_words(reach: Reach) -> None:
    port = free_port()
    assert error_of(reach, f"--server=http://127.0.0.1:{port}") == (
        f"The connection to the server 127.0.0.1:{port} was refused - did you specify the right host or port?"
    )


def test_an_unknown_host_is_told_in_kubectls_words(reach: Reach) -> None:
    message = error_of(reach, "--server=http://no-such-host.invalid:1")
    assert message.startswith("Unable to connect to the server: dial tcp: lookup no-such-host.invalid")


def test_a_certificate_of_an_unknown_authority_is_refused(secure: ApiServer, reach: Reach, other_tls: Tls) -> None:
    message = error_of(reach, f"--certificate-authority={other_tls.certificate}")
    expected = "Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown"
    assert message.startswith(expected)
    assert not secure.requests(PODS)


def test_a_certificate_of_another_name_is_refused(
    tmp_path: Path, reach: Reach, monkeypatch: pytest.MonkeyPatch, other_tls: Tls
) -> None:
    with ApiServer(tls=other_tls) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        message = error_of(reach)
        assert message.startswith(
            "Unable to connect to the server: tls: failed to verify certificate: x509: cannot validate"
        )
        body = reach("--tls-server-name=elsewhere").open(PODS)
        assert body.status == 200
        body.close()


def test_tls_and_the_token_of_the_kubeconfig_are_used(secure: ApiServer, reach: Reach) -> None:
    body = reach().open(PODS)
    assert (body.status, b'"kind": "Pod"' in body.read()) == (200, True)
    body.close()
    assert secure.requests(PODS)[-1].headers["authorization"] == "Bearer secret"


def test_the_token_flag_beats_the_kubeconfig(secure: ApiServer, reach: Reach) -> None:
    body = reach("--token=other").open(PODS)
    assert (
        failure(body.status, body.read(), PODS).message == "error: You must be logged in to the server (Unauthorized)"
    )
    body.close()
    assert secure.requests(PODS)[-1].headers["authorization"] == "Bearer other"


def test_an_unverified_server_is_accepted_when_asked_for(secure: ApiServer, reach: Reach, tmp_path: Path) -> None:
    kubeconfig = secure.kubeconfig(tmp_path, cluster={"certificate-authority": None})
    assert "x509" in error_of(reach, f"--kubeconfig={kubeconfig}")
    body = reach(f"--kubeconfig={kubeconfig}", "--insecure-skip-tls-verify").open(PODS)
    assert body.status == 200
    body.close()


def test_a_token_is_never_sent_in_the_clear(server: ApiServer, reach: Reach) -> None:
    body = reach("--token=hidden").open(PODS)
    body.close()
    assert "authorization" not in server.requests(PODS)[-1].headers


def test_a_user_without_credentials_is_refused_before_anything_is_sent(
    secure: ApiServer, reach: Reach, tmp_path: Path
) -> None:
    kubeconfig = secure.kubeconfig(tmp_path, user={})
    with pytest.raises(KoordError) as caught:
        reach(f"--kubeconfig={kubeconfig}").open(PODS)
    assert caught.value.message == "error: You must be logged in to the server (the kubeconfig user has no credentials)"
    assert not secure.requests(PODS)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--context=nope", 'error: context "nope" does not exist'),
        ("--user=nope", 'error: auth info "nope" does not exist'),
        ("--kubeconfig=/no/such/file", "error: stat /no/such/file: no such file or directory"),
    ],
)
def test_a_name_that_the_kubeconfig_does_not_hold_is_told_in_kubectls_words(
    server: ApiServer, reach: Reach, flag: str, message: str
) -> None:
    with pytest.raises(KoordError) as caught:
        reach(flag).open(PODS)
    assert caught.value.message == message
    assert not server.requests(PODS)


def test_a_server_that_hangs_is_given_up_after_the_request_timeout(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(PODS, hang=threading.Event()))
    transport = reach("--request-timeout=300ms")
    transport.open("/version").close()
    start = time.monotonic()
    with pytest.raises(KoordError) as caught:
        transport.open(PODS)
    assert 0.25 < time.monotonic() - start < 3
    assert caught.value.message == (
        "Unable to connect to the server: net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
    )


@pytest.mark.parametrize("cut", ["length", "chunked"])
def test_a_connection_that_breaks_in_mid_body_is_an_error_and_not_an_end(
    server: ApiServer, reach: Reach, cut: str
) -> None:
    server.rules.append(Rule(PODS, cut=cut))
    assert error_of(reach) == "Unable to connect to the server: unexpected EOF"


def test_a_connection_that_ends_before_the_answer_is_told(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(PODS, cut="head"))
    assert error_of(reach) == "Unable to connect to the server: EOF"


@pytest.mark.parametrize("server_url", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
def test_what_cannot_have_been_sent_is_told_apart(server: ApiServer, reach: Reach, server_url: str) -> None:
    with pytest.raises(Unsent):
        reach(f"--server={server_url}", writes=True).send("PATCH", f"{PODS}/x", b"{}", MERGE)
    for cut in ("head", "reset", "status", "length"):
        server.rules[:] = [Rule(f"{PODS}/x", cut=cut)]
        with pytest.raises(KoordError) as caught:
            reach(writes=True).send("PATCH", f"{PODS}/x", b"{}", MERGE)
        assert not isinstance(caught.value, Unsent)


def test_nothing_is_sent_to_a_server_that_is_not_trusted(secure: ApiServer, reach: Reach) -> None:
    with pytest.raises(Unsent):
        reach("--tls-server-name=elsewhere", writes=True).send("PATCH", f"{PODS}/x", b"{}", MERGE)
    assert not secure.log


def test_a_way_itself_sends_a_request_once(server: ApiServer, reach: Reach) -> None:
    """What the server asks to be sent again is sent again in the layer above both ways (test_retrying.py)."""
    server.rules.append(Rule(PODS, 429, "TooManyRequests", "slow down", headers={"Retry-After": "1"}))
    body = reach().open(PODS)
    assert body.status == 429
    body.close()
    assert len(server.requests(PODS)) == 1


def test_redirects_are_not_followed(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(PODS, 302, raw=b"", headers={"Location": f"{server.url}/api/v1/nodes"}))
    body = reach().open(PODS)
    body.close()
    assert body.status == 302
    assert not server.requests("/api/v1/nodes")


@pytest.mark.parametrize("method", ["PATCH", "POST", "PUT", "DELETE"])
def test_a_reading_transport_lets_no_other_method_through(server: ApiServer, reach: Reach, method: str) -> None:
    reply = reach().send(method, f"{PODS}/x", b"{}", MERGE)
    assert reply.status == 403
    assert {request.method for request in server.log} <= {"GET"}


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_writing_transport_neither_replaces_nor_deletes(server: ApiServer, reach: Reach, method: str) -> None:
    reply = reach(writes=True).send(method, f"{PODS}/x", b"{}", MERGE)
    assert reply.status == 403
    assert {request.method for request in server.log} <= {"GET"}


def test_a_writing_transport_patches(server: ApiServer, reach: Reach) -> None:
    path = "/api/v1/namespaces/red/pods/a"
    reply = reach(writes=True).send("PATCH", path, b'{"metadata":{"labels":{"x":"y"}}}', MERGE)
    assert reply.status == 200
    assert server.get("pods", "red", "a")["metadata"]["labels"] == {"x": "y"}
    assert server.requests(path, "PATCH")[0].headers["content-type"] == MERGE


def test_the_path_of_the_servers_address_is_kept(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule("/k8s/clusters/c-1/api/v1/pods", raw=b"{}"))
    body = reach(f"--server={server.url}/k8s/clusters/c-1").open(PODS)
    assert (body.status, body.read()) == (200, b"{}")
    body.close()


def test_a_path_that_would_split_the_request_is_refused(server: ApiServer, reach: Reach) -> None:
    with pytest.raises(KoordError, match="invalid request path"):
        reach().open("/api/v1/pods HTTP/1.1\r\nX: y")
    assert not server.requests(PODS)


def test_the_namespace_is_the_flags_then_the_contexts_then_default(
    server: ApiServer, reach: Reach, tmp_path: Path
) -> None:
    without = server.kubeconfig(tmp_path)
    assert reach("-n", "given").namespace() == "given"
    assert reach().namespace() == "red"
    assert reach(f"--kubeconfig={without}").namespace() == "default"


@pytest.mark.usefixtures("server")
def test_the_target_is_named_as_the_kubeconfig_names_it_or_by_the_flag_that_beats_it(reach: Reach) -> None:
    assert reach().target() == Target("test", "test")
    assert reach("--context=test", "--cluster=test").target() == Target("test", "test")
    assert reach("--server=http://x").target() == Target("http://x", "test")


def test_closing_twice_and_closing_unused_is_fine(server: ApiServer) -> None:
    transport = connect(Connection(), writes=False)
    transport.close()
    transport.close()
    assert not server.requests(PODS)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "exec: executable {0} failed with exit code 3"),
        (
            'echo \'{{"kind":"ExecCredential","apiVersion":"{1}","status":{{}}}}\'',
            "exec plugin didn't return a token or cert/key pair",
        ),
        ('echo \'{{"kind":"ExecCredential","apiVersion":"{1}"}}\'', "exec plugin didn't return a status field"),
        ("echo garbage", "decoding stdout: couldn't get version/kind"),
    ],
)
def test_a_plugin_that_gives_no_credential_ends_it_before_anything_is_sent(
    secure: ApiServer, reach: Reach, tmp_path: Path, script: str, message: str
) -> None:
    version = "client.authentication.k8s.io/v1"
    plugin = write_plugin(tmp_path, script.format("", version))
    user = {"exec": {"apiVersion": version, "command": str(plugin), "interactiveMode": "Never"}}
    with pytest.raises(KoordError) as caught:
        reach(f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}").open(PODS)
    expected = message.format(plugin, version)
    assert caught.value.message.startswith(f"Unable to connect to the server: getting credentials: {expected}")
    assert not secure.requests(PODS)


def test_the_token_of_a_plugin_is_used_and_its_prompt_reaches_the_user(
    secure: ApiServer, reach: Reach, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    version = "client.authentication.k8s.io/v1"
    answer = f'{{"kind":"ExecCredential","apiVersion":"{version}","status":{{"token":"secret"}}}}'
    plugin = write_plugin(tmp_path, f"echo 'go to http://login and enter 42' >&2\necho '{answer}'")
    user = {"exec": {"apiVersion": version, "command": f"./{plugin.name}", "interactiveMode": "IfAvailable"}}
    with reach(f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}") as transport:
        body = transport.open(PODS)
        assert body.status == 200
        body.close()
    assert "go to http://login and enter 42\n" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("told", "shown"),
    [({}, ""), ({"installHint": "Install it:\n  get it\nand log in"}, " (Install it: get it and log in)")],
    ids=["without a hint", "with a hint"],
)
def test_a_plugin_that_is_not_installed_is_one_line_with_how_to_install_it(
    secure: ApiServer, reach: Reach, tmp_path: Path, told: dict[str, str], shown: str
) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "interactiveMode": "Never"}
    user = {"exec": plugin | told}
    with pytest.raises(KoordError) as caught:
        reach(f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}").open(PODS)
    assert caught.value.message == (
        f"Unable to connect to the server: getting credentials: exec: executable no-such-plugin not found{shown}"
    )


def test_a_client_certificate_that_is_missing_is_told(secure: ApiServer, reach: Reach, tmp_path: Path) -> None:
    user = {"client-certificate": "/no/such.pem", "client-key": "/no/such.key"}
    with pytest.raises(KoordError, match=r"^(?:Error|error).*: unable to read client-cert.* /no/such\.pem"):
        reach(f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}").open(PODS)


def test_a_client_certificate_in_the_kubeconfig_is_taken(tmp_path: Path, reach: Reach, tls: Tls) -> None:
    import base64  # noqa: PLC0415

    user = {
        "client-certificate-data": base64.b64encode(tls.certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(tls.key.read_bytes()).decode(),
    }
    with ApiServer({"items": [pod("a")]}, tls=tls) as api:
        body = reach(f"--kubeconfig={api.kubeconfig(tmp_path, user=user)}").open(PODS)
        assert body.status == 200
        body.close()


def write_plugin(folder: Path, script: str) -> Path:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("server", "near"),
    [
        ("https://127.0.0.1:6443", True),
        ("https://localhost/path", True),
        ("https://[::1]:6443", True),
        ("https://[fd00::1]:6443", False),
        ("https://127.example.com", False),
        ("https://10.0.0.1:6443", False),
        ("https://localhost.example.com", False),
        ("", False),
    ],
)
def test_a_server_on_this_machine_is_known_by_its_address(server: str, *, near: bool) -> None:
    assert is_loopback(server) is near
