"""Which quota a pod counts against, and what is wrong with quotas."""

import pytest

from kubectl_koord.engine.quota.tree import QuotaTree, quota_tree
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, QuotaSettings
from tests.build import Drawing, cluster, pending

EMPTY = cluster()


def tree(drawing: Drawing) -> QuotaTree:
    return quota_tree(drawing)


@pytest.mark.parametrize(
    ("drawing", "label", "expected"),
    [
        (EMPTY.with_quota("test"), "test", "test"),
        (EMPTY.with_quota("test-ns/test-ns"), "", "test-ns"),
        (EMPTY.with_quota("other/test-ns"), "", DEFAULT),
        (EMPTY.with_quota("test-ns1", "test-ns"), "", "test-ns1"),
        (EMPTY.with_quota("test-ns/test-ns").with_quota("x", "test-ns"), "", "test-ns"),
        (EMPTY.with_quota("b", "test-ns").with_quota("a", "test-ns"), "", "a"),
        (EMPTY, "", DEFAULT),
        (EMPTY.with_quota("test-ns1", "test-ns"), "missing", DEFAULT),
        (EMPTY.with_quota("q", "test-ns").configured(quotas=QuotaSettings(no_default=True)), "", ""),
        (EMPTY.with_quota("q", "test-ns").configured(quotas=QuotaSettings(no_default=True)), "q", "q"),
        (EMPTY.with_quota("q", "test-ns").configured(quotas=QuotaSettings(no_default=True)), "missing", ""),
    ],
)
def test_a_pod_counts_against_what_its_label_or_its_namespace_names(
    drawing: Drawing, label: str, expected: str
) -> None:
    labels = ((NAME_LABEL, label),) if label else ()

    assert tree(drawing).name_of(pending("test-ns/p", labels=labels)) == expected


def test_faults_are_parents_that_do_not_exist_cycles_and_names_that_are_not_unique() -> None:
    drawing = EMPTY.with_quota("ok").with_quota("below", parent="ok").with_quota("lost", parent="gone")
    drawing = drawing.with_quota("under-lost", parent="lost").with_quota("x", parent="y").with_quota("y", parent="x")
    drawing = drawing.with_quota("a/twice").with_quota("b/twice").with_quota("odd", parent=DEFAULT)

    assert tree(drawing).faults == {
        "lost": "no-parent",
        "under-lost": "no-parent",
        "x": "cycle",
        "y": "cycle",
        "twice": "same-name",
        "odd": "no-parent",
    }


def test_a_parent_in_another_tree_is_none() -> None:
    drawing = EMPTY.with_quota("p", tree="A").with_quota("c", parent="p")

    assert tree(drawing).faults == {}
    assert tree(drawing.configured(quotas=QuotaSettings(trees=True))).faults == {"c": "no-parent"}


@pytest.mark.parametrize(
    ("settings", "fields", "expected"),
    [
        (QuotaSettings(), {}, False),
        (QuotaSettings(by_runtime=False), {}, True),
        (QuotaSettings(), {"min": (("cpu", 1),)}, True),
    ],
)
def test_the_default_quota_refuses_nobody_unless_its_maximum_or_a_minimum_counts(
    settings: QuotaSettings, fields: dict[str, object], *, expected: bool
) -> None:
    drawing = EMPTY.with_quota(DEFAULT, **fields).configured(quotas=settings)

    assert tree(drawing).may_refuse(pending("p")) == expected


def test_a_label_leaves_it_not_open_which_of_two_quotas_counts() -> None:
    drawing = EMPTY.with_quota("a", "default").with_quota("b", "default")

    assert tree(drawing).fault_of(pending("p")) == "same-namespace"
    assert tree(drawing).fault_of(pending("p", labels=((NAME_LABEL, ""),))) == "same-namespace"
    assert tree(drawing).fault_of(pending("p", labels=((NAME_LABEL, "a"),))) is None


def test_nor_does_a_quota_named_like_the_namespace() -> None:
    drawing = EMPTY.with_quota("b", "default").with_quota("default", "default")

    assert tree(drawing).name_of(pending("p")) == "default"
    assert tree(drawing).fault_of(pending("p")) is None


def test_where_its_plugin_is_not_enabled_no_quota_refuses_anybody() -> None:
    drawing = cluster("s0: b0[n1]").with_quota("default", cpu=1)
    pod = pending("p", 2)
    for enforced in (True, False):
        asked = drawing.configured(quotas=QuotaSettings(enforced=enforced))
        assert quota_tree(asked).may_refuse(pod) is enforced
