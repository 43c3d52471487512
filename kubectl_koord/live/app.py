"""The screen itself: panes of cells, keys, the line for a filter or a command; what it shows is made by `views`."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from operator import is_
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style as Drawn
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from kubectl_koord.errors import KoordError
from kubectl_koord.explain.happened import Happened, happened, lately
from kubectl_koord.explain.topo import with_outside
from kubectl_koord.language import say
from kubectl_koord.live import views
from kubectl_koord.live.cells import NO_MARKS, Cell, Line, Look, Target, filtered, heat_map, legend
from kubectl_koord.live.state import Holder, Link
from kubectl_koord.live.views import Choosing, Overview, Page, Questions, State, View
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.render.plain import width
from kubectl_koord.reports.capacity import TopologyReport
from kubectl_koord.wording.words import age_at

_STYLES = {
    "": Drawn(),
    "good": Drawn(color="green"),
    "bad": Drawn(color="red", bold=True),
    "warn": Drawn(color="yellow"),
    "dim": Drawn(dim=True),
    "bold": Drawn(bold=True),
    "code": Drawn(color="cyan"),
}
_MARKED, _CHOSEN = Drawn(underline=True), Drawn(reverse=True)
_MOST_HAPPENED, _PANES = 500, 7
MAP, NEWS, WAITING = "map", "happened", "waiting"
"""The questions that are asked whatever is on the screen."""


class Pane(ScrollView, can_focus=True):
    """Lines of cells, of which one that leads somewhere is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("left,h", "along(-1)", show=False),
        Binding("right,l", "along(1)", show=False),
        Binding("pageup,b", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "end(-1)", show=False),
        Binding("end,G", "end(1)", show=False),
        Binding("enter", "open", show=False),
    ]

    class Chosen(Message):
        """Something was opened."""

        def __init__(self, target: Target) -> None:
            super().__init__()
            self.target = target

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.lines: Sequence[Line] = ()
        self.at: tuple[int, int] | None = None

    def show(self, lines: Sequence[Line]) -> None:
        """Show other lines; what is chosen stays so where it is still there."""
        if lines == self.lines:
            return
        chosen = self.target
        self.lines = lines
        self.at = next((at for at in self._places() if self._cell(at).target == chosen), None) if chosen else None
        self.virtual_size = Size(max((sum(width(cell.text) for cell in line) for line in lines), default=0), len(lines))
        self.refresh()

    @property
    def target(self) -> Target | None:
        """What is chosen."""
        return self._cell(self.at).target if self.at is not None else None

    def _cell(self, at: tuple[int, int]) -> Cell:
        return self.lines[at[0]][at[1]]

    def _places(self, rows: Iterable[int] | None = None) -> Iterable[tuple[int, int]]:
        for row in range(len(self.lines)) if rows is None else rows:
            for place, cell in enumerate(self.lines[row]):
                if cell.target is not None:
                    yield (row, place)

    def render_line(self, y: int) -> Strip:
        """Return one line as it is drawn."""
        across, down = self.scroll_offset
        row = y + down
        line = self.lines[row] if row < len(self.lines) else ()
        pieces = []
        for place, cell in enumerate(line):
            style = _STYLES[cell.style] + (_MARKED if cell.marked else Drawn())
            chosen = self.has_focus and (row, place) == self.at
            pieces.append(Segment(cell.text, style + _CHOSEN if chosen else style))
        return Strip(pieces).crop_extend(across, across + self.size.width, self.rich_style)

    def _choose(self, at: tuple[int, int] | None) -> None:
        if at is None:
            return
        self.at = at
        before = sum(width(cell.text) for cell in self.lines[at[0]][: at[1]])
        self.scroll_to_region(Region(before, at[0], max(1, width(self._cell(at).text)), 1), animate=False, force=True)
        self.refresh()

    def action_move(self, step: int) -> None:
        """Go to the next line that leads somewhere, as near to the same column as can be; else scroll."""
        row = self.at[0] if self.at is not None else -1 if step > 0 else len(self.lines)
        rows = range(row + 1, len(self.lines)) if step > 0 else range(row - 1, -1, -1)
        first = next(iter(self._places(rows)), None)
        if first is None or abs(first[0] - max(row, 0)) > max(1, self.size.height):
            self.scroll_relative(y=step, animate=False, force=True)
            return
        place = self.at[1] if self.at is not None else 0
        self._choose(min(self._places([first[0]]), key=lambda at: abs(at[1] - place)))

    def action_along(self, step: int) -> None:
        """Go to the next cell of the line that leads somewhere; else scroll."""
        if self.at is None:
            self._choose(next(iter(self._places()), None))
            return
        row, place = self.at
        there = [at for at in self._places([row]) if (at[1] - place) * step > 0]
        if there:
            self._choose(min(there, key=lambda at: abs(at[1] - place)))
        else:
            self.scroll_relative(x=step * 8, animate=False, force=True)

    def action_page(self, step: int) -> None:
        """Scroll by a screen."""
        self.scroll_relative(y=step * max(1, self.size.height - 1), animate=False, force=True)

    def action_end(self, step: int) -> None:
        """Go to the first or the last line."""
        self.scroll_to(y=0 if step < 0 else max(0, len(self.lines) - self.size.height), animate=False, force=True)
        places = list(self._places())
        self._choose(places[0 if step < 0 else -1] if places else None)

    def action_open(self) -> None:
        """Open what is chosen."""
        if self.target is not None:
            self.post_message(self.Chosen(self.target))

    def on_click(self, event: events.Click) -> None:
        """Choose what is under the mouse, and open it."""
        across, down = self.scroll_offset
        row, column = event.y + down, event.x + across
        if row >= len(self.lines):
            return
        for place, cell in enumerate(self.lines[row]):
            if 0 <= column < width(cell.text) and cell.target is not None:
                self._choose((row, place))
                self.action_open()
                return
            column -= width(cell.text)


class Live(App[None]):
    """The screen."""

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (120, "-wide"),
    ]
    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    Pane { background: ansi_default; color: ansi_default; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    #head, #keys, #side-title, #news-title { height: 1; }
    #body { height: 1fr; layout: vertical; }
    #left { height: 2fr; } #right { height: 1fr; }
    .-wide #body { layout: horizontal; }
    .-wide #left { width: 3fr; height: 1fr; } .-wide #right { width: 2fr; height: 1fr; }
    #main, #map { height: 1fr; }
    #news { height: 4; } .-wide #news { height: 8; }
    .page #news, .page #news-title { display: none; }
    .map-only #left { display: none; } .map-only #right { height: 1fr; width: 1fr; }
    Input { display: none; height: 1; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    .typing Input { display: block; } .typing #keys { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", show=False, priority=False),
        Binding("escape,backspace", "back", show=False),
        Binding("slash", "type('/')", show=False),
        Binding("colon", "type(':')", show=False),
        Binding("question_mark", "help", show=False),
        Binding("s", "sort", show=False),
        Binding("a", "everything", show=False),
        Binding("m", "map", show=False),
        Binding("p", "preemption", show=False),
        Binding("w", "what_if", show=False),
        Binding("u", "quotas", show=False),
        Binding("y", "copy", show=False),
    ]

    def __init__(self, holder: Callable[[Callable[[], None]], Holder], overview: Overview, look: Look) -> None:
        super().__init__(ansi_color=True)
        self.holder = holder(self._told)
        self.questions: Questions = overview.questions
        self.overview = overview
        self.look = look
        self.views: list[View] = [overview]
        self.state = State()
        self.filter = ""
        self.said = ""
        self.typing = ""
        self.helping = False
        self._news: list[Happened] = []
        self._seen: Snapshot | None = None
        self._is_due = False  # whether `draw` will be called anyway
        self._map_of: tuple[object, ...] = ()
        self._names_of: tuple[object, ...] = ()
        self._names: dict[str, Target] = {}
        self.failed: Exception | None = None

    def compose(self) -> ComposeResult:
        """Yield the panes."""
        yield Pane("head")
        with Container(id="body"):
            with Container(id="left"):
                yield Pane("main")
            with Container(id="right"):
                yield Pane("side-title")
                yield Pane("map")
        yield Pane("news-title")
        yield Pane("news")
        yield Pane("keys")
        yield Input(select_on_focus=False)

    def on_mount(self) -> None:
        """Begin to read."""
        for name in ("head", "side-title", "news-title", "keys"):
            self._pane(name).can_focus = False
        self._pane("main").focus()
        self.holder.ask(WAITING, self.overview.waiting, first=True)
        self.holder.ask(NEWS, self._happened, first=True)
        self.holder.ask(MAP, with_outside, first=True)
        self._look_at()
        self.holder.start()
        self.set_interval(1.0, self._head)

    def _pane(self, name: str) -> Pane:
        return self.query_one(f"#{name}", Pane)

    def _told(self) -> None:
        """Take note, in a thread of the holder, that something is new."""
        if self.is_running and not self._is_due:
            self._is_due = True
            self.call_later(self.draw)

    def _happened(self, snapshot: Snapshot) -> tuple[Happened, ...]:
        before, self._seen = self._seen, snapshot
        news = lately(snapshot) if before is None else happened(before, snapshot)
        self._news = [*news, *self._news][:_MOST_HAPPENED]
        return tuple(self._news)

    @property
    def view(self) -> View:
        """What is looked at."""
        return self.views[-1]

    def _look_at(self) -> None:
        self.holder.ask(self.view.title, self.view.ask)
        self.set_class(self.view is not self.overview, "page")
        self.draw()

    def go(self, view: View) -> None:
        """Look at something else."""
        self.filter, self.helping, self.said = "", False, ""
        self.remove_class("map-only")
        if view is self.overview:
            self._leave(len(self.views) - 1)
        elif view.title != self.view.title:
            self.holder.rest(self.view.title)
            self.views.append(view)
        self._pane("main").at = None
        self._pane("main").scroll_to(0, 0, animate=False, force=True)
        self._pane("main").focus()
        self.call_after_refresh(self._look_at)

    def _leave(self, views_left: int) -> None:
        for _ in range(views_left):
            left = self.views.pop()
            if left.title not in {each.title for each in self.views}:
                self.holder.forget(left.title)

    def draw(self) -> None:
        """Draw what is known now; nothing any more while it ends."""
        self._is_due = False
        if len(self.query(Pane)) < _PANES:  # it begins, or ends
            return
        failure = self.holder.failure
        if failure is not None:
            self.failed = failure
            self.exit()
            return
        self._head()
        look = Look(max(20, self._pane("main").size.width - 1), self.look.unicode, self.look.everything, self.look.aim)
        answer, waiting = self.holder.answer(self.view.title), self.holder.answer(WAITING)
        if self.helping:
            lines = views.help_lines(self.holder.snapshot, look)
        elif self.view is self.overview and waiting is not None and (answer is None or answer.number < waiting.number):
            was = answer.value if answer is not None else None
            lines = self.overview.lines_now(was, waiting.value or (), look, self.state, waiting.moment)
        elif answer is None:
            lines = [
                look.line(say("Reading the cluster ...") if self.holder.number == 0 else say("Computing ..."), "dim")
            ]
        elif answer.error:
            lines = [look.line(answer.error, "bad")]
        else:
            lines = self.view.lines(answer.value, look, self.state, self._leads_to())
        self._pane("main").show(filtered(lines, self.filter))
        self._draw_map()
        news = self.holder.answer(NEWS)
        around = Look(max(20, self.size.width - 1), self.look.unicode)
        if news is not None and news.value is not None:
            self._pane("news").show(views.happenings(news.value, around))
        self._pane("news-title").show([around.line(say("What happened last"), "bold")])

    def _draw_map(self) -> None:
        topology = self.holder.answer(MAP)
        if topology is None or not isinstance(topology.value, TopologyReport):
            return
        look = Look(max(20, self._pane("map").size.width - 1), self.look.unicode)
        answer = self.holder.answer(self.view.title)
        marks = NO_MARKS if answer is None or answer.value is None else self.view.marks(answer.value)
        of, self._map_of = self._map_of, (topology, marks, look.width)
        if of[:1] and of[0] is topology and of == self._map_of:
            return
        lines = heat_map(topology.value, marks, look)
        self._pane("map").show([*lines, *(look.line(topology.error, "bad") for _ in [0] if topology.error)])
        self._pane("side-title").show([look.line(legend(topology.value, marks), "dim")])

    def _leads_to(self) -> dict[str, Target]:
        """Return what the names of nodes, domains and gangs on pages lead to."""
        found: dict[str, Target] = {}
        topology, pending = self.holder.answer(MAP), self.holder.answer(self.overview.title)
        of, self._names_of = self._names_of, (topology, pending, self.view)
        if len(of) == len(self._names_of) and all(map(is_, of, self._names_of)):
            return self._names
        if topology is not None and topology.value is not None:
            report: TopologyReport = topology.value
            found |= {one.name: Target("domain", f"{one.layer}/{one.name}") for one in report.domains if one.name}
            found |= {node.node: Target("node", node.node) for node in report.nodes}
        if pending is not None and pending.value is not None:
            found |= {item.gang: Target("gang", item.gang) for item in pending.value.items if item.gang not in found}
        own = self.view.title.rpartition(" ")[2]
        found.pop(own, None)
        self._names = found
        return found

    def _head(self) -> None:
        if len(self.query(Pane)) < _PANES:  # it begins, or ends
            return
        look = Look(max(20, self.size.width), self.look.unicode)
        link, style = self._link_told(self.holder.link())
        room = Look(max(20, look.width - width(link) - 2), look.unicode)
        title = room.line(f"{'< ' * (len(self.views) > 1)}{self.view.title}", "bold")
        self._pane("head").show([(*title, Cell("  "), *look.line(link, style))])
        keys = say("Enter open  Esc back  / filter  : go  w what if  p preempt  u quotas  ? keys  q")
        what = self.said or (say("/{filter}  (Esc: all)", filter=self.filter) if self.filter else keys)
        self._pane("keys").show([look.line(what, "dim" if what == keys else "warn")])

    def _link_told(self, link: Link) -> tuple[str, Any]:
        snapshot = self.holder.snapshot
        if snapshot is None:
            return say("reading ..."), "warn"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        age = age_at(snapshot.moment, now)
        stale = self._stale_told(now)
        gaps = views.gaps_told(snapshot.gaps)
        told = f"{stale}{f'  {gaps}' if gaps else ''}"
        match link.status:
            case "recorded":
                return say(
                    "as of {moment} ({source}){told}", moment=snapshot.moment, source=snapshot.source, told=told
                ), "warn" if gaps else "dim"
            case "lost":
                return say(
                    "CONNECTION LOST, trying again; as of {age} ago: {message}{told}",
                    age=age,
                    message=link.message,
                    told=told,
                ), "bad"
            case "interrupted":
                return say(
                    "INTERRUPTED: {kinds}; as of {age} ago{told}", kinds=", ".join(link.kinds), age=age, told=told
                ), "warn"
            case _:
                return say(
                    "live, as of {moment}{told}", moment=snapshot.moment[11:19], told=told
                ), "warn" if told else "good"

    def _stale_told(self, now: str) -> str:
        """Return how old the answer on the screen is where something newer was read; the map may be newer."""
        answer = self.holder.answer(self.view.title)
        if answer is None or not self.holder.is_stale(self.view.title):
            return ""
        age = age_at(answer.moment, now)
        return say("  STALE, of {age} ago, computing", age=age) if age else say("  STALE, computing")

    @on(Pane.Chosen)
    def opened(self, message: Pane.Chosen) -> None:
        """Open what was chosen."""
        kind, name = message.target
        match kind:
            case "cause":
                answer = self.holder.answer(WAITING if name == views.TO_COME else self.overview.title)
                few = answer is not None and answer.value is not None and views.is_short(answer.value)
                is_open = name in self.state.unfolded or (few and name not in self.state.folded)
                self.state = views.toggled(self.state, name, is_open=is_open)
                self.draw()
            case "gang":
                self.go(views.of_gang(self.questions, name))
            case "node":
                self.go(views.of_node(name))
            case "domain":
                self.go(views.of_domain(name))
            case "quota":
                self.go(views.Quotas(name))
            case "choice":
                answer = self.holder.answer(self.view.title)
                if isinstance(self.view, Choosing) and answer is not None and answer.value is not None:
                    self.go(self.view.tried(answer.value[int(name)]))

    async def action_back(self) -> None:
        """Go back: from what is typed, the help, a filter, a screen."""
        if self.typing:
            self.filter = ""
            self._typed()
        elif self.helping or self.filter or self.has_class("map-only"):
            self.helping, self.filter = False, ""
            self.remove_class("map-only")
        elif len(self.views) > 1:
            self._leave(1)
        self.said = ""
        self._pane("main").focus()
        self.call_after_refresh(self._look_at)

    def action_type(self, sign: str) -> None:
        """Let somebody type a filter or a command."""
        self.typing = sign
        box = self.query_one(Input)
        box.value = self.filter if sign == "/" else ""
        box.placeholder = (
            say("only lines that contain ...") if sign == "/" else say("why-pending GANG, node NAME, quota, topo ...")
        )
        self.add_class("typing")
        box.focus()

    @on(Input.Changed)
    def filtering(self, message: Input.Changed) -> None:
        """Filter while it is typed."""
        if self.typing == "/":
            self.filter = message.value
            self.draw()

    @on(Input.Submitted)
    def typed(self, message: Input.Submitted) -> None:
        """Do what was typed."""
        sign, words = self.typing, message.value.split()
        self._typed()
        if sign == ":" and words:
            if words[0] in {"q", "quit"}:
                self.exit()
                return
            try:
                self.go(views.named(words, self.questions, self.overview))
            except KoordError as problem:
                self.said = problem.message
        self.draw()

    def _typed(self) -> None:
        self.typing = ""
        self.remove_class("typing")
        self._pane("main").focus()

    def action_help(self) -> None:
        """Show what keys do."""
        self.helping = not self.helping
        self.draw()

    def action_sort(self) -> None:
        """Sort the listing another way."""
        self.state = views.with_sort(self.state)
        self.said = say("sorted by {sort}", sort=self.state.sort)
        self.draw()

    def action_everything(self) -> None:
        """Show everything, or what suits a screen."""
        look = self.look
        self.look = Look(look.width, look.unicode, not look.everything, look.aim)
        self.draw()

    def action_map(self) -> None:
        """Show the map alone, or with the rest."""
        self.toggle_class("map-only")
        self._pane("map" if self.has_class("map-only") else "main").focus()
        self.call_after_refresh(self.draw)

    def _gang(self) -> str:
        """Return the gang that is looked at or chosen, empty for none."""
        chosen = self._pane("main").target
        if chosen is not None and chosen.kind == "gang":
            return chosen.name
        return self.view.gang if isinstance(self.view, Page) else ""

    def action_preemption(self) -> None:
        """Show whom preemption would remove."""
        if name := self._gang():
            self.go(views.of_preemption(self.questions, name))
        else:
            self._say(say("p: choose a gang first"))

    def action_what_if(self) -> None:
        """Show what could be changed."""
        if name := self._gang():
            self.go(Choosing(self.questions, name))
        else:
            self._say(say("w: choose a gang first"))

    def action_quotas(self) -> None:
        """Show the quotas."""
        self.go(views.Quotas())

    def action_copy(self) -> None:
        """Copy the command that prints the same."""
        text = views.shown_by(self.view, self.look)
        if text:
            self.copy_to_clipboard(text)
        self._say(say("copied: {text}", text=text) if text else say("no command prints this"))

    def _say(self, words: str) -> None:
        self.said = words
        self._head()

    def on_resize(self) -> None:
        """Lay it out anew."""
        self.call_after_refresh(self.draw)

    def on_unmount(self) -> None:
        """Read no more."""
        self.holder.close()

    def _handle_exception(self, error: Exception) -> None:
        """Leave on an error of ours: it is told once the terminal is given back, in one line as any other."""
        self.failed = self.failed or error
        if self.is_headless:
            super()._handle_exception(error)
        self._close_messages_no_wait()
