"""The traces of preemption: events, and pods in any phase with the condition that it wrote."""

from msgspec import Struct

from kubectl_koord.model.pods import Condition


class Event(Struct, frozen=True, gc=False):
    """One event about a pod, or about what could not make one; of `v1` or `events.k8s.io/v1`.

    Times are RFC 3339, empty where not set. `kind` is that of the object that it is about.
    `related` is the other pod (for `Preempted` the one that preempted) as `namespace/name`. `note`
    is cut at 1024 characters by its writer.
    """

    namespace: str
    name: str
    reason: str
    note: str
    uid: str = ""
    related: str = ""
    first_seen: str = ""
    last_seen: str = ""
    kind: str = "Pod"

    @property
    def key(self) -> str:
        """The object that it is about: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class PodTrace(Struct, frozen=True, gc=False):
    """A pod in any phase, with what shows that it was preempted.

    `node` is empty while it is pending; `preempted` the condition `DisruptionTarget` of reason
    `PreemptionByScheduler`; `quota` the quota that its label names.
    """

    namespace: str
    name: str
    uid: str = ""
    node: str = ""
    priority: int = 0
    gang: str = ""
    owner: str = ""
    quota: str = ""
    phase: str = ""
    terminating: bool = False
    preempted: Condition | None = None
    created: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"
