"""The scheduler's configuration: where Coscheduling is enabled, its arguments, and what goes with it."""

from collections.abc import Iterator
from functools import partial

from msgspec import structs

from kubectl_koord.diagnosis.doctor.finding import found
from kubectl_koord.model.installation import HOME, Installation, Profile, is_older, manages_topology
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.wording.doctor import configuration as sentences
from kubectl_koord.wording.doctor.naming import about

_CONFIG = HOME.config
_POINTS = ("preEnqueue", "preFilter", "postFilter", "reserve", "permit", "postBind")
_ARGUMENTS = {
    "apiVersion",
    "kind",
    "defaultTimeout",
    "controllerWorkers",
    "skipCheckScheduleCycle",
    "enablePreemption",
    "awareNetworkTopology",
}
_POLICIES = {"only-waiting", "waiting-and-running", "once-satisfied"}
_API = "kubescheduler.config.k8s.io/v1"
_OLD_API = "kubescheduler.config.k8s.io/v1beta3"
_ours = partial(found, kind="ConfigMap", names=[_CONFIG])


def of_configuration(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with the configuration, as far as it was read."""
    name = snapshot.config.home.config
    installed = snapshot.installation or Installation()
    scheduler = installed.deployment("koord-scheduler")
    runs = scheduler is not None and bool(scheduler.available)
    for finding in _findings(snapshot):
        message = sentences.of_running(finding.message) if runs else finding.message
        if finding.objects == (_CONFIG,):
            yield structs.replace(finding, message=message, object=about("ConfigMap", [name]), objects=(name,))
        else:
            yield finding


def _findings(snapshot: Snapshot) -> Iterator[Finding]:
    installed = snapshot.installation or Installation()
    if installed.config == "unreadable":
        yield _ours("config-unreadable", "error", message=sentences.unreadable(installed.config_fault))
    if installed.config == "elsewhere" or (installed.config == "absent" and installed.config_from):
        message = sentences.elsewhere(installed.config_from, installed.config_unused)
        yield found("config-elsewhere", "warning", "Deployment", [snapshot.config.home.scheduler], message)
    scheduler = installed.deployment("koord-scheduler")
    known = installed.profiles if scheduler is None or not is_older(scheduler.image) else ()
    for profile in known:
        for finding in _of_profile(profile, snapshot.config.version):
            if len(installed.profiles) == 1:
                yield finding
            else:
                yield _named(finding, profile)
    yield from _topology(snapshot, installed)


def _named(finding: Finding, profile: Profile) -> Finding:
    return structs.replace(finding, message=sentences.of_profile(profile.scheduler, finding.message))


def _of_profile(profile: Profile, version: str) -> Iterator[Finding]:
    lacking = [point for point in _POINTS if "Coscheduling" not in profile.at(point)]
    if lacking:
        yield _ours("plugin-not-enabled", "error", message=sentences.not_enabled(lacking))
    if "Reservation" not in profile.at("reserve"):
        yield _ours("reservation-not-reserved", "warning", message=sentences.NOT_RESERVED)
    if "Coscheduling" in profile.at("queueSort"):
        yield _ours("invalid-setting", "error", message=sentences.QUEUE_SORT)
    preempts = dict(profile.arguments).get("enablePreemption") == "true"
    by_default = "DefaultPreemption" in profile.at("postFilter")
    if preempts and by_default:
        yield _ours("two-preemptions", "warning", message=sentences.TWO_PREEMPTIONS)
    elif not preempts and not by_default:
        yield _ours("no-job-preemption", "warning", message=sentences.NO_PREEMPTION)
    yield from _arguments(profile, version)


def _arguments(profile: Profile, version: str) -> Iterator[Finding]:
    known = _ARGUMENTS if version == "1.7" else {*_ARGUMENTS, "defaultMatchPolicy"}
    accepted = {_API, _OLD_API} if version == "1.7" else {_API}
    for name, value in sorted(profile.arguments):
        if name not in known:
            yield _ours("unknown-setting", "error", message=sentences.unknown_argument(name, version))
        elif name == "defaultMatchPolicy" and value and value not in _POLICIES:
            yield _ours("unknown-setting", "warning", message=sentences.unknown_policy(value))
        elif (
            (name == "apiVersion" and value not in accepted)
            or (name == "defaultTimeout" and value.startswith("-"))
            or (name == "controllerWorkers" and (value.startswith("-") or value == "0"))
        ):
            yield _ours("invalid-setting", "error", message=sentences.bad_value(name, value))


def _topology(snapshot: Snapshot, installed: Installation) -> Iterator[Finding]:
    """Yield where the topology that there is, the plugin's argument and the scheduler's flag do not agree."""
    scheduler = installed.deployment("koord-scheduler")
    if installed.config != "read" or "default" not in snapshot.topologies:
        return
    if not snapshot.config.aware_of_topology:
        yield _ours("topology-not-aware", "warning", message=sentences.NOT_AWARE)
    elif scheduler is not None and not manages_topology(scheduler.flags):
        yield found("topology-manager-off", "error", "Deployment", [scheduler.name], sentences.MANAGER_OFF)
