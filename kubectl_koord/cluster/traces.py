"""What preemption left behind in a live cluster, read namespace by namespace."""

from msgspec import structs

from kubectl_koord.cluster.api.transport import Transport
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import CONFIG_MAP, DEPLOYMENT, POD, POD_GROUP
from kubectl_koord.cluster.lists import ListRequest
from kubectl_koord.cluster.source import StatedInstallation, absorb, events_request, now, read, requests
from kubectl_koord.model.snapshot import Gap, Snapshot


class Traces:
    """Traces of preemption in some namespaces of a live cluster, read one after the other.

    Pods of every phase are read, finished victims carry their condition too.
    """

    def __init__(self, transport: Transport, told: StatedInstallation) -> None:
        self._transport = transport
        self._told = told
        self._collector = Collector(traced=True)
        self._collector.looked_in = told.namespace
        self._gaps: list[Gap] = []
        self._read: set[str] = set()

    def read(self, namespace: str) -> None:
        """Read a namespace, once; a list that is refused is a gap of that namespace."""
        if namespace in self._read:
            return
        wanted = [
            ListRequest(POD.name, POD.path(namespace)),
            ListRequest(POD_GROUP.name, POD_GROUP.path(namespace)),
            events_request(namespace, "reason=Preempted"),
        ]
        if not self._read:
            wanted += requests((DEPLOYMENT.name, CONFIG_MAP.name))
        self._read.add(namespace)
        found = read(self._transport, wanted, lambda: namespace, self._collector, home=self._told.namespace)
        gaps = absorb(found, self._collector)
        self._gaps += [structs.replace(gap, namespace=namespace) for gap in gaps]

    def snapshot(self) -> Snapshot:
        """Return all that was read so far."""
        return self._collector.snapshot(
            moment=now(), source="cluster", gaps=self._gaps, chosen_version=self._told.version
        )
