"""Without kubectl: the connections of the `kubernetes` client library.

TLS, proxies and the pool are the library's. Which server and proxy, and as whom, is settled here, as client-go has it
(docs/decisions/0016-kubeconfig-of-our-own.md); nothing is retried, redirected or sent without credentials.
"""
