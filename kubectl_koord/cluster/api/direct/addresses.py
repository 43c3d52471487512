"""Where the server is, and which proxy leads there, as Go has it: the client library asks other variables."""

import ipaddress
import os
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from kubectl_koord.cluster.api.direct.kubeconfig import Cluster, invalid, needs_kubectl
from kubectl_koord.cluster.api.transport import unsent

_PORTS = {"http": 80, "https": 443}
_SOCKS = ("socks5", "socks5h")


class Way(NamedTuple):
    """A URL of a server or proxy without who goes there, and who that is: a name and a password, or nothing."""

    url: str
    name: str = ""
    password: str = ""


def server_of(given: str) -> Way:
    """Return the address of a server; without a scheme it is http.

    Raises:
        KoordError: when it is no URL that kubectl would take.

    """
    parts = _split(given)
    if parts is None or not (parts.scheme and parts.netloc):
        parts = _split(f"http://{given}")
        if parts is None or not parts.netloc or parts.path not in ("", "/"):
            raise invalid("server", "must be a URL or a host:port pair")
    if parts.scheme not in _PORTS or not parts.hostname:
        raise invalid("server", "has an unsupported protocol scheme: http or https is needed")
    if parts.query or parts.fragment:
        needs_kubectl("a query in the server's URL")
    way = _without_user(parts)
    return way._replace(url=way.url.rstrip("/"))


def proxy_of(cluster: Cluster) -> Way | None:
    """Return the proxy that leads to the server, None for none.

    Mirrors clientcmd's `parseProxyURL`, and x/net/http/httpproxy: `proxy-url` counts alone; of the environment the
    variable in capitals counts first, ALL_PROXY is not known, and this machine needs no proxy.

    Raises:
        KoordError: when it is none, or one that needs kubectl.

    """
    if cluster.proxy_url:
        parts = _split(cluster.proxy_url)
        if parts is None or not parts.scheme or not parts.netloc:
            raise invalid("proxy-url", "is no URL")
        if parts.scheme not in (*_PORTS, "socks5"):
            raise invalid("proxy-url", "has an unsupported scheme: it must be http, https, or socks5")
    else:
        server = urlsplit(cluster.server)
        name = f"{server.scheme}_proxy"
        given = os.environ.get(name.upper()) or os.environ.get(name) or ""
        if not given or not _is_proxied(server, os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""):
            return None
        parts = _split(given)
        if parts is None or not parts.scheme or not parts.netloc:
            parts = _split(f"http://{given}")
        if parts is None or not parts.netloc:
            raise unsent(f"proxyconnect: {name.upper()} holds no address of a proxy")
        if parts.scheme not in (*_PORTS, *_SOCKS):
            raise unsent(f"proxyconnect: {name.upper()} has an unknown scheme")
    if parts.scheme in _SOCKS:
        needs_kubectl("a SOCKS proxy")
    return _without_user(parts)


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, None of what is none."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port, parts.hostname.encode("idna") if parts.hostname else b""
    except ValueError:
        return None
    return parts


def _without_user(parts: SplitResult) -> Way:
    whole = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return Way(whole, unquote(parts.username or ""), unquote(parts.password or ""))


def _is_proxied(server: SplitResult, no_proxy: str) -> bool:
    """Tell whether the environment's proxy is for this server (httpproxy's `useProxy`)."""
    host = (server.hostname or "").lower()
    port = str(server.port or _PORTS[server.scheme])
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    return not any(_matches(one.strip().lower(), host, port, address) for one in no_proxy.split(","))


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _matches(entry: str, host: str, port: str, address: _Address | None) -> bool:
    """Tell whether an entry of NO_PROXY names a server."""
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry and address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _host_and_port(entry)
    if wanted not in ("", port) or not name:
        return False
    named = _address(name)
    if named is not None:
        return named == address
    name = name.removeprefix("*") if name.startswith("*.") else name
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _host_and_port(entry: str) -> tuple[str, str]:
    if entry.startswith("[") and "]" in entry:
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.partition(":")
    return (name, port) if colon and ":" not in port else (entry, "")


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
