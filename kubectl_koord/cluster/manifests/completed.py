"""A pod as it is once it was made: with what its controller, the API server and the user fill in."""

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.collecting.joined import is_lack
from kubectl_koord.cluster.manifests import cards
from kubectl_koord.cluster.manifests.defaults import (
    RefusedError,
    check_amounts,
    check_limits,
    filled,
    is_refused,
    prioritised,
)
from kubectl_koord.cluster.manifests.runtime import with_runtime
from kubectl_koord.cluster.manifests.webhook import changed
from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.kubernetes.admission import LimitRange
from kubectl_koord.errors import KoordError
from kubectl_koord.model.namespaces import labels_of_new
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import OpenCards, OpenProfile, PodUnevaluated, UnreadRuntimeClass
from kubectl_koord.model.values.quantity import QuantityError

_OF_WEBHOOK = {kinds.COLOCATION_PROFILE.name, kinds.MUTATING.name}
_KEPT_FROM_WEBHOOK = "control-plane"
"""The label of the namespaces of which the webhook gets no pods."""


class Overrides(Struct, frozen=True):
    """A priority, or a class, that all pods get in place of their own."""

    priority: int | None = None
    priority_class: str = ""


class Filler(Struct, frozen=True):
    """What a controller fills in where a template names none."""

    scheduler: str = ""
    priority_class: str = ""


class Admission(Struct, frozen=True):
    """What pods are made in: the cluster, what all of them get, and the kinds that could not be read.

    `is_mutated` tells whether Koordinator's webhook sees them.
    """

    collector: Collector
    chosen: Overrides
    unread: Collection[str] = ()
    is_mutated: bool = True


class Completed(Struct, frozen=True):
    """A pod, on no node yet; `unevaluated` is what cannot be told of what is filled in.

    `is_priority_refused` is set where the API server would refuse the priority that is written.
    """

    meta: Meta
    spec: TemplateSpec
    unevaluated: tuple[PodUnevaluated, ...] = ()
    is_priority_refused: bool = False


def ranges_of(collector: Collector, namespace: str) -> list[LimitRange]:
    """Return the LimitRanges of a namespace."""
    ranges = sorted(collector.values(kinds.LIMIT_RANGE).items(), key=lambda item: item[0])
    return [one for (home, _), one in ranges if home == namespace]


def admission(collector: Collector, chosen: Overrides, gaps: Iterable[Gap], *, is_mutated: bool) -> Admission:
    """Return what pods are made in.

    Args:
        collector: the cluster with what was submitted.
        chosen: what all pods get.
        gaps: what could not be read of the cluster; a file that holds no profiles, or webhooks, counts as if there
            were none.
        is_mutated: whether Koordinator's webhook sees the pods.

    """
    unread = {gap.kind for gap in filter(is_lack, gaps) if gap.kind not in _OF_WEBHOOK or gap.code != "not-in-input"}
    return Admission(collector, chosen, unread, is_mutated)


def completed(
    admission: Admission,
    title: str,
    meta: Meta,
    written: TemplateSpec,
    filler: Filler = Filler(),  # noqa: B008
) -> Completed:
    """Return a pod with what is filled in.

    Args:
        admission: what its pod is made in.
        title: what errors call the workload.
        meta: where the pod is, and what it says of itself.
        written: the spec as written.
        filler: what its controller fills in.

    Raises:
        KoordError: when the API server would refuse the pod: a class is not there, or an amount is negative or
            a part of a whole unit.

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
    classes = admission.collector.values(kinds.PRIORITY_CLASS).values()
    is_known = chosen == Overrides() and kinds.PRIORITY_CLASS.name not in admission.unread
    refused = is_known and is_refused(spec, spec.priority_class_name or "", classes)
    try:
        check_amounts(spec)
        done = structs.replace(_made(admission, meta, spec), is_priority_refused=refused)
    except (RefusedError, QuantityError) as problem:
        raise KoordError(f"{title}: {problem}") from None
    if admission.is_mutated:  # a shape has requests alone
        try:
            check_limits(done.spec)
        except RefusedError as problem:
            raise KoordError(f'{title}: the API server refuses it: Pod "{meta.name}" is invalid: {problem}') from None
    return done


def _made(admission: Admission, meta: Meta, spec: TemplateSpec) -> Completed:
    """Return a pod as the API server keeps it: its own plugins go first, and once more after webhooks."""
    first = _by_plugins(admission, meta, spec)
    namespace = _namespace(admission, meta.namespace or "")
    if not admission.is_mutated or (namespace and _KEPT_FROM_WEBHOOK in namespace):
        return first
    then = _by_webhook(admission, first, namespace)
    if then.spec is first.spec and then.meta is first.meta:
        return structs.replace(first, unevaluated=(*first.unevaluated, *then.unevaluated))
    last = _by_plugins(admission, then.meta, structs.replace(then.spec, node_name=None))
    return structs.replace(last, unevaluated=(*last.unevaluated, *then.unevaluated))


def _by_webhook(admission: Admission, pod: Completed, namespace: Mapping[str, str] | None) -> Completed:
    """Return a pod as Koordinator's webhook leaves it; `unevaluated` is what cannot be told of that."""
    collector = admission.collector
    classes = collector.values(kinds.PRIORITY_CLASS).values()

    def with_class(spec: TemplateSpec, name: str) -> TemplateSpec:
        if admission.chosen != Overrides():
            return spec
        spec = structs.replace(spec, priority=None, preemption_policy=None, priority_class_name=name)
        return prioritised(spec, name, classes)

    opened: list[PodUnevaluated] = []
    meta, spec = pod.meta, pod.spec
    if kinds.COLOCATION_PROFILE.name in admission.unread:
        opened.append(OpenProfile("", "unread"))
    else:
        profiles = collector.values(kinds.COLOCATION_PROFILE).values()
        then = changed(meta, spec, profiles, namespace, with_class)
        meta, spec = then.meta, then.spec
        opened += then.open
    found = cards.split(spec)
    if found.is_open or found.spec != spec:
        if kinds.MUTATING.name in admission.unread:
            opened.append(OpenCards("unread"))
        elif any(cards.HOOK in one.hooks for one in collector.values(kinds.MUTATING).values()):
            spec = found.spec
            opened += [OpenCards("version")] if found.is_open else []
    return Completed(meta, spec, tuple(opened))


def _namespace(admission: Admission, name: str) -> Mapping[str, str] | None:
    """Return the labels of a namespace, None where they could not be read; a new one has its name alone."""
    found = admission.collector.values(kinds.NAMESPACE).get(name)
    return None if found is None and kinds.NAMESPACE.name in admission.unread else found or labels_of_new(name)


def _by_plugins(admission: Admission, meta: Meta, spec: TemplateSpec) -> Completed:
    """Return a pod with what the plugins of the API server fill in."""
    collector = admission.collector
    own = ranges_of(collector, meta.namespace or "")
    classes = collector.values(kinds.PRIORITY_CLASS).values()
    found = filled(prioritised(spec, spec.priority_class_name or "", classes), own)
    name = found.runtime_class_name
    if not name:
        return Completed(meta, found)
    runtime = collector.values(kinds.RUNTIME_CLASS).get(name)
    if runtime is None and kinds.RUNTIME_CLASS.name in admission.unread:
        return Completed(meta, found, (UnreadRuntimeClass(name),))
    if runtime is None:
        raise RefusedError(f"RuntimeClass {name!r}: none such was read")
    return Completed(meta, with_runtime(found, runtime))
