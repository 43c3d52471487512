"""Required inter-pod affinity and anti-affinity, with the state that was prepared for one pod."""

from msgspec import structs

from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.reasons import AntiAffinityViolated, ExistingAntiAffinityViolated, PodAffinityUnmet, Reason
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import NodeState, of
from kubectl_koord.model.pods import PendingPod, PodRequirements, PodTerm
from kubectl_koord.model.values import EVERYTHING, Selector
from tests.build import Drawing, cluster, having, node, pending

APP, DB = (("app", "web"),), (("app", "db"),)
SAME_BLOCK = PodTerm("network/block", having(app="web"))
SAME_SPINE = PodTerm("network/spine", having(app="web"))
DRAWN = cluster("s0: b0[n1 n2] b1[n3]; s1: b2[n4]").with_running("w1", on="n1", labels=APP)


def refusals(drawing: Drawing, pod: PendingPod) -> dict[str, Reason | None]:
    view = of(drawing)
    prepared = prepare(pod, view, rules("1.8"))
    return {name: rejection(pod, view.state(name), prepared) for name in view.names()}


def refused(drawing: Drawing, pod: PendingPod) -> dict[str, Reason]:
    return {name: reason for name, reason in refusals(drawing, pod).items() if reason is not None}


def test_affinity_asks_for_the_domain_of_a_matching_pod() -> None:
    assert refused(DRAWN, pending("p", pod_affinity=(SAME_BLOCK,))) == {
        "n3": PodAffinityUnmet(),
        "n4": PodAffinityUnmet(),
    }


def test_all_terms_of_an_affinity_must_hold() -> None:
    pod = pending("p", pod_affinity=(SAME_SPINE, PodTerm("network/block", having(app="db"))))
    assert set(refused(DRAWN, pod)) == {"n1", "n2", "n3", "n4"}


def test_the_first_of_a_kind_may_go_anywhere() -> None:
    first = pending("p", pod_affinity=(PodTerm("network/block", having(app="db")),), labels=DB)
    assert refused(DRAWN, first) == {}


def test_but_not_where_the_key_is_missing() -> None:
    first = pending("p", pod_affinity=(PodTerm("rack", having(app="db")),), labels=DB)
    assert refused(DRAWN.label("n1", rack="r1"), first) == dict.fromkeys(("n2", "n3", "n4"), PodAffinityUnmet())


def test_nor_when_it_does_not_match_itself() -> None:
    assert set(refused(DRAWN, pending("p", pod_affinity=(PodTerm("network/block", having(app="db")),)))) == {
        "n1",
        "n2",
        "n3",
        "n4",
    }


def test_anti_affinity_shuns_the_domain_of_a_matching_pod() -> None:
    assert refused(DRAWN, pending("p", pod_anti_affinity=(SAME_BLOCK,))) == {
        "n1": AntiAffinityViolated(),
        "n2": AntiAffinityViolated(),
    }


def test_anti_affinity_is_no_matter_where_the_key_is_missing() -> None:
    assert refused(DRAWN, pending("p", pod_anti_affinity=(PodTerm("rack", having(app="web")),))) == {}


def test_running_pods_repel_too() -> None:
    drawing = DRAWN.with_running("db", on="n4", pod_anti_affinity=(PodTerm("network/spine", having(app="web")),))
    assert refused(drawing, pending("p", labels=APP)) == {"n4": ExistingAntiAffinityViolated()}
    assert refused(drawing, pending("p", labels=DB)) == {}


def test_a_term_means_its_own_namespace_by_default() -> None:
    assert refused(DRAWN, pending("other/p", pod_anti_affinity=(SAME_BLOCK,))) == {}


def test_a_term_may_name_namespaces() -> None:
    named = PodTerm("network/block", having(app="web"), namespaces=("default",))
    assert set(refused(DRAWN, pending("other/p", pod_anti_affinity=(named,)))) == {"n1", "n2"}


def test_a_term_may_mean_every_namespace() -> None:
    wide = PodTerm("network/block", having(app="web"), namespace_selector=EVERYTHING)
    assert set(refused(DRAWN, pending("other/p", pod_anti_affinity=(wide,)))) == {"n1", "n2"}


def test_a_term_without_a_selector_means_nobody() -> None:
    assert refused(DRAWN, pending("p", pod_anti_affinity=(PodTerm("network/block", None),))) == {}


def test_who_was_added_to_the_node_counts_and_who_was_taken_away_does_not() -> None:
    view = of(DRAWN)
    shy = pending("p", pod_anti_affinity=(SAME_BLOCK,), labels=APP)
    prepared = prepare(shy, view, rules("1.8"))
    full = view.state("n4").copy()
    full.add(pending("q", labels=APP))
    emptied = view.state("n1").copy()
    emptied.remove(view.occupants("n1")[0])
    assert (rejection(shy, full, prepared), rejection(shy, emptied, prepared)) == (AntiAffinityViolated(), None)


def test_where_nobody_has_terms_members_change_nothing_but_room() -> None:
    assert prepare(pending("p"), of(DRAWN), rules("1.8")).counts_only_room


def test_reserved_room_counts_like_a_pod_with_the_labels_of_its_template() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_reserved("r", on="n1", labels=APP)
    everyone = PodTerm("network/block", Selector(()), namespace_selector=EVERYTHING)
    for term in (everyone, SAME_BLOCK):
        assert refused(drawing, pending("p", pod_anti_affinity=(term,))) == {"n1": AntiAffinityViolated()}
        assert refused(drawing, pending("p", pod_affinity=(term,))) == {"n2": PodAffinityUnmet()}
    elsewhere = drawing.but(reserved=(structs.replace(drawing.reserved[0], namespace="far"),))
    assert refused(elsewhere, pending("p", pod_anti_affinity=(SAME_BLOCK,))) == {}
    repelling = PodRequirements(pod_anti_affinity=(everyone,))
    against = cluster("s0: b0[n1] b1[n2]").with_reserved("r", "n1", requirements=repelling)
    assert refused(against, pending("p")) == {"n1": ExistingAntiAffinityViolated()}


def test_the_reservation_that_matches_a_pod_is_not_in_its_way() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_reservation("r", "n1", 1)
    labelled = drawing.but(reserved=(structs.replace(drawing.reserved[0], labels=APP),))
    for app, refusing in (("job", {}), ("x", {"n1": AntiAffinityViolated()})):
        pod = pending("p", pod_anti_affinity=(SAME_BLOCK,), labels=(("app", app),))
        assert refused(labelled, pod) == refusing


def test_terms_that_cover_every_pod_cover_reserved_room() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_reserved("r", on="n1")
    everyone = PodTerm("network/block", Selector(()), namespace_selector=EVERYTHING)
    terms = (SAME_BLOCK, PodTerm("network/block", None, namespace_selector=EVERYTHING))
    assert refused(drawing, pending("p", pod_anti_affinity=terms)) == {}
    repelling = drawing.with_running("w1", on="n2", labels=APP, pod_anti_affinity=(everyone,))
    assert refused(repelling, pending("p")) == {"n2": ExistingAntiAffinityViolated()}


def test_pods_count_where_their_node_is_now_and_on_a_node_that_is_new() -> None:
    view, pod = of(DRAWN), pending("p", pod_affinity=(PodTerm("rack", having(app="web")),))
    prepared, pods = prepare(pod, view, rules("1.8")), view.occupants("n1")
    for name in ("n1", "n9"):
        moved = NodeState(node(name, labels=(("rack", "r1"),)), pods)
        assert rejection(pod, moved, prepared) is None
        moved.remove(pods[0])
        assert rejection(pod, moved, prepared) == PodAffinityUnmet()
