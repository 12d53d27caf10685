"""Cases of the golden hashes: a small run of every model with every algorithm, and variants.

``python tests/golden/cases.py`` writes golden.json anew. Do that only where results for a seed are
meant to change, and say so in the changelog.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Collection
from pathlib import Path

import numpy as np

HASHES = Path(__file__).parent / "golden.json"

_BASE = (
    "--iterations 24 --set warm-up=6 --set burn-in=8 --set sample-every=4 --minibatch 30 --sweeps 4 "
    "--holdout 20 --set samples=10"
)
_WHOLE = "--iterations 24 --set burn-in=8 --set sample-every=4 --holdout 20 --set samples=10"
_FITTED = "--iterations 24 --set sample-every=4 --minibatch 30 --holdout 20"
_MIXED = "--iterations 24 --set burn-in=8 --set sample-every=4 --holdout 20 --set samples=10"
#: What mixtures did by default in 0.1.0.
_OLDER_MIXTURE = "--set dp-conc=sticks --set dp-swaps=off --set dp-start=20"
_SPHERICAL = (
    "--iterations 24 --set burn-in=8 --set sample-every=4 --holdout 20 --set samples=10 -k 5 "
    "--alpha 1.2 --kappa 900 --set sigma=300 --set kappa0=200 --step-size 0.005,5,0.5"
)
_PRESET = (
    "--iterations 12 --set burn-in=4 --set sample-every=4 --minibatch 30 --holdout 20 --sweeps 6"
)

#: Options of ``sgmc train`` by the name of a case.
RUNS = {
    **{
        f"lda-{algo}": f"--model lda --algo {algo} -k 7 {_BASE}"
        for algo in ("scir", "sgrld", "tlasgr", "tlfsgr", "smld", "smld-approx")
    },
    "lda-gibbs": f"--algo gibbs -k 7 --sweeps 2 {_WHOLE}",
    "lda-cgs": f"--algo cgs -k 7 {_WHOLE}",
    "lda-ovb": f"--algo ovb -k 7 {_FITTED}",
    "lda-hsvg": f"--algo hsvg -k 7 --sweeps 4 {_FITTED}",
    "lda-scir-lazy": f"--set lazy=on -k 7 {_BASE}",
    "lda-scir-natural": f"--set cir-rate=natural -k 7 {_BASE}",
    "lda-scir-log": f"--eta 0.005 -k 7 {_BASE}",
    "lda-scir-natural-log": f"--set cir-rate=natural --eta 0.005 -k 7 {_BASE}",
    "lda-scir-sampled": f"--set counts=sampled -k 7 {_BASE}",
    "lda-scir-active": f"-k 140 {_BASE}",
    "lda-scir-learned": f"--alpha learn --eta learn -k 7 {_BASE}",
    "lda-scir-learned-lazy": f"--alpha learn --eta learn --set lazy=on -k 140 {_BASE}",
    "lda-cgs-learned": f"--alpha learn --eta learn --algo cgs -k 7 {_WHOLE}",
    "lda-gibbs-many": f"--algo gibbs -k 140 {_WHOLE}",
    "lda-defaults": "-k 100 --iterations 60 --holdout 20",
    "lda-exact": f"--exact-sweeps 24 -k 7 {_BASE}",
    "lda-exact-learned": f"--alpha learn --eta learn --exact-sweeps 24 -k 7 {_BASE}",
    **{
        f"dlda-{algo}": f"--model dlda --layers 9,5 --algo {algo} {_BASE}"
        for algo in ("scir", "sgrld", "tlasgr", "tlfsgr", "smld", "smld-approx")
    },
    "dlda-gibbs": f"--layers 9,5 --algo gibbs {_WHOLE}",
    "dlda-three": f"--layers 9,5,3 --eta 0.1,0.05,0.2 --link binary {_BASE}",
    "dlda-one": f"--algo tlasgr -k 9 {_BASE}",
    "lda-tlasgr-reflect": f"--model lda --algo tlasgr --set boundary=reflect -k 7 {_BASE}",
    "dpmm-gibbs": f"--model dpmm --algo gibbs {_MIXED}",
    "dpmm-gibbs-sticks": f"--model dpmm --algo gibbs {_OLDER_MIXTURE} {_MIXED}",
    "dpmm-scir": f"--model dpmm --algo scir --minibatch 60 {_MIXED}",
    "dpmm-sgrld": f"--model dpmm --algo sgrld --minibatch 60 {_MIXED}",
    "dpmm-scir-reuse": "--model dpmm --set dp-reuse=on --set dp-swaps=off --set dp-start=9 "
    f"--minibatch 60 {_MIXED}",
    **{
        f"sam-{algo}": f"--model sam --algo {algo} --minibatch 30 --set friction=0.2 --sweeps 8 "
        f"--set kept-sweeps=4 --set noise-estimate={noisy} {_SPHERICAL}"
        for algo, noisy in (("sggmc", "on"), ("gsgnht", "off"))
    },
    "sam-gmc-bgibbs": f"--model sam --algo gmc-bgibbs --set theta-parametrisation=flat {_SPHERICAL}",
    "dtm-sgld": f"--model dtm --time when --slices 4 --set starts=1 -k 5 {_BASE}",
    "dtm-exact": f"--time when --slices 4 --set starts=1 --exact-sweeps 24 -k 5 {_BASE}",
    "dtm-mala": f"--time when --algo mala --set drift=0.3 --set starts=3 -k 5 {_WHOLE}",
    "preset-sgrld-2013": f"--preset sgrld-2013 -k 7 {_PRESET}",
    "preset-scir-2018": f"--preset scir-2018 -k 7 {_PRESET}",
    "preset-dlda-2017": f"--preset dlda-2017 --layers 9,5 {_PRESET}",
    "preset-dlda-2017-gibbs": f"--preset dlda-2017 --algo gibbs --layers 9,5 {_WHOLE}",
    "preset-smld-2018": f"--preset smld-2018 -k 7 {_PRESET}",
    "preset-dpmm-2018": f"--preset dpmm-2018 {_MIXED}",
}

#: All of LDA begin at random but for one.
RUNS = {
    name: f"{given} --set starts=1" if name.startswith("lda-") else given
    for name, given in RUNS.items()
} | {"lda-starts": f"--set starts=3 -k 7 {_BASE}"}

#: Arrays of a checkpoint that are scores of held-out documents.
_SCORES = {"posterior.history", "density.total", "density.better"}

#: Keys of a line of metrics.jsonl that are of the clock or of the machine.
_OF_THE_MACHINE = {"train_seconds", "wait_seconds", "tokens_per_second", "rss_bytes", "time"}


def write_corpus(path: Path) -> None:
    """Write 200 documents over about 150 words in LDA-C, identical on every machine."""
    rng = random.Random(5)
    lines = []
    for d in range(200):
        first = (d % 5) * 30
        counts: dict[int, int] = {}
        for _ in range(rng.randint(5, 60)):
            word = first + int(30 * rng.random() ** 2) if rng.random() < 0.8 else rng.randrange(150)
            counts[word] = counts.get(word, 0) + 1
        pairs = " ".join(f"{w}:{n}" for w, n in sorted(counts.items()))
        lines.append(f"{len(counts)} {pairs}")
    path.write_text("\n".join(lines) + "\n")


def write_dated(path: Path) -> None:
    """Write the same documents as text in JSON lines, each with one of six numbers as its time."""
    counted = path.with_suffix(".ldac")
    write_corpus(counted)
    with path.open("w") as file:
        for d, line in enumerate(counted.read_text().splitlines()):
            pairs = (pair.split(":") for pair in line.split()[1:])
            words = " ".join(f"w{word}" for word, n in pairs for _ in range(int(n)))
            file.write(json.dumps({"text": words, "when": d * 6 // 200}) + "\n")


def sgmc(*arguments: str) -> str:
    """Run the command in this process, and return its output."""
    from pysgrld.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main(list(arguments))
    return said.getvalue()


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _folder(path: Path) -> str:
    """Return one digest of all files in a folder, including their names."""
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return _digest(*(x for p in files for x in (p.name.encode(), p.read_bytes())))


def _chain(path: Path, without: Collection[str] = ()) -> str:
    """Return a checkpoint's digest: of counts as numbers, whatever library compressed them."""
    import zstandard

    from pysgrld.models.samples import CELLS, TOKENS, TOPICS
    from pysgrld.run.files import digest_of
    from pysgrld.run.tensors import load

    files = [file for file in (path, path.with_name("training.safetensors")) if file.exists()]
    kept = {name: a for file in files for name, a in load(file, digest_of(file)).items()}
    arrays = sorted((n, a.tobytes()) for n, a in kept.items() if n not in without)
    engine = zstandard.ZstdDecompressor()
    plain = (
        (n, engine.decompress(a) if n.endswith((CELLS, TOPICS, TOKENS)) else a) for n, a in arrays
    )
    return _digest(*(x for n, a in plain for x in (n.encode(), a)))


def _samples(run: Path) -> str:
    """Return one digest of all stored samples: of matrices, if they are compressed counts."""
    from pysgrld.models.samples import TOKENS
    from pysgrld.reading.results import Results

    results = Results(run, threads=1)
    if not any(TOKENS in results.run.samples.read(step) for step in results.kept()):
        return _folder(run / "samples")
    samples = [results.read_sample(step) for step in results.kept()]
    return _arrays(*(sample[name] for sample in samples for name in sorted(sample)))


def run_hashes(name: str, folder: Path) -> dict[str, str]:
    """Return digests of everything that a user can read from a run, by kind."""
    dated = name.startswith("dtm")
    corpus = folder / ("corpus.jsonl" if dated else "corpus.ldac")
    if not corpus.exists():
        (write_dated if dated else write_corpus)(corpus)
    run, out = folder / name, folder / f"{name}-out"
    out.mkdir()
    sgmc("train", str(corpus), *RUNS[name].split(), "--out", str(run), "--threads", "1", "-q")
    metrics = [
        {n: v for n, v in json.loads(line).items() if n not in _OF_THE_MACHINE}
        for line in (run / "metrics.jsonl").read_text().splitlines()
    ]
    state = sorted((run / "checkpoints").glob("step-*"))[-1] / "state.safetensors"
    found = {
        "metrics": _digest(json.dumps(metrics[-1], sort_keys=True).encode()),
        "checkpoint": _chain(state),
        "chain": _chain(state, _SCORES),
    }
    if (run / "samples").is_dir():
        found["samples"] = _samples(run)
    for draw in ("mean", "last"):
        sgmc("export", str(run), "--to", "npy", "-o", str(out / draw), "--draw", draw, "-q")
        found[f"export-{draw}"] = _folder(out / draw)
    evaluated = json.loads(sgmc("eval", str(run), "--json", "-q"))
    evaluated |= json.loads(sgmc("eval", str(run), "--corpus", str(corpus), "--json", "-q"))
    shown = json.loads(sgmc("topics", str(run), "--json", "-q"))
    for record in (evaluated, shown):
        record.pop("run")
    found["eval"] = _digest(json.dumps(evaluated, sort_keys=True).encode())
    for topic in shown["topics"]:  # of the numbers, whatever the order and the automatic names
        topic["label"] = topic["label"] if topic.pop("named") else None
    shown["topics"].sort(key=lambda topic: (-(topic["weight"] or 0.0), topic["id"]))
    found["topics"] = _digest(json.dumps(shown, sort_keys=True).encode())
    theta = out / "theta.npy"
    sgmc("infer", str(run), str(corpus), "-o", str(theta), "-q")
    found["infer"] = _digest(theta.read_bytes())
    return found


def _counts() -> np.ndarray:
    rng = random.Random(7)
    counts = np.zeros((120, 40), np.int64)
    for d in range(120):
        for _ in range(rng.randint(4, 40)):
            counts[
                d, (d % 4) * 10 + rng.randrange(10) if rng.random() < 0.8 else rng.randrange(40)
            ] += 1
    return counts


def _arrays(*arrays: np.ndarray) -> str:
    return _digest(*(np.ascontiguousarray(a).tobytes() for a in arrays))


def estimator_hashes() -> dict[str, str]:
    """Return digests of what the estimators learn from a matrix."""
    from pysgrld import LDA, DeepLDA, DPMixture
    from pysgrld.errors import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # some runs are too short for a sample
    x, found = _counts(), {}
    for algo in ("scir", "sgrld", "tlasgr", "smld", "smld-approx", "gibbs", "cgs", "ovb", "hsvg"):
        more = {} if algo in ("gibbs", "cgs") else {"minibatch": 20}
        lda = LDA(5, algo=algo, starts=1, max_iter=20, random_state=2, n_jobs=1, **more).fit(x)
        found[f"LDA-{algo}"] = _arrays(lda.components_, lda.transform(x))
        found[f"LDA-{algo}-perplexity"] = _arrays([lda.perplexity(x)])
    lda = LDA(5, random_state=2, n_jobs=1, total_samples=120)
    for begin in range(0, 120, 30):
        lda.partial_fit(x[begin : begin + 30])
    found["LDA-partial"] = _arrays(lda.components_)
    for algo in ("scir", "tlasgr", "gibbs"):
        deep = DeepLDA((6, 3), algo=algo, max_iter=20, holdout=0, n_jobs=1).fit(x)
        found[f"DeepLDA-{algo}"] = _arrays(*deep.weights_, deep.r_, deep.transform(x, layer=2))
    for algo in ("scir", "sgrld", "gibbs"):
        mixture = DPMixture(algo=algo, max_iter=40, burn_in=10, n_jobs=1).fit(x)
        found[f"DPMixture-{algo}"] = _arrays(
            mixture.components_,
            mixture.weights_,
            mixture.predict_proba(x),
            mixture.score_samples(x),
        )
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {name: run_hashes(name, Path(folder)) for name in RUNS}
    found["estimators"] = estimator_hashes()
    HASHES.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{HASHES}: {len(found)} cases")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
