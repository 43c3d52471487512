"""What a snapshot holds: by a list of what is kept, so that nothing slips in."""

import gzip
import io
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

import kubectl_koord
from kubectl_koord.cluster import kinds, stored
from kubectl_koord.cluster.objects import scheduler as scheduler_object
from kubectl_koord.cluster.recorded import Recording, RecordingMeta
from kubectl_koord.cluster.recording import kept
from kubectl_koord.cluster.recording import recorder as document
from kubectl_koord.cluster.recording.anonymous import is_standard
from kubectl_koord.cluster.recording.recorder import Recorder
from kubectl_koord.diagnosis import labels
from tests.cli.fuzzing import whole
from tests.cli.world import GATHER, lease, node, pod, pod_group, scheduler, topology

Object = dict[str, Any]
SECRET = "hunter2-canary"  # noqa: S105 - planted, to be found


def written(*items: Object, anonymize: bool = False, labels: tuple[str, ...] = ()) -> str:
    recorder = Recorder()
    stored.take("cluster.json", json.dumps({"kind": "List", "items": items}).encode(), recorder)
    recording = Recording(metadata=RecordingMeta("cluster"), moment="2026-11-21T00:00:00Z")
    names = document.new_names(recorder, recording, labels) if anonymize else None
    file = io.BytesIO()
    document.write(recorder, recording, file, names=names, labels=labels)
    return gzip.decompress(file.getvalue()).decode()


def planted() -> list[Object]:
    """Return a cluster with a secret wherever people put them."""
    secret_pod, waiting = pod("runs", on="a0"), pod("waits", "job")
    for one in (secret_pod, waiting):
        meta, spec = one["metadata"], one["spec"]
        meta["labels"] |= {"token": SECRET, "team": "vision"}
        meta["annotations"] = {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"env": SECRET}),
            "vault.corp.example/token": SECRET,
            "foo.koordinator.sh/token": SECRET,
            "scheduling.koordinator.sh/scheduling-hint": SECRET,
        }
        meta["managedFields"] = [{"manager": SECRET}]
        spec["containers"][0] |= {
            "image": f"registry/{SECRET}",
            "command": ["run", SECRET],
            "args": [f"--password={SECRET}"],
            "env": [{"name": "TOKEN", "value": SECRET}],
            "envFrom": [{"secretRef": {"name": SECRET}}],
            "livenessProbe": {"httpGet": {"path": f"/?token={SECRET}"}},
        }
        spec["imagePullSecrets"] = [{"name": SECRET}]
        spec["serviceAccountName"] = SECRET
        spec["volumes"] = [
            {"name": "s", "secret": {"secretName": SECRET}},
            {"name": "c", "csi": {"driver": "d", "volumeAttributes": {"key": SECRET}, "nodePublishSecretRef": SECRET}},
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"x": SECRET}}}}},
            {"name": "i", "iscsi": {"secretRef": {"name": SECRET}}},
        ]
        one["status"]["conditions"] = [{"type": "Initialized", "status": "True", "message": SECRET}]
        one["status"]["podIP"] = SECRET
    first = node("a0", "spine-a")
    first["metadata"]["labels"]["token"] = SECRET
    first["status"]["conditions"][0]["message"] = SECRET
    first["status"]["conditions"] += [{"type": "DiskPressure", "status": "False", "message": SECRET}]
    deployment, settings = scheduler()
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = [f"--token={SECRET}", "--leader-elect=false"]
    deployment["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": SECRET}]
    other = json.loads(json.dumps(deployment).replace("koord-scheduler", SECRET))
    other["metadata"]["name"] = "somebody-else"
    text = settings["data"]["koord-scheduler-config"].replace("args: {", f"args: {{password: {SECRET}, ")
    more = f"  - name: Webhook\n    args: {{password: {SECRET}}}\nclientConnection: {{kubeconfig: {SECRET}}}\n"
    settings["data"] = {"koord-scheduler-config": text + more, "password": SECRET}
    arguments = f"{{password: {SECRET}, namespaces: {{include: [a], x: {SECRET}}}}}"
    evictions = {
        "kind": "ConfigMap",
        "metadata": {"name": "koord-descheduler-config", "annotations": {"a": SECRET}},
        "data": {
            "koord-descheduler-config": "kind: DeschedulerConfiguration\n"
            f"x: {SECRET}\nprofiles: [{{x: {SECRET}, plugins: {{evict: {{enabled: [{{name: a, x: {SECRET}}}]}}}}, "
            f"pluginConfig: [{{name: a, args: {arguments}}}, {{name: MigrationController, args: {arguments}}}]}}]",
            "x": SECRET,
        },
    }
    event = {
        "kind": "Event",
        "metadata": {"name": "x", "namespace": "default"},
        "reason": "Pulled",
        "message": SECRET,
        "involvedObject": {"kind": "Pod", "name": "runs"},
    }
    reservation = {
        "kind": "Reservation",
        "metadata": {"name": "r", "annotations": {"token": SECRET}},
        "spec": {"template": {"metadata": {"labels": {"token": SECRET}}, "spec": secret_pod["spec"]}},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": SECRET}}
    group = pod_group("job", 1, token=SECRET, **GATHER)
    map_ = {"kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": SECRET}}
    hook = {"name": "a", "clientConfig": {"caBundle": SECRET, "url": SECRET}, "namespaceSelector": {"x": SECRET}}
    webhooks = [
        {
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name, "labels": {"a": SECRET}},
            "webhooks": [hook],
        }
        for name in ("koordinator-validating-webhook-configuration", SECRET)
    ]
    limits = {"kind": "LimitRange", "metadata": {"name": "l", "namespace": "x", "annotations": {"a": SECRET}}}
    priority = {"kind": "PriorityClass", "metadata": {"name": "p"}, "value": 1, "description": SECRET}
    return [
        *webhooks,
        limits,
        priority,
        *changing_pods(),
        *owners(),
        secret_pod,
        waiting,
        first,
        deployment,
        other,
        settings,
        evictions,
        event,
        reservation,
        secret,
        group,
        map_,
        lease(),
        topology(),
    ]


def owners() -> list[Object]:
    """Return what makes pods, of kinds that are known and not, with a secret likewise."""
    container = {
        "name": SECRET,
        "image": f"registry/{SECRET}",
        "env": [{"name": "A", "value": SECRET}],
        "args": [SECRET],
    }
    template = {
        "metadata": {"annotations": {"a": SECRET}, "labels": {"token": SECRET}},
        "spec": {"containers": [container]},
    }
    head = {"namespace": "default", "labels": {"token": SECRET}, "annotations": {"a": SECRET}}
    replicas = {"Worker": {"replicas": 2, "template": template}}
    return [
        {
            "apiVersion": api,
            "kind": kind,
            "metadata": {**head, "name": kind.lower()},
            "spec": {**spec, "password": SECRET},
        }
        for api, kind, spec in (
            ("batch/v1", "Job", {"template": template}),
            ("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": replicas, "runPolicy": {"token": SECRET}}),
            ("apps/v1", "DaemonSet", {"template": template, "selector": {"matchLabels": {"app": "x"}}}),
            ("own.example.com/v1", "Notebook", {"template": template}),
            (
                "kueue.x-k8s.io/v1beta2",
                "Workload",
                {"queueName": "q", "podSets": [{"name": "main", "template": template}]},
            ),
        )
    ]


def changing_pods() -> list[Object]:
    """Return what changes pods when they are made, with a secret likewise."""
    home = {"kind": "Namespace", "metadata": {"name": "x", "labels": {"a": SECRET}, "annotations": {"a": SECRET}}}
    profile = {
        "kind": "ClusterColocationProfile",
        "metadata": {"name": "p", "annotations": {"a": SECRET}},
        "spec": {
            "labels": {"token": SECRET},
            "annotations": {"token": SECRET},
            "patch": {
                "metadata": {"labels": {"token": SECRET}, "annotations": {"token": SECRET}, "name": SECRET},
                "spec": {"hostAliases": [{"ip": SECRET}], "volumes": [{"name": "v", "rbd": {"user": SECRET}}]},
                "data": SECRET,
            },
        },
    }
    patching = {"containers": [{"name": "main", "env": [{"name": "a", "value": SECRET}]}]}
    patched = {**profile, "metadata": {"name": "q"}, "spec": {"patch": {"spec": patching}}}
    return [home, profile, patched]


@pytest.mark.parametrize("anonymize", [False, True])
def test_no_secret_of_the_cluster_is_in_its_snapshot(*, anonymize: bool) -> None:
    assert SECRET in json.dumps(planted())
    text = written(*planted(), anonymize=anonymize)
    assert SECRET not in text
    assert "hunter" not in text
    assert '"kind":"Secret"' not in text
    assert text.count('"kind":"Pod"') == 2
    assert {
        kind for kind in ("PyTorchJob", "DaemonSet", "Notebook", "Workload") if f'"kind":"{kind}"' not in text
    } == set()


def test_a_configuration_that_cannot_be_read_stays_one_and_is_not_held() -> None:
    _, settings = scheduler()
    settings["data"] = {"koord-scheduler-config": f"[{SECRET}"}
    for anonymize in (False, True):
        _, found = json.loads(written(settings, anonymize=anonymize))["items"]
        assert scheduler_object.parsed(found["data"]["koord-scheduler-config"]) is None
        assert SECRET not in json.dumps(found)


def test_of_a_patch_of_pods_that_is_kept_what_is_read_and_of_others_that_they_are_some() -> None:
    def kept(patch: dict[str, Any]) -> dict[str, Any]:
        profile = {"kind": "ClusterColocationProfile", "metadata": {"name": "p"}, "spec": {"patch": patch}}
        found: dict[str, Any] = json.loads(written(profile))["items"][1]["spec"]["patch"]
        return found

    whole = {"metadata": {"labels": {"koordinator.sh/qosClass": "LS"}}, "spec": {"nodeSelector": {"a": "b"}}}
    assert kept(whole) == whole
    selecting = {"spec": {"nodeSelector": {"a": "b"}, "runtimeClassName": "kata", "hostname": "x"}}
    assert kept(selecting)["spec"] == {"nodeSelector": {"a": "b"}, "runtimeClassName": "kata"}
    unanswered: tuple[Object, ...] = (
        {"nodeSelector": {"a": None}},
        {"containers": []},
        {"volumes": "all"},
        {"tolerations": [{"$patch": "x"}]},
    )
    for spec in unanswered:
        assert kept({"spec": spec}) == {"$patch": "left-out"}


@pytest.mark.parametrize("text", ["[", "profiles: [{pluginConfig: [{name: MigrationController, args: %s}]}]"])
def test_nor_is_one_of_the_descheduler_that_cannot_be_read(text: str) -> None:
    meta = {"name": "koord-descheduler-config"}
    bad = text.replace("%s", '{labelSelector: {matchLabels: "a"}}')
    config = {"kind": "ConfigMap", "metadata": meta, "data": {meta["name"]: f"{bad} # {SECRET}"}}
    for anonymize in (False, True):
        _, found = json.loads(written(config, anonymize=anonymize))["items"]
        assert found["data"] == {meta["name"]: "{DeschedulerConfiguration"}
        assert scheduler_object.parsed(found["data"][meta["name"]]) is None


def test_labels_that_the_descheduler_selects_by_are_kept() -> None:
    labelled = pod("runs", on="a0")
    labelled["metadata"]["labels"] = {"team": "vision", "other": "x"}
    text = "profiles: [{pluginConfig: [{name: MigrationController, args: {labelSelector: {matchLabels: {team: a}}}}]}]"
    meta = {"name": "koord-descheduler-config"}
    config = {"kind": "ConfigMap", "metadata": meta, "data": {meta["name"]: text}}
    found = json.loads(written(config, labelled))["items"]
    assert [one["metadata"]["labels"] for one in found if one.get("kind") == "Pod"] == [{"team": "vision"}]


def test_the_labels_by_which_a_topology_is_proposed_or_found_renamed_are_kept() -> None:
    proposed = {key for one in labels.families(()) for level in (*one.levels, *one.accelerators) for key in level}
    found = {key for one in labels.FAMILIES for key in (*one.keys, *([f"{one.prefix}3"] if one.prefix else []))}
    for key in (*proposed, *found, "nvidia.com/gpu.clique", "fabric.topograph.run/tier-7"):
        assert kept.of_place(key), key
        assert is_standard(key) or key.startswith("volcano.sh/"), key


def test_labels_are_kept_that_are_read_or_referred_to_or_wished_for() -> None:
    one = node("a0", "spine-a")
    one["metadata"]["labels"] |= {"disk": "ssd", "rack": "r1", "team": "vision", "pool": "x", "gen": "h", "free": "1"}
    asks = pod("asks")
    asks["metadata"]["annotations"] = {
        "scheduling.koordinator.sh/reservation-affinity": json.dumps({"reservationSelector": {"pool": "x"}})
    }
    asks["spec"]["nodeSelector"] = {"disk": "ssd"}
    expression = {"key": "gen", "operator": "In", "values": ["h"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    asks["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]},
    }
    text = written(one, asks, topology(), labels=("team",))
    (found,) = (item for item in json.loads(text)["items"] if item["kind"] == "Node")
    kept = {"kubernetes.io/hostname", "spine", "disk", "rack", "pool", "gen", "team"}
    assert set(found["metadata"]["labels"]) == kept


@pytest.mark.parametrize("folder", ["cluster/objects", "cluster/recording", "engine", "model"])
def test_keys_of_labels_and_annotations_are_spelled_once(folder: str) -> None:
    """What is spelled elsewhere would be read, and not kept by a snapshot."""
    package = Path(kubectl_koord.__file__).parent
    modules = [path for path in (package / folder).rglob("*.py") if path.name != "keys.py"]
    text = "".join(path.read_text() for path in modules)
    domain = r"(?:\w+\.)*koordinator\.sh|pod-group\.scheduling\.sigs\.k8s\.io|scheduling\.x-k8s\.io|scheduling\.k8s\.io"
    spelled = set(re.findall(rf'"((?:{domain}|(?:pv|volume[a-z.]*)\.kubernetes\.io)/[A-Za-z0-9.-]*)"(?!"")', text))
    resource = (
        r"koordinator\.sh/(?:gpu|gpu-core|gpu-memory|gpu-memory-ratio|gpu\.shared|rdma|fpga|batch-cpu|batch-memory)"
    )
    assert len(modules) > 2
    assert not {one for one in spelled if not re.fullmatch(resource, one)}


def test_of_every_kind_all_that_is_read_is_read_again() -> None:
    items = whole(Random(1))["items"]  # noqa: S311 - a cluster, no secret
    once = json.loads(written(*items))["items"]
    rows = {(row.api_version, row.object_kind): row for row in kinds.KINDS.values()}
    twice = json.loads(written(*once[1:]))["items"]
    assert once == twice
    for item in once[1:]:
        msgspec.convert(item, rows[item["apiVersion"], item["kind"]].wire_type)
