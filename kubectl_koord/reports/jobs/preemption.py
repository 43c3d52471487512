"""The answer of `preempt --dry-run`."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import CauseCode, ReasonCode
from kubectl_koord.reports.common import Basis, Notice, Verdict
from kubectl_koord.reports.disruption import BrokenGang, BudgetHit

RoundTime: TypeAlias = Literal["now", "while-terminating", "after"]
"""When an attempt is made: next, while the victims of the one before it terminate, or once all of these are gone."""


class Victim(Struct, frozen=True, rename="camel"):
    """One pod that would be killed. `domain` is the domain above its node, for people."""

    pod: str
    node: str
    priority: int
    gang: str | None
    owner: str | None
    age_seconds: int | None
    pod_disruption_budget: BudgetHit | None
    domain: str = ""
    wasted: bool = False
    eviction: str | None = None


class Round(Struct, frozen=True, rename="camel"):
    """One attempt: whom it kills, where the members are nominated, and when it is made."""

    victims: tuple[Victim, ...]
    nominations: Mapping[str, str]
    when: RoundTime = "now"


class PreemptAlternative(Struct, frozen=True, rename="camel"):
    """One of several outcomes left open; `may_follow` is as in the report."""

    when: str
    verdict: Verdict
    victims: tuple[Victim, ...]
    nominations: Mapping[str, str]
    rounds: tuple[Round, ...]
    helps: bool | None
    reason: ReasonCode | CauseCode | None
    broken_gangs: tuple[BrokenGang, ...] = ()
    may_follow: tuple[Round, ...] = ()


class PreemptReport(Struct, frozen=True, rename="camel"):
    """What job preemption would do next, attempt by attempt, and whether it helps in the end.

    `message` is the verdict in one sentence. `rounds` holds all attempts, the first included; `may_follow` those that
    come besides in the worst case, while victims terminate: no object shows their order. `refusing_quota` is the quota
    that refuses the subject whatever is freed for it, empty where none does. `lone_pod` is set when a lone pod was
    asked for.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    gang: str
    gang_group: tuple[str, ...]
    priority: int | None
    eligible: bool
    reason: ReasonCode | CauseCode | None
    helps: bool | None
    victims: tuple[Victim, ...]
    broken_gangs: tuple[BrokenGang, ...]
    nominations: Mapping[str, str]
    rounds: tuple[Round, ...]
    message: str
    alternatives: tuple[PreemptAlternative, ...] = ()
    refusing_quota: str = ""
    lone_pod: bool = False
    may_follow: tuple[Round, ...] = ()
