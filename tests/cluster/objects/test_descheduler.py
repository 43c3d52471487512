"""The configuration of koord-descheduler as it is written, with the defaults that it gets."""

from typing import Any

import pytest

from kubectl_koord.cluster.objects.descheduler import configuration
from kubectl_koord.model.installation import Descheduler, DeschedulerPlugin, DeschedulerProfile, Evictable, Namespaces
from kubectl_koord.model.values import Requirement, Selector

EVICTS = "MigrationController"
ALL = {"disabled": [{"name": "*"}]}


def profile(plugins: Any = None, **arguments: Any) -> DeschedulerProfile:  # noqa: ANN401
    config = [{"name": "Other"}, "none", {"name": EVICTS, "args": arguments}]
    found = configuration("read", {"profiles": [{"plugins": plugins, "pluginConfig": config}]})
    assert found is not None
    return found.profiles[0]


def test_a_configuration_that_is_not_there_is_none_and_one_that_cannot_be_read_is_said_to_be_so() -> None:
    assert configuration("absent", {}) is None
    assert configuration("unreadable", {}) == Descheduler("unreadable")
    args = {"labelSelector": {"matchLabels": "a"}}
    written = {"profiles": [{"pluginConfig": [{"name": EVICTS, "args": args}]}]}
    assert configuration("read", written) == Descheduler("unreadable")


def test_the_configuration_of_the_chart_evicts_only_for_jobs_that_others_make() -> None:
    written = {
        "deschedulingInterval": "120s",
        "dryRun": False,
        "profiles": [
            {
                "name": "koord-descheduler",
                "plugins": {
                    "deschedule": ALL,
                    "balance": ALL,
                    "evict": {**ALL, "enabled": [{"name": EVICTS}]},
                },
                "pluginConfig": [
                    {
                        "name": EVICTS,
                        "args": {"evictionPolicy": "Eviction", "namespaces": {"exclude": ["kube-system"]}},
                    }
                ],
            }
        ],
    }
    assert configuration("read", written) == Descheduler(
        interval="120s",
        profiles=(
            DeschedulerProfile(
                "koord-descheduler",
                evictors=(EVICTS,),
                evictable=Evictable(Namespaces(exclude=("kube-system",))),
                limits=(("maxMigratingPerNode", "2"),),
            ),
        ),
    )


def test_plugins_have_namespaces_of_their_own_and_limits_are_those_that_are_set() -> None:
    config = [
        {"name": "LowNodeLoad", "args": {"evictableNamespaces": {"include": ["a"]}}},
        {"name": "Pods", "args": {"namespaces": {"exclude": ["b"]}}},
    ]
    plugins = {"balance": {"enabled": [{"name": "LowNodeLoad"}]}, "deschedule": {"enabled": [{"name": "Pods"}]}}
    written = {"maxNoOfPodsToEvictTotal": 3, "profiles": [{"plugins": plugins, "pluginConfig": config}]}
    assert configuration("read", written) == Descheduler(
        profiles=(
            DeschedulerProfile(
                "koord-descheduler",
                (
                    DeschedulerPlugin("Pods", "deschedule", Namespaces(exclude=("b",))),
                    DeschedulerPlugin("LowNodeLoad", "balance", Namespaces(include=("a",))),
                ),
                (EVICTS,),
                limits=(("maxNoOfPodsToEvictTotal", "3"), ("maxMigratingPerNode", "2")),
            ),
        )
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"priorityThreshold": {"value": 9000}}, Evictable(priority_below=9000)),
        ({"priorityThreshold": {"name": "high"}}, Evictable()),
        (
            {"labelSelector": {"matchLabels": {"a": "b"}}},
            Evictable(selector=Selector((Requirement("a", "In", ("b",)),))),
        ),
        ({"evictSystemCriticalPods": True, "evictAllBarePods": True}, Evictable(critical=True, bare=True)),
        (
            {
                "skipEvictionGates": ["Namespaces", "PriorityThreshold", "LabelSelector", "SystemCritical", "BarePods"],
                "namespaces": {"include": ["a"]},
                "priorityThreshold": {"value": 1},
                "labelSelector": {"matchLabels": {"a": "b"}},
            },
            Evictable(critical=True, bare=True),
        ),
        ({"namespaces": ["a"]}, Evictable()),
    ],
    ids=str,
)
def test_which_pods_may_be_evicted(arguments: dict[str, Any], expected: Evictable) -> None:
    assert profile(**arguments).evictable == expected


def test_a_limit_that_a_gate_skips_is_none() -> None:
    assert profile(skipEvictionGates=["MaxMigratingPerNode"], maxMigratingGlobally=5).limits == (
        ("maxMigratingGlobally", "5"),
    )


def test_nothing_evicts_where_the_evictor_is_disabled_or_only_runs_dry() -> None:
    assert profile({"evict": ALL}).evictors == ()
    assert profile({"evict": "all"}).evictors == (EVICTS,)
    assert profile(dryRun=True).evictors == ()
