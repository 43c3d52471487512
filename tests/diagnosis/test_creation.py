"""What controllers said of pods that a gang lacks."""

import pytest

from kubectl_koord.diagnosis.coverage import lacks_pods
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.model.pods import GangAnnotations
from tests.build import Drawing, cluster, why_of

SAID = 'pods "x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2'
FEW = "it has 1 of the 2 pods it needs."


def gang(*, groups: str | None = None, scheduler: str = "koord-scheduler") -> Drawing:
    return cluster("s: b[n1]").with_gang("job", 1, minimum=2, owner="Job/a", groups=groups, scheduler=scheduler)


def failed(drawing: Drawing, kind: str, name: str, note: str = SAID, **fields: str) -> Drawing:
    return drawing.with_event(name, note, "FailedCreate", kind=kind, **fields)


def message(drawing: Drawing) -> str:
    cause = why_of(drawing).cause
    assert cause is not None
    return cause.message


def test_what_the_owner_of_its_pods_could_not_make_is_told_with_its_words() -> None:
    drawn = failed(gang(), "Job", "a", f"Error creating: {SAID}.")
    assert message(drawn) == f"{FEW} Job a could not make more (last 59s ago): {SAID}."


def test_the_list_tells_it_too() -> None:
    (item,) = every_pending(failed(gang(), "Job", "a")).items
    assert item.cause is not None
    assert item.cause.message == f"{FEW} Job a could not make more (last 59s ago): {SAID}."


def test_the_newest_of_the_owner_counts_and_else_of_what_has_the_name_of_the_gang() -> None:
    drawn = failed(failed(gang(), "Job", "a", "old", last_seen="2026-11-20T08:00:00Z"), "Job", "a", "new")
    named = failed(drawn, "PyTorchJob", "job", "by name", last_seen="2026-11-20T09:59:59Z")
    assert message(named) == f"{FEW} Job a could not make more (last 59s ago): new."
    assert message(failed(gang(), "PyTorchJob", "job", "by name", last_seen="")) == (
        f"{FEW} PyTorchJob job could not make more: by name."
    )


@pytest.mark.parametrize(
    "drawing",
    [
        gang(),
        failed(gang(), "Job", "b"),
        failed(gang(), "Job", "other/a"),
        failed(gang(), "Pod", "job"),
    ],
    ids=["none", "another", "elsewhere", "of a pod"],
)
def test_events_of_others_are_not_told(drawing: Drawing) -> None:
    assert message(drawing) == FEW


def test_only_the_gang_of_a_group_that_lacks_pods_is_asked_for() -> None:
    both = '["default/job","default/other"]'
    drawn = gang(groups=both).with_gang("other", 1, groups=both)
    found = why_of(failed(failed(drawn, "Job", "a"), "Job", "other", "not this"), "other").cause
    assert found is not None
    assert found.message == (
        f"gang default/job of its group has 1 of the 2 pods it needs. Job a could not make more (last 59s ago): {SAID}."
    )
    alone = cluster("s: b[n1]").with_gang("other", 1, groups=both)
    assert not lacks_pods(alone.subject("other"))
    missing = gang(groups=both)
    assert lacks_pods(missing.subject("job"))
    assert why_of(failed(missing, "Job", "a")).also_wrong == ("group-member-missing",)


def test_a_cause_of_another_kind_says_nothing_of_it() -> None:
    drawn = failed(gang(scheduler="x"), "Job", "a")
    assert SAID not in message(drawn)


def test_a_gang_lacks_pods_where_it_has_fewer_than_its_minimum() -> None:
    enough = cluster("s: b[n1]").with_gang("job", 2)
    bare = cluster("s: b[n1]").with_light_gang("job", 1, gang_terms=GangAnnotations())
    assert [lacks_pods(one.subject("job")) for one in (gang(), enough, bare)] == [True, False, False]
    lone = cluster("s: b[n1]").with_pod("p")
    assert not lacks_pods(lone.subject("p"))
