"""Commands as people paste them: run by a shell, written down by a kubectl of ours, done to objects in memory."""

import copy
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Json = dict[str, Any]

_WORD, _CALL = "\x1f", "\x1e"
_TOLD = r"""#!/bin/sh
printf '%s\037' "$@" >> "$TOLD"
for last; do :; done
if [ "$last" = - ]; then cat >> "$TOLD"; fi
printf '\036' >> "$TOLD"
"""
_KINDS = {
    "podgroup": "PodGroup",
    "podgroups": "PodGroup",
    "pod": "Pod",
    "pods": "Pod",
    "node": "Node",
    "elasticquota": "ElasticQuota",
    "clusternetworktopology": "ClusterNetworkTopology",
    "reservation": "Reservation",
    "resourceclaim": "ResourceClaim",
    "pvc": "PersistentVolumeClaim",
    "deployment": "Deployment",
    "configmap": "ConfigMap",
    "resourcequota": "ResourceQuota",
    "serviceaccount": "ServiceAccount",
    "limitranges": "LimitRange",
    "priorityclasses": "PriorityClass",
}
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_FLAGS: Mapping[str, Mapping[str, bool]] = {
    "annotate": {"--overwrite": False},
    "apply": {"-f": True},
    "api-resources": {"--api-group": True},
    "auth": {"--list": False, "-A": False},
    "cordon": {},
    "create": {"--clusterrole": True, "--user": True, "--verb": True, "--resource": True},
    "delete": {},
    "describe": {},
    "edit": {},
    "get": {
        "-o": True,
        "-l": True,
        "-L": True,
        "--raw": True,
        "-A": False,
        "--field-selector": True,
        "--show-labels": False,
    },
    "label": {"--overwrite": False},
    "logs": {"--tail": True, "-l": True, "-c": True, "-p": False, "--previous": False},
    "patch": {"--type": True, "-p": True},
    "rollout": {},
    "uncordon": {},
}
"""The verbs of kubectl that are printed, with the flags of theirs, and whether each takes a value."""
_OF_ALL = {"-n": True, "--context": True, "--kubeconfig": True}


class Call(NamedTuple):
    """One call of kubectl: its words, and what it read from standard input."""

    words: tuple[str, ...]
    stdin: str = ""


class Kubectl(NamedTuple):
    """What a call asks kubectl for, its flags taken apart."""

    verb: str
    words: tuple[str, ...]
    flags: Mapping[str, str]

    @property
    def namespace(self) -> str:
        return self.flags.get("-n", "default")


def pasted(command: str, folder: Path) -> list[Call]:
    """Run a command line in a shell whose kubectl does nothing but write down what it is asked for."""
    script, told = folder / "kubectl", folder / "told"
    if not script.exists():
        script.write_text(_TOLD)
        script.chmod(0o755)
    told.write_text("")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "TOLD": str(told)}
    done = subprocess.run(
        ["sh", "-u", "-c", command],
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    return [_call(each) for each in told.read_text().split(_CALL)[:-1]]


def _call(written: str) -> Call:
    *words, stdin = written.split(_WORD)
    return Call(tuple(words), stdin)


def understood(call: Call) -> Kubectl:
    """Return what kubectl would take a call for; a verb or flag that it has not is a failure."""
    flags: dict[str, str] = {}
    words: list[str] = []
    verb = next(word for word in call.words if not word.startswith("-"))
    known = {**_OF_ALL, **_FLAGS[verb]}
    rest = iter(call.words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if word.startswith("-") and word != "-":
            assert flag in known, f"kubectl {verb} has no flag {flag}"
            flags[flag] = value if equals or not known[flag] else next(rest)
        else:
            words.append(word)
    return Kubectl(verb, tuple(words[1:]), flags)


def done(call: Call, cluster: Json) -> Json:
    """Return the objects after a call of kubectl, which has to be accepted."""
    asked = understood(call)
    after = copy.deepcopy(cluster)
    _DONE[asked.verb](asked, after, call.stdin)
    return after


def changed_as_planned(cluster: Json, plan: Json) -> Json:
    """Return the objects with the changes of a plan."""
    after = copy.deepcopy(cluster)
    for change in plan["changes"]:
        target = change["object"]
        _merge(_found(after, target["kind"], target["name"], target["namespace"]), change["patch"])
    return after


def _found(cluster: Json, kind: str, name: str, namespace: str = "") -> Json:
    for item in cluster["items"]:
        meta = item["metadata"]
        if (item["kind"], meta["name"]) == (kind, name) and namespace in {"", meta.get("namespace", "default")}:
            found: Json = item
            return found
    raise AssertionError(f"there is no {kind} {namespace}/{name}")


def _merge(into: Json, patch: Json) -> None:
    """Merge as RFC 7396 has it."""
    for name, value in patch.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def _object(asked: Kubectl, cluster: Json) -> Json:
    kind, name, *_ = asked.words
    return _found(cluster, _KINDS[kind], name, asked.flags.get("-n", ""))


def _patch(asked: Kubectl, cluster: Json, _stdin: str) -> None:
    target, patch = _object(asked, cluster), json.loads(asked.flags["-p"])
    if asked.flags["--type"] == "merge":
        _merge(target, patch)
        return
    assert asked.flags["--type"] == "json"
    for step in patch:
        assert step["op"] == "add"
        *path, last = step["path"].strip("/").split("/")
        holder: Any = target
        for name in path:
            holder = holder[name]
        if last == "-":
            holder.append(step["value"])
        else:
            holder[last] = step["value"]


def _annotate(asked: Kubectl, cluster: Json, _stdin: str) -> None:
    meta = _object(asked, cluster)["metadata"]
    for word in asked.words[2:]:
        key, equals, value = word.partition("=")
        assert equals, word
        assert key not in meta.get("annotations", {}) or "--overwrite" in asked.flags
        meta.setdefault("annotations", {})[key] = value


def _label(asked: Kubectl, cluster: Json, _stdin: str) -> None:
    kind, *words = asked.words
    names = [word for word in words if "=" not in word and not word.endswith("-")]
    for name in names:
        labels = _found(cluster, _KINDS[kind], name)["metadata"].setdefault("labels", {})
        for word in words[len(names) :]:
            key, equals, value = word.partition("=")
            assert not equals or key not in labels or "--overwrite" in asked.flags, word
            labels.update({key: value} if equals else {})
            labels.pop(key.removesuffix("-"), None) if not equals else None


def _delete(asked: Kubectl, cluster: Json, _stdin: str) -> None:
    kind, *names = asked.words
    for name in names:
        cluster["items"].remove(_found(cluster, _KINDS[kind], name, asked.flags.get("-n", "")))


def _apply(_asked: Kubectl, cluster: Json, stdin: str) -> None:
    made = yaml.safe_load(stdin)
    cluster["items"].append(made)


def _cordon(asked: Kubectl, cluster: Json, _stdin: str) -> None:
    """Cordon or uncordon; the taint follows, as a controller sees to it."""
    for name in asked.words:
        spec = _found(cluster, "Node", name).setdefault("spec", {})
        spec["unschedulable"] = asked.verb == "cordon"
        others = [taint for taint in spec.get("taints", ()) if taint["key"] != _CORDONED["key"]]
        spec["taints"] = [*others, *([_CORDONED] if asked.verb == "cordon" else [])]


def _look(asked: Kubectl, cluster: Json, _stdin: str) -> None:
    kind, *names = asked.words
    assert kind in _KINDS or kind == "clusternetworktopologies", kind
    for name in names:
        if _KINDS[kind] not in {"Deployment", "ConfigMap"}:  # these need not be in a record
            _found(cluster, _KINDS[kind], name, asked.flags.get("-n", ""))


_DONE: Mapping[str, Callable[[Kubectl, Json, str], None]] = {
    "annotate": _annotate,
    "apply": _apply,
    "cordon": _cordon,
    "delete": _delete,
    "describe": _look,
    "edit": _look,
    "get": _look,
    "label": _label,
    "patch": _patch,
    "uncordon": _cordon,
}
