"""`kubectl koord serve` as a command: what it serves is what the other commands print, by reading alone."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from random import Random

import pytest

from kubectl_koord import live
from kubectl_koord.cli.verbs import serve
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.live.faces import Questions
from kubectl_koord.live.metrics import METRICS
from kubectl_koord.live.server import Listening
from kubectl_koord.live.state import Feed, Recorded
from kubectl_koord.render.show import to_hand_on
from kubectl_koord.render.structured import to_json
from tests.apiserver import ApiServer
from tests.build import Drawing
from tests.cli.conftest import BIN, Run
from tests.cli.world import lasting, pod
from tests.live.served import questions, series
from tests.live.test_faces import Shown
from tests.live.test_state import PATIENCE
from tests.properties.strategies import random_cluster

Steps = Callable[[Shown], None]


@pytest.fixture
def served(koord: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the command line build what is served, and do steps with it in place of listening."""

    def ran(steps: Steps, *words: str) -> None:
        def run(feed: Feed, asked: Questions, *rest: object) -> None:
            assert rest[-1] == 15
            made = Shown(feed, asked)
            made.holder.start()
            try:
                made.until(lambda: made.code("/readyz") == 200)
                steps(made)
            finally:
                made.holder.close()
                assert made.holder.join(PATIENCE)

        monkeypatch.setattr(serve, "server", lambda: (run, Listening))
        done = koord("serve", *words)
        assert (done.code, done.err) == (0, "")

    return ran


def test_documents_are_what_the_commands_print_of_a_live_cluster(
    served: Callable[..., None], direct: ApiServer, koord: Run
) -> None:
    found = {}
    paths = {
        "why-pending": ("why-pending", "-A"),
        "why-pending/default/job": ("why-pending", "job"),
        "topo": ("topo",),
        "gangs": ("gangs", "-A"),
        "quota": ("quota",),
    }

    def steps(made: Shown) -> None:
        found.update({path: json.loads(made.reply(f"/api/v1/{path}").body) for path in paths})
        direct.put(pod("few-1", "few"))
        made.until(lambda: made.value("koord_pending_pods", "too-few-pods", "default") == 2)
        direct.delete("pods", "default", "few-1")

    served(steps, "-A")
    assert {request.method for request in direct.log} == {"GET"}
    for path, words in paths.items():
        assert lasting(found[path]) == lasting(json.loads(koord(*words, "-o", "json").out)), path


def test_one_namespace_and_a_selector_are_kept_to(served: Callable[..., None]) -> None:
    def of_none(made: Shown) -> None:
        assert json.loads(made.reply("/api/v1/why-pending").body)["items"] == []
        assert json.loads(made.reply("/api/v1/gangs").body)["items"] == []

    served(of_none, "--demo", "-n", "default")
    served(of_none, "--demo", "-l", "team=nobody")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "json"), "error: -o json cannot be used with serve\n"),
        (("--shape", "8"), "error: --shape: '8' is not of the form 8gpu or NAME=AMOUNT\n"),
        (("--shape=1gpu",) * 9, "error: --shape can be given 8 times at most\n"),
        (("--address", "here"), "error: --address 'here' is not an IP address\n"),
    ],
)
def test_what_cannot_be_served_is_refused(koord: Run, words: tuple[str, ...], said: str) -> None:
    done = koord("serve", "--demo", *words)
    assert (done.code, done.out, done.err) == (2, "", said)


def test_where_the_client_is_missing_one_line_tells_how_to_get_it(koord: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("server", "faces", "metrics"):
        monkeypatch.delitem(sys.modules, f"kubectl_koord.live.{name}", raising=False)
        monkeypatch.delattr(live, name, raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    done = koord("serve", "--demo")
    assert (done.code, done.out) == (2, "")
    said = "error: serve needs the Prometheus client, which is not installed: pip install 'kubectl-koord[serve]'\n"
    assert done.err == said


def test_a_process_serves_until_it_is_told_to_end() -> None:
    words = [str(BIN / "kubectl-koord"), "serve", "--demo", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        url = child.stdout.readline().removeprefix("Serving on ").strip()
        with urllib.request.urlopen(f"{url}metrics", timeout=PATIENCE) as reply:  # noqa: S310 - ours
            assert "koord_up" in series(reply.read())
        child.send_signal(signal.SIGTERM)
        assert (child.wait(PATIENCE), child.stderr.read()) == (143, "")


def agree(drawing: Drawing) -> None:
    """Let the page, the documents and the metrics of a cluster say what `why-pending` says."""
    made = Shown(Recorded(lambda: drawing), questions())
    made.holder.start()
    try:
        made.until(lambda: made.code("/readyz") == 200)
        report = every_pending(drawing)
        document = made.reply("/api/v1/why-pending").body.decode()
        assert document == to_json(report)
        assert made.reply("/why-pending").body.decode() == to_hand_on(report, "html")
        found, expected = series(made.reply("/metrics").body), dict[tuple[str, str], int]()
        for item in json.loads(document)["items"]:
            cause = "would-start" if item["verdict"] == "yes" else (item["cause"] or {"code": item["verdict"]})["code"]
            key = cause, item["gang"].partition("/")[0]
            expected[key] = expected.get(key, 0) + len(item["pendingPods"])
            name = f"{'pod/' if item['lonePod'] else ''}{item['gang']}"
            one = json.loads(made.reply(f"/api/v1/why-pending/{name}").body)
            assert (one["verdict"], one["cause"]) == (item["verdict"], item["cause"])
            assert name.removeprefix("pod/") in made.reply("/").body.decode()
        assert found.get("koord_pending_pods", {}) == expected
        assert found.keys() - {name for name in found if name.startswith("process_")} <= METRICS.keys()
    finally:
        made.holder.close()
        assert made.holder.join(PATIENCE)


@pytest.mark.parametrize("seed", range(4))
def test_the_four_faces_agree(seed: int) -> None:
    agree(random_cluster(Random(seed)))  # noqa: S311


@pytest.mark.soak
@pytest.mark.parametrize("tens", range(20))
def test_the_four_faces_agree_on_200_clusters(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        agree(random_cluster(Random(seed)))  # noqa: S311
