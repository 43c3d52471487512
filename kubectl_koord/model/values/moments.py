"""Moments as Kubernetes writes them: RFC 3339, and the time between two of them."""

from datetime import datetime, timedelta


def between(start: str, end: str) -> timedelta | None:
    """Return the time from one RFC 3339 moment to another, None where one of them is none."""
    try:
        return datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):  # not a time; one with and one without a time zone
        return None
