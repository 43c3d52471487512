"""A gang made of a workload: of manifests, which are printed anew, or of one of the cluster, which is left as it is."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kubectl_koord.changes.new_gangs import NewGang
    from kubectl_koord.changes.values import WantedSettings
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.collecting.collect import Collector
    from kubectl_koord.cluster.edits.manifests import Manifest
    from kubectl_koord.model.snapshot import Gap
    from kubectl_koord.model.workloads import Workload
    from kubectl_koord.reports.change import ChangePlan

Made = list[tuple["Manifest", "Workload"]]


def create_gang(
    session: "Session", files: "Sequence[str]", name: str, wanted: "WantedSettings", *, overwrite: bool
) -> None:
    """Show the gang that workloads would be and whether it fits, or print the manifests with it; nothing is sent.

    Args:
        session: this run of the program.
        files: manifests; none for a workload of the cluster, or of a file in place of one.
        name: the workload: `KIND/NAME`, of manifests also its name alone; empty for all of them.
        wanted: the settings of the PodGroup.
        overwrite: whether the templates may name another scheduler.

    Raises:
        KoordError: when there is no such workload, one cannot be a gang, or a value cannot be set.

    """
    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cli.session import write
    from kubectl_koord.cli.writing.written import workload_as_written
    from kubectl_koord.cluster.edits import manifests as manifest_edits

    if session.options.output not in {"", "json", "yaml"}:
        raise KoordError("error: manifests are printed as -o yaml or json")
    documents = _documents(session, files) if files else [workload_as_written(session, name)]
    found = _workloads(session, documents, name)
    if not found:
        raise KoordError(f"error: no workload{f' {name}' if name else ''} in {', '.join(files)}")
    try:
        printed, plan = _planned(session, documents, found, wanted, overwrite=overwrite)
    except RefusedError as refused:
        raise KoordError(f"error: {refused}") from None
    if not session.options.output:
        session.show(plan if files else _live(plan, found[0][1], wanted))
        return
    if files:
        sys.stderr.write("Warning: comments are not kept.\n")
    write(manifest_edits.to_json(printed) if session.options.output == "json" else manifest_edits.to_yaml(printed))


def _documents(session: "Session", files: "Sequence[str]") -> "list[Any]":
    from kubectl_koord.cluster.edits import manifests as manifest_edits
    from kubectl_koord.cluster.reading.folders import files_of

    if "-" in files and "-" in session.options.snapshots:
        raise KoordError("error: -f and --snapshot cannot both read standard input")
    return manifest_edits.read(files_of(files, recursive=session.options.recursive))


def _workloads(session: "Session", documents: "Sequence[Any]", name: str) -> Made:
    """Return the workloads that are meant, each as it is written and what is known of its pods."""
    from kubectl_koord.cluster.edits import manifests as manifest_edits
    from kubectl_koord.cluster.manifests.workloads import workload

    namespace = session.connection.namespace or "default"
    each = ((written, workload(written, namespace)) for written in manifest_edits.objects(documents))
    kind, _, bare = name.rpartition("/")
    return [
        (written, one)
        for written, one in each
        if one is not None and bare in {"", one.name} and kind.lower() in {"", one.kind.lower(), f"{one.kind.lower()}s"}
    ]


def _planned(
    session: "Session", documents: "list[Any]", found: Made, wanted: "WantedSettings", *, overwrite: bool
) -> "tuple[list[Any], ChangePlan]":
    """Return the documents as they are to be, and the plan, with whether that fits."""
    from kubectl_koord.changes.manifests import Meant, is_pod_group
    from kubectl_koord.changes.new_gangs import new_gang
    from kubectl_koord.cluster import kinds
    from kubectl_koord.cluster.edits import manifests as manifest_edits
    from kubectl_koord.cluster.manifests.completed import Overrides
    from kubectl_koord.cluster.manifests.documents import Document
    from kubectl_koord.cluster.manifests.read import Manifests
    from kubectl_koord.diagnosis import coverage
    from kubectl_koord.explain.jobs.fit import fit
    from kubectl_koord.reports.change import ChangePlan
    from kubectl_koord.wording.answers.changes import of_manifests

    namespace = session.connection.namespace or "default"
    groups = [one["metadata"] for one in manifest_edits.objects(documents) if is_pod_group(one)]
    keys = frozenset(f"{one.get('namespace') or namespace}/{one.get('name')}" for one in groups)
    others = keys | {f"{one.namespace}/{one.name}" for _, one in found}
    made: dict[int, NewGang] = {}
    printed: list[Any] = []

    def replaced(item: "Manifest") -> "list[Manifest]":
        gang = made.get(id(item))
        return [item] if gang is None else [gang.pod_group, gang.workload]

    def manifests_of(values: "Iterable[Any]") -> Manifests:
        read = Manifests(session.namespace, session.connection.namespace, Overrides())
        for number, value in enumerate(manifest_edits.objects(values), 1):
            read.take(Document("the manifests", number, value))
        return read

    submitted = manifests_of(documents)

    def join(collector: "Collector", moment: str, gaps: "Collection[Gap]") -> None:
        nonlocal submitted
        before = collector.snapshot(moment=moment, source="cluster", gaps=gaps)
        for written, one in found:
            made[id(written)] = new_gang(written, one, Meant("", namespace, overwrite, before, keys), wanted, others)
        printed.extend(one for document in documents for one in manifest_edits.inserted(document, replaced))
        submitted = manifests_of(printed)
        submitted.join(collector, moment, gaps)

    snapshot = session.snapshot((*kinds.DISRUPTION_KINDS, *kinds.FIT_KINDS, *submitted.more_kinds), join=join)
    changes = tuple(change for gang in made.values() for change in gang.changes)
    return printed, ChangePlan(
        verdict="yes",
        basis=coverage.basis(snapshot),
        warnings=(),
        changes=changes,
        applied=False,
        effect=None,
        dry_run="client",
        message=of_manifests(len(changes)),
        fit=fit(snapshot, submitted.submitted()),
    )


def _live(plan: "ChangePlan", one: "Workload", wanted: "WantedSettings") -> "ChangePlan":
    """Return the plan for a workload that is there: what is to be run, as nothing of it is changed in place."""
    from msgspec import structs

    from kubectl_koord.cluster.manifests.workloads import IMMUTABLE
    from kubectl_koord.wording.answers.changes import recreate_workload

    plural = one.kind.lower()
    where = ["-n", one.namespace]
    options = [f"--{name}={value}" for name, value in _given(wanted)]
    commands = (
        ["kubectl", "koord", "annotate", "gang", f"{plural}/{one.name}", "--create", *options, *where, "-o", "yaml"],
        ["kubectl", "delete", plural, one.name, *where],
        ["kubectl", "create", "-f", f"{one.name}.yaml"],
    )
    first, *others = (shlex.join(words) for words in commands)
    return structs.replace(
        plan,
        message=recreate_workload(one.kind, one.name, is_immutable=one.kind in IMMUTABLE),
        commands=(f"{first} > {shlex.quote(f'{one.name}.yaml')}", *others),
    )


def _given(wanted: "WantedSettings") -> "list[tuple[str, str]]":
    many = {
        "must-gather": wanted.must_gather,
        "prefer-gather": wanted.prefer_gather,
        "multiple": wanted.multiples,
        "groups": wanted.groups,
    }
    one = {
        "mode": wanted.mode,
        "match-policy": wanted.match_policy,
        "waiting-time": wanted.waiting_time,
        "total": wanted.total,
        "min-member": wanted.min_member,
    }
    found = [(name, value) for name, values in many.items() for value in values]
    return [*found, *((name, str(value)) for name, value in one.items() if value not in {None, ""})]
