"""What taking running pods away harms: budgets that cover them, gangs that fall below their minimum."""

from msgspec import Struct


class BudgetHit(Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that covers a victim, and whether the kill would violate it."""

    name: str
    violated: bool


class BrokenGang(Struct, frozen=True, rename="camel"):
    """A running gang that falls below its minimum."""

    gang: str
    bound: int
    min_member: int
    left: int


class FreedPod(Struct, frozen=True, rename="camel"):
    """One running pod whose place a way out needs.

    protected: job preemption must spare it. evictable: False where the API server would refuse to evict it
    now, as a budget does not allow it or several cover it. budgets_read: False where it could not be seen
    whether a budget covers it. breaks: the running gang that falls below its minimum.
    """

    pod: str
    node: str
    priority: int
    gang: str | None
    owner: str | None
    protected: bool
    pod_disruption_budget: BudgetHit | None
    budgets_read: bool
    evictable: bool
    breaks: str | None
