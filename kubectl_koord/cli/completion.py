"""Completion for kubectl: `kubectl_complete-koord`, and the names that a cluster or a file has."""

import contextlib
import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cli import command_line
from kubectl_koord.cli.command_line import Globals
from kubectl_koord.cli.verb_table import VERBS, has_more
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import Connection, take_connection
from kubectl_koord.cluster.api.transport import Transport
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

VERB = "__complete"
NO_FILES, FILES, FOLDERS = ":4", ":0", ":16"


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "FORMAT": command_line.FORMATS,
    "GOAL": ("scheduled", "running"),
    "MODE": ("Strict", "NonStrict"),
    "POLICY": ("only-waiting", "waiting-and-running", "once-satisfied"),
}
"""What may stand for a value, by its name in the help; `auto|always|never` names them itself."""
_NAMED = {
    "GANG": "gang",
    "GANG,...": "gang",
    "LAYER": "layer",
    "--domain": "domain",
    "--namespace": "namespace",
    "--koordinator-namespace": "namespace",
    "-n": "namespace",
    "--context": "context",
    "--cluster": "cluster",
    "--user": "user",
}
"""What of the cluster, or of the kubeconfig, a value names: by its name in the help, or by the flag."""
# Only where a value may also be left out is it taken after `=` alone.
_AFTER_EQUALS_ONLY = {"--dry-run"}
# Not every kubectl knows these.
_LATE = {"--as-user-extra", "--kuberc"}
_SECONDS = 0.5


class TypedLine(Struct, frozen=True):
    """A command line being typed: the verb so far, the words after it, the flag whose value is next."""

    typed: tuple[str, ...]
    verb: str = ""
    words: tuple[str, ...] = ()
    flag: str = ""
    only_words: bool = False


def main() -> None:
    """Answer kubectl's question and leave with 0, whatever happens."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)  # no credential plugin may ask while somebody types
    os.dup2(null, 2)
    text = answer(sys.argv[1:])
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    finally:
        os._exit(0)


def answer(argv: Sequence[str]) -> str:
    """Return the candidates for the last word, one a line, and the directive."""
    try:
        found, directive = _candidates(argv)
    except Exception:  # noqa: BLE001 - a failure would be taken for "complete file names"
        found, directive = [], NO_FILES
    return "".join(f"{line}\n" for line in (*found, directive))


def _candidates(argv: Sequence[str]) -> tuple[list[str], str]:
    *before, word = argv or ("",)
    line = _read(before)
    flag, equals, value = word.partition("=")
    if line.flag:
        return _values(line, line.flag, word)
    if line.only_words or not word.startswith("-"):
        return _words(line, word)
    if equals:
        return _values(line, flag, value)
    flags = {**command_line.flags_of(line.verb), **command_line.OF_ALL}
    found = _starting(word, [name for name in flags if name.startswith("--")])
    return [f"{name}\t{flags[name][1]}" for name in _known(found)], NO_FILES


def _read(typed: Sequence[str]) -> TypedLine:
    """Return what the complete words of the line say."""
    verb = flag = ""
    words: list[str] = []
    rest = iter(typed)
    for word in rest:
        if flag:
            flag = ""
        elif word == "--":
            return TypedLine(tuple(typed), verb, (*words, *rest), "", only_words=True)
        elif word.startswith("-"):
            flag = word if word not in _AFTER_EQUALS_ONLY and bool(_value_of(verb, word)) else ""
        elif f"{verb} {word}".lstrip() in VERBS and not words:
            verb = f"{verb} {word}".lstrip()
        else:
            words.append(word)
    return TypedLine(tuple(typed), verb, tuple(words), flag)


def _value_of(verb: str, flag: str) -> str:
    """Return what stands for the value of a flag in the help: nothing for a switch."""
    return {**command_line.OF_ALL, **command_line.flags_of(verb)}.get(flag, ("", ""))[0]


def _known(flags: list[str]) -> list[str]:
    """Leave out what kubectl would refuse: the one that asks (it tells its path), or the one that is found."""
    if not _LATE & set(flags):
        return flags
    import shutil
    import subprocess

    kubectl = os.environ.get("KUBECTL_PATH") or shutil.which("kubectl")
    known = ""
    if kubectl:
        ask = [kubectl, "options"]
        known = subprocess.run(  # noqa: S603 - what the user's kubectl takes
            ask, capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL
        ).stdout
    return [flag for flag in flags if flag not in _LATE or f"{flag}=" in known]


def _words(line: TypedLine, word: str) -> tuple[list[str], str]:
    if not line.verb and not line.words:
        verbs = (f"{name}\t{say(verb.about)}" for name, verb in VERBS.items() if " " not in name)
        return _starting(word, verbs), NO_FILES
    row = VERBS.get(line.verb)
    expected = row.words[len(line.words) :] or (row.words[-1:] if row.repeats else ()) if row else ()
    if not line.words and has_more(line.verb):
        behind = ((name.partition(" "), verb) for name, verb in VERBS.items())
        targets = (f"{name[2]}\t{say(verb.about)}" for name, verb in behind if name[2] and name[0] == line.verb)
        return _starting(word, targets), NO_FILES
    if not expected:
        return [], NO_FILES
    if expected[0] == "file":
        return [], FILES
    if expected[0] in _OF_PROGRAM:
        return _starting(word, _OF_PROGRAM[expected[0]](line.verb)), NO_FILES
    typed = frozenset(line.words) if row and row.repeats else frozenset()
    return [name for name in _named(line, expected[0], word) if name not in typed], NO_FILES


def _targets(verb: str) -> list[str]:
    behind = f"{verb} "
    return [f"{name[len(behind) :]}\t{say(row.about)}" for name, row in VERBS.items() if name.startswith(behind)]


def _codes(_verb: str) -> list[str]:
    from kubectl_koord.reports import common

    return [code for _, group in common.GROUPS for code in group]


_OF_PROGRAM: "Mapping[str, Callable[[str], Iterable[str]]]" = {
    "target": _targets,
    "shell": lambda _verb: command_line.SHELLS,
    "code": _codes,
}
"""What can stand for a word, of the program's own."""


def _causes() -> tuple[str, ...]:
    from kubectl_koord.reports.common import CAUSES

    return CAUSES


def _values(line: TypedLine, flag: str, value: str) -> tuple[list[str], str]:
    """Return the bare values of a flag: kubectl's scripts have cut off what stands before the `=`."""
    what = _value_of(line.verb, flag)
    if flag in {"-o", "--output"} and line.verb and VERBS[line.verb].writes:
        return [], FILES
    if "FILE" in what or what == "DIR":
        return [], FILES if "FILE" in what else FOLDERS
    if named := _NAMED.get(flag) or _NAMED.get(what):
        return _named(line, named, value), NO_FILES
    if flag == "--cause":
        return _starting(value, _causes()), NO_FILES
    choices = what.strip("[]").split("|") if "|" in what else ()
    return _starting(value, _CHOICES.get(what, choices)), NO_FILES


def _starting(word: str, candidates: Iterable[str]) -> list[str]:
    return [candidate for candidate in candidates if candidate.startswith(word)]


def _named(line: TypedLine, what: str, word: str) -> list[str]:
    """Return names out of the cluster, the file or the kubeconfig that the line speaks of."""
    complete = line.typed[:-1] if line.flag else line.typed
    try:
        connection, rest = take_connection(complete)
        chosen, _ = command_line.take_globals(rest)
    except KoordError:
        return []
    return _starting(word, find(what, word, connection, chosen))


SECONDS = 1.5
_HARMLESS = re.compile(r"[\w.:/@+=,%-]+", re.ASCII)
_SECTIONS = {"context": "contexts", "cluster": "clusters", "user": "users"}
_OK = 200
_MOST = 500


class _Meta(Struct):
    name: str = ""
    labels: dict[str, str] | None = None


class _Layer(Struct, rename="camel"):
    topology_layer: str = ""
    label_key: list[str] | None = None


class _Spec(Struct, rename="camel"):
    network_topology_spec: list[_Layer] | None = None


class _Domain(Struct, rename="camel"):
    topology_layer: str = ""
    topology_name: str = ""


class _Detail(Struct, rename="camel"):
    topology_info: _Domain = field(default_factory=_Domain)


class _Status(Struct, rename="camel"):
    detail_status: list[_Detail] | None = None


class _Item(Struct):
    metadata: _Meta = field(default_factory=_Meta)
    spec: _Spec | None = None
    status: _Status | None = None


class _Items(Struct):
    items: list[_Item] | None = None


def find(what: str, word: str, connection: Connection, chosen: Globals, seconds: float = 0) -> list[str]:
    """Return the names of a kind that a word may become; none where they cannot be had within the time."""
    outcome: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def look_up() -> None:
        # Whatever goes wrong here is told when the command itself runs.
        with contextlib.suppress(Exception):
            _look_up(what, word, connection, chosen, outcome)
        outcome.put([])

    threading.Thread(target=look_up, daemon=True).start()
    try:
        return [name for name in outcome.get(timeout=seconds or SECONDS) if _HARMLESS.fullmatch(name)]
    except queue.Empty:
        return []


def _look_up(
    what: str, word: str, connection: Connection, chosen: Globals, outcome: "queue.SimpleQueue[list[str]]"
) -> None:
    if what in _SECTIONS:
        outcome.put(sorted(set(_configured(_SECTIONS[what], connection))))
    elif not chosen.is_live:
        from kubectl_koord.cli import recorded_names

        outcome.put(recorded_names.find(what, word, chosen, connection.namespace or "default"))
    else:
        limited = connection._replace(request_timeout=min(connection.request_timeout or SECONDS, SECONDS))
        with connect(limited, writes=False) as transport:
            outcome.put(_live(what, word, transport))


def _live(what: str, word: str, transport: Transport) -> list[str]:
    """Return names in the namespace of the line, or in that of a word `namespace/...`."""
    from kubectl_koord.cluster.kinds import ELASTIC_QUOTA, NETWORK_TOPOLOGY, NODE, POD, POD_GROUP

    if what == "namespace":
        return [item.metadata.name for item in _list(transport, "/api/v1/namespaces")]
    if what == "node":
        return [item.metadata.name for item in _list(transport, NODE.path())]
    if what == "quota":
        from kubectl_koord.model.quotas import BUILT_IN

        return sorted({*BUILT_IN, *(item.metadata.name for item in _list(transport, ELASTIC_QUOTA.path()))})
    if what == "domain":
        found = _domains(transport)
        return sorted({f"{layer}/{name}" if "/" in word else name for layer, name in found})
    if what == "layer":
        listed = _list(transport, NETWORK_TOPOLOGY.path())
        return [layer.topology_layer for item in listed if item.spec for layer in item.spec.network_topology_spec or ()]
    namespace, slash, _ = word.rpartition("/")
    kind = POD if what == "pod" else POD_GROUP
    listed = _list(transport, kind.path(namespace or transport.namespace()))
    return [f"{namespace}{slash}{item.metadata.name}" for item in listed]


def _domains(transport: Transport) -> list[tuple[str, str]]:
    """Return the domains that the scheduler has written down, by layer and name, else those of the nodes' labels."""
    from kubectl_koord.cluster.kinds import NETWORK_TOPOLOGY, NODE
    from kubectl_koord.engine.tree import NODE_LAYER

    (topology, *_) = [*_list(transport, NETWORK_TOPOLOGY.path()), _Item()]
    details = (topology.status and topology.status.detail_status) or ()
    written = [(one.topology_info.topology_layer, one.topology_info.topology_name) for one in details]
    if found := [(layer, name) for layer, name in written if name and layer != NODE_LAYER]:
        return found
    layers = (topology.spec and topology.spec.network_topology_spec) or ()
    keys = [(layer.topology_layer, key) for layer in layers for key in layer.label_key or ()]
    labels = [item.metadata.labels or {} for item in (_list(transport, NODE.path()) if keys else ())]
    return [(layer, one[key]) for one in labels for layer, key in keys if one.get(key)]


def _list(transport: Transport, path: str) -> Iterable[_Item]:
    body = transport.open(f"{path}?limit={_MOST}&resourceVersion=0")
    try:
        if body.status != _OK:
            return ()
        return msgspec.json.decode(body.read(), type=_Items).items or ()
    finally:
        body.close()


def _configured(section: str, connection: Connection) -> Iterable[str]:
    """Yield the names of a section of the kubeconfig files; a file that cannot be read has none."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    given = connection.value("kubeconfig") or os.environ.get("KUBECONFIG", "")
    paths = [Path(path) for path in given.split(os.pathsep) if path] or [Path.home() / ".kube" / "config"]
    for path in paths:
        with contextlib.suppress(OSError, UnicodeDecodeError, yaml.YAMLError):
            config = yaml.load(path.read_text("utf-8"), loader)  # noqa: S506 - a safe loader
            entries = config.get(section) if isinstance(config, dict) else None
            yield from (
                entry["name"]
                for entry in entries or ()
                if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
            )
