"""Scripts that people run by hand, on the little of them that can be wrong without being noticed."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
SCRIPTS = sorted([*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "docs").glob("*.py")])
BIBLE = ROOT / "data" / "docword.bible.txt.gz"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_of_the_package_is_there(path):
    """Also where other tools are not installed. Red with: a module of the package moved away."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "pysgrld":
                    importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "pysgrld":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (
            "defaults.py",
            [BIBLE, "--seconds", "0.5", "--seeds", "1", "-k", "3", "--only", "the defaults"],
        ),
        ("draws.py", ["means", "--iterations", "3", "--documents", "8"]),
        ("lazy_rows.py", ["--words", "300", "--documents", "200", "--topics", "3"]),
        (
            "spectral.py",
            [BIBLE, "--seconds", "0.3", "--chains", "2", "-k", "3", "--starts", "random,recovered"],
        ),
        ("tokeniser.py", ["--runs", "1", ROOT / "tests" / "data" / "tiny.txt"]),
    ],
)
def test_a_script_that_needs_no_other_tool_runs_at_its_smallest(script, arguments):
    """Red with: options written by hand, without one that was added later; a renamed property."""
    needed = {"spectral.py": "scipy", "tokeniser.py": "sklearn"}
    if script in needed:
        pytest.importorskip(needed[script])
    subprocess.run(
        [sys.executable, ROOT / "benchmarks" / script, *arguments],
        check=True,
        timeout=300,
        capture_output=True,
    )


@pytest.fixture
def module(monkeypatch):
    """A module of benchmarks or benchmarks/peers, found as when that folder is run."""
    monkeypatch.syspath_prepend(str(PEERS.parent))
    monkeypatch.syspath_prepend(str(PEERS))
    return importlib.import_module


@pytest.mark.parametrize(("how", "least"), [("recovered", 0.85), ("rows", 0.55)])
def test_anchor_words_give_the_topics_of_a_corpus_that_has_them(module, how, least):
    """Red with: no diagonal taken off; the nearest row for the farthest."""
    sparse = pytest.importorskip("scipy.sparse")
    spectral, rng = module("spectral"), np.random.default_rng(1)
    k, words, tokens = 5, 60, 8
    phi = np.hstack([0.1 * np.eye(k), 0.9 * rng.dirichlet(np.full(words - k, 0.3), k)])
    theta = rng.dirichlet(np.full(k, 0.3), 10_000)
    counts = np.array([rng.multinomial(tokens, p) for p in theta @ phi], np.float32)
    law = spectral.anchored(sparse.csr_matrix(counts), k, rng, 50, how)
    assert law.sum() == pytest.approx(1.0, abs=1e-5)
    found = (law / law.sum(axis=0)).T
    shared = np.minimum(phi[:, None], found).sum(axis=2)
    assert sorted(shared.argmax(axis=1)) == list(range(k))
    assert shared.max(axis=1).min() > least


def test_words_are_spelt_in_letters_and_read_back(module):
    peers = module("contestants")
    spelt = [peers.spell(word) for word in (0, 1, 25, 26, 7701, 26**5 - 1)]
    assert [peers.unspell(word) for word in spelt] == [0, 1, 25, 26, 7701, 26**5 - 1]
    assert all(word.isalpha() and len(word) == 5 for word in spelt)


@pytest.mark.parametrize("sweeps", [2, 6, 9, 10, 11, 99, 250, 1000])
def test_snapshots_never_add_sweeps(module, sweeps):
    before, number, apart = module("contestants").snapshots(sweeps)
    assert before >= 1
    assert before + number * apart == sweeps


def test_topics_are_put_in_the_order_of_our_words(module):
    peers = module("contestants")
    found = peers.spread(
        SimpleNamespace(words=4), np.array([[0.7, 0.1, 0.2]]), [peers.spell(w) for w in (3, 0, 1)]
    )
    np.testing.assert_allclose(found, np.array([[0.1, 0.2, 0.1, 0.7]]) / 1.1)


def test_names_of_lines_are_apart_and_near_their_lines(module):
    pytest.importorskip("matplotlib")
    apart = module("pages").apart
    assert apart([0.1, 0.5, 0.9], 0.05) == [0.1, 0.5, 0.9]
    np.testing.assert_allclose(apart([0.0, 0.01, 0.02, 0.9], 0.05), [0.0, 0.05, 0.1, 0.9])
    placed = apart([0.3, 0.3, 0.31, 0.36, 0.8], 0.05)
    assert np.diff(placed).min() > 0.05 - 1e-12
    assert placed[4] == 0.8
    assert np.mean(placed[:4]) == pytest.approx(np.mean([0.3, 0.3, 0.31, 0.36]))


def test_one_command_gives_points_table_and_plot(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [
            sys.executable,
            PEERS,
            "--corpus",
            "bible",
            BIBLE,
            "--budget",
            "0.3",
            "-k",
            "5",
            "--peers",
            "sgmc scir",
            "-o",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert "| **sgmc scir" in done.stdout
    found = json.loads((tmp_path / "peers.json").read_text())
    (corpus,) = found["corpora"]
    assert (corpus["documents"], corpus["held_out_documents"]) == (1071, 118)
    (peer,) = corpus["peers"]
    seconds = [point["seconds"] for point in peer["points"]]
    assert seconds == sorted(seconds)
    assert peer["points"][-1]["point"] < corpus["unigram"]
    assert str(ROOT) not in json.dumps(found)
    assert (tmp_path / "peers-bible.png").read_bytes().startswith(b"\x89PNG")
