"""What could not be seen is never absent: every verb with every kind that it reads refused, not served, or empty.

A list without `items`, or with null for them, is an empty one, as Go's clients read it: the answer is that of a cluster
which has no such objects. A document of another kind than the list asked for is no list: an error names the kind.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kubectl_koord
from kubectl_koord.cluster import kinds
from tests.apiserver import RESOURCES, ApiServer, Resource, Rule
from tests.cli.conftest import Done, Run
from tests.cli.world import GATHER, Object, pod, pod_group, world

RESOURCE = {resource.row: resource for resource in RESOURCES}
REFUSED, FAILED = (2, "unknown"), (2, "")
OF_SCHEDULER = ("Deployment", "ConfigMap", "Lease")
ATTEMPT = ("Node", "Pod", "PodGroup", "ClusterNetworkTopology")
MAY_REFUSE = ("ElasticQuota", "Reservation", "NodeMetric", "NodeResourceTopology")
OF_HEAVY = ("Device", "PersistentVolumeClaim", "PersistentVolume", "CSINode", "VolumeAttachment")
MAY_BE_EMPTY = ("Node", "Pod", "PodGroup", "ClusterNetworkTopology", "PersistentVolumeClaim")
NONE = "--dry-run=client"
SOAK = pytest.mark.soak
DEMO = str(Path(kubectl_koord.__file__).parent / "cluster" / "demo.json")
SAVED = str(Path(__file__).parents[1] / "endpoints" / "gangs.json")


class Verb(NamedTuple):
    """A command line; how it ends when all is seen; without which kinds it is unknown, and without which it fails."""

    words: tuple[str, ...]
    seen: tuple[int, str]
    unknown: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()


VERBS = (
    Verb(("topo",), (0, "yes"), ("Node", "ClusterNetworkTopology")),
    Verb(("topo", "--for", "job"), (0, "yes"), (*ATTEMPT, "Reservation", "NodeMetric")),
    Verb(("topo", "--for", "nobody"), FAILED, (), ("Pod", "PodGroup")),
    Verb(("devices",), (0, "yes"), ("Device", "Node")),
    Verb(("devices", "a0"), (0, "yes"), ("Device",), ("Node",)),
    Verb(("devices", "a9"), FAILED, (), ("Node",)),
    Verb(("devices", "--domain", "spine-a"), (0, "yes"), ("Device",), ("Node", "ClusterNetworkTopology")),
    Verb(("quota",), (0, "yes"), ("ElasticQuota", "Pod", "Node")),
    Verb(("quota", "nobody"), FAILED, (), ("ElasticQuota",)),
    Verb(
        ("topo", "--shape", "1cpu"),
        (0, "yes"),
        ("Pod", "ClusterNetworkTopology", "Reservation", "NodeMetric"),
        ("Node",),
    ),
    Verb(("node", "a0"), (0, "yes"), ("Pod", "PodGroup"), ("Node",)),
    Verb(("node", "a9"), FAILED, (), ("Node",)),
    Verb(("domain", "spine-a"), (0, "yes"), ("Pod", "PodGroup"), ("Node", "ClusterNetworkTopology")),
    Verb(("gangs",), (0, "yes"), ("Node", "Pod", "PodGroup")),
    Verb(("topo", "--whole-cards"), (0, "yes"), ("Node", "ClusterNetworkTopology")),
    Verb(("topo", "--resource", "cpu"), (0, "yes"), ("ClusterNetworkTopology",), ("Node",)),
    Verb(("why-pending",), (0, "yes"), ("Node", "Pod", "PodGroup")),
    Verb(("why-pending", "-A"), (0, "yes"), ("Node", "Pod", "PodGroup")),
    Verb(("why-pending", "job"), (1, "no"), (*ATTEMPT, "Reservation")),
    Verb(("why-pending", "few"), (1, "no"), ("Pod", "PodGroup")),
    Verb(("why-pending", "tiny"), (0, "yes"), (*ATTEMPT, *MAY_REFUSE, *OF_SCHEDULER)),
    Verb(("why-pending", "heavy"), (0, "yes"), (*ATTEMPT, *MAY_REFUSE, *OF_HEAVY, *OF_SCHEDULER)),
    Verb(("why-pending", "done"), (0, "yes"), ("Pod", "PodGroup")),
    Verb(("why-pending", "nobody"), FAILED, (), ("Pod", "PodGroup")),
    Verb(("preempt", "high", "--dry-run"), (0, "yes"), (*ATTEMPT, *MAY_REFUSE, *OF_SCHEDULER)),
    Verb(("preempt", "high", "--dry-run=server"), (0, "yes"), (*ATTEMPT, *MAY_REFUSE, *OF_SCHEDULER)),
    Verb(("preempt", "done", "--dry-run"), (0, "yes"), ("Pod", "PodGroup")),
    Verb(
        ("fit", "--pods", "1", "--request", "cpu=1"),
        (0, "yes"),
        (*ATTEMPT, *MAY_REFUSE, *OF_HEAVY, *OF_SCHEDULER, "PriorityClass", "LimitRange"),
    ),
    Verb(
        ("fit", "--like", "job"),
        (1, "no"),
        ("Node", "PodGroup", "ClusterNetworkTopology", "Reservation"),
        ("Pod",),
    ),
    Verb(("plan", "tiny"), (0, "yes"), (*ATTEMPT, *MAY_REFUSE, *OF_HEAVY, *OF_SCHEDULER)),
    Verb(("annotate", "podgroup", "job", "--mode=NonStrict", NONE), (0, "yes"), (), ("PodGroup",)),
    Verb(
        ("annotate", "podgroup", "few", "--must-gather=SpineLayer", NONE),
        (0, "yes"),
        (),
        ("PodGroup", "ClusterNetworkTopology"),
    ),
    Verb(("annotate", "podgroup", "job", "--groups=job,gone", NONE), FAILED, (), ("Pod", "PodGroup")),
    Verb(("annotate", "pods", "job", "--index", NONE), (0, "yes"), (), ("Pod", "PodGroup")),
    Verb(("annotate", "gang", "job", "--mode=NonStrict", NONE), (0, "yes"), (), ("Pod", "PodGroup")),
    Verb(("annotate", "pods", "job", "--topology-selector=x", NONE), (0, "yes"), (), ("Pod", "PodGroup")),
    Verb(
        ("diff", "-", DEMO, "--for", "job"), (0, "yes"), ("Node", *ATTEMPT[3:], "Reservation", "NodeMetric"), ("Pod",)
    ),
    Verb(("scheduler", "gangs", "--endpoint", SAVED), (0, "yes"), ("Pod", "PodGroup")),
    Verb(("why-preempted", "filler-a"), (1, "no"), ("Pod", "Event")),
    Verb(("why-preempted", "nobody"), FAILED, ("Pod", "Event"), ("PodGroup",)),
)


def _in_turn(verbs: Iterable[Verb]) -> Iterator[Any]:
    """Yield the command lines, each with two of the lists that it reads, in turn; with all of them for `make soak`."""
    for number, verb in enumerate(verbs):
        at = number % len(MAY_BE_EMPTY)
        yield pytest.param(verb, slice(at, at + 2), id=" ".join(verb.words), marks=[] if number % 3 == 0 else SOAK)
        yield pytest.param(verb, slice(None), id=f"{' '.join(verb.words)}-all", marks=SOAK)


def objects() -> list[Object]:
    """Return the small cluster, a gang that runs, and one whose pod wants cards and a volume, which is there."""
    heavy = pod("heavy-0", "heavy", cpu="1")
    heavy["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    heavy["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
    items: list[Object] = world()["items"]
    for item in items:
        if item["kind"] == "Node":
            item["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    return [
        *items,
        pod_group("done", 1),
        pod("done-0", "done", cpu="0", on="a0"),
        pod_group("heavy", 1, **GATHER),
        heavy,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {"volumeName": "pv"},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv"},
            "spec": {"csi": {"driver": "csi.example.com", "volumeHandle": "x"}},
        },
    ]


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[Callable[..., ApiServer]]:
    """Serve a cluster, which is then the current context."""
    assert no_kubectl is None
    servers: list[ApiServer] = []

    def served(items: list[Object]) -> ApiServer:
        servers.append(ApiServer({"items": items}))
        monkeypatch.setenv("KUBECONFIG", str(servers[-1].kubeconfig(tmp_path)))
        return servers[-1]

    yield served
    for server in servers:
        server.close()


@pytest.fixture
def api(serving: Callable[..., ApiServer]) -> ApiServer:
    return serving(objects())


def lists_of(resource: Resource) -> str:
    """Return what matches the paths of all lists of a kind."""
    return f"/apis?/{resource.group_version}(/namespaces/[^/]+)?/{resource.plural}"


def forbidden(resource: Resource) -> Rule:
    return Rule(lists_of(resource), 403, "Forbidden", f'{resource.plural} is forbidden: User "eve" may not')


def not_served(resource: Resource) -> Rule:
    return Rule(lists_of(resource), 404, raw=b"404 page not found\n")


def empty(resource: Resource, **items: None) -> Rule:
    told = {"kind": f"{resource.kind}List", "apiVersion": resource.group_version, "metadata": {"resourceVersion": "1"}}
    return Rule(lists_of(resource), raw=json.dumps(told | items).encode())


def why_not(refusal: Callable[[Resource], Rule], resource: Resource) -> str:
    """Return the reason that an answer must give."""
    if refusal is forbidden:
        return f"{resource.plural} is forbidden"
    if resource.group_version.endswith("/v1alpha1"):
        return f"the {resource.kind} CRD is not installed"
    return "the server does not serve /api"


def document(done: Done) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(done.out) if done.out else {}


def ended(done: Done) -> tuple[int, str]:
    return done.code, document(done).get("verdict", "")


def said(done: Done) -> str:
    """Return all that an answer tells of what it rests on."""
    report = document(done)
    told = [report.get("message"), (report.get("cause") or {}).get("message"), done.err]
    return "\n".join([*filter(None, told), *(one["message"] for one in report.get("warnings", ()))])


def _asked() -> Iterator[Any]:
    """Yield what is refused of which command lines.

    In `make test`: of one command line of each verb every kind that decides, refused and not served, and all that it
    lists besides, together; of the others half of the kinds that decide. In `make soak` each that it lists is tried
    alone.
    """
    first = dict.fromkeys(verb.words[0] for verb in VERBS)
    for verb in VERBS:
        name, is_first = " ".join(verb.words), first.pop(verb.words[0], "") is None
        marks = () if is_first else pytest.mark.soak
        yield pytest.param(forbidden, verb, "each", id=f"{name}-each-forbidden", marks=pytest.mark.soak)
        yield pytest.param(forbidden, verb, "together" if is_first else "some", id=f"{name}-forbidden")
        yield pytest.param(not_served, verb, "", id=f"{name}-not-served", marks=marks)


@pytest.mark.parametrize(("refusal", "verb", "others"), [*_asked()])
def test_an_answer_that_rests_on_what_could_not_be_read_is_unknown_and_says_so_and_any_other_stays(
    koord: Run, api: ApiServer, verb: Verb, refusal: Callable[[Resource], Rule], others: str
) -> None:
    words = (*verb.words, "-o", "json")
    assert ended(koord(*words)) == verb.seen
    seen = {request.path for request in api.log}
    listed = [one for one in RESOURCES if any(re.fullmatch(lists_of(one), path) for path in seen)]
    rest = [one for one in listed if one.row not in {*verb.unknown, *verb.fails}]
    expected = dict.fromkeys(verb.unknown, (REFUSED, True)) | dict.fromkeys(verb.fails, (FAILED, True))
    found = {}
    if others == "together":
        api.rules[:] = map(refusal, rest)
        assert ended(koord(*words)) == verb.seen
    elif others == "some":
        expected = dict([*expected.items()][len(" ".join(words)) % 2 :: 2])
    elif others == "each":
        expected |= {one.row: (verb.seen, False) for one in rest}
    for kind in expected:
        api.rules[:] = [refusal(RESOURCE[kind])]
        done = koord(*words)
        names_it = kind in said(done) and why_not(refusal, RESOURCE[kind]) in said(done)
        found[kind] = (ended(done), names_it and expected[kind][1])
    assert found == expected
    assert not [request for request in api.log if request.method not in {"GET", "POST"}]


@pytest.mark.parametrize(("verb", "some"), [*_in_turn(VERBS)])
def test_a_list_without_items_or_with_null_is_an_empty_one_as_gos_clients_read_it(
    koord: Run, serving: Callable[..., ApiServer], verb: Verb, some: slice
) -> None:
    words = (*verb.words, "-o", "json")
    everything = objects()
    server = serving(everything)
    koord(*words)
    tried = [
        kind for kind in MAY_BE_EMPTY if any(re.fullmatch(lists_of(RESOURCE[kind]), one.path) for one in server.log)
    ]
    assert tried
    for kind, items in zip(tried[some] or tried[:1], cycle(({}, {"items": None})), strict=False):
        serving([item for item in everything if item["kind"] != kind])
        expected = _lasting(koord(*words))
        serving(everything).rules[:] = [empty(RESOURCE[kind], **items)]
        assert _lasting(koord(*words)) == expected, (kind, items)


def _lasting(done: Done) -> tuple[int, str, str]:
    """Return an answer without what depends on when it was asked for, and without versions of objects."""
    return done.code, re.sub(r'"(moment|resourceVersion|ageSeconds)": ("[^"]*"|\d+)', "", done.out), done.err


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "it has no kind"),
        ({"error": "please log in"}, "it has no kind"),
        ({"kind": "Status", "status": "Success"}, "it is a Status"),
        ({"kind": "PodList", "items": []}, "it is a PodList"),
        ({"items": [], "kind": "ConfigMapList"}, "it is a ConfigMapList"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "words", [("topo",), ("why-pending", "-A"), ("annotate", "podgroup", "job", "--mode=Strict", "--yes")]
)
def test_a_document_of_another_kind_is_no_empty_list(
    koord: Run, api: ApiServer, words: tuple[str, ...], body: Object, what: str
) -> None:
    api.rules.append(Rule("/api/v1/nodes", raw=json.dumps(body).encode()))
    assert koord(*words) == (2, "", f"error: the server's list of Node cannot be read: {what}\n")


def with_a_resource_claim() -> list[Object]:
    """Return the cluster with a gang whose pod has a resource claim, which is allocated."""
    using = pod("using-0", "using", cpu="1")
    using["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "default"},
        "status": {"allocation": {}},
    }
    return [*objects(), pod_group("using", 1), using, claim]


def test_what_may_not_be_read_of_a_group_that_is_not_served_is_not_there(
    koord: Run, serving: Callable[..., ApiServer]
) -> None:
    api = serving(objects())
    of_volcano = [kind for kind in kinds.ELSEWHERE_KINDS if kind.endswith(".volcano.sh")]
    api.rules[:] = [forbidden(RESOURCE[kind]) for kind in kinds.ELSEWHERE_KINDS]
    assert all(kind in said(koord("gangs", "-o", "json")) for kind in kinds.ELSEWHERE_KINDS)
    api.rules.append(Rule("/apis/scheduling.volcano.sh/v1beta1", 404, "NotFound", "no such group"))
    done = koord("gangs", "-o", "json")
    assert ended(done) == (0, "yes")
    assert "PodMigrationJob" in said(done)
    assert not any(kind in said(done) for kind in of_volcano)


def test_an_answer_about_a_pod_with_a_resource_claim_rests_on_what_decides_about_it(
    koord: Run, serving: Callable[..., ApiServer]
) -> None:
    api = serving(with_a_resource_claim())
    words = ("why-pending", "using", "-o", "json")
    assert ended(koord(*words)) == (0, "yes")
    for kind in kinds.CLAIM_KINDS:
        api.rules[:] = [forbidden(RESOURCE[kind])]
        done = koord(*words)
        assert ended(done) == REFUSED
        assert kind in said(done)
        assert why_not(forbidden, RESOURCE[kind]) in said(done)
    api.rules[:] = [not_served(RESOURCE[kind]) for kind in kinds.CLAIM_KINDS]
    done = koord(*words)
    assert ended(done) == (0, "yes")
    assert not any(kind in said(done) for kind in kinds.CLAIM_KINDS)


def selecting_namespaces(name: str, key: str, value: str, on: str = "") -> Object:
    """Return a pod with anti-affinity against pods of other namespaces, on its own node."""
    shy = pod(name, "" if on else name.partition("-")[0], cpu="1", on=on)
    wanted = {"matchLabels": {key: value}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": wanted}
    shy["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return shy


@pytest.mark.parametrize("on", ["", "a0"], ids=["pending", "running"])
def test_an_answer_rests_on_namespaces_where_a_term_selects_them_by_their_labels(
    koord: Run, serving: Callable[..., ApiServer], on: str
) -> None:
    shy = selecting_namespaces("shy-0", "team", "a", on)
    home: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "b"}}}
    api = serving([*objects(), *([] if on else [pod_group("shy", 1)]), shy, home])
    words = ("why-pending", "tiny" if on else "shy", "-o", "json")
    assert ended(koord(*words)) == (0, "yes")
    api.rules[:] = [forbidden(RESOURCE["Namespace"])]
    done = koord(*words)
    assert ended(done) == REFUSED
    assert "namespace selectors of inter-pod affinities (Namespace objects could not be read)" in said(done)
    assert why_not(forbidden, RESOURCE["Namespace"]) in said(done)
    api.rules.clear()
    for name in ("a0", "a1", "b0", "b1"):
        api.put(pod(f"one-{name}", cpu="0", on=name))
    home["metadata"]["labels"] = {"team": "a"}
    api.put(home)
    assert ended(koord(*words)) == ((0, "yes") if on else (1, "no"))


def test_namespaces_are_listed_only_where_a_term_selects_them_by_more_than_their_names(
    koord: Run, serving: Callable[..., ApiServer]
) -> None:
    name = "kubernetes.io/metadata.name"
    api = serving([*objects(), pod_group("shy", 1), selecting_namespaces("shy-0", name, "default")])
    for on in ("a0", "a1", "b0", "b1"):
        api.put(pod(f"one-{on}", cpu="0", on=on))
    assert ended(koord("why-pending", "shy", "-o", "json")) == (1, "no")
    assert not api.requests("/api/v1/namespaces")


def test_kinds_of_resource_claims_are_listed_only_where_a_pod_has_one(koord: Run, api: ApiServer) -> None:
    koord("why-pending")
    assert not [request for request in api.log if "resource.k8s.io" in request.path]


def without_koordinator(api: ApiServer) -> None:
    api.rules.append(
        Rule(r"/apis/(scheduling|slo)\.(koordinator\.sh|sigs\.k8s\.io)/.*", 404, raw=b"404 page not found\n")
    )


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (("topo",), "ClusterNetworkTopology"),
        (("topo", "--for", "few"), "PodGroup, ClusterNetworkTopology"),
        (("devices",), "Device"),
        (("quota",), "ElasticQuota"),
        (("why-pending",), "PodGroup"),
        (("why-pending", "few"), "PodGroup"),
        (("preempt", "few", "--dry-run"), "PodGroup"),
    ],
)
def test_where_no_crd_of_koordinators_is_installed_that_is_the_reason(
    koord: Run, api: ApiServer, words: tuple[str, ...], kinds: str
) -> None:
    without_koordinator(api)
    done = koord(*words, "-o", "json")
    assert ended(done) == (2, "unknown")
    for kind in kinds.split(", "):
        assert kind in said(done)
    assert "Koordinator's CRDs are not installed" in said(done)
    assert "Koordinator's CRDs are not installed" in koord(*words).out.partition("\n\n")[0].replace("\n", " ")
    codes = [one["code"] for one in document(done)["warnings"]]
    assert codes.count("missing-list") == 1


def test_whether_any_crd_is_there_is_only_asked_where_the_topologys_is_not(koord: Run, api: ApiServer) -> None:
    koord("topo")
    assert not api.requests("/apis/scheduling.koordinator.sh/v1alpha1")
    api.rules.append(not_served(RESOURCE["ClusterNetworkTopology"]))
    done = koord("topo")
    assert done.out.startswith(
        "Cannot build the topology tree: ClusterNetworkTopology could not be read: "
        "the ClusterNetworkTopology CRD is not installed.\n"
    )
    assert len(api.requests("/apis/scheduling.koordinator.sh/v1alpha1")) == 1


def test_a_tree_without_the_slots_that_could_not_be_told_is_still_shown(koord: Run, api: ApiServer) -> None:
    api.rules.append(forbidden(RESOURCE["Pod"]))
    report = document(koord("topo", "--for", "job", "-o", "json"))
    assert [(row["name"], row["nodes"], row["free"], row["offerSlots"]) for row in report["domains"]] == [
        ("", 4, None, None),
        ("spine-a", 2, None, None),
        ("spine-b", 2, None, None),
    ]
    assert report["desiredOfferSlot"] is None


def test_a_listing_that_may_lack_some_shows_the_others(koord: Run, api: ApiServer) -> None:
    api.rules.append(forbidden(RESOURCE["PodGroup"]))
    done = koord("why-pending")
    assert done.code == 2
    assert "This list may be incomplete: PodGroup could not be read: podgroups is forbidden" in done.out
    assert "default/tiny" in done.out


def test_a_tenant_lists_the_gangs_of_its_own_namespace(koord: Run, api: ApiServer) -> None:
    """May list nodes, and pods and PodGroups of one namespace: what is listed of it is all there is."""
    for kind in ("Pod", "PodGroup"):
        api.rules.append(
            Rule(lists_of(RESOURCE[kind]).replace("(/namespaces/[^/]+)?", ""), 403, "Forbidden", "own only")
        )
    assert ended(koord("why-pending", "-o", "json")) == (0, "yes")
    assert ended(koord("why-pending", "done", "-o", "json")) == (0, "yes")
    assert ended(koord("why-pending", "-A", "-o", "json")) == (2, "unknown")
    assert koord("why-pending", "nobody").err.startswith("error: no gang, pod or owner 'nobody' in namespace 'default'")
    assert koord("why-pending", "other/nobody").err.startswith("error: Pod and PodGroup could not be read: ")


NOWHERE = 'Error from server (NotFound): namespaces "nope" not found\n'


@pytest.mark.parametrize(
    "words",
    [
        ("why-pending",),
        ("why-pending", "-w"),
        ("why-pending", "job"),
        ("why-pending", "pod/job"),
        ("why-pending", "job", "--until=scheduled"),
        ("topo", "--for", "job"),
        ("preempt", "job", "--dry-run"),
        ("annotate", "podgroup", "job", "--mode=Strict", "--yes"),
        ("annotate", "pods", "job", "--index", "--yes"),
        ("why-preempted", "job"),
    ],
    ids=" ".join,
)
def test_a_namespace_that_does_not_exist_is_told(koord: Run, api: ApiServer, words: tuple[str, ...]) -> None:
    assert koord(*words, "-n", "nope") == (2, "", NOWHERE)
    api.rules.append(Rule("/api/v1/namespaces/nope", 403, "Forbidden", "no namespaces for you"))
    if "-w" not in words:
        done = koord(*words, "-n", "nope")
        assert "namespaces" not in done.err
        assert done.code == (0 if words == ("why-pending",) else 2)


@pytest.mark.usefixtures("api")
def test_of_two_parts_of_a_name_the_first_need_not_be_a_namespace(koord: Run) -> None:
    for verb in ("why-pending", "why-preempted"):
        missing = koord(verb, "nope/job").err
        assert missing.startswith("error: no gang, pod or owner 'nope/job' (there is no namespace 'nope')")
        assert "(there is no" not in koord(verb, "koordinator-system/job").err
    assert koord("annotate", "podgroup", "nope/job", "--mode=Strict", "--yes").err == NOWHERE


def test_a_namespace_is_only_looked_at_where_nothing_was_found_in_it(koord: Run, api: ApiServer) -> None:
    for words in (("why-pending",), ("why-pending", "job"), ("why-preempted", "filler-a")):
        koord(*words)
    assert not [request for request in api.log if re.fullmatch("/api/v1/namespaces/[^/]+", request.path)]


def test_a_file_that_holds_nothing_in_a_namespace_says_so(koord: Run, cluster: str) -> None:
    nothing = (2, "", "error: the snapshot contains nothing in namespace 'nope'\n")
    file = ("--snapshot", cluster)
    for words in (("why-pending",), ("why-pending", "job"), ("topo", "--for", "job"), ("why-preempted", "job")):
        assert koord(*words, "-n", "nope", *file) == nothing
    assert koord("annotate", "podgroup", "nope/job", "--mode=Strict", NONE, *file) == nothing
    assert "(there is no namespace 'nope')" in koord("why-pending", "nope/job", *file).err
    assert "in namespace 'default'\n" in koord("why-pending", "nobody", *file).err
