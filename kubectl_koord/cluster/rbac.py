"""What one must be allowed to read, derived from the kinds: which commands rest on each, and a role for all of them."""

from collections.abc import Iterator, Mapping

from kubectl_koord.cluster.kind import Kind, Need
from kubectl_koord.cluster.kinds import CONFIG_MAP, CONFIG_MAPS, DEPLOYMENT, KINDS
from kubectl_koord.model.installation import Right

_ONE_NAME = "fieldSelector=metadata.name%3D"
_PENDING = ("gangs", "quota", "why-pending", "preempt", "annotate", "doctor")
_COMMANDS: Mapping[Need, tuple[str, ...]] = {
    "topology": ("topo", "devices", *_PENDING),
    "devices": ("devices", *_PENDING),
    "gangs": _PENDING,
    "disruption": ("why-pending", "preempt"),
    "volumes": _PENDING,
    "claims": _PENDING,
    "migrations": ("gangs", "why-pending", "node", "domain"),
    "volcano": ("gangs", "why-pending"),
    "traces": ("why-preempted",),
    "doctor": ("doctor",),
    "fit": ("fit",),
}
_HEAD = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kubectl-koord
rules:
"""


def rights() -> Mapping[str, Right]:
    """Return by kind the resource to be read, as `plural.group`, and the commands that read it."""
    return {
        name: Right(".".join(filter(None, (kind.plural, kind.group))), _COMMANDS[kind.needed_by])
        for name, kind in KINDS.items()
    }


def cluster_role() -> str:
    """Return the smallest ClusterRole with which every command can read all objects that it reads, as YAML.

    Without pods/proxy, which `scheduler` asks the leader through: in a ClusterRole it would reach every pod.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for kind in KINDS.values():
        found.setdefault((kind.group, _only(kind)), []).append(kind.plural)
    return _HEAD + "".join(line for (group, only), plurals in found.items() for line in _rule(group, only, plurals))


def _rule(group: str, only: str, plurals: list[str]) -> Iterator[str]:
    yield f'- apiGroups: ["{group}"]\n'
    yield f"  resources: [{', '.join(plurals)}]\n"
    if only:
        yield f"  resourceNames: [{only}]\n"
    yield "  verbs: [get, list, watch]\n"


def _only(kind: Kind[object, object]) -> str:
    """Return the objects that are read of a kind, empty for all; of Deployments `doctor` reads several."""
    if kind is CONFIG_MAP:
        return ", ".join(CONFIG_MAPS)
    begin = kind.query.find(_ONE_NAME)
    return "" if begin < 0 or kind is DEPLOYMENT else kind.query[begin + len(_ONE_NAME) :].partition("&")[0]
