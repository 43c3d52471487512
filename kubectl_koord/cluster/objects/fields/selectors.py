"""Selectors of labels and of nodes, and which taints of nodes are tolerated."""

from collections.abc import Iterable

from msgspec import Struct

from kubectl_koord.model.values import selectors


class Expression(Struct, gc=False, omit_defaults=True):
    """matchExpressions[]."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Struct, gc=False, omit_defaults=True, rename="camel"):
    """A metav1.LabelSelector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class NodeSelectorTerm(Struct, gc=False, omit_defaults=True, rename="camel"):
    """One term of a node selector."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Struct, gc=False, omit_defaults=True, rename="camel"):
    """What a node affinity or a volume requires of nodes."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class Toleration(Struct, gc=False, omit_defaults=True):
    """A taint of nodes that is tolerated."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


def label_selector(written: LabelSelector | None) -> selectors.Selector | None:
    """Return a label selector as a value; None, which matches nothing, where none is written."""
    if written is None:
        return None
    equal = sorted((written.match_labels or {}).items())
    exact = tuple(selectors.Requirement(key, "In", (value,)) for key, value in equal)
    return selectors.Selector(exact + label_requirements(written.match_expressions))


def node_terms(selector: NodeSelector) -> tuple[selectors.NodeTerm, ...]:
    """Return the terms of a node selector, of which one must hold."""
    return tuple(
        selectors.NodeTerm(
            labels=label_requirements(term.match_expressions), fields=label_requirements(term.match_fields)
        )
        for term in selector.node_selector_terms or ()
    )


def label_requirements(expressions: Iterable[Expression] | None) -> tuple[selectors.Requirement, ...]:
    """Return matchExpressions as values."""
    return tuple(selectors.Requirement(e.key, e.operator, tuple(e.values or ())) for e in expressions or ())
