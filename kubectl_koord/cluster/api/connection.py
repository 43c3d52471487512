"""kubectl's connection flags as the user wrote them, and the context that they choose."""

import os
import re
import select
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubectl_koord import leaving
from kubectl_koord.errors import KoordError

FLAGS: Mapping[str, tuple[str, str]] = {
    "as": ("USER", "Username to impersonate."),
    "as-group": ("GROUP", "Group to impersonate; may be repeated."),
    "as-uid": ("UID", "UID to impersonate."),
    "as-user-extra": ("KEY=VALUE", "User extras to impersonate; may be repeated."),
    "cache-dir": ("DIR", "Cache directory of kubectl."),
    "certificate-authority": ("FILE", "Certificate of the certificate authority."),
    "client-certificate": ("FILE", "Client certificate for TLS."),
    "client-key": ("FILE", "Client key for TLS."),
    "cluster": ("NAME", "The kubeconfig cluster to use."),
    "context": ("NAME", "The kubeconfig context to use."),
    "disable-compression": ("", "Do not ask the server for compressed responses."),
    "insecure-skip-tls-verify": ("", "Do not check the server's certificate."),
    "kubeconfig": ("FILE", "The kubeconfig file to use."),
    "kuberc": ("FILE", "The kuberc file to use for preferences."),
    "match-server-version": ("", "Require the server's version to match kubectl's."),
    "namespace": ("NAME", "The namespace of names without one."),
    "password": ("PASSWORD", "Password for basic authentication."),
    "request-format": ("FORMAT", "How pods and nodes are asked for: protobuf or json (default: protobuf)."),
    "request-timeout": ("DURATION", "Limit of a request, such as 10s (default: 30 s of silence)."),
    "server": ("URL", "Address and port of the API server."),
    "tls-server-name": ("NAME", "Server name to check the server's certificate for."),
    "token": ("TOKEN", "Bearer token for authentication."),
    "user": ("NAME", "The kubeconfig user to use."),
    "username": ("NAME", "Username for basic authentication."),
    "v": ("LEVEL", "From 6 on, show each request on standard error."),
}
"""Each with what stands for its value, nothing for a switch, and what it is for, in the words of `kubectl options`.

`request-format` is ours. The others are those of kubectl 1.27 to 1.33, but for logging and profiling; `as-user-extra`
and `kuberc` came later: an older kubectl refuses them by name, as it should.
"""
FLAGS_WITH_VALUE = frozenset(name for name, (value, _) in FLAGS.items() if value)
FLAGS_WITHOUT_VALUE = FLAGS.keys() - FLAGS_WITH_VALUE
_OURS = frozenset({"request-format", "v"})
_REPEATABLE = frozenset({"as-group", "as-user-extra"})
_SECRET = frozenset({"password", "token", "username"})
_OF_TARGET = FLAGS_WITH_VALUE - {"cache-dir", "namespace", "request-timeout"} - _OURS - _SECRET
SHORT_FLAGS = {"n": "namespace", "s": "server", "v": "v"}
_FORMATS = ("protobuf", "json")

IDLE_LIMIT = 30.0

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_STEP = re.compile(r"(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|μs|ns)", re.ASCII)
_BAD_TIMEOUT = (
    "error: Invalid timeout value. Timeout must be a single integer in seconds, or an integer "
    "followed by a corresponding time unit (e.g. 1s | 2m | 3h)"
)


class Target(NamedTuple):
    """Which cluster is meant, by the names of the kubeconfig; each is empty where there is none."""

    cluster: str = ""
    context: str = ""


class Connection(NamedTuple):
    """How the user wants to reach the cluster.

    `flags` are words for kubectl, each `--name=value` in the order given (the last one wins);
    `namespace` is empty when not given; `request_timeout` is in seconds, None for no limit. `idle_limit` is how
    many seconds a server may send nothing, None for any: it holds where no time limit is given. `verbosity` and
    `takes_protobuf` are for us alone: kubectl's own log is not shown.
    """

    flags: tuple[str, ...] = ()
    namespace: str = ""
    request_timeout: float | None = None
    idle_limit: float | None = IDLE_LIMIT
    verbosity: int = 0
    takes_protobuf: bool = True

    def value(self, name: str) -> str:
        """Return the last value given for a flag such as `context`, empty when not given."""
        prefix = f"--{name}="
        return next((flag[len(prefix) :] for flag in reversed(self.flags) if flag.startswith(prefix)), "")

    def of_target(self) -> tuple[str, ...]:
        """Return the flags that choose the cluster and who asks, the last of each; nothing that is secret."""
        last = {self.name(flag) if self.name(flag) not in _REPEATABLE else flag: flag for flag in self.flags}
        chosen = _OF_TARGET | {"insecure-skip-tls-verify"}
        return tuple(flag for flag in last.values() if self.name(flag) in chosen)

    def secrets(self) -> tuple[str, ...]:
        """Return the names of the flags given that no command may repeat."""
        return tuple(f"--{name}" for name in dict.fromkeys(map(self.name, self.flags)) if name in _SECRET)

    @staticmethod
    def name(flag: str) -> str:
        """Return the name of a flag in `flags`."""
        return flag.removeprefix("--").partition("=")[0]

    def meant(self, found: Target) -> Target:
        """Return the target of the kubeconfig as the flags have it: a server or cluster that is named counts."""
        return found._replace(cluster=self.value("server") or self.value("cluster") or found.cluster)


def take_connection(argv: Sequence[str]) -> tuple[Connection, list[str]]:
    """Return the connection flags of a command line, and the words that are none of them.

    The flags may stand anywhere before a lone `--`, in every form that kubectl knows:
    `--flag value`, `--flag=value`, `-n x`, `-nx` and `-n=x`.

    Raises KoordError when a flag has no value, or one that kubectl would refuse.
    """
    flags: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += ["--", *words]
        elif flag := _flag(word, words):
            flags.append(flag)
        else:
            rest.append(word)
    every = Connection(tuple(flags))
    timeout, form = every.value("request-timeout"), every.value("request-format") or _FORMATS[0]
    if form not in _FORMATS:
        raise KoordError(f"error: --request-format must be one of {', '.join(_FORMATS)}, not {form!r}")
    return Connection(
        tuple(flag for flag in flags if every.name(flag) not in _OURS),
        every.value("namespace"),
        request_timeout(timeout),
        None if timeout else IDLE_LIMIT,
        _verbosity(every.value("v")),
        form != "json",
    ), rest


def _verbosity(text: str) -> int:
    try:
        return int(text or "0")
    except ValueError:
        parse = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise KoordError(f'error: invalid argument "{text}" for "-v, --v" flag: {parse}') from None


def request_timeout(text: str) -> float | None:
    """Return the seconds of a timeout such as `30`, `2m` or `1m30s`; None for `0` and no text.

    Raises KoordError, in kubectl's words, when the text is no duration.
    """
    digits = text.removeprefix("+")
    if digits.isascii() and digits.isdigit():
        return float(digits) or None
    unsigned = text[text[:1] in ("+", "-") :]
    if not text or unsigned == "0":
        return None
    if not re.fullmatch(f"(?:{_STEP.pattern})+", unsigned, re.ASCII):
        raise KoordError(_BAD_TIMEOUT)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _STEP.findall(unsigned))
    return seconds if seconds and not text.startswith("-") else None


def _flag(word: str, words: Iterator[str]) -> str:
    """Return `--name=value` when the word starts a connection flag, else nothing."""
    if word.startswith("--"):
        return _long_flag(word, words)
    name = SHORT_FLAGS.get(word[1:2], "") if word.startswith("-") else ""
    if not name:
        return ""
    value = word[2:].removeprefix("=") if word[2:] else _next(words, f"'{word[1]}' in {word}")
    return f"--{name}={value}"


def _long_flag(word: str, words: Iterator[str]) -> str:
    name, equals, value = word[2:].partition("=")
    if name in FLAGS_WITH_VALUE:
        return f"--{name}={value if equals else _next(words, word)}"
    if name in FLAGS_WITHOUT_VALUE:
        return f"--{name}={str(boolean(value, f'--{name}')).lower() if equals else 'true'}"
    return ""


def _next(words: Iterator[str], flag: str) -> str:
    value = next(words, None)
    if value is None:
        raise KoordError(f"error: flag needs an argument: {flag}")
    return value


def boolean(value: str, flag: str) -> bool:
    """Return the value of a switch as kubectl reads it: `--flag=false`.

    Raises KoordError, in kubectl's words, when it is none.
    """
    if value in _TRUE | _FALSE:
        return value in _TRUE
    parse = f'strconv.ParseBool: parsing "{value}": invalid syntax'
    raise KoordError(f'error: invalid argument "{value}" for "{flag}" flag: {parse}')


SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
DEFAULT = "default"

_SECONDS = 30.0
_SHORTEST = 5.0  # the limit is for the server; kubectl itself may start slowly on a busy machine
_NAMES = '{.contexts[0].context.cluster}{"\\n"}{.contexts[0].name}'
_WANTED = f'{{.clusters[0].cluster.server}}{{"\\n"}}{{.contexts[0].context.namespace}}{{"\\n"}}{_NAMES}'


class NamespaceLookup:
    """The namespace of the current context, from a `kubectl config view` that runs. Threads may share it."""

    def __init__(self, kubectl: str, connection: Connection) -> None:
        self._lock = threading.Lock()
        self._answer = connection.namespace
        self._server = ""
        self._connection = connection
        self._target = Target()
        self._view: _ConfigView | None = _ConfigView(kubectl, connection, _WANTED)

    def namespace(self) -> str:
        """Return the flag's namespace, else the context's, else the pod's, else `default`.

        Raises KoordError when kubectl does not answer.
        """
        with self._lock:
            if not self._answer:
                self._await()
            return self._answer

    def target(self) -> Target:
        """Return which cluster is meant: by the server or cluster of a flag, else as the context has it.

        Raises KoordError when kubectl does not answer.
        """
        with self._lock:
            self._await()
            return self._connection.meant(self._target)

    def server(self) -> str:
        """Return the address of the context's server, empty where it is not known.

        Raises KoordError when kubectl does not answer.
        """
        with self._lock:
            self._await()
            return self._server

    def close(self) -> None:
        """End kubectl, if its answer was not wanted."""
        with self._lock:
            if self._view is not None:
                self._view.close()

    def _await(self) -> None:
        if self._view is not None:
            self._server, namespace, cluster, name, *_ = [*self._view.answer().splitlines(), "", "", "", ""]
            self._target = Target(cluster.strip(), name.strip())
            self._answer = self._answer or namespace.strip() or in_pod() or DEFAULT
            self._view.close()
            self._view = None


class _ConfigView:
    """One `kubectl config view`, which ends with us."""

    def __init__(self, kubectl: str, connection: Connection, wanted: str) -> None:
        self._limit = time.monotonic() + max(connection.request_timeout or _SECONDS, _SHORTEST)
        with leaving.SignalsBlocked():
            self._pid, self._output = _start(kubectl, connection, wanted)
            leaving.first(self._kill)

    def answer(self) -> str:
        """Return all output of kubectl, once it has ended. Raises KoordError when it does not end in time."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        output = b""
        while True:
            if not poll.poll(max(0.0, self._limit - time.monotonic()) * 1000):
                raise KoordError("error: kubectl config view did not answer in time")
            piece = os.read(self._output, 4096)
            if not piece:
                return output.decode("utf-8", "replace")
            output += piece

    def close(self) -> None:
        """End kubectl, if it has not ended yet."""
        if self._pid:
            self._kill()
            os.close(self._output)
            leaving.no_more(self._kill)
            os.waitpid(self._pid, 0)
            self._pid = 0

    def _kill(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)


def _start(kubectl: str, connection: Connection, wanted: str) -> tuple[int, int]:
    """Return the process and the pipe of what it prints."""
    output, child_output = os.pipe()
    argv = [kubectl, "config", "view", "--minify", f"-o=jsonpath={wanted}", *connection.flags]
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, child_output, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        # A group of its own: the terminal's Ctrl-C is for us alone.
        pid = os.posix_spawn(kubectl, argv, os.environ, file_actions=actions, setpgroup=0, setsigmask=())
    except OSError as error:
        os.close(output)
        raise KoordError(f"error: unable to run {kubectl}: {error.strerror}") from None
    finally:
        os.close(child_output)
    return pid, output


def in_pod() -> str:
    """Return the namespace of the pod in which we run, as kubectl sees it; empty elsewhere."""
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return ""
    if given := os.environ.get("POD_NAMESPACE"):
        return given
    try:
        with open(f"{SERVICE_ACCOUNT}/namespace", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""
