"""Namespaces: what selectors of them see."""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.cluster.objects.fields.meta import Meta, strings

_NAME = "kubernetes.io/metadata.name"


class Namespace(Struct, gc=False):
    """One Namespace."""

    metadata: Meta


def labels(written: Namespace) -> Mapping[str, str]:
    """Return its labels, with the one that the API server sets."""
    return {**strings(written.metadata.labels), _NAME: written.metadata.name}


def labels_of_new(name: str) -> Mapping[str, str]:
    """Return the labels that a namespace has which is made with nothing but a name."""
    return {_NAME: name}
