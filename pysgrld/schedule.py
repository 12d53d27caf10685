"""The step-size schedule, and nothing else."""

from __future__ import annotations

import math
from typing import NamedTuple


class Schedule(NamedTuple):
    """h_t = a (1 + t/b)^(-c), t = 0, 1, 2, ... counted after the warm-up.

    The form of the SGRLD authors' code; their paper's typeset formula puts the exponent outside of
    ``a``, which cannot be meant. ``a`` is a diffusion time: the paper's epsilon is 2h.
    """

    a: float
    b: float
    c: float

    def __call__(self, t: int) -> float:
        """Step size of iteration ``t``."""
        return float(self.a * (1.0 + t / self.b) ** -self.c)

    def __str__(self) -> str:
        return f"{self.a:g},{self.b:g},{self.c:g}"


def noise_inflation(h: float, documents: int, minibatch: int) -> float:
    """Compute the variance of ``scir``'s topics over the posterior's, by minibatch noise alone.

    1 + tanh(h/2) D/B (Baker et al. 2018, corollary 3.2): times the variance that topics have given the
    counts of documents' topics. That is a part of the posterior's, `GIVEN_COUNTS`.
    """
    return 1.0 + math.tanh(h / 2) * documents / minibatch


#: About the variance that topics have given the counts, over the posterior's; the noise inflation up to
#: which draws vary as the posterior does: docs/choosing-a-sampler.md, "What the draws are of".
GIVEN_COUNTS, QUIET = 2 / 3, 1.5
#: Sweeps after which documents that start afresh in every iteration have forgotten how: as above.
FORGOTTEN = 40


def wider(inflation: float) -> float:
    """Give about how many times the posterior's variance draws have, from the noise inflation."""
    return max(1.0, inflation * GIVEN_COUNTS)


def quiet_step(documents: int, minibatch: int, rate: float) -> float:
    """Give the largest step of two digits at which the noise inflation is at most `QUIET`."""
    h = 2.0 * math.atanh((QUIET - 1.0) * minibatch / documents) / rate
    unit = 10.0 ** (math.floor(math.log10(h)) - 1)
    return math.floor(h / unit) * unit


#: Noise-free warm-up: a large step that decays (the greatest early gain that was measured).
WARM_UP = Schedule(0.5, 30.0, 0.7)
#: Weight of a minibatch in running scales, as the authors of deep LDA have it in their code.
RUNNING = Schedule(0.5, 21.0, 0.7)
