"""Whether other jobs see that a subject's own pods are changed."""

import pytest

from kubectl_koord.model.pods import PodTerm
from kubectl_koord.model.quotas import NAME_LABEL
from kubectl_koord.reports.common import AddNode, DeletePod, Edit, SetMinimum, SupplyClaims, Tolerate, UseQuota
from kubectl_koord.simulation.simulation import simulate
from kubectl_koord.simulation.what_if import changed
from tests.build import Drawing, cluster, having

JOB = cluster("s0: b0[n1]").with_gang("job", 2, 1, priority=5)
FEWER, TOLERATE = DeletePod("default/job-1"), Tolerate(("default/job-0",), "gpu", "", "NoSchedule")
OF_A = ((NAME_LABEL, "a"),)
QUOTAS = JOB.with_quota("a", cpu=8).with_quota("b", cpu=8).change_pods(labels=OF_A)
ALONE = (PodTerm("kubernetes.io/hostname", having(app="web")),)


@pytest.mark.parametrize(
    ("drawing", "edit", "unseen"),
    [
        pytest.param(JOB, FEWER, True, id="one pod fewer"),
        pytest.param(JOB, TOLERATE, True, id="another requirement"),
        pytest.param(JOB, SetMinimum("default/job", "PodGroup", 1), True, id="the gang alone"),
        pytest.param(JOB.change_pods("job-1", priority=7), FEWER, False, id="a lower priority"),
        pytest.param(JOB.change_pods("job-1", nominated="n1"), FEWER, False, id="a nomination less"),
        pytest.param(
            JOB.with_pod("job-1", "job", priority=5, pod_anti_affinity=ALONE), FEWER, False, id="who keeps others away"
        ),
        pytest.param(JOB.with_gang("mate", 1, groups='["default/job", "default/mate"]'), FEWER, False, id="of a mate"),
        pytest.param(QUOTAS, FEWER, False, id="less is requested of a quota"),
        pytest.param(QUOTAS, UseQuota(("default/job-0",), "b"), False, id="of another quota"),
        pytest.param(QUOTAS, TOLERATE, True, id="as much is requested of it"),
        pytest.param(JOB, AddNode("n2", "n1"), False, id="another node"),
        pytest.param(JOB, SupplyClaims(("default/data",), ()), False, id="a claim of the cluster"),
    ],
)
def test_others_see_of_pods_that_wait_only_some_things(drawing: Drawing, edit: Edit, *, unseen: bool) -> None:
    before = simulate(drawing, drawing.subject("job"))
    assert (changed(before, (edit,)).seen_by_others is before.snapshot) is unseen


def test_once_they_have_seen_something_they_go_on_from_there() -> None:
    grown = changed(simulate(JOB, JOB.subject("job")), (AddNode("n2", "n1"),))
    assert changed(grown, (FEWER,)).seen_by_others is grown.snapshot
    less = changed(simulate(QUOTAS, QUOTAS.subject("job")), (FEWER,))
    assert changed(less, (Tolerate(("default/job-0",), "gpu", "", "NoSchedule"),)).seen_by_others is less.snapshot
