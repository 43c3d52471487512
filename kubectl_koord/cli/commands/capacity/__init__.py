"""Verbs about domains, nodes, devices and quotas."""
