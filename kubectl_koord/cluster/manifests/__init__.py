"""Pods that do not exist yet, from manifests: each kind of workload is a row of `families`, with a module per family.

A row knows which pods its controller would make of the templates and the replica counts; nothing here decides.
"""
