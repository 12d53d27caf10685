"""A sampler with an option of its own is one module and one row: everything else learns of them."""

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
CORPUS = TESTS.parent / "data" / "docword.bible.txt.gz"


def python(folder, *arguments, code=0):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(TESTS), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def sgmc(folder, *arguments, code=0):
    return python(folder, str(TESTS / "with_sampler.py"), *arguments, code=code)


def test_the_command_takes_a_sampler_and_its_option_from_the_row(tmp_path):
    """Red with: a list of samplers, or of their options, beside the table."""
    assert "--drift-noise A" in sgmc(tmp_path, "train", "--help-all")
    few = (
        "-k",
        "4",
        "--iterations",
        "40",
        "--set",
        "starts=1",
        "--minibatch",
        "50",
        "--sweeps",
        "2",
        "-q",
    )
    run = ("train", str(CORPUS), "--algo", "drift", *few)
    sgmc(tmp_path, *run, "--drift-noise", "0.3", "--out", "noisy")
    assert (
        json.loads((tmp_path / "noisy" / "config.json").read_text())["options"]["drift-noise"]
        == 0.3
    )
    sgmc(tmp_path, *run, "--out", "usual")
    usual = json.loads((tmp_path / "usual" / "config.json").read_text())
    assert usual["options"]["drift-noise"] == 0.1
    assert "drift-noise" in usual["defaults"]
    topics = [sgmc(tmp_path, "topics", name, "--json") for name in ("noisy", "usual")]
    assert topics[0] != topics[1]
    said = sgmc(
        tmp_path, "train", str(CORPUS), "--algo", "scir", "--drift-noise", "1", *few, code=2
    )
    assert "--drift-noise does not apply to --algo scir" in said


def test_the_estimator_takes_them_too(tmp_path):
    """Red with: parameters, or a docstring, that are written by hand."""
    code = """
import with_sampler
import numpy as np
from pysgrld import LDA

assert '"drift"' in LDA.__doc__
assert "drift_noise : float, optional\\n    Of drift: standard deviation" in LDA.__doc__
counts = np.kron(np.eye(2, dtype=int), np.ones((20, 6), dtype=int))
given = {"n_components": 2, "algo": "drift", "max_iter": 60, "holdout": 0}
quiet, noisy = (LDA(**given, drift_noise=noise).fit(counts) for noise in (0.0, 0.5))
assert quiet.get_params()["drift_noise"] == 0.0
assert not np.array_equal(quiet.components_, noisy.components_)
try:
    LDA(**given, drift_noise="much").fit(counts)
except ValueError as error:
    assert "drift_noise: wanted A, found 'much'" in str(error), error
else:
    raise AssertionError("no error")
"""
    python(tmp_path, "-c", code)
