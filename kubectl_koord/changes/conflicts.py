"""What to do with a planned change whose object is newer than the one that was planned for."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from kubectl_koord.changes.settings import Value, mapping, merge_patch, value
from kubectl_koord.reports.change import Change


class ChangedField(Struct, frozen=True):
    """A field that is no longer as the plan showed it."""

    field: str
    shown: Value
    now: Value


def moved(change: Change, now: Mapping[str, Any]) -> tuple[ChangedField, ...]:
    """Return the fields of a change that are no longer as it showed them."""
    found = (ChangedField(field, shown, value(now, field)) for field, shown in change.before.items())
    return tuple(one for one in found if one.shown != one.now)


def is_done(change: Change, now: Mapping[str, Any]) -> bool:
    """Tell whether an object has all that a change wants."""
    return all(value(now, field) == wanted for field, wanted in change.after.items())


def is_in(change: Change, now: Mapping[str, Any]) -> bool:
    """Tell whether an object is as a change leaves it: all that it sends is there, and all that it removes is not."""
    metadata = {key: sent for key, sent in mapping(change.patch.get("metadata")).items() if key != "resourceVersion"}
    return _has({**change.patch, "metadata": metadata}, now)


def _has(sent: object, now: object) -> bool:
    if isinstance(sent, dict):
        found = mapping(now)
        return all(_has(wanted, found.get(key)) for key, wanted in sent.items())
    if isinstance(sent, list):
        return (
            isinstance(now, list) and len(now) == len(sent) and all(_has(*pair) for pair in zip(sent, now, strict=True))
        )
    return sent == now or (sent is None and now == 0)  # 0 is absent for Go


def rebased(change: Change, now: Mapping[str, Any]) -> Change:
    """Return the same change of the object as it is now."""
    version = version_of(now)
    return structs.replace(change, patch=merge_patch(change.after, version), resource_version=version)


def undone(change: Change, now: Mapping[str, Any]) -> Change:
    """Return the change that takes another back, from the object as it is now."""
    version = version_of(now)
    patch = merge_patch(change.before, version)
    return structs.replace(change, before=change.after, after=change.before, patch=patch, resource_version=version)


def version_of(now: Mapping[str, Any]) -> str:
    """Return the resource version of an object, empty where it has none."""
    return str(mapping(now.get("metadata")).get("resourceVersion") or "")


def appliers(change: Change, now: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """Return who applies fields of a change (server-side apply), by name with the fields: they will set them back."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in _managed(now):
        if entry.get("operation") == "Apply":
            owned = tuple(field for field in {**change.before, **change.after} if _owns(entry, field))
            found |= {str(entry.get("manager") or ""): owned} if owned else {}
    return found


def _owns(entry: Mapping[str, Any], field: str) -> bool:
    """Tell whether an entry of managed fields holds a field, whose path there is that of the patch which sets it."""
    place: object = mapping(entry.get("fieldsV1"))
    sent: object = merge_patch({field: ""}, "")
    while isinstance(sent, dict):
        key, sent = next((key, below) for key, below in sent.items() if below != {})
        if f"f:{key}" not in mapping(place):
            return False
        place = mapping(place)[f"f:{key}"]
    return True


def last_manager(now: Mapping[str, Any]) -> str:
    """Return who changed an object last, by its managed fields, empty where they do not say."""
    last = max(_managed(now), key=lambda entry: str(entry.get("time") or ""), default={})
    return str(last.get("manager") or "")


def _managed(now: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    managed = mapping(now.get("metadata")).get("managedFields")
    return [entry for entry in managed if isinstance(entry, dict)] if isinstance(managed, list) else []
