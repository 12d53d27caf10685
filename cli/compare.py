"""The command ``sgmc compare``, which compares the topics of two runs."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import UsageError, plural
from pysgrld.options.parse import integer

from .options import Described, as_json, flag, plain, quiet, show_json, threads, word_order
from .terminal import echo, fill, room, shown, wrap
from .topics import percent
from .values import runs

if TYPE_CHECKING:
    from pysgrld.effects.latest_period import PeriodNews
    from pysgrld.models.word_order import WordOrder
    from pysgrld.report.compare import Carried
    from pysgrld.report.compare.comparison import ComparedTopics, Comparison, OwnWord

#: Maximum number of words that ``--news`` prints for a new topic.
HEADLINE = 5
#: Minimum total probability, in a topic, of the words that the other run lacks. Smaller totals are
#: not printed.
TOLD = 0.01


def _layers(value: str) -> tuple[int, int]:
    """Parse ``L``, a layer of both runs, or ``L,M``, layers of the left and of the right run."""
    parts = [integer(1, 100)(part) for part in value.split(",")]
    if len(parts) > 2:
        raise UsageError(f"'{value}' has more than two layers; give one, or two such as 1,2")
    return parts[0], parts[-1]


@click.command(
    "compare",
    cls=Described,
    instead={"-n": "give the number of words of each topic with --top N"},
    epilog="""\b
Examples:
  sgmc compare news-k50 news-k100         other numbers of topics
  sgmc compare news-2023 news-2024 --html years.html --open
  sgmc compare news-2023 news-2024 --carry-labels
  sgmc compare --news --exit-code         the latest with the run it continues
  sgmc compare a b --json | jq '.topics[] | select(.kind == "split")'""",
)
@click.argument("named", nargs=-1, metavar="[RUN] RUN", shell_complete=runs)
@plain("--top", "10", "number of words of each topic", parse=integer(1, 10_000), metavar="N")
@word_order
@plain(
    "--layer",
    "1",
    "layer of deep models; 1,2: layer 1 of the left run, layer 2 of the right run",
    parse=_layers,
    metavar="L",
)
@plain("--html", "none", "also write a web page to this file", parse=str, metavar="FILE.html")
@flag("--open", "show the page in the browser")
@flag("--force", "replace an existing page")
@flag("--carry-labels", "copy the names of topics on the left to their partners on the right")
@flag("--replace-labels", "like --carry-labels, and replace existing names")
@flag("--news", "print only new, grown and gone topics and new words")
@flag("--exit-code", "end with exit code 1 if topics are new or have surely grown, for scripts")
@as_json
@quiet
@threads
def command(
    named: tuple[str, ...],
    top: int | None,
    words: WordOrder | None,
    layer: tuple[int, int] | None,
    html: str | None,
    open: bool,
    force: bool,
    carry_labels: bool,
    replace_labels: bool,
    news: bool,
    exit_code: bool,
    **values: Any,
) -> None:
    """Compare the topics of two runs: same, split, merged, partial, gone and new topics.

    If you name one run, it is compared with the run that it continues (--from). If it continues no
    run and its documents have dates, its latest week (month or year, if the week has fewer than 50
    documents) is compared with the time before. If you name no run, this is done for the latest run.

    News come first: topics that only the right run has, and topics with a share of the corpus that
    has grown or faded by half or more. If the right run was trained on the earlier documents and
    added documents, news are differences between the added and the earlier documents.

    The runs may differ in anything: topics, corpus, vocabulary, sampler, model. Overlap is the
    probability that topics have in common, over the words that both runs have (1: the same). Corr. is
    the correlation of their proportions in the same documents, from 0.7 on the same topic. Words in
    brackets are not in the other run's vocabulary. See docs/compare.md.
    """
    from pysgrld.report.compare import STEPS, TOP, compare, former_run
    from pysgrld.run.layout import check_outputs

    from .progress import Screen

    if len(named) > 2:
        raise UsageError(f"give two runs to compare, not {len(named)}")
    if (open or force) and html is None:
        raise UsageError("--open and --force require --html FILE.html")
    former = None
    if len(named) < 2:
        (run,) = named or ("latest",)
        former = former_run(run)
        if former is None:
            of_two = {"--top": top, "--words": words, "--layer": layer, "--html": html}
            of_two |= {"--carry-labels": carry_labels, "--replace-labels": replace_labels}
            asked = [option for option, value in of_two.items() if value]
            _compare_period(run, asked, news=news, exit_code=exit_code, **values)
            return
        named = former, run
    added = None
    with Screen(quiet=values["quiet"]) as screen:
        if html is not None:
            check_outputs([Path(html)], force=force)
        with screen.counting("comparing", STEPS) as moved:
            comparison = compare(
                *named,
                top=top or TOP,
                order=words,
                layers=layer or (1, 1),
                threads=values["threads"],
                tell=lambda done, total: moved(done),
            )
        if former is not None:
            added = _added(named[1], screen, **values)
        if html is not None:
            _write_page(comparison, Path(html), screen, open=open)
        carried = None
        if carry_labels or replace_labels:
            from pysgrld.report.compare import carry_labels as carry

            carried = carry(comparison, replace=replace_labels)
            for line in _carried_lines(carried):
                screen.note(line)
    if values["json"]:
        labels = {} if carried is None else {"labels": carried._asdict()}
        show_json(
            comparison.record() | labels | ({} if added is None else {"added": _plain(added)})
        )
    else:
        if added is None:
            _show_news(comparison, alone=news)
        else:
            _show_period(named[1], added, news=news)
        if not news:
            echo()
            _show(comparison)
    is_news = (
        comparison.news["new"]
        if added is None
        else added.topics_with("new") + added.topics_with("grown")
    )
    if exit_code and is_news:
        click.get_current_context().exit(1)


def _added(run: str, screen: Any, **values: Any) -> PeriodNews | None:
    """Compare documents added by a continued run with the documents of the earlier run."""
    from pysgrld.effects.latest_period import added_documents
    from pysgrld.reading.find_runs import open_run
    from pysgrld.run.machine import threads as count

    results = open_run(run, count(values["threads"]).number, missing=screen.warn)
    if results.fitted.signed or results.training_corpus() is None:
        return None
    with screen.steps() as tell:
        return added_documents(results, tell)


def _plain(period: PeriodNews) -> dict[str, Any]:
    """Convert a comparison of periods to plain values for JSON."""
    topics = [
        {"topic": t.topic, "name": t.name, "change": t.change}
        | {part: getattr(t, part)._asdict() for part in ("before", "latest", "difference")}
        for t in period.topics
    ]
    return {**period._asdict(), "topics": topics}


def _compare_period(
    run: str, asked: list[str], *, news: bool, exit_code: bool, **values: Any
) -> None:
    """Compare the latest period of a run's documents with the time before that period."""
    from pysgrld.effects.latest_period import latest_period
    from pysgrld.reading.find_runs import open_run
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    with Screen(quiet=values["quiet"]) as screen:
        results = open_run(run, count(values["threads"]).number, missing=screen.warn)
        if asked:
            raise UsageError(
                f"{asked[0]} compares two runs, but only {results.place} is given, and that run "
                "continues no other run; name two runs"
            )
        with screen.steps() as tell:
            period = latest_period(results, tell)
    if period is None:
        raise UsageError(
            f"{results.place}: has no earlier run or period to compare with, because it "
            "continues no other run, and no date column has enough recent documents; name two "
            "runs ('sgmc runs' lists them)"
        )
    if values["json"]:
        show_json({"run": results.place, **_plain(period)})
    else:
        _show_period(results.place, period, news=news)
    if exit_code and period.topics_with("new") + period.topics_with("grown"):
        click.get_current_context().exit(1)


def _show_period(place: Any, period: PeriodNews, *, news: bool) -> None:
    """Print a line for each new or changed topic, then the unchanged topics and new words."""
    if not news:
        echo(
            fill(
                f"{place}: {plural(period.documents, 'added document')}, compared with "
                f"{period.before:,} earlier documents\n"
                if period.column is None
                else f"{place}, {shown(period.column)}: {plural(period.documents, 'document')} "
                f"from {period.first} to {period.last}, compared with {period.before:,} "
                "earlier documents\n"
            )
        )
    if not period.topics_with("new"):
        echo("NEW: no topic")
    for change in ("new", "grown") if news else ("new", "grown", "faded"):
        for topic in period.topics_with(change):
            title = "NEW" if change == "new" else change
            shares = f"{100 * topic.before.mean:.1f} % -> {100 * topic.latest.mean:.1f} %"
            low, high = topic.difference.low, topic.difference.high
            ends = (
                "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
            )
            echo(fill(f"{title}: {shown(topic.name)}, {shares}{ends}"))
    for change in ("faded", "steady") if news else ("steady",):
        if topics := period.topics_with(change):
            names = "" if news else f": {'; '.join(shown(topic.name) for topic in topics)}"
            echo(fill(f"{change} ({len(topics)}){names}"))
    if period.new_words:
        counts = ", ".join(f"{shown(word)} {uses:,}" for word, uses in period.new_words.items())
        echo(fill(f"new words: {counts}"))
    if not news:
        echo(
            "\n"
            + fill(
                "Shares are means over documents. In brackets: 90 % interval of the difference in "
                "percentage points, which is valid for other documents like these."
            )
        )


def _write_page(comparison: Comparison, path: Path, screen: Any, *, open: bool) -> None:
    from pysgrld.report.compare.comparison import page_of
    from pysgrld.run.output_files import open_output

    page = page_of(comparison)
    with open_output(path) as file:
        file.write(page)
    screen.note(f"{path}: {len(page) / 1000:.0f} kB")
    if open:
        import webbrowser

        webbrowser.open(path.absolute().as_uri())


def _carried_lines(carried: Carried) -> list[str]:
    lines = [f"{carried.path}: {plural(len(carried.new), 'name')} copied"]
    if carried.kept:
        earlier = ", ".join(f"{k} {name!r}" for k, name in carried.kept.items())
        lines.append(f"existing names are unchanged: {earlier}; replace them with --replace-labels")
    if carried.lost:
        unmatched = ", ".join(f"{k} {name!r}" for k, name in carried.lost.items())
        lines.append(f"names not copied, because the right run has no equal topic: {unmatched}")
    return lines


def _show_news(comparison: Comparison, *, alone: bool) -> None:
    """Print the new, grown and gone topics, then a summary of all other topics."""
    news = comparison.news
    for topic in news["new"]:
        words = " ".join([*topic.both, *(word.word for word in topic.only_right)][:HEADLINE])
        echo(fill(f"NEW: {words}{_share(', ', topic.share_right)}"))
    if not news["new"]:
        echo("NEW: no topic")
    for change in ("grown", "gone") if alone else ("grown", "faded", "gone"):
        for topic in news[change]:
            shares = _share("", topic.share_left) + _share(" -> ", topic.share_right)
            echo(fill(f"{change}: {_name_of(comparison, topic)}, {shares}"))
    for change in ("faded", "steady", "partial") if alone else ("steady", "partial"):
        if news[change]:
            names = "; ".join(_name_of(comparison, topic) for topic in news[change])
            echo(fill(f"{change} ({len(news[change])})" + ("" if alone else f": {names}")))
    if comparison.new_words:
        counts = ", ".join(f"{word} {uses:,}" for word, uses in comparison.new_words.items())
        echo(fill(f"new words: {counts}"))


def _share(before: str, share: float | None) -> str:
    return "" if share is None else f"{before}{100 * share:.1f} %"


def _name_of(comparison: Comparison, topic: ComparedTopics) -> str:
    """Return the names of a compared topic in the second run, or in the first if it is gone."""
    is_left = topic.change == "gone" or not topic.right
    side, ids = (comparison.left, topic.left) if is_left else (comparison.right, topic.right)
    return " + ".join(side.names[k] for k in ids)


def _show(comparison: Comparison) -> None:
    columns = room()
    for name, side in (("left", comparison.left), ("right", comparison.right)):
        layer = f", layer {side.layer}" if side.layer > 1 else ""
        echo(
            f"{name:<5}  {side.path}: {side.model}, {side.algo}{layer}, {side.topics} "
            f"{side.noun}s, {side.documents:,} documents"
        )
    lacking = [
        f"the {name} run has {side.words:,}"
        for name, side in (("left", comparison.left), ("right", comparison.right))
        if side.words > comparison.words
    ]
    lines = [f"{comparison.words:,} words in both" + (f": {', '.join(lacking)}" if lacking else "")]
    echo(fill(lines[0], columns) + "\n")
    wide = max(6, *(len(topic.numbers) for topic in comparison.topics))
    wide = min(wide, 24)
    echo(
        f"overlap  corr.  {'topics':<{wide}}   left   right  names; words of both topics or of one"
    )
    for topic in comparison.topics:
        _show_topic(comparison, topic, wide, columns)
    echo()
    sentences = [
        comparison.summary,
        *([comparison.score.sentence] if comparison.score else []),
        *comparison.notes,
    ]
    for sentence in sentences:
        echo(fill(sentence))


def _show_topic(comparison: Comparison, topic: ComparedTopics, wide: int, columns: int) -> None:
    shares = "  ".join(percent(share) for share in (topic.share_left, topic.share_right))
    correlation = "-" if topic.correlation is None else f"{topic.correlation:.2f}"
    head = f"{topic.overlap:>7.2f}  {correlation:>5}  {topic.numbers:<{wide}}  {shares}  "
    pad = " " * 9
    names = [
        " + ".join(side.names[k] for k in ids)
        for side, ids in ((comparison.left, topic.left), (comparison.right, topic.right))
    ]
    if topic.nearest is not None:
        other = comparison.right if topic.left else comparison.left
        text = f"{topic.kind}: {names[0] or names[1]}"
        tail = f"nearest is {topic.nearest}, {other.names[topic.nearest]}"
        lines = [text, f"({tail})"]
    else:
        whole = f"{names[0]} -> {names[1]}"
        lines = [whole] if len(head) + len(whole) <= columns else [names[0], f"-> {names[1]}"]
    first, *rest = [
        line for text in lines for line in textwrap.wrap(text, max(24, columns - len(head)))
    ]
    echo(head + first)
    for line in rest:
        echo(" " * len(head) + line)
    lacks = [
        f"{100 * share:.0f} % in the {name} topic"
        for name, share in (("left", topic.outside_left), ("right", topic.outside_right))
        if share is not None and share >= TOLD
    ]
    if lacks:
        echo(f"{pad}probability of words that the other run lacks: {', '.join(lacks)}")
    words_alone = (
        ("both", [*topic.both]),
        ("left", _own(topic.only_left)),
        ("right", _own(topic.only_right)),
    )
    for name, words in words_alone:
        for number, line in enumerate(wrap(words, max(24, columns - len(pad) - 7))):
            echo(f"{pad}{name if number == 0 else '':<5}  {line}")


def _own(words: tuple[OwnWord, ...]) -> list[str]:
    return [word.word if word.known else f"({word.word})" for word in words]
