"""Shards of a corpus built by an array of jobs: one is killed, and all are submitted again."""

from __future__ import annotations

import json
import signal

import pytest
from trial_counts import counts

from pysgrld.corpus import Corpus


@pytest.mark.row(69)
@counts(3, 30)
def test_a_shard_that_is_killed_is_named_and_built_by_the_same_array_again(forks, trials, n):
    """Red with: a shard that is taken for built when its folder is half-made; one merged without it."""
    for i in range(3):
        rows = [{"id": f"d{i}-{j}", "text": f"red blue {'green ' * (j % 4)}"} for j in range(30)]
        (forks.folder / f"{i}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (forks.folder / "words.txt").write_text("red\nblue\ngreen\n")
    files = "0.jsonl", "1.jsonl", "2.jsonl"
    build = "corpus", "build", *files, "--vocab", "words.txt", "--id-field", "id", "-o"
    forks(*build, "whole")
    whole = known(forks.folder / "whole")
    killed, nth = True, 1
    while killed:
        name = f"c{nth}"
        for shard in ("1/3", "3/3"):
            forks(*build, name, "--shard", shard)
        child = forks.start(nth, *build, name, "--shard", "2/3", call="build_killed_at")
        killed = child.wait() == -signal.SIGKILL
        shards = forks.folder / f"{name}.shards"
        if not (shards / "0002-of-0003").exists():
            said = forks("corpus", "merge", name, code=66)
            assert "lacks 1 shard of 3: 2; build the missing shards" in said
            assert not (forks.folder / name).exists()
        for shard in ("1/3", "2/3", "3/3"):
            forks(*build, name, "--shard", shard)
        forks("corpus", "merge", name)
        assert known(forks.folder / name) == whole
        nth += 90 // n
        trials()
    assert nth > 60


def known(folder):
    """Return a corpus's bytes except compressed texts and the record of its making, and its texts."""
    corpus = Corpus.open(folder)
    return corpus.about.texts(range(corpus.documents)), {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("meta.json", "texts.npz")
    }
