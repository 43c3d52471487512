"""What doctor finds about koord-descheduler: what it does, and which gangs it could break."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.diagnosis.doctor import of_descheduler
from kubectl_koord.model.installation import (
    Deployment,
    Descheduler,
    DeschedulerPlugin,
    DeschedulerProfile,
    Evictable,
    Installation,
    Namespaces,
)
from tests.build import Drawing, cluster, having

LOAD = DeschedulerPlugin("LowNodeLoad", "balance", Namespaces(exclude=("kube-system",)))
LIMITS = (("maxMigratingGlobally", "5"), ("maxMigratingPerNode", "2"))
PROFILE = DeschedulerProfile("koord-descheduler", (LOAD,), ("MigrationController",), limits=LIMITS)
DESCHEDULER = Descheduler(interval="2m0s", profiles=(PROFILE,))
OWNED: dict[str, Any] = {"gang": "default/run", "owner": "PyTorchJob/run"}
DRAWN = (
    cluster("s0: b0[n1 n2]")
    .with_group("run", 2)
    .with_running("run-0", "n1", labels=(("app", "a"),), **OWNED)
    .with_running("run-1", "n2", **OWNED)
    .with_group("spare", 1)
    .with_running("spare-0", "n1", gang="default/spare", owner="Job/spare")
    .with_running("spare-1", "n2", gang="default/spare", owner="Job/spare")
)


def found(drawn: Drawing, configured: Descheduler | None, *deployments: Deployment) -> list[tuple[str, str, str]]:
    installed = Installation(deployments=deployments, descheduler=configured)
    every = of_descheduler(drawn.but(installation=installed))
    return [(one.code, one.object, one.message) for one in every]


def settings(configured: Descheduler, *deployments: Deployment) -> str:
    code, about, message = found(cluster("s0: b0[n1]"), configured, *deployments)[0]
    assert (code, about) == ("descheduler-settings", "ConfigMap/koord-descheduler-config")
    return message


def profile(**fields: object) -> Descheduler:
    return structs.replace(DESCHEDULER, profiles=(structs.replace(PROFILE, **fields),))


def evictable(**fields: object) -> Descheduler:
    return profile(evictable=structs.replace(Evictable(), **fields))


def test_without_a_configuration_nothing_is_said() -> None:
    assert found(DRAWN, None) == []
    assert list(of_descheduler(DRAWN)) == []


def test_a_configuration_that_cannot_be_read_is_a_warning() -> None:
    ((code, about, message),) = found(DRAWN, Descheduler("unreadable"))
    assert (code, about) == ("descheduler-unreadable", "ConfigMap/koord-descheduler-config")
    assert message.startswith("the configuration of koord-descheduler cannot be read")


def test_plugins_limits_and_namespaces_are_told() -> None:
    restricted = Evictable(Namespaces(("default", "team")), 9000, having(app="a"))
    assert settings(profile(evictable=restricted)) == (
        "the descheduler runs every 2m0s: LowNodeLoad (balance) chooses pods, MigrationController evicts them;"
        " limits: maxMigratingGlobally 5 and maxMigratingPerNode 2; only in default and team; LowNodeLoad not in"
        " kube-system; only of a priority below 9000; only with labels that match its labelSelector."
    )


def test_what_evicts_nothing_is_told() -> None:
    none = "no plugin chooses pods; PodMigrationJobs that others make are carried out"
    assert settings(profile(plugins=())) == f"the descheduler runs every 2m0s: {none}."
    assert settings(Descheduler()) == "the descheduler runs: no profile is configured."
    assert settings(profile(evictors=(), plugins=(LOAD, LOAD))).endswith(
        "LowNodeLoad (balance) and LowNodeLoad (balance) choose pods, and none is evicted."
    )
    assert settings(profile(limits=())).endswith("limits: none; LowNodeLoad not in kube-system.")
    assert settings(structs.replace(DESCHEDULER, dry_run=True)).endswith("; it evicts nothing (dryRun).")
    off = settings(DESCHEDULER, Deployment("koord-descheduler", wanted=0))
    assert off.endswith("; its Deployment has no replicas.")
    two = Descheduler(profiles=(PROFILE, structs.replace(PROFILE, name="other", plugins=())))
    assert settings(two).startswith("the descheduler runs: in profile koord-descheduler LowNodeLoad (balance)")
    assert settings(two).endswith(f"; in profile other {none}.")


def test_gangs_that_run_with_no_pod_more_than_their_minimum_could_be_broken() -> None:
    message = (
        "1 running gang has no pod more than its minimum: default/run. koord-descheduler knows no gangs, and may evict"
        " single pods of it."
    )
    assert found(DRAWN, DESCHEDULER)[1:] == [("descheduler-breaks-gangs", "Gang/default/run", message)]
    both = found(DRAWN.with_group("spare", 2), DESCHEDULER)
    assert "2 running gangs have no pod more than their minimum: default/run and default/spare" in both[1][2]


@pytest.mark.parametrize(
    "configured",
    [
        structs.replace(DESCHEDULER, dry_run=True),
        profile(plugins=()),
        profile(evictors=()),
        profile(plugins=(DeschedulerPlugin("P", "balance", Namespaces(("team",))),)),
        evictable(namespaces=Namespaces(("team",))),
        evictable(namespaces=Namespaces(exclude=("default",))),
        evictable(priority_below=0),
        evictable(selector=having(app="b")),
    ],
    ids=range(8),
)
def test_a_gang_whose_pods_are_not_evicted_is_not_broken(configured: Descheduler) -> None:
    assert [code for code, _, _ in found(DRAWN, configured)] == ["descheduler-settings"]


@pytest.mark.parametrize(
    "fields",
    [{"owner": ""}, {"owner": "Node/n1"}, {"terminating": True}, {"priority": 2_000_000_000}],
    ids=str,
)
def test_pods_that_nothing_evicts_are_left_out(fields: dict[str, Any]) -> None:
    drawn = cluster("s0: b0[n1]").with_group("run", 1).with_running("run-0", "n1", **(OWNED | fields))
    assert [code for code, _, _ in found(drawn, DESCHEDULER)] == ["descheduler-settings"]


def test_what_an_evictor_is_allowed_besides_counts() -> None:
    drawn = cluster("s0: b0[n1]").with_group("run", 1)
    drawn = drawn.with_running("run-0", "n1", gang="default/run", priority=2_000_000_001)
    assert len(found(drawn, evictable(bare=True, critical=True, selector=having()))) == 2
    assert len(found(DRAWN, DESCHEDULER, Deployment("koord-descheduler"))) == 2
    assert len(found(DRAWN, DESCHEDULER, Deployment("koord-descheduler", wanted=0))) == 1
