"""The sentences of `why-pending GANG`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress

from kubectl_koord.reports.jobs.pending import Cause, Funnel, PodShape, SlotRow, WhyAlternative, WhyReport
from kubectl_koord.wording import quotas
from kubectl_koord.wording.ages import age_at
from kubectl_koord.wording.pages.common import NEXT_STEPS, and_more, told
from kubectl_koord.wording.words import count, layer_noun, listed, name_within, sentence

WAIT = "Wait until it is scheduled; after some minutes look whether koord-scheduler runs (doctor)"
_FEW_NODES = 3


def headline(report: WhyReport) -> str:
    """Return the verdict in one sentence."""
    name = f"pod {report.gang}" if report.lone_pod else report.gang
    if report.verdict == "unknown" and report.cause and report.cause.code == "plan-not-executable":
        return f"{name} may or may not start: {reason(report)}"
    if report.verdict == "unknown":
        return f"Cannot tell whether {name} would be placed: {reason(report).rstrip('.')}."
    if report.verdict == "no":
        return f"{name} is pending: {reason(report)}"
    if not report.pending_pods and report.lone_pod:
        return f"{name} is on {report.node}." if report.node else f"{name} has finished."
    if not report.pending_pods:
        return f"{name} has no pending pods: {count(report.bound_pods, 'pod')} on a node, {report.min_member} needed."
    return f"{name} {'would be placed now:' if report.placement else 'fits now;'} {place(report)}."


def place(report: WhyReport) -> str:
    """Return how many pods would be placed on which nodes, or that these are open."""
    return where(report.placement) if report.placement else left_to_scoring(len(report.pending_pods))


def left_to_scoring(pods: int) -> str:
    """Return that it is open on which nodes so many pods go."""
    return f"on which {'node' if pods == 1 else 'nodes'} is left to scoring"


def reason(report: WhyReport) -> str:
    """Return what the verdict rests on, in one sentence."""
    if report.cause:
        return report.cause.message
    if report.alternatives:
        return f"{count(len(report.alternatives), 'outcome')} are possible."
    return report.warnings[-1].message if report.warnings else "no reason was found."


def where(placement: Mapping[str, str]) -> str:
    """Return on which nodes pods are placed, or on how many."""
    nodes = sorted(set(placement.values()))
    place = ", ".join(nodes) if len(nodes) <= _FEW_NODES else count(len(nodes), "node")
    return f"{count(len(placement), 'pod')} on {place}"


def remarks(report: WhyReport) -> Iterator[str]:
    """Yield what is to be read below the verdict."""
    if report.verdict == "yes" and report.cause:
        yield sentence(report.cause.message)
    cause = report.cause
    if cause and len(cause.pods) < len(report.pending_pods) and not all(pod in cause.message for pod in cause.pods):
        yield f"Affected pods: {', '.join(name_within(report.gang, pod) for pod in cause.pods)}."
    if report.quota_holders:
        yield quotas.holders(report.quota_holders)
    others = [gang for gang in report.gang_group if gang != report.gang]
    if others:
        yield f"It starts only together with {', '.join(others)} (same gang group)."
    if report.also:
        yield other_problems(report.also)
    if report.funnel and report.funnel.lost and not report.domains:
        yield _funnel(report, report.funnel)


def other_problems(also: Iterable[Cause]) -> str:
    """Return what is wrong besides."""
    told = (f"{one.message.rstrip('.')} ({one.code})" for one in also)
    return f"Other problems: {'; '.join(told)}."


def about(report: WhyReport) -> str:
    """Return what is asked for and since when; empty where no pod waits."""
    if report.priority is None:
        return ""
    parts = [f"Priority {report.priority}"]
    parts += [listed(report.owners)] if report.owners else []
    age = age_at(report.waiting_since, report.basis.moment)
    parts += [f"waiting for {age}"] if age else []
    each = f"; each pod requests {report.shapes[0].requests}" if len(report.shapes) == 1 else ""
    return f"{', '.join(parts)}{each}."


def _funnel(report: WhyReport, funnel: Funnel) -> str:
    lost = ", ".join(f"{number} {why}" for why, number in funnel.lost)
    pod = f" {name_within(report.gang, funnel.pod)}" if funnel.pod else ""
    return f"{funnel.left} of {count(funnel.nodes, 'node')} {'fits' if funnel.nodes == 1 else 'fit'}{pod}: {lost}."


def requested(shapes: Sequence[PodShape]) -> str:
    """Return what each pod requests, or how many request what."""
    if len(shapes) == 1:
        return f"Each pod requests {shapes[0].requests}"
    return f"Its pods request {_by_shape(shapes)}"


def _by_shape(shapes: Sequence[PodShape]) -> str:
    return listed([f"{one.requests} ({count(one.pods, 'pod')})" for one in shapes], "or")


def next_steps(proven: int) -> str:
    """Return the title of the ways out, so many of them proven."""
    return f"{NEXT_STEPS} (cheapest first)" if proven > 1 else NEXT_STEPS


def unproven(step: str) -> str:
    """Return a step that is not proven, and stands below ways out that are, or was tried and is not enough."""
    return f"{step} (may not be enough)"


def no_way_out(why: str) -> str:
    """Return why there is no way out."""
    return f"{NEXT_STEPS}: {why}"


def not_tried(what: str) -> str:
    """Return that there may be more ways out than those that are shown."""
    return f"There may be more: {what}"


def more_ways(number: int) -> str:
    """Return how many more ways out there are."""
    return and_more(f"{count(number, 'more way')} of these kinds")


def more_domains(number: int, most_slots: int) -> str:
    """Return how many more domains there are, and the most slots of any of them."""
    each = f"{count(most_slots, 'slot')} or fewer each" if most_slots else "no slots"
    return and_more(f"{number} more", f", with {each}")


_WHAT_IFS = (
    "without terminating pods",
    "uncordoned",
    "without pods of lower priority",
    "with nothing running",
)


def what_if(noun: str, is_told: Sequence[bool]) -> str:
    """Return the title of the slots of domains if one thing were different, of those what-ifs that are told."""
    return f"Slots per {noun}: {' | '.join(['now', *compress(_WHAT_IFS, is_told)])}"


def in_the_way(domain: SlotRow, *, everything: bool) -> str:
    """Return what is in the way in a domain: on every node, or on the first few."""
    if not domain.obstacles:
        return domain.in_the_way
    return ", ".join(domain.obstacles) if everything else f"{domain.in_the_way} (--all shows them)"


def outcomes(every: Sequence[WhyAlternative]) -> list[str]:
    """Return the outcomes that differ, each with the cases in which it comes."""
    cases: dict[str, list[str]] = {}
    for each in every:
        cases.setdefault(_outcome(each), []).append(each.when)
    return told((whens, outcome) for outcome, whens in cases.items())


def _outcome(each: WhyAlternative) -> str:
    if each.verdict == "yes":
        outcome = f"it would be placed, {where(each.placement)}." if each.placement else "it would be placed."
    elif each.cause:
        outcome = each.cause.message
    else:
        outcome = "it stays pending." if each.verdict == "no" else "unknown."
    return f"{outcome}{_best(each.domains)}"


def _best(domains: Sequence[SlotRow]) -> str:
    if not domains:
        return ""
    best = max(domains, key=lambda domain: domain.offer_slots)
    place = f"{layer_noun(best.layer)} {best.name}" if best.name else "the whole cluster"
    return f" Best: {place}, {count(best.offer_slots, 'slot')}."


def facts(report: WhyReport) -> Iterator[str]:
    """Yield what was counted and what was asked for, to stand in the last line."""
    if report.funnel:
        pod = name_within(report.gang, report.funnel.pod) if report.funnel.pod else report.requests
        stages = [f"{number} {passed}" for passed, number in report.funnel.stages]
        stages += [f"all with room for {pod}"] if report.funnel.nodes and not stages else []
        yield ", ".join([count(report.funnel.nodes, "node"), *stages])
        if len(report.shapes) > 1:
            yield f"its pods request {_by_shape(report.shapes)}"
    elif report.shapes:
        yield requested(report.shapes)
    if report.must_gather:
        noun = layer_noun(report.must_gather)
        is_known = noun != report.must_gather and not (report.cause and report.cause.code == "unknown-layer")
        yield f"MustGather {report.must_gather}{f' (all pods in one {noun})' if is_known else ''}"
