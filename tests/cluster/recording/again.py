"""A cluster written as a snapshot and read again."""

import gzip
import io
import json
from typing import Any

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.recorded import Recording, RecordingMeta
from kubectl_koord.cluster.recording import recorder as document
from kubectl_koord.cluster.recording.anonymous import Anonymous
from kubectl_koord.cluster.recording.recorder import Recorder
from kubectl_koord.model.snapshot import Snapshot

MOMENT = "2026-11-21T00:00:00Z"


def again(cluster: dict[str, Any], version: str, *, anonymize: bool) -> tuple[Snapshot, Anonymous]:
    """Return the cluster as a snapshot of it is read, and its names."""
    recorder = Recorder()
    stored.take("cluster.json", json.dumps(cluster).encode(), recorder)
    recording = Recording(metadata=RecordingMeta("cluster"), moment=MOMENT)
    names = document.new_names(recorder, recording) if anonymize else Anonymous(str)
    file = io.BytesIO()
    document.write(recorder, recording, file, names=names if anonymize else None)
    collector = Collector()
    stored.take("snapshot", gzip.decompress(file.getvalue()), collector)
    return collector.snapshot(moment=MOMENT, source="file", chosen_version=version), names
