"""What is printed to be pasted goes to the cluster that was asked about."""

import pytest

from tests.cli.conftest import Run
from tests.cli.test_live import document


@pytest.mark.usefixtures("server")
def test_commands_go_where_the_question_went_and_say_nothing_of_secrets(koord: Run) -> None:
    flags = (
        "--context=other",
        "--context=test",
        "--as=root",
        "--as-group=a",
        "--as-group=b",
        "--token=s3cret",
        "-n=red",
    )
    asked = ("why-pending", "default/few", *flags, "--request-timeout=9s", "--koordinator-version=1.8")
    words = "--context=test --as=root --as-group=a --as-group=b"
    answer = document(koord(*asked, "-o", "json"))
    assert (answer["context"], answer["cluster"]) == ("test", "test")
    assert answer["commandsFor"] == "The commands do not repeat --token: add what is secret yourself."
    (command,) = [way["command"] for way in answer["unblock"] + answer["nextSteps"] if way["command"]]
    assert command.startswith(f"kubectl {words} patch podgroup few -n default ")
    for form in ("html", "wide"):
        page = koord(*asked, "-o", form).out
        assert f"kubectl {words} patch podgroup few" in page
        assert answer["commandsFor"] in page
        assert "Context test, cluster test" in page
        assert "s3cret" not in page
    listing = koord("why-pending", "-A", *flags, "--koordinator-version=1.8").out
    assert f"Details: kubectl koord why-pending GANG {words} --koordinator-version=1.8" in listing
    page = koord("explain", "insufficient-slots", "--context", "it's").out
    assert """  kubectl koord topo --for GANG -n NAMESPACE '--context=it'"'"'s'""" in page


def test_commands_about_a_file_name_it_and_those_for_its_cluster_say_so(koord: Run, cluster: str) -> None:
    answer = document(koord("why-pending", "few", "--snapshot", cluster, "-o", "json"))
    assert answer["commandsFor"] == (
        "Commands of kubectl, and those that change or follow something, are for the cluster that"
        f" {cluster} came from: add its --context."
    )
    assert {"context", "cluster"}.isdisjoint(answer)
    (command,) = [way["command"] for way in answer["unblock"] + answer["nextSteps"] if way["command"]]
    assert command.startswith("kubectl patch podgroup few -n default ")
    page = koord("preempt", "few", "--dry-run", "--snapshot", cluster).out
    assert f"kubectl koord why-pending default/few --snapshot={cluster}" in page
    assert "Commands of kubectl" not in page
