"""Missing memory, and files that change while a run uses them. Rows 56, 57, 58, 63, 81."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from faults.forks import SMALL
from faults_runs import opened, result, sgmc, train_here
from trial_counts import counts

from pysgrld import LDA
from pysgrld.core import core
from pysgrld.errors import CorpusError

HERE = Path(__file__).parent


# ---- row 56


@pytest.fixture
def folder(whole, tmp_path):
    """A folder with only the corpus."""
    shutil.copy(whole / "corpus.txt", tmp_path)
    return tmp_path


@pytest.mark.row(56)
@pytest.mark.parametrize(
    "threads",
    [pytest.param(1, marks=pytest.mark.nightly), 2],  # both read ahead in a thread
)
@pytest.mark.parametrize(
    "change",
    [
        "indices cut",
        "counts cut",
        "indptr cut",
        "indices emptied",
        "indices overwritten",
        "counts overwritten",
        "indptr overwritten",
    ],
)
def test_a_corpus_that_changes_in_mid_run_ends_it_in_a_sentence(
    change, threads, folder, whole, trials
):
    """No SIGBUS: 65 and the name of the file; the checkpoint is good, and the run resumes from it.

    Red with: minibatches gathered from mapped pages (the process dies); word ids not looked at
    again (a traceback).
    """
    corpus = folder / "run" / "corpus"

    def harm(step):
        if step != 7:
            return
        shutil.copytree(corpus, folder / "safe")
        name, what = change.split()[0], change.split()[-1]
        path = corpus / f"{name}.npy"
        size = path.stat().st_size
        if what == "overwritten":
            path.write_bytes(path.read_bytes()[:128] + b"\xee" * (size - 128))
        else:
            os.truncate(path, size // 4 if what == "cut" else 0)

    with pytest.raises(CorpusError, match="npy was changed while it was used") as caught:
        train_here(folder, harm, threads=threads)
    assert caught.value.exit_code == 65
    assert str(corpus) in str(caught.value)
    shutil.rmtree(corpus)
    shutil.copytree(folder / "safe", corpus)
    # some minibatches were ready before the harm was done: these are trained on
    assert any("resumes from iteration " in line for line in train_here(folder))
    assert result(folder) == result(whole)
    trials()


# ---- row 81


@pytest.mark.row(81)
@pytest.mark.parametrize(
    "name", ["indptr", pytest.param("indices", marks=pytest.mark.nightly), "counts"]
)
def test_a_corpus_that_is_cut_while_training_starts_ends_it_in_a_sentence(name, forks, trials):
    """Before each of the first reads of it. Red with: passes over mapped pages (SIGBUS)."""
    forks("corpus", "build", forks.corpus, "-o", "safe")
    reads = 0
    for number in range(1, 40, 4):
        corpus = forks.folder / f"stored-{number}"
        shutil.copytree(forks.folder / "safe", corpus)
        path = corpus / f"{name}.npy"
        size = path.stat().st_size
        args = ["train", corpus.name, *SMALL, "--iterations", "2", "--out", f"run-{number}"]
        child = forks.start(number, str(path), *args, call="cut_at_read")
        if child.wait() == 0:
            break
        assert path.stat().st_size < size
        assert child.code == 65, child.stderr
        assert f"{corpus.name}: " in child.stderr.splitlines()[-1]
        reads += 1
        trials()
    assert reads > 2


# ---- row 57


def docword(folder, documents, words, entries):
    """Write counts in the UCI format, with numbers as the vocabulary."""
    lines = [str(documents), str(words), str(len(entries))]
    lines += [" ".join(map(str, entry)) for entry in entries]
    (folder / "docword.big.txt").write_text("\n".join(lines) + "\n")
    (folder / "vocab.big.txt").write_text("".join(f"w{n}\n" for n in range(words)))
    return "docword.big.txt"


@pytest.mark.row(57)
@pytest.mark.parametrize("what", ["topics", "vocabulary", "long document"])
def test_a_plan_that_is_too_large_is_refused_before_training(what, folder, trials):
    """87, with the sum, its parts and what to change; no run is left.

    Red with: the parts of the plan that it names left out of the sum.
    """
    options = ["--iterations", "3", "--max-memory", "300M", "--threads", "2"]
    if what == "topics":
        arguments = ["corpus.txt", "-k", "262144"]
    elif what == "vocabulary":
        entries = [(d, 1 + w, 1) for d in range(1, 21) for w in (d, d + 20, d + 50)]
        arguments = [docword(folder, 20, 100_000, entries), "-k", "256"]
    else:
        arguments = [docword(folder, 20, 20, [(d, d, 8_000_000) for d in range(1, 21)]), "-k", "4"]
        options += ["--sweeps", "2", "--holdout", "0"]
    done = sgmc(folder, "train", *arguments, "--out", "run", *options, code=87)
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("sgmc: error:")]
    part = {
        "topics": "a minibatch's topics",
        "vocabulary": "posterior mean",
        "long document": "documents in hand",
    }[what]
    for fragment in ("the run needs about", part, "only 300 MB are allowed", "--max-memory"):
        assert fragment in said
    assert not (folder / "run").exists()
    trials()


def peak_of(folder, *words):
    """Run ``sgmc`` in a separate process; return its peak memory in MB, and its messages."""
    code = (
        "import logging, re, sys\n"
        "logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "from pysgrld.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "status = open('/proc/self/status').read()\n"  # ru_maxrss holds the peak of the test as well
        "print('peak', int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1024, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return float(re.search(r"peak ([\d.]+)", done.stderr)[1]), done.stderr


@pytest.mark.row(57)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("-k", "2500", "--set", "starts=1"), marks=pytest.mark.nightly),
        ("-k", "400", "--set", "starts=6"),
    ],
    ids=str,
)
def test_memory_is_no_more_than_planned(options, folder, trials):
    """Many topics that are sampled, and short chains with their clustering.

    Red with: samples, or distances between topics of short chains, that no part of the plan has (which
    take a sixth more, and a third).
    """
    entries = [(d, 1 + w, 1) for d in range(1, 61) for w in range(d, d + 2000, 7)]
    corpus = docword(folder, 60, 2100, entries)
    command = ["train", corpus, *options, "--out", "run", "--threads", "1", "--iterations", "6"]
    command += [
        "--set",
        "warm-up=2",
        "--set",
        "burn-in=2",
        "--set",
        "sample-every=2",
        "--exact-sweeps",
        "0",
    ]
    peak, messages = peak_of(folder, *command, "--sweeps", "2", "-v")
    planned = float(re.search(r"memory needed: about ([\d,]+) MB", messages)[1].replace(",", ""))
    assert peak < 1.08 * planned
    trials()


@pytest.mark.nightly
@pytest.mark.row(57)
def test_a_report_needs_no_more_memory_than_training(folder, trials):
    """300,000 words. Red with: `look` on a copy of the rows, 64 topics at a time, a vocabulary for each
    corpus.
    """
    entries = [(d, 1 + w, 1) for d in range(1, 301) for w in range(d, 300_000, 5000)]
    corpus = docword(folder, 300, 300_000, entries)
    command = ["train", corpus, "-k", "50", "--out", "run", "--threads", "1", "--iterations", "4"]
    training, _ = peak_of(folder, *command, "--set", "starts=1", "--exact-sweeps", "0", "-q")
    report, _ = peak_of(folder, "report", "run", "-o", "page.html", "-q")
    assert report < 1.1 * training
    trials()


# ---- row 58


def short_of_memory(*arguments, **environment):
    """Run the script with the given name; return the faults it found, and its number of trials."""
    paths = os.pathsep.join([str(HERE.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-P", HERE / "short_of_memory.py", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=3600,  # pytest's own limit is shorter
    )
    assert done.returncode == 0, done.returncode
    found = json.loads(done.stdout)
    return found["wrong"], found["trials"]


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The library that makes operator new fail; tests are skipped if it cannot be built or used."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C++ compiler here to build failing_new.cpp with")
    library = tmp_path_factory.mktemp("shim") / "failing_new.so"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            HERE / "failing_new.cpp",
            "-o",
            library,
        ],
        check=True,
    )
    return library


@pytest.mark.row(58)
@counts(1200, 1)
def test_any_allocation_of_the_core_may_fail(n, shim, tmp_path, trials):
    """Of every nth one: a MemoryError, no leaked lock, no crash, and the run goes on to the same bits.

    Red with: a workspace that has noted its size before it had its room (segmentation fault).
    """
    wrong, made = short_of_memory("new", tmp_path, shim, n, LD_PRELOAD=str(shim))
    assert wrong == []
    assert made > 100 / n
    trials(made)


@pytest.mark.row(58)
@counts(3, 400)
def test_any_limit_of_address_space(n, tmp_path, trials):
    """Exit 87 in one line or 0 with fewer threads; the lock is free, and the run can go on.

    Red with: no trial of threads before OpenMP starts them (exit 1); a mapping that fails called a
    damaged corpus (65).
    """
    wrong, made = short_of_memory("space", tmp_path, n)
    assert wrong == []
    trials(made)


# ---- row 63


@pytest.mark.row(63)
@pytest.mark.parametrize(
    ("kept", "topics"),
    [
        *((4, 3), (1, 140)),
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in ((1, 3), (4, 140))),
    ],
)
def test_the_longest_document_is_counted_to_the_token(topics, kept, trials):
    """Tokens times kept sweeps up to 2^24, which float32 holds exactly; one more is refused.

    Red with: a limit of 2^25: the count stands still at 2^24.
    """
    tokens = core.MAX_COLLECTED // kept
    stride = -(-topics // 16) * 16
    phi = core.zeros(1, stride, "float32")
    phi[0, 0] = 1.0  # every token has the same topic, so that one cell holds them all

    def counts_of(tokens):
        return core.documents_gibbs(
            phi=phi,
            topics=topics,
            indptr=np.array([0, 1]),
            indices=np.zeros(1, np.int32),
            counts=np.array([tokens], np.int32),
            doc_ids=np.zeros(1, np.int64),
            alpha=0.1,
            sweeps=kept,
            kept=kept,
            rao_blackwell=False,
            seed=0,
            chain=0,
            step=0,
            purpose=core.Purpose.documents,
            work=core.Workspace(),
            threads=1,
        )[0]

    assert int(counts_of(tokens)[0, 0]) == tokens * kept
    with pytest.raises(ValueError, match=f"document 0 has {tokens + 1} tokens"):
        counts_of(tokens + 1)
    trials(2)


@pytest.mark.row(63)
def test_a_corpus_of_more_than_2_to_the_31_tokens(folder, trials):
    """3.2 billion tokens in 400 documents. Red with: lengths, or counts of words, in 32 bits."""
    entries = [(d, w, 4_000_000) for d in range(1, 401) for w in (1 + d % 5, 6 + d % 5)]
    corpus = docword(folder, 400, 10, entries)
    sgmc(
        folder,
        "train",
        corpus,
        "-k",
        "2",
        "--minibatch",
        "1",
        "--sweeps",
        "2",
        "--set",
        "warm-up=1",
        "--iterations",
        "2",
        "--holdout",
        "0",
        "--out",
        "run",
    )
    assert opened(folder).config["corpus"]["tokens"] == 3_200_000_000
    counted = np.load(folder / "run" / "word-counts.npy")
    assert counted[0].tolist() == [320_000_000] * 10
    lines = opened(folder).read_metrics()
    assert lines[-1]["documents"] == 2
    sums = np.abs(opened(folder).load_checkpoint(required=True).arrays["phi.sums"][:2])
    assert sums.sum() == pytest.approx(3.2e9, rel=0.5)
    trials()


@pytest.mark.row(63)
def test_a_long_document_has_proportions_and_changes_no_other(trials):
    """Too long for 25 sweeps to be counted together, it is counted in one. Red with: 25 for all."""
    model = LDA(n_components=3, random_state=0)
    model.partial_fit(np.array([[30, 1, 2], [1, 20, 2]]))
    both = model.transform(np.array([[3, 4, 1], [900_000, 5, 1]]))
    assert both.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert np.array_equal(both[0], model.transform(np.array([[3, 4, 1]]))[0])
    trials()


@pytest.mark.row(63)
@pytest.mark.parametrize("count", [2**31 - 3, 2**24 + 1])
def test_a_document_that_cannot_be_counted_is_65(count, folder, whole, trials):
    """Named, in training and in inference. Red with: the core's own refusal (70)."""
    corpus = docword(folder, 3, 3, [(1, 1, 5), (2, 1, 2), (2, 2, count), (3, 3, 4)])
    done = sgmc(
        folder,
        "train",
        corpus,
        "-k",
        "2",
        "--iterations",
        "3",
        "--holdout",
        "0",
        "--sweeps",
        "2",
        "--out",
        "run",
        code=65,
    )
    assert f"document 2 has {count + 2:,} tokens" in done.stderr
    assert not (folder / "run").exists()
    model = LDA(n_components=2, random_state=0)
    model.partial_fit(np.array([[3, 1, 2], [1, 2, 2]]))
    with pytest.raises(CorpusError, match="document 2 has"):
        model.transform(np.array([[3, 0, 0], [count, 0, 0]]))
    trials()
