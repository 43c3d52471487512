"""What quotas mean for those who wait: headroom, who holds it, and what is wrong with them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis.coverage import not_evaluated
from kubectl_koord.engine.gangs import Subject, never_tried
from kubectl_koord.engine.quota.state import (
    Held,
    QuotaRoom,
    QuotaState,
    headroom,
    held_back,
    is_on,
    lending,
    over_used,
    quota_state,
    revoked,
)
from kubectl_koord.engine.quota.tree import QuotaTree, add, exceeding, quota_tree
from kubectl_koord.engine.quota.usage import Pod, all_running, by_kind, is_fixed, requested, running_in
from kubectl_koord.engine.reasons import QuotaExceeded
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import View
from kubectl_koord.language import STOP, say
from kubectl_koord.model import objects, values
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import BUILT_IN, ROOT, Quota, quota_labels
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import OpenQuota, QuotaSetting
from kubectl_koord.model.values import Resources
from kubectl_koord.reports.capacity import (
    ChainLevel,
    Eviction,
    Headroom,
    HeldBack,
    Hold,
    OverUse,
    QuotaFinding,
    QuotaPod,
    Severity,
    Share,
    Spelled,
)
from kubectl_koord.reports.common import QuotaFindingCode
from kubectl_koord.wording.refusals import refusal_sentence
from kubectl_koord.wording.words import (
    amounts,
    amounts_of,
    could_not_be_read,
    count,
    listed,
    main_amounts,
    resource_name,
    unevaluated_names,
)

REMEDIES: Mapping[QuotaFindingCode, str] = {
    "quota-same-name": say("Rename all but one: the name alone tells quotas apart, the namespace does not count."),
    "quota-same-namespace": say("List a namespace in the annotation namespaces of one quota only."),
    "quota-no-parent": say("Create the parent, or correct the label parent."),
    "quota-cycle": say("Correct the label parent of one of them."),
    "quota-other-tree": say("Give it the tree-id of its parent, or another parent."),
    "quota-parent-without-label": say("Label the parent is-parent=true, once no pod counts against it."),
    "quota-negative": say("Correct the amount: none may be below 0."),
    "quota-min-above-max": say("Raise max, or lower min; every resource of min needs a max."),
    "quota-max-below-used": say("Raise max, or end pods of the quota."),
    "quota-unreadable": say("Write it as JSON: until then the scheduler takes it as not written."),
    "quota-resources-differ": say("Give max the same resources in the whole tree."),
    "quota-min-not-in-parent": say("Add the resource to min of the parent, or take it out."),
    "quota-min-above-parent": say("Raise min of the parent, or lower those below it."),
    "quota-min-above-total": say("Lower minimums, or add nodes: until then each gets its part."),
    "quota-pods-in-parent": say(
        "Move the pods to a quota below it: its runtime goes to those below, whatever they leave."
    ),
    "quota-unknown": say(
        "Create the quota, or correct the label: until then the pods count against the default quota."
    ),
    "quota-over-used": say("Wait until pods end: until then no pod of its own is admitted."),
    "quota-used-differs": say("Nothing, if it is the same a second later: pods that wait in Permit count there, too."),
    "quota-runtime-differs": say(
        "Nothing, if it is the same 10 seconds later; else check the scheduler's configuration."
    ),
}
"""What to do, by code."""
OVER_ITS_MAX = say("Raise max, or end pods: it uses more than its max, which a higher min does not change.")
MIN_DOES_NOT_HELP = say("Wait until pods end: a higher min alone does not give it as much.")


def raise_min(amounts_used: Sequence[tuple[str, int]]) -> str:
    """Return which minimum lets a quota use what it uses."""
    return say(
        "Wait until pods end, or raise min to {amounts}: until then no pod of its own is admitted.",
        amounts=amounts(amounts_used),
    )


def same_name(name: str, namespaces: Sequence[str]) -> str:
    """Return in which namespaces there are quotas of one name."""
    return say(
        "there are {number} quotas called {name}: in namespaces {namespaces}.",
        number=len(namespaces),
        name=name,
        namespaces=listed(namespaces),
    )


def no_parent(parent: str) -> str:
    """Return that a parent does not exist."""
    return say("its parent {parent} does not exist: what becomes of it is not defined.", parent=parent)


def cycle(chain: Sequence[str]) -> str:
    """Return that a quota is below itself."""
    return say("it is below itself: {chain}.", chain=" < ".join(chain))


def _tree(tree: str) -> str:
    return say("tree {tree}", tree=tree) if tree else say("the default tree")


def negative(field: str, amount: Resources) -> str:
    """Return which amounts are below zero."""
    return say("{field} is below 0: {amounts}.", field=field, amounts=amounts(amount))


def min_above_max(resource: str, least: int, most: int | None) -> str:
    """Return that a minimum has no maximum, or is above it."""
    said, *above = amounts_of(resource, *(number for number in (least, most) if number is not None))
    return say(
        "min is {said} {resource_name}, max {above}.",
        said=said,
        resource_name=resource_name(resource),
        above=above[0] if above else say("has none"),
    )


def max_below_used(resource: str, most: int, used: int) -> str:
    """Return that a maximum is below what is used, where it must not be."""
    limit, has = amounts_of(resource, most, used)
    return say(
        "max is {limit} {resource_name}, which must not be below the {has} used.",
        limit=limit,
        resource_name=resource_name(resource),
        has=has,
    )


def unreadable(annotations: Sequence[str]) -> str:
    """Return which annotations cannot be read."""
    return say("{annotations} cannot be read.", annotations=listed(annotations))


def resources_differ(parent: str, more: Sequence[str], fewer: Sequence[str]) -> str:
    """Return which resources a maximum has and its parent's has not, and the other way round."""
    parts = [say("{more} {are} in max here only", more=listed(more), are=_are(more))] if more else []
    parts += (
        [say("{fewer} {are} in max of {parent} only", fewer=listed(fewer), are=_are(fewer), parent=parent)]
        if fewer
        else []
    )
    return say(
        "{parts}: what the parent lacks is not shared out, and what the quota lacks is not limited.",
        parts=listed(parts),
    )


def _are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def min_above_parent(resource: str, own: int, below: int, children: int) -> str:
    """Return that the minimums below a quota come to more than its own."""
    together, alone = amounts_of(resource, below, own)
    what = say(
        "min of {quotas} below it comes to {together} {resource_name}",
        quotas=count(children, "quota"),
        together=together,
        resource_name=resource_name(resource),
    )
    return say("{what}, its own is {alone}.", what=what, alone=alone)


def min_above_total(resource: str, total: int, sum_of_min: int, *, scaled: bool) -> str:
    """Return that minimums come to more than there is, and what then happens."""
    then = say("each is scaled down") if scaled else say("they are not scaled down, and runtimes exceed what there is")
    together, there = amounts_of(resource, sum_of_min, total)
    return say(
        "minimums come to {together} {resource_name}, and there are {there}: {then}.",
        together=together,
        resource_name=resource_name(resource),
        there=there,
        then=then,
    )


def pods_in_parent(requested: Resources) -> str:
    """Return what pods request of a quota that is a parent."""
    return say("it is a parent, and pods of its own request {amounts}.", amounts=amounts(requested))


def unknown_quota(pods: int, example: str, quota: str) -> str:
    """Return that pods name a quota that does not exist; `quota` is what they count against, empty for none."""
    then = say(
        "{part} against {quota}", part=say("it counts") if pods == 1 else say("they count"), quota=quota or say("none")
    )
    return say(
        "{pods} (such as {example}) {verb} it, it does not exist: {then}.",
        pods=count(pods, "pod"),
        example=example,
        verb="names" if pods == 1 else "name",
        then=then,
    )


def uses_too_much(used: Resources, runtime: Mapping[str, int]) -> str:
    """Return that a quota uses more than it may, of these resources."""
    parts = [f"{' of '.join(amounts_of(name, number, runtime[name]))} {resource_name(name)}" for name, number in used]
    return say("it uses more than its runtime: {parts}.", parts=listed(parts))


def differs(resource: str, field: str, written: int, computed: int) -> str:
    """Return that what the scheduler wrote is not what is computed; the answer rests on that."""
    told, ours = amounts_of(resource, written, computed)
    what = say(
        "the scheduler wrote {field} {told} {resource_name}",
        field=field,
        told=told,
        resource_name=resource_name(resource),
    )
    return say("{what}, computed are {ours}; answers rest on what is computed.", what=what, ours=ours)


_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


def findings(view: View, state: QuotaState) -> tuple[QuotaFinding, ...]:
    """Return what is wrong with the quotas of a cluster, errors first."""
    found = [*_written(state.tree), *_by_pods(view, state), *_by_amounts(state)]
    return _sorted(found)


def of_quotas(tree: QuotaTree) -> tuple[QuotaFinding, ...]:
    """Return what the quotas tell alone, where pods or nodes were not read."""
    return _sorted(_written(tree))


def _sorted(found: Iterable[QuotaFinding]) -> tuple[QuotaFinding, ...]:
    return tuple(sorted(found, key=lambda one: (_RANK[one.severity], one.code, one.object, one.message)))


def _finding(severity: Severity, code: QuotaFindingCode, name: str, message: str) -> QuotaFinding:
    return QuotaFinding(code, severity, name, message, REMEDIES[code])


def _written(tree: QuotaTree) -> Iterator[QuotaFinding]:
    yield from _names(tree)
    for quota in tree.written:
        if quota.name not in BUILT_IN:
            yield from _own_amounts(quota)
            yield from _place(quota, tree)
    for (_, parent), children in tree.children.items():
        if parent in tree.quotas and parent not in BUILT_IN:
            yield from _below(tree.quotas[parent], children)


def _names(tree: QuotaTree) -> Iterator[QuotaFinding]:
    homes: dict[str, list[str]] = defaultdict(list)
    listing: dict[str, set[str]] = defaultdict(set)
    for quota in tree.written:
        homes[quota.name].append(quota.namespace)
        for namespace in quota.namespaces:
            listing[namespace].add(quota.name)
    for name, namespaces in homes.items():
        if len(namespaces) > 1:
            yield _finding("error", "quota-same-name", name, same_name(name, sorted(namespaces)))
    for namespace, names in listing.items():
        if len(names) > 1:
            quotas = sorted(names)
            message = say(
                "namespace {namespace} is listed by quotas {quotas}: which one its pods get is not defined.",
                namespace=namespace,
                quotas=listed(quotas),
            )
            yield _finding("error", "quota-same-namespace", quotas[0], message)


def _own_amounts(quota: Quota) -> Iterator[QuotaFinding]:
    for field, given in (("min", quota.min), ("max", quota.max), ("shared-weight", quota.weight)):
        below = tuple((resource, amount) for resource, amount in given if amount < 0)
        if below and (field != "shared-weight" or quota.weight != quota.max):
            yield _finding("error", "quota-negative", quota.name, negative(field, below))
    most = dict(quota.max)
    for resource, least in quota.min:
        if least > most.get(resource, least - 1):
            message = min_above_max(resource, least, most.get(resource))
            yield _finding("error", "quota-min-above-max", quota.name, message)
    for resource, used in quota.used or ():
        if resource in quota.strict and used > most.get(resource, used):
            message = max_below_used(resource, most[resource], used)
            yield _finding("error", "quota-max-below-used", quota.name, message)
    if quota.unreadable:
        yield _finding("error", "quota-unreadable", quota.name, unreadable(quota.unreadable))


def _place(quota: Quota, tree: QuotaTree) -> Iterator[QuotaFinding]:
    """Yield what is wrong with where a quota stands: a parent, and what it has of it."""
    if quota.parent == ROOT:
        return
    parent = tree.quotas.get(quota.parent)
    if parent is None or parent.name in BUILT_IN:
        yield _finding("error", "quota-no-parent", quota.name, no_parent(quota.parent))
        return
    loop = _loop(quota, tree)
    if loop:
        yield _finding("error", "quota-cycle", quota.name, cycle(loop))
        return
    if quota.tree != parent.tree:
        message = say(
            "it is in {tree}, its parent {name} in {tree2}.",
            tree=_tree(quota.tree),
            name=parent.name,
            tree2=_tree(parent.tree),
        )
        yield _finding("error", "quota-other-tree", quota.name, message)
    own, above = {resource for resource, _ in quota.max}, {resource for resource, _ in parent.max}
    if own != above:
        message = resources_differ(parent.name, sorted(own - above), sorted(above - own))
        yield _finding("error", "quota-resources-differ", quota.name, message)
    extra = sorted({resource for resource, _ in quota.min} - {resource for resource, _ in parent.min})
    if extra:
        message = say("min has {extra}, which min of {name} has not.", extra=listed(extra), name=parent.name)
        yield _finding("error", "quota-min-not-in-parent", quota.name, message)


def _loop(quota: Quota, tree: QuotaTree) -> list[str]:
    """Return the chain from a quota up to itself; nothing where it ends, or does not come back to it."""
    chain = [quota.name]
    above = tree.quotas.get(quota.parent)
    while above is not None and above.name not in chain:
        chain.append(above.name)
        above = tree.quotas.get(above.parent)
    return [*chain, quota.name] if above is not None and above.name == quota.name else []


def _below(parent: Quota, children: Sequence[Quota]) -> Iterator[QuotaFinding]:
    if not parent.is_parent:
        message = say(
            "it is not labelled is-parent=true, and is the parent of {name}.",
            name=listed([child.name for child in children]),
        )
        yield _finding("error", "quota-parent-without-label", parent.name, message)
    if parent.heads_tree or parent.forced:
        return
    least, total = dict(parent.min), _minimums(children)
    for resource, amount in sorted(total.items()):
        if amount > least.get(resource, 0):
            message = min_above_parent(resource, least.get(resource, 0), amount, len(children))
            yield _finding("error", "quota-min-above-parent", parent.name, message)


def _minimums(quotas: Iterable[Quota]) -> dict[str, int]:
    total: dict[str, int] = {}
    for quota in quotas:
        add(total, quota.min)
    return total


def _by_pods(view: View, state: QuotaState) -> Iterator[QuotaFinding]:
    tree = state.tree
    for name, sums in state.own.items():
        if tree.quotas[name].is_parent and name not in BUILT_IN:
            asked = tuple(sorted((resource, amount) for resource, amount in sums.request.items() if amount))
            yield _finding("warning", "quota-pods-in-parent", name, pods_in_parent(asked))
    strangers = Counter[str]()
    numbers = [(kind, len(alike.pods)) for kind, alike in all_running(view.snapshot).items()]
    numbers += [(kind, len(alike.pods)) for kind, alike in by_kind(view.snapshot.pending).items()]
    for kind, number in numbers:
        meant = tree.meant_by(*kind)
        if meant and meant not in tree.quotas:
            strangers[meant] += number
    examples = _examples(view.snapshot, strangers) if strangers else {}
    for name, number in strangers.items():
        message = unknown_quota(number, examples[name].key, tree.name_of(examples[name]))
        yield _finding("warning", "quota-unknown", name, message)


def _examples(snapshot: Snapshot, quotas: Collection[str]) -> Mapping[str, Pod]:
    """Return by quota the first pod whose label names it; those on nodes go first."""
    found: dict[str, Pod] = {}
    pods: Iterable[Pod] = chain(*snapshot.running.values(), snapshot.pending)
    for pod in pods:
        name = quota_labels(pod.labels)[0] or ""
        if name in quotas:
            found.setdefault(name, pod)
    return found


def _by_amounts(state: QuotaState) -> Iterator[QuotaFinding]:
    tree = state.tree
    for name, resources in over_used(state).items():
        used = tuple((resource, state.used(name)[resource]) for resource in resources)
        message = uses_too_much(used, state.runtime(name))
        yield QuotaFinding(
            "quota-over-used", "warning", name, message, _what_helps(state, tree.quotas[name], resources)
        )
    for (of, parent), children in tree.children.items():
        if parent != ROOT:
            continue
        there = state.total(of)
        for resource, amount in sorted(_minimums(children).items()):
            if amount > there.get(resource, 0):
                message = min_above_total(
                    resource, there.get(resource, 0), amount, scaled=tree.settings.scale_min and resource in there
                )
                yield _finding("warning", "quota-min-above-total", children[0].parent, message)
    for name in tree.bottom_up:
        if name not in tree.faults:
            yield from _differing(tree.quotas[name], state)


def _what_helps(state: QuotaState, quota: Quota, over: Sequence[str]) -> str:
    """Return what brings a quota within what it may use: a higher minimum only where that, computed anew, is enough."""
    most, used = dict(quota.max), state.used(quota.name)
    if any(used[resource] > most.get(resource, used[resource]) for resource in over):
        return OVER_ITS_MAX
    least = {**dict(quota.min), **{resource: used[resource] for resource in over}}
    raised = structs.replace(quota, min=tuple(sorted(least.items())))
    others = tuple(raised if one.key == quota.key else one for one in state.tree.written)
    after = state.with_limits(state.tree.with_limits(others))
    helps = not exceeding(after.used(quota.name), after.runtime(quota.name))
    return raise_min([(one, used[one]) for one in over]) if helps else MIN_DOES_NOT_HELP


def _differing(quota: Quota, state: QuotaState) -> Iterator[QuotaFinding]:
    """Yield where the scheduler wrote other numbers than are computed; it writes those above zero, with a delay."""
    for resource, written in quota.used or ():
        computed = state.used(quota.name).get(resource, 0)
        if written != computed:
            message = differs(resource, "used", written, computed)
            yield _finding("info", "quota-used-differs", quota.name, message)
    if quota.is_parent:
        return
    runtime = state.runtime(quota.name)
    for resource, written in quota.runtime or ():
        if written != runtime.get(resource, written):
            message = differs(resource, "runtime", written, runtime[resource])
            yield _finding("info", "quota-runtime-differs", quota.name, message)


def spelled(amounts: Mapping[str, int]) -> Spelled:
    """Return amounts as exact quantities, in the order of the resources."""
    return {resource: values.spell(resource, number) for resource, number in sorted(amounts.items())}


def state_of(view: View) -> QuotaState:
    """Return the state of the quotas of a cluster."""
    return quota_state(view, rules(view.snapshot.config.version))


def tried(pods: Iterable[PendingPod], snapshot: Snapshot) -> tuple[PendingPod, ...]:
    """Return the pods that the scheduler takes from its queue: no gate, no end, no other scheduler keeps them."""
    profiles = snapshot.config.profiles
    return tuple(pod for pod in pods if not pod.gates and not pod.terminating and pod.scheduler in profiles)


def held_of(state: QuotaState, snapshot: Snapshot) -> Mapping[str, tuple[Held, ...]]:
    """Return by quota the pods that it refuses, among those that the scheduler tries."""
    return held_back(state, tried(snapshot.pending, snapshot))


def of_namespace(view: View, namespace: str = "") -> tuple[HeldBack, ...]:
    """Return which quotas hold back what of the gangs of a namespace, of all for none; nothing where that is open."""
    snapshot = view.snapshot
    limited = any(quota_tree(snapshot).may_refuse(pod) for pod in snapshot.pending)
    if not limited or coverage.unread(snapshot, "quotas"):
        return ()
    state = state_of(view)
    found = held_of(state, snapshot)
    here = {
        name: tuple(held for held in some if not namespace or held.pod.namespace == namespace)
        for name, some in found.items()
    }
    return reported(here, state, snapshot)


def reported(found: Mapping[str, tuple[Held, ...]], state: QuotaState, snapshot: Snapshot) -> tuple[HeldBack, ...]:
    """Return which quotas hold back what, by gang."""
    waiting = Counter((state.tree.name_of(pod), pod.gang) for pod in snapshot.pending) if found else Counter()
    return tuple(_of_quota(name, some, waiting) for name, some in found.items() if some)


def _of_quota(name: str, held: tuple[Held, ...], waiting: Mapping[tuple[str, str], int]) -> HeldBack:
    gangs: dict[str, list[Held]] = {}
    for one in held:
        gangs.setdefault(one.pod.gang or one.pod.key, []).append(one)
    total = _requests(held)
    return HeldBack(
        quota=name,
        requests=spelled(total),
        gangs=tuple(_hold(gang, some, waiting[name, some[0].pod.gang]) for gang, some in sorted(gangs.items())),
        waiting_for=main_amounts(total),
    )


def _hold(gang: str, held: list[Held], waiting: int) -> Hold:
    lone = not held[0].pod.gang
    return Hold(
        gang=gang,
        pods=tuple(sorted(one.pod.key for one in held)),
        of=1 if lone else waiting,
        resources=tuple(sorted({resource for one in held for resource in one.refusal.over})),
        requests=spelled(_requests(held)),
        lone_pod=lone,
    )


def _requests(held: Iterable[Held]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in held:
        add(total, one.pod.requirements.requests)
    return total


def holders(state: QuotaState, refusal: QuotaExceeded) -> tuple[Share, ...]:
    """Return who uses what the refusing quota lacks: quotas beside it, above their minimums.

    Where none beside it uses more than its minimum, those beside the quotas above it are looked at, the nearest first:
    what its parent may use is what it shares. Nothing is said of a refusal by a minimum or a maximum, which are fixed.
    """
    name = refusal.path[0]
    if refusal.kind != "runtime" or name in state.tree.faults or name not in state.tree.bottom_up:
        return ()
    found: list[Share] = []
    for resource in refusal.over:
        if dict(state.tree.quotas[name].max).get(resource) == dict(refusal.limit).get(resource):
            continue
        for quota in state.tree.chain(name):
            here = lending(state, state.tree.tree_of(quota), quota.parent).get(resource)
            borrowed = {other: n for other, n in here.borrowed.items() if other != quota.name} if here else {}
            found += [Share(resource, values.spell(resource, n), (other,)) for other, n in borrowed.items()]
            if borrowed:
                break
    return tuple(found)


def headroom_of(subject: Subject, view: View) -> Headroom:
    """Return how many of the subject's pending pods its quotas admit, each after those before it, by name.

    It is open where quotas, pods or nodes could not be read, or a quota or a setting leaves it open.
    """
    snapshot = view.snapshot
    never = never_tried(subject, snapshot)
    pods = [pod for pod in subject.pending if pod.key not in never]
    name = subject.key
    unread = coverage.unread(snapshot, "quotas")
    if unread:
        return Headroom(name, len(pods), None, _cannot_admit(name, could_not_be_read(unread)))
    if not pods:
        return Headroom(name, 0, 0, _admits(name, 0, 0, ""))
    state = state_of(view)
    is_open = [item for item in not_evaluated(subject, snapshot) if isinstance(item, OpenQuota | QuotaSetting)]
    if is_open:
        message = _cannot_admit(
            name,
            say(
                "that depends on {unevaluated_names}, which is not evaluated",
                unevaluated_names=unevaluated_names(is_open),
            ),
        )
        return Headroom(name, len(pods), None, message)
    if not any(state.tree.may_refuse(pod) for pod in pods):
        return Headroom(name, len(pods), len(pods), say("No quota limits {name}.", name=name))
    chain = tuple(map(_level, headroom(state, pods[0])))
    stopped = state.first_refused(pods)
    if stopped is None:
        return Headroom(name, len(pods), len(pods), _admits(name, len(pods), len(pods), ""), chain=chain)
    admitted, refusal = stopped
    message = _admits(name, len(pods), admitted, refusal_sentence(refusal))
    return Headroom(name, len(pods), admitted, message, refusal.path[0], refusal.over, chain)


def _cannot_admit(gang: str, why: str) -> str:
    return say("Cannot tell how many pods of {gang} quotas admit: {why}.", gang=gang, why=why.rstrip(STOP))


def _admits(gang: str, pods: int, admitted: int, refusal: str) -> str:
    """Return how many of a gang's pending pods quotas admit, and why they stop there."""
    if not pods:
        return say("{gang} has no pending pods: there is nothing to admit.", gang=gang)
    if admitted == pods:
        return (
            say("Quotas admit all {pods} of {gang}.", pods=count(pods, "pending pod"), gang=gang)
            if pods > 1
            else say("Quotas admit {gang}.", gang=gang)
        )
    return say(
        "Quotas admit {admitted} of {pods} of {gang}: {refusal}.",
        admitted=admitted,
        pods=count(pods, "pending pod"),
        gang=gang,
        refusal=refusal.rstrip(STOP),
    )


def limits_any(subject: Subject, snapshot: Snapshot) -> bool:
    """Tell whether a quota may have a say in the subject, or it is open whether one has."""
    if coverage.unread(snapshot, "quota-names"):
        return True
    tree = quota_tree(snapshot)
    return any(tree.may_refuse(pod) for pod in subject.pending)


def _level(level: QuotaRoom) -> ChainLevel:
    spelled = [values.spell(level.resource, number) for number in (level.limit, level.used, level.requested)]
    limit, used, asked = spelled if level.resource else ("", "", "")
    return ChainLevel(level.quota, level.resource, limit, used, asked, level.members, level.checked)


def pods_of(state: QuotaState, view: View, name: str, held: Iterable[Held]) -> tuple[QuotaPod, ...]:
    """Return the pods that count against a quota itself: those that request most first."""
    # Pods that ask for the same share a refusal, which names the first of them.
    lacking = {one.pod.key: refusal_sentence(structs.replace(one.refusal, pod=one.pod.key)) for one in held}
    waiting = [pod for pod in view.snapshot.pending if state.tree.name_of(pod) == name]
    pods: list[Pod] = [*running_in({name}, view, state.tree).get(name, ()), *waiting]
    size = {pod.key: requested(pod, name, state.tree) for pod in pods}
    biggest = sorted(pods, key=lambda pod: (_rank(size[pod.key]), pod.key))
    return tuple(_pod(pod, size[pod.key], lacking) for pod in biggest)


def _rank(asked: Mapping[str, int]) -> tuple[int, int, int]:
    cards = sum(objects.of_pods(asked).values())
    return -cards, -asked.get("cpu", 0), -asked.get("memory", 0)


def _pod(pod: Pod, asked: Mapping[str, int], lacking: Mapping[str, str]) -> QuotaPod:
    return QuotaPod(
        pod=pod.key,
        node=pod.node if isinstance(pod, RunningPod) else "",
        priority=pod.priority,
        requests=spelled(asked),
        gang=pod.gang,
        preemptible=not is_fixed(pod),
        lacks=lacking.get(pod.key, "") if isinstance(pod, PendingPod) else "",
    )


_ON = say(
    "The over-use controller is on (monitorAllQuotas): it evicts pods of a quota that stays above "
    "its runtime for longer than delayEvictTime."
)


def over_use(state: QuotaState, view: View, names: Collection[str]) -> OverUse:
    """Return whether the over-use controller runs, and whom of these quotas it evicts.

    Of a single quota whom it would evict is told where it does not run, too. It waits until a quota was above its
    runtime for a time, which no object shows.
    """
    told = names if is_on(state) or len(names) == 1 else ()
    over = {name: resources for name, resources in over_used(state).items() if name in told}
    running = running_in(over, view, state.tree) if over else {}
    evicts = []
    for name, resources in over.items():
        gone = revoked(state, name, running.get(name, ()))
        pods = tuple(_pod(pod, requested(pod, name, state.tree), {}) for pod in gone)
        evicts.append(Eviction(name, resources, pods))
    settings = state.tree.settings
    off = (
        say("The over-use controller is off (enableRuntimeQuota): no pod is evicted for its quota.")
        if settings.revokes
        else say("The over-use controller is off (monitorAllQuotas): no pod is evicted for its quota.")
    )
    return OverUse(is_on(state), _ON if is_on(state) else off, tuple(evicts))
