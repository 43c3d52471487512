"""Without kubectl: the connection pool of the `kubernetes` client library.

Only the pool is used. Which server, and as whom, is settled in `kubeconfig` and `credentials`; nothing is retried,
redirected or sent without credentials.
"""
