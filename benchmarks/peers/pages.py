"""What the figures look like: a table, a plot, and the page docs/benchmarks.md."""

from __future__ import annotations

import math
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from pysgrld.grammar import plural

#: Of a series, the last point not later than a column's time, give or take this much.
GRACE = 1.15
#: After Okabe and Ito, whose colours colour-blind readers can tell apart; sgmc has the warm ones.
COLOURS = {
    "sgmc scir": "#D55E00",
    "sgmc sgrld": "#E69F00",
    "sgmc cgs": "#A50F15",
    "tomotopy": "#0072B2",
    "topica": "#009E73",
    "topica warp": "#7FB98F",
    "pyrmallet": "#56B4E9",
    "lda": "#CC79A7",
    "gensim": "#555555",
    "scikit-learn": "#999999",
}

#: Whose seconds are compared with tomotopy's.
OURS, THEIRS = "sgmc scir", "tomotopy"

#: Figures of a point, and what they are called.
FIGURES = {"averaged": "draws averaged", "mean": "mean topics", "point": "one draw"}


class Series(NamedTuple):
    """The perplexity of one peer over seconds, by one kind of figure."""

    peer: dict[str, Any]
    figure: str
    points: list[tuple[float, float]]

    @property
    def label(self) -> str:
        """Name the series as in the table and at the end of its line."""
        label = str(self.peer["peer"])
        has_draws = any(point["averaged"] for point in self.peer["points"])
        return f"{label}, {FIGURES[self.figure]}" if has_draws else label

    @property
    def is_one_draw(self) -> bool:
        """Return whether the peer has another line, of averaged draws."""
        return self.label.endswith(FIGURES["point"])


def all_series(found: dict[str, Any]) -> list[Series]:
    """Give every line that a contest has to draw, the lowest end first."""
    series = []
    for peer in found["peers"]:
        for figure in FIGURES:
            points = [(p["seconds"], p[figure]) for p in peer["points"] if p.get(figure)]
            if points:
                series.append(Series(peer, figure, points))
    return sorted(series, key=lambda one: one.points[-1][1])


def tables(found: dict[str, Any]) -> str:
    """Write all there is to tell of a contest: perplexities, and seconds until those of tomotopy."""
    return "\n\n".join(part for part in (table(found), versus(found)) if part)


def table(found: dict[str, Any]) -> str:
    """Write a Markdown table of perplexity after so many seconds, a row for each series."""
    ends = [p["seconds"] for peer in found["peers"] for p in peer["points"]]
    columns = [2.0**i for i in range(-1, 12) if 2.0**i <= GRACE * max(ends, default=0.0)]
    head = ["", *(f"{t:g} s" for t in columns), "best of other priors", "M tokens/s", "MB"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for series in all_series(found):
        peer, last = series.peer, series.peer["points"][-1]
        cells = [cell(series.points, t) for t in columns]
        best = "" if series.figure != "point" else f"{min(peer['other_alphas'].values()):.0f}"
        speed = f"{last['tokens'] / last['seconds'] / 1e6:.2f}"
        name = f"**{series.label}**" if peer["kind"] == "sgmc" else series.label
        memory = f"{peer['peak_rss_bytes'] / 1e6:.0f}"
        lines.append(f"| {' | '.join([name, *cells, best, speed, memory])} |")
    failed = ", ".join(peer["peer"] for peer in found["peers"] if peer.get("failed"))
    return "\n".join(lines) + (f"\n\nFailed, and left out: {failed}." if failed else "")


def cell(points: list[tuple[float, float]], t: float) -> str:
    """Write the figure of the last point that belongs to a column; empty where there is none."""
    inside = [p for s, p in points if GRACE * t / 2 < s <= GRACE * t]
    return f"{inside[-1]:.0f}" if inside else ""


# ---- seconds until a perplexity


def versus(found: dict[str, Any]) -> str:
    """Write the seconds that sgmc takes for tomotopy's perplexities; empty without either of them."""
    lines = {(s.peer["peer"], s.figure): s.points for s in all_series(found)}
    ours = lines.get((OURS, "averaged"))
    theirs = {f: lines[THEIRS, f] for f in ("averaged", "point") if (THEIRS, f) in lines}
    if not ours or not theirs:
        return ""
    rows = []
    for figure, points in theirs.items():
        for part in (0.25, 0.5, 1.0):
            t = part * points[-1][0]
            goal = perplexity_at(points, t)
            if goal is None:
                continue
            s = seconds_until(ours, goal)
            what = f"| {THEIRS}, {FIGURES[figure]} | {goal:.0f} | {t:.1f} |"
            if s is None:
                rows.append(f"{what} not within {ours[-1][0]:.0f} | |")
            elif s <= ours[0][0]:  # before its first point: a bound is all there is
                rows.append(f"{what} at most {s:.2f} | at least {t / s:.1f} |")
            else:
                rows.append(f"{what} {s:.{1 if s >= 10 else 2}f} | {t / s:.2f} |")
    head = ["perplexity of", "is", "after, s", f"{OURS}, draws averaged, s", f"{THEIRS}'s / sgmc's"]
    table = [f"| {' | '.join(head)} |", "|---|---:|---:|---:|---:|", *rows]
    if "averaged" in theirs:
        ends = ours[-1][1] / theirs["averaged"][-1][1]
        table += [
            "",
            f"At the end, draws averaged, {OURS} has {ends:.3f} of {THEIRS}'s perplexity.",
        ]
    return "\n".join(table)


def perplexity_at(points: list[tuple[float, float]], seconds: float) -> float | None:
    """Interpolate a perplexity between two points, both on log scales; None before the first."""
    for (s1, p1), (s2, p2) in pairwise(points):
        if s1 <= seconds <= s2:
            return between(seconds, s1, s2, p1, p2)
    return points[0][1] if seconds == points[0][0] else None


def seconds_until(points: list[tuple[float, float]], perplexity: float) -> float | None:
    """Interpolate the first seconds with at most that perplexity, on log scales; None if never.

    Where the first point has it already, these are its seconds, which may be too many.
    """
    if points[0][1] <= perplexity:
        return points[0][0]
    for (s1, p1), (s2, p2) in pairwise(points):
        if p2 <= perplexity:  # and p1 is above it, or the loop would be over
            return between(perplexity, p1, p2, s1, s2)
    return None


def between(x: float, x1: float, x2: float, y1: float, y2: float) -> float:
    """Interpolate y at x on a straight line through two points, all on log scales."""
    return y1 * (y2 / y1) ** (math.log(x / x1) / math.log(x2 / x1))


# ---- the plot


def image(found: dict[str, Any]) -> str:
    """Name the file of a contest's plot."""
    return f"peers-{found['name']}.png"


def plot(found: dict[str, Any], path: Path) -> None:
    """Draw perplexity against training seconds, both on a log scale, lines named at their ends."""
    corpus, settings = found["corpus"], found["settings"]
    series = [s for s in all_series(found) if s.figure != "mean"]
    if not series:
        return
    figure, axes = plt.subplots(figsize=(8.6, 4.9))
    figure.subplots_adjust(left=0.085, right=0.745, bottom=0.105, top=0.935)
    axes.set_xscale("log")
    axes.set_yscale("log")
    begin = 0.22
    end = 1.04 * max(t for s in series for t, _ in s.points)
    low = min(p for s in series for _, p in s.points) / 1.012
    high = 1.04 * corpus["unigram"]
    axes.set_xlim(begin, end)
    axes.set_ylim(low, high)
    for s in series:
        axes.plot(
            *zip(*s.points, strict=True),
            color=COLOURS[s.peer["peer"]],
            lw=width(s),
            ls=":" if s.is_one_draw else "-",
            marker="o",
            ms=1.5 + 1.2 * width(s),
            zorder=2 + width(s),
        )
    axes.axhline(corpus["unigram"], color="#aaaaaa", lw=1, ls="--", zorder=1)
    axes.text(
        begin * 1.06,
        corpus["unigram"] * 1.004,
        "unigram: word frequencies, no topics",
        va="bottom",
        fontsize=8,
        color="#777777",
    )
    seconds = [2.0**i for i in range(-2, 12) if begin <= 2.0**i <= end]
    axes.set_xticks(seconds, [f"{t:g}" for t in seconds])
    heights = [y for y in range(500, 10_000, 50) if low <= y <= high]
    named = [y for y in heights if (y % 100 == 0 and (y < 1600 or y % 200 == 0)) or y < 1.2 * low]
    axes.set_yticks(named, [f"{y:,}" for y in named])
    axes.minorticks_off()
    axes.grid(color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    clock = "CPU" if settings["threads"] == 1 else "wall-clock"
    axes.set_xlabel(f"{clock} seconds of training, {threads(settings)}")
    axes.set_ylabel("held-out perplexity (lower is better)")
    priors = "own priors" if settings["own"] else "the same priors for all"
    axes.set_title(
        f"{corpus['name']}: {corpus['documents']:,} documents, {corpus['words']:,} words, "
        f"{settings['topics']:,} topics, {priors}",
        fontsize=9.5,
        loc="left",
    )
    name_ends(axes, series)
    figure.savefig(path, dpi=120, pil_kwargs={"optimize": True})
    plt.close(figure)


def width(series: Series) -> float:
    """Choose the thickness of a line: sgmc's own figure, its other ones, everybody else's."""
    if series.peer["kind"] != "sgmc" or series.is_one_draw:
        return 1.3
    return 3.2 if series.peer["peer"] == "sgmc scir" else 2.0


def name_ends(axes: Any, series: list[Series]) -> None:
    """Write names to the right of the lines' ends, pushed apart where these are close."""
    low, high = axes.get_ylim()
    wanted = [math.log(s.points[-1][1] / low) / math.log(high / low) for s in series]
    for s, y in zip(series, apart(wanted, 0.042), strict=True):
        colour, ours = COLOURS[s.peer["peer"]], s.peer["kind"] == "sgmc" and not s.is_one_draw
        axes.annotate(
            s.label,
            s.points[-1],
            xytext=(1.035, y),
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            fontweight="bold" if ours else "normal",
            color=colour,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0.0, 0.5),
            },
        )


def apart(wanted: list[float], gap: float, floor: float = 0.0) -> list[float]:
    """Move ascending heights at least ``gap`` apart, as near to those wanted as crowds allow.

    Neighbours that would touch are placed as one crowd around the mean of what they want, and no
    name stands below ``floor``.
    """

    def centre(crowd: list[float]) -> float:
        return max(sum(crowd) / len(crowd), floor + gap * (len(crowd) - 1) / 2)

    crowds: list[list[float]] = []
    for y in wanted:
        crowds.append([y])
        while (
            len(crowds) > 1
            and centre(crowds[-1]) - centre(crowds[-2])
            < gap * (len(crowds[-1]) + len(crowds[-2])) / 2
        ):
            last = crowds.pop()
            crowds[-1] += last
    return [
        centre(crowd) + gap * (i - (len(crowd) - 1) / 2)
        for crowd in crowds
        for i in range(len(crowd))
    ]


# ---- docs/benchmarks.md

PAGE = """\
# Benchmarks

Measured {when}: {machines}.
This page and its plots are written by one command (at the end), from
[peers.json](../benchmarks/results/peers.json) and
[kernels.json](../benchmarks/results/kernels.json), which hold every point.

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
- **One estimator.** Document completion, as [`sgmc eval`](evaluation.md) does it: topics fixed, theta
  of a held-out document by Gibbs from its observed tokens (50 sweeps, the last 25 kept), its
  held-out tokens scored by p(w) = sum_k theta_k phi_kw. Only the topics differ between peers{but}.
- **One draw and many.** A sampler's topics at one moment are one draw from the posterior: "one
  draw". "Draws averaged" is the mean of p(w) over the draws of one chain, every fifth iteration or
  sweep after the burn-in: what sgmc reports by itself, and what was done for tomotopy by this
  benchmark, in a loop around it. topica and pyrmallet average five snapshots of their topics by
  default; that is what was scored. "Mean topics" is the like of it for sgmc, the mean of all samples
  as `sgmc export` writes it. Variational methods have one matrix of topics and no draws.
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

`sgmc bench` on the same machine: CPU time of one thread, the median of five repeats; training by the
wall's clock.

{kernels}

## Run it again

    python3 -m venv .venv && .venv/bin/pip install '.[bench]'
    .venv/bin/python benchmarks/peers --data FOLDER --write-docs

FOLDER has the files that [plan.py](../benchmarks/peers/plan.py) names; an idle machine, please. Contests
can also be run some at a time, `--contest 'wikipedia-1000*'`: the page is made of all that are there.
`--corpus NAME FILE...` is a contest with a corpus of yours. Kernels alone: `sgmc bench`.
"""

#: Of the estimator, where a contest is with own priors.
OWN_ALPHA = """,
  and with own priors the alpha of theta, which is what the peer has learned or was given"""


def write_docs(contests: list[dict[str, Any]], kernels: dict[str, Any], docs: Path) -> None:
    """Write the page and its plots."""
    parts = []
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
                f"![Held-out perplexity against training seconds, {title(found)}]"
                f"(img/{image(found)})\n\n"
                f"{tables(found)}\n"
            )
    (docs / "benchmarks.md").write_text(
        PAGE.format(
            contests="\n".join(parts),
            kernels=kernel_tables(kernels),
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
        "{cpu}, {isa}, {system}, Python {python}".format(**found["machine"]) for found in contests
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


def title(found: dict[str, Any]) -> str:
    """Name a contest in words."""
    settings = found["settings"]
    own = ", own priors" if settings["own"] else ""
    return f"{found['corpus']['name']}, K = {settings['topics']:,}, {threads(settings)}{own}"


def threads(settings: dict[str, Any]) -> str:
    """Say on how many threads a contest was."""
    return "one thread" if settings["threads"] == 1 else f"{settings['threads']} threads"


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
