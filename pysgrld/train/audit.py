"""Audit of another program's topics, which tests whether new chains find these topics in a corpus.

Each replicate draws as many documents as the corpus has, with replacement, and trains a chain on
them. Half of the chains start from the audited topics, so that topics which the corpus supports
remain; the other half start independently of them. A topic is called real if most chains have it,
and uncertain if at least a third of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.evaluate.matching import SAME, affinity, overlap
from pysgrld.models.protocol import CorpusFacts
from pysgrld.models.resampled import count_draws
from pysgrld.models.word_order import top_words
from pysgrld.options.option import Resolved
from pysgrld.train.replication import ITERATIONS, train_replicate
from pysgrld.train.short_chains import FirstTopics
from pysgrld.types import Array, Floats, Int64s

#: A chain has found an audited topic if the chain's most similar topic has at least this overlap
#: with the audited topic.
FOUND = 0.5
#: In a chain, an audited topic overlaps with the mean of two topics and with the most similar
#: topic. It counts as a mixture if the first overlap exceeds the second by at least this amount.
_SECOND = 0.1
#: A topic is real if more than this fraction of the chains have found it. It is a mixture if it is
#: a mixture in more than this fraction of the chains.
_MOST = 0.5
#: A topic that is not real is uncertain if at least this fraction of the chains have found it.
_SOME = 1 / 3
#: Number of a chain's most similar topics that are tried as parts of a mixture.
_PARTS = 4
#: Number of an audited topic's top words that are looked up in the matching topic of a chain.
TOP = 10
#: A top word of an audited topic is found if it is among this number of top words of the matching
#: topic.
_AMONG = 20
#: Part of the random seed, so that audits do not use the random numbers of other computations.
_SEED = 2027

Verdict = Literal["real", "uncertain", "mixture", "duplicate", "background", "not found"]


class AuditedTopic(NamedTuple):
    """Verdict on an audited topic, and the evidence for the verdict.

    Attributes
    ----------
    topic : int
        Number of the topic, from 0.
    verdict : {"real", "uncertain", "mixture", "duplicate", "background", "not found"}
        "mixture": the topic is near the mean of two topics of most chains, or of two other audited
        topics. "duplicate": it is
        similar to another audited topic that the chains match better. "background": it is as near
        to the word frequencies of the whole corpus as to any topic.
    found : int
        Number of chains that have the topic.
    found_elsewhere : int
        Number of chains that have it among the chains that did not start from the audited topics.
    overlap : float
        Mean overlap with its counterpart in the chains.
    words, stable : tuple of str
        Its ten top words, and the ones among them that are in the counterpart's twenty top words in
        most chains.
    parts : tuple of tuple of str
        Top words of the two topics that it mixes.
    mixture_of : tuple of int or None
        Numbers of the two audited topics that it mixes.
    duplicate_of : int or None
        Number of the topic that it duplicates.
    """

    topic: int
    verdict: Verdict
    found: int
    found_elsewhere: int
    overlap: float
    words: tuple[str, ...]
    stable: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    mixture_of: tuple[int, int] | None
    duplicate_of: int | None


class Audit(NamedTuple):
    """Verdicts on all audited topics.

    Attributes
    ----------
    topics : list of AuditedTopic
    chains : int
        Number of chains; every second one started from the audited topics.
    covered : float
        Mean over the audited topics of the probability on words of the corpus.
    """

    topics: list[AuditedTopic]
    chains: int
    covered: float

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of topics with each verdict."""
        verdicts = [topic.verdict for topic in self.topics]
        return {verdict: verdicts.count(verdict) for verdict in get_args(Verdict)}


def audit(
    phi: Floats,
    words: Sequence[str],
    corpus: Corpus,
    ids: Int64s,
    options: Resolved,
    chains: int,
    threads: int,
    iterations: int = ITERATIONS,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Audit:
    """Return a verdict on each topic of another program, from chains on resampled documents.

    Parameters
    ----------
    phi : (K, V) float32
        Topics over ``words``; rows sum to 1.
    words : sequence of str
    corpus : Corpus
    ids : (n,) int64
        Documents of the corpus to use.
    options : Resolved
        Options of LDA with K topics.
    chains : int
        Number of chains, at least 2.
    threads : int
    iterations : int
        Number of iterations of each chain.
    tell : callable (done, total), optional
        Called after each chain.

    Returns
    -------
    Audit
        A verdict on each audited topic.
    """
    foreign, covered = _over(corpus.vocabulary, phi, words)
    common = np.flatnonzero(np.isin(np.array(corpus.vocabulary, object), list({*words})))
    facts = CorpusFacts(corpus.words, corpus.tokens)
    tokens = np.full(len(foreign), corpus.tokens / len(foreign))
    first = FirstTopics(np.ascontiguousarray(foreign.T), tokens)
    wholes, drawn = corpus.about.wholes(ids), []
    tell(0, chains)
    for number in range(chains):
        seed, start = [_SEED, options.seed, number], None if number % 2 else first
        generator = np.random.default_rng(seed)
        drawn_ids = np.repeat(ids, count_draws(len(ids), wholes, generator))
        draw = train_replicate(
            corpus, np.sort(drawn_ids), options, generator, facts, threads, iterations, start
        )
        topics = np.ascontiguousarray(draw["phi"][common, : len(foreign)].T)
        drawn.append(topics / np.maximum(topics.sum(axis=1, keepdims=True), 1e-30))
        tell(number + 1, chains)
    names = [corpus.vocabulary[w] for w in common]
    counts = corpus.totals.word_counts[common]
    usual = (counts / max(1, counts.sum())).astype(np.float32)
    return Audit(_judged(foreign[:, common], drawn, usual, names), chains, covered)


def _over(vocabulary: Sequence[str], phi: Floats, words: Sequence[str]) -> tuple[Floats, float]:
    """Restrict topics to words of the corpus; also return the mean probability that is kept."""
    place = {word: i for i, word in enumerate(vocabulary)}
    columns = np.array([place.get(word, -1) for word in words])
    foreign = np.zeros((len(phi), len(vocabulary)), np.float32)
    foreign[:, columns[columns >= 0]] = phi[:, columns >= 0]
    totals = foreign.sum(axis=1, keepdims=True)
    return foreign / np.maximum(totals, 1e-30), float(totals.mean())


def _judged(
    foreign: Floats, drawn: Sequence[Floats], usual: Floats, vocabulary: Sequence[str]
) -> list[AuditedTopic]:
    """Return a verdict on each audited topic, from the chains' topics and the word frequencies."""
    likeness_to_usual = overlap(foreign, np.broadcast_to(usual, foreign.shape))
    between = np.array([overlap(foreign, np.broadcast_to(row, foreign.shape)) for row in foreign])
    np.fill_diagonal(between, 0.0)
    firsts = top_words(foreign.T, TOP)
    judged = []
    evidence = [[_in_chain(row, topics) for topics in drawn] for row in foreign]
    means = [float(np.mean([seen.one for seen in row])) for row in evidence]
    for k, seen in enumerate(evidence):
        mixed = [chain.two >= max(FOUND, chain.one + _SECOND) for chain in seen]
        has = [c.one >= FOUND and not m for c, m in zip(seen, mixed, strict=True)]
        found = sum(has)
        better = [j for j in np.flatnonzero(between[k] >= SAME) if (means[j], -j) > (means[k], -k)]
        original = int(max(better, key=lambda j: between[k, j])) if better else None
        verdict: Verdict = "not found"
        mixture_of = _mixed(foreign, k)
        nearest = float(np.mean([max(chain.one, chain.two) for chain in seen]))
        if likeness_to_usual[k] >= max(FOUND, nearest):
            verdict = "background"
        elif original is not None:
            verdict = "duplicate"
        elif sum(mixed) > _MOST * len(drawn) or mixture_of is not None:
            verdict = "mixture"
        elif found > _MOST * len(drawn):
            verdict = "real"
        elif found >= _SOME * len(drawn):
            verdict = "uncertain"
        if verdict != "duplicate":
            original = None
        parts: tuple[tuple[str, ...], ...] = ()
        if verdict != "mixture":
            mixture_of = None
        elif mixture_of is not None:
            parts = tuple(_named(firsts[j], vocabulary) for j in mixture_of)
        else:
            chain = mixed.index(True)
            rows = drawn[chain][list(seen[chain].pair)]
            parts = tuple(_named(row, vocabulary) for row in top_words(rows.T, TOP))
        among = [
            set(top_words(topics[[c.best]].T, _AMONG)[0].tolist())
            for topics, c in zip(drawn, seen, strict=True)
        ]
        first = firsts[k].tolist()
        stable = [w for w in first if sum(w in words for words in among) > _MOST * len(drawn)]
        judged.append(
            AuditedTopic(
                k,
                verdict,
                found,
                sum(has[1::2]),
                means[k],
                _named(np.array(first), vocabulary),
                _named(np.array(stable, np.int64), vocabulary),
                parts,
                mixture_of,
                original,
            )
        )
    return judged


class _InChain(NamedTuple):
    """Overlap of an audited topic with its best match in a chain: a topic, or a mean of two."""

    best: int
    one: float
    two: float
    pair: tuple[int, int]


def _mixed(foreign: Floats, k: int) -> tuple[int, int] | None:
    """Return two other audited topics with a mean similar to topic ``k``, or None if none exist."""
    columns = np.delete(np.arange(len(foreign)), k)
    if len(columns) < 2:
        return None
    seen = _in_chain(foreign[k], foreign[columns])
    if seen.two < max(SAME, seen.one + _SECOND):
        return None
    a, b = sorted(int(columns[j]) for j in seen.pair)
    return a, b


def _in_chain(topic: Floats, topics: Floats) -> _InChain:
    near = np.argsort(-affinity(topic[None], topics)[0], kind="stable")[:_PARTS]
    alone = overlap(np.broadcast_to(topic, topics[near].shape), topics[near])
    best = int(near[alone.argmax()])
    others = [int(j) for j in near if j != best]
    if not others:
        return _InChain(best, float(alone.max()), 0.0, (best, best))
    mixed: Array = 0.5 * (topics[best] + topics[others])
    together = overlap(np.broadcast_to(topic, mixed.shape), mixed)
    second = int(together.argmax())
    return _InChain(best, float(alone.max()), float(together[second]), (best, others[second]))


def _named(row: Int64s, vocabulary: Sequence[str]) -> tuple[str, ...]:
    return tuple(vocabulary[w] for w in row.tolist())
