"""Kernels as many independent chains at once: each cell, topic or corpus is a replicate."""

from __future__ import annotations

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.samplers.log_rows import LogWarmUp, cir_transition, gamma_shapes, log_sums
from pysgrld.samplers.rows import WarmUp, draw_initial_rows
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import UNIT, Block, Key

WORK = core.Workspace()
NO_ROWS, NO_COUNTS = np.zeros(0, np.int32), np.zeros((0, 16), np.int64)


def step_rows(g, eta, h, *, step=0, counts=None, factor=1.0, seed=1, kernel="scir"):
    """One step of the float32 kernel on n cells (16 divides n); shape eta + counts * factor."""
    g = np.ascontiguousarray(np.reshape(g, (-1, 16)), np.float32).copy()
    rows = NO_ROWS if counts is None else np.arange(len(g), dtype=np.int32)
    counts = NO_COUNTS if counts is None else np.reshape(counts, (-1, 16)).astype(np.int64)
    getattr(core, f"simplex_{kernel}")(
        g=g,
        sums=g.sum(axis=0, dtype=np.float64),
        topics=16,
        eta=eta,
        rows=rows,
        counts=counts,
        factor=factor,
        h=h,
        seed=seed,
        chain=0,
        step=step,
        stream=0,
        work=WORK,
        threads=1,
    )
    return g.reshape(-1).astype(np.float64)


def step_log(g, eta, h, *, step=0, counts=None, factor=1.0, seed=1):
    """The same on log state."""
    with np.errstate(divide="ignore"):
        log_g = np.log(np.reshape(g, (-1, 16)).astype(np.float64))
    shape = np.full(log_g.shape, float(eta))
    if counts is not None:
        shape += np.reshape(counts, (-1, 16)) * factor
    core.simplex_scir_log(
        log_g=log_g, shape=shape, h=h, seed=seed, chain=0, step=step, stream=0, threads=1
    )
    return np.exp(log_g).reshape(-1)


FORMS = {"rows": step_rows, "log": step_log}


class Corpora:
    """R copies of one small corpus, each with its own two topics: columns 2r and 2r + 1.

    Every token has its own row of what the documents kernel reads, so that words may differ between
    copies and change between calls. Topics of tokens are kept.
    """

    def __init__(self, words: np.ndarray, lengths: list[int], v: int, alpha: float) -> None:
        self.words = words  # (R, tokens)
        self.v, self.alpha = v, alpha
        self.copies, self.tokens = words.shape
        self.z = np.full(words.size, -1, np.int32)
        n = np.tile(lengths, self.copies)
        self.indptr = np.concatenate(([0], np.cumsum(n))).astype(np.int64)
        self.columns = padded_width(2 * self.copies)

    def block(self, eta: float) -> Block:
        shape = (self.v, 2 * self.copies)
        return Block("phi", "simplex", shape, eta, 0, 0.0, settings=ScirSettings())

    def topics(self) -> np.ndarray:
        """Topic (0 or 1) of each token, (R, tokens)."""
        return self.z.reshape(self.words.shape)

    def phi_of_tokens(self, phi: np.ndarray) -> np.ndarray:
        """(R, tokens, 2) from (V, 2 R padded)."""
        own = phi[:, : 2 * self.copies].reshape(self.v, self.copies, 2)
        return own[self.words, np.arange(self.copies)[:, None]]

    def sample(self, key: Key, phi: np.ndarray, *, sweeps: int = 1, rao_blackwell: bool = False):
        """Gibbs sweeps of all copies from the kept topics; `Counts` of the last, or of all."""
        rows = core.zeros(self.words.size, 16, "float32")
        rows[:, :2] = self.phi_of_tokens(phi).reshape(-1, 2)
        kept = sweeps if rao_blackwell else 1
        counts, _ = core.documents_gibbs(
            phi=rows,
            topics=2,
            indptr=self.indptr,
            indices=np.arange(self.words.size, dtype=np.int32),
            counts=np.ones(self.words.size, np.int32),
            doc_ids=np.arange(len(self.indptr) - 1),
            alpha=self.alpha,
            sweeps=sweeps,
            kept=kept,
            rao_blackwell=rao_blackwell,
            **key._asdict(),
            purpose=core.Purpose.documents,
            z=self.z,
            token_ptr=self.indptr,
            work=WORK,
            threads=1,
        )
        copy = np.arange(self.copies)[:, None, None]
        cell = self.words[:, :, None] * self.columns + 2 * copy + np.arange(2)
        total = np.bincount(cell.ravel(), counts[:, :2].ravel(), minlength=self.v * self.columns)
        return Counts(
            np.arange(self.v, dtype=np.int32),
            total.astype(np.int64).reshape(self.v, self.columns),
            1.0 / (kept * (UNIT if rao_blackwell else 1)),
        )

    def per_copy(self, phi: np.ndarray) -> np.ndarray:
        """(R, 2, V) in double, normalised again."""
        own = phi[:, : 2 * self.copies].astype(np.float64).reshape(self.v, self.copies, 2)
        own = own.transpose(1, 2, 0)
        return own / own.sum(axis=2, keepdims=True)


def state_of(form, kind, key, block):
    """A state of a sampler that has both forms, in the one that is asked for whatever eta is."""
    arrays = draw_initial_rows(key, block, 1)
    if form == "rows":
        return kind.from_warm_up(WarmUp(block, 1, **arrays))
    g = np.maximum(arrays["g"][:, : block.shape[1]], np.finfo(np.float32).tiny)
    return kind.logs.from_warm_up(LogWarmUp(block, 1, log_g=np.log(g.astype(np.float64))))


def refresh_scale(key, state, found):
    """Redraw s_k ~ Gamma(V eta + N_k) given the counts, of logarithms.

    Between the documents' step and the transition this makes full-batch SCIR an exact Markov chain
    on (phi, z): without it s_k remembers earlier counts. On real corpora the effect is of relative
    order 1/sqrt(N_k) and invisible; the exactness tests need it.
    """
    total = gamma_shapes(found, state.block).sum(axis=0, keepdims=True)
    log_s = np.zeros_like(total)
    cir_transition(key, log_s, total, stream=state.block.stream + 128, h=np.inf, threads=1)
    state.log_g = state.log_g - log_sums(state.log_g) + log_s


def full_batch(corpora, state, h, key, *, refresh, **how):
    """One iteration with the whole corpus: documents, scale, topics."""
    found = corpora.sample(key, state.rows(), **how)
    if refresh:
        refresh_scale(key, state, found)
    state.step(key, found, h)
