"""What an answer rests on, in words."""

from kubectl_koord.wording import words


def test_an_assumed_configuration_says_why_it_was_not_read_where_that_is_known() -> None:
    assert words.assumed_config("") == "the scheduler's configuration was not read; assuming Helm chart defaults."
    assert words.assumed_config("no such file") == (
        "the scheduler's configuration could not be read (no such file); assuming Helm chart defaults."
    )
