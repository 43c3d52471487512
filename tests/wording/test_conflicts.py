"""What is said when somebody else changes what we change."""

from kubectl_koord.wording.answers import conflicts


def test_differences_name_the_field_before_and_now() -> None:
    assert conflicts.overtaken("PodGroup a/b", "x", [("mode", None, "Strict"), ("spec.minMember", 2, 3)]) == (
        "error: PodGroup a/b was changed meanwhile by x: mode was absent, is now 'Strict'; spec.minMember was 2, is "
        "now 3; nothing was overwritten, run the command again to see a new plan"
    )


def test_who_is_not_known_is_not_named() -> None:
    assert conflicts.tried_again("Node n", "") == (
        "Node n was changed meanwhile, but not in what was shown: trying again."
    )
    assert conflicts.done_meanwhile("Node n", "x").startswith("Node n was changed meanwhile by x, and is now")
    assert conflicts.replaced_whole("ClusterNetworkTopology default", "x").startswith(
        "error: ClusterNetworkTopology default was changed meanwhile by x; nothing was overwritten"
    )


def test_an_object_that_does_not_hold_still_or_came_meanwhile_is_left() -> None:
    assert "changed 10 times meanwhile: nothing was overwritten" in conflicts.too_often("Node n", 10)
    assert "was created meanwhile; it was left as it is" in conflicts.created_meanwhile("Node n")


def test_a_rollback_is_told_object_by_object() -> None:
    assert [
        conflicts.failed("a", "no"),
        conflicts.rolled_back("b"),
        conflicts.not_rolled_back("c", "gone"),
        conflicts.not_sent("d"),
        conflicts.unsure("e", "late"),
        conflicts.end_of_rollback("no", 1, 4),
        conflicts.end_of_rollback("no", 0, 4),
    ] == [
        "a: not changed: no",
        "b: changed, and rolled back",
        "c: changed, and NOT rolled back: gone",
        "d: not sent",
        "e: may have been changed: late",
        "no (1 object of 4 could not be rolled back)",
        "no (all of it was rolled back)",
    ]
