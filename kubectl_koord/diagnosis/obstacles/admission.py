"""What blocks a gang or a pod before a node is looked at, and what is odd about it, as answers carry it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from kubectl_koord.engine.admission.blockers import (
    Blocker,
    GroupsDiffer,
    Keys,
    NoSuchGangs,
    OmitsItself,
    OpenConfiguration,
    TooFewPods,
)
from kubectl_koord.engine.admission.leader import NoLeader, NoReplica
from kubectl_koord.engine.admission.oddities import oddities
from kubectl_koord.engine.admission.prefilter import UnknownLayer
from kubectl_koord.engine.reasons.prefilter import (
    ClaimsUnallocated,
    FractionalBinding,
    InvalidDeviceAmount,
    InvalidDeviceSet,
    NoReservationMatches,
    NoTopologyTree,
    QuotaExceeded,
    TopologyManagerOff,
    TopologyNotAware,
    UnreadableAnnotation,
    UnreadableDeviceAnnotation,
    VolumesUnbound,
)
from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs.pending import Cause
from kubectl_koord.wording.refusals.admission import blocker_sentence, ignored_markers, oddity_sentence


def cause(blocker: Blocker) -> Cause:
    """Return the cause that a blocker is: its code, its sentence, the pods or gangs that it is about."""
    return Cause(blocker.code, blocker_sentence(blocker), _about(blocker))


def _about(blocker: Blocker) -> Keys:
    match blocker:
        case (
            NoLeader()
            | NoReplica()
            | NoTopologyTree()
            | TopologyManagerOff()
            | TopologyNotAware()
            | UnknownLayer()
            | InvalidDeviceAmount()
            | InvalidDeviceSet()
            | UnreadableDeviceAnnotation()
            | FractionalBinding()
            | UnreadableAnnotation()
            | OpenConfiguration()
        ):
            return ()
        case (
            OmitsItself(gang=one)
            | NoReservationMatches(pod=one)
            | QuotaExceeded(pod=one)
            | VolumesUnbound(pod=one)
            | ClaimsUnallocated(pod=one)
        ):
            return (one,)
        case NoSuchGangs(gangs):
            return gangs
        case GroupsDiffer(others=others):
            return others
        case TooFewPods(gang, pods):
            return pods or (gang,)
        case _:
            return blocker.pods


def warnings(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Notice]:
    """Yield a warning for each setting of the subject that does not do what was meant."""
    for oddity in oddities(subject, snapshot, tree):
        yield Notice(oddity.code, oddity_sentence(oddity))


def of_other_gangs(subjects: Iterable[Subject], snapshot: Snapshot) -> Iterator[Notice]:
    """Yield a warning for each marker of another gang scheduler that lone pods carry, with how many do."""
    profiles = snapshot.config.profiles
    lone = chain.from_iterable(subject.pending for subject in subjects if isinstance(subject, PodSubject))
    found = Counter(pod.foreign_gang for pod in lone if pod.foreign_gang and pod.scheduler in profiles)
    for marker, number in sorted(found.items()):
        yield Notice("foreign-gang-marker", ignored_markers(marker, number))
