"""Lists of stop words by their names, and the language that a text is guessed to have."""

import numpy as np
import pytest
from click.testing import CliRunner
from listeners import Lines

from pysgrld.cli import main
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.stopwords import COMPARED, NAMED, likeliest, named

#: A sentence or two of each language.
TEXTS = {
    "english": "The house that we have seen was on the hill, and they were not there when he came",
    "danish": "Mange af dem blev meget glade efter noget, og hvad der ellers havde været, så jeg ikke",
    "dutch": "Het huis dat wij hebben gezien was op de heuvel en zij waren er niet toen hij kwam",
    "finnish": "Minä en ole nähnyt sitä taloa joka oli mäellä, eikä hän ollut siellä kun he tulivat",
    "french": "La maison que nous avons vue était sur la colline et ils n'étaient pas là quand il vint",
    "german": "Das Haus, das wir gesehen haben, war auf dem Hügel, und sie waren nicht da, als er kam",
    "indonesian": "Rumah yang kami lihat itu ada di bukit dan mereka tidak ada di sana ketika dia datang",
    "italian": "La casa che abbiamo visto era sulla collina e loro non erano lì quando lui è venuto",
    "norwegian": "Jeg har ikkje sett huset, men dei var der når han kom, og vi hadde noko med oss",
    "portuguese": "A casa que nós vimos estava na colina e eles não estavam lá quando ele veio",
    "russian": "Дом, который мы видели, был на холме, и их там не было, когда он пришёл",
    "spanish": "La casa que hemos visto estaba en la colina y ellos no estaban allí cuando él vino",
    "swedish": "Huset som vi har sett låg på kullen och de var inte där när han kom med oss",
}


def corpus(text, folder, log, **options):
    path = folder / "text.txt"
    path.write_text(f"{text}\n" * 3)
    options = {"min_df": 1, "max_df": 1.0} | options
    return open_corpus([str(path)], CorpusOptions(**options), store=folder / "s", log=log)


@pytest.mark.parametrize("language", COMPARED)
def test_a_text_that_the_english_list_does_not_fit_is_told(language, tmp_path):
    """Red with: the English list left out of a French text without a word."""
    lines = Lines()
    corpus(TEXTS[language], tmp_path, lines.append)
    (said,) = [line for line in lines if "stop words" in line]
    if language == "english":
        assert "looks like" not in said
    else:
        assert f"--stop-words {language}" in said


def test_what_is_no_language_is_not_guessed():
    assert likeliest(["x1", "y2"], np.array([4, 5])) is None
    assert likeliest([], np.zeros(0, np.int64)) is None
    assert likeliest(["moon", "sea", "bread"], np.array([2, 3, 2])) is None  # "sea" is Spanish, too


@pytest.mark.parametrize("language", sorted(set(COMPARED) - {"english"}))
def test_a_list_by_its_name_leaves_the_words_that_build_sentences_out(language, tmp_path):
    """Of these sentences hardly more than a third of the words is left."""
    words = set(corpus(TEXTS[language], tmp_path, str, stop_words="none").vocabulary)
    (tmp_path / "b").mkdir()
    left = set(corpus(TEXTS[language], tmp_path / "b", str, stop_words=language).vocabulary)
    assert left < words
    assert len(left) <= 0.55 * len(words)


@pytest.mark.parametrize(
    ("language", "word"),
    [("french", "parole"), ("spanish", "trabajo"), ("italian", "lavoro"), ("portuguese", "valor")],
)
def test_words_that_are_topics_are_in_no_list(language, word):
    assert word not in named(language)
    assert len(named(language)) > 250


def test_lists_are_printed():
    done = CliRunner().invoke(main, ["corpus", "stop-words"])
    assert done.output.split() == list(NAMED)
    done = CliRunner().invoke(main, ["corpus", "stop-words", "french"])
    assert done.output.split() == sorted(named("french"))
    done = CliRunner().invoke(main, ["corpus", "stop-words", "klingon"])
    assert done.exit_code == 2
