"""The installation: Deployments, versions, the leader, webhooks, priority classes."""

import re
from collections.abc import Iterator, Mapping

from kubectl_koord.diagnosis.doctor.finding import found, was_read
from kubectl_koord.engine.admission.leader import NoLeader, no_leader
from kubectl_koord.model.installation import WEBHOOKS, Deployment, Installation, is_newer
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding, Severity
from kubectl_koord.wording.basis import lease_missing
from kubectl_koord.wording.doctor import installation as sentences
from kubectl_koord.wording.refusals.admission import blocker_sentence

_SCHEDULER, _MANAGER = "koord-scheduler", "koord-manager"
_CLASSES: Mapping[str, tuple[int, int, int]] = {
    "koord-prod": (9000, 9000, 9999),
    "koord-mid": (7000, 7000, 7999),
    "koord-batch": (5000, 5000, 5999),
    "koord-free": (3000, 3000, 3999),
}
"""By name the value in the Helm chart, and the band in which a priority counts as of that class."""
_TAG = re.compile(r":v?(\d+)\.(\d+)[^:/]*$")
_OLDEST = (1, 7)


def of_installation(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with the parts of Koordinator that run."""
    installed = snapshot.installation or Installation()
    if was_read(snapshot, "Deployment"):
        yield from _deployments(installed, snapshot.config.home.namespace)
    yield from _leader(snapshot)
    for name, kind in WEBHOOKS.items():
        if was_read(snapshot, kind):
            yield from _webhooks(installed, kind, name)
    if was_read(snapshot, "PriorityClass"):
        yield from _classes(installed)


def _deployments(installed: Installation, namespace: str) -> Iterator[Finding]:
    """Yield what is wrong with Deployments; a file need not hold all of them."""
    known = [one for name in (_SCHEDULER, _MANAGER) if (one := installed.deployment(name)) is not None]
    for name in (_SCHEDULER, _MANAGER):
        if installed.whole and installed.deployment(name) is None:
            severity: Severity = "error" if name == _SCHEDULER else "warning"
            yield found("deployment-missing", severity, "Deployment", [name], sentences.missing(name, namespace))
    for one in known:
        yield from _replicas(one)
    scheduler = installed.deployment(_SCHEDULER)
    release = _TAG.search(scheduler.image) if scheduler is not None else None
    if scheduler is not None and release is not None and (int(release[1]), int(release[2])) < _OLDEST:
        message = sentences.unsupported(scheduler.image)
        yield found("version-unsupported", "warning", "Deployment", [scheduler.name], message)
    if scheduler is not None and is_newer(scheduler.image):
        yield found("version-newer", "warning", "Deployment", [scheduler.name], sentences.newer(scheduler.image))
    images = [one.image for one in known if one.image]
    if len({_tag(image) for image in images}) > 1:
        yield found("versions-differ", "warning", "Deployment", [one.name for one in known], sentences.differ(images))


def _tag(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _replicas(one: Deployment) -> Iterator[Finding]:
    if one.available is not None and (one.available < one.wanted or not one.wanted):
        severity: Severity = "warning" if one.available else "error"
        message = sentences.unavailable(one.name, one.available, one.wanted)
        yield found("deployment-unavailable", severity, "Deployment", [one.name], message)


def _leader(snapshot: Snapshot) -> Iterator[Finding]:
    absent = no_leader(snapshot)
    if isinstance(absent, NoLeader):  # of a Deployment without pods that is said already
        yield found("no-scheduler", "error", "Lease", [absent.lease], blocker_sentence(absent))
    if snapshot.leases == () and snapshot.config.elects_leader:
        yield found(
            "lease-missing", "warning", "Lease", [snapshot.config.home.lease], lease_missing(snapshot.config.home)
        )


def _webhooks(installed: Installation, kind: str, name: str) -> Iterator[Finding]:
    known = [one for one in installed.webhooks if (one.kind, one.name) == (kind, name)]
    if not known:
        yield found("webhook-missing", "warning", kind, [name], sentences.webhook_missing(kind, name))
    for one in known:
        if one.unsigned:
            yield found("webhook-without-ca", "error", kind, [name], sentences.unsigned(name, one.unsigned))


def _classes(installed: Installation) -> Iterator[Finding]:
    values = {one.name: one.value for one in installed.priority_classes}
    missing = [name for name in _CLASSES if name not in values]
    if missing:
        message = sentences.no_classes([(name, _CLASSES[name][0]) for name in missing])
        yield found("priority-class-missing", "warning", "PriorityClass", missing, message)
    for name, (_, low, high) in _CLASSES.items():
        if name in values and not low <= values[name] <= high:
            message = sentences.class_value(name, values[name], low, high)
            yield found("priority-class-value", "error", "PriorityClass", [name], message)
