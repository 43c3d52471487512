"""The golden screens and docs/sentences.md are what the program prints: `make golden` writes them anew."""

from tests import sentences


def test_the_golden_screens_and_the_page_of_sentences_are_current() -> None:
    files = sentences.golden()

    assert set(sentences.GOLDEN.iterdir()) == set(files)
    for path, content in {**files, sentences.PAGE: sentences.page(files)}.items():
        assert path.read_text(encoding="utf-8") == content, f"{path.name}: run make golden"
