"""One gang or pod that is followed: of Koordinator, whose answer is computed, or of Volcano, as that wrote it."""

from typing import TYPE_CHECKING, Protocol

from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.engine.subjects import Subject
    from kubectl_koord.model.snapshot import Gap, Snapshot
    from kubectl_koord.reports.jobs.pending import WhyReport
    from kubectl_koord.reports.jobs.volcano import VolcanoGang


class Followed(Protocol):
    """What is followed, as a snapshot has it."""

    @property
    def key(self) -> str:
        """Its name, `namespace/name`."""

    def again(self, snapshot: "Snapshot") -> "Followed":
        """Return it as another snapshot has it.

        Raises:
            KoordError: when it is gone.

        """

    def why(self) -> "WhyReport":
        """Return the answer about it."""

    def is_scheduled(self) -> bool:
        """Tell whether nothing of it waits for a node any more."""

    def unread(self) -> "tuple[Gap, ...]":
        """Return the gaps that leave open whether it is scheduled."""


def followed(session: "Session", snapshot: "Snapshot", name: str) -> Followed:
    """Return what a name means.

    Raises:
        KoordError: when it means nothing, or more than one thing.

    """
    theirs = of_volcano(session, snapshot, name)
    return _OfVolcano(snapshot, theirs) if theirs else _OfKoordinator(snapshot, session.subject(snapshot, name))


def of_volcano(session: "Session", snapshot: "Snapshot", name: str) -> "VolcanoGang | None":
    """Return the gang of Volcano that a name means, None where it means none."""
    from kubectl_koord.engine.subjects import Subject
    from kubectl_koord.explain.jobs import volcano
    from kubectl_koord.simulation import subjects

    if not snapshot.volcano.groups:
        return None
    found = subjects.find(snapshot, name, session.namespace())
    homes = {session.namespace()}
    if not session.options.is_live and not session.connection.namespace:
        homes |= {group.namespace for group in snapshot.volcano.groups.values()}
        found = found if isinstance(found, Subject) else subjects.find_anywhere(snapshot, name) or found
    return volcano.meant(snapshot, name, homes, found if isinstance(found, Subject) else None)


class _OfKoordinator:
    """A gang or pod that Koordinator's scheduler places."""

    def __init__(self, snapshot: "Snapshot", subject: "Subject") -> None:
        self._snapshot = snapshot
        self._subject = subject
        self.key = subject.key

    def again(self, snapshot: "Snapshot") -> "_OfKoordinator":
        from kubectl_koord.engine.subjects import PodSubject
        from kubectl_koord.explain.jobs.progress import gone
        from kubectl_koord.simulation.subjects import again

        found = again(snapshot, self.key, lone_pod=isinstance(self._subject, PodSubject))
        if found is None:
            raise KoordError(f"error: {gone(snapshot, self._subject)}")
        return _OfKoordinator(snapshot, found)

    def why(self) -> "WhyReport":
        from kubectl_koord.explain.jobs.why import why

        return why(self._snapshot, self._subject)

    def is_scheduled(self) -> bool:
        from kubectl_koord.explain.jobs.progress import is_scheduled

        return is_scheduled(self._subject)

    def unread(self) -> "tuple[Gap, ...]":
        from kubectl_koord.diagnosis import visibility

        return visibility.unread_members(self._subject, self._snapshot)


class _OfVolcano:
    """A gang that Volcano's scheduler places."""

    def __init__(self, snapshot: "Snapshot", gang: "VolcanoGang") -> None:
        self._snapshot = snapshot
        self._gang = gang
        self.key = gang.gang

    def again(self, snapshot: "Snapshot") -> "_OfVolcano":
        from kubectl_koord.explain.jobs import volcano
        from kubectl_koord.wording.answers.volcano import gone

        found = volcano.again(snapshot, self.key)
        if found is None:
            raise KoordError(f"error: {gone(self.key)}")
        return _OfVolcano(snapshot, found)

    def why(self) -> "WhyReport":
        from kubectl_koord.explain.jobs import volcano

        return volcano.why(self._snapshot, self._gang)

    def is_scheduled(self) -> bool:
        return not self._gang.is_waiting

    def unread(self) -> "tuple[Gap, ...]":
        from kubectl_koord.explain.jobs import volcano

        return volcano.unread(self._snapshot, self.key)
