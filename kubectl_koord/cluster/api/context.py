"""What the current context says, from a kubectl that runs beside the rest."""

import os
import select
import signal
import threading
import time

from kubectl_koord import leaving
from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.errors import KoordError

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
DEFAULT = "default"

_SECONDS = 30.0
_SHORTEST = 5.0  # the limit is for the server; kubectl itself may start slowly on a busy machine
_NAMES = '{.contexts[0].context.cluster}{"\\n"}{.contexts[0].name}'
_WANTED = f'{{.clusters[0].cluster.server}}{{"\\n"}}{{.contexts[0].context.namespace}}{{"\\n"}}{_NAMES}'


class NamespaceLookup:
    """A `kubectl config view` under way: what the current context says. Threads may share it."""

    def __init__(self, kubectl: str, connection: Connection) -> None:
        """Start kubectl."""
        self._lock = threading.Lock()
        self._answer = connection.namespace
        self._server = ""
        self._connection = connection
        self._target = Target()
        self._view: _ConfigView | None = _ConfigView(kubectl, connection, _WANTED)

    def namespace(self) -> str:
        """Return the flag's namespace, else the context's, else the pod's, else `default`.

        Raises:
            KoordError: when kubectl does not answer.

        """
        with self._lock:
            if not self._answer:
                self._await()
            return self._answer

    def target(self) -> Target:
        """Return which cluster is meant: by the server or cluster of a flag, else as the context has it.

        Raises:
            KoordError: when kubectl does not answer.

        """
        with self._lock:
            self._await()
            return self._connection.meant(self._target)

    def server(self) -> str:
        """Return the address of the context's server, empty where it is not known.

        Raises:
            KoordError: when kubectl does not answer.

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
        """Start kubectl; its errors are dropped: the proxy reports real faults."""
        self._limit = time.monotonic() + max(connection.request_timeout or _SECONDS, _SHORTEST)
        with leaving.SignalsBlocked():
            self._pid, self._output = _start(kubectl, connection, wanted)
            leaving.first(self._kill)

    def answer(self) -> str:
        """Return all that kubectl says until it ends.

        Raises:
            KoordError: when it does not end in time.

        """
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
