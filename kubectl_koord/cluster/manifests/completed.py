"""A pod after creation: defaults, profiles, webhooks, and the user's overrides."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collect import Collector, is_lack
from kubectl_koord.cluster.manifests.workload import TemplateSpec
from kubectl_koord.cluster.objects.descheduler import ColocationProfile, ProfileSpec
from kubectl_koord.cluster.objects.fields import Expression, LabelSelector, Meta, label_selector, strings
from kubectl_koord.cluster.objects.nodes import LimitItem, LimitRange, Overhead, RuntimeClass
from kubectl_koord.cluster.objects.pod_wire import Container, Pod, PodSpec, ResourceRequirements
from kubectl_koord.cluster.objects.pods import is_of_pods, priority_class
from kubectl_koord.cluster.objects.pool import Amounts, amounts
from kubectl_koord.errors import KoordError
from kubectl_koord.model import keys, values
from kubectl_koord.model.installation import PriorityClass
from kubectl_koord.model.pods import labels_of_new
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import OpenCards, OpenProfile, OpenProfileCode, PodUnevaluated, UnreadRuntimeClass
from kubectl_koord.model.values import QuantityError, matches

HOOK = "mpod-create.koordinator.sh"
"""The webhook of new pods, as its configuration names it."""

_WHOLE, _SHARED = "koordinator.sh/gpu", "koordinator.sh/gpu.shared"
_CORE, _RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"
_PARTS = frozenset({_WHOLE, _SHARED, _CORE, _RATIO, "koordinator.sh/gpu-memory"})
_CARD = 100


class Split(Struct, frozen=True):
    """A spec as the webhook leaves it; where `is_open`, that depends on its version."""

    spec: TemplateSpec
    is_open: bool


def asks_parts(spec: TemplateSpec) -> bool:
    """Tell whether a container asks for parts of GPUs."""
    return any(_asks(one.resources) for one in spec.containers or ())


def split(spec: TemplateSpec) -> Split:
    """Return a spec with `koordinator.sh/gpu` in its parts, and with the number of cards as `gpu.shared`.

    Raises QuantityError, naming the resource whose amount is no quantity.
    """
    found = [_cards_container(one) for one in spec.containers or ()]
    return Split(structs.replace(spec, containers=[one for one, _ in found]), any(is_open for _, is_open in found))


def _asks(resources: ResourceRequirements | None) -> bool:
    return resources is not None and not _PARTS.isdisjoint([*(resources.requests or ()), *(resources.limits or ())])


def _cards_container(written: Container) -> tuple[Container, bool]:
    """Return a container, and whether the number of its cards is open."""
    own = written.resources
    if own is None or not _asks(own):
        return written, False
    requests, limits = dict(own.requests or {}), dict(own.limits or {})
    if _WHOLE in requests:
        parts = dict.fromkeys((_CORE, _RATIO), _value(requests, _WHOLE))
        requests, limits = ({**_without_whole(one), **parts} for one in (requests, limits))
    cards: int | None = 0
    if _SHARED not in requests:
        cards = _cards(requests)
        if cards is not None:
            requests, limits = ({**one, _SHARED: cards} for one in (requests, limits))
    resources = structs.replace(own, requests=requests or None, limits=limits or None)
    return structs.replace(written, resources=resources), cards is None


def _without_whole(written: Amounts) -> Amounts:
    return {name: amount for name, amount in written.items() if name != _WHOLE}


def _cards(requests: Amounts) -> int | None:
    """Return how many cards are asked for (`injectGPUShare`).

    Of cores alone, of several cards, 1.7 and 1.8 make no card, and later versions so many: None.
    """
    by = _RATIO if _RATIO in requests else _CORE
    asked = _value(requests, by) if by in requests else 0
    if asked <= _CARD or asked % _CARD:
        return 1
    return asked // _CARD if by == _RATIO else None


def _value(requests: Amounts, name: str) -> int:
    return values.whole(amounts({name: requests[name]})[name])


S = TypeVar("S", bound=PodSpec)

BUILT_IN = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
    "koord-prod": 9000,
    "koord-mid": 7000,
    "koord-batch": 5000,
    "koord-free": 3000,
}
"""Classes that Kubernetes or Koordinator's chart makes, where the cluster's own are not there."""


class RefusedError(Exception):
    """The API server would refuse the pod, with its reason as the text."""


class NoSuchClassError(RefusedError):
    """A pod names a PriorityClass that is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"PriorityClass {name!r}: none such was read, and pods are forbidden without: no PriorityClass with name"
            f" {name} was found; --priority N stands in for it"
        )


def is_refused(spec: PodSpec, name: str, classes: Iterable[PriorityClass]) -> bool:
    """Tell whether the API server refuses a priority that is written, as its class, or the default, has another."""
    known = {one.name: one for one in classes}
    found = known.get(name) if name else _default(known.values())
    if spec.priority is None or (name and found is None):
        return False
    return spec.priority != (found.value if found else 0)


def _default(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    return min((one for one in classes if one.is_default), key=lambda one: one.value, default=None)


def prioritised(spec: S, name: str, classes: Iterable[PriorityClass]) -> S:
    """Return the spec with the priority and the policy of its class, or else of the cluster's default.

    A priority that is written stays where the class is not known, or none is named.

    Raises NoSuchClassError when the class is not there and nothing else tells its priority. Mirrors `admitPod` in
    plugin/pkg/admission/priority of Kubernetes.
    """
    known = {one.name: one for one in classes}
    found = known.get(name)
    if not name and spec.priority is None:
        found = _default(known.values())
    if found is not None:
        policy = spec.preemption_policy or found.preemption_policy or None
        return structs.replace(spec, priority=found.value, preemption_policy=policy)
    if not name or spec.priority is not None:
        return spec
    if name not in BUILT_IN:
        raise NoSuchClassError(name)
    return structs.replace(spec, priority=BUILT_IN[name])


def filled(spec: S, ranges: Iterable[LimitRange]) -> S:
    """Return the spec with what the API server fills in of requests and limits.

    Mirrors `SetDefaults_Pod`, `SetDefaults_LimitRangeItem` and `mergePodResourceRequirements` of Kubernetes.
    """
    items = [item for one in ranges for item in one.spec.limits or () if item.type == "Container"]
    return structs.replace(
        spec,
        resources=_of_pod(spec),
        containers=[_defaults_container(one, items) for one in spec.containers or ()],
        init_containers=[_defaults_container(one, items) for one in spec.init_containers or ()],
    )


def _of_pod(spec: PodSpec) -> ResourceRequirements | None:
    """Return the pod-level requests, completed by the pod-level limits (`setDefaultPodRequests`)."""
    own = spec.resources
    if own is None or not own.limits:
        return own
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    made = [_defaults_container(one, ()).resources or own for one in containers]
    asked = {resource for one in made for resource in one.requests or ()}
    limits = {name: amount for name, amount in own.limits.items() if is_of_pods(name) and name not in asked}
    return structs.replace(own, requests={**limits, **(own.requests or {})} or None)


def _defaults_container(written: Container, items: Iterable[LimitItem]) -> Container:
    own = written.resources or ResourceRequirements()
    limits = dict(own.limits or {})
    requests = {**limits, **(own.requests or {})}
    for item in items:
        default = {**(item.max or {}), **(item.default or {})}
        limits = {**default, **limits}
        requests = {**(item.min or {}), **default, **(item.default_request or {}), **requests}
    return structs.replace(written, resources=structs.replace(own, limits=limits or None, requests=requests or None))


def check_amounts(spec: PodSpec) -> None:
    """Let pass what the API server takes as requests and limits.

    Raises RefusedError for negative amounts, and for parts of what is requested in whole units. Raises QuantityError
    when an amount is none.
    """
    for one in (spec, *(spec.containers or ()), *(spec.init_containers or ())):
        own = one.resources or ResourceRequirements()
        for resource, written in (*(own.requests or {}).items(), *(own.limits or {}).items()):
            (nano,) = amounts({resource: written}).values()
            why = "is negative" if nano < 0 else values.refused(resource, nano)
            if why:
                raise RefusedError(f"{resource}: {str(written)!r} {why}")


def check_limits(spec: PodSpec) -> None:
    """Let pass what the API server takes as requests beside limits.

    Raises RefusedError, in its words, for requests above their limits, and for extended resources and huge pages whose
    limits are missing, or others. Mirrors `ValidateResourceRequirements` and `IsOvercommitAllowed` of Kubernetes.
    """
    for part, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for at, one in enumerate(containers or ()):
            own = one.resources or ResourceRequirements()
            where = f"spec.{part}[{at}].resources"
            for resource, asked in sorted((own.requests or {}).items()):
                why = _refused_request(resource, asked, (own.limits or {}).get(resource), where)
                if why:
                    raise RefusedError(why)


def _refused_request(resource: str, asked: str | float, limit: str | float | None, where: str) -> str:
    may_differ = ("/" not in resource or "kubernetes.io/" in resource) and not resource.startswith("hugepages-")
    if limit is None:
        lacks = "Required value: Limit must be set for non overcommitable resources"
        return "" if may_differ else f"{where}.limits: {lacks}"
    requested, limited = values.parse(asked), values.parse(limit)
    if requested == limited or (may_differ and requested < limited):
        return ""
    must = "less than or equal" if may_differ else "equal"
    return f'{where}.requests: Invalid value: "{asked}": must be {must} to {resource} limit of {limit}'


def with_runtime(spec: S, runtime: RuntimeClass) -> S:
    """Return the spec with the overhead of its RuntimeClass, and with the selector and tolerations of its nodes.

    Raises RefusedError when the pod says otherwise. Raises QuantityError when the overhead of the pod is no quantity.
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
    return {resource: values.parse(amount) for resource, amount in written.items()}


_KEYS = {
    "volumes": "name",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
}
"""Lists of a pod's spec that are merged, by what tells their items apart; all others but containers are replaced."""
_CONTAINERS = {"containers", "initContainers"}


def is_evaluated(patch: Mapping[str, Any]) -> bool:
    """Tell whether a patch neither changes containers, whose names are not read, nor has directives."""
    spec = patch.get("spec")
    return not (isinstance(spec, dict) and _CONTAINERS & spec.keys()) and not any(
        key.startswith("$") for key in _keys(patch)
    )


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(part)


def patched(meta: Meta, spec: TemplateSpec, patch: Mapping[str, Any]) -> tuple[Meta, TemplateSpec]:
    """Return the labels and annotations, and the spec, of a pod with a patch.

    Raises msgspec.ValidationError when it makes a field something else.
    """
    before = {
        "metadata": {"labels": meta.labels or {}, "annotations": meta.annotations or {}},
        "spec": msgspec.to_builtins(spec),
    }
    after = _merged(before, patch)
    said = msgspec.convert(after.get("metadata") or {}, Meta)
    return (
        structs.replace(meta, labels=said.labels, annotations=said.annotations),
        msgspec.convert(after.get("spec") or {}, TemplateSpec),
    )


def _merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(before)
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, dict) and isinstance(found.get(name), dict):
            found[name] = _merged(found[name], value)
        elif isinstance(value, list) and name in _KEYS and isinstance(found.get(name), list):
            found[name] = _items(found[name], value, _KEYS[name])
        else:
            found[name] = value
    return found


def _items(before: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Return the items of a list merged by their key; new ones come last."""
    found = {one.get(key): one for one in before}
    for one in patch:
        name = one.get(key) if isinstance(one, dict) else None
        found[name] = _merged(found[name], one) if name in found else one
    return [*found.values()]


_QOS, _PRIORITY = keys.QOS_CLASS, keys.PRIORITY
_TRANSLATED = {"koord-batch": "kubernetes.io/batch-", "koord-mid": "kubernetes.io/mid-"}
_PERCENT = re.compile(r"[+-]?[0-9]{1,9}%", re.ASCII)
_ALWAYS = 99
"""A profile is skipped where a number below 100 is above its probability."""

Prioritised = Callable[[TemplateSpec, str], TemplateSpec]
"""Returns a spec with the priority of a class; raises RefusedError."""


class Changed(Struct, frozen=True):
    """A pod after ColocationProfiles; `open` are the profiles whose effect is unknown."""

    meta: Meta
    spec: TemplateSpec
    open: tuple[OpenProfile, ...] = ()


def changed(
    meta: Meta,
    spec: TemplateSpec,
    profiles: Iterable[ColocationProfile],
    namespace: Mapping[str, str] | None,
    prioritised: Prioritised,
) -> Changed:
    """Return a pod after the ColocationProfiles that select it.

    Args:
        meta: what the pod is called and labelled.
        spec: the rest of it.
        profiles: all that there are.
        namespace: the labels of its namespace, None where they could not be read.
        prioritised: gives a spec the priority of a class.

    Raises RefusedError when the pod is refused.
    """
    labels = dict(strings(meta.labels))
    matched, opened = [], []
    for profile in sorted(profiles, key=lambda one: one.metadata.name):
        name, wanted = profile.metadata.name, profile.spec
        if not _selects(wanted.selector, labels):
            continue
        if namespace is None and wanted.namespace_selector not in (None, LabelSelector()):
            opened.append(OpenProfile(name, "namespaces"))
        elif _selects(wanted.namespace_selector, namespace or {}):
            matched.append(profile)
    if not matched:
        return Changed(meta, spec, tuple(opened))
    for profile in matched:
        percent = _percent(profile)
        why = _open(profile.spec, percent)
        if why is not None:
            opened.append(OpenProfile(profile.metadata.name, why))
        elif percent > 0:
            meta, spec = _applied(profile, meta, spec, prioritised)
    if not any(keys.KEEPS_RESOURCES in (profile.metadata.annotations or {}) for profile in matched):
        spec = _translated(spec, _TRANSLATED.get(priority_class(Pod(meta, spec)), ""))
    return Changed(meta, spec, tuple(opened))


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a selector holds; none does, and one that cannot be read counts as if it did."""
    if selector is None or not all(map(_is_readable, selector.match_expressions or ())):
        return True
    found = label_selector(selector)
    return found is not None and matches(found, dict(labels))


def _is_readable(expression: Expression) -> bool:
    if expression.operator in {"In", "NotIn"}:
        return bool(expression.values)
    return expression.operator in {"Exists", "DoesNotExist"} and not expression.values


def _percent(profile: ColocationProfile) -> int:
    """Return how probable it is that a profile is applied to a pod, in percent."""
    written = profile.spec.probability
    if isinstance(written, str):
        if not _PERCENT.fullmatch(written):
            raise RefusedError(f"ClusterColocationProfile {profile.metadata.name!r}: probability {written!r}")
        return int(written[:-1])
    return _ALWAYS if written is None else written


def _open(spec: ProfileSpec, percent: int) -> OpenProfileCode | None:
    """Return why a profile's effect is unknown, None where it is known."""
    if 0 < percent < _ALWAYS:
        return "probability"
    if percent <= 0:
        return None
    mappings = (spec.label_keys_mapping or {}, spec.annotation_keys_mapping or {})
    if any(not set(one).isdisjoint(one.values()) or len({*one.values()}) < len(one) for one in mappings):
        return "mapping"
    return None if is_evaluated(spec.patch or {}) else "patch"


def _applied(
    profile: ColocationProfile, meta: Meta, spec: TemplateSpec, prioritised: Prioritised
) -> tuple[Meta, TemplateSpec]:
    """Return a pod with what a profile sets (`doMutateByColocationProfile`)."""
    wanted = profile.spec
    labels = {**(meta.labels or {}), **(wanted.labels or {})}
    labels |= {new: labels.get(old) for old, new in (wanted.label_keys_mapping or {}).items()}
    labels |= {key: f"{labels[key] or ''}{end}" for key, end in (wanted.label_suffixes or {}).items() if key in labels}
    annotations = {**(meta.annotations or {}), **(wanted.annotations or {})}
    annotations |= {new: annotations.get(old) for old, new in (wanted.annotation_keys_mapping or {}).items()}
    if wanted.qos_class:
        labels[_QOS] = wanted.qos_class
    if wanted.koordinator_priority is not None:
        labels[_PRIORITY] = str(wanted.koordinator_priority)
    meta = structs.replace(meta, labels=labels, annotations=annotations)
    if wanted.scheduler_name:
        spec = structs.replace(spec, scheduler_name=wanted.scheduler_name)
    name = profile.metadata.name
    try:
        spec = prioritised(spec, wanted.priority_class_name) if wanted.priority_class_name else spec
        return patched(meta, spec, wanted.patch) if wanted.patch else (meta, spec)
    except (RefusedError, msgspec.ValidationError) as problem:
        raise RefusedError(f"ClusterColocationProfile {name!r}: {problem}") from None


def _translated(spec: TemplateSpec, prefix: str) -> TemplateSpec:
    """Return a spec with CPU and memory under the names of batch or mid resources (`mutatePodResourceSpec`)."""
    if not prefix:
        return spec
    return structs.replace(
        spec,
        containers=[_container(one, prefix) for one in spec.containers or ()],
        init_containers=[_container(one, prefix) for one in spec.init_containers or ()],
        overhead=_amounts(spec.overhead, prefix),
    )


def _container(written: Container, prefix: str) -> Container:
    own = written.resources or ResourceRequirements()
    limits = _amounts(own.limits, prefix)
    requests = _amounts(own.requests, prefix) or {}
    more = {name: amount for name, amount in (limits or {}).items() if name.startswith(prefix)}
    return structs.replace(
        written, resources=structs.replace(own, limits=limits, requests={**more, **requests} or None)
    )


def _amounts(written: Amounts | None, prefix: str) -> Amounts | None:
    if written is None:
        return None
    found = {name: amount for name, amount in written.items() if name not in {"cpu", "memory"}}
    if "cpu" in written:
        found[f"{prefix}cpu"] = values.milli(values.parse(written["cpu"]))
    if "memory" in written:
        found[f"{prefix}memory"] = written["memory"]
    return found


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
    """A pod without a node; `unevaluated` are the parts of its completion that are not known.

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
        gaps: what could not be read of the cluster; a file that holds no profiles, or webhooks, counts as if there were
            none.
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

    Raises KoordError when the API server would refuse the pod: a class is not there, or an amount is negative or a part
    of a whole unit.
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
    """Return a pod after Koordinator's webhook; `unevaluated` are the parts of its effect that are not known."""
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
    found = split(spec)
    if found.is_open or found.spec != spec:
        if kinds.MUTATING.name in admission.unread:
            opened.append(OpenCards("unread"))
        elif any(HOOK in one.hooks for one in collector.values(kinds.MUTATING).values()):
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
