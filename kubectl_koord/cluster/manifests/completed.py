"""A pod as it is once it was made: with what its controller, the API server and the user fill in."""

from collections.abc import Collection

from msgspec import Struct, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.manifests.defaults import NoSuchClassError, below_zero, filled, prioritised
from kubectl_koord.cluster.manifests.runtime import RefusedError, with_runtime
from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.errors import KoordError
from kubectl_koord.model.unevaluated import PodUnevaluated, UnreadRuntimeClass
from kubectl_koord.model.values.quantity import QuantityError


class Overrides(Struct, frozen=True):
    """A priority, or a class, that all pods get in place of their own."""

    priority: int | None = None
    priority_class: str = ""


class Filler(Struct, frozen=True):
    """What a controller fills in where a template names none."""

    scheduler: str = ""
    priority_class: str = ""


class Admission(Struct, frozen=True):
    """What pods are made in: the cluster, what all of them get, and the kinds that could not be read."""

    collector: Collector
    chosen: Overrides
    unread: Collection[str] = ()


class Completed(Struct, frozen=True):
    """The spec of a pod, on no node yet; `unevaluated` is what cannot be told of what is filled in."""

    spec: TemplateSpec
    unevaluated: tuple[PodUnevaluated, ...] = ()


def completed(
    admission: Admission,
    title: str,
    meta: Meta,
    written: TemplateSpec,
    filler: Filler = Filler(),  # noqa: B008
) -> Completed:
    """Return a spec with what is filled in.

    Args:
        admission: what its pod is made in.
        title: what errors call the workload.
        meta: where the pod is.
        written: the spec as written.
        filler: what its controller fills in.

    Raises:
        KoordError: when the API server would refuse the pod: a class is not there, or an amount is negative.

    """
    chosen = admission.chosen
    spec = structs.replace(
        written,
        node_name=None,
        scheduler_name=written.scheduler_name or filler.scheduler or None,
        priority_class_name=chosen.priority_class or written.priority_class_name or filler.priority_class,
    )
    if chosen.priority is not None:
        spec = structs.replace(spec, priority=chosen.priority, priority_class_name=None)
    elif chosen.priority_class:
        spec = structs.replace(spec, priority=None)
    for resource, amount in below_zero(spec):
        raise KoordError(f"{title}: {resource}: {amount!r} is negative")
    return _by_server(admission, title, meta, spec)


def _by_server(admission: Admission, title: str, meta: Meta, spec: TemplateSpec) -> Completed:
    """Return a spec with what the plugins of the API server fill in."""
    collector = admission.collector
    ranges = collector.values(kinds.LIMIT_RANGE).items()
    own = [one for (namespace, _), one in sorted(ranges, key=lambda item: item[0]) if namespace == meta.namespace]
    try:
        classes = collector.values(kinds.PRIORITY_CLASS).values()
        found = filled(prioritised(spec, spec.priority_class_name or "", classes), own)
    except NoSuchClassError as problem:
        hint = "none such was read; --priority N stands in for it"
        raise KoordError(f"{title}: PriorityClass {str(problem)!r}: {hint}") from None
    return _with_runtime(admission, title, found)


def _with_runtime(admission: Admission, title: str, spec: TemplateSpec) -> Completed:
    name = spec.runtime_class_name
    if not name:
        return Completed(spec)
    runtime = admission.collector.values(kinds.RUNTIME_CLASS).get(name)
    if runtime is None and kinds.RUNTIME_CLASS.name in admission.unread:
        return Completed(spec, (UnreadRuntimeClass(name),))
    if runtime is None:
        raise KoordError(f"{title}: RuntimeClass {name!r}: none such was read")
    try:
        return Completed(with_runtime(spec, runtime))
    except (RefusedError, QuantityError) as problem:
        raise KoordError(f"{title}: RuntimeClass {name!r}: {problem}") from None
