"""The quotas of a cluster as trees, and the quota that a pod counts against."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, TypeVar

from msgspec import Struct

from kubectl_koord.engine.state import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import BUILT_IN, DEFAULT, ROOT, SYSTEM, Quota, QuotaLabels, QuotaSettings, quota_labels
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import QuotaFault
from kubectl_koord.model.values import Identity, memoised

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: a resource that is missing is not there, which is not the same as an amount of 0."""
T = TypeVar("T")


def add(total: dict[str, int], more: Iterable[tuple[str, int]], times: int = 1) -> None:
    """Add amounts to a total, so many times."""
    for resource, amount in more:
        total[resource] = total.get(resource, 0) + times * amount


def plus(first: Amounts, second: Amounts) -> dict[str, int]:
    """Return the sum, of all resources that either has."""
    total = dict(first)
    add(total, second.items())
    return total


def capped(amounts: Amounts, most: Amounts) -> dict[str, int]:
    """Return amounts, each no more than the other's, where that has the resource."""
    return {resource: min(amount, most.get(resource, amount)) for resource, amount in amounts.items()}


def at_least(amounts: Amounts, least: Amounts) -> dict[str, int]:
    """Return amounts, each no less than the other's; resources that only the other has are added."""
    return {**amounts, **{resource: max(amount, amounts.get(resource, amount)) for resource, amount in least.items()}}


def exceeding(amounts: Amounts, limit: Amounts) -> tuple[str, ...]:
    """Return the resources of which there is more than a limit allows, in name order; what has no limit has none."""
    return tuple(sorted(name for name, amount in amounts.items() if name in limit and amount > limit[name]))


class Changed(Mapping[str, T]):
    """Values by name, of which a few are not as in another mapping: the others, of which there are many, stay there."""

    __slots__ = ("differing", "usual")

    def __init__(self, usual: Mapping[str, T], differing: Mapping[str, T]) -> None:
        self.usual, self.differing = usual, differing
        if isinstance(usual, Changed):
            self.usual, self.differing = usual.usual, {**usual.differing, **differing}

    def __getitem__(self, name: str) -> T:
        return self.differing[name] if name in self.differing else self.usual[name]

    def __iter__(self) -> Iterator[str]:
        yield from {**self.usual, **self.differing}

    def __len__(self) -> int:
        return len(self.usual.keys() | self.differing.keys())


_HALF = 1 << 63


class Claimant(Struct, frozen=True, gc=False):
    """One quota that takes part: what it requests, its minimum as it is kept for it, its weight, whether it lends."""

    name: str
    request: int
    minimum: int
    weight: int
    lends: bool = True


def as_int64(number: int) -> int:
    """Return what is left of a number in 64 bits: amounts in milli overflow."""
    return (number + _HALF) % (2 * _HALF) - _HALF


def shares(total: int, claimants: Sequence[Claimant], *, exact: bool) -> Mapping[str, int]:
    """Return the runtime of each quota.

    Each first gets its minimum, or its request where that is less and it lends. What is left goes to those that
    request more, round by round and by weight; who has all that it requests gives back what is too much.

    Args:
        total: what the parent has.
        claimants: the quotas below the parent, of which nobody minds the order.
        exact: whether shares add up to what is shared, the largest remainders rounded up (main); else each is rounded.
    """
    hungry = [one for one in claimants if one.request > one.minimum]
    found = {one.name: min(one.request, one.minimum) if one.lends else one.minimum for one in claimants}
    pool = total - sum(found.values())
    weights = sum(one.weight for one in hungry)
    while pool > 0 and weights > 0 and hungry:
        more = _by_largest_remainder(pool, weights, hungry) if exact else _each_rounded(pool, weights, hungry)
        left, pool = [], 0
        for one in hungry:
            found[one.name] += more[one.name]
            if found[one.name] < one.request:
                left.append(one)
            else:
                pool += found[one.name] - one.request
                found[one.name] = one.request
        hungry, weights = left, sum(one.weight for one in left)
    return found


def _each_rounded(pool: int, weights: int, hungry: Sequence[Claimant]) -> Mapping[str, int]:
    """Return the shares as 1.7 and 1.8 compute them, in floating point: they need not add up to the pool."""
    return {one.name: int(float(one.weight) * float(pool) / float(weights) + 0.5) for one in hungry}


def _by_largest_remainder(pool: int, weights: int, hungry: Sequence[Claimant]) -> Mapping[str, int]:
    """Return the shares as main computes them (`computeHamiltonDeltas`)."""
    entitled = [one for one in hungry if one.weight > 0]
    found = dict.fromkeys((one.name for one in hungry), 0)
    found.update((one.name, one.weight * pool // weights) for one in entitled)
    rest = max(0, pool - sum(found.values()))
    ranked = sorted(entitled, key=lambda one: (-(one.weight * pool % weights), one.name))
    for one in ranked[:rest]:
        found[one.name] += 1
    return found


class QuotaTree(Struct, frozen=True, dict=True):
    """All quotas by name, the built-in ones included, and how the scheduler treats them."""

    quotas: Mapping[str, Quota]
    settings: QuotaSettings
    written: tuple[Quota, ...] = ()

    def changed(self, written: tuple[Quota, ...]) -> Mapping[str, Quota]:
        """Return those of the quotas, by name, that are not as in this tree."""
        by_name = {quota.name: quota for quota in written}
        return {name: quota for name, quota in by_name.items() if quota is not self.quotas.get(name)}

    def with_limits(self, written: tuple[Quota, ...]) -> "QuotaTree":
        """Return the tree of the same quotas with other limits of the same resources: all keep their places."""
        changed = self.changed(written)
        found = QuotaTree({**self.quotas, **changed}, self.settings, written)
        places = {(self.tree_of(quota), quota.parent) for quota in changed.values()} & self.children.keys()
        siblings = {place: tuple(changed.get(one.name, one) for one in self.children[place]) for place in places}
        found.__dict__.update(
            children={**self.children, **siblings},
            bottom_up={**self.bottom_up, **{name: quota for name, quota in changed.items() if name in self.bottom_up}},
            faults=self.faults,
            heads=self.heads,
            resources=self.resources,
            _homes=self._homes,
            _by_namespace=self._by_namespace,
        )
        return found

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The names of the quotas that head a tree of their own."""
        return tuple(name for name, quota in self.quotas.items() if quota.heads_tree and self.tree_of(quota))

    @cached_property
    def resources(self) -> Mapping[str, Collection[str]]:
        """The resources, by tree, of which any quota has a maximum; the built-in ones do not count."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, quota in self.quotas.items():
            if name not in BUILT_IN:
                found[self.tree_of(quota)].update(resource for resource, _ in quota.max)
        return dict(found)

    def tree_of(self, quota: Quota) -> str:
        """Return the tree that a quota is in; all are in one, unless the scheduler keeps several."""
        return quota.tree if self.settings.trees else ""

    @cached_property
    def children(self) -> Mapping[tuple[str, str], tuple[Quota, ...]]:
        """The quotas below a quota, by its tree and its name, in name order.

        The built-in ones are not among them.
        """
        found: dict[tuple[str, str], list[Quota]] = defaultdict(list)
        for name, quota in sorted(self.quotas.items()):
            if name not in BUILT_IN:
                found[self.tree_of(quota), quota.parent].append(quota)
        return {key: tuple(some) for key, some in found.items()}

    @cached_property
    def faults(self) -> Mapping[str, QuotaFault]:
        """The quotas of which it is open what becomes of them, by name, and why."""
        found: dict[str, QuotaFault] = {}
        for name, quota in self.quotas.items():
            above, seen = quota, {name}
            while above.name not in BUILT_IN and above.parent != ROOT:
                parent = self.quotas.get(above.parent)
                if parent is None or parent.name in BUILT_IN or self.tree_of(parent) != self.tree_of(quota):
                    found[name] = "no-parent"
                    break
                if parent.name in seen:
                    found[name] = "cycle"
                    break
                seen.add(parent.name)
                above = parent
        number = Counter(quota.name for quota in self.written)
        found.update((name, "same-name") for name, times in number.items() if times > 1)
        return found

    @cached_property
    def bottom_up(self) -> Mapping[str, Quota]:
        """The quotas that are below a root quota, by name, each after all that are below it; not the built-in ones."""
        found: list[Quota] = []
        for (_, parent), first in self.children.items():
            found.extend(first if parent == ROOT else ())
        for quota in found:  # which grows
            found.extend(self.children.get((self.tree_of(quota), quota.name), ()))
        return {quota.name: quota for quota in reversed(found)}

    def chain(self, name: str) -> tuple[Quota, ...]:
        """Return a quota without fault and all above it, nearest first, the root quota left out."""
        found: list[Quota] = []
        while name != ROOT:
            found.append(self.quotas[name])
            name = found[-1].parent if name not in BUILT_IN else ROOT
        return tuple(found)

    def name_of(self, pod: PendingPod | RunningPod) -> str:
        """Return the quota that a pod counts against; empty for none.

        Mirrors `getPodAssociateQuotaName` in elasticquota/plugin_helper.go.
        """
        return self.name_by(quota_labels(pod.labels), pod.namespace)

    def name_by(self, labels: QuotaLabels, namespace: str) -> str:
        """Return the quota that pods with such labels count against; empty for none. A label that is set decides."""
        written = self.meant_by(labels, namespace)
        if written in self.quotas:
            return written
        return "" if self.settings.no_default else DEFAULT

    def meant_by(self, labels: QuotaLabels, namespace: str) -> str:
        """Return the quota that such pods are meant to count against, which may not exist."""
        labelled = labels[0] or ""
        if labelled or self.settings.no_default:
            return labelled
        if (namespace, namespace) in self._homes:
            return namespace
        return next(iter(self._by_namespace.get(namespace, ())), DEFAULT)

    def may_refuse(self, pod: PendingPod | RunningPod) -> bool:
        """Tell whether the quota of a pod can refuse any pod."""
        return self.limits(self.name_of(pod))

    def limits(self, name: str) -> bool:
        """Tell whether a quota can refuse any pod: built-in ones have no runtime, and usually no minimum."""
        if not self.settings.enforced:
            return False
        return bool(name) and (name not in BUILT_IN or not self.settings.by_runtime or bool(self.quotas[name].min))

    def fault_of(self, pod: PendingPod | RunningPod) -> QuotaFault | None:
        """Return why it is open which quota a pod counts against, or what becomes of that; None where it is not."""
        if not self.has_faults:
            return None
        labels = quota_labels(pod.labels)
        name = self.name_by(labels, pod.namespace)
        listing = self._by_namespace.get(pod.namespace, ())
        is_told = labels[0] or self.settings.no_default or (pod.namespace, pod.namespace) in self._homes
        if len(listing) > 1 and not is_told:
            return "same-namespace"
        return self.faults.get(name)

    @cached_property
    def has_faults(self) -> bool:
        """Whether for some pod it is unknown which quota it counts against, or what that quota allows."""
        return bool(self.faults) or any(len(listing) > 1 for listing in self._by_namespace.values())

    @cached_property
    def _homes(self) -> frozenset[tuple[str, str]]:
        return frozenset((quota.namespace, quota.name) for quota in self.written)

    @cached_property
    def _by_namespace(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for quota in self.written:
            for namespace in quota.namespaces:
                found[namespace].append(quota.name)
        return {namespace: tuple(sorted(set(names))) for namespace, names in found.items()}


def quotas_of(view: View) -> QuotaTree:
    """Return the quotas of a variant of a cluster."""
    tree = quota_tree(view.snapshot)
    return tree if view.quotas is view.snapshot.quotas else _with_limits(view, Identity(tree))


@memoised
def _with_limits(view: View, read: Identity[QuotaTree]) -> QuotaTree:
    below = view.layers()[0]
    if below is not None and below.quotas is view.quotas:
        return quotas_of(below)
    tree = read.value
    same = [quota.name for quota in view.quotas] == [quota.name for quota in tree.written]
    return tree.with_limits(view.quotas) if same else _tree(view.quotas, tree.settings)


@memoised
def quota_tree(snapshot: Snapshot) -> QuotaTree:
    """Return the quotas of a cluster; the scheduler makes the built-in ones that do not exist."""
    return _tree(snapshot.quotas, snapshot.config.quotas)


def _tree(quotas: tuple[Quota, ...], settings: QuotaSettings) -> QuotaTree:
    made = (
        Quota(settings.namespace, ROOT, parent="", lends=False, is_parent=True),
        Quota(settings.namespace, SYSTEM, max=settings.system_max, weight=settings.system_max),
        Quota(settings.namespace, DEFAULT, max=settings.default_max, weight=settings.default_max),
    )
    return QuotaTree({quota.name: quota for quota in (*made, *quotas)}, settings, quotas)
