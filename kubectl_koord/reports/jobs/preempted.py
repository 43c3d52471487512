"""The answer of `why-preempted`."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.common import Basis, Notice, Verdict

Fate: TypeAlias = Literal["placed", "partly-placed", "pending", "gone", "unknown"]
"""What became of a preemptor: placed means that its minimum is on nodes, pending that it killed in vain so far."""

VictimState: TypeAlias = Literal["gone", "finished", "terminating", "running", "pending"]


class Evidence(Struct, frozen=True, rename="camel"):
    """A text that an answer rests on: of a `condition` or an `event`."""

    source: Literal["condition", "event"]
    text: str


class PreemptedPod(Struct, frozen=True, rename="camel"):
    """One pod that was preempted.

    when: RFC 3339. plugin: `job-preemption`, `elastic-quota`, `other` (ElasticQuota, Reservation or
    DefaultPreemption) or None where it is not told. preemptor: a gang, a gang group (ids joined with
    commas) or a pod. state: what became of the victim itself. member_by_name: whether of a pod that is
    gone only its name tells that it belonged to the gang.
    """

    pod: str
    node: str
    priority: int | None
    gang: str | None
    when: str
    plugin: str | None
    preemptor: str | None
    trigger_pod: str | None
    preemptor_priority: int | None
    preemptor_state: Fate
    evidence: tuple[Evidence, ...]
    state: VictimState
    member_by_name: bool = False


class Preemptor(Struct, frozen=True, rename="camel"):
    """Who preempted, and what came of it: `unknown` where its namespace could not be read.

    killed: its victims in this report.
    """

    name: str
    state: Fate
    priority: int | None
    bound: int
    pending: int
    min_member: int | None
    killed: int = 0


class WhyPreemptedReport(Struct, frozen=True, rename="camel"):
    """Who preempted a pod or members of a gang; `message` says why no pod is listed."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    asked: str
    is_pod: bool
    pods: tuple[PreemptedPod, ...]
    preemptors: tuple[Preemptor, ...]
    message: str = ""
