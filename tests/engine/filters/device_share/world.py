"""One node or a few with devices, and what DeviceShare says of them."""

from kubectl_koord.engine.filters import placed, prepare, rejection
from kubectl_koord.engine.reasons import PreFilterRefusal, Reason
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import Device, DevicePlace
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.values import Resources
from tests.build import Drawing, card, cluster, cpus, devices, pending

CORE, MEMORY, RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"
PLENTY = dict.fromkeys(
    ("nvidia.com/gpu", CORE, MEMORY, RATIO, "koordinator.sh/gpu.shared", "koordinator.sh/rdma", "koordinator.sh/fpga"),
    1 << 50,
)
ROOM: Resources = tuple(sorted((dict(cpus(64)) | PLENTY | {"pods": 110}).items()))


def node_with(*of_them: Device, **layout: object) -> Drawing:
    """Return a cluster of one node, whose scalars suffice for anything."""
    return cluster("s0: b0[n1]").change("n1", allocatable=ROOM, devices=devices(*of_them, **layout))


def cards(number: int, memory: int = 16) -> tuple[Device, ...]:
    """Return GPUs without topology."""
    return tuple(card(minor, memory) for minor in range(number))


def tree(number: int = 8) -> tuple[Device, ...]:
    """Return GPUs, two on each PCIe switch, four on each NUMA node."""
    return tuple(card(minor, place=DevicePlace(minor // 4, str(minor // 2))) for minor in range(number))


def asking(name: str = "p", **amounts: int) -> PendingPod:
    """Return a pod that asks for devices: `gpu` of NVIDIA, `core`, `memory`, `ratio`, `shared`, `rdma`, `fpga`."""
    named = {
        "gpu": "nvidia.com/gpu",
        "core": CORE,
        "memory": MEMORY,
        "ratio": RATIO,
        "shared": "koordinator.sh/gpu.shared",
        "rdma": "koordinator.sh/rdma",
        "fpga": "koordinator.sh/fpga",
    }
    return pending(name, requests=tuple(sorted({"cpu": 1000, **{named[k]: v for k, v in amounts.items()}}.items())))


def refusal(drawing: Drawing, pod: PendingPod, name: str = "n1") -> Reason | PreFilterRefusal | None:
    """Return why a node refuses a pod."""
    view = of(drawing)
    prepared = prepare(pod, view, rules(drawing.config.version))
    return prepared.refusal or rejection(pod, view.state(name), prepared)


def given(drawing: Drawing, pod: PendingPod, name: str = "n1") -> list[str]:
    """Return the devices that a pod gets, as `gpu0`, `rdma1:BUS`."""
    view = of(drawing)
    found = placed(pod, view.state(name), prepare(pod, view, rules(drawing.config.version)))
    assert isinstance(found, PendingPod), found
    assert found.allocations is not None
    return [":".join((f"{one.type}{one.minor}", *one.virtual_functions)) for one in found.allocations.devices]
