"""Tolerations that the API server adds to pods: of taints that are named after an extended resource which they request.

Its admission plugin ExtendedResourceToleration does so where it is on, as on GKE. No object tells whether it is: the
pods that were made do.
"""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct, structs

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.model.pods import FinishedPod, PendingPod
from kubectl_koord.model.unevaluated import OpenToleration
from kubectl_koord.model.values.selectors import Taint, Toleration, tolerates

_EFFECT = "NoSchedule"


class Tolerations(Struct, frozen=True):
    """By resource that taints are named after, these taints; and whether pods get a toleration, None where none tells.

    All pods that request it have one where the plugin is on, and not all where it is off.
    """

    taints: Mapping[str, frozenset[Taint]]
    added: Mapping[str, bool | None]

    @classmethod
    def of(cls, collector: Collector) -> Self:
        """Return what the nodes and pods that were taken tell."""
        taints: dict[str, set[Taint]] = {}
        for node in collector.nodes.values():
            for taint in node.taints:
                if taint.effect == _EFFECT and _is_extended(taint.key):
                    taints.setdefault(taint.key, set()).add(taint)
        seen: dict[str, set[bool]] = {name: set() for name in taints}
        for pod in collector.every_pod if taints else ():
            if not isinstance(pod, FinishedPod):
                for name, _ in pod.requirements.requests:
                    if name in seen:
                        seen[name].add(_toleration(name) in pod.requirements.tolerations)
        told = {name: next(iter(found)) if len(found) == 1 else None for name, found in seen.items()}
        return cls({name: frozenset(found) for name, found in taints.items()}, told)

    def completed(self, pod: PendingPod) -> PendingPod:
        """Return a pod with the tolerations that it gets, and may get: then it is open whether it does."""
        wanted = pod.requirements
        for name, _ in wanted.requests:
            told = self.added.get(name, False)
            if told is False or all(_is_tolerated(one, wanted.tolerations) for one in self.taints[name]):
                continue
            opened = () if told else (OpenToleration(name),)
            wanted = structs.replace(
                wanted,
                tolerations=(*wanted.tolerations, _toleration(name)),
                unevaluated=(*wanted.unevaluated, *opened),
            )
        return pod if wanted is pod.requirements else structs.replace(pod, requirements=wanted)


def _is_extended(name: str) -> bool:
    """Tell whether a resource is an extended one; mirrors `IsExtendedResourceName` of Kubernetes' API helpers."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _toleration(name: str) -> Toleration:
    return Toleration(name, "Exists", "", _EFFECT)


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(tolerates(one, taint) for one in tolerations)
