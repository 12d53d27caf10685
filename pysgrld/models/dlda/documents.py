"""Documents of deep LDA, sampled given the topics by upward-downward Gibbs sampling.

Cong, Chen, Liu and Zhou (2017), section 2; the equations are in docs/deep-lda.md. Kernel:
cpp/kernels/documents_deep.cpp.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.communicator import ALONE, Collected, Communicator
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import product
from pysgrld.core.draws import Draw
from pysgrld.models.dlda.resolved import DeepLDAOptions
from pysgrld.models.seeds import prior_seed_counts
from pysgrld.samplers.shapes import ShapesSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import UNIT, Array, Block, Documents, Doubles, Key, Minibatch, Schedule

#: In the authors' published settings, number of sweeps at the start of a visit in which a document's
#: variables p and c keep their initial values.
HELD = 9


def topics_name(layer: int) -> str:
    """Return the name of the topics of a layer: phi, phi2, phi3, ...

    Parameters
    ----------
    layer : int
        Number of the layer, from 0.

    Returns
    -------
    str
    """
    return "phi" if layer == 0 else f"phi{layer + 1}"


class Hyper(NamedTuple):
    """Hyperparameters of the Beta prior of p^(2) and of the Gamma prior of c (Cong et al. 2017)."""

    a0: float
    b0: float
    e0: float
    f0: float
    link: str


def blocks(options: DeepLDAOptions, v: int, tokens: float) -> tuple[Block, ...]:
    """Return the blocks of a deep model: the topics of each layer, and the top layer's shapes.

    Seed words apply to the topics over words. With published settings, topics start at Gamma(1) as
    in the papers, not at the scale of the corpus.

    Parameters
    ----------
    options : DeepLDAOptions
        Resolved options.
    v : int
        Vocabulary size V.
    tokens : float
        Training tokens.

    Returns
    -------
    tuple of Block
        Layer 1 first; shapes (V, K_1), (K_1, K_2), ...
    """
    layers, mass = options.layers, 0.0 if options.preset else float(tokens)
    seeds = prior_seed_counts(options.seed_words, options.seed_weight, options.topics, tokens)
    topics = tuple(
        Block(
            name=topics_name(i),
            geometry="simplex",
            shape=shape,
            prior=eta,
            stream=4 * i,
            mass=mass,
            seeds=None if i else seeds,
            sparse=i == 0,
            settings=options.settings,
        )
        for i, (shape, eta) in enumerate(zip(pairwise((v, *layers)), options.eta, strict=True))
    )
    gamma0, c0 = options.r_prior
    shapes = Block(
        name="r",
        geometry="positive",
        shape=(1, layers[-1]),
        prior=gamma0,
        stream=4 * len(layers),
        mass=mass,
        hyper=(c0, *options.r_shape_prior, *options.r_rate_prior),
        settings=ShapesSettings(Schedule(*options.scale_weight)),
    )
    return (*topics, shapes)


def document_hyperparameters(options: DeepLDAOptions) -> Hyper:
    """Return the hyperparameters of the documents' variables from resolved options.

    Parameters
    ----------
    options : DeepLDAOptions
        Resolved options.

    Returns
    -------
    Hyper
        Constants a0, b0 of p and e0, f0 of c (Cong et al. 2017, eq. 1).
    """
    (a0, b0), (e0, f0) = options.p_prior, options.c_prior
    return Hyper(a0, b0, e0, f0, options.link)


class DeepDocuments(DocumentSampler):
    """Documents of a deep model, sampled by upward-downward Gibbs sampling.

    Parameters
    ----------
    layers : tuple of int
        K_1, ..., K_L.
    hyper : Hyper
    sweeps, kept, held : int
        Number of sweeps over a document in an iteration, number of last sweeps that are collected,
        and number of first sweeps in which p and c keep their starting values.
    flat : bool
        Whether theta of a document starts at 1/K rather than at its prior's mean.
    rao_blackwell : bool
        Collect expected counts instead of sampled ones.
    threads : int
    """

    by_document = frozenset({"theta", "rates", "totals"})

    def __init__(
        self,
        *,
        layers: tuple[int, ...],
        hyper: Hyper,
        sweeps: int,
        kept: int,
        held: int,
        flat: bool,
        rao_blackwell: bool,
        threads: int,
    ) -> None:
        self.layers, self.hyper = layers, hyper
        self.sweeps, self.kept, self.held = sweeps, kept, held
        self.flat, self.rao_blackwell = flat, rao_blackwell
        self._kept: dict[str, Array] = {}
        self._visited = np.zeros(1, np.int64)
        self._work, self._threads = core.Workspace(), threads

    def keep(self, documents: Documents) -> None:
        """Allocate the variables of all documents, which are stored between iterations."""
        n, wide = len(documents), sum(padded_width(k) for k in self.layers)
        self._kept = {
            "theta": np.zeros((n, wide), np.float32),
            "rates": np.zeros((n, len(self.layers) + 1)),
            "totals": np.zeros((n, wide), np.float32),
        }

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Sample the variables of a minibatch's documents, and return the counts for each block.

        Cong et al. (2017), eq. 4 and 5. Randomness: purpose ``documents``, entity = document.
        """
        topics = topic_arguments(draw, self.layers, flat=self.flat)
        sampled = comm.collect(lambda part: self._sample_documents(key, topics, part), batch)
        self._visited += 1
        *above, tables, total = sampled.sums
        assert sampled.values is not None
        assert sampled.words is not None
        weight = batch.scale / self.kept
        factor = weight / (UNIT if self.rao_blackwell else 1)
        level = float(total[0]) * factor / self.layers[0]
        statistics = {"phi": Counts(sampled.words, sampled.by_word[0], factor, level)}
        for i, counts in enumerate(above, 1):
            everyone = np.arange(len(counts), dtype=np.int32)
            statistics[topics_name(i)] = Counts(everyone, counts, factor, level)
        rate = float(sampled.values.sum()) * weight
        statistics["r"] = Counts(np.zeros(1, np.int32), tables, weight, level, rate)
        return statistics

    def _sample_documents(self, key: Key, topics: dict[str, Any], batch: Minibatch) -> Collected:
        """Sample the given documents; return their summed counts, and the rate q of each document.

        The counts are word counts by topic, topic counts of each layer, tables and tokens.
        """
        persistent: dict[str, Any] = {}
        if self._kept:
            persistent = self._kept | {"fresh": not self._visited[0]}
        words, above, tables, q, _ = core.documents_deep(
            **topics,
            **self.hyper._asdict(),
            **persistent,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            doc_ids=batch.doc_ids,
            sweeps=self.sweeps,
            kept=self.kept,
            held=self.held,
            rao_blackwell=self.rao_blackwell,
            **key._asdict(),
            purpose=core.Purpose.documents,
            work=self._work,
            threads=self._threads,
        )
        assert words is not None
        assert tables is not None
        assert q is not None
        return Collected((words,), (*above, tables, np.array([words.sum()])), q)

    def arrays(self) -> dict[str, Array]:
        """Return the variables of documents that are stored between iterations, by name."""
        return self._kept | {"visited": self._visited} if self._kept else {}


def documents(options: DeepLDAOptions, words: int, threads: int) -> DeepDocuments:
    """Return the document sampler that the resolved options define.

    Parameters
    ----------
    options : DeepLDAOptions
        Resolved options.
    words : int
        Vocabulary size V.
    threads : int
        Threads of the kernel.

    Returns
    -------
    DeepDocuments
        A sampler without persistent documents.
    """
    del words
    published = bool(options.preset)
    return DeepDocuments(
        layers=tuple(options.layers),
        hyper=document_hyperparameters(options),
        sweeps=options.sweeps,
        kept=options.kept_sweeps,
        held=min(HELD, options.sweeps - 1) if published else 0,
        flat=published,
        rao_blackwell=options.counts == "rao-blackwell",
        threads=threads,
    )


def topic_arguments(parts: Draw, layers: tuple[int, ...], *, flat: bool) -> dict[str, Any]:
    """Return the kernel arguments for the topics of all layers."""
    phi = [parts[topics_name(i)] for i in range(len(layers))]
    means = [np.zeros(padded_width(k), np.float32) for k in layers]
    if flat:
        for mean, k in zip(means, layers, strict=True):
            mean[:k] = 1.0 / k
    else:
        means[-1][:] = parts["r"]
        for i in range(len(layers) - 1, 0, -1):
            means[i - 1][: layers[i - 1]] = product(phi[i], means[i])
    return {"phi": phi, "topics": list(layers), "r": parts["r"], "start": np.concatenate(means)}


def prior_mean(parts: Draw, layers: tuple[int, ...], layer: int) -> Doubles:
    """Compute the prior mean of an unseen document's proportions in a layer.

    Parameters
    ----------
    parts : Draw
        A draw of the model.
    layers : tuple of int
        Number of topics of each layer.
    layer : int
        Number of the layer, from 0.

    Returns
    -------
    (K_l,) float64
    """
    mean = parts["r"][: layers[-1]].astype(np.float64)
    for i in range(len(layers) - 1, layer, -1):
        mean = product(parts[topics_name(i)][:, : layers[i]], mean)
    expected: Doubles = mean / mean.sum()
    return expected
