"""A sampler in NumPy with its own option: rows move part of the way to the conditional mean.

Its module and its row are all that it takes: help, refusals, ``config.json``, estimators and their
docstrings learn of the sampler and of its option from the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pysgrld.options.option import Option, Steps
from pysgrld.options.parse import real
from pysgrld.samplers.rows import Rows
from pysgrld.samplers.sampler import Sampler, SamplerFacts, SamplerSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Key

ROW = Sampler(
    "drift",
    "rows that go a share of the way to their conditional mean, with noise",
    "skeletons.drift",
    "Drift",
    settings="DriftSettings",
    options={
        "drift-noise": Option(
            real(-1.0, 10.0),
            "0.1",
            "standard deviation of the noise",
            "Sampling",
            metavar="A",
            default=0.1,
        )
    },
)


@dataclass(frozen=True)
class DriftSettings(SamplerSettings):
    """Settings of the sampler: the noise of a step."""

    drift_noise: float = 0.1


def default_step(facts: SamplerFacts, settings: DriftSettings) -> Steps:
    """Return a constant step."""
    del facts, settings
    return (0.1, 1.0, 0.0)


class Drift(Rows):
    """Rows that drift towards their conditional mean."""

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Set g to |(1 - h) g + h (eta + N) + noise sqrt(h g) z|."""
        k, rng = self.block.shape[1], np.random.default_rng([key.seed, key.chain, key.step])
        mean = np.full((len(self.g), k), self.block.prior)
        mean[statistics.rows] += statistics.counts[:, :k] * statistics.factor
        noise = self.block.settings.drift_noise * np.sqrt(h * self.g[:, :k])
        moved = (1.0 - h) * self.g[:, :k] + h * mean + noise * rng.normal(size=mean.shape)
        self.g[:, :k] = np.maximum(np.abs(moved), 1e-30)
        self.sums[:k] = self.g[:, :k].sum(axis=0, dtype=np.float64)
