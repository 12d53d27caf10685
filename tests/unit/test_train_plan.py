"""What a command line means before there is a run: its name, its corpus, its held-out documents."""

import contextlib
import copy
from pathlib import Path

import numpy as np
import pytest
from listeners import Told

from pysgrld.corpus import CorpusOptions, open_corpus, store, vocabulary
from pysgrld.corpus.reading import BUILT_PATTERN
from pysgrld.errors import CorpusError, UsageError
from pysgrld.models.choices import Choices
from pysgrld.run.identity import differences, identities
from pysgrld.train.plan import plan_training
from pysgrld.train.request import Request


def text(folder, documents=20, words="abc def ghi jkl mno pqr"):
    """Write documents of the same words, twelve tokens each."""
    path = folder / "songs.txt"
    path.write_text(f"{words} {words}\n" * documents)
    return path


#: Options that keep words of every document.
EVERY = {"max-df": 1.0, "min-df": 1, "minibatch": 5}


@pytest.fixture
def plan_of(tmp_path):
    """What a request means, and what is said of it, until the test ends."""
    with contextlib.ExitStack() as held:

        def plan(given, stored=None, inputs=None):
            told, inputs = Told(), [str(inputs or text(tmp_path))]
            every = EVERY if Path(inputs[0]).is_file() else {"minibatch": 5}
            given = every | {"threads": 1} | given
            request = Request(inputs, Choices(given), tmp_path / "runs", corpus=stored)
            return held.enter_context(plan_training(request, told)), told.lines

        yield plan


def test_a_stored_corpus_is_not_read_through_before_training(plan_of, tmp_path, monkeypatch):
    """Red with: `Corpus.lengths` of every document."""
    built = open_corpus(
        [str(text(tmp_path))], CorpusOptions(min_df=1, max_df=1.0), store=tmp_path / "b"
    )
    expected, _ = plan_of({"holdout": 6}, inputs=built.path)
    lengths = built.lengths()[expected.train[:]]
    assert expected.config["corpus"]["training_tokens"] == int(lengths.sum())
    left = built.take(expected.train[:])
    counted = [np.bincount(left.indices, left.counts**n, built.words).tolist() for n in (1, 2)]
    assert [part.tolist() for part in expected.word_counts] == counted
    monkeypatch.setattr(store, "LOOKED_THROUGH", 0)
    monkeypatch.setattr(store, "cut", lambda *_: pytest.fail("every document was read"))
    monkeypatch.setattr(type(expected.train), "__getitem__", lambda *_: pytest.fail("listed"))
    monkeypatch.setattr("pysgrld.train.plan.minibatch_words", lambda *_: lambda *_: 6)
    again, _ = plan_of({"holdout": 6}, inputs=built.path)
    assert again.config == expected.config


# ---- names


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "songs-scir"),
        ({"algo": "ovb"}, "songs-ovb"),
        ({"preset": "sgrld-2013"}, "songs-sgrld"),
        ({"layers": (4, 2), "algo": "tlasgr"}, "songs-tlasgr"),
    ],
)
def test_a_run_without_a_name_is_called_after_its_corpus_and_its_sampler(given, name, tmp_path):
    """Red with: the algorithm that was typed, which a preset has not."""
    found = Request(["somewhere/songs.txt.gz"], Choices(given), tmp_path).find()
    assert found.path == tmp_path / name


def test_a_sampler_that_cannot_do_what_is_asked_is_refused_before_anything_is_read():
    with pytest.raises(UsageError, match="--set lazy does not apply to --algo sgrld"):
        Choices({"algo": "sgrld", "lazy": "on"}).check()


# ---- held-out documents


def test_held_out_documents_are_apart_and_numbered_among_themselves(plan_of):
    """Red with: held-out documents trained on; their positions in the corpus for numbers."""
    found, _ = plan_of({"holdout": 6})
    assert len(found.train) == 14
    assert found.corpus.documents == 20
    np.testing.assert_array_equal(found.held_out.doc_ids, np.arange(6))
    record = found.config["corpus"]
    assert (record["documents"], record["training_documents"], record["held_out"]) == (20, 14, 6)
    assert record["training_tokens"] == 14 * 12


def test_another_seed_holds_out_other_documents(plan_of):
    """Red with: seed 0 for all."""
    trained = [plan_of({"holdout": 6, "seed": seed})[0].train for seed in (1, 2)]
    assert trained[0].without.tolist() != trained[1].without.tolist()


@pytest.mark.parametrize("budget", [{}, {"iterations": 3}])
def test_without_held_out_documents_all_are_trained_on(plan_of, budget):
    """tests/unit/test_train_on_all.py has how such a run ends."""
    found, _ = plan_of({"holdout": 0, **budget})
    assert found.held_out is None
    assert len(found.train) == 20


def test_documents_that_cannot_be_split_are_said_and_refused_if_none_is_left(tmp_path, plan_of):
    """Of one token. Red with: a perplexity of no document."""
    single = tmp_path / "single.txt"
    single.write_text("abc\n" * 20)
    with pytest.raises(CorpusError, match="no held-out document has two tokens of the vocabulary"):
        plan_of({"holdout": 6}, inputs=single)


def test_topics_that_stay_empty_are_warned_of(plan_of):
    """Seven for six words. Red with: a warning for as many topics as words."""
    given = {"algo": "tlasgr", "holdout": 6}
    warned = [
        any("most topics will stay empty" in line for line in plan_of(given | how)[1])
        for how in ({"layers": (6, 2)}, {"layers": (7, 2)})
    ]
    assert warned == [False, True]


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        (
            15,
            "15 topics are too many for 14 documents with 168 tokens to find reliable topics (about 11 ",
        ),
        (5, "(about 33 tokens per topic); give more documents"),
    ],
)
def test_more_topics_than_the_corpus_can_tell_apart_are_warned_of(plan_of, topics, said):
    """Red with: no warning of a hundred topics for eighteen documents."""
    lines = plan_of({"topics": topics, "holdout": 6})[1]
    (line,) = [line for line in lines.warnings if "are too many for" in line]
    assert said in line


@pytest.mark.parametrize("other", [True, False])
def test_held_out_documents_that_are_trained_on_are_warned_of(plan_of, tmp_path, other):
    """Red with: a perplexity that looks like that of new documents."""
    held_out = tmp_path / "held-out.txt"
    held_out.write_text(text(tmp_path).read_text() + ("abc def\n" if other else ""))
    _, said = plan_of({"holdout-corpus": str(held_out), "topics": 2})
    warned = [line for line in said if "is also training data" in line]
    assert len(warned) == (not other)


def test_held_out_documents_that_compare_nothing_are_warned_of(plan_of, tmp_path):
    """Red with: a perplexity of two documents without a word."""
    lines = plan_of({"holdout": 6, "topics": 2})[1]
    (line,) = [line for line in lines.warnings if "held-out documents with" in line]
    assert line.startswith("6 held-out documents with 12 held-out tokens are too few")
    many = plan_of({"holdout": 300, "topics": 2}, inputs=text(tmp_path, 900))[1]
    assert not [line for line in many.warnings if "held-out" in line]


# ---- the corpus


def test_a_corpus_that_was_stored_is_read_again_only_if_its_files_have_changed(tmp_path, plan_of):
    """Red with: options of reading, or files, not compared."""
    source = text(tmp_path)
    first, _ = plan_of({"holdout": 6}, inputs=source)
    place = first.corpus.path
    again, _ = plan_of({"holdout": 6}, place, source)
    assert again.corpus.path == first.corpus.path
    assert again.config["command"]["corpus"] == str(first.corpus.path.resolve())
    assert first.config["command"]["corpus"] is None
    other, _ = plan_of({"holdout": 6, "max-vocab": 3}, place, source)
    assert other.corpus.words == 3
    text(tmp_path, documents=21)
    changed, _ = plan_of({"holdout": 6}, place, source)
    assert changed.corpus.documents == 21


def test_the_record_of_a_run_says_what_made_its_vocabulary(tmp_path, plan_of):
    """Red with: options as they were given, none where they are defaults."""
    found, _ = plan_of({"stop-words": "english"})
    (stop,) = found.config["corpus"]["reading"].pop("stop-words")
    assert stop["name"] == "english"
    assert stop["words"] > 200
    assert found.config["corpus"]["reading"] == {
        "min-df": 1,
        "max-df": 1.0,
        "max-vocab": 100_000,
        "token-pattern": BUILT_PATTERN,
        "document-is": "line",
        "chunk": None,
        "encoding": "utf-8",
        "keep-links": False,
        "text-field": "text",
        "numbers": "years",
        "holdout": 2,
    }
    assert found.corpus.provenance["reading"]["max-vocab"] == 100_000


def test_the_built_in_rule_of_words_is_one_option_however_a_version_describes_it(plan_of):
    """Red with: a run of an older version refused, as its words were described otherwise."""
    now, _ = plan_of({"holdout": 6})
    before = copy.deepcopy(dict(now.config))
    before["corpus"]["reading"]["token-pattern"] = "built in: \\w\\w+ of casefolded NFC text"
    had, wanted = identities(before, now.config, ())
    assert had == wanted


def test_a_run_from_before_numbers_were_left_out_is_told_by_the_option(plan_of):
    """Red with: another fingerprint of the corpus, and nothing that says why."""
    now, _ = plan_of({"holdout": 6})
    kept, _ = plan_of({"holdout": 6, "numbers": "keep"})
    before = copy.deepcopy(dict(kept.config))
    del before["corpus"]["reading"]["numbers"], before["options"]["numbers"]
    had, wanted = identities(before, now.config, ())
    assert "numbers: keep -> years" in differences(had, wanted)
    had, wanted = identities(before, kept.config, ())
    assert not differences(had, wanted)


def test_another_default_of_a_release_is_another_vocabulary_and_not_the_stored_one(
    plan_of, monkeypatch
):
    """Red with: the corpus of the same options, none given, taken for the same."""
    first, _ = plan_of({"holdout": 6})
    monkeypatch.setattr(vocabulary, "_BUILT", vocabulary._BUILT._replace(max_vocab=3))
    again, _ = plan_of({"holdout": 6}, first.corpus.path)
    assert (first.corpus.words, again.corpus.words) == (6, 3)
    had, wanted = identities(first.config, again.config, ())
    assert "max-vocab: 100000 -> 3" in differences(had, wanted)
