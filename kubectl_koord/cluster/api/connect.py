"""Which way leads to the cluster: kubectl's own, or the client library where there is no kubectl."""

import os

from kubectl_koord.cluster.api import kubectl as proxy
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.transport import Notify, Transport
from kubectl_koord.errors import KoordError


def connect(connection: Connection, *, writes: bool, notify: Notify | None = None) -> Transport:
    """Return a way to the cluster, at once: the first request waits for what it needs.

    With kubectl this starts two children, `kubectl proxy` and `kubectl config view`, and forks:
    call it first, before threads and large imports. Unless `writes`, nothing but GET gets through.
    `notify` is called once, with what is waited for, when the server has sent nothing for a second.

    Raises KoordError when there is no such way.
    """
    if kubectl := find_kubectl():
        return proxy.start(kubectl, connection, writes=writes, notify=notify)
    from kubectl_koord.cluster.api import direct  # noqa: PLC0415 - start-up time

    return direct.start(connection, writes=writes, notify=notify)


def find_kubectl() -> str:
    """Return the kubectl to use, empty when there is none: the one that called us, else the first on PATH.

    Raises KoordError when KUBECTL_PATH names no program.
    """
    if not hasattr(os, "fork"):
        return ""
    if named := os.environ.get("KUBECTL_PATH"):
        if not _is_program(named):
            raise KoordError(f"error: KUBECTL_PATH={named} is no program")
        return named
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = (os.path.join(folder, "kubectl") for folder in folders if folder)  # noqa: PTH118
    return next(filter(_is_program, paths), "")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113
