import signal
from collections.abc import Iterator

import pytest


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
