"""How many requests each question costs: read off the server's log, and told in docs/security.md.

`python -m tests.cli.test_request_counts` prints the table.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubectl_koord.cli.main import run
from kubectl_koord.cluster.objects.jobs import RECORDED
from tests.apiserver import RESOURCES, ApiServer, Rule
from tests.cli.test_requests import OF_SCHEDULER
from tests.cli.world import Object, world

SECURITY = Path(__file__).parents[2] / "docs" / "security.md"
BEFORE_LAYERS = 17
"""What a gang cost at f9afdc8d, the commit before layers were asked."""
QUESTIONS = (
    *(
        "why-pending GANG",
        "why-pending pod/x",
        "why-pending job/x",
        "why-pending nobody",
        "why-pending",
        "why-pending -A",
    ),
    *("gangs", "topo", "topo --for GANG", "devices", "node x", "quota", "preempt GANG", "plan GANG", "fit --pods 1"),
    *("why-preempted x", "doctor", "snapshot", "scheduler gangs", "scheduler node x", "scheduler quotas"),
)
MEANT = {"GANG": "job", "pod/x": "pod/tiny-0", "job/x": "job/train", "x": "a0"}
FOREIGN = {one.group for one in RECORDED} - {"", "apps", "batch"}
FOREIGN |= {"scheduling.volcano.sh", "trainer.kubeflow.org"}


def words_of(question: str) -> tuple[str, ...]:
    """Return the words of a question on the small cluster."""
    words = tuple(MEANT.get(word, word) for word in question.split())
    more = {"why-preempted": ("filler-a",), "fit": ("--request", "cpu=1"), "snapshot": ("-o", "-")}.get(words[0], ())
    return (*(words[:1] if words[0] == "why-preempted" else words), *more)


def without_foreign_groups() -> Iterator[Rule]:
    """Yield the answers of a server without any of the known owners and queues but Kubernetes' own."""
    yield Rule(f"/apis/({'|'.join(map(re.escape, sorted(FOREIGN)))})/.*", 404, "NotFound", "not served")
    served = sorted({one.group_version for one in RESOURCES if "/" in one.group_version})
    kept = [one for one in served if one.partition("/")[0] not in FOREIGN]
    groups = ", ".join(
        f'{{"name": "{one.partition("/")[0]}", "versions": [{{"version": "{one.partition("/")[2]}"}}]}}' for one in kept
    )
    yield Rule("/apis", raw=f'{{"kind": "APIGroupList", "groups": [{groups}]}}'.encode())


def suspended() -> Object:
    """Return a Job that waits for nothing but to be resumed."""
    template = {"spec": {"containers": [{"name": "main"}], "restartPolicy": "Never"}}
    meta = {"name": "train", "namespace": "default", "uid": "j"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"suspend": True, "template": template}}


def counted(ask: Callable[[tuple[str, ...]], object], server: ApiServer) -> dict[str, int]:
    """Return how many requests each question sends."""
    found = {}
    for question in QUESTIONS:
        server.log.clear()
        ask(words_of(question))
        found[question] = len(server.log)
    return found


def table(folder: Path, ask: Callable[[tuple[str, ...]], object], setenv: Callable[[str, str], None]) -> str:
    """Return the table: without foreign groups, and with all that are known."""
    columns = []
    for rules in ([*without_foreign_groups()], []):
        with ApiServer({"items": [*world()["items"], suspended()]}) as server:
            server.rules[:] = [Rule(OF_SCHEDULER, raw=b"{}"), *rules]
            setenv("KUBECONFIG", str(server.kubeconfig(folder)))
            columns.append(counted(ask, server))
    plain, every = columns
    rows = (f"| `{question}` | {plain[question]} | {every[question]} |" for question in QUESTIONS)
    head = "| command | without Kueue, Volcano, Ray, Kubeflow ... | with all of them |"
    return "\n".join((head, "|---|---|---|", *rows))


def test_the_requests_of_each_command_are_those_that_the_documentation_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], no_kubectl: None
) -> None:
    assert no_kubectl is None

    def ask(words: tuple[str, ...]) -> None:
        run(words)
        capfd.readouterr()

    found = table(tmp_path, ask, monkeypatch.setenv)
    assert found in SECURITY.read_text("utf-8"), found
    assert f"| `why-pending GANG` | {BEFORE_LAYERS} | {BEFORE_LAYERS} |" in found


if __name__ == "__main__":
    os.environ["PATH"] = ""
    said, kept = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(kept, 1)
    os.dup2(kept, 2)
    text = table(Path(tempfile.mkdtemp()), run, os.environ.__setitem__)
    os.write(said, f"{text}\n".encode())
