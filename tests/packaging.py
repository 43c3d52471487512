"""Build the distributions as they would be published, install the wheel, and run what users run first.

python -m tests.packaging
python -m tests.packaging --checks    the checks of tests/plugin as well, with the programs of the installed wheel,
                                      once with every Python from 3.11 on that is found
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "constraints.txt"
IN_WHEEL = (
    "kubectl_koord/py.typed",
    "kubectl_koord/cli/flags.json",
    "kubectl_koord/cluster/demo.json",
    "kubectl_koord/reports/manual.toml",
    "kubectl_koord/render/page.css",
    "kubectl_koord/locale/zh_CN/LC_MESSAGES/kubectl_koord.mo",
    "kubectl_koord/render/tree.css",
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
    dist = str(folder / "dist")
    _run(sys.executable, "-m", "build", "--dependency-constraints-txt", str(LOCK), "--outdir", dist, str(ROOT))
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
    kept |= {"Makefile", "constraints.txt", "CONTRIBUTING.md", "tests/packaging.py", "deploy/clusterrole-view.yaml"}
    assert {*kept, *IN_WHEEL} <= inside, inside
    for version, python in pythons().items() if every else {"": sys.executable}.items():
        installed(folder / f"venv{version}", python, wheel, every=every)
        if every:
            sys.stdout.write(f"packaging: the checks pass with Python {version}\n")
            sys.stdout.flush()


def pythons() -> dict[str, str]:
    """Return the Pythons from 3.11 on that are found, by their versions: this one, on the PATH, and of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {".".join(map(str, sys.version_info[:2])): sys.executable}
    for minor in range(11, 31):
        version = f"3.{minor}"
        named = (str(path) for path in root.glob(f"{version}.*/bin/python{version}"))
        for path in filter(None, (*named, shutil.which(f"python{version}"))):
            works = subprocess.run([path, "-c", "import ensurepip, venv"], check=False, capture_output=True)
            if works.returncode == 0:
                found.setdefault(version, path)
    return found


def installed(venv: Path, python: str, wheel: Path, *, every: bool) -> None:
    """Install the wheel for a Python, and run what it brings."""
    _run(python, "-m", "venv", "--without-pip", str(venv))
    programs = venv / "bin"
    pip = (sys.executable, "-m", "pip", "--python", str(programs / "python"))
    compiling = () if every else ("--no-compile",)  # only what is imported is compiled, then
    _run(*pip, "install", *compiling, "--quiet", "--constraint", str(LOCK), str(wheel))
    for words in FIRST_COMMANDS:
        assert _run(str(programs / "kubectl-koord"), *words), words
    assert _run(str(programs / "python"), "-m", "kubectl_koord", "version")
    assert _run(str(programs / "kubectl_complete-koord"), "to").startswith("topo\t")
    assert not [name for name in SHARED if not (venv / "share" / name).is_file()]
    pages = {path.name for path in (venv / "share" / "man" / "man1").iterdir()}
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
