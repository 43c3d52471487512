"""What the scheduler last wrote about pods, in conditions and events, and which of it is the root cause."""

from collections.abc import Container, Iterable, Sequence

from msgspec import Struct

from kubectl_koord.messages.parsed import ParsedMessage
from kubectl_koord.messages.parser import read
from kubectl_koord.messages.phrases import phrase
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.traces import Event

# What a pod that waited in Permit may get; it never names what another member lacked.
_AFTER_PERMIT = {
    "gang-gone",
    "group-attempted",
    "permit-timeout",
    "plan-invalid",
    "preempted",
    "preempt-success",
    "preempts-never",
    "victims-terminate",
}
# What becomes of the pods behind one that did not fit on its planned node.
_UNPLANNED = phrase('running PreFilter plugin "Coscheduling": no planned pods')


class Reported(Struct, frozen=True):
    """One text about one pod (`ns/name`), the time that goes with it, and what it says."""

    pod: str
    message: str
    since: str
    parsed: ParsedMessage


def conditions(pending: Sequence[PendingPod]) -> list[Reported]:
    """Return what the conditions of pods say."""
    said = [(pod.key, pod.condition) for pod in pending if pod.condition and pod.condition.message]
    parsed = {message: read(message) for message in {condition.message for _, condition in said}}
    return [Reported(key, one.message, one.since, parsed[one.message]) for key, one in said]


def failed_attempts(pending: Sequence[PendingPod], events: Iterable[Event]) -> list[Event]:
    """Return the events of failed attempts of these pods, none of earlier pods of the same names."""
    created = {pod.key: instant(pod.created) for pod in pending}
    return [
        event
        for event in events
        if event.reason == "FailedScheduling"
        and event.key in created
        and instant(event.last_seen) >= created[event.key]
    ]


def of_events(events: Iterable[Event]) -> list[Reported]:
    """Return what events say."""
    return [Reported(event.key, event.note, event.first_seen, read(event.note)) for event in events]


def instant(written: str) -> str:
    """Return an RFC 3339 time so that texts compare as times do, with fractions of a second or without."""
    return written.removesuffix("Z")


def root_of(reported: Sequence[Reported]) -> Reported:
    """Return the text with the root cause; of several the newest.

    Best a pod's own failure, then what quotes another's, then what a pod got that had waited in Permit:
    those texts say how the round ended (the preemption that followed, for one), not why.
    """
    of_preemption = {fragment.words for one in reported for fragment in one.parsed.preemption}
    return max(reported, key=lambda one: (_weight(one.parsed, of_preemption), instant(one.since)))


def _weight(parsed: ParsedMessage, of_preemption: Container[ParsedMessage]) -> int:
    """Return how near a text is to the root cause; `of_preemption` is what any text says behind `preemption:`."""
    code = parsed.phrase.code if parsed.phrase else ""
    if parsed.is_quote or code == "before-1.7-rejected" or parsed.phrase == _UNPLANNED:
        return 2
    if code == "member-unreserved":
        return 0
    # 1.7 writes on those that waited the bare text of the failed preemption, which has the shape of a failure.
    is_of_preemption = parsed in of_preemption or parsed.is_failed_preemption
    return 1 if parsed.permit or is_of_preemption or code in _AFTER_PERMIT else 3
