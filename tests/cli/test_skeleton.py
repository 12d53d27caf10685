"""A model that is a folder and a table row: all commands accept it, and all contracts hold.

The folder is tests/skeletons/multinomial, the row is in tests/with_skeleton.py. Red with: ``--chains``
whose processes know the models of the package only; a reader, a scorer or an option that is asked for
by the name of a model.
"""

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.cli

TESTS = Path(__file__).parents[1]
SKELETON = (sys.executable, TESTS / "with_skeleton.py")
#: A very short run, which is stopped after 15 of its iterations.
RUN = (
    *(
        "--model",
        "multinomial",
        "--power",
        "0.5",
        "--eta",
        "30",
        "--minibatch",
        "50",
        "--set",
        "warm-up=5",
    ),
    *("--set", "sample-every=2", "--iterations", "60"),
)


@pytest.fixture(scope="module")
def skeleton(tmp_path_factory, sgmc_module, quarter):
    """The command with the skeleton model in its table, in a folder with a finished run ``whole``."""
    command = type(sgmc_module)(tmp_path_factory.mktemp("skeleton"), SKELETON, quarter)
    command.train("--threads", "1", out="whole", base=RUN)
    return command


def digest(run):
    """Return digests of the latest checkpoint's state and of all stored samples."""
    newest = max((run / "checkpoints").glob("step-*"))
    files = [newest / "state.safetensors", *sorted((run / "samples").glob("step-*"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


@pytest.mark.nightly  # by day tests/cli/test_same_bits.py
def test_stopped_and_killed_it_goes_on_on_any_number_of_threads(skeleton):
    often = ("--checkpoint-every", "7", "--threads", "4")
    code, _ = skeleton.stop_midway(signal.SIGTERM, *often, out="stopped", base=RUN)
    assert code == 85
    code, said = skeleton.stop_midway(signal.SIGKILL, *often, out="stopped", base=RUN)
    assert code == -signal.SIGKILL
    assert "resumes from iteration" in said
    said = skeleton.train(*often, out="stopped", base=RUN).stderr
    assert "resumes from iteration" in said
    assert "the prior outweighs the data" in said
    assert digest(skeleton.folder / "stopped") == digest(skeleton.folder / "whole")


def test_a_run_is_read_by_all_commands(skeleton, quarter):
    scores = json.loads(skeleton("eval", "whole", "--json").stdout)
    assert 500 < scores["token_perplexity"] < 800
    topics = json.loads(skeleton("topics", "whole", "--json").stdout)["topics"]
    assert [word["word"] for word in topics[0]["words"][:2]] == ["lord", "god"]
    skeleton("infer", "whole", quarter, "-o", "theta.npy")
    assert (np.load(skeleton.folder / "theta.npy") == np.ones((298, 1))).all()
    skeleton("export", "whole", "--to", "npy", "-o", "exported")
    phi = np.load(skeleton.folder / "exported" / "topics.npy")
    np.testing.assert_allclose(phi.sum(axis=1, dtype=float), [1.0], rtol=1e-5)
    assert "good" in skeleton("checkpoint", "verify", "whole").stdout


@pytest.mark.nightly  # by day tests/cli/test_chains.py
def test_chains_are_trained_and_compared(skeleton):
    skeleton.train("--chains", "2", "--threads", "2", out="two", base=RUN)
    found = json.loads(skeleton("diagnose", "two", "--json").stdout)
    assert found["topics"][0]["overlap"] > 0.9
    assert digest(skeleton.folder / "two/chain-1") == digest(skeleton.folder / "whole")


def test_its_options_are_in_the_help_and_others_are_refused_with_its_reason(skeleton):
    text = " ".join(skeleton("train", "--help-all").stdout.split())
    assert "Multinomial (--model multinomial): --power P" in text
    assert "multinomial: 1]" in text.split("--eta")[1]
    said = skeleton.train("-k", "3", out="refused", base=RUN, code=2).stderr
    assert "--topics does not apply to --model multinomial: all documents have one" in said


def test_it_keeps_the_promises_of_every_family():
    """The contract tests, with its row in the table."""
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "with_skeleton",
                "-p",
                "no:cacheprovider",
                "-q",
            ),
            *("unit/test_contract.py", "-k", "multinomial or models or preset"),
        ],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 60, done.stdout
