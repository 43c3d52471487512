"""What the scheduler decides before it tries a job: whether, as what, and when."""
