"""Questions about jobs: those that wait, preempt, were preempted, or are to come."""
