"""Labels kept as bytes, and the few of them that are asked for."""

from kubectl_koord.model.values.packed import PackedLabels, packed, picked


def test_some_labels_are_picked_of_packed_and_of_plain_ones() -> None:
    pairs = (("a", "1"), ("b", "2"))
    content = packed(value for _, value in pairs)
    assert content is not None
    for labels in (pairs, PackedLabels(("a", "b"), content)):
        assert picked(labels, "b", "c") == ("2", None)
        assert picked(labels, "c") == (None,)
