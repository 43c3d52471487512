"""What holds for a pod on a node: whether it binds CPUs there and how, and by which NUMA policy."""

from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import (
    BindPolicyConflict,
    FractionalCPUs,
    NoCPUTopology,
    NUMAPolicyMismatch,
    PartialCores,
)
from kubectl_koord.model.hardware.numa import BindPolicy, NodeNUMA, NUMAPolicy, NUMASettings, PodNUMA, policy_of
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PodRequirements, Resources

MILLI = 1000
_MOST_ANSWERS = 1 << 12
NOTHING_KNOWN = NodeNUMA(known=False)
"""Of a node without labels, annotations and NodeResourceTopology."""


class Wants(Struct, frozen=True, gc=False):
    """What PreFilter keeps of the trigger: what it requests, and what it asks of CPUs and zones.

    `settings` are the plugin's.
    """

    requests: Resources
    numa: PodNUMA
    settings: NUMASettings

    @property
    def cpu(self) -> int:
        """The CPU that is requested, in thousandths."""
        return next((amount for resource, amount in self.requests if resource == "cpu"), 0)

    @property
    def binds(self) -> bool:
        """Whether the pod itself asks to bind CPUs."""
        return bool(self.bind_policy) and self.cpu > 0

    @property
    def bind_policy(self) -> BindPolicy:
        """How the pod binds CPUs by its own wish, empty where it does not."""
        return self.numa.bind_policy(self.settings.bind_policy)

    @property
    def required(self) -> bool:
        """Whether CPUs can be bound in no other way, where it binds them by its own wish."""
        return bool(self.numa.required_policy(self.settings.bind_policy))

    @property
    def is_special(self) -> bool:
        """Whether it asks for more than the node does."""
        return self.binds or bool(policy_of(None, self.numa))


class Terms(Struct, frozen=True, gc=False):
    """What holds for a pod on a node.

    `cpus` is how many CPUs it binds, 0 for none; `bind_policy` how, which is `required` or just preferred;
    `policy` the NUMA policy, and `exclusive` whether zones of one-zone pods and of others must differ.
    """

    cpus: int
    bind_policy: BindPolicy
    required: bool
    policy: NUMAPolicy
    exclusive: bool

    @property
    def whole_cores(self) -> bool:
        """Whether only whole cores can be bound."""
        return self.required and self.bind_policy == "FullPCPUs"


Settled: TypeAlias = Terms | NUMAPolicyMismatch | FractionalCPUs


def wants_of(requirements: PodRequirements, settings: NUMASettings) -> Wants:
    """Return what is kept of a trigger."""
    return Wants(requirements.requests, requirements.numa, settings)


def settings_of(node: Node) -> tuple[object, ...]:
    """Return what of a node decides about terms, and whether it can bind CPUs."""
    numa = node.numa or NOTHING_KNOWN
    return numa.policy, numa.unknown_policy, numa.bind_policy, numa.cpus is None, numa.per_core


def settled(node: NodeNUMA, wants: Wants) -> Settled:
    """Return what holds for the pod, or why its settings and the node's do not agree.

    Mirrors `mergeTopologyPolicy`, `requestCPUBind` and `getCPUBindPolicy` in plugins/nodenumaresource.
    """
    return _settled(node.policy, node.unknown_policy, node.bind_policy, wants)


@lru_cache(_MOST_ANSWERS)
def _settled(own: NUMAPolicy, unknown: str, binding: BindPolicy, wants: Wants) -> Settled:
    asked, written = wants.numa, unknown or own
    if written and asked.policy and written != asked.policy:
        return NUMAPolicyMismatch(written, asked.policy)
    policy = policy_of(None, asked) or own
    exclusive = asked.zone_exclusive == "Required" or bool(asked.policy and not asked.zone_exclusive)
    if wants.binds:
        required = bool(wants.required or binding)
        bind_policy = wants.bind_policy if wants.required else binding or wants.bind_policy
        return Terms(wants.cpu // MILLI, bind_policy, required, policy, exclusive)
    if not binding or not wants.cpu:
        return Terms(0, binding, bool(binding), policy, exclusive)
    if wants.cpu % MILLI:
        return FractionalCPUs(wants.cpu)
    return Terms(wants.cpu // MILLI, binding, True, policy, exclusive)  # noqa: FBT003


def unbindable(node: NodeNUMA, wants: Wants, terms: Terms) -> Reason | None:
    """Return why the node can bind no CPUs for the pod, whoever is there; None where it can, or need not."""
    if not terms.cpus:
        return None
    if node.cpus is None:
        return NoCPUTopology()
    if wants.binds and wants.required and node.bind_policy not in {"", terms.bind_policy}:
        return BindPolicyConflict(node.bind_policy, terms.bind_policy)
    if terms.whole_cores and terms.cpus % node.cpus.per_core:
        return PartialCores(terms.cpus, node.cpus.per_core)
    return None
