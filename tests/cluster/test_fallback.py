import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kubectl_koord.cluster.api.connection import Connection, take_connection
from kubectl_koord.cluster.api.direct import kubeconfig
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Tls
from tests.cluster.conftest import Reach, pod

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
        {"username": "u", "password": "p"},
    ],
)
def test_a_user_that_cannot_be_honoured_is_refused_by_name(
    secure: ApiServer, reach: Reach, tmp_path: Path, user: dict[str, object]
) -> None:
    message = refusal(reach, f"--kubeconfig={secure.kubeconfig(tmp_path, user=user)}")
    assert message.startswith("error: the field '")
    assert not secure.log


def test_several_kubeconfig_files_are_refused(
    server: ApiServer, reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = os.environ["KUBECONFIG"]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([first, str(server.kubeconfig(tmp_path))]))
    assert "KUBECONFIG with several files" in refusal(reach)
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["", first, first]))
    reach().open(PODS).close()


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
    for module in ("direct.kubeconfig", "context"):
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
        assert kubeconfig.namespace(Connection()) == "stated"


def test_without_any_configuration_one_line_says_so(reach: Reach) -> None:
    assert refusal(reach) == "error: no configuration has been provided: no kubeconfig, no pod, no --server"
    assert kubeconfig.namespace(Connection()) == "default"


@pytest.mark.parametrize("text", ["- a\n", "a: [\n", "\t\n: x\n", "!!python/object:os.system {}\n"])
def test_a_broken_kubeconfig_is_one_line(tmp_path: Path, reach: Reach, text: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    assert refusal(reach, f"--kubeconfig={path}").startswith("error: error loading config file")


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
    access = kubeconfig.load(connection)
    assert access.cluster["server"] == "https://h"
    assert access.cluster["certificate-authority"] == "/ca"
    assert access.user == {"token": "t"}
    assert not server.log
