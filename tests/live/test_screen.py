"""The screen itself, driven by its keys on the demo cluster; the golden screens are those of `distribution.live`."""

import pytest

from distribution.live import Screen, driven
from kubectl_koord.cluster import stored
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain.way import way
from kubectl_koord.explain.why import why
from kubectl_koord.live.app import Pane
from kubectl_koord.live.cells import Target, said
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.simulation import subjects
from kubectl_koord.wording.words import Aim

pytestmark = pytest.mark.untraced


def subject(snapshot: Snapshot, name: str) -> Subject:
    found = subjects.find(snapshot, name, "default")
    assert not isinstance(found, subjects.Unknown)
    return found


AIM = Aim(koord=("--demo",))


def pane(screen: Screen, name: str) -> list[str]:
    return [said(line).rstrip() for line in screen.app.query_one(f"#{name}", Pane).lines]


def target(screen: Screen) -> Target | None:
    return screen.app.query_one("#main", Pane).target


STYLE = OutputStyle(terminal=True, width=79, colour=False, unicode=True)


async def overview_and_gang(screen: Screen) -> None:
    assert pane(screen, "main")[0].split() == ["2", "################", "insufficient-slots", "8", "pods"]
    assert pane(screen, "head") == ["Pending  as of 2026-11-01T10:00:00Z (demo)"]
    assert "09:20:00 preempted train/tuning-3  1 pod preempted" in pane(screen, "news")
    await screen.press("down", "down", "down")
    assert target(screen) == Target("gang", "train/one-short")
    await screen.press("enter")
    demo = stored.demo("")
    page = way(demo, subject(demo, "train/one-short"))
    assert "\n".join(pane(screen, "main")) + "\n" == text(page, style=STYLE, aim=AIM)
    assert ">spine-0 24 of 40 free" in pane(screen, "map")
    await screen.press("y")
    assert screen.app.clipboard == "kubectl koord why-pending train/one-short --demo"


async def preemption_and_what_if(screen: Screen) -> None:
    await screen.press("p")
    assert pane(screen, "main")[0].startswith("train/one-short would preempt no pods")
    await screen.press("escape", "w")
    assert "* Run with 3 pods instead of 4" in "\n".join(pane(screen, "main"))
    await screen.press("down", "down", "enter")
    demo = stored.demo("")
    asked = subject(demo, "train/one-short")
    (half,) = [one for one in way(demo, asked).unblock if one.action == "smaller-request"]
    tried = why(demo, asked, brief=True, edits=half.edits)
    assert text(tried, style=STYLE, aim=AIM).splitlines()[0] in pane(screen, "main")
    assert "*" in "".join(pane(screen, "map"))
    await screen.press("y")
    assert pane(screen, "keys") == ["no command prints this"]


async def commands(screen: Screen) -> None:
    await screen.press("u")
    assert "No quota holds back any pod (2 quotas)." in pane(screen, "main")
    await screen.press(*":preempt train/helped", "enter")
    assert any("V" in line for line in pane(screen, "map")[:-1])
    await screen.press(*":x", "enter")
    assert pane(screen, "keys")[0].startswith("error: no screen 'x'")
    await screen.press("colon", "escape", "escape", "escape", "escape")
    assert screen.app.view.title == "What if: train/one-short"
    await screen.press(*":node node-1", "enter")
    assert "@" in "".join(pane(screen, "map"))
    await screen.press("question_mark")
    assert pane(screen, "main")[0].startswith("Up Down Left Right")
    await screen.press(*"?:pending", "enter")
    assert screen.app.view is screen.app.overview


def test_all_screens_by_their_keys() -> None:
    async def steps(screen: Screen) -> None:
        await overview_and_gang(screen)
        await preemption_and_what_if(screen)
        await commands(screen)

    driven(steps)


def test_a_filter_sorting_folding_and_the_map_alone() -> None:
    async def steps(screen: Screen) -> None:
        whole = pane(screen, "main")
        await screen.press("slash")
        await screen.press(*"helped")
        assert pane(screen, "main") == [line for line in whole if "helped" in line]
        await screen.press("enter", "escape")
        assert pane(screen, "main") == whole
        await screen.press("slash", "x", "escape")
        assert pane(screen, "main") == whole
        await screen.press("s")
        assert pane(screen, "keys") == ["sorted by age"]
        await screen.press("home", "enter")
        assert len(pane(screen, "main")) == len(whole) - 2
        await screen.press("enter", "end")
        assert pane(screen, "main") == whole
        await screen.press("home", "p")
        assert pane(screen, "keys") == ["p: choose a gang first"]
        await screen.press("w")
        assert pane(screen, "keys") == ["w: choose a gang first"]
        await screen.press("m", "down", "right", "right")
        topology = screen.app.query_one("#map", Pane)
        await screen.press("down", "left", "l", "h", "k", "j", "pagedown", "pageup", "G", "g")
        assert topology.target == Target("domain", "SpineLayer/spine-0")
        await screen.press("down", "right", "enter")
        assert screen.app.view.title == "node node-0"
        await screen.press("a", "escape")
        assert screen.app.view is screen.app.overview

    driven(steps)


def test_the_mouse_opens_what_it_clicks() -> None:
    async def steps(screen: Screen) -> None:
        await screen.pilot.click("#map", offset=(3, 1))
        await screen.settled()
        assert screen.app.view.title == "domain BlockLayer/block-0"
        await screen.pilot.click("#map", offset=(40, 20))
        await screen.pilot.click("#map", offset=(10, 0))
        assert screen.app.view.title == "domain BlockLayer/block-0"

    driven(steps, size=(160, 48))
