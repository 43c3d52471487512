"""Which job a name means, and what belongs to it."""

import pytest
from msgspec import structs

from kubectl_koord.model.jobs import Controller, JobEvent, Jobs, Owner, PodState
from kubectl_koord.model.reservations import OwnerReference
from kubectl_koord.simulation import owners
from kubectl_koord.simulation.owners import (
    find,
    find_anywhere,
    find_pod,
    find_pod_anywhere,
    is_meant,
    of_owner,
    of_pods,
    with_few_pods,
)


def owner(kind: str, group: str, name: str, by: str = "", namespace: str = "team", **fields: object) -> Owner:
    above, _, above_name = by.partition("/")
    reference = OwnerReference(above, above_name, f"uid-{above_name}") if by else None
    bare = Owner(kind, group, namespace, name, f"uid-{name}", owner=reference)
    return structs.replace(bare, **fields)


def pod(name: str, by: str = "", **fields: object) -> PodState:
    return structs.replace(PodState(f"team/{name}", owner=by), **fields)


def event(kind: str, name: str, last: str = "2026-01-01T00:00:00Z", namespace: str = "team") -> JobEvent:
    return JobEvent(kind, namespace, name, "FailedCreate", "no", last=last)


TRAIN = owner("TrainJob", "trainer.kubeflow.org", "llm")
SET = owner("JobSet", "jobset.x-k8s.io", "llm", "TrainJob/llm")
JOB = owner("Job", "batch", "llm-node-0", "JobSet/llm")
ALONE = owner("Job", "batch", "alone")
VOLCANO = owner("Job", "batch.volcano.sh", "vc")
WORLD = Jobs(
    owners=(TRAIN, SET, JOB, ALONE, VOLCANO, owner("Job", "batch", "alone", namespace="other")),
    pods=(pod("llm-0", "Job/llm-node-0", volumes=("data",)), pod("alone-0", "Job/alone"), pod("bare")),
    events=(
        event("Job", "llm-node-0"),
        event("Pod", "llm-0", "2026-01-02T00:00:00Z"),
        event("PersistentVolumeClaim", "data"),
        event("Job", "alone"),
        event("Job", "llm-node-0", namespace="other"),
    ),
    controllers=(Controller("jobset-controller-manager", ("jobset.x-k8s.io",)), Controller("kuberay", ("ray.io",))),
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("llm", TRAIN),
        ("trainjob/llm", TRAIN),
        ("jobset/llm", SET),
        ("jobsets.jobset.x-k8s.io/llm", SET),
        ("jobsets.v1alpha2.jobset.x-k8s.io/llm", SET),
        ("team/llm", TRAIN),
        ("jobset/team/llm", SET),
        ("team/jobset/llm", SET),
        ("job/alone", ALONE),
        ("job.batch/vc", None),
        ("vcjob/vc", VOLCANO),
        ("job.batch.volcano.sh/vc", VOLCANO),
        ("jobset/alone", None),
        ("nobody", None),
        ("a/b/c/d", None),
    ],
)
def test_a_name_means_the_owner_that_no_other_of_the_name_owns(name: str, meant: Owner | None) -> None:
    assert find(WORLD, name, "team") == meant


def test_owners_that_own_each_other_are_still_found() -> None:
    one, other = owner("Job", "batch", "x", "JobSet/x"), owner("JobSet", "jobset.x-k8s.io", "x", "Job/x")
    assert find(Jobs(owners=(one, other)), "x", "team") == one
    assert of_owner(Jobs(owners=(one, other)), one).made == (other,)
    assert len(of_owner(Jobs(owners=(one, other)), one).owners) > 1


def test_kinds_have_the_short_names_of_kubectl() -> None:
    assert is_meant("sts", "apps", "StatefulSet")
    assert is_meant("", "apps", "StatefulSet")
    assert not is_meant("vj", "batch", "Job")


def test_a_name_without_namespace_means_the_only_one_of_all_namespaces() -> None:
    assert find_anywhere(WORLD, "vcjob/vc") == VOLCANO
    assert find_anywhere(WORLD, "job/alone") is None


def test_a_pod_is_found_by_any_of_its_names() -> None:
    assert find_pod(WORLD, "pod/bare", "team") == find_pod(WORLD, "team/bare", "x") == WORLD.pods[2]
    assert find_pod(WORLD, "job/bare", "team") is None
    assert find_pod(WORLD, "none", "team") is None
    assert find_pod_anywhere(WORLD, "bare") == WORLD.pods[2]
    assert find_pod_anywhere(WORLD, "none") is None


def test_a_job_has_what_it_made_their_pods_and_all_that_is_told_of_them() -> None:
    assert of_owner(WORLD, TRAIN) == structs.replace(
        WORLD,
        asked="TrainJob/team/llm",
        owners=(TRAIN,),
        made=(JOB, SET),
        pods=WORLD.pods[:1],
        events=(WORLD.events[1], WORLD.events[0], WORLD.events[2]),
        controllers=WORLD.controllers[:1],
    )
    assert of_owner(WORLD, JOB).owners == (JOB, SET, TRAIN)


def test_pods_belong_to_an_owner_by_its_selector_too() -> None:
    lws = owner("LeaderWorkerSet", "leaderworkerset.x-k8s.io", "big", selector="a=1,b=2")
    pods = (pod("x", labels={"a": "1", "b": "2"}), pod("y", labels={"a": "1"}), PodState("else/z", labels={"a": "1"}))
    assert of_owner(Jobs(owners=(lws,), pods=pods), lws).pods == pods[:1]


def test_pods_alone_stand_for_their_owner() -> None:
    found = of_pods(WORLD, "Pod/team/llm-0", {"team/llm-0", "team/bare"})
    assert (found.asked, found.owners) == ("Pod/team/llm-0", (JOB, SET, TRAIN))
    assert found.pods == (WORLD.pods[0], WORLD.pods[2])
    assert of_pods(WORLD, "Pod/team/bare", {"team/bare"}).owners == ()


def test_the_highest_owner_that_counts_its_pods_stands_for_them_with_all_that_it_made() -> None:
    jobs_made = structs.replace(SET, wanted=2)
    found = of_pods(structs.replace(WORLD, owners=(TRAIN, jobs_made, JOB)), "PodGroup/team/g", {"team/llm-0"})
    assert (found.owners, found.made) == ((jobs_made, TRAIN), (JOB,))


def test_of_two_owners_of_a_name_that_with_the_uid_counts() -> None:
    again = owner("Job", "batch.volcano.sh", "alone", uid="other")
    child = structs.replace(JOB, owner=OwnerReference("Job", "alone", "other"))
    assert of_owner(Jobs(owners=(ALONE, again, child)), child).owners == (child, again)
    lost = structs.replace(JOB, owner=OwnerReference("Job", "gone"))
    assert of_owner(Jobs(owners=(lost,)), lost).owners == (lost,)


def test_the_work_for_a_list_grows_with_the_jobs_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(number: int) -> int:
        names: list[str] = []
        split = vars(owners)["_split"]

        def counted(key: str) -> tuple[str, str]:
            names.append(key)
            names_of: tuple[str, str] = split(key)
            return names_of

        with monkeypatch.context() as patched:
            patched.setattr(owners, "_split", counted)
            pods = tuple(pod(f"j{at}-0", f"Job/j{at}") for at in range(number))
            waiting = tuple(owner("Job", "batch", f"j{at}", wanted=2) for at in range(number))
            assert len(list(with_few_pods(Jobs(owners=waiting, pods=pods)))) == number
        return len(names)

    assert work(40) == 2 * work(20)
