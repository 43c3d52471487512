"""Training runtimes of Kubeflow's trainer: the JobSet that a TrainJob is made from."""

from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta


class Mpi(Struct, gc=False, rename="camel"):
    """spec.mlPolicy.mpi."""

    run_launcher_as_node: bool | None = None


class Policy(Struct, gc=False, rename="camel"):
    """spec.mlPolicy."""

    num_nodes: Int32 | None = None
    mpi: Mpi | None = None


class JobSetTemplate(Struct, gc=False):
    """spec.template: the spec of a JobSet, as it is written."""

    spec: dict[str, Any] | None = None


class RuntimeSpec(Struct, gc=False, rename="camel"):
    """spec of a training runtime."""

    template: JobSetTemplate = field(default_factory=JobSetTemplate)
    ml_policy: Policy | None = None


class TrainingRuntime(Struct, gc=False):
    """One TrainingRuntime or ClusterTrainingRuntime."""

    metadata: Meta
    spec: RuntimeSpec = field(default_factory=RuntimeSpec)
