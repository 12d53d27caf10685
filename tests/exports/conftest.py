"""Small runs of every model, over documents with names, columns and odd ids."""

import json
from pathlib import Path

import fork_server
import numpy as np
import pytest

from pysgrld.reading.pooled import read_together
from pysgrld.reading.results import Results
from pysgrld.report.exports import FORMATS, ExportRequest, export
from pysgrld.run import find_chains

FAMILIES = {
    "lda": ("--algo", "gibbs", "-k", "4", "--chains", "2"),
    "dlda": ("--layers", "4,3", "--algo", "tlasgr", "--set", "warm-up=0"),
    "dpmm": ("--model", "dpmm"),
    "sam": ("--model", "sam", "-k", "4"),
    "ovb": ("--algo", "ovb", "-k", "4"),
}
SAMPLES = ("--set", "burn-in=5", "--set", "sample-every=1")
WORDS = [f"wörd{i}" for i in range(30)]


def record(number, rng):
    """Return a document of two topics by its number; some columns lack values."""
    half = rng.integers(0, 15, 20) + 15 * (number % 2)
    return {
        "id": f"p {number}\tx",
        "group": ["space", "=law", None][number % 3],
        "year": 1990 + number if number % 5 else None,
        "when": f"2020-01-{1 + number % 28:02d}",
        "weight": number / 7,
        "tokens": f"clash {number}",
        "text": " ".join(WORDS[w] for w in half),
    }


@pytest.fixture(scope="session")
def chains(tmp_path_factory):
    """Return the chains of a model's run, which is trained briefly at its first use."""
    folder, runs = tmp_path_factory.mktemp("runs"), {}
    rng = np.random.default_rng(2)
    lines = [json.dumps(record(number, rng)) for number in range(60)]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    kept = "group,year,when:time,weight,tokens:string"

    def give(name):
        if name not in runs:
            more = () if name == "ovb" else SAMPLES
            more += ("--iterations", "45", "--holdout", "6", "--meta-field", kept, "-q")
            more += ("--out", str(folder / name))
            words = ["sgmc", "train", str(folder / "corpus.jsonl"), *FAMILIES[name], *more]
            done = fork_server.shared().run(words, folder, text=True, seconds=240)
            assert done.returncode == 0, done.stderr
            paths = find_chains(folder / name) or [folder / name]
            runs[name] = [Results(path, 1) for path in paths]
        return runs[name]

    return give


@pytest.fixture
def exported(chains, tmp_path):
    """Export a model's run, its first chain or all chains, and return the folder."""

    def give(name, to, *, out="out", draw=None, top=None, together=False, **asked) -> Path:
        row = FORMATS[to]
        request = ExportRequest(
            to, tmp_path / out, draw or row.draws[0], row.top or 0 if top is None else top, **asked
        )
        number = len(chains(name)) if together or to == "arviz" else 1
        done = export(read_together(chains(name)[:number], tmp_path / name), request)
        assert done.path.parent == tmp_path / out
        return done.path.parent

    return give
