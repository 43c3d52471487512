"""What a row of `kinds` says of one kind of API objects."""

from collections.abc import Callable, Hashable
from typing import Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from msgspec import Struct

from kubectl_koord.cluster.api.replies import CRD_GROUPS
from kubectl_koord.cluster.objects.fields.meta import Meta, namespace
from kubectl_koord.cluster.reading.lists import ListRequest

W = TypeVar("W")
V = TypeVar("V")

Need: TypeAlias = Literal[
    "topology",
    "devices",
    "gangs",
    "disruption",
    "volumes",
    "claims",
    "migrations",
    "volcano",
    "traces",
    "doctor",
    "fit",
    "manifests",
    "train-jobs",
]


def only_named(name: str) -> str:
    """Return the query of a list that holds no more than the object of a name."""
    return f"fieldSelector=metadata.name%3D{quote(name, safe='')}"


def bare_name(meta: Meta) -> str:
    """Return the name."""
    return meta.name


def whole_name(meta: Meta) -> str:
    """Return namespace/name."""
    return f"{namespace(meta)}/{meta.name}"


def pair(meta: Meta) -> tuple[str, str]:
    """Return namespace and name."""
    return namespace(meta), meta.name


class Kind(Struct, Generic[W, V], frozen=True):
    """One kind.

    Of an object the fields of `wire_type` are decoded, and what `value` makes of them is kept under `key`: nothing
    where that is None, the fields themselves where there is no `value`. `needed_by` is the smallest reading that
    lists the kind: each holds those before it, but for volumes and all that follow it, which are read
    on their own. A `name` such as `Kind.group` is that of a kind which another group has, too.

    It is listed at `plural` of the `api`, in one namespace if it has a `home`, with a `query`; where it `narrows`,
    in the user's namespace if the list of all namespaces is forbidden. A list that could not be read is a gap; a file
    without any object of the kind has one, too, unless `in_files` is false.
    """

    name: str
    wire_type: type[W]
    api: str
    plural: str
    key: Callable[[Meta], Hashable]
    needed_by: Need
    value: Callable[[W], V | None] | None = None
    home: str = ""
    query: str = ""
    narrows: bool = False
    in_files: bool = True

    @property
    def object_kind(self) -> str:
        """The `kind` that its objects have."""
        return self.name.partition(".")[0]

    @property
    def api_version(self) -> str:
        """The `apiVersion` that its objects have."""
        return self.api.removeprefix("/apis/").removeprefix("/api/")

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def of_koordinator(self) -> bool:
        """Whether Koordinator's CRDs define it."""
        return self.api.startswith(CRD_GROUPS)

    def path(self, namespace: str = "") -> str:
        """Return the path of the objects of a namespace, or of all for none."""
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"{self.api}{within}/{self.plural}"

    def request(self, query: str | None = None) -> ListRequest:
        """Return how it is listed, perhaps with another query."""
        wanted = self.query if query is None else query
        suffix = f"?{wanted}" if wanted else ""
        narrowed = f"{self.api}/namespaces/{{namespace}}/{self.plural}{suffix}" if self.narrows else None
        return ListRequest(self.name, f"{self.path(self.home)}{suffix}", narrowed)
