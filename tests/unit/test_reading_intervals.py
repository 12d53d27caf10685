"""What intervals are of, and what is said of them.

docs/choosing-a-sampler.md, "What the draws are of".
"""

import math

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld import LDA
from pysgrld.cli import main
from pysgrld.reading.results import Results

COUNTS = np.random.default_rng(0).poisson(1.0, (80, 9)) + 1
#: The default on a corpus of this size: a quarter of it in a minibatch.
DEFAULT = {"minibatch": 20, "warm_up": 0}


@pytest.fixture
def run(tmp_path):
    """The folder of a model that was fitted for a moment."""

    def save(**options):
        model = LDA(3, burn_in=0, max_iter=5, holdout=0, n_jobs=1, **options).fit(COUNTS)
        model.save(tmp_path / f"run-{len(list(tmp_path.iterdir()))}")
        return max(tmp_path.iterdir())

    return save


def test_exact_samplers_have_credible_intervals(run):
    found = Results(run(algo="gibbs"), 1).spread()
    assert found.faithful
    assert (found.noise, found.width, found.remedy) == (1.0, 1.0, None)
    assert found.title == "90 % interval"
    assert found.remark() is None


def test_noise_is_told_and_what_corrects_it_does(run):
    """Red with: a remedy whose step is rounded up; one that leaves documents few sweeps."""
    found = Results(run(**DEFAULT, step_size=(1.0, 1.0, 0.0)), 1).spread()
    assert not found.faithful
    assert found.noise == pytest.approx(1 + math.tanh(0.5) * 4)
    assert found.width == pytest.approx(math.sqrt(found.noise * 2 / 3))
    assert found.title == "90 % of draws"
    assert "1.4 times as wide as credible intervals" in found.remark()
    assert found.remedy in found.remark()
    step, sweeps = found.remedy.split()[1::2]
    better = tuple(map(float, step.split(",")))
    again = Results(run(**DEFAULT, step_size=better, sweeps=int(sweeps)), 1).spread()
    assert again.faithful
    assert 1.45 < again.noise <= 1.5
    assert again.remark() is None


def test_few_sweeps_are_told_where_there_is_little_noise(run):
    found = Results(run(**DEFAULT, step_size=(0.01, 1.0, 0.0)), 1).spread()
    assert not found.faithful
    assert "start afresh with few sweeps; give --sweeps 40" in found.remark()


def test_where_no_factor_is_known_none_is_told(run):
    found = Results(run(algo="sgrld", **DEFAULT), 1).spread()
    assert not found.faithful
    assert (found.noise, found.width, found.remedy) == (None, None, None)
    assert "is not known; compare with --algo gibbs" in found.remark()


def test_the_table_says_what_its_intervals_are(run):
    """Red with: "90 % interval" over the draws of any run."""
    said = CliRunner().invoke(main, ["topics", str(run(**DEFAULT)), "--intervals"]).output
    assert max(map(len, said.splitlines()[-3:])) <= 80
    assert "90 % interval" not in said
    assert "90 % of draws\n" in said
    assert "times as wide as credible intervals" in " ".join(said.split())
