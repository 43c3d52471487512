"""What each flag is for, for completion and the man pages: Typer, which knows those of a verb, is not imported.

The flags of verbs come from `flags.json`, which is generated from the command tree.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

OF_EVERY_VERB: Mapping[str, tuple[str, str]] = {
    "--snapshot": ("FILE|DIR", "Read what kubectl get -o json printed (-: standard input)."),
    "--demo": ("", "Read the embedded demo cluster."),
    "--recursive": ("", "Read the folders within a folder, too."),
    "--koordinator-version": ("1.7|1.8|main", "Evaluate as this version (default: detected)."),
    "--koordinator-namespace": ("NAME", "Where Koordinator is installed (default: found)."),
    "--output": ("FORMAT", "Output format: json, yaml, wide, name, jsonpath=... or custom-columns=..."),
    "--color": ("auto|always|never", "When to use colour."),
    "--no-pager": ("", "Do not show what is longer than the terminal in a pager."),
    "--help": ("", "Show help, with examples; -h: in short."),
}
OF_CONNECTIONS: Mapping[str, tuple[str, str]] = {
    "--as": ("USER", "Username to impersonate."),
    "--as-group": ("GROUP", "Group to impersonate; may be repeated."),
    "--as-uid": ("UID", "UID to impersonate."),
    "--as-user-extra": ("KEY=VALUE", "User extras to impersonate; may be repeated."),
    "--cache-dir": ("DIR", "Cache directory of kubectl."),
    "--certificate-authority": ("FILE", "Certificate of the certificate authority."),
    "--client-certificate": ("FILE", "Client certificate for TLS."),
    "--client-key": ("FILE", "Client key for TLS."),
    "--cluster": ("NAME", "The kubeconfig cluster to use."),
    "--context": ("NAME", "The kubeconfig context to use."),
    "--disable-compression": ("", "Do not ask the server for compressed responses."),
    "--insecure-skip-tls-verify": ("", "Do not check the server's certificate."),
    "--kubeconfig": ("FILE", "The kubeconfig file to use."),
    "--kuberc": ("FILE", "The kuberc file to use for preferences."),
    "--match-server-version": ("", "Require the server's version to match kubectl's."),
    "--namespace": ("NAME", "The namespace of names without one."),
    "--password": ("PASSWORD", "Password for basic authentication."),
    "--request-timeout": ("DURATION", "Limit of a request, such as 10s (default: 30 s of silence)."),
    "--server": ("URL", "Address and port of the API server."),
    "--tls-server-name": ("NAME", "Server name to check the server's certificate for."),
    "--token": ("TOKEN", "Bearer token for authentication."),
    "--user": ("NAME", "The kubeconfig user to use."),
    "--username": ("NAME", "Username for basic authentication."),
    "--v": ("LEVEL", "From 6 on, show each request on standard error."),
}
"""The long flags with their values, none for a switch; in the words of `kubectl options`."""

SHORT: Mapping[str, str] = {
    "--recursive": "-R",
    "--output": "-o",
    "--help": "-h",
    "--namespace": "-n",
    "--server": "-s",
    "--v": "-v",
}


def of_verb(verb: str) -> Mapping[str, str]:
    """Return what each flag of a verb is for."""
    return _of_verbs().get(verb, {})


def text(verb: str, flag: str) -> str:
    """Return what a flag of a verb, or of every verb, is for; empty where that is not known."""
    for known in (OF_EVERY_VERB, OF_CONNECTIONS):
        if flag in known:
            return known[flag][1]
    return of_verb(verb).get(flag, "")


@cache
def _of_verbs() -> dict[str, dict[str, str]]:
    written = Path(__file__).with_name("flags.json").read_bytes()
    return msgspec.json.decode(written, type=dict[str, dict[str, str]])
