"""What moves pods elsewhere, and the Reservations that concern a gang."""

from collections.abc import Sequence

from kubectl_koord.reports.common import DomainName
from kubectl_koord.reports.disruption import BrokenGang
from kubectl_koord.reports.migrations import GangReservation, Migration
from kubectl_koord.wording.words import count, layer_noun, listed

MIGRATIONS = "Pods that are being moved"
RESERVATIONS = "Reservations for its pods"
NOT_PLACED = "(not placed)"


def breaks_gang(jobs: Sequence[Migration], broken: BrokenGang) -> str:
    """Return that evicting the pods that jobs move brings a gang below its minimum."""
    pods, names = listed([one.pod for one in jobs]), listed([one.job for one in jobs])
    kind, verb = ("PodMigrationJob", "moves") if len(jobs) == 1 else ("PodMigrationJobs", "move")
    left = f"{broken.left} of {count(broken.bound, 'pod')} left, {broken.min_member} needed"
    evicted = "it is evicted" if len(jobs) == 1 else "they are evicted"
    return f"{kind} {names} {verb} {pods}: when {evicted}, gang {broken.gang} falls below its minimum ({left})."


def leaves_domain(jobs: Sequence[Migration], gang: str, left: DomainName) -> str:
    """Return that the pods that jobs move are to come back outside the domain of the rest of their gang."""
    pods, names = listed([one.pod for one in jobs]), listed([one.job for one in jobs])
    nodes = listed(sorted({one.to for one in jobs if one.to}))
    kind, verb = ("PodMigrationJob", "moves") if len(jobs) == 1 else ("PodMigrationJobs", "move")
    domain = f"{layer_noun(left.layer)} {left.name}"
    must = f"its pods must stay together there (MustGather {left.layer})"
    return f"{kind} {names} {verb} {pods} to {nodes}, outside {domain} with the rest of gang {gang}: {must}."


def described(one: Migration) -> str:
    """Return how far a migration is, and where the pod goes: `Running (Evicting), to n3; PodMigrationJob x`."""
    return f"{_state(one)}, {_goes_to(one)}; PodMigrationJob {one.job}{_replaced(one)}"


def _state(one: Migration) -> str:
    phase = "paused" if one.paused else one.phase
    details = one.reason or one.status
    return f"{phase} ({details})" if details and details != phase else phase


def _goes_to(one: Migration) -> str:
    if one.to is not None:
        return f"to {one.to} (Reservation {one.reservation})"
    if one.reservation is not None:
        return f"Reservation {one.reservation} is not placed yet"
    return "to wherever it is placed" if one.mode == "EvictDirectly" else "no Reservation yet"


def _replaced(one: Migration) -> str:
    return f", replaced by {one.replacement}" if one.replacement is not None else ""


def concerns(one: GangReservation) -> str:
    """Return what a Reservation is to a gang."""
    parts = [f"used by {listed(one.drawing)}"] if one.drawing else []
    parts += [f"{count(one.may_draw, 'pending pod')} may use it"] if one.may_draw else []
    parts += ["counts as a member"] if one.is_member else []
    parts += [f"made for PodMigrationJob {one.job}"] if one.job is not None else []
    return "; ".join(parts)
