"""The ClusterRoles for those who look and for those who change something: what the program asks for, and no more.

No Secret is read, and nothing is granted for all of a group. What is asked for by name is granted by name.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from kubectl_koord.cluster.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    DESCHEDULER_CONFIG,
    KINDS,
    NETWORK_TOPOLOGY,
    NODE,
    POD,
    POD_GROUP,
    REQUESTS,
)
from kubectl_koord.cluster.source import CRD

_LISTED, _FOLLOWED = ("list",), ("list", "watch")
_CRDS, _CRD_NAME = CRD.rsplit("/", 1)


class Right(NamedTuple):
    """What may be done with the objects of a resource, with those of a name only unless it is empty."""

    group: str
    resource: str
    verb: str
    name: str = ""


def viewing() -> set[Right]:
    """Return what those need who only look: every list, to follow what `--watch` follows, and what is asked once."""
    found = {
        Right(_group(kind.api), kind.plural, verb, _only(kind.query))
        for name, kind in KINDS.items()
        for verb in (_FOLLOWED if name in REQUESTS else _LISTED)
    }
    found |= {Right(_group(DEPLOYMENT.api), DEPLOYMENT.plural, "list")}  # `doctor` reads those of the installation
    found |= {Right(_group(CONFIG_MAP.api), CONFIG_MAP.plural, "list", DESCHEDULER_CONFIG)}
    found |= {Right("", "namespaces", "get"), Right("", "namespaces", "list")}
    found |= {Right(_group(_CRDS), _CRDS.rpartition("/")[2], "get", _CRD_NAME)}
    return lean(found)


def lean(rights: Iterable[Right]) -> set[Right]:
    """Return the rights without those by name to what is granted whatever its name."""
    found = set(rights)
    return {right for right in found if not right.name or right._replace(name="") not in found}


def operating() -> set[Right]:
    """Return what those need who also set annotations, or ask the server whether a pod may be evicted."""
    patched = (POD, POD_GROUP, NODE, NETWORK_TOPOLOGY)
    changed = {Right(_group(kind.api), kind.plural, verb) for kind in patched for verb in ("get", "patch")}
    changed.add(Right(_group(NETWORK_TOPOLOGY.api), NETWORK_TOPOLOGY.plural, "create"))
    return viewing() | changed | {Right("", "pods/eviction", "create")}


def files() -> dict[str, str]:
    """Return the two roles by the paths of their files."""
    return {
        "deploy/clusterrole-view.yaml": _written("kubectl-koord-view", viewing()),
        "deploy/clusterrole-operate.yaml": _written("kubectl-koord-operate", operating()),
    }


def _group(api: str) -> str:
    return api.split("/")[2] if api.startswith("/apis/") else ""


def _only(query: str) -> str:
    """Return the one name that a list is limited to: RBAC grants such a list by that name."""
    found = re.search(r"metadata\.name=([^&,]+)", unquote(query))
    return found[1] if found else ""


def _written(name: str, rights: Iterable[Right]) -> str:
    rules: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, resource, limit), verbs in sorted(_verbs(rights).items()):
        rules.setdefault((group, limit, verbs), []).append(resource)
    lines = ["apiVersion: rbac.authorization.k8s.io/v1", "kind: ClusterRole", "metadata:", f"  name: {name}", "rules:"]
    for (group, limit, verbs), resources in rules.items():
        own = group or '""'
        lines += [f"- apiGroups: [{own}]", f"  resources: [{', '.join(resources)}]"]
        lines += [f"  resourceNames: [{limit}]"] if limit else []
        lines.append(f"  verbs: [{', '.join(verbs)}]")
    return "\n".join(lines) + "\n"


def _verbs(rights: Iterable[Right]) -> Mapping[tuple[str, str, str], tuple[str, ...]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for right in sorted(rights):
        found.setdefault((right.group, right.resource, right.name), []).append(right.verb)
    return {where: tuple(verbs) for where, verbs in found.items()}
