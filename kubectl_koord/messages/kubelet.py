"""What a kubelet says of pods that it cannot start: which volume, which registry, which plugin of the network.

Words of kubelet's events and container states (pkg/kubelet, volume manager, CRI) and of container runtimes.
"""

import re
from typing import Literal, TypeAlias

Pull: TypeAlias = Literal["missing", "denied", "unreachable", "limited", "untrusted"]
"""Why an image was not pulled."""

_LIMITED = re.compile(r"toomanyrequests|too many requests|\b429\b", re.IGNORECASE)
_UNTRUSTED = re.compile(r"x509|certificate signed by unknown", re.IGNORECASE)
_DENIED = re.compile(r"\b40[13]\b|unauthori[sz]ed|denied|forbidden|authentication required", re.IGNORECASE)
_NOT_THERE = re.compile(r"not found|manifest unknown|\b404\b|does not exist", re.IGNORECASE)
_UNREACHABLE = re.compile(
    r"no such host|i/o timeout|connection refused|connection reset|dial tcp|handshake timeout"
    r"|deadline exceeded|no route to host|network is unreachable|\b50[0234]\b|EOF\b",
    re.IGNORECASE,
)
_PULLS: tuple[tuple[Pull, re.Pattern[str]], ...] = (
    ("limited", _LIMITED),
    ("untrusted", _UNTRUSTED),
    ("denied", _DENIED),
    ("missing", _NOT_THERE),
    ("unreachable", _UNREACHABLE),
)
_VOLUMES = (
    re.compile(r'for volume "([^"]+)"'),
    re.compile(r"unmounted volumes=\[([^\]\s]+)"),
    re.compile(r'persistentvolumeclaim "([^"]+)"', re.IGNORECASE),
)
_MISSING = re.compile(r'\b(configmap|secret|persistentvolumeclaim)s? "([^"]+)" not found', re.IGNORECASE)
_NO_KEY = re.compile(r"couldn't find key (\S+) in (ConfigMap|Secret) (\S+)")
_USED_BY = re.compile(r"already (?:used by pod\(s\)|exclusively attached to).*")
_KINDS = {"configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim"}
_NETWORK = re.compile(r'plugin type="([^"]+)"|(?:networkPlugin|cni plugin) (\S+)')
_RUNTIME_CLASS = re.compile(r'(?:no runtime for|RuntimeHandler) "([^"]+)"')
_DEVICES = re.compile(r"requested number of devices unavailable for (\S+?)\.? Requested: (\d+), Available: (\d+)")
_DEFAULT_REGISTRY = "docker.io"


def registry(image: str) -> str:
    """Return the host that an image comes from: that before its first slash, or Docker's own."""
    host, slash, _ = image.partition("/")
    return host if slash and ("." in host or ":" in host or host == "localhost") else _DEFAULT_REGISTRY


def pull_failure(said: str) -> Pull | None:
    """Return why an image was not pulled, None where that is not one of the known reasons."""
    return next((why for why, pattern in _PULLS if pattern.search(said)), None)


def volume(said: str) -> str:
    """Return the volume, or the claim, that an event is about; empty where it names none."""
    return next((found[1] for pattern in _VOLUMES if (found := pattern.search(said))), "")


def missing(said: str) -> tuple[str, str, str] | None:
    """Return kind and name of what a pod names and that is not there, and the key of it where only that is not."""
    if found := _MISSING.search(said):
        return _KINDS[found[1].lower()], found[2], ""
    found = _NO_KEY.search(said)
    return (found[2], found[3].rpartition("/")[2], found[1]) if found else None


def used_elsewhere(said: str) -> bool:
    """Tell whether a volume is attached to another node."""
    return bool(_USED_BY.search(said))


def network_plugin(said: str) -> str:
    """Return the plugin that set up no network for a pod, empty where none is named."""
    found = _NETWORK.search(said)
    return found[1] or found[2] if found else ""


def runtime_handler(said: str) -> str:
    """Return the handler that the node's container runtime does not have, empty where none is named."""
    found = _RUNTIME_CLASS.search(said)
    return found[1] if found else ""


def devices(said: str) -> tuple[str, int, int] | None:
    """Return a resource, how many devices of it a pod requested, and how many there were; None for another fault."""
    found = _DEVICES.search(said)
    return (found[1], int(found[2]), int(found[3])) if found else None
