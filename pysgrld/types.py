"""The nouns: the values that flow through the river, and nothing else.

Symbols are those of the field: ``phi`` topics, ``g`` unnormalised topics, ``theta`` topic
proportions of documents, ``alpha`` and ``eta`` the Dirichlet priors on them, ``h`` a step in
diffusion time (drift enters as h·drift, noise as variance 2h·diffusion; the SGRLD paper's epsilon
is 2h), ``scale`` = D/B, corpus size over minibatch size. Topics are stored word-major: row w holds
the K values of word w, padded with zeros to a multiple of 16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pysgrld.schedule import RUNNING, Schedule

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

#: Fixed-point unit of Rao-Blackwellised counts: a probability p adds round(p * UNIT).
UNIT = 1 << 24


@dataclass(frozen=True, slots=True)
class Documents:
    """Word counts of some documents, in compressed sparse rows over a vocabulary.

    Attributes
    ----------
    indptr : (n + 1,) int64
        Document i owns entries ``indptr[i]:indptr[i + 1]``; ``indptr[0]`` is 0.
    indices : (nnz,) int32
        Word ids, strictly increasing within a document.
    counts : (nnz,) int32
        Occurrences, at least 1.
    """

    indptr: Int64s
    indices: Int32s
    counts: Int32s

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def tokens(self) -> int:
        """Sum of all counts."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def lengths(self) -> Int64s:
        """Tokens of every document, (n,) int64."""
        ends = np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))[self.indptr]
        return np.diff(ends)

    def take(self, ids: Int64s) -> Documents:
        """Copy some documents, in any order; repeats are fine."""
        starts = self.indptr[ids]
        lengths = self.indptr[ids + 1] - starts
        indptr = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Documents(indptr, self.indices[entries], self.counts[entries])


class Key(NamedTuple):
    """Address of all randomness of one iteration; there is no generator object anywhere."""

    seed: int
    chain: int
    step: int


class Minibatch(NamedTuple):
    """Documents over the distinct words of the minibatch.

    Attributes
    ----------
    indptr, indices, counts
        As in `Documents`, but ``indices`` are rows of ``words``.
    words : (R,) int32
        Sorted vocabulary ids: the rows of the topics that travel.
    doc_ids : (n,) int64
        Position of each document in the corpus: keys its randomness.
    scale : float
        D/B, documents of the corpus over documents of the minibatch.
    """

    indptr: Int64s
    indices: Int32s
    counts: Int32s
    words: Int32s
    doc_ids: Int64s
    scale: float


class Statistics(NamedTuple):
    """What the documents of a minibatch say about one block.

    Attributes
    ----------
    rows : (R,) int32
        Rows of the block that were touched, sorted.
    counts : (R, Kp) int64
        Topic counts summed over kept sweeps; integers, so that order cannot matter.
    factor : float
        ``counts * factor`` estimates the corpus's counts N_kw: scale / (unit * kept sweeps).
    level : float
        Tokens of the corpus per topic of the model's first block, as the minibatch estimates it.
    rate : float
        What goes with counts of gamma shapes: the sum over documents of their q, scaled.
    """

    rows: Int32s
    counts: Int64s
    factor: float
    level: float = 0.0
    rate: float = 0.0


class Block(NamedTuple):
    """A global part of a model.

    Attributes
    ----------
    name : str
        "phi", and for deeper models "phi2", ...
    geometry : str
        What moves it must match: see `Sampler`.
    shape : (int, int)
        (V, K): words and topics.
    prior : float
        Symmetric Dirichlet parameter per word (eta).
    stream : int
        Separates this block's randomness from that of other blocks.
    mass : float
        Tokens of the corpus: sets the scale at which the state starts.
    weight : Schedule
        Weight of a minibatch in running averages that steps are scaled by.
    hyper : tuple of float
        Further constants of the prior.
    natural : bool
        Whether the CIR process has the rate 1 + N_k/s_k (see `pysgrld.samplers.scir`).
    """

    name: str
    geometry: Literal["simplex", "dirichlet", "sphere", "positive"]
    shape: tuple[int, int]
    prior: float
    stream: int
    mass: float
    weight: Schedule = RUNNING
    hyper: tuple[float, ...] = ()
    natural: bool = False


#: What documents read of every block, by name: rows of phi, of words at hand or of all.
Parts = dict[str, Floats]

#: Beside them, rows that tokens are given topics by, where those are not the rows of phi.
WEIGHTS = "weights"


class Scored(NamedTuple):
    """Held-out entries in compressed sparse rows: ``indices`` are rows of the phi at hand."""

    indptr: Int64s
    indices: Int32s
    counts: Int32s


#: Arrays that the next step needs, by name: all that a checkpoint stores of a block.
State = dict[str, Array]


class Sampler(NamedTuple):
    """A global sampler: how one block moves, given statistics. One row of `SAMPLERS`.

    ``step`` consumes its state: the arrays are updated in place and the caller must not look at an
    older reference. ``rows`` never changes it.

    Attributes
    ----------
    name, summary : str
        As typed after ``--algo``, and one line for the help.
    geometry : str
        The blocks that it can move.
    full_batch : bool
        True if it is valid only with the whole corpus as its minibatch, topics of tokens kept.
    init : callable (key, block, threads) -> State
        The state of the noise-free warm-up.
    step, relax : callable (key, state, statistics, block, h, threads) -> State
        One iteration with step size h, and one without noise.
    rows : callable (state, words, block, threads) -> (R, Kp) float32
        phi of these words, of all where None; of lazy rows, those that are current.
    catch_up : callable (key, state, words, block, threads, *, warm) -> State, or None
        Brings the rows of these words, all where None, up to date before they are read; the steps
        that they missed were noise-free where ``warm``. None: transitions do not compose, so
        rows cannot be lazy.
    begin : callable (state, block) -> State, or None
        The sampler's own state, made of that of the warm-up when it is over.
    relative : bool
        Whether a step of 1 goes all the way to the conditional mean; else one of 1 / N_k does.
    weights : callable (state, words, block, threads) -> (R, Kp) float32, or None
        What tokens are given topics by, where it is not phi.
    draws : bool
        Whether its states are draws from the posterior, to be kept and averaged; a variational
        approximation has none.
    """

    name: str
    summary: str
    geometry: str
    full_batch: bool
    init: Callable[..., State]
    step: Callable[..., State]
    relax: Callable[..., State]
    rows: Callable[..., Floats]
    catch_up: Callable[..., State] | None = None
    begin: Callable[..., State] | None = None
    relative: bool = True
    weights: Callable[..., Floats] | None = None
    draws: bool = True


class Reader(Protocol):
    """Documents of which others are to be predicted, given topics: one kind for each model."""

    def predict(
        self, key: Key, parts: Parts, purpose: Any, sweeps: int, kept: int, scored: Scored, *,
        go_on: bool, fresh: bool = True,
    ) -> Doubles:  # fmt: skip
        """Probability of every scored entry; ``go_on`` from the documents' kept chains."""

    def theta(
        self, key: Key, parts: Parts, purpose: Any, sweeps: int, kept: int, layer: int
    ) -> Doubles:
        """Proportions of the topics of a layer, counted from 0, (n, K); rows sum to 1."""

    def figures(self, scored: Scored) -> dict[str, float]:
        """Further figures of the samples so far, by name."""

    def shares(self, layer: int) -> Doubles:
        """Share of the tokens that each topic of a layer has as the documents' chains stand."""

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the documents' chains to go on exactly."""

    def restore(self, state: Mapping[str, Array], prefix: str) -> None:
        """Go on from `state`."""


class LocalSampler(NamedTuple):
    """How a model's documents are sampled, or fitted, given topics.

    Attributes
    ----------
    local : callable (options, words, threads) -> object
        How they are in training.
    keep : callable (local, documents) -> object, or None
        The same, what is sampled of every document kept between visits (full batch).
    step : callable (key, parts, minibatch, local) -> dict of Statistics
        The documents of a minibatch.
    reader : callable (options, documents, doc_ids, threads) -> Reader
    infer_sweeps : int
        Sweeps for the proportions of a new document, the second half kept.
    """

    local: Callable[..., Any]
    keep: Callable[..., Any] | None
    step: Callable[..., dict[str, Statistics]]
    reader: Callable[..., Reader]
    infer_sweeps: int


class Model(NamedTuple):
    """A list of global parts, and how documents are sampled given them. One row of `MODELS`.

    Attributes
    ----------
    name, summary : str
        As typed after ``--model``, and one line for the help.
    blocks : callable (options, V, tokens) -> tuple of Block
        The first are the topics over words.
    documents : LocalSampler
    others : mapping
        Those of algorithms that have documents of another kind, by name.
    """

    name: str
    summary: str
    blocks: Callable[..., tuple[Block, ...]]
    documents: LocalSampler
    others: Mapping[str, LocalSampler] = MappingProxyType({})
