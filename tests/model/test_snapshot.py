from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import FinishedPod
from kubectl_koord.model.snapshot import Gap
from tests.build import cluster, pending, running


def test_everything_with_a_namespace_is_called_by_both_names() -> None:
    pods = (pending("ml/a").key, running("ml/b", on="n1").key, FinishedPod("ml", "c", "", was_bound=True).key)
    assert (*pods, PodGroup("ml", "d").key) == ("ml/a", "ml/b", "ml/c", "ml/d")


def test_a_kind_that_was_not_read_is_a_gap() -> None:
    drawn = cluster().with_gap("PodGroup", "missing", "no such API")
    assert (drawn.gap("PodGroup"), drawn.gap("Node")) == (Gap("PodGroup", "missing", "no such API"), None)
