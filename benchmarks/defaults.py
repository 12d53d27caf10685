"""Search for defaults: held-out perplexity of variations of options, on validation splits.

    python benchmarks/defaults.py CORPUS... [--seconds 4,8] [--seeds 3] [--only NAME,...] [-k 100]
    python benchmarks/defaults.py CORPUS... --layers 128,64,32
    python benchmarks/defaults.py CORPUS... --whole 0.03,0.1 -k 5,20,50 [--prior eta] [-- OPTIONS]

Each corpus is a training file: 1,000 of its documents, or a tenth, are held out at random, so that
no test file is ever looked at. One option at a time leaves the default. A cell is the perplexity
averaged over posterior samples after so many CPU seconds of training (evaluation is not counted),
one thread, mean over seeds: chains of different seeds differ by a per cent. The table of
docs/internals/defaults.md comes from here.

What wins after seconds may win nothing in the end, or mix worse: ``--whole`` trains by ``sgmc`` with each
of these alphas, or etas, until it ends by itself, exact draws and all. A cell then is the perplexity of
the exact draws, and what they are worth in independent ones for words, documents and shares, by seed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from small import SGMC

from pysgrld.chain.posterior import Posterior
from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import Epochs, choose_documents, minibatch_words
from pysgrld.evaluate.held_out import split
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts, Resolved
from pysgrld.train.begin import begin
from pysgrld.types import Int64s, Key

#: What is changed: as multiples of the default ("x"), as options, as c of a step c B/D ("c"), or a
#: minibatch whose step and warm-up are those that it has by default ("documents").
VARIATIONS: dict[str, Mapping[str, Any]] = {
    "the defaults": {},
    "half the step size": {"x step-size": 0.5},
    "twice the step size": {"x step-size": 2},
    "half the minibatch, same step size": {"x minibatch": 0.5},
    "half the minibatch, half the step size": {"x minibatch": 0.5, "x step-size": 0.5},
    "twice the minibatch, twice the step size": {"x minibatch": 2, "x step-size": 2},
    "6 sweeps": {"sweeps": 6},
    "14 sweeps": {"sweeps": 14},
    "half the warm-up": {"x warm-up": 0.5},
    "twice the warm-up": {"x warm-up": 2},
    "no warm-up": {"warm-up": 0},
    "sampled counts": {"counts": "sampled"},
    **{f"alpha {alpha:g}": {"alpha": alpha} for alpha in (0.03, 0.05, 0.1, 0.2)},
    "eta 0.03": {"eta": 0.03},
    "eta 0.1": {"eta": 0.1},
    "a sample every 2 iterations": {"sample-every": 2},
    **{f"a step of {c:g} B/D": {"c": c} for c in (20.0, 10.0, 5.0, 2.5, 1.25)},
    **{f"{n} documents": {"documents": n} for n in (400, 1600, 3200, 6400)},
}
_TWICE = {"x minibatch": 2, "x warm-up": 0.5}
_FOUR = {"x minibatch": 4, "x warm-up": 0.25}
#: The same for many topics, where an iteration's cells weigh as much as its documents.
MANY: dict[str, Mapping[str, Any]] = {
    "the defaults": {},
    "alpha 0.02": {"alpha": 0.02},
    "alpha 0.02, twice the minibatch, same step size": {"alpha": 0.02, **_TWICE},
    "alpha 0.02, four times the minibatch, same step size": {"alpha": 0.02, **_FOUR},
    "alpha 0.02, half the step size": {"alpha": 0.02, "x step-size": 0.5},
    "alpha 0.02, twice the minibatch, half the step size": {
        "alpha": 0.02,
        "x step-size": 0.5,
        **_TWICE,
    },
    "alpha 0.03": {"alpha": 0.03},
    "alpha 0.05": {"alpha": 0.05},
    "alpha 0.02, eta 0.03": {"alpha": 0.02, "eta": 0.03},
    "alpha 0.02, 14 sweeps": {"alpha": 0.02, "sweeps": 14},
    "alpha 0.02, 20 sweeps": {"alpha": 0.02, "sweeps": 20},
    "alpha 0.02, twice the warm-up": {"alpha": 0.02, "x warm-up": 2},
}
#: From so many topics on `MANY` is list of settings.
MANY_TOPICS = 500
#: The same for deep LDA: every sampler on the same blocks, and what its documents depend on.
DEEP: dict[str, Mapping[str, Any]] = {
    "the defaults": {},
    "tlasgr": {"algo": "tlasgr"},
    "tlasgr, a warm-up and the steps of scir": {"algo": "tlasgr", "like": "scir"},
    "tlfsgr": {"algo": "tlfsgr"},
    "sgrld": {"algo": "sgrld"},
    "smld": {"algo": "smld"},
    "half the step size": {"x step-size": 0.5},
    "twice the minibatch, twice the step size": {"x minibatch": 2, "x step-size": 2},
    "twice the sweeps": {"x sweeps": 2},
    "half the sweeps": {"x sweeps": 0.5},
    "sampled counts": {"counts": "sampled"},
    "eta 0.03": {"eta": 0.03},
}


def main() -> None:
    """Run the search and print a table for each corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--seconds", default="4,8")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="names of variations")
    parser.add_argument("-k", "--topics", default="100")
    parser.add_argument("--layers", help="topics of each layer of a deep LDA")
    parser.add_argument("--whole", help="values of a prior to train with until training ends")
    parser.add_argument("--prior", choices=("alpha", "eta"), default="alpha")
    given, more = parser.parse_known_args()
    if given.whole:
        for source in given.corpus:
            whole(source, given, [x for x in more if x != "--"])
        return
    seconds = [float(s) for s in given.seconds.split(",")]
    topics = int(given.topics)
    size: dict[str, Any] = {"topics": topics}
    variations = VARIATIONS if topics < MANY_TOPICS else MANY
    if given.layers:
        size = {"layers": tuple(int(k) for k in given.layers.split(","))}
        variations = DEEP
    names = given.only.split(",") if given.only else list(variations)
    for source in given.corpus:
        with tempfile.TemporaryDirectory() as scratch:
            corpus = open_corpus([source], CorpusOptions(), store=Path(scratch) / "corpus")
            print(f"\n{Path(source).name}\n")
            print("| | " + " | ".join(f"{s:g} s" for s in seconds) + " |")
            print("|---" * (len(seconds) + 1) + "|")
            for name in names:
                runs = [
                    run(corpus, variations[name], size, seconds, seed)
                    for seed in range(given.seeds)
                ]
                cells = ("" if math.isnan(x) else f"{x:.0f}" for x in np.mean(runs, axis=0))
                print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def whole(source: str, given: argparse.Namespace, more: list[str]) -> None:
    """Print a table of runs that stop by themselves: a row for each number of topics and prior."""
    print(f"\n{Path(source).name}\n", flush=True)
    print(f"| K | {given.prior} | perplexity | worth for words | documents | shares | seconds |")
    print("|---:|---:|---|---|---|---|---|")
    for topics in given.topics.split(","):
        for value in given.whole.split(","):
            options = ["-k", topics, f"--{given.prior}", value, "--threads", "1", *more]
            runs = [until_it_ends([source, *options, "--seed", str(s)]) for s in range(given.seeds)]
            cells = (", ".join(f"{x:.0f}" for x in column) for column in zip(*runs, strict=True))
            print(f"| {topics} | {value} | " + " | ".join(cells) + " |", flush=True)


def until_it_ends(given: list[str]) -> list[float]:
    """Train; return perplexity, ESS of words, documents and shares, and CPU seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        command = [*SGMC, "train", *given, "--out", str(out), "--quiet"]
        began = cpu_of_children()
        subprocess.run(command, check=True)
        last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
        ended = json.loads((out / "status.json").read_text())["reason"]
    sizes = {of: float(n) for of, n in re.findall(r"(words|documents|shares) (\d+)", ended)}
    ess = (sizes.get(name, math.nan) for name in ("words", "documents", "shares"))
    return [last["perplexity"] or math.nan, *ess, cpu_of_children() - began]


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that were waited for."""
    times = os.times()
    return times.children_user + times.children_system


def run(
    corpus: Corpus,
    variation: Mapping[str, Any],
    size: Mapping[str, Any],
    seconds: list[float],
    seed: int,
) -> list[float]:
    """Train and return the averaged perplexity at each of these times; NaN before the first sample."""
    train, ids = divided(corpus)
    tokens = int(corpus.lengths()[train].sum())
    given = {"algo": "scir", "seed": seed, **size}
    facts = Facts(len(train), corpus.words, tokens, 0, minibatch_words(corpus, train))
    options, _ = resolve(given, facts)
    plain, changes = options.plain(), {}
    for name, value in variation.items():
        if name == "like":
            like = ("warm-up", "burn-in", "minibatch", "step-size")
            changes |= {n: plain[n] for n in like}
        elif name == "documents":
            given["minibatch"] = value
        elif not name.startswith("x "):
            changes[name] = value
        elif name == "c":
            changes["step-size"] = (min(1.0, value * options.minibatch / len(train)), 1.0, 0.0)
        elif name == "x step-size":
            a, b, c = options.step_size
            changes["step-size"] = (min(1.0, a * value), b, c)
        else:
            changes[name[2:]] = max(1, round(plain[name[2:]] * value))
    if "minibatch" in changes:  # what else follows from it stays as it is
        changes = {n: plain[n] for n in ("step-size", "warm-up")} | changes
    options, _ = resolve(given | changes, facts)
    posterior = begun(options, corpus, train, ids)
    spent, figures = 0.0, []
    for limit in seconds:
        spent = trained(posterior, spent, limit)
        figures.append(posterior.score if posterior.samples else math.nan)
    return figures


def divided(corpus: Corpus) -> tuple[Int64s, Int64s]:
    """Return the training documents, and those of the validation split."""
    d = corpus.documents
    ids = choose_documents(d, min(1000, d // 10), Key(0, 0, 0))
    return np.setdiff1d(np.arange(d), ids), ids


def begun(
    options: Resolved, corpus: Corpus, train: Int64s, ids: Int64s, *, keep_mean: bool = False
) -> Posterior:
    """Start a chain on one thread, with averages over the documents of the validation split."""
    held_out = split(corpus.take(ids), ids, 0.8, 0)
    stream = Epochs.of(options, corpus, train)
    known = CorpusFacts(corpus.words, int(corpus.lengths()[train].sum()))
    return begin(options, stream, known, RunOn(1), held_out, keep_mean=keep_mean)


def trained(posterior: Posterior, spent: float, limit: float) -> float:
    """Train until a total of ``limit`` CPU seconds is spent; return the total."""
    while spent < limit:
        began = time.process_time()
        posterior.chain.advance()
        spent += time.process_time() - began
        if posterior.is_due:
            posterior.take_sample()
    return spent


if __name__ == "__main__":
    main()
