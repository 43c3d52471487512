"""Bound, not running: which pod holds the job, what it waits for, and how many wait for the same."""

import pytest
from msgspec import structs

from kubectl_koord.explain.way import SCHEDULER, is_running, subject_of
from kubectl_koord.layers import binding
from kubectl_koord.layers.base import Job
from kubectl_koord.model.jobs import ContainerState, JobEvent, PodState
from kubectl_koord.model.values import Taint
from kubectl_koord.reports.jobs import LayerRow, WhyReport
from tests.layers.drawing import (
    HOUR_AGO,
    LLM,
    alone,
    asked,
    event,
    gang_of,
    pod,
    ready,
    said,
    states,
    steps,
    told,
    waiting,
)

PULL = waiting("ImagePullBackOff", "Back-off pulling image", image="x")
MAKING = waiting("ContainerCreating")


def test_the_fault_that_says_most_comes_first_with_how_many_are_alike_and_what_the_others_do() -> None:
    drawn = gang_of(pod("w-0", MAKING), pod("w-1", MAKING, node="n1"), pod("w-2", PULL, node="n2"))
    report = asked(drawn)
    assert report.verdict == "no"
    assert said(report) == (
        binding.NAME,
        (
            "is placed and does not start: w-2 on n2 cannot pull image x of container main from docker.io "
            "(ImagePullBackOff); 2 more pods in ContainerCreating."
        ),
    )
    assert [row for row in report.layers if row.state != "not-here"] == [
        LayerRow(SCHEDULER, "passed", "3 pods placed"),
        LayerRow(binding.NAME, "held", "3 of 3 pods: w-2 on n2 in ImagePullBackOff", "Pod/default/w-2", HOUR_AGO),
    ]
    assert report.cause is not None
    assert report.cause.pods == ("default/w-0", "default/w-1", "default/w-2")


ONE_POD: list[tuple[str, PodState, tuple[JobEvent, ...], str, str]] = [
    (
        "the image is not there",
        pod("p", waiting("ErrImagePull", "failed to resolve reference nvcr.io/team/llm:3: not found")),
        (),
        "it on n0 cannot pull image nvcr.io/team/llm:3 of container main from nvcr.io (ErrImagePull: not found).",
        "Correct the image or its tag, or push it to nvcr.io",
    ),
    (
        "the registry refuses",
        pod("p", waiting("ImagePullBackOff")),
        (event("p", "Failed", "Failed to pull image: unexpected status: 401 Unauthorized"),),
        (
            "it on n0 cannot pull image nvcr.io/team/llm:3 of container main from nvcr.io "
            "(ImagePullBackOff: access denied)."
        ),
        "Give the pods an imagePullSecret that nvcr.io accepts, or correct the name of the image",
    ),
    (
        "the registry does not answer",
        pod("p", waiting("ImagePullBackOff", "dial tcp: lookup harbor.local: no such host", image="harbor.local/a/b")),
        (),
        (
            "it on n0 cannot pull image harbor.local/a/b of container main from harbor.local "
            "(ImagePullBackOff: not reachable)."
        ),
        "See from n0 why harbor.local does not deliver: not reachable",
    ),
    (
        "the name of the image is none",
        pod("p", waiting("InvalidImageName", 'couldn\'t parse image name "A B"', image="A B")),
        (),
        "it on n0 cannot pull image A B of container main from docker.io (InvalidImageName).",
        "Correct the name of the image in what makes the pods",
    ),
    (
        "an image that must be there is not",
        pod("p", waiting("ErrImageNeverPull")),
        (),
        "it on n0 cannot pull image nvcr.io/team/llm:3 of container main from nvcr.io (ErrImageNeverPull).",
        "Load the image on n0, or set another imagePullPolicy than Never",
    ),
    (
        "a ConfigMap is missing",
        pod("p", waiting("CreateContainerConfigError", 'configmap "settings" not found')),
        (),
        "it on n0 cannot start container main (CreateContainerConfigError: ConfigMap settings does not exist).",
        "Create ConfigMap settings in namespace default, or correct the name in what makes the pods",
    ),
    (
        "the command is not in the image",
        pod("p", waiting("RunContainerError", 'exec: "trian": not in $PATH')),
        (),
        'it on n0 cannot start container main (RunContainerError: exec: "trian": not in $PATH).',
        "See why container main cannot be made, and correct what makes the pods",
    ),
    (
        "nothing is told of what cannot be made",
        pod("p", waiting("CreateContainerError")),
        (),
        "it on n0 cannot start container main (CreateContainerError).",
        "See why container main cannot be made, and correct what makes the pods",
    ),
    (
        "the Secret of a volume is missing",
        pod("p", MAKING),
        (event("p", "FailedMount", 'MountVolume.SetUp failed for volume "keys" : secret "s3" not found'),),
        "it on n0 waits for volume keys, which cannot be mounted (FailedMount): Secret s3 does not exist.",
        "Create Secret s3 in namespace default, or correct its name in what makes the pods",
    ),
    (
        "a volume is attached elsewhere",
        pod("p", MAKING),
        (
            event(
                "p", "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data]: timed out", last="3"
            ),
            event(
                "p", "FailedAttachVolume", 'Multi-Attach error for volume "pvc-1" already used by pod(s) q', last="2"
            ),
        ),
        (
            "it on n0 waits for volume pvc-1, which cannot be attached (FailedAttachVolume): "
            "it is attached to another node."
        ),
        "End the pod that uses it, or wait until it is detached there: it can be on one node at a time",
    ),
    (
        "a volume does not come in time",
        pod("p", MAKING),
        (event("p", "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data]: timed out waiting."),),
        (
            "it on n0 waits for volume data, which cannot be mounted (FailedMount): "
            "Unable to attach or mount volumes: unmounted volumes=[data]: timed out waiting."
        ),
        "See why volume data is not there: its claim, its CSI driver on n0, its storage",
    ),
    (
        "a volume that is not named",
        pod("p", MAKING),
        (event("p", "FailedMapVolume", "no path"),),
        "it on n0 waits for a volume, which cannot be mounted (FailedMapVolume): no path.",
        "See why a volume is not there: its claim, its CSI driver on n0, its storage",
    ),
    (
        "the network plugin fails",
        pod("p", MAKING),
        (event("p", "FailedCreatePodSandBox", 'failed to set up sandbox: plugin type="calico" failed (add): no IPs'),),
        (
            "it on n0 gets no sandbox (FailedCreatePodSandBox): the network plugin calico sets up no network: "
            'failed to set up sandbox: plugin type="calico" failed (add): no IPs.'
        ),
        "See whether calico works on n0, and has addresses left",
    ),
    (
        "the runtime has no such handler",
        pod("p", MAKING),
        (event("p", "FailedCreatePodSandBox", 'rpc error: no runtime for "kata" is configured'),),
        "it on n0 gets no sandbox (FailedCreatePodSandBox): the node's container runtime has no handler kata.",
        "Set up kata on n0, or keep such pods from it with the RuntimeClass's nodeSelector",
    ),
    (
        "the network of the node is not ready",
        pod("p", MAKING),
        (event("p", "NetworkNotReady", "network is not ready: cni config uninitialized"),),
        "it on n0 gets no sandbox (NetworkNotReady): network is not ready: cni config uninitialized.",
        "See the container runtime and the network on n0",
    ),
    (
        "a driver does not hand over its devices",
        pod("p", MAKING),
        (event("p", "FailedPrepareDynamicResources", "DRA driver gpu.nvidia.com is not registered"),),
        "it on n0 cannot get its devices (FailedPrepareDynamicResources): DRA driver gpu.nvidia.com is not registered.",
        "See what the driver of its devices says on n0",
    ),
    (
        "nobody says why",
        pod("p", MAKING),
        (),
        "it on n0 has been in ContainerCreating for 60m, and no event that was read tells why.",
        "See the events of the pod; without any, whether the kubelet of n0 works",
    ),
    (
        "the kubelet has not taken the pod, nor is it told since when",
        pod("p", scheduled=""),
        (),
        "it on n0 is in ContainerCreating, and no event that was read tells why.",
        "See the events of the pod; without any, whether the kubelet of n0 works",
    ),
    (
        "the device plugin has too few devices",
        pod(
            "p",
            phase="Failed",
            reason="UnexpectedAdmissionError",
            message="Pod was rejected: Allocate failed due to requested number of devices unavailable for "
            "nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected",
        ),
        (),
        "it on n0 was refused by kubelet (UnexpectedAdmissionError): nvidia.com/gpu: 2 requested, 1 available.",
        (
            "Delete the pod: one that a kubelet refused is never started; what owns it makes another; "
            "first see why n0 has less than it reports"
        ),
    ),
    (
        "the node has too little CPU after all",
        pod("p", phase="Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu"),
        (),
        (
            "it on n0 was refused by kubelet (OutOfcpu): not enough cpu on the node "
            "(Node didn't have enough resource: cpu)."
        ),
        (
            "Delete the pod: one that a kubelet refused is never started; what owns it makes another; "
            "first see why n0 has less than it reports"
        ),
    ),
    (
        "the node has too little memory, and no more is told",
        pod("p", phase="Failed", reason="OutOfmemory"),
        (),
        "it on n0 was refused by kubelet (OutOfmemory): not enough memory on the node.",
        (
            "Delete the pod: one that a kubelet refused is never started; what owns it makes another; "
            "first see why n0 has less than it reports"
        ),
    ),
    (
        "its resources cannot be aligned",
        pod("p", phase="Failed", reason="TopologyAffinityError", message="Resources cannot be allocated."),
        (),
        "it on n0 was refused by kubelet (TopologyAffinityError): Resources cannot be allocated.",
        "Delete the pod: one that a kubelet refused is never started; what owns it makes another",
    ),
    (
        "a refusal without a word",
        pod("p", phase="Failed"),
        (),
        "it on n0 was refused by kubelet: it says no reason.",
        "Delete the pod: one that a kubelet refused is never started; what owns it makes another",
    ),
    (
        "an init container waits for its peers",
        pod("p", ready(name="init-pytorch", init=True, ready=False), waiting("PodInitializing")),
        (),
        "it on n0 waits for init container init-pytorch, which has been running for 60m.",
        "See what init container init-pytorch waits for, such as peers that do not answer",
    ),
    (
        "an init container of which nobody says since when it runs",
        pod("p", ready(name="wait", init=True, ready=False, since=""), waiting("PodInitializing")),
        (),
        "it on n0 waits for init container wait, which has been running.",
        "See what init container wait waits for, such as peers that do not answer",
    ),
    (
        "an init container fails again and again",
        pod(
            "p",
            waiting("CrashLoopBackOff", name="fetch", init=True, restarts=4, last_exit_code=2, last_reason="Error"),
            waiting("PodInitializing"),
        ),
        (),
        "it on n0 cannot get past init container fetch, which ended with exit code 2, 4 restarts.",
        "See why init container fetch fails",
    ),
    (
        "an init container has just failed",
        pod(
            "p",
            ContainerState("fetch", init=True, state="terminated", reason="OOMKilled", exit_code=137),
            waiting("PodInitializing"),
        ),
        (),
        (
            "it on n0 cannot get past init container fetch, which was killed as it used more memory than its limit "
            "(OOMKilled)."
        ),
        "See why init container fetch fails",
    ),
    (
        "init containers that are done, and a sidecar that runs, hold nobody",
        pod(
            "p",
            ContainerState("fetch", init=True, state="terminated", reason="Completed", exit_code=0),
            ready(name="proxy", init=True),
            PULL,
            ready(name="other"),
        ),
        (),
        "it on n0 cannot pull image x of container main from docker.io (ImagePullBackOff).",
        "See why docker.io does not deliver the image; name, tag, and pull secret are what is wrong most often",
    ),
]


@pytest.mark.parametrize(
    ("one", "events", "why", "step"), [row[1:] for row in ONE_POD], ids=[row[0] for row in ONE_POD]
)
def test_a_pod_that_does_not_start_tells_why_and_what_to_do(
    one: PodState, events: tuple[JobEvent, ...], why: str, step: str
) -> None:
    report = asked(alone(one, *events), "p")
    assert said(report) == (binding.NAME, f"is placed and does not start: {why}")
    assert [message for _, message, _ in steps(report)] == [step]
    assert (report.verdict, report.cause and report.cause.code) == ("no", "not-running")


def test_events_of_other_pods_tell_nothing() -> None:
    other = event("q", "FailedMount", 'for volume "data"')
    of_node = event("p", "FailedMount", 'for volume "data"', kind="Node")
    assert "no event that was read" in said(asked(alone(pod("p", MAKING), other, of_node), "p"))[1]


def test_a_node_that_is_not_ready_or_gone_comes_before_what_its_pods_last_said() -> None:
    drawn = alone(pod("p", PULL))
    why = "is placed and does not start: it on n0 cannot run: node n0 is {}."
    tainted = (Taint("node.kubernetes.io/unreachable", "", "NoExecute"),)
    assert said(asked(drawn.change("n0", ready=False, taints=tainted), "p"))[1] == why.format("not ready")
    assert "cannot run" not in said(asked(drawn.change("n0", ready=False), "p"))[1]
    gone = drawn.but(nodes={"n1": drawn.nodes["n1"]})
    report = asked(gone, "p")
    assert said(report)[1] == why.format("gone")
    assert report.layers[-1].object == "Node/n0"
    assert [command for _, _, command in steps(report)] == ["kubectl describe node n0"]
    assert "cannot pull" in said(asked(alone(pod("p", PULL)), "p"))[1]
    assert "cannot pull" in said(asked(gone.but(nodes={}), "p"))[1]
    assert "cannot pull" in said(asked(gone.with_gap("Node", "one-namespace"), "p"))[1]


def test_pods_alike_are_counted_and_each_fault_has_its_step() -> None:
    mount = 'MountVolume.SetUp failed for volume "keys" : secret "s3" not found'
    drawn = gang_of(pod("w-0", MAKING), pod("w-1", MAKING, node="n1"), pod("w-2", PULL, node="n2"))
    report = asked(told(drawn, event("w-0", "FailedMount", mount), event("w-1", "FailedMount", mount)))
    assert said(report)[1] == (
        "is placed and does not start: w-0 on n0 waits for volume keys, which cannot be mounted (FailedMount): "
        "Secret s3 does not exist, 1 more alike; 1 more pod in ImagePullBackOff."
    )
    assert [(action, command) for action, _, command in steps(report)] == [
        ("see-pod", "kubectl describe pod w-0 -n default"),
        ("see-pod", "kubectl describe pod w-2 -n default"),
    ]


def test_pods_that_were_replaced_or_are_being_deleted_hold_nobody() -> None:
    refused = pod("w-9", phase="Failed", reason="OutOfcpu")
    drawn = gang_of(pod("w-0", ready()), refused, minimum=1)
    assert states(asked(drawn)) == {SCHEDULER: "passed", binding.NAME: "passed", "running and ready": "passed"}
    needed = gang_of(pod("w-0", ready()), refused, minimum=2)
    assert "w-9 on n0 was refused by kubelet (OutOfcpu)" in said(asked(needed))[1]
    leaving = gang_of(pod("w-0", ready()), pod("w-1", PULL, deleting=True), minimum=1)
    assert asked(leaving).verdict == "yes"
    assert is_running(leaving, None) is False


def test_of_what_was_said_at_length_the_end_is_told_too_where_the_cause_stands() -> None:
    long = alone(pod("p", waiting("RunContainerError", f"{'x' * 300}{'y' * 160}")))
    assert f"(RunContainerError: {'x' * 60} ... {'y' * 160})." in said(asked(long, "p"))[1]


def test_what_is_usual_right_after_binding_holds_nobody_and_its_age_is_told() -> None:
    def since(seconds: int, *more: PodState, **fields: object) -> WhyReport:
        moment = f"2026-11-20T09:{seconds // 60:02}:{seconds % 60:02}Z"
        drawn = gang_of(pod("w-0", ready()), pod("w-1", MAKING, node="n1", **fields), *more)
        return asked(drawn.but(moment=moment))

    early = since(5)
    assert early.verdict == "yes"
    assert early.layers[-2].message == "1 of 2 pods started; w-1 in ContainerCreating since 5s, usual up to 2m"
    assert since(119).verdict == "yes"
    assert said(since(120))[0] == binding.NAME
    assert said(since(5, pod("w-2", PULL, node="n2")))[1].endswith("1 more pod in ContainerCreating.")
    drawn = gang_of(pod("w-0", MAKING)).but(moment=HOUR_AGO)
    assert not is_running(drawn, subject_of(drawn))
    slow = gang_of(pod("w-0", ready(name="wait", init=True, ready=False), waiting("PodInitializing")))
    assert asked(slow.but(moment="2026-11-20T09:00:30Z")).verdict == "yes"


def test_a_container_that_its_runtime_could_not_start_has_never_run() -> None:
    why = 'exec: "torchrunn": executable file not found'
    told = f"is placed and does not start: it on n0 cannot start container main (StartError: {why})."
    once = ContainerState("main", state="terminated", reason="StartError", message=why, exit_code=128)
    again = waiting("CrashLoopBackOff", "back-off", restarts=3, last_reason="StartError", last_message=why)
    for one in (pod("p", once, phase="Running"), pod("p", again, phase="Running"), pod("p", once, phase="Failed")):
        assert said(asked(alone(one), "p")) == (binding.NAME, told)


def test_a_pod_that_a_kubelet_under_pressure_did_not_take_was_refused() -> None:
    message = "Pod was rejected: The node had condition: [DiskPressure]"
    refused = pod("p", phase="Failed", reason="Evicted", message=message)
    assert said(asked(alone(refused), "p"))[1] == (
        f"is placed and does not start: it on n0 was refused by kubelet (Evicted): {message}."
    )


def test_a_pod_that_failed_counts_where_its_owner_has_fewer_than_it_wants() -> None:
    refused = pod("w-1", phase="Failed", reason="OutOfcpu")
    job = Job("default/llm-7", owners=(structs.replace(LLM, wanted=2),), pods=(pod("w-0", ready()), refused))
    assert binding.counted(job) == job.pods
    assert binding.counted(structs.replace(job, pending=1)) == job.pods[:1]
    done = structs.replace(LLM, wanted=2, succeeded=1)
    assert binding.counted(structs.replace(job, owners=(done,))) == job.pods[:1]
