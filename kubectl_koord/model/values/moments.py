"""Moments as Kubernetes writes them: RFC 3339, and the time between two of them."""

from datetime import UTC, datetime, timedelta


def later(start: str, by: timedelta) -> str:
    """Return the RFC 3339 moment so much later, in UTC, empty where `start` is none."""
    try:
        return f"{(datetime.fromisoformat(start) + by).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        return ""


def between(start: str, end: str) -> timedelta | None:
    """Return the time from one RFC 3339 moment to another, None where one of them is none."""
    try:
        return datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):  # not a time; one with and one without a time zone
        return None
