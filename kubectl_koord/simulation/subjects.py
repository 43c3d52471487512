"""The subjects of a snapshot: those with pending pods, and those that a name means."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from kubectl_koord.engine import gangs
from kubectl_koord.engine.budget import between_answers
from kubectl_koord.engine.gangs import Gang, GangSubject, PodSubject, Subject
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Labels, Selector, matches, memoised
from kubectl_koord.wording.suggestions import near

T = TypeVar("T")

_API_GROUP = "scheduling.sigs.k8s.io"
_GROUP_KINDS = {"podgroup", "podgroups", "pg", "gang", f"podgroup.{_API_GROUP}", f"podgroups.{_API_GROUP}"}
_POD_KINDS = {"pod", "pods", "po"}
_OWNER_KINDS = {"job", "pytorchjob", "statefulset", "deployment", "replicaset"}
_MORE_OWNERS = {"mpijob", "tfjob", "rayjob", "raycluster", "jobset", "leaderworkerset", "daemonset", "cronjob"}
_OF_TRAINING = ("pytorchjob", "mpijob", "tfjob", "xgboostjob", "paddlejob", "jaxjob")
OWNER_LABELS: Mapping[str, tuple[str, ...]] = {
    "jobset.sigs.k8s.io/jobset-name": ("jobset", "trainjob"),
    "leaderworkerset.sigs.k8s.io/name": ("leaderworkerset", "lws"),
    "ray.io/cluster": ("raycluster",),
    "ray.io/originated-from-cr-name": ("rayjob", "rayservice", "raycluster"),
    "training.kubeflow.org/job-name": _OF_TRAINING,
    "batch.kubernetes.io/job-name": ("job",),
    "volcano.sh/job-name": ("vcjob", "job"),
    "sparkoperator.k8s.io/app-name": ("sparkapplication",),
    "release": ("tfjob", "pytorchjob", "mpijob"),
}
"""Labels of pods that name what they are for, where their owners do not: who is named above the owner of a pod.

`release` is what the arena of ACK sets. A platform of one's own is a row more.
"""
_DEPLOYMENTS = {"deployment", "deployments"}
_KINDS = _GROUP_KINDS | _POD_KINDS | _OWNER_KINDS


class Unknown(Struct, frozen=True):
    """A name that stands for nothing here, and the nearest ones that do."""

    name: str
    nearest: tuple[str, ...]


def find(snapshot: Snapshot, name: str, namespace: str) -> Subject | Unknown:
    """Return whom a name means: `x`, `ns/x`, `podgroup/x`, `pod/x`, an owner such as `job/x`, or `kind/ns/x`.

    `ns/kind/x`, as answers name an owner, is the same. Behind a kind its API group may stand, as `kubectl get -o name`
    prints it: `job.batch/x`. A plain name is a gang first, then a pod, then an owner of pods. `ns/x` and `kind/x` are
    told apart by what exists.
    """
    every = gangs.all_gangs(snapshot)
    name = kind_first(name)
    return _found(snapshot, every, name, namespace) or _unknown(snapshot, every, name, namespace)


def _found(snapshot: Snapshot, every: Mapping[str, Gang], name: str, namespace: str) -> Subject | None:
    first, slash, second = name.partition("/")
    if not slash:
        return _plain(snapshot, every, namespace, name)
    kind = first.lower()
    home, has_home, bare = second.rpartition("/")
    key = second if has_home else f"{namespace}/{second}"
    found: Subject | None = None
    if kind in _GROUP_KINDS:
        found = _gang(every, key)
    elif kind in _POD_KINDS:
        found = _pod(snapshot, every, key)
    if found is None:
        found = _plain(snapshot, every, first, second)
    return found or _owned(snapshot, every, home or namespace, kind.partition(".")[0], bare)


def kind_first(name: str) -> str:
    """Return `ns/kind/x` as `kind/ns/x`, any other name as it is."""
    home, *rest = name.split("/")
    match rest:
        case [kind, bare] if is_kind(kind) and not is_kind(home):
            return f"{kind}/{home}/{bare}"
        case _:
            return name


def is_kind(word: str) -> bool:
    """Tell whether a word names a kind of object that a gang, a pod or an owner of pods is, `jobs.batch` included."""
    kind = word.lower().partition(".")[0]
    return bool({kind, kind.removesuffix("s")} & (_KINDS | _MORE_OWNERS))


def is_owner_kind(word: str) -> bool:
    """Tell whether a word names a kind of owners of pods."""
    kind = word.lower().partition(".")[0]
    return bool({kind, kind.removesuffix("s")} & (_OWNER_KINDS | _MORE_OWNERS))


def pod_group_key(name: str, namespace: str) -> str:
    """Return the `namespace/name` of a PodGroup by any name of it: `x`, `ns/x`, `podgroup/x`, `podgroup/ns/x`."""
    kind, _, rest = kind_first(name).partition("/")
    bare = rest if rest and kind.lower() in _GROUP_KINDS else name
    return bare if "/" in bare else f"{namespace}/{bare}"


def find_anywhere(snapshot: Snapshot, name: str) -> Subject | None:
    """Return whom a plain name means in any namespace, None where that is nobody or more than one."""
    every = gangs.all_gangs(snapshot)
    name = kind_first(name)
    bare = name.rpartition("/")[2]
    namespaces = {*(key.partition("/")[0] for key in snapshot.pod_groups), *(pod.namespace for pod in snapshot.pending)}
    named = {key.partition("/")[0] for key in every if key.endswith(f"/{bare}")}
    for pod in chain(snapshot.pending, _placed(snapshot)):
        if pod.name == bare or pod.owner.endswith(f"/{bare}") or pod.owner.startswith(f"ReplicaSet/{bare}-"):
            named.add(pod.namespace)
    found = {
        subject.key: subject
        for namespace in sorted(namespaces & named)
        if (subject := _found(snapshot, every, name, namespace)) is not None
    }
    return next(iter(found.values())) if len(found) == 1 else None


def homes(name: str, namespace: str) -> tuple[str, ...]:
    """Return the namespaces in which a name may stand: of `x/y` it is open whether x is one, or an owner's kind."""
    first, slash, _ = kind_first(name).partition("/")
    is_kind_only = first.lower() in _KINDS or "." in first  # as an API group has; no namespace does
    return (first, namespace) if slash and not is_kind_only else (namespace,)


def again(snapshot: Snapshot, key: str, *, lone_pod: bool) -> Subject | None:
    """Return the subject of a key in a later snapshot, None where it is there no more."""
    every = gangs.all_gangs(snapshot)
    return _pod(snapshot, every, key) if lone_pod else _gang(every, key)


def _plain(snapshot: Snapshot, every: Mapping[str, Gang], namespace: str, name: str) -> Subject | None:
    key = f"{namespace}/{name}"
    return _gang(every, key) or _pod(snapshot, every, key) or _owned(snapshot, every, namespace, "", name)


def _gang(every: Mapping[str, Gang], key: str) -> Subject | None:
    return GangSubject(gangs.group_of(every, key)) if key in every else None


def _pod(snapshot: Snapshot, every: Mapping[str, Gang], key: str) -> Subject | None:
    for pod in snapshot.pending:
        if pod.key == key:
            return _gang(every, pod.gang) if pod.gang else PodSubject(pod)
    for other in _placed(snapshot):
        if other.key == key:
            return _gang(every, other.gang) if other.gang else PodSubject(other)
    return None


def _placed(snapshot: Snapshot) -> Iterator[RunningPod | FinishedPod]:
    for pods in snapshot.running.values():
        yield from pods
    yield from snapshot.finished


def _owned(snapshot: Snapshot, every: Mapping[str, Gang], namespace: str, kind: str, name: str) -> Subject | None:
    """Return the gang of the pods that an owner has; of several gangs the first in name order."""
    if not name:
        return None
    for pod in chain(snapshot.pending, _placed(snapshot)):
        if pod.namespace == namespace and (_is_meant(pod.owner, kind, name) or _is_labelled(pod, kind, name)):
            return _gang(every, pod.gang) if pod.gang else _pod(snapshot, every, pod.key)
    return None


def _is_labelled(pod: PendingPod | RunningPod | FinishedPod, kind: str, name: str) -> bool:
    """Tell whether a label of a pod names an owner of this kind, or of any where none is given."""
    if isinstance(pod, FinishedPod):
        return False
    return any(
        value == name and (not kind or kind in OWNER_LABELS[label] or kind.removesuffix("s") in OWNER_LABELS[label])
        for label, value in pod.labels
        if label in OWNER_LABELS
    )


def _is_meant(owner: str, kind: str, name: str) -> bool:
    """Tell whether a kind and a name mean an owner of pods: a ReplicaSet also by its Deployment's, without the hash."""
    own_kind, _, own_name = owner.partition("/")
    if own_name == name:
        return kind in {"", own_kind.lower(), f"{own_kind.lower()}s"}
    return kind in _DEPLOYMENTS and own_kind == "ReplicaSet" and own_name.rpartition("-")[0] == name


def _unknown(snapshot: Snapshot, every: Mapping[str, Gang], name: str, namespace: str) -> Unknown:
    known = [*every, *(pod.key for pod in snapshot.pending if not pod.gang)]
    return Unknown(name, near(wanted(name, namespace, known), known))


def wanted(name: str, namespace: str, known: Iterable[str]) -> str:
    """Return the `namespace/name` that a name says, whether there is one or not: a first part may be a kind."""
    home, slash, bare = name.rpartition("/")
    kind, has_kind, rest = home.rpartition("/")
    is_namespace = slash and not has_kind and any(key.startswith(f"{home}/") for key in known)
    return f"{rest if has_kind and kind else home if is_namespace else namespace}/{bare}"


def selected(snapshot: Snapshot, subjects: Iterable[Subject], selector: Selector) -> tuple[Subject, ...]:
    """Return the subjects of which a PodGroup, or a pending pod, has such labels."""
    return tuple(
        subject for subject in subjects if any(matches(selector, dict(one)) for one in _labels(snapshot, subject))
    )


def has_labels(snapshot: Snapshot, gang: Gang, selector: Selector) -> bool:
    """Tell whether a gang's PodGroup, or a pending pod of it, has such labels."""
    return any(matches(selector, dict(one)) for one in _labels_of(snapshot, gang.key, gang.pending))


def _labels(snapshot: Snapshot, subject: Subject) -> Iterator[Labels]:
    for key in subject.gangs:
        yield from _labels_of(snapshot, key, ())
    yield from (pod.labels for pod in subject.pending)


def _labels_of(snapshot: Snapshot, key: str, pending: Iterable[PendingPod]) -> Iterator[Labels]:
    group = snapshot.pod_groups.get(key)
    if group is not None:
        yield group.labels
    yield from (pod.labels for pod in pending)


@memoised
def pending_subjects(snapshot: Snapshot, namespace: str = "") -> tuple[Subject, ...]:
    """Return everybody with pending pods: each gang group once, and lone pods of Koordinator profiles.

    A gang that its own list leaves out stands for itself: no other gang shows its pods.
    """
    every = gangs.all_gangs(snapshot)
    found: list[Subject] = []
    seen: set[tuple[str, ...]] = set()
    for key, gang in every.items():
        if not gang.pending or not _in(namespace, gang.pending):
            continue
        group = gangs.group_of(every, key)
        if group.omits_itself or gang.group not in seen:
            found.append(GangSubject(group))
        if not group.omits_itself:
            seen.add(gang.group)
    found.extend(
        PodSubject(pod)
        for pod in snapshot.pending
        if not pod.gang and pod.scheduler in snapshot.config.profiles and _in(namespace, (pod,))
    )
    return tuple(found)


def of_each(subjects: Sequence[Subject], ask: Callable[[Subject], T]) -> tuple[T, ...]:
    """Return what is answered of each subject with pending pods, in their order.

    Those alike are asked about in turn, to share what is kept for a while.
    """
    alike: dict[object, list[int]] = {}
    for position, subject in enumerate(subjects):
        alike.setdefault(subject.pending[0].requirements, []).append(position)
    found = {}
    for at in chain.from_iterable(alike.values()):
        found[at] = ask(subjects[at])
        between_answers()
    return tuple(found[at] for at in range(len(subjects)))


def _in(namespace: str, pods: Iterable[PendingPod]) -> bool:
    return not namespace or any(pod.namespace == namespace for pod in pods)
