"""The screens of `live` on the demo cluster, driven by its keys: for the picture and the golden screens.

Lines are as a terminal gets them, with the codes of their looks.
"""

import asyncio
import gc
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from distribution import picture
from kubectl_koord.cli.command_line import take_globals
from kubectl_koord.cli.follow import feed as recorded
from kubectl_koord.cli.session import Session
from kubectl_koord.cli.verbs import live as verb
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.live.app import MAP, NEWS, Live
from kubectl_koord.live.cells import Look
from kubectl_koord.live.state import Feed, Holder

if TYPE_CHECKING:
    from rich.style import Style
    from textual.pilot import Pilot

SCREENS: Mapping[str, tuple[str, ...]] = {
    "overview": (),
    "gang": ("down", "down", "down", "enter"),
    "what-if": ("w",),
    "tried": ("down", "down", "enter"),
    "preemption": (*":preempt train/helped", "enter"),
    "node": (*":node node-1", "enter"),
    "domain": (*":domain BlockLayer/block-2", "enter"),
    "quotas": ("u",),
}
"""The keys to each screen from the one before it."""
_KEYS = {" ": "space", ":": "colon", "/": "slash", "?": "question_mark", "-": "minus"}
_PATIENCE = 120.0


class Screen:
    """A running screen: keys in, lines out."""

    def __init__(self, app: Live, pilot: "Pilot[None]") -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys, signs among them as they are, and wait for what they lead to."""
        await self.pilot.press(*(_KEYS.get(key, key) for key in keys))
        await self.settled()

    async def settled(self) -> None:
        """Wait until all that is asked was answered and drawn."""
        await self.pilot.pause()
        async with asyncio.timeout(_PATIENCE):
            while not self._is_answered():
                await self.pilot.pause(0.01)
        self.app.draw()
        await self.pilot.pause()

    def _is_answered(self) -> bool:
        holder = self.app.holder
        asked = {self.app.view.title, MAP, NEWS}
        return holder.number > 0 and asked <= holder.answers().keys() and not any(map(holder.is_stale, asked))

    def drawn(self) -> Iterator[str]:
        """Yield the lines of the whole screen with the codes of their looks."""
        for strip in self.app.screen._compositor.render_strips():  # noqa: SLF001 - what a driver is given
            yield "".join(_coded(segment.text, segment.style) for segment in strip)


_COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def _coded(text: str, style: "Style | None") -> str:
    if style is None or not text.strip():
        return text
    name = style.color.name if style.color is not None else ""
    code = _COLOURS.get(name) or ("1" if style.bold else "2" if style.dim else "")
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def driven(
    steps: Callable[[Screen], Awaitable[None]], *words: str, feed: Feed | None = None, size: tuple[int, int] = (80, 24)
) -> None:
    """Run the screen without a terminal, of the demo or of another feed, and let it be driven."""
    connection, rest = take_connection(["live", "--demo", *words])
    session = Session(take_globals(rest)[0], connection, None)
    overview = verb.overview(session, "", every=False)

    async def run() -> None:
        given = feed or recorded(session)
        app = Live(lambda told: Holder(given, told, least=0.0), overview, Look(size[0], aim=session.aim()))
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await screen.settled()
            await steps(screen)

    try:
        asyncio.run(run())
    finally:
        gc.enable()


def screens(size: tuple[int, int]) -> dict[str, list[str]]:
    """Return each screen of the demo in a terminal of so many columns and lines."""
    found: dict[str, list[str]] = {}

    async def steps(screen: Screen) -> None:
        for name, keys in SCREENS.items():
            if keys:
                await screen.press(*keys)
            found[name] = list(screen.drawn())

    driven(steps, size=size)
    return found


GOLDEN: Mapping[str, tuple[int, int]] = {"tests/live/screens.80.txt": (80, 24), "tests/live/screens.160.txt": (160, 48)}
_CODES = re.compile(r"\x1b\[[0-9;]*m")


def files() -> dict[str, str]:
    """Return the golden screens by their paths: all of a size as text, and each as a picture."""
    found: dict[str, str] = {}
    for path, size in GOLDEN.items():
        made = screens(size)
        found[path] = _golden(made)
        for name, lines in made.items():
            drawn = picture.screen("kubectl koord live --demo", "\n".join(lines), most=len(lines))
            found[f"docs/images/live/{name}-{size[0]}x{size[1]}.svg"] = drawn
    return found


def _golden(every: Mapping[str, list[str]]) -> str:
    """Return screens one below the other, without their looks."""
    parts = [
        f"== {name}\n" + "".join(f"{_CODES.sub('', line).rstrip()}\n" for line in lines)
        for name, lines in every.items()
    ]
    return "".join(parts)
