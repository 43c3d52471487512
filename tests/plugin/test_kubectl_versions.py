"""Every kubectl from 1.27 to 1.33 that is found: it runs the plugin, is its way to the cluster, and completes it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.apiserver import ApiServer

MINORS = range(27, 34)


def found(minor: int) -> str:
    """Return the kubectl of a minor version, by the name that distributions with several give it; empty for none."""
    name = f"kubectl.1.{minor}"
    usual = shutil.which("kubectl")
    beside = Path(usual).resolve().parent / name if usual else Path(name)
    return shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else "")


@pytest.mark.soak
@pytest.mark.parametrize("minor", MINORS)
def test_a_kubectl_runs_the_plugin_reads_the_cluster_and_completes_names(
    served: ApiServer, programs: Path, tmp_path: Path, minor: int
) -> None:
    kubectl = found(minor)
    if not kubectl:
        pytest.skip(f"no kubectl 1.{minor} here")
    path = tmp_path / "bin"
    path.mkdir()
    (path / "kubectl").symlink_to(kubectl)
    for name in ("kubectl-koord", "kubectl_complete-koord"):
        (path / name).symlink_to(programs / name)
    environment = {key: value for key, value in os.environ.items() if key != "KUBECTL_PATH"}
    environment["PATH"] = f"{path}{os.pathsep}/usr/bin{os.pathsep}/bin"

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["kubectl", *words], capture_output=True, text=True, check=False, env=environment)

    assert f"v1.{minor}." in ran("version", "--client").stdout
    answer = ran("koord", "why-pending", "job", "-o", "name")
    assert (answer.returncode, answer.stdout) == (1, "podgroup.scheduling.sigs.k8s.io/job\n")
    # Only kubectl can impersonate for us: that it was so shows that this one was the way to the cluster.
    changed = ran("koord", "annotate", "podgroup", "job", "--mode=NonStrict", "--yes", "--as=jane")
    assert changed.returncode == 0, changed.stderr
    (patch,) = (request for request in served.log if request.method == "PATCH")
    assert patch.headers["impersonate-user"] == "jane"
    names = ran("__complete", "koord", "why-pending", "t").stdout.splitlines()
    assert "tiny" in names
    assert names[-1] == ":4"
