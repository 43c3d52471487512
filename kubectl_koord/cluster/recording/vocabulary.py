"""Words that name nobody: of Kubernetes, Koordinator, and the scheduler's own messages."""

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

KNOWN = frozenset(f"{_OF_NAMES} {_OF_VALUES} {_OF_MESSAGES}".split())
"""They stay: answers rest on some, and a message in which others were replaced would not be recognised."""

_STANDARD = (
    *("kubernetes.io", "k8s.io", "x-k8s.io", "koordinator.sh", "kubeflow.org", "volcano.sh", "ray.io"),
    *("nvidia.com", "amd.com", "intel.com", "huawei.com", "amazonaws.com", "azure.com", "google.com", "aliyun.com"),
    *("k8s.aws", "oraclecloud.com", "alibabacloud.com", "coreweave.cloud", "nebius.com", "topograph.run"),
    "cloud.provider.com",
)


def is_standard(key: str) -> bool:
    """Tell whether a key (of a label, a taint, an API group) is in a domain that does not tell whose cluster it is."""
    domain = key.partition("/")[0]
    return any(domain == one or domain.endswith(f".{one}") for one in _STANDARD)
