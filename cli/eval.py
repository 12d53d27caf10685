"""The command ``sgmc eval``, which prints held-out perplexity and topic coherence."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import MissingInputError, UsageError, all_of, plural
from pysgrld.models.options import option_text
from pysgrld.options.parse import integer, real

from .options import (
    Described,
    as_json,
    flag,
    options_of_reading,
    plain,
    quiet,
    reading_of,
    run_argument,
    show_json,
    threads,
)
from .terminal import echo

if TYPE_CHECKING:
    from pysgrld.evaluate import Estimate, Score
    from pysgrld.reading.results import Results
    from pysgrld.reading.score import Evaluation

    from .progress import Screen

DOCUMENTS = "Documents to score"


@click.command(
    "eval",
    cls=Described,
    epilog="""\b
Examples:
  sgmc eval                         the latest run, on its held-out documents
  sgmc eval --coherence --json      NPMI and UMass of every topic
  sgmc eval bible-scir --corpus test.txt --observed 0.5
  sgmc eval --observed-corpus docword.a.txt --held-out-corpus docword.b.txt""",
)
@run_argument
@flag("--perplexity", "perplexity by document completion (default without --coherence)")
@flag("--coherence", "NPMI and UMass of the ten top words in the training corpus")
@plain(
    "--corpus",
    "the run's held-out documents",
    "score these documents, split at random",
    parse=str,
    metavar="FILE",
    group=DOCUMENTS,
)
@plain(
    "--observed",
    "as the run",
    "fraction of a document's tokens that is observed",
    parse=real(0.0, 1.0),
    metavar="SHARE",
    group=DOCUMENTS,
)
@plain(
    "--seed",
    "the run's",
    "seed of the split",
    parse=integer(0, 2**63 - 1),
    metavar="N",
    group=DOCUMENTS,
)
@plain(
    "--observed-corpus",
    "none",
    "observed tokens of documents that are already split",
    parse=str,
    metavar="FILE",
    group=DOCUMENTS,
)
@plain(
    "--held-out-corpus",
    "none",
    "held-out tokens of the same documents, in the same order",
    parse=str,
    metavar="FILE",
    group=DOCUMENTS,
)
@options_of_reading
@as_json
@quiet
@threads
def command(run: str | None, perplexity: bool, coherence: bool, **values: Any) -> None:
    """Print the perplexity of held-out documents, and the coherence of topics.

    The perplexity is compared with that of the unigram model. For a mixture, the score is minus the
    log predictive density of whole documents. The score of the run's own held-out documents is a
    running average from training; for other documents, the stored posterior samples are scored. For
    several chains, the scores of the first chain and of all chains together are printed. See
    docs/evaluation.md.
    """
    values = {name: value for name, value in values.items() if value is not None}
    _check(values, perplexity or not coherence)

    from pysgrld.reading.find_runs import open_chains
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    with Screen(quiet=values["quiet"]) as screen:
        number = count(values.get("threads")).number
        results, *chains = open_chains(run, number, reading_of(values), screen.warn)
        record: dict[str, Any] = {"run": results.path}
        if perplexity or not coherence:
            scores = _score(results, chains, values, screen)
            record |= scores.record()
            if not values["json"]:
                _show_scores(results, scores)
        if coherence:
            figures, shown = results.coherence(10), results.fitted.shown(0)
            if figures is None:
                raise MissingInputError(
                    f"{results.missing_corpus}, so coherence cannot be computed; restore the "
                    "corpus, or train with 'sgmc train'"
                )
            record["coherence"] = {
                "npmi": float(figures.npmi[shown].mean()),
                "umass": float(figures.umass[shown].mean()),
                "documents": figures.documents,
                "topics": [
                    {"id": k, "npmi": float(figures.npmi[k]), "umass": float(figures.umass[k])}
                    for k in shown.tolist()
                ],
            }
            if not values["json"]:
                _show_coherence(record["coherence"])
        if values["json"]:
            show_json(record)


def _check(values: dict[str, Any], scoring: bool) -> None:
    """Raise an error if options contradict each other, before any file is read."""
    pair = [n for n in ("observed_corpus", "held_out_corpus") if n in values]
    if len(pair) == 1:
        raise UsageError("--observed-corpus and --held-out-corpus belong together; give both")
    if pair and "corpus" in values:
        raise UsageError(
            "--corpus and --observed-corpus both give documents; leave out one of them"
        )
    for name in ("observed", "seed"):
        if name in values and "corpus" not in values:
            raise UsageError(f"--{name} requires --corpus FILE, the documents to be split")
    if not (pair or "corpus" in values):
        for name in reading_of(values):
            raise UsageError(
                f"{option_text(name)} requires --corpus FILE, the documents to be read"
            )
    if not scoring and (pair or "corpus" in values):
        raise UsageError(
            "--coherence uses the training corpus; add --perplexity, or leave out the options that "
            "name other documents"
        )


def _score(
    results: Results, chains: Sequence[Results], values: dict[str, Any], screen: Screen
) -> Evaluation:
    from pysgrld.reading.score import held_out_of, held_out_pair, score, score_own

    if results.fitted.score.whole:
        for name in ("observed", "seed"):
            if name in values:
                raise UsageError(
                    f"{results.path}: {results.fitted.kind} scores whole documents, so --{name} "
                    f"does not apply; leave out --{name}"
                )
    if "corpus" not in values and "observed_corpus" not in values:
        return score_own(results, chains)
    observed: float | None = None
    seed: int | None = None
    with tempfile.TemporaryDirectory(prefix="sgmc-") as scratch:
        place = Path(scratch)
        if "corpus" in values:
            observed = values.get("observed", results.options.observed)
            seed = int(values.get("seed", results.seed))
            held_out = held_out_of(results, values["corpus"], observed, seed, place, screen)
        else:
            held_out = held_out_pair(
                results, values["observed_corpus"], values["held_out_corpus"], place, screen
            )
    samples = sum(len(chain.kept()) for chain in (results, *chains))
    seed = results.seed if seed is None else seed
    with screen.counting("scoring samples", samples) as tell:
        return score(results, held_out, observed, seed, tell, chains)


def _show_scores(results: Results, scores: Evaluation) -> None:
    kind = scores.kind
    how = "without a known word" if kind.whole else "that are too short to be split"
    dropped = f"; ignored {scores.dropped:,} more {how}" if scores.dropped else ""
    tokens = plural(scores.held_out_tokens, "token" if kind.whole else "held-out token")
    echo(
        f"{results.path} after {results.length}, on "
        f"{plural(scores.documents, 'document')} with {tokens}{dropped}\n"
    )
    mean = f"mean of {plural(scores.samples, 'posterior sample')}"
    if scores.samples == 0:
        mean = f"current topics, because {results.no_samples}"
    lines = [
        (kind.title, _with_error(kind, scores.average), mean),
        (f"point {kind.title}", _with_error(kind, scores.point), "current topics"),
    ]
    lines += [
        (title, kind.show(scores.others[name]), remark)
        for name, title, remark in kind.further
        if name in scores.others
    ]
    if scores.own_words is not None:
        own = _with_error(kind, scores.own_words.perplexity)
        lines.append(("with own words", own, "assumes that a document repeats its words"))
    if scores.pooled is not None:
        figure = _with_error(kind, scores.pooled)
        lines.append(
            (all_of(scores.chains, "chains"), figure, "mean over the samples of all chains")
        )
    if scores.unigram is not None:
        unigram = _with_error(kind, scores.unigram)
        lines.append(("unigram", unigram, "word frequencies without topics"))
    wide, room = (max(len(line[i]) for line in lines) for i in (0, 1))
    for title, figure, remark in lines:
        echo(f"  {title:<{wide}}  {figure:<{room}}   {remark}")
    echo()
    if comparison := kind.shown_metrics(scores.numbers):
        echo(f"at iteration {scores.iteration:,}{comparison}")
    titles = {
        kind.point: "the current topics",
        kind.pooled: f"{all_of(scores.chains, 'chains')} together",
        kind.unigram: "the unigram",
    }
    for name, other in scores.beside().items():
        gap = scores.average.subtract(other)
        side = "below" if gap < 0 else "above"
        echo(
            f"{kind.show(abs(gap), gap.error)} {side} {titles[name]} (difference over the same "
            "documents)"
        )
    if math.isfinite(scores.average.error):
        echo("±: standard error, if these documents are a random sample of all documents")
    if kind.whole:
        unit = f"{kind.unit}, " if kind.unit else ""
        echo(f"{unit}lower is better; whole documents are scored")


def _with_error(kind: Score, figure: Estimate) -> str:
    return kind.show(figure, figure.error)


def _show_coherence(record: dict[str, Any]) -> None:
    echo(f"coherence of the ten top words in {plural(record['documents'], 'training document')}\n")
    echo("  topic    NPMI    UMass")
    for topic in record["topics"]:
        echo(f"  {topic['id']:>5}  {topic['npmi']:>6.3f}  {topic['umass']:>7.3f}")
    echo(f"  {'mean':>5}  {record['npmi']:>6.3f}  {record['umass']:>7.3f}")
