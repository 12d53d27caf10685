"""Topics that change over time: words' log weights are random walks, updated by Langevin steps.

    b_1 ~ N(0, spread^2),  b_t ~ N(b_(t-1), drift^2),  phi_t = softmax of b_t over words

for each word of each topic (Blei and Lafferty 2006). Row w T + t of the state ``b`` (V T, Kp) float32 is
word w in slice t of T, and ``log_sums`` (T, Kp) float64 are the logarithms of the sums of exp(b_t). All
slices of a word move in one step, preconditioned by the precision of the walk and of the counts together:

- ``sgld`` by minibatches (Bhadury, Chen, Zhu and Liu 2016); the counts are a running mean, so that
  the counts of a minibatch do not affect the length of their own step.
- ``mala`` given the counts of the whole corpus, word after word, accepted by Metropolis and Hastings
  (Roberts and Tweedie 1996): exact.

Kernel: cpp/kernels/walk.cpp.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import log
from pysgrld.options.option import Steps
from pysgrld.samplers.log_rows import log_sums
from pysgrld.samplers.rows import draw_initial_rows
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import RUNNING, Array, Block, Doubles, Floats, Int32s, Int64s, Key

#: Step size with minibatches, divided by the fraction B/D of the corpus that a minibatch has. With
#: this step size, minibatch noise widens the distribution of draws by at most a quarter.
SHARE = 0.5
#: Maximum step size.
LONGEST = 0.5
#: With an accept test and T time slices, the step size is this number times T^(-1/3), but at most
#: `LONGEST`.
ACCEPTED = 0.85
#: Count added to each word's tokens in every slice if a chain starts from given token counts.
AT_FIRST = 0.5


def default_step(facts: SamplerFacts, settings: SamplerSettings) -> Steps:
    """Return a constant step size: half of a minibatch's fraction of the corpus, at most 0.5.

    A token of a minibatch then moves a word only slightly.
    """
    del settings
    return (min(LONGEST, SHARE * facts.minibatch / facts.documents), 1.0, 0.0)


class WalkingRows(BlockState[Counts]):
    """Random walks of words' log weights over time slices; subclasses differ in `step`.

    The block's ``hyper`` has the walk's drift and spread.
    """

    names: ClassVar[tuple[str, ...]] = ("b", "log_sums")
    of_topics = "log_sums"
    b: Floats
    log_sums: Doubles

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Counts]:
        """Draw initial log weights of words, equal in all time slices, as logs of Gamma(1)."""
        return cls(block, threads, **draw_initial_walks(key, block, threads))

    def update_arguments(self, key: Key, counts: Counts) -> dict[str, Any]:
        """Return the arguments common to the kernels of minibatch steps and of Metropolis steps."""
        drift, spread = self.block.hyper
        return {
            "b": self.b,
            "log_sums": self.log_sums,
            "topics": self.block.shape[1],
            "rows": counts.rows,
            "counts": counts.counts,
            "factor": counts.factor,
            "drift": float(drift),
            "spread": float(spread),
            "work": self.work,
            "threads": self.threads,
            **key._asdict(),
            "stream": self.block.stream,
        }

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return phi for the given rows (words in time slices), with a small lower bound.

        Because of the bound, each token can have some topic.
        """
        return core.walk_phi(
            b=self.b,
            log_sums=self.log_sums,
            topics=self.block.shape[1],
            rows=words,
            work=None if words is None else self.work,
            threads=self.threads,
        )

    def start_from_counts(self, key: Key, tokens: Doubles) -> None:
        """Replace the state by a state with the given number of tokens of each word in each topic.

        All slices have the same ``tokens``, which has a row for each of the first words.
        """
        del key  # The key is unused, because nothing is drawn.
        v, k = self.block.shape
        counts = np.full((v // self.block.copies, k), AT_FIRST)
        counts[: len(tokens)] += tokens
        logs = log(counts)
        b = (logs - logs.mean(axis=0)).astype(np.float32)
        for name, array in walk_arrays(self.block, np.repeat(b, self.block.copies, axis=0)).items():
            getattr(self, name)[:] = array

    def summary(self) -> Doubles:
        """Return the sum of each topic's log normalisers over all slices, (K,)."""
        sums: Doubles = self.log_sums[:, : self.block.shape[1]].sum(axis=0)
        return sums


def draw_initial_walks(key: Key, block: Block, threads: int) -> dict[str, Array]:
    """Draw the initial log weights of words, and return the arrays of a new state."""
    (v, k), slices = block.shape, block.copies
    g = draw_initial_rows(key, block._replace(shape=(v // slices, k), mass=0.0), threads)["g"][
        :, :k
    ]
    logs = log(np.maximum(g, np.finfo(np.float32).tiny).astype(np.float64))
    return walk_arrays(block, np.repeat(logs.astype(np.float32), slices, axis=0))


def walk_arrays(block: Block, b: Floats) -> dict[str, Array]:
    """Return the arrays of a state whose random walks have the log weights b, (V T, K)."""
    (v, k), slices = block.shape, block.copies
    rows, sums = core.zeros(v, padded_width(k), "float32"), np.zeros((slices, padded_width(k)))
    rows[:, :k] = b
    for t in range(slices):
        sums[t, :k] = log_sums(b[t::slices].astype(np.float64))
    return {"b": rows, "log_sums": sums}


class LangevinWalks(WalkingRows):
    """Topics over time that are updated by Langevin steps with minibatches.

    ``curvature`` (V T, Kp) is the running mean of counts.
    """

    names: ClassVar[tuple[str, ...]] = ("b", "log_sums", "curvature", "updates")
    curvature: Floats
    updates: Int64s
    warm: ClassVar[bool] = False

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Counts]:
        """Draw the first state of a chain, which begins with a noise-free warm-up."""
        arrays = draw_initial_walks(key, block, threads)
        arrays["curvature"] = core.zeros(len(arrays["b"]), arrays["b"].shape[1], "float32")
        arrays["updates"] = np.zeros(1, np.int64)
        return WalkingWarmUp(block, threads, cls, **arrays)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make a preconditioned Langevin step of all log weights b.

        b <- b + (1 - e^-h) M g + sqrt(1 - e^-2h) M^(1/2) z, with g the gradient, M the
        preconditioner and z ~ N(0, 1). All terms on the right are of the old state.
        """
        updates = int(self.updates[0])
        core.walk_step(
            **self.update_arguments(key, statistics),
            curvature=self.curvature,
            h=h,
            weight=RUNNING(updates) if updates else 1.0,
            warm=self.warm,
        )
        self.updates += 1


class WalkingWarmUp(LangevinWalks):
    """Topics over time in the noise-free warm-up, which climbs to the maximum of the density."""

    warm: ClassVar[bool] = True


LangevinWalks.warm_up = WalkingWarmUp


class MetropolisWalks(WalkingRows):
    """Topics over time that are updated by Metropolis steps, given the whole corpus's counts.

    Attributes
    ----------
    acceptance : (K,) float64
        Fraction of the words with an accepted last step.
    """

    acceptance: Doubles = np.zeros(0)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Propose a change of each word's log weights; ``h`` scales the default step size."""
        (v, k), slices = self.block.shape, self.block.copies
        length = h * min(LONGEST, ACCEPTED * slices ** (-1.0 / 3.0))
        accepted = core.walk_accept(**self.update_arguments(key, statistics), h=length)
        self.acceptance = accepted[:k].astype(np.float64) * (slices / v)
