"""What each quota requests, uses and may use, all quotas above and below it considered.

Mirrors elasticquota/core/group_quota_manager.go and scale_minquota_when_over_root_res.go once all refreshes have
settled: the scheduler refreshes a quota when a pod of it is tried, or within 10 seconds.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from kubectl_koord.engine.quota.tree import Amounts, Claimant, QuotaTree, add, as_int64, at_least, capped, shares
from kubectl_koord.engine.quota.usage import OwnSums, Sums
from kubectl_koord.engine.rules import Rules
from kubectl_koord.model.quotas import DEFAULT, ROOT, SYSTEM, Quota

_NONE = Sums()


class QuotaAmounts(Struct, frozen=True, dict=True):
    """The quotas with the sums over their own pods, and what nodes have together.

    Of quotas with a fault nothing is told but their own sums: what becomes of them is open.
    """

    tree: QuotaTree
    own: OwnSums
    nodes: Amounts
    rules: Rules

    def used(self, name: str) -> Amounts:
        """Return what the pods with a node use, of the quota and of those below it."""
        return self._sums[name].used if name in self._sums else {}

    def fixed(self, name: str) -> Amounts:
        """Return what the non-preemptible ones among them use."""
        return self._sums[name].fixed if name in self._sums else {}

    def child_request(self, name: str) -> Amounts:
        """Return what its own pods request, and what the quotas below it pass up."""
        return self._child_requests[name] if name in self._child_requests else self.own.get(name, _NONE).request

    def request(self, name: str) -> Amounts:
        """Return what a quota requests: its minimum at least, where it does not lend."""
        return self._request(self.tree.quotas[name], self.child_request(name))

    def _request(self, quota: Quota, below: Amounts) -> Amounts:
        return below if self.lends(quota) else at_least(below, dict(quota.min))

    def passed_up(self, name: str) -> Amounts:
        """Return what a quota requests of its parent: no more than its maximum."""
        return capped(self.request(name), dict(self.tree.quotas[name].max))

    def lends(self, quota: Quota) -> bool:
        """Tell whether what a quota leaves of its minimum goes to others."""
        return quota.lends and not self.tree.settings.guarantees

    def guaranteed(self, name: str) -> Amounts:
        """Return what is kept for a quota where what is used is guaranteed.

        Of a parent that is what its own pods use, and what is kept for each quota below it.
        """
        allocated = dict(self.own.get(name, _NONE).used)
        for child in self._below(name):
            add(allocated, self.guaranteed(child.name).items())
        return at_least(allocated, dict(self.tree.quotas[name].min))

    def total(self, tree: str) -> Amounts:
        """Return what the quotas of a tree have to share."""
        if tree not in self._known_totals:
            self._known_totals[tree] = self._total(tree)
        return self._known_totals[tree]

    def _total(self, tree: str) -> Amounts:
        heads = [self.tree.quotas[name] for name in self.tree.heads]
        if tree:
            return next((dict(quota.total) for quota in heads if quota.tree == tree and quota.total is not None), {})
        limited = self.tree.resources.get(tree, ())
        left = {resource: amount for resource, amount in self.nodes.items() if amount or resource in limited}
        for quota in heads:
            if quota.total is not None and not quota.beside_default:
                add(left, quota.total, -1)
        for name in (SYSTEM, DEFAULT):
            add(left, self.used(name).items(), -1)
        return left

    def minimum(self, name: str) -> Amounts:
        """Return the minimum that is kept for a quota: scaled down where those of its siblings and it are too much.

        Mirrors `getScaledMinQuota`.
        """
        quota = self.tree.quotas[name]
        own = dict(quota.min)
        if not self.tree.settings.scale_min or name not in self.tree.bottom_up:
            return own
        sums = self._minimums_below(self.tree.tree_of(quota), quota.parent)
        for resource, total in self._shared_by(quota).items():
            if total < sums.get(resource, 0):
                least = own.get(resource, 0)
                own[resource] = int(float(total) * float(least) / float(sums[resource])) if total > 0 else 0
        return own

    def runtime(self, name: str) -> Amounts:
        """Return what a quota may use.

        Nothing is told of the built-in ones, which are never limited by it, and of those that are in no tree.
        """
        if name not in self.tree.bottom_up:
            return {}
        quota = self.tree.quotas[name]
        place = (self.tree.tree_of(quota), quota.parent)
        if place not in self._known_runtimes:
            for above in reversed(self.tree.chain(name)):  # from the top, so that no chain is too long
                self._runtimes(self.tree.tree_of(above), above.parent)
        return self._known_runtimes[place][name]

    @cached_property
    def _child_requests(self) -> Mapping[str, Amounts]:
        """What is requested within each quota; those of one that is not in a tree are not counted."""
        return self._requests_within(self.tree.bottom_up, {})

    def _requests_within(self, names: Iterable[str], known: Mapping[str, Amounts]) -> Mapping[str, Amounts]:
        """Return what is requested within quotas, each after all below it; of others it is known."""
        found: dict[str, Amounts] = {}
        for name in names:
            total = dict(self.own.get(name, _NONE).request)
            for child in self._below(name):
                below = found[child.name] if child.name in found else known[child.name]
                add(total, capped(self._request(child, below), dict(child.max)).items())
            found[name] = total
        return found

    def _upwards(self, names: Iterable[str]) -> Iterator[str]:
        """Yield those of the quotas that are in a tree and all above each, so that none is last before one below it."""
        for name in names:
            if name in self.tree.bottom_up:
                yield from (quota.name for quota in self.tree.chain(name))

    @cached_property
    def _known_runtimes(self) -> dict[tuple[str, str], Mapping[str, Amounts]]:
        return {}

    @cached_property
    def _known_totals(self) -> dict[str, Amounts]:
        return {}

    @cached_property
    def _known_minimums(self) -> dict[tuple[str, str], Amounts]:
        return {}

    @cached_property
    def _sums(self) -> Mapping[str, Sums]:
        """The sums over the pods of each quota and those below it."""
        found: dict[str, Sums] = {}
        for name, sums in self.own.items():
            for quota in self._counting(name):
                found[quota.name] = found[quota.name].plus(sums) if quota.name in found else sums
        return found

    def _counting(self, name: str) -> tuple[Quota, ...]:
        """Return the quotas in which the pods of one count: that, and all above it."""
        return self.tree.chain(name) if name not in self.tree.faults else (self.tree.quotas[name],)

    def _below(self, name: str) -> tuple[Quota, ...]:
        if name not in self.tree.bottom_up:
            return ()
        return self.tree.children.get((self.tree.tree_of(self.tree.quotas[name]), name), ())

    def _minimums_below(self, tree: str, parent: str) -> Amounts:
        """Return the sum of the minimums of all quotas below one, idle ones included."""
        if (tree, parent) not in self._known_minimums:
            total: dict[str, int] = {}
            for child in self.tree.children[tree, parent]:
                add(total, child.min)
            self._known_minimums[tree, parent] = total
        return self._known_minimums[tree, parent]

    def _shared_by(self, quota: Quota) -> Amounts:
        """Return what a quota and its siblings share."""
        return self.total(self.tree.tree_of(quota)) if quota.parent == ROOT else self.runtime(quota.parent)

    def _runtimes(self, tree: str, parent: str) -> Mapping[str, Amounts]:
        """Return the runtime of each quota below one, by name."""
        if (tree, parent) not in self._known_runtimes:
            self._known_runtimes[tree, parent] = self._shared_out(tree, parent)
        return self._known_runtimes[tree, parent]

    def _shared_out(self, tree: str, parent: str) -> Mapping[str, Amounts]:
        children = self.tree.children[tree, parent]
        total = self._shared_by(children[0])
        found: dict[str, dict[str, int]] = {child.name: {} for child in children}
        minimums = {child.name: self.minimum(child.name) for child in children}
        for resource in self._resources(tree, parent):
            claimants = [self._claimant(child, resource, minimums[child.name]) for child in children]
            if parent == ROOT and not tree:
                claimants += self._built_in(resource)
            for name, amount in shares(total.get(resource, 0), claimants, exact=self.rules.exact_shares).items():
                if name in found:
                    found[name][resource] = amount
        return found

    def _resources(self, tree: str, parent: str) -> Iterable[str]:
        """Return the resources that are shared below a quota: those of which it has a maximum."""
        if parent != ROOT:
            return [resource for resource, _ in self.tree.quotas[parent].max]
        return self.tree.resources[tree]

    def _claimant(self, quota: Quota, resource: str, minimums: Amounts) -> Claimant:
        least = minimums.get(resource, 0)
        if self.tree.settings.guarantees:
            least = max(least, self.guaranteed(quota.name).get(resource, 0))
        return Claimant(
            name=quota.name,
            request=self.passed_up(quota.name).get(resource, 0),
            minimum=least,
            weight=as_int64(dict(quota.weight).get(resource, 0)),
            lends=self.lends(quota),
        )

    def _built_in(self, resource: str) -> list[Claimant]:
        """Return the system and the default quota where they have pods.

        Upstream shares with them, though what they use was taken off before: it counts twice.
        """
        return [self._claimant(self.tree.quotas[name], resource, {}) for name in (SYSTEM, DEFAULT) if name in self.own]
