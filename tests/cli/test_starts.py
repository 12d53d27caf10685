"""The short chains at the start of training: stopped, killed, and on any number of threads."""

import hashlib
import signal

import pytest

from .conftest import SMALL

pytestmark = pytest.mark.cli
CLUSTERS = (*SMALL, "--set", "starts=6")


def digest(run):
    newest = max((run / "checkpoints").glob("step-*"))
    return hashlib.sha256((newest / "state.safetensors").read_bytes()).hexdigest()


def test_a_stop_or_a_kill_in_a_short_chain_changes_nothing(sgmc):
    """Red with: a checkpoint of topics at random, which the next start went on from."""
    given = {"base": CLUSTERS}
    code, said = sgmc.stop_midway(signal.SIGTERM, word="6 short chains", **given)
    assert code == 85
    assert "SIGTERM: stopped before the first iteration; run the same command again" in said
    killed = given | {"out": "killed"}
    code, _ = sgmc.stop_midway(signal.SIGKILL, word="6 short chains", **killed)
    assert code == -signal.SIGKILL
    sgmc.train(**killed)
    sgmc.train(**given)
    sgmc.train("--threads", "2", out="other", **given)
    assert len({digest(sgmc.folder / name) for name in ("run", "killed", "other")}) == 1


def test_it_is_said_how_training_begins(sgmc):
    args = ("train", sgmc.corpus, *SMALL, "--set", "starts=2", "--iterations", "1", "--out", "run")
    said = sgmc(*args).stderr
    assert "first topics from 2 short chains of 24 iterations" in said
    assert "short chains" not in sgmc.train(out="random").stderr


def parts(run):
    """Return the steps of the stored short chains, by number."""
    names = (path.name.split("-") for path in (run / "short-chains").glob("part-*"))
    return {int(name[1]): int(name[3]) for name in names}


def test_a_start_that_is_killed_continues_at_the_next_short_chain(sgmc, quarter):
    """Red with: short chains that every start trains from the first on."""
    run = sgmc.folder / "run"
    base = (*SMALL, "--iterations", "40", "--set", "starts=8", "--set", "warm-up=40")
    for _ in range(3):  # none of these runs is refused for lack of progress
        before = parts(run)
        sgmc.kill_at("part.rename:3", "train", quarter, *base, "--out", "run")
        after = parts(run)
        assert all(after[number] >= step for number, step in before.items())
        assert sum(after.values()) > sum(before.values())
    sgmc.train(base=base)
    assert not (run / "short-chains").exists()
    sgmc.train(base=base, out="other")
    assert digest(run) == digest(sgmc.folder / "other")


def test_a_damaged_short_chain_is_trained_again(sgmc, quarter):
    """Red with: topics of a damaged file; a run that ends for it."""
    run, given = sgmc.folder / "run", {"base": CLUSTERS}
    sgmc.kill_at("part.rename:5", "train", quarter, *CLUSTERS, "--out", "run")
    path = min(run.glob("short-chains/part-*-step-00000024-*"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "the short chain of this file is trained again" in sgmc.train(**given).stderr
    sgmc.train(out="other", **given)
    assert digest(run) == digest(sgmc.folder / "other")
