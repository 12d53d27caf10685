"""Log-perplexity of whole documents in a spherical admixture model.

The score is minus the mean over documents of ln p(v_d) (Liu, Zhu and Song 2016, section 5.3). p is
averaged over posterior samples of the topics, and over proportions drawn from the prior, which are
the same for all documents. The largest term of the average dominates. The estimate is therefore far
too high if the concentration is large, and scores can be compared only at equal settings. A second
estimate uses importance sampling, with proposals that are fitted to each document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import dot, exp, log, logaddexp, product
from pysgrld.core.draws import Draw
from pysgrld.errors import NumericalError
from pysgrld.evaluate import DensityScorer, Estimate, HeldOut, Score
from pysgrld.models.sam.chain import IDF
from pysgrld.models.sam.documents import FIRST_STEP
from pysgrld.models.sam.proportions import Products, Walk, directions, draw_products, start, walk
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.types import Array, Doubles, Int64s, Key

#: Score of a draw: minus the mean log density of a document, in nats.
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
            "mean over every 20th sample; more accurate, because proportions are fitted to each "
            "document",
        ),
    ),
)
#: Number of draws of proportions from the prior, as in the paper's code.
DRAWS = 200
#: Number of draws of a document's proportions for one score by importance sampling.
PROPOSALS = 50
#: Number of posterior samples between two scores by importance sampling.
SPARSE = 20
#: Random stream of the proportions that are drawn from the prior.
_PRIOR = 201
#: Random stream of the proportions that are drawn for importance sampling.
_PROPOSAL = 202


class LogPerplexity(DensityScorer):
    """Scorer that computes log densities of held-out documents, for topics that are unit vectors.

    Parameters
    ----------
    options : SphericalOptions
    held_out : HeldOut
        Held-out documents without observed parts.
    words : int
        Vocabulary size V. All words are needed, because the lengths of mixtures of topics depend on
        all words.
    threads : int
    """

    def __init__(
        self, options: SphericalOptions, held_out: HeldOut, words: int, threads: int
    ) -> None:
        whole = held_out.held_out
        super().__init__(held_out, np.arange(words, dtype=np.int32), len(whole.indices))
        self.options, self.threads = options, threads
        # Number of samples that importance sampling has scored.
        self.proposed = 0
        # Log of the sum of each document's densities, over the samples that importance sampling has
        # scored.
        self._better: Doubles = np.zeros(len(whole))
        self._shares: Doubles | None = None
        self._idf: Doubles | None = None
        self._work = core.Workspace()

    def logs(self, key: Key, parts: Draw) -> Doubles:
        """Estimate the log of each document's density, integrated over the prior of proportions."""
        k = self.options.topics
        products = self._products(parts)
        theta = np.zeros((DRAWS, padded_width(k)))
        shape = np.full((DRAWS, k), self.options.alpha)
        theta[:, :k] = dirichlets(shape, Key(key.seed, 0, 0), _PRIOR, self.threads)
        cosines = core.sphere_cosines(
            **products._asdict(),
            topics=k,
            theta=theta,
            kappa=self.options.kappa,
            work=self._work,
            threads=self.threads,
        )
        return self._with_normaliser(cosines)

    def importance(self, key: Key, parts: Draw) -> Doubles:
        """Estimate each document's log density by importance sampling of topic proportions.

        The proposal is a Dirichlet distribution with the mean and the total variance of samples from the
        posterior of the document's proportions.
        """
        k, alpha, kappa = self.options.topics, self.options.alpha, self.options.kappa
        products, ids = self._products(parts), self.held_out.doc_ids
        samples = walk(
            key,
            products,
            Walk(k, kappa, alpha, "root", 60, 20),
            FIRST_STEP / math.sqrt(kappa),
            ids,
            start(products, k),
            core.Purpose.evaluation,
            self._work,
            self.threads,
        ).samples
        theta: Doubles = samples[:, :, :k].astype(np.float64)
        self._shares = theta.mean(axis=(0, 1))
        mean = np.maximum(theta.mean(axis=1), 1e-6)
        mean /= mean.sum(axis=1, keepdims=True)
        spread = np.maximum(theta.var(axis=1).sum(axis=1), 1e-9)
        total = np.clip((mean * (1.0 - mean)).sum(axis=1) / spread - 1.0, k, 1e7)
        shape = total[:, None] * mean
        shapes = np.repeat(shape, PROPOSALS, axis=0)
        drawn = dirichlets(shapes, key, _PROPOSAL, self.threads).reshape(len(ids), PROPOSALS, k)
        gram, along, flat = products.gram[:k, :k], products.along[:, None, :k], drawn.reshape(-1, k)
        squares = (product(flat, gram) * flat).sum(axis=1)
        lengths = np.sqrt(np.maximum(squares.reshape(drawn.shape[:2]), 1e-24))
        cosines = (drawn * along).sum(axis=2) / lengths
        logs = log(drawn)
        log_prior = _log_beta(np.full((1, k), alpha)) + (alpha - 1.0) * logs.sum(axis=2)
        log_proposal = _log_beta(shape)[:, None] + (logs * (shape[:, None] - 1.0)).sum(axis=2)
        weights = kappa * cosines + log_prior - log_proposal
        most = weights.max(axis=1)
        return self._with_normaliser(most + log(exp(weights - most[:, None]).mean(axis=1)))

    def _products(self, parts: Draw) -> Products:
        self._idf = parts[IDF].astype(np.float64)
        vectors = directions(self.held_out.held_out, self._idf)
        return draw_products(parts, vectors, self.options.topics, self._work, self.threads)

    def _with_normaliser(self, logs: Doubles) -> Doubles:
        log_densities: Doubles = core.log_normaliser(len(self.words), self.options.kappa) + logs
        if not np.isfinite(log_densities).all():
            raise NumericalError(
                "the densities of the held-out documents are not finite; use a smaller step size"
            )
        return log_densities

    def update(self, key: Key, parts: Draw) -> float:
        """Add a posterior sample to the documents' averaged densities, and return their score."""
        averaged = super().update(key, parts)
        if (self.samples - 1) % SPARSE == 0:
            log_densities = self.importance(key, parts)
            self._better = (
                logaddexp(self._better, log_densities) if self.proposed else log_densities
            )
            self.proposed += 1
        return averaged

    def unigram(self, counts: Int64s) -> Estimate:
        """Return the score of a model whose only topic is the training words' weighted frequencies.

        The score is NaN before the first draw, which has the weights of words.
        """
        whole, v = self.held_out.held_out, len(counts)
        if self._idf is None:
            return self.score(np.full(len(whole), math.nan))
        vectors, mean = directions(whole, self._idf), counts * self._idf
        mean /= max(1e-300, math.sqrt(dot(mean, mean)))
        holders = np.repeat(np.arange(len(whole)), np.diff(whole.indptr))
        cosines = np.bincount(holders, vectors.values * mean[vectors.indices], len(whole))
        kappa = self.options.kappa
        return self.score(core.log_normaliser(v, kappa) + kappa * cosines.astype(np.float64))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Return one draw's mean log density per document, by importance sampling."""
        return float(self.importance(key, parts).mean())

    def shares(self, layer: int) -> Doubles | None:
        """Return each topic's mean proportion over documents in the last draw, (K,)."""
        del layer  # `layer` is unused, because the model has only one layer.
        return self._shares

    def metrics(self) -> dict[str, float]:
        """Return the importance-sampling score, averaged over every 20th posterior sample."""
        if not self.proposed:
            return {}
        better = float(self.score(self._better - math.log(self.proposed)))
        return {"log_perplexity_importance": better}

    def arrays(self) -> dict[str, Array]:
        """Return the averages of the documents' densities as arrays, for a checkpoint."""
        counts = np.array([self.samples, self.proposed])
        return {"total": self._total, "better": self._better, "samples": counts}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the averages of the documents' densities from `arrays`.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        super().restore(arrays)
        self.proposed = int(arrays["samples"][1])


def dirichlets(shape: Doubles, key: Key, stream: int, threads: int) -> Doubles:
    """Draw a Dirichlet variate for each row of ``shape``; rows sum to 1.

    Parameters
    ----------
    shape : (n, K) float64
        Dirichlet parameters of each variate, above 0.
    key : Key
    stream : int
        Separates these random numbers from other random numbers of the key.
    threads : int
    """
    logs = np.zeros_like(shape)
    core.simplex_scir_log(
        log_g=logs, shape=shape, h=math.inf, **key._asdict(), stream=stream, threads=threads
    )
    gammas = exp(logs - logs.max(axis=1, keepdims=True))
    theta: Doubles = np.maximum(gammas / gammas.sum(axis=1, keepdims=True), 1e-300)
    return theta


def _log_beta(shape: Doubles) -> Doubles:
    """Return the log of the Dirichlet density's normalising constant for each row of ``shape``."""
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    log_beta: Doubles = lgamma(shape.sum(axis=-1)) - lgamma(shape).sum(axis=-1)
    return log_beta
