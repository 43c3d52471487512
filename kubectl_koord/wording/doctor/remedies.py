"""What to do about each finding of `doctor`, and the command that does or shows it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kubectl_koord.reports.codes import DoctorCode
from kubectl_koord.wording.words import command as ours
from kubectl_koord.wording.words import paste

_NUMA_POLICY = "node.koordinator.sh/numa-topology-policy"
_LAYERS = "Correct parentTopologyLayer in the ClusterNetworkTopology: each layer names the one above it."
_LABELS = "Set the labels on these nodes, or find out why the tool that sets them leaves them out."
_CHART = "Compare the ConfigMap koord-scheduler-config with that of the Helm chart, correct it, and restart the pods."

_REMEDIES: Mapping[DoctorCode, str] = {
    "deployment-missing": "Install it with Koordinator's Helm chart, or tell where it is with --koordinator-namespace.",
    "deployment-unavailable": "Look at its pods and their logs.",
    "version-unsupported": "Upgrade Koordinator to 1.7 or later.",
    "version-newer": "Upgrade this plugin; until then take answers with care where releases differ.",
    "versions-differ": "Upgrade with the Helm chart, so that both have one version.",
    "no-scheduler": "Look at the pods of koord-scheduler and their logs.",
    "lease-missing": "Look whether koord-scheduler runs, and with which leader election.",
    "crd-missing": "Install the CRDs of the Helm chart (values crds.*).",
    "webhook-missing": "Install it with the Helm chart; until then quotas and pods are neither completed nor checked.",
    "webhook-without-ca": "Look at the logs of koord-manager, which writes the caBundle when it starts.",
    "priority-class-missing": "Install what is missing with the Helm chart, or create it with the value in brackets.",
    "priority-class-value": "Delete the PriorityClass and create it with the value of the Helm chart.",
    "config-unreadable": _CHART,
    "config-elsewhere": "Look at that file for what answers assume, or let the Deployment mount the ConfigMap.",
    "plugin-not-enabled": _CHART,
    "reservation-not-reserved": "Enable the plugin Reservation in reserve of the profile, as the Helm chart does.",
    "two-preemptions": "Disable DefaultPreemption in postFilter of the profile, as the Helm chart does.",
    "no-job-preemption": "Set enablePreemption of Coscheduling (scheduler.enableJobPreemption in the Helm chart).",
    "unknown-setting": _CHART,
    "invalid-setting": _CHART,
    "topology-manager-off": "Start koord-scheduler with --enable-network-topology-manager=true.",
    "topology-not-aware": "Set awareNetworkTopology of Coscheduling, and restart koord-scheduler.",
    "no-topology": "Create a ClusterNetworkTopology named default, with the layers and labels of your network.",
    "topology-other-name": "Create it again with the name default: no other name counts.",
    "broken-layer-chain": _LAYERS,
    "layer-cycle": _LAYERS,
    "merged-domains": "Give the domains names that are unique in their layer, such as the parent's name in front.",
    "outside-nodes": _LABELS,
    "virtual-domains": _LABELS,
    "stale-status": "Look whether koord-scheduler runs and may update the status of the ClusterNetworkTopology.",
    "layers-reversed": "Swap the two layers in the ClusterNetworkTopology.",
    "placeholder-label": "Find out why the tool that sets the labels had no data for these nodes, and label them.",
    "one-node-domains": "Leave the layer out, or use a label that several nodes have in common.",
    "renamed-labels": "List both keys in labelKey of the layer, the newer one first: the first that a node has counts.",
    "selector-outside-tree": "Label the nodes for every layer, or remove it.",
    "device-empty": "Look at the log of koordlet on the node: it could not load NVML or the driver.",
    "device-missing": "Look whether koordlet runs on the node, with the feature gate Accelerators.",
    "device-unhealthy": "Drain the node where it must be, and have the cards looked at.",
    "device-not-booked": (
        "Let koord-scheduler place pods that request devices, with DeviceShare enabled; restart these pods under it."
    ),
    "doubly-booked": "Recreate one of the pods, so that it gets others; see whether two schedulers bind pods there.",
    "cards-lost": "Look at the log of the device plugin and at the cards (Xid errors); restart the plugin or the node.",
    "resource-not-offered": "Look why no device plugin runs there: the taints and labels of its DaemonSet, the driver.",
    "numa-policy-unknown": "Use BestEffort, Restricted or SingleNUMANode, or remove the label.",
    "numa-policy-ignored": "Use BestEffort, Restricted or SingleNUMANode in the label of the node.",
    "threshold-never-met": "Raise usageThresholds of LoadAwareScheduling, lower its factors, or ask for less.",
    "no-podgroup": "Create the PodGroup, or correct the label of the pods.",
    "gang-not-initialised": "Set min-available on the pods to a whole number; recreate those that lack it.",
    "group-member-missing": "Create the gang, or take it out of the groups annotation of all others.",
    "groups-differ": "Give all gangs of the group the same list, with each of them in it.",
    "groups-unreadable": "Correct it, or remove it.",
    "topology-spec-unreadable": "Correct it, or remove it.",
    "differing-specs": "Give all gangs of the group the same spec.",
    "unknown-layer": "Name a layer of the topology.",
    "unknown-strategy": "Name a strategy that there is.",
    "min-member-zero": "Set minMember of the PodGroup to the number of pods that must run together.",
    "stale-phase": "Delete the PodGroup with its pods when a run ends, and create a new one for the next.",
    "mixed-schedulers": "Give all pods of the gang the same schedulerName, and recreate the others.",
    "foreign-gang-marker": "Label the pod with pod-group.scheduling.sigs.k8s.io, and recreate it.",
    "index-not-honoured": "Name the pods so that their lexical order is that of the index, such as w-00, w-01.",
    "descheduler-unreadable": (
        "Compare the ConfigMap koord-descheduler-config with that of the Helm chart, correct it, and restart the pods."
    ),
    "descheduler-settings": "Nothing, where that is wanted.",
    "descheduler-breaks-gangs": ("Exclude their namespaces, or their labels, in the arguments of MigrationController."),
    "rbac-missing": "Let an administrator apply the role that this prints.",
    "not-checked": "Add these kinds to the input, or ask the live cluster again.",
}


def remedy(code: DoctorCode) -> str:
    """Return what to do about a finding."""
    return _REMEDIES[code]


def command(code: DoctorCode, kind: str, names: Sequence[str]) -> str:
    """Return the command for it, empty where there is none; a word in capitals is to be replaced."""
    made = _COMMANDS.get(code)
    return made(kind, names) if made else ""


def role(commands: Sequence[str]) -> str:
    """Return what prints the role that these commands lack: what only one of them needs may be in a role of its own."""
    return ours("doctor", "--print-rbac", *(("--command", "scheduler") if [*commands] == ["scheduler"] else ()))


def _of_gang(setting: str, kind: str, names: Sequence[str]) -> str:
    namespace, _, name = names[0].partition("/")
    return ours("annotate", "gang", name, "-n", namespace, setting, "--overwrite") if kind == "Gang" else ""


_Made = Callable[[str, Sequence[str]], str]
_LAYER: _Made = partial(_of_gang, "--must-gather=LAYER")
_GROUPS: _Made = partial(_of_gang, "--groups=GANG,GANG")
_COMMANDS: Mapping[DoctorCode, _Made] = {
    "deployment-unavailable": lambda _, names: paste("kubectl", "get", "pods", "-A", "-l", f"koord-app={names[0]}"),
    "selector-outside-tree": lambda *_: ours("annotate", "pods", "GANG", "topology-selector-"),
    "numa-policy-unknown": lambda _, names: paste("kubectl", "label", "node", *names, f"{_NUMA_POLICY}-"),
    "groups-differ": _GROUPS,
    "groups-unreadable": _GROUPS,
    "topology-spec-unreadable": _LAYER,
    "differing-specs": _LAYER,
    "unknown-layer": _LAYER,
    "unknown-strategy": _LAYER,
}
