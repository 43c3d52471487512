"""Others change what we change: nothing of theirs is overwritten, every refusal is explained, a half change undone."""

import http.client
import json
import sys
import threading
from collections.abc import Callable

import pytest

from tests.apiserver import ApiServer, Request, Rule
from tests.cli.conftest import Run
from tests.cli.world import Object, pod_group

PREFIX = "gang.scheduling.koordinator.sh/"
MODE = PREFIX + "mode"
GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
WORDS = ("annotate", "podgroup", "job", "--mode=NonStrict", "--yes")
EDITORS = 50


@pytest.fixture
def server(direct: ApiServer) -> ApiServer:
    """Ask without kubectl: both ways write the same."""
    return direct


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)


def annotations(server: ApiServer, name: str = "job") -> Object:
    found: Object = server.get("podgroups", "default", name)["metadata"].get("annotations") or {}
    return found


def edit(server: ApiServer, key: str, value: str, name: str = "job", manager: str = "") -> None:
    """Change an annotation as somebody else would, at once."""
    with server.changed:
        item = server.get("podgroups", "default", name)
        item["metadata"].setdefault("annotations", {})[key] = value
        if manager:
            item["metadata"]["managedFields"] = [{"manager": manager, "time": "2026-01-01T00:00:00Z"}]
        server.put(item)


def overtaken(server: ApiServer, monkeypatch: pytest.MonkeyPatch, by: Callable[[int], None], path: str = "") -> None:
    """Let something happen right before each PATCH of a path (of any by default) is answered."""
    answer, seen = server.answer, []

    def first(request: Request) -> tuple[int, Object]:
        if request.method == "PATCH" and path in request.path:
            seen.append(request)
            by(len(seen))
        return answer(request)

    monkeypatch.setattr(server, "answer", first)


def patches(server: ApiServer) -> list[Request]:
    return [request for request in server.log if request.method == "PATCH"]


def test_an_object_that_changed_elsewhere_is_changed_from_its_newer_version(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken(server, monkeypatch, lambda n: edit(server, f"by-{n}", "x", manager="kubectl-edit") if n < 4 else None)
    done = koord(*WORDS)
    assert done.code == 0
    assert done.err == 3 * (
        "PodGroup default/job was changed meanwhile by kubectl-edit, but not in what was shown: trying again.\n"
    )
    assert annotations(server).items() >= {MODE: "NonStrict", "by-1": "x", "by-2": "x", "by-3": "x"}.items()


def test_an_object_that_changed_in_what_was_shown_is_left_alone_and_the_difference_told(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken(server, monkeypatch, lambda _: edit(server, MODE, "Strict", manager="argocd"))
    done = koord(*WORDS)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"error: PodGroup default/job was changed meanwhile by argocd: {MODE} was absent, is now 'Strict'; nothing was "
        "overwritten, run the command again to see a new plan\n"
    )
    assert annotations(server)[MODE] == "Strict"


def test_somebody_who_did_the_same_is_thanked(koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    overtaken(server, monkeypatch, lambda _: edit(server, MODE, "NonStrict"))
    done = koord(*WORDS)
    assert (done.code, len(patches(server))) == (0, 1)
    assert done.err == "PodGroup default/job was changed meanwhile, and is now as wanted: left alone.\n"


def test_an_object_that_never_holds_still_is_given_up(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken(server, monkeypatch, lambda n: edit(server, "by", str(n)))
    done = koord(*WORDS)
    assert (done.code, len(patches(server))) == (2, 10)
    assert done.err.endswith(
        "error: PodGroup default/job was changed 10 times meanwhile: nothing was overwritten, run the command again\n"
    )
    assert MODE not in annotations(server)


def test_a_conflict_of_another_kind_is_told_as_the_server_does(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule(f"{GROUPS}/job", 409, "Conflict", "a webhook says no", "PATCH"))
    done = koord(*WORDS)
    assert (done.code, done.err) == (2, "Error from server (Conflict): a webhook says no\n")


def test_nothing_of_fifty_concurrent_edits_is_overwritten(koord: Run, server: ApiServer) -> None:
    """Each editor reads, and sends what it read with its own key added, as `kubectl edit` does; some set our key."""
    editors = [threading.Thread(target=_edit_over_http, args=(server, number)) for number in range(EDITORS)]
    for editor in editors:
        editor.start()
    done = koord(*WORDS)
    for editor in editors:
        editor.join()
    final = annotations(server)
    assert {f"by-{number}": "x" for number in range(EDITORS)}.items() <= final.items()
    ours = [request for request in patches(server) if "fieldManager" in request.query]
    for change in server.events:
        if change.plural == "podgroups" and change.before and change.after:
            before = (change.before["metadata"].get("annotations") or {}).items()
            assert before <= change.after["metadata"]["annotations"].items()
    if done.code == 0:
        assert final[MODE] == "NonStrict"
    elif not ours:  # an editor was faster than our reading
        assert done.err == f"error: --overwrite is false but {MODE} is declared already: Strict\n"
    else:
        assert done.err.splitlines()[-1].startswith("error: PodGroup default/job was changed ")
        assert "nothing was overwritten" in done.err
        assert MODE not in final or final[MODE] == "Strict"
    assert len(ours) == done.err.count("trying again") + bool(ours)


def _edit_over_http(server: ApiServer, number: int) -> None:
    server.wait_for("/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups", 1, watch=False)
    status = 409
    while status == 409:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", f"{GROUPS}/job")
        meta = json.loads(connection.getresponse().read())["metadata"]
        wanted = dict(meta["annotations"]) | {f"by-{number}": "x"}
        if number % 10 == 9:
            wanted.setdefault(MODE, "Strict")
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "annotations": wanted}}
        connection.request(
            "PATCH", f"{GROUPS}/job", json.dumps(patch), {"Content-Type": "application/merge-patch+json"}
        )
        answer = connection.getresponse()
        answer.read()
        status = answer.status
        connection.close()


TWO = ("annotate", "gang", "job", "--groups=job,tiny", "--yes")
BOTH = '["default/job", "default/tiny"]'


def test_all_pod_groups_of_a_group_are_changed(koord: Run, server: ApiServer) -> None:
    done = koord(*TWO)
    assert (done.code, done.err) == (0, "")
    assert [annotations(server, name)[PREFIX + "groups"] for name in ("job", "tiny")] == [BOTH, BOTH]


def test_a_failure_half_way_is_rolled_back_and_told_object_by_object(koord: Run, server: ApiServer) -> None:
    server.put(pod_group("zero", 1))
    before = [server.get("podgroups", "default", name)["metadata"]["annotations"] for name in ("job", "tiny", "zero")]
    server.rules.append(Rule(f"{GROUPS}/tiny", 403, "Forbidden", "not yours", "PATCH"))
    done = koord("annotate", "gang", "job", "--groups=job,tiny,zero", "--yes")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "PodGroup default/tiny: not changed: Error from server (Forbidden): not yours\n"
        "PodGroup default/job: changed, and rolled back\n"
        "PodGroup default/zero: not sent\n"
        "Error from server (Forbidden): not yours (all of it was rolled back)\n"
    )
    after = [server.get("podgroups", "default", name)["metadata"]["annotations"] for name in ("job", "tiny", "zero")]
    assert after == before


def test_what_others_did_since_is_not_rolled_back(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.rules.append(Rule(f"{GROUPS}/tiny", 403, "Forbidden", "not yours", "PATCH"))

    def overtake(number: int) -> None:
        if number == 2:  # the first is the change, this takes it back
            edit(server, "by", "somebody")
            edit(server, PREFIX + "groups", "[]", manager="argocd")

    overtaken(server, monkeypatch, overtake, f"{GROUPS}/job")
    done = koord(*TWO)
    assert done.code == 2
    assert (
        f"PodGroup default/job: changed, and NOT rolled back: error: PodGroup default/job was changed meanwhile by "
        f"argocd: {PREFIX}groups was '{BOTH}', is now '[]'" in done.err
    )
    assert done.err.endswith("Error from server (Forbidden): not yours (1 object of 2 could not be rolled back)\n")
    assert annotations(server)["by"] == "somebody"
    assert annotations(server)[PREFIX + "groups"] == "[]"


def test_what_somebody_else_did_in_our_place_is_not_rolled_back(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.rules.append(Rule(f"{GROUPS}/tiny", 403, "Forbidden", "not yours", "PATCH"))
    overtaken(server, monkeypatch, lambda _: edit(server, PREFIX + "groups", BOTH), f"{GROUPS}/job")
    done = koord(*TWO)
    assert (done.code, len(patches(server))) == (2, 2)
    assert "PodGroup default/job: changed by somebody else, and left alone\n" in done.err
    assert annotations(server)[PREFIX + "groups"] == BOTH


LIGHT = "pod-group.scheduling.sigs.k8s.io/name"


def test_a_gang_without_a_pod_group_is_changed_on_all_its_pods(koord: Run, server: ApiServer) -> None:
    for name, labels in (("light-0", {}), ("light-1", {"pod-group.scheduling.sigs.k8s.io/min-available": "2"})):
        pod = server.get("pods", "default", "job-0")
        pod["metadata"] = {
            "name": name,
            "namespace": "default",
            "labels": {LIGHT: "light"} | labels,
            "annotations": {} if labels else {PREFIX + "min-available": "2"},
        }
        server.put(pod)
    done = koord("annotate", "gang", "light", "--min-member=3", "--overwrite", "--yes")
    assert (done.code, done.err) == (0, "")
    assert "(first-pod-decides)" in done.out
    first, second = (server.get("pods", "default", f"light-{n}")["metadata"] for n in (0, 1))
    assert first["annotations"] == {PREFIX + "min-available": "3"}
    assert second["labels"]["pod-group.scheduling.sigs.k8s.io/min-available"] == "3"


def test_the_field_manager_is_the_one_that_was_named(koord: Run, server: ApiServer) -> None:
    assert koord(*WORDS, "--field-manager", "ci bot").code == 0
    (request,) = patches(server)
    assert request.query == {"fieldManager": "ci bot"}
    assert koord(*WORDS, "--field-manager", "x" * 129).err.startswith("error: --field-manager 'xxx")


def test_an_object_of_which_no_answer_came_is_not_said_to_be_rolled_back(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule(f"{GROUPS}/tiny", hang=threading.Event(), method="PATCH"))
    done = koord(*TWO, "--request-timeout=1s")
    assert done.code == 2
    state = "read again, it is as before; what was sent may still be carried out"
    assert f"PodGroup default/tiny: {state}: Unable to connect to the server: " in done.err
    assert "PodGroup default/job: changed, and rolled back\n" in done.err
    assert done.err.endswith(" (all of it was rolled back; what was sent last may still be carried out)\n")
    assert PREFIX + "groups" not in annotations(server)


def test_it_is_said_before_anything_is_sent_who_will_set_a_field_back(koord: Run, server: ApiServer) -> None:
    fields: Object = {"f:metadata": {"f:annotations": {f"f:{PREFIX}mode": {}}}}
    job = server.get("podgroups", "default", "job")
    job["metadata"]["managedFields"] = [{"manager": "argocd", "operation": "Apply", "fieldsV1": fields}]
    server.put(job)
    words = ("annotate", "podgroup", "job", "--mode=NonStrict", "--overwrite", "--dry-run")
    note = f"argocd applies {PREFIX}mode of PodGroup default/job (server-side apply) and may set it back: change it"
    assert f"\n{note} at its source, too.\n" in koord(*words).out
    server.rules.append(Rule(".*/podgroups/job", 403, "Forbidden", "not yours", "GET"))
    done = koord(*words)
    assert (done.code, "argocd" in done.out) == (0, False)
