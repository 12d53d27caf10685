"""Data for an LDAvis page (``ldavis.json``), and arguments for pyLDAvis (``pyldavis.npz``).

Neither program is imported. Frequencies are the expected counts of topics, as in LDAvis.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.models.fitted import evenly_spaced
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import DOCUMENTS, drawn_blocks, drawn_steps
from pysgrld.report.exports import Exported, ExportRequest, Tell, drawn_from
from pysgrld.report.geometry import distances, laid_out, principal_axes
from pysgrld.report.topic_words import best, columns
from pysgrld.run.output_files import open_output
from pysgrld.types import Doubles, Floats, Int64s

PAGE, ARGUMENTS = "ldavis.json", "pyldavis.npz"
#: Step of the slider for lambda, which determines the order of words.
LAMBDA_STEP = 0.01
#: The page shows a topic for a selected word only if the word has at least this expected number of
#: uses in the topic.
_USES = 0.5
#: Maximum number of bytes of the array of words. Each word takes as much space as the longest word.
_WORDS = 1 << 30
_TINY = 1e-30


class TopicUse(NamedTuple):
    """Inputs of pyLDAvis except the vocabulary, and the expected number of tokens of each topic.

    Attributes
    ----------
    phi : (V, K) float32
    theta : (n, K) float32
    lengths : (n,) int64
    counts : (V,) int64
    tokens : (K,) float64
        Expected number of training tokens of each topic.
    """

    phi: Floats
    theta: Floats
    lengths: Int64s
    counts: Int64s
    tokens: Doubles


def files(results: Results, request: ExportRequest) -> list[str]:
    """Return the names of the output files.

    Raises
    ------
    UsageError
        If topics are not distributions over words.
    MissingInputError
        If the corpus no longer exists.
    """
    if results.fitted.signed:
        raise UsageError(
            f"{results.path}: topics of {results.fitted.kind} are directions, but LDAvis shows "
            "distributions over words; use 'sgmc report'"
        )
    if results.training_corpus() is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so files for LDAvis cannot be written; restore the "
            "corpus, or train with 'sgmc train'"
        )
    return [PAGE, ARGUMENTS]


def write(results: Results, request: ExportRequest, tell: Tell) -> Exported:
    """Write both files, from all training documents or from 20,000 evenly spaced documents."""
    layer, mean = request.at, request.draw == "mean"
    corpus, vocabulary = results.training_corpus(), results.vocabulary
    assert corpus is not None
    trained = results.training_documents(corpus)
    rows, k = evenly_spaced(trained, DOCUMENTS), results.fitted.layers[layer]
    steps, draw = (drawn_steps(results), None) if mean else ([], results.fitted.current)
    theta, lengths = np.empty((len(rows), k), np.float32), np.empty(len(rows), np.int64)
    for block in drawn_blocks(results, corpus, rows, steps, layer, draw):
        theta[block.at] = block.theta.mean(axis=0, dtype=np.float64)
        lengths[block.at] = block.lengths
        tell("reading documents", block.at.stop, len(rows))
    counts = results.word_counts()
    if counts is None:
        counts = corpus.totals.word_counts
    phi = results.phi(layer, draw)[:, :k]
    used = (lengths[:, None] * theta).sum(axis=0)
    tokens = used * (results.run.config["corpus"]["training_tokens"] / max(1.0, used.sum()))
    model = TopicUse(phi, theta, lengths, counts, np.maximum(tokens, _TINY))

    longest = max(map(len, vocabulary))
    if 4 * longest * len(vocabulary) > _WORDS:
        word = next(n for n, w in enumerate(vocabulary, 1) if len(w) == longest)
        raise UsageError(
            f"word {word} of {results.path} has {longest:,} characters, and {ARGUMENTS} "
            "reserves this space for every word; build a corpus without this word (--vocab)"
        )
    with open_output(request.folder / ARGUMENTS) as file:
        np.savez(
            file,
            topic_term_dists=np.ascontiguousarray(model.phi.T),
            doc_topic_dists=model.theta,
            doc_lengths=model.lengths,
            vocab=np.array(vocabulary),
            term_frequency=model.counts,
        )
    page = page_data(model, vocabulary, min(request.top or len(phi), len(phi)), tell)
    target = request.folder / PAGE
    with open_output(target) as file:
        for part in json.JSONEncoder(allow_nan=False).iterencode(page):
            file.write(part.encode())
    description = f"{plural(k, 'topic')}, {plural(len(theta), 'document')}"
    if len(theta) < len(trained):
        description += f" of {len(trained):,}"
    return Exported(target, f"{description}, {drawn_from(results, request.draw)}")


def page_data(model: TopicUse, vocabulary: Sequence[str], words: int, tell: Tell) -> dict[str, Any]:
    """Return the data that LDAvis's page draws, under the keys that the page expects.

    Topics keep their order; they are numbered from 1, as 0 means "no topic" on the page.

    Parameters
    ----------
    model : TopicUse
    vocabulary : sequence of str
    words : int
        Number of words of each topic for each lambda.
    tell : callable

    References
    ----------
    Sievert and Shirley (2014), LDAvis: a method for visualizing and interpreting topics. Chuang, Manning
    and Heer (2012), Termite: visualization techniques for assessing textual topic models.
    """
    k = len(model.tokens)
    share = model.tokens / model.tokens.sum()
    # Compute the expected number of uses of each word, and the sum of its probabilities over
    # topics.
    expected, total = np.zeros(len(model.phi)), np.zeros(len(model.phi))
    for p, tokens in zip(columns(model.phi, k), model.tokens, strict=True):
        expected += p * tokens
        total += p
    expected, total = np.maximum(expected, _TINY), np.maximum(total, _TINY)
    # Distinctiveness of each word, sum_k P(k|w) log (P(k|w) / P(k)), for topics of equal weight.
    distinct = np.zeros(len(model.phi))
    for p, topic_share in zip(columns(model.phi, k), share, strict=True):
        p_word = np.maximum(p, _TINY) / total
        distinct += p_word * np.log(p_word / topic_share)

    info: dict[str, list[Any]] = {name: [] for name in _INFO}

    def add(ids: Int64s, uses: Doubles, total: Doubles, category: str, *logs: Doubles) -> None:
        named = [vocabulary[w] for w in ids.tolist()]
        numbers = [part.tolist() for part in (uses, total, *logs)]
        parts = [named, *numbers[:2], [category] * len(ids), *numbers[2:]]
        for name, part in zip(_INFO, parts, strict=True):
            info[name] += part

    shown = best(expected / expected.sum() * distinct, words)
    order = np.arange(words, 0, -1, dtype=np.float64)
    frequent = np.floor(expected[shown])
    add(shown, frequent, frequent, "Default", order, order)
    rows_shown = [shown]
    for topic, p in enumerate(columns(model.phi, k)):
        log_p = np.log(np.maximum(p, _TINY))
        log_lift = log_p - np.log(expected / expected.sum())
        ids = relevant(log_p, log_lift, words)
        logs = (np.round(part[ids], 4) for part in (log_p, log_lift))
        add(ids, p[ids] * model.tokens[topic], expected[ids], f"Topic{topic + 1}", *logs)
        rows_shown.append(ids)
        tell("ordering words", topic + 1, k)

    # Fraction of each word's uses in a topic, for topics with at least `_USES` expected uses.
    table: dict[str, list[Any]] = {"Term": [], "Topic": [], "Freq": []}
    listed = np.unique(np.concatenate(rows_shown)).tolist()
    for word in sorted(listed, key=lambda w: vocabulary[w]):
        uses = model.phi[word].astype(np.float64) * model.tokens
        topics = np.flatnonzero(uses >= _USES)
        table["Term"] += [vocabulary[word]] * len(topics)
        table["Topic"] += (topics + 1).tolist()
        table["Freq"] += (np.round(uses[topics]) / expected[word]).tolist()

    # Topics are placed as on the map of a run's page. Without a map, they are placed by principal
    # axes.
    distance = distances(model.phi, np.arange(k), signed=False)
    plane = laid_out(distance)
    points, axes = np.zeros((k, 2)), "PC"
    if plane is None:
        points[:, : min(2, k)] = principal_axes(distance)
    else:
        points, axes = plane.points, "t-SNE" if "t-SNE" in plane.how else "PC"
    return {
        "mdsDat": {
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "topics": list(range(1, k + 1)),
            "cluster": [1] * k,
            "Freq": (100 * share).tolist(),
        },
        "tinfo": info,
        "token.table": table,
        "R": words,
        "lambda.step": LAMBDA_STEP,
        "plot.opts": {"xlab": f"{axes} 1", "ylab": f"{axes} 2"},
        "topic.order": list(range(1, k + 1)),
    }


_INFO = ("Term", "Freq", "Total", "Category", "logprob", "loglift")


def relevant(log_p: Doubles, log_lift: Doubles, n: int) -> Int64s:
    """Return the sorted ids of words that are among the n most relevant for some lambda.

    Parameters
    ----------
    log_p, log_lift : (V,) float64
        Relevance is lambda log_p + (1 - lambda) log_lift.
    n : int
    """
    candidates = _undominated(log_p, log_lift, n)
    lambdas = np.arange(0.0, 1.0 + LAMBDA_STEP, LAMBDA_STEP)
    p, base = log_p[candidates], log_p[candidates] - log_lift[candidates]
    chosen = [candidates[best(p - (1.0 - lam) * base, n)] for lam in lambdas]
    return np.unique(np.concatenate(chosen))


def _undominated(a: Doubles, b: Doubles, n: int) -> Int64s:
    """Return indices that include all points that fewer than n points exceed in both a and b."""
    order = np.argsort(-a, kind="stable")
    front, size = np.empty(0, np.int64), max(64, n)
    while len(order):
        front = np.concatenate((front, order[:size]))
        place = max(0, len(front) - n)
        bar = np.partition(b[front], place)[place]
        order = order[size:]
        order = order[b[order] >= bar]
        size *= 2
    front.sort()
    return front
