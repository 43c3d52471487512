import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.manifests.completed import Overrides
from kubectl_koord.cluster.manifests.read import Manifests
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.simulation.submitted import Submitted

MOMENT = "2026-11-20T10:00:00Z"
Joined = tuple[Snapshot, Submitted]
Submit = Callable[..., Joined]


def _accepted(written: Any) -> Any:  # noqa: ANN401 - any value
    """Return a manifest whose containers have a name and an image, which the API server demands and no test needs."""
    if isinstance(written, list):
        return [_accepted(one) for one in written]
    if not isinstance(written, dict):
        return written
    inner = {key: _accepted(value) for key, value in written.items()}
    for key in ("containers", "initContainers"):
        if isinstance(inner.get(key), list):
            inner[key] = [{"name": "c", "image": "x", **one} for one in inner[key]]
    return inner


@pytest.fixture
def submit(tmp_path: Path) -> Submit:
    """Join a manifest with a cluster, of which objects are given; both are values or texts."""

    def submitted(
        manifest: Any,  # noqa: ANN401
        *cluster: Any,  # noqa: ANN401
        overrides: Overrides = Overrides(),  # noqa: B008
        gaps: Collection[Gap] = (),
    ) -> Joined:
        from kubectl_koord.cluster import stored  # noqa: PLC0415

        path = tmp_path / "job.yaml"
        path.write_text(manifest if isinstance(manifest, str) else json.dumps(_accepted(manifest)))
        manifests = Manifests(lambda: "team", overrides=overrides)
        manifests.read([str(path)])
        collector = Collector()
        if cluster:
            stored.take("cluster", json.dumps({"kind": "List", "items": cluster}).encode(), collector)
        manifests.join(collector, MOMENT, gaps)
        return collector.snapshot(moment=MOMENT, source="file"), manifests.submitted()

    return submitted
