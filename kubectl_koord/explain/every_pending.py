"""All that waits, in a list: `why-pending` without a name, `gangs`, and what changed since the last answer."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from msgspec import Struct, structs

from kubectl_koord.diagnosis import contention, coverage, migrations, obstacles, quotas
from kubectl_koord.engine.gangs import (
    Gang,
    GangSubject,
    PodSubject,
    Subject,
    all_gangs,
    group_of,
    topology_requirements,
)
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.explain import volcano
from kubectl_koord.explain.way import held_before, layer_of, way
from kubectl_koord.explain.why import why
from kubectl_koord.language import STOP, say
from kubectl_koord.layers import running
from kubectl_koord.model.jobs import PodState
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import EVERYTHING, Selector
from kubectl_koord.reports.common import OF_LAYERS, WOULD_START, Verdict
from kubectl_koord.reports.jobs import (
    GangRow,
    GangsReport,
    Hops,
    LayerCount,
    PendingGangsReport,
    StaleFault,
    VolcanoGang,
    WhyReport,
)
from kubectl_koord.simulation import owners
from kubectl_koord.simulation.simulation import Scenario, cluster_of
from kubectl_koord.simulation.subjects import again, has_labels, of_each, pending_subjects, selected
from kubectl_koord.wording.facts import gang_state, stale_phase, subject_name, volcano_state
from kubectl_koord.wording.words import SEMICOLON, asked_for, could_not_be_read, count, layer_noun, listed, without_ages


def every_pending(
    snapshot: Snapshot, namespace: str = "", selector: Selector = EVERYTHING, causes: Collection[str] = ()
) -> PendingGangsReport:
    """Return one report per gang group or lone pod with pending pods, in name order.

    Args:
        snapshot: the cluster.
        namespace: where the pods are, empty for everywhere.
        selector: which labels the PodGroup or a pending pod has.
        causes: the codes of causes to which the list is restricted, `would-start` for no cause; none for all.
    """
    cluster = cluster_of(snapshot)
    subjects = pending_subjects(snapshot, namespace)
    subjects = selected(snapshot, subjects, selector) if selector != EVERYTHING else subjects
    bare = structs.replace(snapshot, jobs=None)
    decided = of_each(subjects, lambda subject: way(bare, subject, brief=True, sharing=cluster))
    if causes:
        wanted = {item.gang for item in decided if _is_of(item, causes)}
        subjects = tuple(subject for subject in subjects if subject.key in wanted)
        decided = tuple(item for item in decided if item.gang in wanted)
    startable = [subject for subject, item in zip(subjects, decided, strict=True) if _would_start(item)]
    items = decided if selector != EVERYTHING else _with_jobs(snapshot, namespace, decided)
    items = tuple(item for item in items if not causes or _is_of(item, causes))
    warnings = (*coverage.general(snapshot), *coverage.absent(snapshot, ("Node", "Pod", "PodGroup")))
    warnings = (*warnings, *obstacles.of_other_gangs(subjects, snapshot))
    unread = coverage.unread(snapshot, "listing", namespace)
    is_selection = selector != EVERYTHING or bool(causes)
    return PendingGangsReport(
        verdict="unknown" if unread else "yes",
        basis=coverage.basis(snapshot),
        warnings=warnings,
        items=items,
        causes=coverage.by_cause(items),
        contending=contention.in_turn(cluster, startable).contentions,
        message=could_not_be_read(unread) if unread else "",
        held_back=quotas.of_namespace(cluster.view, namespace),
        volcano=() if is_selection else volcano.gangs(snapshot, namespace, only_waiting=True),
        namespace=namespace,
        selected=is_selection,
        layers=_by_layer(items),
    )


def _with_jobs(snapshot: Snapshot, namespace: str, decided: tuple[WhyReport, ...]) -> tuple[WhyReport, ...]:
    """Return the answers with those about jobs that are held before the scheduler, in place of those of their pods."""
    if snapshot.jobs is None:
        return decided
    homes = {owner.namespace for owner in snapshot.jobs.owners}
    jobs = structs.replace(snapshot.jobs, pods=tuple(_pods(snapshot, homes)))
    by_pod = {pod: item for item in decided for pod in item.pending_pods}
    found: list[WhyReport] = []
    replaced: set[str] = set()
    for one in owners.with_few_pods(jobs, namespace):
        report = held_before(structs.replace(snapshot, jobs=one))
        if report is None:
            continue
        theirs = {item.gang: item for pod in one.pods if (item := by_pod.get(pod.key)) is not None}
        pending = tuple(pod for item in theirs.values() for pod in item.pending_pods)
        replaced |= theirs.keys()
        found.append(structs.replace(report, pending_pods=pending, next_steps=()))
    left = (item for item in decided if item.gang not in replaced)
    return tuple(sorted((*left, *found), key=lambda item: item.gang))


def _pods(snapshot: Snapshot, homes: Collection[str]) -> Iterator[PodState]:
    """Yield the pods of these namespaces as what owns them is asked about: where they are, and by whom."""
    for waiting in (pod for pod in snapshot.pending if pod.namespace in homes):
        yield PodState(
            waiting.key, owner=waiting.owner, phase="Pending", created=waiting.created, deleting=waiting.terminating,
            gates=waiting.gates, labels=dict(waiting.labels),
        )  # fmt: skip
    for on_node in (pod for pod in chain.from_iterable(snapshot.running.values()) if pod.namespace in homes):
        labels = dict(on_node.labels)
        yield PodState(on_node.key, owner=on_node.owner, phase="Running", node=on_node.node, labels=labels)
    for done in (pod for pod in snapshot.finished if pod.namespace in homes):
        yield PodState(done.key, owner=done.owner, phase="Succeeded")


def _by_layer(items: Iterable[WhyReport]) -> tuple[LayerCount, ...]:
    """Return how many each layer holds, the most first; those that would be placed, or may be, last."""
    counts = Counter((item.verdict, _held_by(item)) for item in items)
    ranked = sorted(counts.items(), key=lambda one: (_VERDICTS.index(one[0][0]), -one[1], one[0][1]))
    return tuple(LayerCount(layer, verdict, number) for (verdict, layer), number in ranked)


def _held_by(item: WhyReport) -> str:
    """Return the layer that holds a job, or of which nobody can tell; empty for one that would be placed."""
    return (
        next((row.layer for row in item.layers if row.state in {"held", "unknown"}), "")
        if item.verdict != "yes"
        else ""
    )


_VERDICTS: tuple[Verdict, ...] = ("no", "yes", "unknown")


def _would_start(item: WhyReport) -> bool:
    """Tell whether a subject would be placed, were it tried first of those of its priority."""
    return item.verdict == "yes" or (item.cause is not None and item.cause.code == "contended")


def _is_of(item: WhyReport, causes: Collection[str]) -> bool:
    code = item.cause.code if item.cause is not None else ""
    return code in causes or (item.verdict == "yes" and WOULD_START in causes)


_NUMBER = re.compile(r"(\d+)$")
_BEFORE_SCHEDULED = {"Pending", "PreScheduling", "Scheduling"}
_SCHEDULED = {"Scheduled", "Running"}
_ENDED = {"Finished", "Failed"}


def gangs(
    snapshot: Snapshot, namespace: str = "", selector: Selector = EVERYTHING, *, only_pending: bool = False
) -> GangsReport:
    """Return every gang: of a PodGroup, of a lightweight label, of pods' annotations.

    Args:
        snapshot: the cluster.
        namespace: where the gangs are, empty for everywhere.
        selector: which labels the PodGroup or a pending pod has.
        only_pending: whether gangs without pending pods are left out.
    """
    cluster = cluster_of(snapshot)
    wanted = [
        gang
        for gang in all_gangs(snapshot).values()
        if (not namespace or gang.key.startswith(f"{namespace}/"))
        and (gang.pending or not only_pending)
        and (selector == EVERYTHING or has_labels(snapshot, gang, selector))
    ]
    waits = _answers(cluster, wanted)
    rows = tuple(_row(cluster, gang, waits.get(gang.key)) for gang in wanted)
    moving = dict.fromkeys(job for row in rows for job in row.migrations)
    unread = coverage.unread(snapshot, "listing", namespace)
    return GangsReport(
        verdict="unknown" if unread else "yes",
        basis=coverage.basis(snapshot),
        warnings=(
            *migrations.notices(moving, snapshot),
            *coverage.general(snapshot),
            *coverage.absent(snapshot, ("Node", "Pod", "PodGroup")),
        ),
        items=rows,
        message=could_not_be_read(unread) if unread else "",
        volcano=volcano.gangs(snapshot, namespace, only_waiting=only_pending) if selector == EVERYTHING else (),
        namespace=namespace,
        selected=only_pending or selector != EVERYTHING,
    )


def _answers(cluster: Scenario, wanted: Iterable[Gang]) -> Mapping[str, WhyReport]:
    """Return by gang what `why-pending` answers for those that wait, each group computed once.

    One gang of a group is asked about for all, but for those of which its answer is not true (`_tried`).
    """
    waiting = {gang.key for gang in wanted if gang.pending}
    snapshot = cluster.snapshot
    asked = [one for one in pending_subjects(snapshot) if any(gang.key in waiting for gang in _tried(one))]
    alone = waiting - {gang.key for subject in asked for gang in _tried(subject)}
    asked += [GangSubject(group_of(all_gangs(snapshot), key)) for key in sorted(alone)]
    answers = of_each(asked, lambda subject: why(snapshot, subject, brief=True, sharing=cluster))
    return {
        gang.key: answer
        for subject, answer in zip(asked, answers, strict=True)
        for gang in _tried(subject)
        if gang.key in waiting
    }


def _tried(subject: Subject) -> tuple[Gang, ...]:
    """Return the gangs of a group for which the answer of one holds: of the same list, and run as that has or not."""
    if not isinstance(subject, GangSubject):
        return ()
    group = subject.group
    alike = (gang for gang in group.tried if gang.group == group.own.group)
    return tuple(gang for gang in alike if group.has_run(gang) == group.is_satisfied())


def _row(cluster: Scenario, gang: Gang, answer: WhyReport | None) -> GangRow:
    snapshot, tree = cluster.snapshot, cluster.tree
    group, home = snapshot.pod_groups.get(gang.key), gang.key.partition("/")[0]
    must = topology_requirements(gang.topology or (), tree).must_gather
    cause = answer.cause.code if answer is not None and answer.cause is not None else None
    reservations = migrations.reservations_of(snapshot, cluster.view, gang.pods)
    return GangRow(
        gang=gang.key,
        gang_group=gang.group,
        min_member=gang.minimum or 0,
        pods=gang.children,
        bound=gang.bound,
        pending=len(gang.pending),
        mode=gang.mode,
        match_policy=gang.match_policy,
        must_gather=must,
        span={} if isinstance(tree, NoTree) else _span(gang.running, tree),
        verdict=answer.verdict if answer is not None else "yes" if snapshot.sees("Pod", home) else "unknown",
        cause=cause,
        waiting=sum(1 for pod in gang.pending if pod.nominated),
        running=len(gang.running),
        finished=len(gang.finished),
        defined_by=gang.defined_by,
        phase=group.phase if group is not None else "",
        stale=_stale(gang, group.phase) if group is not None else None,
        outside=0 if isinstance(tree, NoTree) else _outside(gang.running, tree, must),
        hops=None if isinstance(tree, NoTree) else _hops(gang.running, tree),
        created=group.created if group is not None else "",
        layer=layer_of(answer) if answer is not None and answer.verdict == "no" else "",
        migrations=migrations.migrations_of(snapshot, gang.pods, reservations),
        reservations=reservations,
    )


def _span(running: Iterable[RunningPod], tree: Tree) -> Mapping[str, int]:
    """Return by layer how many domains the pods are in; nodes outside the tree are in none."""
    used: dict[str, set[int]] = {layer: set() for layer in tree.layers}
    for pod in running:
        for index in tree.ancestors(tree.leaf.get(pod.node, -1)):
            used.get(tree.domains[index].layer, set()).add(index)
    return {layer: len(domains) for layer, domains in used.items() if domains}


def _outside(running: Iterable[RunningPod], tree: Tree, layer: str) -> int:
    """Return how many pods are not in the domain of that layer which has most of them."""
    places = [tree.domain_of(pod.node, layer) for pod in running] if layer else []
    used = Counter(place for place in places if place is not None)
    return len(places) - max(used.values(), default=0)


def _hops(running: Iterable[RunningPod], tree: Tree) -> Hops | None:
    """Return how far apart pods are whose names end with neighbouring numbers, None without any."""
    numbered = sorted((int(found[1]), pod.node) for pod in running if (found := _NUMBER.search(pod.name)))
    steps = [_distance(tree, one, other) for (_, one), (_, other) in pairwise(numbered)]
    if not steps:
        return None
    far = len(tree.layers)
    return Hops(len(steps), sum(1 for step in steps if step >= far), max(steps), round(sum(steps) / len(steps), 2))


def _distance(tree: Tree, one: str, other: str) -> int:
    """Return how many layers above the nodes their common domain is; the cluster's for a node outside the tree."""
    if one == other:
        return 0
    above = set(tree.ancestors(tree.leaf.get(one, -1)))
    shared = next((index for index in tree.ancestors(tree.leaf.get(other, -1)) if index in above), None)
    return len(tree.layers) if shared is None else len(tree.layers) - tree.domains[shared].depth


def _stale(gang: Gang, phase: str) -> StaleFault | None:
    """Return what a PodGroup's phase does not know (coscheduling/controller/podgroup.go).

    Finished and Failed are never left; one that was never written tells nothing.
    """
    least = gang.minimum or 0
    if phase in _ENDED:
        return "used-again" if gang.pending or gang.running else None
    if phase in _SCHEDULED and gang.bound < least:
        return "fewer-bound"
    return "more-bound" if phase in _BEFORE_SCHEDULED and gang.bound >= least > 0 else None


class ProgressNote(Struct, frozen=True):
    """One change: the subject (`ns/gang`, or `pod/ns/name`), what has changed, and the verdict from now on."""

    subject: str
    text: str
    verdict: Verdict


_GONE = say("gone")


def gang_changes(before: GangsReport, after: GangsReport) -> tuple[ProgressNote, ...]:
    """Return how those gangs do that are not as they were, and which are gone."""
    known = {item.gang: item for item in before.items}
    found = [
        ProgressNote(item.gang, _progress(item), item.verdict)
        for item in after.items
        if item != known.pop(item.gang, None)
    ]
    return (*found, *(ProgressNote(gang, _GONE, "unknown") for gang in known))


def _progress(item: GangRow) -> str:
    """Return in a line how a gang does now: `running: 2 of 2 pods bound, 0 pending`."""
    counted = say(
        "{bound} of {pods} bound, {pending} pending",
        bound=item.bound,
        pods=count(item.pods, "pod"),
        pending=item.pending,
    )
    state = say("{state}: {counted}", state=gang_state(item), counted=counted)
    return SEMICOLON.join(filter(None, [state, stale_phase(item)]))


def is_scheduled(subject: Subject) -> bool:
    """Tell whether no pod is pending and every gang of the group has its minimum, at least one pod, on nodes.

    Pods that are being deleted count no more: they make way, perhaps for those to come.
    """
    if isinstance(subject, PodSubject):
        return not subject.pending
    for gang in subject.gangs.values():
        if gang is None or gang.minimum is None or gang.pending:
            return False
        leaving = sum(1 for pod in gang.running if pod.terminating)
        if gang.bound - leaving < max(gang.minimum, 1):
            return False
    return True


def changes(before: WhyReport, after: WhyReport) -> str:
    """Return what has changed for those who wait for a subject, empty where nothing has.

    That is: the verdict and its cause, slots by domain, pods pending and on nodes, and ways out. Of a gang of Volcano
    what that wrote.
    """
    if before.volcano is not None and after.volcano is not None:
        return SEMICOLON.join(volcano.changes(before.volcano, after.volcano))
    return SEMICOLON.join(_changes(before, after))


def listing_changes(
    snapshot: Snapshot, before: PendingGangsReport, after: PendingGangsReport
) -> tuple[ProgressNote, ...]:
    """Return which subjects have begun to wait, wait for another cause, or wait no more (as the snapshot tells why).

    And that others may be missing, from where on a kind that decides what is listed can be read no more.
    """
    old, new = ({(item.lone_pod, item.gang_group or item.gang): item for item in one.items} for one in (before, after))
    found = []
    for key, item in new.items():
        earlier = old.get(key)
        if earlier is None or _verdict_and_cause(earlier) != _verdict_and_cause(item):
            found.append(ProgressNote(name_of(item), _state(item), item.verdict))
    if after.message not in {"", before.message}:
        found.append(
            ProgressNote(
                say("this list"),
                say("may be incomplete: {message}", message=after.message.rstrip(STOP)),
                after.verdict,
            )
        )
    gone = (_no_longer_listed(snapshot, item) for key, item in old.items() if key not in new)
    return (*found, *gone, *_of_volcano(snapshot, before.volcano, after.volcano))


def _of_volcano(
    snapshot: Snapshot, before: Iterable[VolcanoGang], after: Iterable[VolcanoGang]
) -> Iterator[ProgressNote]:
    """Yield which gangs of Volcano have begun to wait, are in another phase or queue, or wait no more."""
    old, new = ({gang.gang: gang for gang in some} for some in (before, after))
    for key, gang in new.items():
        earlier = old.get(key)
        text = SEMICOLON.join(volcano.changes(earlier, gang)) if earlier else volcano_state(gang)
        if text:
            yield ProgressNote(key, text, "unknown")
    for key in (key for key in old if key not in new):
        now = volcano.again(snapshot, key)
        yield ProgressNote(key, volcano_state(now) if now else _GONE, "yes" if now else "unknown")


def outcome(report: WhyReport, *, reached: bool, waited: str) -> str:
    """Return how waiting for a gang has ended, in one sentence; `waited` is the time limit as the user wrote it."""
    name = subject_name(report.gang, lone_pod=report.lone_pod)
    if report.volcano is not None:
        if reached:
            return _ended_scheduled(
                name, say("scheduled by Volcano ({volcano_state})", volcano_state=volcano_state(report.volcano))
            )
        return _ended_pending(name, waited, say("{reason}.", reason=_reason(report)), certain=True)
    if reached:
        return _ended_scheduled(name, _running(report) or _on_nodes(report))
    return _not_reached(report, name, waited)


def _not_reached(report: WhyReport, name: str, waited: str) -> str:
    if _holds(report):
        return say("{name} does not run after {waited}: it {reason}", name=name, waited=waited, reason=_reason(report))
    if not report.pending_pods:
        return say(
            "{name} is not scheduled after {waited}: {too_few}.", name=name, waited=waited, too_few=_too_few(report)
        )
    if report.verdict == "yes":
        return say(
            "{name} is still pending after {waited}: it would be placed now, but the scheduler has not retried yet.",
            name=name,
            waited=waited,
        )
    return _ended_pending(name, waited, _reason(report), certain=report.verdict == "no")


def _ended_pending(name: str, waited: str, reason: str, *, certain: bool) -> str:
    """Return that a subject is pending when the time is over, and why it is, or may be."""
    doubt = "" if certain else say("cannot tell whether it would be placed: ")
    return say(
        "{name} is still pending after {waited}: {doubt}{reason}", name=name, waited=waited, doubt=doubt, reason=reason
    )


def _ended_scheduled(name: str, state: str) -> str:
    return say("{name} is {state}.", name=name, state=state)


def _running(report: WhyReport) -> str:
    """Return that the pods of a job run, where the last layer says so."""
    last = report.layers[-1] if report.layers else None
    is_last = last is not None and last.state == "passed" and last.layer == running.NAME
    return say("running: {message}", message=last.message) if last is not None and is_last else ""


def gone(snapshot: Snapshot, subject: Subject) -> str:
    """Return what is to be said of a subject that is there no more."""
    if isinstance(subject, PodSubject):
        return say("pod {key} was deleted or has finished", key=subject.key)
    if not snapshot.sees("PodGroup", subject.key.partition("/")[0]):
        return say("{key} has no unfinished pods left, and PodGroups could not be read", key=subject.key)
    return say("{key} no longer exists: it has no unfinished pods and no PodGroup", key=subject.key)


def name_of(report: WhyReport) -> str:
    """Return the name of the subject as listings print it."""
    return asked_for(report.gang, lone_pod=report.lone_pod)


def _changes(before: WhyReport, after: WhyReport) -> Iterator[str]:
    if _holds(before) or _holds(after):
        if without_ages(_state(before)) != without_ages(_state(after)):
            yield _state(after)
        return
    if not after.pending_pods:
        if before.pending_pods or before.bound_pods != after.bound_pods:
            yield _state(after)
        return
    yield from _numbers(before, after)
    is_same = _verdict_and_cause(before) == _verdict_and_cause(after)
    slots = tuple(_slots(before, after)) if is_same and after.verdict != "yes" else ()
    yield from slots
    if not is_same or _compared_reason(before, numbers=not slots) != _compared_reason(after, numbers=not slots):
        yield _state(after)
    if after.verdict == "no":
        yield from _ways_out(before, after)


def _numbers(before: WhyReport, after: WhyReport) -> Iterator[str]:
    pending = len(after.pending_pods)
    if before.bound_pods != after.bound_pods:
        yield say(
            "{bound_pods} of {pods} on a node (was {bound_pods2})",
            bound_pods=after.bound_pods,
            pods=count(after.bound_pods + pending, "pod"),
            bound_pods2=before.bound_pods,
        )
    elif before.pending_pods and len(before.pending_pods) != pending:
        yield say("{pods} pending (was {number})", pods=count(pending, "pod"), number=len(before.pending_pods))


def _verdict_and_cause(report: WhyReport) -> tuple[Verdict, str, bool]:
    return report.verdict, report.cause.code if report.cause else "", bool(report.pending_pods)


def _compared_reason(report: WhyReport, *, numbers: bool) -> str:
    """Return the reason, perhaps without its numbers: those of slots are given by domain."""
    if report.verdict == "yes":
        return ""
    reason = without_ages(_reason(report))
    return reason if numbers else re.sub(r"\d+", "", reason)


def _holds(report: WhyReport) -> bool:
    """Tell whether a layer before or after the scheduler holds a job."""
    return report.verdict == "no" and report.cause is not None and report.cause.code in OF_LAYERS


def _state(report: WhyReport) -> str:
    """Return how a subject stands, without its name."""
    if _holds(report):
        return _reason(report)
    if not report.pending_pods:
        return _on_nodes(report) if report.lone_pod or _has_minimum(report) else _too_few(report)
    if report.verdict == "no":
        return say("pending: {reason}", reason=_reason(report).rstrip(STOP))
    if report.verdict == "unknown":
        return say("cannot tell whether it would be placed: {reason}", reason=_reason(report).rstrip(STOP))
    placement = report.placement or {}
    return _would_be_placed(placement.keys(), sorted(set(placement.values())))


def _would_be_placed(pods: Collection[str], nodes: Sequence[str]) -> str:
    """Return that a subject would be placed; where the nodes are known, how many pods on which."""
    where = say(": {pods} on {nodes}", pods=count(len(pods), "pod"), nodes=listed(nodes)) if nodes else ""
    return say("would be placed now{where}", where=where)


def _has_minimum(report: WhyReport) -> bool:
    return report.bound_pods >= max(report.min_member, 1)


def _on_nodes(report: WhyReport) -> str:
    return say("scheduled: {pods} on a node", pods=say("it is") if report.lone_pod else count(report.bound_pods, "pod"))


def _too_few(report: WhyReport) -> str:
    return say(
        "no pending pods, {bound_pods} on a node, {min_member} needed",
        bound_pods=report.bound_pods,
        min_member=report.min_member,
    )


def _reason(report: WhyReport) -> str:
    if report.cause:
        return report.cause.message
    return report.warnings[-1].message if report.warnings else say("no reason was found.")


def _slots(before: WhyReport, after: WhyReport) -> Iterator[str]:
    """Yield the domains whose slots have changed, those with the most slots first."""
    old = {(row.layer, row.name): row.offer_slots for row in before.domains}
    changed = [row for row in after.domains if old and old.get((row.layer, row.name)) != row.offer_slots]
    changed.sort(key=lambda row: -row.offer_slots)
    for row in changed:
        domain = row.layer, row.name
        yield _slots_changed(row.offer_slots, after.desired_offer_slot, domain, old.get(domain))


def _slots_changed(slots: int, wanted: int | None, domain: tuple[str, str], before: int | None) -> str:
    """Return the slots of a domain, a layer and a name, and how many it had; None where it was not there."""
    layer, name = domain
    of_wanted = say(" of {wanted}", wanted=wanted) if wanted is not None else ""
    was = say("new") if before is None else say("was {before}", before=before)
    return say(
        "{slots}{of_wanted} slots in {name} ({was})",
        slots=slots,
        of_wanted=of_wanted,
        name=name or say("the {layer}", layer=layer_noun(layer)),
        was=was,
    )


def _ways_out(before: WhyReport, after: WhyReport) -> Iterator[str]:
    """Yield the first way out that is new, or the first of those that are no way out any more."""
    old, new = ([way.message for way in report.unblock] for report in (before, after))
    more = [message for message in new if without_ages(message) not in map(without_ages, old)]
    less = [message for message in old if without_ages(message) not in map(without_ages, new)]
    if more:
        yield say("now helps: {first}", first=_first_of(more))
    elif less and before.verdict == "no":
        yield say("no longer helps: {first}", first=_first_of(less))


def _first_of(messages: Sequence[str]) -> str:
    return messages[0] + (say(" (the first of {number})", number=len(messages)) if messages[1:] else "")


def _no_longer_listed(snapshot: Snapshot, item: WhyReport) -> ProgressNote:
    """Return what became of a subject that a listing no longer holds."""
    subject = again(snapshot, item.gang, lone_pod=item.lone_pod)
    if subject is None and item.owner_kind:
        return ProgressNote(name_of(item), say("waits no more, or is gone"), "unknown")
    if subject is None:
        is_seen = item.lone_pod or snapshot.sees("PodGroup", item.gang.partition("/")[0])
        return ProgressNote(name_of(item), _GONE if is_seen else say("no unfinished pods any more"), "unknown")
    report = why(snapshot, subject, brief=True)
    return ProgressNote(name_of(item), _state(report), report.verdict)
