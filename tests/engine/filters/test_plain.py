"""Each filter alone: whether one node takes one pod, and the first reason why not."""

import pytest

from kubectl_koord.engine.filters import of_other_jobs, prepare, rejection, room_rejection
from kubectl_koord.engine.reasons import (
    Cordoned,
    Insufficient,
    NotSelected,
    PortTaken,
    Reason,
    SidecarsUnknown,
    TooManyPods,
    Untolerated,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.installation import POINTS, Plugins
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import HostPort, PendingPod
from kubectl_koord.model.values import NodeTerm, Requirement, Taint, Toleration
from tests.build import Drawing, cluster, cpus, pending

ONE = cluster("s0: b0[n1:8]")
CORDON_TOLERATION = Toleration("node.kubernetes.io/unschedulable", "Exists")


def refusal(drawing: Drawing, pod: PendingPod, name: str = "n1") -> Reason | None:
    view = of(drawing)
    prepared = prepare(pod, view, rules(drawing.config.version), drawing.nominated)
    return rejection(pod, view.state(name), prepared)


def test_an_empty_node_takes_a_pod_of_its_size() -> None:
    assert refusal(ONE, pending("p", 8)) is None


def test_a_cordoned_node_refuses() -> None:
    assert refusal(ONE.cordon("n1"), pending("p")) == Cordoned()


def test_a_pod_may_tolerate_the_cordon() -> None:
    assert refusal(ONE.cordon("n1"), pending("p", tolerations=(CORDON_TOLERATION,))) is None


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_hard_taint_refuses(effect: str) -> None:
    assert refusal(ONE.taint("n1", "gpu", "a100", effect), pending("p")) == Untolerated(Taint("gpu", "a100", effect))


def test_a_soft_taint_refuses_nobody() -> None:
    assert refusal(ONE.taint("n1", "gpu", "a100", "PreferNoSchedule"), pending("p")) is None


def test_the_first_untolerated_taint_is_named() -> None:
    drawing = ONE.taint("n1", "a").taint("n1", "b")
    tolerant = pending("p", tolerations=(Toleration("a", "Exists"),))
    assert refusal(drawing, tolerant) == Untolerated(Taint("b", "", "NoSchedule"))


@pytest.mark.parametrize(
    ("plugin", "drawing", "pod"),
    [
        ("NodeUnschedulable", ONE.change("n1", unschedulable=True), pending("p")),
        ("TaintToleration", ONE.taint("n1", "a"), pending("p")),
        ("NodeAffinity", ONE, pending("p", affinity=(NodeTerm(),))),
    ],
)
def test_the_filter_of_a_plugin_that_is_not_enabled_refuses_nobody(
    plugin: str, drawing: Drawing, pod: PendingPod
) -> None:
    assert refusal(drawing, pod) is not None
    assert refusal(drawing.configured(plugins=Plugins(((plugin, POINTS[plugin]),))), pod) is None


def test_a_node_selector_must_match() -> None:
    picky = pending("p", node_selector=(("disk", "ssd"),))
    assert refusal(ONE, picky) == NotSelected()
    assert refusal(ONE.label("n1", disk="ssd"), picky) is None


@pytest.mark.parametrize(
    ("terms", "taken"),
    [
        ((), False),
        ((NodeTerm(),), False),
        ((NodeTerm(labels=(Requirement("disk", "Exists"),)),), True),
        ((NodeTerm(labels=(Requirement("disk", "DoesNotExist"),)),), False),
        ((NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),)),), True),
        ((NodeTerm(fields=(Requirement("metadata.name", "NotIn", ("n1",)),)),), False),
        ((NodeTerm(fields=(Requirement("metadata.uid", "Exists"),)),), False),
        ((NodeTerm(), NodeTerm(labels=(Requirement("disk", "In", ("ssd",)),))), True),
        ((NodeTerm((Requirement("disk", "Exists"),), (Requirement("metadata.name", "In", ("n2",)),)),), False),
    ],
)
def test_one_term_of_the_required_affinity_must_match_as_a_whole(terms: tuple[NodeTerm, ...], *, taken: bool) -> None:
    drawing = ONE.label("n1", disk="ssd")
    assert refusal(drawing, pending("p", affinity=terms)) == (None if taken else NotSelected())


@pytest.mark.parametrize(("version", "answer"), [("1.7", SidecarsUnknown()), ("1.8", None), ("main", None)])
def test_sidecars_are_refused_by_1_7_only(version: str, answer: Reason | None) -> None:
    assert refusal(ONE.version(version), pending("p", sidecars=True)) == answer


@pytest.mark.parametrize(
    ("held", "wanted", "answer"),
    [
        (HostPort(80), HostPort(80), PortTaken(80)),
        (HostPort(80), HostPort(81), None),
        (HostPort(80, "UDP"), HostPort(80), None),
        (HostPort(80, address="10.0.0.1"), HostPort(80), PortTaken(80)),
        (HostPort(80), HostPort(80, address="10.0.0.1"), PortTaken(80)),
        (HostPort(80, address="10.0.0.1"), HostPort(80, address="10.0.0.1"), PortTaken(80)),
        (HostPort(80, address="10.0.0.1"), HostPort(80, address="10.0.0.2"), None),
    ],
)
def test_host_ports_clash_by_port_protocol_and_address(held: HostPort, wanted: HostPort, answer: Reason | None) -> None:
    drawing = ONE.with_running("web", on="n1", ports=(held,))
    assert refusal(drawing, pending("p", ports=(HostPort(443), wanted))) == answer


def test_what_is_short_is_named_with_need_and_room() -> None:
    drawing = ONE.with_running("low", on="n1", cpu=3)
    assert refusal(drawing, pending("p", 6)) == Insufficient((("cpu", 6000, 5000),))


@pytest.mark.parametrize(("version", "unresolvable"), [("1.7", False), ("1.8", True), ("main", True)])
def test_a_request_above_the_whole_node_is_beyond_preemption_from_1_8_on(version: str, *, unresolvable: bool) -> None:
    assert refusal(ONE.version(version), pending("p", 9)) == Insufficient((("cpu", 9000, 8000),), unresolvable)


def test_one_resource_above_the_whole_node_suffices_for_that() -> None:
    drawing = ONE.with_running("low", on="n1", cpu=8)
    greedy = pending("p", requests=cpus(1, nvidia_gpu=1))
    short = (("cpu", 1000, 0), ("nvidia.com/gpu", 1, 0))
    assert refusal(drawing, greedy) == Insufficient(short, unresolvable=True)


def test_a_node_takes_no_more_pods_than_its_places() -> None:
    drawing = ONE.change("n1", allocatable=(("cpu", 8000), ("pods", 1))).with_running("low", on="n1")
    assert refusal(drawing, pending("p")) == TooManyPods(1)
    assert refusal(drawing, pending("p", 8)) == Insufficient((("cpu", 8000, 7000),), pods_too=True)


def test_a_node_without_places_takes_nobody() -> None:
    assert refusal(ONE.change("n1", allocatable=(("cpu", 8000),)), pending("p", 0)) == TooManyPods(0)


def test_a_pod_that_asks_for_nothing_fits_on_an_overfull_node() -> None:
    assert refusal(ONE.with_running("low", on="n1", cpu=9), pending("p", 0)) is None


def test_the_first_filter_speaks() -> None:
    drawing = ONE.cordon("n1").with_running("low", on="n1", cpu=8)
    assert refusal(drawing, pending("p", 8, node_selector=(("a", "b"),))) == Cordoned()


def test_a_pod_nominated_to_the_node_with_as_much_priority_counts_as_there() -> None:
    drawing = ONE.with_pod("other", cpu=4, priority=5, nominated="n1")
    assert refusal(drawing, pending("p", 5, priority=5)) == Insufficient((("cpu", 5000, 4000),))


def test_a_nominated_pod_of_less_priority_does_not_count() -> None:
    drawing = ONE.with_pod("other", cpu=4, priority=5, nominated="n1")
    assert refusal(drawing, pending("p", 5, priority=6)) is None


def test_a_nominated_pod_that_leaves_room_changes_nothing() -> None:
    drawing = ONE.with_pod("other", cpu=4, priority=5, nominated="n1")
    assert refusal(drawing, pending("p", 4, priority=5)) is None


def test_a_nominated_pod_of_the_same_job_does_not_count() -> None:
    view = of(ONE)
    one, twin = pending("one", 8), pending("twin", 8, nominated="n1")
    prepared = prepare(one, view, rules("1.8"), of_other_jobs((twin,), (one, twin)))
    assert rejection(one, view.state("n1"), prepared) is None


def test_a_node_with_room_is_not_refused_for_want_of_room() -> None:
    view, pod = of(ONE), pending("p", 8)
    assert room_rejection(pod, view.state("n1"), prepare(pod, view, rules("1.8"))) is None


def test_pods_alike_share_what_is_prepared_by_their_requirements() -> None:
    view = of(cluster("s0: b0[n1]"))
    pods = (pending("a", 2), pending("b", 2), pending("c", 3))
    first, same, other = [prepare(pod, view, rules("1.8")).checks for pod in pods]
    assert [one is another for one, another in zip(first, same, strict=True)] == [True] * len(first)
    assert [one is another for one, another in zip(first, other, strict=True)] == [False] * len(first)


def test_of_many_kinds_of_pods_each_is_prepared_as_if_it_were_alone() -> None:
    drawing = cluster("s0: b0[n1]").change("n1", metric=NodeMetric((("cpu", 10),)))
    view, pods = of(drawing), [pending(f"p-{number}", number) for number in range(40)]
    shared = [prepare(pod, view, rules("1.8")) for pod in pods]
    assert shared == [prepare(pod, of(drawing.but()), rules("1.8")) for pod in pods]
