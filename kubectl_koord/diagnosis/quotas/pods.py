"""The pods of quotas: the biggest, those that lack something, and those that the over-use controller would evict."""

from collections.abc import Collection, Iterable, Mapping

from msgspec import structs

from kubectl_koord.diagnosis.quotas.holding import spelled
from kubectl_koord.engine.quota.counting import running_in
from kubectl_koord.engine.quota.holding import Held
from kubectl_koord.engine.quota.revoking import is_on, over_used, revoked
from kubectl_koord.engine.quota.state import QuotaState
from kubectl_koord.engine.quota.sums import Pod, is_fixed, requested
from kubectl_koord.engine.view import View
from kubectl_koord.model import accelerators
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.reports.capacity.quota import Eviction, OverUse, QuotaPod
from kubectl_koord.wording import quotas as sentences
from kubectl_koord.wording.refusals.prefilter import refusal_sentence


def pods_of(state: QuotaState, view: View, name: str, held: Iterable[Held]) -> tuple[QuotaPod, ...]:
    """Return the pods that count against a quota itself: those that request most first."""
    # Pods that ask for the same share a refusal, which names the first of them.
    lacking = {one.pod.key: refusal_sentence(structs.replace(one.refusal, pod=one.pod.key)) for one in held}
    waiting = [pod for pod in view.snapshot.pending if state.tree.name_of(pod) == name]
    pods: list[Pod] = [*running_in({name}, view, state.tree).get(name, ()), *waiting]
    size = {pod.key: requested(pod, name, state.tree) for pod in pods}
    biggest = sorted(pods, key=lambda pod: (_rank(size[pod.key]), pod.key))
    return tuple(_pod(pod, size[pod.key], lacking) for pod in biggest)


def _rank(asked: Mapping[str, int]) -> tuple[int, int, int]:
    cards = sum(accelerators.of_pods(asked).values())
    return -cards, -asked.get("cpu", 0), -asked.get("memory", 0)


def _pod(pod: Pod, asked: Mapping[str, int], lacking: Mapping[str, str]) -> QuotaPod:
    return QuotaPod(
        pod=pod.key,
        node=pod.node if isinstance(pod, RunningPod) else "",
        priority=pod.priority,
        requests=spelled(asked),
        gang=pod.gang,
        preemptible=not is_fixed(pod),
        lacks=lacking.get(pod.key, "") if isinstance(pod, PendingPod) else "",
    )


def over_use(state: QuotaState, view: View, names: Collection[str]) -> OverUse:
    """Return whether the over-use controller runs, and whom of these quotas it evicts.

    Of a single quota whom it would evict is told where it does not run, too. It waits until a quota was above its
    runtime for a time, which no object shows.
    """
    told = names if is_on(state) or len(names) == 1 else ()
    over = {name: resources for name, resources in over_used(state).items() if name in told}
    running = running_in(over, view, state.tree) if over else {}
    evicts = []
    for name, resources in over.items():
        gone = revoked(state, name, running.get(name, ()))
        pods = tuple(_pod(pod, requested(pod, name, state.tree), {}) for pod in gone)
        evicts.append(Eviction(name, resources, pods))
    settings = state.tree.settings
    off = sentences.OFF_WITHOUT_RUNTIME if settings.revokes else sentences.OFF
    return OverUse(is_on(state), sentences.ON if is_on(state) else off, tuple(evicts))
