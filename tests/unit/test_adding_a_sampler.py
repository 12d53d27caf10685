"""A sampler with an option of its own is one module and one row: everything else learns of them."""

import json
import subprocess
import sys
from pathlib import Path

from faults_runs import write_corpus

TESTS = Path(__file__).parents[1]

#: Commands in one process that has the sampler.
COMMANDS = """
import json, sys
import with_sampler
from click.testing import CliRunner
from pysgrld.cli import main
done = [CliRunner().invoke(main, typed) for typed in json.loads(sys.argv[1])]
print(json.dumps([(each.exit_code, each.output) for each in done]))
"""


def python(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(TESTS), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_takes_a_sampler_and_its_option_from_the_row(tmp_path):
    """Red with: a list of samplers, or of their options, beside the table."""
    write_corpus(tmp_path / "corpus.txt")
    few = "-k 4 --iterations 40 --set starts=1 --minibatch 20 --sweeps 2 -q"
    train = f"train corpus.txt {few} --algo"
    commands = (
        "train --help-all",
        f"{train} drift --drift-noise 0.3 --out noisy",
        f"{train} drift --out usual",
        *(f"topics {name} --json" for name in ("noisy", "usual")),
        f"{train} scir --drift-noise 1",
    )
    typed = json.dumps([command.split() for command in commands])
    codes, said = zip(*json.loads(python(tmp_path, "-c", COMMANDS, typed)), strict=True)
    assert codes == (0, 0, 0, 0, 0, 2), said
    assert "--drift-noise A" in said[0]
    noisy, usual = (
        json.loads((tmp_path / name / "config.json").read_text()) for name in ("noisy", "usual")
    )
    assert noisy["options"]["drift-noise"] == 0.3
    assert usual["options"]["drift-noise"] == 0.1
    assert "drift-noise" in usual["defaults"]
    assert said[3] != said[4]
    assert "--drift-noise does not apply to --algo scir" in said[5]


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
