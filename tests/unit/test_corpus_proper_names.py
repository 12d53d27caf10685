"""Proper names: words that have a capital letter within sentences."""

import pytest
from listeners import Lines

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.proper_names import find_names
from pysgrld.errors import CorpusError


def find(path, log=lambda *_: None, **how):
    return find_names([str(path)], CorpusOptions(), notify=lambda *_: None, log=log, **how)


def written(folder, text, name="texts.txt"):
    path = folder / name
    path.write_text(text)
    return path


def test_names_have_capitals_within_sentences_and_first_words_do_not_count(tmp_path):
    """Red with: first words of sentences counted ("she"); words in capitals alone counted
    ("chapter"); a line break within a sentence not passed ("Émile"); a share of 0.5 ("may").
    """
    text = (
        "She saw Elizabeth, and Elizabeth saw the rose. She may go in May, May or May, in May. "
        "A CHAPTER ends. "
        "They may stay with Mr. Darcy and with Émile, or Darcy may leave Darcy\n"
    )
    names = find(written(tmp_path, text * 12), count=12)
    assert [(name.word, name.occurrences) for name in names] == [
        *(("darcy", 24), ("elizabeth", 24), ("mr", 12), ("émile", 12))
    ]
    folder = tmp_path / "books"
    folder.mkdir()
    written(folder, "it was said that\nÉmile had left, with her\nhouse and dog. " * 10, "one.txt")
    assert [name.word for name in find(folder)] == ["émile"]


def test_the_licence_of_a_book_has_no_names(tmp_path):
    """Red with: the licence of Project Gutenberg, which training leaves out, searched for names."""
    begin = "*** START OF THE PROJECT GUTENBERG EBOOK IT ***"
    end = "*** END OF THE PROJECT GUTENBERG EBOOK IT ***"
    licence = "it belongs to Gutenberg and to Gutenberg alone\n"
    folder = tmp_path / "books"
    folder.mkdir()
    book = f"{licence * 10}{begin}\n{'they saw Darcy and Darcy saw them. ' * 10}\n{end}\n"
    written(folder, book + licence * 10, "one.txt")
    assert [name.word for name in find(folder)] == ["darcy"]


def test_texts_in_which_nouns_have_capitals_are_named(tmp_path):
    """Red with: the warning left out."""
    log = Lines()
    assert find(
        written(tmp_path, "Hier steht das Haus, und der Hund schläft im Garten\n" * 10), log.append
    )
    assert any("do not mark names" in line for line in log)


def test_counts_are_refused(tmp_path):
    path = written(tmp_path, "1\n2\n2\n1 1 1\n1 2 1\n", "docword.x.txt")
    with pytest.raises(CorpusError, match="give the texts"):
        find(path)
