"""Pods that are tried while others are taken away, as preemption tries them."""

from kubectl_koord.engine.filters import prepare, rejection
from kubectl_koord.engine.reasons import Reason
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import Occupant, View, of
from kubectl_koord.model.pods import PendingPod
from tests.build import Drawing


def on_trial(drawing: Drawing, pod: PendingPod, *gone: str, version: str = "") -> Reason | None:
    """Return why n1 refuses a pod when some are taken away on trial, as it says itself and as columns do."""
    base = of(drawing)
    prepared = prepare(pod, base, rules(version or drawing.config.version))
    view = base.without_any(_named, gone)
    found = rejection(pod, view.state("n1"), prepared)
    assert any(check.refused(view, pod, 1) for check in prepared.checks) == (found is not None)
    return found


def _named(view: View, names: tuple[str, ...]) -> dict[str, list[Occupant]]:
    return {"n1": [one for one in view.occupants("n1") if one.name in names]}
