"""The page of `diff`."""

import msgspec
import pytest

from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.render.shown import ON_A_SCREEN
from kubectl_koord.render.structured import document
from kubectl_koord.reports.common import Basis
from kubectl_koord.reports.operation import DiffReport, DomainDiff, NodeDiff, PodDiff

PLAIN = OutputStyle(terminal=False, width=0, colour=False, unicode=True)
GPU = "nvidia.com/gpu"


def report(
    domains: tuple[DomainDiff, ...] = (),
    nodes: tuple[NodeDiff, ...] = (),
    placed: tuple[PodDiff, ...] = (),
    asked: str = "",
    message: str = "",
) -> DiffReport:
    before, after = (Basis("1.8", "as requested", f"2026-11-0{day}T10:00:00Z", "file") for day in (1, 2))
    return DiffReport(
        verdict="unknown" if message else "yes",
        basis=after,
        warnings=(),
        before=before,
        resource=GPU,
        asked=asked,
        pods=4 if asked else 0,
        domains=domains,
        nodes=nodes,
        placed=placed,
        message=message,
    )


def lines(of: DiffReport) -> list[str]:
    return text(of, style=PLAIN).splitlines()


def test_the_page_tells_sums_then_domains_nodes_and_pods() -> None:
    page = lines(
        report(
            (
                DomainDiff("", "", 24, 16),
                DomainDiff("SpineLayer", "s1", 16, 8),
                DomainDiff("SpineLayer", "s2", None, 8),
            ),
            (
                NodeDiff("n1", ("cordoned", "not-ready"), -8),
                NodeDiff("n2", ("came",), 8),
                NodeDiff("n3", ("labels",), 0),
            ),
            (PodDiff("default/x", "moved", "n1", "n2", 8), PodDiff("default/y", "went", "n1", None, 0)),
        )
    )
    assert page[:3] == [
        "3 domains, 3 nodes and 2 pods differ.",
        "In all: 24 GPU free before, 16 now.",
        "Most in s1: 16 GPU free before, 8 now.",
    ]
    cells = [line.split() for line in page]
    assert ["SpineLayer", "s2", "-", "8"] in cells
    assert ["n1", "-8", "cordoned,", "not", "ready"] in cells
    assert ["n2", "+8", "came"] in cells
    assert ["n3", "0", "labels", "changed"] in cells
    assert ["default/x", "8", "moved", "n1", "n2"] in cells
    assert ["default/y", "0", "went", "n1"] in cells


def test_slots_stand_beside_what_is_free_where_they_are_asked_for() -> None:
    page = lines(
        report(
            (DomainDiff("SpineLayer", "s1", 16, 8, 4, 2), DomainDiff("SpineLayer", "s2", 8, None, 2, None)),
            (NodeDiff("n1", ("went",), -2),),
            asked="train/job",
        )
    )
    assert page[1] == "Most in s1: 4 slots for train/job before, 2 now."
    cells = [line.split() for line in page]
    assert ["LAYER", "DOMAIN", "GPU", "FREE", "NOW", "SLOTS", "NOW"] in cells
    assert ["SpineLayer", "s2", "8", "-", "2", "-"] in cells
    assert ["n1", "-2", "went"] in cells
    assert any(line.startswith("SLOTS: ") for line in page)


@pytest.mark.parametrize(
    ("message", "first"),
    [("", ["Nothing differs."]), ("pods", ["Nothing differs in what could be read.", "Unknown: pods."])],
)
def test_where_nothing_differs_it_says_so(message: str, first: list[str]) -> None:
    page = lines(report(message=message))
    assert page[0] == first[0]
    assert set(first) <= set(page)


def test_a_screen_has_the_largest_differences_and_how_many_more_there_are() -> None:
    nodes = tuple(NodeDiff(f"n{number}", ("went",), -1) for number in range(200))
    page = text(report(nodes=nodes), style=PLAIN, shown=ON_A_SCREEN).splitlines()
    assert len(page) < 100
    assert any("more" in line for line in page)


def test_the_document_is_a_diff() -> None:
    found = document(report((DomainDiff("SpineLayer", "s1", 16, 8),)))
    assert (found["kind"], found["verdict"], found["resource"]) == ("Diff", "yes", GPU)
    (domain,) = msgspec.convert(found["domains"], list[dict[str, object]])
    assert domain == {
        "layer": "SpineLayer",
        "name": "s1",
        "freeBefore": 16,
        "freeAfter": 8,
        "slotsBefore": None,
        "slotsAfter": None,
    }
