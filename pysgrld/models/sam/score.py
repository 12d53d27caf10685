"""Log-perplexity of whole documents under directions (Liu, Zhu and Song 2016, section 5.3).

Minus the mean over documents of ln p(v_d), p averaged over posterior samples of the topics and over
proportions drawn from the prior, the same for all documents. It is the largest of its terms that counts:
the estimate is far too high where the concentration is large, and can be compared at equal settings only.
Beside it, an estimate by importance sampling, whose proposals are fitted to each document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core import core, padded
from pysgrld.core.arithmetic import dot, exp, log, logaddexp, product
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.errors import NumericalError
from pysgrld.evaluate import Estimate, HeldOut, Score
from pysgrld.models.sam.chain import IDF
from pysgrld.models.sam.directions import Directions, directions
from pysgrld.models.sam.documents import FIRST_STEP
from pysgrld.models.sam.proportions import Products, Walk, start, walk
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.types import Array, Doubles, Int64s, Key

#: Minus the mean log density of a document, in nats.
LOG_PERPLEXITY = Score(
    "log_perplexity",
    "log-perplexity",
    1,
    whole=True,
    unit="in nats for each document",
    further=(
        (
            "log_perplexity_importance",
            "by importance sampling",
            "every 20th sample; nearer to the truth, as proportions are fitted to each document",
        ),
    ),
)
#: Proportions drawn from the prior, as many as the paper's code has.
DRAWS = 200
#: Proportions drawn for each document by importance sampling, and samples between such estimates.
PROPOSALS, SPARSE = 50, 20
#: Streams of the random numbers of both.
_PRIOR, _PROPOSAL = 201, 202


class LogPerplexity:
    """Scores directions on whole documents; keeps the running posterior average. A `Scorer`.

    Parameters
    ----------
    options : SphericalOptions
    held_out : HeldOut
        With nothing observed.
    words : int
        Vocabulary size V.
    threads : int

    Attributes
    ----------
    words : (V,) int32
        All words: the lengths of mixtures of topics depend on each.
    samples : int
        Posterior samples in the running average.
    """

    prefix = "density."

    def __init__(
        self, options: SphericalOptions, held_out: HeldOut, words: int, threads: int
    ) -> None:
        self.options, self.held_out, self.threads = options, held_out, threads
        self.words = np.arange(words, dtype=np.int32)
        n = len(held_out.held_out)
        self.samples, self.proposed = 0, 0
        self._shares: Doubles | None = None
        self._idf: Doubles | None = None
        self._total: Doubles = np.zeros(n)  # log of the sum of densities
        self._better: Doubles = np.zeros(n)  # ... of those by importance sampling
        self._work = core.Workspace()

    @property
    def tokens(self) -> int:
        """Tokens that are scored."""
        return self.held_out.held_out.tokens

    def update(self, key: Key, parts: Draw) -> float:
        """Add one posterior sample to the running average, and give the averaged score."""
        found = self._of(key, parts)
        self._total = _added(self._total, found, self.samples)
        if self.samples % SPARSE == 0:
            found = self._importance(key, parts)
            self._better = _added(self._better, found, self.proposed)
            self.proposed += 1
        self.samples += 1
        return self.average()

    def average(self) -> Estimate:
        """Give the averaged score so far; NaN before the first sample."""
        if not self.samples:
            return Estimate(math.nan, np.full(len(self._total), math.nan))
        return self.score(self.log_averages())

    def log_averages(self) -> Doubles:
        """Give the log of the averaged density of every document."""
        return self._total - math.log(self.samples)

    def score(self, logs: Doubles) -> Estimate:
        """Give minus the mean of log densities of the documents."""
        return Estimate.mean(-float(logs.mean()), -logs)

    def point(self, key: Key, parts: Draw) -> Estimate:
        """Give the score of one draw; the running average is not touched."""
        return self.score(self._of(key, parts))

    def unigram(self, counts: Int64s) -> Estimate:
        """Score the direction of the word frequencies of the training documents, weighed alike.

        NaN before a draw has brought the weights.
        """
        whole, v = self.held_out.held_out, len(counts)
        if self._idf is None:
            return self.score(np.full(len(whole), math.nan))
        of, mean = directions(whole, self._idf), counts * self._idf
        mean /= max(1e-300, math.sqrt(dot(mean, mean)))
        holders = np.repeat(np.arange(len(whole)), np.diff(whole.indptr))
        cosines = np.bincount(holders, of.values * mean[of.indices], len(whole))
        kappa = self.options.kappa
        return self.score(core.log_normaliser(v, kappa) + kappa * cosines.astype(np.float64))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Give the mean log density of a document under one draw, by importance sampling."""
        return float(self._importance(key, parts).mean())

    def shares(self, at: int) -> Doubles | None:
        """Give the mean proportions of the documents in the last draw, (K,)."""
        del at  # there is one layer
        return self._shares

    def share_gained(self, before: float, now: float) -> float:
        """Give the share of the perplexity per distinct word that was gained, of scores per document."""
        whole = self.held_out.held_out
        return -math.expm1((now - before) * len(whole) / len(whole.indices))

    def figures(self) -> dict[str, float]:
        """Give the score by importance sampling, from every 20th sample."""
        if not self.proposed:
            return {}
        better = float(self.score(self._better - math.log(self.proposed)))
        return {"log_perplexity_importance": better}

    def arrays(self) -> dict[str, Array]:
        """Give the arrays from which the averages go on exactly."""
        return {
            "total": self._total.copy(),
            "better": self._better.copy(),
            "samples": np.array([self.samples, self.proposed]),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not those of these documents.
        """
        own = self.arrays()
        put_back(own, arrays, self.prefix)
        self._total, self._better = own["total"], own["better"]
        self.samples, self.proposed = own["samples"].tolist()

    def _products(self, parts: Draw) -> tuple[Products, Directions]:
        self._idf = parts[IDF].astype(np.float64)
        of = directions(self.held_out.held_out, self._idf)
        return products(parts, of, self.options.topics, self._work, self.threads), of

    def _of(self, key: Key, parts: Draw) -> Doubles:
        """Give the log density of every document, averaged over proportions from the prior."""
        options, v = self.options, len(self.words)
        found, _ = self._products(parts)
        theta = np.zeros((DRAWS, padded(options.topics)))
        shape = np.full((DRAWS, options.topics), options.alpha)
        theta[:, : options.topics] = dirichlets(shape, key.seed, 0, 0, _PRIOR, self.threads)
        logs = core.sphere_cosines(
            gram=found.gram,
            along=found.along,
            topics=options.topics,
            theta=theta,
            kappa=options.kappa,
            work=self._work,
            threads=self.threads,
        )
        return _finite(core.log_normaliser(v, options.kappa) + logs)

    def _importance(self, key: Key, parts: Draw) -> Doubles:
        """Give the log density of every document by importance sampling of its proportions.

        The proposal is a Dirichlet law with the mean and the total variance of samples from the
        posterior of the document's proportions.
        """
        options, v = self.options, len(self.words)
        k, alpha, kappa = options.topics, options.alpha, options.kappa
        found, _ = self._products(parts)
        law = Walk(k, kappa, alpha, "root", 60, 20)
        ids = self.held_out.doc_ids
        theta = start(found, k)
        samples = (
            walk(
                key,
                found,
                law,
                FIRST_STEP / math.sqrt(kappa),
                ids,
                theta,
                core.Purpose.evaluation,
                self._work,
                self.threads,
            )
            .samples[:, :, :k]
            .astype(np.float64)
        )
        self._shares = samples.mean(axis=(0, 1))
        mean = np.maximum(samples.mean(axis=1), 1e-6)
        mean /= mean.sum(axis=1, keepdims=True)
        spread = np.maximum(samples.var(axis=1).sum(axis=1), 1e-9)
        total = np.clip((mean * (1.0 - mean)).sum(axis=1) / spread - 1.0, k, 1e7)
        shape = total[:, None] * mean
        drawn = dirichlets(
            np.repeat(shape, PROPOSALS, axis=0),
            key.seed,
            key.chain,
            key.step,
            _PROPOSAL,
            self.threads,
        ).reshape(len(ids), PROPOSALS, k)
        gram, along, flat = found.gram[:k, :k], found.along[:, None, :k], drawn.reshape(-1, k)
        squares = (product(flat, gram) * flat).sum(axis=1)
        lengths = np.sqrt(np.maximum(squares.reshape(drawn.shape[:2]), 1e-24))
        cosines = (drawn * along).sum(axis=2) / lengths
        logs = log(drawn)
        log_prior = _log_beta(np.full((1, k), alpha)) + (alpha - 1.0) * logs.sum(axis=2)
        log_proposal = _log_beta(shape)[:, None] + (logs * (shape[:, None] - 1.0)).sum(axis=2)
        weights = kappa * cosines + log_prior - log_proposal
        most = weights.max(axis=1)
        density = most + log(exp(weights - most[:, None]).mean(axis=1))
        return _finite(core.log_normaliser(v, kappa) + density)


def products(
    parts: Draw, of: Directions, topics: int, work: core.Workspace, threads: int
) -> Products:
    """Give the inner products of a draw's topics with each other and with documents."""
    v, kp = parts["phi"].shape
    x = core.zeros(v, kp, "float64")
    x[:] = parts["phi"]
    gram, _ = core.sphere_moments(x=x, topics=topics, centre=None, work=work, threads=threads)
    along = core.sphere_along(
        x=x, topics=topics, indptr=of.indptr, indices=of.indices, values=of.values, threads=threads
    )
    return Products(gram, along)


def dirichlets(
    shape: Doubles, seed: int, chain: int, step: int, stream: int, threads: int
) -> Doubles:
    """Draw a Dirichlet variate for each row of ``shape``, of the same shape; rows sum to 1."""
    logs = np.zeros_like(shape)
    core.simplex_scir_log(
        log_g=logs,
        shape=shape,
        h=math.inf,
        seed=seed,
        chain=chain,
        step=step,
        stream=stream,
        threads=threads,
    )
    found = exp(logs - logs.max(axis=1, keepdims=True))
    theta: Doubles = np.maximum(found / found.sum(axis=1, keepdims=True), 1e-300)
    return theta


def _log_beta(shape: Doubles) -> Doubles:
    """Give the logarithm of the normaliser of Dirichlet densities, one for each row."""
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    found: Doubles = lgamma(shape.sum(axis=-1)) - lgamma(shape).sum(axis=-1)
    return found


def _added(total: Doubles, found: Doubles, samples: int) -> Doubles:
    """Add densities to the sum of so many samples, all as logarithms."""
    summed: Doubles = logaddexp(total, found) if samples else found
    return summed


def _finite(logs: Doubles) -> Doubles:
    if not np.isfinite(logs).all():
        raise NumericalError("the densities of the held-out documents are no numbers")
    return logs
