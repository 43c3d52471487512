"""Next steps: what to paste about a cause that keeps a gang from being tried."""

import json
import subprocess

import pytest
import yaml

from kubectl_koord.model.objects import Lease
from kubectl_koord.model.pods import Condition, GangAnnotations
from kubectl_koord.model.values import Taint
from kubectl_koord.remedies import next_steps, plan
from kubectl_koord.render.show import text
from kubectl_koord.reports.common import CreatePodGroup, DeletePod, WayOut
from kubectl_koord.reports.jobs import Cause
from kubectl_koord.simulation.simulation import simulate
from tests.build import LAYERS, SPINE, Drawing, cluster, why_of
from tests.render.samples import PIPE

FREE = cluster("s0: b0[n1 n2]")
BOTH = '["default/job", "default/peer"]'
MISSING = '["default/job", "peer"]'
MANIFEST = (
    "printf 'apiVersion: scheduling.sigs.k8s.io/v1alpha1\\nkind: PodGroup\\nmetadata: {name: peer,"
    " namespace: default, annotations: {gang.scheduling.koordinator.sh/groups:"
    ' "[\\\\"default/job\\\\",\\\\"default/peer\\\\"]"}}'
    "\\nspec: {minMember: 1}\\n' | kubectl apply -f -"
)
ALONE = "kubectl koord annotate podgroup job -n default --groups default/job --overwrite"


def steps(drawing: Drawing) -> list[tuple[str, str]]:
    return [(step.action, step.command) for step in why_of(drawing).next_steps]


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        (
            FREE.with_gang("job", 1).but(leases=(Lease("koord-scheduler", "", "2026-01-01T00:00:00Z"),)),
            [("see-scheduler", "kubectl get pods -n koordinator-system -l koord-app=koord-scheduler")],
        ),
        (
            FREE.with_gang("job", 1, terminating=True),
            [("see-finalizers", "kubectl get pod job-0 -n default -o jsonpath='{.metadata.finalizers}'")],
        ),
        (FREE.with_gang("job", 1, groups=BOTH), [("fix-groups", ALONE), ("create-podgroup", MANIFEST)]),
        (
            FREE.with_light_gang("job", 1, gang_terms=GangAnnotations("1", groups=BOTH)),
            [("fix-groups", ""), ("create-podgroup", MANIFEST)],
        ),
        (
            FREE.with_gang("job", 1, groups=MISSING),
            [
                (
                    "fix-groups",
                    "kubectl koord annotate podgroup job -n default --groups default/job,default/peer --overwrite",
                )
            ],
        ),
        (FREE.with_light_gang("job", 1, gang_terms=GangAnnotations("1", groups=MISSING)), [("fix-groups", "")]),
        (
            FREE.with_gang("job", 1, groups=BOTH).with_gang("peer", 1, groups='["default/peer"]'),
            [
                (
                    "fix-groups",
                    "kubectl koord annotate podgroup peer -n default --groups default/job,default/peer --overwrite",
                )
            ],
        ),
        (
            FREE.with_gang("job", 1, groups=BOTH).with_light_gang("peer", 1, gang_terms=GangAnnotations("1")),
            [("fix-groups", "")],
        ),
        (
            FREE.with_gang("job", 1, groups=BOTH).with_gang("peer", 0, minimum=2, groups=BOTH),
            [("add-pods", "")],
        ),
        (
            FREE.with_gang("job", 1, match_policy="only-waiting", minimum=2).with_running(
                "a", "n1", gang="default/job"
            ),
            [
                (
                    "set-match-policy",
                    "kubectl koord annotate podgroup job -n default --match-policy waiting-and-running --overwrite",
                )
            ],
        ),
        (
            FREE.with_light_gang("job", 1, gang_terms=GangAnnotations("2", match_policy="only-waiting")).with_running(
                "a", "n1", gang="default/job"
            ),
            [("set-match-policy", "")],
        ),
        (
            FREE.with_gang("job", 2, must_gather=SPINE).configured(aware_of_topology=False),
            [("set-topology-aware", "kubectl edit configmap koord-scheduler-config -n koordinator-system")],
        ),
        (
            FREE.with_gang("job", 2, must_gather=SPINE).configured(manages_topology=False),
            [("start-topology-manager", "kubectl edit deployment koord-scheduler -n koordinator-system")],
        ),
        (
            FREE.with_gang("job", 2, must_gather=SPINE).with_layers(*LAYERS[:2]),
            [("fix-layers", "kubectl edit clusternetworktopology default")],
        ),
    ],
)
def test_the_next_step_is_ready_to_paste(drawing: Drawing, expected: list[tuple[str, str]]) -> None:
    assert steps(drawing) == expected


def test_where_nodes_together_have_enough_free_the_plan_of_moves_is_a_next_step() -> None:
    owned = {"owner": "ReplicaSet/a"}
    short = FREE.with_gang("job", 1, cpu=8).with_running("a", "n1", 2, **owned).with_running("b", "n2", 6)
    to_ask = [("plan-moves", "kubectl koord plan job -n default")]
    assert steps(short) == to_ask
    assert steps(short.with_running("c", "n2", 1)) == []
    assert steps(short.cordon("n2")) == []
    assert steps(short.change("n2", taints=(Taint("node.kubernetes.io/unreachable", "", "NoSchedule"),))) == []
    alone = FREE.with_pod("x", "", cpu=8).with_running("a", "n1", 2, **owned).with_running("b", "n2", 6)
    asked = why_of(alone, "x").next_steps
    assert [step.command for step in asked] == ["kubectl koord plan pod/x -n default"]


def test_the_plan_of_moves_is_no_next_step_where_nothing_that_may_be_moved_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = FREE.with_gang("job", 1, cpu=8).with_running("b", "n2", 6)
    assert steps(short.with_running("a", "n1", 2)) == []  # without a controller that makes it anew
    two = short.with_gang("job", 1, cpu=7).with_running("a", "n1", 1).with_running("c", "n1", 1, owner="ReplicaSet/c")
    assert [action for action, _ in steps(two)] == ["plan-moves"]
    monkeypatch.setattr(plan, "_MOST_LOOKS", 1)  # of the others nobody knows
    assert [action for action, _ in steps(short.with_running("a", "n1", 2))] == ["plan-moves"]


def test_names_that_no_shell_takes_as_they_are_get_no_manifest() -> None:
    _, step = why_of(FREE.with_gang("job", 1, groups='["default/job", "default/$(reboot)"]')).next_steps
    message = "Create PodGroup $(reboot) in namespace default with spec.minMember 1 or less, and create its pods"
    edit = CreatePodGroup("default/$(reboot)", 1, ("default/$(reboot)", "default/job"))
    assert step == WayOut("create-podgroup", message, edits=(edit,))


def test_the_manifest_of_a_missing_pod_group_reads_as_it_should() -> None:
    command = why_of(FREE.with_gang("job", 1, groups=BOTH)).next_steps[1].command
    printed = subprocess.run(command.partition(" | ")[0], shell=True, check=True, capture_output=True).stdout  # noqa: S602
    metadata = yaml.safe_load(printed)["metadata"]
    assert json.loads(metadata["annotations"]["gang.scheduling.koordinator.sh/groups"]) == json.loads(BOTH)


def test_a_pod_group_that_joins_the_group_of_its_pods_is_a_way_out() -> None:
    report = why_of(FREE.with_gang("job", 1, groups=BOTH).with_members(("peer-0",), "peer"))
    message = "Create PodGroup peer in namespace default with spec.minMember 1 or less"
    edit = CreatePodGroup("default/peer", 1, ("default/job", "default/peer"))
    assert report.unblock == (WayOut("create-podgroup", message, MANIFEST, (edit,)),)


def test_missing_gangs_are_taken_out_of_every_list_that_names_them() -> None:
    ids = '["default/job", "default/peer", "default/zz"]'
    drawing = FREE.with_gang("job", 1, groups=ids).with_gang("peer", 1, groups=BOTH)
    step = why_of(drawing).next_steps[0]
    assert step.message == (
        "Remove default/zz from the groups annotation of default/job (new list: default/job,"
        " default/peer); recreate the job if it stays pending"
    )
    both = why_of(drawing.with_group("peer", 1, groups=ids)).next_steps[0]
    assert both.command == " && ".join(
        f"kubectl koord annotate podgroup {name} -n default --groups default/job,default/peer --overwrite"
        for name in ("job", "peer")
    )


def test_the_owners_template_is_what_names_the_scheduler() -> None:
    (step,) = why_of(FREE.with_gang("job", 1, scheduler="x", owner="Job/train")).next_steps
    message = "Set schedulerName koord-scheduler in the pod template of Job/train and recreate the pod"
    assert step == WayOut("set-scheduler-name", message)


def test_nobody_is_told_to_change_the_scheduler_that_may_be_the_right_one() -> None:
    report = why_of(FREE.with_gang("job", 1, scheduler="x", owner="Job/train").configured(assumed=True))
    assert (report.verdict, report.next_steps, report.unblock) == ("unknown", (), ())


def test_of_pods_whose_label_names_the_scheduler_the_label_is_to_be_changed() -> None:
    label = (("scheduling.koordinator.sh/scheduler-name", "x"),)
    (step,) = why_of(FREE.with_gang("job", 1, scheduler="x", owner="Job/train", labels=label)).next_steps
    message = (
        "Set label scheduling.koordinator.sh/scheduler-name, which counts in place of schedulerName, to koord-scheduler"
        " in the pod template of Job/train and recreate the pod"
    )
    assert step == WayOut("set-scheduler-name", message)


SURPLUS = FREE.with_gang("job", 3, cpu=8, must_gather=SPINE, minimum=2)


@pytest.mark.parametrize(
    ("drawing", "how"),
    [
        (SURPLUS, "leave out default/job-2"),
        (SURPLUS.change_pods(owner="Job/train"), "lower parallelism of Job/train by 1"),
    ],
)
def test_pods_beyond_the_minimum_are_named_or_how_their_owner_makes_fewer_and_no_command_deletes_them(
    drawing: Drawing, how: str
) -> None:
    way = next(way for way in why_of(drawing).unblock if way.action == "fewer-pods")
    message = f"Run with 2 pods instead of 3 ({how})"
    assert way == WayOut("fewer-pods", message, edits=(DeletePod("default/job-2"),))


@pytest.mark.parametrize(
    "drawing",
    [
        FREE.with_gang("job", 3, cpu=8, minimum=2),
        FREE.with_gang("job", 3, cpu=8, must_gather=SPINE),
        SURPLUS.cordon("n1", "n2"),
        FREE.with_gang("job", 3, cpu=8, must_gather=SPINE, minimum=0),
    ],
)
def test_who_would_not_fit_without_them_is_not_told_to_drop_pods(drawing: Drawing) -> None:
    report = why_of(drawing)
    assert "surplus-pods" not in report.also_wrong
    assert "drop-surplus" not in [way.action for way in report.unblock]


def test_a_gang_without_pod_group_cannot_be_touched() -> None:
    terms = GangAnnotations("1", topology='{"gatherStrategy":[]}')
    drawing = FREE.with_light_gang("job", 1, gang_terms=terms, condition=Condition("Unschedulable", "no room", ""))
    assert why_of(drawing).unblock == ()


def test_a_partly_foreign_satisfied_group_is_only_warned_of() -> None:
    drawing = FREE.with_gang("job", 2, minimum=3).with_running("job-9", on="n1", gang="default/job")
    report = why_of(drawing.change_pods("job-0", scheduler="x"))
    assert "mixed-schedulers" in [notice.code for notice in report.warnings]
    assert report.verdict == "yes"


def test_finished_pods_are_named_beside_what_stops_the_new_ones() -> None:
    drawing = FREE.with_gang("job", 1, cpu=9).with_finished("job-9", "job")
    report = why_of(drawing)
    assert (report.cause and report.cause.code, report.also_wrong) == ("never-fits", ("satisfied-by-earlier-pods",))


def test_pods_of_a_satisfied_group_are_counted_for_themselves() -> None:
    drawing = FREE.with_gang("job", 2, cpu=8, minimum=3).with_running("job-9", on="n1", cpu=8, gang="default/job")
    cause = why_of(drawing).cause
    assert cause is not None
    assert cause.message == "1 of its 2 pending pods fits (8 CPU each)."


def test_a_resource_that_nodes_offer_needs_no_other_name() -> None:
    drawing = FREE.with_gang("job", 1, 100)
    simulation = simulate(drawing, drawing.subject("job"))
    assert next_steps.for_cause(simulation, Cause("resource-not-offered", "")) == ()


FORBIDDEN = 'Error creating: pods "a-2" is forbidden: '
MADE = "; PyTorchJob/a then makes 2 more pods"
HERE = "the pod template of PyTorchJob/a"
LOOK = "kubectl describe pytorchjob a -n default"


@pytest.mark.parametrize(
    ("said", "action", "message", "command"),
    [
        (
            (
                "exceeded quota: team, requested: limits.memory=1536Mi,requests.cpu=500m,"
                " used: limits.memory=3Gi,requests.cpu=1, limited: limits.memory=4Gi,requests.cpu=1200m"
            ),
            "raise-resource-quota",
            (
                "Raise limits.memory from 4Gi to 6Gi and requests.cpu from 1200m to 2 in ResourceQuota team, or"
                f" free as much of it{MADE}"
            ),
            (
                "kubectl patch resourcequota team -n default --type merge -p"
                """ '{"spec":{"hard":{"limits.memory":"6Gi","requests.cpu":"2"}}}'"""
            ),
        ),
        (
            "exceeded quota: team, requested: pods=x, used: pods=2, limited: pods=2.",
            "admit-pods",
            f"Request less in {HERE}, or raise what ResourceQuota team allows",
            "kubectl describe resourcequota team -n default",
        ),
        (
            "failed quota: team: must specify limits.cpu for: c; limits.memory for: c",
            "admit-pods",
            (
                f"Write limits.cpu for: c; limits.memory for: c in {HERE}, as ResourceQuota team counts it, or let a"
                " LimitRange fill it in"
            ),
            "kubectl describe resourcequota team -n default",
        ),
        (
            "[maximum cpu usage per Container is 2, but limit is 4, maximum cpu usage per Pod is 2, but limit is 4]",
            "admit-pods",
            f"Keep to the LimitRange of the namespace in {HERE}, or change the LimitRange",
            "kubectl describe limitranges -n default",
        ),
        (
            "memory max limit to request ratio per Container is 2, but provided ratio is 4.000000",
            "admit-pods",
            f"Keep to the LimitRange of the namespace in {HERE}, or change the LimitRange",
            "kubectl describe limitranges -n default",
        ),
        (
            'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
            "admit-pods",
            (
                f"Keep to PodSecurity restricted in {HERE}, or relax label pod-security.kubernetes.io/enforce of"
                f" namespace default{MADE}"
            ),
            LOOK,
        ),
        (
            'error looking up service account default/robot: serviceaccount "robot" not found',
            "admit-pods",
            f"Create ServiceAccount robot in namespace default{MADE}",
            "kubectl create serviceaccount robot -n default",
        ),
        (
            "no PriorityClass with name high was found",
            "admit-pods",
            f"Create PriorityClass high, or name another one in {HERE}{MADE}",
            LOOK,
        ),
        (
            'admission webhook "v.example.com" denied the request: no team label',
            "admit-pods",
            f"Do what admission webhook v.example.com asks for in {HERE}, or ask who runs it{MADE}",
            LOOK,
        ),
        (
            'Internal error occurred: failed calling webhook "v.example.com": connection refused',
            "admit-pods",
            f"Bring back the service of admission webhook v.example.com, which does not answer{MADE}",
            LOOK,
        ),
        ("something new", "admit-pods", f"Correct what the API server refuses in {HERE}{MADE}", LOOK),
    ],
)
def test_pods_that_the_api_server_refused_are_let_be_made_first(
    said: str, action: str, message: str, command: str
) -> None:
    drawn = FREE.with_gang("job", 1, minimum=3, owner="PyTorchJob/a")
    report = why_of(drawn.with_event("a", FORBIDDEN + said, "FailedCreate", kind="PyTorchJob"))
    (first,) = report.next_steps
    assert (first.action, first.message, first.command) == (action, message, command)
    assert [way.action for way in report.unblock] == ["lower-minimum"]
    shown = text(report, style=PIPE)
    assert shown.index(f"1. {message}") < shown.index("2. Lower minMember to 1")


def test_a_gang_of_a_group_that_could_not_make_its_pods_has_the_step() -> None:
    drawn = FREE.with_gang("job", 1, groups=BOTH).with_gang("peer", 1, minimum=2, groups=BOTH, owner="Job/p")
    said = "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    found = why_of(drawn.with_event("p", FORBIDDEN + said, "FailedCreate", kind="Job"))
    assert [step.action for step in found.next_steps][:1] == ["raise-resource-quota"]
