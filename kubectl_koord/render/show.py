"""Which page and which writer a report gets."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from kubectl_koord.render import shown as shown_module
from kubectl_koord.render.document import USUAL, Block, Columns, EmptyLine, Line, printed
from kubectl_koord.render.lines import VERDICT_STYLE
from kubectl_koord.render.pages import manual
from kubectl_koord.render.plain import to_plain
from kubectl_koord.render.shown import EVERYTHING, ON_A_SCREEN, Shown
from kubectl_koord.render.structured import Report
from kubectl_koord.render.terminal import Screen, Span, lines_of, to_terminal
from kubectl_koord.reports.capacity import DevicesReport, DomainReport, NodeReport, QuotaTreeReport, TopologyReport
from kubectl_koord.reports.change import ChangePlan
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.jobs import (
    FitReport,
    GangsReport,
    PendingGangsReport,
    PlanReport,
    PreemptReport,
    WhyPreemptedReport,
    WhyReport,
)
from kubectl_koord.reports.manual import Explanation, Explanations, VersionReport
from kubectl_koord.reports.operation import DiffReport, DoctorReport, SchedulerLogReport, SchedulerReport
from kubectl_koord.wording.version import version_lines
from kubectl_koord.wording.words import HERE, Aim, read_at

if TYPE_CHECKING:
    from kubectl_koord.explain.every_pending import ProgressNote

_OF_NO_CLUSTER = Explanation | Explanations | VersionReport | SchedulerLogReport
_NO_TERMINAL_WIDTH = 80
_WHOLE = (ChangePlan, Explanation, Explanations, VersionReport)  # nothing in them is ever left out


class OutputStyle(Struct, frozen=True):
    """How text is to look: as for a pipe or a terminal, how wide and high (0: no limit), in colour, beyond ASCII."""

    terminal: bool
    width: int
    colour: bool
    unicode: bool
    height: int = 0


class TopoOptions(Struct, frozen=True):
    """What only `topo` can be asked: layers to show (None: what fits), and whether to show nodes."""

    depth: int | None = None
    nodes: bool = False


def text(
    report: Report,
    *,
    style: OutputStyle,
    topo_options: TopoOptions | None = None,
    shown: Shown | None = None,
    columns: Columns = USUAL,
    aim: Aim = HERE,
) -> str:
    """Return the report as text for a person or a pipe, ending with a line break.

    Args:
        report: what to show.
        style: how it looks.
        topo_options: what only `topo` can be asked.
        shown: how much of it; by default what suits a screen on a terminal, and everything elsewhere.
        columns: which columns listings have.
        aim: where its commands go.
    """
    if shown is None:
        shown = ON_A_SCREEN if style.width and not isinstance(report, _WHOLE) else EVERYTHING
    height = style.height if not isinstance(report, Explanation | Explanations) else 0
    blocks = printed(_page(report, topo_options or TopoOptions(), shown, columns), columns, is_drawn=style.width > 0)
    page = shown_module.page(blocks, aim)
    return _written(page, style, height=height, names=shown.few)


def to_hand_on(
    report: Report,
    form: str,
    *,
    topo_options: TopoOptions | None = None,
    columns: Columns = USUAL,
    aim: Aim = HERE,
) -> str:
    """Return the report as a document that is whole in itself: all there is, and the moment at which it was so.

    Args:
        report: what to show; a tree for a picture.
        form: `html` or `svg`.
        topo_options: what only `topo` can be asked.
        columns: which columns listings have.
        aim: where its commands go.
    """
    options = topo_options or TopoOptions()
    page = [*shown_module.page(printed(_page(report, options, EVERYTHING, columns), columns), aim), *_read(report)]
    if form == "svg" and isinstance(report, TopologyReport):
        from kubectl_koord.render.svg import to_svg  # noqa: PLC0415 - needed for this format alone

        return to_svg(page, report, depth=options.depth, nodes=options.nodes)
    from kubectl_koord.render.web import to_html  # noqa: PLC0415

    return to_html(page)


def to_web(reports: Sequence[Report], links: Mapping[str, str] = {}, warning: str = "", *, aim: Aim = HERE) -> str:
    """Return reports below each other as one HTML page; of one alone it is that of `to_hand_on`.

    `links`: to which path a row leads, by its first cell. `warning`: what stands above all of it.
    """
    page: list[Block] = [Line(warning, "bad")] if warning else []
    for report in reports:
        blocks = printed(_page(report, TopoOptions(), EVERYTHING, USUAL), USUAL)
        if page and isinstance(blocks[0], Line):
            page.append(EmptyLine())
            blocks[0] = structs.replace(blocks[0], style="bold")
        page += blocks if report is reports[-1] else _without_basis(blocks)
    from kubectl_koord.render.web import linked, to_html  # noqa: PLC0415

    return linked(to_html([*shown_module.page(page, aim), *_read(reports[-1])]), links)


def _without_basis(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return a page without its last line, which tells what it rests on: that is told once."""
    return blocks[: max(at for at, block in enumerate(blocks) if isinstance(block, EmptyLine))]


def on_screen(
    report: Report, *, width: int, unicode: bool, shown: Shown = ON_A_SCREEN, aim: Aim = HERE
) -> list[tuple[Span, ...]]:
    """Return the report as `text` writes it on a terminal, in lines: for who draws them."""
    blocks = printed(_page(report, TopoOptions(), shown, USUAL), USUAL, is_drawn=True)
    return lines_of(shown_module.page(blocks, aim), Screen(width, unicode, shown.few))


def _read(report: Report) -> list[Block]:
    return [] if isinstance(report, _OF_NO_CLUSTER) else [Line(read_at(report.basis), "dim")]


def sentence(words: str, verdict: Verdict, *, style: OutputStyle) -> str:
    """Return one line that says how things stand, in the colour of the verdict."""
    return _written([Line(words, VERDICT_STYLE[verdict])], style)


def progress_line(time: str, note: "ProgressNote", *, style: OutputStyle) -> str:
    """Return one change of an answer as a line: when (in local time), of which subject, and what."""
    return sentence(f"{time}  {note.subject}  {note.text}", note.verdict, style=style)


def _written(page: list[Block], style: OutputStyle, *, height: int = 0, names: int | None = None) -> str:
    if not style.terminal:
        return to_plain(page, unicode=style.unicode)
    parts: list[str] = []
    to_terminal(
        page,
        width=style.width,
        colour=style.colour,
        unicode=style.unicode,
        write=parts.append,
        height=height,
        names=names,
    )
    return "".join(parts)


def output_style(
    color_flag: str,
    environ: Mapping[str, str],
    isatty: bool,  # noqa: FBT001
    encoding: str,
    columns: int,
    lines: int = 0,
) -> OutputStyle:
    """Return how to write to this output.

    Args:
        color_flag: `--color`: `always` and `never` win over everything, `auto` decides by the rest.
        environ: NO_COLOR, FORCE_COLOR and TERM are looked at.
        isatty: whether the output is a terminal.
        encoding: of the output; what is not a Unicode encoding gets ASCII.
        columns: the width of the terminal; 0 where it does not say.
        lines: its height; 0 where it does not say.
    """
    colour = _colour(color_flag, environ, isatty=isatty)
    width = (columns if columns > 0 else _NO_TERMINAL_WIDTH) if isatty else 0
    unicode = encoding.lower().replace("-", "").replace("_", "").startswith("utf")
    height = lines if isatty else 0
    return OutputStyle(terminal=isatty or colour, width=width, colour=colour, unicode=unicode, height=height)


def _colour(flag: str, environ: Mapping[str, str], *, isatty: bool) -> bool:
    if flag in {"always", "never"}:
        return flag == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return isatty and environ.get("TERM") != "dumb"


@cache
def _pages() -> Mapping[type[Report], Callable[[Any, Shown, Columns, TopoOptions], list[Block]]]:
    """Return the page of each report of a cluster; with what words them they take long to import."""
    from kubectl_koord.render.pages import (  # noqa: PLC0415
        change,
        devices,
        fit,
        gangs,
        operation,
        pending,
        place,
        plan,
        preempt,
        quota,
        scheduler,
        topo,
        why,
    )

    return {
        TopologyReport: lambda report, shown, _, options: topo.blocks(
            report, shown, depth=options.depth, nodes=options.nodes
        ),
        DevicesReport: lambda report, shown, columns, _: devices.blocks(report, shown, columns),
        GangsReport: lambda report, shown, columns, _: gangs.blocks(report, shown, columns),
        DiffReport: lambda report, shown, columns, _: operation.diff_blocks(report, shown, columns),
        FitReport: lambda report, shown, *_: fit.blocks(report, shown),
        DoctorReport: lambda report, *_: operation.doctor_blocks(report),
        NodeReport: lambda report, shown, *_: place.node_blocks(report, shown),
        DomainReport: lambda report, shown, *_: place.domain_blocks(report, shown),
        QuotaTreeReport: lambda report, shown, *_: quota.blocks(report, shown),
        WhyReport: lambda report, shown, *_: why.blocks(report, shown),
        PendingGangsReport: lambda report, shown, columns, _: pending.blocks(report, shown, columns),
        PlanReport: lambda report, shown, *_: plan.blocks(report, shown),
        PreemptReport: lambda report, shown, *_: preempt.blocks(report, shown),
        WhyPreemptedReport: lambda report, shown, *_: preempt.why_preempted_blocks(report, shown),
        ChangePlan: lambda report, shown, *_: change.blocks(report, shown),
        SchedulerReport: lambda report, shown, *_: scheduler.blocks(report, shown),
        SchedulerLogReport: lambda report, shown, *_: scheduler.log_blocks(report, shown),
    }


def _page(report: Report, options: TopoOptions, shown: Shown, columns: Columns) -> list[Block]:
    if isinstance(report, Explanation | Explanations):
        return manual.blocks(report)
    if isinstance(report, VersionReport):
        return [Line(line) for line in version_lines(report.version, report.evaluates, report.main)]
    return _pages()[type(report)](report, shown, columns, options)
