from tests.cli.conftest import (
    cluster,
    home,
    installed,
    koord,
    kubectl,
    no_kubectl,
    other_tls,
    plain_output,
    server,
    tls,
)

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
