"""The fixed sentences of koord-scheduler and kube-scheduler, in a condition, an event or a log: one row each."""

import re
from collections.abc import Mapping

from msgspec import Struct

_NAME = r'(?:[^"\\]|\\.)*'
_OLD = "before-1.7-"


class Phrase(Struct, frozen=True):
    """A sentence that was recognised: its code, and the names and numbers in it."""

    code: str
    about: tuple[tuple[str, str], ...] = ()

    @property
    def is_old(self) -> bool:
        """Whether only schedulers older than 1.7 say so."""
        return self.code.startswith(_OLD)

    @property
    def names(self) -> Mapping[str, str]:
        """What the sentence names, by what it is: `gang`, `pod`, `reason`, ..."""
        return dict(self.about)


# Rows of coscheduling/core/core.go and gang.go (gang-*, group-*, member-*), batch scheduling, job preemption,
# Permit (kube-scheduler's waiting pods among them), binding, quota hooks, what DeviceShare refuses before any node.
_PHRASES = (
    ("gang-unknown", r"can't find gang, gangName: (?P<gang>\S+), podName: (?P<pod>\S+)"),
    ("gang-not-initialised", r"gang has not init, gangName: (?P<gang>\S+), podName: (?P<pod>\S+)"),
    ("gang-gone", r"Gang not found|gang is nil, may be already deleted"),
    (
        "group-incomplete",
        (
            r"gangGroup (?P<group>\[[^\]]*\]|\S+) basic check: (?P<reason>.*), current gang: (?P<gang>[^,]+),"
            r" podName: (?P<pod>\S+)"
        ),
    ),
    ("group-in-round", r"gangGroup (?P<group>\S+) is scheduling and this pod has not been attempted"),
    ("group-attempted", r"all pending pods is already been attempted"),
    ("member-represents", r"representative pod (?P<pod>\S+) of gangGroupID (?P<group>\S+) already exists"),
    ("member-not-known", r"pod (?P<pod>\S+) is not exists in gangCache"),
    ("member-unreserved", rf'Gang "(?P<gang>{_NAME})" gets rejected due to Pod "(?P<pod>{_NAME})" in Unreserve'),
    ("no-topology", r"no cluster network topology"),
    ("no-pending-pods", r"no pending pods"),
    ("plan-invalid", r"plan become invalid, wait for the next round"),
    (
        "batch-failed",
        (
            r"job failed due to job batch schedule failed, assumed (?P<assumed>\d+) pods, failed (?P<failed>\d+) pods,"
            r" first failed pod (?P<pod>[^\s@]+)@(?P<node>\S+) failed due to (?P<reason>.*)"
        ),
    ),
    (
        "batch-waits",
        r"inline batch permit did not complete: (?P<pods>\d+) pods are still waiting after all pods were permitted",
    ),
    ("batch-not-permitted", r"permit failed for pod (?P<pod>[^\s@]+)@(?P<node>[^\s:]+): (?P<reason>.*)"),
    ("permit-timeout", r"rejected due to timeout after waiting (?P<waited>\S+) at plugin (?P<plugin>\S+)"),
    ("preempted", r"preempted"),
    ("preempt-success", r"preempt success, alreadyWaitingForBound: (?P<waiting>\d+)/(?P<members>\d+)"),
    ("preempts-never", r"not eligible due to preemptionPolicy=Never"),
    ("victims-terminate", r"not eligible due to (?:a )?terminating pod on the nominated node"),
    ("quota-hook", r"CheckPod failed for hook plugin (?P<plugin>[^,]+), err: (?P<reason>.*)"),
    ("no-reservation", r"node\(s\) no reservations match reservation affinity"),
    ("other-scheduler", r"schedulerName unmatched"),
    ("being-deleted", r"pod is being deleted"),
    ("plugin-failed", rf'running (?P<point>\w+) plugin "(?P<plugin>{_NAME})": (?P<reason>.*)'),
    ("filter-failed", rf'running "(?P<plugin>{_NAME})" filter plugin: (?P<reason>.*)'),
    ("device-amount-invalid", r"invalid resource unit (?P<resource>\S+): (?P<amount>\S+)"),
    ("device-set-invalid", r"invalid resource device requests: \[(?P<resources>[^\]]*)\]"),
    (
        "device-annotation-unreadable",
        (
            r"invalid (?P<annotation>DeviceAllocateHint|DeviceJointAllocate|GPUPartitionSpec) annotation,"
            r" err: (?P<reason>.*)"
        ),
    ),
    (
        "device-selector-invalid",
        r"invalid (?P<selector>VFSelector|Selector) of DeviceHint, deviceType: (?P<type>[^,]*), err: (?P<reason>.*)",
    ),
    ("device-template-missing", r"no matched GPU shared resource template"),
    ("cpus-not-integer", r"the requested CPUs must be integer"),
    ("claim-unbound", r"pod has unbound immediate PersistentVolumeClaims"),
    ("claim-missing", r'persistentvolumeclaim "(?P<claim>[^"]+)" not found'),
    ("claim-deleted", r'persistentvolumeclaim "(?P<claim>[^"]+)" is being deleted'),
    ("claim-of-other", r"PVC (?P<claim>\S+) was not created for pod \S+ \(pod is not owner\)"),
    (
        "claim-awaited",
        r'waiting for ephemeral volume controller to create the persistentvolumeclaim "(?P<claim>[^"]+)"',
    ),
    (
        "volume-missing",
        (
            r'(?:persistentvolumeclaim "(?P<claim>[^"]+)" bound to non-existent persistentvolume|persistentvolume)'
            r' "(?P<volume>[^"]+)"(?: not found)?'
        ),
    ),
    ("device-class-missing", r"request (?P<request>\S+): device class (?P<class>\S+) does not exist"),
    (f"{_OLD}too-few-pods", r"gang child pod not collect enough, (?P<reason>.*)"),
    (f"{_OLD}cycle", r"gang scheduleCycle not valid, (?P<reason>.*)"),
    (
        f"{_OLD}rejected",
        (
            rf'Gang "(?P<gang>{_NAME})" gets rejected due to member Pod "(?P<pod>{_NAME})" is unschedulable'
            rf' with reason "(?P<reason>{_NAME})"'
        ),
    ),
)
_COMPILED = tuple((code, re.compile(pattern, re.DOTALL)) for code, pattern in _PHRASES)


def phrase(text: str) -> Phrase | None:
    """Return the sentence that the whole text is, None where it is none of those known."""
    for code, pattern in _COMPILED:
        match = pattern.fullmatch(text)
        if match:
            return Phrase(code, tuple((name, value) for name, value in match.groupdict().items() if value is not None))
    return None
