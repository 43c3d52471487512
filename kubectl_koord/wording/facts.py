"""Sentences, clauses and commands that several answers share."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_koord.engine.reasons import Refused
from kubectl_koord.engine.tree import Domain
from kubectl_koord.language import say
from kubectl_koord.messages.parser import QuotaMessage
from kubectl_koord.model import values
from kubectl_koord.model.installation import Home
from kubectl_koord.model.objects import CARD
from kubectl_koord.model.reservations import ReservationOwner
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import Unevaluated
from kubectl_koord.model.values import Requirement, Selector
from kubectl_koord.reports.capacity import Card, HeldBack
from kubectl_koord.reports.common import BrokenGang, FreedPod
from kubectl_koord.reports.jobs import GangRow, StaleFault, VolcanoCondition, VolcanoGang
from kubectl_koord.wording.refusals import refusal_counts
from kubectl_koord.wording.words import (
    COMMA,
    SEMICOLON,
    amounts_of,
    could_not_be_read,
    count,
    few,
    layer_noun,
    listed,
    noted,
    paste,
    unevaluated_names,
)


def multiples(numbers: Mapping[str, int]) -> str:
    """Return every podCountMultiple with its layer: `podCountMultiple 4 of BlockLayer`."""
    return say(
        "podCountMultiple {part}",
        part=listed([say("{number} of {layer}", number=number, layer=layer) for layer, number in numbers.items()]),
    )


def lost_nodes(refused: Iterable[Refused]) -> str:
    """Return the reasons for which nodes refuse, the commonest first, each with the number of nodes."""
    return listed([noted(why, count(number, "node")) for why, number in refusal_counts(refused)]) or say(
        "the cluster has no nodes"
    )


UNKNOWN_AMOUNT = "?"
FREE, TAKEN, UNHEALTHY = ".", "#", "x"
_SHARED = "+"


def card_signs(cards: Iterable[Card]) -> dict[str, str]:
    """Return a sign for each card, by type: `##+.....`."""
    found: dict[str, str] = {}
    for card in cards:
        found[card.type] = found.get(card.type, "") + _sign(card)
    return found


def _sign(card: Card) -> str:
    if not card.healthy:
        return UNHEALTHY
    if card.share is None:
        return UNKNOWN_AMOUNT
    return FREE if card.share == CARD else _SHARED if card.share else TAKEN


def legend_of_signs(*, is_unseen: bool) -> str:
    """Return what each sign of a card means."""
    unseen = say(", {unknown_amount} not known", unknown_amount=UNKNOWN_AMOUNT) if is_unseen else ""
    return say(
        "{free} whole and free, {shared} in use in part, {taken} in use, {unhealthy} unhealthy{unseen}",
        free=FREE,
        shared=_SHARED,
        taken=TAKEN,
        unhealthy=UNHEALTHY,
        unseen=unseen,
    )


def bar(part: int, whole: int, cells: int = 8) -> str:
    """Return a part of a whole as a bar; neither the part nor what is left is ever drawn as nothing."""
    if whole <= 0:
        return ""
    signs = min(max(round(cells * part / whole), part > 0), cells - (part < whole))
    return TAKEN * signs + FREE * (cells - signs)


ROOT_NAME = "(root)"


def node_state(*, unschedulable: bool, ready: bool) -> str:
    """Return what keeps all pods from a node; empty where nothing does."""
    if unschedulable:
        return say("cordoned")
    return "" if ready else say("not ready")


def several_parents(layer: str, name: str, parents: Sequence[str]) -> str:
    """Return that a domain is named below several parents; an empty name is the root."""
    below = listed([parent or ROOT_NAME for parent in parents])
    return say(
        "{layer} {name} has several parents ({below}): the scheduler treats it as one domain, below "
        "the parent that it reads first.",
        layer=layer,
        name=name,
        below=below,
    )


def eviction_effects(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> str:
    """Return what evicting these pods does to others, to follow a sentence; empty where it does nothing."""
    return "".join(say("; {clause}", clause=clause) for clause in _clauses(pods, broken))


def _clauses(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> Iterator[str]:
    protected = [pod.pod for pod in pods if pod.protected]
    if protected:
        yield say(
            "{protected} {are} protected from preemption",
            protected=listed(protected),
            are="is" if len(protected) == 1 else "are",
        )
    for name, covered in pods_by_budget(pods).items():
        refused = [pod for pod in covered if not pod.evictable]
        if any(pod.pod_disruption_budget is not None and pod.pod_disruption_budget.violated for pod in refused):
            why = say("budget {name} allows no more disruptions", name=name)
        else:
            why = say("budget {name} is not its only one", name=name)
        if refused:
            yield say(
                "the API server refuses to evict {pod} now, as {why}", pod=listed([pod.pod for pod in refused]), why=why
            )
        else:
            yield say("budget {name} allows to evict {pod}", name=name, pod=listed([pod.pod for pod in covered]))
    yield from broken_gangs(broken)
    if not all(pod.budgets_read for pod in pods):
        yield say("PodDisruptionBudgets could not be read")


def broken_gangs(broken: Iterable[BrokenGang]) -> Iterator[str]:
    """Yield a clause for each gang that falls below its minimum."""
    for gang in broken:
        yield say(
            "gang {gang} falls below its minimum ({left} left, {min_member} needed)",
            gang=gang.gang,
            left=gang.left,
            min_member=gang.min_member,
        )


def pods_by_budget(pods: Iterable[FreedPod]) -> Mapping[str, Sequence[FreedPod]]:
    """Group the pods by the PodDisruptionBudget that covers them."""
    found: dict[str, list[FreedPod]] = {}
    for pod in pods:
        if pod.pod_disruption_budget is not None:
            found.setdefault(pod.pod_disruption_budget.name, []).append(pod)
    return found


def amounts_as_counted(resource: str, written: Sequence[str]) -> Sequence[str]:
    """Return amounts of one sentence that are spelled as quantities as people count them, any others as they are."""
    try:
        return amounts_of(resource, *(values.amount(resource, values.parse(one)) for one in written))
    except values.QuantityError:
        return written


def held_back(one: HeldBack) -> str:
    """Return how much one quota holds back, of which gangs."""
    names = [
        f"{subject_name(hold.gang, lone_pod=hold.lone_pod)}{_share_refused(hold.of, len(hold.pods))}"
        for hold in one.gangs
    ]
    much = say("{waiting_for} of ", waiting_for=one.waiting_for) if one.waiting_for else ""
    return say("Quota {quota} holds back {much}{names}.", quota=one.quota, much=much, names=listed(names))


def _share_refused(all_of_them: int, refused: int) -> str:
    return (
        say(" ({refused} of {pods})", refused=refused, pods=count(all_of_them, "pod")) if refused < all_of_them else ""
    )


def more_quotas(number: int) -> str:
    """Return how many more quotas there are."""
    return say("... and {quotas} (--all shows them)", quotas=count(number, "more quota"))


_MOST_RESERVATIONS = 3


def once_placed(landing: Sequence[tuple[str, str]], case: str) -> str:
    """Return a case with where pending reservations are placed before."""
    if not landing:
        return case
    placed = [
        say(
            "reservation {name} is placed {part}",
            name=name,
            part=say("on {node}", node=node) if node else say("over running pods"),
        )
        for name, node in landing[:_MOST_RESERVATIONS]
    ]
    more = (
        [say("{number} more on other nodes", number=len(landing) - _MOST_RESERVATIONS)]
        if len(landing) > _MOST_RESERVATIONS
        else []
    )
    return say("{part}, and {case}", part=COMMA.join([*placed, *more]), case=case)


def resources_exceeded(quota: QuotaMessage) -> Iterator[tuple[str, str, str, str]]:
    """Yield the resources that are over, with what is used, the limit and the request."""
    used, limits, asked = (dict(amounts) for amounts in (quota.used, quota.allowed, quota.request))
    for resource in quota.exceeded:
        yield resource, used.get(resource, "0"), limits.get(resource, "0"), asked.get(resource, "0")


SCHEDULER_REMEMBERS = say("the scheduler remembers that the gang ran")
SCHEDULER_FORGOT = say("the scheduler forgot it in a restart")


def place_may_be_taken(unread: Iterable[Gap]) -> str:
    """Return that jobs of higher priority, which cannot be judged for what was not read, may take the place."""
    return say(
        "jobs of higher priority may take its place: {could_not_be_read}", could_not_be_read=could_not_be_read(unread)
    )


def same_place(jobs: Sequence[str]) -> str:
    """Return that jobs of the same priority need the same place."""
    has, needs = ("has", "needs") if len(jobs) == 1 else ("have", "need")
    return say(
        "{jobs} {has} the same priority and {needs} the same room: the one tried first gets it.",
        jobs=few(jobs),
        has=has,
        needs=needs,
    )


def place_taken(jobs: Sequence[str], *, certain: bool) -> str:
    """Return that jobs of higher priority take the place of one that would be placed without them."""
    has, takes = ("has", "takes") if len(jobs) == 1 else ("have", "take")
    if certain:
        return say(
            "{jobs} {has} higher priority and {takes} its place; otherwise it would be placed.",
            jobs=listed(jobs),
            has=has,
            takes=takes,
        )
    return say(
        "{jobs} {has} higher priority and may take its place; otherwise it would be placed.", jobs=listed(jobs), has=has
    )


def counted_after(jobs: Sequence[str], *, certain: bool) -> str:
    """Return that what is shown is as jobs of higher priority leave it."""
    has, goes, leave, take = ("has", "goes", say("it leaves"), say("it takes"))
    if len(jobs) > 1:
        has, goes, leave, take = ("have", "go", say("they leave"), say("they take"))
    shown = say(
        "{jobs} {has} higher priority and {goes} first: slots, nodes and victims are shown as {leave} them.",
        jobs=listed(jobs),
        has=has,
        goes=goes,
        leave=leave,
    )
    return (
        shown
        if certain
        else say("{shown} Which nodes {take} is open, so that others may be left.", shown=shown, take=take)
    )


def subject_name(name: str, *, lone_pod: bool) -> str:
    """Return what a subject is called within a sentence."""
    return say("pod {name}", name=name) if lone_pod else name


def volcano_state(gang: VolcanoGang) -> str:
    """Return how far a gang is, without its name: `phase Inqueue: 2 pods pending, none running`."""
    pods = [say("{pods} pending", pods=count(len(gang.pending), "pod"))] if gang.pending else []
    pods.append(say("{running} running", running=gang.running or say("none")))
    pods += ended(gang)
    return say("{phase}: {pods}", phase=volcano_phase(gang), pods=COMMA.join(pods))


def ended(gang: VolcanoGang) -> list[str]:
    """Return how many pods of a gang have succeeded, and how many have failed."""
    numbers = ((gang.succeeded, say("succeeded")), (gang.failed, say("failed")))
    return [say("{number} {ended}", number=number, ended=how) for number, how in numbers if number]


def volcano_phase(gang: VolcanoGang) -> str:
    """Return the phase of a PodGroup of Volcano, in words."""
    return say("phase {phase}", phase=gang.phase) if gang.phase else say("no phase yet")


def volcano_gang_gone(key: str) -> str:
    """Return that a gang is there no more."""
    return say("{key} no longer exists: it has no PodGroup of Volcano", key=key)


def newest_condition(gang: VolcanoGang) -> str:
    """Return the newest of its conditions in a line, empty without any."""
    newest = max(gang.conditions, key=lambda one: one.since, default=None)
    return condition_line(newest) if newest is not None else ""


def condition_line(one: VolcanoCondition) -> str:
    """Return a condition in a line: `Unschedulable: NotEnoughResources: 2/2 tasks in gang unschedulable`."""
    head = one.type if one.status in {"True", ""} else f"{one.type}={one.status}"
    return ": ".join(filter(None, (head, one.reason, one.message)))


_STALE: dict[StaleFault, str] = {
    "more-bound": say("stale: enough pods are bound"),
    "fewer-bound": say("stale: too few pods are bound"),
    "used-again": say("stale: it has pods again, and this phase is never left"),
}


def gang_state(item: GangRow) -> str:
    """Return in a word how a gang does: the cause why it waits, or how much of it runs."""
    if item.pending:
        return item.cause or {"yes": "would-start", "no": "(no)", "unknown": "(unknown)"}[item.verdict]
    if item.running:
        return say("running")
    return say("finished") if item.finished else say("no pods") if item.verdict == "yes" else say("pods not read")


def stale_phase(item: GangRow) -> str:
    """Return what the phase of its PodGroup does not know."""
    return say("its phase is {stale}", stale=_STALE[item.stale]) if item.stale else ""


FINALIZERS = "{.metadata.finalizers}"


def edit_scheduler_config(home: Home) -> str:
    """Return what edits the scheduler's configuration."""
    return paste("kubectl", "edit", "configmap", home.config, "-n", home.namespace)


def in_turn(commands: Iterable[str]) -> str:
    """Return commands of which each runs when the one before it has worked."""
    return " && ".join(commands)


def name_and_namespace(key: str) -> tuple[str, str, str]:
    """Return the words that name an object: `NAME -n NAMESPACE`."""
    namespace, _, name = key.partition("/")
    return name, "-n", namespace


def annotate_pod_group(pod_group: str, options: Sequence[str]) -> str:
    """Return the call of this program that sets annotations of a PodGroup."""
    return paste("kubectl", "koord", "annotate", "podgroup", *name_and_namespace(pod_group), *options, "--overwrite")


def patch_pod_group(pod_group: str, patch: str) -> str:
    """Return what merges a patch into a PodGroup."""
    return _merged(patch, "podgroup", *name_and_namespace(pod_group))


def describe(kind: str, key: str) -> str:
    """Return what shows an object with its events."""
    return paste("kubectl", "describe", kind, *name_and_namespace(key))


def describe_named(kind: str, *names: str) -> str:
    """Return what shows objects that are in no namespace, with their events."""
    return paste("kubectl", "describe", kind, *names)


def patch(kind: str, key: str, change: Mapping[str, object]) -> str:
    """Return what changes fields of an object."""
    return _merged(_compact(change), kind, *name_and_namespace(key))


def patch_named(kind: str, name: str, change: Mapping[str, object]) -> str:
    """Return what changes fields of an object that is in no namespace."""
    return _merged(_compact(change), kind, name)


def _merged(patch: str, *named: str) -> str:
    return paste("kubectl", "patch", *named, "--type", "merge", "-p", patch)


def _compact(change: Mapping[str, object]) -> str:
    return json.dumps(change, separators=(",", ":"))


def see_logs(pod: str, container: str, *, previous: bool = False) -> str:
    """Return what shows the log of a container, perhaps of the one before it was started again."""
    before = ("--previous",) if previous else ()
    return paste("kubectl", "logs", *name_and_namespace(pod), "-c", container, *before)


def delete(kind: str, key: str) -> str:
    """Return what deletes an object."""
    return paste("kubectl", "delete", kind, *name_and_namespace(key))


DEVICE_PLUGIN, KOORDLET = say("the device plugin"), "koordlet"


def template_of(owners: Sequence[str]) -> str:
    """Return where fields of pods are to be changed: in what creates them, or in what was applied."""
    return say("the pod template of {owners}", owners=listed(owners)) if owners else say("the manifest")


def at_pods(owners: Sequence[str] | None) -> str:
    """Return where the pods have their topology spec, to follow a sentence; empty where they do not have it (None)."""
    return "" if owners is None else say(" (network-topology-spec in {template})", template=template_of(owners))


def and_recreate(pods: int) -> str:
    """Return that so many pods must be made anew, to follow a sentence."""
    return say(" and recreate the {noun}", noun="pod" if pods == 1 else "pods")


def reservation_owner(one: ReservationOwner) -> str:
    """Return whom one entry of a Reservation's owners means."""
    said = []
    if one.object is not None and (one.object.name or one.object.uid):
        name = one.object.name or say("with uid {uid}", uid=one.object.uid)
        said.append(
            say("pod {namespace}/{name}", namespace=one.object.namespace, name=name)
            if one.object.namespace
            else say("pod {name}", name=name)
        )
    elif one.object is not None and one.object.namespace:
        said.append(say("pods in namespace {namespace}", namespace=one.object.namespace))
    if one.controller is not None:
        named = "/".join(filter(None, (one.controller.kind, one.controller.name)))
        said.append(say("pods of {named}", named=named or say("a controller")))
    if one.selector is not None:
        said.append(
            say("pods with {labels}", labels=_labels(one.selector)) if one.selector.requirements else say("all pods")
        )
    return say(" that are ").join(said) or say("all pods")


def _labels(selector: Selector) -> str:
    return ",".join(map(_expression, selector.requirements))


def _expression(one: Requirement) -> str:
    """Return an expression as kubectl takes it with `-l`."""
    if one.operator == "In" and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    if one.operator in {"Exists", "DoesNotExist"}:
        return one.key if one.operator == "Exists" else f"!{one.key}"
    return f"{one.key} {one.operator.lower()} ({','.join(one.values)})"


def place_clause(domain: Domain | None) -> str:
    """Return a place to follow a sentence, such as ` in spine s0`; empty for the whole cluster."""
    if domain is None:
        return ""
    noun = layer_noun(domain.layer)
    return (
        say(" in {name}", name=domain.name)
        if noun in domain.name
        else say(" in {noun} {name}", noun=noun, name=domain.name)
    )


def in_fields(how: Sequence[str]) -> str:
    """Return fields to follow a sentence, in parentheses; empty without any."""
    return say(" ({note})", note=SEMICOLON.join(how)) if how else ""


def help_depends_on(items: Iterable[Unevaluated]) -> str:
    """Return that whether anything helps depends on what is not evaluated."""
    return say(
        "whether anything helps depends on {unevaluated_names}, which is not evaluated.",
        unevaluated_names=unevaluated_names(items),
    )
