"""The run that a page shows: what its sections share, read in bounded memory; and what a section is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.models.word_order import WordOrder
from pysgrld.reading.compare_chains import compared
from pysgrld.reading.diagnosis import Diagnosis, MatchedTopic
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.labels import read_labels
from pysgrld.reading.results import Results
from pysgrld.reading.score import Evaluation, score_own
from pysgrld.report.document_pass import (
    DocumentTopics,
    DocumentVisitor,
    TopicShares,
    beside_map,
    looked_at,
    on_map,
    read_documents,
)
from pysgrld.report.page_file import Packed
from pysgrld.report.sample_pass import SampleVisitor
from pysgrld.report.texts_and_metadata import AddedFiles, Known, with_added
from pysgrld.report.topic_words import MOST, Terms, Words, automatic, heaviest, terms, words_shown
from pysgrld.run.machine import threads as allowed_threads
from pysgrld.types import Doubles, Int64s

_D = TypeVar("_D", bound=DocumentVisitor)
#: Steps of opening and reading a run.
READ_STEPS = 4


class PageRequest(NamedTuple):
    """Choices of the user for a page.

    Attributes
    ----------
    by : sequence of str
        Columns that documents are grouped by; empty: all that have few values.
    along : str or None
        Column along which topics are followed; None: the order of the corpus.
    cluster : str or None
        Column whose values are clusters of documents; None: each is one of its own.
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
    order : WordOrder or None
        Order of a topic's words; None: that of `Results.word_order`.
    lookup : int
        Words that can be looked up.
    layer : int or None
        Of a deep model, counted from 1.
    folder : bool
        Whether the page is a folder, in which all documents lie beside it.
    effects : mapping or None
        Effects of columns, as plain values (`pysgrld.effects.answers.Effects.plain`).
    these : bool
        Whether intervals are for these documents alone, not for other texts like these.
    """

    by: Sequence[str] = ()
    along: str | None = None
    cluster: str | None = None
    labels: Path | None = None
    title: str | None = None
    noun: str = "documents"
    documents: int | None = None
    text: bool = True
    order: WordOrder | None = None
    lookup: int = 200_000
    layer: int | None = None
    folder: bool = False
    effects: Mapping[str, Any] | None = None
    these: bool = False


class Noun(NamedTuple):
    """The name of a document: of one, and of several."""

    one: str
    many: str


class ReportedRun:
    """A run, or the chains of one, and what the sections of its page share.

    First it is opened. Then sections ask for passes over documents and samples, by `visit_documents` and
    `sample_visitors`. Then `read` goes over each once, for all who asked.

    Parameters
    ----------
    run : str, path or None
        A run, or a folder of chains; None: the latest.
    asked : PageRequest
    threads : int or None
    added : AddedFiles, optional
        Files with texts and columns; what is read of them must be there as long as the page is made.

    Attributes
    ----------
    asked : PageRequest
    chains : list of Results
    results : Results
        The run, or its chains as one.
    at : int
        Their layer, counted from 0.
    size : int
        K, the number of topics of the layer, of which not all need be shown.
    signed : bool
        Whether topics are directions.
    noun : Noun
    counts : (V,) or None
        Occurrences of each word in training.
    corpus : Corpus or None
        That it was trained on.
    rows : (n,) int64
        Documents that are looked at, as positions in it.
    map_rows : (n,) int64
        Documents on the map, which include these.
    beside_rows : list of (n,) int64
        Further documents on the map of a page that is a folder, by the file that has them.
    about : Known or None
        What is known of the documents on the map beside their words.
    named : dict of int to Label
        Names that topics were given, and by whom.
    labels : dict of int to str
        Names of topics that a person gave.
    document_topics : DocumentTopics or None
        Topics of each document that is looked at.
    missing : list of str
        What is left out of the page, and why.
    sample_visitors : list of callable (KeptSample)
        Each is called with every kept sample, in the pass that `read` makes.

    diagnosis : Diagnosis or None
        The chains compared, or the halves of one. From here on: after `read`.
    matched : dict of int to MatchedTopic
        Of it, by topic.
    evaluation : Evaluation or None
        Scores of held-out documents.
    phi : (V, K or more)
        The topics.
    draws : int
        Draws of each document; 1: proportions under the mean topics; 0: there are no documents.
    weights, low, high : (K,) or None
        Weight of each topic, and its interval.
    shown : list of int
        The topics that are shown, the one of greatest weight first.
    first_words : (K, n) int64
        Ids of the first words of each topic in the order of `Results.word_order`.
    terms : Terms
        Their words: these, and those that lists by relevance need.
    words : Words
        The words that can be looked up.
    names : dict of int to str
        Names of topics made of their words.

    Raises
    ------
    MissingInputError
        If there is no such run.
    CheckpointError
        If it has no checkpoint.
    UsageError
        If there is no such layer.
    CorpusError
        If labels, texts or metadata are not what they must be.
    """

    def __init__(
        self,
        run: str | Path | None,
        asked: PageRequest,
        threads: int | None = None,
        added: AddedFiles | None = None,
    ) -> None:
        self.asked, many = (
            asked,
            asked.noun,
        )  # as a person typed it: "chapters", or "child/children"
        one, slash, rest = many.partition("/")
        if slash:
            self.noun = Noun(one.strip(), rest.strip())
        else:
            one = f"{many[:-3]}y" if many.endswith("ies") else many.removesuffix("s")
            self.noun = Noun(one, many)
        self.missing: list[str] = []
        number = allowed_threads(threads).number
        self.results = open_run(run, number, missing=self.missing.append, these=asked.these)
        self.results.order_words(asked.order)
        self.chains = self.results.chains
        self.at = self.results.at(asked.layer)
        self.size, self.signed = self.results.fitted.layers[self.at], self.results.fitted.signed
        self.counts: Int64s | None = None
        with contextlib.suppress(MissingInputError):
            self.counts = self.results.word_counts()
        self.corpus = self.results.training_corpus()
        self.rows = self.map_rows = np.empty(0, np.int64)
        self.beside_rows: list[Int64s] = []
        self.about: Known | None = None
        if self.corpus is None:
            self.missing.append(
                f"{self.results.gone}: no documents, no coherence, nothing along the corpus; "
                "weights are those in held-out documents, if there are any"
            )
        else:
            self.rows, self.about = looked_at(self.corpus), self.corpus.about
            self.map_rows = on_map(self.corpus, self.size)
            if asked.folder:
                self.beside_rows = beside_map(self.corpus, self.map_rows, self.size)
            if added is not None:
                documents = np.arange(self.corpus.documents) if asked.folder else self.map_rows
                self.about = with_added(self.results, self.corpus, documents, added)
        if self.counts is None:
            self.missing.append(
                "no word counts: words are listed by probability, and no relevance is told"
            )
        if asked.labels is not None:
            self.named = read_labels(asked.labels, self.size)
        else:
            self.named = self.results.named if self.at == 0 else {}
        self.labels = {k: label.name for k, label in self.named.items()}
        self._document_visitors: list[DocumentVisitor] = []
        self.sample_visitors: list[SampleVisitor] = []
        self.all_documents = self.visit_documents(TopicShares(self.results.share_sizes()))
        self.document_topics = self.visit_documents(DocumentTopics())

    @property
    def pooled(self) -> bool:
        """Whether several chains are read as one: figures are of all chains that have a topic."""
        return self.results.found_by(self.at) is not None

    def visit_documents(self, visitor: _D) -> _D | None:
        """Register a visitor of documents for the pass of `read`; return None without documents."""
        if self.corpus is None:
            return None
        self._document_visitors.append(visitor)
        return visitor

    def read(self, tell: Callable[[int], None] = lambda done: None) -> None:
        """Compare the chains, score held-out documents, and go over documents and samples once.

        Parameters
        ----------
        tell : callable (done)
            Told how many of `READ_STEPS` are done.
        """
        results, fitted, at = self.results, self.results.fitted, self.at
        tell(1)
        self.diagnosis: Diagnosis | None = diagnosed(self.chains, at, self.missing)
        self.matched: dict[int, MatchedTopic] = (
            {} if self.diagnosis is None else {topic.id: topic for topic in self.diagnosis.topics}
        )
        self.evaluation: Evaluation | None = None
        try:
            self.evaluation = score_own(results, self.chains[1:])
        except MissingInputError:
            self.missing.append(
                "held-out documents or word counts are gone: nothing is said of how well it "
                "predicts"
            )
        except UsageError:
            self.missing.append("no held-out documents: nothing is said of how well it predicts")
        kept = len(results.word_steps(0)[0])
        if fitted.no_mean:
            self.missing.append(f"{fitted.no_mean}: no intervals")
        elif results.fitted.samples == 0:
            self.missing.append(
                f"{results.no_samples}: no intervals, and {fitted.noun}s are the current ones"
            )
        elif kept < ENOUGH:
            self.missing.append(f"{plural(kept, 'sample')} kept, fewer than {ENOUGH}: no intervals")
        tell(2)
        self.draws = 0
        if self.corpus is not None:
            self.draws = read_documents(
                results, self.corpus, self.rows, at, self._document_visitors
            )
        self.weights: Doubles | None
        self.low: Doubles | None = None
        self.high: Doubles | None = None
        self.weights = results.weights(at)
        if self.all_documents is not None and fitted.counts() is None:
            shares = self.all_documents.shares.about(self.weights)
            self.weights, low, high = (part[:, 0] for part in shares)
            if self.draws > 1:
                self.low, self.high = low, high
        tell(3)
        self.phi = results.phi(at)
        self.first_words = results.order_topics(self.phi, MOST, at)
        tokens = results.run.config["corpus"]["training_tokens"]
        self.terms: Terms = terms(
            self.phi,
            self.weights,
            tokens,
            self.counts,
            results.sources(at),
            at,
            signed=self.signed,
            visitors=self.sample_visitors,
            needed=self.first_words,
        )
        if self.terms.draws and self.draws == 1:
            self.missing.append(
                "fewer than 20 full samples are kept, by which documents are drawn: no intervals "
                "of shares"
            )
        self.shown = heaviest(fitted.shown(at), self.weights)
        self.names = automatic(self.first_words, results.vocabulary, self.shown)
        self.names |= results.seed_names(at)
        needed = np.unique(self.terms.words[self.terms.there])
        self.words: Words = words_shown(
            self.phi,
            self.weights,
            self.counts,
            needed,
            self.asked.lookup,
            self.size,
            signed=self.signed,
        )
        tell(4)


def diagnosed(chains: Sequence[Results], layer: int, missing: list[str]) -> Diagnosis | None:
    """Compare chains, or the halves of one; return None, and note it, if too few samples are kept."""
    try:
        return compared(chains, layer=layer + 1)
    except (UsageError, MissingInputError):
        missing.append(
            "fewer than four samples that all chains have kept: nothing is told of how sure "
            "topics are"
        )
        return None


class Definition(NamedTuple):
    """The definition of a figure that is on the page, and where it is from."""

    name: str
    text: str
    source: str | None = None


class Section:
    """A part of the page: the data that it gathers, packs and defines.

    A section overrides what it has. It is made before the run is read: then it refuses what cannot be,
    and asks for passes. After that `main` is called, once, and then the others.

    Parameters
    ----------
    run : ReportedRun

    Attributes
    ----------
    always : bool
        Whether its view is on every page; else it is where its key of the main JSON is not None.
    """

    always: ClassVar[bool] = True

    def __init__(self, run: ReportedRun) -> None:
        self.run = run

    def main(self) -> dict[str, Any]:
        """Return its keys of the main JSON, which the page reads when it is opened."""
        return {}

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return its keys of the record of a topic."""
        return {}

    def blocks(self) -> dict[str, Packed]:
        """Return its blocks of numbers, which the page unpacks when they are needed."""
        return {}

    def files(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield files next to a page that is a folder: path, content, and documents done so far."""
        yield from ()

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return keys of the main JSON for other programs, with what the page has in blocks."""
        return {}

    def definitions(self) -> list[Definition]:
        """Return the definitions of its figures, as the page's Method lists them."""
        return []
