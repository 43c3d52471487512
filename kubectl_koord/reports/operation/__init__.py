"""Answers for those who run the cluster."""
