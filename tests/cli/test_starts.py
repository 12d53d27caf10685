"""The short chains that training begins with: stopped, killed, and on any number of threads."""

import hashlib
import signal

import pytest

from .conftest import BIBLE, SMALL

pytestmark = pytest.mark.cli
CLUSTERS = (*SMALL, "--starts", "12")


def digest(run):
    newest = max((run / "checkpoints").glob("step-*"))
    return hashlib.sha256((newest / "state.safetensors").read_bytes()).hexdigest()


def test_a_stop_or_a_kill_in_a_short_chain_changes_nothing(sgmc):
    """Red with: a checkpoint of topics at random, which the next start went on from."""
    code, said = sgmc.stop_midway(signal.SIGTERM, base=CLUSTERS, word="12 short chains")
    assert code == 85
    assert "SIGTERM: stopped before the first iteration; run the same command again" in said
    killed = {"base": CLUSTERS, "out": "killed"}
    code, _ = sgmc.stop_midway(signal.SIGKILL, word="12 short chains", **killed)
    assert code == -signal.SIGKILL
    sgmc.train(**killed)
    sgmc.train(base=CLUSTERS)
    sgmc.train("--threads", "2", base=CLUSTERS, out="other")
    assert len({digest(sgmc.folder / name) for name in ("run", "killed", "other")}) == 1


def test_it_is_said_how_training_begins(sgmc):
    args = ("train", BIBLE, *SMALL, "--starts", "2", "--iterations", "1", "--out", "run")
    said = sgmc(*args).stderr
    assert "2 short chains of 24 iterations first: it begins with clusters of their topics" in said
    assert "short chains" not in sgmc.train(out="random").stderr
