"""One pod of a manifest as a pending pod, with the volume claims that would be made for it."""

from collections.abc import Container as Contained
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects.fields.meta import Meta, Owner
from kubectl_koord.cluster.objects.kubernetes.storage import ClaimSpec, PersistentVolumeClaim
from kubectl_koord.cluster.objects.pods.decode import pending
from kubectl_koord.cluster.objects.pods.fields import ClaimSource, Pod, Volume
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.unevaluated import PodSetting, PodUnevaluated


class _ClaimTemplate(Struct, gc=False):
    """volumeClaimTemplate of an ephemeral volume."""

    spec: ClaimSpec = field(default_factory=ClaimSpec)


def own_volumes(
    pod: Pod, templates: Iterable[PersistentVolumeClaim], known: Contained[str], classless: Contained[str] = ()
) -> tuple[list[PersistentVolumeClaim], bool]:
    """Return the claims that are made for a pod, which gets volumes for them, and whether some are not evaluated.

    Those that are there already are used. A claim without a class gets the default one, which
    is not known: its volume is left out, as are those of `classless` claims.

    Raises:
        msgspec.ValidationError: when the template of an ephemeral volume cannot be read.

    """
    meta = pod.metadata
    volumes = {one.name: one for one in pod.spec.volumes or ()}
    made: list[PersistentVolumeClaim] = []
    for template in templates:
        own = f"{template.metadata.name}-{meta.name}"
        volumes[template.metadata.name] = Volume(template.metadata.name, ClaimSource(own))
        if f"{meta.namespace}/{own}" not in known:
            made.append(PersistentVolumeClaim(Meta(name=own, namespace=meta.namespace), template.spec))
    made += (one for one in _ephemeral(pod) if f"{meta.namespace}/{one.metadata.name}" not in known)
    own_classless = {one.metadata.name for one in made if is_classless(one)}

    def is_open(volume: Volume) -> bool:
        name = _claim_of(volume, meta.name)
        return name in own_classless or f"{meta.namespace}/{name}" in classless

    kept = [one for one in volumes.values() if not is_open(one)]
    pod.spec = structs.replace(pod.spec, volumes=kept or None)
    return [one for one in made if one.metadata.name not in own_classless], len(kept) < len(volumes)


def is_classless(claim: PersistentVolumeClaim) -> bool:
    """Tell whether a claim would get the default class, or none where there is no default."""
    annotated = (claim.metadata.annotations or {}).get("volume.beta.kubernetes.io/storage-class")
    return claim.spec.storage_class_name is None and not claim.spec.volume_name and not annotated


def _ephemeral(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    meta = pod.metadata
    for volume in pod.spec.volumes or ():
        if volume.ephemeral is not None:
            template = msgspec.convert(volume.ephemeral.get("volumeClaimTemplate") or {}, _ClaimTemplate)
            owner = Owner("Pod", meta.name, meta.uid or "", controller=True)
            own = Meta(name=f"{meta.name}-{volume.name}", namespace=meta.namespace, owner_references=[owner])
            yield PersistentVolumeClaim(own, template.spec)


def _claim_of(volume: Volume, pod: str) -> str:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else ""


def pending_pod(pod: Pod, unevaluated: Iterable[PodUnevaluated], pool: PodPool) -> PendingPod:
    """Return the pod as it would wait.

    Args:
        pod: what is written of it.
        unevaluated: what cannot be told of what is filled in.
        pool: what pods share.

    Raises:
        QuantityError: when a request is no quantity.

    """
    claims = pod.spec.resource_claims or ()
    named = [one for one in claims if one.resource_claim_name is not None]
    pod.spec = structs.replace(pod.spec, resource_claims=named or None)
    found = pending(pod, pool)
    more = [*unevaluated]
    if len(named) < len(claims):
        more.append(PodSetting("resource-claim-template"))  # its claims would be made with the pod
    if not more:
        return found
    requirements = structs.replace(found.requirements, unevaluated=(*found.requirements.unevaluated, *more))
    return structs.replace(found, requirements=requirements)
