"""A watched cluster is always the one that would be listed, whatever happens to the watches."""

import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster import kinds, source
from kubectl_koord.cluster.source import StatedInstallation
from kubectl_koord.cluster.watching import HEARTBEATS, Backoff, ClusterWatch, State
from kubectl_koord.errors import KoordError
from kubectl_koord.model.pods import NAME_LABEL
from kubectl_koord.model.snapshot import Gap, Snapshot
from tests.apiserver import ApiServer, Rule, Tls
from tests.cli.world import Object, lease, node, pod, pod_group, world
from tests.cluster.conftest import Reach

PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
OWN_PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases"
QUICK = Backoff(first=0.01, most=0.02, failures=3, healthy=5)
SECONDS = 20


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> Iterator[ApiServer]:
    """Serve the small cluster, which is the current context, to be reached both ways."""
    with ApiServer(world()) as server:
        own = {} if way == "kubectl" else {"username": "", "password": ""}
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path, user=own)))
        yield server


@pytest.fixture
def watch(api: ApiServer, reach: Reach) -> Iterator[ClusterWatch]:  # noqa: ARG001 - it is the current context
    with ClusterWatch(reach(), kinds.GANG_KINDS, lambda: "default", StatedInstallation(), QUICK) as watched:
        yield watched
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("watch ")]


def changed(watch: ClusterWatch) -> bool:
    poll = select.poll()
    poll.register(watch.fileno(), select.POLLIN)
    return bool(poll.poll(SECONDS * 1000))


def until(watch: ClusterWatch, *pods: str, kind: str = "pending") -> Snapshot:
    """Return the first snapshot that holds exactly these pods."""
    snapshot = watch.snapshot()
    while names(snapshot, kind) != set(pods):
        assert changed(watch), names(snapshot, kind)
        snapshot = watch.snapshot()
    return snapshot


def names(snapshot: Snapshot, kind: str) -> set[str]:
    if kind == "pending":
        return {one.name for one in snapshot.pending}
    return {one.name for held in snapshot.running.values() for one in held}


WAITING = {"job-0", "job-1", "tiny-0", "high-0", "high-1", "few-0", "lost-0"}


def finished(name: str) -> Object:
    done = pod(name, on="a0")
    done["status"]["phase"] = "Succeeded"
    return done


def test_what_is_added_changed_and_deleted_is_seen_without_another_list(api: ApiServer, watch: ClusterWatch) -> None:
    until(watch, *WAITING)
    api.put(pod("new-0"))
    api.put(pod("job-0", "job", on="a0"))
    api.delete("pods", "default", "tiny-0")
    snapshot = until(watch, *(WAITING - {"job-0", "tiny-0"} | {"new-0"}))
    assert names(snapshot, "running") == {"filler-a", "filler-b", "job-0"}
    api.put(finished("job-0"))  # leaves the selection of unfinished pods
    until(watch, "filler-a", "filler-b", kind="running")
    assert len([one for one in api.requests(PODS) if not one.is_watch]) == 1


def test_heartbeats_and_changes_of_what_is_not_kept_are_not_told() -> None:
    state = State(calm=HEARTBEATS)

    def is_told(kind: kinds.Kind[Any, Any], item: Object) -> bool:
        state.put(kind.name, msgspec.convert(item, kind.wire_type))
        state.heard(kind.name)
        found = bool(select.select([state.changed], [], [], 0)[0])
        state.snapshot("1.8", "")
        return found

    beaten, away = node("a0", "spine-a"), node("a0", "spine-a")
    beaten["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-20T10:00:00Z"
    away["spec"] = {"unschedulable": True}
    assert is_told(kinds.NODE, node("a0", "spine-a"))
    assert not is_told(kinds.NODE, beaten)
    assert not is_told(kinds.LEASE, lease())
    assert is_told(kinds.NODE, away)
    assert is_told(kinds.POD, pod("new-0"))
    assert not is_told(kinds.POD, pod("new-0"))
    state.close()


def test_every_kind_is_followed(api: ApiServer, reach: Reach, watch: ClusterWatch) -> None:
    watch.snapshot()
    api.put(node("c0", "spine-c"))
    api.delete("nodes", "", "b1")
    api.put(pod_group("other", 7))
    api.delete("podgroups", "default", "few")
    api.delete("clusternetworktopologies", "", "default")
    api.delete("deployments", "koordinator-system", "koord-scheduler")
    api.delete("configmaps", "koordinator-system", "koord-scheduler-config")
    api.put(pod("last-0"))
    listed = source.live(reach(), kinds.GANG_KINDS, lambda: "default", StatedInstallation("1.8"))
    snapshot = watch.snapshot()
    while (
        snapshot.nodes,
        snapshot.pod_groups,
        snapshot.topologies,
        snapshot.config.assumed,
        names(snapshot, "pending"),
    ) != (
        listed.nodes,
        listed.pod_groups,
        {},
        True,
        names(listed, "pending"),
    ):
        assert changed(watch)
        snapshot = watch.snapshot()
    assert snapshot.running == listed.running


def test_volumes_are_followed_once_a_pod_asks_for_one(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    claims = "/api/v1/persistentvolumeclaims"
    assert not api.requests(claims)
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
    api.put(claim)
    wanting = pod("wanting-0")
    wanting["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    api.put(wanting)
    assert set(until(watch, *WAITING, "wanting-0").claims) == {"default/data"}
    assert [one.is_watch for one in api.requests(claims)][:1] == [False]
    api.delete("persistentvolumeclaims", "default", "data")
    while watch.snapshot().claims:
        assert changed(watch)


def test_resource_claims_are_followed_once_a_pod_asks_for_one(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    assert not api.requests("/apis/resource.k8s.io/v1/resourceclaims")
    wanting = pod("wanting-0")
    wanting["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    api.put(wanting)
    waiting = until(watch, *WAITING, "wanting-0").pending[-1]
    assert [one.found for one in waiting.resource_claims] == [None]
    api.put({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "gpu"}})
    while watch.snapshot().pending[-1].resource_claims[0].found is None:
        assert changed(watch)


def test_namespaces_are_followed_once_a_pod_selects_some_by_their_labels(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    assert not api.requests("/api/v1/namespaces")
    api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}})
    term = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
    running = pod("selecting-0", on="a0")
    running["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    api.put(running)
    while not (found := watch.snapshot()).namespaces:
        assert changed(watch)
    assert found.namespaces["shop"] == {"team": "a", NAME_LABEL: "shop"}
    api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "b"}}})
    while watch.snapshot().namespaces["shop"]["team"] != "b":
        assert changed(watch)


@pytest.mark.parametrize("broken", [False, True], ids=["ended", "broken"])
def test_a_watch_that_ends_goes_on_from_the_last_version(api: ApiServer, watch: ClusterWatch, *, broken: bool) -> None:
    watch.snapshot()
    api.wait_for(PODS, 1)
    last = api.put(pod("new-0"))["metadata"]["resourceVersion"]
    until(watch, *WAITING, "new-0")
    api.end_watches(broken=broken)
    api.put(pod("new-1"))
    until(watch, *WAITING, "new-0", "new-1")
    asked = api.requests(PODS)
    assert [one.is_watch for one in asked] == [False, True, True]
    assert asked[-1].query["resourceVersion"] == last
    assert [one.query.get("fieldSelector", "") for one in asked] == [asked[0].query.get("fieldSelector", "")] * 3


def test_a_bookmark_moves_the_version_and_changes_nothing(api: ApiServer, watch: ClusterWatch) -> None:
    until(watch, *WAITING)
    api.wait_for(PODS, 1)
    api.bookmark()
    api.end_watches()
    api.wait_for(PODS, 2)
    first, second = (one.query["resourceVersion"] for one in api.requests(PODS) if one.is_watch)
    assert int(second) == int(first) + 1
    assert names(watch.snapshot(), "pending") == WAITING


def test_a_forgotten_version_is_listed_anew_and_what_was_missed_is_seen(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    api.wait_for(PODS, 1)
    api.rules.append(Rule(PODS, 503, "ServiceUnavailable", "busy", watch=True, times=1))
    api.end_watches()
    api.delete("pods", "default", "tiny-0")
    api.put(pod("new-0"))
    api.forget_events()
    until(watch, *(WAITING - {"tiny-0"} | {"new-0"}))
    lists = [one for one in api.requests(PODS) if not one.is_watch]
    assert [one.query["resourceVersion"] for one in lists] == ["0", ""][: len(lists)]


def test_410_as_a_status_is_listed_anew(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(PODS, 410, "Expired", "too old", watch=True, times=1))
    watch.snapshot()
    api.wait_for(PODS, 2, watch=False)
    api.put(pod("new-0"))
    until(watch, *WAITING, "new-0")


def test_failures_are_borne_as_long_as_they_do_not_go_on(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(PODS, 500, "InternalError", "it broke", watch=True, times=2))
    api.rules.append(Rule(GROUPS, cut="head", watch=True, times=1))
    watch.snapshot()
    api.put(pod("new-0"))
    until(watch, *WAITING, "new-0")


def test_a_quiet_watch_that_was_open_for_long_is_no_failure_though_it_is_cut(api: ApiServer, reach: Reach) -> None:
    patience = Backoff(first=0.01, most=0.02, failures=1, healthy=0.05)
    with ClusterWatch(reach(), ("Node", "Pod"), lambda: "default", StatedInstallation("1.8"), patience) as watch:
        watch.snapshot()
        for number in range(1, 6):
            api.wait_for(PODS, number)
            api.wait_for(NODES, number)
            time.sleep(0.2)
            api.end_watches(broken=True)
        api.put(pod("new-0"))
        until(watch, *WAITING, "new-0")


def failed(watch: ClusterWatch) -> str:
    with pytest.raises(KoordError) as caught:  # noqa: PT012 - it fails sooner or later
        while True:
            watch.snapshot()
            assert changed(watch)
    return caught.value.message


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule(GROUPS, 500, "InternalError", "it broke", watch=True), "Error from server (InternalError): it broke"),
        (Rule(GROUPS, raw=b"", watch=True), "error: the watch of PodGroup ended 4 times in a row without a word"),
        (
            Rule(GROUPS, raw=b'{"type": "ADDED", "object": 7}\n', watch=True),
            "error: the server's watch of PodGroup cannot be read: Expected `object`, got `int`",
        ),
        (
            Rule(GROUPS, raw=b'{"type": "ERROR", "object": {"kind": "Status", "message": "etcd"}}\n', watch=True),
            "Error from server: etcd",
        ),
        (Rule(GROUPS, 410, "Expired", "too old", watch=True), "error: the watch of PodGroup ended 4 times in a row"),
    ],
    ids=["500", "silence", "garbage", "error-event", "410-for-ever"],
)
def test_what_fails_again_and_again_is_one_clear_error(
    api: ApiServer, watch: ClusterWatch, rule: Rule, said: str
) -> None:
    api.rules.append(rule)
    assert failed(watch).startswith(said)
    assert len([one for one in api.requests(GROUPS) if one.is_watch]) == QUICK.failures + 1


def test_a_list_without_a_version_cannot_be_followed(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(GROUPS, raw=b'{"kind":"PodGroupList","metadata":{},"items":[]}', watch=False))
    assert failed(watch) == "error: the server's list of PodGroup has no version to be watched from"


def test_a_kind_that_may_be_listed_and_not_watched_is_a_gap(api: ApiServer, watch: ClusterWatch) -> None:
    """What was read of it says what was once: it must not be taken for what is."""
    api.rules.append(Rule(GROUPS, 403, "Forbidden", "you cannot watch podgroups", watch=True))
    snapshot = watch.snapshot()
    while not snapshot.gap("PodGroup"):
        assert changed(watch)
        snapshot = watch.snapshot()
    assert snapshot.gap("PodGroup") == Gap("PodGroup", "forbidden", "you cannot watch podgroups")
    assert len([one for one in api.requests(GROUPS) if one.is_watch]) == 1


@pytest.mark.parametrize("path", [GROUPS, PODS])
def test_what_was_watched_and_is_refused_for_a_while_is_taken_up_again(
    api: ApiServer, watch: ClusterWatch, path: str
) -> None:
    """An API server that has just started may know no roles and no CRDs yet."""
    until(watch, *WAITING)
    api.wait_for(path, 1)
    api.rules.append(Rule(path, 403, "Forbidden", "no roles yet", watch=True, times=2))
    api.end_watches()
    api.wait_for(path, 4)
    api.put(pod_group("other", 7))
    api.put(pod("new-0"))
    snapshot = until(watch, *WAITING, "new-0")
    while "default/other" not in snapshot.pod_groups:
        assert changed(watch)
        snapshot = watch.snapshot()
    assert not snapshot.gap("PodGroup")


def test_what_was_watched_and_stays_refused_is_a_gap(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    api.wait_for(GROUPS, 1)
    api.rules.append(Rule(GROUPS, 403, "Forbidden", "not any more", watch=True))
    api.end_watches()
    while not (gap := watch.snapshot().gap("PodGroup")):
        assert changed(watch)
    assert gap == Gap("PodGroup", "forbidden", "not any more")
    assert len([one for one in api.requests(GROUPS) if one.is_watch]) == QUICK.failures + 1


def test_pods_that_may_not_be_watched_are_a_failure(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(PODS, 403, "Forbidden", "you cannot watch pods", watch=True))
    assert failed(watch) == "Error from server (Forbidden): you cannot watch pods"


def test_pods_that_may_not_be_listed_are_a_failure(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(f"{PODS}|{OWN_PODS}", 403, "Forbidden", "you cannot list pods"))
    assert failed(watch) == "Error from server (Forbidden): you cannot list pods"


def test_what_could_not_be_listed_stays_a_gap(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(GROUPS, 404, "NotFound", "no such thing", times=1))
    watch.snapshot()
    api.put(pod("new-0"))
    snapshot = until(watch, *WAITING, "new-0")
    assert snapshot.gap("PodGroup") == Gap("PodGroup", "missing", "no such thing")
    assert len(api.requests(GROUPS)) == 1


def test_what_could_be_listed_in_one_namespace_is_watched_there(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(PODS, 403, "Forbidden", "not everywhere"))
    snapshot = watch.snapshot()
    assert snapshot.namespace_only == "default"
    api.put(pod("new-0"))
    api.put(pod("other-0", namespace="other"))
    api.put(pod("new-1"))
    snapshot = until(watch, *WAITING, "new-0", "new-1")
    gap = snapshot.gap("Pod")
    assert gap is not None
    assert gap.code == "one-namespace"


def test_the_time_limit_of_requests_is_none_of_a_watch(api: ApiServer, reach: Reach) -> None:
    with ClusterWatch(
        reach("--request-timeout=1s"), ("Pod",), lambda: "default", StatedInstallation("1.8"), QUICK
    ) as watch:
        watch.snapshot()
        api.wait_for(PODS, 1)
        assert not threading.Event().wait(1.2)
        api.put(pod("new-0"))
        until(watch, *WAITING, "new-0")
    assert len([one for one in api.requests(PODS) if one.is_watch]) == 1


def test_a_server_that_is_gone_is_told_of_as_kubectl_does(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    api.close()
    assert failed(watch).startswith(("The connection to the server ", "Unable to connect to the server: "))


def test_an_error_of_a_decoder_names_the_object(api: ApiServer, watch: ClusterWatch) -> None:
    watch.snapshot()
    api.put(pod("odd-0", cpu="a lot"))
    assert "Pod default/odd-0: " in failed(watch)


@pytest.mark.usefixtures("no_kubectl")
def test_a_watch_over_tls_ends_at_once(tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reach: Reach) -> None:
    with ApiServer(world(), token="secret", tls=tls) as server:  # noqa: S106
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        with ClusterWatch(reach(), ("Pod",), lambda: "default", StatedInstallation("1.8"), QUICK) as watch:
            watch.snapshot()
            server.wait_for(PODS, 1)
            server.put(pod("new-0"))
            until(watch, *WAITING, "new-0")
        assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("watch ")]
        watch.close()


def test_a_watch_starts_at_the_version_of_its_list_though_the_list_asks_for_the_newest(
    api: ApiServer, watch: ClusterWatch
) -> None:
    """An API server takes the first of two versions that a request names: an empty one is another watch."""
    watch.snapshot()
    api.wait_for(LEASES, 1)
    assert [one.query["resourceVersion"] for one in api.requests(LEASES) if not one.is_watch] == [""]
    assert all(int(one.query["resourceVersion"]) for one in api.requests(LEASES) if one.is_watch)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The time that it is, to be changed."""
    times = ["2026-01-01T00:00:00Z"]
    monkeypatch.setattr(source, "now", lambda: times[0])
    return times


def test_while_a_kind_is_not_followed_nothing_grows_old(api: ApiServer, watch: ClusterWatch, now: list[str]) -> None:
    watch.snapshot()
    api.wait_for(GROUPS, 1)
    back = threading.Event()
    api.rules.append(Rule(GROUPS, hang=back, watch=True))
    api.end_watches(broken=True)
    api.wait_for(GROUPS, 2)
    interrupted, now[0] = now[0], "2026-01-01T00:10:00Z"
    api.put(pod("new-0"))
    assert until(watch, *WAITING, "new-0").moment == interrupted
    back.set()
    while watch.snapshot().moment != now[0]:
        assert changed(watch)


def seen(watch: ClusterWatch) -> str:
    leases = watch.snapshot().leases
    assert leases
    return leases[0].seen


def test_a_lease_is_as_old_as_when_its_watch_last_brought_something_by_the_clock_of_the_server(
    api: ApiServer, watch: ClusterWatch, now: list[str]
) -> None:
    api.date = "Thu, 01 Jan 2026 00:02:00 GMT"  # two minutes ahead
    listed = "2026-01-01T00:02:00Z"
    assert seen(watch) == listed
    api.wait_for(LEASES, 1)
    now[0] = "2026-01-01T00:10:00Z"
    assert seen(watch) == listed
    api.put(lease("2026-01-01T00:11:59Z"))
    while seen(watch) != "2026-01-01T00:12:00Z":
        assert changed(watch)
    now[0] = "2026-01-01T00:20:00Z"
    api.bookmark()
    while seen(watch) != "2026-01-01T00:22:00Z":
        assert changed(watch)


def test_a_lease_whose_watch_has_failed_is_listed_anew(api: ApiServer, watch: ClusterWatch, now: list[str]) -> None:
    api.date = "no date at all"
    watch.snapshot()
    api.wait_for(LEASES, 1)
    now[0] = "2026-01-01T00:10:00Z"
    api.rules.append(Rule(LEASES, 503, "ServiceUnavailable", "busy", watch=True, times=1))
    api.end_watches()
    while seen(watch) != now[0]:
        assert changed(watch)
    api.wait_for(LEASES, 3)
    lists = [one.query["resourceVersion"] for one in api.requests(LEASES) if not one.is_watch]
    assert (len(lists) > 1, {*lists}) == (True, {""})


def test_a_kind_that_could_not_be_listed_for_now_is_followed_once_it_can(api: ApiServer, watch: ClusterWatch) -> None:
    api.rules.append(Rule(GROUPS, 429, "TooManyRequests", "storage is (re)initializing", watch=False, times=2))
    api.rules.append(Rule(GROUPS, 429, "TooManyRequests", "too many", watch=True, times=1))
    snapshot = watch.snapshot()
    assert snapshot.gap("PodGroup") == Gap("PodGroup", "unavailable", "storage is (re)initializing")
    while snapshot.gap("PodGroup") or "default/job" not in snapshot.pod_groups:
        assert changed(watch)
        snapshot = watch.snapshot()
    api.put(pod_group("other", 7))
    while "default/other" not in watch.snapshot().pod_groups:
        assert changed(watch)
