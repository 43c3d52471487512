"""Build the distributions as they would be published, install the wheel, and run what users run first.

python -m tests.packaging
python -m tests.packaging --checks    the checks of tests/plugin as well, with the programs of the installed wheel
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_WHEEL = (
    "kubectl_koord/py.typed",
    "kubectl_koord/cli/flags.json",
    "kubectl_koord/cluster/demo.json",
    "kubectl_koord/reports/manual.toml",
    "kubectl_koord/render/web/page.css",
    "kubectl_koord/render/web/tree.css",
)
SHARED = (
    "bash-completion/completions/kubectl-koord",
    "zsh/site-functions/_kubectl-koord",
    "fish/vendor_completions.d/kubectl-koord.fish",
    "man/man1/kubectl-koord.1",
    "man/man1/kubectl-koord-why-pending.1",
)
FIRST_COMMANDS = (("version",), ("--help",), ("topo", "--demo"), ("explain", "quota"), ("topo", "--demo", "-o", "svg"))


def check(folder: Path, *, every: bool) -> None:
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
    kept = {"LICENSE", "README.md", "CHANGELOG.md", "completions/kubectl-koord.bash", "man/kubectl-koord.1"}
    assert {*kept, *IN_WHEEL} <= inside, inside
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    programs = folder / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", str(programs / "python"))
    _run(*pip, "install", "--no-compile", "--quiet", "--constraint", lock, str(wheel))  # compiled where imported
    for words in FIRST_COMMANDS:
        assert _run(str(programs / "kubectl-koord"), *words), words
    assert _run(str(programs / "kubectl_complete-koord"), "to").startswith("topo\t")
    assert not [name for name in SHARED if not (folder / "venv" / "share" / name).is_file()]
    pages = {path.name for path in (folder / "venv" / "share" / "man" / "man1").iterdir()}
    assert pages == {path.name for path in (ROOT / "man").iterdir()}, pages
    if every:
        os.environ["KUBECTL_KOORD_PROGRAMS"] = str(programs)
        _run(sys.executable, "-m", "pytest", "-q", "-n", "2", str(ROOT / "tests" / "plugin"), "--rootdir", str(ROOT))


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main() -> None:
    """Check, and say so."""
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-packaging-") as folder:
        check(Path(folder), every=sys.argv[1:] == ["--checks"])
    sys.stdout.write("packaging: the wheel installs, and its commands run\n")


if __name__ == "__main__":
    main()
