"""The commands that ways out and next steps offer: whatever the names are, they may be pasted into a shell."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from kubectl_koord.model.installation import Home
from kubectl_koord.model.values.selectors import Taint
from kubectl_koord.wording.words import asked_for, paste

USAGE_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
_GROUPS = "gang.scheduling.koordinator.sh/groups"
_FINALIZERS = "{.metadata.finalizers}"
_UNTIL_GONE = "10m"
_TRIES = 9
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_EVICTION = '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"}}'

EDIT_TOPOLOGY = paste("kubectl", "edit", "clusternetworktopology", "default")


def see_scheduler(home: Home) -> str:
    """Return what shows the scheduler's pods."""
    return paste("kubectl", "get", "pods", "-n", home.namespace, "-l", "koord-app=koord-scheduler")


def edit_scheduler(home: Home) -> str:
    """Return what edits the scheduler's Deployment."""
    return paste("kubectl", "edit", "deployment", home.scheduler, "-n", home.namespace)


def edit_scheduler_config(home: Home) -> str:
    """Return what edits the scheduler's configuration."""
    return paste("kubectl", "edit", "configmap", home.config, "-n", home.namespace)


def in_turn(commands: Iterable[str]) -> str:
    """Return commands of which each runs when the one before it has worked."""
    return " && ".join(commands)


def _named(key: str) -> tuple[str, str, str]:
    """Return the words that name an object: `NAME -n NAMESPACE`."""
    namespace, _, name = key.partition("/")
    return name, "-n", namespace


def touch(pod_group: str, moment: str) -> str:
    """Return what changes a PodGroup without an effect of its own."""
    stamp = moment.replace(":", "")
    return paste("kubectl", "annotate", "podgroup", *_named(pod_group), f"touched-at={stamp}", "--overwrite")


def wake(pod_group: str, minimum: int, above: int) -> str:
    """Return what sets minMember of a PodGroup above what it has, and back."""
    patches = (json.dumps({"spec": {"minMember": each}}, separators=(",", ":")) for each in (above, minimum))
    return in_turn(patch_pod_group(pod_group, patch) for patch in patches)


def annotate(pod_group: str, options: Sequence[str]) -> str:
    """Return the call of this program that sets annotations of a PodGroup."""
    return paste("kubectl", "koord", "annotate", "podgroup", *_named(pod_group), *options, "--overwrite")


def preempt(key: str, *, lone_pod: bool) -> str:
    """Return the call of this program that shows what preemption would do for a gang, or for a lone pod."""
    name, *namespace = _named(key)
    return paste("kubectl", "koord", "preempt", asked_for(name, lone_pod=lone_pod), *namespace, "--dry-run")


def patch_pod_group(pod_group: str, patch: str) -> str:
    """Return what merges a patch into a PodGroup."""
    return paste("kubectl", "patch", "podgroup", *_named(pod_group), "--type", "merge", "-p", patch)


def create_pod_group(key: str, minimum: int, groups: Sequence[str]) -> str:
    """Return what creates a PodGroup; empty for names that a shell would not take as they are."""
    namespace, _, name = key.partition("/")
    # Of the backslashes before a quote printf takes one away, and YAML the other.
    ids = ",".join(f'\\\\"{each}\\\\"' for each in groups)
    annotations = f', annotations: {{{_GROUPS}: "[{ids}]"}}' if groups else ""
    manifest = (
        f"apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {{name: {name},"
        f" namespace: {namespace}{annotations}}}\\nspec: {{minMember: {minimum}}}\\n"
    )
    names = "".join((name, namespace, *groups))
    harmless = shlex.quote(names) == names and "%" not in names
    return f"printf '{manifest}' | kubectl apply -f -" if harmless else ""


def pods_on(node: str) -> str:
    """Return what shows the pods of a node."""
    return paste("kubectl", "get", "pods", "-A", "-o", "wide", "--field-selector", f"spec.nodeName={node}")


def see_finalizers(pod: str) -> str:
    """Return what shows the finalizers of a pod."""
    return f"{paste('kubectl', 'get', 'pod', *_named(pod))} -o jsonpath='{_FINALIZERS}'"


def see_finalizers_of_terminating(pod: str) -> str:
    """Return the same as a way out has it."""
    name, option, namespace = _named(pod)
    return paste("kubectl", "get", "pod", option, namespace, name, "-o", f"jsonpath={_FINALIZERS}")


def set_thresholds(node: str, percent: Mapping[str, int]) -> str:
    """Return what gives a node thresholds of load of its own."""
    value = json.dumps({"usageThresholds": dict(percent)}, separators=(",", ":"))
    return paste("kubectl", "annotate", "node", node, f"{USAGE_THRESHOLDS}={value}", "--overwrite")


def describe_nodes(nodes: Sequence[str]) -> str:
    """Return what shows nodes with their conditions and events."""
    return paste("kubectl", "describe", "node", *nodes)


def uncordon(nodes: Sequence[str]) -> str:
    """Return what uncordons nodes."""
    return paste("kubectl", "uncordon", *nodes)


SEE_PROPOSED_TOPOLOGY = "kubectl koord topo init --diff"


def see_named_topology(layers: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return what shows the topology of layers with these keys, from the top."""
    named = [word for layer, keys in layers for word in ("--layer", f"{layer}={','.join(keys)}")]
    return paste("kubectl", "koord", "topo", "init", *named, "--diff")


def label(nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Return what gives nodes labels that they lack."""
    return paste("kubectl", "label", "node", *nodes, *labels)


def tolerate(pod: str, taint: Taint, *, is_first: bool) -> str:
    """Return what adds a toleration to a pod, whether it has others, which must stay, or none."""
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    first = {"op": "add", "path": "/spec/tolerations", "value": [toleration]}
    another = {"op": "add", "path": "/spec/tolerations/-", "value": toleration}
    patch = json.dumps([first if is_first else another])
    return paste("kubectl", "patch", "pod", *_named(pod), "--type", "json", "-p", patch)


def evict(pods: Sequence[str]) -> str:
    """Return what evicts pods one by one as their budgets allow, and ends with the first refusal.

    Empty for names that no pod can have: kubectl decodes what is escaped in a path.
    """
    names = [pod.partition("/")[::2] for pod in pods]
    if not all(_NAME.fullmatch(part) for parts in names for part in parts):
        return ""
    if len(pods) > 1:
        return _evict_each(pods)
    ((namespace, name),) = names
    body = paste("printf", "%s", _EVICTION % (name, namespace))
    return f"{body} | {paste('kubectl', 'create', '--raw', _eviction_path(namespace, name), '-f', '-')}"


def _evict_each(pods: Sequence[str]) -> str:
    name, namespace = "${pod#*/}", "${pod%/*}"
    path = _eviction_path(namespace, name)
    one = f'printf \'{_EVICTION}\' "{name}" "{namespace}" | kubectl create --raw "{path}" -f -'
    return f"for pod in {paste(*pods)}; do {one} || break; done"


def _eviction_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"


def move(pod: str, evict: str, kept_free: Sequence[str], successor: str) -> str:
    """Return what evicts a pod, and keeps its successor from the nodes that are to stay free until it has another.

    They are uncordoned again whatever becomes of it. `successor` selects it by labels; empty for one of the same name.
    """
    namespace, _, name = pod.partition("/")
    gone = paste("kubectl", "wait", "--for=delete", f"pod/{name}", "-n", namespace, f"--timeout={_UNTIL_GONE}")
    which = ("pod", "-l", successor) if successor else (f"pod/{name}",)
    bound = paste("kubectl", "wait", "--for=condition=PodScheduled", *which, "-n", namespace, "--timeout=1m")
    waits = f"for try in {' '.join(map(str, range(1, _TRIES + 1)))}; do {bound} && break; sleep 2; done"
    cordon, uncordon = (paste("kubectl", verb, *kept_free) for verb in ("cordon", "uncordon"))
    return f"{in_turn((cordon, evict, gone, waits))}; {uncordon}"


def patch_quota(key: str, patch: str) -> str:
    """Return what merges a patch into an ElasticQuota."""
    return paste("kubectl", "patch", "elasticquota", *_named(key), "--type", "merge", "-p", patch)


def patch_resource_quota(key: str, hard: Mapping[str, str]) -> str:
    """Return what sets amounts of a ResourceQuota."""
    patch = json.dumps({"spec": {"hard": hard}}, separators=(",", ":"))
    return paste("kubectl", "patch", "resourcequota", *_named(key), "--type", "merge", "-p", patch)


def describe_all(kind: str, namespace: str) -> str:
    """Return what shows all objects of a kind in a namespace."""
    return paste("kubectl", "describe", kind, "-n", namespace)


def create_service_account(key: str) -> str:
    """Return what creates a ServiceAccount."""
    return paste("kubectl", "create", "serviceaccount", *_named(key))


def describe(kind: str, key: str) -> str:
    """Return what shows an object with its events."""
    return paste("kubectl", "describe", kind, *_named(key))


def delete(kind: str, key: str) -> str:
    """Return what deletes an object."""
    return paste("kubectl", "delete", kind, *_named(key))


def release(reservations: Sequence[str]) -> str:
    """Return what deletes Reservations."""
    return paste("kubectl", "delete", "reservation", *reservations)
