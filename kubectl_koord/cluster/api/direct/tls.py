"""TLS as the kubeconfig asks for it."""

import os
import ssl
import tempfile
from pathlib import Path
from typing import Any

from kubectl_koord import leaving
from kubectl_koord.cluster.api.direct.credentials import Credentials
from kubectl_koord.cluster.api.direct.kubeconfig import data_or_file
from kubectl_koord.errors import KoordError


def context_of(cluster: dict[str, Any], who: Credentials) -> ssl.SSLContext:
    """Return the context of TLS connections to the cluster.

    The key is on the disk for a moment only, in a file that nobody else can read.

    Raises:
        KoordError: when the certificates cannot be used.

    """
    authority = data_or_file(cluster, "certificate-authority")
    insecure = bool(cluster.get("insecure-skip-tls-verify"))
    if authority and insecure:
        raise KoordError("error: specifying a root certificates file with the insecure flag is not allowed")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        # Python 3.13 turns away CAs that kubectl takes; chain and name are still checked.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if who.certificate:
            _load_key(context, who)
    except (ssl.SSLError, ValueError) as problem:
        raise KoordError(f"error: unable to use the certificates of the kubeconfig: {problem}") from None
    return context


def _load_key(context: ssl.SSLContext, who: Credentials) -> None:
    with leaving.SignalsBlocked():
        descriptor, path = tempfile.mkstemp(prefix="kubectl-koord-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(who.certificate + b"\n" + who.key)
            context.load_cert_chain(path)
        finally:
            Path(path).unlink()
