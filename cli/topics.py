"""The command ``sgmc topics``, which prints the topics of a run."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.options.parse import integer

from .options import (
    Described,
    as_json,
    flag,
    layer,
    lent_metadata,
    metadata,
    plain,
    population,
    quiet,
    run_argument,
    show_json,
    threads,
    word_order,
)
from .terminal import echo, fill, room, screen_rows, width, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysgrld.models.fitted import Node
    from pysgrld.models.word_order import WordOrder
    from pysgrld.reading.results import Results
    from pysgrld.reading.topics import Topic, Word
    from pysgrld.report.topic_words import SeedWord

    from .progress import Screen

    #: Seed words of each topic, by the topic's number. A `SeedWord` also has the word's rank among
    #: the topic's words.
    Followed = dict[int, tuple[SeedWord, ...]]


#: Explanation of the column "found", printed below a table of several chains' topics.
FOUND = (
    "Found: number of chains that have the topic. Chance that a further chain has it, too: 95 % "
    "if 4 of 4 chains have it, 80 % if 3 of 4, 33 % if 2 of 4. Weight and words are means over "
    "these chains."
)
#: Explanation of the column "new texts".
REPLICATED = (
    "New texts: of {}, each on a random half of the documents, the number that found the topic. A "
    "run on as many new texts finds a topic about as often (docs/calibration.md)."
)
#: Explanation of the numbers in brackets that follow words with a low effective sample size.
ROUGH = (
    "In brackets: effective sample size of a word, if below 100; a low value widens the word's "
    "interval."
)
#: Explanation of the column "NPMI".
COHERENCE = (
    "NPMI: how often the first ten words occur in the same documents. 0: by chance, 1: always."
)
#: Hint below the table of a run of one chain without counts of replicates.
HINT = "Which of these topics would new texts have? sgmc diagnose --replicate 6"
#: Explanation of the order in which words are listed with their probabilities.
ORDERED = "Words are in the order {}; --words probable orders them by probability."
#: Minimum width of the terminal at which the most probable words are listed in a separate column.
WIDE = 110
#: Minimum width of the terminal at which the table has the column "distinct".
ROOMY = 72
#: Number of screen rows that the table leaves free, for its heading, for a line about omitted
#: topics and for the next prompt.
BESIDE = 11


@click.command(
    "topics",
    cls=Described,
    instead={"-n": "give the number of words of each topic with --top N"},
    epilog="""\b
Examples:
  sgmc topics                     the latest run: a screenful by weight
  sgmc topics --all | less        all topics
  sgmc topics bible-scir --top 5  a run under ./sgmc-runs, by its name
  sgmc topics --words probable    words by probability alone
  sgmc topics --intervals         how much each word's probability varies
  sgmc topics --layer 2           of a deep model, through the layers below
  sgmc topics --names             a name of three words for each
  sgmc topics --name-with 'llm "Name this topic in five words or less"'
  sgmc topics --tree              which topics below each topic uses
  sgmc topics --documents 3       the documents that most surely have each
  sgmc topics --documents 20 --topic 7
  sgmc topics --like 1745         documents most similar to document 1745
  sgmc topics --word king         the topics that a word is used in
  sgmc topics --by group          the groups in which each surely is more
  sgmc topics --along year        how each goes along a column, or the corpus
  sgmc topics --over-time         words in slices of time (train --time)
  sgmc topics --json | jq '.topics[0].words[].word'""",
)
@run_argument
@plain("--top", "10", "number of words of each topic", parse=integer(1, 10_000), metavar="N")
@word_order
@flag("--all", "show all topics, not only a screenful of the greatest")
@layer
@flag("--tree", "for a deep model: topics of all layers as a tree")
@flag("--intervals", "add a 90 % interval of each word's probability, in percent")
@flag("--names", "also name topics that have no name in labels.json of the run")
@plain(
    "--name-with",
    "none",
    "command that reads a topic's words and titles, and prints a name for it; run for each topic",
    parse=str,
    metavar="COMMAND",
)
@flag("--force", "with --name-with: also replace names given by a person")
@plain(
    "--documents",
    "none",
    "N documents with the most certain share of each topic",
    parse=integer(1, 1000),
    metavar="N",
)
@plain(
    "--topic",
    "all",
    "with --documents: only this topic, by its number",
    parse=integer(0),
    metavar="K",
)
@plain(
    "--like",
    "none",
    "documents most similar to the document with this id, title or value, by topic proportions; "
    "--documents sets their number [10]",
    parse=str,
    metavar="ID|TITLE|COLUMN=VALUE",
)
@plain("--word", "none", "topics in which this word is used", parse=str, metavar="WORD")
@plain("--by", "none", "shares of topics in the groups of a column", parse=str, metavar="COLUMN")
@plain(
    "--along",
    "none",
    "shares of topics along dates, numbers or the corpus",
    parse=str,
    metavar="COLUMN|corpus",
)
@flag("--over-time", "words of each topic by time slice; rising and falling words")
@plain(
    "--cluster",
    "documents are independent",
    "with --by or --along: column with the source (author, book) of documents that are not "
    "independent",
    parse=str,
    metavar="COLUMN",
)
@metadata
@population
@as_json
@quiet
@threads
def command(
    run: str | None,
    top: int | None,
    words: WordOrder | None,
    layer: int | None,
    tree: bool,
    intervals: bool,
    names: bool,
    name_with: str | None,
    force: bool,
    documents: int | None,
    topic: int | None,
    like: str | None,
    word: str | None,
    by: str | None,
    along: str | None,
    over_time: bool,
    cluster: str | None,
    metadata: str | None,
    population: str | None,
    **values: Any,
) -> None:
    """Show the topics, the one with the greatest share of the tokens first.

    A terminal shows a screenful, one line per topic, unless you give --all; files and pipes get all
    topics. Topics are means of the posterior samples. Their numbers are the rows of 'sgmc export', which
    writes them for spreadsheets and other programs.
    Words are distinctive: probable in the topic, and more probable than in other topics. If documents
    are short (below 8 words on average), the most probable words are shown. Choose with
    --words distinctive, probable, frex or relevance:LAMBDA (0 to 1).
    Weight is the share of the training tokens, NPMI the coherence of the first ten words, and distinct
    how exclusively words belong to this topic (1: only to it). Components of a mixture
    are those of the newest checkpoint, and their weight is that of the stick.
    """
    from pysgrld.reading.find_runs import open_run
    from pysgrld.reading.intervals import SHARE
    from pysgrld.reading.replicated import can_replicate, read_replicated
    from pysgrld.reading.topics import topics_of
    from pysgrld.reading.use import use_of_topics
    from pysgrld.report.topic_words import labelled, seeds_followed
    from pysgrld.run.machine import threads as count

    from .answers import Question, answer, check_alone
    from .over_time import show_over_time
    from .progress import Screen

    requests = {"--documents": documents, "--word": word, "--by": by, "--along": along}
    if topic is not None and documents is None:
        raise UsageError("--topic requires --documents; give the number of documents")
    if like is not None:
        requests |= {"--documents": None, "--like": like, "--topic": topic}
    alone = requests | {"--tree": tree, "--name-with": name_with, "--over-time": over_time}
    check_alone(alone, not tree and (bool(top) or intervals or names))
    with Screen(quiet=values["quiet"]) as screen:
        results = open_run(
            run, count(values["threads"]).number, missing=screen.warn, these=population == "these"
        )
        results.order_words(words)
        for name, value in (("--cluster", cluster), ("--metadata", metadata)):
            if value is not None and by is None and along is None:
                raise UsageError(f"{name} requires --by or --along")
        if force and name_with is None:
            raise UsageError("--force requires --name-with; give both, or leave out --force")
        if name_with is not None:
            if results.at(layer) > 0:
                raise UsageError("--name-with names only topics of layer 1; leave out --layer")
            _name(results, name_with, screen, replace=force, as_json=values["json"])
            return
        if over_time:
            show_over_time(results, as_json=values["json"])
            return
        if any(value is not None for value in requests.values()):
            with lent_metadata(results, metadata, screen.note):
                question = Question(documents, topic, like, word, by, along, cluster)
                answer(results, results.at(layer), question, as_json=values["json"])
            return
        if tree:
            if layer is not None or intervals or names:
                raise UsageError(
                    "--tree cannot be combined with --layer, --intervals or --names; leave them out"
                )
            _show_tree(results, top or 6, as_json=values["json"])
            return
        if intervals and results.fitted.no_mean:
            raise UsageError(
                f"--intervals: {results.fitted.no_mean}, so probabilities have no intervals; "
                "leave out --intervals"
            )
        layer_index = results.at(layer)
        topics = topics_of(
            results, top or 10, intervals=intervals or values["json"], at=layer_index
        )
        if names:
            from pysgrld.report.topic_words import names_of

            automatic = names_of(results, layer_index)
            topics = [topic._replace(label=topic.label or automatic[topic.id]) for topic in topics]
        followed = seeds_followed(results, layer_index)
        samples, spread, signed = results.fitted.samples, results.spread(), results.fitted.signed
        if samples == 0:
            screen.note(f"the current {results.fitted.noun}s are shown, because {results.no_mean}")
        if results.training_corpus() is None:
            screen.note(f"{results.missing_corpus}: {results.without_corpus}")
        slim, learned = len(results.kept(slim=True)), results.fitted.learned_priors()
        replicated = read_replicated(results, layer_index)
        if values["json"]:
            show_json(
                {
                    "run": results.place,
                    **({"chains": len(results.chains)} if topics[0].found else {}),
                    **({"replicates": replicated.replicates} if replicated else {}),
                    "iteration": results.checkpoint.step,
                    "samples": samples,
                    "layer": layer_index + 1,
                    "word_order": str(results.word_order),
                    "interval": SHARE,
                    **spread.sense,
                    "noise": spread.noise,
                    "width": spread.width,
                    "remedy": None if spread.faithful else spread.remedy,
                    **({"ess": spread.ess} if spread.ess else {}),
                    "kept_samples": len(results.kept()),
                    **({"top_word_samples": slim} if slim else {}),
                    **({"eta": float(eta[0])} if (eta := learned.get("eta")) is not None else {}),
                    "topics": labelled(
                        results,
                        layer_index,
                        [_record(t, signed, followed, learned) for t in topics],
                    ),
                }
            )
            return
        if intervals and topics[0].words[0].low is None:
            screen.note("there are no intervals, because the run has too few samples; train longer")
        rows = None if values["all"] else screen_rows()
        use = use_of_topics(results, [topic.weight for topic in topics], layer_index)
        line = use.remark
        if rows:
            topics = [topic for topic in topics if topic.id not in use.inactive]
        _show(
            results,
            topics,
            spread.title if intervals else None,
            layer_index,
            followed,
            rows,
            top is None,
            replicated.replicates if replicated else 0,
        )
        if screen_rows() and topics[0].npmi is not None:
            echo("\n" + fill(COHERENCE, room()))
            is_single = len(results.chains) == 1 and results.training_corpus() is not None
            if not replicated and is_single and can_replicate(results.options):
                echo(fill(HINT, room()))
        if line and screen_rows():
            echo("\n" + fill(f"{line} (--all shows them)" if rows else line))
        elif line:
            screen.note(line)
        if topics[0].found:
            echo("\n" + fill(FOUND))
        if replicated:
            echo("\n" + fill(REPLICATED.format(plural(replicated.replicates, "new run"))))
        if priors := _learned(learned):
            echo("\n" + fill(priors))
        if intervals and (line := spread.remark()):
            echo("\n" + fill(f"{spread.title}: {line}"))
        if intervals and not signed and results.word_order.name != "probable":
            echo("\n" + fill(ORDERED.format(results.word_order)))
        if intervals and any(word.rough for topic in topics for word in topic.words):
            echo("\n" + fill(ROUGH))


def _name(results: Results, command: str, screen: Screen, *, replace: bool, as_json: bool) -> None:
    """Name the topics by an external command, and print the names."""
    from pysgrld.reading.labels import LABELS
    from pysgrld.report.naming import name_topics

    def tell(topic: int, line: str) -> None:
        if not as_json:
            echo(f"{topic:>5}  {line}")

    record = name_topics(results, command, replace=replace, tell=tell)
    if as_json:
        show_json({"run": results.place, "command": command} | record._asdict())
    if record.kept:
        stay = "is unchanged" if len(record.kept) == 1 else "are unchanged"
        screen.note(f"{plural(len(record.kept), 'name')} {stay} (replace with --force)")
    if record.new:
        screen.note(f"{results.path / LABELS} has {plural(len(record.new), 'name')} by {command!r}")
    if record.failed:
        first, all_of = next(iter(record.failed)), len(record.failed) + len(record.new)
        raise MissingInputError(
            f"{command!r} gave no name for {plural(len(record.failed), 'topic')} of {all_of}; "
            f"topic {first}: {record.failed[first]}"
        )


def _record(
    topic: Topic, signed: bool, followed: Followed, learned: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a topic as a dict for JSON; if ``signed``, "entry" replaces words' "probability"."""
    record = topic._asdict() | {"words": [_plain(word) for word in topic.words]}
    del record["against"], record["probable"]
    if topic.probable:
        record["probable_words"] = [_plain(word) for word in topic.probable]
    for name in ("found", "replicated"):
        if record[name] is None:
            del record[name]
    if "alpha" in learned:
        record["alpha"] = float(learned["alpha"][topic.id])
    if topic.id in followed:
        record["seeds"] = [seed._asdict() for seed in followed[topic.id]]
    if signed:
        record["against"] = [_plain(word) for word in topic.against]
        for word in record["words"] + record["against"]:
            word["entry"] = word.pop("probability")
    return record


def _learned(learned: Mapping[str, Any]) -> str:
    """Return a line about priors that were learned, or an empty text if all priors are fixed."""
    parts = []
    if (alpha := learned.get("alpha")) is not None:
        parts.append(
            f"alpha has the sum {alpha.sum():.3g} over topics ({alpha.min():.2g} to "
            f"{alpha.max():.2g} for single topics)"
        )
    if (eta := learned.get("eta")) is not None:
        parts.append(f"eta is {eta[0]:.3g}")
    return f"Learned priors: {'; '.join(parts)}." if parts else ""


def _plain(word: Word) -> dict[str, Any]:
    """Return a word as a JSON object, without fields that are False or unknown."""
    record = {name: value for name, value in word._asdict().items() if value is not False}
    if record["ess"] is None:
        del record["ess"]
    return record


def _show_tree(results: Results, top: int, *, as_json: bool) -> None:
    nodes = results.fitted.tree(results.vocabulary, top, results.word_order)
    if nodes is None:
        raise UsageError(
            f"--tree: the {results.fitted.noun}s of {results.path} do not use other topics; leave "
            "it out, or train a deep model with --layers"
        )
    if as_json:
        show_json({"run": results.path, "tree": [node.as_dict() for node in nodes]})
        return
    echo(
        f"{results.path}, layers of {', '.join(map(str, results.fitted.layers))} topics; "
        "a percentage is the share of a topic in the topic above\n"
    )

    def show(node: Node, depth: int) -> None:
        share = f"{100 * node.share:>5.1f} %"
        label = f"{'    ' * depth}{share}  {node.layer}.{node.id:<4} "
        echo(label + " ".join(node.words))
        for child in node.children:
            show(child, depth + 1)

    for node in nodes:
        show(node, 0)


def _show(
    results: Results,
    topics: list[Topic],
    intervals: str | None,
    layer_index: int,
    followed: Followed,
    rows: int | None,
    brief: bool,
    replicates: int,
) -> None:
    """Print the topics that fit into `rows` lines, or all if None; if `brief`, one line each."""
    samples, noun = results.fitted.samples, results.fitted.noun
    what = f"mean of {plural(samples, 'posterior sample')}" if samples else f"current {noun}s"
    where = (
        f", layer {layer_index + 1} of {len(results.fitted.layers)}"
        if len(results.fitted.layers) > 1
        else ""
    )
    numbers = results.fitted.score.shown_metrics(results.fitted.numbers())
    if topics[0].found:
        what = f"{what} of each of {len(results.chains)} chains"
    title = f"{results.place}{where}, {what} after {results.length}{numbers}"
    echo(fill(title) if rows else title)
    for remark in (results.prediction_remark(), results.progress_remark()):
        if remark:
            echo(fill(remark[0].upper() + remark[1:] + "."))
    echo()
    signed = results.fitted.signed
    scale, unit = (1.0, "entry") if signed else (100.0, "    %")
    counted = "" if topics[0].documents is None else "documents  "
    chains = len(results.chains) if topics[0].found else 0
    if chains:
        counted = f"{'found':<{len(f'{chains} of {chains}')}}  "
    elif replicates:
        counted = "new texts  "
    # Width of the column of words if a column of probabilities follows.
    pad = min(20, max(9, room() - 44 - len(noun) - len(counted)))
    second_unit = f"{' ' * (pad - 8)}{unit}    {intervals}" if intervals else ""
    wide = len(noun)
    distinct = "  distinct" if room() >= ROOMY and not signed and not intervals else ""
    columns = max(16, room() - 18 - wide - len(counted) - len(distinct))
    has_both = room() >= WIDE and not intervals and bool(topics[0].probable)
    second_head, second = "", 0
    if has_both:
        columns = second = columns // 2 - 1
        second_head = " " * (columns + 2 - len(results.word_order.title)) + "probable words"
    heading = "words    " if intervals else results.word_order.title
    echo(f"{noun}  weight  {counted} NPMI{distinct}  {heading}{second_unit}{second_head}")
    blocks: list[list[str]] = []
    for topic in topics:
        lines: list[str] = []
        blocks.append(lines)
        counts = "" if topic.documents is None else f"{topic.documents:>9,}  "
        if chains:
            counts = f"{topic.found} of {chains}".ljust(len(counted) - 2) + "  "
        elif replicates:
            counts = f"{topic.replicated} of {replicates}".ljust(len(counted) - 2) + "  "
        npmi = "    -" if topic.npmi is None else f"{topic.npmi:>5.2f}"
        head = f"{topic.id:>{wide}}  {percent(topic.weight)}  {counts}{npmi}  "
        if distinct and topic.distinctiveness is not None:
            head += f"{topic.distinctiveness:>{len(distinct) - 2}.2f}  "
        if intervals:
            if topic.label:
                lines.append(f"{head}{topic.label}:")
                head = " " * len(head)
            for word in topic.words:
                lines.append(head + _with_interval(word, scale, pad))
                head = " " * len(head)
        else:
            words = wrap(named(topic.label, [word.word for word in topic.words]), columns)
            probable = wrap([word.word for word in topic.probable], second) if has_both else []
            if rows and brief:
                words, probable = words[:1], probable[:1]
            for line, second_unit in itertools.zip_longest(words, probable, fillvalue=""):
                gap = " " * (columns + 2 - width(line)) if second_unit else ""
                lines.append(f"{head}{line}{gap}{second_unit}")
                head = " " * len(head)
        against = ["against:", *(word.word for word in topic.against)] if topic.against else []
        for parts in (against, _seeds(followed.get(topic.id, ()))):
            lines += [" " * len(head) + line for line in wrap(parts, columns)]
    fitting = len(blocks) if rows is None else _fitting(blocks, rows - BESIDE)
    for lines in blocks[:fitting]:
        echo("\n".join(lines))
    if n_hidden := len(blocks) - fitting:
        echo(f"\n{n_hidden} more {noun}s; --all shows them")


def _fitting(blocks: list[list[str]], rows: int) -> int:
    """Return the number of leading topics that fit into ``rows`` lines, at least 1."""
    ends = itertools.accumulate(map(len, blocks))
    return max(1, sum(end <= rows for end in ends))


def _seeds(seeds: tuple[SeedWord, ...]) -> list[str]:
    """Return the parts of a line that lists the rank of each seed word in its topic."""
    if not seeds:
        return []
    ranks = [f"{seed.word} {seed.rank:,}" for seed in seeds[:10]]
    second_unit = [f"and {len(seeds) - 10} more"] if len(seeds) > 10 else []
    behind = min(seed.rank for seed in seeds) > 10
    parts = (
        "no seed word is among the first ten words; ranks of seed words:"
        if behind
        else "ranks of seed words:"
    )
    return [parts, *(f"{part}," for part in (ranks + second_unit)[:-1]), (ranks + second_unit)[-1]]


def named(label: str | None, words: list[str]) -> list[str]:
    """Return a topic's words, preceded by its name if it has one."""
    return words if label is None else [f"{label}:", *words]


def percent(weight: float | None) -> str:
    """Format a share in percent, right-aligned in six columns; an unknown share is a dash."""
    return "     -" if weight is None else f"{100 * weight:>4.1f} %"


def _with_interval(word: Word, scale: float, pad: int) -> str:
    p, low, high = word.probability, word.low, word.high
    digits = 2 if scale > 1.0 else 3
    text = f"{word.word}{' ' * (pad - width(word.word))} {scale * p:>6.{digits}f}"
    if low is None or high is None:
        return text
    if word.high_open:
        return f"{text}  {f'<{scale * high:.{digits}f}':>6}"
    least = f"{'<' if word.low_open else ''}{scale * low:.{digits}f}"
    parts = f"{text}  {least:>6} to {scale * high:.{digits}f}"
    return f"{parts:<{pad + 30}} ({word.ess:.0f})" if word.rough else parts
