"""What few of the pods that run have."""

from msgspec import Struct


class GangAnnotations(Struct, frozen=True, gc=False):
    """What a pod itself says of its gang (only read where no PodGroup defines the gang)."""

    minimum: str | None = None
    total: str | None = None
    mode: str = ""
    match_policy: str = ""
    groups: str | None = None
    topology: str | None = None


class Marks(Struct, frozen=True, gc=False):
    """What tells a running pod from most others, as one value for all that have the same.

    `job` is the victim's job key (label `scheduling.koordinator.sh/questioned-object-key`); `selector` its annotation
    `network-topology-selector`; `gone_by` when a terminating pod must have ended, its grace period over;
    `offers` the uid of the reservation that the pod is itself (operating mode); `initialized` since when its init
    containers have run, where it says for how long its estimate counts from then on. `preemptor` is the job for which
    job preemption ended it, as its condition names that: the ids of a gang group, or `namespace/name` of a pod.
    `gang_terms` is what a pod says of its gang that no PodGroup has to define, None where it says nothing.
    """

    job: str = ""
    protected: bool = False
    terminating: bool = False
    preempted: bool = False
    selector: str = ""
    gone_by: str = ""
    offers: str = ""
    initialized: str = ""
    preemptor: str = ""
    gang_terms: GangAnnotations | None = None


NO_MARKS = Marks()
