"""Predictions by length: groups of held-out documents, their perplexity, and what topics gain there."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.evaluate.score import Estimate
from pysgrld.report.sections.predictions import PredictionsByLength

N = 101


def run_of(n=N, observed=True, unigram=True):
    """A run whose held-out documents have 4 to 4 + n words; longer ones are predicted better."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.arange(4, 4 + n))
    tokens = np.maximum(1, lengths // 4).astype(float)
    usual = -tokens * rng.uniform(6.0, 7.0, n)
    logs = usual + tokens * (lengths / lengths.max()) + rng.normal(0, 0.1, n)
    held = [
        SimpleNamespace(lengths=part) for part in (lengths - tokens.astype(int), tokens.astype(int))
    ]
    if not observed:
        held = [[], SimpleNamespace(lengths=lengths)]

    class Part(SimpleNamespace):
        def __len__(self):
            return len(self.lengths)

    parts = [Part(lengths=getattr(part, "lengths", [])) for part in held]

    def score(logs):
        return Estimate.perplexity(float(np.exp(-logs.sum() / tokens.sum())), logs, tokens)

    kind = SimpleNamespace(
        title="perplexity", show=lambda value, error: f"{value:.3f} ± {error:.3f}"
    )
    evaluation = SimpleNamespace(
        average=score(logs), unigram=score(usual) if unigram else None, documents=n, kind=kind
    )
    results = SimpleNamespace(
        held_out=lambda: SimpleNamespace(observed=parts[0], held_out=parts[1])
    )
    return SimpleNamespace(evaluation=evaluation, results=results), lengths, tokens, logs, usual


@pytest.mark.parametrize("observed", [True, False])
def test_groups_are_quarters_by_all_words_and_gains_are_of_the_same_documents(observed):
    """Red with: lengths of the held-out part alone; the mean of documents' own perplexities."""
    run, lengths, tokens, logs, usual = run_of(observed=observed)
    section = PredictionsByLength(run)
    groups = section.main()["predictions"]["groups"]
    assert [g["documents"] for g in groups] == [26, 25, 25, 25]
    assert groups[0]["from"] == 4
    assert groups[-1]["to"] == 4 + N - 1
    for g in groups:
        some = (lengths >= g["from"]) & (lengths <= g["to"])
        assert some.sum() == g["documents"]
        now, before = (np.exp(-x[some].sum() / tokens[some].sum()) for x in (logs, usual))
        assert g["score"].startswith(f"{now:.3f}")
        assert g["unigram"].startswith(f"{before:.3f}")
        assert g["mean"] == pytest.approx(1 - now / before, abs=1e-4)
        assert g["low"] < g["mean"] < g["high"]
    assert [g["mean"] for g in groups] == sorted(g["mean"] for g in groups)
    assert [d.name for d in section.definitions()] == ["Predictions by length"]


def test_intervals_are_as_wide_as_resampled_documents_vary():
    """Red with: an error that leaves out the pairs: documents differ more than topics gain on them."""
    run, lengths, tokens, logs, usual = run_of(n=400)
    group = PredictionsByLength(run).main()["predictions"]["groups"][1]
    some = np.flatnonzero((lengths >= group["from"]) & (lengths <= group["to"]))
    rng = np.random.default_rng(1)
    drawn = some[rng.integers(0, len(some), (4000, len(some)))]
    gains = 1 - np.exp(-(logs - usual)[drawn].sum(axis=1) / tokens[drawn].sum(axis=1))
    low, high = np.quantile(gains, (0.05, 0.95))
    assert group["high"] - group["low"] == pytest.approx(high - low, rel=0.1)


def test_few_documents_or_another_score_have_no_groups():
    """Red with: groups of four documents; a mixture's score taken for a perplexity."""
    for run, *_ in (run_of(n=19), run_of(unigram=False)):
        section = PredictionsByLength(run)
        assert section.main() == {"predictions": None}
        assert section.definitions() == []
    run, *_ = run_of()
    run.evaluation.average = Estimate.mean(7.0, np.arange(N, dtype=float))
    assert PredictionsByLength(run).main() == {"predictions": None}
    assert PredictionsByLength(SimpleNamespace(evaluation=None)).main() == {"predictions": None}
    two, *_ = run_of(n=20)
    assert len(PredictionsByLength(two).main()["predictions"]["groups"]) == 2


def test_documents_of_one_length_are_no_groups():
    run, *_ = run_of()
    for part in (run.results.held_out().observed, run.results.held_out().held_out):
        part.lengths = np.full(N, 5)
    assert PredictionsByLength(run).main() == {"predictions": None}
