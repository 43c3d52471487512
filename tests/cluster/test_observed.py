"""What is told of requests: each of them with `-v 6`, warnings of the server always, credentials never."""

import re
from contextlib import closing

import pytest

from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.cluster.api.observed import ObservedTransport
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import Reach

PODS = "/api/v1/namespaces/red/pods"


def told(reach: Reach, *flags: str, times: int = 1) -> list[str]:
    lines: list[str] = []
    verbosity = take_connection(flags)[0].verbosity
    with ObservedTransport(reach(*flags), lines.append, verbosity) as transport:
        for _ in range(times):
            with closing(transport.open(PODS)) as answer:
                answer.read()
    return lines


@pytest.mark.usefixtures("way", "server")
@pytest.mark.parametrize("flags", [("-v", "6"), ("-v=8",), ("--v=9", "-n", "red")], ids=" ".join)
def test_a_request_is_told_with_method_url_status_and_time(reach: Reach, flags: tuple[str, ...]) -> None:
    (line,) = told(reach, *flags)
    assert re.fullmatch(rf"GET http://127\.0\.0\.1:\d+{PODS} 200 OK in \d+ milliseconds", line)


@pytest.mark.usefixtures("way", "server")
@pytest.mark.parametrize("flags", [(), ("-v", "5")])
def test_without_verbosity_nothing_is_told(reach: Reach, flags: tuple[str, ...]) -> None:
    assert told(reach, *flags) == []


@pytest.mark.usefixtures("way", "secure")
def test_a_token_is_never_told(reach: Reach) -> None:
    assert "secret" not in "".join(told(reach, "-v", "10"))


@pytest.mark.usefixtures("way")
def test_a_servers_warning_is_told_once(reach: Reach, server: ApiServer) -> None:
    header = '299 - "v1 is \\"old\\"", 299 - "and so are you"'
    server.rules.append(Rule(PODS, headers={"Warning": header}, raw=b"{}"))
    assert told(reach, times=2) == ['Warning: v1 is "old"', "Warning: and so are you"]


@pytest.mark.usefixtures("way")
def test_a_write_is_told_as_well(reach: Reach, server: ApiServer) -> None:
    lines: list[str] = []
    path = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/red/podgroups/x"
    server.rules.append(Rule(path, status=599, raw=b"{}", headers={"Warning": '299 - "careful"'}))
    with ObservedTransport(reach(writes=True), lines.append, 6) as transport:
        assert transport.send("PATCH", path, b"{}", "application/merge-patch+json").status == 599
    assert re.fullmatch(rf"PATCH http://\S+{path} 599 in \d+ milliseconds", lines[0])
    assert lines[1:] == ["Warning: careful"]


def test_a_verbosity_that_is_no_number_is_refused_as_kubectl_does() -> None:
    with pytest.raises(KoordError, match=re.escape('invalid argument "x" for "-v, --v" flag: strconv.ParseInt')):
        take_connection(["-v", "x"])
