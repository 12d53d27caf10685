"""Types of the values that modules pass to each other.

Symbols follow the literature: ``phi`` topics, ``g`` unnormalised topics, ``theta`` topic
proportions of documents, ``alpha`` and ``eta`` the Dirichlet priors on them, ``h`` a step in
diffusion time (drift enters as h·drift, noise as variance 2h·diffusion; the SGRLD paper's epsilon
is 2h), ``scale`` = D/B, corpus size over minibatch size. Topics are stored word-major: row w holds
the K values of word w, padded with zeros to a multiple of 16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

#: Unit of fixed-point counts of tokens in topics. For a token with probability p of a topic,
#: round(p * UNIT) is added to the integer count. Such expected counts are called Rao-Blackwellised.
UNIT = 1 << 24


@dataclass(frozen=True)
class Documents:
    """Word counts of documents, as a sparse matrix in compressed rows.

    Attributes
    ----------
    indptr : (n + 1,) int64
        Document i owns entries ``indptr[i]:indptr[i + 1]``; ``indptr[0]`` is 0.
    indices : (nnz,) int32
        Word ids, strictly increasing within a document.
    counts : (nnz,) int32
        Occurrences, at least 1.
    slices : (n,) int32 or None
        The time slice of each document, if topics have a row for each word and slice.
    copies : int
        Number of time slices T, which is the number of rows of each word.
    """

    indptr: Int64s
    indices: Int32s
    counts: Int32s
    slices: Int32s | None = None
    copies: int = 1

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def rows(self) -> Int32s:
        """Row of the topic matrix for each entry, (nnz,), given the entry's word and time slice."""
        if self.slices is None:
            return self.indices
        of_entries = np.repeat(self.slices, np.diff(self.indptr))
        return (self.indices * np.int32(self.copies) + of_entries).astype(np.int32)

    @property
    def tokens(self) -> int:
        """Number of tokens, which is the sum of all counts."""
        return int(self.counts.sum(dtype=np.int64))

    @cached_property
    def lengths(self) -> Int64s:
        """Number of tokens in each document, (n,) int64; the array is read-only."""
        ends = np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))[self.indptr]
        lengths: Int64s = np.diff(ends)
        lengths.flags.writeable = False
        return lengths

    def sum_by_document(self, values: Doubles) -> Doubles:
        """Return the sum of ``values`` over the entries of each document, (n,)."""
        holders = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        sums: Doubles = np.bincount(holders, values, len(self)).astype(np.float64)
        return sums

    def take(self, ids: Int64s) -> Documents:
        """Copy the documents at the given positions, in the given order; positions may repeat."""
        starts = self.indptr[ids]
        lengths = self.indptr[ids + 1] - starts
        indptr = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        slices = None if self.slices is None else self.slices[ids]
        return Documents(indptr, self.indices[entries], self.counts[entries], slices, self.copies)


class Slicing(NamedTuple):
    """Time slices, and the values by which documents are assigned to time slices.

    Attributes
    ----------
    field : str
        The column that holds the date of a document.
    names : tuple of str
        The name of each slice, the earliest first.
    begins : tuple of float or str
        The first number, or date in ISO 8601, of each slice.
    """

    field: str
    names: tuple[str, ...]
    begins: tuple[float | str, ...]


class WordTotals(NamedTuple):
    """Occurrences of each word in a set of documents, as sums of counts and of squared counts.

    Attributes
    ----------
    occurrences : (V,) int64
    squares : (V,) int64
        Sum over the documents of the squared number of occurrences.
    """

    occurrences: Int64s
    squares: Int64s

    @property
    def repetition(self) -> Doubles:
        """Mean count of a word in the document of a random occurrence of it, (V,), at least 1.

        It equals `squares` divided by `occurrences`.
        """
        ratio: Doubles = self.squares / np.maximum(1, self.occurrences)
        return np.maximum(1.0, ratio)


@dataclass(frozen=True, slots=True)
class PositionsExcept:
    """Ascending positions of all documents except ``without``, computed when they are accessed.

    Parameters
    ----------
    documents : int
        Number of documents in the corpus.
    without : (n,) int64
        Positions of the documents left out, ascending and different.

    Examples
    --------
    >>> others = PositionsExcept(6, np.array([1, 4]))
    >>> len(others), others[np.array([0, 1, 3])].tolist(), others[:].tolist()
    (4, [0, 2, 5], [0, 2, 3, 5])
    """

    documents: int
    without: Int64s

    def __len__(self) -> int:
        return self.documents - len(self.without)

    def __getitem__(self, places: Int64s | slice) -> Int64s:
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        before = self.without - np.arange(len(self.without))
        positions: Int64s = places + np.searchsorted(before, places, "right")
        return positions

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Return all positions as an array; NumPy calls this method to convert the object."""
        return np.asarray(self[:], dtype)

    def __iter__(self) -> Iterator[int]:
        return iter(self[:].tolist())


#: Ascending positions of documents in a corpus, as an array or a `PositionsExcept`.
Positions = Int64s | PositionsExcept


class Condition(Enum):
    """Condition on the values of an array; each value of the enum describes a condition."""

    FINITE = "neither NaN nor infinite"
    NOT_NEGATIVE = "finite and at least 0"
    COUNT = "from 0 to 2^53"
    INDEX = "from -1 to 2^31"
    SHARE = "from 0 to 1"
    PRIOR = "positive in float32, and so is the smallest value divided by the greatest value"
    LOGARITHM = "from -10^6 to 10^6"
    ROWS_SUM_TO_1 = "not negative, and the sum of each row is 1"
    ROWS_UNIT_NORM = "the Euclidean norm of each row is 1"


def is_prior(values: Array) -> bool:
    """Return True if the kernels accept the values as parameters of a Dirichlet prior.

    Parameters
    ----------
    values : (K,) or (1, K)
        K is at least 1.

    Returns
    -------
    bool
        Also False if the smallest value vanishes next to the largest one in float32.
    """
    least, most = float(values.min()), float(values.max())
    tiny, huge = np.finfo(np.float32).tiny, np.finfo(np.float32).max
    # The comparisons are False for NaN.
    return bool(tiny <= least and most <= huge and least >= tiny * most)


class Invariant(NamedTuple):
    """Condition that an array must meet, and the noun for a row of the array in error messages."""

    condition: Condition
    row: str = "row"


class Key(NamedTuple):
    """Key that determines all random numbers of an iteration, in place of a generator object.

    Kernels take the fields as arguments of the same names. Kernels that update a parameter block
    also take ``stream``.
    """

    seed: int
    chain: int
    step: int


class Minibatch(NamedTuple):
    """Documents of a minibatch; their word ids are indices in the list of the minibatch's words.

    Attributes
    ----------
    indptr, indices, counts
        As in `Documents`, but ``indices`` are rows of ``words``.
    words : (R,) int32
        Sorted ids of words, or of words in slices: the rows of the topics that documents read.
    doc_ids : (n,) int64
        Position of each document in the corpus, which keys its random numbers.
    scale : float
        D/B, the number of documents in the corpus over the number in the minibatch.
    """

    indptr: Int64s
    indices: Int32s
    counts: Int32s
    words: Int32s
    doc_ids: Int64s
    scale: float

    @property
    def tokens(self) -> int:
        """Number of tokens, which is the sum of all counts."""
        return int(self.counts.sum(dtype=np.int64))


# ---- step sizes


class Schedule(NamedTuple):
    """Step sizes h_t = a (1 + t/b)^(-c) of iterations t = 0, 1, 2, ... after the warm-up.

    This formula is the one in the SGRLD authors' code. The formula in their paper puts the exponent
    outside of ``a``, which cannot be intended. ``a`` is a diffusion time: the paper's epsilon is
    2h.
    """

    a: float
    b: float
    c: float

    def __call__(self, t: int) -> float:
        """Return the step size of iteration ``t``."""
        return float(self.a * (1.0 + t / self.b) ** -self.c)

    def __str__(self) -> str:
        return f"{self.a:g},{self.b:g},{self.c:g}"


def noise_inflation(h: float, documents: int, minibatch: int) -> float:
    """Return the factor by which minibatch noise inflates the variance of topics of ``scir``.

    The factor is 1 + tanh(h/2) D/B (Baker et al. 2018, corollary 3.2). It applies to the variance of
    topics given the counts of documents' topics, which is the fraction `GIVEN_COUNTS` of the
    posterior variance.

    Parameters
    ----------
    h : float
        Step in diffusion time.
    documents : int
        D, documents of the corpus.
    minibatch : int
        B, documents of a minibatch.

    Returns
    -------
    float
        At least 1; 1 for exact samplers.
    """
    return 1.0 + math.tanh(h / 2) * documents / minibatch


#: Approximate variance of the topics given the counts, divided by their posterior variance.
GIVEN_COUNTS = 2 / 3
#: If `noise_inflation` is at most this number, samples have about the posterior variance
#: (docs/choosing-a-sampler.md, "What the draws are of").
QUIET = 1.5


def wider(inflation: float) -> float:
    """Return the approximate ratio of the variance of samples to the posterior variance.

    Parameters
    ----------
    inflation : float
        As `noise_inflation` returns it.

    Returns
    -------
    float
        At least 1.
    """
    return max(1.0, inflation * GIVEN_COUNTS)


#: Step sizes of the warm-up, which has no noise. They are large at first and then decrease. With
#: these constants, scores improved fastest in early iterations.
WARM_UP = Schedule(0.5, 30.0, 0.7)


def step_sizes(warm_up: int, steps: tuple[float, float, float] | None) -> Callable[[int], float]:
    """Return a function that returns the step size of an iteration.

    Parameters
    ----------
    warm_up : int
        Number of iterations of the warm-up, which has its own step sizes.
    steps : tuple of float, optional
        A, B and C of the step sizes after the warm-up; by default all of them are 1.

    Returns
    -------
    callable (int) -> float
    """
    schedule = Schedule(*steps) if steps else Schedule(1.0, 1.0, 0.0)
    return lambda t: WARM_UP(t) if t < warm_up else schedule(t - warm_up)


#: Weight of a new minibatch in the running averages that precondition steps (`update_scale`), as in
#: the code of the authors of deep LDA.
RUNNING = Schedule(0.5, 21.0, 0.7)


# ---- parts of a model


class Seeds(NamedTuple):
    """Prior counts of seed words in topics, which are added to the prior of all words.

    Attributes
    ----------
    rows : (R,) int32
        The words, ascending.
    counts : (R, K) float64
        Tokens of each word that each topic is taken to have had, at least 0.
    """

    rows: Int32s
    counts: Doubles


class Block(NamedTuple):
    """Parameter block: a matrix or a vector of global parameters of a model, with its prior.

    Attributes
    ----------
    name : str
        "phi", and for deeper models "phi2", ...
    geometry : str
        Geometry of the sampler that moves it: see `pysgrld.samplers.sampler.Sampler`.
    shape : (int, int)
        (V, K): words and topics.
    prior : float
        Symmetric Dirichlet parameter per word (eta).
    stream : int
        Separates this block's randomness from that of other blocks.
    mass : float
        Number of tokens of the corpus, which sets the scale at which the state starts.
    hyper : tuple of float, or (V,) float64
        Further constants of the prior; for directions, the centre around which they start.
    seeds : Seeds or None
        Cells that have a Dirichlet parameter above ``prior``.
    sparse : bool
        True if a minibatch reads only the rows of its words.
    settings : SamplerSettings or None
        Settings of the sampler that moves the block; only the sampler reads them. None for its
        defaults.
    copies : int
        Time slices T. Word w has a row for each slice t, row w T + t, and V counts words times T.
    """

    name: str
    geometry: Literal["simplex", "dirichlet", "sphere", "positive", "concentration", "walk"]
    shape: tuple[int, int]
    prior: float
    stream: int
    mass: float
    hyper: tuple[float, ...] | Doubles = ()
    seeds: Seeds | None = None
    sparse: bool = False
    settings: Any = None
    copies: int = 1

    @property
    def is_vector(self) -> bool:
        """True if the block is a single vector, and not a matrix of topics."""
        return self.geometry in ("positive", "concentration")


class HeldOutCounts(NamedTuple):
    """Held-out word counts as a sparse matrix in compressed rows; its columns are rows of phi."""

    indptr: Int64s
    indices: Int32s
    counts: Int32s
