"""The sentences about objects that somebody else changes while we do."""

from collections.abc import Sequence

from kubectl_koord.wording.words import count


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


def not_rolled_back(target: str, reason: str) -> str:
    """Return that a change could not be taken back."""
    return f"{target}: changed, and NOT rolled back: {reason}"


def failed(target: str, reason: str) -> str:
    """Return that an object could not be changed."""
    return f"{target}: not changed: {reason}"


def unsure(target: str, reason: str) -> str:
    """Return that nobody knows whether an object was changed."""
    return f"{target}: may have been changed: {reason}"


def not_sent(target: str) -> str:
    """Return that an object was not tried."""
    return f"{target}: not sent"


def end_of_rollback(reason: str, left: int, of: int) -> str:
    """Return the last line after a failure half-way."""
    state = f"{count(left, 'object')} of {of} could not be rolled back" if left else "all of it was rolled back"
    return f"{reason} ({state})"


def _by(manager: str) -> str:
    return f" by {manager}" if manager else ""


def _shown(value: str | int | None) -> str:
    return "absent" if value is None else repr(value)
