"""A subject, the simulation of what the scheduler does with it, and the edits of a what-if."""
