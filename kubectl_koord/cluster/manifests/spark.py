"""Spark's operator: the driver and the executors of a SparkApplication, or of the one that is made on a schedule."""

import re

from msgspec import Struct, ValidationError, field, structs

from kubectl_koord.cluster.manifests.workload import (
    AnyWorkload,
    Count,
    Made,
    Set,
    Template,
    TemplateMeta,
    WorkloadKind,
    number,
)
from kubectl_koord.cluster.objects.fields.selectors import Toleration
from kubectl_koord.cluster.objects.pods.fields import Affinity, Container, ResourceRequirements

_LEAST_OVERHEAD = 384
_FACTOR, _FACTOR_OF_OTHERS = 0.1, 0.4
"""Of a pod's memory, for what is not of the JVM: of Java and Scala, and of Python and R."""
_MEMORY = re.compile(r"([0-9]{1,12})(b|[kmgt]b?|)", re.ASCII | re.IGNORECASE)
_SHIFTS = {"b": -20, "k": -10, "": 0, "m": 0, "g": 10, "t": 20}
"""What makes mebibytes of each unit."""


class Gpu(Struct, gc=False):
    """gpu of a driver or executor."""

    name: str
    quantity: Count


class SparkPod(Struct, gc=False, rename="camel"):
    """spec.driver or spec.executor."""

    cores: Count | None = None
    core_request: str | None = None
    core_limit: str | None = None
    memory: str | None = None
    memory_overhead: str | None = None
    gpu: Gpu | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    node_selector: dict[str, str | None] | None = None
    tolerations: list[Toleration] | None = None
    affinity: Affinity | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    template: Template | None = None
    instances: Count | None = None


class DynamicAllocation(Struct, gc=False, rename="camel"):
    """spec.dynamicAllocation."""

    enabled: bool | None = None
    initial_executors: Count | None = None
    min_executors: Count | None = None


class SparkSpec(Struct, gc=False, rename="camel"):
    """spec of a SparkApplication."""

    driver: SparkPod = field(default_factory=SparkPod)
    executor: SparkPod = field(default_factory=SparkPod)
    type: str = ""
    memory_overhead_factor: str | None = None
    node_selector: dict[str, str | None] | None = None
    dynamic_allocation: DynamicAllocation | None = None
    suspend: bool | None = None


class SparkApplication(AnyWorkload):
    """One SparkApplication."""

    spec: SparkSpec


class ScheduledSpec(Struct, gc=False):
    """spec of a ScheduledSparkApplication."""

    template: SparkSpec
    schedule: str = ""
    suspend: bool | None = None


class ScheduledSparkApplication(AnyWorkload):
    """One ScheduledSparkApplication."""

    spec: ScheduledSpec


def _application(name: str, spec: SparkSpec, at: tuple[str, ...] = ("spec",)) -> Made:
    """Return its driver, `NAME-driver-0`, and the executors that this asks for, `NAME-exec-NUMBER` from 1.

    Mirrors `buildDriverPodSpec` and `buildExecutorPodSpec` of the operator, and BasicDriverFeatureStep and
    BasicExecutorFeatureStep of Spark, which make the pods.
    """
    labels = {"sparkoperator.k8s.io/app-name": name}
    driver = _template(spec, spec.driver, "spec.driver")
    executor = _template(spec, spec.executor, "spec.executor")
    return Made(
        (
            Set(
                driver,
                f"{name}-driver",
                1,
                labels={**labels, "spark-role": "driver"},
                at=(*at, "driver"),
                is_flat=True,
                come_later=True,  # it is the other way round: it makes the others, and must not wait for them
            ),
            Set(
                executor,
                f"{name}-exec",
                _executors(spec),
                1,
                labels={**labels, "spark-role": "executor"},
                at=(*at, "executor"),
                is_flat=True,
            ),
        ),
        is_suspended=bool(spec.suspend),
    )


def _executors(spec: SparkSpec) -> int:
    dynamic = spec.dynamic_allocation
    if dynamic is None or not dynamic.enabled:
        return number(spec.executor.instances)
    return max(number(one, 0) for one in (dynamic.initial_executors, dynamic.min_executors, spec.executor.instances))


def _template(spec: SparkSpec, pod: SparkPod, where: str) -> Template:
    written = pod.template or Template()
    own = written.spec
    limits: dict[str, str | int | float] = {"memory": _memory(spec, pod, where)}
    if pod.core_limit is not None:
        limits["cpu"] = pod.core_limit
    if pod.gpu is not None and pod.gpu.quantity:
        limits[pod.gpu.name] = pod.gpu.quantity
    cpu: str | int = pod.core_request or number(pod.cores)
    main = Container(ResourceRequirements(requests={**limits, "cpu": cpu}, limits=limits))
    first = (own.containers or [main])[0]
    made = structs.replace(
        own,
        containers=[structs.replace(first, resources=main.resources), *(own.containers or [main])[1:]],
        node_selector={**(own.node_selector or {}), **(spec.node_selector or {}), **(pod.node_selector or {})} or None,
        tolerations=[*(own.tolerations or ()), *(pod.tolerations or ())] or None,
        affinity=pod.affinity or own.affinity,
        scheduler_name=pod.scheduler_name or own.scheduler_name,
        priority_class_name=pod.priority_class_name or own.priority_class_name,
    )
    meta = TemplateMeta(
        {**(written.metadata.labels or {}), **(pod.labels or {})},
        {**(written.metadata.annotations or {}), **(pod.annotations or {})},
    )
    return Template(meta, made)


def _memory(spec: SparkSpec, pod: SparkPod, where: str) -> str:
    own = _mebibytes(pod.memory or "1g", f"{where}.memory")
    if pod.memory_overhead is not None:
        return f"{own + _mebibytes(pod.memory_overhead, f'{where}.memoryOverhead')}Mi"
    usual = _FACTOR if spec.type in {"", "Java", "Scala"} else _FACTOR_OF_OTHERS
    try:
        factor = float(spec.memory_overhead_factor or usual)
    except ValueError:
        raise ValidationError("Expected a number - at `$.spec.memoryOverheadFactor`") from None
    return f"{own + max(int(own * factor), _LEAST_OVERHEAD)}Mi"


def _mebibytes(written: str, where: str) -> int:
    """Return an amount of memory as Java spells it: `512m`, `8g`."""
    found = _MEMORY.fullmatch(written)
    if found is None:
        raise ValidationError(f"Expected memory as Java spells it, such as 8g - at `$.{where}`")
    shift = _SHIFTS[found[2].lower()[:1]]
    return int(found[1]) << shift if shift > 0 else int(found[1]) >> -shift


def _scheduled(name: str, written: ScheduledSparkApplication) -> Made:
    spec = written.spec
    made = _application(name, spec.template, ("spec", "template"))
    return structs.replace(made, is_suspended=made.is_suspended or bool(spec.suspend), schedule=spec.schedule)


FAMILIES = (
    WorkloadKind("sparkoperator.k8s.io", "SparkApplication", SparkApplication, lambda n, w: _application(n, w.spec)),
    WorkloadKind("sparkoperator.k8s.io", "ScheduledSparkApplication", ScheduledSparkApplication, _scheduled),
)
