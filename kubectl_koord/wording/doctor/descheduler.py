"""What is found about koord-descheduler."""

from collections.abc import Iterator, Sequence

from kubectl_koord.model.others.descheduler import Descheduler, DeschedulerProfile, Namespaces
from kubectl_koord.wording.doctor.naming import some
from kubectl_koord.wording.words import count, listed, verb

UNREADABLE = "the configuration of koord-descheduler cannot be read: it may evict pods, or not start at all."


def settings(configured: Descheduler, *, is_off: bool) -> str:
    """Return which plugins choose pods to be evicted, within which limits, and in which namespaces."""
    off = "its Deployment has no replicas" if is_off else "it evicts nothing (dryRun)" if configured.dry_run else ""
    every = f" every {configured.interval}" if configured.interval else ""
    profiles = [f"{_named(one, configured)}{_profile(one)}" for one in configured.profiles] or [
        "no profile is configured"
    ]
    return f"the descheduler runs{every}: {'; '.join(filter(None, [*profiles, off]))}."


def _named(one: DeschedulerProfile, configured: Descheduler) -> str:
    return f"in profile {one.name} " if len(configured.profiles) > 1 else ""


def _profile(one: DeschedulerProfile) -> str:
    if not one.plugins:
        return "no plugin chooses pods; PodMigrationJobs that others make are carried out"
    chosen = listed([f"{plugin.name} ({plugin.point})" for plugin in one.plugins])
    choose = verb(len(one.plugins), "chooses", "choose")
    if not one.evictors:
        return f"{chosen} {choose} pods, and none is evicted"
    limits = listed([f"{name} {value}" for name, value in one.limits]) or "none"
    return f"{chosen} {choose} pods, {listed(one.evictors)} evicts them; limits: {limits}{''.join(_scope(one))}"


def _scope(one: DeschedulerProfile) -> Iterator[str]:
    """Yield of which pods it may evict any, as far as that is restricted."""
    terms = one.evictable
    yield from _in_namespaces("", terms.namespaces)
    for plugin in one.plugins:
        yield from _in_namespaces(f"{plugin.name} ", plugin.namespaces)
    if terms.priority_below is not None:
        yield f"; only of a priority below {terms.priority_below}"
    if terms.selector is not None:
        yield "; only with labels that match its labelSelector"


def _in_namespaces(who: str, namespaces: Namespaces) -> Iterator[str]:
    if namespaces.include:
        yield f"; {who}only in {listed(namespaces.include)}"
    if namespaces.exclude:
        yield f"; {who}not in {listed(namespaces.exclude)}"


def breaks(gangs: Sequence[str]) -> str:
    """Return which gangs could be broken."""
    has, its = verb(len(gangs), "has", "have"), verb(len(gangs), "its", "their")
    what = f"{count(len(gangs), 'running gang')} {has} no pod more than {its} minimum: {some(gangs)}"
    return f"{what}. koord-descheduler knows no gangs, and may evict single pods of {verb(len(gangs), 'it', 'them')}."
