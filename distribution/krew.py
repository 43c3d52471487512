"""What Krew asks of a manifest and of an archive, restated: its validator's rules, and those of its index.

https://krew.sigs.k8s.io/docs/developer-guide/ has the words of both.
"""

import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

API_VERSION = "krew.googlecontainertools.github.com/v1alpha2"
PLATFORMS = {
    ("linux", "amd64"),
    ("linux", "arm"),
    ("linux", "arm64"),
    ("linux", "ppc64le"),
    ("darwin", "amd64"),
    ("darwin", "arm64"),
    ("windows", "amd64"),
}
_NUMBER = r"(?:0|[1-9]\d*)"
_SEMVER = re.compile(rf"v{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?", re.ASCII)
_MOST = 50


def problems(manifest: Mapping[str, Any], name: str) -> list[str]:
    """Return what is wrong with a manifest in a file of this name without `.yaml`."""
    return list(_problems(manifest, name))


def _problems(manifest: Mapping[str, Any], name: str) -> Iterator[str]:
    if (manifest.get("apiVersion"), manifest.get("kind")) != (API_VERSION, "Plugin"):
        yield f"apiVersion and kind must be {API_VERSION} and Plugin"
    plugin = manifest.get("metadata", {}).get("name", "")
    if not re.fullmatch(r"[\w-]+", plugin, re.ASCII) or plugin != plugin.lower() or plugin.startswith("kube"):
        yield "metadata.name must be lower-case words and dashes, without the prefix kube"
    if plugin != name:
        yield "metadata.name must be the name of the file"
    yield from (f"spec.{problem}" for problem in _of_spec(manifest.get("spec", {})))


def _of_spec(spec: Mapping[str, Any]) -> Iterator[str]:
    if not _SEMVER.fullmatch(str(spec.get("version", ""))):
        yield "version must be a semantic version that begins with v"
    short = spec.get("shortDescription", "")
    if not short or "\n" in short or len(short) > _MOST or short.endswith("."):
        yield f"shortDescription must be one line of up to {_MOST} characters without a full stop"
    if not str(spec.get("description", "")).strip():
        yield "description must be there"
    if not re.fullmatch(r"https://[^\s$]+", str(spec.get("homepage", ""))):
        yield "homepage must be an https address"
    platforms = spec.get("platforms") or ()
    if not platforms:
        yield "platforms must be there"
    for number, platform in enumerate(platforms):
        yield from (f"platforms[{number}].{problem}" for problem in _of_platform(platform))
    if len({str(platform.get("selector")) for platform in platforms}) < len(platforms):
        yield "platforms must differ in their selectors"


def _of_platform(platform: Mapping[str, Any]) -> Iterator[str]:
    selector = platform.get("selector") or {}
    labels = selector.get("matchLabels") or {}
    if set(selector) - {"matchLabels"} or (labels.get("os"), labels.get("arch")) not in PLATFORMS or len(labels) > 2:  # noqa: PLR2004
        yield "selector must be an os and an arch that Krew is built for"
    if not re.fullmatch(r"https://[^\s$]+\.(tar\.gz|zip)", str(platform.get("uri", ""))):
        yield "uri must be the https address of a .tar.gz or .zip"
    if not re.fullmatch(r"[0-9a-f]{64}", str(platform.get("sha256", ""))):
        yield "sha256 must be 64 lower-case hexadecimal digits"
    binary = PurePosixPath(str(platform.get("bin", "")))
    if not binary.name or binary.is_absolute() or ".." in binary.parts:
        yield "bin must be a path within the archive"
    if labels.get("os") == "windows" and binary.suffix != ".exe":
        yield "bin must end in .exe on Windows"
    if platform.get("files", True) in ([], None):
        yield "files must be left out, or name some"


def archive_problems(archive: Path, binary: str) -> list[str]:
    """Return what is wrong with a .tar.gz whose program is at this path."""
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    found = [f"{one.name} is no file and no folder" for one in members if not (one.isfile() or one.isdir())]
    bad = (one.name for one in members if one.name.startswith("/") or ".." in one.name)
    found += [f"{name} leads out of the archive, or might" for name in bad]
    programs = {one.name: bool(one.mode & 0o111) for one in members if one.isfile()}
    if not programs.get(binary):
        found.append(f"{binary} must be a program in it")
    if "LICENSE" not in programs:
        found.append("LICENSE must be in it")
    return found
