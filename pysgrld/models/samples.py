"""Stored samples of topics: in full, as counts of tokens, or with each topic's top words only.

If topics were drawn given the topics of all tokens, a sample is stored as the counts of tokens by
word and topic, compressed to about a byte for each count above 0, and the key of its random
numbers. Another draw from this distribution (`sample_conditional`) has the same bits.

A top-word sample has only the most probable words of every topic, for runs that can store few full
samples on disk. To make one, all rows of a draw are brought up to date, including lazy rows: the gamma
variate of a lazy row has no upper bound, so each row may be among the most probable, and the sums of
topics are exact only for all rows together. A top-word sample is therefore exactly a part of the full
sample of its iteration.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import zstandard

from pysgrld.core import padded_width
from pysgrld.errors import CheckpointError
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK
from pysgrld.samplers.state import Counts, TopicConditional
from pysgrld.types import Array, Block, Condition, Floats, Invariant, Key

_TOPICS = Invariant(Condition.ROWS_SUM_TO_1, row="topic")
_NOT_NEGATIVE, _COUNT = Invariant(Condition.NOT_NEGATIVE), Invariant(Condition.COUNT)
_SHARE, _INDEX = Invariant(Condition.SHARE), Invariant(Condition.INDEX)
_FINITE, _PRIOR = Invariant(Condition.FINITE), Invariant(Condition.PRIOR)
_PRIORS = ("r", ALPHA_BLOCK, ETA_BLOCK)
#: Rules for the arrays of a stored sample. Rows of ``phi``, ``phi2``, ... are distributions, and
#: ``phi`` is required. ``w`` has a mixture's component weights.
SAMPLE = {"phi": _TOPICS, "phi?*": _TOPICS, "[w]": _SHARE} | {f"{n}*": _PRIOR for n in _PRIORS}
#: Rules for arrays that the checkpoint of any model may have. Every array of a checkpoint has a
#: rule.
COMMON = {
    **{f"*{name}": _COUNT for name in ("samples", "updates", "visits", "visited", "plan")},
    **{f"*spread.{name}": _COUNT for name in ("draws", "words")},
    "*spread.sums": _NOT_NEGATIVE,
    "*spread.replicates": _SHARE,
    "*trace.*": _SHARE,
    "*completion.[mrt]*": _NOT_NEGATIVE,
    "*z": _INDEX,
    "*density.*": _FINITE,
    "*posterior.*": _FINITE,
    "*exact.last.*": _FINITE,
    **dict.fromkeys(
        ("*.last", "*.now", "*.x", "*.v", "*.y", "*.momenta", "*.log_g", "*.log_sums"), _FINITE
    ),
    "concentration": _NOT_NEGATIVE,
}
#: Rules for the arrays of a checkpoint. Unnormalised topics, sums of topics and priors must not be
#: negative.
STATE = COMMON | dict.fromkeys(
    ("g", "*.g", "*.sums", "*posterior.sum.*", "*.r", "*.c0", "*.gamma0", "*.m", "*.eta"),
    _NOT_NEGATIVE,
)

#: Name of the topics over words in a sample.
PHI = "phi"
#: Name of an array of a sample that is stored as counts. It is packed, and has for each word the
#: number of topics in which the word has tokens.
CELLS = "phi.cells"
#: Name of the array that lists, word by word, the topics in which the word has tokens. It is
#: packed.
TOPICS = "phi.topics"
#: Name of the array that lists, for each word and topic, how many tokens of the word are in the
#: topic. It is packed.
TOKENS = "phi.tokens"
#: Name of the array with the step of a sample's random key, as its lower and its upper 32 bits.
STEP = "phi.step"
#: Rules for the arrays of a sample that is stored as counts.
COUNTED = dict.fromkeys((CELLS, TOPICS, TOKENS, STEP), _COUNT) | {
    f"{name}*": _NOT_NEGATIVE for name in _PRIORS
}

#: Mask of the lower 32 bits of a step.
_LOW = (1 << 32) - 1
#: Compression level of zstd. Higher levels save 7 % but take 70 times as long.
_LEVEL = 3

#: Number of words of each topic in a top-word sample.
WORDS = 256
#: Rules for the arrays of a top-word sample: ``words`` has the ids of words, and ``phi`` has their
#: probabilities, the most probable word first.
TOP_WORDS = {"words": _COUNT, "phi": _SHARE}

#: The search for a topic's top words begins with the words of at least a guessed probability. The
#: guess is this fraction of the smallest probability among the previous topic's top words.
_ABOVE = 0.5


def encode_counts(
    conditional: TopicConditional, topics: int, words: int
) -> dict[str, Array] | None:
    """Encode a sample of topics by the token counts from which the topics were drawn.

    Return None if the counts are not whole numbers.

    Parameters
    ----------
    conditional : TopicConditional
    topics, words : int
        K and V.

    Returns
    -------
    dict of (1, n) unsigned integers, or None
        Packed counts, and the step; or None if seed words have counts that are not whole numbers.
    """
    if conditional.counts.factor != 1.0:
        return None
    counts = np.ascontiguousarray(conditional.counts.counts[:, :topics])
    places = np.flatnonzero(counts != 0)
    begin = np.arange(len(counts) + 1) * topics
    used = np.diff(np.searchsorted(places, begin))
    cells = np.zeros(words, np.int64)
    cells[conditional.counts.rows] = used
    columns = places - np.repeat(begin[:-1], used)
    arrays = {CELLS: cells, TOPICS: columns, TOKENS: counts.ravel()[places]}
    packed = {name: _compress(numbers) for name, numbers in arrays.items()}
    return packed | {
        STEP: np.array([[conditional.key.step & _LOW, conditional.key.step >> 32]], np.uint32)
    }


def _compress(numbers: Array) -> Array:
    """Compress integers to a zstd frame, (1, n) uint8, with bytes grouped by significance."""
    small = numbers.astype(np.min_scalar_type(numbers.max(initial=0)).newbyteorder("<"))
    planes = small.view(np.uint8).reshape(len(small), small.itemsize).T
    engine = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    return np.frombuffer(engine.compress(planes.tobytes()), np.uint8)[None]


def _decompress(frame: Array, n: int) -> Array:
    """Decompress the n integers of a frame made by `_compress`.

    Raises
    ------
    ValueError
        If the frame is damaged, or does not have n integers.
    """
    if frame.dtype != np.uint8 or frame.ndim != 2 or len(frame) != 1:
        raise ValueError
    data = frame.tobytes()
    try:
        size = zstandard.get_frame_parameters(data).content_size
        width, rest = divmod(size, n) if n else (1, size)
        if rest or width not in (1, 2, 4, 8):  # The size is checked before the bytes are allocated.
            raise ValueError
        planes = np.frombuffer(zstandard.ZstdDecompressor().decompress(data), np.uint8)
    except zstandard.ZstdError as error:
        raise ValueError from error
    return np.ascontiguousarray(planes.reshape(width, n).T).view(f"<u{width}")[:, 0]


def decode_counts(sample: Mapping[str, Array], v: int, k: int) -> tuple[Array, Array, Array]:
    """Return the counts of tokens in a sample that is stored as counts.

    Parameters
    ----------
    sample : mapping
        Arrays as `encode_counts` returns them.
    v, k : int
        V and K.

    Returns
    -------
    cells : (V,) unsigned integers
        Number of topics that have each word.
    topics, tokens : (n,) unsigned integers
        These topics, word by word, and how many tokens of the word each has.

    Raises
    ------
    ValueError
        If the arrays do not belong together, or are not of this model.
    """
    cells = _decompress(sample[CELLS], v)
    if cells.max(initial=0) > k:
        raise ValueError
    n = int(cells.sum(dtype=np.int64))
    topics, tokens = _decompress(sample[TOPICS], n), _decompress(sample[TOKENS], n)
    if topics.max(initial=0) >= k:
        raise ValueError
    return cells, topics, tokens


def sample_conditional(
    sample: Mapping[str, Array], block: Block, seed: int, chain: int
) -> TopicConditional:
    """Return the distribution of topics given the token counts of a stored sample.

    Parameters
    ----------
    sample : mapping
        Arrays as `encode_counts` returns them.
    block : Block
        The topics over words.
    seed, chain : int
        Seed and chain of the run.

    Returns
    -------
    TopicConditional

    Raises
    ------
    CheckpointError
        If the arrays do not belong together, or are not of this model.
    """
    v, k = block.shape
    try:
        cells, topics, tokens = decode_counts(sample, v, k)
        if sample[STEP].shape != (1, 2) or sample[STEP].dtype != np.uint32:
            raise ValueError
    except (KeyError, ValueError):
        raise CheckpointError(
            f"arrays '{CELLS}', '{TOPICS}', '{TOKENS}', '{STEP}' do not fit the model"
        ) from None
    rows = np.flatnonzero(cells).astype(np.int32)
    counts = np.zeros((len(rows), padded_width(k)), np.int64)
    counts[np.repeat(np.arange(len(rows)), cells[rows]), topics] = tokens
    low, high = sample[STEP][0].tolist()
    return TopicConditional(Key(seed, chain, high << 32 | low), Counts(rows, counts, 1.0))


def n_top_words(v: int) -> int:
    """Return the number of words that a top-word sample has for each topic, given V words.

    Parameters
    ----------
    v : int
        Number of words V.

    Returns
    -------
    int
    """
    return min(WORDS, v)


def top_word_sample(phi: Floats) -> dict[str, Array]:
    """Reduce a sample of topics to the most probable words of each topic, with probabilities.

    Parameters
    ----------
    phi : (K, V) float32

    Returns
    -------
    dict
        ``words`` (K, n) uint32 and ``phi`` (K, n) float32, with n = 256, or V if that is less. The
        most probable words come first; words of equal probability are in the order of their ids.
    """
    k, v = phi.shape
    n = n_top_words(v)
    words = np.empty((k, n), np.uint32)
    least = 0.0
    for row, values in enumerate(phi):
        # Usually, at least n values reach the guess ``least``, and only these values are sorted.
        places = np.flatnonzero(values >= least)
        if len(places) < n:
            places = np.flatnonzero(values >= np.partition(values, v - n)[-n])
        words[row] = places[np.argsort(-values[places], kind="stable")[:n]]
        least = _ABOVE * float(values[words[row, -1]])
    return {"words": words, "phi": np.take_along_axis(phi, words.astype(np.int64), axis=1)}


def look_up_words(sample: Mapping[str, Array], words: Array) -> tuple[Floats, Array]:
    """Look up the probabilities of ``words`` in the topics of a top-word sample.

    Parameters
    ----------
    sample : mapping
        ``words`` and ``phi``, as `top_word_sample` returns them.
    words : (K, n) int
        Ids of words.

    Returns
    -------
    values : (K, n) float32
        Probabilities of the words; a word that is not in the sample gets an upper bound, the
        topic's smallest value in the sample.
    censored : (K, n) bool
        Whether each word is missing from the sample.
    """
    ids, phi = sample["words"], sample["phi"]
    values = np.empty(words.shape, np.float32)
    censored = np.empty(words.shape, bool)
    for k, topic_words in enumerate(words):
        order = np.argsort(ids[k])
        sorted_ids = ids[k][order]
        positions = np.minimum(np.searchsorted(sorted_ids, topic_words), len(order) - 1)
        censored[k] = sorted_ids[positions] != topic_words
        values[k] = np.where(censored[k], phi[k, -1], phi[k][order[positions]])
    return values, censored
