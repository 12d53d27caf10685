"""Chains of a sampler on corpora whose posteriors are known: what mixes, and what cannot."""

from __future__ import annotations

import numpy as np
import pytest

from pysgrld.models.choices import Choices
from pysgrld.models.options import OPTIONS
from pysgrld.reading.compare_chains import diagnose
from pysgrld.reading.verdict import verdict
from pysgrld.train.request import Request
from pysgrld.train.start import train

pytestmark = pytest.mark.statistical

CHAINS = 4


class Silent:
    """Tells nobody anything."""

    def __getattr__(self, name):
        return lambda *args: None


def corpus(path, groups, words, documents, mixed):
    """Documents of some groups of words: of one group each, or of two in any proportion."""
    rng = np.random.default_rng(3)
    lines = []
    for d in range(documents):
        own = [d % groups, int(rng.integers(groups))]
        share = rng.random() if mixed else 1.0
        chosen = [own[0] if rng.random() < share else own[1] for _ in range(40)]
        counts = np.bincount(
            [g * words + rng.integers(words) for g in chosen], minlength=groups * words
        )
        lines += [f"{d + 1} {w + 1} {n}" for w, n in enumerate(counts) if n]
    path.write_text(f"{documents}\n{groups * words}\n{len(lines)}\n" + "\n".join(lines) + "\n")
    (path.parent / "vocab.toy.txt").write_text(
        "".join(f"w{w // words}-{w % words}\n" for w in range(groups * words))
    )
    return str(path)


def chains(tmp_path, inputs, algo, **given):
    for i in range(1, CHAINS + 1):
        options = {"algo": algo, "threads": "1", "chain-id": str(i), **given}
        parsed = {name: OPTIONS[name].parse(str(value)) for name, value in options.items()}
        train(
            Request([inputs], Choices(parsed | {"out": str(tmp_path / f"all/chain-{i}")})), Silent()
        )
    return diagnose(tmp_path / "all", top=5)


@pytest.mark.parametrize(
    ("algo", "limit"), [("gibbs", 1.05), pytest.param("scir", 1.1, marks=pytest.mark.nightly)]
)
def test_chains_mix_where_topics_are_plain_to_see(tmp_path, algo, limit):
    """Each chain has the topics in an order of its own; matched, all figures agree.

    Red with: topics not matched (order of the first chain for all).
    """
    inputs = corpus(tmp_path / "docword.toy.txt", groups=3, words=8, documents=80, mixed=True)
    found = chains(tmp_path, inputs, algo, topics=3, iterations=400, **{"burn-in": 100})
    assert len(found.iterations) >= 60  # of scir exact draws, as many as took the training
    assert len({t.counterparts for t in found.topics}) == 3
    assert any(len(set(t.counterparts)) > 1 for t in found.topics)
    for topic in found.topics:
        group = {word.word.split("-")[0] for word in topic.words}
        assert len(group) == 1
        assert topic.overlap > 0.95
        assert topic.rhat < limit
        assert topic.ess > 100
    assert found.prediction.measure.rhat < limit
    assert "All 3 topics are the same in all 4 chains" in verdict(found)[0]
    assert "All shared topics have mixed" in verdict(found)[1]


def test_chains_that_cannot_leave_their_hill_are_told(tmp_path):
    """Four groups of words and two topics: three ways to pair the groups, and no way between them."""
    inputs = corpus(tmp_path / "docword.toy.txt", groups=4, words=8, documents=80, mixed=False)
    found = chains(tmp_path, inputs, "gibbs", topics=2, iterations=400, **{"burn-in": 100})
    pairs = {
        frozenset(word.word[:2] for word in topic.words)
        for run in found.runs
        for topic in diagnose(run, top=16).topics
    }
    assert len(pairs) > 2  # the chains stand on different hills
    for topic in found.topics:
        assert topic.overlap < 0.7
        assert topic.rhat > 1.6
    said = " ".join(verdict(found))
    assert "None of the 2 topics is the same in all 4 chains" in said
