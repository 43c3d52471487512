"""The order of running pods by what their end costs others."""

from kubectl_koord.model.pods import Marks
from kubectl_koord.remedies.running_pods import PodCosts
from kubectl_koord.simulation.simulation import simulate
from tests.build import cluster, having


def test_pods_are_ranked_by_all_that_each_costs_then_by_name() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("job", priority=5).with_budget("none-left", having(app="kept"))
    for name in ("b", "a", "c"):
        for priority in (7, 1):
            fields = {"priority": priority, "owner": "Job/x" if name == "c" else ""}
            drawing = drawing.with_running(f"{name}{priority}", on="n1", cpu=0, **fields)
            drawing = drawing.with_running(f"kept-{name}{priority}", "n1", 0, labels=(("app", "kept"),), **fields)
            spared = Marks(protected=True)
            drawing = drawing.with_running(f"spared-{name}{priority}", "n1", 0, marks=spared, **fields)
    costs = PodCosts(simulate(drawing, drawing.subject("pod/job")))
    pods = drawing.running["n1"]
    ranked = [*costs.ranked(pods)]
    assert ranked == sorted(pods, key=lambda pod: (costs.of(pod), pod.key))
    assert [*costs.ranked(pod for pod in pods if not pod.protected)] == ranked[:12]
