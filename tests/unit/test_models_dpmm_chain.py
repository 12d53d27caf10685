"""The chain of a mixture as the loop has it: what options become, and what an iteration is given."""

import numpy as np
import pytest

from pysgrld.corpus.minibatches import Epochs, OnePass
from pysgrld.errors import UsageError
from pysgrld.models.dpmm.chain import MixtureChain, mixture_settings
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.dpmm.slice_sampling import Mixture, Settings
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.run.identity import differences, identity
from pysgrld.types import Documents

WORDS, DOCUMENTS = 9, 30


def corpus():
    """Documents that have few of the words, and never the first two."""
    rng = np.random.default_rng(1)
    rows = [np.sort(rng.choice(np.arange(2, WORDS), 3, replace=False)) for _ in range(DOCUMENTS)]
    counts = rng.integers(1, 4, 3 * DOCUMENTS).astype(np.int32)
    indptr = np.arange(0, 3 * DOCUMENTS + 1, 3)
    return Documents(indptr, np.concatenate(rows).astype(np.int32), counts)


def options(**given):
    given = {name.replace("_", "-"): value for name, value in given.items()}
    facts = Facts(DOCUMENTS, WORDS, corpus().tokens, 0, lambda *_: WORDS)
    return resolve({"model": "dpmm", "minibatch": 10} | given, facts).options


def chain(train=None, **given):
    train = np.arange(DOCUMENTS) if train is None else train
    o = options(**given)
    stream = Epochs.of(o, corpus(), train)
    return find_model("dpmm").chain(o, stream, CorpusFacts(WORDS, 100), RunOn(1))


def test_options_are_settings():
    """Red with: any two of them exchanged."""
    given = {
        "algo": "scir",
        "eta": (0.25,),
        "dp_prior": (2.0, 3.0),
        "dp_conc": "ew",
        "dp_start": 7,
        "step_size": (0.4, 5.0, 0.5),
        "dp_stick_step": 0.6,
        "dp_reuse": "on",
    }
    assert mixture_settings(options(**given)) == Settings(
        algo="scir",
        base=0.25,
        shape=2.0,
        rate=3.0,
        start=7,
        step=0.4,
        stick_step=0.6,
        concentration="escobar-west",
        swaps=True,
        reuse=True,
    )
    plain = mixture_settings(options())
    assert plain == Settings(
        "scir", base=0.5, shape=1.0, rate=1.0, start=60, step=0.1, stick_step=0.1, swaps=True
    )
    langevin = mixture_settings(options(algo="sgrld"))
    assert (langevin.step, langevin.stick_step) == (0.001, 0.005)


@pytest.mark.parametrize(
    ("given", "concentration", "swaps"),
    [
        ({"algo": "gibbs"}, "escobar-west", False),
        ({"algo": "gibbs", "dp_conc": "sticks"}, "sticks", True),
        ({"algo": "gibbs", "dp_conc": "sticks", "dp_swaps": "off"}, "sticks", False),
        ({"algo": "scir"}, "sticks", True),
        ({"algo": "scir", "dp_conc": "ew"}, "escobar-west", True),
        ({"algo": "sgrld", "dp_swaps": "off"}, "sticks", False),
        ({"preset": "dpmm-2018"}, "sticks", False),
    ],
)
def test_components_have_no_order_or_swap_labels(given, concentration, swaps):
    """Red with: ``sticks`` by default for all; swaps beside a preset, or where there is no order."""
    minibatch = {"minibatch": None} if given.get("algo") == "gibbs" else {}
    settings = mixture_settings(options(**(given | minibatch)))
    assert (settings.concentration, settings.swaps) == (concentration, swaps)


def test_a_run_older_than_swaps_goes_on_without_them_or_is_another():
    """Red with: swaps that are recorded as off, or that a record without them is taken to have."""
    old = {"options": options(dp_swaps="off").plain()}
    del old["options"]["dp-swaps"]
    assert mixture_settings(MixtureOptions.from_values(old["options"])).swaps is False
    without, with_them = (identity({"options": options(dp_swaps=s).plain()}) for s in ("off", "on"))
    assert identity(old).digest == without.digest
    assert differences(identity(old).fields, with_them.fields) == ["dp-swaps: none -> on"]


def test_an_iteration_has_words_of_the_vocabulary_and_the_decayed_step(monkeypatch):
    """Red with: words as a minibatch numbers them; steps that are unchanged."""
    seen = []
    monkeypatch.setattr(
        Mixture,
        "iterate",
        lambda self, some, ids, pace: (
            seen.append((some, ids, pace)),
            setattr(self, "step", self.step + 1),
        ),
    )
    run = chain(step_size=(0.4, 5.0, 0.5))
    visits = [run.advance() for _ in range(4)]
    run.close()
    for t, (some, ids, pace) in enumerate(seen):
        whole = corpus().take(ids)
        np.testing.assert_array_equal(some.indices, whole.indices)
        np.testing.assert_array_equal(some.counts, whole.counts)
        assert pace == pytest.approx((1 + t / 5) ** -0.5)
        assert visits[t].step_size == pytest.approx(0.4 * pace)
        assert (visits[t].documents, visits[t].tokens) == (10, some.tokens)
    assert sorted(np.concatenate([ids for _, ids, _ in seen[:3]])) == list(range(DOCUMENTS))


def test_all_documents_are_seen_by_gibbs():
    run = chain(algo="gibbs", minibatch=None)
    assert run.noise_inflation == 1.0
    assert [run.advance().documents for _ in range(2)] == [DOCUMENTS] * 2
    run.close()


def test_training_documents_may_be_any_of_the_corpus():
    """Numbers of documents key them, places hold them. Red with: a number for a place."""
    train = np.arange(1, DOCUMENTS, 2)
    run = chain(train, minibatch=5)
    for _ in range(6):
        run.advance()
    assert len(run.z) == len(train)
    found = run.metrics()
    assert found["components"] == len(np.unique(run.z))
    assert found["components_of_ten"] == (np.bincount(run.z) >= 10).sum()
    assert found["concentration"] == run.concentration
    w = run.sample()["w"]
    assert w.shape == (1, run.components + 1)
    assert w.sum() == pytest.approx(1.0, rel=1e-6)
    np.testing.assert_array_equal(run.sample()["phi"].T, run.draw()["phi"])
    run.close()


def test_noise_of_minibatches_is_told():
    run = chain(step_size=(0.4, 1.0, 0.0))
    assert run.noise_inflation == pytest.approx(1.0 + np.tanh(0.2) * 3)
    run.close()


def test_a_corpus_that_is_read_once_is_refused():
    o = options()

    class Nothing:
        def take(self, n):
            return corpus().take(np.zeros(0, np.int64))

    stream = OnePass(corpus(), np.arange(10), 10, Nothing(), DOCUMENTS, 5, 0)
    with pytest.raises(UsageError, match="corpus must be stored"):
        MixtureChain(o, stream, WORDS, 100, 1)
