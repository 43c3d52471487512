"""Sends planned changes: one object after the other, nobody else's change overwritten, every refusal explained."""

import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict
from urllib.parse import quote

from msgspec import structs

from kubectl_koord import leaving
from kubectl_koord.changes import conflicts
from kubectl_koord.cluster import apply
from kubectl_koord.cluster.kinds import KINDS
from kubectl_koord.errors import KoordError
from kubectl_koord.render.escape import harmless
from kubectl_koord.wording.aiming import aimed
from kubectl_koord.wording.answers import conflicts as sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubectl_koord.cluster.api.transport import Transport
    from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
    from kubectl_koord.wording.aiming import Aim

_TRIES = 10
_LOOKED_AT = 16
"""Of how many objects it is looked before the plan is shown who applies them."""

Found: TypeAlias = Literal["before", "otherwise", "unknown"]
"""How an object is that was read again: with nothing of a change, neither so nor as wanted, or it could not be read."""


def send(transport: "Transport", planned: "ChangePlan", field_manager: str, aim: "Aim", *, all_or_none: bool) -> None:
    """Send every change of a plan; commands that are printed go where `aim` says.

    With `all_or_none` a failure takes back what was changed before it, object by object, on standard error.

    Raises:
        KoordError: when one was not done: with how far it came, or what was rolled back.

    """
    done: list[tuple[Change, dict[str, Any] | None]] = []
    sending = _Sending(transport, field_manager, aim, is_dry_run=planned.dry_run == "server")
    for change in planned.changes:
        leaving.say(_last_words(planned, len(done), aim, is_sending=True))
        try:
            done.append((change, sending.send(change)))
        except KoordError as error:
            if all_or_none and len(planned.changes) > 1 and planned.dry_run == "none":
                raise _rolled_back(sending, planned.changes, done, error) from None
            is_done = done and planned.dry_run == "none"
            so_far = f" ({len(done)} of {len(planned.changes)} changed before that)" if is_done else ""
            raise KoordError(f"{error.message}{so_far}") from None
    leaving.say(_last_words(planned, len(planned.changes), aim, is_sending=False))


def with_appliers(transport: "Transport", planned: "ChangePlan") -> "ChangePlan":
    """Return a plan that notes who will set back what is changed; of its first objects, where they may be read."""
    notes = []
    for change in planned.changes[:_LOOKED_AT]:
        if change.creates:
            continue
        with suppress(KoordError):
            now = apply.read(transport, path_of(change.object))
            found = conflicts.appliers(change, now).items()
            notes += [sentences.applied_by(name_of(change.object), manager, fields) for manager, fields in found]
    return structs.replace(planned, notes=(*planned.notes, *notes)) if notes else planned


class _UnsureError(KoordError):
    """A change that no answer tells of: what came in place of one, and what was found out of its object since."""

    def __init__(self, target: str, reason: str, found: Found, state: str) -> None:
        super().__init__(sentences.unsure_alone(target, reason, state))
        self.reason, self.found, self.state = reason, found, state


class _How(TypedDict):
    dry_run_server: bool
    field_manager: str


class _Sending:
    """How changes are sent."""

    def __init__(self, transport: "Transport", field_manager: str, aim: "Aim", *, is_dry_run: bool) -> None:
        self._transport = transport
        self._manager = field_manager
        self._aim = aim
        self._is_dry_run = is_dry_run

    def send(self, change: "Change") -> dict[str, Any] | None:
        """Send one change and return the object; where somebody else was faster, again if it still holds.

        None where somebody else has done the same: nothing of it is ours.
        """
        target = name_of(change.object)
        if not change.resource_version and not change.creates:
            change = self._as_it_is(change)
        for _ in range(_TRIES):
            try:
                return self._once(change)
            except apply.UnsureError as unsure:
                return self._looked_at(change, unsure.message)
            except apply.ConflictError as conflict:
                if change.creates:
                    raise KoordError(sentences.created_meanwhile(target)) from None
                now = self.read(change)
                if conflicts.version_of(now) == change.resource_version:
                    raise KoordError(conflict.message) from None  # a refusal of another kind
                manager = conflicts.last_manager(now)
                if change.object.kind == "ClusterNetworkTopology":  # its layers are one list, sent as a whole
                    raise KoordError(sentences.replaced_whole(target, manager)) from None
                if conflicts.is_done(change, now):
                    _tell(sentences.done_meanwhile(target, manager))
                    return None
                change = self._rebased(change, now)
                _tell(sentences.tried_again(target, manager))
        raise KoordError(sentences.too_often(target, _TRIES))

    def _looked_at(self, change: "Change", reason: str) -> dict[str, Any]:
        """Return the object if it is as wanted, though no answer said that it was changed.

        Raises:
            _UnsureError: with what it is, or that it could not be read.

        """
        if self._is_dry_run:
            raise KoordError(reason)  # whatever became of it, nothing was stored
        target = name_of(change.object)
        try:
            now = self.read(change)
        except apply.MissingError:
            if change.creates:
                raise _UnsureError(target, reason, "before", sentences.found_as_before()) from None
            raise _UnsureError(target, reason, "otherwise", sentences.found_missing()) from None
        except KoordError as problem:
            state = sentences.not_found_out(problem.message, _look_at(change.object, self._aim))
            raise _UnsureError(target, reason, "unknown", state) from None
        if conflicts.is_in(change, now):
            _tell(sentences.found_done(target, reason))
            return now
        is_whole = change.object.kind == "ClusterNetworkTopology"  # its layers are one list, sent as a whole
        moved = () if is_whole else conflicts.moved(change, now)
        is_same = conflicts.version_of(now) == change.resource_version
        if not change.creates and (is_same or not (is_whole or moved)):
            raise _UnsureError(target, reason, "before", sentences.found_as_before())
        fields = [(one.field, one.shown, one.now) for one in moved]
        state = sentences.found_otherwise(conflicts.last_manager(now), fields)
        raise _UnsureError(target, reason, "otherwise", state)

    def _as_it_is(self, change: "Change") -> "Change":
        """Return a change with the resource version that its object has now, if it is as the plan showed it."""
        return self._rebased(change, self.read(change))

    def _rebased(self, change: "Change", now: dict[str, Any]) -> "Change":

        moved = conflicts.moved(change, now)
        if moved:
            fields = [(one.field, one.shown, one.now) for one in moved]
            manager = conflicts.last_manager(now)
            raise KoordError(sentences.overtaken(name_of(change.object), manager, fields)) from None
        return conflicts.rebased(change, now)

    def read(self, change: "Change") -> dict[str, Any]:
        """Return the object of a change as it is now."""
        return apply.read(self._transport, path_of(change.object))

    def _once(self, change: "Change") -> dict[str, Any]:
        how: _How = {"dry_run_server": self._is_dry_run, "field_manager": self._manager}
        if change.creates:
            path = KINDS[change.object.kind].path(change.object.namespace)
            answer = apply.create(self._transport, path, change.patch, **how)
        else:
            answer = apply.patch(self._transport, path_of(change.object), change.patch, **how)
        if not conflicts.is_in(change, answer):
            raise apply.UnsureError(sentences.ANSWERED_OTHERWISE)
        return answer


def _rolled_back(
    sending: _Sending,
    changes: "Sequence[Change]",
    done: "Sequence[tuple[Change, dict[str, Any] | None]]",
    error: KoordError,
) -> KoordError:
    """Take back what was changed, newest first, tell it object by object, and return the last line."""
    lines = [_line(name_of(changes[len(done)].object), error)]
    states = [error.found] if isinstance(error, _UnsureError) else []
    for change, sent in reversed(done):
        target = name_of(change.object)
        if sent is None:
            lines.append(sentences.left_alone(target))
            continue
        leaving.say(f"interrupted: {target} and those before it may not have been rolled back\n")
        try:
            sending.send(conflicts.undone(change, sent))
            lines.append(sentences.rolled_back(target))
        except _UnsureError as lost:
            is_unknown = lost.found == "unknown"
            states.append("unknown" if is_unknown else "otherwise")
            say = sentences.perhaps_rolled_back if is_unknown else sentences.not_rolled_back_after_all
            lines.append(say(target, lost.reason, lost.state))
        except KoordError as refusal:
            states.append("otherwise")
            lines.append(sentences.not_rolled_back(target, refusal.message))
    lines += [sentences.not_sent(name_of(change.object)) for change in changes[len(done) + 1 :]]
    for line in lines:
        _tell(line)
    leaving.say("")
    reason = error.reason if isinstance(error, _UnsureError) else error.message
    left, unknown = states.count("otherwise"), states.count("unknown")
    is_open = states[:1] == ["before"]
    return KoordError(sentences.end_of_rollback(reason, left, unknown, len(changes), is_open=is_open))


def _line(target: str, error: KoordError) -> str:
    """Return what became of the object whose change failed."""
    if isinstance(error, _UnsureError):
        return sentences.unsure(target, error.reason, error.state)
    return sentences.failed(target, error.message)


def _tell(line: str) -> None:
    sys.stderr.write(f"{harmless(line)}\n")
    sys.stderr.flush()


def name_of(target: "ObjectName") -> str:
    """Return an object as people name it."""
    return f"{target.kind} {target.namespace}/{target.name}" if target.namespace else f"{target.kind} {target.name}"


def path_of(target: "ObjectName") -> str:
    """Return the request path of an object."""
    return f"{KINDS[target.kind].path(target.namespace)}/{quote(target.name, safe='')}"


def _last_words(planned: "ChangePlan", done: int, aim: "Aim", *, is_sending: bool) -> str:
    """Return what a signal leaves behind when so many objects have been changed, and perhaps the next is on its way."""
    if planned.dry_run == "server":
        return "interrupted: nothing was changed, it was a dry run\n"
    names = [name_of(change.object) for change in planned.changes]
    lines = [f"changed: {', '.join(names[:done])}"] if done else []
    if is_sending:
        look = _look_at(planned.changes[done].object, aim)
        lines.append(f"may have been changed, as it was being sent: {names[done]}; see: {look}")
    if unsent := names[done + is_sending :]:
        lines.append(f"not sent: {', '.join(unsent)}")
    return "".join(f"{harmless(f'interrupted: {line}')}\n" for line in lines)


def _look_at(target: "ObjectName", aim: "Aim") -> str:
    """Return the command that shows an object."""
    within = ("-n", target.namespace) if target.namespace else ()
    return aimed(shlex.join(["kubectl", "get", target.kind.lower(), target.name, *within, "-o", "yaml"]), aim)
