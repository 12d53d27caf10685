"""Coverage of intervals on corpora with known truth, and on columns of coin flips.

    python benchmarks/calibration.py made [--corpora N] [--chains N] [--options STRING] [--json FILE]
    python benchmarks/calibration.py draw FILE PICTURE
    python benchmarks/calibration.py null RUN [RUN ...] [--seeds N]
    python benchmarks/calibration.py found RUN [RUN ...]
    python benchmarks/calibration.py effect [--corpora N] [--first SEED]

``made`` draws corpora from the model with the priors that sgmc takes by default (3 to 20 topics, 10 to
300 tokens a document), and with a prior of words under which topics overlap; trains on each with no
option but ``-k`` (and ``--eta``), and counts how often intervals of several widths hold the truth: of
words, shares of topics, documents, and new documents. docs/calibration.md has what it found.

``null`` puts a run's training documents into two random groups, of one population, twenty times a seed.
Printed are the topics, in percent of all, whose 90 % intervals of the two groups are disjoint, whose
interval of the difference does not hold 0 (10 is right), and that are called surely more or less.

``found`` takes folders of several chains. Of topics that n of 2, 3 or 4 chains have, and of those that
the page of these chains marks with a filled circle, how often does one more chain have them? All
choices of chains count.

``effect`` draws corpora of 2,500 documents of 10, 30 or 100 tokens whose proportions depend on a
flag and on a number, trains on each, and counts how often intervals of ``sgmc effect`` hold what
was planted, beside those of a regression on documents' draws, which are made under a prior that all
documents share; and how often intervals of two columns of chance leave 0 out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.minibatches import Epochs
from pysgrld.effects.composition import Fit, Regression, WordAllocation, bootstrap_sets
from pysgrld.evaluate.matching import DISTRIBUTIONS, assign, finders, match
from pysgrld.evaluate.matching import SAME as ALIKE
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.reading import intervals
from pysgrld.reading.diagnosis import MatchedTopic, is_firm
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.infer import infer, interval_steps
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import (
    DocumentTopics,
    TopicShares,
    drawn_blocks,
    drawn_steps,
    looked_at,
    read_documents,
)
from pysgrld.report.population import GroupOfEach, PopulationShares, sure_signs
from pysgrld.train.begin import begin, begin_refinement
from pysgrld.types import Documents

COLUMNS = 20
#: Nominal shares of the draws within an interval.
LEVELS = (0.5, 0.8, 0.9, 0.95)
#: What intervals are of.
KINDS = ("words", "shares", "documents", "new")
#: New documents of each corpus.
NEW = 100
#: Probability that a topic and the truth have in common, from which on they are the same.
SAME = 0.5


class Made(NamedTuple):
    """A corpus drawn from the model, and its true parameters.

    Attributes
    ----------
    phi : (K, V)
        Topics.
    theta : (D + NEW, K)
        Proportions of the documents of training, then of new ones.
    tokens : (D + NEW, K)
        Tokens of each topic in them.
    counts : (D + NEW, V)
    eta : float
    """

    phi: Any
    theta: Any
    tokens: Any
    counts: Any
    eta: float


def made(seed: int) -> Made:
    """Draw a corpus; its size and its priors depend on the seed."""
    rng = np.random.default_rng(seed)
    k, length = int(rng.integers(3, 21)), int(rng.choice([10, 30, 100, 300]))
    v, eta = int(rng.choice([300, 1000])), float(rng.choice([0.05, 0.3]))
    documents = int(np.clip(60_000 // length, 300, 2000)) + NEW
    phi = rng.dirichlet(np.full(v, eta), k)
    theta = rng.dirichlet(np.full(k, 0.1), documents)
    tokens = np.array([rng.multinomial(length, share) for share in theta])
    counts = np.zeros((documents, v), np.int64)
    for d, topic in zip(*np.nonzero(tokens), strict=True):
        counts[d] += rng.multinomial(tokens[d, topic], phi[topic])
    return Made(phi, theta, tokens, counts, eta)


def as_documents(counts: Any) -> Documents:
    """Return a matrix of counts as documents."""
    rows, words = np.nonzero(counts)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(counts)))))
    return Documents(
        indptr.astype(np.int64), words.astype(np.int32), counts[rows, words].astype(np.int32)
    )


def train(truth: Made, folder: Path, options: Sequence[str]) -> Results:
    """Train with default options on the first documents of a drawn corpus."""
    documents = as_documents(truth.counts[:-NEW])
    entries = zip(documents.indices.tolist(), documents.counts.tolist(), strict=True)
    pairs = [f"{w}:{n}" for w, n in entries]
    ends = documents.indptr.tolist()
    lines = [f"{b - a} {' '.join(pairs[a:b])}\n" for a, b in pairwise(ends)]
    corpus, vocabulary, run = folder / "made.ldac", folder / "vocab.txt", folder / "run"
    corpus.write_text("".join(lines))
    vocabulary.write_text("".join(f"w{w}\n" for w in range(truth.phi.shape[1])))
    asked = ["-k", str(len(truth.phi)), "--alpha", "0.1", "--eta", str(truth.eta)]
    asked += ["--vocab", str(vocabulary), "--out", str(run), "-q", "--threads", "1", *options]
    subprocess.run(
        [sys.executable, "-P", "-m", "pysgrld", "train", str(corpus), *asked],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return open_run(run, 1, these=True)


def counted(results: Results, truth: Made) -> dict[str, Any]:
    """Count the true values in intervals of each level, by kind of value, and by topics.

    Of several chains topics that all have are told apart from the others.
    """
    k, real = len(truth.phi), truth.phi.astype(np.float32)
    found = np.ascontiguousarray(results.phi()[:, :k].T)
    mine = assign(DISTRIBUTIONS.similarity(real, found))
    same = DISTRIBUTIONS.overlap(real, found[mine]) >= SAME
    back = np.full(k, -1)
    back[mine] = np.arange(k)
    by = results.found_by()
    everywhere = np.ones(k, bool) if by is None else by == len(results.chains)
    corpus = results.training_corpus()
    assert corpus is not None
    rows = np.asarray(results.training_documents(corpus)[:])
    share = truth.tokens[rows].sum(axis=0) / truth.tokens[rows].sum()
    top, steps = results.top(10), interval_steps(results, 200)
    new = as_documents(truth.counts[-NEW:])
    record: dict[str, Any] = {"same": int(same.sum())}
    if by is not None:
        record["found"] = [[int(n), bool(s)] for n, s in zip(by[mine], same, strict=True)]
    for level in LEVELS:
        intervals.SHARE = level
        held: dict[str, list[tuple[bool, bool]]] = {n: [] for n in KINDS}
        bounds = results.word_intervals(top)
        assert bounds is not None
        weights, topics = TopicShares(results.share_sizes()), DocumentTopics()
        read_documents(results, corpus, rows, 0, [weights, topics])
        for topic in np.flatnonzero(same):
            own = mine[topic]
            words = truth.phi[topic, top[own]]
            inside = (bounds.low[own] <= words) & (words <= bounds.high[own])
            held["words"] += [(one, bool(everywhere[own])) for one in inside.tolist()]
            low, high = weights.shares.low[own, 0], weights.shares.high[own, 0]
            held["shares"].append((bool(low <= share[topic] <= high), bool(everywhere[own])))
        for d, row in enumerate(rows):
            own = topics.top[d, 0]
            if same[back[own]]:
                value = truth.theta[row, back[own]]
                inside = topics.low[d, 0] <= value <= topics.high[d, 0]
                held["documents"].append((bool(inside), bool(everywhere[own])))
        for block in infer(results, [new], steps=steps):
            for d, theta in enumerate(truth.theta[-NEW:]):
                own = block.theta[d].argmax()
                if same[back[own]]:
                    low, high = block.low[d, own], block.high[d, own]
                    inside = low <= theta[back[own]] <= high
                    held["new"].append((bool(inside), bool(everywhere[own])))
        record[str(level)] = {
            n: [sum(h for h, _ in pairs), len(pairs)] for n, pairs in held.items()
        }
        for name, which in (("all", True), ("fewer", False)) if by is not None else ():
            some = {n: [h for h, e in pairs if e is which] for n, pairs in held.items()}
            record.setdefault(name, {})[str(level)] = {n: [sum(h), len(h)] for n, h in some.items()}
    return record


def from_mean(results: Results, truth: Made) -> dict[str, Any]:
    """Count true values in 90 % intervals of exact chains that start at the mean of several chains."""
    k, one = len(truth.phi), results.chains[0]
    options, corpus = one.options, one.training_corpus()
    assert corpus is not None
    rows = np.asarray(one.training_documents(corpus)[:])
    tokens = int(corpus.lengths()[rows].sum())
    known = CorpusFacts(corpus.words, tokens)
    posterior = begin(options, Epochs.of(options, corpus, rows), known, RunOn(1))
    mean, weights = results.phi()[:, :k], results.weights()
    assert weights is not None
    posterior.chain.start_from_topics(np.ascontiguousarray(mean, np.float32), weights * tokens)
    stage = begin_refinement(posterior, options, corpus.words, RunOn(1), None, sweeps=1000)
    found = np.ascontiguousarray(mean.T)
    mine = assign(DISTRIBUTIONS.similarity(truth.phi.astype(np.float32), found))
    same = DISTRIBUTIONS.overlap(truth.phi.astype(np.float32), found[mine]) >= SAME
    top = np.argsort(-found[mine], axis=1, kind="stable")[:, :10]
    words, shares = [], []
    while not stage.done:
        chain = stage.advance()
        if chain is not None:
            phi, none = chain.sample()["phi"][mine], np.zeros((k, 10), bool)
            words.append((np.take_along_axis(phi, top, axis=1), none))
            shares.append((chain.monitored_values()["shares"][mine], none[:, 0]))
    real = np.take_along_axis(truth.phi, top, axis=1)
    share = truth.tokens[rows].sum(axis=0) / truth.tokens[rows].sum()
    record = {}
    for name, draws, value in (("words", words, real), ("shares", shares, share)):
        bounds = intervals.interval([draws], exact=True)
        assert bounds is not None
        inside = ((bounds.low <= value) & (value <= bounds.high))[same]
        record[name] = [int(inside.sum()), int(inside.size)]
    return record


def covered(seed: int, options: Sequence[str], chains: int = 1) -> dict[str, Any]:
    """Train on a corpus, perhaps with several chains, and count the true values in intervals."""
    truth = made(seed)
    record = {
        "seed": seed,
        "topics": len(truth.phi),
        "length": int(truth.tokens[0].sum()),
        "eta": truth.eta,
    }
    if chains > 1:
        options = [*options, "--chains", str(chains)]
    with tempfile.TemporaryDirectory() as place:
        results = train(truth, Path(place), options)
        record |= counted(results, truth)
        if chains > 1:
            record["alone"] = counted(results.chains[0], truth)
            record["mean"] = from_mean(results, truth)
    return record


def show_made(asked: argparse.Namespace) -> None:
    """Print coverage over all corpora, and for each kind of value; draw a figure if requested."""
    seeds = range(asked.first, asked.first + asked.corpora)
    run = partial(covered, options=asked.options.split(), chains=asked.chains)
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        found = []
        for record in pool.map(run, seeds):
            found.append(record)
            held, of = record["0.9"]["words"]
            print(
                f"{record['seed']:>4}  {record['topics']:>2} topics, {record['same']:>2} as planted, "
                f"{record['length']:>3} tokens, eta {record['eta']:<4}  words {held}/{of}",
                file=sys.stderr,
                flush=True,
            )
    if asked.json:
        Path(asked.json).write_text(json.dumps(found, indent=1) + "\n")
    print(f"{'corpora':<26}{'level':>6}  " + "".join(f"{n:>12}" for n in KINDS))
    kinds: list[tuple[str, Callable[[Mapping[str, Any]], bool]]] = [("all", lambda r: True)]
    kinds += [(f"{n} tokens", partial(_has, "length", n)) for n in (10, 30, 100, 300)]
    kinds += [(f"eta {eta}", partial(_has, "eta", eta)) for eta in (0.05, 0.3)]
    for title, chosen in kinds:
        some = [record for record in found if chosen(record)]
        for level in LEVELS if title == "all" else (0.9,):
            print(f"{title + f' ({len(some)})':<26}{level:>6.0%}  {_shares(some, level)}")
    if asked.chains > 1:
        parts = {
            "all": "topics of all chains",
            "fewer": "topics of fewer",
            "alone": "first chain alone",
        }
        for part, title in parts.items():
            some = [record[part] for record in found]
            print(f"{title:<26}{0.9:>6.0%}  {_shares(some, 0.9)}")
        of_mean = {
            name: np.array([record["mean"][name] for record in found]).sum(axis=0)
            for name in ("words", "shares")
        }
        told = ", ".join(f"{name} {100 * n / of:.1f} %" for name, (n, of) in of_mean.items())
        print(f"exact chains from the mean of the chains, 90%: {told}")
        pairs = [pair for record in found for pair in record["found"]]
        for n in range(1, asked.chains + 1):
            real = [same for number, same in pairs if number == n]
            print(
                f"found in {n} of {asked.chains}: {len(real)} topics, {sum(real)} of them as planted"
            )


def show_picture(asked: argparse.Namespace) -> None:
    """Draw observed coverage against nominal coverage."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    found = json.loads(Path(asked.json).read_text())
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), sharey=True, layout="constrained")
    titles = {
        "words": "words of topics",
        "shares": "shares of topics",
        "documents": "documents of training",
        "new": "new documents",
    }
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        ax.plot((40, 100), (40, 100), color="0.8", lw=1, zorder=0)
        # shares and documents are of twenty draws, whose bounds can hold no more than 19/21 of the truth
        levels = LEVELS[:-1] if name in ("shares", "documents") else LEVELS
        for level in levels:
            held, of = np.array([record[str(level)][name] for record in found]).sum(axis=0)
            ax.plot(100 * level, 100 * held / of, "o", color="#1f5f8b", ms=6)
        of_corpora = [r["0.9"][name] for r in found if r["0.9"][name][1] >= 10]
        values = [100 * held / of for held, of in of_corpora]
        ax.plot(
            np.full(len(values), 90.0), values, "_", color="#1f5f8b", alpha=0.35, ms=7, zorder=-1
        )
        ax.set(title=title, xlim=(45, 100), ylim=(45, 101), xlabel="interval, %")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("truth within, %")
    figure.savefig(asked.picture, dpi=110)


def _shares(records: Sequence[Mapping[str, Any]], level: float) -> str:
    """Format the shares of true values in intervals of a level, by kind of value."""
    line = ""
    for name in KINDS:
        held, of = np.array([r[str(level)][name] for r in records]).reshape(-1, 2).sum(axis=0)
        line += f"{100 * held / of:>10.1f} %" if of else f"{'-':>12}"
    return line


def _has(name: str, value: object, record: Mapping[str, Any]) -> bool:
    return bool(record[name] == value)


def show_null(asked: argparse.Namespace) -> None:
    """Print a line for each run, seed and method of counting documents."""
    print(f"{'run':<20} seed  counted    disjoint  excluded  called")
    for run in asked.runs:
        results = open_run(run, 1)
        corpus, steps = results.training_corpus(), drawn_steps(results)
        if corpus is None or not steps:
            raise SystemExit(f"{run}: its corpus and 20 kept samples are needed")
        rows = looked_at(corpus)
        blocks = list(drawn_blocks(results, corpus, rows, steps, 0))
        for seed in range(asked.seeds):
            rng = np.random.default_rng(seed)
            found: dict[str, list[list[float]]] = {"documents": [], "words": []}
            for _ in range(COLUMNS):
                halves = GroupOfEach(rng.integers(0, 2, len(rows)), 2)
                visitor = PopulationShares(halves)
                visitor.begin(len(steps), len(rows), results.fitted.layers[0])
                for block in blocks:
                    visitor.add(block)
                for name, e in visitor.shares._asdict().items():
                    disjoint = (e.low[:, 0] > e.high[:, 1]) | (e.low[:, 1] > e.high[:, 0])
                    excluded = (e.more_low[:, 0] > 0) | (e.more_high[:, 0] < 0)
                    found[name].append([x.mean() for x in (disjoint, excluded, e.sign[:, 0] != 0)])
            for name, shares in found.items():
                disjoint, excluded, called = 100 * np.mean(shares, axis=0)
                print(
                    f"{run[-20:]:<20} {seed:>4}  {name:<9}  {disjoint:>6.1f} %  {excluded:>6.1f} %  "
                    f"{called:>4.1f} %"
                )


def show_found(asked: argparse.Namespace) -> None:
    """Print the share of topics, found by n of m chains or firm, that one more chain also finds."""
    for run in asked.runs:
        chains = open_run(run, 1).chains
        means = [np.ascontiguousarray(c.phi()[:, : c.fitted.layers[0]].T) for c in chains]
        weights = [c.weights() for c in chains]
        number = range(len(chains))
        found: dict[tuple[int, int], list[bool]] = {}
        firm: dict[
            int, list[list[bool]]
        ] = {}  # of each topic and choice: the fresh chains, or none
        for first in number:
            order = [first, *(c for c in number if c != first)]
            rows, common, _ = match([means[c] for c in order], DISTRIBUTIONS)
            shares = np.stack([weights[c][row] for c, row in zip(order, rows, strict=True)])
            for of in asked.of:
                for others in combinations(number[1:], of - 1):
                    some = [0, *others]
                    relative = shares[some].mean(axis=0)
                    relative *= len(relative) / relative.sum()
                    for k in range(common.shape[2]):
                        overlaps = common[np.ix_(some, some)][:, :, k]
                        fresh = [
                            bool(common[0, c, k] >= ALIKE) for c in number[1:] if c not in others
                        ]
                        found.setdefault((of, len(finders(overlaps))), []).extend(fresh)
                        topic = MatchedTopic(k, (), float(overlaps.min()), (), None, ())
                        is_marked = is_firm(topic, of, float(relative[k]))
                        firm.setdefault(of, []).append(fresh if is_marked else [])
        print(f"{run}: {len(chains)} chains of {len(means[0])} topics")
        for (of, n), fresh in sorted(found.items()):
            share = 100 * np.mean(fresh)
            print(f"  found in {n} of {of}: {share:5.1f} % of further chains have it")
        for of, topics in sorted(firm.items()):
            marked = [fresh for fresh in topics if fresh]
            share = 100 * np.mean(np.concatenate(marked)) if marked else np.nan
            rate = 100 * len(marked) / len(topics)
            print(
                f"  filled circle with {of} chains: {rate:4.1f} % of topics; {share:5.1f} % of "
                "further chains have it"
            )


class MadeEffects(NamedTuple):
    """A corpus whose proportions depend on columns.

    Attributes
    ----------
    truth : Made
    length : int
        Tokens of a document.
    columns : (D + NEW, 5)
        Ones, a flag, a number, a flag and a number of chance.
    effects : (2, K)
        Of the first flag, and of the first number from 0 to 1.
    """

    truth: Made
    length: int
    columns: Any
    effects: Any


def made_effects(seed: int) -> MadeEffects:
    """Draw a corpus of the model whose documents' prior means depend on columns."""
    rng = np.random.default_rng(seed)
    k, length = int(rng.integers(5, 11)), int(rng.choice([10, 30, 100]))
    v, eta, documents = 300, float(rng.choice([0.05, 0.3])), 2500 + NEW
    phi = rng.dirichlet(np.full(v, eta), k)
    flag, number = rng.integers(0, 2, documents), rng.random(documents)
    low, of_flag, of_number = rng.dirichlet(np.full(k, 2.0), 3)
    mean = 0.4 * low + 0.3 * np.where(flag[:, None] == 1, of_flag, low)
    mean += 0.3 * (number[:, None] * of_number + (1 - number[:, None]) * low)
    theta = np.array([rng.dirichlet(0.1 * k * m + 1e-9) for m in mean])
    tokens = np.array([rng.multinomial(length, share) for share in theta])
    counts = np.zeros((documents, v), np.int64)
    for d, topic in zip(*np.nonzero(tokens), strict=True):
        counts[d] += rng.multinomial(tokens[d, topic], phi[topic])
    chance = rng.integers(0, 2, documents), rng.random(documents)
    columns = np.column_stack([np.ones(documents), flag, number, *chance])
    effects = 0.3 * np.array([of_flag - low, of_number - low])
    return MadeEffects(Made(phi, theta, tokens, counts, eta), length, columns, effects)


def effects_held(seed: int) -> dict[str, Any]:
    """Train on a corpus; check intervals of effects, with words assigned to topics and with draws."""
    made_of = made_effects(seed)
    truth, found = made_of.truth, {}
    with tempfile.TemporaryDirectory() as place:
        results = train(truth, Path(place), ["--exact-sweeps", "400"])
        k, real = len(truth.phi), truth.phi.astype(np.float32)
        phi = np.ascontiguousarray(results.fitted.topics_over_words(results.mean, 0)[:, :k].T)
        mine = assign(DISTRIBUTIONS.similarity(real, phi))
        same = np.flatnonzero(DISTRIBUTIONS.overlap(real, phi[mine]) >= 0.7)
        corpus, steps = results.training_corpus(), drawn_steps(results)
        assert corpus is not None
        rows = np.asarray(results.training_documents(corpus)[:])
        x, draws = made_of.columns[rows], len(steps)
        sorting = WordAllocation.from_topics(
            phi, results.weights(0), (results.topics_of_sample(s, 0) for s in steps)
        )
        (block,) = drawn_blocks(results, corpus, rows, steps, 0)
        inverse, alone = np.linalg.pinv(x), np.repeat(np.eye(k)[None], draws, axis=0)
        ways = {
            "draws": (block.theta.mean(axis=0).astype(np.float64), alone),
            "effect": (sorting.shares(corpus.take(rows)), sorting.back),
        }
        for name, (shares, back) in ways.items():
            regression = Regression(x, None, k, bootstrap_sets(draws))
            regression.add(0, shares)
            fit = Fit(regression, back)
            record: dict[str, Any] = {
                "held": [],
                "short": [],
                "size": [],
                "outside": [],
                "sure": [],
            }
            for column in range(1, 5):
                sampled = fit.estimate(np.eye(5)[column])
                if name == "draws":  # what draws of the topics differ in, as in groups of documents
                    drawn = np.array([inverse[column] @ theta for theta in block.theta])
                    noise = inverse[column][:, None] ** 2 * block.theta.var(axis=0, ddof=1)
                    sampled = sampled._replace(drawn=drawn, noise=noise.sum(axis=0))
                low, high = sampled.interval(-1.0)
                if column > 2:
                    record["outside"] += ((low > 0) | (high < 0)).tolist()
                    record["sure"] += (sure_signs(sampled.in_errors()) != 0).tolist()
                    continue
                known, own = made_of.effects[column - 1][same], mine[same]
                record["held"] += ((low[own] <= known) & (known <= high[own])).tolist()
                middle = sampled.drawn.mean(axis=0)[own]
                record["short"] += (np.sign(known) * (known - middle)).tolist()
                record["size"] += np.abs(known).tolist()
            found[name] = record
    return {"length": made_of.length, "seed": seed} | found


def show_effects(asked: argparse.Namespace) -> None:
    """Print a line for each length of documents and method of regression."""
    seeds = range(asked.first, asked.first + asked.corpora)
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(effects_held, seeds))
    print("tokens  regression on  intervals  held    too small by  null: outside  called")
    for length in (10, 30, 100, None):
        for name in ("draws", "effect"):
            some = [r[name] for r in found if length in (None, r["length"])]
            parts = {n: np.concatenate([r[n] for r in some]) for n in some[0]} if some else {}
            if parts:
                short = parts["short"].sum() / parts["size"].sum()
                shares = [parts[n].mean() for n in ("held", "outside", "sure")]
                print(
                    f"{length or 'all':>6}  {name:<13}  {len(parts['held']):>9}  "
                    f"{100 * shares[0]:>4.1f} %  {100 * short:>10.1f} %  "
                    f"{100 * shares[1]:>11.1f} %  {100 * shares[2]:>4.1f} %"
                )


def main() -> None:
    """Run the requested measurement."""
    parser = argparse.ArgumentParser()
    parts = parser.add_subparsers(required=True)
    of_made = parts.add_parser("made")
    of_made.add_argument("--corpora", type=int, default=200)
    of_made.add_argument("--first", type=int, default=0, help="seed of the first corpus")
    of_made.add_argument("--options", default="", help="further options of sgmc train")
    of_made.add_argument("--chains", type=int, default=1, help="read as one")
    of_made.add_argument("--jobs", type=int, default=2)
    of_made.add_argument("--json")
    of_made.set_defaults(show=show_made)
    of_null = parts.add_parser("null")
    of_null.add_argument("runs", nargs="+")
    of_null.add_argument("--seeds", type=int, default=3)
    of_null.set_defaults(show=show_null)
    of_found = parts.add_parser("found")
    of_found.add_argument("runs", nargs="+", help="folders of six or more chains")
    of_found.add_argument("--of", type=int, nargs="+", default=(2, 3, 4))
    of_found.set_defaults(show=show_found)
    of_effects = parts.add_parser("effect")
    of_effects.add_argument("--corpora", type=int, default=60)
    of_effects.add_argument("--first", type=int, default=0, help="seed of the first corpus")
    of_effects.add_argument("--jobs", type=int, default=2)
    of_effects.set_defaults(show=show_effects)
    of_picture = parts.add_parser("draw")
    of_picture.add_argument("json")
    of_picture.add_argument("picture")
    of_picture.set_defaults(show=show_picture)
    asked = parser.parse_args()
    asked.show(asked)


if __name__ == "__main__":
    main()
