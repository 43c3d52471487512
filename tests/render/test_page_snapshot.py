"""The page of `snapshot`."""

import pytest

from kubectl_koord.model.snapshot import Gap
from kubectl_koord.render.pages.operation import snapshot_blocks
from kubectl_koord.render.plain import to_plain

UNREAD = [Gap("Lease", "forbidden", "no leases for you"), Gap("Device", "not-in-input", "none")]


@pytest.mark.parametrize("anonymized", [False, True])
def test_it_tells_what_was_written_and_what_could_not_be_read(*, anonymized: bool) -> None:
    text = to_plain(snapshot_blocks("c.gz", 10, {"Node": (2, 1), "Pod": (1, 5000)}, UNREAD, anonymized=anonymized))
    assert text.splitlines()[0] == "Wrote c.gz: 3 objects, 1 kB."
    assert [line.split() for line in text.splitlines()[3:5]] == [["Pod", "1", "5", "kB"], ["Node", "2", "1", "kB"]]
    assert "Not in it: Lease (no leases for you)." in text
    assert "Device" not in text
    assert ("--anonymize replaces them" in text) is not anonymized
    assert text.endswith("Read it with: kubectl koord why-pending --snapshot c.gz\n")


def test_of_standard_output_no_file_can_be_told() -> None:
    text = to_plain(snapshot_blocks("", 10, {}, (), anonymized=False))
    assert text.startswith("Wrote to standard output: 0 objects, 1 kB.")
    assert "Read it with" not in text
