import gc
import pkgutil
import signal
import tomllib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from coverage import Coverage

from tests.browser import CHROMIUM

TESTS = Path(__file__).parent


def pytest_report_header() -> str:
    return f"Chromium: {CHROMIUM or 'none: tests that look at pages in a browser are left out'}"


@contextmanager
def untraced() -> Iterator[None]:
    """Measure nothing meanwhile: in a worker another coverage runs beneath that of pytest-cov."""
    paused: list[Coverage] = []
    while running := Coverage.current():
        running.stop()
        paused.append(running)
    try:
        yield
    finally:
        for one in reversed(paused):
            one.start()


@cache
def measured() -> dict[str, str]:
    """Return the packages that have to be covered, by the folder of their tests."""
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))
    return {package.rpartition(".")[2]: package for package in settings["tool"]["coverage"]["run"]["source_pkgs"]}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Trace what is run when modules are imported, and not what tests are made of.

    Let no later garbage collection go through all tests and modules, which stay.
    """
    if Coverage.current():
        for package in measured().values():
            for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
                import_module(found.name)
    gc.disable()
    try:
        with untraced():
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Trace no process that only hands out tests."""
    if not session.config.pluginmanager.hasplugin("dsession"):
        return (yield)
    with untraced():
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count towards coverage what the tests in the folders of the measured packages run, and those marked `measured`.

    Tracing makes a test two to three times as slow, and what a whole command happens to pass is not tested by it. Long
    tests whose lines others run as well are marked `untraced`.

    What needs a browser is left out where there is none.
    """
    for item in items:
        if item.path.relative_to(TESTS).parts[0] not in measured() and not item.get_closest_marker("measured"):
            item.add_marker(pytest.mark.untraced)
    blind = [] if CHROMIUM else [item for item in items if item.get_closest_marker("browser")]
    if blind:
        config.hook.pytest_deselected(items=blind)
        items[:] = [item for item in items if item not in blind]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Trace no test that counts not, nor what is set up for it."""
    if not item.get_closest_marker("untraced"):
        return (yield)
    with untraced():
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def signals_that_end() -> Iterator[None]:
    """Let signals end what tests start, even if whoever started the tests in the background had them ignored.

    What is ignored is inherited: a test that sends such a signal would wait for ever.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Let a test's server be slow: on a machine that is held up for a second, what is waited for would be told."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kubectl_koord.cluster.api.transport.NOTICE", 60.0)
        yield
