"""What verbs that write share: flags, the plan and the question, manifests that are changed, gangs that are made.

And what those share that ask about pods which are not there yet.
"""

import shlex
import sys
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kubectl_koord import leaving
from kubectl_koord.cli.flags import MANAGER
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from kubectl_koord.changes.manifests import Manifest as PlannedManifest
    from kubectl_koord.changes.manifests import ManifestsChange, Meant, NewGang
    from kubectl_koord.changes.values import WantedSettings
    from kubectl_koord.cli.session import Session
    from kubectl_koord.cluster.api.connection import Target
    from kubectl_koord.cluster.collect import Collector
    from kubectl_koord.cluster.edits import Manifest
    from kubectl_koord.cluster.manifests.read import Manifests
    from kubectl_koord.cluster.source import Join
    from kubectl_koord.model.objects import Node, Workload
    from kubectl_koord.model.snapshot import Gap, Snapshot
    from kubectl_koord.reports.change import ChangePlan
    from kubectl_koord.simulation.submitted import Submitted

    Planned = Callable[[Sequence[PlannedManifest], Meant], ManifestsChange | None]


DRY_RUNS = ("none", "client", "server")
_LONGEST_MANAGER = 128


class How(Struct, frozen=True):
    """How a change is to be carried out; with `all_or_none` a failure half-way is rolled back."""

    dry_run: str = "none"
    yes: bool = False
    field_manager: str = MANAGER
    all_or_none: bool = False


def carry_out(session: "Session", plan: "Callable[[], ChangePlan]", how: How) -> None:
    """Plan, show, ask, send: each step only if the one before it allows.

    Raises KoordError when it may not be, or was not done.
    """
    from msgspec import structs

    from kubectl_koord.changes.values import RefusedError

    check(session, how)
    try:
        planned = structs.replace(plan(), dry_run=how.dry_run)
    except RefusedError as refused:
        raise KoordError(say("error: {refused}", refused=refused)) from None
    if session.transport is not None:
        from kubectl_koord.cli.sending import with_appliers

        planned = with_appliers(session.transport, planned)
    if not planned.changes or how.dry_run == "client":
        session.show(planned)
        return
    asked = how.dry_run == "none" and not how.yes
    if asked and not _confirmed(session, planned):
        session.show(structs.replace(planned, verdict="no", message="declined: nothing was sent."))
        return
    from kubectl_koord.cli.sending import send

    send(session.live_transport(), planned, how.field_manager, session.aim(), all_or_none=how.all_or_none)
    _tell_the_end(session, structs.replace(planned, applied=how.dry_run == "none"), shown_before=asked)


def check(session: "Session", how: How) -> None:
    """Refuse what may not be carried out this way, before anything is read. Raises KoordError when it may not."""
    if how.dry_run not in DRY_RUNS:
        raise KoordError(
            say(
                "error: --dry-run={dry_run} is not one of {dry_runs}", dry_run=how.dry_run, dry_runs=", ".join(DRY_RUNS)
            )
        )
    if not how.field_manager.isprintable() or not 0 < len(how.field_manager) <= _LONGEST_MANAGER:
        raise KoordError(
            say(
                "error: --field-manager {field_manager!r} must have 1 to {longest_manager} characters",
                field_manager=how.field_manager,
                longest_manager=_LONGEST_MANAGER,
            )
        )
    if how.dry_run != "client" and not session.options.is_live:
        raise KoordError(say("error: a snapshot cannot be changed; use --dry-run=client"))
    if how.dry_run == "none" and not how.yes and not (sys.stdin and sys.stdin.isatty()):
        raise KoordError(say("error: stdin is not a terminal; use --yes, or --dry-run=client to preview"))


def _tell_the_end(session: "Session", done: "ChangePlan", *, shown_before: bool) -> None:
    """Show what was done; of a plan that was shown before the question a line is enough."""
    if not shown_before or not session.options.is_text:
        session.show(done)
        return
    from kubectl_koord.cli.session import write
    from kubectl_koord.render import show
    from kubectl_koord.render.pages.change import headline

    write(show.sentence(headline(done), done.verdict, style=session.style()))


def _confirmed(session: "Session", planned: "ChangePlan") -> bool:
    from msgspec import structs

    from kubectl_koord.render import show
    from kubectl_koord.wording.words import count

    objects = count(len(planned.changes), "object")
    before = structs.replace(planned, message=say("To be changed: {objects}.", objects=objects))
    sys.stderr.write(show.text(before, style=session.style(sys.stderr)))
    namespaces = {change.object.namespace for change in planned.changes}
    leaving.say(say("\ninterrupted: nothing was sent\n"))
    confirmed = says_yes(
        say("Change {objects}{place}?", objects=objects, place=place(session.live_transport().target(), namespaces))
    )
    leaving.say(say("interrupted: nothing was sent\n"))
    return confirmed


def says_yes(question: str) -> bool:
    """Ask on standard error, and tell whether the answer is yes."""
    from kubectl_koord.render.plain import harmless

    sys.stderr.write(harmless(f"{question} [y/N] "))
    sys.stderr.flush()
    _until_typed()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stderr.write("\n")  # Ctrl-D leaves the cursor behind the question
    return answer.strip().lower() in {"y", "yes"}


def place(target: "Target", namespaces: "Iterable[str]") -> str:
    """Return where objects are to be changed, by the names that kubectl has for it."""
    cluster = say(' in cluster "{cluster}"', cluster=target.cluster) if target.cluster else ""
    names = [say('context "{context}"', context=target.context)] if target.context else []
    names += [say('namespace "{name}"', name=name) for name in sorted(filter(None, namespaces))]
    return say("{cluster} ({names})", cluster=cluster, names=say(", ").join(names))


def _until_typed() -> None:
    """Wait for a line or for Ctrl-C: one that comes in the instant before a read starts would not end the read."""
    import os
    import select
    import signal

    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    before = signal.set_wakeup_fd(waker)
    try:
        select.select([sys.stdin, woken], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(waker)


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

    Raises KoordError when there is no such workload, one cannot be a gang, or a value cannot be set.
    """
    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cli.sending import workload_as_written

    if session.options.output not in {"", "json", "yaml"}:
        raise KoordError(say("error: manifests are printed as -o yaml or json"))
    texts: list[str] = []
    documents = _documents(session, files, texts) if files else [workload_as_written(session, name)]
    found = _workloads(session, documents, name)
    if not found:
        raise KoordError(
            say("error: no workload{part} in {files}", part=f" {name}" if name else "", files=", ".join(files))
        )
    try:
        printed, plan = _planned(session, documents, found, wanted, overwrite=overwrite)
    except RefusedError as refused:
        raise KoordError(say("error: {refused}", refused=refused)) from None
    if not session.options.output:
        session.show(plan if files else _live(plan, found[0][1], wanted))
        return
    _write(session, printed, texts)


def _write(session: "Session", documents: "list[Any]", texts: "list[str]", *warnings: str) -> None:
    """Print manifests that were changed, and what is to be known of them."""
    from kubectl_koord.cli.session import write
    from kubectl_koord.cluster import edits
    from kubectl_koord.wording.words import SEMICOLON

    if session.options.output == "json":
        text, kept = edits.to_json(documents), True
    else:
        text, kept = edits.rewritten(documents, texts)
    told = [*warnings, *([] if kept or not texts else [say("comments are not kept")])]
    if told:
        sys.stderr.write(say("Warning: {told}.\n", told=SEMICOLON.join(told)))
    write(text)


def _documents(session: "Session", files: "Sequence[str]", texts: "list[str]") -> "list[Any]":
    from kubectl_koord.cluster import edits
    from kubectl_koord.cluster.files import files_of

    if "-" in files and "-" in session.options.snapshots:
        raise KoordError(say("error: -f and --snapshot cannot both read standard input"))
    return edits.manifests_read(files_of(files, recursive=session.options.recursive), texts)


def _workloads(session: "Session", documents: "Sequence[Any]", name: str) -> Made:
    """Return the workloads that are meant, each as it is written and what is known of its pods."""
    from kubectl_koord.cluster import edits
    from kubectl_koord.cluster.manifests.read import workload

    namespace = session.connection.namespace or "default"
    each = ((written, workload(written, namespace)) for written in edits.objects(documents))
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
    from kubectl_koord.changes.manifests import Meant, is_pod_group, new_gang
    from kubectl_koord.changes.values import of_manifests
    from kubectl_koord.cluster import edits, kinds
    from kubectl_koord.cluster.manifests.completed import Overrides
    from kubectl_koord.cluster.manifests.read import Document, Manifests
    from kubectl_koord.diagnosis import coverage
    from kubectl_koord.explain.fit import fit
    from kubectl_koord.reports.change import ChangePlan

    namespace = session.connection.namespace or "default"
    groups = [one["metadata"] for one in edits.objects(documents) if is_pod_group(one)]
    keys = frozenset(f"{one.get('namespace') or namespace}/{one.get('name')}" for one in groups)
    others = keys | {f"{one.namespace}/{one.name}" for _, one in found}
    made: dict[int, NewGang] = {}
    printed: list[Any] = []

    def replaced(item: "Manifest") -> "list[Manifest]":
        gang = made.get(id(item))
        return [item] if gang is None else [gang.pod_group, gang.workload]

    def manifests_of(values: "Iterable[Any]") -> Manifests:
        read = Manifests(session.namespace, session.connection.namespace, Overrides())
        for number, value in enumerate(edits.objects(values), 1):
            read.take(Document(say("the manifests"), number, value))
        return read

    submitted = manifests_of(documents)

    def join(collector: "Collector", moment: str, gaps: "Collection[Gap]") -> None:
        nonlocal submitted
        before = collector.snapshot(moment=moment, source="cluster", gaps=gaps)
        for written, one in found:
            made[id(written)] = new_gang(written, one, Meant("", namespace, overwrite, before, keys), wanted, others)
        printed.extend(one for document in documents for one in edits.inserted(document, replaced))
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

    from kubectl_koord.changes.values import recreate_workload
    from kubectl_koord.cluster.manifests.read import IMMUTABLE

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


_SHAPE = "shape"


def joined(session: "Session", manifests: "Manifests", names: "Sequence[str]") -> "tuple[Snapshot, Submitted]":
    """Return the cluster with the pods that manifests make, and which these are; `-` is standard input.

    Raises KoordError when they cannot be read.
    """
    from kubectl_koord.cluster.files import files_of

    if "-" in names and "-" in session.options.snapshots:
        raise KoordError(say("error: -f and --snapshot cannot both read standard input"))
    if names.count("-") > 1:
        raise KoordError(say("error: -f - can be given only once"))
    manifests.read(files_of(names, recursive=session.options.recursive))
    return _read(session, manifests.join, manifests.more_kinds), manifests.submitted()


def shaped(
    session: "Session", manifests: "Manifests", pods: int, requests: tuple[str, str], must_gather: str
) -> "tuple[Snapshot, Submitted]":
    """Return the cluster with a gang whose pods request this: which resources there are is known once it is read.

    Args:
        session: this run of the program.
        manifests: takes the gang.
        pods: how many it has.
        requests: the flag, and what was given for it; nothing for no requests.
        must_gather: the layer that they must gather in, empty for none.

    Raises KoordError when the requests cannot be read.
    """
    from kubectl_koord.simulation.submitted import of_profile

    _requests((), *requests)  # a mistake is told before anything is read

    def join(collector: "Collector", moment: str, gaps: "Collection[Gap]") -> None:
        manifests.add_shape(_SHAPE, pods, _requests(collector.nodes.values(), *requests), must_gather)
        manifests.join(collector, moment, gaps)

    snapshot = _read(session, join)
    submitted = manifests.submitted()
    return of_profile(snapshot, submitted), submitted


def _read(session: "Session", join: "Join", more: "Sequence[str]" = ()) -> "Snapshot":
    from kubectl_koord.cluster import kinds

    return session.snapshot((*kinds.DISRUPTION_KINDS, *kinds.FIT_KINDS, *more), join=join)


def _requests(nodes: "Iterable[Node]", flag: str, written: str) -> dict[str, str]:
    from kubectl_koord.model.values import spell
    from kubectl_koord.simulation.submitted import ShapeError, requested

    try:
        found = requested(nodes, written, known=False) if written else {}
    except ShapeError as problem:
        raise KoordError(say("error: {flag}: {problem}", flag=flag, problem=problem)) from None
    return {name: spell(name, amount) for name, amount in found.items()}


def print_changed(
    session: "Session", files: "Sequence[str]", name: str, plan: "Planned", *, what: str, overwrite: bool
) -> None:
    """Print manifests with a change made to them, and everything else as it was.

    Layers and gangs are checked against a file, or the demo, that is given in place of a cluster.

    Args:
        session: this run of the program.
        files: files and folders; `-` is standard input.
        name: the PodGroup or gang that is meant, empty for all.
        plan: returns the change to be made to the objects of the files, None where none of them is meant.
        what: what is meant, for the error where there is none.
        overwrite: whether other values may be replaced.

    Raises KoordError when a file cannot be read, nothing in it is meant, or a value cannot be set.
    """
    from kubectl_koord.changes.manifests import Meant
    from kubectl_koord.changes.values import RefusedError
    from kubectl_koord.cluster import edits, kinds
    from kubectl_koord.simulation import subjects

    if session.options.output not in {"", "json", "yaml"}:
        raise KoordError(say("error: manifests are printed as -o yaml or json"))
    namespace = session.connection.namespace or "default"
    key = subjects.pod_group_key(name, namespace) if name else ""
    texts: list[str] = []
    documents = _documents(session, files, texts)
    snapshot = None if session.options.is_live else session.snapshot(kinds.GANG_KINDS)
    try:
        change = plan([*edits.objects(documents)], Meant(key, namespace, overwrite, snapshot))
        if change is None:
            raise KoordError(
                say(
                    "error: no {what}{part} in {files}",
                    what=what,
                    part=f" {key}" if key else "",
                    files=", ".join(files),
                )
            )
        printed = [edits.replaced(document, change) for document in documents]
    except RefusedError as refused:
        raise KoordError(say("error: {refused}", refused=refused)) from None
    unchecked = [say("layers and gangs were not checked, as no cluster was read")] if snapshot is None else []
    _write(session, printed, texts, *unchecked)
