"""The page docs/internals/benchmarks.md, made of the results of all contests and of `sgmc bench`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from plots import image, plot
from series import OURS, title
from tables import table, versus

from pysgrld.errors import plural

PAGE = """\
# Benchmarks

Measured {when}: {machines}.{within}
One command (at the end) writes this page and its plots from
[peers.json](../../benchmarks/results/peers.json) and
[kernels.json](../../benchmarks/results/kernels.json), which have every point; tables have the last ones.

## Compared with other topic modellers

Seconds of training until sgmc scir, draws averaged, reaches the last perplexities of tomotopy, with draws
averaged and of one draw; the ratio of the seconds; and at the end the ratio of the last averaged
perplexities (below 1: sgmc is better).

{versus}

{contests}
### How it was measured

- **The same work.** All tools train on the same documents in the same (shuffled) order, with the same
  number of topics and the same priors: sgmc's defaults at that K, in the table below. Each tool
  has the fastest of its documented settings.
- **Seconds of training.** Every tool trains in a process of its own, pinned to as many cores as it has
  threads. The clock counts CPU seconds for one thread and wall seconds for more. Reading and converting
  the corpus, extracting the topics and scoring are not counted; sgmc's averaging of its topics is.
- **One estimator.** Document completion as in [`sgmc eval`](../evaluation.md): topics fixed, theta
  of a held-out document by Gibbs sampling from its observed tokens (50 sweeps, the last 25 used), its
  held-out tokens scored by p(w) = sum_k theta_k phi_kw. Only the topics differ between tools{but}.
- **One draw and averages.** "One draw" is the topics at one moment. "Draws averaged" is the mean of
  p(w) over the draws of one chain, every fifth iteration or sweep after the burn-in; sgmc reports it
  itself, and this benchmark computes it for tomotopy. topica and pyrmallet average five snapshots
  of their topics by default. "Mean topics" is the mean of all samples, as `sgmc export` writes it.
- **Several chains** share one thread and its seconds, each with a seed of its own; p(w) is averaged
  over the draws of all chains. "One draw" is then the geometric mean over the chains.
- **Tools that cannot continue** ({refits}) were fitted from scratch, with the same seed,
  for each point; the time is that of the whole fit.
- **Columns.** "Best of other priors": the
  last topics, scored with {others} for the alpha of theta; the lowest. "M tokens/s": visited tokens,
  all sweeps of a visit counted once. "MB": peak memory of the process, including the corpus and
  the held-out documents.
- **Seconds until** a perplexity are interpolated linearly between two points on logarithmic axes.

| contest | machine | alpha | eta | load | pysgrld |
|---|---:|---:|---:|---:|---|
{conditions}

Machines are numbered in the order of the list above; "load" is the load average before the contest.

| peer | version | settings |
|---|---|---|
{settings}

### Advantages and disadvantages of each tool

- The priors are sgmc's defaults. With `--alpha 0.1` for all (20 Newsgroups, K = 100, once), one draw of
  tomotopy was 0.3 % better after 8 and 16 s, topica equal, and averaged draws of both samplers 1 to 3 %
  worse. "Best of other priors" shows whether the estimator's alpha holds a tool back.
- Averaging draws is sgmc's protocol. tomotopy's averaged line shows its effect on another sampler; no
  other tool offers it, except for the five snapshots of topica and pyrmallet.
- Scoring its draws takes time that is not counted: {judging}.
- A constant step makes a single draw of SCIR worse than one of collapsed Gibbs, because minibatch noise
  widens the law. For one matrix of topics, use the mean topics.
- All corpora fit in memory, which samplers with persistent assignments need; sgmc and the variational
  methods need one minibatch.
- {scope}

## Kernels

`sgmc bench` on {kernels_machine}: CPU time of one thread, the median of five repeats; training by
wall time.

{kernels}

## Run it again

    python3 -m venv .venv && .venv/bin/pip install '.[bench]'
    .venv/bin/python benchmarks/peers --data FOLDER --write-docs

FOLDER has the files named in [plan.py](../../benchmarks/peers/plan.py). Use an idle machine.
`--contest 'wikipedia-1000*'` runs some contests; the page has all stored ones. `--corpus NAME FILE...`
runs a contest on your corpus. Kernels alone: `sgmc bench`.
"""

#: Of the estimator, where a contest is with own priors.
OWN_ALPHA = """,
  and, with own priors, the alpha of theta, which the tool has learned or was given"""

#: Where contests were on several machines.
WITHIN = """
The table of contests names the machine; compare seconds only within a contest."""


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
            parts.append(
                f"#### {title(found)}\n\n"
                f"![Held-out perplexity against training seconds](../img/{image(found)})\n\n"
                f"{table(found)}\n"
            )
    (docs / "internals" / "benchmarks.md").write_text(
        PAGE.format(
            contests="\n".join(parts),
            kernels=kernel_tables(kernels),
            kernels_machine=processor(kernels["machine"]),
            within=WITHIN if several else "",
            versus=versus(contests),
            conditions=conditions(contests),
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


def conditions(contests: list[dict[str, Any]]) -> str:
    """Write a row for each contest: the number of its machine, priors, load and version."""
    machines = list(dict.fromkeys(processor(found["machine"]) for found in contests))
    rows = []
    for found in contests:
        settings, machine = found["settings"], found["machine"]
        priors = "own | own" if settings["own"] else f"{settings['alpha']:g} | {settings['eta']:g}"
        number = machines.index(processor(machine)) + 1
        rows.append(
            f"| {title(found)} | {number} | {priors} | {machine['load']:g} | {machine['pysgrld']} |"
        )
    return "\n".join(rows)


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
    return "\n".join([*lines, "", "Other kernels:", "", "| | | |", "|---|---:|---|", *rest])


def figure(value: float) -> str:
    """Write a figure with as many digits as it deserves."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
