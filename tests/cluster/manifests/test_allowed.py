"""What LimitRanges and ResourceQuotas allow the pods of a namespace, in the words of the API server."""

from typing import Any

import pytest

from kubectl_koord.errors import KoordError
from kubectl_koord.model.unevaluated import PodSetting
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_defaults import limit_range, pod
from tests.cluster.manifests.test_families import workload

CARD = "nvidia.com/gpu"


def quota(hard: dict[str, str], used: dict[str, str] | None = None, name: str = "q", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    meta = {"name": name, "namespace": "team"}
    status = {"status": {"hard": hard, "used": used}} if used is not None else {}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard, **spec}, **status}


def job(pods: int, cpu: str = "1", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    container = {"name": "c", "resources": {"limits": {"cpu": cpu, CARD: 1}}}
    return workload("batch/v1", "Job", {"parallelism": pods, "template": {"spec": {"containers": [container]}}, **spec})


def said(submit: Submit, written: dict[str, Any], *cluster: dict[str, Any]) -> dict[str, str]:
    return dict(submit(written, *cluster)[1].refused)


def test_pods_beyond_a_quota_are_refused_one_after_the_other(submit: Submit) -> None:
    there = quota({f"requests.{CARD}": "4", "pods": "9"}, {f"requests.{CARD}": "2", "pods": "1"})
    told = f"requested: requests.{CARD}=1, used: requests.{CARD}=4, limited: requests.{CARD}=4"
    assert said(submit, job(4), there) == {
        f"team/x-{number}": f'pods "x-{number}" is forbidden: exceeded quota: q, {told}' for number in (2, 3)
    }
    assert said(submit, job(2), there) == {}


def test_a_new_quota_counts_from_nothing_and_amounts_are_spelled_as_the_server_does(submit: Submit) -> None:
    there = quota({"limits.cpu": "1500m", "requests.cpu": "8", "cpu": "8"})
    assert said(submit, job(2), there) == {
        "team/x-1": 'pods "x-1" is forbidden: exceeded quota: q, requested: limits.cpu=1, used: limits.cpu=1, limited:'
        " limits.cpu=1500m"
    }


def test_what_a_quota_limits_must_be_said(submit: Submit) -> None:
    (told,) = said(submit, pod({}), quota({"requests.memory": "1Gi", "limits.cpu": "2", "pods": "5"})).values()
    assert told == 'pods "p" is forbidden: failed quota: q: must specify limits.cpu,requests.memory'


@pytest.mark.parametrize(
    ("spec", "class_name", "refused"),
    [
        ({"scopes": ["NotBestEffort"]}, "", True),
        ({"scopes": ["BestEffort"]}, "", False),
        ({"scopes": ["PriorityClass"]}, "", False),
        ({"scopes": ["PriorityClass"]}, "koord-mid", True),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}},
            "",
            True,
        ),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["koord-mid"]}]
                }
            },
            "koord-mid",
            True,
        ),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "NotIn", "values": ["koord-mid"]}]
                }
            },
            "koord-mid",
            False,
        ),
    ],
    ids=range(7),
)
def test_a_quota_counts_the_pods_of_its_scopes(
    submit: Submit, spec: dict[str, Any], class_name: str, *, refused: bool
) -> None:
    written = pod({"requests": {"cpu": "1"}}, **({"priorityClassName": class_name} if class_name else {}))
    assert bool(said(submit, written, quota({"pods": "0"}, {"pods": "0"}, **spec))) == refused


def test_other_scopes_are_not_evaluated(submit: Submit) -> None:
    snapshot, submitted = submit(pod({}), quota({"pods": "0"}, scopes=["Terminating"]))
    assert snapshot.pending[0].requirements.unevaluated == (PodSetting("resource-quota-scope"),)
    assert submitted.refused == {}


def test_pods_of_suspended_workloads_and_of_other_namespaces_do_not_count(submit: Submit) -> None:
    full = quota({"pods": "0"}, {"pods": "0"})
    assert said(submit, job(1, suspend=True), full) == {}
    assert said(submit, {**pod({}), "metadata": {"name": "p", "namespace": "other"}}, full) == {}


def test_a_job_that_takes_the_place_of_one_is_not_refused_for_what_that_one_uses(submit: Submit) -> None:
    owner = [{"kind": "Job", "name": "x", "controller": True}]
    old = {**pod({}), "metadata": {"name": "old", "namespace": "team", "ownerReferences": owner}}
    assert said(submit, job(1), quota({"pods": "1"}, {"pods": "1"}), old) == {}


def test_init_containers_count_where_they_request_more_and_sidecars_beside_the_others(submit: Submit) -> None:
    one = {"resources": {"requests": {"cpu": "1"}}}
    large = {"name": "i", "resources": {"requests": {"cpu": "3"}}}
    beside = {"name": "s", "restartPolicy": "Always", **one}
    written = pod(one["resources"], initContainers=[large, beside])
    (told,) = said(submit, written, quota({"requests.cpu": "0"}, {})).values()
    assert "requested: requests.cpu=3" in told
    (told,) = said(submit, pod(one["resources"], initContainers=[beside]), quota({"cpu": "0"}, {})).values()
    assert "requested: cpu=2" in told


ASKING = {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("item", "resources", "expected"),
    [
        ({"max": {"cpu": "3"}}, ASKING, "maximum cpu usage per Container is 3, but limit is 4"),
        ({"min": {"cpu": "3"}}, ASKING, "minimum cpu usage per Container is 3, but request is 2"),
        ({"max": {"cpu": "4"}, "min": {"cpu": "2"}}, ASKING, ""),
        (
            {"maxLimitRequestRatio": {"cpu": "1500m"}},
            ASKING,
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
        ),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, ASKING, ""),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "2"}},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or it is 0",
        ),
        (
            {"max": {"cpu": "3"}, "min": {"cpu": "5"}},
            ASKING,
            "minimum cpu usage per Container is 5, but request is 2, maximum cpu usage per Container is 3, but limit",
        ),
    ],
    ids=range(7),
)
def test_a_limitrange_refuses_containers_in_the_words_of_the_server(
    submit: Submit, item: dict[str, Any], resources: dict[str, Any], expected: str
) -> None:
    there = limit_range(**item)
    del there["spec"]["limits"][0]
    found = said(submit, pod(resources), there)
    if not expected:
        assert found == {}
    else:
        assert found["team/p"].removeprefix('pods "p" is forbidden: ').removeprefix("[").startswith(expected)


def test_a_limitrange_refuses_whole_pods_with_all_that_is_wrong(submit: Submit) -> None:
    there = limit_range()
    there["spec"]["limits"] = [
        {"type": "Pod", "max": {"cpu": "1", "memory": "1Gi"}, "min": {CARD: "1"}},
        {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
    ]
    (told,) = said(submit, pod({"limits": {"cpu": "2"}}), there).values()
    assert told == (
        f'pods "p" is forbidden: [minimum {CARD} usage per Pod is 1.  No request is specified, maximum cpu usage per'
        " Pod is 1, but limit is 2, maximum memory usage per Pod is 1Gi.  No limit is specified]"
    )


@pytest.mark.parametrize(
    ("kind", "version", "spec", "field"),
    [
        ("Pod", "v1", "{containers: [{name: c}]}", "containers[0].image"),
        (
            "Job",
            "batch/v1",
            "{template: {spec: {containers: [{name: c, image: x}], initContainers: [{image: x}]}}}",
            "template.spec.initContainers[0].name",
        ),
        (
            "JobSet",
            "jobset.x-k8s.io/v1alpha2",
            "{replicatedJobs: [{name: a, template: {spec: {template: {spec: {containers: [{name: c}]}}}}}]}",
            "replicatedJobs[0].template.spec.template.spec.containers[0].image",
        ),
    ],
)
def test_a_container_without_a_name_or_an_image_is_refused(
    submit: Submit, kind: str, version: str, spec: str, field: str
) -> None:
    with pytest.raises(KoordError) as raised:
        submit(f"kind: {kind}\nmetadata: {{name: p}}\napiVersion: {version}\nspec: {spec}")
    said = f"{kind} p: the API server refuses it: spec.{field}: Required value"
    assert str(raised.value).partition("document 1: ")[2] == said


def test_containers_that_an_operator_fills_in_may_lack_an_image(submit: Submit) -> None:
    container = "{containers: [{name: spark-kubernetes-driver}]}"
    spec = f"{{image: x, driver: {{template: {{spec: {container}}}}}, executor: {{}}}}"
    submit(f"kind: SparkApplication\nmetadata: {{name: p}}\napiVersion: sparkoperator.k8s.io/v1beta2\nspec: {spec}")
    submit("kind: PodGroup\nmetadata: {name: p}\napiVersion: scheduling.sigs.k8s.io/v1alpha1\nspec: {minMember: 1}")
