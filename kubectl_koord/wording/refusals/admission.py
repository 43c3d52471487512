"""Why a gang or a pod is not tried, and what is odd about its settings, in sentences."""

from collections.abc import Sequence
from typing import assert_never

from kubectl_koord.engine.admission import blockers, oddities
from kubectl_koord.engine.admission.blockers import Blocker
from kubectl_koord.engine.admission.leader import NoLeader, NoReplica
from kubectl_koord.engine.admission.oddities import Oddity
from kubectl_koord.engine.admission.prefilter import UnknownLayer
from kubectl_koord.wording.ages import spelled
from kubectl_koord.wording.refusals.claims import unready_clause
from kubectl_koord.wording.refusals.prefilter import refusal_sentence
from kubectl_koord.wording.unevaluated import depends_on
from kubectl_koord.wording.words import count, listed

_MAY_HANDLE = "may handle that or not: its configuration was not read."


def blocker_sentence(blocker: Blocker) -> str:
    """Return why a gang or a pod is not tried."""
    match blocker:
        case blockers.OtherScheduler(pods, names, profiles, in_gang, known):
            who = ("its pod " if len(pods) == 1 else "its pods ") if in_gang else "it "
            handled = f"handles only {listed(profiles)}." if known else _MAY_HANDLE
            return f"{who}{_have(pods)} schedulerName {listed(names)}; koord-scheduler {handled}"
        case blockers.MixedSchedulers(pods, of, names, known):
            named = f"{len(pods)} of its {of} pods {_have(pods)} schedulerName {listed(names)}"
            if not known:
                return f"{named}; koord-scheduler {_MAY_HANDLE}"
            return f"{named}: koord-scheduler does not place them, and the other pods keep waiting."
        case blockers.OpenConfiguration(settings):
            return depends_on(settings)
        case NoLeader(lease, holder, age):
            held = f"held by {holder}" if holder else "no holder"
            return (
                f"koord-scheduler is not active: lease {lease} ({held}) was last renewed {spelled(age)} ago;"
                " an active scheduler renews it every few seconds."
            )
        case NoReplica(deployment, wanted):
            none = f"has 0 of {count(wanted, 'pod')} available" if wanted else "is scaled to 0"
            return f"koord-scheduler is not active: Deployment {deployment} {none}."
        case blockers.BeingDeleted():
            return _being_deleted(blocker)
        case blockers.Gated(gates=gates, enough_others=False):
            return f"{_gated(blocker)} held back by scheduling gate {listed(gates)}."
        case blockers.Gated(pods, gates=gates):
            held = f"{_gated(blocker)} held back by scheduling gate {listed(gates)}"
            them = "it" if len(pods) == 1 else "them"
            return f"{held}: the scheduler tries {them} with the others all the same, but cannot bind {them}."
        case blockers.ClaimsUnready(claims=claims):
            return f"{_gated(blocker)} not tried before all resource claims can be used: {unready_clause(claims)}."
        case blockers.NoPodGroup(gang):
            return f"its pods name PodGroup {gang.partition('/')[2]}, which does not exist."
        case blockers.NotInitialised(written=""):
            return "the gang is not initialised: its pods do not set min-available."
        case blockers.NotInitialised(written=written):
            return f"the gang is not initialised: min-available {written!r} is not a whole number."
        case blockers.TooFewPods(gang, _, own, children, minimum):
            which = "it has" if own else f"gang {gang} of its group has"
            return f"{which} {children} of the {count(minimum, 'pod')} it needs."
        case blockers.NoSuchGangs(gangs):
            where = "" if all("/" in key for key in gangs) else " (ids must be NAMESPACE/NAME)"
            noun, verb = ("gang", "does") if len(gangs) == 1 else ("gangs", "do")
            return f"{noun} {listed([key or repr(key) for key in gangs])} of its group {verb} not exist{where}."
        case blockers.FinishedNeverWait(finished=finished):
            return f"{_too_few_waiting(blocker)}: finished pods ({finished}) count as members but never wait."
        case blockers.BoundDoNotCount(bound=bound, match_policy=policy):
            return f"{_too_few_waiting(blocker)}: with match policy {policy}, bound pods ({bound}) do not count."
        case blockers.OmitsItself(gang, others):
            return f"it depends only on {listed(others)}: its own groups annotation does not list {gang}."
        case blockers.GroupsDiffer(gang, others):
            return f"the groups annotation of {gang} differs from that of {listed(others)}."
        case UnknownLayer(layer, layers):
            return f"it must gather in layer {layer}, which is not in the topology ({listed(layers)})."
        case _:
            return refusal_sentence(blocker)


def _being_deleted(blocker: blockers.BeingDeleted) -> str:
    pods, of = blocker.pods, blocker.of
    if not blocker.in_gang:
        return "it is being deleted."
    if len(pods) == of:
        return f"its {count(of, 'pending pod')} {_are(pods)} being deleted."
    return f"{len(pods)} of its {of} pending pods {_are(pods)} being deleted: too few others are left."


def _gated(blocker: blockers.Gated | blockers.ClaimsUnready) -> str:
    """Return which of its pods are held back, with the verb: `it is`, `its pod is`, `1 of its 3 pods is`."""
    pods, of = blocker.pods, blocker.of
    if not blocker.in_gang:
        return "it is"
    if len(pods) == of:
        return "its pod is" if of == 1 else "its pods are"
    return f"{len(pods)} of its {of} pods {_are(pods)}"


def _too_few_waiting(blocker: blockers.FinishedNeverWait | blockers.BoundDoNotCount) -> str:
    return f"{blocker.gang} has {count(len(blocker.pods), 'pending pod')}, but needs {blocker.needed} at once"


def _are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _have(items: Sequence[str]) -> str:
    return "has" if len(items) == 1 else "have"


def oddity_sentence(oddity: Oddity) -> str:
    """Return what is odd about the settings of a gang or a pod."""
    match oddity:
        case oddities.SomeOfOtherScheduler(pods, of, names):
            return f"{len(pods)} of its {of} pending pods {_have(pods)} schedulerName {listed(names)} ({listed(pods)})."
        case oddities.SomeBeingDeleted(pods, of):
            return (
                f"{len(pods)} of its {of} pending pods {_are(pods)} being deleted ({listed(pods)}):"
                " they still count as members but are not scheduled."
            )
        case oddities.SomeGated(pods, of, gates):
            return (
                f"{len(pods)} of its {of} pending pods {_are(pods)} held back by scheduling gate {listed(gates)}"
                f" ({listed(pods)}); the others are scheduled one by one."
            )
        case oddities.ForeignGangMarker(pod, marker):
            return (
                f"Koordinator ignores {marker}: {pod} is scheduled alone, not in a gang"
                " (Koordinator's label is pod-group.scheduling.sigs.k8s.io)."
            )
        case oddities.GroupsUnreadable(gang):
            return f"the groups annotation of {gang} is not a JSON list: the gang has no group."
        case oddities.TopologySpecUnreadable(gang):
            return (
                f"the network-topology-spec of {gang} cannot be parsed: the scheduler ignores it"
                " and places the pods without topology."
            )
        case oddities.UnknownStrategy(gang, strategy):
            return f"{gang}: strategy {strategy or '(none)'} has no effect: use MustGather or PreferGather."
        case oddities.UnknownPreferredLayer(gang, layer):
            return f"{gang}: PreferGather names layer {layer or '(none)'}, which is not in the topology."
        case oddities.MinimumZero(gang):
            return f"{gang} has minimum 0: its pods never wait for each other, and its PodGroup stays in phase Pending."
        case oddities.StalePhase(gang, phase):
            return f"phase {phase} of PodGroup {gang} is from an earlier run: it is stale and has no effect."
        case oddities.DifferingSpecs():
            return "the gangs of the group have different topology specs: only the spec of the pod tried first counts."
        case oddities.SatisfiedWithoutItself(gang):
            return f"the groups annotation of {gang} does not list {gang} itself: the scheduler takes it literally."
        case oddities.SatisfiedByEarlierPods():
            return (
                "finished pods of an earlier run with the same gang name count as members: the scheduler treats the"
                " gang as satisfied and schedules its pods one by one, without gang and topology; each preempts on its"
                " own."
            )
        case oddities.SpecWithoutEffect():
            return "awareNetworkTopology is off in the scheduler's configuration: the topology spec has no effect."
        case oddities.IndexNotHonoured(names):
            return (
                "the scheduler ignores the topology index: it assigns nodes in the lexical order of the pod names"
                f" ({listed(names)})."
            )
        case oddities.WorstFit():
            return (
                "with a topology selector, the scheduler also counts the gang's own planned pods: it picks the domain"
                " with the most room (worst fit) instead of the best fit."
            )
        case _:
            assert_never(oddity)


def ignored_markers(marker: str, pods: int) -> str:
    """Return that so many pods carry a marker of another gang scheduler."""
    are = "it is scheduled alone" if pods == 1 else "they are scheduled each alone"
    return (
        f"Koordinator ignores {marker} of {count(pods, 'pod')}: {are}, not in a gang"
        " (Koordinator's label is pod-group.scheduling.sigs.k8s.io)."
    )
