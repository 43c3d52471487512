"""What the API server adds to a pod that names a RuntimeClass (plugin/pkg/admission/runtimeclass of Kubernetes)."""

from typing import TypeVar

from msgspec import structs

from kubectl_koord.cluster.manifests.defaults import RefusedError
from kubectl_koord.cluster.objects.fields.amounts import Amounts
from kubectl_koord.cluster.objects.kubernetes.runtime_classes import Overhead, RuntimeClass
from kubectl_koord.cluster.objects.pods.fields import PodSpec
from kubectl_koord.model.values import quantity

S = TypeVar("S", bound=PodSpec)


def with_runtime(spec: S, runtime: RuntimeClass) -> S:
    """Return the spec with the overhead of its RuntimeClass, and with the selector and tolerations of its nodes.

    Raises:
        RefusedError: when the pod says otherwise.
        QuantityError: when the overhead of the pod is no quantity.

    Mirrors `setOverhead`, `setScheduling` and `validateOverhead`.

    """
    fixed = (runtime.overhead or Overhead()).pod_fixed or {}
    if spec.overhead and _parsed(spec.overhead) != _parsed(fixed):
        raise RefusedError(f"spec.overhead is not that of RuntimeClass {runtime.metadata.name!r}")
    selector, wanted = dict(spec.node_selector or {}), runtime.scheduling.node_selector or {}
    for key, value in wanted.items():
        if selector.get(key, value) != value:
            raise RefusedError(
                f"spec.nodeSelector has {key}={selector[key]}, RuntimeClass {runtime.metadata.name!r} {key}={value}"
            )
    own, more = spec.tolerations or [], runtime.scheduling.tolerations or []
    return structs.replace(
        spec,
        overhead=fixed or None,
        node_selector={**selector, **wanted} or None,
        tolerations=[*own, *(one for one in more if one not in own)] or None,
    )


def _parsed(written: Amounts) -> dict[str, int]:
    return {resource: quantity.parse(amount) for resource, amount in written.items()}
