"""Read the lists that a command reads and throw them away: what no reader can be faster than.

    python -m benchmarks.discard topo|why-pending|preempt

It goes the same way to the server, through kubectl, list beside list, and decodes nothing.
"""

import sys

from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.kinds import DISRUPTION_KINDS, TOPOLOGY_KINDS, VOLUME_KINDS
from kubectl_koord.cluster.lists import Pages, read_lists
from kubectl_koord.cluster.reading import SLICE
from kubectl_koord.cluster.source import requests

_WITH_GANGS = (*DISRUPTION_KINDS, *VOLUME_KINDS)
KINDS = {"topo": TOPOLOGY_KINDS, "why-pending": _WITH_GANGS, "preempt": _WITH_GANGS}


def discard(_kind: str, pages: Pages) -> int:
    """Return how many bytes came."""
    total, buffer = 0, bytearray(SLICE)
    for page in pages:
        while count := page.readinto(buffer):
            total += count
    return total


def main() -> None:
    """Read everything once."""
    with connect(Connection(), writes=False) as transport:
        read_lists(transport, requests(KINDS[sys.argv[1]]), transport.namespace, discard)


if __name__ == "__main__":
    main()
