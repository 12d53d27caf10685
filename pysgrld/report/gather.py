"""Everything that a page tells of a run, gathered in bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.models.fitted import Node
from pysgrld.reading.compare_chains import diagnose
from pysgrld.reading.diagnosis import Diagnosis, is_shared
from pysgrld.reading.find_runs import open_chains
from pysgrld.reading.labels import read_labels
from pysgrld.reading.results import Results
from pysgrld.reading.score import Evaluation
from pysgrld.report.documents import Looked, look, looked_at
from pysgrld.report.geometry import FEWEST, Map, Tree, average_linkage, distances, laid_out
from pysgrld.report.groups import Groups, along_column, along_corpus, by_columns
from pysgrld.report.lent import Known, Lending, known
from pysgrld.report.names import automatic
from pysgrld.report.overview import Noun, evaluated, few
from pysgrld.report.terms import (
    ChainOfTopics,
    Terms,
    Words,
    best,
    columns,
    relevance,
    terms,
    words_shown,
)
from pysgrld.run.machine import threads as allowed_threads
from pysgrld.types import Doubles, Floats, Int64s

#: Words of a topic in a tree of layers, and the relevance by which those of upper layers are chosen.
TREE_WORDS, TREE_LAMBDA = 8, 0.3
#: Steps of gathering, of which a person is told.
STEPS = 6


class PageRequest(NamedTuple):
    """The wishes of a person for a page.

    Attributes
    ----------
    by : sequence of str
        Columns that documents are grouped by; empty: all that have few values.
    along : str or None
        Column along which topics are followed; None: the order of the corpus.
    labels : Path or None
        Names of topics; None: those in the run's folder.
    title : str or None
        None: the name of the corpus.
    noun : str
        What documents are called.
    documents : int or None
        How many are shown; None: as many as fit.
    text : bool
        Whether texts and words of documents may be shown.
    words : int
        Words that can be looked up.
    layer : int or None
        Of a deep model, counted from 1.
    """

    by: Sequence[str] = ()
    along: str | None = None
    labels: Path | None = None
    title: str | None = None
    noun: str = "documents"
    documents: int | None = None
    text: bool = True
    words: int = 200_000
    layer: int | None = None


class Gathered(NamedTuple):
    """Everything that a page tells.

    Attributes
    ----------
    asked : PageRequest
    chains : list of Results
        The first is the run whose topics are shown.
    at : int
        Their layer, counted from 0.
    phi : (V, K or more)
        The topics; those that all chains share are the mean of all.
    counts : (V,) or None
        Occurrences of each word in training.
    weights, low, high : (K,) or None
        Weight of each topic, and its interval.
    shown : list of int
        Topics, the one of greatest weight first.
    terms : Terms
    words : Words
    labels, names : dict
        Names that a person gave, and automatic ones.
    corpus : Corpus or None
    about : Known or None
        What is known of its documents beside their words.
    looked : Looked or None
        What documents tell; None without the corpus.
    along : Groups or None
    groups : list of Groups
    distance : (n, n)
        Between topics in the order of their numbers.
    map : Map or None
    tree : Tree
    npmi : (K,) or None
    evaluation : Evaluation or None
    diagnosis : Diagnosis or None
    layers : list of Node or None
    missing : list of str
        What is left out, and why.
    """

    asked: PageRequest
    chains: list[Results]
    at: int
    phi: Floats
    counts: Int64s | None
    weights: Doubles | None
    low: Doubles | None
    high: Doubles | None
    shown: list[int]
    terms: Terms
    words: Words
    labels: dict[int, str]
    names: dict[int, str]
    corpus: Corpus | None
    about: Known | None
    looked: Looked | None
    along: Groups | None
    groups: list[Groups]
    distance: Doubles
    map: Map | None
    tree: Tree
    npmi: Doubles | None
    evaluation: Evaluation | None
    diagnosis: Diagnosis | None
    layers: list[Node] | None
    missing: list[str]

    @property
    def results(self) -> Results:
        """The run whose topics are shown."""
        return self.chains[0]

    @property
    def topics(self) -> int:
        """Number of topics, of which not all need be shown."""
        return self.results.layers[self.at]

    @property
    def noun(self) -> Noun:
        """The name of a document."""
        return Noun.of(self.asked.noun)


def gather(
    run: str | Path | None,
    asked: PageRequest,
    threads: int | None,
    tell: Callable[[int, int], None] = lambda done, total: None,
    lending: Lending | None = None,
) -> Gathered:
    """Gather everything that a page tells of a run, or of a folder of chains.

    Parameters
    ----------
    run : str, Path or None
    asked : PageRequest
    threads : int or None
    tell : callable (done, total)
        Told how far it is.
    lending : Lending, optional
        Files that lend texts and columns; what is read of them must be there as long as the page is made.

    Raises
    ------
    MissingInputError
        If there is no such run.
    CheckpointError
        If it has no checkpoint.
    UsageError
        If there is no such layer or column.
    """
    missing: list[str] = []
    chains = open_chains(run, allowed_threads(threads).number, missing=missing.append)
    results = chains[0]
    at, fitted, counts = results.at(asked.layer), results.fitted, None
    with contextlib.suppress(MissingInputError):
        counts = results.word_counts()
    k, signed = results.layers[at], fitted.signed
    corpus = results.training_corpus()
    if corpus is None:
        missing.append(
            "the training corpus is not where it was: no documents, no coherence, nothing along the "
            "corpus; weights are those in held-out documents, if there are any"
        )
    if counts is None:
        missing.append("no word counts: words are listed by probability, and no relevance is told")
    rows = np.empty(0, np.int64) if corpus is None else looked_at(corpus)
    about: Known | None = None if corpus is None else corpus.about
    if corpus is not None and lending is not None:
        about = known(results, corpus, rows, lending)
    groups, along = _groups(about, rows, asked)
    labels = results.labels if asked.labels is None and at == 0 else {}
    if asked.labels is not None:
        labels = read_labels(asked.labels, k)
    tell(1, STEPS)
    evaluation, unscored = evaluated(chains)
    diagnosis = diagnosed(chains, at, missing)
    missing += [line for line in (unscored, few(results)) if line]
    tell(2, STEPS)
    looked = None
    if corpus is not None:
        groupings = [g.grouping for g in (along, *groups) if g is not None]
        looked = look(results, corpus, rows, groupings, at)
    tell(3, STEPS)
    weights, low, high = _weights(results, looked, at)
    sources, phi = _sources(chains, diagnosis, at)
    tokens = results.run.config["corpus"]["training_tokens"]
    found = terms(phi, weights, tokens, counts, sources, at, signed=signed)
    if found.draws and looked is not None and looked.draws == 1:
        missing.append(
            "fewer than 20 full samples are kept, by which documents are drawn: no intervals of shares"
        )
    tell(4, STEPS)
    needed = np.unique(found.words[found.there])
    words = words_shown(phi, weights, counts, needed, asked.words, k, signed=signed)
    ids = fitted.shown(at)
    heavy = ids.tolist()
    if weights is not None:
        heavy = sorted(heavy, key=lambda k: (-weights[k], k))
    names = automatic(found, results.vocabulary, None if signed else counts, heavy)
    names |= results.seed_names(at)
    distance = distances(phi, ids, signed=signed)
    map = laid_out(distance)
    if map is None:
        few_topics = f"fewer than four {fitted.noun}s"
        none = f"none keeps a tenth of each {fitted.noun}'s nearest"
        missing.append(f"no map: {few_topics if len(ids) < FEWEST else none}")
    tell(5, STEPS)
    coherence = results.coherence(10, at)
    layers = fitted.tree(results.vocabulary, TREE_WORDS)
    if layers is not None and counts is not None:
        layers = _told_apart(results, layers, counts)
    tell(6, STEPS)
    return Gathered(
        asked,
        chains,
        at,
        phi,
        counts,
        weights,
        low,
        high,
        heavy,
        found,
        words,
        labels,
        names,
        corpus,
        about,
        looked,
        along,
        groups,
        distance,
        map,
        average_linkage(distance),
        None if coherence is None else coherence.npmi,
        evaluation,
        diagnosis,
        layers,
        missing,
    )


def _groups(
    about: Known | None, rows: Int64s, asked: PageRequest
) -> tuple[list[Groups], Groups | None]:
    """Put the documents that are looked at into groups, and in order."""
    if about is None:
        if asked.by or asked.along:
            raise UsageError("--by and --along: the training corpus is not there; leave them out")
        return [], None
    named = asked.along
    along = along_corpus(about, rows) if named is None else along_column(about, named, rows)
    return by_columns(about, asked.by, rows), along


def diagnosed(chains: Sequence[Results], at: int, missing: list[str]) -> Diagnosis | None:
    """Compare chains, or the halves of one; None where too few samples are kept, which is noted."""
    try:
        return diagnose(*(r.path for r in chains), layer=at + 1, threads=chains[0].threads)
    except (UsageError, MissingInputError):
        missing.append(
            "fewer than four samples that all chains have kept: nothing is told of how sure topics are"
        )
        return None


def _weights(
    results: Results, looked: Looked | None, at: int
) -> tuple[Doubles | None, Doubles | None, Doubles | None]:
    """Weigh topics by draws of documents; by what the model has itself where it counts documents."""
    if looked is None or results.fitted.counts() is not None:
        return results.weights(at), None, None
    mean, low, high = (part[:, 0] for part in looked.weights)
    return (mean, low, high) if looked.draws > 1 else (mean, None, None)


def _sources(
    chains: Sequence[Results], diagnosis: Diagnosis | None, at: int
) -> tuple[list[ChainOfTopics], Floats]:
    """Give the chains that tell of topics, and the topics: of all chains where all share one."""
    first = chains[0]
    k = first.layers[at]
    phi = first.fitted.over_words(first.mean, at)
    sources = [ChainOfTopics(first, np.arange(k))]
    if diagnosis is None or len(chains) < 2 or first.fitted.signed:
        return sources, phi
    shared = [topic for topic in diagnosis.topics if is_shared(topic)]
    own = np.array([topic.id for topic in shared], np.int64)
    if not len(own):
        return sources, phi
    phi = phi.copy()
    total = phi[:, own].astype(np.float64)
    for number, results in enumerate(chains[1:], 1):
        rows = np.full(k, -1)
        rows[own] = [topic.counterparts[number] for topic in shared]
        sources.append(ChainOfTopics(results, rows))
        total += results.fitted.over_words(results.mean, at)[:, rows[own]]
    phi[:, own] = total / len(chains)
    return sources, phi


def _told_apart(results: Results, nodes: Sequence[Node], counts: Int64s) -> list[Node]:
    """Give topics of upper layers their most relevant words: the most probable are alike in all."""
    draw, share = results.mean, np.maximum(counts, 1) / max(1, counts.sum())
    words: dict[tuple[int, int], tuple[str, ...]] = {}
    for at in range(1, results.fitted.depth):
        phi = results.fitted.over_words(draw, at)
        for k, p in enumerate(columns(phi, results.layers[at])):
            ranked = best(relevance(np.maximum(p, 1e-30), share, TREE_LAMBDA), TREE_WORDS)
            words[at + 1, k] = tuple(results.vocabulary[w] for w in ranked.tolist())

    def told(node: Node) -> Node:
        own = words.get((node.layer, node.id), node.words)
        return node._replace(words=own, children=tuple(map(told, node.children)))

    return [told(node) for node in nodes]
