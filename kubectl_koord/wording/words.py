"""Where names and amounts become English; nowhere else."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

from kubectl_koord.model import accelerators
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values import quantity

AmountForm: TypeAlias = Literal["exact", "rounded"]
V = TypeVar("V")
_DEVICES = {"gpu": "GPU", "rdma": "RDMA", "fpga": "FPGA"}
_KOORD = "koordinator.sh/"
_SHORT = 6  # signs of an amount that is easily read
_DECIMALS = (3, 6)
_MOST_NAMES = 1 << 10
_OURS = re.compile(
    "(a|budget|each|finished|gangs?|its?|layer|lease|minimums|namespace|neither|no|only|phase|pods|profile|quotas|the"
    "|there|with) "
)
_BINARY = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def count(number: int, noun: str) -> str:
    """Return `1 pod`, `4 pods`, `2 switches`."""
    ending = "es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def sentence(clause: str) -> str:
    """Return a clause as a sentence: a word of ours that begins it gets a capital letter, a name stays as it is."""
    return f"{clause[0].upper()}{clause[1:]}" if _OURS.match(clause) else clause


def span(least: V, most: V | None, word: Callable[[V], str] = str) -> str:
    """Return `66`, or `66 to 110` where there is more than the least."""
    return word(least) if most is None or most == least else f"{word(least)} to {word(most)}"


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
    return "the pod" if lone_pod else "the gang"


def domain_name(name: str) -> str:
    """Return the name of a domain; the one above all others has none."""
    return name or "cluster"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Return `a, b and c`. Where that is too long for a screen, the page shortens it."""
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), items[-1]])) if items else ""


def few(names: Sequence[str], most: int = 3) -> str:
    """Return the first of these names, and how many more there are."""
    rest = len(names) - most
    return listed([*names[:most], *([f"{rest} more"] if rest > 0 else [])])


def verb(number: int, one: str, several: str) -> str:
    """Return the form of a verb for so many."""
    return one if number == 1 else several


@lru_cache(_MOST_NAMES)
def resource_name(resource: str) -> str:
    """Return the short name of a resource: `CPU`, `GPU` for what counts GPUs, `NPU`, `RDMA`, else the name itself."""
    if resource == "cpu":
        return "CPU"
    if accelerators.family(resource) == accelerators.GPU and not resource.endswith("-memory-ratio"):
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
    if quantity.is_bytes(resource):
        for digits in _DECIMALS:
            texts = [
                text if len(text) <= _SHORT else _in_largest(number, digits)
                for text, number in zip(exact, numbers, strict=True)
            ]
            if len({*texts}) == len({*numbers}):
                return texts
    return exact


def amount_of(resource: str, number: int, form: AmountForm = "exact") -> str:
    """Return an amount as people count it: 150 of `koordinator.sh/gpu-core` are 1.5 (GPU).

    `exact` is the quantity (`1500m`, `1536Mi`), for sentences and commands; `rounded` is for tables (`1.5`, `1.5Gi`).
    """
    if accelerators.is_share(resource) and resource_name(resource) == "GPU":
        return f"{number / accelerators.CARD:g}"
    return _exact(resource, number) if form == "exact" else _rounded(resource, number)


def _exact(resource: str, number: int) -> str:
    """Return the shortest spelling that is read as the same amount: 3435973837 bytes are 3.2Gi, as manifests say."""
    spelled = quantity.spell(resource, number)
    if len(spelled) <= _SHORT or not quantity.is_bytes(resource):
        return spelled
    short = _in_largest(number, _DECIMALS[0])
    return short if quantity.amount(resource, quantity.parse(short)) == number else spelled


def _rounded(resource: str, number: int) -> str:
    if resource == "cpu":
        return f"{number / 1000:.2f}".rstrip("0").rstrip(".")
    if quantity.is_bytes(resource):
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
    return listed([f"{amount_of(r, n)} {resource_name(r)}" for r, n in needs]) or "no resources"


def main_amounts(needs: Mapping[str, int]) -> str:
    """Return what counts most of what pods request together: `64 GPU`, `96 CPU`."""
    return ", ".join(f"{amount_of(name, number)} {unit(name)}" for name, number in accelerators.main_of(needs).items())


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
    said_by_cores = {f"{_KOORD}gpu-memory-ratio": cores, f"{_KOORD}gpu.shared": cores and cores // accelerators.CARD}
    told = [(name, number) for name, number in ranked(needs) if said_by_cores.get(name) != number]
    return amounts(told)


def resource_names(resources: Iterable[str]) -> list[str]:
    """Return the short names of resources, each once; beside GPUs none of the names by which Koordinator splits one."""
    names = list(dict.fromkeys(map(resource_name, resources)))
    return [name for name in names if not ("GPU" in names and name.startswith(f"{_KOORD}gpu"))]


def requests_of_each(kinds: Sequence[Resources]) -> str:
    """Return what pods of one or several kinds ask for: `8 GPU or 2 CPU`."""
    return " or ".join(requests(needs) for needs in kinds)


def ranked(needs: Resources) -> list[tuple[str, int]]:
    """Return what a pod asks for in the order in which people name it: cards, CPU, the rest by name."""
    return sorted(needs, key=lambda need: (not accelerators.family(need[0]), need[0] != "cpu", need[0]))
