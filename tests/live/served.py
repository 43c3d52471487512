"""What is served, without a server: questions as the command line asks them, and metrics as Prometheus reads them."""

from collections.abc import Mapping

from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families

from kubectl_koord.errors import NotFoundError
from kubectl_koord.explain.every_pending import every_pending, gangs
from kubectl_koord.explain.quota import quotas
from kubectl_koord.explain.way import way
from kubectl_koord.live.faces import Questions
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.render.show import to_web
from kubectl_koord.render.structured import to_json
from kubectl_koord.reports.jobs import WhyReport
from kubectl_koord.simulation import subjects


def why_named(snapshot: Snapshot, name: str) -> WhyReport:
    found = subjects.find(snapshot, name, "default")
    if isinstance(found, subjects.Unknown):
        raise NotFoundError(f"error: no gang {name!r}")
    return way(snapshot, found)


def questions(**changes: object) -> Questions:
    usual = Questions(every_pending, why_named, gangs, quotas, to_web, to_json, shapes=("1cpu",))
    return structs.replace(usual, **changes)


def series(text: bytes) -> Mapping[str, Mapping[tuple[str, ...], float]]:
    """Return values by metric and by the values of the labels, in the order of the labels' names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = tuple(sample.labels[name] for name in sorted(sample.labels))
            assert labels not in found.get(sample.name, {}), "a series stands there twice"
            found.setdefault(sample.name, {})[labels] = sample.value
    return found
