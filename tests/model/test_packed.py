"""Labels kept as bytes, and the few of them that are asked for."""

from kubectl_koord.model.quotas import NAME_LABEL, quota_kind
from kubectl_koord.model.values import Memo, PackedLabels, packed, picked, recently


def test_some_labels_are_picked_of_packed_and_of_plain_ones() -> None:
    pairs = (("a", "1"), ("b", "2"))
    content = packed(value for _, value in pairs)
    assert content is not None
    for labels in (pairs, PackedLabels(("a", "b"), content, (None, None))):
        assert picked(labels, "b", "c") == ("2", None)
        assert picked(labels, "c") == (None,)


def test_packed_and_plain_labels_say_the_same_to_quotas() -> None:
    pairs = (("app", "web"), (NAME_LABEL, "research"))
    content = packed(value for _, value in pairs)
    assert content is not None
    for labels in (pairs, PackedLabels(("app", NAME_LABEL), content, ("research", None))):
        assert quota_kind(labels, "shop") == (("research", None), "")
    assert quota_kind((), "shop") == ((None, None), "shop")


def test_what_is_too_large_to_be_packed_is_not_packed() -> None:
    assert packed([1 << 70]) is None


class _Counting(Memo):
    def __init__(self) -> None:
        self.asked: list[int] = []

    @recently(2)
    def doubled(self, number: int) -> int:
        self.asked.append(number)
        return 2 * number


def test_only_the_latest_answers_are_kept() -> None:
    one = _Counting()
    assert [one.doubled(number) for number in (1, 2, 1, 3, 1, 2)] == [2, 4, 2, 6, 2, 4]
    assert one.asked == [1, 2, 3, 2]
