"""The quotas of a cluster: what each may use and uses, who lends, what is held back, and what is wrong with them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.diagnosis import quotas as quota_diagnosis
from kubectl_koord.diagnosis.quotas import spelled
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.quota.state import QuotaState, lending
from kubectl_koord.engine.quota.tree import QuotaTree, quota_tree
from kubectl_koord.engine.state import of
from kubectl_koord.language import STOP, say
from kubectl_koord.model import objects, values
from kubectl_koord.model.quotas import BUILT_IN, ROOT, Quota
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.capacity import HeldBack, QuotaPod, QuotaRow, QuotaTreeReport, Share
from kubectl_koord.wording.words import could_not_be_read, count, main_amounts, noted

_Shares: TypeAlias = tuple[tuple[Share, ...], tuple[Share, ...]]
_NONE: Mapping[str, _Shares] = {}
_KINDS = ("Node", "Pod", "ElasticQuota")


def quotas(
    snapshot: Snapshot,
    name: str = "",
    *,
    namespace: str = "",
    resource: str = "",
    subject: Subject | None = None,
) -> QuotaTreeReport:
    """Return the quotas as the scheduler sees them.

    The verdict is unknown where quotas could not be read; where pods or nodes could not, quotas are listed, and what
    they use and may use is not told.

    Args:
        snapshot: the cluster.
        name: of a quota that there is: that alone, with those above it and its pods.
        namespace: only the quotas in it, and those that its pods count against, with those above them.
        resource: what to count, as `counted_as` returns it; by default accelerators where quotas have any, else CPU.
        subject: whose headroom is asked for.
    """
    tree = quota_tree(snapshot)
    report = QuotaTreeReport(
        verdict="unknown",
        basis=coverage.basis(snapshot),
        warnings=(*coverage.general(snapshot), *coverage.absent(snapshot, _KINDS)),
        quotas=(),
        message="",
        asked=name,
        resource=resource or _main_resource(tree, snapshot),
    )
    unread = coverage.unread(snapshot, "quotas")
    if coverage.unread(snapshot, "quota-names"):
        return structs.replace(
            report,
            message=say(
                "Cannot show quotas: {could_not_be_read}.", could_not_be_read=could_not_be_read(unread).rstrip(STOP)
            ),
        )
    wanted = _wanted(tree, snapshot, name, namespace)
    if unread:
        return structs.replace(
            report,
            quotas=tuple(_row(quota, depth, tree) for quota, depth in _in_order(tree, wanted)),
            message=say(
                "Cannot tell what quotas use and may use: {could_not_be_read}.",
                could_not_be_read=could_not_be_read(unread).rstrip(STOP),
            ),
            findings=quota_diagnosis.of_quotas(tree),
        )
    view = of(snapshot)
    state = quota_diagnosis.state_of(view)
    shares = _shares(state)
    shown = {name} if name else wanted
    refused = {quota: some for quota, some in quota_diagnosis.held_of(state, snapshot).items() if quota in shown}
    held = quota_diagnosis.reported(refused, state, snapshot)
    own = quota_diagnosis.pods_of(state, view, name, refused.get(name, ())) if name else ()
    is_all = not name and not namespace
    return structs.replace(
        report,
        verdict="yes",
        quotas=tuple(_row(quota, depth, tree, state, shares) for quota, depth in _in_order(tree, wanted)),
        message=_of_one(tree, name, own, held) if name else _of_many(tree, held, wanted),
        held_back=held,
        findings=tuple(one for one in quota_diagnosis.findings(view, state) if is_all or one.object in wanted),
        over_use=quota_diagnosis.over_use(state, view, shown),
        headroom=None if subject is None else quota_diagnosis.headroom_of(subject, view),
        pods=own,
    )


def _of_many(tree: QuotaTree, held: tuple[HeldBack, ...], wanted: frozenset[str]) -> str:
    return (
        _headline(held, len(wanted - BUILT_IN))
        if tree.written
        else say("No ElasticQuota exists: no pod is limited by a quota.")
    )


_NOTHING_HELD_BACK = say("No quota holds back any pod.")


def _headline(held: Sequence[HeldBack], quotas: int) -> str:
    """Return how many quotas hold back how much of how many gangs and pods, of so many quotas."""
    if not held:
        return say(
            "{nothing_held_back} ({quotas}).", nothing_held_back=_NOTHING_HELD_BACK[:-1], quotas=count(quotas, "quota")
        )
    gangs = {hold.gang for one in held for hold in one.gangs if not hold.lone_pod}
    pods = {pod for one in held for hold in one.gangs for pod in hold.pods}
    whose = noted(count(len(gangs), "gang"), count(len(pods), "pod")) if gangs else count(len(pods), "pod")
    much = _held_together(held)
    what = say("{much} of {whose}", much=much, whose=whose) if much else whose
    return say("{quotas} {holds} back {what}.", quotas=count(len(held), "quota"), holds=_holds(len(held)), what=what)


def _held_together(held: Sequence[HeldBack]) -> str:
    """Return what quotas hold back together: `48 GPU`; nothing where nobody asks for anything."""
    total: dict[str, int] = {}
    for one in held:
        for resource, written in one.requests.items():
            total[resource] = total.get(resource, 0) + values.amount(resource, values.parse(written))
    return main_amounts(total)


def _holds(number: int) -> str:
    return "holds" if number == 1 else "hold"


def _of_one(tree: QuotaTree, name: str, own: tuple[QuotaPod, ...], held: tuple[HeldBack, ...]) -> str:
    pending = sum(not pod.node for pod in own)
    refused = sum(len(hold.pods) for one in held for hold in one.gangs)
    return _of_quota(name, [one for one in _above(tree, name) if one != ROOT], len(own), pending, refused)


def _of_quota(name: str, chain: Sequence[str], pods: int, pending: int, held_back: int) -> str:
    """Return how many pods one quota has, how many of them are pending and refused; and the quotas above it."""
    waiting = say(", {pending} of them pending", pending=pending) if pending else ""
    refused = say("; it holds back {held_back} of these", held_back=held_back or say("none")) if pending else ""
    return say(
        "Quota {name}{below} has {pods}{waiting}{refused}.",
        name=name,
        below=_below(chain),
        pods=count(pods, "pod"),
        waiting=waiting,
        refused=refused,
    )


def _below(chain: Sequence[str]) -> str:
    return say(" (below {chain})", chain=" < ".join(chain)) if chain else ""


def _shares(state: QuotaState) -> Mapping[str, _Shares]:
    """Return what others have of each quota, and what each has of others."""
    found: dict[str, _Shares] = {}
    for (of_tree, parent), children in state.tree.children.items():
        if parent != ROOT and parent not in state.tree.bottom_up:
            continue
        here = lending(state, of_tree, parent)
        for child in children:
            name = child.name
            lent = tuple(
                Share(resource, values.spell(resource, one.lent[name]), tuple(one.borrowed), one.exact)
                for resource, one in here.items()
                if name in one.lent
            )
            borrowed = tuple(
                Share(
                    resource,
                    values.spell(resource, one.borrowed[name]),
                    tuple(one.lent),
                    of_it=values.spell(resource, given) if 0 < given < one.borrowed[name] else "",
                )
                for resource, one in here.items()
                for given in (sum(one.lent.values()),)
                if name in one.borrowed
            )
            if lent or borrowed:
                found[name] = lent, borrowed
    return found


def names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of all quotas, built-in ones included."""
    return tuple(sorted(quota_tree(snapshot).quotas))


def resource_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the resources that quotas name, in name order."""
    found = {r for q in quota_tree(snapshot).quotas.values() for part in (q.min, q.max) for r, _ in part}
    return tuple(sorted(found))


def counted_as(snapshot: Snapshot, name: str) -> str:
    """Return what to count for the name of a resource, or for what is behind its slash; empty where no quota has it."""
    known = resource_names(snapshot)
    return next((one for one in known if one == name), "") or next(
        (one for one in known if one.rpartition("/")[2] == name.lower()), ""
    )


def _main_resource(tree: QuotaTree, snapshot: Snapshot) -> str:
    """Return what counts most of what quotas limit: the accelerator that most of them have, else CPU.

    Without quotas it is what counts most of what nodes have.
    """
    if not tree.written:
        nodes = snapshot.nodes.values()
        names = (name for node in nodes for name, _ in node.allocatable)
        return objects.resource_of(objects.families(nodes)[0], names, ())
    found: dict[str, int] = {}
    for quota in tree.written:
        for resource, _ in quota.max:
            if objects.family(resource):
                found[resource] = found.get(resource, 0) + 1
    return max(sorted(found), key=lambda resource: found[resource], default="cpu")


def _wanted(tree: QuotaTree, snapshot: Snapshot, name: str, namespace: str) -> frozenset[str]:
    """Return the names of the quotas to show: with a name also those above and below it."""
    if name:
        below = [name]
        for one in below:  # which grows
            children = tree.children.get((tree.tree_of(tree.quotas[one]), one), ())
            below += [child.name for child in children if child.name not in below]
        return frozenset((*below, *_above(tree, name)))
    if not namespace:
        return frozenset(tree.quotas)
    running = (pod for pods in snapshot.running.values() for pod in pods)
    own = {quota.name for quota in tree.written if quota.namespace == namespace}
    own |= {tree.name_of(pod) for pod in running if pod.namespace == namespace}
    own |= {tree.name_of(pod) for pod in snapshot.pending if pod.namespace == namespace}
    return frozenset({above for one in own - {""} for above in (one, *_above(tree, one))})


def _above(tree: QuotaTree, name: str) -> tuple[str, ...]:
    if name in tree.faults or name in BUILT_IN:
        return ()
    return (*(quota.name for quota in tree.chain(name)[1:]), ROOT)


def _in_order(tree: QuotaTree, wanted: Collection[str]) -> Iterator[tuple[Quota, int]]:
    """Yield the quotas in pre-order, with their depth: the default tree, the other trees, and those in no tree."""
    if ROOT in wanted:
        yield tree.quotas[ROOT], 0
    seen = {ROOT}
    for of_tree in sorted({of_tree for of_tree, _ in tree.children} | {""}):
        first = [*tree.children.get((of_tree, ROOT), ())]
        first += [tree.quotas[name] for name in sorted(BUILT_IN - {ROOT})] if not of_tree else []
        ahead = [(quota, 1) for quota in reversed(first)]
        while ahead:
            quota, depth = ahead.pop()
            seen.add(quota.name)
            if quota.name in wanted:
                yield quota, depth
            ahead += [(child, depth + 1) for child in reversed(tree.children.get((of_tree, quota.name), ()))]
    yield from ((tree.quotas[name], 1) for name in sorted(tree.quotas.keys() - seen) if name in wanted)


def _row(
    quota: Quota,
    depth: int,
    tree: QuotaTree,
    state: QuotaState | None = None,
    shares: Mapping[str, _Shares] = _NONE,
) -> QuotaRow:
    name, built_in = quota.name, quota.name in BUILT_IN
    own = shares.get(name, ((), ()))
    computed: dict[str, object] = dict.fromkeys(("used", "request", "runtime", "non_preemptible_used"))
    if state is not None:
        computed |= {
            "used": spelled(state.used(name)),
            "request": spelled(state.request(name)),
            "runtime": spelled(state.runtime(name)),
            "non_preemptible_used": spelled(state.fixed(name)),
            "guaranteed": spelled(state.minimum(name)),
            "limit": spelled(state.limit(name)),
            "total": spelled(state.total("")) if name == ROOT else None,
        }
        if quota.heads_tree and tree.tree_of(quota):
            computed["total"] = spelled(state.total(quota.tree))
    trees = {tree.tree_of(quota)} if name != ROOT else {of_tree for of_tree, _ in tree.children}
    below = [child.name for of_tree in trees for child in tree.children.get((of_tree, name), ())]
    return QuotaRow(
        name=name,
        parent=quota.parent,
        tree=quota.tree,
        is_parent=quota.is_parent,
        min=spelled(dict(quota.min)),
        max=spelled(dict(quota.max)),
        shared_weight=spelled(dict(quota.weight)),
        children=tuple(sorted([*below, *(BUILT_IN - {ROOT} if name == ROOT else ())])),
        namespace="" if built_in and quota not in tree.written else quota.namespace,
        depth=depth,
        built_in=built_in,
        lends=quota.lends,
        lent=own[0],
        borrowed=own[1],
        fault=tree.faults.get(name, ""),
        **computed,  # type: ignore[arg-type]
    )
