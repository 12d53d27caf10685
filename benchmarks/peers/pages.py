"""The page docs/internals/benchmarks.md, made of the results of all contests and of `sgmc bench`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from plots import image, plot
from series import OURS, title
from tables import tables

from pysgrld.errors import plural

PAGE = """\
# Benchmarks

Measured {when}: {machines}.{within}
This page and its plots are written by one command (at the end), from
[peers.json](../../benchmarks/results/peers.json) and
[kernels.json](../../benchmarks/results/kernels.json), which hold every point.

## Beside other topic modellers

{contests}
### How it was measured

- **The same work.** The same documents in the same (shuffled) order, the same number of topics, and the
  same priors for everybody: those that sgmc has by default at that K, in the table below. Each peer has
  the fastest of its documented settings, in the table after it.
- **Cores of its own, seconds of training.** Every peer trains in a process of its own that is pinned to
  as many cores as it has threads. The clock counts CPU seconds where that is one, and with more
  threads those of the wall. It runs while the peer trains; reading and converting the corpus, taking
  the topics out and scoring them are on nobody's clock. sgmc's own averaging of its topics is on its
  clock.
- **One estimator.** Document completion, as [`sgmc eval`](../evaluation.md) does it: topics fixed, theta
  of a held-out document by Gibbs from its observed tokens (50 sweeps, the last 25 kept), its
  held-out tokens scored by p(w) = sum_k theta_k phi_kw. Only the topics differ between peers{but}.
- **One draw and many.** A sampler's topics at one moment are one draw from the posterior: "one
  draw". "Draws averaged" is the mean of p(w) over the draws of one chain, every fifth iteration or
  sweep after the burn-in: what sgmc reports by itself, and what was done for tomotopy by this
  benchmark, in a loop around it. topica and pyrmallet average five snapshots of their topics by
  default; that is what was scored. "Mean topics" is the like of it for sgmc, the mean of all samples
  as `sgmc export` writes it. Variational methods have one matrix of topics and no draws.
- **Several chains** share one thread and its seconds: each trains for its part of them from a seed of its
  own, and p(w) is averaged over the draws of all, every chain counting the same, as `sgmc eval` does for
  a run of several chains. "One draw" is then the geometric mean over the chains.
- **Peers that cannot go on** ({refits}) were fitted from scratch, with the same seed,
  for each of their points; the time is that of the whole fit.
- **Columns.** The last point within a column's time (15 % of grace). "Best of other priors": the
  last topics, scored with {others} for the alpha of theta; the lowest. "M tokens/s": tokens visited,
  all sweeps of a visit counted once. "MB": peak memory of the process, the corpus as the peer wants
  it and the held-out documents included.
- **Seconds until.** Perplexities of tomotopy at a quarter, at half and at the end of its time, and when
  sgmc's averaged draws first have as low a one: between two neighbouring points on a
  straight line, both axes being logarithms.

| contest | alpha | eta | seed | date | load average before | pysgrld |
|---|---:|---:|---:|---|---:|---|
{conditions}

| peer | version | settings |
|---|---|---|
{settings}

### What favours whom

- The priors are sgmc's defaults. With `--alpha 0.1` for all, tried once on 20 Newsgroups, K = 100, one
  draw of tomotopy was 0.3 % better after 8 and 16 s, topica the same, and averaged draws of either
  sampler 1 to 3 % worse. Whether the estimator's alpha holds a peer back, "best of other priors" tells.
- Averaging draws is sgmc's own protocol. The line of tomotopy with its draws averaged shows what it
  gives to another sampler; the tools themselves do not offer it, apart from the five snapshots of
  topica and pyrmallet.
- Scoring its draws costs sgmc time that is not on the clock, because it is evaluation and other
  tools would have to do it too: {judging}.
- A constant step makes a single draw of SCIR worse than one of collapsed Gibbs, since noise of
  minibatches widens what is sampled. Who needs one matrix of topics takes the mean topics.
- All corpora are small enough for memory, where the samplers that keep every token's topic are at
  home; sgmc and the variational methods need a minibatch only.
- {scope}

## Kernels

`sgmc bench` on {kernels_machine}: CPU time of one thread, the median of five repeats; training by the
wall's clock.

{kernels}

## Run it again

    python3 -m venv .venv && .venv/bin/pip install '.[bench]'
    .venv/bin/python benchmarks/peers --data FOLDER --write-docs

FOLDER has the files that [plan.py](../../benchmarks/peers/plan.py) names. Use an idle machine.
Contests can also be run some at a time, `--contest 'wikipedia-1000*'`: the page is made of all that
are there. `--corpus NAME FILE...` is a contest with a corpus of yours. Kernels alone: `sgmc bench`.
"""

#: Of the estimator, where a contest is with own priors.
OWN_ALPHA = """,
  and with own priors the alpha of theta, which is what the peer has learned or was given"""

#: Where contests were on several machines.
WITHIN = """
Which of them, each contest says: seconds are compared within a contest."""


def write_docs(contests: list[dict[str, Any]], kernels: dict[str, Any], docs: Path) -> None:
    """Write the page and its plots."""
    parts = []
    several = len({processor(found["machine"]) for found in contests}) > 1
    for corpus, group in groupby(contests, key=lambda found: found["corpus"]):
        parts.append(
            f"### {corpus['name']}\n\n{corpus['about']}\n"
            f"{corpus['documents']:,} training documents, {corpus['tokens']:,} tokens, "
            f"{corpus['words']:,} words; {corpus['held_out_tokens']:,} held-out tokens of "
            f"{corpus['held_out_documents']:,} documents. The unigram model has "
            f"{corpus['unigram']:,.0f}.\n"
        )
        for found in group:
            plot(found, docs / "img" / image(found))
            on = f"On {processor(found['machine'])}.\n\n" if several else ""
            parts.append(
                f"#### {title(found)}\n\n{on}"
                f"![Held-out perplexity against training seconds, {title(found)}]"
                f"(../img/{image(found)})\n\n"
                f"{tables(found)}\n"
            )
    (docs / "internals" / "benchmarks.md").write_text(
        PAGE.format(
            contests="\n".join(parts),
            kernels=kernel_tables(kernels),
            kernels_machine=processor(kernels["machine"]),
            within=WITHIN if several else "",
            conditions="\n".join(conditions(found) for found in contests),
            settings="\n".join(
                dict.fromkeys(row for found in contests for row in peer_rows(found))
            ),
            judging=judging(contests),
            **words(contests),
        )
    )


def words(contests: list[dict[str, Any]]) -> dict[str, str]:
    """Give the words of the page that depend on which contests there are."""
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


def conditions(found: dict[str, Any]) -> str:
    """Write the row of a contest: priors, seed, and what the machine was like."""
    settings, machine = found["settings"], found["machine"]
    priors = "own | own" if settings["own"] else f"{settings['alpha']:g} | {settings['eta']:g}"
    return (
        f"| {title(found)} | {priors} | {settings['seed']} | {machine['date'][:10]} | "
        f"{machine['load']:g} | {machine['pysgrld']} |"
    )


def peer_rows(found: dict[str, Any]) -> list[str]:
    """Write a row for each peer of a contest: its version and its settings."""
    versions = {**found["versions"], "pysgrld": found["machine"]["pysgrld"]}
    own = ", own priors" if found["settings"]["own"] else ""
    return [
        f"| {p['peer']}{own} | {versions[package_of(p)]} | {p['settings']} |"
        for p in found["peers"]
    ]


def judging(contests: list[dict[str, Any]]) -> str:
    """Say where scoring took the least and the most of sgmc's time, beside training."""
    found = sorted(
        (
            peer["judging_seconds"] / peer["points"][-1]["seconds"],
            f"{peer['judging_seconds']:.0f} s beside {peer['points'][-1]['seconds']:.0f} s of training "
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


def kernel_tables(kernels: dict[str, Any]) -> str:
    """Write documents of LDA as a table of K by how they are sampled, and the rest a row a figure."""
    value: dict[tuple[str, str], float] = {}
    rest = []
    for row in kernels["rows"]:
        if row["group"] == "documents" and row["name"].startswith("K="):
            k, way = row["name"].split(", ", 1)
            value[k, way] = row["value"]
        else:
            name = f"{row['group']}: {row['name']}"
            rest.append(f"| {name} | {figure(row['value'])} | {row['unit']} |")
    sizes, ways = (list(dict.fromkeys(names)) for names in zip(*value, strict=True))
    lines = [
        "Documents, ns per token and sweep:",
        "",
        f"| tokens, sweeps, counts | {' | '.join(sizes)} |",
        f"|---|{'---:|' * len(sizes)}",
    ]
    for way in ways:
        cells = [f"{value[k, way]:.1f}" for k in sizes]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "The rest:", "", "| | | |", "|---|---:|---|", *rest])


def figure(value: float) -> str:
    """Write a figure with as many digits as it deserves."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
