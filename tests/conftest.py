import gc
import signal
import tomllib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from tests.browser import CHROMIUM

TESTS = Path(__file__).parent


def pytest_report_header() -> str:
    return f"Chromium: {CHROMIUM or 'none: tests that look at pages in a browser are left out'}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let no later garbage collection go through all tests and modules, which stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count towards coverage what the tests in the folders of the measured packages run, and those marked `measured`.

    Tracing makes a test two to three times as slow, and what a whole command happens to pass is not tested by it. Long
    tests whose lines others run as well are marked `no_cover`.

    What needs a browser is left out where there is none.
    """
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))
    measured = {package.rpartition(".")[2] for package in settings["tool"]["coverage"]["run"]["source_pkgs"]}
    for item in items:
        if item.path.relative_to(TESTS).parts[0] not in measured and not item.get_closest_marker("measured"):
            item.add_marker(pytest.mark.no_cover)
    blind = [] if CHROMIUM else [item for item in items if item.get_closest_marker("browser")]
    if blind:
        config.hook.pytest_deselected(items=blind)
        items[:] = [item for item in items if item not in blind]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Trace nothing where nothing counts: beneath what pytest-cov pauses in its workers another coverage traces on."""
    beneath = Coverage.current() if item.get_closest_marker("no_cover") else None
    if beneath is None:
        return (yield)
    beneath.stop()
    try:
        return (yield)
    finally:
        beneath.start()


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
