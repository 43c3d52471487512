"""The jobs that a subject is tried as."""

from kubectl_koord.engine.admission.prefilter import prefilter_refusal, unknown_layer
from kubectl_koord.engine.attempts.attempt import Job, JobTopology, needed
from kubectl_koord.engine.gangs import topology_requirements
from kubectl_koord.engine.reservations.owners import one_of_each_owner
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.subjects import PodSubject, Subject, never_tried
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot


def jobs(subject: Subject, snapshot: Snapshot, rules: Rules, tree: Tree | NoTree) -> tuple[Job, ...]:
    """Return what the scheduler tries as one: usually one job.

    Several where the gangs of a group carry different topology specs: that of the trigger's own gang
    counts; those that refuse every member come last. A satisfied group's pods are scheduled one by
    one, by priority and without topology; all must find a place.
    """
    claims = snapshot.claims_asked_for
    own = one_of_each_owner(snapshot)
    promised = frozenset(volume.promised for volume in snapshot.storage.volumes if volume.promised)
    if isinstance(subject, PodSubject):
        return tuple(
            Job(
                (pod,),
                {"": 1},
                None,
                rules,
                snapshot.nominated,
                claims=claims,
                promised=promised,
                reservations=own,
                pending=snapshot.pending,
            )
            for pod in subject.pending
        )
    group = subject.group
    never = never_tried(subject, snapshot)
    if group.is_satisfied():
        tried = [pod for pod in group.pending if pod.key not in never]
        highest = max((pod.priority for pod in tried), default=0)
        every = {gang.key: sum(pod.key not in never for pod in gang.pending) for gang in group.tried}
        return (
            Job(
                group.pending,
                every,
                None,
                rules,
                snapshot.nominated,
                tuple(pod for pod in tried if pod.priority == highest),
                claims=claims,
                promised=promised,
                never=never,
                reservations=own,
                pending=snapshot.pending,
                each_queued=True,
            ),
        )
    found = []
    for spec in group.specs:
        of_spec = (pod for gang in group.tried if gang.topology == spec for pod in gang.pending)
        is_planned = spec is not None and snapshot.config.aware_of_topology
        topology = (
            JobTopology(topology_requirements(spec or (), tree), tree)
            if is_planned and isinstance(tree, Tree)
            else None
        )
        found.append(
            Job(
                pods=group.pending,
                needed=needed(group),
                topology=topology,
                rules=rules,
                nominated=snapshot.nominated,
                may_trigger=tuple(pod for pod in of_spec if pod.key not in never),
                claims=claims,
                promised=promised,
                never=never,
                reservations=own,
                prefilter=prefilter_refusal(spec, group, snapshot, tree),
                pending=snapshot.pending,
            )
        )
    return tuple(sorted((job for job in found if job.may_trigger), key=_is_hopeless))


def _is_hopeless(job: Job) -> bool:
    """Tell whether no node can help: none is asked, or the layer to gather in does not exist."""
    if job.prefilter is not None:
        return True
    topology = job.topology
    return topology is not None and unknown_layer(topology.requirements, topology.tree) is not None
