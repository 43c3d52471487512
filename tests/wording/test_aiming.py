import shlex

import pytest

from kubectl_koord.cli.command_line import flags_of
from kubectl_koord.cli.verb_table import VERBS
from kubectl_koord.wording import words
from kubectl_koord.wording.facts import delete
from kubectl_koord.wording.words import Aim, aimed, each_command

PROD = Aim(("--context=my prod", "--as=root"), ("--context=my prod", "--as=root", "--koordinator-version=1.7"))
KUBECTL = "kubectl '--context=my prod' --as=root"
CHOSEN = "'--context=my prod' --as=root --koordinator-version=1.7"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("kubectl patch podgroup x -n y", f"{KUBECTL} patch podgroup x -n y"),
        ("kubectl koord why-pending a/b", f"kubectl koord why-pending a/b {CHOSEN}"),
        ("kubectl koord explain quota", "kubectl koord explain quota"),
        ("kubectl koord > x 2>&1", f"kubectl koord {CHOSEN} > x 2>&1"),
        ("kubectl koord annotate podgroup a --mode Strict", "kubectl koord annotate podgroup a --mode Strict {}"),
        ("kubectl koord annotate podgroup a --dry-run", f"kubectl koord annotate podgroup a --dry-run {CHOSEN}"),
        ("kubectl koord evict a/x a/y", "kubectl koord evict a/x a/y {}"),
        ("printf 'a' | kubectl apply -f -", f"printf 'a' | {KUBECTL} apply -f -"),
        ("kubectl cordon a && kubectl uncordon a; kubectl get pods", "{0} cordon a && {0} uncordon a; {0} get pods"),
        ("kubectl delete pod kubectl koord", f"{KUBECTL} delete pod kubectl koord"),
        ("kubectl delete pod 'x; kubectl delete node'", f"{KUBECTL} delete pod 'x; kubectl delete node'"),
        ('echo "a; kubectl \\" b"', 'echo "a; kubectl \\" b"'),
        ("printf 'a kubectl'", "printf 'a kubectl'"),
        ("", ""),
    ],
)
def test_each_command_of_a_line_goes_to_the_cluster_that_was_asked(command: str, expected: str) -> None:
    words = "'--context=my prod' --as=root" if "koord" in expected else KUBECTL
    assert aimed(command, PROD) == expected.format(words)


def test_commands_that_belong_together_are_told_apart_but_not_within_quotes() -> None:
    assert words.each_command("kubectl a 'b && c' && kubectl d") == ["kubectl a 'b && c'", "kubectl d"]
    assert words.each_command("") == []


def test_whatever_the_names_are_the_words_of_a_command_stay() -> None:
    name = "x'; kubectl delete node a; echo '"
    command = delete("pod", f"a/{name}")
    assert shlex.split(aimed(command, PROD)) == [
        "kubectl", "--context=my prod", "--as=root", "delete", "pod", name, "-n", "a",
    ]  # fmt: skip


def test_the_verbs_without_a_cluster_are_those_that_read_none_and_send_nothing() -> None:
    named = {name for name, row in VERBS.items() if not (row.live or flags_of(name) or row.sends or row.writes)}
    assert {name.partition(" ")[0] for name in named} - {"scheduler"} == words.OF_NO_CLUSTER


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("kubectl get pods", True),
        ("printf x | kubectl apply -f -", True),
        ("kubectl koord annotate podgroup a", True),
        ("kubectl koord annotate podgroup a --dry-run=client", False),
        ("kubectl koord why-pending a", False),
        ("kubectl koord why-pending a --until scheduled", True),
        ("", False),
    ],
)
def test_only_what_a_file_cannot_take_is_for_the_cluster(command: str, *, expected: bool) -> None:
    assert words.is_for_cluster(command) is expected


def test_where_a_file_was_read_it_is_said_for_which_cluster_commands_are() -> None:
    assert words.for_recorded(["a.json", "b.json"]) == (
        "Commands of kubectl, and those that change or follow something, are for the cluster that a.json, b.json came"
        " from: add its --context."
    )
    assert words.for_recorded(["-"]) == (
        "Commands of kubectl, and those that change or follow something, are for the cluster that this input came"
        " from: add its --context; the others read standard input again: give them the same."
    )
    assert "the demo cluster is no real one" in words.for_recorded([])
    assert words.not_repeated(["--token"]) == "The commands do not repeat --token: add what is secret yourself."


def test_commands_that_are_joined_are_told_apart_but_not_within_quotes() -> None:
    assert each_command("kubectl cordon a && echo 'b && c'") == ["kubectl cordon a", "echo 'b && c'"]
