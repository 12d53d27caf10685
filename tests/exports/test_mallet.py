"""MALLET's files, parsed by their grammar: one draw of z, and its consequences."""

import gzip
import re

import numpy as np
import pytest

from pysgrld.errors import CorpusError, MissingInputError, UsageError
from pysgrld.options.priors import lowest_eta
from pysgrld.reading.results import Results
from pysgrld.report.exports import ExportRequest, export
from pysgrld.report.exports import mallet as module


def state_of(folder):
    """Parse a state as MALLET does: lines of six fields after three header lines."""
    with gzip.open(folder / "state.gz", "rt", encoding="utf-8") as file:
        head = [next(file).rstrip("\n") for _ in range(3)]
        rows = [re.split(" ", line.rstrip("\n")) for line in file]
    assert head[0] == "#doc source pos typeindex type topic"
    assert {len(row) for row in rows} == {6}
    alpha = np.array(head[1].removeprefix("#alpha : ").split(" "), float)
    beta = float(head[2].removeprefix("#beta : "))
    return alpha, beta, rows


@pytest.mark.parametrize(("name", "at"), [("lda", 0), ("dlda", 0), ("dlda", 1), ("dpmm", 0)])
def test_all_files_tell_of_one_draw_of_the_tokens_topics(exported, chains, name, at):
    """Red with: held-out documents; weights without beta; shares without alpha; keys by probability."""
    results, folder = chains(name)[0], exported(name, "mallet", at=at, top=4)
    alpha, beta, rows = state_of(folder)
    corpus, k, v = results.training_corpus(), results.fitted.layers[at], len(results.vocabulary)
    trained = results.training_documents(corpus)
    documents = corpus.take(trained)
    doc, pos, word, z = (np.array([row[i] for row in rows], int) for i in (0, 2, 3, 5))
    np.testing.assert_array_equal(doc, np.repeat(np.arange(54), documents.lengths))
    np.testing.assert_array_equal(word, np.repeat(documents.indices, documents.counts))
    np.testing.assert_array_equal(
        pos, np.concatenate([np.arange(n) for n in documents.lengths.tolist()])
    )
    assert [row[4] for row in rows] == [results.vocabulary[w] for w in word]
    ids = [i.replace(" ", "%20").replace("\t", "%09") for i in corpus.about.ids(trained)]
    assert [row[1] for row in rows] == [ids[d] for d in doc]
    np.testing.assert_array_equal(z, results.fitted.token_topics(documents, trained, at))
    assert len(alpha) == k
    assert beta == lowest_eta(results.options.eta)
    n_dk, n_kw = np.zeros((54, k)), np.zeros((k, v))
    np.add.at(n_dk, (doc, z), 1)
    np.add.at(n_kw, (z, word), 1)
    shares = [line.split("\t") for line in (folder / "doc-topics.txt").read_text().splitlines()]
    assert [row[:2] for row in shares] == [[str(d), ids[d]] for d in range(54)]
    expected = (n_dk + alpha) / (documents.lengths[:, None] + alpha.sum())
    np.testing.assert_allclose(np.array([row[2:] for row in shares], float), expected, atol=1e-6)
    text = (folder / "topic-word-weights.txt").read_text(encoding="utf-8")
    weights = [line.split("\t") for line in text.splitlines()]
    assert [row[:2] for row in weights] == [
        [str(t), w] for t in range(k) for w in results.vocabulary
    ]
    found = np.array([row[2] for row in weights], float).reshape(k, v)
    np.testing.assert_allclose(found, n_kw + beta)
    keys = (folder / "topic-keys.txt").read_text(encoding="utf-8").splitlines()
    for t, line in enumerate(keys):
        number, prior, top = line.split("\t")
        assert int(number) == t
        assert float(prior) == pytest.approx(alpha[t], rel=1e-4)
        order = [w for w in np.argsort(-n_kw[t], kind="stable")[:4] if n_kw[t, w]]
        assert top == "".join(f"{results.vocabulary[w]} " for w in order)


def test_alpha_is_the_model_s_or_the_topics_shares(exported, chains):
    """Red with: alpha over K; shares for LDA."""
    alpha = state_of(exported("lda", "mallet", out="lda"))[0]
    assert alpha.tolist() == [chains("lda")[0].options.alpha] * 4
    for name in ("dlda", "dpmm"):
        alpha = state_of(exported(name, "mallet", out=name))[0]
        np.testing.assert_allclose(alpha, np.maximum(chains(name)[0].weights(0), 1e-6))


def test_old_documents_list_topics_by_share(exported):
    """As before MALLET 2.0.8. Red with: topics in their order; no head."""
    new = (exported("lda", "mallet", out="new") / "doc-topics.txt").read_text().splitlines()
    folder = exported("lda", "mallet", out="old", mallet_old=True)
    head, *old = (folder / "doc-topics.txt").read_text().splitlines()
    assert head == "#doc name topic proportion ..."
    for before, line in zip(old, new, strict=True):
        number, name, *pairs = before.split("\t")
        shares = [float(p) for p in pairs[1::2]]
        assert [number, name] == line.split("\t")[:2]
        assert shares == sorted(shares, reverse=True)
        by_topic = dict(zip(map(int, pairs[::2]), shares, strict=True))
        assert [by_topic[k] for k in range(4)] == [float(p) for p in line.split("\t")[2:]]


def test_the_draw_is_the_same_for_any_blocks_and_threads(exported, chains, monkeypatch):
    """Red with: a document that is keyed by its place in a block."""
    whole = exported("dlda", "mallet", out="whole", at=1)
    monkeypatch.setattr(module, "_TOGETHER", 7)
    monkeypatch.setattr(module, "_TOKENS", 50)
    parts = exported("dlda", "mallet", out="parts", at=1)
    two = Results(chains("dlda")[0].path, 2)
    export(two, ExportRequest("mallet", whole.parent / "two", "last", 20, at=1))
    for path in whole.iterdir():
        for other in (parts, whole.parent / "two"):
            assert (other / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_word_with_a_blank_is_refused_with_its_line(exported, chains, monkeypatch):
    results = chains("lda")[0]
    words = list(results.vocabulary)
    words[6] = "new york"
    monkeypatch.setitem(results.__dict__, "vocabulary", tuple(words))
    with pytest.raises(CorpusError, match=r"vocab\.txt:7: the word 'new york' contains a space"):
        exported("lda", "mallet")


def test_tokens_without_topics_and_a_lost_corpus_are_refused(exported, chains, monkeypatch):
    for name in ("sam", "ovb"):
        with pytest.raises(
            UsageError,
            match=r"(cannot be drawn|does not assign topics).*; MALLET's files need a topic per token",
        ):
            exported(name, "mallet")
    monkeypatch.setattr(type(chains("lda")[0]), "training_corpus", lambda self: None)
    with pytest.raises(MissingInputError, match="so MALLET's files cannot be written"):
        exported("lda", "mallet")
