import pytest

from kubectl_koord.model.objects import Claim, PodGroup
from kubectl_koord.model.pods import FinishedPod
from kubectl_koord.model.snapshot import Gap
from tests.build import Drawing, cluster, pending, running


def test_everything_with_a_namespace_is_called_by_both_names() -> None:
    pods = (pending("ml/a").key, running("ml/b", on="n1").key, FinishedPod("ml", "c", "", was_bound=True).key)
    assert (*pods, PodGroup("ml", "d").key) == ("ml/a", "ml/b", "ml/c", "ml/d")


def test_a_kind_that_was_not_read_is_a_gap() -> None:
    drawn = cluster().with_gap("PodGroup", "missing", "no such API")
    assert (drawn.gap("PodGroup"), drawn.gap("Node")) == (Gap("PodGroup", "missing", "no such API"), None)


@pytest.mark.parametrize(
    "drawn",
    [
        cluster().with_pods(pending("ml/a")),
        cluster("s0: b0[n1]").with_running("ml/b", on="n1"),
        cluster().with_finished("ml/c", "ml/gang"),
        cluster().with_trace("ml/d"),
        cluster().with_group("ml/e"),
        cluster().with_budget("ml/f", None),
        cluster().with_quota("ml/g"),
        cluster().with_event("ml/h", "note"),
        cluster().but(claims={"ml/i": Claim("ml/i")}),
    ],
)
def test_a_namespace_of_which_any_object_was_read_is_not_empty(drawn: Drawing) -> None:
    assert drawn.holds("ml")
    assert not drawn.holds("m")
