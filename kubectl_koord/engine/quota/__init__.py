"""Elastic quotas: which quota a pod counts against, what each may use, and what it refuses."""
