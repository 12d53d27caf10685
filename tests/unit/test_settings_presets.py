"""Published settings: for which algorithms, and what they have in common."""

import pytest

from pysgrld.errors import UsageError
from pysgrld.models.options import PRESETS, check_usage
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS

FACTS = Facts(5000, 2000, 400_000, 10_000, lambda *_: 900)


def resolved(preset, algo=None):
    return resolve({"preset": preset} | ({"algo": algo} if algo else {}), FACTS).options


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_for_its_algorithms_and_begins_without_a_warm_up(preset):
    """Red with: a row of a preset whose options the algorithm has no use for."""
    own = PRESETS[preset].get("algos", {PRESETS[preset]["algo"]: {}})
    for algo in SAMPLERS:
        given = {"preset": preset, "algo": algo}
        if algo not in own:
            with pytest.raises(UsageError, match=f"--preset {preset} applies only to --algo"):
                resolve(given, FACTS)
            continue
        check_usage(given)
        options = resolved(preset, algo)
        assert options.algo == algo
        assert options.warm_up == 0
        assert (options.step_size is None) == (algo in ("gibbs", "vi"))
    assert resolved(preset).algo == PRESETS[preset]["algo"]


@pytest.mark.parametrize("algo", ["tlasgr", "tlfsgr"])
def test_samplers_that_project_clip_unless_asked_to_reflect(algo):
    """By default and as published. Red with: an edge that a preset says over a person."""
    for given in ({"algo": algo}, {"algo": algo, "preset": "dlda-2017"}):
        assert resolve(given, FACTS).options.settings.boundary == "clip"
        assert (
            resolve(given | {"boundary": "reflect"}, FACTS).options.settings.boundary == "reflect"
        )
    assert "boundary" not in resolve({"algo": "scir"}, FACTS).options.plain()


def test_mirrored_langevin_has_the_setting_of_sgrld():
    """But for its steps: the approximation's are ours, the exact one's stay within stability."""
    three = {algo: resolved("smld-2018", algo) for algo in ("smld-approx", "smld", "sgrld")}
    assert resolved("smld-2018").algo == "smld-approx"
    for name in ("topics", "alpha", "eta", "minibatch", "sweeps", "counts", "burn_in"):
        assert len({getattr(options, name) for options in three.values()}) == 1, name
    published = resolved("sgrld-2013")
    for name in ("topics", "alpha", "minibatch", "sweeps", "counts"):
        assert getattr(three["sgrld"], name) == getattr(published, name), name
    assert three["sgrld"].step_size == (0.01, 1000.0, 0.55)
    assert three["smld-approx"].step_size == (0.1, 1000.0, 0.55)
    h = three["smld"].step_size[0]
    assert h * (2000 * 0.01 + 400_000 / 50) < 4.0


#: Every constant of the presets, by preset, algorithm ("": of all) and option: value and source.
#: "Code" is the released code of the authors, if the paper and the supplement that we have name
#: no value. "Here" is ours.
PUBLISHED = {
    ("sgrld-2013", "", "algo"): ("sgrld", "section 4.1, eq. 10"),
    ("sgrld-2013", "", "topics"): (50, "section 5.2: 50 topics were used"),
    ("sgrld-2013", "", "alpha"): (0.01, "section 5.2: both priors were fixed to 0.01"),
    ("sgrld-2013", "", "eta"): (0.0001, "section 5.3: found by a grid search; value: code"),
    ("sgrld-2013", "", "minibatch"): (50, "section 5.3: minibatches of 50 documents"),
    ("sgrld-2013", "", "sweeps"): (50, "section 5.3: found by a grid search; value: code"),
    ("sgrld-2013", "", "warm-up"): (0, "section 4.1: there is none"),
    ("sgrld-2013", "", "counts"): ("sampled", "section 4.1: Gibbs samples of z, eq. 11"),
    ("sgrld-2013", "", "step-size"): (
        (0.01, 1000.0, 0.55),
        "section 5.2: a (1 + t / b)^-c; values: code",
    ),
    # Baker, Fearnhead, Fox, Nemeth (2018), Large-scale stochastic sampling from the probability simplex
    ("scir-2018", "", "algo"): ("scir", "section 2, algorithm 1"),
    ("scir-2018", "", "topics"): (100, "section 4.1: found by a grid search; value: code"),
    ("scir-2018", "", "alpha"): (0.005, "section 4.1: found by a grid search; value: code"),
    ("scir-2018", "", "eta"): (1.0, "section 4.1: found by a grid search; value: code"),
    ("scir-2018", "", "minibatch"): (50, "section 4.1: a minibatch of 50 documents"),
    ("scir-2018", "", "sweeps"): (200, "section 4.1; value: code"),
    ("scir-2018", "", "warm-up"): (0, "section 2, algorithm 1: there is none"),
    ("scir-2018", "", "counts"): ("sampled", "section 4.1: after Patterson and Teh (2013)"),
    ("scir-2018", "", "step-size"): (
        (0.5, 10.0, 0.33),
        "section 4.1: h (1 + m / tau)^-kappa; values: code",
    ),
    ("scir-2018", "", "lazy"): ("off", "section 2, algorithm 1: all rows move"),
    ("dpmm-2018", "", "algo"): ("scir", "section 4.2"),
    ("dpmm-2018", "", "model"): ("dpmm", "section 4.2, eq. 4.1"),
    ("dpmm-2018", "", "eta"): ((0.5,), "section 4.2: a, by a grid search; value: code"),
    ("dpmm-2018", "", "minibatch"): (1000, "section 4.2: n = 1000"),
    ("dpmm-2018", "", "dp-start"): (20, "code"),
    ("dpmm-2018", "", "step-size"): ((0.1, 1.0, 0.0), "section 4.2: fixed; value: code"),
    ("dpmm-2018", "", "dp-stick-step"): (0.1, "section 4.2: fixed; value: code"),
    ("dpmm-2018", "", "dp-swaps"): ("off", "code"),
    ("dpmm-2018", "", "dp-reuse"): ("on", "code"),
    ("dpmm-2018", "sgrld", "eta"): ((0.001,), "section 4.2: a, by a grid search; value: code"),
    ("dpmm-2018", "sgrld", "dp-start"): (30, "code"),
    ("dpmm-2018", "sgrld", "step-size"): ((0.001, 1.0, 0.0), "section 4.2: fixed; value: code"),
    ("dpmm-2018", "sgrld", "dp-stick-step"): (0.005, "section 4.2: fixed; value: code"),
    # Hsieh, Kavis, Rolland, Cevher (2018), Mirrored Langevin dynamics: "exactly the same setting as"
    # Patterson and Teh (section 5.2.1), "see Section 4 and 5" there
    ("smld-2018", "", "algo"): ("smld-approx", "section 5.2.2"),
    ("smld-2018", "", "topics"): (50, "section 5.2.1; Patterson and Teh, section 5.2"),
    ("smld-2018", "", "alpha"): (0.01, "section 5.2.1; Patterson and Teh, section 5.2"),
    ("smld-2018", "", "eta"): ((0.01,), "section 5.2.1; Patterson and Teh, section 5.2"),
    ("smld-2018", "", "minibatch"): (50, "section 5.2.1; Patterson and Teh, section 5.3"),
    ("smld-2018", "", "sweeps"): (50, "section 5.2.1; code of Patterson and Teh"),
    ("smld-2018", "", "warm-up"): (0, "section 5.2.1; Patterson and Teh, section 4.1"),
    ("smld-2018", "", "counts"): ("sampled", "section 5.2.1; Patterson and Teh, section 4.1"),
    ("smld-2018", "smld-approx", "step-size"): (
        (0.1, 1000.0, 0.55),
        "section 5.2.3: found by a grid search, no value; here",
    ),
    ("smld-2018", "sgrhmc", "step-size"): ((0.1, 1000.0, 0.55), "appendix H.2 names none; here"),
    ("smld-2018", "sgrld", "step-size"): (
        (0.01, 1000.0, 0.55),
        "section 5.2.3: as Patterson and Teh",
    ),
    # Cong, Chen, Liu and Zhou (2017), Deep latent Dirichlet allocation with topic-layer-adaptive SGRLD
    ("dlda-2017", "", "algo"): ("tlasgr", "section 3"),
    ("dlda-2017", "", "model"): ("dlda", "section 3"),
    ("dlda-2017", "", "layers"): ((128, 64, 32), "section 5, figures 2 and 3"),
    ("dlda-2017", "", "eta"): ((0.05,), "section 5 has 1 / K; value: code"),
    ("dlda-2017", "", "minibatch"): (200, "section 5: minibatches of 200"),
    ("dlda-2017", "", "warm-up"): (0, "section 3: there is none"),
    ("dlda-2017", "", "burn-in"): (2000, "section 5: 2000 minibatches"),
    ("dlda-2017", "", "sample-every"): (1, "section 5: samples accumulate after the burn-in"),
    ("dlda-2017", "", "counts"): ("sampled", "section 3: augmentable counts by Gibbs sampling"),
    ("dlda-2017", "", "step-size"): ((1.0, 21.0, 0.7), "code"),
    ("dlda-2017", "tlasgr", "boundary"): ("clip", "code"),
    ("dlda-2017", "tlfsgr", "boundary"): ("clip", "code"),
    ("dlda-2017", "sgrld", "step-size"): ((0.1, 21.0, 0.9), "code"),
    ("dlda-2017", "gibbs", "minibatch"): (None, "section 5: the whole corpus"),
    ("dlda-2017", "gibbs", "burn-in"): (1000, "code"),
    ("dlda-2017", "gibbs", "step-size"): (None, "section 5: Gibbs sampling has none"),
    # Liu, Zhu and Song (2016), Stochastic gradient geodesic MCMC methods
    ("sam-2016", "", "algo"): ("sggmc", "section 3"),
    ("sam-2016", "", "model"): ("sam", "section 4"),
    ("sam-2016", "", "topics"): (20, "section 5.3: 20 topics"),
    ("sam-2016", "", "alpha"): (10.0, "code"),
    ("sam-2016", "", "kappa"): (3e4, "code"),
    ("sam-2016", "", "sigma"): (1e4, "code"),
    ("sam-2016", "", "kappa0"): (1e4, "code"),
    ("sam-2016", "", "theta-parametrisation"): ("flat", "code"),
    ("sam-2016", "", "theta-step"): (1e-6, "code"),
    ("sam-2016", "", "sweeps"): (60, "code"),
    ("sam-2016", "", "kept-sweeps"): (20, "code"),
    **{
        ("sam-2016", algo, option): row
        for algo in ("sggmc", "gsgnht")
        for option, row in {
            "minibatch": (50, "section 5.3: 50 as the batch size"),
            "friction": (0.01, "code"),
            "inner-steps": (10, "code"),
            "resample": ("off", "code"),
            "noise-estimate": ("off", "section 3: B is 0; code"),
            "step-size": ((2.45e-3, 1.0, 0.0), "code: sqrt(0.01 / D) of 1,666 documents"),
        }.items()
    },
    ("sam-2016", "gmc-bgibbs", "sweeps"): (15, "code"),
    ("sam-2016", "gmc-bgibbs", "kept-sweeps"): (1, "code"),
    ("sam-2016", "gmc-bgibbs", "leapfrog-steps"): (5, "code"),
    ("sam-2016", "gmc-bgibbs", "step-size"): ((2e-5, 1.0, 0.0), "code"),
    ("sam-2016", "gmc-apprmh", "sweeps"): (25, "code"),
    ("sam-2016", "gmc-apprmh", "kept-sweeps"): (10, "code"),
    ("sam-2016", "gmc-apprmh", "leapfrog-steps"): (1, "code"),
    ("sam-2016", "gmc-apprmh", "step-size"): ((1e-4, 1.0, 0.0), "code"),
    ("sam-2016", "vi", "sweeps"): (100, "section 5.3: until converged; value: here"),
    ("sam-2016", "vi", "kept-sweeps"): (1, "a fit has no draws; here"),
    ("sam-2016", "svi", "sweeps"): (100, "section 5.3: until converged; value: here"),
    ("sam-2016", "svi", "kept-sweeps"): (1, "a fit has no draws; here"),
    ("sam-2016", "svi", "minibatch"): (50, "section 5.3: 50 as the batch size"),
}


def test_every_constant_of_a_preset_is_that_of_its_source():
    """Red with: eta 0.001 of sgrld-2013; exponent 0.55 of scir-2018; a new option without a source."""
    found = {}
    for preset, values in PRESETS.items():
        found |= {(preset, "", name): value for name, value in values.items() if name != "algos"}
        for algo, own in values.get("algos", {}).items():
            found |= {(preset, algo, name): value for name, value in own.items()}
    assert found == {key: value for key, (value, _) in PUBLISHED.items()}
    assert all(source for _, source in PUBLISHED.values())
