"""Snapshots of a cluster as files: what was read, and nothing that no answer rests on."""
