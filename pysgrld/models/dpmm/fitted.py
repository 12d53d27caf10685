"""Reading of a trained run of a Dirichlet-process mixture.

Components are the components of the newest checkpoint. Components of different samples do not
correspond to each other, so a run has no means of components over samples, and no intervals. Scores
are averaged over samples, because they do not depend on the labels of components. Chains are
compared by the sizes of components, and by the pairs of documents that share a component;
docs/diagnose.md defines these quantities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from pysgrld.core import core
from pysgrld.core.arithmetic import dot, log
from pysgrld.core.draws import Draw
from pysgrld.core.restore import name_checkpoint_in_errors
from pysgrld.evaluate import DocumentDraw, HeldOut, Scorer
from pysgrld.models.dpmm.chain import count_components, mixture_settings
from pysgrld.models.dpmm.likelihood import responsibilities
from pysgrld.models.dpmm.score import LOG_PREDICTIVE, MixtureScorer
from pysgrld.models.dpmm.slice_sampling import Mixture
from pysgrld.models.fitted import Fitted, Samples, SomeDocuments
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Int64s

#: Titles of quantities that do not depend on the labels of a draw's components.
TITLES = {
    "components": "components with documents",
    "components_of_ten": "components of ten documents or more",
    "effective": "effective components",
    "first": "largest weight",
    "second": "second weight",
    "third": "third weight",
    "together": "neighbouring documents in one component",
}
#: How often a document has the same component as the next document is estimated from at most this
#: number of held-out documents.
NEIGHBOURS = 2000


class MixtureFitted(Fitted):
    """A trained run of a mixture, opened for reading.

    Parameters
    ----------
    record : Record
    threads : int
    """

    kind, noun = "a mixture", "component"
    score = LOG_PREDICTIVE
    no_mean = "components differ between samples"
    titles: Mapping[str, str] = TITLES

    @cached_property
    def mixture(self) -> Mixture:
        """Markov chain of the mixture, restored from the latest checkpoint.

        Raises
        ------
        CheckpointError
            If the checkpoint is not a state of this run.
        """
        record = self.record
        options, documents = record.options, np.arange(record.documents)
        chain = Mixture(
            documents, record.words, mixture_settings(options), options.seed, options.chain
        )
        with name_checkpoint_in_errors(record.place):
            chain.restore(record.step, record.arrays)
        return chain

    # ---- draws

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """Number of components, up to the last one with documents, as a tuple of one number."""
        return (self.mixture.components,)

    @cached_property
    def current(self) -> Draw:
        """The draw of the latest checkpoint."""
        return self.mixture.draw()

    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Return the required shapes of the matrices in a stored sample, with J components."""
        components = max(1, len(sample["phi"]))
        return {"phi": (components, self.record.words), "w": (1, components + 1)}

    def sample_to_draw(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Convert a stored sample to a draw; restrict the components to ``words`` if given."""
        phi = sample["phi"] if words is None else sample["phi"][:, words]
        return {"phi": phi.T, "w": sample["w"][0]}

    def topics_of_sample(self, sample: Mapping[str, Array], layer: int) -> Floats:
        """Return the components of a stored sample as distributions over words, (J, V)."""
        del layer  # `layer` is unused, because the model has only one layer.
        return sample["phi"]

    def topics_over_words(self, draw: Draw, layer: int) -> Floats:
        """Return the components as distributions over words, (V, J)."""
        del layer  # `layer` is unused, because the model has only one layer.
        return draw["phi"]

    # ---- documents

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, layer: int) -> Doubles:
        """Return the probability that a document is in each component, (n, J).

        For an empty document, it is the component's weight.
        """
        # The arguments are unused, because nothing is random and the model has one layer.
        del ids, layer
        # The log of 0 is minus infinity. If all densities of a document are 0 in single precision,
        # its probabilities are the weights of the components.
        log_phi, log_w = log(draw["phi"]), log(draw["w"][:-1].astype(np.float64))
        return responsibilities(documents, log_phi, log_w)

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, layer: int
    ) -> Iterator[DocumentDraw]:
        """Draw the component of each document, as proportions that are 1 or 0.

        All draws use the components of the newest checkpoint, because components of different
        samples do not correspond to each other. The iteration of a sample only keys the random
        numbers of its draw.
        """
        options, order = self.record.options, np.zeros(len(ids), np.int64)
        ends = np.cumsum(self.proportions(self.current, documents, ids, layer), axis=1)
        everyone = np.arange(len(ids))
        for step, _ in samples:
            u = core.uniforms(ids, order, options.seed, options.chain, core.Purpose.infer, step)
            theta = np.zeros(ends.shape, np.float32)
            # Take the first component with a cumulative weight above u times the total. The total
            # is the last cumulative weight, so that both are rounded in the same way.
            theta[everyone, np.argmax(ends > u[:, None] * ends[:, -1:], axis=1)] = 1.0
            yield DocumentDraw(theta, theta * documents.lengths[:, None].astype(np.float32))

    def token_topics(self, documents: Documents, ids: Int64s, layer: int) -> Int32s:
        """Draw each token's component, (N,); all tokens of a document have the same component."""
        drawn = next(self.document_draws([(self.record.step, {})], documents, ids, layer))
        return np.repeat(drawn.theta.argmax(axis=1), documents.lengths).astype(np.int32)

    def weights(self, documents: SomeDocuments, layer: int) -> Doubles | None:
        """Return the weight of each component, its expected share of future documents, (J,)."""
        del documents, layer
        w: Doubles = self.current["w"][:-1].astype(np.float64)
        return w

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Return a scorer of this run's draws on held-out documents."""
        return MixtureScorer(held_out, self.record.options, self.record.words)

    # ---- components

    def shown(self, layer: int) -> Int64s:
        """Return the numbers of the components with documents, in ascending order."""
        del layer  # Unused, because the model has one layer.
        return np.flatnonzero(self.mixture.sizes)

    def counts(self) -> Int64s | None:
        """Count the training documents in each component."""
        return self.mixture.sizes

    def numbers(self) -> dict[str, int]:
        """Count the components with at least one document, and the components with at least ten."""
        return count_components(self.mixture.sizes)

    def extra_arrays(self) -> dict[str, Doubles]:
        """Return the weights of components, which an export stores next to the components."""
        return {"weights": self.current["w"][:-1].astype(np.float64)}

    def quantities(self, draw: Draw, held_out: HeldOut | None) -> dict[str, float]:
        """Return scalar quantities that do not depend on component labels, for convergence checks.

        Without held-out documents, quantities that depend on documents are omitted.
        """
        w = draw["w"][:-1].astype(np.float64)
        numbers = count_components(w * self.record.documents)
        measured = {name: float(number) for name, number in numbers.items()}
        # The effective number of components is exp(entropy of their weights). If all weights are
        # equal, it is the number of components.
        p = w[w > 0] / w.sum()
        measured["effective"] = math.exp(-dot(p, log(p)))
        largest = np.sort(np.append(w, np.zeros(3)))[::-1][:3]
        measured |= zip(("first", "second", "third"), largest.tolist(), strict=True)
        if held_out is not None:
            ids = np.arange(min(NEIGHBOURS, len(held_out.held_out)))
            z = self.proportions(draw, held_out.held_out.take(ids), ids, 0)
            measured["together"] = float((z[:-1] * z[1:]).sum(axis=1).mean())
        return measured
