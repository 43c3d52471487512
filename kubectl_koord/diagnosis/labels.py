"""The labels that tools and clouds set for network topologies, and what they changed their names to."""

from collections.abc import Iterable

from msgspec import Struct


class LabelScheme(Struct, frozen=True):
    """Labels that are set together: the whole keys, or what keys begin with; families of one `maker` follow another."""

    maker: str
    keys: tuple[str, ...] = ()
    prefix: str = ""

    def has(self, key: str) -> bool:
        """Tell whether a label is of this family."""
        return key in self.keys or bool(self.prefix and key.startswith(self.prefix))


def _family(maker: str, domain: str, *names: str) -> LabelScheme:
    return LabelScheme(maker, tuple(f"{domain}/{name}" for name in names))


_NVIDIA, _K8S = "network.topology.nvidia.com", "network.topology.kubernetes.io"
_OCI, _COREWEAVE = "oci.oraclecloud.com", "coreweave.cloud"
FAMILIES = (
    LabelScheme("topograph", prefix="fabric.topograph.run/tier-"),
    _family("topograph", "accelerator.topograph.run", "domain", "sub-domain"),
    _family("topograph", _NVIDIA, "core", "spine", "leaf", "accelerator"),
    _family("topograph", _NVIDIA, "datacenter", "spine", "block", "accelerator"),
    LabelScheme("topograph", prefix=f"{_NVIDIA}/tier-"),
    _family("topograph", _K8S, "datacenter", "spine", "block", "accelerator"),
    LabelScheme("topograph", prefix="topology.kubernetes.io/network-level-"),
    LabelScheme("eks", prefix="topology.k8s.aws/network-node-layer-"),
    _family("gke", "cloud.google.com", "gce-topology-block", "gce-topology-subblock", "gce-topology-host"),
    _family("oke", _OCI, "rdma.hpc_island_id", "rdma.network_block_id", "rdma.local_block_id", "rdma.host_id"),
    _family("oke", _OCI, "host.network_block_id", "host.rack_id"),
    _family("ack", "alibabacloud.com", "point-of-delivery", "asw-id"),
    _family("coreweave", f"backend.{_COREWEAVE}", "fabric", "leafgroup"),
    _family("coreweave", f"ib.{_COREWEAVE}", "fabric", "superpod", "leafgroup"),
    _family("nebius", "topology.nebius.com", "gpu-cluster-id", "tier-2", "tier-1", "tier-0"),
)
PLACEHOLDERS = frozenset({"no-imds-data", "unknown", "none", "null", "nil", "n-a", "na", "undefined", "placeholder"})
"""Values, in small letters, that stand for no value."""


def makers(keys: Iterable[str]) -> frozenset[str]:
    """Return whose labels are among these keys."""
    return frozenset(family.maker for key in keys for family in FAMILIES if family.has(key))
