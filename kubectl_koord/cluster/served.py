"""What a server does not serve at all: asked where a list could not be read."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import structs

from kubectl_koord.cluster.api.transport import Transport
from kubectl_koord.cluster.kinds import KINDS, NETWORK_TOPOLOGY, OPTIONAL_KINDS
from kubectl_koord.model.snapshot import Gap

V = TypeVar("V")
_NOT_FOUND = 404


def told_apart(lists: Mapping[str, V | Gap], transport: Transport) -> Mapping[str, V | Gap]:
    """Return lists by kind with gaps that tell whether the API group is there.

    The server refuses a path before it looks whether there is one; which groups there are everybody may know. Where
    Koordinator's is missing, that is the reason for all of its kinds.
    """
    optional = {kind: gap for kind, gap in lists.items() if isinstance(gap, Gap) and kind in OPTIONAL_KINDS}
    refused = {KINDS[kind].api for kind, gap in optional.items() if gap.code == "forbidden"}
    gone = {api for api in refused if is_missing(transport, api)}
    missing = {kind: structs.replace(gap, code="missing") for kind, gap in optional.items() if KINDS[kind].api in gone}
    topology = lists.get(NETWORK_TOPOLOGY.name)
    if isinstance(topology, Gap) and topology.code == "missing" and is_missing(transport, NETWORK_TOPOLOGY.api):
        return {kind: _not_installed(value) for kind, value in {**lists, **missing}.items()}
    return {**lists, **missing}


def _not_installed(value: V | Gap) -> V | Gap:
    """Return a missing kind of Koordinator's with that as the reason: its API group is not there at all."""
    if isinstance(value, Gap) and value.code == "missing" and KINDS[value.kind].of_koordinator:
        return structs.replace(value, message="Koordinator's CRDs are not installed")
    return value


def is_missing(transport: Transport, path: str) -> bool:
    """Tell whether the server answers a path with 404."""
    body = transport.open(path)
    body.close()
    return body.status == _NOT_FOUND
