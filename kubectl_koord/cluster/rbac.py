"""RBAC rights and roles, derived from the kinds and from what each command reads.

No Secret is read, and nothing is granted for all of a group. What is asked for by name is granted by name.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.objects import descheduler, jobs, settings
from kubectl_koord.cluster.source import CRD, TRACED
from kubectl_koord.model import installation
from kubectl_koord.model.installation import HOME

_USED = (*kinds.VOLUME_KINDS, *kinds.CLAIM_KINDS, *kinds.NAMESPACE_KINDS)
_LISTED: Mapping[str, tuple[str, ...]] = {
    "topology": kinds.TOPOLOGY_KINDS,
    "devices": kinds.DEVICE_KINDS,
    "gangs": (*kinds.GANG_KINDS, *_USED),
    "members": (*kinds.MEMBER_KINDS, *_USED),
    "disruption": (*kinds.DISRUPTION_KINDS, *_USED),
    "doctor": (*kinds.DOCTOR_KINDS, *_USED),
    "recorded": (*kinds.RECORDED_KINDS, kinds.EVENT.name),
    "fit": (*kinds.FIT_KINDS, *kinds.MANIFEST_KINDS, *kinds.WEBHOOK_KINDS, *kinds.TRAIN_JOB_KINDS),
    "moved": kinds.MIGRATION_KINDS,
    "elsewhere": (*kinds.ELSEWHERE_KINDS, kinds.PRIORITY_CLASS.name),
    "traces": TRACED,
}
"""By reading, as the rows of the verbs name them, the kinds that it lists at most."""
_OF_ANY_VERSION = {"fit", "moved", "elsewhere", "traces"}
_OF_INSTALLATION = {"doctor", "recorded"}
"""What rests on all Deployments, and on the configuration of koord-descheduler."""
_CRDS, _CRD_NAME = CRD.rsplit("/", 1)
_CHANGED = (kinds.POD, kinds.POD_GROUP, kinds.NODE, kinds.NETWORK_TOPOLOGY, kinds.RESERVATION)
_CREATED = (kinds.NETWORK_TOPOLOGY, kinds.RESERVATION, kinds.MIGRATION_JOB)
VIEW, OPERATE, LEADER = "kubectl-koord-view", "kubectl-koord-operate", "kubectl-koord-scheduler"


class Right(NamedTuple):
    """What may be done with the objects of a resource, with those of a name only unless it is empty."""

    group: str
    resource: str
    verb: str
    name: str = ""


def _around() -> set[Right]:
    """Return what is read of one job that the scheduler does not see, or that it does not wait for."""
    listed: tuple[jobs.OwnerKind | jobs.QueueKind, ...] = (
        jobs.BY_KIND["apps", "ReplicaSet"], *jobs.LISTED_OWNERS, *jobs.LISTED, jobs.LOCAL_QUEUE,
    )  # fmt: skip
    found = {Right(one.group, one.plural, "get") for one in jobs.OWNERS}
    found |= {Right(one.group, one.plural, "list") for one in listed}
    found |= {Right(one.group, one.plural, "get") for one in jobs.NAMED}
    found |= {Right("apps", "deployments", "list", name) for name in jobs.CONTROLLERS}
    found |= {
        Right(_group(kind.api), kind.plural, "get")
        for kind in (kinds.PRIORITY_CLASS, kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME)
    }
    return found | {Right(_group(kinds.LEASE.api), kinds.LEASE.plural, "get", jobs.MANAGER)}


def reading(reads: Collection[str]) -> set[Right]:
    """Return what a command needs in the whole cluster that reads this, whatever its flags; without pods/proxy."""
    found = {_right(name, "list") for one in reads for name in _LISTED.get(one, ())}
    if _OF_INSTALLATION.intersection(reads):
        found.add(_right(kinds.DEPLOYMENT.name, "list")._replace(name=""))
        found.add(_right(kinds.CONFIG_MAP.name, "list")._replace(name=descheduler.CONFIG))
    if _LISTED.keys() & set(reads) - _OF_ANY_VERSION:
        found.add(Right(_group(_CRDS), _CRDS.rpartition("/")[2], "get", _CRD_NAME))
    if "watched" in reads:
        found |= {_right(name, "watch") for name in (*kinds.REQUESTS, kinds.PRIORITY_CLASS.name)}
    if "followed" in reads:
        found |= {right._replace(verb="watch") for right in found if right.verb == "list"}
    if "applied" in reads:  # its steps are waited for
        found |= {right._replace(verb="watch") for right in reading(("disruption",)) if right.verb == "list"}
    if "around" in reads:
        found |= _AROUND
    if "recorded" in reads:
        found |= {Right(one.group, one.plural, "list") for one in jobs.RECORDED}
        found.add(Right(_group(kinds.LEASE.api), kinds.LEASE.plural, "list", jobs.MANAGER))
    if "namespace" in reads:
        found.add(Right("", "namespaces", "get"))
    return lean(found)


def viewing(reads: Iterable[Collection[str]]) -> set[Right]:
    """Return what those need who only look, with all commands that read this, and complete names."""
    return lean({Right("", "namespaces", "list")}.union(*map(reading, reads)))


def operating(reads: Iterable[Collection[str]]) -> set[Right]:
    """Return what those need who also set annotations, carry plans out, or ask whether a pod may be evicted."""
    changed = {Right(_group(kind.api), kind.plural, verb) for kind in _CHANGED for verb in ("get", "patch")}
    changed |= {Right(_group(kind.api), kind.plural, "create") for kind in _CREATED}
    changed.add(Right(_group(kinds.MIGRATION_JOB.api), kinds.MIGRATION_JOB.plural, "get"))
    changed.add(Right(_group(kinds.DEPLOYMENT.api), kinds.DEPLOYMENT.plural, "get", settings.DESCHEDULER))
    return lean(viewing(reads) | changed | {Right("", "pods/eviction", "create")})


def asking_leader() -> set[Right]:
    """Return what it takes, where the scheduler runs, to ask the leading one what it remembers."""
    lease = kinds.LEASE
    return {Right(_group(lease.api), lease.plural, "get", _only(lease.query)), Right("", "pods/proxy", "get")}


def lean(rights: Iterable[Right]) -> set[Right]:
    """Return the rights without those by name to what is granted whatever its name."""
    found = set(rights)
    return {right for right in found if not right.name or right._replace(name="") not in found}


def needed(reads: Mapping[str, Collection[str]]) -> Mapping[str, installation.Right]:
    """Return by kind the resource to be read, as `plural.group`, and those of the commands that read it."""
    return {
        name: installation.Right(
            resource_name(_group(kind.api), kind.plural),
            tuple(verb for verb, some in reads.items() if any(name in _LISTED.get(one, ()) for one in some)),
        )
        for name, kind in kinds.KINDS.items()
    }


def resource_name(group: str, resource: str) -> str:
    """Return a resource as `plural.group`."""
    return f"{resource}.{group}" if group else resource


def cluster_role(name: str, rights: Iterable[Right]) -> str:
    """Return a ClusterRole as YAML."""
    return _written("ClusterRole", [f"  name: {name}"], rights)


def leader_role() -> str:
    """Return the Role for `scheduler`, as YAML.

    In a ClusterRole pods/proxy would reach every pod; here it reaches those beside the scheduler.
    """
    return _written("Role", [f"  name: {LEADER}", f"  namespace: {HOME.namespace}"], asking_leader())


def _right(kind: str, verb: str) -> Right:
    row = kinds.KINDS[kind]
    return Right(_group(row.api), row.plural, verb, _only(row.query))


def _group(api: str) -> str:
    return api.split("/")[2] if api.startswith("/apis/") else ""


def _only(query: str) -> str:
    """Return the one name that a list is limited to: RBAC grants such a list by that name."""
    found = re.search(r"metadata\.name=([^&,]+)", unquote(query))
    return found[1] if found else ""


def _written(kind: str, meta: list[str], rights: Iterable[Right]) -> str:
    rules: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, resource, limit), verbs in sorted(_verbs(rights).items()):
        rules.setdefault((group, limit, verbs), []).append(resource)
    lines = ["apiVersion: rbac.authorization.k8s.io/v1", f"kind: {kind}", "metadata:", *meta, "rules:"]
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


_AROUND = _around()
