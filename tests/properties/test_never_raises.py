"""Whatever the cluster holds, every answer is an answer."""

import json
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_koord.changes.annotate import PodsWanted, pod_group_plan, pods_plan
from kubectl_koord.changes.values import RefusedError, WantedSettings
from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import KINDS, WIRE_TYPES
from kubectl_koord.engine.gangs import GangSubject, Subject
from kubectl_koord.errors import KoordError
from kubectl_koord.explain import preempt as victims
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why, with_nodes
from kubectl_koord.explain.why_preempted import other_namespaces, why_preempted
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.subjects import Unknown, find, pending_subjects
from tests.build import SPINE, Drawing
from tests.properties.objects import objects_of
from tests.properties.strategies import ODD, clusters

FEWER = settings(max_examples=settings().max_examples // 3)

NAMES = ("job", "peer", "default", "n1", "n2", "koord-scheduler", "koord-scheduler-config")
WEIRD = st.sampled_from(
    (
        *NAMES,
        "",
        "1",
        "-1",
        "+-1",
        "4",
        "500m",
        "1e400",
        "nan",
        "9" * 70,
        "true",
        "false",
        "None",
        "null",
        "[]",
        "{}",
        '["default/job"]',
        '[["a"]]',
        '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather"}]}',
        '{"gatherStrategy": [{"layer": "NodeTopologyLayer", "strategy": "MustGather", "podCountMultiple": -2}]}',
        '{"gatherStrategy": [{"layer": "BlockLayer", "strategy": "PreferGather", "podCountMultiple": 3}]}',
        '{"resources": {"cpu": "1"}, "reservedCPUs": "0-3,x"}',
        '{"resources": {"cpu": []}}',
        "profiles: 5",
        "profiles: [{pluginConfig: 5}]",
        "profiles: [{pluginConfig: [{name: Coscheduling, args: [1]}]}]",
        "date: 2026-13-45",
        "a: [",
        "In",
        "NotIn",
        "Gt",
        "Exists",
        "Always",
        "DoNotSchedule",
        "NoSchedule",
        "Never",
        "Running",
        "Succeeded",
        "Failed",
        "True",
        "PodScheduled",
        "DisruptionTarget",
        "PreemptionByScheduler",
        "Preempted",
        "FailedScheduling",
        "Pod",
        "x: preempting to accommodate higher priority pods, preemptor: default/job,a/b, triggerPod: default/job",
        "Preempted by pod 1 on node n1",
        "2026-11-20T10:00:00Z",
        "2026-11-20T10:00:00",
        "SpineLayer",
        "NodeTopologyLayer",
        "ClusterTopologyLayer",
        "\u202e\x1b[31m\u0000",
        "x/y/z",
        "cpu",
        "pods",
        "nvidia.com/gpu",
        "network/spine",
        "pod-group.scheduling.sigs.k8s.io",
        "pod-group.scheduling.sigs.k8s.io/name",
        "pod-group.scheduling.sigs.k8s.io/min-available",
        "gang.scheduling.koordinator.sh/name",
        "gang.scheduling.koordinator.sh/groups",
        "gang.scheduling.koordinator.sh/network-topology-spec",
        "gang.scheduling.koordinator.sh/network-topology-index",
        "node.koordinator.sh/reservation",
        "quota.scheduling.koordinator.sh/namespaces",
        "scheduling.koordinator.sh/questioned-object-key",
    )
)


def values(wanted: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401
    """Return JSON values of a wire type, weird ones included."""
    return _of(msgspec.inspect.type_info(wanted))


def _of(info: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    match info:
        case msgspec.inspect.StructType(fields=fields):
            optional = {field.encode_name: _of(field.type) for field in fields if field.encode_name != "name"}
            named = {field.encode_name: WEIRD for field in fields if field.encode_name == "name"}
            found: st.SearchStrategy[Any] = st.fixed_dictionaries(named, optional=optional)
        case msgspec.inspect.UnionType(types=types):
            found = st.one_of([_of(one) for one in types])
        case msgspec.inspect.DictType(value_type=value):
            found = st.dictionaries(WEIRD, _of(value), max_size=4)
        case msgspec.inspect.ListType(item_type=item):
            found = st.lists(_of(item), max_size=3)
        case _:
            found = _PLAIN.get(type(info), WEIRD)
    return found


_PLAIN: dict[type, st.SearchStrategy[Any]] = {
    msgspec.inspect.BoolType: st.booleans(),
    msgspec.inspect.IntType: st.sampled_from((0, 1, 2, 8, 110, -1, (1 << 31) - 1)),
    msgspec.inspect.FloatType: st.floats(allow_nan=False, allow_infinity=False),
    msgspec.inspect.NoneType: st.none(),
    msgspec.inspect.AnyType: st.one_of(WEIRD, st.integers(), st.none()),
}
KIND = st.sampled_from(sorted(WIRE_TYPES)).flatmap(
    lambda kind: values(WIRE_TYPES[kind]).map(
        lambda written: {**written, "apiVersion": KINDS[kind].api_version, "kind": KINDS[kind].object_kind}
    )
)


def ask_everything(snapshot: Snapshot) -> None:
    """Ask every question there is about everybody."""
    every_pending(snapshot)
    topo(snapshot)
    for subject in pending_subjects(snapshot):
        with_nodes(why(snapshot, subject), snapshot, subject)
        preempt(snapshot, subject)
        topo(snapshot, subject)
    for name in ("job", "default/job", "pod/job", "job/job", "zzz", ""):
        victim = victims.find(snapshot, name, "default")
        asked = victims.VictimName("pod", f"default/{name}") if isinstance(victim, Unknown) else victim
        other_namespaces(why_preempted(snapshot, asked))
        victims.find_anywhere(snapshot, name)
        found = find(snapshot, name, "default")
        if isinstance(found, Unknown):
            continue
        assert isinstance(found, Subject)
        why(snapshot, found)
        preempt(snapshot, found)
        _plan(snapshot, found)


def _plan(snapshot: Snapshot, subject: Subject) -> None:
    with suppress(RefusedError):
        pod_group_plan(
            snapshot, subject.key, WantedSettings(must_gather=(SPINE,), multiples=(f"{SPINE}=2",)), overwrite=True
        )
    if isinstance(subject, GangSubject):
        with suppress(RefusedError):
            pods_plan(snapshot, subject, PodsWanted(index=True), overwrite=True)


@FEWER
@given(clusters())
def test_no_question_about_a_cluster_raises(drawing: Drawing) -> None:
    ask_everything(drawing)


@given(clusters(ODD))
def test_no_question_about_groups_that_name_anybody_raises(drawing: Drawing) -> None:
    ask_everything(drawing)


@given(st.lists(KIND, max_size=12))
def test_no_question_about_objects_that_decode_raises(objects: list[dict[str, Any]]) -> None:
    collector = Collector(traced=True)
    for one in objects:
        with suppress(KoordError):
            stored.take("weird.json", json.dumps(one).encode(), collector)
    ask_everything(collector.snapshot(moment="2026-11-20T10:00:00Z", source="file"))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Return the paths of all texts and numbers in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict | list):
        return [leaf for key, item in inner for leaf in leaves(item, (*path, key))]
    return [path]


def but(value: Any, path: tuple[Any, ...], new: object) -> Any:  # noqa: ANN401
    """Return a JSON value with one leaf replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = but(value[path[0]], path[1:], new)
    return copy


@FEWER
@given(clusters(), st.lists(st.tuples(st.integers(0, 10**6), WEIRD), min_size=1, max_size=8))
def test_no_question_about_a_cluster_with_weird_fields_raises(drawing: Drawing, faults: list[tuple[int, str]]) -> None:
    objects = objects_of(drawing)
    for where, new in faults:
        index = where % len(objects)
        paths = leaves(objects[index])
        objects[index] = but(objects[index], paths[where // len(objects) % len(paths)], new)
    collector = Collector(traced=True)
    for one in objects:
        with suppress(KoordError):
            stored.take("weird.json", json.dumps(one).encode(), collector)
    ask_everything(collector.snapshot(moment="2026-11-20T10:00:00Z", source="file"))
