"""Starting `kubectl proxy`, and what it says until it serves."""

import os
import re
import select
import time

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.kubectl import guard
from kubectl_koord.cluster.api.transport import no_credentials, unable
from kubectl_koord.errors import KoordError

# Go's expressions know no negation, and kubectl splits the list at commas.
_ALL_BUT_GET = "^([^G].*|G|G[^E].*|GE|GE[^T].*|GET.+)$"
_ALL_BUT_GET_PATCH_POST = "^([^GP].*|G|G[^E].*|GE|GE[^T].*|GET.+|P|P[^AO].*|PUT)$"
_READY = b"Starting to serve"
_PROMPT = b"Please enter "
_LONGEST_SOCKET_PATH = 99
_SENTENCE = re.compile(r"error\b", re.IGNORECASE)


def private_folder() -> str:
    """Return a new folder that only we can enter, with a path short enough for a socket.

    Raises:
        KoordError: when none can be made.

    """
    name = f"kubectl-koord-{os.urandom(8).hex()}"
    for parent in (os.environ.get("TMPDIR"), os.environ.get("XDG_RUNTIME_DIR"), "/tmp"):  # noqa: S108
        folder = os.path.join(parent or "", name)  # noqa: PTH118
        if not os.path.isabs(folder) or len(os.fsencode(socket_path(folder))) > _LONGEST_SOCKET_PATH:  # noqa: PTH117
            continue
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102
        except OSError:
            continue
        return folder
    raise KoordError("error: no folder for a private socket: neither TMPDIR, XDG_RUNTIME_DIR nor /tmp can be used")


def socket_path(folder: str) -> str:
    """Return the path of the socket in a private folder."""
    return f"{folder}/s"


def start_guarded(folder: str, kubectl: str, connection: Connection, *, writes: bool) -> guard.Guarded:
    """Start `kubectl proxy` on a socket in the folder, which is removed with it.

    Unless `writes`, it refuses every method but GET; with it, PATCH and POST pass as well.

    Raises:
        KoordError: when there is no process to be had.

    """
    argv = (
        kubectl,
        "proxy",
        f"--unix-socket={socket_path(folder)}",
        f"--reject-methods={_ALL_BUT_GET_PATCH_POST if writes else _ALL_BUT_GET}",
        # Otherwise the path of a server such as https://host/k8s/clusters/c-1 is dropped.
        "--append-server-path=true",
        *connection.flags,
    )
    try:
        return guard.start(argv, folder)
    except OSError as error:
        os.rmdir(folder)  # noqa: PTH106
        raise KoordError(f"error: unable to start kubectl: {error.strerror}") from None


def await_start(child: guard.Guarded, seconds: float) -> None:
    """Wait until kubectl says that it listens.

    Raises:
        KoordError: when it ends, asks for credentials, or takes longer than so many seconds.

    """
    limit = time.monotonic() + seconds
    printed = b""
    while _READY not in printed:
        piece = _read_before(limit, child.output)
        if piece is None:
            raise unable(f"kubectl proxy did not start within {seconds:g} s")
        printed += piece
        if _PROMPT in printed:
            raise no_credentials()
        if not piece:
            raise _reason_of_end(child, limit)


def _reason_of_end(child: guard.Guarded, limit: float) -> KoordError:
    """Return the sentence with which kubectl has ended."""
    printed = b""
    while piece := _read_before(limit, child.errors):
        printed += piece
    lines = [line for line in printed.decode("utf-8", "replace").splitlines() if line.strip()]
    # The last sentence; of a crash the first line, as what follows is where it was.
    at = next((at for at in reversed(range(len(lines))) if _SENTENCE.match(lines[at])), 0)
    sentence = lines[at].rstrip() if lines else "error: kubectl proxy ended without a word"
    # Several faults of a configuration come as a list: the first is enough for one line.
    more = lines[at + 1].removeprefix("* ") if sentence.endswith(":") and lines[at + 1 :] else ""
    return KoordError(f"{sentence} {more}".rstrip())


def _read_before(limit: float, descriptor: int) -> bytes | None:
    """Return what the pipe holds, b"" at its end, None when nothing came in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(max(0.0, limit - time.monotonic()) * 1000):
        return None
    return os.read(descriptor, 65536)
