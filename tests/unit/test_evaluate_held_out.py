"""Splitting held-out documents: how many tokens, which, and nothing lost."""

import numpy as np
import pytest
from oracles.judge import P, Z, z_mean
from scipy import stats

from pysgrld.errors import CorpusError
from pysgrld.evaluate import pair_parts
from pysgrld.evaluate.held_out import split
from pysgrld.types import Documents


def documents(*rows):
    """Documents from {word: count}."""
    return Documents(
        np.cumsum([0] + [len(r) for r in rows]),
        np.array([w for r in rows for w in sorted(r)], np.int32),
        np.array([r[w] for r in rows for w in sorted(r)], np.int32),
    )


def rows_of(d):
    """{word: count} of each document."""
    return [
        dict(zip(d.indices[a:b].tolist(), d.counts[a:b].tolist(), strict=True))
        for a, b in zip(d.indptr, d.indptr[1:], strict=False)
    ]


@pytest.mark.parametrize("tokens", [2, 3, 5, 7, 10, 99, 1000])
@pytest.mark.parametrize("observed", [0.1, 0.5, 0.8, 0.999])
def test_share_of_held_out_tokens_is_the_rule_s(tokens, observed):
    result = split(documents({0: tokens}), np.array([4]), observed, 1)
    wanted = max(1, min(tokens - 1, round((1 - observed) * tokens)))
    assert result.held_out.tokens == wanted
    assert result.observed.tokens == tokens - wanted


def test_a_document_that_is_too_long_to_be_scored_is_refused_before_it_is_split():
    """Red with: an entry for each token of it, of which there may be 10^10."""
    with pytest.raises(CorpusError, match="held-out document 2 has 1,600,000 tokens"):
        split(documents({0: 5}, {1: 2_000_000}), np.arange(2), 0.8, 1)


def test_one_corpus_for_both_parts_is_refused():
    """Red with: a perplexity of tokens that were observed, without a word."""
    same = documents({0: 5, 3: 1}, {1: 2})
    with pytest.raises(CorpusError, match="the observed and the held-out corpus are the same"):
        pair_parts(same, documents({0: 5, 3: 1}, {1: 2}))


def test_both_parts_together_are_the_document():
    original = documents({0: 3, 5: 1, 9: 20}, {2: 1, 3: 1}, {1: 7})
    result = split(original, np.arange(3), 0.7, 1)
    for whole, seen, held in zip(
        rows_of(original), rows_of(result.observed), rows_of(result.held_out), strict=True
    ):
        assert {w: seen.get(w, 0) + held.get(w, 0) for w in whole} == whole
        assert min([*seen.values(), *held.values()]) >= 1


def test_documents_of_fewer_than_two_tokens_are_dropped_and_counted():
    result = split(documents({0: 1}, {1: 2}, {}, {2: 1}, {3: 1, 4: 1}), np.arange(5) + 10, 0.5, 1)
    assert result.dropped == 3
    assert result.doc_ids.tolist() == [11, 14]
    assert len(result.observed) == len(result.held_out) == 2
    assert (np.diff(result.observed.indptr) > 0).all()
    assert (np.diff(result.held_out.indptr) > 0).all()


def test_no_documents_split_into_none():
    result = split(documents(), np.zeros(0, np.int64), 0.5, 1)
    assert len(result.observed) == len(result.held_out) == result.dropped == 0


def test_split_of_a_document_depends_on_its_position_and_the_seed_only():
    first = dict.fromkeys(range(100), 1)
    alone = split(documents(first), np.array([7]), 0.7, 1)
    among = split(documents({1: 50}, first, {2: 9}), np.array([3, 7, 8]), 0.7, 1)
    assert rows_of(among.held_out)[1] == rows_of(alone.held_out)[0]


@pytest.mark.parametrize(("position", "seed"), [(8, 1), (7, 2)])
def test_another_position_or_seed_splits_otherwise(position, seed):
    d = documents(dict.fromkeys(range(100), 1))
    a, b = split(d, np.array([7]), 0.5, 1), split(d, np.array([position]), 0.5, seed)
    assert rows_of(a.held_out) != rows_of(b.held_out)


def test_every_token_is_equally_likely_to_be_held_out():
    """Red with: tokens ranked by their order in place of their uniforms."""
    d = documents(*[dict.fromkeys(range(20), 1)] * 4000)
    held = split(d, np.arange(4000), 0.7, 3).held_out
    assert stats.chisquare(np.bincount(held.indices, minlength=20)).pvalue > P


def test_held_out_occurrences_of_a_word_are_hypergeometric():
    """Without replacement: 6 of 20 held out, 8 of them of word 0.

    Red with: each token held out by its own uniform below 0.3 (binomial); tokens ranked by their
    order.
    """
    n = 4000
    held = split(documents(*[{0: 8, 1: 12}] * n), np.arange(n), 0.7, 3).held_out
    zeros = np.array([r.get(0, 0) for r in rows_of(held)])
    law = stats.hypergeom(20, 8, 6)
    assert abs(z_mean(zeros, law.mean())) < Z
    assert abs(z_mean((zeros - law.mean()) ** 2, law.var())) < Z


def test_pair_keeps_rows_that_have_tokens_in_both_parts():
    result = pair_parts(
        documents({0: 1}, {}, {1: 2}, {3: 1}), documents({2: 1}, {1: 1}, {}, {0: 4})
    )
    assert result.dropped == 2
    assert result.doc_ids.tolist() == [0, 3]
    assert rows_of(result.observed) == [{0: 1}, {3: 1}]
    assert rows_of(result.held_out) == [{2: 1}, {0: 4}]


def test_pair_of_unequal_numbers_of_documents_is_refused():
    with pytest.raises(
        CorpusError, match="observed corpus has 1 document but the held-out corpus has 2"
    ):
        pair_parts(documents({0: 1}), documents({0: 1}, {0: 1}))
