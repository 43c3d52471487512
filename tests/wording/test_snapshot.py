"""The sentences of `snapshot`."""

from kubectl_koord.model.snapshot import Gap
from kubectl_koord.render.pages import operation


def test_what_was_written_is_told_with_its_size_rounded_up() -> None:
    assert operation.wrote("c.gz", 2, 1001) == "Wrote c.gz: 2 objects, 2 kB."
    assert operation.wrote("", 1, 1_000_000) == "Wrote to standard output: 1 object, 1,000 kB."
    assert operation.how_to_read("c.gz").endswith("why-pending --snapshot c.gz")


def test_a_kind_that_could_not_be_read_is_told_with_the_reason() -> None:
    assert operation.not_read(Gap("Event", "forbidden", "no events for you")) == "Not in it: Event (no events for you)."
