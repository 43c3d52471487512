"""The screens as values: what each asks, its lines, what it marks in the map, the command that prints the same."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, structs

from kubectl_koord.engine.gangs import PodSubject, Subject
from kubectl_koord.engine.tree import NoTree, tree_of
from kubectl_koord.errors import KoordError
from kubectl_koord.explain.choices import Choice, choices
from kubectl_koord.explain.devices import devices
from kubectl_koord.explain.every_pending import gangs
from kubectl_koord.explain.happened import Happened
from kubectl_koord.explain.place import domain_report, domains_named, full_name, node_report
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.quota import names, quotas
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why
from kubectl_koord.language import say
from kubectl_koord.live.cells import EMPTY, NO_MARKS, Cell, Line, Look, Marks, Target, cut, of_report
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values import parse
from kubectl_koord.render.lines import VERDICT_STYLE
from kubectl_koord.render.pages.pending import headline, incomplete
from kubectl_koord.render.pages.why import TITLE
from kubectl_koord.render.plain import width
from kubectl_koord.render.structured import Report
from kubectl_koord.reports.capacity import DomainReport, NodeReport, QuotaRow, QuotaTreeReport
from kubectl_koord.reports.common import AddNode, DomainName, Edit
from kubectl_koord.reports.jobs import PendingGangsReport, PreemptReport, VolcanoGang, WhyReport
from kubectl_koord.wording.facts import bar
from kubectl_koord.wording.words import age_at, aimed, asked_for, command, could_not_be_read, count, resource_name

SORTS = ("name", "age", "pods")


class Questions(Struct, frozen=True):
    """What only the command line knows how to ask: names as it takes them, the namespace, the selector."""

    pending: Callable[[Snapshot], PendingGangsReport]
    waiting: Callable[[Snapshot], Sequence[Subject]]
    gang: Callable[[Snapshot, str], WhyReport]
    subject: Callable[[Snapshot, str], Subject]


class Waiting(NamedTuple):
    """Who waits, whatever the cause is: the name as commands take it, the pods, and since when."""

    name: str
    pods: frozenset[str]
    since: str


class State(Struct, frozen=True):
    """What a person has chosen on a screen: the order of a listing, and the causes whose gangs are hidden."""

    sort: str = SORTS[0]
    folded: frozenset[str] = frozenset()
    unfolded: frozenset[str] = frozenset()


class View(Protocol):
    """One screen."""

    @property
    def title(self) -> str:
        """What stands above it; the key of its answer, too."""

    @property
    def shell(self) -> str:
        """The command that prints the same, not aimed yet; empty for none."""

    def ask(self, snapshot: Snapshot) -> Any:  # noqa: ANN401 - each view knows its own
        """Return its answer. Raises KoordError where there is none, such as for what is gone."""

    def lines(self, answer: Any, look: Look, state: State, leads_to: Mapping[str, Target]) -> list[Line]:  # noqa: ANN401
        """Return the lines of an answer."""

    def marks(self, answer: Any) -> Marks:  # noqa: ANN401
        """Return what an answer marks in the map."""


class Overview(Struct, frozen=True):
    """Who waits, by cause."""

    questions: Questions
    shell: str
    title: str = "Pending"

    def ask(self, snapshot: Snapshot) -> PendingGangsReport:
        """Return who waits."""
        return self.questions.pending(snapshot)

    def waiting(self, snapshot: Snapshot) -> tuple[Waiting, ...]:
        """Return who waits, which is known long before it is known why."""
        return tuple(
            Waiting(
                asked_for(one.key, lone_pod=isinstance(one, PodSubject)),
                frozenset(pod.key for pod in one.pending),
                min((pod.created for pod in one.pending), default=""),
            )
            for one in self.questions.waiting(snapshot)
        )

    def lines_now(
        self, answer: PendingGangsReport | None, waiting: Sequence[Waiting], look: Look, state: State, moment: str
    ) -> list[Line]:
        """Return the lines of an answer without those that wait no more, and below it those that are still to come."""
        pods = frozenset(chain.from_iterable(one.pods for one in waiting))
        items = () if answer is None else answer.items
        kept = tuple(item for item in items if not item.pending_pods or not pods.isdisjoint(item.pending_pods))
        known = frozenset(chain.from_iterable(item.pending_pods for item in kept))
        new = [one for one in waiting if known.isdisjoint(one.pods)]
        lines: list[Line] = []
        if answer is None:
            lines.append(look.line(say("Computing why {gangs} wait ...", gangs=count(len(waiting), "gang")), "dim"))
        elif kept or not new:
            lines += self.lines(structs.replace(answer, items=kept), look, state, {})
        if new:
            told = count(sum(len(one.pods) for one in new), "pod")
            lines.append(
                (Cell(f"{len(new):>{_NUMBER - 1}} ", "dim", target=Target("cause", TO_COME)),
                 Cell(say("not answered yet  {told}", told=told), "dim"))
            )  # fmt: skip
        if TO_COME in state.unfolded or (is_short(waiting) and TO_COME not in state.folded):
            lines += [_to_come(one, moment, look) for one in new]
        return lines

    def lines(
        self, answer: PendingGangsReport, look: Look, state: State, _leads_to: Mapping[str, Target]
    ) -> list[Line]:
        """Return a line for each cause, with a bar, and below it its gangs."""
        if not (answer.items or answer.volcano):
            return [look.line(headline(answer), VERDICT_STYLE[answer.verdict])]
        lines = [look.line(incomplete(answer.message), "warn")] if answer.message else []
        items: dict[str, list[WhyReport]] = {}
        for item in answer.items:
            items.setdefault(_code(item), []).append(item)
        most = max(map(len, items.values()), default=0)
        few = is_short(answer)
        for code in sorted(items, key=lambda code: (-len(items[code]), code)):
            some = items[code]
            lines.append(_cause(code, some, most, look))
            if code in state.unfolded or (few and code not in state.folded):
                lines += [_gang(item, answer.basis.moment, look) for item in _sorted(some, state.sort)]
        return [*lines, *_of_volcano(answer.volcano, look)]

    def marks(self, answer: PendingGangsReport) -> Marks:  # noqa: ARG002 - as of others
        """Return that nothing is marked."""
        return NO_MARKS


_FEW = 20
"""Of so many gangs all are shown at once."""
_BAR, _NUMBER, _CAUSE = 16, 5, 24
TO_COME = "to-come"


def _to_come(one: Waiting, moment: str, look: Look) -> Line:
    age = age_at(one.since, moment)
    about = f"  {count(len(one.pods), 'pod')}{f', {age}' if age else ''}"
    return (Cell(" " * _NUMBER), *look.line(one.name, "", Target("gang", one.name)), Cell(about, "dim"))


def is_short(answer: PendingGangsReport | Sequence[Waiting]) -> bool:
    """Tell whether all gangs are shown at once."""
    return len(answer.items if isinstance(answer, PendingGangsReport) else answer) <= _FEW


def _code(item: WhyReport) -> str:
    if item.verdict == "yes":
        return "would-start"
    return item.cause.code if item.cause is not None else item.verdict


def _of_volcano(gangs: Sequence[VolcanoGang], look: Look) -> Iterator[Line]:
    """Yield the gangs that wait for Volcano's scheduler, below their title."""
    if gangs:
        yield look.line(f"{TITLE}: {len(gangs)}", "bold")
    for gang in gangs:
        told = say(
            "{number}{gang}  {phase}  {pods} pending",
            number=" " * _NUMBER,
            gang=gang.gang,
            phase=gang.phase,
            pods=count(len(gang.pending), "pod"),
        )
        yield look.line(told, target=Target("gang", f"podgroup.scheduling.volcano.sh/{gang.gang}"))


def _cause(code: str, items: Sequence[WhyReport], most: int, look: Look) -> Line:
    pods = sum(len(item.pending_pods) for item in items)
    style = VERDICT_STYLE[items[0].verdict]
    drawn = bar(len(items), most, _BAR if look.width >= _NUMBER + _CAUSE + _BAR + _BAR else 4)
    target = Target("cause", code)
    return (
        Cell(f"{len(items):>{_NUMBER - 1}} ", style, target=target),
        Cell(f"{drawn} ", style),
        Cell(code, "bold"),
        Cell(f"  {count(pods, 'pod')}", "dim"),
    )


def _gang(item: WhyReport, moment: str, look: Look) -> Line:
    name = look.clean(asked_for(item.gang, lone_pod=item.lone_pod))
    age = age_at(item.waiting_since, moment)
    about = f"  {count(len(item.pending_pods), 'pod')}{f', {age}' if age else ''}  "
    why_not = look.clean(item.cause.message if item.cause is not None else "")
    room = max(0, look.width - _NUMBER - len(name) - len(about))
    return (
        Cell(" " * _NUMBER),
        Cell(name, target=Target("gang", asked_for(item.gang, lone_pod=item.lone_pod))),
        Cell(about, "dim"),
        Cell(cut(why_not, room).rstrip()),
    )


def _sorted(items: Sequence[WhyReport], sort: str) -> list[WhyReport]:
    match sort:
        case "age":
            return sorted(items, key=lambda item: (item.waiting_since or "~", item.gang))
        case "pods":
            return sorted(items, key=lambda item: (-len(item.pending_pods), item.gang))
        case _:
            return sorted(items, key=lambda item: item.gang)


class Page(Struct, frozen=True):
    """An answer as its command prints it; `gang` is the one that it is about, empty for none."""

    title: str
    shell: str
    question: Callable[[Snapshot], Report]
    beside: Callable[[Snapshot], Report] | None = None
    gang: str = ""

    def ask(self, snapshot: Snapshot) -> tuple[Report, ...]:
        """Return the report, and the one that stands below it, if any."""
        below = (self.beside(snapshot),) if self.beside is not None else ()
        return (self.question(snapshot), *below)

    def lines(self, answer: Sequence[Report], look: Look, _state: State, leads_to: Mapping[str, Target]) -> list[Line]:
        """Return the page."""
        pages = [of_report(one, look, leads_to) for one in answer]
        return [*pages[0], *chain.from_iterable((EMPTY, *page) for page in pages[1:])]

    def marks(self, answer: Sequence[Report]) -> Marks:
        """Return the domains and nodes that it is about."""
        match answer[0]:
            case WhyReport() as report:
                return _of_gang(report)
            case PreemptReport() as report:
                rounds = (one for each in report.rounds for one in each.victims)
                victims = {victim.node for victim in chain(report.victims, rounds)}
                return Marks(victims=victims, placed={*report.nominations.values()} - victims)
            case DomainReport() as report:
                return Marks(domains=[DomainName(report.layer, report.name)])
            case NodeReport() as report:
                return Marks(node=report.node)
            case _:
                return NO_MARKS


def _of_gang(report: WhyReport) -> Marks:
    """Return the best domains for a gang, or where it would be placed."""
    if report.placement:
        return Marks(placed={*report.placement.values()})
    most = max((row.offer_slots for row in report.domains), default=0)
    best = [DomainName(row.layer, row.name) for row in report.domains if row.name and row.offer_slots == most]
    return Marks(domains=best)


class Choosing(Struct, frozen=True):
    """What could be changed for a gang."""

    questions: Questions
    name: str
    shell: str = ""

    @property
    def title(self) -> str:
        """What stands above it."""
        return say("What if: {name}", name=self.name)

    def ask(self, snapshot: Snapshot) -> tuple[Choice, ...]:
        """Return what may be tried."""
        return choices(snapshot, self.questions.subject(snapshot, self.name))

    def lines(self, answer: Sequence[Choice], look: Look, _state: State, _leads_to: Mapping[str, Target]) -> list[Line]:
        """Return a line for each."""
        if not answer:
            return [look.line(say("Nothing of it waits: there is nothing to try."), "good")]
        title = look.line(say("Enter tries it: nothing is sent to the cluster."), "dim")
        return [title, *(_choice(at, one, look) for at, one in enumerate(answer))]

    def marks(self, answer: Sequence[Choice]) -> Marks:  # noqa: ARG002
        """Return that nothing is marked."""
        return NO_MARKS

    def tried(self, choice: Choice) -> "Tried":
        """Return the screen of one of them."""
        return Tried(self.questions, self.name, choice)


def _choice(at: int, one: Choice, look: Look) -> Line:
    target = Target("choice", str(at)) if one.edits else None
    return look.line(f"{'* ' if one.is_proven else '  '}{one.text}", "good" if one.is_proven else "", target)


class Tried(Struct, frozen=True):
    """What the scheduler would do with a gang once something was changed."""

    questions: Questions
    name: str
    choice: Choice
    shell: str = ""

    @property
    def title(self) -> str:
        """What stands above it."""
        return say("What if: {name}: {text}", name=self.name, text=self.choice.text)

    def ask(self, snapshot: Snapshot) -> WhyReport:
        """Return the answer in the changed cluster."""
        edits: tuple[Edit, ...] = self.choice.edits
        return why(snapshot, self.questions.subject(snapshot, self.name), brief=True, edits=edits)

    def lines(self, answer: WhyReport, look: Look, _state: State, leads_to: Mapping[str, Target]) -> list[Line]:
        """Return its page, below what was changed."""
        return [look.line(say("If: {text}", text=self.choice.text), "bold"), (), *of_report(answer, look, leads_to)]

    def marks(self, answer: WhyReport) -> Marks:
        """Return where it would be placed, and the nodes that would be new."""
        added = {edit.like: edit.node for edit in self.choice.edits if isinstance(edit, AddNode)}
        return structs.replace(_of_gang(answer), added=added)


def of_gang(questions: Questions, name: str) -> Page:
    """Return the screen of a gang, pod or job."""
    return Page(
        say("gang {name}", name=name),
        command("why-pending", name),
        lambda snapshot: questions.gang(snapshot, name),
        gang=name,
    )


def of_preemption(questions: Questions, name: str) -> Page:
    """Return the screen with whom preemption would remove for a gang."""
    return Page(
        say("preempt {name}", name=name),
        command("preempt", name),
        lambda snapshot: preempt(snapshot, questions.subject(snapshot, name)),
        gang=name,
    )


def of_node(name: str) -> Page:
    """Return the screen of a node."""

    def ask(snapshot: Snapshot) -> Report:
        if name not in snapshot.nodes:
            raise KoordError(say("error: no node {name!r}", name=name))
        return node_report(snapshot, name)

    return Page(say("node {name}", name=name), command("node", name), ask)


def of_domain(name: str) -> Page:
    """Return the screen of a domain, `LAYER/NAME`."""

    def ask(snapshot: Snapshot) -> Report:
        tree = tree_of(snapshot)
        found = domains_named(tree, name)
        if isinstance(tree, NoTree) or not found:
            raise KoordError(say("error: no domain {name!r}", name=name))
        if len(found) > 1:
            raise KoordError(
                say(
                    "error: several domains: {full_name}",
                    full_name=", ".join(full_name(tree, index) for index in found),
                )
            )
        return domain_report(snapshot, tree, found[0])

    def cards(snapshot: Snapshot) -> Report:
        return devices(snapshot, domain=name.rpartition("/")[2])

    return Page(say("domain {name}", name=name), command("domain", name), ask, cards)


class Quotas(Struct, frozen=True):
    """The quotas as a tree, with what is in use of each as a bar; or one of them."""

    name: str = ""

    @property
    def title(self) -> str:
        """What stands above it."""
        return f"quota {self.name}".rstrip()

    @property
    def shell(self) -> str:
        """The command that prints the same."""
        return command("quota", *([self.name] if self.name else []))

    def ask(self, snapshot: Snapshot) -> QuotaTreeReport:
        """Return the quotas. Raises KoordError where there is none of the name."""
        if self.name and self.name not in names(snapshot):
            raise KoordError(say("error: no quota {name!r}", name=self.name))
        return quotas(snapshot, self.name)

    def lines(self, answer: QuotaTreeReport, look: Look, _state: State, leads_to: Mapping[str, Target]) -> list[Line]:
        """Return the tree, and below it the page."""
        rows = [row for row in answer.quotas if not row.built_in or row.used]
        wide = max((2 * row.depth + len(row.name) for row in rows), default=0)
        tree = [_quota(row, min(wide, look.width // 2), answer, look) for row in rows]
        return [*tree, *([EMPTY] if tree else []), *of_report(answer, look, leads_to)]

    def marks(self, answer: QuotaTreeReport) -> Marks:  # noqa: ARG002 - as of others
        """Return that nothing is marked."""
        return NO_MARKS


def _quota(row: QuotaRow, wide: int, report: QuotaTreeReport, look: Look) -> Line:
    """Return a quota with what it uses of what it may use now."""
    resource = report.resource
    limits = row.runtime or row.max
    used, limit = ((amounts or {}).get(resource, "") for amounts in (row.used, limits))
    is_held = any(one.quota == row.name for one in report.held_back)
    name = cut(look.clean("  " * row.depth + row.name), wide)
    drawn = bar(parse(used or "0"), parse(limit), _BAR) if limit else " " * _BAR
    told = (
        say("  {used} of {limit} {resource_name}", used=used or "?", limit=limit, resource_name=resource_name(resource))
        if limit
        else ""
    )
    own = Cell(name, "bad" if is_held else "", target=Target("quota", row.name))
    return (own, Cell(f"  {drawn}", own.style), Cell(told, "dim"))


def named(words: Sequence[str], questions: Questions, overview: Overview) -> View:
    """Return the screen that a typed command names. Raises KoordError for what is none."""
    verb, *names = words
    name = names[0] if names else ""
    plain: Mapping[str, Callable[[Snapshot], Report]] = {"topo": topo, "gangs": gangs, "devices": devices}
    by_name: Mapping[str, Callable[[str], View]] = {
        "why-pending": lambda one: of_gang(questions, one),
        "gang": lambda one: of_gang(questions, one),
        "preempt": lambda one: of_preemption(questions, one),
        "what-if": lambda one: Choosing(questions, one),
        "node": of_node,
        "domain": of_domain,
        "quota": Quotas,
        "devices": lambda one: Page(
            say("devices {one}", one=one), command("devices", one), lambda seen: devices(seen, (one,))
        ),
    }
    if verb in by_name and name:
        return by_name[verb](name)
    if verb in {"why-pending", "pending", "overview"}:
        return overview
    if verb == "quota":
        return Quotas()
    if verb in plain:
        return Page(verb, command(verb), plain[verb])
    known = sorted({*plain, *by_name})
    raise KoordError(say("error: no screen {verb!r}; there are {known}", verb=verb, known=", ".join(known)))


_LOOKS: Mapping[str, str] = {"bound": "good", "preempted": "bad", "failed": "bad", "new": "warn", "gone": "dim"}


def happenings(found: Sequence[Happened], look: Look) -> list[Line]:
    """Return a line for each thing that happened, the latest first."""
    return [
        (
            Cell(f"{one.when[11:19] or '-':<8} ", "dim"),
            Cell(f"{one.what:<9} ", _LOOKS[one.what]),  # type: ignore[arg-type] # of the table above
            Cell(look.clean(one.who), "bold", target=Target("gang", one.who)),
            Cell(f"  {cut(look.clean(one.text), max(0, look.width - 22 - len(one.who))).rstrip()}"),
        )
        for one in found
    ]


def gaps_told(gaps: Sequence[Gap]) -> str:
    """Return which kinds could not be read; empty where only files lack some."""
    unread = [gap for gap in gaps if gap.code != "not-in-input"]
    return could_not_be_read(unread) if unread else ""


def shown_by(view: View, look: Look) -> str:
    """Return the command that prints what a screen shows, aimed at what is read."""
    more = " --all" if look.everything else ""
    return aimed(f"{view.shell}{more}", look.aim) if view.shell else ""


HELP = (
    (say("Up Down Left Right, j k h l"), say("move; of the map, from node to node")),
    ("Tab", say("go to the list, the map, what happened")),
    (say("Enter, click"), say("open what is marked; fold or unfold a cause")),
    (say("Esc, Backspace"), say("back")),
    ("/", say("show only lines that contain a text")),
    (":", say("go to why-pending, preempt, node, domain, quota, devices, topo, gangs (and a NAME)")),
    ("p", say("whom preemption would remove for this gang, marked in the map")),
    ("w", say("what if: ways out, fewer pods, another layer, without a pod, one more node")),
    ("u", say("quotas")),
    ("s", say("sort the list by name, age or pods")),
    ("a", say("all of it, also what is left out on a screen (--all)")),
    ("m", say("the map alone, and back")),
    ("y", say("copy the command that prints the same")),
    ("?", say("this help")),
    (say("q, Ctrl-C"), say("end")),
)


def help_lines(snapshot: Snapshot | None, look: Look) -> list[Line]:
    """Return what the keys do, and which kinds could not be read."""
    wide = max(width(keys) for keys, _ in HELP)
    room = structs.replace(look, width=max(1, look.width - wide - 2))
    lines: list[Line] = [
        (Cell(f"{keys}{' ' * (wide - width(keys) + 2)}", "bold"), *room.line(text)) for keys, text in HELP
    ]
    gaps = snapshot.gaps if snapshot is not None else ()
    told = [look.line(f"{gap.kind}: {gap.message}", "dim" if gap.code == "not-in-input" else "warn") for gap in gaps]
    return [*lines, EMPTY, look.line(say("What could not be read:"), "bold"), *told] if told else lines


def with_sort(state: State) -> State:
    """Return the next order of a listing."""
    return structs.replace(state, sort=SORTS[(SORTS.index(state.sort) + 1) % len(SORTS)])


def toggled(state: State, code: str, *, is_open: bool) -> State:
    """Return the state with a cause folded or unfolded."""
    if is_open:
        return structs.replace(state, folded=state.folded | {code}, unfolded=state.unfolded - {code})
    return structs.replace(state, folded=state.folded - {code}, unfolded=state.unfolded | {code})
