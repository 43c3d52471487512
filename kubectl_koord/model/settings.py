"""What a scheduler may be told: each feature gate, flag and plugin argument of 1.7, 1.8 and main, and what it is to us.

The rows are those of upstream's pkg/features, cmd/koord-scheduler and pkg/scheduler (apis/config, and flags of its
packages), and of kube-scheduler what the scheduler reads. docs/settings.md shows them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["feature gate", "flag", "key", "plugin", "argument"]
"""A `key` is one of the KubeSchedulerConfiguration, a `plugin` one that a profile enables and nobody here knows."""
Says: TypeAlias = Literal["evaluated", "cannot matter", "decides"]
Bears: TypeAlias = Literal["everything", "preemption", "volumes", "claims", "spread", "reservations", "devices", "told"]
"""On what it bears that is set and not evaluated; what is `told` is found out where pods are looked at."""

ALL = ("1.7", "1.8", "main")
NEW = ("1.8", "main")
MAIN = ("main",)


class Setting(Struct, frozen=True):
    """One row: `default` is what changes nothing, as in YAML, and `why` what there is to know."""

    kind: Kind
    name: str
    says: Says
    why: str
    bears: Bears = "everything"
    default: str = "false"
    versions: tuple[str, ...] = ALL


class SetOtherwise(Struct, frozen=True, gc=False):
    """A setting that decides and is not evaluated, or that nobody here knows."""

    kind: Kind
    name: str
    bears: Bears = "everything"
    known: bool = True


def _rows(
    kind: Kind, says: Says, why: str, names: str, *, default: str = "false", versions: tuple[str, ...] = ALL
) -> Iterator[Setting]:
    for name in names.split():
        yield Setting(kind, name, says, why, default=default, versions=versions)


_GATES = (
    *_rows(
        "feature gate",
        "evaluated",
        "changes how quotas are counted",
        "MultiQuotaTree DisableDefaultQuota ElasticQuotaGuaranteeUsage ElasticQuotaImmediateIgnoreTerminatingPod",
    ),
    Setting(
        "feature gate", "EnableInlineBatchSchedule", "evaluated", "a plan is carried out at once", versions=MAIN
    ),
    *_rows(
        "feature gate",
        "evaluated",
        "what claims and devices use counts only where it is on",
        "DRADeviceTaints DRAPartitionableDevices DRADeviceBindingConditions DRAConsumableCapacity",
        versions=NEW,
    ),
    Setting("feature gate", "PriorityTransformer", "decides", "pods without priority get one", "told"),
    Setting("feature gate", "PreemptionPolicyTransformer", "decides", "pods get a preemption policy", "told"),
    Setting("feature gate", "OmitNodeLabelsForReservation", "decides", "reservations match without nodes", "told"),
    Setting("feature gate", "ElasticQuotaIgnorePodOverhead", "decides", "overhead counts in no quota", "told"),
    Setting("feature gate", "ElasticQuotaIgnoreTerminatingPod", "decides", "pods that end do not count", "told"),
    Setting("feature gate", "ReplaceResourcesTransformer", "decides", "resources are renamed", "told", versions=NEW),
    Setting("feature gate", "SkipFilterWithNominatedPods", "decides", "one pass of filters", "told", versions=MAIN),
    Setting("feature gate", "CrossSchedulerNomination", "decides", "others' nominations hold", "told", versions=MAIN),
    Setting("feature gate", "ResizePod", "decides", "a pod may be resized as it is placed", "devices"),
    Setting("feature gate", "DevicePluginAdaption", "decides", "devices are booked for device plugins", "devices"),
    Setting("feature gate", "SkipReservationFitsNode", "decides", "room of nodes is not compared", "reservations"),
    Setting("feature gate", "DisableCSIStorageCapacityInformer", "decides", "storage capacity is not seen", "volumes"),
    Setting(
        "feature gate", "DisablePodDisruptionBudgetInformer", "decides", "no budget is seen by preemption", "preemption"
    ),
    Setting(
        "feature gate", "DisableDynamicResourceAllocationInformer", "decides", "no claim is seen", "claims",
        versions=NEW,
    ),
    Setting("feature gate", "DynamicResourceAllocation", "decides", "claims are ignored", "claims", "true"),
    Setting("feature gate", "CSIStorageCapacity", "decides", "storage capacity is not seen", "volumes", "true"),
    Setting("feature gate", "GenericEphemeralVolume", "decides", "ephemeral volumes", "volumes", "true"),
    Setting("feature gate", "PodDisruptionBudget", "decides", "no budget is seen by preemption", "preemption", "true"),
    Setting("feature gate", "NodeInclusionPolicyInPodTopologySpread", "decides", "nodes count", "spread", "true"),
    Setting("feature gate", "MatchLabelKeysInPodTopologySpread", "decides", "pods match", "spread", "true"),
    Setting("feature gate", "MinDomainsInPodTopologySpread", "decides", "domains count", "spread", "true"),
    Setting("feature gate", "InPlacePodVerticalScaling", "decides", "what resized pods request", default=""),
    Setting("feature gate", "PodLevelResources", "decides", "what pods request as a whole", default="true"),
    Setting("feature gate", "SidecarContainers", "decides", "what sidecars request", default="true"),
    Setting("feature gate", "PodSchedulingReadiness", "decides", "scheduling gates hold pods back", default="true"),
    Setting("feature gate", "GenericWorkload", "decides", "Kubernetes' own gangs", versions=NEW),
    Setting("feature gate", "GangScheduling", "decides", "Kubernetes' own gangs", versions=NEW),
    Setting("feature gate", "NodeDeclaredFeatures", "decides", "a further filter of nodes", versions=NEW),
    Setting("feature gate", "OpportunisticBatching", "decides", "what a pod is told counts for others", versions=NEW,
            default=""),
    Setting("feature gate", "TaintTolerationComparisonOperators", "decides", "tolerations compare", versions=NEW),
    Setting("feature gate", "AllAlpha", "decides", "switches every alpha gate"),
    Setting("feature gate", "AllBeta", "decides", "switches every beta gate", default=""),
    *_rows(
        "feature gate",
        "cannot matter",
        "older API of the same objects",
        "CompatibleCSIStorageCapacity CompatiblePodDisruptionBudget",
    ),
    *_rows(
        "feature gate",
        "cannot matter",
        "spares work and decides the same",
        "LazyReservationRestore DynamicSchedulerCheck SchedulerQueueingHints SchedulerAsyncPreemption"
        " SchedulerAsyncAPICalls SchedulerPopFromBackoffQ WatchList WatchListClient APIServerTracing",
    ),
    *_rows("feature gate", "cannot matter", "cleans annotations, later", "CleanExpiredReservationAllocated"),
    *_rows("feature gate", "cannot matter", "only the webhook reads it", "SupportParentQuotaSubmitPod"),
    *_rows("feature gate", "cannot matter", "a new leader waits until it has seen all", "SyncBarrier", versions=NEW),
    *_rows(
        "feature gate", "cannot matter", "conditions of pods that were not tried", "GangPendingPodsConditionPatch",
        versions=MAIN,
    ),
    *_rows(
        "feature gate", "cannot matter", "how a plan at once sees nodes, told with it",
        "EnableBatchScheduleNodeSnapshot", versions=MAIN,
    ),
    *_rows(
        "feature gate",
        "cannot matter",
        "order of nodes, or logs and metrics",
        "VolumeCapacityPriority StorageCapacityScoring DRAPrioritizedList DRAAdminAccess LoggingAlphaOptions"
        " LoggingBetaOptions ContextualLogging ComponentSLIs ComponentFlagz ComponentStatusz",
    ),
)  # fmt: skip
_FLAGS = (
    *_rows(
        "flag",
        "evaluated",
        "read with the configuration",
        "config feature-gates enable-network-topology-manager leader-elect leader-elect-resource-name"
        " leader-elect-resource-namespace",
    ),
    Setting("flag", "emulated-version", "decides", "defaults of feature gates", default=""),
    Setting("flag", "emulation-forward-compatible", "decides", "defaults of feature gates"),
    *_rows("flag", "cannot matter", "logs", (
        "v vmodule logging-format log-flush-frequency log-text-split-stream log-text-info-buffer-size"
        " log-json-split-stream log-json-info-buffer-size logtostderr alsologtostderr stderrthreshold log-dir log-file"
        " log-file-max-size log-backtrace-at one-output add-dir-header skip-headers skip-log-headers"
        " debug-scores debug-filters debug-diagnosis debug-diagnosis-blocking debug-diagnosis-queue-size"
        " debug-diagnosis-worker-count async-log async-log-queue-length"
    )),
    *_rows("flag", "cannot matter", "metrics and alerts", (
        "scheduler-monitor-period scheduling-timeout scheduling-drop-unhandled-timeout show-hidden-metrics-for-version"
        " disabled-metrics allow-metric-labels allow-metric-labels-manifest enable-workload-auditor"
        " workload-auditor-metric-labels workload-auditor-victim-reschedule-duration"
        " workload-auditor-victim-deletion-duration workload-auditor-victim-deleting-retries"
        " workload-auditor-scheduling-event-interval profiling contention-profiling"
    )),
    *_rows("flag", "cannot matter", "how it is reached, and reaches the API server", (
        "address port bind-address secure-port cert-dir tls-cert-file tls-private-key-file tls-cipher-suites"
        " tls-min-version tls-sni-cert-key tls-curve-preferences http2-max-streams-per-connection"
        " permit-address-sharing permit-port-sharing authentication-kubeconfig authentication-skip-lookup"
        " authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure"
        " authorization-always-allow-paths authorization-kubeconfig"
        " authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl client-ca-file"
        " requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix"
        " requestheader-group-headers requestheader-username-headers requestheader-uid-headers master kubeconfig"
        " kube-api-burst kube-api-qps kube-api-content-type write-config-to disable-http2-serving"
    )),
    *_rows("flag", "cannot matter", "when a leader gives way, or waits", (
        "leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period leader-elect-resource-lock"
        " lock-object-name lock-object-namespace sync-barrier-pod-name sync-barrier-pod-namespace sync-hard-timeout"
        " pod-max-in-unschedulable-pods-duration"
    )),
    *_rows("flag", "cannot matter", "controllers beside the decisions, or copies of objects", (
        "controller-plugins slo-config-name config-namespace node-strategy-name-need-check disable-no-deepcopy help"
        " version"
    )),
)  # fmt: skip


def _arguments(plugin: str, says: Says, why: str, names: str, versions: tuple[str, ...] = ALL) -> Iterator[Setting]:
    for row in _rows("argument", says, why, names, versions=versions):
        yield Setting("argument", f"{plugin}.{row.name}", says, why, versions=versions)


_ARGUMENTS = (
    *_arguments("Coscheduling", "evaluated", "", "enablePreemption awareNetworkTopology"),
    *_arguments("Coscheduling", "evaluated", "", "defaultMatchPolicy", NEW),
    *_arguments(
        "Coscheduling", "cannot matter", "how long members wait, and workers",
        "defaultTimeout controllerWorkers skipCheckScheduleCycle",
    ),
    *_arguments(
        "ElasticQuota", "evaluated", "",
        "defaultQuotaGroupMax systemQuotaGroupMax quotaGroupNamespace monitorAllQuotas enableCheckParentQuota"
        " enableRuntimeQuota enableMinQuotaScale disableDefaultQuotaPreemption hookPlugins",
    ),
    *_arguments("ElasticQuota", "cannot matter", "when pods are evicted", "delayEvictTime revokePodInterval"),
    *_arguments(
        "ElasticQuota", "cannot matter", "when pods are tried again", "enableQueueHint quotaSnapshotUpdateInterval", NEW
    ),
    *_arguments(
        "DeviceShare", "evaluated", "", "scoringStrategy disableDeviceNUMATopologyAlignment",
    ),
    *_arguments("DeviceShare", "evaluated", "", "gpuShareUnsupportedModels", NEW),
    *_arguments("DeviceShare", "cannot matter", "no longer used", "allocator"),
    *_arguments(
        "DeviceShare", "cannot matter", "templates make pods that ask for them unknown",
        "gpuSharedResourceTemplatesConfig",
    ),
    *_arguments("NodeNUMAResource", "evaluated", "", "defaultCPUBindPolicy scoringStrategy numaScoringStrategy"),
    *_arguments(
        "LoadAwareScheduling", "evaluated", "",
        "filterExpiredNodeMetrics nodeMetricExpirationSeconds enableScheduleWhenNodeMetricsExpired usageThresholds"
        " prodUsageThresholds prodUsageIncludeSys estimatedScalingFactors estimatedSecondsAfterPodScheduled"
        " estimatedSecondsAfterInitialized allowCustomizeEstimation aggregated",
    ),
    *_arguments(
        "LoadAwareScheduling", "cannot matter", "order of nodes",
        "resourceWeights dominantResourceWeight scoreAccordingProdUsage",
    ),
    Setting("argument", "LoadAwareScheduling.estimator", "decides", "how usage is estimated", "everything",
            "defaultEstimator"),
    Setting("argument", "LoadAwareScheduling.supportedResources", "decides", "which resources count", default="[]"),
    Setting("argument", "Reservation.enablePreemption", "decides", "reservations preempt", "reservations"),
    Setting(
        "argument", "Reservation.preAllocationConfig", "decides", "reservations take running pods", "reservations",
        "{}", NEW,
    ),
    *(
        Setting("argument", f"Reservation.{name}", "decides", "not counted there", "reservations", "[]", MAIN)
        for name in ("ignoredResources", "ignoredResourceGroups")
    ),
    *_arguments("Reservation", "cannot matter", "which nodes preemption looks at, told with enablePreemption",
                "minCandidateNodesPercentage minCandidateNodesAbsolute"),
    *_arguments("Reservation", "cannot matter", "when they are deleted, and workers", "controllerWorkers"
                " gcDurationSeconds"),
    *_arguments("Reservation", "cannot matter", "when they are deleted",
                "gcIntervalSeconds disableGarbageCollection resyncIntervalSeconds", NEW),
    *_arguments("Reservation", "cannot matter", "spares work", "reservationSelectorIndex", MAIN),
    *_arguments("SchedulingHint", "cannot matter", "pods with a hint are unknown", "maxHintNodes", NEW),
    *_arguments("ScarceResourceAvoidance", "cannot matter", "order of nodes", "resources"),
    *_arguments("NodeResourcesFitPlus", "cannot matter", "order of nodes", "resources"),
    *_arguments("NodeResourcesFit", "evaluated", "", "ignoredResources ignoredResourceGroups"),
    *_arguments("NodeResourcesFit", "cannot matter", "order of nodes", "scoringStrategy"),
    *_arguments("NodeResourcesBalancedAllocation", "cannot matter", "order of nodes", "resources"),
    *_arguments("NodeAffinity", "evaluated", "", "addedAffinity"),
    Setting("argument", "PodTopologySpread.defaultConstraints", "decides", "pods have more constraints", default="[]"),
    *_arguments("PodTopologySpread", "cannot matter", "the others only order nodes", "defaultingType"),
    *_arguments(
        "InterPodAffinity", "cannot matter", "order of nodes",
        "hardPodAffinityWeight ignorePreferredTermsOfExistingPods",
    ),
    *_arguments("VolumeBinding", "cannot matter", "how long binding takes, and order of nodes",
                "bindTimeoutSeconds shape"),
    *_arguments(
        "DefaultPreemption", "cannot matter", "whom it preempts is unknown anyhow",
        "minCandidateNodesPercentage minCandidateNodesAbsolute",
    ),
    *_arguments("DynamicResources", "cannot matter", "how long an attempt takes", "filterTimeout"
                " bindingTimeout", NEW),
)  # fmt: skip

_KEYS = (
    *_rows("key", "evaluated", "", "profiles extenders"),
    *_rows("key", "evaluated", "name and place of the lease", "leaderElection"),
    *_rows(
        "key", "cannot matter", "which nodes are scored, of those that fit", "percentageOfNodesToScore"
        " profiles[].percentageOfNodesToScore",
    ),
    *_rows("key", "cannot matter", "when pods are tried again", "podInitialBackoffSeconds podMaxBackoffSeconds"),
    *_rows("key", "cannot matter", "how fast it is", "parallelism delayCacheUntilActive clientConnection"),
    *_rows("key", "cannot matter", "profiles of the program", "enableProfiling enableContentionProfiling"),
    *_rows("key", "cannot matter", "where it listens", "healthzBindAddress metricsBindAddress", versions=("1.7",)),
)  # fmt: skip

TABLE: tuple[Setting, ...] = (*_GATES, *_FLAGS, *_KEYS, *_ARGUMENTS)
"""All rows."""
_BY_NAME: Mapping[tuple[Kind, str], Setting] = {(row.kind, row.name): row for row in TABLE}
_TYPE_META = ("apiVersion", "kind")


def only_version(gates: Iterable[str]) -> str | None:
    """Return the one version that knows all of some feature gates, as none starts with one that it does not know."""
    rows = [row for name in gates if (row := _BY_NAME.get(("feature gate", name))) is not None]
    versions = [version for version in ALL if all(version in row.versions for row in rows)]
    return versions[0] if len(versions) == 1 else None


def gates_set(version: str, gates: Mapping[str, bool]) -> Iterator[SetOtherwise]:
    """Yield the feature gates that are switched from what changes nothing, and not evaluated."""
    for name, is_on in gates.items():
        yield from _otherwise(version, "feature gate", name, "true" if is_on else "false")


def flags_set(version: str, flags: Iterable[str]) -> Iterator[SetOtherwise]:
    """Yield the flags among the words of a command line that decide and are not evaluated, or that are not known."""
    for word in flags:
        if word.startswith("--") and word != "--":
            name, _, value = word.removeprefix("--").replace("_", "-").partition("=")
            yield from _otherwise(version, "flag", name, value or "true")


def arguments_set(version: str, plugin: str, arguments: Mapping[str, object]) -> Iterator[SetOtherwise]:
    """Yield the arguments of a plugin that decide and are not evaluated, or that it does not have."""
    if not any(row.kind == "argument" and row.name.startswith(f"{plugin}.") for row in TABLE):
        return  # a plugin that is no one's here
    for name, value in arguments.items():
        if name not in _TYPE_META:
            yield from _otherwise(version, "argument", f"{plugin}.{name}", _written(value))


def _otherwise(version: str, kind: Kind, name: str, value: str) -> Iterator[SetOtherwise]:
    row = _BY_NAME.get((kind, name))
    if kind == "argument" and row is not None and version not in row.versions:
        return  # `doctor` tells it: this version has no such argument
    if row is None or version not in row.versions:
        yield SetOtherwise(kind, name, known=False)
    elif row.says == "decides" and value not in {row.default, ""}:
        yield SetOtherwise(kind, name, row.bears)


def _written(value: object) -> str:
    """Return a value as in YAML; nothing that is set is what is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
