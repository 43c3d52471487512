"""What is said when somebody else changes what we change."""

from kubectl_koord.cli import sending


def test_differences_name_the_field_before_and_now() -> None:
    assert sending.overtaken("PodGroup a/b", "x", [("mode", None, "Strict"), ("spec.minMember", 2, 3)]) == (
        "error: PodGroup a/b was changed meanwhile by x: mode was absent, is now 'Strict'; spec.minMember was 2, is "
        "now 3; nothing was overwritten, run the command again to see a new plan"
    )


def test_who_is_not_known_is_not_named() -> None:
    assert sending.tried_again("Node n", "") == (
        "Node n was changed meanwhile, but not in what was shown: trying again."
    )
    assert sending.done_meanwhile("Node n", "x").startswith("Node n was changed meanwhile by x, and is now")
    assert sending.replaced_whole("ClusterNetworkTopology default", "x").startswith(
        "error: ClusterNetworkTopology default was changed meanwhile by x; nothing was overwritten"
    )


def test_an_object_that_does_not_hold_still_or_came_meanwhile_is_left() -> None:
    assert "changed 10 times meanwhile: nothing was overwritten" in sending.too_often("Node n", 10)
    assert "was created meanwhile; it was left as it is" in sending.created_meanwhile("Node n")


def test_a_rollback_is_told_object_by_object() -> None:
    assert [
        sending.failed("a", "no"),
        sending.rolled_back("b"),
        sending.not_rolled_back("c", "gone"),
        sending.not_sent("d"),
        sending.left_alone("e"),
        sending.end_of_rollback("no", 1, 0, 4),
        sending.end_of_rollback("no", 1, 2, 4),
        sending.end_of_rollback("no", 0, 1, 4),
        sending.end_of_rollback("no", 0, 0, 4),
        sending.end_of_rollback("no", 0, 0, 4, is_open=True),
    ] == [
        "a: not changed: no",
        "b: changed, and rolled back",
        "c: changed, and NOT rolled back: gone",
        "d: not sent",
        "e: changed by somebody else, and left alone",
        "no (1 object of 4 could not be rolled back)",
        "no (1 object of 4 could not be rolled back, 2 objects of 4 may be changed)",
        "no (1 object of 4 may be changed)",
        "no (all of it was rolled back)",
        "no (all of it was rolled back; what was sent last may still be carried out)",
    ]


def test_of_a_write_that_nobody_answers_it_is_told_what_its_object_is_now() -> None:
    before, missing = sending.found_as_before(), sending.found_missing()
    unknown = sending.not_found_out("no route", "kubectl get node n -o yaml")
    assert [
        sending.unsure_alone("Node n", "EOF", before),
        sending.unsure("Node n", "EOF", missing),
        sending.unsure_alone("Node n", "EOF", unknown),
        sending.found_done("Node n", "EOF"),
        sending.found_otherwise("argocd", [("mode", None, "x")]),
        sending.found_otherwise("", ()),
        sending.not_rolled_back_after_all("Node n", "EOF", missing),
        sending.perhaps_rolled_back("Node n", "EOF", "x"),
    ] == [
        "EOF (Node n: read again, it is as before; what was sent may still be carried out)",
        "Node n: read again, it is not there any more: EOF",
        "EOF (Node n: may have been changed, and could not be read again (no route); see: kubectl get node n -o yaml)",
        "Node n: read again, it is as wanted, though this came back: EOF",
        "read again, it is changed, but not as wanted by argocd: mode was absent, is now 'x'",
        "read again, it is changed, but not as wanted",
        "Node n: changed, and NOT rolled back: read again, it is not there any more: EOF",
        "Node n: changed, and perhaps rolled back: x: EOF",
    ]


def test_who_sets_a_field_back_is_named() -> None:
    end = "of Node n (server-side apply) and may set it back: change it at its source, too."
    assert sending.applied_by("Node n", "flux", ["a", "b"]) == f"flux applies a and b {end}"
    assert sending.applied_by("Node n", "", ["a"]) == f"Somebody applies a {end}"
