"""What is not evaluated is named in the words of Kubernetes and Koordinator."""

import pytest

from kubectl_koord.model.unevaluated import (
    AttachedVolume,
    ForeignPlugin,
    NodeSetting,
    OpenCards,
    OpenProfile,
    OpenToleration,
    PodSetting,
    Unevaluated,
    UnreadRuntimeClass,
    UnreadScheduler,
    WideningPodSetting,
)
from kubectl_koord.wording.words import unevaluated_names


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ((), ""),
        ((AttachedVolume("scratch"), AttachedVolume("disk")), "attached volume scratch and attached volume disk"),
        (
            (NodeSetting("numa-topology-policy"), PodSetting("scheduling-hint"), NodeSetting("load-thresholds")),
            (
                "scheduling hint and node settings (NUMA policy of nodes with more than 8 zones and thresholds of load"
                " for other resources than CPU and memory)"
            ),
        ),
        (
            (OpenProfile("a", "probability"), OpenProfile("", "unread")),
            (
                "ClusterColocationProfile a (it changes some pods, at random) and ClusterColocationProfiles"
                " (no right to list clustercolocationprofiles.config.koordinator.sh)"
            ),
        ),
        (
            (OpenCards("unread"), OpenCards("version")),
            (
                "what Koordinator's webhook makes of parts of GPUs"
                " (no right to list mutatingwebhookconfigurations.admissionregistration.k8s.io) and what Koordinator's"
                " webhook makes of parts of GPUs (without koordinator.sh/gpu.shared 1.7 and 1.8 ask for other cards"
                " than later versions)"
            ),
        ),
        (
            (PodSetting("exclusive-topology"), WideningPodSetting("exclusive-node-selector")),
            "exclusive placement by topology and exclusive placement by node selectors",
        ),
        (
            (UnreadScheduler(("Deployment", "Lease")),),
            (
                "whether the scheduler is active and the scheduler's flags (Deployment and Lease objects could not be"
                " read)"
            ),
        ),
        (
            (ForeignPlugin("Ours"),),
            "plugin Ours of the scheduler, which is neither Kubernetes' nor Koordinator's",
        ),
        (
            (OpenToleration("a.b/gpu"),),
            "a toleration of taint a.b/gpu (the API server adds it with ExtendedResourceToleration, or the template)",
        ),
        ((UnreadRuntimeClass("kata"),), "RuntimeClass kata (RuntimeClass objects could not be read)"),
    ],
)
def test_settings_of_nodes_are_named_together_and_last(items: tuple[Unevaluated, ...], names: str) -> None:
    assert unevaluated_names(items) == names
