"""What the scheduler tries as one: a gang with its group, or a pod without a gang."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.resource_claims.readiness import unready_claim
from kubectl_koord.engine.gang_settings import Spec
from kubectl_koord.engine.gangs import Gang, GangGroup
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot

_Pods: TypeAlias = tuple[PendingPod, ...]


class GangSubject(Struct, frozen=True):
    """A gang, with all that are scheduled as one with it."""

    group: GangGroup

    @property
    def key(self) -> str:
        """The gang that was asked for, as `namespace/name`."""
        return self.group.own.key

    @property
    def pending(self) -> tuple[PendingPod, ...]:
        """The pending pods of the group, by name."""
        return self.group.pending

    @property
    def members(self) -> tuple[PendingPod | RunningPod | FinishedPod, ...]:
        """Every pod of its gangs that exists."""
        return tuple(pod for gang in self.group.everyone for pod in gang.pods)

    @property
    def gangs(self) -> Mapping[str, Gang | None]:
        """The gangs that its own list names, by id; None for those that do not exist."""
        return self.group.gangs

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The distinct topology specs of its pending pods, None for those without one."""
        return self.group.specs

    def with_gangs(self, change: Callable[[Gang], Gang]) -> "GangSubject":
        """Return the subject with each of its gangs changed."""
        return GangSubject(self.group.with_each(change))

    def with_pending(self, kept: Callable[[_Pods], _Pods]) -> "GangSubject":
        """Return the subject with what is kept of the pending pods of each gang."""
        return self.with_gangs(lambda gang: structs.replace(gang, pending=kept(gang.pending)))


class PodSubject(Struct, frozen=True):
    """One pod without a gang: one that is pending, or on a node, or that has finished."""

    pod: PendingPod | RunningPod | FinishedPod

    @property
    def key(self) -> str:
        """The pod, as `namespace/name`."""
        return self.pod.key

    @property
    def pending(self) -> tuple[PendingPod, ...]:
        """The pod itself while it is pending."""
        return (self.pod,) if isinstance(self.pod, PendingPod) else ()

    @property
    def members(self) -> tuple[PendingPod | RunningPod | FinishedPod, ...]:
        """The pod itself."""
        return (self.pod,)

    @property
    def gangs(self) -> Mapping[str, Gang | None]:
        """None at all."""
        return {}

    @property
    def specs(self) -> tuple[Spec, ...]:
        """None: these are specs of gangs."""
        return ()

    def with_gangs(self, _change: Callable[[Gang], Gang]) -> "PodSubject":
        """Return the subject as it is: it has no gang to change."""
        return self

    def with_pending(self, kept: Callable[[_Pods], _Pods]) -> "PodSubject":
        """Return the subject with its pending pod changed; it must be kept."""
        (pod,) = kept(self.pending)
        return PodSubject(pod)


Subject: TypeAlias = GangSubject | PodSubject


def never_tried(subject: Subject, snapshot: Snapshot, *, gates: bool = True) -> frozenset[str]:
    """Return the pods that the scheduler counts as members and never takes from its queue.

    They belong to another scheduler, are being deleted, or are held by a resource claim or, with `gates`, by a
    scheduling gate: other members take such pods along (`NextPod`), and only binding them is refused.
    """
    profiles = snapshot.config.profiles
    return frozenset(
        pod.key
        for pod in subject.pending
        if pod.terminating
        or (gates and pod.gates)
        or pod.scheduler not in profiles
        or (pod.resource_claims and unready_claim(pod, snapshot) is not None)
    )
