"""Effects: average shares and their differences, by regressions of drawn documents on a formula.

The method of composition in one pass over the documents: each posterior draw has its regression, and
documents are weighted by a Bayesian bootstrap, so that topics, proportions and documents are all unsure.
What is regressed is the share of a document's tokens that have a topic in a draw. Its proportions, which
are drawn under a prior that all documents share, would be drawn towards each other, and effects
understated, in short documents most (Mislevy 1991).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.effects.design import Design, design
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import drawn_blocks, drawn_steps
from pysgrld.report.population import Sampled, degrees_of_freedom, sure_signs
from pysgrld.report.sections.groups import column_of
from pysgrld.report.texts_and_metadata import Known
from pysgrld.report.topic_words import heaviest, names_of
from pysgrld.run.machine import threads as allowed_threads
from pysgrld.types import Doubles, Floats, Int64s

if TYPE_CHECKING:
    import pandas

#: Weightings of the documents, and the seed of their weights.
WEIGHTINGS, _SEED = 400, 1981
#: Documents of about one length, at least, and the least reliability that their shares are restored by.
_ALIKE, LEAST = 200, 0.1
#: Documents whose weights are drawn together.
_TOGETHER = 4096


class Effect(NamedTuple):
    """An answer about one topic.

    Attributes
    ----------
    topic : int
    column : str
    what : str
        "share" of the documents' tokens that have the topic, each document counted once, or
        "difference" of two of them.
    label : str
        The value of the column, or the two.
    mean : float
    low, high : float or None
        Bounds of the 90 % interval for documents like these; None where no samples are kept.
    surely : int or None
        Of a difference: 1 where it is surely above 0, -1 below, 0 where that is not sure.
    """

    topic: int
    column: str
    what: str
    label: str
    mean: float
    low: float | None
    high: float | None
    surely: int | None


class Effects(NamedTuple):
    """Answers about all topics, the heaviest first.

    Attributes
    ----------
    formula : str
    run : Path
    documents, missing : int
        Documents that were regressed, and those left out as they lack a value or have no words.
    length : float
        Median of the documents' tokens.
    names : dict of int to str
        Names of the topics.
    interval_of : str
        "posterior", or "draws" where those of the topics are not the posterior's.
    effects : list of Effect
    """

    formula: str
    run: Path
    documents: int
    missing: int
    length: float
    names: dict[int, str]
    interval_of: str
    effects: list[Effect]

    def frame(self) -> pandas.DataFrame:
        """Return the answers as a pandas DataFrame, a row each, with the names of topics."""
        import pandas

        rows = [
            {"topic": e.topic, "name": self.names[e.topic]} | dict(list(e._asdict().items())[1:])
            for e in self.effects
        ]
        return pandas.DataFrame(rows)


def effect(
    run: str | Path | Results | None,
    formula: str,
    *,
    contrasts: Mapping[str, Sequence[str]] | None = None,
    topics: Sequence[int] | None = None,
    cluster: str | None = None,
    layer: int | None = None,
    about: Callable[[Results, Corpus, Int64s], Known] | None = None,
    threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Effects:
    """Say how topics' shares go with columns of the documents.

    Parameters
    ----------
    run : str, path, Results or None
        A run, or a folder of chains; None: the latest.
    formula : str
        Columns as R and formulaic write them, ``~ party + bs(year, df=4)``: numbers, text, splines,
        interactions.
    contrasts : mapping of str to sequence of str, optional
        Values that are compared, by column: of text the others with the first, of numbers two.
    topics : sequence of int, optional
        Topics that are told; all by default.
    cluster : str, optional
        Column whose values are documents that came together, as the speeches of a person.
    layer : int, optional
        Of a deep model, counted from 1.
    about : callable (results, corpus, rows), optional
        Returns what is known of documents, where files add to it.
    threads : int, optional
        Threads; by default as many as the process may use.
    tell : callable (done, total), optional
        Told how many documents are read.

    Returns
    -------
    Effects
        Predicted shares and their differences, of the heaviest topic first; a table by `Effects.frame`.

    Raises
    ------
    MissingInputError
        If there is no such run, its corpus is gone, or formulaic is not installed.
    UsageError
        If the formula cannot be read, or a column or a topic is not there.
    """
    results = run if isinstance(run, Results) else open_run(run, allowed_threads(threads).number)
    at = results.at(layer)
    k = results.fitted.layers[at]
    if strange := [topic for topic in topics or () if not 0 <= topic < k]:
        raise UsageError(f"--topics {strange[0]}: topics are 0 to {k - 1}")
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(f"{results.gone}: nothing can be told of its documents")
    rows = np.flatnonzero(corpus.lengths() > 0)
    known: Known = corpus.about if about is None else about(results, corpus, rows)
    found = design(formula, known, rows, contrasts or {})
    units = np.arange(len(found.rows))
    if cluster is not None:
        column_of(known, cluster, "--cluster")
        values = [str(value) for value in known.values(cluster, found.rows)]
        units = np.unique(values, return_inverse=True)[1]
        if units.max() < len(found.names) + 1:
            raise UsageError(
                f"--cluster {cluster}: {units.max() + 1} clusters cannot tell "
                f"{len(found.names)} coefficients"
            )
    steps = drawn_steps(results)
    lengths = corpus.lengths()[found.rows]
    regression = Regression(found, units, lengths, max(1, len(steps)), k)
    for block in drawn_blocks(results, corpus, found.rows, steps, at):
        shares: Floats = np.divide(block.tokens, block.lengths[:, None], dtype=np.float32)
        regression.add(block.at, shares)
        tell(block.at.stop, len(found.rows))
    order = heaviest(results.fitted.shown(at), regression.weights)
    regression.restore_spread()
    answers = regression.answers(known=len(steps) > 1)
    names = names_of(results, at) | results.given_names(at)
    effects = [each for topic in order for each in answers[topic] if not topics or topic in topics]
    return Effects(
        formula,
        results.place,
        len(found.rows),
        corpus.documents - len(found.rows),
        float(np.median(lengths)),
        {topic: names[topic] for topic in order},
        "posterior" if results.spread().faithful else "draws",
        effects,
    )


class Regression:
    """Regressions of the topics' shares in drawn documents, with documents weighted at random.

    A document of few words has its topics by what is usual of all more than by its own words, so that the
    means of its draws, m + rho (share - m), lie nearer to the mean m of all than its shares do. rho, the
    reliability, is 1 less the variance within documents of about its length over that of all draws of all
    documents; `restore_spread` puts shares back by it.

    Parameters
    ----------
    found : Design
    units : (n,) int64
        The cluster of each document, from 0: documents of one count together.
    lengths : (n,) int64
        Tokens of each.
    draws, topics : int
        S and K.
    """

    def __init__(
        self, found: Design, units: Int64s, lengths: Int64s, draws: int, topics: int
    ) -> None:
        n, p = found.matrix.shape
        self._matrix, self._units, self._asked = found.matrix, units, found.asked
        self._bins = _by_length(lengths)
        bins = int(self._bins.max()) + 1
        self._mean: Floats = np.empty((n, topics), np.float32)
        self._products = np.zeros((bins, draws, p, topics))
        self._noise = np.zeros((bins, p * p, topics))
        self._within = np.zeros((bins, topics))

    def add(self, at: slice, shares: Floats) -> None:
        """Add the shares of some documents.

        Parameters
        ----------
        at : slice
            Their places among those of the design.
        shares : (S, n, K)
            In each draw.
        """
        self._mean[at] = shares.mean(axis=0)
        for bin in np.unique(self._bins[at]):
            here = self._bins[at] == bin
            x, some = self._matrix[at][here], shares[:, here]
            for product, drawn in zip(self._products[bin], some, strict=True):
                product += x.T @ drawn.astype(np.float64)
            if len(shares) > 1:
                squares = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
                within = some.var(axis=0, ddof=1, dtype=np.float64)
                self._noise[bin] += squares.T @ within
                self._within[bin] += within.sum(axis=0)

    @property
    def weights(self) -> Doubles:
        """Mean share of each topic, (K,)."""
        found: Doubles = self._mean.mean(axis=0, dtype=np.float64)
        return found

    def restore_spread(self) -> None:
        """Put shares back to where they lie without what is usual of all documents."""
        centre, draws, n = self.weights, self._products.shape[1], len(self._mean)
        within = self._within.sum(axis=0) / n
        spread = self._mean.var(axis=0, dtype=np.float64) + within * (1.0 - 1.0 / draws)
        for bin in range(len(self._within)):
            here = self._bins == bin
            inside = self._within[bin] / max(1, here.sum())
            reliable = np.clip(1.0 - inside / np.maximum(spread, 1e-12), LEAST, 1.0)
            shift = centre * (1.0 - 1.0 / reliable)
            total = self._matrix[here].sum(axis=0)
            self._mean[here] = self._mean[here] / reliable + shift
            self._products[bin] = self._products[bin] / reliable + total[:, None] * shift
            self._noise[bin] /= reliable**2

    def answers(self, *, known: bool) -> list[list[Effect]]:
        """Return the answers about each topic, in the order of the questions.

        Parameters
        ----------
        known : bool
            Whether there are draws: else there are no intervals.
        """
        x, asked = self._matrix, self._asked
        p, k = x.shape[1], self._mean.shape[1]
        inverse = np.linalg.inv(x.T @ x)
        questions = np.stack([each.weights for each in asked]) @ inverse  # (Q, P)
        products = self._products.sum(axis=0)
        drawn = np.einsum("qp,spk->sqk", questions, products)
        mean = drawn.mean(axis=0)
        low = high = z = np.full(mean.shape, np.nan)
        if known:
            low, high, z = np.empty((3, *mean.shape))
            over = self._weighted() - mean
            number = int(self._units.max()) + 1
            # weights of Exp(1) vary a mean by (n - 1) / (n + 1) of what the estimate without bias does
            over *= math.sqrt((number + 1) / (number - p))
            residual = self._mean - x @ (inverse @ products.mean(axis=0))
            noise = self._noise.sum(axis=0).reshape(p, p, k)
            for q, question in enumerate(questions):
                apart = (x @ question)[:, None] * residual
                freedom = np.minimum(number - p, degrees_of_freedom(apart, self._units))
                of_documents = np.einsum("a,abk,b->k", question, noise, question)
                sampled = Sampled(drawn[:, q], over[:, q], of_documents, freedom)
                least = 0.0 if asked[q].what == "share" else -1.0
                low[q], high[q] = sampled.interval(least)
                z[q] = sampled.in_errors()
        differences = np.array([each.what == "difference" for each in asked])
        signs = np.zeros(mean.shape, np.int64)
        if known:
            signs[differences] = sure_signs(z[differences])
        return [
            [
                Effect(
                    topic,
                    each.column,
                    each.what,
                    each.label,
                    float(mean[q, topic]),
                    float(low[q, topic]) if known else None,
                    float(high[q, topic]) if known else None,
                    int(signs[q, topic]) if known and differences[q] else None,
                )
                for q, each in enumerate(asked)
            ]
            for topic in range(k)
        ]

    def _weighted(self) -> Doubles:
        """Return the answers where documents are weighted at random, (R, Q, K)."""
        x, mean, asked = self._matrix, self._mean, np.stack([a.weights for a in self._asked])
        (n, p), k = x.shape, mean.shape[1]
        squares, products = np.zeros((WEIGHTINGS, p, p)), np.zeros((WEIGHTINGS, p, k))
        rng, units = np.random.default_rng(_SEED), self._units
        number = int(units.max()) + 1
        alone = number == n  # weights of so many documents are not all held
        of_units = None if alone else rng.standard_exponential((number, WEIGHTINGS), np.float32)
        for begin in range(0, n, _TOGETHER):
            here = slice(begin, min(begin + _TOGETHER, n))
            part, y = x[here], mean[here].astype(np.float64)
            if of_units is None:
                weights = rng.standard_exponential((len(part), WEIGHTINGS), np.float32).T
            else:
                weights = of_units[units[here]].T
            for i in range(p):
                own = weights * part[:, i]
                squares[:, i] += own @ part
                products[:, i] += own @ y
        found: Doubles = np.einsum("qp,rpk->rqk", asked, np.linalg.solve(squares, products))
        return found


def _by_length(lengths: Int64s) -> Int64s:
    """Put documents into bins of about one length, from 0, each of a few hundred at least."""
    order = np.argsort(lengths, kind="stable")
    # by half octaves, and never too few
    octave = np.floor(2 * np.log2(np.maximum(lengths[order], 1))).astype(np.int64)
    bins, number, inside = np.empty(len(order), np.int64), 0, 0
    for i, step in enumerate(np.diff(octave, prepend=octave[0])):
        if step and inside >= _ALIKE and len(order) - i >= _ALIKE:
            number, inside = number + 1, 0
        bins[order[i]] = number
        inside += 1
    return bins
