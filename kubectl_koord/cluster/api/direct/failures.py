"""Failures of urllib3, in kubectl's words."""

import socket
import ssl
from collections.abc import Iterator

from urllib3.exceptions import NewConnectionError
from urllib3.exceptions import TimeoutError as Timeout

from kubectl_koord.cluster.api.limits import Deadline
from kubectl_koord.cluster.api.transport import no_headers_in_time, refused, unable, unsent
from kubectl_koord.errors import KoordError

# OpenSSL's numbers for failures that x509 in Go words.
_UNTRUSTED = (2, 18, 19, 20, 21)
_EXPIRED = (9, 10)
_OTHER_NAME = (62, 64)


def failure(problem: Exception, server: str, deadline: Deadline) -> KoordError:
    """Return what kubectl says of the same fault."""
    address = server.partition("://")[2].partition("/")[0]
    chain = list(_causes(problem))
    for cause in chain:
        if isinstance(cause, ConnectionRefusedError):
            return refused(address)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return unsent(f"tls: failed to verify certificate: x509: {_x509(cause, address)}")
        if isinstance(cause, socket.gaierror):
            return unsent(f"dial tcp: lookup {address.rpartition(':')[0] or address}: no such host")
    # urllib3 calls every failure to connect a timeout as well.
    if any(isinstance(cause, (Timeout, TimeoutError)) and not isinstance(cause, NewConnectionError) for cause in chain):
        return deadline.error(no_headers_in_time)
    last = chain[-1]
    if any(isinstance(cause, NewConnectionError) for cause in chain):
        return unsent(str(last))
    return unable(_said(last))


def _said(problem: BaseException) -> str:
    """Return what a failure says of itself, unless its text may quote what is secret."""
    if isinstance(problem, ValueError):
        return "net/http: malformed HTTP request or response"
    return "EOF" if "RemoteDisconnected" in type(problem).__name__ else str(problem)


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all from which it came, down to the first."""
    while problem is not None:
        yield problem
        inner = next((part for part in problem.args if isinstance(part, BaseException)), None)
        problem = inner or problem.__cause__ or problem.__context__


def _x509(problem: ssl.SSLCertVerificationError, address: str) -> str:
    if problem.verify_code in _UNTRUSTED:
        return "certificate signed by unknown authority"
    if problem.verify_code in _EXPIRED:
        return "certificate has expired or is not yet valid"
    if problem.verify_code in _OTHER_NAME:
        return f"cannot validate certificate for {address.rpartition(':')[0] or address}: it is for another name"
    return str(problem.verify_message)
