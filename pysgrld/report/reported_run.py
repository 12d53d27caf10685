"""Data of the run that a page shows, and the base class of the page's sections."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.models.word_order import WordOrder
from pysgrld.reading.compare_chains import Visit, compared
from pysgrld.reading.diagnosis import Diagnosis, MatchedTopic
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.labels import read_labels
from pysgrld.reading.replicated import Replicated, read_replicated
from pysgrld.reading.results import Results
from pysgrld.reading.score import Evaluation, score_own
from pysgrld.report.document_pass import (
    DocumentTopics,
    DocumentVisitor,
    Shares,
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
#: Number of progress steps for opening and reading a run.
READ_STEPS = 4


class PageRequest(NamedTuple):
    """Options of a page, as a user requested them.

    Attributes
    ----------
    by : sequence of str
        Columns by which documents are grouped; if empty, all columns that have few values.
    along : str or None
        Column along which topics are followed, or None for the order of the corpus.
    cluster : str or None
        Column that names the cluster of each document, or None if each is a separate cluster.
    labels : Path or None
        File with names of topics, or None for the one in the run's folder.
    title : str or None
        Title of the page, or None for the name of the corpus.
    noun : str
        Name of the documents, in the plural or as "singular/plural".
    documents : int or None
        Number of documents that are shown, or None for as many as fit.
    text : bool
        Whether texts and words of documents may be shown.
    order : WordOrder or None
        Order of a topic's words, or None for that of `Results.word_order`.
    lookup : int
        Number of words that can be looked up.
    layer : int or None
        Layer of a deep model, counted from 1.
    folder : bool
        Whether the page is a folder, which also has files with all documents.
    effects : mapping or None
        Effects of columns, as plain values (`pysgrld.effects.answers.Effects.plain`).
    these : bool
        Whether intervals hold for these documents only, not for similar ones.
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
    """The word for a document, in singular and plural."""

    one: str
    many: str

    @property
    def with_article(self) -> str:
        """Singular of the noun, preceded by "a" or "an"."""
        return f"{'an' if self.one[:1].lower() in tuple('aeiou') else 'a'} {self.one}"


class ReportedRun:
    """The run or chains that a page shows, with data that several sections of the page use.

    First the run is opened. Then sections register visitors of documents and samples, by
    `visit_documents` and `sample_visitors`. Then `read` makes one pass over the documents and one
    over the samples, for all visitors.

    Parameters
    ----------
    run : str, path or None
        A run or a folder of chains, or None for the latest run.
    asked : PageRequest
    threads : int or None
    added : AddedFiles, optional
        Files with texts and columns; its folder must exist until the page is made.

    Attributes
    ----------
    asked : PageRequest
    chains : list of Results
    results : Results
        The run; several chains are combined into one.
    at : int
        Layer that the page shows, counted from 0.
    size : int
        K, the number of topics of the layer; the page may show fewer.
    signed : bool
        Whether topics are directions.
    noun : Noun
    counts : (V,) or None
        Occurrences of each word in training.
    corpus : Corpus or None
        Training corpus of the run.
    rows : (n,) int64
        Documents that are analysed, as positions in the corpus.
    map_rows : (n,) int64
        Documents on the map; they include the analysed ones.
    beside_rows : list of (n,) int64
        Further documents on the map of a page that is a folder, one array for each of its files.
    about : Known or None
        Titles, texts and columns of the documents on the map.
    named : dict of int to Label
        Names that a person or a command gave to topics, with their origin.
    labels : dict of int to str
        The names in ``named``, without their origin.
    document_topics : DocumentTopics or None
        Topics of each analysed document.
    missing : list of str
        Messages about parts that the page lacks, with reasons.
    sample_visitors : list of callable (KeptSample)
        `read` calls each of them with every kept sample.

    diagnosis : Diagnosis or None
        Comparison of the chains, or of the halves of one chain. `read` sets this and all following
        attributes.
    matched : dict of int to MatchedTopic
        Topics of the diagnosis, by number.
    evaluation : Evaluation or None
        Scores of held-out documents.
    phi : (V, K or more)
        Topics as columns: word probabilities, or entries of directions.
    draws : int
        Number of draws of each document; 1 for proportions under the mean topics, 0 without
        documents.
    weights, low, high : (K,) or None
        Weight of each topic, and its interval.
    shown : list of int
        The topics that are shown, sorted by weight, descending.
    first_words : (K, n) int64
        Ids of the first words of each topic in the order of `Results.word_order`.
    terms : Terms
        Words of the topics that are shown: the first words, and the words for lists by relevance.
    words : Words
        The words that can be looked up.
    names : dict of int to str
        Automatic names of topics, from their seed words or first words.

    Raises
    ------
    MissingInputError
        If the run is missing.
    CheckpointError
        If the run has no checkpoint.
    UsageError
        If the layer does not exist.
    CorpusError
        If labels, texts or metadata are invalid.
    """

    def __init__(
        self,
        run: str | Path | None,
        asked: PageRequest,
        threads: int | None = None,
        added: AddedFiles | None = None,
    ) -> None:
        # `asked.noun` is the user's noun for documents. It is a plural such as "chapters", or a
        # singular and a plural such as "child/children".
        self.asked, many = (asked, asked.noun)
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
                f"{self.results.missing_corpus}, so documents and the view along the corpus are "
                f"missing; {self.results.without_corpus}"
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
                "word counts are missing, so words are ordered by probability and relevance is "
                "not shown"
            )
        if asked.labels is not None:
            self.named = read_labels(asked.labels, self.size)
        else:
            self.named = self.results.named if self.at == 0 else {}
        self.labels = {k: label.name for k, label in self.named.items()}
        self._document_visitors: list[DocumentVisitor] = []
        self.sample_visitors: list[SampleVisitor] = []
        self.all_documents = self.visit_documents(
            TopicShares.in_training(self.results, self.corpus, self.rows)
        )
        self.document_topics = self.visit_documents(DocumentTopics())

    @property
    def pooled(self) -> bool:
        """True if each topic is averaged over the chains that have the topic."""
        return self.results.found_by(self.at) is not None

    @cached_property
    def replicated(self) -> Replicated | None:
        """Replicates (new runs on halves of the documents) that found each topic, if any."""
        return read_replicated(self.results, self.at)

    def visit_documents(self, visitor: _D) -> _D | None:
        """Register a visitor for the documents that `read` reads; return None without a corpus."""
        if self.corpus is None:
            return None
        self._document_visitors.append(visitor)
        return visitor

    def read(self, tell: Callable[[int], None] = lambda done: None) -> None:
        """Compare the chains, score held-out documents, and pass once over documents and samples.

        Parameters
        ----------
        tell : callable (done)
            Called with the number of the `READ_STEPS` steps that are done.
        """
        results, fitted, at = self.results, self.results.fitted, self.at
        tell(1)
        self.diagnosis: Diagnosis | None = None
        lead = None
        # If one pass over the samples suffices, the diagnosis shares the pass with the statistics
        # of words.
        if self._has_one_pass():
            lead = partial(self._diagnose, len(self.missing))
        else:
            self._diagnose(len(self.missing))
        self.evaluation: Evaluation | None = None
        try:
            self.evaluation = score_own(results, self.chains[1:])
        except MissingInputError:
            self.missing.append(
                "held-out documents or word counts are missing, so predictions are not judged"
            )
        except UsageError:
            self.missing.append("held-out documents are missing, so predictions are not judged")
        kept = len(results.word_steps(0)[0])
        if fitted.no_mean:
            self.missing.append(f"{fitted.no_mean}, so intervals are missing")
        elif results.fitted.samples == 0:
            self.missing.append(
                f"{results.no_samples}, so the current {fitted.noun}s are shown, without intervals"
            )
        elif kept < ENOUGH:
            self.missing.append(
                f"the run has only {plural(kept, 'sample')}, but intervals need {ENOUGH}"
            )
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
        elif self.all_documents is None and at == 0 and not self.pooled:
            # A fit in Python stores no documents, but it stores the standard deviation of the
            # shares over documents.
            deviation, trace = results.fit_measures.deviation, results.share_trace
            if trace is not None and deviation is not None:
                traced = Shares.traced(trace[:, : self.size], None if results.these else deviation)
                if traced is not None:
                    _, self.low, self.high = (part[:, 0] for part in traced)
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
            lead=lead,
        )
        self.matched: dict[int, MatchedTopic] = (
            {} if self.diagnosis is None else {topic.id: topic for topic in self.diagnosis.topics}
        )
        if self.terms.draws and self.draws == 1:
            self.missing.append(
                "shares of documents have no intervals, because the run stores fewer than 20 "
                "posterior samples (train longer)"
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

    def _diagnose(self, place: int, visit: Visit | None = None) -> None:
        """Compare the chains, and insert messages about missing results into `missing`."""
        notes: list[str] = []
        self.diagnosis = diagnosed(self.chains, self.at, notes, visit)
        self.missing[place:place] = notes

    def _has_one_pass(self) -> bool:
        """Return True if the stored samples need to be read only once.

        This is the case for a single chain with full samples that is not training.
        """
        is_training = self.results.run.status.get("state") == "running"
        return len(self.chains) == 1 and not is_training and not self.results.word_steps(self.at)[1]


def diagnosed(
    chains: Sequence[Results], layer: int, missing: list[str], visit: Visit | None = None
) -> Diagnosis | None:
    """Compare chains, or the halves of one chain; return None if they have too few samples.

    A message is then appended to ``missing``.

    `visit` gets the samples, as in `compared`.
    """
    try:
        return compared(chains, layer=layer + 1, visit=visit)
    except (UsageError, MissingInputError):
        missing.append(
            "the chains have fewer than four samples in common, so the reliability of topics is "
            "not judged"
        )
        return None


class Definition(NamedTuple):
    """The definition of a value shown on the page, and its source."""

    name: str
    text: str
    source: str | None = None


class Section:
    """Base class of a part of the page: it gathers and packs data, and defines the values shown.

    A subclass overrides the methods that it needs. A section is created before the run is read: its
    constructor refuses invalid requests and registers visitors. After the run is read, `main` is
    called once, and then the other methods.

    Parameters
    ----------
    run : ReportedRun

    Attributes
    ----------
    always : bool
        Whether every page has the section's view. Otherwise, a page has the view only if the
        section's key in the main JSON is not None.
    """

    always: ClassVar[bool] = True

    def __init__(self, run: ReportedRun) -> None:
        self.run = run

    def main(self) -> dict[str, Any]:
        """Return the section's entries in the main JSON, which is read when the page opens."""
        return {}

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return the section's entries in the record of topic k."""
        return {}

    def blocks(self) -> dict[str, Packed]:
        """Return the section's packed blocks of numbers, which the page unpacks on demand."""
        return {}

    def files(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield a page folder's files: path, content, and number of documents finished."""
        yield from ()

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the section's content for other programs: plain values, not packed numbers."""
        return {}

    def definitions(self) -> list[Definition]:
        """Return definitions of the section's values, which the page lists under Method."""
        return []
