"""A cluster that is kept up to date: each kind is listed once, and then watched from the version of its list.

As client-go's reflector does: a watch that ends goes on from the last version seen, one whose version the server
has forgotten begins with a new list, and failures are retried after ever longer pauses, up to a limit.
"""
