"""The Krew manifest of a release, made of its archives and of packaging/release.toml.

python -m distribution.release FOLDER

The folder holds the archives that `make bundle` has made on each system; the manifest is written beside them.
"""

import hashlib
import re
import string
import sys
import tomllib
from pathlib import Path

import yaml

from distribution import krew
from distribution.bundle import PROGRAM, ROOT, archive_name
from kubectl_koord import __version__

SETTINGS = ROOT / "packaging" / "release.toml"
OWNERS = ROOT / ".github" / "CODEOWNERS"
PLACEHOLDER = "@OWNERS"
TEMPLATE = ROOT / "packaging" / "krew" / "koord.yaml"


class Refused(Exception):  # noqa: N818
    """Why there is no release."""


def manifest(folder: Path, settings: dict[str, str], template: str) -> str:
    """Return the manifest for the archives of a folder.

    Raises:
        Refused: when a setting is unset, an archive is missing, or Krew would not take it.

    """
    if unset := [name for name, value in settings.items() if not value]:
        raise Refused(f"packaging/release.toml: {' and '.join(unset)} must be set: it says where this is published")
    values = {
        "version": f"v{__version__}",
        "homepage": settings["homepage"],
        "archives": settings["archives"].replace("{version}", f"v{__version__}").rstrip("/"),
    }
    for name, system, processor in re.findall(r"\$((linux|darwin|windows)_(amd64|arm64))\b", template):
        archive = folder / archive_name(system, processor)
        if not archive.is_file():
            raise Refused(f"{archive} is missing: make bundle makes it on {system} {processor}")
        if found := krew.archive_problems(archive, PROGRAM):
            raise Refused(f"{archive}: {'; '.join(found)}")
        values |= {name: archive.name, f"{name}_sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}
    written = string.Template(template.partition("\n")[2]).substitute(values)
    if found := krew.problems(yaml.safe_load(written), TEMPLATE.stem):
        raise Refused(f"{TEMPLATE.name}: {'; '.join(found)}")
    return written


def owned(owners: str) -> None:
    """Say whether somebody answers for the code.

    Raises:
        Refused: while the placeholder stands in CODEOWNERS.

    """
    if PLACEHOLDER in owners:
        raise Refused(f"{OWNERS.relative_to(ROOT)}: {PLACEHOLDER} must be replaced by those who answer")


def main() -> None:
    """Write the manifest, or say in one line why not."""
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    try:
        settings = tomllib.loads(SETTINGS.read_text("utf-8"))
        owned(OWNERS.read_text("utf-8"))
        written = manifest(folder, settings, TEMPLATE.read_text("utf-8"))
    except Refused as why:
        sys.exit(f"error: {why}")
    (folder / TEMPLATE.name).write_text(written, "utf-8")
    sys.stdout.write(f"{folder / TEMPLATE.name}\n")


if __name__ == "__main__":
    main()
