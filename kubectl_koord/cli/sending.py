"""Sends planned changes: one object after the other, nobody else's change overwritten, every refusal explained."""

import select
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict
from urllib.parse import quote

from msgspec import structs

from kubectl_koord import leaving
from kubectl_koord.changes import values
from kubectl_koord.cluster import apply
from kubectl_koord.cluster.kinds import KINDS
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.render.plain import harmless
from kubectl_koord.reports.change import ObjectName
from kubectl_koord.wording.words import COMMA, SEMICOLON, aimed, count, listed

if TYPE_CHECKING:
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.api.transport import Transport
    from kubectl_koord.cluster.watching import ClusterWatch
    from kubectl_koord.model.snapshot import Snapshot
    from kubectl_koord.reports.change import Change, ChangePlan
    from kubectl_koord.wording.words import Aim


ANSWERED_OTHERWISE = say("error: the server's answer has not what was sent")
"""What is said of an answer of success that shows something else."""


def tried_again(target: str, manager: str) -> str:
    """Return that an object is newer, but not in what is to be changed."""
    return say(
        "{target} was changed meanwhile{by}, but not in what was shown: trying again.", target=target, by=_by(manager)
    )


def done_meanwhile(target: str, manager: str) -> str:
    """Return that somebody else has done the same."""
    return say("{target} was changed meanwhile{by}, and is now as wanted: left alone.", target=target, by=_by(manager))


def overtaken(target: str, manager: str, moved: Sequence[tuple[str, str | int | None, str | int | None]]) -> str:
    """Return that an object is no longer as the plan showed it, and was left alone."""
    differences = SEMICOLON.join(
        say("{field} was {shown}, is now {shown2}", field=field, shown=_shown(shown), shown2=_shown(now))
        for field, shown, now in moved
    )
    return say(
        "error: {target} was changed meanwhile{by}: {differences}; nothing was overwritten, run the "
        "command again to see a new plan",
        target=target,
        by=_by(manager),
        differences=differences,
    )


def too_often(target: str, tries: int) -> str:
    """Return that an object does not hold still."""
    return say(
        "error: {target} was changed {tries} times meanwhile: nothing was overwritten, run the command again",
        target=target,
        tries=tries,
    )


def replaced_whole(target: str, manager: str) -> str:
    """Return that an object of which a whole list is written is newer than the one that was shown."""
    return say(
        "error: {target} was changed meanwhile{by}; nothing was overwritten, run the command again to see a new plan",
        target=target,
        by=_by(manager),
    )


def created_meanwhile(target: str) -> str:
    """Return that an object that was to be created exists."""
    return say(
        "error: {target} was created meanwhile; it was left as it is, run the command again to see a new plan",
        target=target,
    )


def rolled_back(target: str) -> str:
    """Return that a change was taken back."""
    return say("{target}: changed, and rolled back", target=target)


def perhaps_rolled_back(target: str, reason: str, state: str) -> str:
    """Return that nobody knows whether a change was taken back."""
    return say(
        "{target}: changed, and perhaps rolled back: {state}: {reason}", target=target, state=state, reason=reason
    )


def not_rolled_back(target: str, reason: str) -> str:
    """Return that a change could not be taken back."""
    return say("{target}: changed, and NOT rolled back: {reason}", target=target, reason=reason)


def not_rolled_back_after_all(target: str, reason: str, state: str) -> str:
    """Return that a change was not taken back, as was seen when its object was read again."""
    return say("{target}: changed, and NOT rolled back: {state}: {reason}", target=target, state=state, reason=reason)


def failed(target: str, reason: str) -> str:
    """Return that an object could not be changed."""
    return say("{target}: not changed: {reason}", target=target, reason=reason)


def unsure(target: str, reason: str, state: str) -> str:
    """Return that nobody answered whether an object was changed, and what is known of it now."""
    return say("{target}: {state}: {reason}", target=target, state=state, reason=reason)


def unsure_alone(target: str, reason: str, state: str) -> str:
    """Return that nobody answered whether an object was changed, the reason first."""
    return say("{reason} ({target}: {state})", target=target, state=state, reason=reason)


def found_done(target: str, reason: str) -> str:
    """Return that an object has what was sent though no answer said so."""
    return say("{target}: read again, it is as wanted, though this came back: {reason}", target=target, reason=reason)


def found_as_before() -> str:
    """Return that an object has nothing of what was sent; nobody can tell whether the server still has it."""
    return say("read again, it is as before; what was sent may still be carried out")


def found_otherwise(manager: str, moved: Sequence[tuple[str, str | int | None, str | int | None]]) -> str:
    """Return that an object is neither as it was nor as wanted."""
    differences = SEMICOLON.join(
        say("{field} was {shown}, is now {shown2}", field=field, shown=_shown(shown), shown2=_shown(now))
        for field, shown, now in moved
    )
    return say(
        "read again, it is changed, but not as wanted{by}{part}",
        by=_by(manager),
        part=say(": {why}", why=differences) if differences else "",
    )


def found_missing() -> str:
    """Return that an object that was to be changed is gone."""
    return say("read again, it is not there any more")


def not_found_out(reason: str, look: str) -> str:
    """Return that nobody knows whether an object was changed, and how to see."""
    return say("may have been changed, and could not be read again ({reason}); see: {look}", reason=reason, look=look)


def left_alone(target: str) -> str:
    """Return that an object stays as it is, as somebody else made it so."""
    return say("{target}: changed by somebody else, and left alone", target=target)


def not_sent(target: str) -> str:
    """Return that an object was not tried."""
    return say("{target}: not sent", target=target)


def end_of_rollback(reason: str, left: int, unknown: int, of: int, *, is_open: bool = False) -> str:
    """Return the last line after a failure half-way: how many objects are changed, and of how many nobody knows.

    It `is_open` where the request that failed may still be carried out.
    """
    states = [say("{objects} of {of} could not be rolled back", objects=count(left, "object"), of=of)] if left else []
    states += [say("{objects} of {of} may be changed", objects=count(unknown, "object"), of=of)] if unknown else []
    later = say("; what was sent last may still be carried out") if is_open else ""
    return say(
        "{reason} ({states}{later})",
        reason=reason,
        states=COMMA.join(states) or say("all of it was rolled back"),
        later=later,
    )


def applied_by(target: str, manager: str, fields: Sequence[str]) -> str:
    """Return that somebody who applies fields of an object will set them back."""
    what = say("applies {fields} of {target}", fields=listed(fields), target=target)
    return say(
        "{manager} {what} (server-side apply) and may set it back: change it at its source, too.",
        manager=manager or say("Somebody"),
        what=what,
    )


def _by(manager: str) -> str:
    return say(" by {manager}", manager=manager) if manager else ""


def _shown(value: str | int | None) -> str:
    return "absent" if value is None else repr(value)


_TRIES = 10
_LOOK = 1.0
"""Seconds after which it is looked again, where nothing is heard from the cluster."""
_LOOKED_AT = 16
"""Of how many objects it is looked before the plan is shown who applies them."""

Found: TypeAlias = Literal["before", "otherwise", "unknown"]
"""How an object is that was read again: with nothing of a change, neither so nor as wanted, or it could not be read."""


def send(transport: "Transport", planned: "ChangePlan", field_manager: str, aim: "Aim", *, all_or_none: bool) -> None:
    """Send every change of a plan; commands that are printed go where `aim` says.

    With `all_or_none` a failure takes back what was changed before it, object by object, on standard error. Raises
    KoordError when one was not done: with how far it came, or what was rolled back.
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
            so_far = (
                say(" ({number} of {number2} changed before that)", number=len(done), number2=len(planned.changes))
                if is_done
                else ""
            )
            raise KoordError(f"{error.message}{so_far}") from None
    leaving.say(_last_words(planned, len(planned.changes), aim, is_sending=False))


def send_one(transport: "Transport", change: "Change", field_manager: str, aim: "Aim") -> None:
    """Send one change of a plan that is carried out step by step.

    Raises KoordError when it was not done, or nobody knows.
    """
    _Sending(transport, field_manager, aim, is_dry_run=False).send(change)


def evict(transport: "Transport", key: str, nodes: "Sequence[str]", aim: "Aim") -> None:
    """Evict a pod from the nodes where it was shown to be; one that is gone, or about to, is left alone.

    Raises KoordError when it is elsewhere, when it was not evicted, or nobody knows.
    """
    target = ObjectName("Pod", *key.split("/", 1))
    name = name_of(target)
    try:
        pod = apply.read(transport, path_of(target))
    except apply.MissingError:
        tell(say("{name} is gone already.", name=name))
        return
    if values.mapping(pod.get("spec")).get("nodeName") not in nodes:
        raise KoordError(say("error: {name} is not on {nodes} any more", name=name, nodes=listed(tuple(nodes))))
    try:
        answer = apply.evict(transport, target.namespace, target.name, str(pod["metadata"].get("uid") or ""))
    except apply.UnsureError as unsure:
        _after_eviction(transport, target, pod, unsure.message, aim)
        return
    if not answer.allowed:
        raise KoordError(say("error: {name} was not evicted: {message}", name=name, message=answer.message))


def would_evict(transport: "Transport", key: str) -> None:
    """Ask the server whether it would let a pod be evicted. Raises KoordError when it would not."""
    answer = apply.evict_dry_run(transport, *key.split("/", 1))
    if not answer.allowed:
        raise KoordError(say("error: Pod {key} would not be evicted: {message}", key=key, message=answer.message))


def _after_eviction(
    transport: "Transport", target: "ObjectName", before: "dict[str, Any]", reason: str, aim: "Aim"
) -> None:
    """Go on if a pod is being evicted, though no answer said so."""
    try:
        now = apply.read(transport, path_of(target))
    except apply.MissingError:
        now = {}
    except KoordError as problem:
        state = not_found_out(problem.message, _look_at(target, aim))
        raise KoordError(unsure_alone(name_of(target), reason, state)) from None
    metadata = now.get("metadata") or {}
    if metadata.get("uid") == before["metadata"].get("uid") and not metadata.get("deletionTimestamp"):
        raise KoordError(unsure_alone(name_of(target), reason, found_as_before()))
    tell(found_done(name_of(target), reason))


def state_of(transport: "Transport", target: "ObjectName") -> "Mapping[str, Any]":
    """Return the status of an object that was created, nothing where it is gone."""
    try:
        return values.mapping(apply.read(transport, path_of(target)).get("status"))
    except apply.MissingError:
        return {}


def seen(cluster: "ClusterWatch", lacking: "Callable[[Snapshot], str]", seconds: float) -> "Snapshot":
    """Return the cluster once nothing is lacking any more of what was sent.

    Raises KoordError with what is, when it does not come in time.
    """
    end = time.monotonic() + seconds
    while True:
        now = cluster.snapshot()
        missing = lacking(now)
        if not missing:
            return now
        left = end - time.monotonic()
        if left <= 0:
            raise KoordError(say("error: {missing}, after {seconds:g} s", missing=missing, seconds=seconds))
        select.select([cluster], [], [], min(left, _LOOK))
        time.sleep(min(left, _LOOK) / 4)


def manifests_of(changes: "Sequence[Change]", pods: "Sequence[str]") -> "list[dict[str, Any]]":
    """Return changes and evictions as manifests: what is created whole, of what is patched the fields that are set."""
    found: list[dict[str, Any]] = []
    for change in changes:
        kind = KINDS[change.object.kind]
        version = kind.api.removeprefix("/apis/").removeprefix("/api/")
        place = {"namespace": change.object.namespace} if change.object.namespace else {}
        head = {"apiVersion": version, "kind": change.object.kind, "metadata": {"name": change.object.name, **place}}
        patch = {name: value for name, value in change.patch.items() if name != "metadata"}
        found.append(dict(change.patch) if change.creates else head | patch)
    return [*found, *(apply.eviction(*key.split("/", 1)) for key in pods)]


def with_appliers(transport: "Transport", planned: "ChangePlan") -> "ChangePlan":
    """Return a plan that notes who will set back what is changed, where that may be read: of its first objects."""
    notes = []
    changed = [change for change in planned.changes if not change.creates]
    for change in changed[:_LOOKED_AT]:
        with suppress(KoordError):
            now = apply.read(transport, path_of(change.object))
            found = values.appliers(change, now).items()
            notes += [applied_by(name_of(change.object), manager, fields) for manager, fields in found]
    if len(changed) > _LOOKED_AT:
        notes.append(
            say(
                "Whether others apply these fields was looked up of the first {looked_at} objects.",
                looked_at=_LOOKED_AT,
            )
        )
    return structs.replace(planned, notes=(*planned.notes, *notes)) if notes else planned


class _UnsureError(KoordError):
    """A change that no answer tells of: what came in place of one, and what was found out of its object since."""

    def __init__(self, target: str, reason: str, found: Found, state: str) -> None:
        super().__init__(unsure_alone(target, reason, state))
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
                    raise KoordError(created_meanwhile(target)) from None
                now = self.read(change)
                if values.version_of(now) == change.resource_version:
                    raise KoordError(conflict.message) from None  # a refusal of another kind
                manager = values.last_manager(now)
                if change.object.kind == "ClusterNetworkTopology":  # its layers are one list, sent as a whole
                    raise KoordError(replaced_whole(target, manager)) from None
                if values.is_done(change, now):
                    tell(done_meanwhile(target, manager))
                    return None
                change = self._rebased(change, now)
                tell(tried_again(target, manager))
        raise KoordError(too_often(target, _TRIES))

    def _looked_at(self, change: "Change", reason: str) -> dict[str, Any]:
        """Return the object if it is as wanted, though no answer said that it was changed.

        Raises _UnsureError with what it is, or that it could not be read.
        """
        if self._is_dry_run:
            raise KoordError(reason)  # whatever became of it, nothing was stored
        target = name_of(change.object)
        try:
            now = self.read(change)
        except apply.MissingError:
            if change.creates:
                raise _UnsureError(target, reason, "before", found_as_before()) from None
            raise _UnsureError(target, reason, "otherwise", found_missing()) from None
        except KoordError as problem:
            state = not_found_out(problem.message, _look_at(change.object, self._aim))
            raise _UnsureError(target, reason, "unknown", state) from None
        if values.is_in(change, now):
            tell(found_done(target, reason))
            return now
        is_whole = change.object.kind == "ClusterNetworkTopology"  # its layers are one list, sent as a whole
        moved = () if is_whole else values.moved(change, now)
        is_same = values.version_of(now) == change.resource_version
        if not change.creates and (is_same or not (is_whole or moved)):
            raise _UnsureError(target, reason, "before", found_as_before())
        fields = [(one.field, one.shown, one.now) for one in moved]
        state = found_otherwise(values.last_manager(now), fields)
        raise _UnsureError(target, reason, "otherwise", state)

    def _as_it_is(self, change: "Change") -> "Change":
        """Return a change with the resource version that its object has now, if it is as the plan showed it."""
        return self._rebased(change, self.read(change))

    def _rebased(self, change: "Change", now: dict[str, Any]) -> "Change":

        moved = values.moved(change, now)
        if moved:
            fields = [(one.field, one.shown, one.now) for one in moved]
            manager = values.last_manager(now)
            raise KoordError(overtaken(name_of(change.object), manager, fields)) from None
        return values.rebased(change, now)

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
        if not values.is_in(change, answer):
            raise apply.UnsureError(ANSWERED_OTHERWISE)
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
            lines.append(left_alone(target))
            continue
        leaving.say(say("interrupted: {target} and those before it may not have been rolled back\n", target=target))
        try:
            sending.send(values.undone(change, sent))
            lines.append(rolled_back(target))
        except _UnsureError as lost:
            is_unknown = lost.found == "unknown"
            states.append("unknown" if is_unknown else "otherwise")
            told = perhaps_rolled_back if is_unknown else not_rolled_back_after_all
            lines.append(told(target, lost.reason, lost.state))
        except KoordError as refusal:
            states.append("otherwise")
            lines.append(not_rolled_back(target, refusal.message))
    lines += [not_sent(name_of(change.object)) for change in changes[len(done) + 1 :]]
    for line in lines:
        tell(line)
    leaving.say("")
    reason = error.reason if isinstance(error, _UnsureError) else error.message
    left, unknown = states.count("otherwise"), states.count("unknown")
    is_open = states[:1] == ["before"]
    return KoordError(end_of_rollback(reason, left, unknown, len(changes), is_open=is_open))


def _line(target: str, error: KoordError) -> str:
    """Return what became of the object whose change failed."""
    if isinstance(error, _UnsureError):
        return unsure(target, error.reason, error.state)
    return failed(target, error.message)


def tell(line: str) -> None:
    """Say on standard error what is being done."""
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
        return say("interrupted: nothing was changed, it was a dry run\n")
    names = [name_of(change.object) for change in planned.changes]
    lines = [say("changed: {names}", names=say(", ").join(names[:done]))] if done else []
    if is_sending:
        look = _look_at(planned.changes[done].object, aim)
        lines.append(
            say("may have been changed, as it was being sent: {names}; see: {look}", names=names[done], look=look)
        )
    if unsent := names[done + is_sending :]:
        lines.append(say("not sent: {unsent}", unsent=say(", ").join(unsent)))
    return "".join(say("{harmless}\n", harmless=harmless(say("interrupted: {line}", line=line))) for line in lines)


def _look_at(target: "ObjectName", aim: "Aim") -> str:
    within = ("-n", target.namespace) if target.namespace else ()
    return aimed(shlex.join(["kubectl", "get", target.kind.lower(), target.name, *within, "-o", "yaml"]), aim)


def _objects_as_written(session: "Session") -> "Iterator[dict[str, Any]]":
    """Return the objects of the files, or of the demo, that stand in place of a cluster."""
    from kubectl_koord.cluster import edits

    return edits.objects(edits.demo() if session.options.demo else edits.manifests_read(session.files()))


def workload_as_written(session: "Session", name: str) -> "dict[str, Any]":
    """Return a workload, `KIND/NAME`, as its user would write it: of a live cluster, or out of the files in its place.

    Raises KoordError when there is none.
    """
    from kubectl_koord.cluster.manifests.read import as_created, paths_of

    kind, _, bare = name.partition("/")
    if not bare:
        raise KoordError(say("error: --create needs -f, or a workload as KIND/NAME: job/x, pytorchjob/x"))
    namespace = session.namespace()
    paths = tuple(paths_of(kind, namespace))
    if not paths:
        raise KoordError(say("error: {kind!r} is no kind of workload that is known here", kind=kind))
    if session.transport is None:
        if "-" in session.options.snapshots:
            raise KoordError(say("error: a workload is read twice: give a file instead of standard input"))
        wanted = {kind.lower(), kind.lower().removesuffix("s")}
        for written in _objects_as_written(session):
            meta = written.get("metadata")
            if str(written.get("kind")).lower() not in wanted or not isinstance(meta, dict):
                continue
            if (meta.get("namespace") or "default", meta.get("name")) == (namespace, bare):
                return as_created(written)
        raise KoordError(
            say("error: no {kind} {bare} in namespace {namespace}", kind=kind, bare=bare, namespace=namespace)
        )
    *others, last = paths
    for path in others:
        try:
            return as_created(apply.read(session.transport, f"{path}/{bare}"))
        except apply.MissingError:
            pass  # of a kind that has two versions one may not be served
    return as_created(apply.read(session.transport, f"{last}/{bare}"))


def runs(session: "Session", namespace: str, deployment: str) -> bool:
    """Tell whether a Deployment is there and wants pods; of one that may not be read it is taken that it is not."""
    written: dict[str, Any] = {}
    if session.transport is not None:
        with suppress(KoordError):
            written = apply.read(session.transport, f"{KINDS['Deployment'].path(namespace)}/{deployment}")
    elif "-" not in session.options.snapshots:
        of_kind = (one for one in _objects_as_written(session) if one.get("kind") == "Deployment")
        written = next((one for one in of_kind if values.mapping(one.get("metadata")).get("name") == deployment), {})
    return bool(written) and values.mapping(written.get("spec")).get("replicas", 1) != 0


def pods_as_written(session: "Session", keys: "Sequence[str]") -> "dict[str, dict[str, Any]]":
    """Return pods as they are: of a live cluster read now, each by its name; else out of the same files."""
    if not keys:
        return {}
    if session.transport is not None:
        return {key: apply.read(session.transport, path_of(ObjectName("Pod", *key.split("/", 1)))) for key in keys}
    if "-" in session.options.snapshots:
        raise KoordError(say("error: pods that define a gang are read twice: give a file instead of standard input"))
    found = {}
    for written in _objects_as_written(session):
        metadata = written.get("metadata")
        if written.get("kind") == "Pod" and isinstance(metadata, dict):
            found[f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"] = written
    missing = [key for key in keys if key not in found]
    if missing:
        raise KoordError(
            say(
                "error: pod {missing} cannot be found as it was written: its settings are not known", missing=missing[0]
            )
        )
    return {key: found[key] for key in keys}
