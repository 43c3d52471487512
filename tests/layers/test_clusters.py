"""Small clusters, as real controllers write them: the layer that holds each job, with the numbers that block."""

import json
import re
from pathlib import Path

import pytest

from kubectl_koord.cli.main import run

CLUSTERS = Path(__file__).parent / "clusters"
FILES = sorted(CLUSTERS.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_layer_that_holds_a_job_is_named_with_what_blocks(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = re.findall(r"^# (ask|layer|says): (.*)$", file.read_text(), re.MULTILINE)
    (ask,), (layer,) = ([text for word, text in said if word == one] for one in ("ask", "layer"))
    assert run(("why-pending", "--snapshot", str(file), ask, "-o", "json")) == 1
    document = json.loads(capfd.readouterr().out)
    held = [row for row in document["layers"] if row["state"] == "held"]
    assert [row["layer"] for row in held] == [layer]
    told = f"{document['cause']['message']} {held[0]['message']}"
    assert [text for word, text in said if word == "says" and text not in told] == [], told
