"""Documents of a spherical admixture model by Dirichlet laws of their proportions.

Reisinger, Waters, Silverthorn and Mooney (2010): q(theta_d) = Dir(at_d), topics of mean a bt_k, where
a = E[bt_k^T beta_k] is a ratio of Bessel functions. With s = sum_k at_dk, the part of a document in the
objective is

    J_d = kappa rho_d + E_q ln Dir(theta_d | alpha) - E_q ln q(theta_d),
    rho_d = a at_d^T bt^T v_d / (s sqrt(E_d)),
    E_d = (s + (1 - a^2) sum_k at_dk^2 + a^2 at_d^T bt^T bt at_d) / (s (s + 1)),

E_d being E ||beta theta_d||^2 exactly, and rho_d a stand-in for the expected cosine: J is no bound.
It is climbed by Newton steps in ln at_d, damped by the Fisher information of q. Documents are the last
axis of all arrays, and none depends on which others are there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pysgrld.core.arithmetic import exp, log
from pysgrld.types import Doubles

#: Documents that are fitted together.
BLOCK = 256
#: Parameters are never below this.
LEAST = 1e-5
#: A document has converged when its next step promises less than this, in nats.
TOLERANCE = 1e-4
#: No parameter changes by more than this factor's logarithm in a step.
_LONGEST = 2.0
#: Damping of the first step, and its factor after a step that was refused.
_DAMPING, _MORE = 1.0, 8.0


class Law(NamedTuple):
    """The law of documents given the topics' laws.

    Attributes
    ----------
    kappa, alpha : float
    shrink : float
        a, the length of a topic's mean.
    """

    kappa: float
    alpha: float
    shrink: float


class GammaFunctions(NamedTuple):
    """The logarithm of the gamma function, and its first three derivatives."""

    log: Doubles
    psi: Doubles
    psi1: Doubles
    psi2: Doubles


def gamma_functions(x: Doubles) -> GammaFunctions:
    """Compute ln Gamma and its derivatives of positive numbers, by Stirling's series of x + 8."""
    product, first = np.ones_like(x), np.zeros_like(x)
    second, third = np.zeros_like(x), np.zeros_like(x)
    for i in range(8):
        inverse = 1.0 / (x + i)
        product = product * (x + i)
        first += inverse
        second += inverse**2
        third += inverse**3
    y = x + 8.0
    r = 1.0 / y
    q = r * r
    found = (y - 0.5) * log(y) - y + 0.5 * math.log(2.0 * math.pi)
    found += r * (1 / 12 - q * (1 / 360 - q * (1 / 1260 - q * (1 / 1680 - q * (1 / 1188)))))
    psi = log(y) - 0.5 * r
    psi -= q * (1 / 12 - q * (1 / 120 - q * (1 / 252 - q * (1 / 240 - q * (1 / 132)))))
    psi1 = r + 0.5 * q
    psi1 += r * q * (1 / 6 - q * (1 / 30 - q * (1 / 42 - q * (1 / 30 - q * (5 / 66)))))
    psi2 = -q - r * q
    psi2 -= q * q * (1 / 2 - q * (1 / 6 - q * (1 / 6 - q * (3 / 10 - q * (5 / 6)))))
    return GammaFunctions(found - log(product), psi - first, psi1 + second, psi2 - 2.0 * third)


class Cosines(NamedTuple):
    """The expected cosines rho of documents under their laws, and what they are made of.

    Attributes
    ----------
    rho, length, square : (n,)
        rho_d, s and E_d.
    mixed : (K, n)
        bt^T bt at_d.
    """

    rho: Doubles
    length: Doubles
    square: Doubles
    mixed: Doubles


def expected_cosines(at: Doubles, gram: Doubles, along: Doubles, law: Law) -> Cosines:
    """Compute rho of documents.

    Parameters
    ----------
    at : (K, n)
    gram : (K, K)
        bt^T bt.
    along : (K, n)
        bt^T v_d.
    law : Law
    """
    a2 = law.shrink**2
    mixed = np.zeros_like(at)
    for j in range(len(at)):
        mixed += gram[:, j, None] * at[j]
    s = at.sum(axis=0)
    spread = s + (1.0 - a2) * (at * at).sum(axis=0) + a2 * (at * mixed).sum(axis=0)
    square = np.maximum(spread, 1e-24) / (s * (s + 1.0))
    rho = law.shrink * (at * along).sum(axis=0) / (s * np.sqrt(square))
    return Cosines(rho, s, square, mixed)


def objective(at: Doubles, gram: Doubles, along: Doubles, law: Law) -> Doubles:
    """Compute J_d of documents but for a constant, (n,); arguments as `expected_cosines` has them."""
    return _value(at, expected_cosines(at, gram, along, law), gamma_functions(at), law)


def _value(at: Doubles, of: Cosines, gammas: GammaFunctions, law: Law) -> Doubles:
    whole = gamma_functions(of.length)
    found: Doubles = (
        law.kappa * of.rho
        + ((law.alpha - at) * (gammas.psi - whole.psi) + gammas.log).sum(axis=0)
        - whole.log
    )
    return found


class Expansion(NamedTuple):
    """The objective of documents near their parameters, by ln at.

    Attributes
    ----------
    value : (n,)
    gradient : (K, n)
    curvature, metric : (K, K, n)
        Minus the second derivatives, and the Fisher information of q.
    """

    value: Doubles
    gradient: Doubles
    curvature: Doubles
    metric: Doubles


def expand(at: Doubles, gram: Doubles, along: Doubles, law: Law) -> Expansion:
    """Compute J_d with its first and second derivatives; arguments as `expected_cosines` has them."""
    k = len(at)
    of, gammas = expected_cosines(at, gram, along, law), gamma_functions(at)
    s, a2, rho = of.length, law.shrink**2, of.rho
    whole, rest = gamma_functions(s), k * law.alpha - s
    spread = of.square * s * (s + 1.0)
    sides = (1.0 + 2.0 * (1.0 - a2) * at + 2.0 * a2 * of.mixed) / spread  # of ln spread
    # rho = a at^T b h; of ln h:
    pull = 0.5 * (1.0 / (s + 1.0) - 1.0 / s - sides)
    straight = law.shrink * along / (s * np.sqrt(of.square))
    first = law.kappa * (straight + rho * pull)
    first += (law.alpha - at) * gammas.psi1 - rest * whole.psi1
    second = straight[:, None] * pull + pull[:, None] * straight
    second += rho * (pull[:, None] * pull + 0.5 * sides[:, None] * sides)
    second += rho * 0.5 * (1.0 / (s * s) - 1.0 / (s + 1.0) ** 2)
    second -= rho / spread * a2 * gram[:, :, None]
    second *= law.kappa
    second += whole.psi1 - rest * whole.psi2
    own = np.arange(k)
    second[own, own] -= law.kappa * (1.0 - a2) * rho / spread
    second[own, own] += (law.alpha - at) * gammas.psi2 - gammas.psi1
    gradient = at * first
    outer = at[:, None] * at
    curvature, metric = -outer * second, -outer * whole.psi1
    curvature[own, own] -= gradient
    metric[own, own] += at * at * gammas.psi1
    return Expansion(_value(at, of, gammas, law), gradient, curvature, metric)


def solve(matrix: Doubles, right: Doubles) -> tuple[Doubles, Doubles]:
    """Solve symmetric systems, (K, K, n) and (K, n), by elimination, which overwrites them.

    Gives the solutions, and of each the least pivot: it is above 0 where the matrix is positive.
    """
    k = len(right)
    least = np.full(right.shape[1], np.inf)
    for i in range(k):
        least = np.minimum(least, matrix[i, i])
        matrix[i, i, matrix[i, i] <= 0.0] = np.inf  # that solution is none
        share = matrix[i + 1 :, i] / matrix[i, i]
        matrix[i + 1 :, i + 1 :] -= share[:, None] * matrix[i, i + 1 :]
        right[i + 1 :] -= share * right[i]
    for i in reversed(range(k)):
        right[i] -= (matrix[i, i + 1 :] * right[i + 1 :]).sum(axis=0)
        right[i] /= matrix[i, i]
    return right, least


def fit(at: Doubles, gram: Doubles, along: Doubles, law: Law, passes: int) -> None:
    """Climb J_d of documents from ``at``, (n, K), in place; it never falls.

    Parameters
    ----------
    at : (n, K)
        At least `LEAST`.
    gram : (K, K)
    along : (n, K)
    law : Law
    passes : int
        Steps of a document at most, until it has converged.
    """
    for begin in range(0, len(at), BLOCK):
        mine = slice(begin, begin + BLOCK)
        at[mine] = _fitted(at[mine].T.copy(), gram, along[mine].T.copy(), law, passes).T


def _fitted(at: Doubles, gram: Doubles, along: Doubles, law: Law, passes: int) -> Doubles:
    """Give the parameters where the climb from ``at`` ends, (K, n)."""
    damping = np.full(at.shape[1], _DAMPING)
    going = np.arange(at.shape[1])
    for _ in range(passes):
        now, toward = at[:, going], along[:, going]
        here = expand(now, gram, toward, law)
        held = (now <= LEAST) & (here.gradient < 0.0)
        gradient = np.where(held, 0.0, here.gradient)
        matrix = here.curvature + damping[going] * here.metric
        matrix[held[:, None] | held] = 0.0
        own = np.arange(len(at))
        matrix[own, own] = np.where(held, 1.0, matrix[own, own])
        step, pivot = solve(matrix, gradient.copy())
        share = _LONGEST / np.maximum(np.abs(step).max(axis=0), _LONGEST)
        there = np.maximum(now * exp(share * step), LEAST)
        better = (pivot > 0.0) & (objective(there, gram, toward, law) >= here.value)
        at[:, going[better]] = there[:, better]
        promise = 0.5 * (1.0 + damping[going]) * (gradient * step).sum(axis=0)
        damping[going] *= np.where(better, 1.0 / _MORE, _MORE)
        going = going[(pivot <= 0.0) | (promise >= TOLERANCE)]
        if not len(going):
            break
    return at
