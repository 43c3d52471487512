"""What every command works with: where to read from, where to print to, and progress on a terminal."""

import contextlib
import gc
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self, TextIO, TypeVar

from kubectl_koord import leaving
from kubectl_koord.cli.command_line import DOCUMENTS, Globals
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.errors import KoordError, NotFoundError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from kubectl_koord.cluster.api.transport import Transport
    from kubectl_koord.cluster.around import Around
    from kubectl_koord.cluster.source import EarlyLook, Join, StatedInstallation
    from kubectl_koord.cluster.watching import ClusterWatch
    from kubectl_koord.diagnosis.coverage import About
    from kubectl_koord.engine.gangs import Subject
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.render.document import Columns
    from kubectl_koord.render.show import OutputStyle, TopoOptions
    from kubectl_koord.render.structured import Report
    from kubectl_koord.reports.jobs import GangsReport, PendingGangsReport
    from kubectl_koord.simulation.subjects import Unknown
    from kubectl_koord.wording.words import Aim


R = TypeVar("R", bound="Report")


class Listing(NamedTuple):
    """How a listing is printed; `sort_by` is a JSONPath of its items, empty for their own order."""

    sort_by: str = ""
    limit: int | None = None
    no_headers: bool = False

    def applied(self, report: "R", *, as_text: bool) -> "R":
        """Return the listing in that order, and with no more items; as text it also says how many more there are."""
        if self.sort_by or self.limit:
            from kubectl_koord.cli import output

            report = output.sorted_by(report, self.sort_by) if self.sort_by else report
            report = output.first_of(report, self.limit) if self.limit and not as_text else report
        return report


WHOLE = Listing()


FIRST, EVERY = 0.5, 0.2
_ERASE = "\r\x1b[K"


class Progress:
    """Shows how many objects of each kind have been read, or what is `doing`, in seconds from when it is entered.

    Nothing is written unless the stream is a terminal, nor before `first` seconds have passed and, of reading,
    objects have come; the line is gone when it is left. `seen` is counted up by who reads, in other threads.
    """

    def __init__(
        self,
        stream: TextIO,
        seen: Mapping[str, int],
        *,
        doing: str = "",
        first: float = FIRST,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._seen = seen
        self._doing = doing
        self._waits = (first, every)
        self._clock = clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            self._thread = threading.Thread(target=self._show, args=(self._clock(),), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            leaving.no_more(self._erase)

    def _show(self, start: float) -> None:
        wait, every = self._waits
        shown = False
        while not self._over.wait(wait):
            wait = every
            if self._seen or self._doing:  # until then somebody may be asked to log in on this line
                width = shutil.get_terminal_size().columns - 1
                if not shown:
                    leaving.first(self._erase)
                self._write(f"{_ERASE}{told(self._doing or dict(self._seen), self._clock() - start)[:width]}")
                shown = True
        if shown:
            self._write(_ERASE)

    def _erase(self) -> None:
        os.write(self._stream.fileno(), _ERASE.encode())

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._over.set()  # nobody looks any more: no reason to stop reading


def told(what: Mapping[str, int] | str, seconds: float) -> str:
    """Return the line: `reading: 5000 Nodes, 1 PodGroup (1.2 s)`, or `looking for ways out ... (1.2 s)`."""
    if isinstance(what, str):
        return f"{what} ... ({seconds:.1f} s)"
    counts = [
        say("{count:,} {kind}{s}", count=count, kind=kind, s="" if count == 1 else "s") for kind, count in what.items()
    ]
    return say("reading: {counts} ({seconds:.1f} s)", counts=say(", ").join(counts), seconds=seconds)


L = TypeVar("L", "PendingGangsReport", "GangsReport")
_PARAGRAPH = "\n\n"
EXIT_CODES = {"yes": 0, "no": 1, "unknown": 2}


class Session:
    """One run of the program: its options, its way to the cluster, its exit code."""

    def __init__(self, chosen: Globals, connection: Connection, transport: "Transport | None") -> None:
        self.options = chosen
        self.connection = connection
        self.transport = transport
        self.exit_code = 0
        self.listing = WHOLE
        self.everything = False  # whether a terminal is shown what a pipe is shown

    def live_transport(self) -> "Transport":
        """Return the way to the cluster. Raises KoordError when this run reads a file."""
        if self.transport is None:
            raise KoordError(say("error: this needs a live cluster"))
        return self.transport

    def told(self) -> "StatedInstallation":
        """Return what the user says of Koordinator."""
        from kubectl_koord.cluster.source import StatedInstallation

        return StatedInstallation(self.options.version, self.options.home)

    def namespace(self) -> str:
        """Return the namespace that names without one belong to."""
        if self.connection.namespace or self.transport is None:
            return self.connection.namespace or "default"
        return self.transport.namespace()

    def snapshot(
        self,
        kinds: Sequence[str],
        early: "EarlyLook | None" = None,
        later: Sequence[str] = (),
        join: "Join | None" = None,
        *,
        sums: bool = False,
        around: "Around | None" = None,
    ) -> "Snapshot":
        """Return the cluster, read now: of a live one only the named kinds; the rest is as `source` says.

        `later` are kinds of which a live cluster is asked once more is known: of a recorded one they are there at once,
        and so is what lies `around` the scheduler.
        """
        from kubectl_koord.cluster import collect_live, source, stored

        gc.disable()  # reading makes millions of values and no cycles
        if self.options.demo:
            installed = source.asks_about_installation(kinds)
            return stored.demo(self.options.version, installed=installed, join=join)
        seen: dict[str, int] = {}
        with Progress(sys.stderr, seen):
            if self.options.snapshots:
                installed = source.asks_about_installation(kinds)
                wanted = (*kinds, *later)
                return stored.from_files(
                    self.files(),
                    self.options.version,
                    seen,
                    kinds=wanted,
                    installed=installed,
                    join=join,
                    around=around,
                )
            if self.options.is_page:
                from kubectl_koord.render import show as show_module  # noqa: F401 - now, while kubectl's proxy starts
            collect_live.share()
            transport = self.live_transport()
            snapshot = source.live(transport, kinds, self.namespace, self.told(), seen, early, join, sums=sums)
        collect_live.forget()
        return snapshot

    def looking_for_ways_out(self) -> "Progress":
        """Return what tells on a terminal, while it is entered, that ways out are looked for."""
        return Progress(sys.stderr, {}, doing=say("looking for ways out"))

    def watch(self, kinds: Sequence[str], calm: Collection[str] = ()) -> "ClusterWatch":
        """Return the live cluster, to be followed; nothing is read yet. Changes of `calm` kinds alone are not told.

        Raises KoordError when this run reads a file.
        """
        from kubectl_koord.cluster.watching import ClusterWatch

        return ClusterWatch(self.live_transport(), kinds, self.namespace, self.told(), calm=calm)

    def traces(self) -> "Snapshot":
        """Return what a file or the demo holds, with a trace of every pod."""
        from kubectl_koord.cluster import source, stored

        if self.options.demo:
            return stored.demo(self.options.version, traced=True)
        return stored.from_files(self.files(), self.options.version, kinds=source.TRACED, traced=True)

    def files(self) -> tuple[str, ...]:
        """Return the files that are read in place of a cluster, those of folders among them."""
        from kubectl_koord.cluster.files import files_of

        return files_of(self.options.snapshots, recursive=self.options.recursive)

    def found(self, snapshot: "Snapshot", name: str) -> "Subject | Unknown":
        """Return whom a name means: of a file in any namespace, where none was named."""
        from kubectl_koord.engine.gangs import Subject
        from kubectl_koord.simulation import subjects

        found = subjects.find(snapshot, name, self.namespace())
        if not isinstance(found, Subject) and self.transport is None and not self.connection.namespace:
            return subjects.find_anywhere(snapshot, name) or found
        return found

    def subject(self, snapshot: "Snapshot", name: str) -> "Subject":
        """Return whom a name means. Raises KoordError with the nearest names, when it means nobody."""
        from kubectl_koord.engine.gangs import Subject
        from kubectl_koord.simulation import subjects

        found = self.found(snapshot, name)
        if isinstance(found, Subject):
            return found
        self.require(snapshot, "members", *subjects.homes(name, self.namespace()))
        where = "" if "/" in name else say(" in namespace {namespace!r}", namespace=self.namespace())
        raise self.nobody(snapshot, name, where, found.nearest)

    def nobody(self, snapshot: "Snapshot", name: str, where: str, nearest: Sequence[str]) -> KoordError:
        """Return the line for a name that means nobody; of `x/y` it is open whether x should be a namespace."""
        from kubectl_koord.simulation import subjects

        homes = subjects.homes(name, self.namespace())
        nowhere = self.no_namespace(snapshot, homes[0])
        if nowhere and len(homes) == 1:
            return NotFoundError(nowhere.message)
        also = say(" (there is no namespace {homes!r})", homes=homes[0]) if nowhere else ""
        hint = say(", did you mean {nearest}?", nearest=", ".join(nearest)) if nearest else ""
        return NotFoundError(
            say(
                "error: no gang, pod or owner {name!r}{also}{where}{hint}", name=name, also=also, where=where, hint=hint
            )
        )

    def unknown_name(
        self, snapshot: "Snapshot", about: "About", what: str, name: str, known: Iterable[str]
    ) -> NoReturn:
        """Say that there is no node, domain or resource of a name.

        Raises KoordError: always: with the nearest names, or naming the kinds that could not be read.
        """
        from kubectl_koord.wording.suggestions import near

        self.require(snapshot, about)
        nearest = near(name, known)
        hint = say(", did you mean {nearest}?", nearest=", ".join(nearest)) if nearest else ""
        raise KoordError(say("error: no {what} {name!r}{hint}", what=what, name=name, hint=hint))

    def require(self, snapshot: "Snapshot", about: "About", *namespaces: str) -> None:
        """Go on only where everything was read that tells whether something exists in these namespaces.

        Raises KoordError, naming the kinds that could not be read, and why.
        """
        from kubectl_koord.diagnosis import coverage
        from kubectl_koord.wording.words import could_not_be_read

        unread = coverage.unread(snapshot, about, *namespaces)
        if unread:
            raise KoordError(say("error: {could_not_be_read}", could_not_be_read=could_not_be_read(unread)))

    def no_namespace(self, snapshot: "Snapshot", namespace: str) -> KoordError | None:
        """Return what is to be said where there is no such namespace: for who has found nothing in it.

        A file counts as the whole cluster; without `-n` names are looked for in all of it.
        """
        if self.transport is not None:
            from kubectl_koord.cluster import source

            return source.no_namespace(self.transport, namespace)
        if namespace == "default" and not self.connection.namespace:
            return None
        return (
            None
            if snapshot.holds(namespace)
            else KoordError(say("error: the snapshot contains nothing in namespace {namespace!r}", namespace=namespace))
        )

    def listed(self, snapshot: "Snapshot", ask: "Callable[[Snapshot, str], L]", *, every: bool) -> "L":
        """Return what is asked of the user's namespace, or of every (""): of a file too, unless one was named.

        Raises KoordError when there is nothing to list as there is no such namespace.
        """
        everywhere = every or (snapshot.source != "cluster" and not self.connection.namespace)
        namespace = "" if everywhere else self.namespace()
        report = ask(snapshot, namespace)
        if namespace and not report.items and (nowhere := self.no_namespace(snapshot, namespace)):
            raise nowhere
        return report

    def show(self, report: "Report", topo: "TopoOptions | None" = None, *, more_follow: bool = False) -> None:
        """Print a report on standard output and let its verdict be the exit code.

        Of several reports, one after the other, each is a line of JSON or a YAML document of its own.
        """
        from kubectl_koord.cli import output
        from kubectl_koord.render import show as show_module
        from kubectl_koord.render import shown as aimed
        from kubectl_koord.render import structured
        from kubectl_koord.render.shown import EVERYTHING

        self.exit_code = EXIT_CODES[report.verdict]
        report, aim = self._named(report), self.aim()
        report = self.listing.applied(report, as_text=self.options.is_page)
        if self.options.is_text:
            shown = EVERYTHING if self.everything else None
            columns, style = self._columns(), self.style()

            def page(style: "OutputStyle") -> str:
                return show_module.text(report, style=style, topo_options=topo, shown=shown, columns=columns, aim=aim)

            if not more_follow and self._paged(page, style):
                return
            text = page(style)
        elif self.options.output in DOCUMENTS:
            columns = self._columns()
            text = show_module.to_hand_on(report, self.options.output, topo_options=topo, columns=columns, aim=aim)
        elif more_follow and self.options.output in {"json", "yaml"}:
            report, is_json = aimed.report(report, aim), self.options.output == "json"
            text = structured.to_json_line(report) if is_json else "---\n" + structured.to_yaml(report)
        else:
            text = output.printed(aimed.report(report, aim), self.options.output)
            if not text and report.verdict == "unknown":
                self._say_why(report)
        write(text)

    def show_each(self, reports: "Sequence[Report]") -> None:
        """Print reports one after the other; the exit code is that of the worst: unknown, else no."""
        worst = 0
        for number, report in enumerate(reports):
            if number and self.options.is_text:
                write("\n")
            self.show(report, more_follow=len(reports) > 1)
            worst = max(worst, self.exit_code)
        self.exit_code = worst

    def document(self, report: "Report") -> str:
        """Return a report as `-o json` prints it."""
        from kubectl_koord.render import shown, structured

        return structured.to_json(shown.report(self._named(report), self.aim()))

    def page(self, reports: "Sequence[Report]", links: Mapping[str, str], warning: str) -> str:
        """Return reports below each other as one HTML page, whose rows lead on; of one alone as `-o html` prints it."""
        from kubectl_koord.render import show as show_module

        return show_module.to_web([self._named(report) for report in reports], links, warning, aim=self.aim())

    def _named(self, report: "R") -> "R":
        """Return a report with the names that the kubeconfig has for the cluster that was read."""
        if self.transport is None:
            return report
        from kubectl_koord.render import shown as aimed

        with contextlib.suppress(KoordError):  # whatever was to be known is known without them
            return aimed.named(report, *self.transport.target())
        return report

    def aim(self) -> "Aim":
        """Return what commands have to say to reach what this run reads."""
        from kubectl_koord.cli.command_line import repeated

        return repeated(self.options, self.connection)

    def _paged(self, page: "Callable[[OutputStyle], str]", style: "OutputStyle") -> bool:
        """Show a page in a pager if it is longer than the terminal; tell whether it was shown."""
        if not (style.height and self.options.pager):
            return False
        from msgspec import structs

        from kubectl_koord.cli import output

        program = output.chosen(os.environ)
        text = page(structs.replace(style, height=0)) if program else ""
        if text.count("\n") < style.height:
            return False
        return output.show(program, text.encode(sys.stdout.encoding or "ascii", "backslashreplace"))

    def _say_why(self, report: "Report") -> None:
        """Tell on standard error why nothing was found: the beginning of what is shown to people."""
        from kubectl_koord.render import show as show_module

        page = show_module.text(report, style=self.style(sys.stderr), columns=self._columns())
        sys.stderr.write(f"{page.partition(_PARAGRAPH)[0].rstrip()}\n")

    def _columns(self) -> "Columns":
        from kubectl_koord.render.document import Columns

        return Columns(
            wide=self.options.output == "wide",
            headers=not self.listing.no_headers,
            ordered=bool(self.listing.sort_by),
            most=self.listing.limit,
        )

    def style(self, stream: TextIO | None = None) -> "OutputStyle":
        """Return how text on a stream is to look: on standard output, unless another is named."""
        from kubectl_koord.render import show as show_module

        stream = stream or sys.stdout
        is_terminal = stream.isatty()
        columns, lines = shutil.get_terminal_size() if is_terminal else (0, 0)
        colour, encoding = self.options.colour, stream.encoding or "ascii"
        return show_module.output_style(colour, os.environ, is_terminal, encoding, columns, lines)


def write(text: str) -> None:
    """Write text to standard output, whatever its encoding cannot say replaced."""
    with to_stdout():
        sys.stdout.flush()
        rest = memoryview(text.encode(sys.stdout.encoding or "ascii", "backslashreplace"))
        while rest:  # with PYTHONUNBUFFERED one call need not write all
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.flush()


@contextlib.contextmanager
def to_stdout() -> Iterator[None]:
    """Name standard output where it does not take what is written to it.

    Raises KoordError when it does not, unless nobody reads it any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise KoordError(
            say("error: standard output cannot be written: {strerror}", strerror=problem.strerror)
        ) from None
