"""The command ``sgmc diagnose``, which tests whether chains have converged to the same topics."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import (
    CorpusError,
    Interrupted,
    MissingInputError,
    OutputError,
    UsageError,
    WriteError,
)
from pysgrld.options.parse import integer

from .options import Described, as_json, flag, layer, plain, quiet, show_json, threads
from .terminal import echo, fill, room, wrap
from .topics import named
from .values import runs

if TYPE_CHECKING:
    from pysgrld.reading.diagnosis import Diagnosis, Measure

#: The table of ``--replicate`` shows this number of top words of each topic by default.
TOP_SHOWN = 8
#: Maximum width of the column with the matching topics of other chains. If the column would be
#: wider, only the JSON output has it.
WIDEST = 24


@click.command(
    "diagnose",
    cls=Described,
    instead={"-n": "give the number of words of each topic with --top N"},
    epilog="""\b
Examples:
  sgmc train --chains 4 corpus.txt && sgmc diagnose
  sgmc diagnose runs/a            a folder of chains
  sgmc diagnose runs/a/chain-1 runs/a/chain-3 --top 20
  sgmc diagnose bible-scir        one run: its first half and its second
  sgmc diagnose --replicate 8     which topics do fresh runs find again?
  sgmc diagnose --halves          do intervals hold for texts like these?
  sgmc diagnose --burn-in 5000 --picture chains.png
  sgmc diagnose --json | jq '.topics[] | select(.overlap < 0.7).id'""",
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=runs)
@plain("--top", "10", "number of words of each topic", parse=integer(1, 10_000), metavar="N")
@layer
@plain(
    "--burn-in", "the runs'", "ignore samples up to this iteration", parse=integer(0), metavar="N"
)
@plain(
    "--replicate",
    "none",
    "train N new runs on halves of the documents, and count for each topic the runs that find it",
    parse=integer(1, 100),
    metavar="N",
)
@flag("--halves", "train on two random halves of the documents: do their intervals agree?")
@plain("--picture", "none", "also draw traces, overlaps and R-hat", parse=str, metavar="FILE.png")
@flag("--force", "replace an existing picture")
@as_json
@quiet
@threads
def command(
    runs: tuple[str, ...],
    top: int | None,
    layer: int | None,
    burn_in: int | None,
    replicate: int | None,
    halves: bool,
    picture: str | None,
    force: bool,
    **values: Any,
) -> None:
    """Compare the topics of several chains, and test whether the chains have mixed.

    RUN is a folder of chains ('sgmc train --chains'), or runs that differ in --chain-id or --seed
    only. Each topic of the first chain is matched with one of every other chain. Overlap is the
    probability that they have in common (1: the same). R-hat is near 1 where chains have mixed;
    ESS is the effective sample size. Components of a mixture are not matched:
    what every draw has is compared. See docs/diagnose.md.
    """
    from pysgrld.reading.compare_chains import TOP, diagnose
    from pysgrld.reading.verdict import longer, verdict

    from .progress import Screen

    if halves:
        if len(runs) > 1 or replicate or top or layer or burn_in or picture is not None:
            raise UsageError(
                "--halves needs a single run, and cannot be combined with --replicate, --top, "
                "--layer, --burn-in or --picture; leave them out"
            )
        _compare_halves(runs[0] if runs else None, **values)
        return
    if replicate is not None:
        if len(runs) > 1 or layer or burn_in or picture is not None:
            raise UsageError(
                "--replicate needs a single run, and cannot be combined with --layer, --burn-in "
                "or --picture; leave them out"
            )
        _replicate(runs[0] if runs else None, replicate, top, **values)
        return
    if picture is not None:
        from pysgrld.reading.diagnosis_picture import check_picture
        from pysgrld.run.layout import check_outputs

        check_picture(picture)
        check_outputs([Path(picture)], force=force)
    elif force:
        raise UsageError("--force requires --picture FILE.png")
    with Screen(quiet=values["quiet"]) as screen:
        with screen.steps() as tell:
            diagnosis = diagnose(
                *runs,
                top=top or TOP,
                layer=layer or 1,
                burn_in=burn_in or 0,
                threads=values["threads"],
                tell=partial(tell, "reading samples"),
            )
        if picture is not None:
            from pysgrld.reading.diagnosis_picture import draw

            draw(diagnosis, picture)
    if values["json"]:
        show_json(
            _record(diagnosis) | {"verdict": verdict(diagnosis), "commands": longer(diagnosis)}
        )
        return
    _show(diagnosis, verdict(diagnosis))
    if commands := longer(diagnosis):
        echo("Train longer with:")
        for line in commands:
            echo(f"  {line}")


def _replicate(
    name: str | None, runs: int, top: int | None, *, quiet: bool, json: bool, threads: int | None
) -> None:
    """Train new runs on halves of the documents, and print how many of these runs find each topic."""
    from pysgrld.evaluate.matching import CORRELATED
    from pysgrld.reading.find_runs import open_run
    from pysgrld.reading.replicated import ENOUGH, REPLICATION, write_replicated
    from pysgrld.reading.topics import topics_of
    from pysgrld.report.topic_words import labelled
    from pysgrld.run.machine import threads as count
    from pysgrld.train.replication import replicate_topics

    from .progress import Screen

    with Screen(quiet=quiet) as screen:
        results = open_run(name, count(threads).number, missing=screen.warn)
        topics = topics_of(results, top or TOP_SHOWN, intervals=False, coherences=False)
        with screen.steps() as tell:
            replication = replicate_topics(results, runs, partial(tell, "training replicates"))
        times, overlap = replication.times_found, replication.overlap.mean(axis=0)
        # Topics of several chains are means, to which no file in the folder of one chain belongs.
        if len(results.chains) > 1:
            screen.note("counts are not stored, because the run has several chains")
        elif runs < ENOUGH:
            screen.note(f"counts of fewer than {ENOUGH} new runs are not stored")
        else:
            path = results.path / REPLICATION
            try:
                write_replicated(results, times.tolist(), runs)
                screen.note(f"counts are stored in {path}; topics, report and export show them")
            except (CorpusError, MissingInputError, OutputError, WriteError) as error:
                screen.warn(f"{error}; topics, report and export will not show these counts")
    if json:
        records = [
            {
                "id": topic.id,
                "weight": topic.weight,
                "found": int(times[topic.id]),
                "correlation": replication.correlation[:, topic.id].tolist(),
                "overlap": replication.overlap[:, topic.id].tolist(),
                "words": [word.word for word in topic.words],
            }
            for topic in topics
        ]
        show_json(
            {
                "run": results.place,
                "replicates": runs,
                "least_correlation": CORRELATED,
                "topics": labelled(results, 0, records),
            }
        )
        return
    rows = [
        (
            str(topic.id),
            "" if topic.weight is None else f"{100 * topic.weight:.1f} %",
            f"{times[topic.id]} of {runs}",
            f"{overlap[topic.id]:.2f}",
            topic.label or " ".join(word.word for word in topic.words),
        )
        for topic in topics
    ]
    echo(f"{results.place}, {runs} new runs on random halves of the documents\n")
    head = ("topic", "share", "found", "overlap", "top words")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(4)]
    for row in [head, *rows]:
        cells = [cell.rjust(size) for cell, size in zip(row[:4], widths, strict=True)]
        echo("  ".join([*cells, row[4]])[: room()])
    echo(
        "\n"
        + fill(
            "Found: number of new runs that have a similar topic. The shares of the two topics in "
            f"documents correlate by at least {CORRELATED}. A run on as many new texts finds a "
            "topic about as often (docs/calibration.md). Overlap: "
            "mean fraction of the ten top words that the two topics have in common."
        )
    )


def _compare_halves(name: str | None, *, quiet: bool, json: bool, threads: int | None) -> None:
    """Train on two halves of a run's documents, and print the fraction of intervals that agree."""
    from tempfile import TemporaryDirectory

    from pysgrld.reading.find_runs import open_run
    from pysgrld.reading.intervals import SHARE
    from pysgrld.report.halves import AGREE, WORDS, compare_halves
    from pysgrld.run.machine import threads as count
    from pysgrld.train.halves import open_training_corpus, options_for_halves, train_halves

    from .progress import Screen

    with Screen(quiet=quiet) as screen, TemporaryDirectory(prefix="sgmc-") as folder:
        number = count(threads).number
        results = open_run(name, number, missing=screen.warn)
        corpus, choices = open_training_corpus(results), options_for_halves(results)
        try:
            with screen.steps() as tell:
                tell = partial(tell, "training on halves")
                paths = train_halves(corpus, choices, Path(folder), results.seed, number, tell)
        except Interrupted:
            raise Interrupted(
                "stopped: the runs on halves are not kept; run the same command again"
            ) from None
        left, right = paths
        compared = compare_halves(
            *(
                (open_run(left, number, these=these), open_run(right, number, these=these))
                for these in (False, True)
            )
        )
    if json:
        record = {
            key: value._asdict() if hasattr(value, "_asdict") else value
            for key, value in compared._asdict().items()
        }
        show_json({"run": results.place, "interval": SHARE} | record)
        return
    a, b = compared.documents
    echo(f"{results.place}: trained on two random halves, {a:,} and {b:,} documents\n")
    echo(f"{'90 % intervals of differences':<35}contain 0  worst topic  number")
    titles = {
        f"{WORDS} top words": compared.words,
        f"{WORDS} top words (--population these)": compared.words_these,
        "shares of topics": compared.shares,
        "shares in groups": compared.groups,
    }
    for title, coverage in titles.items():
        cells = ["-" if x is None else f"{x:.2f}" for x in (coverage.held, coverage.worst)]
        echo(f"{title:<38}{cells[0]:>6}  {cells[1]:>11}  {coverage.number:>6,}")
    echo(
        "\n"
        + fill(
            f"{compared.pairs} of {compared.topics} topics are in both halves (at least {AGREE} "
            f"of {WORDS} top words in common); the other topics are not compared. About 0.90 of "
            "the intervals of differences between the halves should contain 0. The fraction is "
            "uncertain if there are few differences."
        )
    )


def _record(d: Diagnosis) -> dict[str, Any]:
    """Return all values of a diagnosis as plain Python types, for JSON."""
    from pysgrld.reading.diagnosis import is_mixed, is_shared
    from pysgrld.reading.find_runs import open_run
    from pysgrld.report.topic_words import labelled

    record = d._asdict()
    del record["traces"]
    record["quantities"] = [q._asdict() | {"measure": _plain(q.measure)} for q in d.quantities]
    record["topics"] = [
        topic._asdict()
        | {
            "same": is_shared(topic),
            "mixed": is_mixed(topic),
            "rhat": topic.rhat,
            "ess": topic.ess,
            "weight_measure": _plain(topic.weight_measure),
            "words": [word._asdict() | {"measure": _plain(word.measure)} for word in topic.words],
        }
        for topic in d.topics
    ]
    if d.topics:
        record["topics"] = labelled(open_run(d.runs[0], 1), d.layer - 1, record["topics"])
    if d.prediction is not None and d.traces is not None:
        record["prediction"] = d.prediction._asdict() | {
            "measure": _plain(d.prediction.measure),
            "traces": d.traces.tolist(),
        }
    return record


def _labels(d: Diagnosis) -> dict[int, str]:
    """Return the names of the first chain's topics, given by the user or taken from seed words."""
    from pysgrld.reading.find_runs import open_run

    return open_run(d.runs[0], 1).given_names() if d.topics and d.layer == 1 else {}


def _plain(measure: Measure | None) -> dict[str, float] | None:
    return None if measure is None else measure._asdict()


def _show(d: Diagnosis, sentences: list[str]) -> None:
    from pysgrld.reading.diagnosis import LOG_OF

    n, steps = d.chains, d.iterations
    columns = room()
    where = f"{d.runs[0].parent}: " if n > 1 and len({run.parent for run in d.runs}) == 1 else ""
    heading = f"{n} chains ({', '.join(run.name for run in d.runs)})" if n > 1 else f"{d.runs[0]}"
    kind = "top-word samples" if d.slim else "samples"
    line = f"{where}{heading}, {d.algo}, {len(steps)} {kind} each, iterations {steps[0]:,} to "
    echo(fill(f"{line}{steps[-1]:,}", columns) + "\n")
    (_show_topics if d.topics else _show_quantities)(d, columns)
    if d.prediction is not None:
        m = d.prediction.measure
        values = ", ".join(f"{value:.4f}" for value in d.prediction.log_probability)
        rhat, size = _rhat(m.rhat).strip(), _size(min(m.ess_bulk, m.ess_tail)).strip()
        line = f"held-out {LOG_OF[d.unit]}: {values}; R-hat {rhat}, ESS {size}"
        echo("\n" + fill(line, columns))
    echo()
    for sentence in sentences:
        echo(fill(sentence))


def _show_quantities(d: Diagnosis, columns: int) -> None:
    """Print R-hat, ESS and means of each quantity, for as many chains as the width allows."""
    wide = max(len(q.title) for q in d.quantities)
    fit = max(1, (columns - wide - 18) // 10)
    echo(f"{'':<{wide}}  R-hat    ESS  mean of each chain")
    for q in d.quantities:
        m = q.measure
        means = " ".join(f"{value:>9.4g}" for value in q.mean[:fit])
        size = min(m.ess_bulk, m.ess_tail)
        echo(f"{q.title:<{wide}}  {_rhat(m.rhat)}  {_size(size)}  {means}")


def _show_topics(d: Diagnosis, columns: int) -> None:
    n, labels = d.chains, _labels(d)
    # Numbers of the matching topics in the other chains, by topic.
    rows = {t.id: " ".join(map(str, t.counterparts[1:])) for t in d.topics}
    width = max(len("others"), *map(len, rows.values()))
    has_rows = n > 1 and width <= WIDEST
    head = "topic  " + (f"{'others':<{width}}  " if has_rows else "")
    finders = "found in  " if n > 1 else ""
    echo(f"{head}weight  overlap  {finders}R-hat    ESS  top words")
    for topic in sorted(d.topics, key=lambda t: (-t.overlap, t.id)):
        weight = sum(topic.weight) / n if topic.weight else None
        cells = f"{topic.id:>5}  " + (f"{rows[topic.id]:<{width}}  " if has_rows else "")
        cells += "     -" if weight is None else f"{100 * weight:>4.1f} %"
        cells += f"  {topic.overlap:>7.2f}  "
        cells += f"{f'{topic.found} of {n}':>8}  " if n > 1 else ""
        cells += f"{_rhat(topic.rhat)}  {_size(topic.ess)}  "
        words = named(labels.get(topic.id), [word.word for word in topic.words])
        fit = wrap(words, max(24, columns - len(cells)))
        echo(cells + "".join(fit[:1]))
    if any(topic.weight for topic in d.topics):
        line = (
            "Weight: share of the tokens of held-out documents ('sgmc topics' shows the "
            "share of the training tokens)."
        )
        echo("\n" + fill(line, columns))


def _rhat(value: float) -> str:
    return "    -" if value != value else f"{value:>5.2f}" if value < 100 else "  >99"


def _size(value: float) -> str:
    return "    -" if value != value else f"{value:>5,.0f}"
