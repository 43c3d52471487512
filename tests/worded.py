"""What nodes are told to refuse for, each reason in its own words."""

from collections import Counter
from collections.abc import Iterable

from kubectl_koord.engine.reasons import Refused
from kubectl_koord.wording.refusals import obstacle


def worded(refused: Iterable[Refused]) -> Counter[str]:
    """Return how many nodes refuse for each reason."""
    found = Counter[str]()
    for one in refused:
        found[obstacle(one.reason)] += one.nodes
    return found
