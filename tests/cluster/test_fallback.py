import base64
import json
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_koord.cluster.api import direct
from kubectl_koord.cluster.api.connection import Connection, take_connection
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Tls
from tests.cluster.conftest import Reach, pod
from tests.cluster.seen import raw

PODS = "/api/v1/pods"
V1 = "client.authentication.k8s.io/v1"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("no_kubectl")


def refusal(reach: Reach, *flags: str) -> str:
    with pytest.raises(KoordError) as caught:
        reach(*flags).open(PODS)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("--as=admin", "as"),
        ("--as-group=g", "as-group"),
        ("--as-uid=1", "as-uid"),
        ("--as-user-extra=a=b", "as-user-extra"),
        ("--username=u", "username"),
        ("--password=p", "password"),
        ("--match-server-version", "match-server-version"),
        ("--kuberc=f", "kuberc"),
    ],
)
def test_a_flag_that_cannot_be_honoured_is_refused_by_name(
    server: ApiServer, reach: Reach, flag: str, name: str
) -> None:
    assert refusal(reach, flag) == f"error: the flag --{name} cannot be honoured without kubectl: put kubectl on PATH"
    assert not server.log


@pytest.mark.parametrize(
    "user",
    [
        {"as": "admin", "token": "t"},
        {"as-groups": ["g"], "token": "t"},
        {"as-uid": "1", "token": "t"},
        {"as-user-extra": {"a": ["b"]}, "token": "t"},
        {"auth-provider": {"name": "oidc"}},
    ],
)
def test_a_user_that_cannot_be_honoured_is_refused_by_name(
    secure: ApiServer, reach: Reach, tmp_path: Path, user: dict[str, object]
) -> None:
    message = refusal(reach, f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}")
    assert message.startswith("error: the field '")
    assert not secure.log


def test_a_policy_on_plugins_is_not_bypassed(
    secure: ApiServer, reach: Reach, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".kube").mkdir()
    (home / ".kube" / "kuberc").write_text("credentialPluginPolicy: DenyAll\n")
    ran = tmp_path / "ran"
    user = {"exec": {"apiVersion": V1, "command": "/usr/bin/touch", "args": [str(ran)], "interactiveMode": "Never"}}
    flag = f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}"
    assert "the credential plugin policy of kuberc" in refusal(reach, flag)
    assert not ran.exists()
    monkeypatch.setenv("KUBERC", "off")
    refusal(reach, flag)
    assert ran.exists()


def test_a_plugin_is_told_what_it_may_know(secure: ApiServer, reach: Reach, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    answer = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": {"token": "secret"}})
    out = tmp_path / "seen"
    plugin.write_text(
        f'#!/bin/sh\nprintf \'%s|%s|\' "$X" "$1" >{out}\nprintf %s "$KUBERNETES_EXEC_INFO" >>{out}\necho \'{answer}\'\n'
    )
    plugin.chmod(0o755)
    entry = {"apiVersion": V1, "command": str(plugin), "args": ["one"], "env": [{"name": "X", "value": "y"}]}
    user = {"exec": entry | {"interactiveMode": "Never", "provideClusterInfo": True}}
    reach(f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}").open(PODS).close()
    variable, argument, info = out.read_text().split("|", 2)
    spec = json.loads(info)["spec"]
    assert (variable, argument, spec["interactive"], spec["cluster"]["server"]) == ("y", "one", False, secure.url)
    assert spec["cluster"]["certificate-authority-data"]


def test_a_plugin_that_must_ask_is_refused_without_a_terminal(
    secure: ApiServer, reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = {"exec": {"apiVersion": V1, "command": "/bin/true", "interactiveMode": "Always"}}
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        message = refusal(reach, f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}")
    assert message.endswith("exec plugin cannot support interactive mode: standard input is not a terminal")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1beta1", "status": {"token": "t"}}, "plugin returned version"),
        ({"apiVersion": V1, "status": {"clientCertificateData": "x"}}, "only certificate or key, not both"),
        ([1], "decoding stdout: couldn't get version/kind"),
    ],
)
def test_a_plugin_with_half_an_answer_ends_it(
    secure: ApiServer, reach: Reach, tmp_path: Path, answer: object, message: str
) -> None:
    user = {"exec": {"apiVersion": V1, "command": "echo", "args": [json.dumps(answer)], "interactiveMode": "Never"}}
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "echo").symlink_to("/bin/echo")
    assert message in refusal(reach, f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}")
    assert not secure.log


def test_a_pod_uses_its_service_account(
    tmp_path: Path, tls: Tls, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("secret\n")
    (account / "namespace").write_text("mine")
    (account / "ca.crt").write_bytes(tls.certificate.read_bytes())
    for module in ("direct", "connection"):
        monkeypatch.setattr(f"kubectl_koord.cluster.api.{module}.SERVICE_ACCOUNT", str(account))
    with ApiServer({"items": [pod("a")]}, token="secret", tls=tls) as api:  # noqa: S106
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
        transport = reach()
        body = transport.open(PODS)
        assert (body.status, transport.namespace()) == (200, "mine")
        body.close()
        # A kubeconfig beats the pod, as in kubectl.
        with ApiServer() as other:
            flag = f"--kubeconfig={other.kubeconfig(tmp_path, namespace='theirs')}"
            beaten = reach(flag)
            beaten.open(PODS).close()
            assert (len(other.requests(PODS)), beaten.namespace()) == (1, "theirs")
        monkeypatch.setenv("POD_NAMESPACE", "stated")
        assert direct.kubeconfig_namespace(Connection()) == "stated"


def test_the_file_of_a_token_is_read_again(
    secure: ApiServer, reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod's token is another one after an hour; where the file is gone, the last one is used."""
    file = tmp_path / "token"
    file.write_text("old")
    transport = reach(f"--kubeconfig={secure.kubeconfig(tmp_path, user={'tokenFile': str(file)})}")
    file.write_text("secret\n")
    seen = []
    for every in (1000.0, 0.0, 0.0):
        monkeypatch.setattr(direct, "EVERY", every)
        with closing(transport.open(PODS)) as body:
            seen.append(body.status)
        if seen[-1] == 200:
            file.unlink(missing_ok=True)
    assert seen == [401, 200, 200]


def test_without_any_configuration_one_line_says_so(reach: Reach) -> None:
    assert refusal(reach) == "error: no configuration has been provided: no kubeconfig, no pod, no --server"
    assert direct.kubeconfig_namespace(Connection()) == "default"


@pytest.mark.parametrize(
    "text",
    ["- a\n", "a: [\n", "\t\n: x\n", "!!python/object:os.system {}\n", "a: !!bool x\n", "a: &a [*a]\n", "[" * 9999],
)
def test_a_broken_kubeconfig_is_one_line(tmp_path: Path, reach: Reach, text: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    assert refusal(reach, f"--kubeconfig={path}").startswith("error: error loading config file")


def test_without_a_home_there_is_no_kubeconfig_of_ones_own(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pods run as a user without an entry anywhere."""
    monkeypatch.delenv("HOME")
    assert refusal(reach) == "error: no configuration has been provided: no kubeconfig, no pod, no --server"


def test_a_server_flag_alone_is_enough(reach: Reach) -> None:
    with ApiServer() as api:
        body = reach(f"--server=127.0.0.1:{api.port}").open(PODS)
        assert body.status == 200
        body.close()


def test_names_in_the_kubeconfig_are_relative_to_it(tmp_path: Path, tls: Tls, reach: Reach) -> None:
    for source, name in ((tls.certificate, "ca.pem"), (tls.certificate, "me.pem"), (tls.key, "me.key")):
        (tmp_path / name).write_bytes(source.read_bytes())
    (tmp_path / "token").write_text("secret\n")
    user = {"tokenFile": "token", "client-certificate": "me.pem", "client-key": "me.key"}
    with ApiServer(token="secret", tls=tls) as api:  # noqa: S106
        path = api.kubeconfig(tmp_path, user=user, cluster={"certificate-authority": "ca.pem"})
        body = reach(f"--kubeconfig={path}").open(PODS)
        assert body.status == 200
        body.close()


@pytest.mark.usefixtures("secure")
def test_a_ca_beside_the_insecure_flag_is_refused(reach: Reach) -> None:
    assert refusal(reach, "--insecure-skip-tls-verify") == (
        "error: specifying a root certificates file with the insecure flag is not allowed"
    )


def test_keys_leave_no_file_behind(tmp_path: Path, tls: Tls, reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    user = {
        "client-certificate-data": base64.b64encode(tls.certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(tls.key.read_bytes()).decode(),
    }
    with ApiServer(tls=tls) as api:
        reach(f"--kubeconfig={api.kubeconfig(tmp_path, user=user)}").open(PODS).close()
        assert not list(folder.iterdir())
        broken = user | {"client-key-data": base64.b64encode(b"no key").decode()}
        assert "unable to use the certificates" in refusal(
            reach, f"--kubeconfig={api.kubeconfig(tmp_path, user=broken)}"
        )
    assert not list(folder.iterdir())


def test_what_is_slow_to_import_is_not_imported_where_kubectl_is_found() -> None:
    heavy = ["kubernetes", "urllib3", "ssl", "yaml", "subprocess", "http.client", "tempfile"]
    code = f"import sys; import kubectl_koord.cluster.api.connect; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_flags_overrule_the_kubeconfig(server: ApiServer) -> None:
    connection, _ = take_connection(["--server=https://h", "--token=t", "--certificate-authority=/ca", "--user=test"])
    access = direct.load(connection)
    assert (access.cluster.server, access.cluster.certificate_authority) == ("https://h", "/ca")
    assert access.user == direct.User(token="t")  # noqa: S106
    assert not server.log


SECRET = "S3CRET"  # noqa: S105
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8).filter(lambda value: SECRET not in value),
    st.sampled_from(
        ["", "\0", "https://[", "http://a:b", "https://u:S3CRET@h:99999", "/", "S3CRET\n", "é", "a/\0b", "0x", "=="]
    ),
)
_ODD = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
_ODD_PATHS = st.lists(
    st.sampled_from(
        [
            *(("clusters", 0, "cluster", name) for name in ("server", "tls-server-name", "proxy-url", "extensions")),
            *(("clusters", 0, "cluster", f"certificate-authority{end}") for end in ("", "-data")),
            ("clusters", 0, "cluster", "insecure-skip-tls-verify"),
            *(("users", 0, "user", name) for name in ("token", "tokenFile", "username", "password", "exec", "as")),
            *(("users", 0, "user", f"client-{name}{end}") for name in ("key", "certificate") for end in ("", "-data")),
            *(("users", 0, "user", "exec", name) for name in ("command", "args", "env", "apiVersion", "installHint")),
            *(("contexts", 0, "context", name) for name in ("cluster", "user", "namespace")),
            *((section, 0, "name") for section in ("clusters", "users", "contexts")),
            *((section, 0) for section in ("clusters", "users", "contexts")),
            *((section,) for section in ("clusters", "users", "contexts", "current-context", "apiVersion", "kind")),
            (),
        ]
    ),
    min_size=1,
    max_size=3,
)


_OF_FILES = {"client-key", "client-certificate", "certificate-authority", "tokenFile"}
"""Fields with names of files, which are shown."""


def _with(whole: Any, path: tuple[str | int, ...], value: object) -> Any:  # noqa: ANN401
    """Return a value with another one at a place, where there is such a place."""
    if not path:
        return value
    at: Any = path[0]
    if not isinstance(whole, dict | list) or (isinstance(whole, list) and at not in range(len(whole))):
        return whole
    changed: Any = whole.copy()
    changed[at] = _with(changed[at] if isinstance(changed, list) else changed.get(at, {}), path[1:], value)
    return changed


@given(paths=_ODD_PATHS, data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_odd_kubeconfig_is_one_line_that_names_the_file_or_the_field(
    paths: list[tuple[str | int, ...]], data: st.DataObject, tmp_path: Path
) -> None:
    """Whatever stands where: never a fault of ours, and no secret."""
    plugin = {"apiVersion": V1, "command": str(tmp_path / "nowhere"), "interactiveMode": "Never"}
    config: Any = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": data.draw(st.sampled_from([{"token": SECRET}, {"exec": plugin}]))}],
    }
    for path in paths:
        config = _with(config, path, data.draw(_ODD))
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    connection, _ = take_connection([f"--kubeconfig={file}"])
    for ask in (
        direct.kubeconfig_namespace,
        direct.kubeconfig_target,
        lambda given: direct.start(given, writes=False).open(PODS),
    ):
        try:
            ask(connection)
        except KoordError as error:
            assert len(error.message.splitlines()) == 1  # noqa: PT017 - that there is none is as good
            shown = any(path and path[-1] in _OF_FILES for path in paths)
            assert shown or SECRET not in error.message  # noqa: PT017


@pytest.mark.parametrize(
    ("section", "entry", "said"),
    [
        ("users", {"name": "u", "user": {"token": 1}}, "users[0].user.token: expected `str`, got `int`"),
        (
            "users",
            {"name": "u", "user": {"exec": {"args": "a"}}},
            "users[0].user.exec.args: expected `array`, got `str`",
        ),
        ("clusters", [1], "clusters[0]: expected `object`, got `array`"),
        (
            "clusters",
            {"name": "c", "cluster": {"insecure-skip-tls-verify": "yes"}},
            "clusters[0].cluster.insecure-skip-tls-verify: expected `bool`, got `str`",
        ),
    ],
)
def test_a_field_of_another_type_is_named_with_its_file(
    reach: Reach, tmp_path: Path, section: str, entry: object, said: str
) -> None:
    file = tmp_path / "config"
    file.write_text(json.dumps({section: [entry]}))
    assert refusal(reach, f"--kubeconfig={file}") == f'error: error loading config file "{file}": {said}'


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"server": "https://[::1"}, "server of the kubeconfig must be a URL or a host:port pair"),
        ({"server": "ftp://h"}, "server of the kubeconfig has an unsupported protocol scheme: http or https is needed"),
        (
            {"proxy-url": "gopher://u:pw@h"},
            "proxy-url of the kubeconfig has an unsupported scheme: it must be http, https, or socks5",
        ),
        ({"certificate-authority-data": "?"}, "certificate-authority-data of the kubeconfig is no base64"),
        (
            {"certificate-authority": "a\0b", "certificate-authority-data": ""},
            "certificate-authority of the kubeconfig is no path",
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_named_by_its_field(
    secure: ApiServer, reach: Reach, tmp_path: Path, cluster: dict[str, object], said: str
) -> None:
    file = secure.kubeconfig(tmp_path, cluster=cluster)
    assert refusal(reach, f"--kubeconfig={file}") == f"error: invalid configuration: {said}"


@pytest.mark.parametrize(
    ("user", "context", "said"),
    [
        ({"client-key": "a\rb"}, {}, 'error: unable to read client-key "/'),
        ({"token": "t"}, {"cluster": "a\u2028b"}, 'error: cluster "a\\u2028b" does not exist'),
        ({"token": "t"}, {"user": "a\nb"}, 'error: auth info "a\\nb" does not exist'),
    ],
)
def test_a_name_of_several_lines_is_told_on_one(
    reach: Reach, tmp_path: Path, user: dict[str, str], context: dict[str, str], said: str
) -> None:
    file = tmp_path / "config"
    config = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
    }
    file.write_text(json.dumps(config))
    message = refusal(reach, f"--kubeconfig={file}")
    assert message.startswith(said)
    assert len(message.splitlines()) == 1


def test_a_kubeconfig_without_an_end_is_refused(reach: Reach) -> None:
    assert refusal(reach, "--kubeconfig=/dev/zero").endswith('"/dev/zero": it is larger than 8 MiB')


def test_what_aliases_stand_for_is_counted(reach: Reach, tmp_path: Path) -> None:
    """A few lines may unfold to gigabytes."""
    file = tmp_path / "config"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 8)}]" for at in range(1, 12)]
    file.write_text("\n".join(lines))
    assert refusal(reach, f"--kubeconfig={file}").endswith("it has more than 200,000 values")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nxxxxxxxx", "unexpected EOF"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50, "net/http: too many 1xx informational responses"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 50, "net/http: too many 1xx informational responses"),
        (b"HTTP/1.1 102 Processing\r\n" + b"x: y\r\n" * 300, "net/http: server response headers exceeded what is read"),
        (b"HTTP/1.1 OK\r\n\r\n", "net/http: malformed HTTP request or response"),
    ],
)
def test_http_that_is_none_is_one_line(reach: Reach, answer: bytes, said: str) -> None:
    with raw(answer) as port, pytest.raises(KoordError) as caught:
        reach(f"--server=http://127.0.0.1:{port}").open(PODS).read()
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith("Unable to connect to the server: ")
    assert said in caught.value.message


@pytest.mark.parametrize("cut", [b"HTTP/1.1 200 OK\r\nContent-Type: app", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"])
def test_a_head_that_is_cut_off_is_no_answer(reach: Reach, cut: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with raw(cut) as port, pytest.raises(KoordError, match=r"^Unable to connect to the server: unexpected EOF$"):
        reach(f"--server=http://127.0.0.1:{port}").open(PODS)
    assert capfd.readouterr() == ("", "")


def test_interim_answers_are_skipped(reach: Reach) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    with raw(interim + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as port:
        body = reach(f"--server=http://127.0.0.1:{port}").open(PODS)
        assert (body.status, body.read()) == (200, b"{}")
