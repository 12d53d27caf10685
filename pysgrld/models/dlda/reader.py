"""Reading of deep LDA runs: topic proportions in each layer, predictions, and tree of topics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import dot, log, product
from pysgrld.core.draws import Draw
from pysgrld.core.restore import Form, restore_arrays
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import PERPLEXITY
from pysgrld.evaluate.reader import (
    DocumentDraw,
    Reader,
    Readers,
    VisitPurpose,
    draw_token_topics,
    held_out_sweeps,
    sweeps_of_draw,
    sweeps_of_new,
)
from pysgrld.models.admixture import AdmixtureFitted
from pysgrld.models.dlda.documents import (
    blocks,
    document_hyperparameters,
    prior_mean,
    topic_arguments,
    topics_name,
)
from pysgrld.models.dlda.resolved import DeepLDAOptions
from pysgrld.models.fitted import Node, Record
from pysgrld.models.word_order import WordOrder
from pysgrld.types import Array, Documents, Doubles, Floats, HeldOutCounts, Int32s, Key


def deep_readers(options: DeepLDAOptions) -> Readers:
    """Return a factory of document readers for deep LDA with resolved options."""
    longest = core.MAX_COLLECTED // (DeepReader.NEW // 2)
    return Readers(tuple(options.layers), longest, partial(DeepReader, options))


class DeepReader(Reader):
    """Reader that samples variables of documents by upward-downward Gibbs, given fixed topics.

    Parameters
    ----------
    options : DeepLDAOptions
        Resolved.
    documents : Documents
        Observed tokens, over the rows of phi that are given later.
    doc_ids : (n,) int64
    threads : int
    """

    #: Number of sweeps over a new document. Proportions are averaged over the second half of the
    #: sweeps.
    NEW: ClassVar[int] = 200

    def __init__(
        self, options: DeepLDAOptions, documents: Documents, doc_ids: Array, threads: int
    ) -> None:
        self.documents, self.doc_ids, self.threads = documents, doc_ids, threads
        self.layers, self.hyper = tuple(options.layers), document_hyperparameters(options)
        self._wide = [padded_width(k) for k in self.layers]
        self._theta = np.zeros((len(documents), sum(self._wide)), np.float32)
        self._rates = np.zeros((len(documents), len(self.layers) + 1))
        # Token counts of all layers. The array is empty until the first call of `draw`, because no
        # other method needs it.
        self._totals: Floats = np.zeros((0, 0), np.float32)
        self._rate: Doubles = np.zeros(0)  # Poisson rate of each held-out word, summed over samples
        self._total: Doubles = np.zeros(len(documents))
        self._work = core.Workspace()

    @property
    def _fresh(self) -> bool:
        """True until the Gibbs chains of the documents have started."""
        return len(self._rate) == 0

    def proportions(self, key: Key, parts: Draw, how: VisitPurpose) -> list[Floats]:
        """Return the mean proportions of every layer's topics, each (n, Kp) float32.

        Given shapes s and counts n, theta over its sum is Dirichlet(s + n). The result is the mean
        of that distribution, with the expected n of the split, averaged over the kept sweeps.
        """
        if how is VisitPurpose.NEW:
            sweeps = sweeps_of_new(self.NEW, longest=int(self.documents.lengths.max(initial=0)))
        else:
            sweeps = held_out_sweeps(how, fresh=self._fresh)
        state: dict[str, Any] = {}
        if sweeps.go_on:
            state = {"theta": self._theta, "rates": self._rates, "fresh": self._fresh}
        *_, mean = core.documents_deep(
            **topic_arguments(parts, self.layers, flat=False),
            **self.hyper._asdict(),
            **state,
            indptr=self.documents.indptr,
            indices=self.documents.indices,
            counts=self.documents.counts,
            doc_ids=self.doc_ids,
            sweeps=sweeps.number,
            kept=sweeps.kept,
            held=0,
            rao_blackwell=True,
            seed=key.seed,
            chain=key.chain,
            step=key.step,
            purpose=sweeps.purpose,
            want_words=False,
            want_mean=True,
            work=self._work,
            threads=self.threads,
        )
        assert mean is not None
        ends = np.cumsum(self._wide)[:-1]
        return [np.ascontiguousarray(part) for part in np.split(mean, ends, axis=1)]

    def predict(self, key: Key, parts: Draw, scored: HeldOutCounts, how: VisitPurpose) -> Doubles:
        """Return the probability of each held-out word, given the documents' mean proportions."""
        first = self.proportions(key, parts, how)[0]
        if how in (VisitPurpose.CONTINUE, VisitPurpose.DRAW):
            # Add this draw's Poisson rates of the held-out words, and the sum of each document's
            # rates over the vocabulary.
            if self._fresh:
                self._rate = np.zeros(len(scored.indices))
            elif len(self._rate) != len(scored.indices):
                raise CheckpointError(
                    f"array 'rate' of the checkpoint has {len(self._rate)} values for "
                    f"{len(scored.indices)} held-out words"
                )
            theta = np.ascontiguousarray(self._theta[:, : self._wide[0]])
            self._rate = self._rate + self._mixture(parts, scored, theta)
            self._total += theta.sum(axis=1, dtype=np.float64)
        return self._mixture(parts, scored, first)

    def theta(self, key: Key, parts: Draw, how: VisitPurpose, layer: int) -> Doubles:
        """Return the proportions of a layer's topics in documents, (n, K_l).

        Empty documents have the prior mean.
        """
        layer_theta = self.proportions(key, parts, how)[layer][:, : self.layers[layer]]
        theta: Doubles = layer_theta.astype(np.float64)
        theta[self.documents.lengths == 0] = prior_mean(parts, self.layers, layer)
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def draw(self, key: Key, parts: Draw, layer: int) -> DocumentDraw:
        """Continue the documents' chains; return proportions and token counts of a layer's topics.

        Proportions and, for layer 1, token counts are from the last sweep. Above layer 1, a topic's
        tokens are distributed over the topics of the next layer as expected given theta: in
        proportion to phi_kj theta_j.
        """
        fresh = not len(self._totals)
        if fresh:
            self._totals = np.zeros_like(self._theta)
        sweeps = sweeps_of_draw(fresh=fresh)
        core.documents_deep(
            **topic_arguments(parts, self.layers, flat=False),
            **self.hyper._asdict(),
            theta=self._theta,
            rates=self._rates,
            totals=self._totals,
            fresh=fresh,
            indptr=self.documents.indptr,
            indices=self.documents.indices,
            counts=self.documents.counts,
            doc_ids=self.doc_ids,
            sweeps=sweeps.number,
            kept=sweeps.kept,
            held=0,
            rao_blackwell=False,
            **key._asdict(),
            purpose=sweeps.purpose,
            want_words=False,
            work=self._work,
            threads=self.threads,
        )
        theta = self._layer(self._theta, layer)
        tokens = self._layer(self._totals, 0)
        for above in range(1, layer + 1):
            phi = parts[topics_name(above)][:, : self.layers[above]]
            higher = self._layer(self._theta, above)
            tokens = higher * product(tokens / product(higher, phi.T), phi)
        theta = theta / theta.sum(axis=1, keepdims=True)
        return DocumentDraw(theta.astype(np.float32), tokens.astype(np.float32))

    def token_topics(self, key: Key, parts: Draw, top_layer: int) -> Int32s:
        """Continue the documents' chains, and draw the topic of each token, (N,), given theta.

        The probability is proportional to phi_wk theta_k in layer 1; above, it is proportional to
        phi_kj theta_j, with k the token's topic in the layer below.
        """
        self.draw(key, parts, 0)
        documents = self.documents
        document_numbers = np.repeat(np.arange(len(documents)), documents.lengths)
        z = np.repeat(documents.indices, documents.counts)
        for layer in range(top_layer + 1):
            phi = parts[topics_name(layer)][:, : self.layers[layer]]
            theta = self._layer(self._theta, layer)
            z = draw_token_topics(z, document_numbers, phi, theta, key, self.doc_ids, layer)
        return z

    def _layer(self, vectors: Floats, layer: int) -> Doubles:
        """Return the columns of one layer, (n, K_l), from vectors that join all layers."""
        begin = sum(self._wide[:layer])
        vectors_of_layer: Doubles = vectors[:, begin : begin + self.layers[layer]].astype(
            np.float64
        )
        return vectors_of_layer

    def shares(self, layer: int) -> Doubles:
        """Return each topic's expected share of a layer's tokens in the current state, (K_l,)."""
        theta = self._layer(self._theta, layer)
        lengths = self.documents.lengths[:, None]
        total = theta.sum(axis=1, keepdims=True)
        share = np.divide(theta * lengths, total, out=np.zeros_like(theta), where=total > 0)
        mean_shares: Doubles = share.sum(axis=0) / max(1, int(lengths.sum()))
        return mean_shares

    def _mixture(self, parts: Draw, scored: HeldOutCounts, theta: Floats) -> Doubles:
        return core.predictive_given_theta(
            phi=parts["phi"],
            topics=self.layers[0],
            indptr=scored.indptr,
            indices=scored.indices,
            theta=theta,
            threads=self.threads,
        )

    def metrics(self, scored: HeldOutCounts) -> dict[str, float]:
        """Return the rate-weighted perplexity; each sample is weighted by its total Poisson rate.

        Cong et al. (2017), section 5. The dictionary is empty before the first sample.
        """
        if len(self._rate) != len(scored.indices):
            return {}
        totals = np.repeat(self._total, np.diff(scored.indptr))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = dot(scored.counts, log(self._rate / totals))
        return {"rate_weighted_perplexity": math.exp(-log_p / int(scored.counts.sum()))}

    def arrays(self) -> dict[str, Array]:
        """Return the state from which the documents' chains can continue exactly."""
        return {
            "theta": self._theta,
            "rates": self._rates,
            "rate": self._rate,
            "total": self._total,
        }

    def restore(self, arrays: Mapping[str, Array], prefix: str) -> None:
        """Restore the state of the documents' chains from the arrays that `arrays` returned.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        own = self.arrays()
        del own["rate"]
        restore_arrays(own, arrays, prefix)
        # The length of `_rate` is checked before the next draw. The array is not copied, because a
        # forged array may be very long.
        self._rate = Form(np.float64, (-1,)).take(arrays, "rate", prefix)


#: The tree has an edge between two topics if the lower topic's weight in the upper topic is at
#: least this multiple of 1/K.
ABOVE_EVEN = 3.0
#: The tree shows the largest topics of the top layer that together have at least this fraction of
#: the layer's weight (the sum of its gamma shapes r).
TOP_SHARE = 0.95


#: Perplexity with a second score, the rate-weighted perplexity. The paper on deep LDA calls this
#: second score perplexity.
DEEP_PERPLEXITY = replace(
    PERPLEXITY,
    further=(
        (
            "rate_weighted_perplexity",
            "rate weighted",
            "each sample weighted by its total rate, as in the paper",
        ),
    ),
)


class DeepFitted(AdmixtureFitted):
    """A trained run of deep LDA, opened for reading.

    Parameters
    ----------
    record : Record
    threads : int
    """

    score = DEEP_PERPLEXITY

    def __init__(self, record: Record, threads: int) -> None:
        options: DeepLDAOptions = record.options
        parts = blocks(options, record.words, record.tokens)
        super().__init__(record, threads, parts, deep_readers(options))

    def topics_over_words(self, draw: Draw, layer: int) -> Floats:
        """Return a layer's topics over words, the matrix product Phi1 Phi2 ... Phi_l, (V, Kp)."""
        phi = draw["phi"]
        for i in range(1, layer + 1):
            phi = product(phi[:, : self.layers[i - 1]], draw[topics_name(i)]).astype(np.float32)
        return phi

    def tree(
        self, vocabulary: Sequence[str], words: int, order: WordOrder | None = None
    ) -> list[Node] | None:
        """Return the tree of active topics from the top layer down, with the first words of topics.

        A topic has an edge to a topic of the layer below if its weight in the column of Phi is at
        least three times the weight in an even split. The use of a topic of the top layer is its
        shape in r.
        """
        draw, layers, top = self.mean or self.current, self.layers, self.depth - 1
        best = [
            self.first_words(self.topics_over_words(draw, layer), words, layer, order)
            for layer in range(self.depth)
        ]

        def node(layer: int, k: int, share: float) -> Node:
            children: tuple[Node, ...] = ()
            if layer > 0:
                column = draw[topics_name(layer)][:, k].astype(np.float64)
                used = np.flatnonzero(column >= ABOVE_EVEN / layers[layer - 1])
                below = used[np.argsort(-column[used], kind="stable")]
                children = tuple(node(layer - 1, int(j), float(column[j])) for j in below)
            return Node(layer + 1, k, share, tuple(vocabulary[w] for w in best[layer][k]), children)

        r = draw["r"][: layers[top]].astype(np.float64)
        shares = r / r.sum()
        ranked = np.argsort(-shares, kind="stable")
        enough = int(np.searchsorted(np.cumsum(shares[ranked]), TOP_SHARE)) + 1
        return [node(top, int(k), float(shares[k])) for k in ranked[:enough]]
