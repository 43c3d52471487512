"""Laws of quotas on random trees, and a second way to compute them: one resource at a time, from the leaves up."""

from fractions import Fraction
from math import floor, trunc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from kubectl_koord.engine.quota.state import QuotaState, held_back, quota_state
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, PREEMPTIBLE_LABEL, ROOT, Quota, QuotaSettings
from tests.build import Drawing, cluster, node, pending

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
VERSIONS = ("1.7", "1.8", "main")
_FIXED = (PREEMPTIBLE_LABEL, "false")


class Planned(Struct, frozen=True):
    """One quota, and what its own pods request and use of each resource."""

    quota: Quota
    asked: tuple[int, ...]
    used: tuple[int, ...]


@st.composite
def trees(draw: st.DrawFn) -> tuple[Drawing, tuple[Planned, ...]]:
    amount = st.integers(0, 40)
    planned: list[Planned] = []
    for number in range(draw(st.integers(1, 9))):
        kept = draw(st.sets(st.sampled_from(RESOURCES), min_size=1))
        most = {resource: draw(amount) for resource in sorted(kept)}
        least = {resource: draw(st.integers(0, value)) for resource, value in most.items() if draw(st.booleans())}
        weight = {resource: draw(amount) for resource in most} if draw(st.booleans()) else most
        parent = draw(st.sampled_from([ROOT, ROOT, *(one.quota.name for one in planned)]))
        quota = Quota(
            "default",
            f"q{number}",
            min=tuple(sorted(least.items())),
            max=tuple(most.items()),
            weight=tuple(weight.items()),
            parent=parent,
            lends=draw(st.booleans()),
        )
        asked, used = (tuple(draw(amount) for _ in RESOURCES) for _ in range(2))
        planned.append(Planned(quota, asked, used))
    extra = Planned(Quota("default", DEFAULT), *(tuple(draw(amount) for _ in RESOURCES) for _ in range(2)))
    planned += [extra] if draw(st.booleans()) else []
    room = tuple(zip(RESOURCES, [draw(st.integers(0, 120)) for _ in RESOURCES], strict=True))
    drawing = cluster().with_nodes(node("n1", allocatable=room)).version(draw(st.sampled_from(VERSIONS)))
    drawing = drawing.configured(quotas=QuotaSettings(scale_min=draw(st.booleans())))
    return drawn(drawing, planned), tuple(planned)


def drawn(drawing: Drawing, planned: list[Planned]) -> Drawing:
    quotas = tuple(one.quota for one in planned if one.quota.name != DEFAULT)
    drawing = drawing.but(quotas=quotas)
    for one in planned:
        labels = ((NAME_LABEL, one.quota.name),)
        asked, used = (
            tuple((r, n) for r, n in zip(RESOURCES, some, strict=True) if n) for some in (one.asked, one.used)
        )
        drawing = drawing.with_pods(pending(f"a-{one.quota.name}", requests=asked, labels=labels))
        drawing = drawing.with_running(f"u-{one.quota.name}", on="n1", requests=used, labels=labels)
    return drawing


def computed(drawing: Drawing) -> QuotaState:
    return quota_state(of(drawing), rules(drawing.config.version))


class Restated:
    """What becomes of one resource, written down again."""

    def __init__(self, drawing: Drawing, planned: tuple[Planned, ...], resource: str) -> None:
        self.resource, self.drawing = resource, drawing
        self.index = RESOURCES.index(resource)
        self.by_name = {one.quota.name: one for one in planned}
        self.default = self.by_name.pop(DEFAULT, None)

    def has(self, name: str) -> bool:
        return self.resource in dict(self.by_name[name].quota.max)

    def of(self, name: str, field: str) -> int:
        return int(dict(getattr(self.by_name[name].quota, field)).get(self.resource, 0))

    def below(self, name: str) -> list[str]:
        return [child for child, one in self.by_name.items() if one.quota.parent == name]

    def request(self, name: str) -> int:
        one = self.by_name[name]
        own = one.asked[self.index] + one.used[self.index] if self.has(name) else 0
        wanted = own + sum(self.passed_up(child) for child in self.below(name))
        return wanted if one.quota.lends else max(wanted, self.of(name, "min"))

    def passed_up(self, name: str) -> int:
        return min(self.request(name), self.of(name, "max")) if self.has(name) else self.request(name)

    def runtime(self, name: str) -> int | None:
        parent = self.by_name[name].quota.parent
        return self.shared_below(parent).get(name)

    def there_is(self, parent: str) -> int | None:
        if parent != ROOT:
            return self.runtime(parent)
        total = int(dict(self.drawing.nodes["n1"].allocatable)[self.resource])
        counted = self.default is not None and self.resource in {"cpu", "memory"}
        return total - (self.default.used[self.index] if self.default and counted else 0)

    def shared_below(self, parent: str) -> dict[str, int]:
        children = self.below(parent)
        if not (any(map(self.has, self.by_name)) if parent == ROOT else self.has(parent)):
            return {}
        there = self.there_is(parent)
        wanted = {child: self.passed_up(child) for child in children}
        least = {child: self.of(child, "min") for child in children}
        if self.drawing.config.quotas.scale_min and there is not None and there < sum(least.values()):
            total = sum(least.values())
            least = {child: trunc(there * kept / total) if there > 0 else 0 for child, kept in least.items()}
        weights = {child: self.of(child, "weight") for child in children}
        lending = {child: self.by_name[child].quota.lends for child in children}
        if parent == ROOT and self.default is not None:
            counted = self.resource in {"cpu", "memory"}
            wanted[DEFAULT] = self.default.asked[self.index] + self.default.used[self.index] if counted else 0
            least[DEFAULT], lending[DEFAULT] = 0, True
            weights[DEFAULT] = {"cpu": -600, "memory": (2**63 - 1) // 5}.get(self.resource, 0)
        got = {
            child: least[child] if wanted[child] > least[child] or not lending[child] else wanted[child]
            for child in wanted
        }
        self.share_rest((there or 0) - sum(got.values()), got, wanted, weights, least)
        return got

    def share_rest(
        self, rest: int, got: dict[str, int], wanted: dict[str, int], weights: dict[str, int], least: dict[str, int]
    ) -> None:
        hungry = [child for child in wanted if wanted[child] > least[child]]
        while rest > 0 and hungry and sum(weights[child] for child in hungry) > 0:
            total = sum(weights[child] for child in hungry)
            more = self.parts(rest, total, {child: weights[child] for child in hungry})
            rest = 0
            for child in list(hungry):
                got[child] += more[child]
                if got[child] >= wanted[child]:
                    rest += got[child] - wanted[child]
                    got[child] = wanted[child]
                    hungry.remove(child)

    def parts(self, rest: int, total: int, weights: dict[str, int]) -> dict[str, int]:
        if self.drawing.config.version != "main":
            return {child: trunc(float(weight) * float(rest) / float(total) + 0.5) for child, weight in weights.items()}
        exact = {child: Fraction(max(weight, 0) * rest, total) for child, weight in weights.items()}
        parts = {child: floor(part) for child, part in exact.items()}
        ranked = sorted((child for child in exact if weights[child] > 0), key=lambda c: (parts[c] - exact[c], c))
        for child in ranked[: max(0, rest - sum(parts.values()))]:
            parts[child] += 1
        return parts


def agree(tree: tuple[Drawing, tuple[Planned, ...]]) -> None:
    drawing, planned = tree
    state = computed(drawing)
    for resource in RESOURCES:
        restated = Restated(drawing, planned, resource)
        for name in restated.by_name:
            assert dict(state.request(name)).get(resource, 0) == restated.request(name)
            assert dict(state.runtime(name)).get(resource) == restated.runtime(name)


@given(trees())
def test_a_second_way_to_compute_requests_and_runtimes_comes_to_the_same(
    tree: tuple[Drawing, tuple[Planned, ...]],
) -> None:
    agree(tree)


@pytest.mark.soak
@settings(max_examples=600)
@given(trees())
def test_and_does_so_for_many_trees(tree: tuple[Drawing, tuple[Planned, ...]]) -> None:
    agree(tree)


@given(trees())
def test_a_runtime_is_never_above_what_is_requested_and_allowed_but_for_a_minimum_that_is_kept(
    tree: tuple[Drawing, tuple[Planned, ...]],
) -> None:
    state = computed(tree[0])
    for name, quota in state.tree.quotas.items():
        for resource, amount in state.runtime(name).items():
            kept = state.minimum(name).get(resource, 0) if not quota.lends else 0
            assert amount <= max(dict(state.passed_up(name)).get(resource, 0), kept)


@given(trees())
def test_runtimes_come_to_no_more_than_the_parent_has_unless_minimums_or_rounding_say_otherwise(
    tree: tuple[Drawing, tuple[Planned, ...]],
) -> None:
    drawing, planned = tree
    state = computed(drawing.version("main"))
    if any(one.quota.name == DEFAULT for one in planned):
        return  # its weight is below zero: then all others get too much
    for (_, parent), children in state.tree.children.items():
        has = state.total("") if parent == ROOT else state.runtime(parent)
        for resource in RESOURCES:
            shared = sum(state.runtime(child.name).get(resource, 0) for child in children)
            least = sum(state.minimum(child.name).get(resource, 0) for child in children)
            assert shared <= max(has.get(resource, 0), least)


@given(trees(), st.randoms(use_true_random=False))
def test_the_order_of_quotas_and_pods_does_not_matter(
    tree: tuple[Drawing, tuple[Planned, ...]], random: Random
) -> None:
    drawing = tree[0]
    quotas, pods = list(drawing.quotas), list(drawing.running["n1"])
    random.shuffle(quotas)
    random.shuffle(pods)
    state = computed(drawing)
    other = computed(drawing.but(quotas=tuple(quotas), running={"n1": tuple(pods)}, pending=drawing.pending[::-1]))

    for name in state.tree.quotas:
        assert (state.used(name), state.request(name), state.runtime(name)) == (
            other.used(name),
            other.request(name),
            other.runtime(name),
        )


@st.composite
def refusing(draw: st.DrawFn) -> tuple[Drawing, tuple[PendingPod, ...]]:
    """Return a cluster with quotas, and members that wait: of one or several quotas, many of them alike."""
    drawing, _ = draw(trees())
    settings_ = structs.replace(
        drawing.config.quotas, check_parents=draw(st.booleans()), by_runtime=draw(st.booleans())
    )
    names = [quota.name for quota in drawing.quotas][: draw(st.integers(1, 3))]
    kinds = draw(st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.sampled_from(names)), max_size=4))
    members = tuple(
        pending(f"m-{n}-{copy}", requests=(("cpu", size),), labels=((NAME_LABEL, name), *((_FIXED,) if fixed else ())))
        for n, (size, fixed, name) in enumerate(kinds)
        for copy in range(draw(st.integers(1, 3)))
    )
    return drawing.configured(quotas=settings_).with_pods(*members), members


@given(refusing())
def test_members_are_refused_as_if_each_was_tried_after_those_before_it(
    found: tuple[Drawing, tuple[PendingPod, ...]],
) -> None:
    drawing, members = found
    view, known = of(drawing), rules(drawing.config.version)
    expected = None
    for position, pod in enumerate(members):
        refusal = quota_state(view.with_pods({"n1": members[:position]}), known).refusal(pod)
        if refusal is not None:
            expected = (position, computed(drawing).behind(members[:position], refusal))
            break

    assert computed(drawing).first_refused(members) == expected


@given(refusing())
def test_who_is_held_back_is_refused_once_those_before_that_have_passed(
    found: tuple[Drawing, tuple[PendingPod, ...]],
) -> None:
    drawing, members = found
    view, known = of(drawing), rules(drawing.config.version)
    passed: list[PendingPod] = []
    refused: dict[str, list[PendingPod]] = {}
    for pod in members:
        if quota_state(view.with_pods({"n1": passed}), known).refusal(pod) is None:
            passed.append(pod)
        else:
            refused.setdefault(dict(pod.labels)[NAME_LABEL], []).append(pod)

    held = held_back(computed(drawing), members)
    assert {name: [one.pod for one in some] for name, some in held.items()} == refused
