"""What is wrong with quotas: the sentence of each finding, and what to do about it."""

from collections.abc import Mapping, Sequence

from kubectl_koord.model.pods import Resources
from kubectl_koord.reports.codes import QuotaFindingCode
from kubectl_koord.wording.words import amounts, amounts_of, count, listed, resource_name

REMEDIES: Mapping[QuotaFindingCode, str] = {
    "quota-same-name": "Rename all but one: the name alone tells quotas apart, the namespace does not count.",
    "quota-same-namespace": "List a namespace in the annotation namespaces of one quota only.",
    "quota-no-parent": "Create the parent, or correct the label parent.",
    "quota-cycle": "Correct the label parent of one of them.",
    "quota-other-tree": "Give it the tree-id of its parent, or another parent.",
    "quota-parent-without-label": "Label the parent is-parent=true, once no pod counts against it.",
    "quota-negative": "Correct the amount: none may be below 0.",
    "quota-min-above-max": "Raise max, or lower min; every resource of min needs a max.",
    "quota-max-below-used": "Raise max, or end pods of the quota.",
    "quota-unreadable": "Write it as JSON: until then the scheduler takes it as not written.",
    "quota-resources-differ": "Give max the same resources in the whole tree.",
    "quota-min-not-in-parent": "Add the resource to min of the parent, or take it out.",
    "quota-min-above-parent": "Raise min of the parent, or lower those below it.",
    "quota-min-above-total": "Lower minimums, or add nodes: until then each gets its part.",
    "quota-pods-in-parent": "Move the pods to a quota below it: its runtime goes to those below, whatever they leave.",
    "quota-unknown": "Create the quota, or correct the label: until then the pods count against the default quota.",
    "quota-over-used": "Wait until pods end: until then no pod of its own is admitted.",
    "quota-used-differs": "Nothing, if it is the same a second later: pods that wait in Permit count there, too.",
    "quota-runtime-differs": "Nothing, if it is the same 10 seconds later; else check the scheduler's configuration.",
}
"""What to do, by code."""
OVER_ITS_MAX = "Raise max, or end pods: it uses more than its max, which a higher min does not change."
MIN_DOES_NOT_HELP = "Wait until pods end: a higher min alone does not give it as much."


def raise_min(amounts_used: Sequence[tuple[str, int]]) -> str:
    """Return which minimum lets a quota use what it uses."""
    return f"Wait until pods end, or raise min to {amounts(amounts_used)}: until then no pod of its own is admitted."


def same_name(name: str, namespaces: Sequence[str]) -> str:
    """Return in which namespaces there are quotas of one name."""
    return f"there are {len(namespaces)} quotas called {name}: in namespaces {listed(namespaces)}."


def same_namespace(namespace: str, quotas: Sequence[str]) -> str:
    """Return which quotas list one namespace."""
    return f"namespace {namespace} is listed by quotas {listed(quotas)}: which one its pods get is not defined."


def no_parent(parent: str) -> str:
    """Return that a parent does not exist."""
    return f"its parent {parent} does not exist: what becomes of it is not defined."


def cycle(chain: Sequence[str]) -> str:
    """Return that a quota is below itself."""
    return f"it is below itself: {' < '.join(chain)}."


def other_tree(tree: str, parent: str, of_parent: str) -> str:
    """Return that a quota is in another tree than its parent."""
    return f"it is in {_tree(tree)}, its parent {parent} in {_tree(of_parent)}."


def _tree(tree: str) -> str:
    return f"tree {tree}" if tree else "the default tree"


def parent_without_label(children: Sequence[str]) -> str:
    """Return that a quota has others below it, and may not."""
    return f"it is not labelled is-parent=true, and is the parent of {listed(children)}."


def negative(field: str, amount: Resources) -> str:
    """Return which amounts are below zero."""
    return f"{field} is below 0: {amounts(amount)}."


def min_above_max(resource: str, least: int, most: int | None) -> str:
    """Return that a minimum has no maximum, or is above it."""
    said, *above = amounts_of(resource, *(number for number in (least, most) if number is not None))
    return f"min is {said} {resource_name(resource)}, max {above[0] if above else 'has none'}."


def max_below_used(resource: str, most: int, used: int) -> str:
    """Return that a maximum is below what is used, where it must not be."""
    limit, has = amounts_of(resource, most, used)
    return f"max is {limit} {resource_name(resource)}, which must not be below the {has} used."


def unreadable(annotations: Sequence[str]) -> str:
    """Return which annotations cannot be read."""
    return f"{listed(annotations)} cannot be read."


def resources_differ(parent: str, more: Sequence[str], fewer: Sequence[str]) -> str:
    """Return which resources a maximum has and its parent's has not, and the other way round."""
    parts = [f"{listed(more)} {_are(more)} in max here only"] if more else []
    parts += [f"{listed(fewer)} {_are(fewer)} in max of {parent} only"] if fewer else []
    return f"{listed(parts)}: what the parent lacks is not shared out, and what the quota lacks is not limited."


def _are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def min_not_in_parent(parent: str, resources: Sequence[str]) -> str:
    """Return which resources of a minimum the parent's lacks."""
    return f"min has {listed(resources)}, which min of {parent} has not."


def min_above_parent(resource: str, own: int, below: int, children: int) -> str:
    """Return that the minimums below a quota come to more than its own."""
    together, alone = amounts_of(resource, below, own)
    what = f"min of {count(children, 'quota')} below it comes to {together} {resource_name(resource)}"
    return f"{what}, its own is {alone}."


def min_above_total(resource: str, total: int, sum_of_min: int, *, scaled: bool) -> str:
    """Return that minimums come to more than there is, and what then happens."""
    then = "each is scaled down" if scaled else "they are not scaled down, and runtimes exceed what there is"
    together, there = amounts_of(resource, sum_of_min, total)
    return f"minimums come to {together} {resource_name(resource)}, and there are {there}: {then}."


def pods_in_parent(requested: Resources) -> str:
    """Return what pods request of a quota that is a parent."""
    return f"it is a parent, and pods of its own request {amounts(requested)}."


def unknown_quota(pods: int, example: str, quota: str) -> str:
    """Return that pods name a quota that does not exist; `quota` is what they count against, empty for none."""
    then = f"{'it counts' if pods == 1 else 'they count'} against {quota or 'none'}"
    return f"{count(pods, 'pod')} (such as {example}) {'names' if pods == 1 else 'name'} it, it does not exist: {then}."


def over_used(used: Resources, runtime: Mapping[str, int]) -> str:
    """Return that a quota uses more than it may, of these resources."""
    parts = [f"{' of '.join(amounts_of(name, number, runtime[name]))} {resource_name(name)}" for name, number in used]
    return f"it uses more than its runtime: {listed(parts)}."


def differs(resource: str, field: str, written: int, computed: int) -> str:
    """Return that what the scheduler wrote is not what is computed; the answer rests on that."""
    told, ours = amounts_of(resource, written, computed)
    what = f"the scheduler wrote {field} {told} {resource_name(resource)}"
    return f"{what}, computed are {ours}; answers rest on what is computed."
