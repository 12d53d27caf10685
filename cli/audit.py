"""The command ``sgmc audit``, which tests whether given topics can be found again in a corpus."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import plural
from pysgrld.options.parse import integer

from .options import (
    Described,
    as_json,
    given,
    options_of_training,
    plain,
    quiet,
    show_json,
    threads,
)
from .terminal import echo, fill, room, shortened, table
from .values import files

if TYPE_CHECKING:
    from pysgrld.train.audit import Audit, AuditedTopic

#: Number of words printed for a topic.
_WORDS = 6
#: Number of words printed for a duplicate, and for each part of a mixture.
_PART = 4
#: A warning is printed if the topics give more than this probability to words that the corpus
#: lacks.
_UNKNOWN = 0.2


@click.command(
    "audit",
    cls=Described,
    epilog="""\b
Examples:
  sgmc audit --topics state.gz letters.txt      MALLET's --output-state
  sgmc audit --topics topics.npy docword.txt    words in vocab.txt, next to it
  sgmc audit --topics weights.txt news.csv --text-field body --chains 10""",
)
@click.argument("corpus", nargs=-1, required=True, shell_complete=files)
@plain("--topics", "", "topics of another program", parse=str, metavar="FILE", required=True)
@plain("--topic-words", "vocab.txt next to a matrix", "its words", parse=str, metavar="FILE")
@plain("--chains", "6", "number of chains to train", parse=integer(2, 1000), metavar="N")
@plain("--iterations", "300", "number of iterations per chain", parse=integer(10), metavar="N")
@plain(
    "--starts",
    "auto",
    "number of short chains before each chain",
    parse=integer(1, 1000),
    metavar="N",
)
@options_of_training("Corpus")
@as_json
@quiet
@threads
def command(
    corpus: tuple[str, ...],
    topics: str,
    topic_words: str | None,
    chains: int | None,
    iterations: int | None,
    starts: int | None,
    json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Test which topics of another program can be found again in CORPUS.

    Chains of LDA are trained on resampled documents; half of the chains start from the given topics.
    A topic is real if more than half of the chains have it, and uncertain if at least a third do. A
    mixture is the mean of two topics of the chains or of the file; a duplicate repeats another
    topic. Nothing is written. FILE is a matrix in .npy, MALLET's state, or a table with the columns
    topic, word and probability (or count).
    """
    import numpy as np

    from pysgrld.models.choices import Choices
    from pysgrld.reading.foreign_topics import read_foreign_topics
    from pysgrld.train.audit import audit
    from pysgrld.train.plan import plan_training
    from pysgrld.train.replication import ITERATIONS
    from pysgrld.train.request import Request, refuse_streams

    from .progress import Screen

    foreign = read_foreign_topics(Path(topics), None if topic_words is None else Path(topic_words))
    options = given(values)
    options |= {"topics": len(foreign.phi), "holdout": 0, "iterations": iterations or ITERATIONS}
    if starts is not None:
        options["starts"] = starts
    choices = Choices(options)
    refuse_streams(corpus, choices, "audit")
    request = Request(corpus, choices)
    request.choices.check()
    with Screen(quiet=quiet) as screen, plan_training(request, screen) as plan:
        ids = np.arange(plan.corpus.documents)
        with screen.steps() as tell:
            result = audit(
                foreign.phi,
                foreign.words,
                plan.corpus,
                ids,
                plan.options,
                chains or 6,
                request.threads,
                iterations or ITERATIONS,
                partial(tell, "training chains"),
            )
        documents = plan.corpus.documents
    if result.covered < 1 - _UNKNOWN:
        screen.warn(
            f"{topics}: {100 * (1 - result.covered):.0f} % of the topics' probability is on "
            "words that this corpus lacks; give --stop-words and --token-pattern as in the "
            "program that made the topics"
        )
    if json:
        show_json(
            {
                "topics": [topic._asdict() for topic in result.topics],
                "chains": result.chains,
                "covered": result.covered,
            }
        )
        return
    _show(result, topics, documents)


def _show(result: Audit, name: str, documents: int) -> None:
    """Print the number of topics with each verdict, then a row for each topic."""
    counts = [f"{n} {verdict}" for verdict, n in result.verdicts.items()]
    echo(f"{name}, {plural(documents, 'document')}: {', '.join(counts)}\n")
    rows = [("topic", "verdict", "found", "stable", "words")]
    for topic in result.topics:
        found = f"{topic.found} of {result.chains}"
        rows.append((str(topic.topic), topic.verdict, found, str(len(topic.stable)), _words(topic)))
    cut = [(*row[:4], shortened(row[4], room() - 40)) for row in rows]
    lines, _ = table(cut, room(), left=("verdict", "words"))
    echo("\n".join(lines) + "\n")
    echo(
        fill(
            "Found: number of chains, trained on resampled documents, that have a topic with at "
            "least half of its probability in common with this topic. Stable: number of the "
            "topic's first ten words that are among the first ten words in most of these chains."
        )
    )


def _words(topic: AuditedTopic) -> str:
    if topic.duplicate_of is not None:
        return f"repeats topic {topic.duplicate_of}: {' '.join(topic.words[:_PART])}"
    if topic.mixture_of is not None:
        pair = " and ".join(map(str, topic.mixture_of))
        return f"mean of topics {pair}: {' '.join(topic.words[:_PART])}"
    if topic.parts:
        return "splits into " + " + ".join(" ".join(part[:_PART]) for part in topic.parts)
    return " ".join((topic.stable or topic.words)[:_WORDS])
