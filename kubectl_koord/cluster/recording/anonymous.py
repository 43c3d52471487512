"""Replacement of the names in a snapshot: consistent, in the same sort order, and different in each file.

Every text counts as a name unless its field is known to hold none, so that a new field is replaced by default.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from random import Random
from typing import Any, TypeAlias, overload

from msgspec import structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.objects.events import REASONS
from kubectl_koord.cluster.objects.jobs import CONTROLLERS, MANAGER
from kubectl_koord.cluster.recording.kept import written_json
from kubectl_koord.model import keys
from kubectl_koord.model.snapshot import Gap, GapCode

_OF_NAMES = """
api core config koord koordinator koordlet kube kubernetes scheduler descheduler system default root quota manager
metadata name namespace app io sh com k8s v alpha beta lease mutating validating webhook configuration
SpineLayer BlockLayer RackLayer AcceleratorLayer SuperNodeLayer NodeTopologyLayer spineLayer blockLayer rackLayer
Coscheduling ElasticQuota DeviceShare LoadAwareScheduling NodeNUMAResource Reservation
MigrationController LowNodeLoad CustomPriority DefaultEvictor HighNodeUtilization LowNodeUtilization PodLifeTime
RemoveDuplicates RemoveFailedPods RemovePodsHavingTooManyRestarts RemovePodsViolatingInterPodAntiAffinity
RemovePodsViolatingNodeAffinity RemovePodsViolatingNodeTaints RemovePodsViolatingTopologySpreadConstraint
"""
_OF_VALUES = """
true false null True False Strict NonStrict once satisfied only waiting and running
LSE LSR LS BE SYSTEM prod mid batch free Honor Prefer Ignore Restricted BestEffort SingleNUMANode SingleNUMANodePodLevel
FullPCPUs FullPCPUsOnly SpreadByPCPUs MostAllocated LeastAllocated MustGather PreferGather Aligned HAMi
s m h ms us ns d
imds data unknown nil na n undefined placeholder none
"""
_OF_MESSAGES = """
a accommodate affinity alloc all allocate allocated already alreadyWaitForBound alreadyWaitingForBound among an anti
any are assumed at attempt attempted available because been before being best bind binding bound but by can
candidate cannot case check child claim claims class cluster collect complete constraint constraints core could
count cpu current deleted deletion desiredOfferSlot device devices did didn disruption do does domain domains due
during eligible empty enough err error exceed exceedDimensions exceeds exist exists expired fail failed filter find
first fit for found from full gang gangGroup gangName GangGroup Gang gated gather gets gpu group groups has have
held hook in init inline insufficient Insufficient into invalid is isolation it job keep layer limit loaded match
matched matching max memory message min minimum missing more must name network new next no node nodes nominated non
none not number numa of offer on one or other out outcome own pending permit permitted persistent plan plugin pod
podCountMultiple podName pods Pod policy port ports preempt preempted preemption Preempted preemptible Preempting
present priority ready reason reject rejected representative request requests required reservation reservations
reserved resource resources round rules run runtime satisfy scheduled scheduling scheduleCycle schedulerName
selector set since slot spread state still success suggestion Suggestion taint taints terminating than that the them
there this time timeout to toleration tolerate tolerated too topology topologyNode trigger triggerpod TriggerPod
type unable unavailable unbound under unfit unreserve Unreserve unschedulable Unschedulable untolerated usage used
victim victims volume wait waited waiting was were will with without zone zones
"""

_OF_CONTROLLERS = " ".join((*CONTROLLERS, MANAGER)).replace("-", " ")
KNOWN = frozenset(f"{_OF_NAMES} {_OF_VALUES} {_OF_MESSAGES} {_OF_CONTROLLERS}".split())
"""They stay: answers rest on some, and a message in which others were replaced would not be recognised."""

_STANDARD = (
    *("kubernetes.io", "k8s.io", "x-k8s.io", "koordinator.sh", "kubeflow.org", "volcano.sh", "ray.io"),
    *("nvidia.com", "amd.com", "intel.com", "huawei.com", "amazonaws.com", "azure.com", "google.com", "aliyun.com"),
    *("k8s.aws", "oraclecloud.com", "alibabacloud.com", "coreweave.cloud", "nebius.com", "topograph.run"),
    "cloud.provider.com",
)


def is_standard(key: str) -> bool:
    """Tell whether a key (of a label, a taint, an API group) is in a public domain, which does not reveal the owner."""
    domain = key.partition("/")[0]
    return any(domain == one or domain.endswith(f".{one}") for one in _STANDARD)


_WORD = re.compile(r"[A-Za-z\u0080-\U0010ffff]+")
ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4})(?![\w:]|\.\d)"
    r"|(?<=\bip-)\d{1,3}(?:-\d{1,3}){3}(?!\d)"
)
"""An IP address, also as in the names of nodes: `ip-10-0-3-17`."""
_ANY = {"0.0.0.0", "::"}  # noqa: S104 - no address of anybody
_FIRST = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NEXT = _FIRST[26:]
_SPARSE = 1000
_DIGITS = 7


class Seen:
    """Collects the words and addresses of names, to be replaced when all are known."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.addresses: set[str] = set()
        self.names: set[str] = set()

    def __call__(self, name: str) -> str:
        """Note a name, and return it."""
        self.addresses.update(found for found in ADDRESS.findall(name) if found not in _ANY)
        self.words.update(_WORD.findall(ADDRESS.sub("0", name)))
        self.names.update((name, *name.split("/")))
        return name


class _Codes(Sequence[str]):
    """All words of so many letters, small ones after a first of either size, in order."""

    def __init__(self, length: int) -> None:
        self._rest = length - 1

    def __len__(self) -> int:
        size: int = len(_FIRST) * len(_NEXT) ** self._rest
        return size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        letters = []
        for _ in range(self._rest):
            at, letter = divmod(at, len(_NEXT))
            letters.append(_NEXT[letter])
        return _FIRST[at] + "".join(reversed(letters))


def renamed(seen: Seen, known: AbstractSet[str], random: Random) -> Callable[[str], str]:
    """Return the function that replaces a name; the words of `known` are not replaced."""
    words = dict(_replaced(seen.words - known, sorted(known), random))
    numbers = sorted(random.sample(range(10 ** (_DIGITS - 1), 10**_DIGITS), len(seen.addresses)))
    addresses = dict(zip(sorted(seen.addresses), map(str, numbers), strict=True))

    def word(found: re.Match[str]) -> str:
        return words.get(found[0], found[0])

    def address(found: re.Match[str]) -> str:
        return addresses.get(found[0], found[0])

    def other(name: str) -> str:
        parts = []
        end = 0
        for found in ADDRESS.finditer(name):
            parts += [_WORD.sub(word, name[end : found.start()]), address(found)]
            end = found.end()
        return "".join((*parts, _WORD.sub(word, name[end:])))

    return other


def _replaced(words: Iterable[str], fixed: Sequence[str], random: Random) -> Iterator[tuple[str, str]]:
    """Yield each word with its other word: between two fixed ones are as many others as there were."""
    between: dict[int, list[str]] = {at: [] for at in range(len(fixed) + 1)}
    for word in sorted(words):
        between[bisect_left(fixed, word)].append(word)
    length, most = 3, max((len(some) for some in between.values()), default=0)
    while len(_Codes(length)) < _SPARSE * most:
        length += 1
    for at, some in between.items():
        before, after = fixed[at - 1] if at else "", fixed[at] if at < len(fixed) else ""
        yield from zip(some, _codes(len(some), before, after, length, random), strict=True)


def _codes(count: int, before: str, after: str, length: int, random: Random) -> Sequence[str]:
    """Return so many words in order, between two others (empty: anything is behind)."""
    codes = _Codes(length)
    first = bisect_right(codes, before)
    last = bisect_left(codes, after) if after else len(codes)
    if last - first >= count:
        return [codes[at] for at in sorted(random.sample(range(first, last), count))]
    # Hardly any word is between these two: what begins with the first is, as long as capitals follow it.
    inner = _Codes(length)
    return [before + inner[at].upper() for at in sorted(random.sample(range(len(inner) // 2), count))]


Tree: TypeAlias = dict[str, Any]
Rename: TypeAlias = Callable[[str], str]

_MESSAGES = {"message", "note"}
_OF_SCHEDULER = {"PodScheduled", "DisruptionTarget", "Scheduled"}
"""Conditions whose message is the scheduler's."""
_KEYS = {
    *("key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "labelKey"),
    *("conditionType", "controllerName", "managedBy", "finalizers"),
}
_LABELS = {"labels", "matchLabels", "nodeSelector", "reservationSelector", "labelSuffixes"}
_MAPPINGS = {"labelKeysMapping", "annotationKeysMapping"}
_PLAIN = {
    *("allocatable", "capacity", "requests", "limits", "overhead", "used", "min", "max", "maximumVolumeSize"),
    *("resources", "defaultQuotaGroupMax", "systemQuotaGroupMax", "ringBusBandwidth", "resourceVersion", "options"),
    *("kind", "effect", "operator", "phase", "status", "reason", "type", "protocol", "qosClass", "priority"),
    *(
        "mode",
        "state",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "restartPolicy",
        "preemptionPolicy",
    ),
    *("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "updateTime", "renewTime", "acquireTime"),
    *("eventTime", "firstTimestamp", "lastTimestamp", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
    *("lastObservedTime", "ttl", "expires", "duration", "allocatePolicy", "applyPolicy", "policy", "topologyPolicies"),
    *(
        "volumeBindingMode",
        "accessModes",
        "volumeMode",
        "allocationMode",
        "driver",
        "drivers",
        "provisioner",
        "attacher",
    ),
    *(
        "expression",
        "attributes",
        "matchAttribute",
        "vendor",
        "model",
        "strategy",
        "allocateStrategy",
        "exclusivePolicy",
    ),
    *("requiredTopologyScope", "requiredScope", "deviceTypes", "resourceNames", "reservedCPUs", "cpuset"),
    *(
        "command",
        "mountPath",
        "args",
        "default",
        "defaultRequest",
        "caBundle",
        "pcieID",
        "busID",
        "usageAggregationType",
        "usageAggregatedDuration",
        "deschedulingInterval",
        "skipEvictionGates",
    ),
    *("probability", "$patch"),
    *("capability", "deserved", "allocated", "minResources", "resource", "request", "resourceUsage"),
    *("coveredResources", "nominalQuota", "borrowingLimit", "lendingLimit", "total", "borrowed", "queueingStrategy"),
    *("stopPolicy", "withinClusterQueue", "reclaimWithinCohort", "queuePolicy", "terminalState", "jobStatus"),
    *(
        "jobDeploymentStatus",
        "serviceStatus",
        "startTime",
        "startedAt",
        "finishedAt",
        "requeueAt",
        "lastUpdateTime",
        "submissionMode",
    ),
    *("startupPolicyOrder", "startupPolicy", "podManagementPolicy", "launcherCreationPolicy", "schedule"),
}
"""Fields that hold no name: codes, amounts, times, hardware, drivers."""

_NO_NAMES = {
    *(keys.GPU_MODEL, keys.GPU_VENDOR, keys.CPU_TOPOLOGY, keys.RAW_ALLOCATABLE, keys.AMPLIFICATION, keys.SYSTEM_QOS),
    *(keys.DEVICE_JOINT, keys.GPU_PARTITION_SPEC, keys.GPU_PARTITIONS, keys.NUMA_TOPOLOGY_SPEC, keys.RESOURCE_SPEC),
    *(keys.RESOURCE_STATUS, keys.USAGE_THRESHOLDS, keys.KUBELET_CPU_POLICY),
    *(keys.QUOTA_WEIGHT, keys.QUOTA_TOTAL, keys.QUOTA_ADMISSION, keys.QUOTA_GUARANTEED, keys.QUOTA_RUNTIME),
    keys.QUOTA_STRICT,
}
"""Labels and annotations whose values are amounts, settings or hardware."""

_OTHERWISE: Mapping[str, type] = {"status": dict, "requests": list, "args": dict, "state": dict}
"""Fields of these names that are of another type.

Those of an object, not of a condition; of a claim, not of a container; of a plugin, not of a command line; of a
container, not of a queue.
"""

_QUOTED = re.compile(r'(?<=")[^"\s]+(?=")|(?<!\S)[^\s"]*[\w-]+(?:\.[a-z0-9-]+)*/[^\s"]+')
"""What messages of others than the scheduler name: what they quote, images, and paths."""
_OF_REQUESTS = ("requests.", "limits.")
_TOKEN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:/-]*[A-Za-z0-9])?")
_RELEASE = re.compile(r":v?\d+\.\d+(?=[.\-+]|$)[.\d]*")
_SAYS: Mapping[GapCode, str] = {
    "forbidden": "it may not be read",
    "missing": "it is not served",
    "one-namespace": "readable in one namespace only",
    "unavailable": "the server was too busy",
    "not-in-input": "the input contains none",
}


class Anonymous:
    """Gives objects other names.

    `rename` returns the other name of a name, and `names` are whole names for which messages are searched. One that
    returns its argument is told every name: this is how names are collected.
    """

    def __init__(self, rename: Rename, names: AbstractSet[str] = frozenset()) -> None:
        self._rename = rename
        self._names = names

    def name(self, name: str) -> str:
        """Return the other name of a name."""
        return self._rename(name)

    def object(self, kind: str, tree: Tree) -> Tree:
        """Return an object with other names; its fields are those that a snapshot holds."""
        found = self._fields(tree)
        if kind == kinds.NODE_TOPOLOGY.name:
            found["zones"] = tree.get("zones", [])  # they have numbers
        elif kind == kinds.CSI_DRIVER.name:
            found["metadata"]["name"] = tree["metadata"]["name"]  # volumes name drivers
        elif kind == kinds.CONFIG_MAP.name and "data" in tree:
            found["data"] = {name: self._setting(text) for name, text in tree["data"].items()}
        return found

    def gap(self, gap: Gap) -> Gap:
        """Return a gap without the server's words, which name who was refused."""
        namespace = self._rename(gap.namespace)
        return structs.replace(gap, message=f"{gap.kind}: {_SAYS[gap.code]}", namespace=namespace)

    def _setting(self, text: str) -> str:
        """Return a configuration with other names; what cannot be read has none."""
        found = written_json(text)
        return text if found is None else json.dumps(self._fields(found))

    def _fields(self, tree: Tree) -> Tree:
        if tree.get("type") not in _OF_SCHEDULER and tree.get("reason") not in REASONS:
            texts = {name for name in _MESSAGES & tree.keys() if isinstance(tree[name], str)}
            tree = {**tree, **{name: _QUOTED.sub(self._quoted, tree[name]) for name in texts}}
        return {name: self._field(name, part) for name, part in tree.items()}

    def _field(self, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        if name in _PLAIN and not isinstance(value, _OTHERWISE.get(name, ())):
            return value
        match value:
            case dict():
                return self._object(name, value)
            case list() if name == "schedulingGates":
                return [{part: self._key(text) for part, text in one.items()} for one in value]
            case list():
                inner = "" if name in _OTHERWISE else name
                return [self._field("" if isinstance(part, dict) else inner, part) for part in value]
            case str():
                return self._text(name, value)
            case _:
                return value

    def _object(self, name: str, value: Tree) -> Tree:
        if name == "annotations":
            return {key: self._annotation(key, text) for key, text in value.items()}
        if name in _MAPPINGS:
            return {self._key(key): self._key(new) for key, new in value.items()}
        is_plain = name == "selector" and all(isinstance(part, str) for part in value.values())
        if is_plain or (name in _LABELS and "nodeSelectorTerms" not in value):
            return {self._key(key): self._label(key, text) for key, text in value.items()}
        return value if value.get("key") in _NO_NAMES else self._fields(value)

    def _text(self, name: str, value: str) -> str:
        if name in _MESSAGES:
            return _TOKEN.sub(self._token, value)
        if name == "image":
            return self._image(value)
        return self._key(value) if name in _KEYS or name == "apiVersion" else self._rename(value)

    def _key(self, key: str) -> str:
        return key if is_standard(key) or key == "v1" else self._rename(key)

    def _label(self, key: str, value: Any) -> Any:  # noqa: ANN401
        return value if key in _NO_NAMES or not isinstance(value, str) else self._rename(value)

    def _annotation(self, key: str, text: str) -> str:
        found = written_json(text)
        if found is None or (isinstance(found, list) and all(isinstance(one, str) for one in found)):
            return self._rename(text)
        return text if key in _NO_NAMES else json.dumps(self._field("", found), separators=(",", ":"))

    def _token(self, found: re.Match[str]) -> str:
        """Return what stands for a word of a message: another one where it is a name, or has an address."""
        token = found[0]
        is_name = all(part in self._names for part in token.split("/"))
        return self._rename(token) if is_name or ADDRESS.search(token) else token

    def _quoted(self, found: re.Match[str]) -> str:
        """Return what stands for something that a message names, whether the cluster has it or not."""
        named = found[0]
        bare = next((named.removeprefix(one) for one in _OF_REQUESTS if named.startswith(one)), named)
        return named if is_standard(bare) else self._image(named)

    def _image(self, image: str) -> str:
        release = _RELEASE.search(image)
        if release is None:
            return self._rename(image)
        return f"{self._rename(image[: release.start()])}{release[0]}{self._rename(image[release.end() :])}"
