"""Sections 1.1 and 1.2 of the gang reference: who is in a gang, and on what terms."""

import pytest

from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.gangs import Gang, all_gangs, group_of, topology_requirements
from kubectl_koord.engine.placement import TopologyRequirements
from kubectl_koord.engine.rules import GatherRule, gather_rules
from kubectl_koord.engine.tree import Tree, build
from kubectl_koord.model.pods import GangAnnotations
from tests.build import BLOCK, NODE, SPINE, Drawing, cluster, rules

EMPTY = cluster("s0: b0[n1]")


def gang(drawing: Drawing, key: str = "default/job") -> Gang:
    return all_gangs(drawing)[key]


def light(**wanted: str) -> Gang:
    return gang(EMPTY.with_light_gang("job", 2, gang_terms=GangAnnotations(**wanted)))


def test_a_gang_is_whoever_names_it_and_what_its_pod_group_says() -> None:
    drawing = EMPTY.with_gang("job", 2, minimum=5, mode="NonStrict", match_policy="only-waiting")
    drawing = drawing.with_running("job-r", on="n1", gang="default/job").with_running("lone", on="n1")
    drawing = drawing.with_finished("job-f", "job").with_finished("job-g", "job", was_bound=False)
    found = gang(drawing)
    assert found == Gang(
        key="default/job",
        defined_by="PodGroup",
        minimum=5,
        match_policy="only-waiting",
        mode="NonStrict",
        group=("default/job",),
        topology=None,
        unreadable=(),
        pending=drawing.pending,
        running=drawing.running["n1"][:1],
        finished=drawing.finished,
    )
    assert (found.children, found.bound) == (5, 2)


def test_gangs_are_in_name_order_and_lone_pods_have_none() -> None:
    drawing = EMPTY.with_gang("b").with_group("c").with_pod("lone").with_finished("a-0", "a")
    assert list(all_gangs(drawing)) == ["default/a", "default/b", "default/c"]


def test_pods_that_name_a_missing_pod_group_make_a_gang_that_nothing_defines() -> None:
    drawing = EMPTY.with_pod("job-0", gang="job")
    assert (gang(drawing).defined_by, gang(drawing).minimum) == ("", None)


def test_pods_may_define_their_gang() -> None:
    found = light(minimum="2", mode="NonStrict", match_policy="waiting-and-running", topology=rules("MustGather A"))
    assert (found.defined_by, found.minimum, found.minimum_written, found.mode, found.match_policy, found.topology) == (
        "pods",
        2,
        "2",
        "NonStrict",
        "waiting-and-running",
        (GatherRule("A", "MustGather"),),
    )


def test_the_oldest_pod_defines_the_gang_and_of_equals_the_first_by_name() -> None:
    drawing = EMPTY.with_light_gang("job", 3, gang_terms=GangAnnotations("3"), created="2026-11-20T09:00:00Z")
    drawing = drawing.change_pods("job-1", gang_terms=GangAnnotations("1"), created="2026-11-20T08:00:00Z")
    drawing = drawing.change_pods("job-2", gang_terms=GangAnnotations("2"), created="2026-11-20T08:00:00Z")
    assert gang(drawing).minimum == 1


def test_pods_that_run_define_their_gang_too() -> None:
    drawing = EMPTY.with_running("job-0", "n1", gang="default/job", gang_terms=GangAnnotations("4", mode="NonStrict"))
    drawing = drawing.with_running("job-1", "n1", gang="default/job")
    assert (gang(drawing).defined_by, gang(drawing).minimum, gang(drawing).mode) == ("pods", 4, "NonStrict")
    successor = GangAnnotations("2")
    later = drawing.with_light_gang("job", 1, gang_terms=successor, created="2026-11-20T09:00:00Z")
    assert gang(later).minimum == 4
    unsaid = EMPTY.with_running("job-0", "n1", gang="default/job", gang_terms=GangAnnotations())
    assert (gang(unsaid).defined_by, gang(unsaid).minimum) == ("pods", 0)


def test_pods_without_a_minimum_do_not_keep_the_others_from_defining_the_gang() -> None:
    drawing = EMPTY.with_light_gang("job", 2, gang_terms=GangAnnotations("2", mode="NonStrict"))
    for written in (None, "many"):
        older = drawing.change_pods("job-0", gang_terms=GangAnnotations(written), created="2026-11-20T08:00:00Z")
        assert (gang(older).minimum, gang(older).mode) == (2, "NonStrict")


def test_a_pod_group_overrides_what_pods_say() -> None:
    drawing = EMPTY.with_light_gang("job", 2, gang_terms=GangAnnotations("2")).with_group("job", 7)
    assert (gang(drawing).defined_by, gang(drawing).minimum) == ("PodGroup", 7)


@pytest.mark.parametrize(
    ("written", "minimum"),
    [
        ("4", 4),
        ("+4", 4),
        ("-4", -4),
        ("2147483647", 2147483647),
        ("2147483648", None),
        ("99999999999", None),
        ("", None),
        ("four", None),
        ("4.0", None),
        ("٤", None),
        ("+-4", None),
        ("-2147483648", -2147483648),
        ("-2147483649", None),
        ("00000000000000004", 4),
        (" 4", None),
        ("1_0", None),
    ],
)
def test_min_available_is_an_int32(written: str, minimum: int | None) -> None:
    assert light(minimum=written).minimum == minimum


def test_without_min_available_the_gang_is_not_initialised() -> None:
    found = light()
    assert (found.defined_by, found.minimum, found.minimum_written) == ("pods", None, "")


@pytest.mark.parametrize(
    ("written", "mode"), [("", "Strict"), ("Strict", "Strict"), ("nonstrict", "Strict"), ("NonStrict", "NonStrict")]
)
def test_an_unknown_mode_is_strict(written: str, mode: str) -> None:
    assert light(mode=written).mode == mode


@pytest.mark.parametrize(
    ("version", "policy"), [("1.7", "once-satisfied"), ("1.8", "only-waiting"), ("main", "only-waiting")]
)
def test_an_unknown_match_policy_is_the_default_which_may_be_configured_since_1_8(version: str, policy: str) -> None:
    drawing = EMPTY.with_gang("job", match_policy="sometimes").configured(default_match_policy="only-waiting")
    assert gang(drawing.version(version)).match_policy == policy


@pytest.mark.parametrize(
    ("written", "group", "unreadable"),
    [
        ("", ("default/job",), ()),
        ("null", ("default/job",), ()),
        ("[]", ("default/job",), ()),
        ('["default/job", "default/a"]', ("default/a", "default/job"), ()),
        ('["b", "default/a"]', ("b", "default/a"), ()),
        ("default/a", ("default/job",), ("groups",)),
        ('{"a": 1}', ("default/job",), ("groups",)),
        ("[1]", ("",), ()),
        ('["default/job", null, ["default/a"], true]', ("", "", "", "default/job"), ()),
        ("[" * 100_000, ("default/job",), ("groups",)),
        ("[NaN]", ("default/job",), ("groups",)),
    ],
)
def test_a_group_is_the_sorted_list_taken_literally(
    written: str, group: tuple[str, ...], unreadable: tuple[str, ...]
) -> None:
    found = gang(EMPTY.with_gang("job", groups=written))
    assert (found.group, found.unreadable) == (group, unreadable)


def test_a_group_holds_the_gangs_that_exist_and_the_names_of_those_that_do_not() -> None:
    ids = '["default/job", "default/ghost", "default/peer"]'
    drawing = EMPTY.with_gang("job", 2, groups=ids).with_gang("peer", 1, minimum=0, groups=ids)
    drawing = drawing.with_running("peer-r", on="n1", gang="default/peer")
    group = group_of(all_gangs(drawing), "default/job")
    assert [(key, found is not None) for key, found in group.gangs.items()] == [
        ("default/ghost", False),
        ("default/job", True),
        ("default/peer", True),
    ]
    assert ([pod.name for pod in group.pending], group.minimum, group.bound) == (["job-0", "job-1", "peer-0"], 2, 1)
    assert group.specs == (None,)


@pytest.mark.parametrize(
    ("policy", "satisfied"),
    [("", True), ("once-satisfied", True), ("only-waiting", False), ("waiting-and-running", False)],
)
def test_a_once_satisfied_group_is_satisfied_by_any_bound_member(policy: str, *, satisfied: bool) -> None:
    drawing = EMPTY.with_gang("job", 2, match_policy=policy)
    bound = drawing.with_finished("job-9", "job")
    answers = [group_of(all_gangs(one), "default/job").is_satisfied() for one in (drawing, bound)]
    assert answers == [False, satisfied]


@pytest.mark.parametrize(
    ("policy", "left", "forgotten"), [("only-waiting", 3, 3), ("waiting-and-running", 2, 2), ("once-satisfied", 0, 3)]
)
def test_bound_members_count_for_waiting_and_running_and_once_they_satisfied_the_gang(
    policy: str, left: int, forgotten: int
) -> None:
    drawing = EMPTY.with_gang("job", 2, minimum=3, match_policy=policy).with_finished("job-9", "job")
    group = group_of(all_gangs(drawing), "default/job")
    assert needed(group) == {"default/job": left}
    assert needed(group, remembered=False) == {"default/job": forgotten}


def test_gangs_share_what_has_run_with_those_of_the_same_list_alone() -> None:
    ids = '["default/job", "default/peer"]'
    drawing = EMPTY.with_gang("job", 2, groups=ids).with_running("peer-r", on="n1", gang="default/peer")
    for own, of_peer in ((ids, True), (None, False)):
        group = group_of(all_gangs(drawing.with_group("peer", 2, groups=own)), "default/job")
        assert (group.is_satisfied(), needed(group)["default/peer"]) == (of_peer, 0)


def test_what_finished_pods_say_of_their_list_is_not_kept_and_counts_as_the_same() -> None:
    drawing = EMPTY.with_gang("job", 2, groups='["default/job", "default/peer"]')
    group = group_of(all_gangs(drawing.with_finished("peer-f", "peer")), "default/job")
    assert group.is_satisfied()


@pytest.mark.parametrize(("said", "satisfied"), [('["default/job", "default/peer"]', True), (None, False)])
def test_what_running_pods_say_of_their_list_counts(said: str | None, *, satisfied: bool) -> None:
    drawing = EMPTY.with_gang("job", 2, groups='["default/job", "default/peer"]')
    drawing = drawing.with_running("peer-r", "n1", gang="default/peer", gang_terms=GangAnnotations("1", groups=said))
    assert group_of(all_gangs(drawing), "default/job").is_satisfied() == satisfied


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (None, (None, "")),
        ("", (None, "")),
        ("null", ((), "")),
        ("{}", ((), "")),
        ('{"gatherStrategy": null}', ((), "")),
        ('{"gatherStrategy": [null]}', ((GatherRule("", ""),), "")),
        ('{"GatherStrategy": [{"LAYER": "A", "Strategy": "MustGather"}]}', ((GatherRule("A", "MustGather"),), "")),
        ('{"gatherStrategy": [{"layer": "A", "podCountMultiple": 4}]}', ((GatherRule("A", "", 4),), "")),
        ('{"gatherStrategy": [{"layer": "A", "Layer": "B", "LAYER": null}]}', ((GatherRule("B", ""),), "")),
        ('{"gatherStrategy": [{"layer": "A", "Layer": 1}]}', (None, "network-topology-spec")),
        ('{"gatherStrategy": [], "x": -Infinity}', (None, "network-topology-spec")),
        ("{", (None, "network-topology-spec")),
        ("[]", (None, "network-topology-spec")),
        ('{"gatherStrategy": {}}', (None, "network-topology-spec")),
        ('{"gatherStrategy": ["A"]}', (None, "network-topology-spec")),
        ('{"gatherStrategy": [{"layer": 1}]}', (None, "network-topology-spec")),
        ('{"gatherStrategy": [{"podCountMultiple": true}]}', (None, "network-topology-spec")),
        ('{"gatherStrategy": [{"podCountMultiple": 4.0}]}', (None, "network-topology-spec")),
        ("[" * 100_000, (None, "network-topology-spec")),
    ],
)
def test_a_topology_spec_is_read_as_gos_decoder_reads_it(
    written: str | None, found: tuple[tuple[GatherRule, ...] | None, str]
) -> None:
    assert gather_rules(written) == found


@pytest.mark.parametrize(
    ("version", "found"),
    [("1.7", ((GatherRule(SPINE, "MustGather"),), ())), ("1.8", (None, ("network-topology-spec",)))],
)
def test_a_version_without_multiples_takes_whatever_is_written_for_one(version: str, found: object) -> None:
    written = f'{{"gatherStrategy": [{{"layer": "{SPINE}", "strategy": "MustGather", "podCountMultiple": "2"}}]}}'
    asked = gang(EMPTY.with_gang("job", topology=written).version(version))
    assert (asked.topology, asked.unreadable) == found


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (rules(), TopologyRequirements()),
        (rules(f"PreferGather {SPINE}"), TopologyRequirements()),
        (rules(f"MustGather {SPINE}"), TopologyRequirements(SPINE)),
        (rules(f"MustGather {SPINE}", f"MustGather {BLOCK}"), TopologyRequirements(BLOCK)),
        (rules(f"MustGather {BLOCK}", f"MustGather {SPINE}"), TopologyRequirements(BLOCK)),
        (rules(f"MustGather {NODE}", f"MustGather {BLOCK}"), TopologyRequirements(NODE)),
        (rules(f"MustGather {SPINE}", f"PreferGather {BLOCK}"), TopologyRequirements(SPINE)),
        (rules("MustGather Rack"), TopologyRequirements("Rack")),
        (rules("MustGather Rack", f"MustGather {BLOCK}"), TopologyRequirements(BLOCK)),
        (rules("MustGather Rack", f"MustGather {SPINE}"), TopologyRequirements(SPINE)),
        (
            rules(f"MustGather {SPINE} x4", f"PreferGather {BLOCK} x2"),
            TopologyRequirements(SPINE, {SPINE: 4, BLOCK: 2}),
        ),
        (rules(f"MustGather {SPINE} x1", f"PreferGather {BLOCK} x0"), TopologyRequirements(SPINE)),
        (rules(f"mustGather {SPINE}"), TopologyRequirements()),
    ],
)
def test_the_hard_layer_is_the_one_nearest_to_the_nodes(written: str, wanted: TopologyRequirements) -> None:
    tree = build(EMPTY.topologies, EMPTY.nodes)
    assert isinstance(tree, Tree)
    assert topology_requirements(gather_rules(written)[0] or (), tree) == wanted
