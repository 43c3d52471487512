from tests.cli.conftest import cluster, installed, koord, plain_output, server
from tests.cluster.conftest import home, kubectl, no_kubectl, other_tls, tls

__all__ = [
    "cluster",
    "home",
    "installed",
    "koord",
    "kubectl",
    "no_kubectl",
    "other_tls",
    "plain_output",
    "server",
    "tls",
]
