"""The least limits of quotas with which pods pass, found by computing with the scheduler's own check."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.quota.amounts import add, plus
from kubectl_koord.engine.quota.state import QuotaState
from kubectl_koord.engine.quota.sums import is_fixed, requested
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.quotas import BUILT_IN, ROOT, Quota
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.edits import SetQuota

Field: TypeAlias = Literal["min", "max"]
_Place: TypeAlias = tuple[str, Field, str]
"""A limit: of which quota, its minimum or maximum, and of which resource."""
_Amounts: TypeAlias = Mapping[_Place, int]

_MOST_CHECKS = 120


class RaisedLimit(Struct, frozen=True):
    """One limit to raise, and what it is now."""

    edit: SetQuota
    before: int

    @staticmethod
    def patches(found: Sequence["RaisedLimit"]) -> Iterator[tuple[str, str]]:
        """Yield for each quota, by `namespace/name`, the patch of its spec; what is above goes first."""
        by_quota: dict[str, dict[str, dict[str, str]]] = {}
        for one in found:
            edit = one.edit
            by_quota.setdefault(edit.quota, {}).setdefault(edit.field, {})[edit.resource] = edit.amount
        yield from ((key, json.dumps({"spec": spec})) for key, spec in by_quota.items())


def least(
    state: QuotaState, pods: Sequence[PendingPod], passes: Callable[[QuotaState], bool]
) -> tuple[RaisedLimit, ...]:
    """Return the least limits with which the pods pass, those of parents first; none where none are enough.

    Args:
        state: the quotas as they are.
        pods: those that are to pass, one after the other.
        passes: tells whether they do in another state.

    """
    levels = _Levels(state, pods, passes)
    found = levels.maximums() or levels.minimums()
    order = {quota.name: position for position, quota in enumerate(levels.top_down)}
    ranked = sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1:]))
    return tuple(
        RaisedLimit(
            SetQuota(levels.quotas[name].key, field, resource, quantity.spell(resource, amount)),
            _limits(levels.quotas[name], field).get(resource, 0),
        )
        for (name, field, resource), amount in ranked
    )


def _limits(quota: Quota, field: Field) -> dict[str, int]:
    return dict(quota.min if field == "min" else quota.max)


class _Levels:
    """The quotas of pods and all above them, from the top down, and what the pods ask of each."""

    def __init__(self, state: QuotaState, pods: Sequence[PendingPod], passes: Callable[[QuotaState], bool]) -> None:
        self._state = state
        self._passes = passes
        self._checks = _MOST_CHECKS
        tree = state.tree
        self.asked: dict[str, dict[str, int]] = {}
        self.fixed: dict[str, dict[str, int]] = {}
        self.quotas: dict[str, Quota] = {}
        self.own = tuple(dict.fromkeys(name for pod in pods if (name := tree.name_of(pod))))
        depths: dict[str, int] = {}
        written = {quota.name for quota in tree.written}
        for pod in pods:
            name = tree.name_of(pod)
            asked = requested(pod, name, tree) if name else {}
            chain = tree.chain(name) if name else ()
            for depth, quota in [(at, one) for at, one in enumerate(reversed(chain)) if one.name in written]:
                self.quotas[quota.name], depths[quota.name] = quota, depth
                add(self.asked.setdefault(quota.name, {}), asked.items())
                if is_fixed(pod) and quota.name == name:
                    add(self.fixed.setdefault(name, {}), asked.items())
        self.top_down = sorted(self.quotas.values(), key=lambda quota: (depths[quota.name], quota.name))

    def maximums(self) -> dict[_Place, int]:
        """Return the least maximums that are enough, none where whatever maximum is not."""
        lows: dict[_Place, int] = {
            (quota.name, "max", resource): low
            for quota in self.top_down
            for resource, most in quota.max
            if (low := self._needed(quota.name).get(resource, 0)) > most
        }
        if self.holds(lows):
            found = self._without_needless(lows)
            return {**found, **{place: self._least(found, place) for place in found}}
        highs: dict[_Place, int] = {
            (quota.name, "max", resource): max(most, self._useful(quota.name, resource))
            for quota in self.top_down
            for resource, most in quota.max
            if resource in self.asked[quota.name]
        }
        if not self.holds(highs):
            return {}
        found = self._without_needless(highs)
        for place in tuple(found):
            found[place] = self._least(found, place)
        return self._without_needless(found)

    def minimums(self) -> dict[_Place, int]:
        """Return the least that must be guaranteed, to the pods' own quotas and to those above, none where nothing is.

        No minimum may be above its maximum, nor the sum of those below a quota above its own (but of the root quota).
        """
        found: dict[_Place, int] = {}
        for name in [one for one in self.own if one in self.quotas and one not in BUILT_IN]:
            kept = dict(self.quotas[name].min)
            is_capped = dict(self.quotas[name].max)
            wanted = plus(self._state.fixed(name), self.fixed[name]) if name in self.fixed else {}
            needed, counted = self._needed(name), plus(self.asked[name], self._state.used(name))
            least = {resource: max(needed.get(resource, 0), wanted.get(resource, 0)) for resource in is_capped}
            found |= {
                (name, "min", resource): amount
                for resource, amount in least.items()
                if amount > kept.get(resource, 0) and resource in counted
            }
        return self._lessened(found) if found and self.holds(self._allowed(found)) else {}

    def _lessened(self, found: dict[_Place, int]) -> dict[_Place, int]:
        """Return the least of minimums that are enough."""
        for place in tuple(found):
            rest = {other: amount for other, amount in found.items() if other != place}
            found = rest if rest and self.holds(self._allowed(rest)) else found
        for place in tuple(found):
            found[place] = self._least(found, place, self._allowed)
        return self._allowed(found)

    def _allowed(self, minimums: _Amounts) -> dict[_Place, int]:
        """Return minimums with what else must be raised, so that the webhook for quotas lets them in."""
        found: dict[_Place, int] = dict(minimums)
        tree = self._state.tree
        for quota in reversed(self.top_down):
            for resource, now in quota.min:
                found.setdefault((quota.name, "min", resource), now)
            for (name, field, resource), amount in tuple(found.items()):
                if name != quota.name or field != "min":
                    continue
                if amount > dict(quota.max).get(resource, amount):
                    found[name, "max", resource] = amount
                if quota.parent != ROOT and quota.parent in self.quotas:
                    siblings = tree.children[tree.tree_of(quota), quota.parent]
                    total = sum(
                        found.get((one.name, "min", resource), dict(one.min).get(resource, 0)) for one in siblings
                    )
                    above = dict(self.quotas[quota.parent].min).get(resource, 0)
                    place: _Place = (quota.parent, "min", resource)
                    found[place] = max(found.get(place, above), total)
        return {place: amount for place, amount in found.items() if amount > self._now(place)}

    def _needed(self, name: str) -> dict[str, int]:
        return plus(self._state.used(name), self.asked[name])

    def _useful(self, name: str, resource: str) -> int:
        """Return a maximum beyond which none changes anything: all that is requested below, whatever is capped."""
        tree, total, names = self._state.tree, 0, [name]
        for one in names:  # which grows
            sums = self._state.own.get(one)
            total += sums.request.get(resource, 0) if sums is not None else 0
            below = tree.children.get((tree.tree_of(tree.quotas[one]), one), ())
            total += dict(tree.quotas[one].min).get(resource, 0)
            names.extend(child.name for child in below)
        return max(total, self._needed(name).get(resource, 0))

    def _now(self, place: _Place) -> int:
        name, field, resource = place
        return _limits(self.quotas[name], field).get(resource, 0)

    def _without_needless(self, limits: _Amounts) -> dict[_Place, int]:
        """Leave out every limit without which the pods pass as well, those of parents first."""
        kept = dict(limits)
        for place in limits:
            rest = {other: amount for other, amount in kept.items() if other != place}
            if rest and self.holds(rest):
                kept = rest
        return kept

    def _least(self, limits: _Amounts, place: _Place, allowed: Callable[[_Amounts], _Amounts] = dict) -> int:
        """Return the least amount of one limit with which the pods pass, the others as they are."""
        low, high = self._now(place), limits[place]
        middle = high - 1
        while low + 1 < high and self._checks > 0:
            low, high = (low, middle) if self.holds(allowed({**limits, place: middle})) else (middle, high)
            middle = (low + high) // 2
        return high

    def holds(self, limits: _Amounts) -> bool:
        """Tell whether the pods pass with these limits; no where too much was asked already."""
        self._checks -= 1
        if not limits or self._checks < 0:
            return False
        changed: dict[str, Quota] = {}
        for (name, field, resource), amount in limits.items():
            quota = changed.get(name, self.quotas[name])
            own = _limits(quota, field) | {resource: amount}
            changed[name] = structs.replace(quota, **{field: tuple(sorted(own.items()))})
        for name, quota in changed.items():
            changed[name] = structs.replace(quota, weight=quota.max) if quota.weighs_max else quota
        tree = self._state.tree
        raised = tree.with_limits(tuple(changed.get(quota.name, quota) for quota in tree.written))
        return self._passes(self._state.with_limits(raised))
