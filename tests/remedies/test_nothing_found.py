"""What is said where nothing helps, and where the search ended before that was known."""

from kubectl_koord.remedies.cluster import preemption_message
from kubectl_koord.remedies.ways_out import none_found, not_tried
from tests.build import running


def test_where_nothing_could_be_tried_that_is_said() -> None:
    said = "there is nothing in its way that a change of the cluster or of its pods would remove."
    assert none_found((), (), quotas_alone=False) == said


def test_pairs_are_spoken_of_only_where_they_were_tried() -> None:
    said = "none of the changes tried lets it start: uncordoning nodes and evicting pods."
    assert none_found({"free-pods", "uncordon"}, (), quotas_alone=False) == said
    said = "none of the changes tried lets it start, alone or in pairs: uncordoning nodes and evicting pods."
    assert none_found({"free-pods", "uncordon", "pairs"}, (), quotas_alone=False) == said


def test_what_was_not_tried_is_told_apart_from_what_was() -> None:
    untried = "evicting pods, more nodes like those there are and pairs of changes"
    rest = f"the search ended before it had fully tried {untried}."
    assert none_found((), {"free-pods", "add-nodes", "pairs"}, quotas_alone=False) == rest
    said = (
        "none of the changes tried lets it start: higher limits of its quotas;"
        " higher limits alone would let it pass its quotas, but nodes have no place for it then;"
        f" {rest}"
    )
    assert none_found({"raise-quota"}, {"free-pods", "add-nodes", "pairs"}, quotas_alone=True) == said


def test_what_was_counted_and_not_tried_is_never_called_tried() -> None:
    said = (
        "none of the changes tried lets it start: smaller requests;"
        " by counting slots, these would not help: moving pods."
    )
    assert none_found({"smaller-request"}, (), quotas_alone=False, counted={"move-pod"}) == said


def test_beside_ways_out_it_is_said_what_was_not_tried() -> None:
    assert not_tried(()) == ""
    said = "the search ended before it had fully tried evicting pods and more nodes like those there are."
    assert not_tried({"free-pods", "add-nodes"}) == said


def test_of_many_victims_the_jobs_are_named_and_pods_of_daemon_sets_are_told_to_come_back() -> None:
    gangs = [running(f"t/{name}-{number}", on="n", gang=f"t/{name}") for name in ("b", "c") for number in range(3)]
    owned = [running("t/web-0", on="n", owner="ReplicaSet/web"), running("t/alone", on="n")]
    daemons = [running(f"kube-system/d-{number}", on="n", of_daemon_set=True) for number in range(5)]
    say = "Wait: the scheduler will preempt {} and place it"
    assert preemption_message(gangs, None, is_gang=False) == say.format("6 pods of 2 jobs (t/b and t/c)")
    assert preemption_message([*gangs, *owned, *daemons], None, is_gang=False) == say.format(
        "8 pods of 4 jobs (t/b, t/c, t/ReplicaSet/web and 1 more) and 5 DaemonSet pods, which come back,"
    )
    assert preemption_message([*gangs[:3], daemons[0]], None, is_gang=False) == say.format(
        "3 pods of 1 job (t/b) and 1 DaemonSet pod, which comes back,"
    )
    assert preemption_message(daemons, None, is_gang=False) == say.format("5 DaemonSet pods, which come back,")
    assert preemption_message(gangs[:2], None, is_gang=False) == say.format("t/b-0 and t/b-1")
