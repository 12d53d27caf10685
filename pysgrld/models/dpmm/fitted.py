"""Reading and scoring of runs of a Dirichlet-process mixture.

Components are those of the newest checkpoint. Components of different samples are not the same ones, so
there are no means of them over samples, and no intervals. Scores average over samples all the same: they
do not ask which component is which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from pysgrld.core import core
from pysgrld.core.arithmetic import log
from pysgrld.core.draws import Draw
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import DocumentDraw, HeldOut, Scorer
from pysgrld.evaluate.matching import Likeness
from pysgrld.models.dpmm.chain import settings_of
from pysgrld.models.dpmm.likelihood import responsibilities
from pysgrld.models.dpmm.quantities import NEIGHBOURS, TITLES, numbers_of_components, quantities
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.dpmm.score import LOG_PREDICTIVE, MixtureScorer
from pysgrld.models.dpmm.slice_sampling import Mixture
from pysgrld.models.fitted import Fitted, Node, Record, Samples, SomeDocuments
from pysgrld.models.noise import noise_of, remedy_of
from pysgrld.types import QUIET, Array, Documents, Doubles, Floats, Int32s, Int64s


class MixtureFitted:
    """A trained run of a mixture, read. A `Fitted` of one layer.

    Parameters
    ----------
    record : Record
    threads : int
    """

    kind, noun = "a mixture", "component"
    score = LOG_PREDICTIVE
    no_mean: str | None = "components differ from sample to sample"
    likeness: Likeness | None = None
    titles: Mapping[str, str] = TITLES
    draws = True
    slow_tails = False
    signed = False
    depth = 1
    samples = 0
    mean: Draw | None = None

    def __init__(self, record: Record, threads: int) -> None:
        self.record, self.threads = record, threads

    @cached_property
    def mixture(self) -> Mixture:
        """The chain as it stands at the newest checkpoint.

        Raises
        ------
        CheckpointError
            If that is no state of this run.
        """
        record = self.record
        options, documents = record.options, np.arange(record.documents)
        chain = Mixture(documents, record.words, settings_of(options), options.seed, options.chain)
        try:
            chain.restore(record.step, record.arrays)
        except CheckpointError as error:
            raise CheckpointError(f"{record.place}: {error}") from None
        return chain

    @property
    def layers(self) -> tuple[int, ...]:
        """Components up to the last one that has documents."""
        return (self.mixture.components,)

    @cached_property
    def current(self) -> Draw:
        """The draw at the newest checkpoint."""
        return self.mixture.parts()

    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Give the shapes of the matrices of a kept sample: J components, and J + 1 weights."""
        components = max(1, len(sample["phi"]))
        return {"phi": (components, self.record.words), "w": (1, components + 1)}

    def draw_of(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Give the draw of a kept sample, of these words or of all where None."""
        phi = sample["phi"] if words is None else sample["phi"][:, words]
        return {"phi": phi.T, "w": sample["w"][0]}

    def rows_of(self, sample: Mapping[str, Array], at: int) -> Floats:
        """Give the components over the words in a kept sample, (J, V)."""
        del at  # there is one layer
        return sample["phi"]

    def over_words(self, draw: Draw, at: int) -> Floats:
        """Give the components over the words, (V, J)."""
        del at  # there is one layer
        return draw["phi"]

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        """Give the probability of each component of documents, (n, J); an empty one has the weights."""
        del ids, at  # nothing is random, and there is one layer
        # log 0 is minus infinity: what single precision lacks is left to the weights
        log_phi, log_w = log(draw["phi"]), log(draw["w"][:-1].astype(np.float64))
        return responsibilities(documents, log_phi, log_w)

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, at: int
    ) -> Iterator[DocumentDraw]:
        """Draw the component of each document: its proportions are 1 of one component, and 0 of others.

        All draws are of the components of the newest checkpoint, as those of different samples are not
        the same ones: a sample gives its draw no more than the key of its random numbers.
        """
        options, order = self.record.options, np.zeros(len(ids), np.int64)
        ends = np.cumsum(self.proportions(self.current, documents, ids, at), axis=1)
        everyone = np.arange(len(ids))
        for step, _ in samples:
            u = core.uniforms(ids, order, options.seed, options.chain, core.Purpose.infer, step)
            theta = np.zeros(ends.shape, np.float32)
            # the first component whose end is above u of the total, which has rounding of its own
            theta[everyone, np.argmax(ends > u[:, None] * ends[:, -1:], axis=1)] = 1.0
            yield DocumentDraw(theta, theta * documents.lengths[:, None].astype(np.float32))

    def token_topics(self, documents: Documents, ids: Int64s, at: int) -> Int32s:
        """Give every token the component that is drawn for its document."""
        drawn = next(self.document_draws([(self.record.step, {})], documents, ids, at))
        return np.repeat(drawn.theta.argmax(axis=1), documents.lengths).astype(np.int32)

    def document_prior(self, at: int) -> Doubles | None:
        """Give None: documents have one component, and no proportions."""
        del at
        return None

    def word_prior(self) -> float:
        """Give eta."""
        eta: float = self.record.options.lowest_eta
        return eta

    def learned(self) -> dict[str, Doubles]:
        """Give nothing: what is learned beside the components are the sticks."""
        return {}

    def weights(self, documents: SomeDocuments, at: int) -> Doubles | None:
        """Weigh each component by its stick: its expected share of the documents to come, (J,)."""
        del documents, at
        w: Doubles = self.current["w"][:-1].astype(np.float64)
        return w

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Make a scorer of this run's draws on documents."""
        return MixtureScorer(held_out, self.record.options, self.record.words)

    def shown(self, at: int) -> Int64s:
        """Give the components that have documents, ascending."""
        del at  # there is one layer
        return np.flatnonzero(self.mixture.sizes)

    def counts(self) -> Int64s | None:
        """Count the training documents of each component."""
        return self.mixture.sizes

    def numbers(self) -> dict[str, int]:
        """Count the components that have documents, and those that have ten."""
        return numbers_of_components(self.mixture.sizes)

    def beside(self) -> dict[str, Doubles]:
        """Give the weights, which are exported with the components."""
        return {"weights": self.current["w"][:-1].astype(np.float64)}

    def tree(self, vocabulary: Sequence[str], words: int) -> list[Node] | None:
        """Give None: components do not use other components."""
        del vocabulary, words
        return None

    def quantities(self, draw: Draw, held_out: HeldOut | None) -> dict[str, float]:
        """Measure the quantities of a draw that do not depend on components' names; keys of `titles`."""
        p = None
        if held_out is not None:
            ids = np.arange(min(NEIGHBOURS, len(held_out.held_out)))
            p = self.proportions(draw, held_out.held_out.take(ids), ids, 0)
        return quantities(draw["w"][:-1].astype(np.float64), self.record.documents, p)

    def noise(self, step: int) -> float | None:
        """Give the noise inflation at an iteration; None where it is not known."""
        return noise_of(self.record, 1.0, step)

    def faithful(self, step: int) -> bool:
        """Say whether components given their documents vary as the posterior's do."""
        noise = self.noise(step)
        return noise is not None and noise <= QUIET

    def remedy(self) -> str | None:
        """Give the step at which minibatch noise is small; None where it is not known."""
        return remedy_of(self.record, 1.0)

    def contraction(self, shares: Doubles) -> tuple[float, ...]:
        """Give nothing: components cannot be followed."""
        del shares
        return ()


def scorer(options: MixtureOptions, held_out: HeldOut, words: int, threads: int) -> Scorer:
    """Make the scorer of draws of a mixture on held-out documents over V words."""
    del threads
    return MixtureScorer(held_out, options, words)


def fitted(record: Record, threads: int) -> Fitted:
    """Read a trained run of a mixture."""
    return MixtureFitted(record, threads)
