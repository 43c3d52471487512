"""What is not evaluated makes a yes unknown; a no stays a no."""

import pytest
from msgspec import structs

from kubectl_koord.diagnosis.coverage import basis, general, not_evaluated, of_scheduler
from kubectl_koord.explain.topo import topo
from kubectl_koord.model.hardware import NodeNUMA, PodNUMA
from kubectl_koord.model.installation import INLINE_BATCH, POINTS, Extender, Plugins
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import NAME_LABEL, PodRequirements, PodTerm
from kubectl_koord.model.quotas import IGNORE_TERMINATING, QuotaSettings
from kubectl_koord.model.reservations import ReservationAffinity, ReservationUse
from kubectl_koord.model.settings import SetOtherwise
from kubectl_koord.model.unevaluated import (
    AttachedVolume,
    NodeSetting,
    OpenPlugin,
    PodSetting,
    Unevaluated,
    UnreadScheduler,
    WideningPodSetting,
)
from kubectl_koord.model.values import EVERYTHING, Requirement, Selector, Taint
from kubectl_koord.reports.common import Basis
from kubectl_koord.reports.jobs import Cause
from kubectl_koord.wording.words import unevaluated_names
from tests.build import MOMENT, Drawing, card, cluster, cpus, devices, having, why_of

FREE = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8)
GPU = FREE.change("n1", "n2", allocatable=(*cpus(8, nvidia_gpu=8), ("pods", 110)))
GPU = GPU.with_members(("job-0", "job-1"), "job", requests=cpus(1, nvidia_gpu=1))
DATA = "default/data"
NPU = (("huawei.com/npu-core", 4), ("koordinator.sh/gpu-memory-ratio", 50))
EXCLUSIVE = "exclusive placement by node selectors"
HINT = PodSetting("scheduling-hint")
CLAIMING = FREE.with_members(("job-0",), "job", claims=("data",))
HOOKED = QuotaSettings(hooks=("mine",), open_gates=("G",))
OF_GATE = f"feature gate {IGNORE_TERMINATING} of the scheduler's quotas"
PASSING = FREE.with_quota("default").configured(quotas=QuotaSettings(open_gates=(IGNORE_TERMINATING,)))


@pytest.mark.parametrize(
    ("drawing", "what"),
    [
        (FREE.change_pods("job-1"), ""),
        (FREE.with_members(("job-1",), "job", unevaluated=(HINT,)), "scheduling hint"),
        (cluster("s0: b0[n1]").with_gang("job", 1, 0), ""),
        (FREE.with_quota("default"), ""),
        (FREE.with_quota("default", parent="gone"), "quota default (its parent does not exist)"),
        (FREE.with_quota("other", parent="gone"), ""),
        (FREE.with_quota("shared", "default", parent="shared"), "quota shared (it is below itself)"),
        (FREE.with_quota("q", "default").with_quota("x/q"), "quota q (several quotas have this name)"),
        (FREE.with_quota("q", "default").with_quota("r", "default"), "quota q (several quotas list the namespace)"),
        (FREE.configured(quotas=HOOKED), "hook plugin mine of the scheduler's quotas"),
        (FREE.configured(quotas=QuotaSettings(hooks=("mine",), no_default=True)), ""),
        (
            FREE.with_quota("default").configured(quotas=HOOKED),
            "hook plugin mine of the scheduler's quotas and feature gate G of the scheduler's quotas",
        ),
        (PASSING, ""),
        (PASSING.with_running("dying", on="n1", terminating=True), OF_GATE),
        (PASSING.with_pod("dying", terminating=True), OF_GATE),
        (FREE.with_gap("ElasticQuota"), "quotas (ElasticQuota objects could not be read)"),
        (FREE.with_gap("ElasticQuota", "not-in-input"), ""),
        (FREE.with_gap("NodeMetric"), "the measured load of the nodes (NodeMetric objects could not be read)"),
        (FREE.with_gap("Reservation"), "reservations (Reservation objects could not be read)"),
        (FREE.with_gap("Device"), ""),
        (GPU, ""),
        (GPU.with_gap("Device"), "the cards of the nodes (Device objects could not be read)"),
        (GPU.change("n1", devices=devices(card())), ""),
        (GPU.change_pods("job-0").with_members(("job-0",), "job", requests=NPU), "template of shared NPU resources"),
        (
            FREE.with_members(("job-0",), "job", numa=PodNUMA(policy="single-numa-node")),
            "a NUMA policy of the pods that the scheduler does not know and may crash on",
        ),
        (FREE.with_members(("job-0",), "job", numa=PodNUMA(policy="Restricted")), ""),
        (
            FREE.change("n1", unevaluated=(NodeSetting("load-estimates"),)),
            "node settings (estimates of load for a time after pods are initialized)",
        ),
        (
            FREE.change("n1", unevaluated=(NodeSetting("load-estimates"),), taints=(Taint("a", "", "NoSchedule"),)),
            "",
        ),
        (
            cluster("s0: b0[n1]")
            .with_gang("job", 2, 8, node_selector=(("disk", "ssd"),))
            .change("n1", unevaluated=(NodeSetting("load-estimates"),)),
            "",
        ),
        (
            FREE.with_gap("NodeResourceTopology"),
            "the CPUs and NUMA zones of the nodes (NodeResourceTopology objects could not be read)",
        ),
        (CLAIMING, ""),
        (CLAIMING.but(claims={DATA: Claim(DATA)}), ""),
        (
            CLAIMING.but(claims={DATA: Claim(DATA)}).with_gap("StorageClass"),
            "volume claim data (not bound yet, and StorageClass objects could not be read)",
        ),
        (
            CLAIMING.but(claims={DATA: Claim(DATA)}).with_gap("CSINode"),
            "how many volumes the nodes can hold (CSINode objects could not be read)",
        ),
        (
            CLAIMING.but(claims={DATA: Claim(DATA)}).with_gap("VolumeAttachment"),
            "which volumes are attached to the nodes (VolumeAttachment objects could not be read)",
        ),
        (CLAIMING.but(claims={DATA: Claim(DATA)}).with_gap("VolumeAttachment").version("1.7"), ""),
        (CLAIMING.but(claims={DATA: Claim(DATA, "pv")}), ""),
        (
            CLAIMING.but(claims={DATA: Claim(DATA, "pv")}).with_gap("PersistentVolume"),
            "volume claim data (its volume could not be read)",
        ),
        (CLAIMING.but(claims={DATA: Claim(DATA, "pv", known=True)}), ""),
        (CLAIMING.with_gap("PersistentVolumeClaim"), "volume claim data (its volume could not be read)"),
    ],
)
def test_what_is_not_evaluated_is_named_once(drawing: Drawing, what: str) -> None:
    assert unevaluated_names(not_evaluated(drawing.subject("job"), drawing)) == what


UNREAD = FREE.with_gap("Namespace")
EVERYBODY = PodTerm("spine", EVERYTHING, (), having(team="a"))
NAMED = Selector((Requirement(NAME_LABEL, "NotIn", ("default",)), Requirement("team", "Exists")))
WITHOUT = Selector((Requirement("team", "DoesNotExist"),))
SELECTING = "namespace selectors of inter-pod affinities (Namespace objects could not be read)"


@pytest.mark.parametrize(
    ("drawing", "what"),
    [
        (UNREAD, ""),
        (UNREAD.with_members(("job-0",), "job", pod_affinity=(EVERYBODY,)), SELECTING),
        (UNREAD.with_members(("job-0",), "job", pod_anti_affinity=(EVERYBODY,)), SELECTING),
        (
            FREE.with_gap("Namespace", "not-in-input").with_members(("job-0",), "job", pod_affinity=(EVERYBODY,)),
            SELECTING,
        ),
        (FREE.with_members(("job-0",), "job", pod_affinity=(EVERYBODY,)), ""),
        (UNREAD.with_members(("job-0",), "job", pod_affinity=(PodTerm("spine", EVERYTHING, (), EVERYTHING),)), ""),
        (
            UNREAD.with_members(
                ("job-0",), "job", pod_affinity=(structs.replace(EVERYBODY, namespace_selector=WITHOUT),)
            ),
            "",
        ),
        (
            UNREAD.with_members(
                ("job-0",), "job", pod_affinity=(structs.replace(EVERYBODY, namespace_selector=WITHOUT),)
            ).version("1.7"),
            SELECTING,
        ),
        (UNREAD.with_running("x/w", "n1", pod_anti_affinity=(EVERYBODY,)), SELECTING),
        (UNREAD.with_reserved("r", "n1", requirements=PodRequirements(pod_anti_affinity=(EVERYBODY,))), SELECTING),
        (UNREAD.with_pod("x/w", pod_anti_affinity=(EVERYBODY,)), SELECTING),
        (UNREAD.with_running("x/w", "n1", pod_affinity=(EVERYBODY,)), ""),
        (UNREAD.with_running("x/w", "n1", pod_anti_affinity=(structs.replace(EVERYBODY, selector=None),)), ""),
        (UNREAD.with_running("x/w", "n1", pod_anti_affinity=(structs.replace(EVERYBODY, selector=having(a="b")),)), ""),
        (
            UNREAD.with_running("x/w", "n1", pod_anti_affinity=(structs.replace(EVERYBODY, namespaces=("default",)),)),
            "",
        ),
        (
            UNREAD.with_running("x/w", "n1", pod_anti_affinity=(structs.replace(EVERYBODY, namespace_selector=NAMED),)),
            "",
        ),
    ],
)
def test_namespaces_that_were_not_read_matter_where_a_term_may_select_them(drawing: Drawing, what: str) -> None:
    assert unevaluated_names(not_evaluated(drawing.subject("job"), drawing)) == what


@pytest.mark.parametrize("cpu", [1, 9])
def test_without_namespaces_that_a_term_selects_a_yes_and_a_no_are_unknown(cpu: float) -> None:
    drawing = FREE.with_members(("job-0",), "job", cpu=cpu, pod_anti_affinity=(EVERYBODY,))
    assert why_of(drawing).verdict == ("no" if cpu > 8 else "yes")
    assert why_of(drawing.with_gap("Namespace")).verdict == "unknown"


def lacking(plugin: str, *points: str) -> Plugins:
    return Plugins(((plugin, points or POINTS[plugin]),))


OF_ZONES = PodNUMA(policy="Restricted")
LONE = cluster("s0: b0[n1]").with_pod("job")
BESIDE = (PodTerm("kubernetes.io/hostname", EVERYTHING, ("default",)),)
NEAR = cluster("s0: b0[n1]").with_pod("job", pod_affinity=BESIDE)
OF_BATCH = f"feature gate {INLINE_BATCH} of the scheduler"


@pytest.mark.parametrize(
    ("drawing", "plugins", "is_open"),
    [
        (FREE, lacking("Coscheduling", "permit"), True),
        (FREE, lacking("Coscheduling", "postFilter"), False),
        (LONE, lacking("Coscheduling"), False),
        (LONE, lacking("Reservation"), False),
        (LONE, lacking("ElasticQuota", "preFilter"), False),
        (LONE, lacking("ElasticQuota", "reserve"), True),
        (LONE, lacking("NodeResourcesFit"), True),
        (LONE, lacking("NodeAffinity"), False),
        (LONE, lacking("NodeAffinity", "preFilter"), True),
        (LONE, lacking("LoadAwareScheduling", "filter"), False),
        (LONE, lacking("LoadAwareScheduling", "reserve"), True),
        (LONE, lacking("DeviceShare", "filter"), True),
        (LONE, lacking("DeviceShare"), False),
        (LONE, lacking("VolumeBinding"), False),
        (LONE.change_pods("job", requirements=PodRequirements(claims=("data",))), lacking("VolumeZone"), True),
        (
            LONE.change_pods("job", requirements=PodRequirements(unevaluated=(AttachedVolume("disk"),))),
            lacking("VolumeRestrictions", "filter"),
            True,
        ),
        (GPU, lacking("DeviceShare"), False),
        (
            GPU.with_members(("job-0",), "job", requests=cpus(1, nvidia_gpu=1), numa=OF_ZONES),
            lacking("NodeNUMAResource"),
            True,
        ),
    ],
)
def test_a_plugin_that_is_not_enabled_leaves_open_what_is_not_certain_without_it(
    drawing: Drawing,
    plugins: Plugins,
    is_open: bool,  # noqa: FBT001
) -> None:
    configured = drawing.configured(plugins=plugins)
    expected = tuple(OpenPlugin(*one) for one in plugins.off) if is_open else ()
    assert tuple(
        one for one in not_evaluated(configured.subject("job"), configured) if isinstance(one, OpenPlugin)
    ) == (expected)


def test_the_settings_of_another_profile_make_a_no_unknown_as_well_as_a_yes() -> None:
    drawing = LONE.change_pods("job", scheduler="own").configured(
        profiles=("koord-scheduler", "own"), differing=("own",)
    )
    words = "it depends on profile own of the scheduler, whose settings differ from those of the first, which is not"
    for asked in (drawing, drawing.with_running("full", on="n1", cpu=8)):
        report = why_of(asked)
        assert (report.verdict, report.cause) == ("unknown", Cause("not-evaluated", f"{words} evaluated."))


def test_what_blocks_a_gang_is_open_where_its_plugin_is_not_enabled() -> None:
    report = why_of(FREE.with_group("job", 5).configured(plugins=lacking("Coscheduling")))
    words = "plugin Coscheduling of the scheduler, which its profile does not enable at preFilter, postFilter, reserve"
    assert (report.verdict, report.cause) == (
        "unknown",
        Cause("not-evaluated", f"it depends on {words} and permit, which is not evaluated."),
    )


FOO = LONE.change_pods("job", requirements=PodRequirements((("cpu", 1), ("example.com/foo", 1))))
MUST = LONE.change_pods("job", requirements=PodRequirements(reservation=ReservationUse(ReservationAffinity())))
IGNORED = "resource example.com/foo, of which the scheduler ignores whether a node has enough"


@pytest.mark.parametrize(
    ("drawing", "fields", "what"),
    [
        (
            LONE,
            {"plugins": Plugins(adds_affinity=True)},
            "the node affinity that the scheduler adds to that of every pod (addedAffinity)",
        ),
        (LONE, {"plugins": Plugins((("NodeAffinity", POINTS["NodeAffinity"]),), adds_affinity=True)}, ""),
        (FOO, {"plugins": Plugins(ignored=("example.com/foo",))}, IGNORED),
        (FOO, {"plugins": Plugins(ignored_groups=("example.com",))}, IGNORED),
        (FOO, {"plugins": Plugins(ignored=("cpu",), ignored_groups=("example.org", "cpu"))}, ""),
        (LONE, {"extenders": (Extender(filters=True),)}, "an extender of the scheduler"),
        (FOO, {"extenders": (Extender(filters=True, resources=("example.com/foo",)),)}, "an extender of the scheduler"),
        (LONE, {"extenders": (Extender(filters=True, resources=("example.com/foo",)),)}, ""),
        (LONE, {"extenders": (Extender(preempts=True),)}, ""),
        (LONE, {"gates": ("PriorityTransformer",)}, "feature gate PriorityTransformer of the scheduler"),
        (LONE.change_pods("job", priority=5), {"gates": ("PriorityTransformer",)}, ""),
        (
            LONE.change_pods("job", priority=5).with_running("low", on="n1"),
            {"gates": ("PriorityTransformer",)},
            "feature gate PriorityTransformer of the scheduler",
        ),
        (LONE, {"gates": ("OmitNodeLabelsForReservation", "PreemptionPolicyTransformer")}, ""),
        (
            MUST,
            {"gates": ("OmitNodeLabelsForReservation",)},
            "feature gate OmitNodeLabelsForReservation of the scheduler",
        ),
        (
            LONE,
            {"gates": ("ReplaceResourcesTransformer",)},
            "feature gate ReplaceResourcesTransformer of the scheduler",
        ),
        (LONE, {"gates": (INLINE_BATCH,)}, ""),
        (LONE.change_pods("job", gates=("x",)), {"gates": (INLINE_BATCH,)}, OF_BATCH),
        (NEAR, {"gates": (INLINE_BATCH,)}, OF_BATCH),
        (NEAR, {"gates": ("SkipFilterWithNominatedPods",)}, ""),
        (
            NEAR.with_pod("other", nominated="n1"),
            {"gates": ("SkipFilterWithNominatedPods",)},
            "feature gate SkipFilterWithNominatedPods of the scheduler",
        ),
        (LONE.with_pod("other", nominated="n1"), {"gates": ("CrossSchedulerNomination",)}, ""),
        (
            LONE.with_pod("other", nominated="n1", scheduler="x"),
            {"gates": ("CrossSchedulerNomination",)},
            "feature gate CrossSchedulerNomination of the scheduler",
        ),
    ],
)
def test_settings_of_the_scheduler_are_named_where_they_bear_on_pods(
    drawing: Drawing, fields: dict[str, object], what: str
) -> None:
    configured = drawing.configured(**fields)
    assert unevaluated_names(not_evaluated(configured.subject("job"), configured)) == what


def test_a_resource_that_is_ignored_makes_a_no_unknown_and_not_a_yes() -> None:
    plugins = Plugins(ignored=("example.com/foo",))
    free = FOO.change("n1", allocatable=(("cpu", 8000), ("example.com/foo", 1), ("pods", 110)))
    assert [why_of(one.configured(plugins=plugins)).verdict for one in (FOO, free)] == ["unknown", "yes"]


def test_a_plugin_of_ones_own_makes_a_yes_unknown_and_not_a_no() -> None:
    own = {"settings": (SetOtherwise("plugin", "Ours", known=False),)}
    full = LONE.with_running("full", on="n1", cpu=8)
    assert [why_of(one.configured(**own)).verdict for one in (LONE, full)] == ["unknown", "no"]
    told = [notice.message for notice in why_of(full.configured(**own)).warnings]
    assert told == ["the scheduler has plugin Ours, which is not known here for its version."]


def test_settings_of_very_many_nodes_are_taken_to_count() -> None:
    names = [f"n{number}" for number in range(65)]
    tainted = cluster(f"s0: b0[{' '.join(names)}]").with_gang("job", 1, 1)
    setting, taints = (NodeSetting("load-estimates"),), (Taint("a", "", "NoSchedule"),)
    most = tainted.change(*names[1:], unevaluated=setting, taints=taints)
    assert not_evaluated(most.subject("job"), most) == ()
    every = most.change("n0", unevaluated=setting, taints=taints)
    assert not_evaluated(every.subject("job"), every) == setting


def test_a_yes_that_rests_on_it_is_unknown() -> None:
    report = why_of(FREE.with_quota("default", parent="gone"))
    words = "it depends on quota default (its parent does not exist), which is not evaluated."
    assert (report.verdict, report.cause) == ("unknown", Cause("not-evaluated", words))


def test_a_no_stays_a_no() -> None:
    report = why_of(FREE.with_quota("default", parent="gone").with_running("low", on="n1"))
    assert (report.verdict, report.cause and report.cause.code) == ("no", "insufficient-capacity")


@pytest.mark.parametrize(
    ("item", "verdict"),
    [(WideningPodSetting("exclusive-node-selector"), "unknown"), (HINT, "no")],
)
def test_some_things_could_also_turn_a_no_into_a_yes(item: Unevaluated, verdict: str) -> None:
    report = why_of(FREE.with_members(("job-0",), "job", cpu=9, unevaluated=(item,)))
    assert report.verdict == verdict


def test_an_answer_names_what_it_rests_on() -> None:
    assert basis(FREE) == Basis("1.8", "assumed", MOMENT, "cluster")


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ((HINT,), ["slots are counted without scheduling hint: there may be fewer."]),
        (
            (HINT, WideningPodSetting("exclusive-node-selector")),
            [f"slots are counted without scheduling hint and {EXCLUSIVE}: there may be more or fewer."],
        ),
        ((), []),
    ],
)
def test_slots_are_shown_with_what_they_leave_out(left_out: tuple[Unevaluated, ...], words: list[str]) -> None:
    drawing = FREE.with_gang("job", 2, 8, must_gather="SpineLayer", unevaluated=left_out)
    report, tree = why_of(drawing), topo(drawing, drawing.subject("job"))
    assert [(row.name, row.offer_slots) for row in report.domains] == [("s0", 2)]
    for found in (report.warnings, tree.warnings):
        assert [notice.message for notice in found if notice.code == "slots-incomplete"] == words


@pytest.mark.parametrize("kind", ["NodeMetric", "Reservation"])
def test_slots_are_shown_where_only_what_may_refuse_pods_was_not_read(kind: str) -> None:
    drawing = FREE.with_gang("job", 2, 8, must_gather="SpineLayer").with_gap(kind)
    report, tree = why_of(drawing), topo(drawing, drawing.subject("job"))
    assert [(row.name, row.offer_slots) for row in report.domains] == [("s0", 2)]
    assert [row.offer_slots for row in tree.domains if row.name == "s0"] == [2]
    assert (report.verdict, tree.verdict) == ("unknown", "unknown")
    for found in (report.warnings, tree.warnings):
        assert "slots-incomplete" in [notice.code for notice in found]


def test_no_slots_are_shown_where_nodes_were_not_read_and_that_is_said() -> None:
    gang = FREE.with_gang("job", 2, 8, must_gather="SpineLayer").with_gap("Node")
    words = "slots cannot be counted: Node could not be read: you may not read it"
    assert [(one.code, one.message) for one in why_of(gang).warnings][-1] == ("slots-not-shown", words)
    assert "slots-not-shown" not in [one.code for one in why_of(FREE.with_gap("Node")).warnings]


def test_slots_are_shown_where_jobs_of_higher_priority_cannot_be_judged() -> None:
    gang = FREE.with_gang("job", 2, 8, must_gather="SpineLayer").with_gang("other/first", 3, 8, priority=10)
    report = why_of(gang.with_gap("PodGroup", "one-namespace").but(namespace_only="default"))
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "not-readable")
    assert [(row.name, row.offer_slots) for row in report.domains] == [("s0", 2)]


@pytest.mark.parametrize(
    ("drawing", "subject", "is_needed"),
    [
        (FREE, "job", False),
        (FREE.change("n1", numa=NodeNUMA(policy="Restricted")), "job", True),
        (FREE.with_pod("solo", numa=PodNUMA(binds=True)), "pod/solo", True),
    ],
)
def test_the_topologies_of_nodes_are_missed_where_cpus_or_zones_decide(
    drawing: Drawing, subject: str, *, is_needed: bool
) -> None:
    report = why_of(drawing.with_gap("NodeResourceTopology", "not-in-input"), subject)
    assert ("kind-not-in-input" in [one.code for one in report.warnings]) == is_needed


SEEN = FREE.configured(assumed=False)


@pytest.mark.parametrize(
    ("drawing", "kinds"),
    [
        (SEEN, ()),
        (SEEN.with_gap("Lease"), ("Lease",)),
        (SEEN.with_gap("Lease").configured(elects_leader=False), ()),
        (SEEN.with_gap("ConfigMap"), ()),
        (FREE.configured(assumed=True), ()),
        (FREE.configured(assumed=True).with_gap("ConfigMap").with_gap("Deployment"), ("Deployment", "ConfigMap")),
        (FREE.configured(assumed=True).with_gap("ConfigMap", "not-in-input"), ()),
    ],
)
def test_a_yes_rests_on_the_scheduler_as_far_as_it_may_not_be_read(drawing: Drawing, kinds: tuple[str, ...]) -> None:
    assert of_scheduler(drawing) == ((UnreadScheduler(kinds),) if kinds else ())
    report = why_of(drawing)
    assert (report.verdict, report.cause is None) == (("unknown", False) if kinds else ("yes", True))
    assert all(any(kind in notice.message for notice in general(drawing)) for kind in kinds)
    full = drawing.with_running("a", on="n1", cpu=8)
    assert why_of(full).verdict == "no"


def test_a_lease_is_not_missed_where_nobody_elects_a_leader() -> None:
    drawing = SEEN.with_gap("Lease")
    assert [one.code for one in general(drawing)] == ["forbidden-list"]
    assert general(drawing.configured(elects_leader=False)) == ()


OF_RESERVATION = SetOtherwise("argument", "Reservation.enablePreemption", "reservations")
MINE = SetOtherwise("flag", "mine", known=False)


@pytest.mark.parametrize(
    ("drawing", "setting", "what"),
    [
        (LONE, MINE, "flag --mine of the scheduler (not known here)"),
        (LONE, SetOtherwise("feature gate", "AllBeta"), "feature gate AllBeta of the scheduler"),
        (LONE, SetOtherwise("feature gate", "A", "preemption"), ""),
        (LONE, SetOtherwise("feature gate", "A", "told"), ""),
        (LONE, SetOtherwise("feature gate", "A", "volumes"), ""),
        (
            cluster("s0: b0[n1]").with_pod("job", unevaluated=(AttachedVolume("disk"),)),
            SetOtherwise("feature gate", "A", "volumes"),
            "attached volume disk and feature gate A of the scheduler",
        ),
        (LONE, SetOtherwise("feature gate", "A", "claims"), ""),
        (LONE, SetOtherwise("feature gate", "A", "spread"), ""),
        (LONE, SetOtherwise("feature gate", "A", "devices"), ""),
        (
            cluster("s0: b0[n1]").with_pod("job", requests=cpus(1, nvidia_gpu=1)),
            SetOtherwise("feature gate", "A", "devices"),
            "feature gate A of the scheduler",
        ),
        (LONE, OF_RESERVATION, ""),
        (MUST, OF_RESERVATION, "argument Reservation.enablePreemption of the scheduler"),
    ],
)
def test_a_setting_that_decides_is_missed_where_it_bears_on_pods(
    drawing: Drawing, setting: SetOtherwise, what: str
) -> None:
    configured = drawing.configured(settings=(setting,))
    assert unevaluated_names(not_evaluated(configured.subject("job"), configured)) == what
    assert [one.code for one in general(configured)] == ["setting-not-evaluated"]


def test_settings_that_decide_are_named_apart_from_those_that_are_not_known() -> None:
    (told,) = general(LONE.configured(settings=(OF_RESERVATION, MINE)))
    assert told.message == (
        "the scheduler has argument Reservation.enablePreemption, which may decide and is not evaluated; and flag"
        " --mine, which is not known here for its version."
    )


@pytest.mark.parametrize("cpu", [1, 16])
def test_with_a_setting_that_nobody_knows_a_yes_and_a_no_are_unknown(cpu: int) -> None:
    drawing = cluster("s0: b0[n1]").with_pod("job", cpu=cpu).configured(settings=(MINE,))
    assert why_of(drawing, "job").verdict == "unknown"
