"""What LDAvis draws, compared with the formulas for each word and with pyLDAvis."""

import json

import numpy as np
import pytest

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.report.exports import pyldavis as module
from pysgrld.report.exports.pyldavis import TopicUse, page_data, relevant


def silent(what, done, total):
    del what, done, total


@pytest.mark.parametrize(("name", "at"), [("lda", 0), ("dlda", 1), ("dpmm", 0)])
def test_arguments_are_those_of_the_run(exported, chains, name, at):
    """Red with: held-out documents among them; words by count."""
    results = chains(name)[0]
    with np.load(exported(name, "pyldavis", at=at) / "pyldavis.npz") as arrays:
        found = dict(arrays)
    corpus, k = results.training_corpus(), results.fitted.layers[at]
    rows = results.training_documents(corpus)
    phi = results.fitted.topics_over_words(results.mean, at)[:, :k].T
    np.testing.assert_allclose(found["topic_term_dists"], phi, atol=1e-6)
    np.testing.assert_array_equal(found["doc_lengths"], corpus.take(rows).lengths)
    assert found["vocab"].tolist() == list(results.vocabulary)
    np.testing.assert_array_equal(found["term_frequency"], results.word_counts())
    assert found["doc_topic_dists"].shape == (len(rows), k) == (54, k)
    np.testing.assert_allclose(found["doc_topic_dists"].sum(axis=1), 1, atol=1e-5)
    if name != "dpmm":
        steps = results.draw_steps(20)
        theta = results.document_draws(corpus.take(rows), rows, steps, at).theta.mean(axis=0)
        np.testing.assert_allclose(found["doc_topic_dists"], theta, atol=1e-6)


def made(k=5, v=40, n=30):
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(k, 0.3), n).astype(np.float32)
    lengths = rng.integers(5, 200, n)
    phi = np.ascontiguousarray(rng.dirichlet(np.full(v, 0.1), k).T, np.float32)
    phi[phi < 1e-25] = 1e-25
    return TopicUse(phi, theta, lengths, np.ones(v, np.int64), lengths.astype(float) @ theta)


def test_the_page_has_every_word_that_its_slider_can_bring_forward():
    """Red with: lambda 0 and 1 alone; lift over the corpus's counts."""
    model, words = made(), [f"w{i:02}" for i in range(40)]
    page = page_data(model, words, 6, silent)
    phi = model.phi.T.astype(float)
    uses = phi * model.tokens[:, None]
    total = uses.sum(axis=0)
    lift = np.log(phi) - np.log(total / total.sum())
    info = list(zip(*(page["tinfo"][name] for name in module._INFO), strict=True))
    for k in range(5):
        wanted = set()
        for lam in np.arange(0, 1.01, 0.01):
            relevance = lam * np.log(phi[k]) + (1 - lam) * lift[k]
            wanted |= set(np.argsort(-relevance, kind="stable")[:6].tolist())
        found = {row[0]: row for row in info if row[3] == f"Topic{k + 1}"}
        assert set(found) == {words[w] for w in wanted}
        for w in wanted:
            _, freq, all_uses, _, log_p, log_lift = found[words[w]]
            expected = (uses[k, w], total[w], np.log(phi[k, w]), lift[k, w])
            np.testing.assert_allclose((freq, all_uses, log_p, log_lift), expected, atol=6e-5)
    given = phi / phi.sum(axis=0)
    share = model.tokens / model.tokens.sum()
    saliency = total / total.sum() * (given * np.log(given / share[:, None])).sum(axis=0)
    assert page["tinfo"]["Term"][:6] == [words[w] for w in np.argsort(-saliency)[:6]]
    table = page["token.table"]
    rows = zip(table["Term"], table["Topic"], table["Freq"], strict=True)
    assert table["Term"] == sorted(table["Term"])
    for term, topic, freq in rows:
        w = words.index(term)
        assert freq == pytest.approx(np.round(uses[topic - 1, w]) / total[w])
    listed = {words.index(term) for term in page["tinfo"]["Term"]}
    assert len(table["Term"]) == (uses[:, sorted(listed)] >= 0.5).sum()


def test_words_that_are_beaten_are_left_out_without_loss():
    """Red with: the bar of the first word, not of the n-th."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, lift = rng.normal(size=(2, 3000)) * [[3.0], [1.0]]
        every = [np.argsort(-(lam * a + (1 - lam) * lift))[:5] for lam in np.arange(0, 1.01, 0.01)]
        assert relevant(a, lift, 5).tolist() == np.unique(np.concatenate(every)).tolist()


def test_topics_keep_their_order_and_are_numbered_from_1(exported):
    """The page takes topic 0 for none. Red with: topics by share."""
    page = json.loads((exported("lda", "pyldavis") / "ldavis.json").read_text())
    assert page["mdsDat"]["topics"] == page["topic.order"] == [1, 2, 3, 4]
    assert sum(page["mdsDat"]["Freq"]) == pytest.approx(100)
    assert {*page["tinfo"]["Category"]} == {"Default", *(f"Topic{k}" for k in range(1, 5))}
    assert page["R"] == 30
    assert set(page) == {
        *("mdsDat", "tinfo", "token.table", "R", "lambda.step", "plot.opts", "topic.order")
    }


def test_of_many_documents_some_are_taken_and_stand_for_all(exported, monkeypatch):
    """Red with: frequencies of the documents that were taken."""
    whole = json.loads((exported("lda", "pyldavis", out="a") / "ldavis.json").read_text())
    monkeypatch.setattr(module, "DOCUMENTS", 20)
    folder = exported("lda", "pyldavis", out="b")
    with np.load(folder / "pyldavis.npz") as arrays:
        assert len(arrays["doc_lengths"]) == 20
    some = json.loads((folder / "ldavis.json").read_text())
    totals = [
        sum({t: n for t, n, c in zip(*rows, strict=True) if c != "Default"}.values())
        for rows in (
            [page["tinfo"][name] for name in ("Term", "Total", "Category")]
            for page in (whole, some)
        )
    ]
    assert totals == [pytest.approx(54 * 20), pytest.approx(54 * 20)]


def test_directions_a_lost_corpus_and_endless_words_are_refused(exported, chains, monkeypatch):
    with pytest.raises(UsageError, match="are directions, but LDAvis shows distributions"):
        exported("sam", "pyldavis")
    monkeypatch.setattr(module, "_WORDS", 300)
    with pytest.raises(UsageError, match=r"word \d+ of .* has 6 characters, and"):
        exported("lda", "pyldavis")
    monkeypatch.setattr(type(chains("lda")[0]), "training_corpus", lambda self: None)
    with pytest.raises(MissingInputError, match="so files for LDAvis cannot be written"):
        exported("lda", "pyldavis")
