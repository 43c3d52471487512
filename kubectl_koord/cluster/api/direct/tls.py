"""TLS as the kubeconfig asks for it."""

import os
import ssl
import tempfile
from pathlib import Path

from kubectl_koord import leaving
from kubectl_koord.cluster.api.direct.credentials import Credentials
from kubectl_koord.cluster.api.direct.kubeconfig import Cluster, data_or_file
from kubectl_koord.errors import KoordError


def context_of(cluster: Cluster, who: Credentials) -> ssl.SSLContext:
    """Return the context of TLS connections to the cluster.

    The key is on the disk for a moment only, in a file that nobody else can read: the client library would leave it
    there until the process ends in an orderly way.

    Raises:
        KoordError: when the certificates cannot be used.

    """
    authority = data_or_file(cluster, "certificate-authority")
    if authority and cluster.insecure_skip_tls_verify:
        raise KoordError("error: specifying a root certificates file with the insecure flag is not allowed")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        # Python 3.13 turns away CAs that kubectl takes; chain and name are still checked.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if cluster.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if who.certificate:
            _load_key(context, who)
    except (ssl.SSLError, ValueError) as problem:
        reason = getattr(problem, "reason", None) or "it is no PEM"
        raise KoordError(f"error: unable to use the certificates of the kubeconfig: {reason}") from None
    return context


def _load_key(context: ssl.SSLContext, who: Credentials) -> None:
    with leaving.SignalsBlocked():
        descriptor, path = tempfile.mkstemp(prefix="kubectl-koord-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(who.certificate + b"\n" + who.key)
            # An encrypted key is refused, and no password asked for on the terminal, as kubectl has it.
            context.load_cert_chain(path, password=lambda: b"")
        finally:
            Path(path).unlink()
