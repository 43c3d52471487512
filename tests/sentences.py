"""Every screen of the demo and of ten recorded clusters as golden files, and the page of the sentences they print.

    python -m tests.sentences --write

Run it (or `make golden`) after a change of wording, and read docs/sentences.md aloud.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs

from kubectl_koord.changes.annotate import pod_group_plan
from kubectl_koord.changes.topology import propose, topology_plan
from kubectl_koord.changes.values import WantedSettings
from kubectl_koord.cli.command_line import repeated, take_globals
from kubectl_koord.cli.verb_table import reading
from kubectl_koord.cli.verbs.explain import shipped_manual
from kubectl_koord.cluster import rbac, stored
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.cluster.manifests.completed import Overrides
from kubectl_koord.cluster.manifests.read import Manifests
from kubectl_koord.cluster.objects import summaries
from kubectl_koord.diagnosis.scheduler_says import with_texts
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.tree import Tree, build
from kubectl_koord.explain import preempt as victims
from kubectl_koord.explain import volcano
from kubectl_koord.explain.devices import devices
from kubectl_koord.explain.diff import OfGang, diff
from kubectl_koord.explain.doctor import doctor
from kubectl_koord.explain.every_pending import every_pending, gangs
from kubectl_koord.explain.fit import fit
from kubectl_koord.explain.place import domain_report, domains_named, node_report
from kubectl_koord.explain.plan import plan
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.quota import quotas
from kubectl_koord.explain.scheduler import gangs as remembered
from kubectl_koord.explain.scheduler import log
from kubectl_koord.explain.topo import topo, with_shape
from kubectl_koord.explain.why import why, with_nodes
from kubectl_koord.explain.why_preempted import why_preempted
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.remedies.plan import Weights
from kubectl_koord.render.pages.operation import snapshot_blocks
from kubectl_koord.render.plain import to_plain
from kubectl_koord.render.show import OutputStyle, TopoOptions, text, to_hand_on
from kubectl_koord.render.structured import Report
from kubectl_koord.reports.manual import Explanation
from kubectl_koord.simulation import subjects
from kubectl_koord.simulation.submitted import of_profile, parsed
from kubectl_koord.wording.words import Aim
from tests.conformance.cases import PLAIN, read_cases, snapshot_of

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
PAGE = ROOT / "docs" / "sentences.md"
STYLES = {
    "plain": OutputStyle(terminal=False, width=0, colour=False, unicode=True),
    "80": OutputStyle(terminal=True, width=80, colour=False, unicode=True, height=24),
    "120": OutputStyle(terminal=True, width=120, colour=False, unicode=True, height=40),
}
CASES = (
    "gang-annotation-bad-min",
    "gang-group-one-missing",
    "gang-groups-differ",
    "gang-mixed-scheduler",
    "gang-no-podgroup",
    "gated",
    "topology-broken-chain",
    "topology-min-below-pods-fails",
    "topology-multiple-mustgather",
    "topology-unknown-layer",
)
"""The recorded clusters: one more cause code each than the demo has, as far as ten go."""

_Screen = tuple[str, Report, TopoOptions]
_BULLET = re.compile(r"  \d+\. (.+?)(?:   .*)?")
_COLUMNS = "   "


def screens() -> Iterator[_Screen]:
    """Yield each screen: the command line that prints it, what it shows, and the options of `topo`."""
    yield from _of_demo(stored.demo("1.8"), stored.demo("1.8", traced=True))
    clusters = {case.name: case.cluster for case in read_cases(ROOT / "tests" / "cases", PLAIN) if case.name in CASES}
    for name in CASES:
        yield from _of_case(snapshot_of(clusters[name], "1.8"), name)
    yield from ((f"{line} --snapshot elsewhere.yaml", report, TopoOptions()) for line, report in _elsewhere())


def _of_demo(snapshot: Snapshot, traced: Snapshot) -> Iterator[_Screen]:
    plain = TopoOptions()
    job = _subject(snapshot, "train/one-short")
    yield "topo --demo", topo(snapshot), plain
    yield "topo --nodes --demo", topo(snapshot), TopoOptions(nodes=True)
    yield "topo --whole-cards --demo", topo(snapshot, whole=True), plain
    yield "topo --resource cpu --demo", topo(snapshot, resource="cpu"), plain
    yield "devices --demo", devices(snapshot), plain
    yield "devices --domain spine-2 --demo", devices(snapshot, domain="spine-2"), plain
    yield "devices node-11 --demo", devices(snapshot, ["node-11"]), plain
    yield from ((line, report, plain) for line, report in _places(snapshot))
    yield "quota --demo", quotas(snapshot), plain
    yield "gangs --demo", gangs(snapshot), plain
    yield from ((line, report, plain) for line, report in _of_scheduler(snapshot))
    yield from ((line, report, plain) for line, report in _fits())
    yield from ((line, report, plain) for line, report in _diffs(snapshot))
    yield "doctor --demo", doctor(stored.demo("1.8", installed=True), rbac.needed(reading())), plain
    yield "topo --for train/one-short --demo", topo(snapshot, job), plain
    yield "why-pending --demo", every_pending(snapshot), plain
    for subject in subjects.pending_subjects(snapshot):
        yield f"why-pending {subject.key} --demo", why(snapshot, subject), plain
        yield f"preempt {subject.key} --demo", preempt(snapshot, subject), plain
    yield f"why-pending {job.key} --nodes --demo", with_nodes(why(snapshot, job), snapshot, job), plain
    yield f"why-pending {job.key} --raw --demo", with_texts(why(snapshot, job), job.pending), plain
    yield "plan train/one-short --demo", plan(snapshot, job, Weights()), plain
    asked = victims.find(traced, "train/one-short", "train")
    if isinstance(asked, victims.VictimName):
        yield "why-preempted train/one-short --demo", why_preempted(traced, asked), plain
    wanted = WantedSettings(must_gather=("BlockLayer",))
    yield (
        "annotate podgroup one-short -n train --must-gather BlockLayer --overwrite --dry-run=client --demo",
        pod_group_plan(snapshot, "train/one-short", wanted, overwrite=True),
        plain,
    )
    yield (
        "annotate podgroup one-short -n train --groups one-short --dry-run=client --demo",
        pod_group_plan(snapshot, "train/one-short", WantedSettings(groups=("one-short",)), overwrite=False),
        plain,
    )
    yield "topo init --diff --demo", topology_plan(snapshot, propose(snapshot)), plain
    manual = shipped_manual()
    page = manual.explained("insufficient-slots")
    if isinstance(page, Explanation):
        yield "explain insufficient-slots", page, plain
    yield "explain", manual.contents(), plain


def _of_scheduler(snapshot: Snapshot) -> Iterator[tuple[str, Report]]:
    """Yield what a saved answer of the scheduler and a log of it say of the demo."""
    file, name = "tests/endpoints/gangs.json", "train/one-short"
    found = summaries.gangs((ROOT / file).read_bytes(), file)
    yield f"scheduler gangs --endpoint {file} --demo", remembered(snapshot, found, file)
    yield f"scheduler gang {name} --endpoint {file} --demo", remembered(snapshot, found, file, name)
    lines = (ROOT / "tests/endpoints/scheduler.log").read_text("utf-8").splitlines()
    yield "scheduler scores --log tests/endpoints/scheduler.log", log("scores", lines)
    yield "scheduler filters --log tests/endpoints/scheduler.log", log("filters", lines)
    yield "scheduler diagnosis --log tests/endpoints/scheduler.log", log("diagnosis", lines)


def _fits() -> Iterator[tuple[str, Report]]:
    """Yield the answers about jobs that the demo cluster does not have."""
    example = "examples/resnet.yaml"
    shapes = (("4", "8", "5000"), ("2", "8", "0"), ("3", "16", "0"))
    manifests = Manifests(lambda: "default")
    manifests.read([str(ROOT / example)])
    snapshot = stored.demo("1.8", join=manifests.join)
    yield f"fit -f {example} --demo", fit(snapshot, manifests.submitted())
    for pods, gpus, priority in shapes:
        manifests = Manifests(lambda: "default", overrides=Overrides(int(priority)))
        manifests.add_shape("shape", int(pods), {"nvidia.com/gpu": gpus}, "SpineLayer")
        snapshot = of_profile(stored.demo("1.8", join=manifests.join), manifests.submitted())
        flags = f"--pods {pods} --request nvidia.com/gpu={gpus} --must-gather SpineLayer --priority {priority} --count"
        yield f"fit {flags} --demo", fit(snapshot, manifests.submitted(), count=True)


def _diffs(snapshot: Snapshot) -> Iterator[tuple[str, Report]]:
    """Yield what differs between the demo and the same with a node cordoned and a pod gone."""
    node = structs.replace(snapshot.nodes["node-2"], unschedulable=True)
    running = {name: pods for name, pods in snapshot.running.items() if name != "node-5"}
    later = structs.replace(snapshot, nodes={**snapshot.nodes, "node-2": node}, running=running)
    files = "demo.json.gz later.json.gz"
    yield f"diff {files}", diff(snapshot, later)
    yield f"diff {files} --shape 8gpu", diff(snapshot, later, parsed(later, "8gpu", before=snapshot))
    job = _subject(later, "train/one-short")
    yield f"diff {files} --for {job.key}", diff(snapshot, later, OfGang(job, job.pending))


def _places(snapshot: Snapshot) -> Iterator[tuple[str, Report]]:
    yield "topo --shape 8gpu --members 2 --demo", with_shape(topo(snapshot), snapshot, parsed(snapshot, "8gpu", 2))
    yield "node node-1 --demo", node_report(snapshot, "node-1")
    tree = build(snapshot.topologies, snapshot.nodes)
    if isinstance(tree, Tree):
        yield "domain block-2 --demo", domain_report(snapshot, tree, domains_named(tree, "block-2")[0])


def _of_case(snapshot: Snapshot, name: str) -> Iterator[_Screen]:
    yield f"topo --snapshot {name}.json", topo(snapshot), TopoOptions()
    yield f"why-pending -A --snapshot {name}.json", every_pending(snapshot), TopoOptions()
    for subject in subjects.pending_subjects(snapshot):
        yield f"why-pending {subject.key} --snapshot {name}.json", why(snapshot, subject), TopoOptions()
        yield f"preempt {subject.key} --snapshot {name}.json", preempt(snapshot, subject), TopoOptions()


def _elsewhere() -> Iterator[tuple[str, Report]]:
    """Yield what is told of pods that are moved, of koord-descheduler, and of gangs of Volcano."""
    read = stored.from_files((str(ROOT / "tests" / "clusters" / "elsewhere.yaml"),), "1.8", installed=True)
    snapshot = structs.replace(read, moment=stored.MOMENT_OF_DEMO)
    moved = subjects.find(snapshot, "resnet", "train")
    (theirs,) = volcano.gangs(snapshot, only_waiting=True)
    yield "gangs", gangs(snapshot)
    yield "why-pending", every_pending(snapshot)
    if isinstance(moved, Subject):
        yield "why-pending train/resnet", why(snapshot, moved)
    yield f"why-pending {theirs.gang}", volcano.why(snapshot, theirs)
    yield "node n1", node_report(snapshot, "n1")
    yield "doctor", doctor(snapshot, rbac.needed(reading()))


def _subject(snapshot: Snapshot, key: str) -> Subject:
    return next(subject for subject in subjects.pending_subjects(snapshot) if subject.key == key)


def golden() -> dict[Path, str]:
    """Return what each golden file is to hold: the screens of a cluster in one style, after their command lines."""
    files: dict[Path, str] = {}
    for line, report, options in screens():
        cluster = line.partition("--snapshot ")[2].partition(".")[0] or "demo"
        for name, style in STYLES.items():
            path = GOLDEN / f"{cluster}.{name}.txt"
            screen = f"$ kubectl koord {line}\n{text(report, style=style, topo_options=options, aim=_aim(line))}\n"
            files[path] = files.get(path, "") + screen
    demo = stored.demo("1.8")
    job = _subject(demo, "train/one-short")
    files[GOLDEN / "snapshot.txt"] = f"$ kubectl koord snapshot -o cluster.json.gz\n{_of_snapshot()}"
    files[GOLDEN / "one-short.html"] = to_hand_on(why(demo, job), "html", aim=_aim("--demo"))
    files[GOLDEN / "one-short.svg"] = to_hand_on(topo(demo, job), "svg", topo_options=TopoOptions(nodes=True))
    return files


def _aim(line: str) -> Aim:
    """Return where the commands of a screen go."""
    connection, words = take_connection(line.split())
    return repeated(take_globals(words)[0], connection)


def _of_snapshot() -> str:
    """Return what `snapshot` prints: the sizes are made up, as packing need not be the same everywhere."""
    objects = {"Node": (12, 6200), "Pod": (26, 14_500), "PodGroup": (5, 900)}
    unread = [
        Gap("PodDisruptionBudget", "forbidden", "poddisruptionbudgets is forbidden"),
        Gap("LimitRange", "not-in-input", "none"),
    ]
    return to_plain(snapshot_blocks("cluster.json.gz", 3900, objects, unread, anonymized=False))


def page(files: Mapping[Path, str]) -> str:
    """Return docs/sentences.md: by verb, every sentence of the plain screens, each once."""
    found: dict[str, dict[str, None]] = {}
    for path, content in files.items():
        if not path.name.endswith(".plain.txt"):
            continue
        verb = ""
        for line in content.splitlines():
            if line.startswith("$ kubectl koord "):
                verb = line.split()[3]
            elif verb != "explain" and (sentence := _sentence(line)):
                found.setdefault(verb, {})[sentence] = None
    parts = [
        "# Sentences",
        "",
        "What `kubectl koord` prints for the demo cluster and for eleven others, without tables and the pages",
        "of `explain`. Generated by `make golden` from the screens in tests/golden; a test keeps both current.",
    ]
    for verb, sentences in found.items():
        parts += ["", f"## {verb}", "", *(f"- `{sentence}`" for sentence in sentences)]
    return "\n".join(parts) + "\n"


def _sentence(line: str) -> str:
    """Return the sentence that a line is, empty for the rows of tables and trees."""
    bullet = _BULLET.fullmatch(line)
    if bullet:
        return bullet[1]
    return "" if _COLUMNS in line.strip() or line.strip().isupper() else line.strip()


def kept(files: Mapping[Path, str], folder: Path) -> None:
    """Write the files where `--write` is given, alone in their folder; else name those that are not current."""
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write them")
    if parser.parse_args().write:
        folder.mkdir(exist_ok=True)
        for path in set(folder.iterdir()) - set(files):
            path.unlink()
        for path, content in files.items():
            path.write_text(content, encoding="utf-8")
        return
    stale = [str(path) for path, content in files.items() if not path.is_file() or path.read_text("utf-8") != content]
    sys.exit("\n".join([*stale, "not current: run make golden"]) if stale else 0)


def main() -> None:
    """Keep the golden screens and the page of their sentences."""
    files = golden()
    kept({**files, PAGE: page(files)}, GOLDEN)


if __name__ == "__main__":
    main()
