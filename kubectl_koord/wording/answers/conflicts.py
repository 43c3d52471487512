"""The sentences about objects that somebody else changes while we do."""

from collections.abc import Sequence

from kubectl_koord.wording.words import count, listed

ANSWERED_OTHERWISE = "error: the server's answer has not what was sent"
"""What is said of an answer of success that shows something else."""


def tried_again(target: str, manager: str) -> str:
    """Return that an object is newer, but not in what is to be changed."""
    return f"{target} was changed meanwhile{_by(manager)}, but not in what was shown: trying again."


def done_meanwhile(target: str, manager: str) -> str:
    """Return that somebody else has done the same."""
    return f"{target} was changed meanwhile{_by(manager)}, and is now as wanted: left alone."


def overtaken(target: str, manager: str, moved: Sequence[tuple[str, str | int | None, str | int | None]]) -> str:
    """Return that an object is no longer as the plan showed it, and was left alone."""
    differences = "; ".join(f"{field} was {_shown(shown)}, is now {_shown(now)}" for field, shown, now in moved)
    return (
        f"error: {target} was changed meanwhile{_by(manager)}: {differences}; nothing was overwritten, "
        "run the command again to see a new plan"
    )


def too_often(target: str, tries: int) -> str:
    """Return that an object does not hold still."""
    return f"error: {target} was changed {tries} times meanwhile: nothing was overwritten, run the command again"


def replaced_whole(target: str, manager: str) -> str:
    """Return that an object of which a whole list is written is newer than the one that was shown."""
    return (
        f"error: {target} was changed meanwhile{_by(manager)}; nothing was overwritten, "
        "run the command again to see a new plan"
    )


def created_meanwhile(target: str) -> str:
    """Return that an object that was to be created exists."""
    return f"error: {target} was created meanwhile; it was left as it is, run the command again to see a new plan"


def rolled_back(target: str) -> str:
    """Return that a change was taken back."""
    return f"{target}: changed, and rolled back"


def perhaps_rolled_back(target: str, reason: str, state: str) -> str:
    """Return that nobody knows whether a change was taken back."""
    return f"{target}: changed, and perhaps rolled back: {state}: {reason}"


def not_rolled_back(target: str, reason: str) -> str:
    """Return that a change could not be taken back."""
    return f"{target}: changed, and NOT rolled back: {reason}"


def not_rolled_back_after_all(target: str, reason: str, state: str) -> str:
    """Return that a change was not taken back, as was seen when its object was read again."""
    return f"{target}: changed, and NOT rolled back: {state}: {reason}"


def failed(target: str, reason: str) -> str:
    """Return that an object could not be changed."""
    return f"{target}: not changed: {reason}"


def unsure(target: str, reason: str, state: str) -> str:
    """Return that nobody answered whether an object was changed, and what is known of it now."""
    return f"{target}: {state}: {reason}"


def unsure_alone(target: str, reason: str, state: str) -> str:
    """Return the same, where the reason comes first."""
    return f"{reason} ({target}: {state})"


def found_done(target: str, reason: str) -> str:
    """Return that an object has what was sent though no answer said so."""
    return f"{target}: read again, it is as wanted, though this came back: {reason}"


def found_as_before() -> str:
    """Return that an object has nothing of what was sent; nobody can tell whether the server still has it."""
    return "read again, it is as before; what was sent may still be carried out"


def found_otherwise(manager: str, moved: Sequence[tuple[str, str | int | None, str | int | None]]) -> str:
    """Return that an object is neither as it was nor as wanted."""
    differences = "; ".join(f"{field} was {_shown(shown)}, is now {_shown(now)}" for field, shown, now in moved)
    return f"read again, it is changed, but not as wanted{_by(manager)}{f': {differences}' if differences else ''}"


def found_missing() -> str:
    """Return that an object that was to be changed is gone."""
    return "read again, it is not there any more"


def not_found_out(reason: str, look: str) -> str:
    """Return that nobody knows whether an object was changed, and how to see."""
    return f"may have been changed, and could not be read again ({reason}); see: {look}"


def left_alone(target: str) -> str:
    """Return that an object stays as it is, as somebody else made it so."""
    return f"{target}: changed by somebody else, and left alone"


def not_sent(target: str) -> str:
    """Return that an object was not tried."""
    return f"{target}: not sent"


def end_of_rollback(reason: str, left: int, unknown: int, of: int, *, is_open: bool = False) -> str:
    """Return the last line after a failure half-way: how many objects are changed, and of how many nobody knows.

    It `is_open` where the request that failed may still be carried out.
    """
    states = [f"{count(left, 'object')} of {of} could not be rolled back"] if left else []
    states += [f"{count(unknown, 'object')} of {of} may be changed"] if unknown else []
    later = "; what was sent last may still be carried out" if is_open else ""
    return f"{reason} ({', '.join(states) or 'all of it was rolled back'}{later})"


def applied_by(target: str, manager: str, fields: Sequence[str]) -> str:
    """Return that somebody who applies fields of an object will set them back."""
    what = f"applies {listed(fields)} of {target}"
    return f"{manager or 'Somebody'} {what} (server-side apply) and may set it back: change it at its source, too."


def _by(manager: str) -> str:
    return f" by {manager}" if manager else ""


def _shown(value: str | int | None) -> str:
    return "absent" if value is None else repr(value)
