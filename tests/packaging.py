"""Build the distributions as they would be published, install the wheel, and run what users run first.

python -m tests.packaging
"""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_WHEEL = ("kubectl_koord/py.typed", "kubectl_koord/cluster/demo.json", "kubectl_koord/reports/manual.toml")
FIRST_COMMANDS = (("version",), ("--help",), ("topo", "--demo"), ("explain", "quota"))


def check(folder: Path) -> None:
    """Raise AssertionError, or CalledProcessError, where something is not as it should be."""
    lock, dist = str(ROOT / "constraints.txt"), str(folder / "dist")
    _run(sys.executable, "-m", "build", "--dependency-constraints-txt", lock, "--outdir", dist, str(ROOT))
    (wheel,) = (folder / "dist").glob("*.whl")
    (source,) = (folder / "dist").glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in IN_WHEEL if not any(found.startswith(name) for found in names)], names
    assert any(name.endswith("/licenses/LICENSE") for name in names), names
    tops = {name.partition("/")[0].partition("-")[0] for name in names}
    assert tops == {"kubectl_koord"}, tops
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "completions/kubectl-koord.bash", *IN_WHEEL} <= inside, inside
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    programs = folder / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", str(programs / "python"))
    _run(*pip, "install", "--no-compile", "--quiet", "--constraint", lock, str(wheel))  # compiled where imported
    for words in FIRST_COMMANDS:
        assert _run(str(programs / "kubectl-koord"), *words), words
    assert _run(str(programs / "kubectl_complete-koord"), "to").startswith("topo\t")


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main() -> None:
    """Check, and say so."""
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-packaging-") as folder:
        check(Path(folder))
    sys.stdout.write("packaging: the wheel installs, and its commands run\n")


if __name__ == "__main__":
    main()
