"""The pages of `preempt` and `why-preempted`, and their sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

from kubectl_koord.language import say
from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    EmptyLine,
    Line,
    Row,
    Style,
    Table,
    TreeTable,
    slim,
)
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, outcome_lines, warning_lines
from kubectl_koord.render.pages.place import by_node
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.common import BrokenGang, BudgetHit
from kubectl_koord.reports.jobs import (
    Fate,
    PreemptAlternative,
    PreemptedPod,
    Preemptor,
    PreemptReport,
    Round,
    RoundTime,
    Victim,
    WhyPreemptedReport,
)
from kubectl_koord.wording.words import (
    COMMA,
    NEXT_STEPS,
    SEMICOLON,
    age_at,
    asked_for,
    command,
    count,
    few,
    more,
    name_within,
    spelled,
    the_subject,
    told,
)

BROKEN_GANGS = say("Running gangs that would fall below their minimum")
NOTHING_DELETED = say("computed only: no pod was deleted")
_NEXT = {
    "not-needed": say("Wait: the scheduler places {it} when it next tries it."),
    "policy-never": say("Use a PriorityClass whose preemptionPolicy is not Never, or see what else helps."),
    "terminating-victim": say("Wait until they are gone."),
    "no-pending-pods": say("Nothing is to be done."),
    "preemption-disabled": say("See what else helps, or turn job preemption on in the scheduler's configuration."),
}
_SEE_WHAT_HELPS = say("See why {it} is pending, and what else helps.")
_WHEN: Mapping[RoundTime, str] = {"now": "", "while-terminating": say(", while these terminate"), "after": ""}
_THEN = {True: say("; {it} then runs"), False: say("; {it} still does not run"), None: ""}
_PLACES_OPEN = say("which pod takes which node is open")
_MOST_NAMED = 6
_IN_PART = say("; the pods that are nominated then run")


def headline(report: PreemptReport) -> str:
    """Return whether preemption lets the gang run."""
    if report.verdict == "unknown":
        return say("{gang}: cannot tell what preemption would do.", gang=report.gang)
    if report.reason == "not-needed":
        return say("{gang} needs no preemption.", gang=report.gang)
    if report.verdict == "yes":
        return say("Preemption lets {gang} run.", gang=report.gang)
    return say("Preemption does not let {gang} run.", gang=report.gang)


def preempt_attempt(index: int, victims: int, when: RoundTime, *, repeated: bool, attempts: int = 1) -> str:
    """Return the title of an attempt, the first being 1, of several at once, or of all that follow from it on."""
    title = (
        say("Attempts from {index} on: preempt", index=index)
        if repeated
        else say("Attempt {index}{when}: preempts", index=index, when=_WHEN[when])
    )
    if attempts > 1:
        title = say(
            "Attempts {index} to {index2}{when}: preempt", index=index, index2=index + attempts - 1, when=_WHEN[when]
        )
    return say("{title} {pods}", title=title, pods=count(victims, "pod") if victims else say("no pods"))


def may_follow(victims: int, attempts: int) -> str:
    """Return the title of attempts that may come besides, while the victims of the first terminate."""
    besides = say(" in {attempts}", attempts=count(attempts, "attempt")) if attempts > 1 else ""
    return say(
        "Perhaps{when}: preempts {pods}{besides}",
        when=_WHEN["while-terminating"],
        pods=count(victims, "more pod"),
        besides=besides,
    )


def eviction(pods: Sequence[str], answer: str) -> str:
    """Return what the API server answers to the eviction of pods."""
    return say("Eviction of {pods}: {answer}", pods=say(", ").join(pods), answer=answer)


def budget(hit: BudgetHit | None, pod: str) -> str:
    """Return the budget that covers a pod, and whether preempting it violates that; empty without one."""
    if hit is None:
        return ""
    name = name_within(pod, hit.name)
    return say("{name} (violated)", name=name) if hit.violated else say("{name} (kept)", name=name)


def preempt_outcomes(report: PreemptReport) -> list[str]:
    """Return the outcomes that differ in whom they end, what that breaks or whether it helps; none where none do."""
    alike: dict[object, list[PreemptAlternative]] = {}
    for each in report.alternatives:
        alike.setdefault(_acted_on(each), []).append(each)
    if len(alike) == 1 < len(report.alternatives):
        return []
    return told(([each.when for each in some], _outcome(some, report)) for some in alike.values())


def places_open(report: PreemptReport) -> str:
    """Return that outcomes differ in nothing but the nodes that pods take."""
    return say(
        "{places_open}{places_open2} ({outcomes}).",
        places_open=_PLACES_OPEN[0].upper(),
        places_open2=_PLACES_OPEN[1:],
        outcomes=count(len(report.alternatives), "outcome"),
    )


def _acted_on(each: PreemptAlternative) -> object:
    """Return all of an outcome that somebody acts on: not where its pods go."""
    rounds = tuple((one.when, frozenset(victim.pod for victim in one.victims)) for one in each.rounds)
    victims = frozenset(victim.pod for victim in each.victims)
    return each.verdict, each.helps, each.reason, victims, rounds, each.broken_gangs, bool(each.nominations)


def _outcome(alike: Sequence[PreemptAlternative], report: PreemptReport) -> str:
    each = max(alike, key=lambda one: len(one.may_follow))  # what comes besides in any of them is told
    then = _THEN[each.helps].format(it=the_subject(lone_pod=report.lone_pod))
    then = _IN_PART if each.helps is False and _runs_in_part(each) else then
    broken = (
        say("; breaks {gang}", gang=say(", ").join(hit.gang for hit in each.broken_gangs)) if each.broken_gangs else ""
    )
    why = say(" ({note})", note=each.reason) if each.reason else ""
    places = (
        say("; {places_open}", places_open=_PLACES_OPEN)
        if any(one.nominations != each.nominations for one in alike)
        else _nominated(each, report)
    )
    return say(
        "{killed}{places}{later}{broken}{then}{why}.",
        killed=_killed(each, report),
        places=places,
        later="".join(_later(each)),
        broken=broken,
        then=then,
        why=why,
    )


def _killed(each: PreemptAlternative, report: PreemptReport) -> str:
    """Return whom an outcome ends first; of many by what differs from those that are shown above."""
    killed, above = [one.pod for one in each.victims], [one.pod for one in report.victims]
    if len(killed) <= _MOST_NAMED:
        return say("preempts {killed}", killed=say(", ").join(killed) or say("no pods"))
    if killed == above:
        return say("preempts the {number} pods above", number=len(killed))
    new, gone = [pod for pod in killed if pod not in above], [pod for pod in above if pod not in killed]
    others = len(killed) - len(new)
    if not others:
        return say("preempts {killed}", killed=few(killed, _MOST_NAMED))
    instead = say(" in place of {gone}", gone=few(gone, _MOST_NAMED)) if gone else ""
    if not new:
        return say("preempts {others} of the pods above, not {gone}", others=others, gone=few(gone, _MOST_NAMED))
    return say(
        "preempts {new}{instead}, and {others} of those above",
        new=few(new, _MOST_NAMED),
        instead=instead,
        others=others,
    )


def _runs_in_part(each: PreemptReport | PreemptAlternative) -> bool:
    """Tell whether pods are nominated that run, though not all do: else victims are wasted, or more are needed."""
    return bool(each.nominations) and len(each.rounds) == 1 and not any(victim.wasted for victim in each.victims)


def _later(each: PreemptAlternative) -> Iterator[str]:
    for index, attempt in enumerate(each.rounds[1:], 2):
        if attempt.victims:
            when = say(" ({note})", note=_WHEN[attempt.when].removeprefix(COMMA)) if _WHEN[attempt.when] else ""
            yield say(
                "; attempt {index}{when} preempts {pod}",
                index=index,
                when=when,
                pod=few([victim.pod for victim in attempt.victims], _MOST_NAMED),
            )
    if each.may_follow:
        besides = _together(each.may_follow)
        yield say(
            "; perhaps{when}, preempts {pod}",
            when=_WHEN[besides.when],
            pod=few([victim.pod for victim in besides.victims], _MOST_NAMED),
        )


def _nominated(each: PreemptAlternative, report: PreemptReport) -> str:
    """Return where the pods of an outcome are nominated; that of many is in the tables, or in nobody's head."""
    if not each.nominations or len(each.nominations) > _MOST_NAMED:
        return ""
    pods: dict[str, list[str]] = {}
    for pod, node in each.nominations.items():
        pods.setdefault(node, []).append(name_within(report.gang, pod))
    places = (f"{', '.join(sorted(pods[node]))} -> {node}" for node in sorted(pods))
    return say("; nominated: {places}", places=SEMICOLON.join(places))


def next_step(report: PreemptReport) -> str:  # noqa: PLR0911 - a sentence for each end
    """Return what to do."""
    it = the_subject(lone_pod=report.lone_pod)
    if report.verdict == "unknown" or report.refusing_quota:
        return _SEE_WHAT_HELPS.format(it=it)
    needs = {each.reason != "not-needed" for each in report.alternatives}
    if len(needs) > 1:
        return say("Wait: {it} runs in each of these outcomes.", it=it)
    if report.reason:
        return _NEXT.get(report.reason, _SEE_WHAT_HELPS).format(it=it)
    if report.helps and not any(attempt.victims for attempt in report.rounds):
        return say("Wait until the pods that terminate are gone: {it} then runs.", it=it)
    if not report.helps and _runs_in_part(report):
        return say("Wait for the pods that are nominated, and see why the others are pending.")
    if not report.helps:
        return _SEE_WHAT_HELPS.format(it=it)
    return say("Wait: the scheduler preempts these pods when it next tries {it}.", it=it)


def preempt_facts(report: PreemptReport) -> list[str]:
    """Return the priority of the gang or pod, and that nothing was done where there are victims: for the last line."""
    who = "Pod" if report.lone_pod else "Gang"
    priority = [] if report.priority is None else [say("{who} priority {priority}", who=who, priority=report.priority)]
    preempts = bool(report.victims) or any(attempt.victims for attempt in report.rounds)
    return [*priority, *([NOTHING_DELETED] if preempts else [])]


def blocks(report: PreemptReport, shown: Shown) -> list[Block]:
    """Return the page."""
    breaks = report.broken_gangs and report.verdict == "yes"
    style: Style = "warn" if breaks else VERDICT_STYLE[report.verdict]
    page: list[Block] = [Line(report.message or headline(report), style)]
    if breaks:
        page.append(
            Line(say("It breaks {gangs}: below.", gangs=count(len(report.broken_gangs), "running gang")), "bad")
        )
    index = 1
    for some in _at_once(_attempts(report)):
        page += [EmptyLine(), *_attempt(_together(some), _title(index, some), report.gang, shown)]
        index += len(some)
    if report.may_follow:
        besides = _together(report.may_follow)
        title = may_follow(len(besides.victims), len(report.may_follow))
        page += [EmptyLine(), *_attempt(besides, title, report.gang, shown)]
    if report.broken_gangs:
        page += [EmptyLine(), *broken(report.broken_gangs)]
    page += [block for line in _wasted(report) for block in (EmptyLine(), line)]
    outcomes = preempt_outcomes(report)
    page += outcome_lines(outcomes, shown)
    differ = any(one.nominations != report.alternatives[0].nominations for one in report.alternatives)
    page += [EmptyLine(), Line(places_open(report))] if differ and not outcomes else []
    page += [EmptyLine(), Line(NEXT_STEPS, "bold"), Bullets(tuple(_next(report)))]
    facts = preempt_facts(report)
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis, facts)]


def _at_once(attempts: Iterable[Round]) -> Iterator[list[Round]]:
    """Yield attempts, those together that follow each other while the victims of the first terminate."""
    for _, some in groupby(enumerate(attempts), lambda item: -1 if item[1].when == "while-terminating" else item[0]):
        yield [attempt for _, attempt in some]


def _title(index: int, some: Sequence[Round]) -> str:
    together, first = _together(some), some[0]
    is_repeated = bool(first.victims and not first.nominations)  # those change with each attempt
    return preempt_attempt(index, len(together.victims), first.when, repeated=is_repeated, attempts=len(some))


def _together(attempts: Sequence[Round]) -> Round:
    """Return attempts as one: all victims, each once, and where pods are nominated in the end."""
    victims = {victim.pod: victim for attempt in attempts for victim in attempt.victims}
    nominations = {pod: node for attempt in attempts for pod, node in attempt.nominations.items()}
    return Round(tuple(victims.values()), nominations, attempts[0].when)


def _attempts(report: PreemptReport) -> Sequence[Round]:
    if report.rounds or not (report.victims or report.nominations):
        return report.rounds
    return (Round(report.victims, report.nominations),)


def _attempt(attempt: Round, title: str, gang: str, shown: Shown) -> Iterator[Block]:
    yield Line(title, "bold")
    if attempt.victims:
        yield from victims(attempt.victims, shown)
    if attempt.nominations:
        yield EmptyLine()
        yield from by_node(attempt.nominations, gang, shown, say("NOMINATED PODS"))


def victims(killed: Sequence[Victim], shown: Shown) -> Iterator[Block]:
    """Yield the pods that would be preempted, by domain."""
    ordered = sorted(killed, key=lambda victim: (victim.domain, victim.node, victim.pod))
    first, rest = parted(ordered, shown.lines)
    columns = (
        Column("VICTIM"),
        Column("NODE", goes=4),
        Column("PRIORITY", right=True, goes=2),
        Column("BELONGS TO", goes=3),
        Column("AGE", right=True, goes=1),
        Column("BUDGET"),
        Column("NOTE"),
    )
    rows: list[Row] = []
    for domain, group in groupby(first, lambda victim: victim.domain):
        rows += [Row((domain, *[""] * (len(columns) - 1)))] if domain else []
        rows += [_victim(victim, depth=1 if domain else 0) for victim in group]
    yield slim(TreeTable(columns, tuple(rows), indent=2))
    if rest:
        yield more_line(more(len(rest), "more victim"))
    answers: dict[str, list[str]] = {}
    for victim in ordered:
        if victim.eviction:
            answers.setdefault(victim.eviction, []).append(victim.pod)
    for answer, pods in answers.items():
        yield Line(eviction(pods, answer), indent=2)


def _victim(victim: Victim, depth: int) -> Row:
    cells = (
        victim.pod,
        victim.node,
        str(victim.priority),
        victim.gang or victim.owner or "",
        "" if victim.age_seconds is None else spelled(timedelta(seconds=victim.age_seconds)),
        budget(victim.pod_disruption_budget, victim.pod),
        say("wasted") if victim.wasted else "",
    )
    violated = victim.pod_disruption_budget is not None and victim.pod_disruption_budget.violated
    return Row(cells, "bad" if victim.wasted or violated else "", depth)


def broken(gangs: Sequence[BrokenGang]) -> Iterator[Block]:
    """Yield the gangs that fall below their minimum."""
    yield Line(BROKEN_GANGS, "bad")
    columns = (
        Column("GANG"),
        Column("RUNNING", right=True, goes=1),
        Column("LEFT", right=True),
        Column("MINIMUM", right=True),
    )
    yield Table(
        columns, tuple(Row((gang.gang, str(gang.bound), str(gang.left), str(gang.min_member))) for gang in gangs)
    )


def _wasted(report: PreemptReport) -> Iterator[Line]:
    attempts = _attempts(report)
    wasted = {victim.pod: None for attempt in attempts for victim in attempt.victims if victim.wasted}
    if wasted:
        yield Line(
            say(
                "Wasted victims: {wasted} ({gang} would still not run).",
                wasted=say(", ").join(wasted),
                gang=report.gang,
            ),
            "bad",
        )


def _next(report: PreemptReport) -> Iterator[Bullet]:
    asked = asked_for(report.gang, lone_pod=report.lone_pod)
    yield Bullet(next_step(report), command("why-pending", asked))


SPARED = say(
    "Job preemption spares pods with label scheduling.koordinator.sh/disable-preemptible=true, "
    "and pods of equal or higher priority."
)
_PLUGINS: dict[str, str] = {
    "job-preemption": say("job preemption"),
    "elastic-quota": say("quota preemption"),
    "other": say("ElasticQuota, Reservation or DefaultPreemption"),
}
_FATES: dict[Fate, str] = {
    "placed": say("runs: {bound} on nodes{minimum}."),
    "partly-placed": say("runs partly: {bound} on nodes{minimum}, {pending} pending."),
    "pending": say("is still pending: the preemption has not helped so far ({pending} pending{minimum})."),
    "gone": say("no longer exists."),
    "unknown": say("could not be read."),
}
_WAITS = say("is still pending: it waits for its victims to terminate ({pending} pending{minimum}).")


def why_preempted_headline(report: WhyPreemptedReport) -> str:
    """Return which pods were preempted, by which preemptors and plugins."""
    if not report.pods:
        start = (
            say("no evidence of preemption") if report.verdict == "no" else say("cannot tell whether it was preempted")
        )
        return say("{asked}: {start}: {message}", asked=report.asked, start=start, message=report.message)
    victims = (
        report.asked
        if report.is_pod
        else say("{pods} of {asked}", pods=count(len(report.pods), "pod"), asked=report.asked)
    )
    verb = "was" if len(report.pods) == 1 else "were"
    plugins = [_PLUGINS.get(plugin, plugin) for plugin in dict.fromkeys(pod.plugin for pod in report.pods) if plugin]
    how = say(" ({note})", note=say(", ").join(plugins)) if plugins else ""
    if not report.preemptors:
        return say("{victims} {verb} preempted{how}; the preemptor is unknown.", victims=victims, verb=verb, how=how)
    return say(
        "{victims} {verb} preempted by {name}{how}.",
        victims=victims,
        verb=verb,
        name=say(", ").join(each.name for each in report.preemptors),
        how=how,
    )


def fate(each: Preemptor, report: WhyPreemptedReport) -> str:
    """Return what became of a preemptor."""
    minimum = say(", minimum {min_member}", min_member=each.min_member) if each.min_member is not None else ""
    waits = any(pod.preemptor == each.name and pod.state == "terminating" for pod in report.pods)
    state = _WAITS if each.state == "pending" and waits else _FATES[each.state]
    priority = say(" (priority {priority})", priority=each.priority) if each.priority is not None else ""
    what = state.format(bound=each.bound, pending=each.pending, minimum=minimum)
    return f"{name_within(report.asked, each.name)}{priority} {what}"


def evidence(source: str, pods: Sequence[str], text: str) -> str:
    """Return a text that the answer rests on, and the pods that carry it."""
    return say('The {source} of {pods} says: "{text}"', source=source, pods=say(", ").join(pods), text=text)


def check(preemptor: str) -> str:
    """Return that it should be looked at why a preemptor is pending."""
    return say("Check why {preemptor} is pending.", preemptor=preemptor)


_COLUMNS = (
    Column("POD"),
    Column("NODE", goes=4),
    Column("PRIORITY", right=True, goes=3),
    Column("WHEN", right=True),
    Column("STATE"),
    Column("PREEMPTOR"),
    Column("PREEMPTOR PRIORITY", right=True, goes=2),
    Column("TRIGGER POD", goes=1),
)


def why_preempted_blocks(report: WhyPreemptedReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(why_preempted_headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(fate(each, report)) for each in report.preemptors]
    if report.pods:
        pods, rest = parted(report.pods, shown.lines)
        page += [EmptyLine(), slim(Table(_COLUMNS, tuple(_row(pod, report) for pod in pods)))]
        if rest:
            page.append(more_line(more(len(rest))))
        page += [EmptyLine(), *_evidence(report, shown)]
    steps = tuple(_why_preempted_next(report))
    page += [EmptyLine(), Line(NEXT_STEPS, "bold"), Bullets(steps)] if steps else []
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _row(pod: PreemptedPod, report: WhyPreemptedReport) -> Row:
    cells = (
        name_within(report.asked, pod.pod),
        pod.node,
        "" if pod.priority is None else str(pod.priority),
        age_at(pod.when, report.basis.moment) or pod.when,
        pod.state,
        name_within(report.asked, pod.preemptor or ""),
        "" if pod.preemptor_priority is None else str(pod.preemptor_priority),
        name_within(report.asked, pod.trigger_pod or ""),
    )
    return Row(cells)


def _evidence(report: WhyPreemptedReport, shown: Shown) -> Iterator[Line]:
    """Yield each distinct text that the answer rests on, with the pods that carry it."""
    pods: dict[tuple[str, str], list[str]] = {}
    for pod in report.pods:
        for each in pod.evidence:
            pods.setdefault((each.source, each.text), []).append(name_within(report.asked, pod.pod))
    texts, rest = parted(list(pods.items()), shown.rows)
    for (source, text), names in texts:
        yield Line(evidence(source, names, text), "dim")
    if rest:
        yield Line(more(len(rest), "more text"), "dim")


def _why_preempted_next(report: WhyPreemptedReport) -> Iterator[Bullet]:
    for each in report.preemptors:
        if each.state in {"pending", "partly-placed"}:
            first = each.name.partition(",")[0]
            yield Bullet(check(name_within(report.asked, first)), command("why-pending", first))
    if report.preemptors and any(pod.plugin == "job-preemption" for pod in report.pods):
        yield Bullet(SPARED)
