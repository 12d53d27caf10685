"""Search of the default number of topics: perplexity and coherence by K, on validation splits.

    python benchmarks/topics_by_default.py measure DATA -o FILE.json [--only NAME;...] [--seeds 1]
    python benchmarks/topics_by_default.py fit FILE.json       # rules, tested on corpora left out
    python benchmarks/topics_by_default.py draw FILE.json PICTURE.png

DATA holds corpora as their training files. Of each a part is trained on, so that a run takes seconds,
and other documents of the same file are scored: no test file is looked at. Beside the numbers of `GRID`
two models that decide for themselves how many of `MOST` topics they use: a learned alpha, and deep LDA of
one layer, whose weights of topics are a truncated gamma process. The tables of
docs/internals/defaults.md come from here.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from defaults import begun

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import choose_documents, minibatch_words
from pysgrld.evaluate import visits
from pysgrld.evaluate.coherence import coherence
from pysgrld.evaluate.held_out import split
from pysgrld.models.resolve import resolve
from pysgrld.models.word_order import top_words
from pysgrld.options.option import Facts
from pysgrld.options.priors import usual_topics
from pysgrld.reading.use import HARDLY
from pysgrld.types import Key

#: Numbers of topics that are tried.
GRID = (5, 10, 20, 35, 50, 75, 100, 150, 200)
#: Topics of models that decide how many of them they use.
MOST = 150
OTHERS: dict[str, Mapping[str, Any]] = {
    "learned alpha": {"topics": MOST, "alpha": "learn"},
    "deep LDA of one layer": {"model": "dlda", "layers": (MOST,)},
}
#: Iterations at least, epochs at least, and posterior samples, of the second half.
ITERATIONS, EPOCHS, SAMPLES = 300, 25, 20
#: Documents that are scored at most, and those that coherence is counted over.
SCORED, COUNTED = 500, 10_000


class Source(NamedTuple):
    """A part of a corpus: its file in DATA, documents to train on, options of reading."""

    file: str
    documents: int
    reading: Mapping[str, Any] = {}

    @property
    def family(self) -> str:
        """Name of the whole corpus."""
        return self.file


SOURCES = {
    "m10": Source("m10/docword.m10.train.txt.gz", 5_200),
    "europarl-it": Source("europarl-it/docword.europarl-it.train.txt.gz", 2_200),
    "simplewiki, 1,500": Source("simplewiki/docword.simplewiki.train.txt.gz", 1_500),
    "20news-different": Source("20news-different/docword.20news-different.sam-train.txt.gz", 1_500),
    "bible": Source("bible/docword.bible.txt.gz", 1_070),
    "cora": Source("cora/docword.cora.txt.gz", 2_160),
    "wikipedia, 600": Source("wikipedia/docword.wiki.train.txt.gz", 600),
    "20news": Source("20news/docword.20news.train.txt.gz", 4_000),
    "wikileads-es": Source("wikileads-es/wikileads-es.txt.gz", 5_600, {"stop-words": "spanish"}),
    "nips": Source("nips/docword.nips.txt.gz", 250),
    "wikipedia, 5,000": Source("wikipedia/docword.wiki.train.txt.gz", 5_000),
    "simplewiki, 10,000": Source("simplewiki/docword.simplewiki.train.txt.gz", 10_000),
}


def main() -> None:
    """Measure, fit or draw, as requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("data", type=Path)
    one.add_argument("-o", "--out", type=Path, required=True)
    one.add_argument("--only", help="names of sources, divided by ;")
    one.add_argument("--seeds", type=int, default=1)
    one.add_argument("--longer", type=int, default=1, help="so many times the iterations")
    for name in ("fit", "draw"):
        two = commands.add_parser(name)
        two.add_argument("file", type=Path)
        if name == "draw":
            two.add_argument("picture", type=Path)
    given = parser.parse_args()
    if given.command == "measure":
        measure(given)
        return
    found = json.loads(given.file.read_text())
    if given.command == "fit":
        fit(found)
    else:
        draw(found, given.picture)


# ---- measured


def measure(given: argparse.Namespace) -> None:
    """Train with each number of topics on each source; skip results that the file already has."""
    found = json.loads(given.out.read_text()) if given.out.exists() else []
    done = {(row["corpus"], row["model"], row["seed"]) for row in found}
    for name in given.only.split(";") if given.only else SOURCES:
        source = SOURCES[name]
        with tempfile.TemporaryDirectory() as scratch:
            corpus = open_corpus(
                [str(given.data / source.file)],
                CorpusOptions.from_values(source.reading),
                store=Path(scratch) / "corpus",
            )
            lengths = corpus.lengths()
            for seed in range(given.seeds):
                for model, asked in asked_of(lengths[: source.documents]):
                    if (name, model, seed) in done:
                        continue
                    row = run(corpus, source.documents, {**asked, "seed": seed}, given.longer)
                    found.append(
                        {"corpus": name, "family": source.family, "model": model, "seed": seed}
                        | row
                    )
                    print(json.dumps(found[-1]), flush=True)
                    given.out.write_text(json.dumps(found, indent=0) + "\n")


def asked_of(lengths: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Give what is trained on documents of such lengths, by name; not a topic for each 100 tokens."""
    for k in GRID:
        if k * 100 <= lengths.sum():
            yield f"K = {k}", {"topics": k}
    yield from OTHERS.items()


def run(
    corpus: Corpus, documents: int, asked: Mapping[str, Any], longer: int = 1
) -> dict[str, Any]:
    """Train one model; return its perplexity, coherence, and number of topics hardly used."""
    began = time.process_time()
    scored = min(SCORED, corpus.documents - documents, max(100, documents // 10))
    some = choose_documents(corpus.documents, documents + scored, Key(0, 0, 0))
    # a part at random, whatever order documents have been chosen in
    ids = np.sort(np.random.default_rng(0).permutation(some)[:scored])
    train = np.setdiff1d(some, ids)
    held_out = split(corpus.take(ids), ids, 0.8, 0)
    tokens = int(corpus.lengths()[train].sum())
    facts = Facts(documents, corpus.words, tokens, visits(held_out), minibatch_words(corpus, train))
    first = {"algo": "scir", "exact-sweeps": 0} | dict(asked)
    if asked.get("model") == "dlda":
        del first["exact-sweeps"]
    per_epoch = -(-documents // resolve(first, facts).options.minibatch)
    iterations = longer * max(ITERATIONS, EPOCHS * per_epoch)
    burn_in = iterations // 2
    times = {"burn-in": burn_in, "sample-every": max(1, (iterations - burn_in) // SAMPLES)}
    options = resolve(first | times, facts).options
    posterior = begun(options, corpus, train, ids, keep_mean=True)
    for _ in range(iterations):
        posterior.chain.advance()
        if posterior.is_due:
            posterior.take_sample()
    mean = posterior.mean()
    assert mean is not None
    k, chain = options.topics or MOST, posterior.chain
    phi = mean["phi"][:, :k]
    prior = corpus.words * float(np.ravel(chain.blocks[0].prior)[0])  # type: ignore[attr-defined]
    sums = chain.states["phi"].sums[:k]  # type: ignore[attr-defined]
    chain.close()
    weights = np.maximum(sums - prior, 0.0)
    weights /= weights.sum()
    top = top_words(phi / phi.sum(axis=0), 10)
    counted = choose_documents(corpus.documents, min(COUNTED, corpus.documents), Key(1, 0, 0))
    npmi = coherence(top, corpus, np.sort(counted)).npmi
    used = weights * k >= HARDLY
    return {
        "documents": documents,
        "words": corpus.words,
        "tokens": tokens,
        "topics": k,
        "iterations": iterations,
        "perplexity": round(float(posterior.average()), 2),
        "npmi": round(float(npmi.mean()), 4),
        "weighted npmi": round(float(npmi @ weights), 4),
        "npmi of used": round(float(npmi[used].mean()), 4),
        "used": int(used.sum()),
        "incoherent": int((npmi < 0).sum()),
        "seconds": round(time.process_time() - began, 2),
    }


# ---- fitted


class Curve:
    """Loss of one corpus by number of topics: perplexity in per cent, NPMI, and both as one loss."""

    def __init__(self, rows: list[Mapping[str, Any]]) -> None:
        self.family: str = rows[0]["family"]
        self.facts: Mapping[str, int] = rows[0]
        rows = [row for row in rows if row["model"].startswith("K =")]
        self.k = np.array(sorted({row["topics"] for row in rows}), float)
        means = {
            what: np.array([np.mean([r[what] for r in rows if r["topics"] == k]) for k in self.k])
            for what in ("perplexity", "npmi")
        }
        self.perplexity = 100.0 * (means["perplexity"] / means["perplexity"].min() - 1.0)
        self.npmi = means["npmi"].max() - means["npmi"]
        # 0 at the best of the grid and 1 at its worst, for each of the two
        self.loss = self.perplexity / self.perplexity.max() + self.npmi / self.npmi.max()
        self.incoherent = np.array(
            [np.mean([r["incoherent"] / k for r in rows if r["topics"] == k]) for k in self.k]
        )

    def at(self, k: float, what: str = "loss") -> float:
        """Return a loss at a number of topics, linear in log K between those of the grid."""
        return float(np.interp(math.log(k), np.log(self.k), getattr(self, what)))

    @property
    def best(self) -> int:
        """The number of topics with the lowest loss."""
        return int(self.k[self.loss.argmin()])


Rule = Callable[[Mapping[str, int]], float]
#: Powers of a fact of the corpus that rules try.
POWERS = (0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75)


def power_rule(fact: str, curves: Iterable[Curve]) -> tuple[Rule, str]:
    """Return the rule c fact^p within 5 and 200 of the least mean loss over corpora, and its name."""
    curves, best = list(curves), (math.inf, 0.0, 0.0)
    for p in POWERS:
        for at_middle in np.geomspace(5, 200, 60):
            c = at_middle / (200_000 if fact == "tokens" else 2_000) ** p
            lost = np.mean([x.at(np.clip(c * x.facts[fact] ** p, 5, 200)) for x in curves])
            best = min(best, (float(lost), c, p))
    _, c, p = best
    return lambda facts: float(np.clip(c * facts[fact] ** p, 5, 200)), f"{c:.3g} {fact}^{p:.2f}"


def fit(found: list[Mapping[str, Any]]) -> None:
    """Print a table of corpora, and one of rules with their losses on corpora not used to fit them."""
    curves = curves_of(found)
    print("| corpus | documents | tokens | best perplexity, NPMI, both at K | default | loses |")
    print("|---|---|---|---|---|---|")
    for name, x in curves.items():
        k = chosen(x.facts)
        ends = [int(x.k[getattr(x, what).argmin()]) for what in ("perplexity", "npmi")]
        print(
            f"| {name} | {x.facts['documents']:,} | {x.facts['tokens']:,} | {ends[0]}, {ends[1]}, "
            f"{x.best} | {k} | {x.at(k, 'perplexity'):.1f} %, {x.at(k, 'npmi'):.3f} |"
        )
    rules: dict[str, Callable[[list[Curve]], tuple[Rule, str]]] = {
        f"always {k}": lambda _, k=k: (lambda facts: float(k), "") for k in (20, 50, 75, 100, 200)
    }
    for fact in ("tokens", "documents", "words"):
        rules[f"c {fact}^p"] = lambda some, fact=fact: power_rule(fact, some)
    for power, by in ((1 / 2, 8), (1 / 3, 1), (1, 2500)):
        rules[f"tokens^{power:.2g} / {by}"] = lambda _, power=power, by=by: (
            lambda facts: float(np.clip(facts["tokens"] ** power / by, 5, 200)),
            "",
        )
    rules["the default"] = lambda _: (chosen, "")
    print(
        "\n| rule | fitted to all | perplexity | NPMI | both | worst of both | topics of NPMI < 0 |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, made in rules.items():
        lost = []
        for x in curves.values():
            rule, _ = made([y for y in curves.values() if y.family != x.family])
            k = rule(x.facts)
            lost.append([x.at(k, what) for what in ("perplexity", "npmi", "loss", "incoherent")])
        a, b, c, d = np.mean(lost, axis=0)
        worst = np.max(lost, axis=0)[2]
        whole = made(list(curves.values()))[1]
        print(
            f"| {name} | {whole} | {a:.1f} % | {b:.3f} | {c:.2f} | {worst:.2f} | {100 * d:.0f} % |"
        )
    print(
        "\n| model | corpora | perplexity over the default's | NPMI of topics in use less it | used |"
    )
    print("|---|---|---|---|---|")
    for name in OTHERS:
        rows = [row for row in found if row["model"] == name]
        more, less, used = [], [], []
        for row in rows:
            x = [r for r in found if r["corpus"] == row["corpus"] and r["model"].startswith("K =")]
            x.sort(key=lambda r: r["topics"])
            at, logs = math.log(chosen(row)), np.log([r["topics"] for r in x])
            ours = np.interp(at, logs, [r["perplexity"] for r in x])
            more.append(100 * (row["perplexity"] / ours - 1))
            less.append(row["npmi of used"] - np.interp(at, logs, [r["npmi"] for r in x]))
            used.append(row["used"])
        print(
            f"| {name}, {MOST} | {len(rows)} | {np.mean(more):+.1f} % | {np.mean(less):+.3f} | "
            f"{min(used)} to {max(used)} |"
        )


def curves_of(found: list[Mapping[str, Any]]) -> dict[str, Curve]:
    """Return the curve of each corpus, by tokens."""
    names = {row["corpus"]: row["tokens"] for row in found}
    some = {name: [row for row in found if row["corpus"] == name] for name in names}
    return {name: Curve(some[name]) for name in sorted(names, key=lambda name: names[name])}


def chosen(facts: Mapping[str, int]) -> int:
    """Return the number of topics that `pysgrld` chooses for such a corpus."""
    return usual_topics(facts["tokens"])


def draw(found: list[Mapping[str, Any]], picture: Path) -> None:
    """Plot perplexity and NPMI by K, with a panel per corpus, and mark the default."""
    from matplotlib.figure import Figure

    curves = curves_of(found)
    columns = 4
    rows = -(-len(curves) // columns)
    figure = Figure(figsize=(11, 2.3 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, (name, x) in zip(panels, curves.items(), strict=False):
        other = panel.twinx()
        panel.plot(x.k, x.perplexity, "o-", color="#2166ac", ms=3, lw=1)
        other.plot(x.k, x.npmi, "s--", color="#b2182b", ms=3, lw=1)
        panel.axvline(chosen(x.facts), color="black", lw=1)
        panel.axvline(100, color="grey", lw=1, ls=":")
        panel.set_xscale("log")
        panel.set_xticks([5, 20, 50, 200], ["5", "20", "50", "200"])
        panel.minorticks_off()
        panel.set_title(f"{name}: {x.facts['tokens'] / 1000:,.0f},000 tokens", fontsize=8)
        for axis, colour in ((panel, "#2166ac"), (other, "#b2182b")):
            axis.tick_params(labelsize=7)
            axis.tick_params(axis="y", colors=colour)
            axis.set_ylim(bottom=0)
    for panel in panels[len(curves) :]:
        panel.axis("off")
    figure.suptitle(
        "What a number of topics loses: perplexity in % (blue, left) and NPMI (red, right) from the "
        "best; the default is the black line, dotted: 100",
        fontsize=9,
    )
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
