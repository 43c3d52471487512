"""What a workload is to the scheduler: the pods that its controller would make, and their PodGroup."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta as Bounds
from msgspec import Struct, field, structs

from kubectl_koord.cluster.kinds import Kind
from kubectl_koord.cluster.objects.fields import Meta
from kubectl_koord.cluster.objects.pod_wire import Container, PodSpec
from kubectl_koord.cluster.objects.storage import PersistentVolumeClaim
from kubectl_koord.errors import KoordError
from kubectl_koord.model.unevaluated import PodUnevaluated

_LONGEST, _LONGEST_LABEL = 253, 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_RULE = "at most 63 lower case letters, digits and '-', a letter or digit first and last"
_RULE = "lower case letters, digits, '-' and '.', a letter or digit first and last"


def checked_namespace(title: str, name: str) -> str:
    """Return the namespace that an object names.

    `title`: what errors call the object.

    Raises KoordError when it is none that the API server takes.
    """
    if len(name) > _LONGEST_LABEL or "." in name or not _NAME.fullmatch(name):
        raise KoordError(f"{title}: metadata.namespace {name[:_LONGEST]!r} is no name: {_LABEL_RULE}")
    return name


class Names:
    """Which names are taken, and by which objects."""

    def __init__(self) -> None:
        self._titles: dict[tuple[str, ...], str] = {}

    def take(self, title: str, kind: tuple[str, ...], name: str, generated: str) -> str:
        """Return the name of an object, with a number appended to a generated name that is taken.

        Args:
            title: what errors call the object.
            kind: its API group, kind and namespace.
            name: its metadata.name, empty for none.
            generated: its metadata.generateName.

        Raises KoordError when it has no name, or none that the API server takes, or that of another one.
        """
        stem = name or generated.rstrip("-.")
        if not stem:
            raise KoordError(f"{title} has no metadata.name")
        if len(stem) > _LONGEST or not _NAME.fullmatch(stem):
            raise KoordError(f"{title}: metadata.name {stem[:_LONGEST]!r} is no name: {_RULE}")
        found, number = stem, 1
        while (*kind, found) in self._titles and not name:
            number += 1
            found = f"{stem}-{number}"
        if (*kind, found) in self._titles:
            raise KoordError(f"{title}: metadata.name: the same as {self._titles[*kind, found]}")
        self._titles[*kind, found] = title.removeprefix("error: ")
        return found


Count: TypeAlias = Annotated[int, Bounds(ge=0, le=2**31 - 1)]
"""An int32 that the API server refuses when it is negative."""


class TemplateSpec(PodSpec, omit_defaults=True, rename="camel"):
    """spec of a pod template."""

    priority_class_name: str | None = None
    runtime_class_name: str | None = None


class TemplateMeta(Struct, gc=False):
    """metadata of a pod template."""

    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None


class Template(Struct, gc=False):
    """A pod template, or what counts of a pod."""

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: TemplateSpec = field(default_factory=TemplateSpec)


def waiting(template: Template, within: Container) -> Template:
    """Return a template with one more init container, in which its pods wait."""
    spec = structs.replace(template.spec, init_containers=[*(template.spec.init_containers or ()), within])
    return structs.replace(template, spec=spec)


class AnyWorkload(Struct):
    """Any workload: its name, and that its spec is of a family's type."""

    metadata: Meta


class Set(Struct, frozen=True):
    """Pods of one template: so many, `STEM-NUMBER` each, and what they have besides the template.

    `scheduler` and `priority_class` are what their controller fills in where the template names none; where it is not
    known which scheduler that is, None. `claims` are
    templates of volume claims, of which each pod gets its own. `unevaluated` is what its controller adds that is not
    evaluated. `at` are the keys under which the template stands in the workload, and `is_flat` tells that labels and
    schedulerName stand right there. So many of the pods are enough to begin as `least` says, all where that is None;
    pods that `come_later` are made once others run.
    """

    template: Template
    stem: str
    count: int
    first: int = 0
    labels: Mapping[str, str] = {}
    scheduler: str | None = ""
    priority_class: str = ""
    claims: tuple[PersistentVolumeClaim, ...] = ()
    unevaluated: tuple[PodUnevaluated, ...] = ()
    at: tuple[str | int, ...] = ()
    is_flat: bool = False
    least: int | None = None
    come_later: bool = False

    def names(self) -> Iterator[str]:
        """Yield the names of the pods."""
        return (f"{self.stem}-{number}" for number in range(self.first, self.first + self.count))


class Made(Struct, frozen=True):
    """The pods of a workload, perhaps very many: `sets` are to be gone through once.

    `minimum` is the minMember of the PodGroup that the workload's operator makes and names like it, for pods that are
    in no other; None where it makes none. One that is `of_another` scheduler counts for pods of that alone. While a
    workload `is_suspended`, its controller makes no pods. `claims` are made once, for all pods. With a `schedule` they
    are those of one run. Where it makes its pods `in_turn`, each once others run, that is the setting which says so.
    """

    sets: Iterable[Set]
    minimum: int | None = None
    of_another: bool = False
    is_suspended: bool = False
    claims: tuple[PersistentVolumeClaim, ...] = ()
    schedule: str = ""
    in_turn: str = ""


def number(written: int | None, default: int = 1) -> int:
    """Return a number of replicas, or what it is where none is written."""
    return default if written is None else written


Expand: TypeAlias = Callable[[str, Any], Made]
"""Returns what is made of a workload with a name and what was decoded of it."""


class Basis(Struct, frozen=True):
    """Another object that a workload refers to, such as its runtime: its kind and its key."""

    kind: Kind[Any, Any]
    key: str


class Based(Struct, frozen=True):
    """What was decoded of a workload, and of its basis, None where that was not read."""

    written: Any
    basis: Any


class WorkloadKind(Struct, frozen=True):
    """One kind of workload: API group, kind, the fields that are read, and the function that makes its pods.

    Where it has a `basis`, that returns it of a namespace and what was decoded, and `made` gets a `Based`.
    """

    group: str
    kind: str
    wire_type: Any
    made: Expand
    basis: Callable[[str, Any], Basis] | None = None
