"""Whom the scheduler preempts for a job whose attempt failed."""
