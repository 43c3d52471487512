"""What pods use is asked for as soon as they have come, while others still come."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster import kinds, source
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.source import Ahead, Kinds, StatedInstallation
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Snapshot
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import Reach, pod

PODS, CLAIMS = "/api/v1/pods", "/api/v1/persistentvolumeclaims"
SECONDS = 20


def wanting(name: str, **spec: object) -> dict[str, Any]:
    return {**pod(name, phase="Pending"), "spec": spec}


USES_VOLUME = wanting("a", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
OTHERS = [pod(f"p{number}", note="x" * 1000) for number in range(600)]
USES_CLAIM = wanting("b", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
SELECTING = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
SELECTS_NAMESPACES = wanting(
    "c", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [SELECTING]}}
)


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A server with more pods than are read at once; the first of them uses a volume."""
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
    with ApiServer({"items": [USES_VOLUME, *OTHERS, claim]}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api


def snapshot(reach: Reach) -> Snapshot:
    return source.live(reach(), kinds.GANG_KINDS, lambda: "default", StatedInstallation("1.8"))


@pytest.mark.usefixtures("way")
def test_volumes_are_asked_for_while_pods_come(long: ApiServer, reach: Reach) -> None:
    goes_on = threading.Event()
    long.rules.append(Rule(PODS, stall=goes_on))
    told: list[Snapshot] = []
    reading = threading.Thread(target=lambda: told.append(snapshot(reach)))
    reading.start()
    try:
        long.wait_for(CLAIMS, 1, watch=False)
    finally:
        goes_on.set()
        reading.join(SECONDS)
    assert set(told[0].claims) == {"default/data"}
    assert len(long.requests(CLAIMS)) == 1


@pytest.mark.usefixtures("way")
def test_volumes_are_asked_for_anew_where_pods_are(long: ApiServer, reach: Reach) -> None:
    written = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [USES_VOLUME, *OTHERS]}).encode()
    long.rules.append(Rule(PODS, cut="length", raw=written[: len(written) // 2], times=1))
    assert set(snapshot(reach).claims) == {"default/data"}
    long.wait_for(CLAIMS, 2, watch=False)


@pytest.mark.parametrize(
    ("one", "used"),
    [
        (USES_VOLUME, kinds.VOLUME_KINDS),
        (USES_CLAIM, kinds.CLAIM_KINDS),
        (SELECTS_NAMESPACES, kinds.NAMESPACE_KINDS),
    ],
)
def test_what_could_not_be_read_counts_where_it_is_needed(one: dict[str, Any], used: Kinds) -> None:
    asked: list[Kinds] = []

    def refuse(wanted: Kinds) -> None:
        asked.append(wanted)
        raise KoordError("error: no")

    ahead, pods = Ahead(refuse), Collector()
    ahead.watch(pods)
    pods.add(kinds.POD.name, msgspec.convert(one, Pod))
    assert not list(ahead.found(()))
    with pytest.raises(KoordError, match="error: no"):
        list(ahead.found((used,)))
    assert asked == [used]


def test_what_is_read_in_any_case_is_not_read_ahead() -> None:
    asked: list[Kinds] = []
    ahead, pods = Ahead(asked.append, kinds.MANIFEST_KINDS), Collector()
    ahead.watch(pods)
    pods.add(kinds.POD.name, msgspec.convert(SELECTS_NAMESPACES, Pod))
    assert (list(ahead.found(())), asked) == ([], [])
