"""The manual: one page per code. `codes` says which codes there are, a test that each has a page."""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.reports import codes
from kubectl_koord.reports.codes import Code
from kubectl_koord.reports.explanation import CodeRow, Explanation, Explanations
from kubectl_koord.wording.suggestions import near

_USES = (
    ("cause", codes.CauseCode),
    ("reason of preempt", codes.ReasonCode),
    ("warning", codes.WarningCode),
    ("way out", codes.ActionCode),
)


class Page(Struct, frozen=True):
    """What there is to say of a code: a title, what it means, how the scheduler comes to it, what to do.

    `see` are commands that show it; words in capitals are to be replaced.
    """

    title: str
    text: str
    how: str
    remedy: str
    see: tuple[str, ...]


def explained(code: str) -> Explanation | tuple[str, ...]:
    """Return the page of a code; for none of ours those that are near, if any."""
    page = next((page for known, page in PAGES.items() if known == code), None)
    if page is None:
        return near(code.lower(), PAGES)
    uses = tuple(use for use, known in _USES if code in codes.members(known))
    return Explanation("yes", code, uses, page.title, page.text, page.how, page.see, page.remedy)


def contents() -> Explanations:
    """Return every code with its title, under its heading; causes in the order in which the scheduler looks."""
    titles: Mapping[str, str] = {code: page.title for code, page in PAGES.items()}
    rows = (CodeRow(group, code, titles[code]) for group, listed in codes.GROUPS for code in listed)
    return Explanations("yes", tuple(rows))


_PODS = "kubectl get pods -n NAMESPACE -l pod-group.scheduling.sigs.k8s.io=GANG"
_GROUP = "kubectl get podgroup GANG -n NAMESPACE -o yaml"
_TOPOLOGY = "kubectl get clusternetworktopology default -o yaml"
_CONFIG = "kubectl get configmap koord-scheduler-config -n koordinator-system -o yaml"
_SLOTS = "kubectl koord topo --for GANG -n NAMESPACE"
_DRY = "kubectl koord preempt GANG -n NAMESPACE --dry-run"
_GRANTS = "kubectl auth can-i --list"

PAGES: Mapping[Code, Page] = {
    # --- causes, in the scheduler's order ----------------------------------------------------
    "other-scheduler": Page(
        "The pods have another schedulerName",
        "spec.schedulerName of every pod is not a profile of koord-scheduler. Koordinator ignores them and"
        " writes no event and no condition.",
        "koord-scheduler serves only the schedulerName of its own profiles (koord-scheduler in the Helm chart). A pod"
        " without schedulerName goes to default-scheduler, which does not know gangs.",
        "Set schedulerName in the pod template of the job and recreate the pods: schedulerName of a pod"
        " cannot be changed. A"
        " ClusterColocationProfile can set it for new pods.",
        ("kubectl get pods -n NAMESPACE -o custom-columns=NAME:.metadata.name,SCHEDULER:.spec.schedulerName",),
    ),
    "mixed-schedulers": Page(
        "Some pods of the gang have another schedulerName",
        "Only some members have a schedulerName of Koordinator. The others count as members, but koord-scheduler"
        " never places them: without them the gang may not reach its minimum.",
        "A gang counts every pod that carries its name, whatever its scheduler; only pods that koord-scheduler places"
        " ever wait for each other. It is a warning where the others are enough.",
        "Give all pods of the job the same schedulerName, and recreate the others.",
        ("kubectl get pods -n NAMESPACE -o custom-columns=NAME:.metadata.name,SCHEDULER:.spec.schedulerName",),
    ),
    "no-scheduler": Page(
        "koord-scheduler is not active",
        "The leader lease of koord-scheduler was not renewed for about 15 seconds: no replica schedules at the moment,"
        " and no pod is placed.",
        "The leading replica renews the lease koord-scheduler every few seconds. When it dies another one takes over"
        " after about 15 seconds; when none can, the lease expires.",
        "Look at the pods of koord-scheduler and their logs. Without leader election, the lease is ignored.",
        (
            "kubectl get lease koord-scheduler -n koordinator-system -o yaml",
            "kubectl get pods -n koordinator-system -l koord-app=koord-scheduler",
        ),
    ),
    "being-deleted": Page(
        "Pending pods are being deleted",
        "Pods with a deletionTimestamp are not scheduled. A pending pod is removed at once unless it has a"
        " finalizer; until then it counts as a member of its gang.",
        "The scheduler skips pods that are being deleted, but counts them as members: the others may wait"
        " for them for ever. It is a warning where the other pods are enough.",
        "Find the controller that set the finalizers, and why it does not remove them.",
        ("kubectl get pod POD -n NAMESPACE -o jsonpath='{.metadata.finalizers}'",),
    ),
    "scheduling-gated": Page(
        "Scheduling gates hold the pods back",
        "spec.schedulingGates is not empty: a controller, usually a queue such as Kueue, has not released"
        " the pods yet.",
        "Gated pods never enter the scheduler's queue. Koordinator counts them as members and, for a topology gang,"
        " as required slots. The outcome for a gang with only some gated pods is therefore unknown, unless fewer"
        " pods are without a gate than must wait at the same time: then none starts.",
        "The controller that set the gate must remove it: the gate's name usually names the controller.",
        ("kubectl get pods -n NAMESPACE -o custom-columns=NAME:.metadata.name,GATES:.spec.schedulingGates[*].name",),
    ),
    "no-podgroup": Page(
        "The pods name a PodGroup that does not exist",
        "The label pod-group.scheduling.sigs.k8s.io names a PodGroup, and the namespace has none of that name. The"
        " pods stay pending without an event or a condition.",
        "With this label the gang's settings come from the PodGroup alone. Without the PodGroup, the gang is never"
        " initialised and PreEnqueue holds every pod back; only the scheduler's log shows it.",
        "Create the PodGroup, in the namespace of the pods, or correct the label. The way out that why-pending shows"
        " is ready to paste.",
        ("kubectl get podgroups -n NAMESPACE", _PODS),
    ),
    "gang-not-initialised": Page(
        "The gang has no valid min-available",
        "Pods define this gang themselves, and its minimum is missing or is not a whole number. The pods"
        " stay pending without an event or a condition.",
        "The minimum is read as a 32-bit integer, from label pod-group.scheduling.sigs.k8s.io/min-available or"
        " annotation gang.scheduling.koordinator.sh/min-available of the first pod seen: 3.0, ' 3' or 3e0"
        " are not valid.",
        "Recreate the pods with a whole number, or create a PodGroup of the gang's name: it takes precedence.",
        ("kubectl get pods -n NAMESPACE -o yaml | grep min-available",),
    ),
    "too-few-pods": Page(
        "The gang has fewer pods than its minimum",
        "Fewer pods of the gang exist than it needs to start. They stay pending without an event or a condition.",
        "PreEnqueue counts every pod that carries the gang's name, including finished pods and pods of other"
        " schedulers, and holds all back until there are minMember. Finished pods count here but never wait.",
        "Find out why the missing pods were not created (quota, admission, the job's controller), or lower minMember.",
        (_PODS, _GROUP, "kubectl get events -n NAMESPACE --field-selector reason=FailedCreate"),
    ),
    "group-member-missing": Page(
        "Another gang of the group does not exist",
        "The gang may start only together with others, and one that its groups annotation lists does not exist, or is"
        " never initialised (no PodGroup, no valid min-available).",
        "The list is taken literally: ids must be NAMESPACE/NAME; an id without a namespace never resolves. All"
        " gangs must exist before any pod of the group is tried; only the log shows it.",
        "Create the missing gang, or correct annotation gang.scheduling.koordinator.sh/groups on every gang of it.",
        (_GROUP, "kubectl get podgroups -A"),
    ),
    "group-member-too-few-pods": Page(
        "Another gang of the group has too few pods",
        "The gang itself is complete; another gang of its group has fewer pods than its minimum, and all wait for it.",
        "Each gang of a group must have its minimum of pods before any is tried. The scheduler's log names the whole"
        " group, not the gang with too few pods.",
        "Create the missing pods of that gang, or lower its minMember.",
        ("kubectl get podgroups -A", "kubectl koord why-pending -A"),
    ),
    "groups-differ": Page(
        "The gangs of a group list different groups",
        "Two gangs belong together only when their groups annotations hold the same set of ids, themselves included."
        " Otherwise each is in a group of its own, or one waits for another that does not wait for it.",
        "The id of a group is its sorted list as written: own ids are not added. A gang joins its group once; editing"
        " the annotation later does not move it.",
        "Write the same list on every gang of the group, and recreate the PodGroups if the job still does not start.",
        ("kubectl koord annotate podgroup GANG -n NAMESPACE --groups NS/A,NS/B --dry-run", _GROUP),
    ),
    "surplus-pods": Page(
        "More pods than the gang's minimum",
        "The gang has more pods than minMember. A topology gang needs slots for all its pending pods, not only for the"
        " minimum; once the minimum is bound, the other pods are left over.",
        "desiredOfferSlot is the number of all pending pods of the group. The round ends when the minimum is met: the"
        " others stay without an event or a condition until the queue is flushed about 5 minutes later,"
        " and are then tried"
        " one by one (with match policy only-waiting never).",
        "Set minMember to the number of pods, or scale the job down to its minimum.",
        (_GROUP, _PODS),
    ),
    "replacement-waits": Page(
        "A replacement pod waits for a whole gang",
        "Pods of a gang that ran were recreated, and must wait for as many pending pods as the minimum, which"
        " never exist.",
        "With only-waiting bound members never count. With once-satisfied the new pods need not wait, as long as the"
        " scheduler remembers that the gang ran; a restart can lose that when it sees the pods before their PodGroup.",
        "Touch the PodGroup: the scheduler then counts the bound pods again. Or use match policy waiting-and-running.",
        ("kubectl annotate podgroup GANG -n NAMESPACE touched-at=$(date +%s) --overwrite", _PODS),
    ),
    "satisfied-by-earlier-pods": Page(
        "Pods of an earlier run make the gang count as satisfied",
        "Finished pods of an earlier run still exist under the same gang name. The new pods are therefore scheduled"
        " one by one: without gang and topology plan, and each preempts on its own.",
        "Match policy once-satisfied asks only whether any pod of the group was ever bound, and finished pods that"
        " still exist count. The flag stays as long as the group lives.",
        "Use a different gang name for each run, or delete the finished pods and the PodGroup before the next run.",
        (_PODS,),
    ),
    "no-topology": Page(
        "There is no topology for a gang that asks for one",
        "The gang has a topology spec, and the scheduler has no tree to plan on: no ClusterNetworkTopology is named"
        " default, or awareNetworkTopology is off.",
        "Only the object named default counts, and only with --enable-network-topology-manager=true. Without a tree"
        " every attempt ends in 'no cluster network topology'; with awareNetworkTopology off only the first member"
        " gets a node, the others fail with 'no planned pods'.",
        "Create the ClusterNetworkTopology default, turn the setting on, or remove the spec from the gang.",
        ("kubectl get clusternetworktopology", _CONFIG),
    ),
    "broken-layer-chain": Page(
        "The layers of the topology form no chain",
        "spec.networkTopologySpec of ClusterNetworkTopology default does not lead from NodeTopologyLayer, parent by"
        " parent, through all its entries. There is no tree, and no gang with a topology spec is placed.",
        "The scheduler starts at the entry NodeTopologyLayer and follows parentTopologyLayer once per entry. A missing"
        " entry, an entry outside the chain or a cycle breaks it.",
        "Fix parentTopologyLayer: each layer names the one above it, the topmost ClusterTopologyLayer or none.",
        (_TOPOLOGY, "kubectl koord topo"),
    ),
    "unknown-layer": Page(
        "The gang names a layer that the topology does not have",
        "A gather rule names a layer that is not in the ClusterNetworkTopology; names are case-sensitive. With"
        " MustGather the gang can never be placed; with PreferGather the rule has no effect (a warning).",
        "No domain is on this layer, so none offers a slot: the message lists no domains after desiredOfferSlot.",
        "Use a layer that kubectl koord topo shows.",
        ("kubectl koord topo", "kubectl koord annotate podgroup GANG -n NAMESPACE --must-gather LAYER --overwrite"),
    ),
    "quota": Page(
        "An elastic quota refuses the pods",
        "The scheduler says that the quota of the pods has no room. The numbers are its own words, from the condition"
        " on the pods: quotas are not evaluated by this program, so the verdict stays unknown. If something else"
        " certainly stops the gang, that is the cause, and quota is listed as another problem: the message may be old.",
        "PreFilter of ElasticQuota compares used plus request with the quota's runtime, or its min for pods that may"
        " not be preempted, and with that of every parent where parents are checked.",
        "Wait for pods of the quota to end, or raise it. Preemption by the job cannot help: it does not see quotas.",
        ("kubectl get elasticquotas -A", "kubectl describe pod POD -n NAMESPACE"),
    ),
    "insufficient-slots": Page(
        "No domain has enough slots",
        "All pending pods of the gang must find a slot in one domain of the required layer, and no domain"
        " has that many."
        " The table of why-pending shows the slots of each domain and what blocks the rest.",
        "For each node, the scheduler counts how many pods fit; it adds up these slots by domain and needs one domain"
        " with as many slots as there are pending pods (desiredOfferSlot), even if minMember is lower.",
        "Free resources in the domain with the fewest missing slots, gather on a wider layer, or use PreferGather."
        " The ways out shown were tried: with each of them the gang would be placed.",
        (_SLOTS, _DRY),
    ),
    "multiple-mismatch": Page(
        "The number of pods is no multiple of podCountMultiple",
        "There are enough slots, but each domain of a layer must get a multiple of podCountMultiple pods, and the"
        " number of pods cannot be split that way.",
        "Since 1.8, slots are rounded down to the multiple, layer by layer, and so is what a domain is asked for: 6"
        " pods with a multiple of 4 yield 4 wherever there is room.",
        "Choose a number of pods that is a multiple, or another multiple. 1.7 ignores the setting.",
        (_GROUP, "kubectl koord annotate podgroup GANG -n NAMESPACE --multiple LAYER=N --overwrite"),
    ),
    "no-feasible-node": Page(
        "No node fits a pod",
        "Every node refuses the pod: for insufficient resources, taints, selectors, affinity, volumes or"
        " ports. why-pending"
        " counts the nodes by reason.",
        "The filters look at each node in turn, and the first that refuses gives the reason. For a gang the first"
        " member that fits nowhere fails all.",
        "Read the reasons: insufficient resources may pass with time or preemption; a selector or taint that fits"
        " nowhere does not.",
        ("kubectl describe pod POD -n NAMESPACE", _DRY),
    ),
    "insufficient-capacity": Page(
        "Fewer pods fit at the same time than must",
        "Each pod of the gang fits somewhere, but not enough of them at the same time.",
        "A gang without topology spec is placed pod by pod: each pod reserves a place and waits for the others;"
        " when one finds none before the minimum is waiting, all give their places back.",
        "Free resources for the missing pods, lower minMember, or wait. A gang of higher priority may go"
        " first: then the"
        " message says so.",
        ("kubectl koord why-pending -A", _DRY),
    ),
    "never-fits": Page(
        "It does not fit even in an empty cluster",
        "Without any other pods, and without cordons, taints or anything else but resources, the pods would still not"
        " fit: waiting and preemption do not help.",
        "This program repeats the scheduler's placement on the empty cluster (or, with MustGather, on the empty domains"
        " of the layer), counting the whole room of every node there. The scheduler itself only reports what is short"
        " now.",
        "Request less: smaller requests, fewer pods, a wider layer; or add nodes.",
        (_SLOTS, "kubectl get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.allocatable.cpu"),
    ),
    "waiting-for-preemption": Page(
        "Victims of an earlier attempt are still terminating",
        "The scheduler has preempted pods for the gang and waits until they are gone; meanwhile it preempts no"
        " other pods for it.",
        "Victims get their grace period. As long as one that the scheduler preempted still terminates on a node to"
        " which a member is nominated, no further preemption is tried.",
        "Wait. A victim that does not terminate has a finalizer, or its node does not respond.",
        ("kubectl get pods -A --field-selector spec.nodeName=NODE", _DRY),
    ),
    "waiting-for-retry": Page(
        "It would be placed now, but the scheduler has not retried yet",
        "What the scheduler reported on the pods is no longer true: in the present cluster the gang would"
        " be placed. The"
        " verdict is yes.",
        "A refused pod is tried again when something changes that its refusal depends on. A topology gang is refused"
        " by Coscheduling, which registers no cluster events: freed resources do not trigger a retry, only the flush"
        " after 5 minutes, a new pod or a change of its PodGroup.",
        "Wait up to 5 minutes, or touch the PodGroup.",
        ("kubectl annotate podgroup GANG -n NAMESPACE touched-at=$(date +%s) --overwrite",),
    ),
    "not-readable": Page(
        "Objects that decide could not be read",
        "The verdict is unknown without them: objects that could not be read are not assumed to be absent.",
        "The API server refused the list, or does not serve the kind; the message quotes it.",
        "Ask for the right to list the kind that is named, or use a snapshot made by somebody with these rights.",
        (_GRANTS, "kubectl auth can-i list nodes"),
    ),
    "not-evaluated": Page(
        "It depends on something that this program does not evaluate",
        "The gang would fit by all that is evaluated; something named in the message may still refuse it, such as a"
        " quota, the cards of a node or a reservation.",
        "What is not evaluated can only refuse more: a no stays a no, a yes becomes unknown. Reservations that the"
        " pods may use are the exception: they may also make room.",
        "Look at what the scheduler itself says on the pods.",
        ("kubectl describe pod POD -n NAMESPACE",),
    ),
    "several-outcomes": Page(
        "The outcome depends on state that no object shows",
        "The outcome depends on what only the scheduler's memory holds, such as which of several different pods it"
        " tries first. All outcomes are listed.",
        "Slots are counted with the shape of the pod that is tried first; with pods of different sizes the counts"
        " differ. Attempts go on with other pods until one has an effect.",
        "Give the pods of the gang the same requests if you can; otherwise free enough resources for the"
        " worst outcome.",
        (_SLOTS,),
    ),
    # --- reasons of preempt ------------------------------------------------------------------
    "not-needed": Page(
        "No preemption is needed",
        "The gang fits now: its next attempt places it.",
        "Preemption is tried only after a pod did not fit.",
        "Nothing. If it stays pending, see waiting-for-retry.",
        ("kubectl koord why-pending GANG -n NAMESPACE",),
    ),
    "preemption-disabled": Page(
        "Job preemption is off",
        "enablePreemption in the CoschedulingArgs is not true: no pods are preempted for a gang as a whole.",
        "The Helm chart enables it with scheduler.enableJobPreemption (the default); the plain manifests do not.",
        "Enable it, or free resources by hand.",
        (_CONFIG,),
    ),
    "no-pending-pods": Page(
        "No pod is pending",
        "Every pod of the gang has a node, so there is nothing to preempt for.",
        "Preemption is for pods without a node.",
        "Nothing.",
        (_PODS,),
    ),
    "policy-never": Page(
        "The pods may not preempt",
        "preemptionPolicy of the pods (usually from their PriorityClass) is Never: they wait for free resources.",
        "Only the policy of the pod that failed first is looked at.",
        "Use a PriorityClass that preempts, or free resources by hand.",
        ("kubectl get priorityclasses -o custom-columns=NAME:.metadata.name,POLICY:.preemptionPolicy",),
    ),
    "terminating-victim": Page(
        "Victims of an earlier attempt are still terminating",
        "No further preemption is tried before they are gone.",
        "A member is nominated to a node on which a pod that the scheduler preempted still terminates.",
        "Wait; the verdict of preempt is what comes once they are gone.",
        ("kubectl get pods -A --field-selector spec.nodeName=NODE",),
    ),
    "no-victims": Page(
        "No pods can be preempted",
        "No possible node has a lower-priority pod that may be preempted.",
        "Victims have a lower priority than the pod that failed, no label disable-preemptible=true and not"
        " preemptible=false of their quota; nodes that refuse for a taint or selector are not looked at.",
        "Raise the priority of the gang, or free resources by hand.",
        ("kubectl get pods -A -o custom-columns=NAME:.metadata.name,PRIORITY:.spec.priority,NODE:.spec.nodeName",),
    ),
    "not-helpful": Page(
        "Preemption would not help",
        "The gang would not fit even without every pod that may be preempted, so no pods are preempted.",
        "The placement is repeated without all possible victims; it chooses victims only if all pending pods then fit.",
        "Check why-pending for the other reasons.",
        (_DRY, _SLOTS),
    ),
    # --- warnings ----------------------------------------------------------------------------
    "foreign-gang-marker": Page(
        "The pod carries the gang marker of another scheduler only",
        "Labels of newer scheduler-plugins (scheduling.x-k8s.io/pod-group) and Volcano's group-name annotation mean"
        " nothing to Koordinator: the pod is scheduled alone, as soon as it fits.",
        "Koordinator reads label pod-group.scheduling.sigs.k8s.io, its variant ending in /name, and annotation"
        " gang.scheduling.koordinator.sh/name, in this order.",
        "Add the label pod-group.scheduling.sigs.k8s.io and a PodGroup, or use the scheduler that the marker is for.",
        ("kubectl get pod POD -n NAMESPACE -o yaml",),
    ),
    "min-member-zero": Page(
        "The gang's minimum is 0",
        "spec.minMember is 0 or absent: the pods never wait for each other, so there is no gang in effect.",
        "A minimum of 0 is always met: each pod is bound as soon as it has a place. The phase of the PodGroup stays"
        " Pending for ever.",
        "Set minMember to the number of pods that must start together.",
        (_GROUP,),
    ),
    "stale-phase": Page(
        "The phase of the PodGroup is from an earlier run",
        "status.phase does not describe the pods that exist now. The scheduler does not use it.",
        "The controller never looks again at a PodGroup that is Finished or Failed, nor at one that was Scheduled"
        " without running pods for 48 hours.",
        "Use a new PodGroup for a new run, or ignore the phase.",
        (_GROUP,),
    ),
    "stuck-representative": Page(
        "1.7 may have left the group stuck",
        "The gang would be placed, and the scheduler has not reported anything about it. Koordinator 1.7"
        " can forget a group: it"
        " lets one pod represent it, and does not replace that pod.",
        "If the representative fails the gang check at a bad moment, the others are held back because"
        " a representative exists (koordinator#2773, fixed in 1.8).",
        "Delete the oldest pod of the gang, restart the leading koord-scheduler, or upgrade.",
        ("kubectl get lease koord-scheduler -n koordinator-system", _PODS),
    ),
    "groups-unreadable": Page(
        "The groups annotation is no JSON list of strings",
        "The gang has no group: the scheduler ignores the annotation and says so in its log only.",
        "gang.scheduling.koordinator.sh/groups is parsed as JSON; when that fails the gang's own id is the group.",
        "Write a list of NAMESPACE/NAME ids.",
        ("kubectl koord annotate podgroup GANG -n NAMESPACE --groups NS/A,NS/B --overwrite", _GROUP),
    ),
    "topology-spec-unreadable": Page(
        "The topology spec cannot be parsed and is ignored",
        "The gang is placed without any topology, as if it had no spec: its pods may end up anywhere.",
        "gang.scheduling.koordinator.sh/network-topology-spec is parsed as JSON; when that fails the scheduler writes"
        " one line into its log and goes on.",
        "Correct the JSON before the pods are placed.",
        ("kubectl koord annotate podgroup GANG -n NAMESPACE --must-gather LAYER --overwrite", _GROUP),
    ),
    "differing-specs": Page(
        "The gangs of the group have different topology specs",
        "Only one of the specs is used for the whole group, depending on the pod that is tried first.",
        "A group is planned as one, with the spec of the gang whose pod is tried first.",
        "Write the same spec on every gang of the group.",
        (_GROUP,),
    ),
    "unknown-strategy": Page(
        "A gather rule has a strategy that does not exist",
        "The rule has no effect: only MustGather and PreferGather are valid.",
        "The scheduler looks for rules with strategy MustGather; it checks no other spelling.",
        "Correct the spec.",
        ("kubectl koord annotate podgroup GANG -n NAMESPACE --must-gather LAYER --overwrite",),
    ),
    "topology-not-aware": Page(
        "The scheduler does not plan by topology",
        "awareNetworkTopology is off in the CoschedulingArgs: the gang's topology spec has no effect on its single"
        " pod. A gang of several pods would not be placed at all.",
        "Without it the plan that gives members their nodes is never made; the check that they have one stays.",
        "Set awareNetworkTopology: true (the Helm chart does), or remove the spec from the gang.",
        (_CONFIG,),
    ),
    "index-not-honoured": Page(
        "Ranks do not decide which node a pod gets",
        "The order of annotation network-topology-index differs from the order of the names, and nodes are"
        " assigned in the lexical order of names: worker-10 comes before worker-2.",
        "The index only orders the pods while slots are counted; the last sort before nodes are assigned is by name, in"
        " all versions.",
        "Give the pods names that sort like their ranks, such as worker-002 and worker-010.",
        ("kubectl koord annotate pods GANG -n NAMESPACE --index --dry-run", _PODS),
    ),
    "worst-fit": Page(
        "A topology selector turns best fit into worst fit",
        "With annotation network-topology-selector the gang goes into the domain with the most room, not into the"
        " one that fits best, and fragments the cluster.",
        "From 1.8 on domains with pods of the same selector are preferred, and the scheduler counts the gang's own"
        " planned pods among them: more slots, more pods.",
        "Remove the annotation if it is not needed.",
        (_SLOTS,),
    ),
    "topology-other-name": Page(
        "No ClusterNetworkTopology is named default",
        "There is a ClusterNetworkTopology, but the scheduler only uses the one named default.",
        "All other names are ignored silently.",
        "Recreate it with the name default.",
        ("kubectl get clusternetworktopology",),
    ),
    "layer-cycle": Page(
        "A layer of the topology is its own ancestor",
        "parentTopologyLayer forms a cycle: there is no top layer, and no tree.",
        "The scheduler does not notice a cycle; its tree is then undefined.",
        "Fix parentTopologyLayer: one chain from NodeTopologyLayer to the top.",
        (_TOPOLOGY,),
    ),
    "merged-domains": Page(
        "Domains with the same name and several parents are one domain",
        "Two racks called r1 below different spines are one domain for the scheduler, below the parent that it"
        " reads first: it adds up slots that are not close to each other.",
        "A domain is identified by its layer and name, not by its path.",
        "Give the domains of a layer names that are unique in the cluster.",
        ("kubectl koord topo", "kubectl get nodes --show-labels"),
    ),
    "outside-nodes": Page(
        "Nodes lack a label and are outside the tree",
        "Gangs with a topology spec are never placed on them, although they count in '0/N nodes are available'.",
        "A node needs a label for every layer but the lowest one above the nodes.",
        "Label the nodes that kubectl koord topo lists.",
        ("kubectl koord topo", "kubectl label node NODE KEY=VALUE"),
    ),
    "virtual-domains": Page(
        "Nodes without the lowest label are domains of their own",
        "A node that lacks the label of the layer right above the nodes gets a domain of its own with its own name.",
        "The scheduler creates it so that all nodes have the same depth.",
        "Label the nodes, unless each should be a domain of its own.",
        ("kubectl koord topo --nodes",),
    ),
    "stale-status": Page(
        "The status of the ClusterNetworkTopology is out of date",
        "The tree that the scheduler last wrote there differs from the one that the labels make now.",
        "The scheduler rebuilds the tree every 10 seconds. A lasting difference means that it does not run, that its"
        " topology manager is off, or that the object was deleted in between.",
        "Wait 10 seconds; then look whether koord-scheduler runs with --enable-network-topology-manager=true.",
        (_TOPOLOGY, "kubectl get lease koord-scheduler -n koordinator-system"),
    ),
    "slots-not-shown": Page(
        "Slots are not shown because they depend on something not evaluated",
        "The number of slots by domain would not be that of the scheduler.",
        "Cards, reservations and the like can refuse pods on a node that has room by its plain resources.",
        "Look at the slots in the scheduler's own message on the pods.",
        ("kubectl describe pod POD -n NAMESPACE",),
    ),
    "ignores-budgets": Page(
        "Job preemption ignores PodDisruptionBudgets",
        "A victim is covered by a budget, which the scheduler does not look at.",
        "The job preemption of Koordinator chooses victims by priority and room alone. Evictions respect budgets;"
        " preemption deletes.",
        "Label pods that must not be preempted with scheduling.koordinator.sh/disable-preemptible=true.",
        ("kubectl koord preempt GANG -n NAMESPACE --dry-run=server", "kubectl get pdb -A"),
    ),
    "wasted-victims": Page(
        "The preemption would be wasted",
        "Pods would be preempted for the gang, and it would still not run.",
        "For a gang without topology spec pods are not counted against each other: all are nominated to the"
        " same cheapest node, whose pods are preempted first.",
        "Free resources by hand, protect the victims, or give the gang a topology spec.",
        (_DRY,),
    ),
    "mixed-policies": Page(
        "The pods have different preemption policies",
        "Which pods are preempted depends on which pod of the gang is tried first.",
        "Only the policy of the pod that failed is looked at.",
        "Use one PriorityClass for all pods of the gang.",
        ("kubectl get pods -n NAMESPACE -o custom-columns=NAME:.metadata.name,POLICY:.spec.preemptionPolicy",),
    ),
    "lease-missing": Page(
        "The scheduler has no leader lease",
        "The lease koord-scheduler does not exist in koordinator-system. Either no scheduler was ever active,"
        " or it runs elsewhere or without leader election: this is unknown, so it is only a warning.",
        "A scheduler with leader election creates the lease when it starts.",
        "Check whether koord-scheduler is running.",
        ("kubectl get lease -A", "kubectl get pods -A -l koord-app=koord-scheduler"),
    ),
    "contended": Page(
        "Others need the same room",
        "Another gang of the same priority needs the same room, and there is not enough for both: the one tried first"
        " gets it, and no object shows which. A gang of higher priority gets freed resources first.",
        "The queue is sorted by priority, then by how long a pod has waited in it.",
        "Wait and look again, or give the one that must run first a higher priority.",
        ("kubectl koord why-pending -A",),
    ),
    "member-by-name": Page(
        "Inferred from the name only",
        "The pod is gone, and only an event is left: its gang is inferred from its name.",
        "Events name the pod, not its labels.",
        "Treat it as likely; use why-preempted POD for the certain facts.",
        ("kubectl get events -n NAMESPACE --field-selector reason=Preempted",),
    ),
    "assumed-config": Page(
        "The scheduler's configuration is assumed",
        "It is not in the input or cannot be read: the defaults of the Helm chart are assumed.",
        "ConfigMap koord-scheduler-config in koordinator-system holds profiles and plugin arguments.",
        "Ask for the right to read it, or add it to the snapshot.",
        (_CONFIG,),
    ),
    "kind-not-in-input": Page(
        "The snapshot contains no objects of some kinds",
        "A snapshot counts as the whole cluster: a kind that it does not contain is assumed to have no objects.",
        "The answer depends on these kinds, so they are listed.",
        "Create the snapshot with all kinds that the README lists.",
        ("kubectl koord why-pending GANG --snapshot cluster.json",),
    ),
    "forbidden-list": Page(
        "A kind may not be read",
        "The API server forbids the list. Where it could matter, the verdict is unknown: objects that could not be"
        " read are not assumed to be absent.",
        "The message is the server's own and names user, verb and resource.",
        "Ask for the right to list the kind in the whole cluster.",
        (_GRANTS,),
    ),
    "missing-list": Page(
        "A kind is not served by the API server",
        "The API does not exist in this cluster, usually because a CRD is not installed.",
        "ClusterNetworkTopology, for one, exists from Koordinator 1.7 on and can be left out of the Helm chart.",
        "Install the CRD if the feature is wanted.",
        ("kubectl api-resources --api-group=scheduling.koordinator.sh",),
    ),
    "one-namespace-list": Page(
        "A kind could be read in one namespace only",
        "Pods or PodGroups of other namespaces were not read: free resources of nodes are then unknown.",
        "The list of the whole cluster is forbidden, that of the namespace is not.",
        "Ask for the right to list the kind in the whole cluster. Causes that need no nodes are still answered.",
        (_GRANTS,),
    ),
    # --- ways out ----------------------------------------------------------------------------
    "touch-podgroup": Page(
        "Touch the PodGroup",
        "Any change of the PodGroup, such as an annotation of your own, makes the scheduler look at its gang again.",
        "Coscheduling puts the pods of a gang back into the queue when its PodGroup changes, and counts bound pods"
        " again.",
        "Run the command; the annotation itself has no effect.",
        ("kubectl annotate podgroup GANG -n NAMESPACE touched-at=$(date +%s) --overwrite",),
    ),
    "set-scheduler-name": Page(
        "Name Koordinator as the scheduler",
        "The pods must carry the schedulerName of a Koordinator profile.",
        "schedulerName is fixed when a pod is created.",
        "Set it in the pod template of the job, then recreate the pods.",
        (_CONFIG,),
    ),
    "see-scheduler": Page(
        "Check why koord-scheduler is not running",
        "No pods are placed without an active replica.",
        "Replicas that crash, wait for their image, or cannot reach the API server renew no lease.",
        "Read the state and the log of its pods.",
        (
            "kubectl get pods -n koordinator-system -l koord-app=koord-scheduler",
            "kubectl logs -n koordinator-system -l koord-app=koord-scheduler --tail=50",
        ),
    ),
    "see-finalizers": Page(
        "Check which finalizers block the pods",
        "A pending pod that is being deleted is removed as soon as its finalizers are removed.",
        "Each finalizer belongs to a controller, which removes it when its work is done.",
        "Find that controller; do not remove a finalizer that you do not know.",
        ("kubectl get pod POD -n NAMESPACE -o jsonpath='{.metadata.finalizers}'",),
    ),
    "ungate": Page(
        "Have the scheduling gates removed",
        "The controller that set the gates must remove them: that is how it releases the pods.",
        "Gated pods do not enter the scheduler's queue.",
        "Ask the queueing system (Kueue and the like) why it has not admitted the job.",
        ("kubectl get pods -n NAMESPACE -o custom-columns=NAME:.metadata.name,GATES:.spec.schedulingGates[*].name",),
    ),
    "create-podgroup": Page(
        "Create the PodGroup",
        "The pods name a PodGroup that must exist in their namespace; minMember is how many must start together.",
        "The scheduler initialises the gang as soon as the PodGroup appears; the pods need not be touched.",
        "Paste the command, with a smaller minMember if fewer pods are enough.",
        ("kubectl get podgroups -n NAMESPACE",),
    ),
    "set-min-available": Page(
        "Give the pods a valid min-available",
        "A gang that its pods define needs a whole number as its minimum.",
        "It is read from the first pod that the scheduler sees.",
        "Correct it in the pod template and recreate the pods, or create a PodGroup of the gang's name.",
        (_PODS,),
    ),
    "add-pods": Page(
        "Create the missing pods",
        "The gang starts when as many pods exist as its minimum.",
        "Whatever creates the pods (a Job, a training operator) has not created all: a quota, an admission webhook or"
        " its own settings may be the reason.",
        "Look at its status and events.",
        ("kubectl get events -n NAMESPACE --field-selector reason=FailedCreate",),
    ),
    "lower-minimum": Page(
        "Lower minMember",
        "The gang starts with the pods that exist.",
        "spec.minMember is read at once; nothing has to be recreated.",
        "Only where the job can run with fewer pods.",
        (_GROUP,),
    ),
    "fix-groups": Page(
        "Write the same group on every gang of it",
        "All gangs of a group must list the same ids, themselves included, each as NAMESPACE/NAME.",
        "The list is taken literally, and a gang joins its group when the scheduler first sees it.",
        "Set the annotation on each gang; recreate the PodGroups if they do not form one group.",
        ("kubectl koord annotate podgroup GANG -n NAMESPACE --groups NS/A,NS/B --dry-run",),
    ),
    "set-match-policy": Page(
        "Count bound pods",
        "With match policy waiting-and-running the members that run count towards the minimum.",
        "only-waiting counts only pods that wait in Permit at the same time.",
        "Set the policy on the PodGroup; it is read at once.",
        ("kubectl koord annotate podgroup GANG -n NAMESPACE --match-policy waiting-and-running --overwrite",),
    ),
    "create-topology": Page(
        "Create the ClusterNetworkTopology default",
        "Its entries name the layers from the top to NodeTopologyLayer, each with the node labels that tell a domain.",
        "The scheduler reads the object named default alone, and rebuilds its tree every 10 seconds.",
        "Create it (an object of another name cannot be renamed: recreate it), then look at the tree.",
        ("kubectl koord topo", "kubectl get clusternetworktopology NAME -o yaml"),
    ),
    "set-topology-aware": Page(
        "Let the scheduler plan by topology",
        "awareNetworkTopology: true in the CoschedulingArgs switches the planning on.",
        "Without it members of a topology gang have no planned node and are refused.",
        "Edit the ConfigMap and restart koord-scheduler; it reads its configuration when it starts.",
        (_CONFIG, "kubectl rollout restart deployment koord-scheduler -n koordinator-system"),
    ),
    "fix-layers": Page(
        "Fix the chain of layers",
        "Every entry must be on one chain: NodeTopologyLayer, its parent, and so on to the top.",
        "The scheduler follows parentTopologyLayer once per entry and gives up when a name has no entry.",
        "Edit the object, then look at the tree.",
        ("kubectl edit clusternetworktopology default", "kubectl koord topo"),
    ),
    "use-layer": Page(
        "Gather on a layer that exists",
        "The nearest name in the topology is offered.",
        "Names of layers are case-sensitive and compared as they are written.",
        "Paste the command: it shows what changes and the effect before it writes.",
        ("kubectl koord topo",),
    ),
    "wait-for-terminating": Page(
        "Wait for terminating pods",
        "They free enough resources: the gang would be placed once they are gone.",
        "A terminating pod keeps its resources until the kubelet has stopped it.",
        "Wait for their grace period.",
        ("kubectl get pods -A --field-selector spec.nodeName=NODE",),
    ),
    "wait-for-preemption": Page(
        "Wait for the scheduler to preempt",
        "Job preemption will preempt the listed pods, and the gang then runs.",
        "It is tried after each failed attempt of the gang.",
        "Wait, or first check which pods it preempts.",
        (_DRY,),
    ),
    "uncordon": Page(
        "Uncordon a node",
        "With the node uncordoned, the gang would be placed.",
        "Cordoned nodes take no new pods, and preemption does not look at them.",
        "Find out why the node was cordoned before you uncordon it.",
        ("kubectl describe node NODE",),
    ),
    "tolerate": Page(
        "Tolerate a taint",
        "If all pods of the gang tolerated this taint, it would be placed.",
        "Nodes with a NoSchedule or NoExecute taint that a pod does not tolerate are left out before anything else.",
        "Ask who tainted the nodes and why; then add the toleration to the pod template, or paste the command.",
        ("kubectl get nodes -o custom-columns=NODE:.metadata.name,TAINTS:.spec.taints",),
    ),
    "gather-wider": Page(
        "Gather on a wider layer",
        "In one domain of the layer above there is room for all pods.",
        "The wider the layer, the more nodes and the longer the network path between them.",
        "Paste the command: it shows what changes and the effect before it writes.",
        (_SLOTS,),
    ),
    "prefer-gather": Page(
        "Use PreferGather instead of MustGather",
        "Without a hard rule the gang is placed as close together as resources allow.",
        "The scheduler then takes the lowest domain that holds all pods, up to the whole cluster.",
        "Paste the command: it shows what changes and the effect before it writes.",
        (_SLOTS,),
    ),
    "smaller-multiple": Page(
        "Lower a podCountMultiple",
        "With a smaller multiple the pods can be split over the available slots, and the gang would be placed.",
        "Since 1.8 the slots of a domain are rounded down to the multiple of its layer: the rest is not used.",
        "Paste the command, if the job does not need that many pods in each domain.",
        (_SLOTS,),
    ),
    "fewer-pods": Page(
        "Run with fewer pods",
        "With this many pods (the largest number that fits), the gang would be placed.",
        "A topology gang needs slots for all its pending pods at once, any other gang for its minimum.",
        "Scale the job down: change the controller that owns the pods, or it recreates them.",
        (_GROUP, _SLOTS),
    ),
    "drop-surplus": Page(
        "Scale the job down to its minimum",
        "With minMember pods alone the gang would be placed: only the pods beyond the minimum do not fit.",
        "The scheduler needs slots for all pending pods of a topology gang, including those beyond the minimum.",
        "Lower the number of replicas; scale up again when there is room.",
        (_GROUP, _SLOTS),
    ),
    "smaller-request": Page(
        "Request less per pod",
        "With this request (the largest that fits), the gang would be placed.",
        "What counts is what the pods request, not what they use.",
        "Change the request in the pod template, and recreate the pods: requests of a pod cannot be changed.",
        (_SLOTS,),
    ),
    "free-pods": Page(
        "Evict pods that block the gang",
        "Without these pods the gang would be placed; they are the fewest that harm no budget, no other gang's minimum"
        " and no protected pod, lowest priority first.",
        "Sets of pods were removed in the domains with the fewest missing slots, and the placement was repeated.",
        "Ask their owners first. A Deployment or Job recreates its pods, possibly on the same node. Evict, do not"
        " delete: evictions honour PodDisruptionBudgets.",
        ("kubectl get pod POD -n NAMESPACE -o wide", "kubectl get pdb -n NAMESPACE"),
    ),
    "move-pod": Page(
        "Move a pod that blocks the gang",
        "This pod fits on another node, and the gang would then be placed.",
        "Its own filters were run on that node, with the gang in its place.",
        "Cordon its node, evict the pod so that its controller recreates it elsewhere, then uncordon the node.",
        ("kubectl get pod POD -n NAMESPACE -o wide",),
    ),
    "add-nodes": Page(
        "Add nodes",
        "With this many more nodes like an existing one, the gang would be placed.",
        "Empty nodes with the same labels, taints and size were added to the topology, and the placement repeated.",
        "Ask the cluster administrator, and check that the new nodes carry the topology labels.",
        (_SLOTS,),
    ),
    "pair": Page(
        "Two changes together",
        "No single change is enough, but this pair is: make both changes.",
        "Each first change was tried with each second one, within a limit; the cheapest pair is shown.",
        "Make the first change, check again, then make the second.",
        (_SLOTS,),
    ),
}
"""Written for who has just read the code in an answer. Grouped and ordered like the codes."""
