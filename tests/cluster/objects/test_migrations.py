"""PodMigrationJobs as they are written."""

import msgspec

from kubectl_koord.cluster.objects.descheduler import PodMigrationJob, migration_job
from kubectl_koord.model.installation import MigrationJob


def read(written: str) -> MigrationJob:
    return migration_job(msgspec.json.decode(written, type=PodMigrationJob))


def test_a_job_names_its_pod_its_reservation_and_the_pod_that_replaces_it() -> None:
    written = """{"metadata": {"name": "j", "uid": "u"}, "spec": {"paused": true, "mode": "EvictDirectly",
        "podRef": {"namespace": "team", "name": "a"}, "reservationOptions": {"reservationRef": {"name": "r"}}},
        "status": {"phase": "Running", "status": "Evicting", "reason": "Unschedulable", "message": "no room",
        "podRef": {"namespace": "team", "name": "b"}}}"""
    assert read(written) == MigrationJob(
        name="j",
        pod="team/a",
        uid="u",
        mode="EvictDirectly",
        paused=True,
        phase="Running",
        status="Evicting",
        reason="Unschedulable",
        message="no room",
        reservation="r",
        replacement="team/b",
    )


def test_what_a_job_leaves_out_is_empty_and_its_mode_the_default() -> None:
    assert read('{"metadata": {"name": "j"}}') == MigrationJob("j", "")
    assert read('{"metadata": {"name": "j"}, "spec": {"podRef": {"name": "a"}, "reservationOptions": {}}}') == (
        MigrationJob("j", "default/a")
    )
