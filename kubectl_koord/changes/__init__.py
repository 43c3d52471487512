"""Planned writes as values: snapshot and intent in, changes with before, after and patch out. Nothing is sent."""
