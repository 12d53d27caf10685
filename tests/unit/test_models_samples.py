"""Samples that are kept as counts, and top-word samples."""

import shutil

import numpy as np
import pytest
from faults_runs import opened, result, stopped_here, train_here, write_corpus

from pysgrld.errors import CheckpointError, UsageError
from pysgrld.models import samples as slim
from pysgrld.models.options import check_usage
from pysgrld.models.resolve import resolve
from pysgrld.models.samples import encode_counts, look_up_words, sample_conditional, top_word_sample
from pysgrld.options.option import Facts
from pysgrld.reading.results import Results
from pysgrld.types import Block


@pytest.mark.parametrize("v", [5, 12, 400])
def test_the_most_probable_words_come_first_and_of_those_alike_the_first(v, monkeypatch):
    """Red with: the least of the words left out; words alike in any order."""
    monkeypatch.setattr(slim, "WORDS", 12)
    rng = np.random.default_rng(v)
    phi = rng.integers(0, 20, (19, v)).astype(np.float32)
    found = top_word_sample(phi)
    wanted = np.argsort(-phi, axis=1, kind="stable")[:, :12]
    np.testing.assert_array_equal(found["words"], wanted)
    np.testing.assert_array_equal(found["phi"], np.take_along_axis(phi, wanted, axis=1))


def test_a_word_that_a_slim_sample_lacks_is_below_its_least_value(monkeypatch):
    """Red with: ids taken for sorted; the greatest value as the bound."""
    monkeypatch.setattr(slim, "WORDS", 7)
    phi = np.random.default_rng(0).dirichlet(np.ones(30), 5).astype(np.float32)
    words = np.tile(np.arange(29, -1, -1), (5, 1))
    values, censored = look_up_words(top_word_sample(phi), words)
    true = phi[:, ::-1]
    assert (censored.sum(axis=1) == 23).all()
    np.testing.assert_array_equal(values[~censored], true[~censored])
    assert (values[censored] >= true[censored]).all()


@pytest.mark.parametrize("lazy", ["on", "off"])
def test_a_slim_sample_is_a_part_of_the_full_one_of_its_iteration(lazy, tmp_path, monkeypatch):
    """Red with: rows that wait left as they are."""
    monkeypatch.setattr(slim, "WORDS", 9)
    monkeypatch.setattr("pysgrld.samplers.lazy_rows.DENSE", 1.0)
    write_corpus(tmp_path / "corpus.txt")
    train_here(tmp_path, lazy=lazy, top_word_samples=5)
    run = opened(tmp_path)
    assert run.samples.steps() == [12, 16, 20, 24, 28, 32, 36, 40]
    assert run.samples.steps(top_words=True) == [16, 24, 32, 40]
    for step in run.samples.steps(top_words=True):
        part = top_word_sample(run.samples.read(step)["phi"])
        found = run.samples.read(step, top_words=True)
        for name in ("words", "phi"):
            np.testing.assert_array_equal(found[name], part[name])


@pytest.mark.parametrize("changes", [{}, {"eta": "learn"}], ids=["eta fixed", "eta learned"])
def test_topics_that_are_kept_as_counts_are_drawn_again_to_the_bit(changes, tmp_path, monkeypatch):
    """Red with: another step of the random key; eta of the start; the counts of another word."""
    found = []
    for name in ("counts", "matrices"):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name / "corpus.txt")
        if name == "matrices":
            monkeypatch.setattr("pysgrld.train.run_writer.encode_counts", lambda *_: None)
        train_here(
            tmp_path / name, algo="cgs", minibatch=None, warm_up=None, sweeps=None, **changes
        )
        run = opened(tmp_path / name)
        assert all(("phi" in run.samples.read(step)) == (name == "matrices") for step in (12, 40))
        results = Results(tmp_path / name / "run", threads=1)
        found.append([results.read_sample(step) for step in results.kept()])
    assert len(found[0]) == 8
    for again, matrices in zip(*found, strict=True):
        assert again.keys() == matrices.keys()
        for name, matrix in matrices.items():
            np.testing.assert_array_equal(again[name], matrix)


CELLS, TOPICS, TOKENS, STEP = [2, 0, 1], [0, 3, 1], [5, 1, 300], [[7, 1 << 24]]
BLOCK = Block("phi", "simplex", (3, 4), 0.1, 0, 0.0)


def counted(cells=CELLS, topics=TOPICS, tokens=TOKENS, step=STEP):
    """Return the arrays of a sample that is kept as counts."""
    numbers = {"phi.cells": cells, "phi.topics": topics, "phi.tokens": tokens}
    packed = {name: slim._compress(np.array(a, np.int64)) for name, a in numbers.items()}
    return packed | {"phi.step": np.array(step, np.uint32)}


def test_a_law_goes_into_packed_arrays_and_back():
    """Red with: a step of 32 bits; words without tokens left out; bytes of a number exchanged."""
    law = sample_conditional(counted(), BLOCK, 4, 5)
    assert law.key == (4, 5, (1 << 56) + 7)
    assert law.counts.rows.tolist() == [0, 2]
    assert law.counts.counts[:, :4].tolist() == [[5, 0, 0, 1], [0, 300, 0, 0]]
    again = encode_counts(law, 4, 3)
    assert {n: a.tolist() for n, a in again.items()} == {
        n: a.tolist() for n, a in counted().items()
    }
    assert [a.tolist() for a in slim.decode_counts(again, 3, 4)] == [CELLS, TOPICS, TOKENS]
    assert encode_counts(law._replace(counts=law.counts._replace(factor=0.5)), 4, 3) is None


def test_counts_of_a_large_sample_take_about_a_byte_for_each_cell():
    """Red with: counts that are not compressed (4 bytes); the high bytes among the low ones (1.9)."""
    counts = np.random.default_rng(0).poisson(0.1, (3000, 48)).astype(np.int64)
    counts[0, :40], counts[:, 40:] = 300, 0
    law = slim.TopicConditional(
        slim.Key(1, 0, 9), slim.Counts(np.arange(3000, dtype=np.int32), counts, 1.0)
    )
    sample = encode_counts(law, 40, 3000)
    assert sum(a.nbytes for a in sample.values()) < 1.2 * np.count_nonzero(counts)
    again = sample_conditional(sample, Block("phi", "simplex", (3000, 40), 0.1, 0, 0.0), 1, 0)
    full = np.zeros_like(counts)
    full[again.counts.rows] = again.counts.counts
    np.testing.assert_array_equal(full, counts)


def test_a_sample_of_a_corpus_without_tokens_is_kept():
    law = sample_conditional(counted([0, 0, 0], [], []), BLOCK, 4, 5)
    assert law.counts.counts.shape == (0, 16)


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": [2, 0, 2]},
        {"cells": [2, 1]},
        {"cells": [2, 0, 1 << 40]},
        {"topics": [0, 4, 1]},
        {"tokens": [5, 1]},
        {"step": [[7]]},
    ],
)
def test_counts_that_do_not_belong_together_are_refused(changes):
    """Red with: sizes that are not compared; an array of 8 TB allocated."""
    with pytest.raises(CheckpointError, match="do not fit the model"):
        sample_conditional(counted(**changes), BLOCK, 4, 5)


@pytest.mark.parametrize(
    "frame",
    [
        np.ones((1, 3), np.float32),
        np.ones((2, 3), np.uint8),
        np.ones((1, 3), np.uint8),
        np.zeros((1, 0), np.uint8),
        counted()["phi.tokens"][:, :-1],
        counted()["phi.tokens"]
        ^ np.uint8([0] * 12 + [1] + [0] * (counted()["phi.tokens"].size - 13)),
    ],
    ids=["floats", "two rows", "no frame", "empty", "truncated", "a bit flipped"],
)
def test_counts_that_are_no_whole_frame_are_refused(frame):
    """Red with: an error of the library that is not caught; a frame without a checksum."""
    with pytest.raises(CheckpointError, match="do not fit the model"):
        sample_conditional(counted() | {"phi.tokens": frame}, BLOCK, 4, 5)


def test_slim_samples_come_again_the_same_after_a_stop(tmp_path):
    """Red with: top-word samples that going back does not delete, or that no checkpoint lists."""
    once, often = tmp_path / "once", tmp_path / "often"
    options = {"samples": 2, "top_word_samples": 3, "lazy": "on", "checkpoint_every": 11}
    for folder in (once, often):
        folder.mkdir()
        write_corpus(folder / "corpus.txt")
    train_here(once, **options)
    stopped_here(often, 22, **options)
    shutil.copytree(often / "run" / "samples", tmp_path / "early")
    stopped_here(often, 33, **options)
    for path in (tmp_path / "early").iterdir():  # as if the stop at 33 had never told of them
        shutil.copy(path, often / "run" / "samples" / path.name)
    train_here(often, **options)
    assert result(often) == result(once)
    assert any("top-words-" in name for name in result(once))


FITS = (1 << 30) // (4 * 100)


@pytest.mark.parametrize(
    ("words", "given", "kept"),
    [
        (FITS // 40, {}, (40, 0)),
        (FITS // 39, {}, (39, 200)),
        (FITS // 39, {"samples": 30}, (30, 0)),
        (FITS // 5, {"samples": 300}, (5, 300)),
        (FITS // 5, {"top-word-samples": 0}, (5, 0)),
        (1000, {"top-word-samples": 50}, (200, 50)),
        (FITS // 5, {"samples": 0}, (0, 0)),
        (FITS // 5, {"algo": "ovb"}, (0, 0)),
        (FITS // 5, {"model": "dpmm"}, (5, 0)),
        (FITS // 5, {"model": "sam"}, (5, 0)),
    ],
)
def test_slim_samples_are_kept_where_few_full_ones_fit(words, given, kept):
    """Red with: top-word samples of a run that was asked for few; of a mixture."""
    facts = Facts(5000, words, 500_000, 0, lambda *_: 900)
    topics = {} if given.get("model") == "dpmm" else {"topics": 100}
    options = resolve(topics | given, facts).options
    assert (options.samples, options.top_word_samples) == kept


@pytest.mark.parametrize("model", ["dpmm", "sam"])
def test_components_and_directions_have_no_slim_samples(model):
    with pytest.raises(UsageError, match="--set top-word-samples"):
        check_usage({"model": model, "top-word-samples": 5})
