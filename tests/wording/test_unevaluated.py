"""What is not evaluated is named in the words of Kubernetes and Koordinator."""

import pytest

from kubectl_koord.model.unevaluated import AttachedVolume, EphemeralVolume, NodeSetting, PodSetting, Unevaluated
from kubectl_koord.wording.unevaluated import unevaluated_names


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ((), ""),
        ((EphemeralVolume("scratch"), AttachedVolume("disk")), "ephemeral volume scratch and attached volume disk"),
        (
            (NodeSetting("numa-topology-policy"), PodSetting("resource-claims"), NodeSetting("load-thresholds")),
            "resource claims and node settings (NUMA policy of nodes with more than 8 zones and load thresholds)",
        ),
    ],
)
def test_settings_of_nodes_are_named_together_and_last(items: tuple[Unevaluated, ...], names: str) -> None:
    assert unevaluated_names(items) == names
