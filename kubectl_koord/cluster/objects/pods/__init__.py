"""Pods: the fields that are read, and the values that are kept."""
