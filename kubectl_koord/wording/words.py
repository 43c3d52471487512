"""Words that sentences share: names, amounts, ages, layers, suggestions, what is not evaluated, aimed commands."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar, assert_never

from msgspec import Struct

from kubectl_koord.language import say, spoken
from kubectl_koord.model import objects, values
from kubectl_koord.model.installation import Home
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.settings import SetOtherwise
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.model.unevaluated import (
    AddedAffinity,
    AttachedVolume,
    ClaimFeature,
    ForeignPlugin,
    IdleClaim,
    IgnoredResource,
    IncompletePool,
    NodeSetting,
    NodeSettingCode,
    OpenCards,
    OpenCardsCode,
    OpenClaim,
    OpenExtender,
    OpenGate,
    OpenPlugin,
    OpenProfile,
    OpenProfileCode,
    OpenQuota,
    OpenSetting,
    OpenToleration,
    OtherProfile,
    PodSetting,
    PodSettingCode,
    QuotaFault,
    QuotaSetting,
    Unevaluated,
    UnreadAttachments,
    UnreadCards,
    UnreadClaims,
    UnreadDevices,
    UnreadLoad,
    UnreadNamespaces,
    UnreadQuotas,
    UnreadReservations,
    UnreadRuntimeClass,
    UnreadScheduler,
    UnreadStorage,
    UnreadTopologies,
    UnreadVolume,
    UnreadVolumeLimits,
    WideningClaim,
    WideningCode,
    WideningPodSetting,
)
from kubectl_koord.model.values import Resources, between
from kubectl_koord.reports.common import Basis, Notice

AmountForm: TypeAlias = Literal["exact", "rounded"]
V = TypeVar("V")
_DEVICES = {"gpu": "GPU", "rdma": "RDMA", "fpga": "FPGA"}
_KOORD = "koordinator.sh/"
_RDMA = f"{_KOORD}rdma"  # in hundredths of a card
_SHORT = 6  # signs of an amount that is easily read
_DECIMALS = (3, 6)
_MOST_NAMES = 1 << 10
_OURS = re.compile(
    "(a|budget|each|finished|gangs?|its?|layer|lease|minimums|namespace|neither|no|only|phase|pods|profile|quotas|the"
    "|there|with) "
)
_BINARY = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


COMMA, SEMICOLON = say(", {clause}", clause=""), say("; {clause}", clause="")
"""What stands between clauses of a sentence; a list of names is `listed`."""


def several(noun: str) -> str:
    """Return the plural of a noun."""
    return f"{noun}{'es' if noun.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"


def count(number: int, noun: str) -> str:
    """Return `1 pod`, `4 pods`, `2 switches`."""
    return say(f"{{number}} {noun if number == 1 else several(noun)}").replace("{number}", str(number))


def noted(what: str, note: str) -> str:
    """Return something with a note on it in brackets."""
    return say("{what} ({note})", what=what, note=note)


def sentence(clause: str) -> str:
    """Return a clause as a sentence: an English word of ours that begins it gets a capital letter, no name does."""
    return f"{clause[0].upper()}{clause[1:]}" if spoken() == "en" and _OURS.match(clause) else clause


def span(least: V, most: V | None, word: Callable[[V], str] = str) -> str:
    """Return `66`, or `66 to 110` where there is more than the least."""
    return (
        word(least) if most is None or most == least else say("{word} to {word2}", word=word(least), word2=word(most))
    )


def paste(*words: str) -> str:
    """Return a command line that may be pasted into a shell, whatever the names are."""
    return " ".join(map(shlex.quote, words))


def command(*words: str) -> str:
    """Return a command line of this plugin that may be pasted, whatever the names are."""
    return paste("kubectl", "koord", *words)


def name_within(namespace_of: str, name: str) -> str:
    """Return `namespace/name` without the namespace where it is that of `namespace_of`, itself such a name."""
    namespace, slash, _ = namespace_of.partition("/")
    return name.removeprefix(namespace + slash) if slash else name


def asked_for(name: str, *, lone_pod: bool) -> str:
    """Return the name of a gang or pod as commands take it and listings print it."""
    return f"pod/{name}" if lone_pod else name


def the_subject(*, lone_pod: bool) -> str:
    """Return what a gang or pod is called once its name was told."""
    return say("the pod") if lone_pod else say("the gang")


def domain_name(name: str) -> str:
    """Return the name of a domain; the one above all others has none."""
    return name or "cluster"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Return `a, b and c`. Where that is too long for a screen, the page shortens it."""
    return say(f" {last} ").join(filter(None, [say(", ").join(items[:-1]), items[-1]])) if items else ""


def few(names: Sequence[str], most: int = 3) -> str:
    """Return the first of these names, and how many more there are."""
    rest = len(names) - most
    return listed([*names[:most], *([say("{rest} more", rest=rest)] if rest > 0 else [])])


def verb(number: int, one: str, many: str) -> str:
    """Return the form of a verb for so many."""
    return one if number == 1 else many


@lru_cache(_MOST_NAMES)
def resource_name(resource: str) -> str:
    """Return the short name of a resource: `CPU`, `GPU` for what counts GPUs, `NPU`, `RDMA`, else the name itself."""
    if resource == "cpu":
        return "CPU"
    if objects.family(resource) == objects.GPU and not resource.endswith("-memory-ratio"):
        return "GPU"
    last = resource.rpartition("/")[2]
    return last.upper() if last in {"npu", "rdma"} and last != resource else resource


def device_name(kind: str) -> str:
    """Return `GPU`, `RDMA`, `FPGA`; a type that the scheduler does not know as it is."""
    return _DEVICES.get(kind, kind)


def unit(resource: str) -> str:
    """Return the shortest name of a resource, for tables: `CPU`, `GPU`, `mig-1g.5gb`."""
    last = resource_name(resource).rpartition("/")[2]
    return last.upper() if last in {"rdma", "npu", "xpu", "tpu"} else last


def amounts_of(resource: str, *numbers: int) -> list[str]:
    """Return amounts of a resource that stand in one sentence: bytes no longer than is read, none like another one."""
    exact = [amount_of(resource, number) for number in numbers]
    if values.is_bytes(resource):
        for digits in _DECIMALS:
            texts = [
                text if len(text) <= _SHORT else _in_largest(number, digits)
                for text, number in zip(exact, numbers, strict=True)
            ]
            if len({*texts}) == len({*numbers}):
                return texts
    return exact


def amount_of(resource: str, number: int, form: AmountForm = "exact") -> str:
    """Return an amount as people count it: 150 of `koordinator.sh/gpu-core` or of `koordinator.sh/rdma` are 1.5 cards.

    `exact` is the quantity (`1500m`, `1536Mi`), for sentences and commands; `rounded` is for tables (`1.5`, `1.5Gi`).
    """
    if resource == _RDMA or (objects.is_share(resource) and resource_name(resource) == "GPU"):
        return f"{number / objects.CARD:g}"
    return _exact(resource, number) if form == "exact" else _rounded(resource, number)


def _exact(resource: str, number: int) -> str:
    """Return the shortest spelling that is read as the same amount: 3435973837 bytes are 3.2Gi, as manifests say."""
    spelled = values.spell(resource, number)
    if len(spelled) <= _SHORT or not values.is_bytes(resource):
        return spelled
    short = _in_largest(number, _DECIMALS[0])
    return short if values.amount(resource, values.parse(short)) == number else spelled


def _rounded(resource: str, number: int) -> str:
    if resource == "cpu":
        cores = f"{number / 1000:.2f}".rstrip("0").rstrip(".")
        return values.spell(resource, number) if number and cores in {"0", "-0"} else cores
    if values.is_bytes(resource):
        return _in_largest(number, 1)
    return str(number)


def _in_largest(number: int, digits: int) -> str:
    """Return bytes in the largest unit of which there is one, with no more than so many decimals."""
    for suffix, size in _BINARY:
        if abs(number) >= size:
            return f"{number / size:.{digits}f}".rstrip("0").rstrip(".") + suffix
    return str(number)


def amounts(needs: Iterable[tuple[str, int]]) -> str:
    """Return `8 CPU and 4 GPU`."""
    return listed([f"{amount_of(r, n)} {resource_name(r)}" for r, n in needs]) or say("no resources")


def main_amounts(needs: Mapping[str, int]) -> str:
    """Return what counts most of what pods request together: `64 GPU`, `96 CPU`."""
    return say(", ").join(f"{amount_of(name, number)} {unit(name)}" for name, number in objects.main_of(needs).items())


def layer_noun(layer: str) -> str:
    """Return what people call a domain of the layer: `spine` for SpineLayer; a name of another form as it is."""
    for ending in ("TopologyLayer", "Layer"):
        if layer.endswith(ending) and layer != ending:
            return layer.removesuffix(ending).lower()
    return layer


def requests(needs: Resources) -> str:
    """Return what a pod asks for, the resource that counts first, cards once: `8 GPU and 96 CPU`."""
    known = dict(needs)
    cores = known.get(f"{_KOORD}gpu-core")
    said_by_cores = {f"{_KOORD}gpu-memory-ratio": cores, f"{_KOORD}gpu.shared": cores and cores // objects.CARD}
    told = [(name, number) for name, number in ranked(needs) if said_by_cores.get(name) != number]
    return amounts(told)


def resource_names(resources: Iterable[str]) -> list[str]:
    """Return the short names of resources, each once; beside GPUs none of the names by which Koordinator splits one."""
    names = list(dict.fromkeys(map(resource_name, resources)))
    return [name for name in names if not ("GPU" in names and name.startswith(f"{_KOORD}gpu"))]


def requests_of_each(kinds: Sequence[Resources]) -> str:
    """Return what pods of one or several kinds ask for: `8 GPU or 2 CPU`."""
    return say(" or ").join(requests(needs) for needs in kinds)


def ranked(needs: Resources) -> list[tuple[str, int]]:
    """Return what a pod asks for in the order in which people name it: cards, CPU, the rest by name."""
    return sorted(needs, key=lambda need: (not objects.family(need[0]), need[0] != "cpu", need[0]))


_SLACK = timedelta(minutes=1)
_AGO = re.compile(r"\b\d+[dhms] ago\b")


def spelled(age: timedelta) -> str:
    """Return an age in its largest unit: `13d`, `2h`, `90s`, as kubectl does."""
    seconds = int(age.total_seconds())
    for size, sign in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{sign}"
    return f"{max(seconds, 0)}s"


def without_ages(text: str) -> str:
    """Return a text to compare with another, which may have been said a second later."""
    return _AGO.sub("ago", text)


def age_at(since: str, moment: str) -> str:
    """Return how long before `moment` the other moment was, empty when one of them is no time."""
    age = between(since, moment)
    return "" if age is None else spelled(age)


def overdue(pods: Iterable[RunningPod], moment: str) -> tuple[RunningPod, ...]:
    """Return the pods that still terminate though their grace period is over, the latest first.

    They may never end: a finalizer keeps them, or their node does not answer.
    """
    late = [(age, pod) for pod in pods if (age := between(pod.gone_by, moment)) is not None and age > _SLACK]
    return tuple(pod for _, pod in sorted(late, key=lambda item: (-item[0], item[1].key)))


def overdue_clause(pods: Iterable[RunningPod], moment: str) -> str:
    """Return, to follow a sentence, which pods should have terminated, and since when; empty for none."""
    late = overdue(pods, moment)
    age = between(late[0].gone_by, moment) if late else None
    if age is None:
        return ""
    return say(
        "{key} should have terminated {age} ago: check finalizers and node",
        key=listed([pod.key for pod in late]),
        age=spelled(age),
    )


OF_NO_CLUSTER = frozenset({"completion", "explain", "version"})
"""Our own verbs that need no cluster."""

_FOLLOWS = frozenset({"--until", "--watch", "-w"})
_OF_CLUSTER = say("Commands of kubectl, and those that change or follow something,")
_PART = re.compile(r"""\s+|'[^']*'|"(?:\\.|[^"\\])*"|\\.|&&|\|\||[;&|(){}]|[^\s'"\\;&|(){}]+|.""", re.DOTALL)
_SEPARATORS = frozenset({"&&", "||", ";", "&", "|", "(", "{", "do", "then", "else"})


class Aim(Struct, frozen=True):
    """What chose the cluster, as words for a command line.

    `kubectl` are for kubectl, `koord` for our own commands. `note` says what no word can: that kubectl's commands are
    for another cluster than the file that was read, that a token is not repeated.
    """

    kubectl: tuple[str, ...] = ()
    koord: tuple[str, ...] = ()
    note: str = ""


HERE = Aim()
"""The current context: nothing needs to be said."""


def aimed(command: str, aim: Aim) -> str:
    """Return a command line for a shell with the words that choose the cluster, in each of its simple commands.

    They stand behind `kubectl`, and at the end of a command of ours, as a person types them. What is quoted, and what
    is no command but an argument, stays as it is. What changes or follows the cluster gets the words of kubectl also
    where it is a command of ours: no file can be changed, and none goes on.
    """
    found: list[str] = []
    simple: list[str] = []
    for part in _PART.findall(command):
        if part in _SEPARATORS:
            found += [*_simple(simple, aim), part]
            simple = []
        else:
            simple.append(part)
    return "".join([*found, *_simple(simple, aim)])


def each_command(line: str) -> list[str]:
    """Return the commands of a line that are joined by `&&`, as a page shows them: one below the other."""
    found = [""]
    for part in _PART.findall(line):
        if part == "&&":
            found.append("")
        else:
            found[-1] += part
    return [one.strip() for one in found if one]


def _simple(parts: Sequence[str], aim: Aim) -> list[str]:
    """Return a command without pipes, and with the space around it."""
    words = [part for part in parts if not part.isspace()]
    if words[:1] != ["kubectl"]:
        return list(parts)
    is_ours = words[1:2] == ["koord"]
    chosen = [f" {shlex.quote(word)}" for word in (_of_ours(words[2:], aim) if is_ours else aim.kubectl)]
    behind = parts.index("kubectl") + 1
    if is_ours:
        redirects = (place for place, part in enumerate(parts) if part.startswith((">", "<")))
        behind = next(redirects, len(parts))
        while parts[behind - 1].isspace():
            behind -= 1
    return [*parts[:behind], *chosen, *parts[behind:]]


def _of_ours(words: Sequence[str], aim: Aim) -> tuple[str, ...]:
    if OF_NO_CLUSTER & {*words[:1]}:
        return ()
    is_change = words[:1] in (["annotate"], ["evict"]) and not any(word.startswith("--dry-run") for word in words)
    return aim.kubectl if is_change or _FOLLOWS & {*words} else aim.koord


def is_for_cluster(command: str) -> bool:
    """Tell whether a command line holds what only a cluster takes: kubectl's own commands, changes, what goes on."""
    return aimed(command, Aim(kubectl=("--",))) != command


def for_recorded(files: Sequence[str]) -> str:
    """Return for which cluster commands are where files were read, or the demo where none is named."""
    if not files:
        return say("{of_cluster} are examples here: the demo cluster is no real one.", of_cluster=_OF_CLUSTER)
    again = say("; the others read standard input again: give them the same") if "-" in files else ""
    source = say("this input") if "-" in files else ", ".join(files)
    return say(
        "{of_cluster} are for the cluster that {source} came from: add its --context{again}.",
        of_cluster=_OF_CLUSTER,
        source=source,
        again=again,
    )


def not_repeated(flags: Sequence[str]) -> str:
    """Return that flags with secrets are not in the commands."""
    return say("The commands do not repeat {flags}: add what is secret yourself.", flags=", ".join(flags))


def assumed_config(why: str) -> str:
    """Return that the configuration is assumed; `why` it could not be read, empty where it was not found."""
    if not why:
        return say("the scheduler's configuration was not read; assuming Helm chart defaults.")
    return say("the scheduler's configuration could not be read ({why}); assuming Helm chart defaults.", why=why)


def lease_missing(home: Home) -> str:
    """Return that there is no leader lease."""
    return say(
        "lease {lease} does not exist in {namespace}: the scheduler has never been active, runs "
        "elsewhere (--koordinator-namespace), or runs without leader election.",
        lease=home.lease,
        namespace=home.namespace,
    )


def could_not_be_read(gaps: Iterable[Gap]) -> str:
    """Return which kinds could not be read, and why, without a full stop."""
    kinds = dict.fromkeys(gap.kind for gap in gaps)
    reasons = dict.fromkeys(gap.message for gap in gaps)
    return say("{kinds} could not be read: {reasons}", kinds=listed(tuple(kinds)), reasons=listed(tuple(reasons)))


def not_followed(outcomes: int) -> str:
    """Return that there are more outcomes than were followed, and that nothing is known of the others."""
    return say("followed {outcomes} of more outcomes: what the others come to is unknown", outcomes=outcomes)


def not_read(kinds: Iterable[str], reason: str) -> str:
    """Return the warning of kinds that could not be read for one reason."""
    return say("{kinds}: {reason}", kinds=listed(tuple(dict.fromkeys(kinds))), reason=reason)


def none_in_input(kinds: Iterable[str]) -> str:
    """Return the warning of kinds of which the input holds nothing."""
    return say("snapshot contains no {kinds}; assuming none exist.", kinds=listed(tuple(kinds), "or"))


def evaluated_as(basis: Basis, facts: Iterable[str] = ()) -> str:
    """Return the facts counted, whose behaviour the answer reproduces, and of which cluster it is."""
    by = say(
        "Evaluated as Koordinator {koordinator_version} ({version_from})",
        koordinator_version=basis.koordinator_version,
        version_from=basis.version_from,
    )
    return say(". ").join(filter(None, [SEMICOLON.join(filter(None, facts)), by, named(basis)]))


def named(basis: Basis) -> str:
    """Return the names that the kubeconfig has for the cluster, empty where it has none."""
    if not basis.context:
        return say("Cluster {cluster}", cluster=basis.cluster) if basis.cluster else ""
    return COMMA.join(
        filter(
            None,
            [
                say("Context {context}", context=basis.context),
                basis.cluster and say("cluster {cluster}", cluster=basis.cluster),
            ],
        )
    )


def read_at(basis: Basis) -> str:
    """Return what was read, and when."""
    source = {"file": say("a file"), "demo": say("the demo cluster")}.get(
        basis.source, say("the {source}", source=basis.source)
    )
    return ". ".join(
        filter(None, [say("Read from {source} at {moment}", source=source, moment=basis.moment), named(basis)])
    )


def warning(notice: Notice) -> str:
    """Return a warning with its code."""
    return say("Warning: {message} ({code})", message=notice.message, code=notice.code)


DETAILS = say("Details: ")
NEXT_STEPS = say("What to do next")
CODES = say("kubectl koord explain CODE shows what a code means and what to do next.")
_MOST_CASES = 2
OUTCOMES = say("Possible outcomes (no object shows which one)")


def and_more(what: str, how: str = "") -> str:
    """Return that there is more than is shown, such as `19 more`, and how to see it."""
    return say("... and {what}{how} (--all shows them)", what=what, how=how)


def more(number: int, noun: str = "") -> str:
    """Return that there are so many more: `... and 4 more victims (--all shows them)`, of a noun `more victim`."""
    return and_more(_more(number, noun))


def more_of_pods(number: int) -> str:
    """Return that there are so many more pods."""
    return more(number, "more pod")


def _more(number: int, noun: str) -> str:
    return count(number, noun) if noun else say("{number} more", number=number)


def told(found: Iterable[tuple[Sequence[str], str]]) -> list[str]:
    """Return outcomes, each with the cases in which it comes: those of the same cases in one."""
    by_case: dict[str, list[str]] = {}
    for cases, outcome in found:
        by_case.setdefault(_cases(tuple(dict.fromkeys(cases))), []).append(outcome)
    return [
        say("If {case}: {outcomes}", case=case, outcomes=say(" Or: ").join(outcomes))
        for case, outcomes in by_case.items()
    ]


def _cases(cases: Sequence[str]) -> str:
    if len(cases) <= _MOST_CASES:
        return say(", or ").join(cases)
    return say("{cases}, or in {number} other cases", cases=cases[0], number=len(cases) - 1)


def beyond_limit(number: int, noun: str = "") -> str:
    """Return that there are so many more than `--limit` allows."""
    return say("... and {more}", more=_more(number, noun))


def more_pods(pods: int, nodes: int) -> str:
    """Return how many more pods there are, on how many more nodes."""
    return and_more(say("{pods} on {nodes} more nodes", pods=count(pods, "pod"), nodes=nodes))


def first_names(names: Sequence[str], more: int) -> str:
    """Return the first names of a list, and how many more there are."""
    return say("{names} and {more} more (--all shows them)", names=say(", ").join(names), more=more)


def columns_left_out(titles: Sequence[str]) -> str:
    """Return that there is no room for columns."""
    return say("(no room for {titles})", titles=", ".join(titles))


def command_left_out(size: int) -> str:
    """Return that a command is too long to be shown."""
    return say("(a command of {size} characters: -o json has it)", size=size)


_OF_SCHEDULER = {
    "whether the scheduler is active": "Lease",
    "the scheduler's flags": "Deployment",
    "the scheduler's configuration": "ConfigMap",
}
_POD_SETTINGS: Mapping[PodSettingCode | WideningCode, str] = {
    "npu-template": say("template of shared NPU resources"),
    "scheduling-hint": say("scheduling hint"),
    "unknown-numa-policy": say("a NUMA policy of the pods that the scheduler does not know and may crash on"),
    "default-storage-class": say("default StorageClass for a volume claim"),
    "resource-claim-template": say("template of resource claims"),
    "exclusive-topology": say("exclusive placement by topology"),
    "volume-claim-policy": say("volume claim policies of a JobSet"),
    "resource-quota-scope": say("scopes of a ResourceQuota"),
    "exclusive-node-selector": say("exclusive placement by node selectors"),
    "training-runtime": say("the training runtime of a TrainJob (it was not read: give it with a further -f)"),
    "training-runtime-patches": say("runtimePatches of a TrainJob"),
}
_CLAIM_FEATURES: Mapping[ClaimFeature, str] = {
    "selector": say("CEL selector"),
    "attribute": say("devices on which its CEL selectors fail"),
    "constraints": say("constraints between devices"),
    "all-devices": say("requests for all devices that have to share an attribute, or are more than 32"),
    "every-alternative": say("requests for all devices as an alternative"),
    "admin-access": say("administrative access beside other claims"),
    "beside-allocated": say("claims that are allocated and claims that are not, for which 1.8 may fail to rank nodes"),
    "prioritized-list": say("requests with alternatives"),
    "capacity": say("capacity requests"),
    "shared-device": say("devices that several claims may share"),
    "counters": say("partitionable devices"),
    "taints": say("device taints"),
    "binding-conditions": say("devices with binding conditions"),
    "node-selection": say("devices that nodes share"),
}
_QUOTA_FAULTS: Mapping[QuotaFault, str] = {
    "no-parent": say("its parent does not exist"),
    "cycle": say("it is below itself"),
    "same-name": say("several quotas have this name"),
    "same-namespace": say("several quotas list the namespace"),
}
_QUOTA_SETTINGS = {"hook-plugin": say("hook plugin"), "feature-gate": say("feature gate")}
_PROFILES: Mapping[OpenProfileCode, str] = {
    "unread": say("no right to list clustercolocationprofiles.config.koordinator.sh"),
    "namespaces": say("Namespace objects could not be read"),
    "probability": say("it changes some pods, at random"),
    "mapping": say("it maps keys onto each other"),
    "patch": say("its patch changes containers, or has directives"),
}
_CARDS: Mapping[OpenCardsCode, str] = {
    "unread": say("no right to list mutatingwebhookconfigurations.admissionregistration.k8s.io"),
    "version": say("without koordinator.sh/gpu.shared 1.7 and 1.8 ask for other cards than later versions"),
}
_NODE_SETTINGS: Mapping[NodeSettingCode, str] = {
    "load-estimates": say("estimates of load for a time after pods are initialized"),
    "load-thresholds": say("thresholds of load for other resources than CPU and memory"),
    "numa-topology-policy": say("NUMA policy of nodes with more than 8 zones"),
    "unknown-numa-policy": (
        say("labels with a NUMA policy that the scheduler does not know and may crash on: see 'kubectl koord doctor'")
    ),
}


def depends_on(items: Iterable[Unevaluated]) -> str:
    """Return that the answer depends on what is not evaluated."""
    return say("it depends on {unevaluated_names}, which is not evaluated.", unevaluated_names=unevaluated_names(items))


def unevaluated_names(items: Iterable[Unevaluated]) -> str:
    """Return `quota team, CPU binding and node settings (NUMA topology policy)`: node settings together, last."""
    items = tuple(items)
    names = [_name(item) for item in items if not isinstance(item, NodeSetting)]
    settings = sorted(_name(item) for item in items if isinstance(item, NodeSetting))
    return listed([*names, *([say("node settings ({settings})", settings=listed(settings))] if settings else [])])


def setting_name(kind: str, name: str) -> str:
    """Return how a setting of the scheduler is called: `feature gate X`, `flag --x`, `argument Plugin.x`."""
    return f"{kind} {'--' if kind == 'flag' else ''}{name}"


def settings_left_out(settings: Iterable[SetOtherwise]) -> str:
    """Return the warning that the scheduler is told what is not evaluated."""
    settings = tuple(settings)
    decide = [setting_name(one.kind, one.name) for one in settings if one.known]
    unknown = [setting_name(one.kind, one.name) for one in settings if not one.known]
    told = [say("{decide}, which may decide and is not evaluated", decide=listed(decide))] if decide else []
    told += [say("{unknown}, which is not known here for its version", unknown=listed(unknown))] if unknown else []
    return say("the scheduler has {told}.", told=say("; and ").join(told))


def _of_setting(item: OpenGate | OpenSetting | OpenToleration | ForeignPlugin) -> str:
    if isinstance(item, ForeignPlugin):
        return say("plugin {name} of the scheduler, which is neither Kubernetes' nor Koordinator's", name=item.name)
    if isinstance(item, OpenToleration):
        how = say("the API server adds it with ExtendedResourceToleration, or the template")
        return say("a toleration of taint {key} ({how})", key=item.key, how=how)
    if isinstance(item, OpenGate):
        return say("{setting_name} of the scheduler", setting_name=setting_name(say("feature gate"), item.name))
    return say(
        "{setting_name} of the scheduler{part}",
        setting_name=setting_name(item.kind, item.name),
        part="" if item.known else say(" (not known here)"),
    )


def _of_scheduler(kinds: Sequence[str]) -> str:
    parts = [part for part, of in _OF_SCHEDULER.items() if of in kinds]
    return say("{parts} ({kinds} objects could not be read)", parts=listed(parts), kinds=listed(kinds))


def _name(item: Unevaluated) -> str:
    match item:
        case OpenQuota(name, fault):
            return say("quota {name} ({quota_faults})", name=name, quota_faults=_QUOTA_FAULTS[fault])
        case QuotaSetting(kind, name):
            return say(
                "{quota_settings} {name} of the scheduler's quotas", quota_settings=_QUOTA_SETTINGS[kind], name=name
            )
        case UnreadQuotas():
            return say("quotas (ElasticQuota objects could not be read)")
        case UnreadCards():
            return say("the cards of the nodes (Device objects could not be read)")
        case UnreadLoad():
            return say("the measured load of the nodes (NodeMetric objects could not be read)")
        case UnreadTopologies():
            return say("the CPUs and NUMA zones of the nodes (NodeResourceTopology objects could not be read)")
        case UnreadScheduler(kinds):
            return _of_scheduler(kinds)
        case UnreadReservations():
            return say("reservations (Reservation objects could not be read)")
        case UnreadNamespaces():
            return say("namespace selectors of inter-pod affinities (Namespace objects could not be read)")
        case UnreadStorage(name, kind):
            return say(
                "volume claim {name} (not bound yet, and {kind} objects could not be read)", name=name, kind=kind
            )
        case UnreadVolume(name):
            return say("volume claim {name} (its volume could not be read)", name=name)
        case UnreadVolumeLimits():
            return say("how many volumes the nodes can hold (CSINode objects could not be read)")
        case UnreadAttachments():
            return say("which volumes are attached to the nodes (VolumeAttachment objects could not be read)")
        case UnreadClaims():
            return say("how many volumes the nodes hold already (PersistentVolumeClaim objects could not all be read)")
        case OpenClaim(name, feature, detail):
            told = f" {detail}" if detail else ""
            return say(
                "resource claim {name} ({claim_features}{told})",
                name=name,
                claim_features=_CLAIM_FEATURES[feature],
                told=told,
            )
        case WideningClaim(name, feature):
            return say("resource claim {name} ({claim_features})", name=name, claim_features=_CLAIM_FEATURES[feature])
        case IdleClaim(name):
            return say("resource claim {name} (no other pod uses it: the scheduler may release it)", name=name)
        case IncompletePool(driver, pool):
            return say(
                "device pool {pool} of driver {driver} (not all of its ResourceSlices are there)",
                pool=pool,
                driver=driver,
            )
        case UnreadDevices(kind):
            return say("resource claims ({kind} objects could not all be read)", kind=kind)
        case AttachedVolume(name):
            return say("attached volume {name}", name=name)
        case UnreadRuntimeClass(name):
            return say("RuntimeClass {name} (RuntimeClass objects could not be read)", name=name)
        case OpenProfile(name, code):
            return say(
                "ClusterColocationProfile{part} ({profiles})",
                part=f" {name}" if name else "s",
                profiles=_PROFILES[code],
            )
        case OpenGate() | OpenSetting() | OpenToleration() | ForeignPlugin():
            return _of_setting(item)
        case AddedAffinity():
            return say("the node affinity that the scheduler adds to that of every pod (addedAffinity)")
        case IgnoredResource(name):
            return say("resource {name}, of which the scheduler ignores whether a node has enough", name=name)
        case OpenExtender():
            return say("an extender of the scheduler")
        case OtherProfile(name):
            return say("profile {name} of the scheduler, whose settings differ from those of the first", name=name)
        case OpenPlugin(name, points):
            return say(
                "plugin {name} of the scheduler, which its profile does not enable at {points}",
                name=name,
                points=listed(points),
            )
        case OpenCards(code):
            return say("what Koordinator's webhook makes of parts of GPUs ({cards})", cards=_CARDS[code])
        case PodSetting(code) | WideningPodSetting(code):
            return _POD_SETTINGS[code]
        case NodeSetting(code):
            return _NODE_SETTINGS[code]
        case _:
            assert_never(item)
