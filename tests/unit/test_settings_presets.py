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
            with pytest.raises(UsageError, match=f"--preset {preset} is for --algo"):
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
