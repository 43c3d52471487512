"""What of `topo` is not counted as free."""

import pytest

from kubectl_koord.render.pages.topo import not_counted


@pytest.mark.parametrize(
    ("cordoned", "not_ready", "sentence"),
    [
        (1, 0, "1 node is cordoned: its 8 free GPU are not counted."),
        (0, 2, "2 nodes are not ready: their 8 free GPU are not counted."),
        (2, 1, "2 nodes are cordoned, 1 is not ready: their 8 free GPU are not counted."),
    ],
)
def test_nodes_whose_free_resources_are_not_counted_are_named_once(
    cordoned: int, not_ready: int, sentence: str
) -> None:
    assert not_counted("nvidia.com/gpu", 8, cordoned=cordoned, not_ready=not_ready) == sentence
