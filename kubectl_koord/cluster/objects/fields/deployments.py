"""A Deployment of Koordinator's: which part it is, its image and command line, and where its configuration is from.

Its name and namespace may be any: the label and the image tell which part of Koordinator it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta
from kubectl_koord.model import installation

SCHEDULER, MANAGER, DESCHEDULER = "koord-scheduler", "koord-manager", "koord-descheduler"
PARTS = (MANAGER, DESCHEDULER, SCHEDULER)
LABEL = "koord-app"
_CONFIG = "--config"


class Mount(Struct, gc=False, rename="camel"):
    """A container's volumeMounts[]."""

    name: str = ""
    mount_path: str = ""
    sub_path: str = ""


class ImageContainer(Struct, gc=False, rename="camel"):
    """A container's image and how it is started."""

    image: str = ""
    name: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    volume_mounts: list[Mount] | None = None


class KeyPath(Struct, gc=False):
    """A key of a ConfigMap, and the file that has it."""

    key: str = ""
    path: str = ""


class ConfigSource(Struct, gc=False):
    """The ConfigMap of a volume."""

    name: str = ""
    items: list[KeyPath] | None = None


class Source(Struct, gc=False, rename="camel"):
    """projected.sources[]."""

    config_map: ConfigSource | None = None


class Projected(Struct, gc=False):
    """A volume of several sources."""

    sources: list[Source] | None = None


class ConfigVolume(Struct, gc=False, rename="camel"):
    """A volume, perhaps of a ConfigMap."""

    name: str = ""
    config_map: ConfigSource | None = None
    projected: Projected | None = None
    host_path: dict[str, Any] | None = None
    secret: dict[str, Any] | None = None

    @property
    def config_maps(self) -> list[ConfigSource]:
        """The ConfigMaps that it has files of."""
        parts = (one.config_map for one in (self.projected.sources or () if self.projected else ()))
        return [one for one in (self.config_map, *parts) if one is not None]

    @property
    def kind(self) -> str:
        """What it is, as far as that is told."""
        if self.host_path is not None:
            return " ".join(filter(None, ("hostPath", str(self.host_path.get("path") or ""))))
        return "Secret" if self.secret is not None else "other"


class ImageSpec(Struct, gc=False):
    """A pod template's spec."""

    containers: list[ImageContainer] | None = None
    volumes: list[ConfigVolume] | None = None


class Template(Struct, gc=False):
    """A pod template."""

    spec: ImageSpec = field(default_factory=ImageSpec)


class DeploymentSpec(Struct, gc=False):
    """spec of a Deployment."""

    replicas: Int32 | None = None
    template: Template = field(default_factory=Template)


class DeploymentStatus(Struct, gc=False, rename="camel"):
    """status of a Deployment; no number is 0."""

    available_replicas: Int32 | None = None
    ready_replicas: Int32 | None = None

    @property
    def available(self) -> int:
        """How many pods are available; those that are ready count, too, as they are to be in a moment."""
        return max(self.available_replicas or 0, self.ready_replicas or 0)


class Deployment(Struct, gc=False):
    """One Deployment."""

    metadata: Meta
    spec: DeploymentSpec = field(default_factory=DeploymentSpec)
    status: DeploymentStatus | None = None

    @property
    def containers(self) -> list[ImageContainer]:
        """The containers of its pods."""
        return self.spec.template.spec.containers or []


class Config(NamedTuple):
    """A configuration's place: the ConfigMap, and the key in it; without a name the `volume` that is none of one."""

    name: str
    key: str
    volume: str = ""


def is_part(deployment: Deployment, part: str) -> bool:
    """Tell whether a Deployment is this part of Koordinator: by its name, its label, or an image."""
    meta = deployment.metadata
    named = {meta.name, (meta.labels or {}).get(LABEL), *(_repository(one.image) for one in deployment.containers)}
    return part in named


def find(deployments: Iterable[Deployment], part: str, home: str) -> Deployment | None:
    """Return the Deployment of a part: the one of its name and in this namespace, if there is such a one."""

    def how_unusual(one: Deployment) -> tuple[bool, bool, str, str]:
        meta = one.metadata
        return meta.namespace != home, meta.name != part, meta.namespace or "", meta.name

    return min((one for one in deployments if is_part(one, part)), key=how_unusual, default=None)


def _repository(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def image(deployment: Deployment, part: str) -> str:
    """Return the image of a part: of the container that the Helm chart names after it, or else the first."""
    chosen = [one for one in deployment.containers if one.name == part.removeprefix("koord-")]
    return next((one.image for one in (*chosen, *deployment.containers)), "")


def words(deployment: Deployment) -> Iterator[str]:
    """Yield its command lines, word by word."""
    for container in deployment.containers:
        yield from (*(container.command or ()), *(container.args or ()))


def words_of(deployment: Deployment, part: str) -> Iterator[str]:
    """Yield the same of the container of a part, by its name or image; of all where it is not told apart."""
    name = part.removeprefix("koord-")
    own = [one for one in deployment.containers if one.name == name or _repository(one.image) == part]
    for container in own or deployment.containers:
        yield from (*(container.command or ()), *(container.args or ()))


def config_of(deployment: Deployment) -> Config | None:
    """Return where the file of --config is from, None where no volume tells."""
    volumes = {one.name: one for one in deployment.spec.template.spec.volumes or ()}
    path = flag_value([*words(deployment)], _CONFIG)
    mounts = [one for container in deployment.containers for one in container.volume_mounts or ()]
    for mount in sorted(mounts, key=lambda one: -len(one.mount_path)):
        file = _file_of(mount, path)
        if file and mount.name in volumes:
            return _config_in(volumes[mount.name], file)
    return None


def _file_of(mount: Mount, path: str) -> str:
    """Return which file of its volume a mount shows at a path, empty where it shows none there."""
    folder = mount.mount_path.rstrip("/") + "/"
    if path and path == mount.mount_path:
        return mount.sub_path
    return "/".join(filter(None, (mount.sub_path, path.removeprefix(folder)))) if path.startswith(folder) else ""


def _config_in(volume: ConfigVolume, file: str) -> Config:
    """Return the ConfigMap and key of a file; a ConfigMap without items has each key as a file."""
    for one in volume.config_maps:
        items = {item.path: item.key for item in one.items or ()}
        if file in items or not items:
            return Config(one.name, items.get(file, file))
    return Config("", file, volume.kind)


def flag_value(written: Sequence[str], flag: str) -> str:
    """Return the value of a flag, in the same word or the next; empty where it is missing."""
    for word, following in pairwise([*written, ""]):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return ""


def installed(deployment: Deployment, part: str) -> installation.Deployment:
    """Return how a part is installed: its image, replicas and command line."""
    wanted, status = deployment.spec.replicas, deployment.status
    return installation.Deployment(
        deployment.metadata.name,
        image(deployment, part),
        1 if wanted is None else wanted,
        None if status is None else status.available,
        tuple(words(deployment)),
        part,
    )
