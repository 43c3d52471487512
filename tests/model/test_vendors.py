"""Clouds and queues by their keys: which counts first, and whose a scheduling gate is."""

from kubectl_koord.model.vendors import VENDORS, keys_of, owner_of_gate


def test_every_row_says_where_it_is_from_and_names_a_key() -> None:
    for row in VENDORS:
        assert row.source, row.name
        assert row.queues or row.quotas or row.classes or row.suspends or row.gates, row.name


def test_the_keys_of_a_row_count_before_those_of_later_rows_and_none_comes_twice() -> None:
    assert keys_of("quotas") == ("quota.scheduling.alibabacloud.com/name", "quota.scheduling.koordinator.sh/name")
    assert keys_of("suspends") == ("scheduling.x-k8s.io/suspend",)
    assert keys_of("queues")[:3] == ("kueue.x-k8s.io/queue-name", "kube-queue/queue-name", "koord-queue/queue-name")


def test_a_gate_is_removed_by_whose_domain_it_has_or_ends_with() -> None:
    gates = ("kueue.x-k8s.io/topology", "vke.volcengine.com/ready", "example.com/kueue.x-k8s.io", "notkueue.x-k8s.io/a")
    assert [owner_of_gate(gate) for gate in gates] == ["Kueue", "Volcengine", "", ""]
