"""What the image of the scheduler tells."""

import pytest

from kubectl_koord.model.installation import is_newer


@pytest.mark.parametrize(
    ("image", "newer"),
    [
        ("koord-scheduler:v1.8.0", False),
        ("koord-scheduler:v1.9.0", True),
        ("koord-scheduler:main", True),
        ("koord-scheduler:main-20260725", True),
        ("koord-scheduler:main-20260724", False),
        ("koord-scheduler:mine", False),
    ],
)
def test_only_what_came_after_the_compared_schedulers_is_newer(image: str, newer: bool) -> None:  # noqa: FBT001 - a row
    assert is_newer(image) is newer
