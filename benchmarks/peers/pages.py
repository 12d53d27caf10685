"""The page docs/internals/benchmarks.md, made of the results of all contests and of `sgmc bench`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from plots import image, plot
from series import OURS, title
from tables import corpus_table

from pysgrld.errors import plural

PAGE = """\
# Benchmarks

Measured {when}: {machines}.{within}
[peers.json](../../benchmarks/results/peers.json) has every point; the tables have the last ones.
[Performance](../performance.md) has the seconds until sgmc reaches tomotopy's perplexity.

## Compared with other topic modellers

A cell has the held-out perplexity at the end; then millions of token visits a second (all sweeps of a
visit count once) and the peak memory of the process in MB, corpus and held-out documents included.
Three perplexities are those of

1. the draws of one chain, every fifth iteration or sweep after the burn-in, their p(w) averaged; sgmc
   reports it itself, this benchmark computes it for tomotopy;
2. the mean topics of all samples, as `sgmc export` writes them;
3. one draw, the topics at one moment (of several chains: the geometric mean).

{contests}
### How it was measured

- **The same work.** All tools train on the same documents in the same (shuffled) order, with the same
  number of topics and the same priors, sgmc's defaults at that K. Each tool has the fastest of its
  documented settings.
- **Seconds of training.** Every tool trains in a process of its own, pinned to as many cores as it has
  threads: CPU seconds for one thread, wall seconds for more. Reading and converting the corpus,
  extracting the topics and scoring are not counted (scoring its draws took sgmc {judging}); sgmc's
  averaging of its topics is. Several chains share the thread and its seconds.
- **One estimator.** Document completion as in [`sgmc eval`](../evaluation.md): topics fixed, theta of a
  held-out document by Gibbs sampling from its observed tokens (50 sweeps, the last 25 used). Only the
  topics differ between tools{but}.
- **Tools that cannot continue** ({refits}) were fitted from scratch for each point; the time is that of
  the whole fit.
- **Other priors.** Scored with {others} for the alpha of theta, one draw or the last topics of a tool
  have at best {best} lower perplexity.

{settings}

### Advantages and disadvantages of each tool

- Averaging draws is sgmc's protocol. topica and pyrmallet average five snapshots of their topics.
- A constant step makes a single draw of SCIR worse than one of collapsed Gibbs, because minibatch noise
  widens the law. For one matrix of topics, use the mean topics.
- All corpora fit in memory, which samplers with persistent assignments need; sgmc and the variational
  methods need one minibatch.
- {scope}

## Kernels

`sgmc bench` on {kernels_machine}: CPU time of one thread, the median of five repeats; the other kernels
are in [kernels.json](../../benchmarks/results/kernels.json). Documents of 50 and of 150 tokens, 20
sweeps, Rao-Blackwellised counts, ns per token and sweep:

{kernels}

## Run it again

    python3 -m venv .venv && .venv/bin/pip install '.[bench]'
    .venv/bin/python benchmarks/peers --data FOLDER --write-docs

writes this page and its plots. FOLDER has the files named in [plan.py](../../benchmarks/peers/plan.py).
Use an idle machine. `--contest 'wikipedia-1000*'` runs some contests; `--corpus NAME FILE...` runs one
on your corpus."""

#: Of the estimator, if a contest has own priors.
OWN_ALPHA = """,
  and, with own priors, the alpha of theta, which the tool has learned or was given"""

#: If contests ran on several machines.
WITHIN = """
Tables number the machines in this order; compare seconds only within a contest."""


def write_docs(contests: list[dict[str, Any]], kernels: dict[str, Any], docs: Path) -> None:
    """Write the page and its plots."""
    parts = []
    machines = list(dict.fromkeys(processor(found["machine"]) for found in contests))
    for corpus, group in groupby(contests, key=lambda found: found["corpus"]):
        same_corpus = list(group)
        parts.append(
            f"### {corpus['name']}\n\n{corpus['about']}\n"
            f"{corpus['documents']:,} training documents, {corpus['tokens']:,} tokens, "
            f"{corpus['words']:,} words; {corpus['held_out_tokens']:,} held-out tokens of "
            f"{corpus['held_out_documents']:,} documents. The unigram model has "
            f"{corpus['unigram']:,.0f}.\n"
        )
        for found in same_corpus:
            plot(found, docs / "img" / image(found))
        numbers = [machines.index(processor(found["machine"])) + 1 for found in same_corpus]
        parts.append(f"{corpus_table(same_corpus, numbers)}\n")
        parts.append(
            "\n".join(f"![{title(found)}](../img/{image(found)})" for found in same_corpus) + "\n"
        )
    (docs / "internals" / "benchmarks.md").write_text(
        PAGE.format(
            contests="\n".join(parts),
            kernels=kernel_table(kernels),
            kernels_machine=processor(kernels["machine"]),
            within=WITHIN if len(machines) > 1 else "",
            settings=settings_list(contests),
            judging=judging(contests),
            best=best_of_other_priors(contests),
            **words(contests),
        )
    )


def best_of_other_priors(contests: list[dict[str, Any]]) -> str:
    """Return the greatest gains of another alpha of theta, with the tool, by common and by own priors."""
    gains: dict[str, list[tuple[float, str]]] = {}
    for found in contests:
        for peer in found["peers"]:
            if peer.get("other_alphas") and peer["points"]:
                gain = 1 - min(peer["other_alphas"].values()) / peer["points"][-1]["point"]
                kind = "own priors" if found["settings"]["own"] else "common priors"
                gains.setdefault(kind, []).append((gain, peer["peer"]))
    return ", ".join(
        f"{100 * max(rows)[0]:.1f} % ({max(rows)[1]}, {kind})" for kind, rows in gains.items()
    )


def words(contests: list[dict[str, Any]]) -> dict[str, str]:
    """Return the words of the page that depend on the contests."""
    peers = [peer for found in contests for peer in found["peers"]]
    machines = dict.fromkeys(
        "{}, {system}, Python {python}".format(processor(found["machine"]), **found["machine"])
        for found in contests
    )
    dates = sorted({found["machine"]["date"][:10] for found in contests})
    seeds, corpora, ks, others = (
        sorted(set(found))
        for found in (
            (found["settings"]["seed"] for found in contests),
            (found["corpus"]["name"] for found in contests),
            (found["settings"]["topics"] for found in contests),
            (float(alpha) for peer in peers for alpha in peer.get("other_alphas", {})),
        )
    )
    scope = (
        f"{plural(len(machines), 'machine')}, {plural(len(seeds), 'seed')}, "
        f"{plural(len(corpora), 'corpus', 'corpora')}, K = {', '.join(f'{k:,}' for k in ks)}."
    )
    own = any(found["settings"]["own"] for found in contests)
    return {
        "when": f"on {dates[0]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}",
        "machines": "; ".join(machines),
        "refits": ", ".join(dict.fromkeys(p["peer"] for p in peers if p["refits"])) or "none here",
        "others": ", ".join(f"{alpha:g}" for alpha in others),
        "scope": scope,
        "but": OWN_ALPHA if own else "",
    }


def processor(machine: dict[str, Any]) -> str:
    """Name the processor of a machine, and which of its instructions the kernels used."""
    return "{cpu}, {isa}".format(**machine)


def settings_list(contests: list[dict[str, Any]]) -> str:
    """Format a list of settings, each after the names and versions of the peers that used it."""
    peers: dict[str, dict[str, None]] = {}
    for found in contests:
        versions = {**found["versions"], "pysgrld": found["machine"]["pysgrld"]}
        own = ", own priors" if found["settings"]["own"] else ""
        for p in found["peers"]:
            name = f"{p['peer']}{own} {versions[package_of(p)]}"
            peers.setdefault(p["settings"], {})[name] = None
    return "\n".join(f"- {', '.join(names)}: {settings}" for settings, names in peers.items())


def judging(contests: list[dict[str, Any]]) -> str:
    """Say where scoring took the least and the most of sgmc's time, beside training."""
    found = sorted(
        (
            peer["judging_seconds"] / peer["points"][-1]["seconds"],
            f"{peer['judging_seconds']:.0f} s for {peer['points'][-1]['seconds']:.0f} s of training "
            f"({title(contest)})",
        )
        for contest in contests
        for peer in contest["peers"]
        if peer["peer"] == OURS and peer["points"]
    )
    ends = dict.fromkeys(text for _, text in (found[:1] + found[-1:]))
    return " to ".join(ends) or "not measured here"


def package_of(peer: dict[str, Any]) -> str:
    """Name the package of a peer as the versions do."""
    return "pysgrld" if peer["kind"] == "sgmc" else str(peer["peer"]).split()[0]


def kernel_table(kernels: dict[str, Any]) -> str:
    """Write documents of LDA, with expected counts, as a table of K by the documents' length."""
    value: dict[tuple[str, str], float] = {}
    for row in kernels["rows"]:
        if row["group"] == "documents" and row["name"].startswith("K="):
            k, way = row["name"].split(", ", 1)
            value[k, way] = row["value"]
    sizes, ways = (list(dict.fromkeys(names)) for names in zip(*value, strict=True))
    lines = [f"| | {' | '.join(sizes)} |", f"|---|{'---:|' * len(sizes)}"]
    for way in ways:
        if not way.endswith("20 sweeps, Rao-Blackwell"):
            continue
        cells = [f"{value[k, way]:.1f}" for k in sizes]
        lines.append(f"| {way.split(',')[0]} | {' | '.join(cells)} |")
    return "\n".join(lines)
