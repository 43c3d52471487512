"""Values of which few differ from others."""

from kubectl_koord.engine.quota.tree import Changed


def test_what_differs_is_seen_and_the_rest_is_as_it_was() -> None:
    usual = {"a": 1, "b": 2}
    once = Changed(usual, {"b": 3, "c": 4})
    twice = Changed(once, {"c": 5, "a": 6})

    assert (dict(once), len(once)) == ({"a": 1, "b": 3, "c": 4}, 3)
    assert (dict(twice), len(twice)) == ({"a": 6, "b": 3, "c": 5}, 3)
    assert twice.usual is usual  # however often something differs, a value is found in two steps
    assert (usual, once.get("d"), "c" in once, "d" in once) == ({"a": 1, "b": 2}, None, True, False)
