"""How many volumes of each driver a node can still attach (plugins/nodevolumelimits, csi.go)."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.reasons.nodes import TooManyVolumes
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod, claim_names
from kubectl_koord.model.storage import Claim, StorageClass

_MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}
"""The drivers that took over from provisioners of Kubernetes itself."""

_Attached: TypeAlias = dict[str, set[str]]


class Limits(Struct, frozen=True):
    """The limits of nodes: volumes of pods count by their claims, and `attached` ones besides where a version does so.

    `held` are the pods that are on each node as the cluster is: what these alone use is detached once they have ended.
    """

    claims: Mapping[str, Claim]
    classes: Mapping[str, StorageClass]
    held: Mapping[str, tuple[RunningPod, ...]]
    counts_attachments: bool

    def reject(self, pod: PendingPod, state: NodeState) -> TooManyVolumes | None:
        """Return the first driver of which the node cannot attach what the pod needs.

        One that no pod of the node uses counts beside the same one that the pod brings.
        """
        limits = dict(state.node.volume_limits)
        wanted = self._of_pods((pod,)) if limits else {}
        used = self._of_pods(state.occupants) if not limits.keys().isdisjoint(wanted) else {}
        for driver, volumes in sorted(wanted.items()):
            own = used.get(driver, set())
            new = len(volumes - own)
            if new and driver in limits and len(own) + self._left_over(driver, own, state) + new > limits[driver]:
                return TooManyVolumes(driver)
        return None

    def _left_over(self, driver: str, used: set[str], state: NodeState) -> int:
        """Return how many volumes of a driver are attached to the node that no pod there uses."""
        if not self.counts_attachments:
            return 0
        idle = {handle for of, handle in state.node.attached if of == driver} - used
        if idle:
            still = set(map(id, state.held))
            ended = [pod for pod in self.held.get(state.node.name, ()) if id(pod) not in still]
            idle -= self._of_pods(ended).get(driver, set())
        return len(idle)

    def _of_pods(self, pods: Iterable[Occupant]) -> _Attached:
        """Return the volumes of pods by driver: one that is not there yet counts under the provisioner of its class."""
        found: _Attached = {}
        for pod in pods:
            for name in () if isinstance(pod, ReservedRoom) else claim_names(pod):
                claim = self.claims.get(name)
                if claim is None:
                    continue
                kind = None if claim.known else self.classes.get(claim.class_name)
                driver = claim.driver if kind is None else _MIGRATED.get(kind.provisioner, kind.provisioner)
                if driver:
                    found.setdefault(driver, set()).add(claim.handle or claim.volume or claim.name)
        return found
