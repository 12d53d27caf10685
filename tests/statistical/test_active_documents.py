"""Documents of many topics: the active set against a posterior summed over all assignments."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from pysgrld.core import core, padded_width

pytestmark = pytest.mark.statistical

TOPICS, ALPHA, DOCUMENTS = 144, 0.05, 40_000
#: Topics with mass, spread over lanes and blocks; the other 139 share one thousandth of each word.
HEAVY = np.array([0, 17, 40, 129, 143])


def phi_rows() -> np.ndarray:
    """Three words over the topics, (3, Kp); rows need not sum to one."""
    phi = np.zeros((3, padded_width(TOPICS)), np.float32)
    phi[:, :TOPICS] = 1e-3 / TOPICS
    phi[:, HEAVY] = np.random.default_rng(3).dirichlet(np.ones(5), 3) * 0.3
    return phi


def exact(phi: np.ndarray) -> np.ndarray:
    """p(z_1, z_2, z_3) over the heavy topics and "another", flattened.

    ``alpha (alpha + n)`` products; "another" stands for 139 topics that rarely meet.
    """
    groups = [*HEAVY.tolist(), None]
    light = np.setdiff1d(np.arange(TOPICS), HEAVY)
    p = np.zeros((6, 6, 6))
    for cell in product(range(6), repeat=3):
        choices = [light if groups[c] is None else np.array([groups[c]]) for c in cell]
        a, b, c = np.meshgrid(*choices, indexing="ij")
        same = (a == b).astype(float)
        weight = ALPHA * (ALPHA + same) * (ALPHA + (a == c) + (b == c))
        p[cell] = (weight * phi[0, a] * phi[1, b] * phi[2, c]).sum()
    return (p / p.sum()).ravel()


@pytest.mark.parametrize("kept_between_calls", [False, True])
def test_topics_of_three_tokens_have_the_posterior_s_law(kept_between_calls):
    """Chi-square over the joint law of 40,000 documents after 30 sweeps.

    Red with: bucket without alpha; n left at the token's old topic; idle positions reused while their
    column keeps the old topic's phi; a sweep's last token never counted; the draw from the whole row
    aimed at alpha times its target (chi-square above 10,000 in each).
    """
    phi = phi_rows()
    z = np.full(3 * DOCUMENTS, -1, np.int32)
    for step in range(10 if kept_between_calls else 1):
        core.documents_gibbs(
            phi=phi,
            topics=TOPICS,
            indptr=3 * np.arange(DOCUMENTS + 1),
            indices=np.tile(np.arange(3, dtype=np.int32), DOCUMENTS),
            counts=np.ones(3 * DOCUMENTS, np.int32),
            doc_ids=np.arange(DOCUMENTS),
            alpha=ALPHA,
            sweeps=3 if kept_between_calls else 30,
            kept=1,
            rao_blackwell=True,
            seed=1,
            chain=0,
            step=step,
            purpose=core.Purpose.test,
            z=z,
            token_ptr=3 * np.arange(DOCUMENTS + 1),
            work=core.Workspace(),
            threads=1,
        )
    group = np.full(TOPICS, 5)
    group[HEAVY] = np.arange(5)
    cell = np.ravel_multi_index(tuple(group[z.reshape(-1, 3)].T), (6, 6, 6))
    seen = np.bincount(cell, minlength=216).astype(float)
    expected = exact(phi.astype(float)) * DOCUMENTS
    rare = expected < 8
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-4


def test_expected_counts_are_those_of_the_sampled_topics():
    """Rao-Blackwellised counts, bucket and all, have the mean of sampled ones, word by word.

    Red with: the bucket spread evenly instead of by phi; the bucket left out.
    """
    phi, how = phi_rows(), {}
    for rao_blackwell in (False, True):
        words, _ = core.documents_gibbs(
            phi=phi,
            topics=TOPICS,
            indptr=3 * np.arange(DOCUMENTS + 1),
            indices=np.tile(np.arange(3, dtype=np.int32), DOCUMENTS),
            counts=np.ones(3 * DOCUMENTS, np.int32),
            doc_ids=np.arange(DOCUMENTS),
            alpha=ALPHA,
            sweeps=12,
            kept=6,
            rao_blackwell=rao_blackwell,
            seed=1,
            chain=0,
            step=0,
            purpose=core.Purpose.test,
            work=core.Workspace(),
            threads=1,
        )
        how[rao_blackwell] = words[:, :TOPICS] / (6 * DOCUMENTS * (2.0**24 if rao_blackwell else 1))
    # sweeps of one document are alike: count a document as one draw, which overstates the error
    error = np.sqrt(how[True] * (1 - how[True]) / DOCUMENTS)
    assert (np.abs(how[False] - how[True]) < 5 * error + 1e-6).all()
    light = np.setdiff1d(np.arange(TOPICS), HEAVY)
    rate = how[True][:, light].mean(axis=1)
    assert (
        np.abs(how[False][:, light].mean(axis=1) - rate) < 5 * np.sqrt(rate / 139 / DOCUMENTS)
    ).all()
