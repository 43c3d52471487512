"""What objects of any cluster carry besides what decides: managedFields, conditions, images, environment variables."""

import random
from typing import Any, NamedTuple

Object = dict[str, Any]

CREATED = "2026-11-01T08:00:00Z"


def uid(rng: random.Random) -> str:
    """Return a uid."""
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _fields(value: object) -> object:
    """Return the managedFields form of an object: its keys, nothing of its values."""
    if isinstance(value, dict):
        return {f"f:{name}": _fields(part) for name, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        return {f'k:{{"name":"{part["name"]}"}}': {".": {}, "f:name": {}} | _as_dict(part) for part in value}
    return {}


def _as_dict(part: Object) -> Object:
    fields = _fields(part)
    return fields if isinstance(fields, dict) else {}


def managed(manager: str, part: Object) -> Object:
    """Return the entry of managedFields for a part of an object."""
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": CREATED,
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(part),
    }


def conditions() -> list[Object]:
    """Return the conditions of a healthy node."""
    return [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": f"Kubelet{kind}",
            "message": f"kubelet has no {kind} trouble to tell of",
            "lastHeartbeatTime": "2026-11-01T09:59:30Z",
            "lastTransitionTime": CREATED,
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]


def images(rng: random.Random) -> list[Object]:
    """Return the images of a node."""
    return [
        {
            "names": [
                f"registry.example.com/team-{rng.randrange(99)}/image-{each}@sha256:{rng.getrandbits(256):064x}",
                f"registry.example.com/team-{rng.randrange(99)}/image-{each}:v1.{each}",
            ],
            "sizeBytes": rng.randrange(10**7, 10**10),
        }
        for each in range(76)
    ]


class Shape(NamedTuple):
    """What many pods have in common."""

    spec: Object
    status: Object
    conditions: list[Object]
    managed: list[Object]


def pod_shape(rng: random.Random, size: int) -> Shape:
    """Return one of the shapes, of a size that tells them apart."""
    env = [{"name": f"SETTING_{each}", "value": "x" * rng.randrange(8, 40)} for each in range(27 + size)]
    requests = {"cpu": rng.choice(["500m", "1", "2", "4"]), "memory": rng.choice(["512Mi", "2Gi", "4Gi"])}
    mounts = [{"name": f"volume-{each}", "mountPath": f"/mnt/data/{each}"} for each in range(6)]
    container: Object = {
        "name": "main",
        "image": "registry.example.com/team/app:v1.2.3",
        "command": ["/bin/app", "--config=/etc/app/config.yaml", "--log-level=info"],
        "env": env,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": requests, "requests": requests},
        "volumeMounts": mounts,
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "failureThreshold": 3},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": f"volume-{each}", "emptyDir": {}} for each in range(6)],
        "restartPolicy": "Always",
        "schedulerName": "koord-scheduler",
        "priority": 1000 * (size % 3),
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": f"node.kubernetes.io/{kind}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for kind in ("not-ready", "unreachable")
        ],
    }
    held = [
        {"type": kind, "status": "True", "lastProbeTime": None}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    states = [{"name": "main", "ready": True, "restartCount": 0, "image": container["image"], "started": True}]
    status = {"containerStatuses": states, "qosClass": "Burstable", "hostIP": "10.0.0.1"}
    labels = {"app": "app", "pod-template-hash": "abc"}
    entries = [
        managed("kube-controller-manager", {"metadata": {"labels": labels, "name": ""}, "spec": spec}),
        managed("kubelet", {"status": status | {"conditions": held, "podIPs": [{"name": "ip"}]}}),
    ]
    return Shape(spec, status, held, entries)
