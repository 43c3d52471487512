"""What the scheduler's plugins book for a pod on its node, beyond requests: cards, CPUs, amounts of zones.

Running pods and reservations carry it in annotations; a plan that is carried out books it anew.
"""

from msgspec import Struct

from kubectl_koord.model.resource_claims import DeviceId
from kubectl_koord.model.values.quantity import Resources


class DeviceAllocation(Struct, frozen=True, gc=False):
    """What is taken of one device: its type (`gpu`, `rdma`, `fpga`), its minor, the amounts, its virtual functions."""

    type: str
    minor: int
    resources: Resources
    virtual_functions: tuple[str, ...] = ()


class CPUAllocation(Struct, frozen=True, gc=False):
    """The CPUs of a pod that binds them, by their numbers in order, and amounts by NUMA zone."""

    cpus: tuple[int, ...] = ()
    zones: tuple[tuple[int, Resources], ...] = ()


class Allocations(Struct, frozen=True, gc=False):
    """All that is booked for one pod.

    `reservation` is the uid of the Reservation that it draws on; `numa_nodes` are those that the node's NUMA policy
    binds it to while a plan is carried out, None where there is no such policy. `volumes` are its claims that are
    not bound yet, each with the volume that it gets, empty for one to be made; `resource_claims` are those that are
    allocated for it, each with its devices.
    """

    devices: tuple[DeviceAllocation, ...] = ()
    cpus: CPUAllocation | None = None
    reservation: str = ""
    numa_nodes: tuple[int, ...] | None = None
    volumes: tuple[tuple[str, str], ...] = ()
    resource_claims: tuple[tuple[str, tuple[DeviceId, ...]], ...] = ()


NOTHING = Allocations()
"""No plugin has booked anything."""
