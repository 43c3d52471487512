"""What is wrong with quotas: what Koordinator's webhook would refuse, and where the scheduler's numbers differ.

The scheduler checks none of it. Mirrors pkg/webhook/elasticquota (`quota_topology_check.go`), as far as it tells of
what is, and not of a change.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import structs

from kubectl_koord.engine.quota.amounts import add, exceeding
from kubectl_koord.engine.quota.counting import all_running, by_kind
from kubectl_koord.engine.quota.revoking import over_used
from kubectl_koord.engine.quota.state import QuotaState
from kubectl_koord.engine.quota.sums import Pod
from kubectl_koord.engine.quota.tree import QuotaTree
from kubectl_koord.engine.view import View
from kubectl_koord.model.quotas import BUILT_IN, ROOT, Quota, quota_labels
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.capacity.quota import QuotaFinding, Severity
from kubectl_koord.reports.codes import QuotaFindingCode
from kubectl_koord.wording.answers import quota_findings as sentences

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
    return QuotaFinding(code, severity, name, message, sentences.REMEDIES[code])


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
            yield _finding("error", "quota-same-name", name, sentences.same_name(name, sorted(namespaces)))
    for namespace, names in listing.items():
        if len(names) > 1:
            quotas = sorted(names)
            message = sentences.same_namespace(namespace, quotas)
            yield _finding("error", "quota-same-namespace", quotas[0], message)


def _own_amounts(quota: Quota) -> Iterator[QuotaFinding]:
    for field, amounts in (("min", quota.min), ("max", quota.max), ("shared-weight", quota.weight)):
        below = tuple((resource, amount) for resource, amount in amounts if amount < 0)
        if below and (field != "shared-weight" or quota.weight != quota.max):
            yield _finding("error", "quota-negative", quota.name, sentences.negative(field, below))
    most = dict(quota.max)
    for resource, least in quota.min:
        if least > most.get(resource, least - 1):
            message = sentences.min_above_max(resource, least, most.get(resource))
            yield _finding("error", "quota-min-above-max", quota.name, message)
    for resource, used in quota.used or ():
        if resource in quota.strict and used > most.get(resource, used):
            message = sentences.max_below_used(resource, most[resource], used)
            yield _finding("error", "quota-max-below-used", quota.name, message)
    if quota.unreadable:
        yield _finding("error", "quota-unreadable", quota.name, sentences.unreadable(quota.unreadable))


def _place(quota: Quota, tree: QuotaTree) -> Iterator[QuotaFinding]:
    """Yield what is wrong with where a quota stands: a parent, and what it has of it."""
    if quota.parent == ROOT:
        return
    parent = tree.quotas.get(quota.parent)
    if parent is None or parent.name in BUILT_IN:
        yield _finding("error", "quota-no-parent", quota.name, sentences.no_parent(quota.parent))
        return
    loop = _loop(quota, tree)
    if loop:
        yield _finding("error", "quota-cycle", quota.name, sentences.cycle(loop))
        return
    if quota.tree != parent.tree:
        message = sentences.other_tree(quota.tree, parent.name, parent.tree)
        yield _finding("error", "quota-other-tree", quota.name, message)
    own, above = {resource for resource, _ in quota.max}, {resource for resource, _ in parent.max}
    if own != above:
        message = sentences.resources_differ(parent.name, sorted(own - above), sorted(above - own))
        yield _finding("error", "quota-resources-differ", quota.name, message)
    extra = sorted({resource for resource, _ in quota.min} - {resource for resource, _ in parent.min})
    if extra:
        message = sentences.min_not_in_parent(parent.name, extra)
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
        message = sentences.parent_without_label([child.name for child in children])
        yield _finding("error", "quota-parent-without-label", parent.name, message)
    if parent.heads_tree or parent.forced:
        return
    least, total = dict(parent.min), _minimums(children)
    for resource, amount in sorted(total.items()):
        if amount > least.get(resource, 0):
            message = sentences.min_above_parent(resource, least.get(resource, 0), amount, len(children))
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
            yield _finding("warning", "quota-pods-in-parent", name, sentences.pods_in_parent(asked))
    strangers = Counter[str]()
    numbers = [(kind, len(alike.pods)) for kind, alike in all_running(view.snapshot).items()]
    numbers += [(kind, len(alike.pods)) for kind, alike in by_kind(view.snapshot.pending).items()]
    for kind, number in numbers:
        meant = tree.meant_by(*kind)
        if meant and meant not in tree.quotas:
            strangers[meant] += number
    examples = _examples(view.snapshot, strangers) if strangers else {}
    for name, number in strangers.items():
        message = sentences.unknown_quota(number, examples[name].key, tree.name_of(examples[name]))
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
        message = sentences.over_used(used, state.runtime(name))
        yield QuotaFinding(
            "quota-over-used", "warning", name, message, _what_helps(state, tree.quotas[name], resources)
        )
    for (of, parent), children in tree.children.items():
        if parent != ROOT:
            continue
        there = state.total(of)
        for resource, amount in sorted(_minimums(children).items()):
            if amount > there.get(resource, 0):
                message = sentences.min_above_total(
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
        return sentences.OVER_ITS_MAX
    least = {**dict(quota.min), **{resource: used[resource] for resource in over}}
    raised = structs.replace(quota, min=tuple(sorted(least.items())))
    others = tuple(raised if one.key == quota.key else one for one in state.tree.written)
    after = state.with_limits(state.tree.with_limits(others))
    helps = not exceeding(after.used(quota.name), after.runtime(quota.name))
    return sentences.raise_min([(one, used[one]) for one in over]) if helps else sentences.MIN_DOES_NOT_HELP


def _differing(quota: Quota, state: QuotaState) -> Iterator[QuotaFinding]:
    """Yield where the scheduler wrote other numbers than are computed; it writes those above zero, with a delay."""
    for resource, written in quota.used or ():
        computed = state.used(quota.name).get(resource, 0)
        if written != computed:
            message = sentences.differs(resource, "used", written, computed)
            yield _finding("info", "quota-used-differs", quota.name, message)
    if quota.is_parent:
        return
    runtime = state.runtime(quota.name)
    for resource, written in quota.runtime or ():
        if written != runtime.get(resource, written):
            message = sentences.differs(resource, "runtime", written, runtime[resource])
            yield _finding("info", "quota-runtime-differs", quota.name, message)
