"""Writing what was recorded."""

import io
from collections.abc import Iterator
from typing import Any
from weakref import ReferenceType, ref

from kubectl_koord.cluster.recorded import Recording, RecordingMeta
from kubectl_koord.cluster.recording import recorder as document
from kubectl_koord.cluster.recording.recorder import Recorder


class _Tree(dict[str, Any]):
    """Fields of an object, which can be told to be gone."""


class _Watched(Recorder):
    """Yields pods, and notes how many of them were there at once."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    def objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield pods that select a node by its label."""
        made: list[ReferenceType[_Tree]] = []
        for number in range(20):
            spec = {"nodeSelector": {f"label-{number}": "x"}}
            tree = _Tree(metadata={"name": f"p{number}"}, spec=spec, status={})
            made.append(ref(tree))
            self.most = max(self.most, sum(one() is not None for one in made))
            yield "Pod", tree


def test_objects_are_written_one_after_the_other() -> None:
    """A large cluster, unpacked, is many times as large as the file."""
    recorder = _Watched()
    found = document.write(recorder, Recording(metadata=RecordingMeta(name="cluster")), io.BytesIO())
    assert found.objects == {"Pod": 20}
    assert recorder.most <= 2
