"""Which rights our commands lack, found out with GETs alone: a SelfSubjectAccessReview would be a POST."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from urllib.parse import quote

from kubectl_koord.cluster import kinds, rbac
from kubectl_koord.cluster.api.transport import LONGEST_REPLY, Transport, message_of
from kubectl_koord.cluster.bounds import Outcomes
from kubectl_koord.cluster.kinds import only_named
from kubectl_koord.cluster.rbac import Right
from kubectl_koord.cluster.source import CRD, is_missing
from kubectl_koord.model.installation import Lack

_AT_ONCE = 6
_NOBODY = "kubectl-koord-asks-for-rights"
"""The name of no pod, and a label that nothing has: what is asked for does not matter."""
_OF_NOTHING = f"labelSelector={_NOBODY}&resourceVersion=0&timeoutSeconds=1&watch=true"
_MANAGED = "kube-system"
"""Where the lease of the controllers is, the only one that is read by its name."""
_FORBIDDEN, _NOT_FOUND = 403, 404
_ALLOWED = (200, _NOT_FOUND)


def lacking(
    transport: Transport, reads: Mapping[str, Collection[str]], home: str, namespace: Callable[[], str]
) -> tuple[Lack, ...]:
    """Return the rights that commands lack, and those that could not be checked; `doctor` lists its own itself.

    Args:
        transport: the way to the API server.
        reads: what each command reads.
        home: the namespace that Koordinator is installed in.
        namespace: the user's.

    Raises KoordError when the server cannot be reached.
    """
    wanted = _wanted(reads)
    own = namespace()
    asked = [(right, _path(right, home, own), tuple(commands)) for right, commands in sorted(wanted.items())]
    outcomes = Outcomes[list[tuple[str, Lack]]]()
    for first in range(_AT_ONCE):
        outcomes.begin(partial(_refused, transport, asked[first::_AT_ONCE]))
    found = [lack for _ in range(_AT_ONCE) for lack in outcomes.wait()]
    # The server refuses a path before it looks whether there is one.
    apis = {path.rpartition("/")[0] for path, lack in found if lack.is_sure and path.startswith("/apis/")}
    gone = {api for api in apis if is_missing(transport, api)}
    lacks = (lack for path, lack in found if path.rpartition("/")[0] not in gone)
    return tuple(sorted(lacks, key=lambda lack: (lack.resource, lack.verb)))


def _wanted(reads: Mapping[str, Collection[str]]) -> dict[Right, list[str]]:
    """Return the rights that `doctor` does not use, each with the commands that do.

    Without what is read around the scheduler: no answer about gangs rests on it, and a layer that lacks it says so.
    """
    listed = {(kinds.KINDS[name].group, kinds.KINDS[name].plural) for name in kinds.DOCTOR_KINDS}
    found: dict[Right, list[str]] = {}
    for command, some in reads.items():
        for right in rbac.reading(some):
            if right.verb != "list" or (right.group, right.resource) not in listed:
                found.setdefault(right, []).append(command)
    return found


def _refused(transport: Transport, asked: Iterable[tuple[Right, str, tuple[str, ...]]]) -> list[tuple[str, Lack]]:
    found = []
    for right, path, commands in asked:
        body = transport.watch(path, 1) if right.verb == "watch" else transport.open(path)
        try:
            status = body.status
            said = "" if status in _ALLOWED else message_of(status, body.read(LONGEST_REPLY), path)
        finally:
            body.close()
        if said:
            resource = rbac.resource_name(right.group, right.resource)
            lack = Lack(resource, right.verb, commands, said, is_sure=status == _FORBIDDEN)
            found.append((path.partition("?")[0], lack))
    return found


def _path(right: Right, home: str, namespace: str) -> str:
    """Return what is answered with 403 without the right, and is cheap with it."""
    kind = next((one for one in kinds.KINDS.values() if (one.group, one.plural) == (right.group, right.resource)), None)
    if kind is None:
        return CRD
    if right.verb == "get":
        of_manager = f"{kind.path(_MANAGED)}/{right.name}"
        return of_manager if kind is kinds.LEASE else f"{kind.path()}/{quote(namespace, safe='')}"
    query = "limit=1" if right.verb == "list" else _OF_NOTHING
    only = f"{only_named(right.name)}&" if right.name else ""
    return f"{kind.path(home if kind.home else '')}?{only}{query}"
