"""Frozen values: what was read of a cluster, and nothing of how it was read.

Nothing here decides anything. All names are plain strings, all amounts whole numbers in base
units (CPU in milli-CPU, everything else in units, bytes or devices).
"""
