"""Namespaces: what selectors of them see."""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.cluster.objects.fields.meta import Meta, strings
from kubectl_koord.model.namespaces import labels_of_new


class Namespace(Struct, gc=False):
    """One Namespace."""

    metadata: Meta


def labels(written: Namespace) -> Mapping[str, str]:
    """Return its labels, with the one that the API server sets."""
    return {**strings(written.metadata.labels), **labels_of_new(written.metadata.name)}
