"""One attempt to place a job, as the scheduler makes it."""
