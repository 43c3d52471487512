import re
import subprocess
from collections.abc import Callable

import pytest

from kubectl_koord.cluster.api.connection import (
    FLAGS_WITH_VALUE,
    FLAGS_WITHOUT_VALUE,
    Connection,
    request_timeout,
    take_connection,
)
from kubectl_koord.errors import KoordError

PARSE_BOOL = 'strconv.ParseBool: parsing "maybe": invalid syntax'


@pytest.mark.parametrize(
    ("argv", "flags", "rest"),
    [
        ([], (), []),
        (["why", "g", "--context", "x"], ("--context=x",), ["why", "g"]),
        (["--context=x", "why", "g"], ("--context=x",), ["why", "g"]),
        (["why", "-n", "ns", "g"], ("--namespace=ns",), ["why", "g"]),
        (["why", "-nns", "g"], ("--namespace=ns",), ["why", "g"]),
        (["why", "-n=ns", "g"], ("--namespace=ns",), ["why", "g"]),
        (["-s", "h:1", "why"], ("--server=h:1",), ["why"]),
        (["--as-group=a", "why", "--as-group", "b"], ("--as-group=a", "--as-group=b"), ["why"]),
        (["why", "--insecure-skip-tls-verify", "g"], ("--insecure-skip-tls-verify=true",), ["why", "g"]),
        (["--insecure-skip-tls-verify=F"], ("--insecure-skip-tls-verify=false",), []),
        (["--token", "--x"], ("--token=--x",), []),
        (["--context", "", "why"], ("--context=",), ["why"]),
        (["why", "--", "-n", "x", "--context"], (), ["why", "--", "-n", "x", "--context"]),
        (["why", "-o", "json", "-A", "--contexts", "-"], (), ["why", "-o", "json", "-A", "--contexts", "-"]),
    ],
)
def test_connection_flags_are_taken_wherever_they_stand(
    argv: list[str], flags: tuple[str, ...], rest: list[str]
) -> None:
    connection, left = take_connection(argv)
    assert (connection.flags, left) == (flags, rest)


@pytest.mark.parametrize("name", sorted(FLAGS_WITH_VALUE - {"request-format", "request-timeout", "v"}))
def test_every_flag_with_a_value_is_taken_in_both_forms(name: str) -> None:
    assert take_connection([f"--{name}", "v"]) == take_connection([f"--{name}=v"])
    assert take_connection([f"--{name}=v"])[0].value(name) == "v"


@pytest.mark.parametrize("name", sorted(FLAGS_WITHOUT_VALUE))
def test_a_switch_leaves_the_next_word_alone(name: str) -> None:
    connection, rest = take_connection([f"--{name}", "why"])
    assert (connection.flags, rest) == ((f"--{name}=true",), ["why"])


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--context", "error: flag needs an argument: --context"),
        ("-n", "error: flag needs an argument: 'n' in -n"),
        (
            "--insecure-skip-tls-verify=maybe",
            f'error: invalid argument "maybe" for "--insecure-skip-tls-verify" flag: {PARSE_BOOL}',
        ),
    ],
)
def test_a_flag_that_kubectl_would_refuse_is_refused_in_its_words(word: str, message: str) -> None:
    with pytest.raises(KoordError) as caught:
        take_connection(["why", word])
    assert caught.value.message == message


def test_the_last_namespace_wins() -> None:
    assert take_connection(["-n", "a", "--namespace=b"])[0].namespace == "b"
    assert Connection().namespace == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("0", None),
        ("0s", None),
        ("30", 30),
        ("1s", 1),
        ("2m", 120),
        ("3h", 10800),
        ("1m30s", 90),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("100ms", 0.1),
        ("1h2m3s4ms", 3723.004),
        ("-1s", None),
        ("+2s", 2),
    ],
)
def test_a_timeout_is_read_as_kubectl_reads_it(text: str, seconds: float | None) -> None:
    assert request_timeout(text) == seconds


@pytest.mark.parametrize("text", ["abc", "1.5", "-1", "1x", "s", "1s ", " 1", "1 s", "1e3s", "١s"])  # noqa: RUF001
def test_a_text_that_is_no_timeout_is_refused_in_kubectls_words(text: str) -> None:
    with pytest.raises(KoordError) as caught:
        take_connection([f"--request-timeout={text}"])
    assert caught.value.message.startswith("error: Invalid timeout value. Timeout must be a single integer in seconds")


def test_all_connection_flags_of_the_installed_kubectl_are_known(kubectl: str) -> None:
    listed = subprocess.run([kubectl, "options"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^ +(?:-\w, )?--([\w-]+)=", listed, re.MULTILINE))
    not_connection = {"v", "vmodule", "log-flush-frequency", "profile", "profile-output", "warnings-as-errors"}
    assert names - not_connection <= FLAGS_WITH_VALUE | FLAGS_WITHOUT_VALUE


@pytest.mark.usefixtures("server")
def test_invalid_timeouts_are_told_in_kubectls_own_words(own_words: Callable[..., str]) -> None:
    with pytest.raises(KoordError) as caught:
        take_connection(["--request-timeout=abc"])
    assert caught.value.message == own_words("get", "pods", "--request-timeout=abc")


@pytest.mark.parametrize(
    ("words", "takes"), [([], True), (["--request-format=json"], False), (["--request-format", "protobuf"], True)]
)
def test_pods_come_as_protobuf_unless_json_is_wanted(words: list[str], *, takes: bool) -> None:
    connection, rest = take_connection(words)
    assert (connection.takes_protobuf, connection.flags, rest) == (takes, (), [])


def test_another_format_is_an_error() -> None:
    with pytest.raises(KoordError) as raised:
        take_connection(["--request-format=yaml"])
    assert raised.value.message == "error: --request-format must be one of protobuf, json, not 'yaml'"
