"""`kubectl koord serve`: metrics, JSON documents and a page over HTTP, as the cluster changes."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kubectl_koord.cli.flags import AllNamespaces, Selector
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubectl_koord.cli.session import Session
    from kubectl_koord.live.server import Listening

EXAMPLES = """\b
Examples:
  # Metrics, documents and a page on http://127.0.0.1:9094/, of all namespaces
  kubectl koord serve -A
  # With how many pods of these shapes fit in each domain
  kubectl koord serve -A --shape 8gpu --shape 1gpu,16cpu
  # For others, who may ask by this name
  kubectl koord serve -A --address 0.0.0.0 --host koord.example.com
  # The same of the embedded demo cluster, or of a file
  kubectl koord serve --demo
  kubectl koord serve --snapshot cluster.json.gz
"""
INSTALL = say("pip install 'kubectl-koord[serve]'")
_PORTS = 65_535
SHAPES, MOST_SHAPES = ("1gpu", "8gpu"), 8
_MOST_EXAMINED = 1000


def command(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=_PORTS, metavar="PORT", help="Listen here; 0: any port.")] = 9094,
    address: Annotated[
        str, typer.Option(metavar="IP", help="Listen on this address: whoever reaches it sees what you may see.")
    ] = "127.0.0.1",
    hosts: Annotated[
        list[str] | None, typer.Option("--host", metavar="NAME", help="Also answer to this name; may be repeated.")
    ] = None,
    shapes: Annotated[
        list[str] | None,
        typer.Option("--shape", metavar="SHAPE", help="Count pods of this shape, as topo does; may be repeated."),
    ] = None,
    examined: Annotated[
        int,
        typer.Option(
            "--preemption", min=0, max=_MOST_EXAMINED, metavar="N", help="Gangs of which preemption is computed."
        ),
    ] = 10,
    interval: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="From one reading to the next, at least.")
    ] = 15,
    every: AllNamespaces = False,
    selector: Selector = "",
) -> None:
    """Serve metrics for Prometheus, JSON documents and a page over HTTP, as the cluster changes.

    Nothing is ever changed, only GET and HEAD are answered, and nobody is asked who he is.
    """
    from kubectl_koord.cli.follow import EventsAround, feed, is_everywhere, listing_now, report_now
    from kubectl_koord.cli.output import parsed
    from kubectl_koord.cli.session import write
    from kubectl_koord.explain.every_pending import gangs
    from kubectl_koord.explain.quota import quotas

    session: Session = context.obj
    if session.options.output:
        raise KoordError(say("error: -o {output} cannot be used with serve", output=session.options.output))
    run, listening = server()
    from kubectl_koord.live.faces import Questions

    names = tuple(shapes or SHAPES)
    _check(names)
    every_home, events = is_everywhere(session, every=every), EventsAround(session)
    asked = Questions(
        pending=listing_now(session, selector, every=every),
        gang=lambda snapshot, name: report_now(session, snapshot, name, events),
        gangs=partial(gangs, namespace="" if every_home else session.namespace(), selector=parsed(selector)),
        quotas=partial(quotas, namespace="" if every else session.connection.namespace or ""),
        page=session.page,
        document=session.document,
        shapes=names,
        examined=examined,
    )
    where = listening(address, port, tuple(hosts or ()))
    run(feed(session), asked, where, lambda url: write(say("Serving on {url}\n", url=url)), _warn, interval)


def _warn(what: str) -> None:
    """Tell whoever keeps the log what goes wrong, or that it is over."""
    from kubectl_koord.render.plain import harmless

    sys.stderr.write(f"{harmless(what)}\n")


def server() -> "tuple[Callable[..., None], type[Listening]]":
    """Return what serves, and what it is told where to listen by.

    Raises KoordError with the command that installs what metrics are written with.
    """
    try:
        from kubectl_koord.live.server import Listening, run
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "prometheus_client":
            raise
        raise KoordError(
            say("error: serve needs the Prometheus client, which is not installed: {install}", install=INSTALL)
        ) from None
    return run, Listening


def _check(shapes: "Sequence[str]") -> None:
    """Refuse shapes that cannot be read: whether nodes have what they ask for, is told as it changes."""
    from kubectl_koord.simulation.submitted import ShapeError, requested

    if len(shapes) > MOST_SHAPES:
        raise KoordError(say("error: --shape can be given {most} times at most", most=MOST_SHAPES))
    for shape in shapes:
        try:
            requested((), shape, known=False)
        except ShapeError as problem:
            raise KoordError(say("error: --shape: {problem}", problem=problem)) from None
