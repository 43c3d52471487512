"""Apply the edits of a way out to the objects of a cluster, by the JSON alone: it knows nothing of our engine."""

import copy
import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

Json = dict[str, Any]
_SUFFIX = {"m": Decimal("0.001")} | {f"{letter}i": Decimal(1 << 10 * power) for power, letter in enumerate("KMGT", 1)}
_GANG = "gang.scheduling.koordinator.sh/"
_LIGHT = "pod-group.scheduling.sigs.k8s.io"


def edited(cluster: Json, edits: Iterable[Json]) -> Json:
    """Return the List after the edits."""
    after = copy.deepcopy(cluster)
    for edit in edits:
        _MAKERS[edit["op"]](after["items"], edit)
    return after


def _named(items: list[Json], kind: str, name: str) -> Json:
    namespace, _, short = name.rpartition("/")
    (found,) = [
        item
        for item in items
        if item["kind"] == kind
        and item["metadata"]["name"] == short
        and (not namespace or item["metadata"].get("namespace", "default") == namespace)
    ]
    return found


def _delete_pod(items: list[Json], edit: Json) -> None:
    pod = _named(items, "Pod", edit["pod"])
    assert pod["spec"].get("nodeName", "") == edit.get("node", "")
    items.remove(pod)


def _move_pod(items: list[Json], edit: Json) -> None:
    pod = _named(items, "Pod", edit["pod"])
    assert pod["spec"]["nodeName"] == edit["node"]
    pod["spec"]["nodeName"] = edit["to"]


def _uncordon(items: list[Json], edit: Json) -> None:
    spec = _named(items, "Node", edit["node"])["spec"]
    spec.pop("unschedulable", None)
    taints = spec.get("taints") or []
    spec["taints"] = [taint for taint in taints if taint["key"] != "node.kubernetes.io/unschedulable"]


def _return_cards(items: list[Json], name: str, status: Json) -> None:
    allocatable, capacity = status["allocatable"], status.get("capacity") or {}
    allocatable |= {card: number for card, number in capacity.items() if card.endswith(("/gpu", "/rdma"))}
    devices = [item for item in items if item["kind"] == "Device" and item["metadata"]["name"] == name]
    whole: dict[str, Decimal] = {}
    for device in (one for item in devices for one in item["spec"]["devices"]):
        device["health"] = True
        for resource, amount in device["resources"].items():
            whole[resource] = whole.get(resource, Decimal()) + _number(str(amount))
    for resource, amount in whole.items():
        if resource in allocatable and _number(str(allocatable[resource])) < amount:
            allocatable[resource] = str(amount)


_UNFIT = re.compile(
    r"pressure$|network-unavailable$|out-of-service$|not-ready$|/uninitialized$|shutdown$|unregistered$"
)
_GOING = re.compile(r"^ToBeDeletedBy|^DeletionCandidateOf|^karpenter.sh/disrupt")
_AWAY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def _mend_node(items: list[Json], edit: Json) -> None:
    node = _named(items, "Node", edit["node"])
    taints = node["spec"].get("taints") or []
    before = [taint for taint in taints if taint["key"] in _AWAY or not _UNFIT.search(taint["key"])]
    node["spec"]["taints"] = [taint for taint in before if taint["key"] not in _AWAY]
    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    _return_cards(items, node["metadata"]["name"], node["status"])
    items[:] = [
        item
        for item in items
        if node["spec"]["taints"] == before
        or item["kind"] != "Pod"
        or item["spec"].get("nodeName") != edit["node"]
        or "deletionTimestamp" not in item["metadata"]
    ]


def _set_thresholds(items: list[Json], edit: Json) -> None:
    annotations = _named(items, "Node", edit["node"])["metadata"].setdefault("annotations", {})
    name = "scheduling.koordinator.sh/usage-thresholds"
    try:
        own = json.loads(annotations.get(name, "{}"))
    except ValueError:  # then the scheduler goes by nothing of it
        own = {}
    own["usageThresholds"] = {one["resource"]: one["percent"] for one in edit["percent"]}
    annotations[name] = json.dumps(own)


def _add_node(items: list[Json], edit: Json) -> None:
    node = copy.deepcopy(_named(items, "Node", edit["like"]))
    node["metadata"]["name"] = edit["node"]
    labels = node["metadata"].setdefault("labels", {})
    if "kubernetes.io/hostname" in labels:
        labels["kubernetes.io/hostname"] = edit["node"]
    items.append(node)
    items.extend(
        item | {"metadata": item["metadata"] | {"name": edit["node"]}}
        for item in [one for one in items if one["kind"] == "NodeResourceTopology"]
        if item["metadata"]["name"] == edit["like"]
    )
    _uncordon(items, {"node": edit["node"]})
    gone = re.compile(f"{_UNFIT.pattern}|{_GOING.pattern}")
    taints = node["spec"]["taints"]
    node["spec"]["taints"] = [one for one in taints if one["key"] in _AWAY or not gone.search(one["key"])]


def _label_node(items: list[Json], edit: Json) -> None:
    labels = _named(items, "Node", edit["node"])["metadata"].setdefault("labels", {})
    labels.update({one["key"]: one["value"] for one in edit["labels"]})


def _set_layers(items: list[Json], edit: Json) -> None:
    layers, parent = [], ""
    for one in edit["layers"]:
        layers.append({"topologyLayer": one["layer"], "labelKey": one["labelKeys"]})
        layers[-1] |= {"parentTopologyLayer": parent} if parent else {}
        parent = one["layer"]
    _named(items, "ClusterNetworkTopology", "default")["spec"]["networkTopologySpec"] = layers


def _tolerate(items: list[Json], edit: Json) -> None:
    for name in edit["pods"]:
        tolerations = _named(items, "Pod", name)["spec"].setdefault("tolerations", [])
        tolerations.append({key: edit[key] for key in ("key", "value", "effect")} | {"operator": "Equal"})


def _select_nodes(items: list[Json], edit: Json) -> None:
    for name in edit["pods"]:
        spec = _named(items, "Pod", name)["spec"]
        selector = spec.get("nodeSelector") or {}
        if selector.get(edit["key"]) == edit["value"]:
            del selector[edit["key"]]
            selector[edit["toKey"]] = edit["toValue"]
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
        for one in (one for term in required.get("nodeSelectorTerms", ()) for one in term.get("matchExpressions", ())):
            if (one["key"], one["operator"], one.get("values")) == (edit["key"], "In", [edit["value"]]):
                one.update(key=edit["toKey"], values=[edit["toValue"]])


def _relax_rule(items: list[Json], edit: Json) -> None:
    for name in edit["pods"]:
        spec = _named(items, "Pod", name)["spec"]
        for container in (*spec["containers"], *spec.get("initContainers", ())) if edit["rule"] == "host-ports" else ():
            for port in container.get("ports") or ():
                port.pop("hostPort", None)
        if edit["rule"] == "pod-anti-affinity":
            del spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for one in spec["topologySpreadConstraints"] if edit["rule"] == "topology-spread" else ():
            one["whenUnsatisfiable"] = "ScheduleAnyway"


def _set_request(items: list[Json], edit: Json) -> None:
    """Take what is too much off the containers, one after the other; init containers ask no more either."""
    for name in edit["pods"]:
        spec = _named(items, "Pod", name)["spec"]
        for amounts in ("requests", "limits") if edit["limits"] else ("requests",):
            _lower(spec, amounts, edit["resource"], _number(edit["amount"]))


def _lower(spec: Json, amounts: str, resource: str, most: Decimal) -> None:
    overhead = _number((spec.get("overhead") or {}).get(resource, "0"))
    containers = [container.setdefault("resources", {}).setdefault(amounts, {}) for container in spec["containers"]]
    surplus = sum(_number(one.get(resource, "0")) for one in containers) + overhead - most
    for one in containers:
        have = _number(one.get(resource, "0"))
        less = max(Decimal(0), min(have, surplus))
        surplus -= less
        if resource in one or amounts == "requests":
            one[resource] = str(have - less)
    for container in spec.get("initContainers") or ():
        written = container.get("resources", {}).get(amounts, {})
        if resource in written:
            written[resource] = str(min(_number(written[resource]), most - overhead))


def _set_topology(items: list[Json], edit: Json) -> None:
    for one in _holders(items, edit):
        one["metadata"].setdefault("annotations", {})[_GANG + "network-topology-spec"] = edit["spec"]


def _set_minimum(items: list[Json], edit: Json) -> None:
    for one in _holders(items, edit):
        if one["kind"] == "PodGroup":
            one["spec"]["minMember"] = edit["minimum"]
        elif f"{_LIGHT}/min-available" in one["metadata"].get("labels", {}):
            one["metadata"]["labels"][f"{_LIGHT}/min-available"] = str(edit["minimum"])
        else:
            one["metadata"]["annotations"][_GANG + "min-available"] = str(edit["minimum"])


def _holders(items: list[Json], edit: Json) -> list[Json]:
    """Return the objects that define a gang."""
    if edit["definedBy"] == "PodGroup":
        return [_named(items, "PodGroup", edit["gang"])]
    namespace, _, name = edit["gang"].partition("/")
    return [
        item
        for item in items
        if item["kind"] == "Pod"
        and item["metadata"].get("namespace", "default") == namespace
        and name
        in {
            (item["metadata"].get("labels") or {}).get(f"{_LIGHT}/name"),
            (item["metadata"].get("annotations") or {}).get(_GANG + "name"),
        }
    ]


def _number(written: object) -> Decimal:
    text = str(written)
    for suffix, factor in _SUFFIX.items():
        if text.endswith(suffix):
            return Decimal(text.removesuffix(suffix)) * factor
    return Decimal(text)


def _create_pod_group(items: list[Json], edit: Json) -> None:
    namespace, _, name = edit["gang"].partition("/")
    items.append(
        {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace}
            | ({"annotations": {_GANG + "groups": json.dumps(edit["groups"])}} if edit["groups"] else {}),
            "spec": {"minMember": edit["minimum"]},
        }
    )


def _set_quota(items: list[Json], edit: Json) -> None:
    amounts = _named(items, "ElasticQuota", edit["quota"])["spec"].setdefault(edit["field"], {})
    amounts[edit["resource"]] = edit["amount"]


def _use_quota(items: list[Json], edit: Json) -> None:
    for name in edit["pods"]:
        labels = _named(items, "Pod", name)["metadata"].setdefault("labels", {})
        labels["quota.scheduling.koordinator.sh/name"] = edit["quota"]


def _release_reservation(items: list[Json], edit: Json) -> None:
    items.remove(_named(items, "Reservation", edit["reservation"]))


def _supply_claims(items: list[Json], edit: Json) -> None:
    """Bind volume claims to volumes without node affinity; allocate no device, which is as good, for the others."""
    for name in edit.get("volumeClaims", ()):
        namespace, _, short = name.partition("/")
        items[:] = [item for item in items if not _is(item, "PersistentVolumeClaim", namespace, short)]
        meta: Json = {"name": short, "namespace": namespace, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        meta["ownerReferences"] = [owner for item in items for owner in _owning(item, namespace, short)]
        volume = {"kind": "PersistentVolume", "metadata": {"name": f"supplied-{short}"}, "spec": {}}
        claim = {"kind": "PersistentVolumeClaim", "metadata": meta, "spec": {"volumeName": f"supplied-{short}"}}
        items += [{"apiVersion": "v1", **volume}, {"apiVersion": "v1", **claim}]
    for name in edit.get("resourceClaims", ()):
        namespace, _, short = name.partition("/")
        items[:] = [item for item in items if not _is(item, "ResourceClaim", namespace, short)]
        claim = {"kind": "ResourceClaim", "metadata": {"name": short, "namespace": namespace}}
        items.append({"apiVersion": "resource.k8s.io/v1", **claim, "spec": {}, "status": {"allocation": {}}})


def _owning(item: Json, namespace: str, claim: str) -> Iterator[Json]:
    """Yield the pod that a claim is made for, as the owner that it must be."""
    meta = item["metadata"]
    if item["kind"] == "Pod" and meta.get("namespace", "default") == namespace:
        for volume in item["spec"].get("volumes", ()):
            if "ephemeral" in volume and f"{meta['name']}-{volume['name']}" == claim:
                yield {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "controller": True,
                    "name": meta["name"],
                    "uid": meta.get("uid", ""),
                }


def _is(item: Json, kind: str, namespace: str, name: str) -> bool:
    meta = item["metadata"]
    return (item["kind"], meta["name"], meta.get("namespace", "default")) == (kind, name, namespace)


_MAKERS = {
    "supply-claims": _supply_claims,
    "set-quota": _set_quota,
    "use-quota": _use_quota,
    "release-reservation": _release_reservation,
    "create-pod-group": _create_pod_group,
    "delete-pod": _delete_pod,
    "move-pod": _move_pod,
    "uncordon": _uncordon,
    "mend-node": _mend_node,
    "set-thresholds": _set_thresholds,
    "add-node": _add_node,
    "label-node": _label_node,
    "set-layers": _set_layers,
    "tolerate": _tolerate,
    "select-nodes": _select_nodes,
    "relax-rule": _relax_rule,
    "set-request": _set_request,
    "set-topology": _set_topology,
    "set-minimum": _set_minimum,
}
