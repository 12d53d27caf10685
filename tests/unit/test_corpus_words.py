"""Which words are kept and which are left out, and by which rule: numbers among them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from listeners import Lines

from pysgrld.cli import main
from pysgrld.corpus import CorpusOptions, open_corpus, vocabulary
from pysgrld.corpus.vocabulary import is_number
from pysgrld.corpus.words import list_words
from pysgrld.errors import CorpusError

TEXT = (
    "the whales were 10,000 in 1984 and the ice 30 km thick\n"
    "whales of the 20th century, 10,000 of them, like ice\n"
    "whales by 1984 were 007 and mp3 whales\n"
    "seals\n"
)


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(TEXT)
    return str(path)


def rules_of(path, **options):
    found = list_words([path], CorpusOptions(**options), notify=lambda _: None, log=lambda *_: None)
    return {word.word: word.rule for word in found}


def test_masked_parts_are_reported(tmp_path):
    """Red with: a list of words that does not tell what a mask removed."""
    (tmp_path / "log.txt").write_text("host 10.0.0.1 opened /var/log/a.log\nhost 10.0.0.2 is up\n")
    lines = []
    options, notify = CorpusOptions(mask=True), lambda _: None
    list_words(
        [str(tmp_path / "log.txt")], options, notify=notify, log=lambda t, *_: lines.append(t)
    )
    assert "1 path, 2 IP addresses removed (--mask)" in lines


@pytest.mark.parametrize(
    ("word", "years", "drop"),
    [
        ("000", True, True),
        ("30", True, True),
        ("20th", True, True),
        ("1st", True, True),
        ("1984", False, True),
        ("2031", False, True),
        ("2100", True, True),
        ("0984", True, True),
        ("19840", True, True),
        ("10_000", True, True),
        ("٣٠", True, True),
        ("1980s", False, False),
        ("mp3", False, False),
        ("3d", False, False),
        ("___", False, False),
        ("word", False, False),
    ],
)
def test_what_a_number_is(word, years, drop):
    """Red with: "20th" that is a word; a year that is none."""
    assert (is_number(word, "years"), is_number(word, "drop")) == (years, drop)
    assert not is_number(word, "keep")


def test_numbers_are_no_words_of_a_text_but_years_are(texts, tmp_path):
    said = Lines()
    all_words = CorpusOptions(min_df=1, max_df=1.0, stop_words="none")
    corpus = open_corpus([texts], all_words, store=tmp_path / "s", log=said.append)
    assert {"1984", "mp3", "whales"} <= set(corpus.vocabulary)
    assert not {"10", "000", "30", "20th", "007"} & set(corpus.vocabulary)
    assert (
        "5 different numbers removed from the vocabulary, except years (--numbers keep keeps them"
        in said[0]
    )
    assert corpus.provenance["vocabulary"]["removed"]["numbers"] == 5


def test_numbers_are_kept_if_asked_and_by_a_vocabulary_that_is_given(texts, tmp_path):
    kept = CorpusOptions(min_df=1, max_df=1.0, stop_words="none", numbers="keep")
    assert "000" in open_corpus([texts], kept, store=tmp_path / "s").vocabulary
    (tmp_path / "v.txt").write_text("000\nwhales\n")
    given = CorpusOptions(vocab=str(tmp_path / "v.txt"))
    assert open_corpus([texts], given, store=tmp_path / "t").vocabulary == ("000", "whales")


def test_each_word_that_is_left_out_has_its_rule(texts):
    """Red with: a word under the last rule that would take it, and not under the first."""
    found = rules_of(texts, max_df=0.5, max_vocab=1)
    assert found["the"] == "stop words"
    assert found["000"] == "numbers"
    assert found["seals"] == "min_df"
    assert found["whales"] == "max_df"
    assert (found["1984"], found["ice"]) == (None, "max_vocab")


def test_what_is_kept_is_the_vocabulary_of_training(texts, tmp_path):
    corpus = open_corpus([texts], CorpusOptions(), store=tmp_path / "s")
    assert {word for word, rule in rules_of(texts).items() if rule is None} == set(
        corpus.vocabulary
    )


def said(*typed):
    done = CliRunner().invoke(main, ["corpus", "words", *typed], prog_name="sgmc")
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_sums_up_lists_and_writes_json(texts):
    lines = said(texts, "--max-df", "0.5").splitlines()
    assert lines[0].split()[:2] == ["words", "tokens"]
    assert lines[1].split()[0] == "kept"
    assert "000" in next(line for line in lines if line.startswith("numbers"))
    assert said(texts, "--kept").splitlines()[0].split()[-1] in ("1984", "ice", "whales")
    dropped = [line.split() for line in said(texts, "--dropped").splitlines()]
    assert ["2", "2", "numbers", "000"] in dropped
    assert not [words for words in dropped if words[-1] == "ice"]
    found = json.loads(said(texts, "--json"))["words"]
    assert {"word": "000", "documents": 2, "tokens": 2, "rule": "numbers"} in found
    assert all(word["rule"] for word in json.loads(said(texts, "--json", "--dropped"))["words"])


def test_a_list_of_stop_words_is_read_once_for_its_stamp_and_folded_alike(tmp_path, monkeypatch):
    """Red with: a list that is read at each question; ASCII lines that are folded otherwise."""
    path, opened = tmp_path / "stop.txt", []
    lines = vocabulary.Lines
    monkeypatch.setattr(
        vocabulary, "Lines", lambda *args, **limits: opened.append(args) or lines(*args, **limits)
    )
    path.write_text(" The \nAND\n\nthe\n")
    first = vocabulary.stop_words(str(path))
    assert first.words == {"the", "and"}
    assert vocabulary.stop_words(str(path)) == first
    assert len(opened) == 1
    path.write_text(" The \nAND\n\u0130stanbul\nOF\n")
    assert vocabulary.stop_words(str(path)).words == {"the", "and", "istanbul", "of"}
    path.write_text("the\nand\n")
    assert vocabulary.stop_words(str(path)).record[0]["sha256"] == first.record[0]["sha256"]


@pytest.mark.parametrize(("data", "line"), [(b"a\nb\n\xff\n", 3), (b"a\n\0\nb\n", 2)])
def test_a_bad_list_is_refused_with_its_line(tmp_path, data, line):
    path = tmp_path / "stop.txt"
    path.write_bytes(data)
    with pytest.raises(CorpusError) as refused:
        vocabulary.stop_words(str(path))
    assert refused.value.line == line
