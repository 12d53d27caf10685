"""Audit of topics of other programs: how they are read, and how they are judged."""

import gzip
import tracemalloc

import numpy as np
import pytest

from pysgrld.errors import CorpusError, MissingInputError, UsageError
from pysgrld.reading.foreign_topics import read_foreign_topics
from pysgrld.train.audit import _judged

WORDS = [f"word{i}" for i in range(60)]
USUAL = np.full(60, 1 / 60, np.float32)


def topics(rng, number):
    return rng.dirichlet(np.full(60, 0.1), number).astype(np.float32)


def test_real_topics_mixtures_duplicates_and_junk_are_told_apart():
    """Red with: one overlap for all; a mean of two topics taken for one of them."""
    rng = np.random.default_rng(3)
    real = topics(rng, 6)
    given = np.concatenate((real[:4], [(real[4] + real[5]) / 2], real[:1], topics(rng, 1)))
    drawn = [real[rng.permutation(6)] for _ in range(4)]
    judged = _judged(given, drawn, USUAL, WORDS)
    assert [t.verdict for t in judged] == [*("real",) * 4, "mixture", "duplicate", "not found"]
    assert judged[5].duplicate_of == 0
    firsts = {WORDS[real[k].argmax()] for k in (4, 5)}
    assert {part[0] for part in judged[4].parts} == firsts
    assert (judged[0].found, judged[0].found_elsewhere, len(judged[0].stable)) == (4, 2, 10)


def test_topics_of_random_words_are_the_background():
    """Red with: flat topics called real as chains have flat topics, too."""
    rng = np.random.default_rng(5)
    flat = rng.dirichlet(np.full(60, 20.0), 3).astype(np.float32)
    drawn = [rng.dirichlet(np.full(60, 20.0), 3).astype(np.float32) for _ in range(4)]
    assert {t.verdict for t in _judged(flat, drawn, USUAL, WORDS)} == {"background"}


def test_the_mean_of_two_given_topics_is_a_mixture_whatever_chains_have():
    """Red with: chains that keep the mean as a topic, because they started from it."""
    rng = np.random.default_rng(7)
    real = topics(rng, 5)
    given = np.concatenate((real, [(real[0] + real[3]) / 2]))
    judged = _judged(given, [given, given, real, real], USUAL, WORDS)
    assert [t.verdict for t in judged] == [*("real",) * 5, "mixture"]
    assert judged[5].mixture_of == (0, 3)
    assert [t.mixture_of for t in judged[:5]] == [None] * 5
    assert judged[5].parts == (judged[0].words, judged[3].words)


def test_a_topic_of_a_third_to_half_of_the_chains_is_uncertain():
    """Red with: the verdict of random words for a topic that half of the chains have."""
    rng = np.random.default_rng(4)
    real, other = topics(rng, 3), topics(rng, 3)
    for have, verdict in ((1, "not found"), (2, "uncertain"), (3, "uncertain"), (4, "real")):
        drawn = [real] * have + [other] * (6 - have)
        judged = _judged(real, drawn, USUAL, WORDS)
        assert [(t.verdict, t.found) for t in judged] == [(verdict, have)] * 3


def test_a_topic_of_a_minority_of_chains_is_not_found():
    rng = np.random.default_rng(4)
    real, other = topics(rng, 3), topics(rng, 3)
    judged = _judged(real, [real, other, other, other], USUAL, WORDS)
    assert [(t.verdict, t.found) for t in judged] == [("not found", 1)] * 3


def test_a_matrix_is_read_either_way_round(tmp_path):
    phi = topics(np.random.default_rng(0), 3)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    for matrix in (phi, phi.T, 50 * phi):
        np.save(tmp_path / "topics.npy", matrix)
        foreign = read_foreign_topics(tmp_path / "topics.npy")
        np.testing.assert_allclose(foreign.phi, phi, rtol=1e-5)
        assert foreign.words == tuple(WORDS)


def test_mallets_state_weights_and_a_table_give_the_same_topics(tmp_path):
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, (2, 60))
    state = ["#doc source pos typeindex type topic", "#alpha : 1 1", "#beta : 0.1"]
    rows = []
    for k in range(2):
        for w, word in enumerate(WORDS):
            state += [f"0 x 0 {w} {word} {k}"] * int(counts[k, w])
            rows.append((k, word, counts[k, w]))
    with gzip.open(tmp_path / "state.gz", "wt") as file:
        file.write("\n".join(state) + "\n")
    tab = "\n".join(f"{k}\t{word}\t{n}" for k, word, n in rows)
    (tmp_path / "weights.txt").write_text(tab + "\n")
    table = "\n".join(["topic,rank,word,p", *(f"{k},1,{word},{n}" for k, word, n in rows)])
    (tmp_path / "table.csv").write_text(table + "\n")
    phi = counts / counts.sum(axis=1, keepdims=True)
    for name in ("state.gz", "weights.txt", "table.csv"):
        foreign = read_foreign_topics(tmp_path / name)
        order = [foreign.words.index(word) for word in WORDS]
        np.testing.assert_allclose(foreign.phi[:, order], phi, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "text", "error", "said"),
    [
        ("gone.csv", None, MissingInputError, "no such file"),
        ("a.csv", "topic,word,p\n0,a,0.5\n1,b,0.5\n", UsageError, "only the first words"),
        ("a.csv", "a text\nwithout topics\n", CorpusError, "neither a MALLET state file nor"),
        ("lda.model", "\x80\x04of gensim", CorpusError, "lda.get_topics"),
        ("a.csv", "topic,word,p\n0,a,x\n", CorpusError, "wanted a number"),
        ("a.csv", "topic,word,p\nnan,a,0.5\n", CorpusError, "2: wanted a number"),
        ("a.csv", "topic,word,p\ninf,a,0.5\n", CorpusError, "2: wanted a number"),
        ("a.csv", "topic,word,p\n", CorpusError, "has no topic"),
        ("a.txt", "#doc source pos typeindex type topic\n", CorpusError, "has no topic"),
        ("a.npy", "no matrix", MissingInputError, "--topic-words"),
    ],
)
def test_a_file_without_topics_is_refused(tmp_path, name, text, error, said):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(error, match=said):
        read_foreign_topics(tmp_path / name)


def test_a_damaged_state_is_refused(tmp_path):
    """Red with: the error of the decompressor let through."""
    state = "#doc source pos typeindex type topic\n" + "0 x 0 1 word 1\n" * 1000
    damaged = bytearray(gzip.compress(state.encode()))
    damaged[15] ^= 0xFF
    (tmp_path / "state.gz").write_bytes(damaged)
    with pytest.raises(CorpusError, match=r"state\.gz"):
        read_foreign_topics(tmp_path / "state.gz")


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ("(60, 68719476736)", "not a matrix"),
        ("(60, 1208925819614629174706176)", "not a matrix"),
        ("(3, 60, ", "not a matrix"),
        ("(-1, 60)", "not a matrix"),
        ("(0, 60)", "matrix"),
    ],
)
def test_a_forged_matrix_is_refused(tmp_path, shape, problem):
    """Red with: memory for the size in the header; an error of NumPy's parser let through."""
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (tmp_path / "topics.npy").write_bytes(head + bytes(480))
    with pytest.raises(CorpusError, match=problem):
        read_foreign_topics(tmp_path / "topics.npy")


def test_an_archive_or_values_without_a_sum_are_refused(tmp_path):
    """Red with: an archive called .npy (an AttributeError), or topics of zeros (1e300 in float32)."""
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    path = tmp_path / "topics.npy"
    with path.open("wb") as file:
        np.savez(file, topics=np.ones((2, 60)))
    with pytest.raises(CorpusError, match="not a matrix in NumPy format"):
        read_foreign_topics(path)
    np.save(path, np.full((2, 60), 1e300))
    np.testing.assert_allclose(read_foreign_topics(path).phi, 1 / 60)
    np.save(path, np.full((2, 60), 1e308))
    with pytest.raises(CorpusError, match="not a number"):
        read_foreign_topics(path)


@pytest.mark.parametrize("name", ["state.gz", "table.gz"])
def test_a_compressed_line_without_an_end_is_refused(tmp_path, name):
    """Red with: a line of any length (it takes 16 MB and more)."""
    head = b"#doc source pos\n" if name == "state.gz" else b"topic,word,p\n"
    (tmp_path / name).write_bytes(gzip.compress(head + b"x" * (16 << 20), 1))
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match="more than 1 MB"):
            read_foreign_topics(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()
