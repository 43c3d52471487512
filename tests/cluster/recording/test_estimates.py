"""What a recorded pod says of its own load is there again."""

import pytest

from kubectl_koord.model.load import EstimatedTime, ExpectedUse
from kubectl_koord.model.pods import Marks
from tests.cluster.objects.wire import Json, pod, running
from tests.cluster.recording.again import again

_OWN = "scheduling.koordinator.sh/load-estimated-"
_INITIALIZED = {"type": "Initialized", "status": "True", "reason": "x", "lastTransitionTime": "2026-11-20T09:00:00Z"}
ESTIMATED: Json = {
    "nodeName": "n1",
    "requests": {"cpu": 1},
    "annotations": {f"{_OWN}scaling-factors": '{"cpu": 40}', f"{_OWN}seconds-after-initialized": "600"},
    "status": {"conditions": [_INITIALIZED]},
}


@pytest.mark.parametrize("anonymize", [True, False])
def test_a_recorded_pod_has_its_own_factors_and_times(*, anonymize: bool) -> None:
    snapshot, _ = again({"kind": "List", "items": [pod("p", **ESTIMATED)]}, "1.8", anonymize=anonymize)
    ((found,),) = snapshot.running.values()
    own = found.requirements
    assert (own.expected[0], own.estimated_for, found.marks) == (
        ExpectedUse("cpu", 1000, 0, 250, 40),
        EstimatedTime(None, 600),
        Marks(initialized="2026-11-20T09:00:00Z"),
    )


def test_of_other_pods_it_is_not_told_since_when_they_are_initialized() -> None:
    plain = pod("p", nodeName="n1", status={"conditions": [_INITIALIZED]})
    snapshot, _ = again({"kind": "List", "items": [plain]}, "1.8", anonymize=False)
    ((found,),) = snapshot.running.values()
    assert found == running(status={"conditions": []})
