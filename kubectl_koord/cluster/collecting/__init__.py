"""Decoded objects to one Snapshot."""
