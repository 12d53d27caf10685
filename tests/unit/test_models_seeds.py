"""Seeded topics under every sampler that models of topics over words have."""

import numpy as np
import pytest
from unit.test_contract import CORPUS, FACTS, TOKENS, TRAIN, WORDS, advanced, settings, state

from pysgrld.corpus.minibatches import Epochs
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import all_models
from pysgrld.train.begin import begin

VOCABULARY = [f"w{i:02}" for i in range(WORDS)]
PAIRS = [(m.name, algo) for m in all_models() if "seed-words" in m.options for algo in m.algorithms]
#: Word 3 comes with words 0 to 9, word 25 with words 20 to 29.
SEEDS = (("low", ("w03",)), ("high", ("w25", "w26")))

pairs = pytest.mark.parametrize(("name", "algo"), PAIRS, ids=lambda part: part)


def started(name, algo, threads=1, seeds=SEEDS):
    plain = settings(name, algo)
    said = (
        "model",
        "algo",
        "seed",
        "topics",
        "layers",
        "minibatch",
        "sweeps",
        "warm-up",
        "burn-in",
    )
    given = {n: getattr(plain, n.replace("-", "_"), None) for n in said}
    for option in ("minibatch", "warm-up") if algo in ("gibbs", "cgs") else ():
        del given[option]
    if given.get("layers"):
        del given["topics"]
    given = {n: v for n, v in given.items() if v is not None}
    if seeds:
        given |= {"seed-words": seeds, "seed-weight": 0.2}
    options = resolve(given, FACTS._replace(vocabulary=VOCABULARY)).options
    stream = Epochs.of(options, CORPUS, TRAIN)
    return begin(options, stream, CorpusFacts(WORDS, TOKENS), RunOn(threads))


@pairs
def test_seeded_chains_go_on_as_if_they_had_not_been_stored_and_on_other_threads(name, algo):
    whole = advanced(started(name, algo, 3), 6)
    stopped = advanced(started(name, algo), 3)
    stored = {n: a.copy() for n, a in (stopped.chain.arrays() | stopped.arrays()).items()}
    again = started(name, algo)
    again.chain.restore(3, stored)
    again.restore(stored)
    assert state(advanced(again, 3)) == state(whole)


@pairs
def test_topics_are_what_their_seeds_say(name, algo):
    """Red with: no sampler is told of seeds; seeds of the first topic given to the second."""
    chain = advanced(started(name, algo), 40).chain
    phi = chain.draw()["phi"].astype(float)
    assert phi[3].argmax() == 0
    assert phi[25].argmax() == 1
    groups = phi.reshape(4, 10, -1).sum(axis=1)
    assert groups[:, 0].argmax() == 0
    assert groups[:, 1].argmax() == 2
    assert np.isfinite(phi).all()
