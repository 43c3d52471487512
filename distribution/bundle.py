"""A folder with the program and all that it needs, and its archive: for machines without Python, and for Krew.

`make bundle` builds both in dist/, for the system and the processor that it runs on.
"""

import gzip
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from distribution import krew
from kubectl_koord import __version__

ROOT = Path(__file__).parents[1]
PROGRAM = "kubectl-koord"
LINK = "kubectl_complete-koord"
_PROCESSORS = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def build(to: Path) -> tuple[Path, Path]:
    """Build the folder and its archive, and return both.

    Raises:
        CalledProcessError: when PyInstaller fails.
        ValueError: when Krew would not take the archive.

    """
    spec = ROOT / "packaging" / f"{PROGRAM}.spec"
    work = ROOT / "build" / "bundle"
    maker = (sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level=WARN")
    subprocess.run([*maker, f"--distpath={to}", f"--workpath={work}", str(spec)], check=True)
    folder = to / PROGRAM
    shutil.copy(ROOT / "LICENSE", folder)
    for name, licence in _licences():
        (folder / "licenses" / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(licence, folder / "licenses" / name)
    archive = to / archive_name(*system())
    pack(folder, archive)
    if found := krew.archive_problems(archive, PROGRAM):
        raise ValueError("; ".join(found))
    (folder / LINK).symlink_to(PROGRAM)
    return folder, archive


def system() -> tuple[str, str]:
    """Return the system and the processor that a bundle made here is for, in Go's words."""
    machine = platform.machine().lower()
    return platform.system().lower(), _PROCESSORS.get(machine, machine)


def archive_name(os_name: str, arch: str) -> str:
    """Return the name of the archive of this version."""
    return f"{PROGRAM}-v{__version__}-{os_name}-{arch}.tar.gz"


def pack(folder: Path, archive: Path) -> None:
    """Write an archive of a folder, the same for the same files; a link becomes the file it leads to.

    The link under the program's other name is left out: `completion install` writes what stands in its place.
    """
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", dereference=True) as members,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != LINK:
                members.add(path, str(path.relative_to(folder)), filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    member.mode = 0o755 if member.mode & 0o111 else 0o644
    return member


def _licences() -> Iterator[tuple[str, Path]]:
    """Yield the licence files of all that the package needs, by the name of what they are for."""
    todo, seen = [PROGRAM], set[str]()
    while todo:
        name = todo.pop()
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # what is needed elsewhere only, such as on Windows, or for an extra
        for needed in found.requires or ():
            other = re.split(r"[^\w.-]", needed, maxsplit=1)[0].lower()
            if other not in seen:
                seen.add(other)
                todo.append(other)
        for file in found.files or ():
            if re.match(r"(?i)(licen[cs]e|notice|copying)", file.name) and name != PROGRAM:
                yield name, Path(str(file.locate()))


def main() -> None:
    """Build, and say what was built."""
    for path in build(ROOT / "dist"):
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
