"""Excerpts of documents that have a topic."""

from pysgrld.report.answers import excerpt_of

WEIGHTS = {"keys": 0.9, "escrow": 0.8, "chip": 0.7, "the": 0.01}


def test_an_excerpt_has_the_words_of_the_topic_and_no_more_letters_than_asked_for():
    """Red with: the beginning of the text; a word cut; words of the topic in upper case not found."""
    text = "The weather is fine. " * 20 + "KEYS in\nescrow of the chip. " + "And so on. " * 20
    found = excerpt_of(text, WEIGHTS, 40)
    assert "KEYS in escrow of the chip" in found
    inner = found.removeprefix("... ").removesuffix(" ...")
    assert len(inner) <= 40
    assert found == f"... {inner} ..."
    assert set(inner.split()) <= set(text.split()) | {"chip", "on", "fine"}


def test_short_and_empty_texts_are_whole():
    """Red with: an error for no word; marks of omission at a text that is shown whole."""
    assert excerpt_of("keys in escrow", WEIGHTS) == "keys in escrow"
    assert excerpt_of("", WEIGHTS) == ""
    assert excerpt_of("nothing known", WEIGHTS) == "nothing known"
    assert excerpt_of("x" * 500, WEIGHTS, 10) == "x" * 10 + " ..."
