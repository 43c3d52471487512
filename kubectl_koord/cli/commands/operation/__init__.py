"""Verbs for those who run the cluster."""
