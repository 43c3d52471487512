"""The labels of namespaces."""

from collections.abc import Mapping
from typing import TypeAlias

NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]
"""The labels of namespaces, by their names."""

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label with a namespace's name, which the API server sets."""


def labels_of(name: str, known: NamespaceLabels) -> Mapping[str, str]:
    """Return the labels of a namespace; of one that is not known the label that each has."""
    return known.get(name) or labels_of_new(name)


def labels_of_new(name: str) -> Mapping[str, str]:
    """Return the labels that a namespace has which is made with nothing but a name."""
    return {NAME_LABEL: name}
