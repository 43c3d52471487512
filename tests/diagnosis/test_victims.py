"""What surprises about victims, in `preempt --dry-run` and in `why-pending`."""

import pytest

from kubectl_koord.explain import why
from kubectl_koord.model.load import ExpectedUse, NodeMetric
from tests.build import SPINE, Drawing, cluster, preempt_of, why_of

ONE = cluster("s0: b0[n1]")
CODES = {"daemon-set-victims", "overloaded-nodes", "reservation-victims"}


def told(drawing: Drawing) -> list[tuple[str, str]]:
    """Return the warnings about victims, which both commands have alike."""
    found = [(one.code, one.message) for one in preempt_of(drawing).warnings if one.code in CODES]
    assert [(one.code, one.message) for one in why_of(drawing).warnings if one.code in CODES] == found
    return [(str(code), message) for code, message in found]


def test_victims_of_a_daemon_set_are_told_to_come_back() -> None:
    drawing = ONE.with_gang("job", 1, 8, priority=9)
    daemon = drawing.with_running("agent", "n1", 8, of_daemon_set=True)
    end = "back on the same node at once, and may take the freed room again."
    assert told(daemon) == [("daemon-set-victims", f"default/agent belongs to a DaemonSet: it comes {end}")]
    assert told(drawing.with_running("agent", "n1", 8)) == []
    assert told(daemon.with_gang("job", 1, 8)) == []
    several = drawing
    for number in range(4):
        several = several.with_running(f"agent-{number}", "n1", 2, of_daemon_set=True)
    names = "default/agent-0, default/agent-1, default/agent-2 and 1 more belong to DaemonSets: they come"
    assert told(several) == [("daemon-set-victims", f"{names} {end}")]


def test_overloaded_nodes_and_reservations_that_cannot_die_are_told_by_both() -> None:
    use = (ExpectedUse("cpu", 1000, 1000),)
    loaded = ONE.change("n1", metric=NodeMetric((("cpu", 6000),))).with_running("low", "n1", expected=use)
    assert [code for code, _ in told(loaded.with_gang("job", 1, 1, priority=9, expected=use))] == ["overloaded-nodes"]
    room = ONE.with_reservation("r", "n1", 4, app="other", priority=1).with_running("low", "n1", 4)
    assert [code for code, _ in told(room.with_gang("job", 1, 8, priority=9))] == ["reservation-victims"]
    assert told(room.with_gang("job", 1, 8)) == []


@pytest.mark.parametrize("must_gather", ["", SPINE])
def test_a_node_that_takes_a_pod_as_things_are_is_not_told_to_refuse_for_measured_load(must_gather: str) -> None:
    use = (ExpectedUse("cpu", 1000, 1000),)
    loaded = ONE.change("n1", metric=NodeMetric((("cpu", 3000),))).with_running("low", "n1", expected=use)
    assert told(loaded.with_gang("job", 2, 1, must_gather=must_gather, priority=9, expected=use)) == []


def test_nor_does_a_gang_that_is_placed_read_of_nodes_that_refuse_for_load() -> None:
    use = (ExpectedUse("cpu", 1000, 1000),)
    both = cluster("s0: b0[n1 n2]").change("n1", metric=NodeMetric((("cpu", 6000),)))
    both = both.with_running("low", "n1", expected=use).with_gang("job", 1, 1, priority=9, expected=use)
    assert (preempt_of(both).reason, told(both)) == ("not-needed", [])


def test_nothing_is_told_of_victims_where_preemption_is_off() -> None:
    drawing = ONE.with_gang("job", 1, 8, priority=9).with_running("agent", "n1", 8, of_daemon_set=True)
    assert told(drawing.configured(preemption=False)) == []


def test_where_only_some_outcomes_are_looked_at_for_them_why_pending_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "_MOST_OUTCOMES", 0)
    drawing = ONE.with_gang("job", 1, 8, priority=9).with_running("agent", "n1", 8, of_daemon_set=True)
    (notice,) = [one for one in why_of(drawing).warnings if one.code == "not-followed"]
    assert notice.message == (
        "looked for victims that come back at once, or die in vain, in the first 0 of more outcomes."
    )
