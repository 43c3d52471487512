"""What is said where nothing helps."""

from kubectl_koord.wording.remedies.ways_out import none_found


def test_where_nothing_could_be_tried_that_is_said() -> None:
    said = "there is nothing in its way that a change of the cluster or of its pods would remove."
    assert none_found((), quotas_alone=False, ended=False) == said
