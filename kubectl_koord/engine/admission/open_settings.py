"""Settings of the scheduler with which it is open what becomes of a gang or a pod, whatever the nodes are."""

from collections.abc import Iterator
from typing import TypeAlias

from kubectl_koord.engine.subjects import Subject
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import OpenPlugin, OtherProfile

OpenSetting: TypeAlias = OpenPlugin | OtherProfile
_GANGS = "Coscheduling"


def open_settings(subject: Subject, snapshot: Snapshot) -> tuple[OpenSetting, ...]:
    """Return the settings with which it is open whether a subject is tried."""
    return tuple(of_pods(subject.pending, snapshot))


def of_pods(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> Iterator[OpenSetting]:
    """Yield profiles of the pods that are configured otherwise, and Coscheduling where pods of gangs lack it."""
    config = snapshot.config
    for name in sorted({pod.scheduler for pod in pods} & {*config.differing}):
        yield OtherProfile(name)
    lacking = config.plugins.lacks(_GANGS)
    if {*lacking} - {"postFilter"} and any(pod.gang for pod in pods):
        yield OpenPlugin(_GANGS, lacking)
