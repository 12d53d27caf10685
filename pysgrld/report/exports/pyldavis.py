"""The data of a page of LDAvis (``ldavis.json``), and arguments for pyLDAvis (``pyldavis.npz``).

Neither is imported. Frequencies are those that topics expect, as LDAvis has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.reading.results import Results, evenly_spaced
from pysgrld.report.documents import DOCUMENTS, drawn_blocks, drawn_steps
from pysgrld.report.exports.request import Exported, ExportRequest, Tell, drawn_from
from pysgrld.report.geometry import distances, laid_out, principal_axes
from pysgrld.report.terms import best, columns
from pysgrld.run.whole import whole_file
from pysgrld.types import Doubles, Floats, Int64s

PAGE, ARGUMENTS = "ldavis.json", "pyldavis.npz"
#: Steps of the slider by which words are ordered.
LAMBDA_STEP = 0.01
#: Expected uses of a word in a topic from which on the topic is drawn for it.
_USES = 0.5
#: Bytes that the words may take in the arrays, where each has the room of the longest.
_WORDS = 1 << 30
_TINY = 1e-30


class TopicUse(NamedTuple):
    """The five arguments of pyLDAvis, and how often topics are used.

    Attributes
    ----------
    phi : (V, K) float32
    theta : (n, K) float32
    lengths : (n,) int64
    counts : (V,) int64
    tokens : (K,) float64
        Tokens of training that each topic is expected to have.
    """

    phi: Floats
    theta: Floats
    lengths: Int64s
    counts: Int64s
    tokens: Doubles


def files(chains: Sequence[Results], asked: ExportRequest) -> list[str]:
    """Name the files.

    Raises
    ------
    UsageError
        If topics are no distributions over words.
    MissingInputError
        If the corpus is gone.
    """
    results = chains[0]
    if results.fitted.signed:
        raise UsageError(
            f"{results.path}: topics of {results.fitted.kind} are directions, and LDAvis draws "
            "distributions over words; 'sgmc report' shows them"
        )
    if results.training_corpus() is None:
        raise MissingInputError(f"{results.gone}: LDAvis needs its documents")
    return [PAGE, ARGUMENTS]


def write(chains: Sequence[Results], asked: ExportRequest, tell: Tell) -> Exported:
    """Write both files; documents are those of training, or 20,000 of them, evenly spaced."""
    results = chains[0]
    draw = results.mean if asked.draw == "mean" else results.current
    theta, lengths, trained = _documents(results, asked, tell)
    counts = results.word_counts()
    if counts is None:
        counts = _counted(results)
    k = results.layers[asked.at]
    phi = results.fitted.over_words(draw, asked.at)[:, :k]
    used = (lengths[:, None] * theta).sum(axis=0)
    tokens = used * (results.run.config["corpus"]["training_tokens"] / max(1.0, used.sum()))
    model = TopicUse(phi, theta, lengths, counts, np.maximum(tokens, _TINY))
    _write_arguments(results, asked, model)
    words = min(asked.top or len(phi), len(phi))
    page = prepared(model, results.vocabulary, words, tell)
    target = asked.folder / PAGE
    with whole_file(target) as file:
        for part in json.JSONEncoder(allow_nan=False).iterencode(page):
            file.write(part.encode())
    what = f"{plural(k, 'topic')}, {plural(len(theta), 'document')}"
    if len(theta) < trained:
        what += f" of {trained:,}"
    return Exported(target, f"{what}, {drawn_from(results, asked.draw)}")


def _documents(results: Results, asked: ExportRequest, tell: Tell) -> tuple[Floats, Int64s, int]:
    """Give proportions and lengths of training documents, and how many there are."""
    corpus = results.training_corpus()
    assert corpus is not None
    trained = results.training_documents(corpus)
    rows = evenly_spaced(trained, DOCUMENTS)
    mean = asked.draw == "mean"
    steps, draw = (drawn_steps(results), None) if mean else ([], results.current)
    theta = np.empty((len(rows), results.layers[asked.at]), np.float32)
    lengths = np.empty(len(rows), np.int64)
    for block in drawn_blocks(results, corpus, rows, steps, asked.at, draw):
        theta[block.at] = block.theta.mean(axis=0, dtype=np.float64)
        lengths[block.at] = block.lengths
        tell("reading documents", block.at.stop, len(rows))
    return theta, lengths, len(trained)


def _counted(results: Results) -> Int64s:
    corpus = results.training_corpus()
    assert corpus is not None
    return corpus.totals.word_counts


def _write_arguments(results: Results, asked: ExportRequest, model: TopicUse) -> None:
    longest = max(map(len, results.vocabulary))
    if 4 * longest * len(results.vocabulary) > _WORDS:
        word = next(n for n, w in enumerate(results.vocabulary, 1) if len(w) == longest)
        raise UsageError(
            f"{ARGUMENTS} gives every word the room of the longest, and word {word} of {results.path} "
            f"has {longest:,} letters; leave it out with --vocab"
        )
    with whole_file(asked.folder / ARGUMENTS) as file:
        np.savez(
            file,
            topic_term_dists=np.ascontiguousarray(model.phi.T),
            doc_topic_dists=model.theta,
            doc_lengths=model.lengths,
            vocab=np.array(results.vocabulary),
            term_frequency=model.counts,
        )


def prepared(model: TopicUse, vocabulary: Sequence[str], words: int, tell: Tell) -> dict[str, Any]:
    """Give what the page of LDAvis draws, by its keys.

    Topics keep their order; they are numbered from 1, as 0 is what the page calls no topic.

    Parameters
    ----------
    model : TopicUse
    vocabulary : sequence of str
    words : int
        Of each topic, for any order of them.
    tell : callable

    References
    ----------
    Sievert and Shirley (2014), LDAvis: a method for visualizing and interpreting topics. Chuang, Manning
    and Heer (2012), Termite: visualization techniques for assessing textual topic models.
    """
    k = len(model.tokens)
    share = model.tokens / model.tokens.sum()
    expected = np.maximum(_expected(model.phi, model.tokens), _TINY)
    info: dict[str, list[Any]] = {name: [] for name in _INFO}
    shown = best(expected / expected.sum() * _distinct(model.phi, share), words)
    order = np.arange(words, 0, -1, dtype=np.float64)
    frequent = np.floor(expected[shown])
    _add(info, vocabulary, shown, frequent, frequent, "Default", order, order)
    there = [shown]
    for topic, p in enumerate(columns(model.phi, k)):
        log_p = np.log(np.maximum(p, _TINY))
        log_lift = log_p - np.log(expected / expected.sum())
        ids = relevant(log_p, log_lift, words)
        logs = (np.round(part[ids], 4) for part in (log_p, log_lift))
        uses = p[ids] * model.tokens[topic]
        _add(info, vocabulary, ids, uses, expected[ids], f"Topic{topic + 1}", *logs)
        there.append(ids)
        tell("ordering words", topic + 1, k)
    points, axes = _points(model.phi)
    return {
        "mdsDat": {
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "topics": list(range(1, k + 1)),
            "cluster": [1] * k,
            "Freq": (100 * share).tolist(),
        },
        "tinfo": info,
        "token.table": _used(model, vocabulary, np.unique(np.concatenate(there)), expected),
        "R": words,
        "lambda.step": LAMBDA_STEP,
        "plot.opts": {"xlab": f"{axes} 1", "ylab": f"{axes} 2"},
        "topic.order": list(range(1, k + 1)),
    }


_INFO = ("Term", "Freq", "Total", "Category", "logprob", "loglift")


def _add(
    info: dict[str, list[Any]],
    vocabulary: Sequence[str],
    ids: Int64s,
    uses: Doubles,
    total: Doubles,
    category: str,
    log_p: Doubles,
    log_lift: Doubles,
) -> None:
    words = [vocabulary[w] for w in ids.tolist()]
    rest = (uses, total, [category] * len(ids), log_p, log_lift)
    parts = [words, *(p.tolist() if isinstance(p, np.ndarray) else p for p in rest)]
    for name, part in zip(_INFO, parts, strict=True):
        info[name] += part


def _expected(phi: Floats, tokens: Doubles) -> Doubles:
    """Give the uses of each word that the topics expect, (V,)."""
    found = np.zeros(len(phi))
    for p, own in zip(columns(phi, len(tokens)), tokens, strict=True):
        found += p * own
    return found


def _distinct(phi: Floats, share: Doubles) -> Doubles:
    """Give how much a word tells of its topic, (V,): sum_k P(k|w) log (P(k|w) / P(k)) of even topics."""
    total, found = np.zeros(len(phi)), np.zeros(len(phi))
    for p in columns(phi, len(share)):
        total += p
    total = np.maximum(total, _TINY)
    for p, own in zip(columns(phi, len(share)), share, strict=True):
        given = np.maximum(p, _TINY) / total
        found += given * np.log(given / own)
    return found


def relevant(log_p: Doubles, log_lift: Doubles, n: int) -> Int64s:
    """Give the words that are among the n first for some lambda of the slider, ascending."""
    some = _undominated(log_p, log_lift, n)
    lambdas = np.arange(0.0, 1.0 + LAMBDA_STEP, LAMBDA_STEP)
    p, base = log_p[some], log_p[some] - log_lift[some]
    chosen = [some[best(p - (1.0 - lam) * base, n)] for lam in lambdas]
    return np.unique(np.concatenate(chosen))


def _undominated(a: Doubles, b: Doubles, n: int) -> Int64s:
    """Give the places that fewer than n others surpass both in ``a`` and in ``b``, and some more."""
    order = np.argsort(-a, kind="stable")
    kept, size = np.empty(0, np.int64), max(64, n)
    while len(order):
        kept = np.concatenate((kept, order[:size]))
        place = max(0, len(kept) - n)
        bar = np.partition(b[kept], place)[place]
        order = order[size:]
        order = order[b[order] >= bar]
        size *= 2
    kept.sort()
    return kept


def _points(phi: Floats) -> tuple[Doubles, str]:
    """Lay the topics out on the plane as the page of a run does, else on the principal axes."""
    distance = distances(phi, np.arange(phi.shape[1]), signed=False)
    found = laid_out(distance)
    if found is not None:
        return found.points, "t-SNE" if "t-SNE" in found.how else "PC"
    axes = np.zeros((len(distance), 2))
    axes[:, : min(2, len(distance))] = principal_axes(distance)
    return axes, "PC"


def _used(
    model: TopicUse, vocabulary: Sequence[str], ids: Int64s, expected: Doubles
) -> dict[str, list[Any]]:
    """Give the share of each word's uses that topics have, where that is half a use or more."""
    ids = np.array(sorted(ids.tolist(), key=lambda w: vocabulary[w]), np.int64)
    table: dict[str, list[Any]] = {"Term": [], "Topic": [], "Freq": []}
    for word, topic, freq in _uses(model, ids, expected):
        table["Term"] += [vocabulary[word]] * len(topic)
        table["Topic"] += (topic + 1).tolist()
        table["Freq"] += freq.tolist()
    return table


def _uses(model: TopicUse, ids: Int64s, expected: Doubles) -> Iterator[tuple[int, Int64s, Doubles]]:
    for word in ids.tolist():
        uses = model.phi[word].astype(np.float64) * model.tokens
        topic = np.flatnonzero(uses >= _USES)
        yield word, topic, np.round(uses[topic]) / expected[word]
