"""What a listing is asked for besides its question: in which order its items are, how many, with headers or not."""

from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias, TypeVar

import typer

if TYPE_CHECKING:
    from kubectl_koord.render.structured import Report

R = TypeVar("R", bound="Report")

SortBy: TypeAlias = Annotated[
    str,
    typer.Option(
        "--sort-by",
        metavar="JSONPATH",
        help="Sort the list by a field of its items, as -o json names it; -.FIELD: downwards.",
    ),
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="List the first N only.")]
Watch: TypeAlias = Annotated[
    bool, typer.Option("--watch", "-w", help="Keep running, and print what changes (needs a live cluster).")
]
NoHeaders: TypeAlias = Annotated[bool, typer.Option("--no-headers", help="Print rows alone, without headers.")]


class Listing(NamedTuple):
    """How a listing is printed; `sort_by` is a JSONPath of its items, empty for their own order."""

    sort_by: str = ""
    limit: int | None = None
    no_headers: bool = False

    def applied(self, report: "R", *, as_text: bool) -> "R":
        """Return the listing in that order, and with no more items; as text it also says how many more there are."""
        if self.sort_by or self.limit:
            from kubectl_koord.cli.output import formats

            report = formats.sorted_by(report, self.sort_by) if self.sort_by else report
            report = formats.first_of(report, self.limit) if self.limit and not as_text else report
        return report


WHOLE = Listing()
