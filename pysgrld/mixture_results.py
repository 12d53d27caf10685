"""A run of a mixture, opened for reading: its components are those of the newest checkpoint.

Components of different samples are not the same ones, so there are no means of them over samples, and
no intervals. Scores average over samples all the same: they do not ask which component is which.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.evaluate import HeldOut, whole
from pysgrld.findings import Topic, Topics
from pysgrld.mixture_chain import settings_of
from pysgrld.models.dpmm import Mixture
from pysgrld.models.multinomials import log_likelihoods, logsumexp
from pysgrld.results import Results
from pysgrld.types import Array, Documents, Doubles, Int64s, Parts


class MixtureResults(Results):
    """What a run of a Dirichlet-process mixture has found."""

    no_mean = "components differ from sample to sample"

    @cached_property
    def mixture(self) -> Mixture:
        """The chain as it stands at the newest checkpoint.

        Raises
        ------
        CheckpointError
            If that is no state of this run.
        """
        documents = np.arange(self.run.config["corpus"]["training_documents"])
        settings = settings_of(self.options)
        chain = Mixture(documents, len(self.vocabulary), settings, self.seed, self.chain)
        try:
            chain.restore(self.checkpoint.step, self.checkpoint.arrays)
        except CheckpointError as error:
            raise CheckpointError(f"{self.checkpoint.path}: {error}") from None
        return chain

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """Components up to the last one that has documents."""
        return (self.mixture.components,)

    def current(self) -> Topics:
        """The components as they stand at the newest checkpoint."""
        return Topics(self.mixture.parts(), 0)

    @cached_property
    def mean(self) -> Topics:
        """The same: there is no mean of components."""
        return self.current()

    def rate(self) -> float:
        """Rate of a component's process."""
        return 1.0

    def held_out(self) -> HeldOut:
        """The run's own held-out documents, whole.

        Raises
        ------
        UsageError
            If it has none.
        """
        folder = self.path / "holdout" / "held-out"
        if not folder.is_dir():
            raise UsageError(
                f"{self.path}: this run holds no documents out; give some with --corpus FILE"
            )
        stored = Corpus.open(folder)
        found = whole(stored.take(np.arange(stored.documents)), np.arange(stored.documents))
        return found._replace(dropped=self.run.config["corpus"].get("held_out_dropped", 0))

    def divide(self, documents: Documents, observed: float, seed: int) -> HeldOut:
        """Make documents held out, whole."""
        del observed, seed
        return whole(documents, np.arange(len(documents)))

    def parts_of(self, matrices: Mapping[str, Array]) -> Parts:
        """What documents read of a kept sample."""
        return {"phi": matrices["phi"].T, "w": matrices["w"][0]}

    def proportions(
        self, parts: Parts, documents: Documents, ids: Int64s, layer: int = 0
    ) -> Doubles:
        """Probability of each component of documents, (n, J); an empty one has the weights."""
        del ids, layer  # nothing is random, and there is one layer
        with np.errstate(divide="ignore"):
            log_phi, log_w = np.log(parts["phi"]), np.log(parts["w"][:-1].astype(np.float64))
        logs = np.tile(log_w, (len(documents), 1))
        there = np.flatnonzero(documents.lengths > 0)
        logs[there] += log_likelihoods(documents.take(there), log_phi)
        # words that no component has at single precision say nothing
        logs[~np.isfinite(logs.max(axis=1))] = log_w
        found: Doubles = np.exp(logs - logsumexp(logs)[:, None])
        return found

    def weights(self, layer: int = 0) -> Doubles:
        """Share of the documents to come that each component has, (J,), by its stick."""
        del layer
        w: Doubles = self.mean.parts["w"][:-1].astype(np.float64)
        return w

    def intervals(self, top: Int64s, layer: int = 0) -> tuple[Doubles, Doubles] | None:
        """None: no component can be followed through the samples."""
        del top, layer
        return None

    def beside_topics(self) -> dict[str, Doubles]:
        """The weights."""
        return {"weights": self.weights()}

    def shown(self, layer: int = 0) -> Int64s:
        """Components that have documents, ascending."""
        del layer
        return np.unique(self.mixture.z).astype(np.int64)

    def topics(
        self, n: int, *, intervals: bool, coherences: bool = True, layer: int = 0
    ) -> list[Topic]:
        """The components that have documents, the one of greatest weight first."""
        documents = np.bincount(self.mixture.z)
        found = super().topics(n, intervals=intervals, coherences=coherences, layer=layer)
        return [topic._replace(documents=int(documents[topic.id])) for topic in found]
