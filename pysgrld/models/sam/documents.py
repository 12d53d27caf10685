"""Documents of a spherical admixture model in training, and the potential that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.chain.ranks.alone import ALONE
from pysgrld.chain.ranks.protocol import Communicator
from pysgrld.core import core, padded
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.models.sam.directions import directions
from pysgrld.models.sam.potential import Asked, Data, Prior, noisy_slope_of, products_of, slope_of
from pysgrld.models.sam.proportions import Walk, start, walk
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.samplers.state import EnergyGradient, Potential
from pysgrld.types import Array, Block, Documents, Doubles, Floats, Key, Minibatch

#: Share of trajectories of proportions that their step is adapted to accept, and by how much at a time.
ACCEPTED, RATE = 0.8, 0.05
#: First step of proportions, in units of their posterior's scale 1 / sqrt(kappa).
FIRST_STEP = 0.2


def blocks(options: SphericalOptions, v: int, centre: Doubles) -> tuple[Block, ...]:
    """Give the one block of the model: topics as directions."""
    return (
        Block(
            name="phi",
            geometry="sphere",
            shape=(v, options.topics),
            prior=options.sigma,
            stream=0,
            mass=0.0,
            hyper=centre,
            settings=options.settings,
        ),
    )


def law_of(options: SphericalOptions) -> Walk:
    """Give the law of proportions in training."""
    return Walk(
        options.topics,
        options.kappa,
        options.alpha,
        options.theta_parametrisation,
        options.sweeps,
        options.kept_sweeps,
    )


class SphericalDocuments:
    """Documents as directions, whose proportions are sampled given topics.

    Parameters
    ----------
    options : SphericalOptions
    idf, centre : (V,) float64
        Weights of words, and the mean direction of the training documents.
    threads : int

    Attributes
    ----------
    length : (1,) float64
        Step of proportions: adapted in the burn-in, then frozen.
    moved : (2,) float64
        Share of trajectories accepted and squared jump of proportions, as of the last visit.
    """

    def __init__(
        self, options: SphericalOptions, idf: Doubles, centre: Doubles, threads: int
    ) -> None:
        self.options, self.idf, self.threads = options, idf, threads
        self.prior = Prior(centre, options.kappa0, options.sigma, options.topics)
        self.law = law_of(options)
        self.length = np.array([options.theta_step or FIRST_STEP / math.sqrt(options.kappa)])
        self.moved = np.zeros(2)
        self.work = core.Workspace()
        self._theta: Doubles | None = None

    def keep(self, documents: Documents) -> None:
        """Keep the proportions of these documents between visits; -1 where there are none yet."""
        self._theta = np.full((len(documents), padded(self.law.topics)), -1.0)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Potential]:
        """Give the potential of the minibatch's documents; they are sampled where it is asked."""
        del key, draw, comm  # it is asked at points that the topics move to
        return {"phi": SphericalPotential(self, batch)}

    def theta(self, found: Doubles) -> Doubles:
        """Give the proportions that documents go on from: kept ones, else where they start."""
        if self._theta is None:
            return found
        if self._theta[0, 0] < 0.0:
            self._theta[:] = found
        return self._theta

    def adapt(self, key: Key, acceptance: float, jump: float) -> None:
        """Take note of how proportions moved, and adapt their step while the burn-in lasts."""
        self.moved[:] = acceptance, jump
        if self.options.theta_step is None and key.step < self.options.burn_in:
            self.length *= math.exp(RATE * (acceptance - ACCEPTED))

    def figures(self) -> dict[str, float]:
        """Say how proportions moved in the last visit."""
        acceptance, jump = self.moved.tolist()
        return {"theta_acceptance": acceptance, "theta_jump": jump}

    def arrays(self) -> dict[str, Array]:
        """Give the step of proportions, the weights of words, and proportions where they are kept."""
        own: dict[str, Array] = {
            "theta.length": self.length,
            "theta.moved": self.moved,
            "idf": self.idf,
            "centre": self.prior.centre,
        }
        return own if self._theta is None else own | {"theta": self._theta}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy them out of a checkpoint.

        Raises
        ------
        CheckpointError
            If it lacks them.
        """
        put_back(self.arrays(), arrays)


class SphericalPotential:
    """The potential of a minibatch's documents, averaged over samples of their proportions.

    Parameters
    ----------
    documents : SphericalDocuments
    batch : Minibatch
    """

    def __init__(self, documents: SphericalDocuments, batch: Minibatch) -> None:
        self.documents, self.batch = documents, batch
        some = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.directions = directions(some, documents.idf)
        self.samples: Floats = np.zeros((0, 0, 0), np.float32)

    def drawn(self, key: Key, part: int, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Sample the proportions given x, and return energy and gradient there."""
        mine = self.documents
        asked = self._asked(x)
        found = walk(
            key,
            asked.products,
            mine.law,
            float(mine.length[0]),
            self.batch.doc_ids + (part << 40),
            mine.theta(start(asked.products, mine.law.topics)),
            core.Purpose.documents,
            mine.work,
            mine.threads,
        )
        mine.adapt(key, found.acceptance, found.jump)
        self.samples = found.samples
        return self._slope(asked, noise=noise)

    def at(self, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Return energy and gradient at x, the proportions as they were sampled last."""
        return self._slope(self._asked(x), noise=noise)

    def _asked(self, x: Doubles) -> Asked:
        mine = self.documents
        products, resultant = products_of(x, self.directions, mine.prior, mine.work, mine.threads)
        return Asked(x, mine.prior, products, resultant, mine.work, mine.threads)

    def _slope(self, asked: Asked, *, noise: bool) -> EnergyGradient:
        kappa = self.documents.options.kappa
        data = Data(self.directions, self.samples, kappa, self.batch.scale)
        return (noisy_slope_of if noise else slope_of)(asked, data)
