"""The findings of `doctor`, area by area: access, installation, configuration, topology, devices, gangs, quotas."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeGuard

from msgspec import structs

from kubectl_koord.diagnosis import coverage, disruption, obstacles, quotas
from kubectl_koord.diagnosis.coverage import stale_status
from kubectl_koord.diagnosis.labels import NO_VALUES, makers
from kubectl_koord.engine.admission import ForeignGangMarker, before_trying, oddities
from kubectl_koord.engine.blockers import NoLeader, no_leader
from kubectl_koord.engine.filters.load_aware import estimate
from kubectl_koord.engine.gangs import GangSubject, PodSubject, Subject, all_gangs, group_of
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.state import of
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, NoTopology, NoTree, Tree
from kubectl_koord.language import STOP, say
from kubectl_koord.model.hardware import GPU
from kubectl_koord.model.installation import (
    COMPARED,
    HOME,
    WEBHOOKS,
    Agents,
    Deployment,
    Descheduler,
    DeschedulerProfile,
    Installation,
    Lack,
    Namespaces,
    Profile,
    Right,
    is_newer,
    is_older,
    manages_topology,
)
from kubectl_koord.model.load import NodeMetric, Percentages
from kubectl_koord.model.objects import Layer, Node, of_node
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import matches
from kubectl_koord.reports.common import DoctorCode, GangFault, members
from kubectl_koord.reports.operation import Finding, Severity
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.wording.facts import several_parents
from kubectl_koord.wording.refusals import blocker_sentence, fault_clause, ignored_markers, oddity_sentence
from kubectl_koord.wording.words import (
    SEMICOLON,
    amounts,
    command,
    count,
    lease_missing,
    listed,
    noted,
    paste,
    resource_name,
    verb,
)

_FEW = 4


def naming_about(kind: str, names: Sequence[str]) -> str:
    """Return the kind and name of the first, and how many more there are: `Node/n1 and 3 more`."""
    return f"{kind}/{first(names)}" if names else kind


def first(names: Sequence[str]) -> str:
    """Return the first of the names, and how many more there are."""
    return names[0] if len(names) == 1 else say("{names} and {number} more", names=names[0], number=len(names) - 1)


def some(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    if len(names) <= _FEW + 1:
        return listed(names)
    return say("{names} and {number} more", names=say(", ").join(names[:_FEW]), number=len(names) - _FEW)


_NUMA_POLICY = "node.koordinator.sh/numa-topology-policy"
_LAYERS = say("Correct parentTopologyLayer in the ClusterNetworkTopology: each layer names the one above it.")
_LABELS = say("Set the labels on these nodes, or find out why the tool that sets them leaves them out.")
_CHART = say(
    "Compare the ConfigMap koord-scheduler-config with that of the Helm chart, correct it, and restart the pods."
)

_REMEDIES: Mapping[DoctorCode, str] = {
    "deployment-missing": say(
        "Install it with Koordinator's Helm chart, or tell where it is with --koordinator-namespace."
    ),
    "deployment-unavailable": say("Look at its pods and their logs."),
    "koordlet-not-ready": say("Look at the logs of koordlet there, of the container that ended before (-p), too."),
    "version-unsupported": say("Upgrade Koordinator to 1.7 or later."),
    "version-newer": say("Upgrade this plugin; until then take answers with care where releases differ."),
    "versions-differ": say("Upgrade with the Helm chart, so that both have one version."),
    "no-scheduler": say("Look at the pods of koord-scheduler and their logs."),
    "lease-missing": say("Look whether koord-scheduler runs, and with which leader election."),
    "crd-missing": say("Install the CRDs of the Helm chart (values crds.*)."),
    "webhook-missing": say(
        "Install it with the Helm chart; until then quotas and pods are neither completed nor checked."
    ),
    "webhook-without-ca": say("Look at the logs of koord-manager, which writes the caBundle when it starts."),
    "priority-class-missing": say(
        "Install what is missing with the Helm chart, or create it with the value in brackets."
    ),
    "priority-class-value": say("Delete the PriorityClass and create it with the value of the Helm chart."),
    "config-unreadable": _CHART,
    "config-elsewhere": say("Look at that file for what answers assume, or let the Deployment mount the ConfigMap."),
    "plugin-not-enabled": _CHART,
    "reservation-not-reserved": say("Enable the plugin Reservation in reserve of the profile, as the Helm chart does."),
    "two-preemptions": say("Disable DefaultPreemption in postFilter of the profile, as the Helm chart does."),
    "no-job-preemption": say("Set enablePreemption of Coscheduling (scheduler.enableJobPreemption in the Helm chart)."),
    "unknown-setting": _CHART,
    "invalid-setting": _CHART,
    "topology-manager-off": say("Start koord-scheduler with --enable-network-topology-manager=true."),
    "topology-not-aware": say("Set awareNetworkTopology of Coscheduling, and restart koord-scheduler."),
    "no-topology": say("Create a ClusterNetworkTopology named default, with the layers and labels of your network."),
    "topology-other-name": say("Create it again with the name default: no other name counts."),
    "broken-layer-chain": _LAYERS,
    "layer-cycle": _LAYERS,
    "merged-domains": say("Give the domains names that are unique in their layer, such as the parent's name in front."),
    "outside-nodes": _LABELS,
    "virtual-domains": _LABELS,
    "stale-status": say("Look whether koord-scheduler runs and may update the status of the ClusterNetworkTopology."),
    "layers-reversed": say("Swap the two layers in the ClusterNetworkTopology."),
    "placeholder-label": say("Find out why the tool that sets the labels had no data for these nodes, and label them."),
    "one-node-domains": say("Leave the layer out, or use a label that several nodes have in common."),
    "renamed-labels": say(
        "List both keys in labelKey of the layer, the newer one first: the first that a node has counts."
    ),
    "selector-outside-tree": say("Label the nodes for every layer, or remove it."),
    "device-empty": say("Look at the log of koordlet on the node: it could not load NVML or the driver."),
    "device-missing": say("Look whether koordlet runs on the node, with the feature gate Accelerators."),
    "device-unhealthy": say("Drain the node where it must be, and have the cards looked at."),
    "device-not-booked": (
        say(
            "Let koord-scheduler place pods that request devices, with DeviceShare enabled; restart these "
            "pods under it."
        )
    ),
    "doubly-booked": say(
        "Recreate one of the pods, so that it gets others; see whether two schedulers bind pods there."
    ),
    "cards-lost": say(
        "Look at the log of the device plugin and at the cards (Xid errors); restart the plugin or the node."
    ),
    "resource-not-offered": say(
        "Look why no device plugin runs there: the taints and labels of its DaemonSet, the driver."
    ),
    "numa-policy-unknown": say("Use BestEffort, Restricted or SingleNUMANode, or remove the label."),
    "numa-policy-ignored": say("Use BestEffort, Restricted or SingleNUMANode in the label of the node."),
    "threshold-never-met": say("Raise usageThresholds of LoadAwareScheduling, lower its factors, or ask for less."),
    "no-podgroup": say("Create the PodGroup, or correct the label of the pods."),
    "gang-not-initialised": say("Set min-available on the pods to a whole number; recreate those that lack it."),
    "group-member-missing": say("Create the gang, or take it out of the groups annotation of all others."),
    "groups-differ": say("Give all gangs of the group the same list, with each of them in it."),
    "groups-unreadable": say("Correct it, or remove it."),
    "topology-spec-unreadable": say("Correct it, or remove it."),
    "differing-specs": say("Give all gangs of the group the same spec."),
    "unknown-layer": say("Name a layer of the topology."),
    "unknown-strategy": say("Name a strategy that there is."),
    "min-member-zero": say("Set minMember of the PodGroup to the number of pods that must run together."),
    "stale-phase": say("Delete the PodGroup with its pods when a run ends, and create a new one for the next."),
    "mixed-schedulers": say("Give all pods of the gang the same schedulerName, and recreate the others."),
    "foreign-gang-marker": say("Label the pod with pod-group.scheduling.sigs.k8s.io, and recreate it."),
    "misspelt-key": say(
        "Write the key as it is read; labels of pods are written in the template, and the pods recreated."
    ),
    "index-not-honoured": say("Name the pods so that their lexical order is that of the index, such as w-00, w-01."),
    "descheduler-unreadable": (
        say(
            "Compare the ConfigMap koord-descheduler-config with that of the Helm chart, correct it, and "
            "restart the pods."
        )
    ),
    "descheduler-settings": say("Nothing, where that is wanted."),
    "descheduler-breaks-gangs": (
        say("Exclude their namespaces, or their labels, in the arguments of MigrationController.")
    ),
    "rbac-missing": say("Let an administrator apply the role that this prints."),
    "not-checked": say("Add these kinds to the input, or ask the live cluster again."),
}


def remedy(code: DoctorCode) -> str:
    """Return what to do about a finding."""
    return _REMEDIES[code]


def command_of(code: DoctorCode, kind: str, names: Sequence[str]) -> str:
    """Return the command for it, empty where there is none; a word in capitals is to be replaced."""
    made = _COMMANDS.get(code)
    return made(kind, names) if made else ""


def role(commands: Sequence[str]) -> str:
    """Return what prints the role that these commands lack: what only one of them needs may be in a role of its own."""
    return command("doctor", "--print-rbac", *(("--command", "scheduler") if [*commands] == ["scheduler"] else ()))


def _of_gang(setting: str, kind: str, names: Sequence[str]) -> str:
    namespace, _, name = names[0].partition("/")
    return command("annotate", "gang", name, "-n", namespace, setting, "--overwrite") if kind == "Gang" else ""


_Made = Callable[[str, Sequence[str]], str]
_LAYER: _Made = partial(_of_gang, "--must-gather=LAYER")
_GROUPS: _Made = partial(_of_gang, "--groups=GANG,GANG")
_COMMANDS: Mapping[DoctorCode, _Made] = {
    "deployment-unavailable": lambda _, names: paste("kubectl", "get", "pods", "-A", "-l", f"koord-app={names[0]}"),
    "koordlet-not-ready": lambda _, names: paste(
        "kubectl", "get", "pods", "-A", "-o", "wide", "-l", f"koord-app={names[0].rpartition('/')[2]}"
    ),
    "selector-outside-tree": lambda *_: command("annotate", "pods", "GANG", "topology-selector-"),
    "numa-policy-unknown": lambda _, names: paste("kubectl", "label", "node", *names, f"{_NUMA_POLICY}-"),
    "groups-differ": _GROUPS,
    "groups-unreadable": _GROUPS,
    "topology-spec-unreadable": _LAYER,
    "differing-specs": _LAYER,
    "unknown-layer": _LAYER,
    "unknown-strategy": _LAYER,
}


def found(code: DoctorCode, severity: Severity, kind: str, names: Sequence[str], message: str) -> Finding:
    """Return a finding about objects of a kind."""
    about, run = naming_about(kind, names), command_of(code, kind, names)
    return Finding(code, severity, about, message, remedy(code), tuple(names), run)


def was_read(snapshot: Snapshot, kind: str) -> bool:
    """Tell whether objects of a kind were looked at; a file that holds none of a kind shows nothing of it."""
    if snapshot.installation is None or not snapshot.sees(kind):
        return False
    return snapshot.installation.whole or kind in snapshot.installation.kinds


def no_right(
    resources: Sequence[str], verbs: Sequence[str], why: str, readers: Sequence[str], followers: Sequence[str]
) -> str:
    """Return what may not be done with resources, and which commands rest on it; `why` is said of the first."""
    missing = say(
        "the {verbs} {verbs2} {are} missing",
        verbs=verb(len(verbs), "verb", "verbs"),
        verbs2=listed(verbs),
        are=verb(len(verbs), "is", "are"),
    )
    read = verb(len(readers), "reads", "read")
    blind = [say("{readers} {read} {it}", readers=listed(readers), read=read, it=_it(resources))] if readers else []
    if followers:
        follow = verb(len(followers), "follows", "follow")
        blind.append(
            say("{followers} {follow} changes to {it}", followers=listed(followers), follow=follow, it=_it(resources))
        )
    need = say("; {blind}", blind=listed(blind)) if blind else ""
    return say(
        "{missing} for {resources}: {why}{need}.",
        missing=missing,
        resources=listed(resources),
        why=why.rstrip(STOP),
        need=need,
    )


def _it(resources: Sequence[str]) -> str:
    return "it" if len(resources) == 1 else "them"


def access_crds(kinds: Sequence[str]) -> str:
    """Return which CRDs are not installed."""
    what = say("the CRD of") if len(kinds) == 1 else say("the CRDs of")
    return say(
        "{what} {kinds} {are} not installed: the scheduler waits for them.",
        what=what,
        kinds=listed(kinds),
        are="is" if len(kinds) == 1 else "are",
    )


def not_checked(kinds: Sequence[str], why: str = "") -> str:
    """Return which kinds were not looked at, and why: by default as the input holds none of them."""
    return say(
        "{kinds} could not be checked: {why}.",
        kinds=listed(kinds),
        why=why.rstrip(STOP) or say("the input holds none"),
    )


_CRDS = {
    "PodGroup",
    "ElasticQuota",
    "ClusterNetworkTopology",
    "Device",
    "Reservation",
    "NodeMetric",
    "NodeResourceTopology",
}
_INSTALLED = (
    "Deployment",
    "ConfigMap",
    "PriorityClass",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)


def of_access(snapshot: Snapshot, rights: Mapping[str, Right], lacks: Collection[Lack] = ()) -> Iterator[Finding]:
    """Yield what could not be read, and which commands rest on it; `lacks` are of what this reading does not list."""
    missing = [gap for gap in snapshot.gaps if gap.code == "missing"]
    crds = [gap.kind for gap in missing if gap.kind in _CRDS]
    if crds:
        yield found("crd-missing", "error", "CustomResourceDefinition", crds, access_crds(crds))
    for gap in snapshot.gaps:
        if gap.code == "unavailable" or (gap.code == "missing" and gap.kind not in _CRDS):
            yield found("not-checked", "info", gap.kind, [], not_checked([gap.kind], gap.message))
    yield from _rights((*_refused(snapshot, rights), *(lack for lack in lacks if lack.is_sure)))
    for lack in lacks:
        if not lack.is_sure:
            message = say(
                "whether you may {verb} {resource} could not be found out: {why}.",
                verb=lack.verb,
                resource=lack.resource,
                why=lack.why.rstrip(STOP),
            )
            yield found("not-checked", "info", lack.resource, [], message)
    installed = snapshot.installation or Installation(whole=False)
    if not installed.whole:
        yield from _absent(installed.kinds)


def _refused(snapshot: Snapshot, rights: Mapping[str, Right]) -> Iterator[Lack]:
    for gap in snapshot.gaps:
        if gap.code in {"forbidden", "one-namespace"}:
            right = rights.get(gap.kind, Right(gap.kind))
            yield Lack(right.resource, "list", right.commands, gap.message)


def _rights(lacks: Iterable[Lack]) -> Iterator[Finding]:
    """Yield a finding for all resources that the same is missing for, of the same commands."""
    of: dict[str, list[Lack]] = {}
    for lack in lacks:
        of.setdefault(lack.resource, []).append(lack)
    alike: dict[tuple[tuple[str, tuple[str, ...]], ...], list[str]] = {}
    for resource, some in of.items():
        alike.setdefault(tuple((lack.verb, lack.commands) for lack in some), []).append(resource)
    for missing, resources in alike.items():
        readers = dict.fromkeys(name for verb, names in missing if verb != "watch" for name in names)
        followers = dict.fromkeys(name for verb, names in missing if verb == "watch" for name in names)
        verbs = [verb for verb, _ in missing]
        message = no_right(resources, verbs, of[resources[0]][0].why, [*readers], [*followers])
        finding = found("rbac-missing", "info", first(resources), [], message)
        objects = tuple(resources) if len(resources) > 1 else ()
        yield structs.replace(finding, objects=objects, command=role([*readers]))


def _absent(held: Collection[str]) -> Iterator[Finding]:
    """Yield the kinds of the installation that the input does not hold."""
    lacking = [kind for kind in _INSTALLED if kind not in held]
    if lacking:
        yield found("not-checked", "info", "Installation", [], not_checked(lacking))


NO_PREEMPTION = say(
    "neither enablePreemption of Coscheduling nor DefaultPreemption is on: only ElasticQuota preempts, within a quota."
)
TWO_PREEMPTIONS = say(
    "enablePreemption of Coscheduling and DefaultPreemption are both on: single pods of a gang "
    "preempt on their own, too."
)
NOT_RESERVED = say(
    "the plugin Reservation is not enabled in reserve: pods that fit a Reservation are bound "
    "without it, and it keeps its room beside them."
)
MANAGER_OFF = say(
    "awareNetworkTopology is on, but koord-scheduler runs without "
    "--enable-network-topology-manager=true: it builds no topology tree."
)
NOT_AWARE = say(
    "there is a ClusterNetworkTopology, but awareNetworkTopology of Coscheduling is off: topology "
    "specs of gangs are not honoured."
)
_AGAIN = say("the scheduler that runs has read another, and cannot start again with this one")
QUEUE_SORT = say(
    "Coscheduling is enabled in queueSort, but is no QueueSort plugin from 1.7 on: the scheduler cannot start."
)


def unreadable(why: str) -> str:
    """Return that the scheduler cannot decode its configuration, and why where that is told."""
    what = (
        say("cannot be decoded as the scheduler does: {why}", why=why)
        if why
        else say("is no YAML with a KubeSchedulerConfiguration")
    )
    return say("the configuration {what}: the scheduler cannot start.", what=what)


def of_running(message: str) -> str:
    """Return what keeps a scheduler from starting, of one that runs: it has read another configuration."""
    return message.replace(say("the scheduler cannot start"), _AGAIN).replace(say("it cannot start"), _AGAIN)


def elsewhere(place: str, unused: Sequence[str]) -> str:
    """Return what the scheduler reads its configuration from, which was not seen, and what it does not mount."""
    others = say("; ConfigMap {unused} is not mounted", unused=listed(unused)) if len(unused) == 1 else ""
    others = say("; the ConfigMaps {unused} are not mounted", unused=listed(unused)) if len(unused) > 1 else others
    return say(
        "koord-scheduler reads its configuration from the {place}, which was not seen{others}.",
        place=place,
        others=others,
    )


def of_profile(scheduler: str, what: str) -> str:
    """Return what was found in a profile."""
    return say("profile {scheduler}: {what}", scheduler=scheduler, what=what)


def not_enabled(points: Sequence[str]) -> str:
    """Return where Coscheduling is not enabled."""
    return say("Coscheduling is not enabled in {points}: gangs are not scheduled as one.", points=listed(points))


def unknown_argument(name: str, version: str) -> str:
    """Return that Coscheduling has no such argument."""
    return say(
        "Coscheduling has no argument {name} in Koordinator {version}: the scheduler cannot start.",
        name=name,
        version=version,
    )


def configuration_unknown_policy(value: str) -> str:
    """Return that there is no such match policy."""
    return say(
        "defaultMatchPolicy {value} is none of only-waiting, waiting-and-running and once-satisfied.", value=value
    )


def bad_value(name: str, value: str) -> str:
    """Return that the scheduler refuses a value."""
    return say(
        "{name} of Coscheduling is {value}, which the scheduler does not accept: it cannot start.",
        name=name,
        value=value,
    )


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
        message = of_running(finding.message) if runs else finding.message
        if finding.objects == (_CONFIG,):
            yield structs.replace(finding, message=message, object=naming_about("ConfigMap", [name]), objects=(name,))
        else:
            yield finding


def _findings(snapshot: Snapshot) -> Iterator[Finding]:
    installed = snapshot.installation or Installation()
    if installed.config == "unreadable":
        yield _ours("config-unreadable", "error", message=unreadable(installed.config_fault))
    if installed.config == "elsewhere" or (installed.config == "absent" and installed.config_from):
        message = elsewhere(installed.config_from, installed.config_unused)
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
    return structs.replace(finding, message=of_profile(profile.scheduler, finding.message))


def _of_profile(profile: Profile, version: str) -> Iterator[Finding]:
    lacking = [point for point in _POINTS if "Coscheduling" not in profile.at(point)]
    if lacking:
        yield _ours("plugin-not-enabled", "error", message=not_enabled(lacking))
    if "Reservation" not in profile.at("reserve"):
        yield _ours("reservation-not-reserved", "warning", message=NOT_RESERVED)
    if "Coscheduling" in profile.at("queueSort"):
        yield _ours("invalid-setting", "error", message=QUEUE_SORT)
    preempts = dict(profile.arguments).get("enablePreemption") == "true"
    by_default = "DefaultPreemption" in profile.at("postFilter")
    if preempts and by_default:
        yield _ours("two-preemptions", "warning", message=TWO_PREEMPTIONS)
    elif not preempts and not by_default:
        yield _ours("no-job-preemption", "warning", message=NO_PREEMPTION)
    yield from _arguments(profile, version)


def _arguments(profile: Profile, version: str) -> Iterator[Finding]:
    known = _ARGUMENTS if version == "1.7" else {*_ARGUMENTS, "defaultMatchPolicy"}
    accepted = {_API, _OLD_API} if version == "1.7" else {_API}
    for name, value in sorted(profile.arguments):
        if name not in known:
            yield _ours("unknown-setting", "error", message=unknown_argument(name, version))
        elif name == "defaultMatchPolicy" and value and value not in _POLICIES:
            yield _ours("unknown-setting", "warning", message=configuration_unknown_policy(value))
        elif (
            (name == "apiVersion" and value not in accepted)
            or (name == "defaultTimeout" and value.startswith("-"))
            or (name == "controllerWorkers" and (value.startswith("-") or value == "0"))
        ):
            yield _ours("invalid-setting", "error", message=bad_value(name, value))


def _topology(snapshot: Snapshot, installed: Installation) -> Iterator[Finding]:
    """Yield where the topology that there is, the plugin's argument and the scheduler's flag do not agree."""
    scheduler = installed.deployment("koord-scheduler")
    if installed.config != "read" or "default" not in snapshot.topologies:
        return
    if not snapshot.config.aware_of_topology:
        yield _ours("topology-not-aware", "warning", message=NOT_AWARE)
    elif scheduler is not None and not manages_topology(scheduler.flags):
        yield found("topology-manager-off", "error", "Deployment", [scheduler.name], MANAGER_OFF)


UNREADABLE = say("the configuration of koord-descheduler cannot be read: it may evict pods, or not start at all.")


def settings(configured: Descheduler, *, is_off: bool) -> str:
    """Return which plugins choose pods to be evicted, within which limits, and in which namespaces."""
    off = (
        say("its Deployment has no replicas")
        if is_off
        else say("it evicts nothing (dryRun)")
        if configured.dry_run
        else ""
    )
    every = say(" every {interval}", interval=configured.interval) if configured.interval else ""
    profiles = [f"{_descheduler_named(one, configured)}{_profile(one)}" for one in configured.profiles] or [
        say("no profile is configured")
    ]
    return say(
        "the descheduler runs{every}: {filter}.", every=every, filter=SEMICOLON.join(filter(None, [*profiles, off]))
    )


def _descheduler_named(one: DeschedulerProfile, configured: Descheduler) -> str:
    return say("in profile {name} ", name=one.name) if len(configured.profiles) > 1 else ""


def _profile(one: DeschedulerProfile) -> str:
    if not one.plugins:
        return say("no plugin chooses pods; PodMigrationJobs that others make are carried out")
    chosen = listed([noted(plugin.name, plugin.point) for plugin in one.plugins])
    choose = verb(len(one.plugins), "chooses", "choose")
    if not one.evictors:
        return say("{chosen} {choose} pods, and none is evicted", chosen=chosen, choose=choose)
    limits = listed([f"{name} {value}" for name, value in one.limits]) or say("none")
    return say(
        "{chosen} {choose} pods, {evictors} evicts them; limits: {limits}{scope}",
        chosen=chosen,
        choose=choose,
        evictors=listed(one.evictors),
        limits=limits,
        scope="".join(_scope(one)),
    )


def _scope(one: DeschedulerProfile) -> Iterator[str]:
    """Yield of which pods it may evict any, as far as that is restricted."""
    terms = one.evictable
    yield from _in_namespaces("", terms.namespaces)
    for plugin in one.plugins:
        yield from _in_namespaces(f"{plugin.name} ", plugin.namespaces)
    if terms.priority_below is not None:
        yield say("; only of a priority below {priority_below}", priority_below=terms.priority_below)
    if terms.selector is not None:
        yield say("; only with labels that match its labelSelector")


def _in_namespaces(who: str, namespaces: Namespaces) -> Iterator[str]:
    if namespaces.include:
        yield say("; {who}only in {include}", who=who, include=listed(namespaces.include))
    if namespaces.exclude:
        yield say("; {who}not in {exclude}", who=who, exclude=listed(namespaces.exclude))


def breaks(gangs: Sequence[str]) -> str:
    """Return which gangs could be broken."""
    has, its = verb(len(gangs), "has", "have"), verb(len(gangs), "its", "their")
    what = say(
        "{gangs} {has} no pod more than {its} minimum: {some}",
        gangs=count(len(gangs), "running gang"),
        has=has,
        its=its,
        some=some(gangs),
    )
    return say(
        "{what}. koord-descheduler knows no gangs, and may evict single pods of {them}.",
        what=what,
        them=verb(len(gangs), "it", "them"),
    )


_DESCHEDULER_CONFIG, _DEPLOYMENT = ("koord-descheduler-config",), "koord-descheduler"
_CRITICAL = 2_000_000_000
"""The priority from which on pods are those of the system (`SystemCriticalPriority`)."""


def of_descheduler(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what koord-descheduler does by its configuration, where that was read."""
    installed = snapshot.installation or Installation()
    configured = installed.descheduler
    if configured is None:
        return
    if configured.state == "unreadable":
        yield found("descheduler-unreadable", "warning", "ConfigMap", _DESCHEDULER_CONFIG, UNREADABLE)
        return
    deployment = installed.deployment(_DEPLOYMENT)
    is_off = deployment is not None and not deployment.wanted
    yield found("descheduler-settings", "info", "ConfigMap", _DESCHEDULER_CONFIG, settings(configured, is_off=is_off))
    broken = [] if is_off else _could_break(snapshot, configured)
    if broken:
        yield found("descheduler-breaks-gangs", "warning", "Gang", broken, breaks(broken))


def _could_break(snapshot: Snapshot, configured: Descheduler) -> list[str]:
    """Return the running gangs that the eviction of any one pod brings below their minimum."""
    profiles = tuple(configured.evicting())
    return [
        key
        for key, gang in all_gangs(snapshot).items()
        if len(gang.running) == gang.minimum
        and any(_may_evict(profile, pod) for profile in profiles for pod in gang.running)
    ]


def _may_evict(profile: DeschedulerProfile, pod: RunningPod) -> bool:
    """Tell whether a plugin may choose a pod, and MigrationController lets it be evicted (its `NewEvictorFilter`).

    Limits of a workload, PodDisruptionBudgets, the load of nodes and what plugins look at are left out.
    """
    terms = profile.evictable
    return (
        terms.namespaces.cover(pod.namespace)
        and any(plugin.namespaces.cover(pod.namespace) for plugin in profile.plugins)
        and (terms.priority_below is None or pod.priority < terms.priority_below)
        and (terms.critical or pod.priority < _CRITICAL)
        and (terms.selector is None or matches(terms.selector, dict(pod.labels)))
        and (terms.bare or bool(pod.owner))
        and not disruption.comes_back_there(pod)
        and not pod.terminating
    )


def no_gpu_listed(nodes: Sequence[str]) -> str:
    """Return which nodes have GPUs that their Device does not list."""
    number = len(nodes)
    return say(
        "the Device of {nodes} ({some}) lists no GPU, though {they_have} GPUs: every pod that asks "
        "for one is refused there.",
        nodes=count(number, "node"),
        some=some(nodes),
        they_have=verb(number, say("it has"), say("they have")),
    )


def devices_missing(nodes: Sequence[str]) -> str:
    """Return which nodes have GPUs and no Device."""
    number = len(nodes)
    return say(
        "{nodes} with GPUs ({some}) {have} no Device object: Koordinator does not allocate these cards.",
        nodes=count(number, "node"),
        some=some(nodes),
        have=verb(number, "has", "have"),
    )


def not_offered(label: str, nodes: Sequence[str]) -> str:
    """Return which nodes offer no GPU, though a label says that they have some."""
    number = len(nodes)
    return say(
        "{nodes} ({some}) {have} the label {label}, and {offer} no GPU: no pod that requests one fits there.",
        nodes=count(number, "node"),
        some=some(nodes),
        have=verb(number, "has", "have"),
        label=label,
        offer=verb(number, "offers", "offer"),
    )


def unhealthy(cards: int, nodes: Sequence[str]) -> str:
    """Return how many devices are not healthy, and where."""
    return say(
        "{devices} on {some} {are} not healthy.",
        devices=count(cards, "device"),
        some=some(nodes),
        are=verb(cards, "is", "are"),
    )


def ignored_policy(policy: str, nodes: Sequence[str]) -> str:
    """Return that the scheduler does not know a NUMA policy."""
    return say(
        "the scheduler does not know the NUMA policy {policy} of {nodes} ({some}), and places pods "
        "there without regard to zones.",
        policy=policy,
        nodes=count(len(nodes), "node"),
        some=some(nodes),
    )


def unknown_policy(policy: str, nodes: Sequence[str], *, has_zones: bool) -> str:
    """Return what the scheduler does on nodes whose label names no NUMA policy."""
    does = (
        say("may crash when it tries a pod there")
        if has_zones
        else say("refuses every pod that requests anything there")
    )
    return say(
        "the label node.koordinator.sh/numa-topology-policy={policy} of {nodes} ({some}) names no "
        "policy: koord-scheduler {does}.",
        policy=policy,
        nodes=count(len(nodes), "node"),
        some=some(nodes),
        does=does,
    )


def system_above(resource: str, threshold: int, nodes: Sequence[str]) -> str:
    """Return on which nodes the system alone uses more than the threshold lets any pod use."""
    return say(
        "the system alone uses more than the threshold of {threshold}% {resource_name} on {nodes} "
        "({some}): no pod fits there, even when all others are gone.",
        threshold=threshold,
        resource_name=resource_name(resource),
        nodes=count(len(nodes), "node"),
        some=some(nodes),
    )


def pod_above(resource: str, threshold: int, expected: int, total: int, pods: Sequence[str]) -> str:
    """Return that the estimate of a pod alone is above the threshold of every node."""
    return say(
        "{pods} ({some}) would never fit: the estimate of {amounts} alone is above {threshold}% of "
        "every node's ({amounts2} on the largest).",
        pods=count(len(pods), "pod"),
        some=some(pods),
        amounts=amounts([(resource, expected)]),
        threshold=threshold,
        amounts2=amounts([(resource, total)]),
    )


_PRESENT = ("nvidia.com/gpu.present", "true")


def of_devices(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with the devices and settings of nodes."""
    if was_read(snapshot, "Device") and was_read(snapshot, "Node"):
        yield from _gpus(snapshot)
        yield from _books(snapshot)
    if was_read(snapshot, "Node"):
        yield from _offered(snapshot)
    yield from _numa_policies(snapshot)
    yield from _used_by_system(snapshot)
    yield from _never_below(snapshot)


def _books(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield which devices pods have that the scheduler takes for free, and which several pods have."""
    unknown = obstacles.not_booked(snapshot)
    if unknown:
        yield found(
            "device-not-booked", "warning", "Pod", [one.pod for one in unknown], obstacles.not_booked_text(unknown)
        )
    twice = [*obstacles.devices_held_twice(snapshot)]
    if twice:
        names = sorted({pod for one in twice for pod in one.pods})
        yield found("doubly-booked", "error", "Pod", names, obstacles.doubly_booked(twice))


def _offered(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield which nodes offer fewer cards than they have, or none though a label says that there are some."""
    fewer = [node for node in snapshot.nodes.values() if node.lost]
    if fewer:
        yield found("cards-lost", "warning", "Node", [node.name for node in fewer], obstacles.cards_lost(fewer))
    none = [
        node.name
        for node in snapshot.nodes.values()
        if _PRESENT in node.labels and not node.lost and not of_node(dict(node.allocatable)).get(GPU, 0)
    ]
    if none:
        yield found("resource-not-offered", "error", "Node", none, not_offered("=".join(_PRESENT), none))


def _numa_policies(snapshot: Snapshot) -> Iterator[Finding]:
    ignored: dict[str, list[str]] = {}
    unknown: dict[tuple[str, bool], list[str]] = {}
    for name, node in snapshot.nodes.items():
        if node.numa is not None and node.numa.ignored_policy:
            ignored.setdefault(node.numa.ignored_policy, []).append(name)
        if node.numa is not None and node.numa.unknown_policy:
            unknown.setdefault((node.numa.unknown_policy, bool(node.numa.zones)), []).append(name)
    for (policy, has_zones), nodes in sorted(unknown.items()):
        message = unknown_policy(policy, nodes, has_zones=has_zones)
        yield found("numa-policy-unknown", "error", "Node", nodes, message)
    for policy, nodes in sorted(ignored.items()):
        yield found("numa-policy-ignored", "warning", "Node", nodes, ignored_policy(policy, nodes))


def _gpus(snapshot: Snapshot) -> Iterator[Finding]:
    with_gpus = [node for node in snapshot.nodes.values() if _has_gpus(node)]
    missing = [node.name for node in with_gpus if node.devices is None]
    empty = [node.name for node in with_gpus if node.devices and not node.devices.layout.of_type(GPU)]
    ill = {
        name: number
        for name, node in snapshot.nodes.items()
        if node.devices and (number := sum(not one.healthy for one in node.devices.layout.devices))
    }
    if empty:
        yield found("device-empty", "error", "Node", empty, no_gpu_listed(empty))
    if missing:
        yield found("device-missing", "warning", "Node", missing, devices_missing(missing))
    if ill:
        yield found("device-unhealthy", "warning", "Node", [*ill], unhealthy(sum(ill.values()), [*ill]))


def _has_gpus(node: Node) -> bool:
    return of_node(dict(node.allocatable)).get(GPU, 0) > 0 or _PRESENT in node.labels


def _total(node: Node, metric: NodeMetric, resource: str) -> int:
    return dict(metric.raw_allocatable).get(resource) or dict(node.allocatable).get(resource, 0)


def _used_by_system(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield nodes whose system alone uses more than a threshold for the whole node."""
    above: dict[tuple[str, int], list[str]] = {}
    for name, node in snapshot.nodes.items():
        if node.metric is None:
            continue
        thresholds = node.metric.thresholds.over(snapshot.config.load.thresholds)
        for resource, percent in () if thresholds.aggregated else thresholds.whole:
            if _is_above(dict(node.metric.system).get(resource, 0), _total(node, node.metric, resource), percent):
                above.setdefault((resource, percent), []).append(name)
    for (resource, percent), nodes in sorted(above.items()):
        message = system_above(resource, percent, nodes)
        yield found("threshold-never-met", "warning", "Node", nodes, message)


def _is_above(used: int, total: int, percent: int) -> bool:
    """Tell whether usage, rounded to percents as LoadAwareScheduling rounds it, is above a threshold that is set."""
    return percent > 0 and total > 0 and (200 * used + total) // (2 * total) > percent


def _never_below(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield pending pods whose own estimate is above the threshold of every node, even an idle one."""
    measured = [(node, node.metric) for node in snapshot.nodes.values() if node.metric and node.metric.used is not None]
    if not measured or len(measured) < len(snapshot.nodes):
        return  # a node without measurement refuses nobody
    above: dict[tuple[str, int, int, int], list[str]] = {}
    for pod in snapshot.pending:
        if not pod.requirements.of_daemon_set and pod.scheduler in snapshot.config.profiles:
            for resource, expected in estimate(pod.requirements.expected, snapshot.config.load):
                limits = [_limit(pod, node, metric, resource, snapshot) for node, metric in measured]
                if all(_is_above(expected, total, percent) for total, percent in limits):
                    total, percent = max(limits)
                    above.setdefault((resource, percent, expected, total), []).append(pod.key)
    for (resource, percent, expected, total), pods in sorted(above.items()):
        message = pod_above(resource, percent, expected, total, pods)
        yield found("threshold-never-met", "error", "Pod", pods, message)


def _limit(pod: PendingPod, node: Node, metric: NodeMetric, resource: str, snapshot: Snapshot) -> tuple[int, int]:
    """Return how much of a resource a node has, and the threshold that the pod is held against there, 0 for none."""
    thresholds = metric.thresholds.over(snapshot.config.load.thresholds)
    chosen: Percentages = thresholds.aggregated.percent if thresholds.aggregated else thresholds.whole
    if pod.requirements.is_prod and any(percent for _, percent in thresholds.prod):
        chosen = thresholds.prod
    return _total(node, metric, resource), dict(chosen).get(resource, 0)


_FAULTS = frozenset(members(GangFault))


def of_gangs(snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Finding]:
    """Yield what is wrong with gangs and pending pods: errors block them, warnings do not."""
    if not snapshot.sees("Pod") or not snapshot.sees("PodGroup"):
        return
    waiting = pending_subjects(snapshot)
    for subject in waiting:
        for blocker in before_trying(subject, snapshot, tree):
            code: str = blocker.code
            if _is_fault(code):
                yield found(code, "error", _kind(subject), [subject.key], blocker_sentence(blocker))
    seen = set()
    marked: dict[str, list[str]] = {}
    for subject in (*waiting, *_others(snapshot)):
        for oddity in oddities(subject, snapshot, tree):
            code, sentence = oddity.code, oddity_sentence(oddity)
            known = (frozenset(subject.gangs), sentence)  # of a group each gang has what is odd about any of them
            if isinstance(oddity, ForeignGangMarker):
                marked.setdefault(oddity.marker, []).append(oddity.pod)
            elif _is_fault(code) and known not in seen:
                seen.add(known)
                yield found(code, "warning", _kind(subject), [subject.key], sentence)
    for marker, pods in sorted(marked.items()):
        yield found("foreign-gang-marker", "warning", "Pod", pods, ignored_markers(marker, len(pods)))


def _others(snapshot: Snapshot) -> Iterator[Subject]:
    """Yield the gangs without pending pods."""
    every = all_gangs(snapshot)
    for key, gang in every.items():
        if not any(every[other].pending for other in gang.group if other in every) and not gang.pending:
            yield GangSubject(group_of(every, key))


def _is_fault(code: str) -> TypeGuard[GangFault]:
    return code in _FAULTS


def _kind(subject: Subject) -> str:
    return "Pod" if isinstance(subject, PodSubject) else "Gang"


def installation_missing(name: str, namespace: str) -> str:
    """Return that a Deployment is missing."""
    return say(
        "there is no Deployment {name} in {namespace}, nor one with its label or image.", name=name, namespace=namespace
    )


def unavailable(name: str, available: int, wanted: int) -> str:
    """Return how many replicas are available."""
    return say(
        "{available} of {replicas} of {name} {are} available.",
        available=available,
        replicas=count(wanted, "replica"),
        name=name,
        are=verb(available, "is", "are"),
    )


def koordlet_not_ready(ready: int, wanted: int, nodes: Sequence[str]) -> str:
    """Return how many pods of koordlet are ready, on which nodes not, and what is out of date then."""
    where = say("; not on {some}", some=some(nodes)) if nodes else ""
    return say(
        "{ready} of {pods} of koordlet {are} ready{where}: Device, NodeMetric and NUMA zones {part} "
        "are out of date, or missing.",
        ready=ready,
        pods=count(wanted, "pod"),
        are=verb(ready, "is", "are"),
        where=where,
        part=say("there") if nodes else say("of the other nodes"),
    )


def unsupported(image: str) -> str:
    """Return that a version has neither topology nor job preemption."""
    return say(
        "the image {image} is older than 1.7: it has no network topology and no preemption for gangs.", image=image
    )


def newer(image: str) -> str:
    """Return that a version may decide otherwise than those which answers are compared with."""
    return say(
        "the image {image} may be newer than what answers are compared with: {compared}.",
        image=image,
        compared=COMPARED,
    )


def differ(images: Sequence[str]) -> str:
    """Return that parts of Koordinator have several versions."""
    return say("the images have different tags: {images}.", images=listed(images))


def unsigned(name: str, hooks: Sequence[str]) -> str:
    """Return which webhooks have no caBundle."""
    return say(
        "{some} of {name} {have} no caBundle: the API server cannot call it.",
        some=some(hooks),
        name=name,
        have=verb(len(hooks), "has", "have"),
    )


def no_classes(missing: Sequence[tuple[str, int]]) -> str:
    """Return which PriorityClasses are missing, and their values in the Helm chart."""
    names = listed([noted(name, str(value)) for name, value in missing], "or")
    return say(
        "there is no PriorityClass {names}: pods that name {them} cannot be created.",
        names=names,
        them=verb(len(missing), "it", "them"),
    )


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
    if was_read(snapshot, "DaemonSet"):
        for agents in installed.agents:
            yield from _agents(snapshot, agents)
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
            yield found("deployment-missing", severity, "Deployment", [name], installation_missing(name, namespace))
    for one in known:
        yield from _replicas(one)
    scheduler = installed.deployment(_SCHEDULER)
    release = _TAG.search(scheduler.image) if scheduler is not None else None
    if scheduler is not None and release is not None and (int(release[1]), int(release[2])) < _OLDEST:
        message = unsupported(scheduler.image)
        yield found("version-unsupported", "warning", "Deployment", [scheduler.name], message)
    if scheduler is not None and is_newer(scheduler.image):
        yield found("version-newer", "warning", "Deployment", [scheduler.name], newer(scheduler.image))
    images = [one.image for one in known if one.image]
    if len({image.partition("@")[0].rpartition("/")[2].partition(":")[2] for image in images}) > 1:
        yield found("versions-differ", "warning", "Deployment", [one.name for one in known], differ(images))


def _replicas(one: Deployment) -> Iterator[Finding]:
    if one.available is not None and (one.available < one.wanted or not one.wanted):
        severity: Severity = "warning" if one.available else "error"
        message = unavailable(one.name, one.available, one.wanted)
        yield found("deployment-unavailable", severity, "Deployment", [one.name], message)


def _agents(snapshot: Snapshot, agents: Agents) -> Iterator[Finding]:
    """Yield on which nodes koordlet does not work: of none that is ready on all that have a pod of it."""
    if agents.ready >= agents.wanted:
        return
    namespace, _, name = agents.name.partition("/")
    there = {
        node: pod
        for node, pods in sorted(snapshot.running.items())
        for pod in pods
        if (pod.namespace, pod.owner) == (namespace, f"DaemonSet/{name}")
    }
    nodes = [node for node, pod in there.items() if pod.marks.unready or not agents.ready]
    severity: Severity = "warning" if agents.ready else "error"
    message = koordlet_not_ready(agents.ready, agents.wanted, nodes)
    yield found("koordlet-not-ready", severity, "DaemonSet", [agents.name], message)


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
        yield found("webhook-missing", "warning", kind, [name], say("there is no {kind} {name}.", kind=kind, name=name))
    for one in known:
        if one.unsigned:
            yield found("webhook-without-ca", "error", kind, [name], unsigned(name, one.unsigned))


def _classes(installed: Installation) -> Iterator[Finding]:
    values = {one.name: one.value for one in installed.priority_classes}
    missing = [name for name in _CLASSES if name not in values]
    if missing:
        message = no_classes([(name, _CLASSES[name][0]) for name in missing])
        yield found("priority-class-missing", "warning", "PriorityClass", missing, message)
    for name, (_, low, high) in _CLASSES.items():
        if name in values and not low <= values[name] <= high:
            message = say(
                "the value of {name} is {values}, not within {low} to {high}: its pods do not count as {name}.",
                name=name,
                values=values[name],
                low=low,
                high=high,
            )
            yield found("priority-class-value", "error", "PriorityClass", [name], message)


def of_quotas(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with quotas; without pods or nodes what they tell alone."""
    if coverage.unread(snapshot, "quota-names"):
        return
    view = of(snapshot)
    if coverage.unread(snapshot, "quotas"):
        found = quotas.of_quotas(quota_tree(snapshot))
    else:
        found = quotas.findings(view, quotas.state_of(view))
    for one in found:
        named = naming_about("ElasticQuota", [one.object])
        yield Finding(one.code, one.severity, named, one.message, one.remedy, (one.object,))


def outside(nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Return which nodes are outside the tree, and which labels they lack."""
    number = len(nodes)
    return say(
        "{nodes} {lack} the label {some} ({some2}): outside the tree, where gangs with a topology "
        "spec are never placed.",
        nodes=count(number, "node"),
        lack=verb(number, "lacks", "lack"),
        some=some(labels),
        some2=some(nodes),
    )


def topology_virtual(nodes: Sequence[str]) -> str:
    """Return which nodes lack the label of the lowest layer alone."""
    number = len(nodes)
    return say(
        "{nodes} {lack} the label of the lowest layer ({some}): each is a domain of its own.",
        nodes=count(number, "node"),
        lack=verb(number, "lacks", "lack"),
        some=some(nodes),
    )


def also_merged(first: str, others: int) -> str:
    """Return the first domain with several parents, and how many others there are in the layer."""
    return (
        say("{first} So {are} {others} more of this layer.", first=first, are=verb(others, "is", "are"), others=others)
        if others
        else first
    )


def selectors(asking: Sequence[str], outside: int) -> str:
    """Return that pods have a topology selector, and nodes are not in the tree."""
    have = say(
        "{pods} {have} a network-topology-selector",
        pods=count(len(asking), "pending pod"),
        have=verb(len(asking), "has", "have"),
    )
    where = say("{nodes} {are} outside the topology tree", nodes=count(outside, "node"), are=verb(outside, "is", "are"))
    return say(
        "{have} ({some}), and {where}: where several nodes fit such a pod the scheduler may crash.",
        have=have,
        some=some(asking),
        where=where,
    )


def no_tree(clause: str, gangs: Sequence[str]) -> str:
    """Return why there is no tree, and which gangs ask for one."""
    return (
        say("{clause}; {some} {ask} for one.", clause=clause, some=some(gangs), ask=verb(len(gangs), "asks", "ask"))
        if gangs
        else say("{clause}.", clause=clause)
    )


def reversed_layers(upper: str, lower: str, uppers: int, lowers: int) -> str:
    """Return that two layers stand in the wrong order."""
    return say(
        "{upper} stands above {lower}, but its {domains} nest in the {lowers} of {lower}: the layers "
        "are in the wrong order.",
        upper=upper,
        lower=lower,
        domains=count(uppers, "domain"),
        lowers=lowers,
    )


def placeholder(value: str, key: str, nodes: Sequence[str]) -> str:
    """Return that a label has a value that stands for none."""
    return say(
        "the label {key} is {value} on {nodes} ({some}): a placeholder, which the scheduler takes for one domain.",
        key=key,
        value=value,
        nodes=count(len(nodes), "node"),
        some=some(nodes),
    )


def one_node(layer: str, domains: int) -> str:
    """Return that every domain of a layer has one node."""
    return say(
        "each of the {domains} domains of {layer} has 1 node: the layer tells no more than the nodes themselves.",
        domains=domains,
        layer=layer,
    )


def renamed(nodes: Sequence[str], lacking: Sequence[str], found: Sequence[str]) -> str:
    """Return that nodes have the labels of another family than the topology names."""
    number = len(nodes)
    return say(
        "{nodes} ({some}) {lack} {some2} and {have} {some3}, which no layer names: the labels were renamed.",
        nodes=count(number, "node"),
        some=some(nodes),
        lack=verb(number, "lacks", "lack"),
        some2=some(lacking),
        have=verb(number, "has", "have"),
        some3=some(found),
    )


_KIND = "ClusterNetworkTopology"
_CONTROL_PLANE = {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}


def of_topology(snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Finding]:
    """Yield what is wrong with the topology, where it and the nodes were read."""
    if not snapshot.sees(_KIND) or not snapshot.sees("Node"):
        return
    yield from _selectors(snapshot, tree)
    if isinstance(tree, NoTree):
        yield from _without(snapshot, tree)
        return
    layers = [layer for name in tree.layers for layer in snapshot.topologies[DEFAULT_NAME].layers if layer.name == name]
    swapped = [*_reversed(layers[:-1], snapshot.nodes, tree)]
    yield from swapped
    yield from _merged(tree, {name for finding in swapped for name in finding.objects})
    yield from _outside(snapshot, tree)
    yield from _renamed(snapshot, tree, layers)
    yield from _placeholders(snapshot, layers)
    yield from _one_node(tree)
    stale = stale_status(snapshot, tree)
    if stale is not None:
        yield found(stale.code, "warning", _KIND, [DEFAULT_NAME], stale.message)


def _selectors(snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Finding]:
    """Yield pending pods with a topology selector where nodes are outside the tree: 1.8 dereferences nil for these.

    `sortNodesByTopology` in Koordinator's coscheduling/core/network_topology_workflow.go looks every node up in the
    tree, when several nodes are feasible.
    """
    asking = [pod.key for pod in snapshot.pending if pod.selector and pod.scheduler in snapshot.config.profiles]
    outside = [*snapshot.nodes] if isinstance(tree, NoTree) else [one.node for one in tree.outside]
    if asking and outside and snapshot.config.version != "1.7":
        yield found("selector-outside-tree", "warning", "Pod", asking, selectors(asking, len(outside)))


def _without(snapshot: Snapshot, tree: NoTree) -> Iterator[Finding]:
    """Yield why there is no tree; where there is no topology at all, only if a gang asks for one."""
    asking = [key for key, gang in all_gangs(snapshot).items() if gang.topology]
    if asking or not isinstance(tree.fault, NoTopology):
        message = no_tree(fault_clause(tree.fault), asking)
        names = sorted(snapshot.topologies) or [DEFAULT_NAME]
        yield found(tree.fault.code, "error", _KIND, names, message)


def _reversed(layers: list[Layer], nodes: Mapping[str, Node], tree: Tree) -> Iterator[Finding]:
    """Yield pairs of layers of which the upper nests in the lower: each of its domains is in one of the lower."""
    within = [dict(nodes[name].labels) for name in tree.leaf]
    for upper, lower in pairwise(layers):
        pairs = {(upper.value(labels), lower.value(labels)) for labels in within if lower.value(labels)}
        uppers, lowers = {above for above, _ in pairs}, {below for _, below in pairs}
        if len(pairs) == len(uppers) > len(lowers) > 1:
            message = reversed_layers(upper.name, lower.name, len(uppers), len(lowers))
            yield found("layers-reversed", "error", _KIND, [upper.name, lower.name], message)


def _merged(tree: Tree, explained: set[str]) -> Iterator[Finding]:
    """Yield by layer the domains of one name with several parents, where the order of the layers is not the reason."""
    for layer in tree.layers:
        every = [one for one in tree.merged if one.layer == layer]
        if every and layer not in explained:
            first = several_parents(layer, every[0].name, every[0].parents)
            message = also_merged(first, len(every) - 1)
            yield found("merged-domains", "error", layer, [one.name for one in every], message)


def _outside(snapshot: Snapshot, tree: Tree) -> Iterator[Finding]:
    """Yield nodes outside the tree by what they lack; those without cards need not be in a tree of nodes with cards."""
    of_cards = any(_has_cards(snapshot.nodes[name]) for name in tree.leaf)
    by_labels: dict[tuple[Severity, tuple[str, ...]], list[str]] = {}
    for one in tree.outside:
        node = snapshot.nodes[one.node]
        has_cards = _has_cards(node)
        if has_cards or not _CONTROL_PLANE & dict(node.labels).keys():
            severity: Severity = "warning" if has_cards or not of_cards else "info"
            by_labels.setdefault((severity, one.missing), []).append(one.node)
    for (severity, missing), nodes in by_labels.items():
        yield found("outside-nodes", severity, "Node", nodes, outside(nodes, missing))
    virtual = [domain.name for domain in tree.domains if domain.virtual]
    if virtual:
        yield found("virtual-domains", "warning", "Node", virtual, topology_virtual(virtual))


def _has_cards(node: Node) -> bool:
    return any(of_node(dict(node.allocatable)).values())


def _renamed(snapshot: Snapshot, tree: Tree, layers: list[Layer]) -> Iterator[Finding]:
    """Yield nodes without labels that layers name and with those of another name.

    Either the same tool set both, at different times, or no node in the tree has these.
    """
    named = [key for layer in layers for key in layer.label_keys]
    whole = {*tree.leaf} - {domain.name for domain in tree.domains if domain.virtual}
    inside = {key for name in whole for key, _ in snapshot.nodes[name].labels}
    lacking: dict[str, None] = {}
    carried: Counter[str] = Counter()
    nodes = []
    for name in sorted(snapshot.nodes.keys() - whole):
        labels = dict(snapshot.nodes[name].labels)
        others = [key for key in labels if key not in named and makers([key])]
        others = [key for key in others if key not in inside or makers([key]) & makers(named)]
        if others:
            nodes.append(name)
            carried.update(others)
            lacking.update(dict.fromkeys(key for key in named if key not in labels))
    if nodes:
        message = renamed(nodes, [*lacking], sorted(carried))
        yield found("renamed-labels", "warning", "Node", nodes, message)


def _placeholders(snapshot: Snapshot, layers: list[Layer]) -> Iterator[Finding]:
    named = {key for layer in layers for key in layer.label_keys}
    by_value: dict[tuple[str, str], list[str]] = {}
    for name, node in snapshot.nodes.items():
        for key, value in node.labels:
            if key in named and value.lower() in NO_VALUES:
                by_value.setdefault((key, value), []).append(name)
    for (key, value), nodes in sorted(by_value.items()):
        yield found("placeholder-label", "warning", "Node", nodes, placeholder(value, key, nodes))


def _one_node(tree: Tree) -> Iterator[Finding]:
    for layer in tree.layers:
        domains = [tree.domains[index] for index in tree.at_layer(layer)]
        real = [domain for domain in domains if not domain.virtual]
        if layer != NODE_LAYER and len(real) > 1 and all(domain.nodes == 1 for domain in real):
            yield found("one-node-domains", "warning", _KIND, [layer], one_node(layer, len(real)))
