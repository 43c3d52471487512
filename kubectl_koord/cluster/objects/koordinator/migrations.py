"""PodMigrationJobs."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.model.others import migrations


class ObjectReference(Struct, gc=False):
    """A reference to a pod or a Reservation."""

    namespace: str | None = None
    name: str | None = None


class ReservationOptions(Struct, gc=False, rename="camel"):
    """spec.reservationOptions."""

    reservation_ref: ObjectReference | None = None


class MigrationSpec(Struct, gc=False, rename="camel"):
    """spec of a PodMigrationJob."""

    paused: bool | None = None
    mode: str | None = None
    pod_ref: ObjectReference | None = None
    reservation_options: ReservationOptions | None = None


class MigrationStatus(Struct, gc=False, rename="camel"):
    """status of a PodMigrationJob."""

    phase: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    pod_ref: ObjectReference | None = None


class PodMigrationJob(Struct, gc=False):
    """One PodMigrationJob."""

    metadata: Meta
    spec: MigrationSpec = field(default_factory=MigrationSpec)
    status: MigrationStatus = field(default_factory=MigrationStatus)


def migration_job(written: PodMigrationJob) -> migrations.MigrationJob:
    """Return the job."""
    meta, spec, status = written.metadata, written.spec, written.status
    options = spec.reservation_options
    reserved = options.reservation_ref if options is not None else None
    return migrations.MigrationJob(
        name=meta.name,
        pod=_key(spec.pod_ref),
        uid=meta.uid or "",
        mode=spec.mode or "ReservationFirst",
        paused=bool(spec.paused),
        phase=status.phase or "",
        status=status.status or "",
        reason=status.reason or "",
        message=status.message or "",
        reservation=(reserved.name if reserved is not None else None) or "",
        replacement=_key(status.pod_ref),
    )


def _key(pod: ObjectReference | None) -> str:
    return f"{pod.namespace or 'default'}/{pod.name}" if pod is not None and pod.name else ""
