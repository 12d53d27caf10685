"""Langevin steps of sticks and components: docs/internals/mathematics.md, "Stochastic steps"."""

from __future__ import annotations

import numpy as np

from pysgrld.core import core, padded
from pysgrld.core.arithmetic import log, normals
from pysgrld.types import BlockAddress, Doubles


def sticks(
    g: Doubles, shares: Doubles, prior: Doubles, members: Doubles, h: float, u: Doubles
) -> Doubles:
    """Make an expanded-mean step of the pair behind each stick, reflected at 0, and give its logarithm.

    Parameters
    ----------
    g, shares, members : (2, J) float64
        The pairs; v and 1 - v; documents in a component and beyond it.
    prior : (2, 1) float64
    h : float
    u : (2, J, 2) float64
        Uniforms.
    """
    drift = prior - g + members - shares * members.sum(axis=0)
    noise = normals(u[..., 0], u[..., 1])
    moved = np.abs(g + h * drift + np.sqrt(2.0 * h * g) * noise)
    logs: Doubles = log(np.maximum(moved, np.finfo(np.float64).tiny))
    return logs


def components(
    g: Doubles,
    counts: Doubles,
    base: float,
    scale: float,
    h: float,
    address: BlockAddress,
    work: core.Workspace,
    threads: int,
) -> Doubles:
    """Make one step of `pysgrld.samplers.sgrld` of all components, and give its logarithm."""
    v, k = counts.shape
    single, wide = core.zeros(v, padded(k), "float32"), core.zeros(v, padded(k), "int64")
    single[:, :k], wide[:, :k] = g, counts
    core.simplex_sgrld(
        g=single,
        sums=single.sum(axis=0, dtype=np.float64),
        topics=k,
        eta=base,
        rows=np.arange(v, dtype=np.int32),
        counts=wide,
        factor=scale,
        h=h,
        **address,
        work=work,
        threads=threads,
    )
    logs: Doubles = log(np.maximum(single[:, :k].astype(np.float64), np.finfo(np.float32).tiny))
    return logs
