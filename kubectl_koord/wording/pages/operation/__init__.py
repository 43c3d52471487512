"""Sentences of the pages for those who run the cluster."""
