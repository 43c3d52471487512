"""One archive that installs without a network, on any Python from 3.11 on, also on systems older than the bundle's.

python -m distribution.offline

It holds wheels for Linux with glibc 2.17 or newer and for this processor, and a script that installs them.
"""

import platform
import subprocess
import sys
import tarfile

from distribution.bundle import PROGRAM, ROOT
from kubectl_koord import __version__

_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_INSTALL = """\
#!/bin/sh
# Installs kubectl koord into a folder of its own: sh install.sh [FOLDER]. PYTHON names another Python than python3.
set -eu
to=${1:-$HOME/.local/share/kubectl-koord}
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "error: Python 3.11 or newer is needed" >&2
  exit 2
}
"$python" -m venv --clear "$to"
"$to/bin/python" -m pip install --quiet --disable-pip-version-check --no-index \\
  --find-links "$here/wheels" "kubectl-koord[live,serve]"
echo "Installed. Put it on the PATH: export PATH=\\"$to/bin:\\$PATH\\""
"""


def main() -> None:
    """Write dist/kubectl-koord-VERSION-offline-PROCESSOR.tar.gz."""
    folder = ROOT / "build" / "offline" / f"{PROGRAM}-{__version__}"
    wheels = folder / "wheels"
    pip = (sys.executable, "-m", "pip")
    pins = ("--constraint", "constraints.txt")
    _run(
        *pip, "wheel", "--quiet", "--no-deps", "--build-constraint", "constraints.txt", "--wheel-dir", str(wheels), "."
    )
    systems = [
        f"{name}_{platform.machine()}" for name in ("manylinux2014", "manylinux_2_17", "manylinux1", "manylinux_2_5")
    ]
    own = next(wheels.glob("kubectl_koord-*.whl"))
    for version in _PYTHONS:
        chosen = ("--python-version", version, "--only-binary", ":all:", *(f"--platform={name}" for name in systems))
        _run(*pip, "download", "--quiet", *pins, *chosen, "--dest", str(wheels), f"{own}[live,serve]")
    (folder / "install.sh").write_text(_INSTALL, "utf-8")
    archive = ROOT / "dist" / f"{PROGRAM}-{__version__}-offline-{platform.machine()}.tar.gz"
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, folder.name)
    sys.stdout.write(f"{archive.relative_to(ROOT)}\n")


def _run(*words: str) -> None:
    subprocess.run(words, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
