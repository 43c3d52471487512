"""PodDisruptionBudgets."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta, namespace
from kubectl_koord.cluster.objects.fields.selectors import LabelSelector, label_selector
from kubectl_koord.model import objects


class BudgetSpec(Struct, gc=False):
    """spec of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class BudgetStatus(Struct, gc=False, rename="camel"):
    """status of a PodDisruptionBudget."""

    disruptions_allowed: Int32 = 0


class Budget(Struct, gc=False):
    """One PodDisruptionBudget."""

    metadata: Meta
    spec: BudgetSpec = field(default_factory=BudgetSpec)
    status: BudgetStatus = field(default_factory=BudgetStatus)


def budget(written: Budget) -> objects.Budget:
    """Return the PodDisruptionBudget."""
    return objects.Budget(
        namespace=namespace(written.metadata),
        name=written.metadata.name,
        selector=label_selector(written.spec.selector),
        allowed=written.status.disruptions_allowed,
    )
