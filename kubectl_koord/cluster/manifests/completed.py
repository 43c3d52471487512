"""The spec of a pod as it is once it was made: with what its controller, the API server and the user fill in."""

from msgspec import Struct, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.manifests.defaults import NoSuchClassError, below_zero, filled, prioritised
from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.errors import KoordError


class Overrides(Struct, frozen=True):
    """A priority, or a class, that all pods get in place of their own."""

    priority: int | None = None
    priority_class: str = ""


def completed(
    collector: Collector,
    chosen: Overrides,
    title: str,
    meta: Meta,
    written: TemplateSpec,
    scheduler_name: str = "",
    priority_class: str = "",
) -> TemplateSpec:
    """Return a spec with what is filled in, on no node yet.

    Args:
        collector: the cluster, with what was submitted.
        chosen: what all pods get.
        title: what errors call the workload.
        meta: where the pods are.
        written: the spec as written.
        scheduler_name: what the controller fills in.
        priority_class: likewise.

    Raises:
        KoordError: when a class is not there, or an amount is negative.

    """
    name = chosen.priority_class or written.priority_class_name or priority_class
    spec = structs.replace(
        written,
        node_name=None,
        scheduler_name=written.scheduler_name or scheduler_name or None,
        priority_class_name=name,
    )
    if chosen.priority is not None:
        spec = structs.replace(spec, priority=chosen.priority, priority_class_name=None)
        name = ""
    elif chosen.priority_class:
        spec = structs.replace(spec, priority=None)
    for resource, amount in below_zero(spec):
        raise KoordError(f"{title}: {resource}: {amount!r} is negative")
    ranges = collector.values(kinds.LIMIT_RANGE).items()
    own = [one for (namespace, _), one in sorted(ranges, key=lambda item: item[0]) if namespace == meta.namespace]
    try:
        classes = collector.values(kinds.PRIORITY_CLASS).values()
        return filled(prioritised(spec, name, classes), own)
    except NoSuchClassError as problem:
        hint = "none such was read; --priority N stands in for it"
        raise KoordError(f"{title}: PriorityClass {str(problem)!r}: {hint}") from None
