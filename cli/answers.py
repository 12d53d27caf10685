"""Answers of ``sgmc topics`` on one question: documents of topics, a word, groups of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysgrld.errors import UsageError

from .options import show_json
from .terminal import echo, fill, shown

if TYPE_CHECKING:
    from pysgrld.reading.results import Results
    from pysgrld.report.answers import Between

#: Signs of a small chart, the lowest first, and groups that are listed of a topic.
BARS, LISTED = "▁▂▃▄▅▆▇█", 4


def check_alone(asked: dict[str, Any], others: bool) -> None:
    """Refuse several questions at once, and options that none of them has.

    Raises
    ------
    UsageError
    """
    given = [name for name, value in asked.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: ask for one of them at a time")
    if given and others:
        raise UsageError(
            f"{given[0]} has a table of its own: leave --top, --intervals and --names out"
        )


def answer(results: Results, at: int, asked: dict[str, Any], *, as_json: bool) -> None:
    """Print the answer to the one question that is asked, if any."""
    from pysgrld.report.answers import documents_of_topics, plain, topics_in_groups, word_in_topics
    from pysgrld.report.topic_words import names_of

    number, word, by, along = asked.values()
    spread = results.spread()
    head: dict[str, Any] = {
        "run": results.path,
        "layer": at + 1,
        "interval_of": "posterior" if spread.faithful else "draws",
        "width": spread.width,
    }
    names = names_of(results, at) | (results.labels if at == 0 else {})
    if word is not None:
        found = word_in_topics(results, word, at)
        record: Any = head | {"word": word, "topics": plain(found)}
        lines = ["topic  of its uses  place  probability in the topic     name"]
        lines += [
            f"{each.topic:>5}  {100 * each.share:>9.1f} %  {each.place:>5}  "
            f"{_percent(each.probability, 2):<27}  {names[each.topic]}"
            for each in found
        ]
    elif number is not None:
        listed = documents_of_topics(results, number, at)
        record = head | {"topics": plain(listed)}
        lines = []
        for topic in listed:
            lines.append(f"{topic.topic:>5}  {names[topic.topic]}")
            lines += [
                f"         {_percent(d.share):<24}  {_short(d.title)}" for d in topic.documents
            ]
            if not topic.documents:
                lines.append("         no document surely has it")
    else:
        groups, told = topics_in_groups(results, by, along, at)
        record = head | {"groups": groups.record(), "topics": plain(told)}
        lines = _group_lines(groups, told, names, by, along)
    if as_json:
        show_json(record)
        return
    echo(f"{results.path}, {spread.title}\n")
    for line in lines:
        echo(line)
    if remark := spread.remark():
        echo("\n" + fill(f"{spread.title}: {remark}"))


def _percent(value: Between, digits: int = 1) -> str:
    """Return a share in percent, and its interval."""
    mean = f"{100 * value.mean:.{digits}f} %"
    if value.low is None or value.high is None:
        return mean
    return f"{mean} ({100 * value.low:.{digits}f} to {100 * value.high:.{digits}f})"


def _group_lines(
    groups: Any, told: Any, names: dict[int, str], by: str | None, along: str | None
) -> list[str]:
    """Say in which groups a topic surely is more than in the corpus, or draw it along them."""
    of_groups = f"along {along}" if by is None else f"{'of the group':<24}  {_short(by)}"
    lines = [f"topic  {'of the corpus':<22}  name", f"         {of_groups}"]
    for each in told:
        lines.append(f"{each.topic:>5}  {_percent(each.share):<22}  {names[each.topic]}")
        if by is not None:
            more = each.surely_more()
            lines += [
                f"         {_percent(each.groups[i]):<24}  {_short(groups.levels[i])}"
                for i in more[:LISTED]
            ]
            if len(more) > LISTED:
                lines.append(f"         and {len(more) - LISTED} more")
        else:
            top = max(range(len(each.groups)), key=lambda i: each.groups[i].mean)
            most = each.groups[top].mean or 1.0  # as high as a line
            bars = [BARS[min(7, int(8 * group.mean / most))] for group in each.groups]
            lines.append(f"         {''.join(bars)}")
            lines.append(f"         {_percent(each.groups[top])} in {_short(groups.levels[top])}")
    if by is not None:
        lines += [
            "",
            "Groups are listed where the interval lies above the topic's share of the corpus.",
        ]
    elif groups.levels:
        lines += ["", f"From {_short(groups.levels[0])} to {_short(groups.levels[-1])}."]
    return lines


def _short(text: str) -> str:
    """Show a title on a line, and cut."""
    line = shown(text)
    return line if len(line) <= 60 else f"{line[:57]}..."
