"""How many pods of a gang its quotas admit, and which quota stops the next."""

from kubectl_koord.diagnosis import visibility
from kubectl_koord.diagnosis.coverage import not_evaluated
from kubectl_koord.diagnosis.quotas.holding import state_of
from kubectl_koord.engine.quota.holding import QuotaRoom, headroom
from kubectl_koord.engine.quota.tree import quota_tree
from kubectl_koord.engine.subjects import Subject, never_tried
from kubectl_koord.engine.view import View
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import OpenQuota, QuotaSetting
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.capacity.quota import ChainLevel, Headroom
from kubectl_koord.wording import quotas as sentences
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.refusals.prefilter import refusal_sentence
from kubectl_koord.wording.unevaluated import unevaluated_names


def headroom_of(subject: Subject, view: View) -> Headroom:
    """Return how many of the subject's pending pods its quotas admit, each after those before it, by name.

    It is open where quotas, pods or nodes could not be read, or a quota or a setting leaves it open.
    """
    snapshot = view.snapshot
    never = never_tried(subject, snapshot)
    pods = [pod for pod in subject.pending if pod.key not in never]
    name = subject.key
    unread = visibility.unread(snapshot, "quotas")
    if unread:
        return Headroom(name, len(pods), None, sentences.cannot_admit(name, could_not_be_read(unread)))
    if not pods:
        return Headroom(name, 0, 0, sentences.admits(name, 0, 0, ""))
    state = state_of(view)
    is_open = [item for item in not_evaluated(subject, snapshot) if isinstance(item, OpenQuota | QuotaSetting)]
    if is_open:
        message = sentences.cannot_admit(name, sentences.depends_on(unevaluated_names(is_open)))
        return Headroom(name, len(pods), None, message)
    if not any(state.tree.may_refuse(pod) for pod in pods):
        return Headroom(name, len(pods), len(pods), sentences.unlimited(name))
    chain = tuple(map(_level, headroom(state, pods[0])))
    stopped = state.first_refused(pods)
    if stopped is None:
        return Headroom(name, len(pods), len(pods), sentences.admits(name, len(pods), len(pods), ""), chain=chain)
    admitted, refusal = stopped
    message = sentences.admits(name, len(pods), admitted, refusal_sentence(refusal))
    return Headroom(name, len(pods), admitted, message, refusal.path[0], refusal.over, chain)


def limits_any(subject: Subject, snapshot: Snapshot) -> bool:
    """Tell whether a quota may have a say in the subject, or it is open whether one has."""
    if visibility.unread(snapshot, "quota-names"):
        return True
    tree = quota_tree(snapshot)
    return any(tree.may_refuse(pod) for pod in subject.pending)


def _level(level: QuotaRoom) -> ChainLevel:
    spelled = [quantity.spell(level.resource, number) for number in (level.limit, level.used, level.requested)]
    limit, used, asked = spelled if level.resource else ("", "", "")
    return ChainLevel(level.quota, level.resource, limit, used, asked, level.members, level.checked)
