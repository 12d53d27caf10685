"""Output of ``sgmc topics`` for questions about documents, about a word or about groups."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from pysgrld.errors import UsageError

from .options import show_json
from .terminal import echo, fill, room, shortened, shown

if TYPE_CHECKING:
    from pysgrld.reading.results import Results
    from pysgrld.report.answers import AllShares, Between

#: Characters of a small bar chart, the lowest bar first.
BARS = "▁▂▃▄▅▆▇█"
#: Maximum number of document groups that are listed below a topic.
LISTED = 4
#: A topic has two shares with intervals: its mean share of a document, and its share of all words.
#: A remark is printed if the second interval is wider by more than this factor. Each width is
#: divided by the share before the comparison.
UNEVEN = 3.0
#: Indentation of the excerpt of a document.
INDENT = " " * 11
#: Maximum width, in terminal columns, of a document's title or of a metadata value.
_TITLE = 60


class Question(NamedTuple):
    """Options with which ``sgmc topics`` answers a question instead of printing the topics."""

    documents: int | None
    topic: int | None
    like: str | None
    word: str | None
    by: str | None
    along: str | None
    cluster: str | None


def check_alone(requests: dict[str, Any], has_rest: bool) -> None:
    """Raise an error if an option of `Question` is combined with another option for output.

    Raises
    ------
    UsageError
    """
    names = [name for name, value in requests.items() if value]
    if len(names) > 1:
        raise UsageError(
            f"{' and '.join(names)}: these options cannot be combined; give one of them"
        )
    if names and has_rest:
        raise UsageError(
            f"{names[0]} prints its own table; leave out --top, --intervals and --names"
        )


def answer(results: Results, layer_index: int, question: Question, *, as_json: bool) -> None:
    """Print the answer to the question that the options of ``sgmc topics`` ask."""
    from pysgrld.report.answers import (
        documents_like,
        documents_of_topics,
        plain,
        topics_in_groups,
        word_in_topics,
    )
    from pysgrld.report.topic_words import labelled, names_of

    number, topic_id, like, word, by, along, cluster = question
    names = names_of(results, layer_index) | results.given_names(layer_index)
    if like is not None:
        similar = documents_like(results, like, number or 10, layer_index)
        if as_json:
            common = sorted({topic for each in similar.documents for topic in each.topics})
            show_json(
                {
                    "run": results.place,
                    "layer": layer_index + 1,
                    "like": like,
                    "names": {topic: names[topic] for topic in common},
                    **plain(similar),
                }
            )
            return
        for column in similar.columns:
            echo(
                fill(
                    f"{like} was read as the number of a row; to compare with the document that "
                    f"has {like} in column {shown(column)}, give --like {shown(column)}={like}\n"
                )
            )
        echo("similarity  document; common topics; text")
        indent = " " * 12
        for each in similar.documents:
            echo(f"{each.similarity:>10.2f}  {_short(each.title)}")
            shared = "; ".join(f"{topic} {names[topic]}" for topic in each.topics)
            for part in filter(None, (shared, shown(each.text))):
                for line in textwrap.wrap(part, max(24, room() - len(indent))):
                    echo(indent + line)
        if similar.compared < similar.total - 1:
            echo(
                f"Only {similar.compared:,} of {similar.total:,} documents were compared, evenly "
                "spaced in the corpus."
            )
        return
    spread = results.spread()
    head: dict[str, Any] = {
        "run": results.place,
        "layer": layer_index + 1,
        **spread.sense,
        "width": spread.width,
    }
    if word is not None:
        uses = word_in_topics(results, word, layer_index)
        record: Any = head | {"word": word, "topics": plain(uses)}
        lines = ["topic  word's uses   rank  probability in the topic     name"]
        lines += [
            f"{use.topic:>5}  {100 * use.share:>9.1f} %  {use.place:>5}  "
            f"{_percent(use.probability, 2):<27}  {names[use.topic]}"
            for use in uses
        ]
    elif number is not None:
        listed = documents_of_topics(results, number, layer_index, topic_id)
        record = head | {"topics": plain(listed)}
        lines = []
        for topic in listed:
            lines.append(f"{topic.topic:>5}  {names[topic.topic]}")
            for document in topic.documents:
                lines.append(f"         {_percent(document.share):<24}  {_short(document.title)}")
                if document.excerpt:
                    columns = max(24, room() - len(INDENT))
                    wrapped = textwrap.wrap(shown(document.excerpt), columns)
                    lines += [INDENT + line for line in wrapped]
            if not topic.documents:
                lines.append("         no document surely has this topic")
    else:
        groups, rows = topics_in_groups(results, by, along, cluster, layer_index)
        record = head | {"groups": groups.record(), "topics": plain(rows)}
        lines = _group_lines(groups, rows, names, by, along, cluster)
    if as_json:
        topics = labelled(results, layer_index, record["topics"], "topic")
        show_json(record | {"topics": topics})
        return
    echo(f"{results.place}, {spread.title}\n")
    for line in lines:
        echo(line)
    if remark := spread.remark():
        echo("\n" + fill(f"{spread.title}: {remark}"))


def _percent(value: Between, digits: int = 1) -> str:
    """Format a share in percent, followed by its interval if it has one."""
    mean = f"{100 * value.mean:.{digits}f} %"
    if value.low is None or value.high is None:
        return mean
    return f"{mean} ({100 * value.low:.{digits}f} to {100 * value.high:.{digits}f})"


def _group_lines(
    groups: Any,
    rows: Any,
    names: dict[int, str],
    by: str | None,
    along: str | None,
    cluster: str | None,
) -> list[str]:
    """Format a table of topic shares in all documents and in groups of documents."""
    from pysgrld.report.sections.groups import cluster_units

    of_groups = f"along {along}" if by is None else _short(by)
    lines = [f"topic  {'by documents':<24}  {'by words':<24}  {of_groups}"]

    def row(documents: Between, words: Between, name: str, topic: str = "") -> str:
        return f"{topic:>5}  {_percent(documents):<24}  {_percent(words):<24}  {name}"

    def group(each: Any, i: int, before: str = "") -> str:
        shares = each.groups[i]
        level = before + _short(groups.levels[i])
        return row(shares.documents.share, shares.words.share, f"  {level}")

    for each in rows:
        lines.append(
            row(each.share.documents, each.share.words, names[each.topic], str(each.topic))
        )
        if by is not None:
            higher = each.surely_more()
            lines += [group(each, i) for i in higher[:LISTED]]
            if len(higher) > LISTED:
                lines.append(f"{'':<59}  and {len(higher) - LISTED} more")
        elif each.groups:
            means = [g.documents.share.mean for g in each.groups]
            lines.append(group(each, means.index(max(means)), "most: "))
            top = max(means) or 1.0  # The largest share gets a bar of full height.
            bars = "".join(BARS[min(7, int(8 * mean / top))] for mean in means)
            first, last = (_short(groups.levels[i]) for i in (0, -1))
            # Short names, such as years, of the first and last group stand at the ends of the bars.
            are_short = len(first) + len(last) <= _TITLE // 2
            lines.append(f"       {first} {bars} {last}" if are_short else f"       {bars}")
    if rows and any(each.documents.surely is None for each in rows[0].groups):
        lines += [
            "",
            "There are no intervals, and groups with a higher share are not listed, because the "
            "run stores fewer than 20 posterior samples. Train longer.",
        ]
    elif groups.levels:
        units = cluster_units(groups.grouping, cluster, "documents")
        told_of = f"Intervals are valid for other {units} like these."
        if by is None:
            ends = f"From {_short(groups.levels[0])} to {_short(groups.levels[-1])}. "
        else:
            ends = (
                "Listed groups have a higher share than other documents (false discovery "
                "rate 5 %). "
            )
        lines += ["", *fill(ends + told_of).splitlines()]
        if uneven := [str(each.topic) for each in rows if _is_uneven(each.share)]:
            topics = f"topic{'s' * (len(uneven) > 1)} {', '.join(uneven)}"
            lines += fill(
                f"For {topics}, shares by words have wide intervals, because a few long documents "
                "contain much of the text, and other texts may lack such documents."
            ).splitlines()
    if groups.within:
        column, within = _short(groups.name), _short(groups.within)
        told_of = (
            f"All documents of a {within} have the same {column}, so these intervals are too "
            f"narrow. Give --cluster {within} for correct intervals."
        )
        lines += ["", *fill(told_of).splitlines()]
    return lines


def _is_uneven(share: AllShares) -> bool:
    """Return True if the interval of a topic's share by words is much wider than by documents."""
    widths = []
    for mean, low, high in share:
        if low is None or high is None:
            return False
        widths.append((high - low) / max(mean, 1e-300))
    by_documents, by_words = widths
    return by_words > UNEVEN * by_documents


def _short(text: str) -> str:
    """Return a title on one line, shortened to the maximum width."""
    return shortened(shown(text), _TITLE)
