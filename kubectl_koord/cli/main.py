"""The entry: the way to the cluster starts first, imports overlap with it; the one error boundary."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from kubectl_koord import leaving
from kubectl_koord.cli import command_line
from kubectl_koord.cli.command_line import check_output, plain_switches, take_globals
from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.cluster.api.connection import Connection, take_connection
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from kubectl_koord.cluster.api.transport import Transport

_HELP = {"--help", "-h"}
_STDERR = _LAST_STREAM = 2
FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


def main() -> None:
    """Run the program on the process's arguments and leave with its exit code."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_closed_streams()
    sys.stderr = _never_failing()
    _leave(run(sys.argv[1:]))


class _Lenient(io.FileIO):
    """Takes everything, and drops what the system does not take: what we answer does not hang on who listens."""

    def write(self, content: "ReadableBuffer", /) -> int:
        try:
            return super().write(content)
        except OSError:
            return memoryview(content).nbytes


def _never_failing() -> TextIO:
    """Return standard error, on which writing never fails: a failure ends with 2 whether anybody reads why or not."""
    buffer = io.BufferedWriter(_Lenient(_STDERR, "w", closefd=False))
    return io.TextIOWrapper(buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True)


def _fill_closed_streams() -> None:
    """Send to nothing what goes to a stream that our caller has closed; no pipe of ours may take its number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        pass
    os.close(number)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115 - for as long as we run
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def run(argv: Sequence[str]) -> int:
    """Return the exit code of one command line; errors are one line on standard error."""
    try:
        _check_text(argv)
        return _completed(argv[1:]) if "__complete" in argv[:1] else _run(argv)
    except KoordError as error:
        return _failed(error.message)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return PIPE_CLOSED
    except RecursionError:
        return _failed(say("error: the input is nested too deeply"))
    except Exception as problem:  # noqa: BLE001 - Python's own exit code for it, 1, would be read as a no
        return _unforeseen(problem)


def _check_text(argv: Sequence[str]) -> None:
    """Refuse what no name, flag or file that we can print is made of: bytes that are no text."""
    for word in argv:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise KoordError(say("error: the argument {word!r} is not UTF-8", word=word)) from None


def _run(argv: Sequence[str]) -> int:
    connection, words = take_connection(argv)
    chosen, words = take_globals(words)
    words = command_line.verb_first(words)
    if set(words) <= _HELP:
        sys.stdout.write(command_line.front_page(short="--help" not in words))
        return 0
    name = command_line.in_full(words)
    words = plain_switches(words, name)
    check_output(chosen, name if name in VERBS else "")
    leaving.say(say("interrupted: nothing was sent\n") if command_line.may_change(words) else "")
    needs_cluster = chosen.is_live and command_line.reads_cluster(words) and not _HELP & set(words)
    transport = _connect(connection, words) if needs_cluster else None
    try:
        from kubectl_koord.cli.app import invoke

        return invoke(words, chosen, connection, transport)
    finally:
        if transport is not None:
            transport.close()


def _completed(words: Sequence[str]) -> int:
    from kubectl_koord.cli.completion import answer

    sys.stdout.write(answer(words))
    return 0


def _connect(connection: Connection, words: Sequence[str]) -> "Transport":
    from kubectl_koord.cluster.api.connect import connect

    transport = connect(connection, writes=command_line.may_send(words), notify=_waiting)
    from kubectl_koord.cluster.api.observed import ObservedTransport
    from kubectl_koord.cluster.api.retrying import RetryingTransport

    observed = ObservedTransport(transport, _tell, connection.verbosity)
    return RetryingTransport(observed, connection, _tell, _waiting)


def _waiting(what: str) -> None:
    """Tell that the API server lets us wait."""
    _tell(f"Waiting for the API server ({what}) ...")


def _tell(line: str) -> None:
    """Write a line beside the answer; on a terminal in the place of what is shown while objects come."""
    from kubectl_koord.render.plain import harmless

    with contextlib.suppress(OSError):
        erase = "\r\x1b[K" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{erase}{harmless(line)}\n")
        sys.stderr.flush()


def _failed(message: str) -> int:
    from kubectl_koord.render.plain import harmless

    sys.stderr.write(harmless(message) + "\n")
    return FAILED


def _unforeseen(problem: Exception) -> int:
    """Tell of what no one has thought of: a system's refusal such as a full disk, else a fault of ours."""
    if os.environ.get("KUBECTL_KOORD_DEBUG"):
        import traceback

        for line in "".join(traceback.format_exception(problem)).splitlines():
            _failed(line)
    if isinstance(problem, OSError):
        return _failed(say("error: {problem}", problem=problem))
    said = ": ".join(filter(None, [type(problem).__name__, str(problem)]))
    return _failed(
        say("error: internal error: {said} (please report it; KUBECTL_KOORD_DEBUG=1 shows where)", said=said)
    )


def _leave(code: int) -> None:
    """Flush and end at once: taking the interpreter apart would cost 40 ms."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = PIPE_CLOSED
    except OSError:  # it was told of when it was written
        code = FAILED
    os._exit(code)
