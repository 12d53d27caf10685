"""Models after fit: pickled, saved, loaded, interrupted; their samples, and lines on the way."""

import copy
import io
import pickle
import signal

import joblib
import numpy as np
import pytest

from pysgrld import LDA, SAM, DeepLDA, DPMixture
from pysgrld.chain.blocks import BlockChain
from pysgrld.errors import UsageError
from pysgrld.estimators import fitting as resources
from pysgrld.reading.results import Results

COUNTS = np.kron(np.eye(3, dtype=int), np.ones((20, 6), dtype=int)) * 2
SHORT = {"max_iter": 60, "burn_in": 5, "n_jobs": 1}


def used(model):
    return model.transform if hasattr(model, "transform") else model.predict_proba


@pytest.mark.parametrize(
    "model",
    [
        LDA(3, **SHORT),
        LDA(3, algo="gibbs", **SHORT),
        LDA(3, algo="ovb", max_iter=20),
        DeepLDA((3, 2), holdout=0, **SHORT),
        DeepLDA((3, 2), link="real", holdout=0, **SHORT),
        DPMixture(**SHORT),
        SAM(3, weighting="tf", **SHORT),
    ],
    ids=lambda model: repr(model)[:20],
)
def test_a_model_is_pickled_and_copied(model, tmp_path):
    """Red with: "cannot pickle 'pysgrld._core.Workspace' object"."""
    model.fit(COUNTS)
    joblib.dump(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert repr(other) == repr(model)
        assert used(other)(COUNTS).tobytes() == used(model)(COUNTS).tobytes()


def test_a_pickled_model_goes_on_to_the_bit():
    model = LDA(3, holdout=0, **SHORT).fit(COUNTS)
    other = copy.deepcopy(model)
    for each in (model, other, model, other):
        each.partial_fit(COUNTS[::2])
    assert other.n_iter_ == 62
    assert other.components_.tobytes() == model.components_.tobytes()


def test_a_model_that_is_not_fitted_is_pickled():
    assert repr(pickle.loads(pickle.dumps(LDA(3)))) == "LDA(n_components=3)"


def test_the_perplexity_of_a_fit_is_kept_until_the_chain_goes_on(tmp_path):
    """Red with: a figure that is lost, or a run that cannot be read after one more iteration."""
    model = LDA(3, **SHORT).fit(COUNTS)
    model.save(tmp_path / "one")
    again = LDA.load(tmp_path / "one")
    assert again.perplexity_ == model.perplexity_
    for _ in range(5):  # to one more posterior sample
        again.partial_fit(COUNTS)
    assert not hasattr(again, "perplexity_")
    again.save(tmp_path / "two")
    assert LDA.load(tmp_path / "two").n_iter_ == 65


@pytest.mark.parametrize("algo", ["gibbs", "cgs"])
def test_a_run_that_cannot_go_on_without_its_corpus_is_read(algo, tmp_path):
    """Red with: refused."""
    model = LDA(3, algo=algo, **SHORT).fit(COUNTS)
    model.save(tmp_path / "run")
    again = LDA.load(tmp_path / "run")
    assert again.transform(COUNTS).tobytes() == model.transform(COUNTS).tobytes()
    with pytest.raises(UsageError, match="needs the whole corpus"):
        again.partial_fit(COUNTS)


def test_the_unit_of_reals_is_saved(tmp_path):
    """Red with: the unit of whatever is transformed first."""
    x = COUNTS * 0.37
    model = DeepLDA((3, 2), link="real", holdout=0, **SHORT).fit(x)
    model.save(tmp_path / "run")
    again = DeepLDA.load(tmp_path / "run")
    assert again.transform(x / 2).tobytes() == model.transform(x / 2).tobytes()


# ---- Ctrl-C, and lines


def interrupt_at(steps, ctrl_c, monkeypatch):
    """Press Ctrl-C within these iterations."""
    advance = BlockChain.advance

    def interrupted(chain, batch=None):
        found = advance(chain, batch)
        for _ in range(steps.count(chain.step)):
            ctrl_c()
        return found

    monkeypatch.setattr(BlockChain, "advance", interrupted)


def test_ctrl_c_leaves_a_model_of_the_iterations_so_far(ctrl_c, monkeypatch):
    """Red with: everything lost, or a sample in the mean that is not counted."""
    model, whole = (LDA(3, **SHORT | {"max_iter": n}) for n in (60, 30))
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        interrupt_at([30], ctrl_c, patch)
        with pytest.raises(KeyboardInterrupt):
            model.fit(COUNTS)
    assert signal.getsignal(signal.SIGINT) == before
    assert model.n_iter_ == 30
    assert model.components_.tobytes() == whole.fit(COUNTS).components_.tobytes()
    assert model.partial_fit(COUNTS).n_iter_ == 31


def test_a_second_ctrl_c_stops_at_once(ctrl_c, monkeypatch):
    interrupt_at([30, 30], ctrl_c, monkeypatch)
    model = LDA(3, **SHORT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(COUNTS)
    assert model.n_iter_ == 30  # what was fitted so far is there
    assert model.transform(COUNTS).shape == (len(COUNTS), 3)


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (LDA(3, holdout=0, verbose=1, **SHORT), "LDA: iteration 60 of 60, 11 posterior samples, "),
        (DPMixture(verbose=True, **SHORT), "DPMixture: iteration 60 of 60, "),
    ],
)
def test_lines_say_how_far_a_fit_is(model, line, capsys):
    model.fit(COUNTS)
    assert capsys.readouterr().out.splitlines()[-1].startswith(line)
    model.set_params(verbose=0).fit(COUNTS)
    assert capsys.readouterr().out == ""


class Terminal(io.StringIO):
    """Standard error of somebody who watches."""

    def isatty(self):
        return True


def test_a_bar_shows_a_fit_to_somebody_who_watches(monkeypatch, capsys):
    """Red with: no bar by default; a bar that stays; a bar in a file; one for verbose=0."""
    monkeypatch.setattr(resources, "PATIENCE", 0.0)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    LDA(3, holdout=0, **SHORT).fit(COUNTS)
    assert "LDA" in screen.getvalue()
    assert screen.getvalue().endswith("\r")
    for model, error in (
        (LDA(3, holdout=0, **SHORT), io.StringIO()),
        (LDA(3, holdout=0, verbose=0, **SHORT), Terminal()),
    ):
        monkeypatch.setattr("sys.stderr", error)
        model.fit(COUNTS)
        assert error.getvalue() == ""
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["verbose", "keep_samples"])
@pytest.mark.parametrize("value", [-1, 1.5, "much", None])
def test_a_number_that_is_none_is_refused(name, value):
    wanted = 'a whole number >= 0, or "auto"'
    with pytest.raises(ValueError, match=f"^{name}: wanted {wanted}, found {value!r}"):
        LDA(3, **{name: value}, **SHORT).fit(COUNTS)
    if name == "verbose":
        with pytest.raises(ValueError, match=f"^verbose: wanted {wanted}, found {value!r}"):
            DPMixture(verbose=value, **SHORT).fit(COUNTS)


# ---- posterior samples


@pytest.mark.parametrize("algo", ["scir", "gibbs"])
def test_kept_samples_are_spread_evenly_and_saved(algo, tmp_path):
    """Red with: as many as were taken; only the last ones; none in the run that is saved."""
    model = LDA(3, algo=algo, keep_samples=4, holdout=0, **SHORT).fit(COUNTS)
    assert model.n_samples_ == 11
    assert list(model._samples) == [25, 45]  # the 4th and the 8th
    samples = model.samples()
    assert samples.shape == (2, 3, 18)
    np.testing.assert_allclose(samples.sum(axis=2), 1.0, atol=1e-5)
    model.save(tmp_path / "run", [f"w{i}" for i in range(18)])
    loaded = LDA.load(tmp_path / "run")
    for other in (loaded, pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(other.samples(), samples)
    assert Results(tmp_path / "run", 1).kept() == [25, 45]


def test_all_samples_are_averaged_to_the_components():
    model = LDA(3, algo="gibbs", keep_samples=50, holdout=0, **SHORT).fit(COUNTS)
    samples = model.samples()
    assert len(samples) == model.n_samples_ == 11
    np.testing.assert_allclose(samples.mean(axis=0), model.components_, atol=1e-6)


def test_samples_of_a_deep_layer_are_over_words():
    model = DeepLDA((3, 2), keep_samples=50, holdout=0, **SHORT).fit(COUNTS)
    assert model.samples(layer=2).shape == (model.n_samples_, 2, 18)


def test_samples_beyond_the_memory_are_refused(monkeypatch):
    """Red with: memory that runs out in mid-fit."""
    monkeypatch.setattr(resources, "allowed_memory", lambda: 8 << 30)
    with pytest.raises(UsageError, match=r"of which 19\.3 GB for samples"):
        LDA(3, keep_samples=96_000_000, **SHORT).fit(COUNTS)


def test_models_without_samples_say_how_to_have_some():
    with pytest.raises(UsageError, match="set keep_samples before fit"):
        LDA(3, keep_samples=0, **SHORT).fit(COUNTS).samples()
