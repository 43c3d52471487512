"""Which pods a diverse cluster has: those that run, from ReplicaSets of six, and the jobs that wait."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from benchmarks.diverse.places import DEDICATED, POOLS, pool_of
from benchmarks.generate import BIG_GANG, BIG_SIZE, GPUS, NODES_PER_BLOCK, Size

NAMESPACES = (*(f"team-{number:02}" for number in range(95)), "train")
_REPLICAS = 6
_SIZES = (1, 1, 2, 4, 1, 8, 1, 2)  # pods of the jobs that wait, in turn
_SPREAD = 20  # of so many nodes gangs hold all GPUs of some, single pods hold those of others
_WHOLE, _SINGLE = 9, 13  # below: one pod with all cards, one pod for each; the rest has half of its cards free


class Scale(NamedTuple):
    """How many of everything that does not grow with the pods."""

    jobs: int
    kinds: int
    quotas: int
    reservations: int
    claims: int


def scale_of(size: Size) -> Scale:
    """Return how many there are in a cluster of a size."""
    if size.pods < 50_000:  # noqa: PLR2004
        return Scale(jobs=100, kinds=50, quotas=400, reservations=60, claims=1_000)
    if size.pods < 300_000:  # noqa: PLR2004
        return Scale(jobs=500, kinds=250, quotas=2_000, reservations=300, claims=5_000)
    return Scale(jobs=2_730, kinds=1_000, quotas=2_000, reservations=300, claims=5_000)


class Running(NamedTuple):
    """A bound pod: of a ReplicaSet or StatefulSet, or of a gang with all cards of its node."""

    namespace: str
    name: str
    number: int
    workload: int
    node: int
    first_gpu: int = 0
    gpus: int = 0
    gang: str = ""


class Waiting(NamedTuple):
    """A pod that waits, alone or with the other pods of its job."""

    namespace: str
    name: str
    number: int
    kind: int
    gang: str = ""


class Job(NamedTuple):
    """A job that waits."""

    namespace: str
    name: str
    kind: int
    size: int


def jobs(size: Size) -> Iterator[Job]:
    """Yield the jobs that wait, but for the large one."""
    scale = scale_of(size)
    for number in range(scale.jobs):
        kind = number % scale.kinds
        yield Job(NAMESPACES[kind % 95], f"job-{number}", kind, _SIZES[number % len(_SIZES)])


def waiting(size: Size) -> Iterator[Waiting]:
    """Yield the pods that wait."""
    for index in range(BIG_SIZE):
        yield Waiting("train", f"{BIG_GANG}-worker-{index}", index, -1, BIG_GANG)
    number = BIG_SIZE
    for job in jobs(size):
        gang = job.name if job.size > 1 else ""
        for index in range(job.size):
            yield Waiting(job.namespace, f"{job.name}-worker-{index}", number, job.kind, gang)
            number += 1


def running(size: Size) -> list[Running]:
    """Return the pods that are bound."""
    left = size.pods - sum(1 for _ in waiting(size))
    found = list(islice(_gangs(size), left))
    found += islice(_with_gpus(size, len(found)), left - len(found))
    found += islice(_plain(size, len(found)), left - len(found))
    return found


def _gangs(size: Size) -> Iterator[Running]:
    number = 0
    for node in range(size.nodes):
        if node % _SPREAD < _WHOLE:
            block = node // NODES_PER_BLOCK
            gang = f"run-{block}"
            yield Running(NAMESPACES[block % 96], f"{gang}-worker-{node}", number, block, node, 0, GPUS, gang)
            number += 1


def _with_gpus(size: Size, start: int) -> Iterator[Running]:
    places = ((node, gpu) for gpu in range(GPUS) for node in range(size.nodes) if gpu < _singles(node))
    for index, (node, gpu) in enumerate(places):
        workload = 10_000 + index // _REPLICAS
        yield _replica(start + index, workload, index, node, gpu, 1)


def _singles(node: int) -> int:
    """Return how many of a node's cards have a pod each."""
    at = node % _SPREAD
    return 0 if at < _WHOLE else GPUS if at < _SINGLE else GPUS // 2


def _plain(size: Size, start: int) -> Iterator[Running]:
    """Yield pods without GPUs without end: each workload keeps to the nodes of one pool."""
    pools = [[node for node in range(size.nodes) if pool_of(node) == pool] for pool in range(POOLS)]
    pools = [nodes for nodes in pools if nodes]
    index = 0
    while True:
        workload, replica = divmod(index, _REPLICAS)
        turn, pool = divmod(workload, len(pools))
        nodes = pools[pool]
        node = nodes[(turn * _REPLICAS + replica) % len(nodes)]
        yield _replica(start + index, 100_000 + turn * POOLS + pool, index, node, 0, 0)
        index += 1


def _replica(number: int, workload: int, index: int, node: int, first_gpu: int, gpus: int) -> Running:
    namespace = NAMESPACES[workload % 96]
    if is_stateful(workload):
        name = f"db-{workload}-{index % _REPLICAS}"
    else:
        name = f"app-{workload}-{workload * 2654435761 % (1 << 32):08x}-{number:06}"
    return Running(namespace, name, number, workload, node, first_gpu, gpus)


def is_stateful(workload: int) -> bool:
    """Tell whether a workload is a StatefulSet."""
    return workload >= 100_000 and workload % 10 == 5  # noqa: PLR2004


def is_pinned(workload: int) -> bool:
    """Tell whether the pods of a workload select their pool."""
    return workload >= 100_000 and (workload % POOLS in DEDICATED or workload % 3 == 0)  # noqa: PLR2004
