"""Reading of runs with dynamic topics: topics in each time slice, and their means over slices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw
from pysgrld.models.admixture import AdmixtureFitted
from pysgrld.models.dtm.blocks import blocks
from pysgrld.models.dtm.resolved import DynamicOptions
from pysgrld.models.fitted import Record
from pysgrld.models.samples import STATE
from pysgrld.models.token_reader import gibbs_readers
from pysgrld.types import Array, Condition, Doubles, Floats, Invariant


class DynamicFitted(AdmixtureFitted):
    """A trained run of dynamic topics, opened for reading.

    The distribution of a topic over words is the mean over slices, weighted by the slices' shares
    of training tokens.

    Parameters
    ----------
    record : Record
    threads : int
    """

    sample_invariants: Mapping[str, Invariant] = {"phi": Invariant(Condition.NOT_NEGATIVE)}
    state_invariants: Mapping[str, Invariant] = (
        STATE
        | dict.fromkeys(("*.b", "*.log_sums"), Invariant(Condition.LOGARITHM))
        | {"*.curvature": Invariant(Condition.NOT_NEGATIVE)}
    )
    remedy = "--exact-sweeps 1000"

    def __init__(self, record: Record, threads: int) -> None:
        options: DynamicOptions = record.options
        parts = blocks(options, record.words, record.tokens)
        readers = gibbs_readers(options.topics, options.alpha)
        super().__init__(record, threads, parts, readers)

    @property
    def slices(self) -> tuple[str, ...]:
        """Names of the time slices, earliest first."""
        names: tuple[str, ...] = self.record.options.found_slices.names
        return names

    @property
    def slice_shares(self) -> Doubles:
        """Share of the training tokens that belong to each time slice, (T,)."""
        tokens = np.array(self.record.options.found_slices.tokens, np.float64)
        if not tokens.sum():
            tokens = np.ones(len(self.slices))
        shares: Doubles = tokens / tokens.sum()
        return shares

    def topics_by_slice(self, draw: Draw) -> Floats:
        """Return a view of the topics over words in each time slice, (T, K, V)."""
        # The rows of phi are sorted by word, then by time slice.
        wide = draw["phi"].reshape(-1, len(self.slices), draw["phi"].shape[1])
        return wide.transpose(1, 2, 0)[:, : self.layers[0]]

    def slice_variances(self) -> Doubles:
        """Return the prior variance of a word's log weight in each time slice, (T,)."""
        options: DynamicOptions = self.record.options
        variances: Doubles = options.spread**2 + options.drift**2 * np.arange(
            len(self.slices), dtype=np.float64
        )
        return variances

    def topics_of_sample(self, sample: Mapping[str, Array], layer: int) -> Floats:
        """Return the topics over words in a stored sample, (K, V), averaged over slices."""
        del layer  # `layer` is unused, because the model has only one layer.
        phi, shares = sample["phi"], self.slice_shares
        mean = np.zeros((len(phi), phi.shape[1] // len(shares)))
        for t, share in enumerate(shares.tolist()):
            mean += share * phi[:, t :: len(shares)]
        return mean.astype(np.float32)

    def topics_over_words(self, draw: Draw, layer: int) -> Floats:
        """Return the topics over words, (V, Kp) float32, averaged over slices."""
        del layer  # `layer` is unused, because the model has only one layer.
        phi, shares = draw["phi"], self.slice_shares
        mean = np.zeros((len(phi) // len(shares), phi.shape[1]))
        for t, share in enumerate(shares.tolist()):
            mean += share * phi[t :: len(shares)]
        phi_of_words: Floats = core.zeros(len(mean), phi.shape[1], "float32")
        phi_of_words[:] = mean
        return phi_of_words

    def word_prior(self) -> float:
        """Return 0, because topics over words have no Dirichlet prior."""
        return 0.0
