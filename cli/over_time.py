"""Output of ``sgmc topics --over-time``, which prints topics' words in several time slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysgrld.errors import UsageError

from .options import show_json
from .terminal import echo, fill, room, shown, wrap

if TYPE_CHECKING:
    from pysgrld.reading.results import Results

#: Number of time slices that are printed for a topic.
SLICES = 6
#: Number of words that are printed for a topic in a slice.
WORDS = 8
#: Number of words of a topic that are tested for a change.
FOLLOWED = 10
#: Maximum number of rising words, and of falling words, that are printed for a topic.
TOLD = 4


def show_over_time(results: Results, *, as_json: bool) -> None:
    """Print topics' most probable words in several time slices, then rising and falling words.

    Raises
    ------
    UsageError
        If the topics of the model do not change with time.
    """
    slicing, names = results.options.slicing, results.fitted.slices
    if slicing is None:
        raise UsageError(
            f"--over-time: {results.fitted.noun}s of {results.path} do not change over time; "
            "train with --time COLUMN"
        )
    topics = _topics(results)
    if as_json:
        from pysgrld.report.topic_words import labelled

        topics = labelled(results, 0, topics)
        show_json({"run": results.place, "column": slicing.field, "names": names, "topics": topics})
        return
    last, spread = len(names) - 1, results.spread()
    places = sorted({round(i * last / (SLICES - 1)) for i in range(SLICES)})
    wide = max(5, *(len(names[t]) for t in places))
    echo(f"{results.place}, words of each topic by {shown(slicing.field)}, {len(names)} slices")
    for topic in topics:
        weight = "" if topic["weight"] is None else f"  {100 * topic['weight']:.1f} %"
        echo(f"\n{topic['id']:>5}{weight}  {shown(topic['label'] or '')}".rstrip())
        for t in places:
            _line(names[t], wide, topic["slices"][t])
        changes = [c for c in topic["changes"] if c["low"] is not None]
        changes.sort(key=lambda c: -c["times"])
        for name, sure in (
            ("rises", [c for c in changes if c["low"] > 1]),
            ("falls", [c for c in reversed(changes) if c["high"] < 1]),
        ):
            if sure:
                _line(name, wide, [_change(c) for c in sure[:TOLD]])
    title = spread.title if (remark := spread.remark()) is None else f"{spread.title}: {remark}"
    echo()
    echo(
        fill(
            f"Rises, falls: the word's probability in {names[-1]} divided by its probability in "
            f"{names[0]}, listed if the interval excludes 1. {title}"
        )
    )


def _topics(results: Results) -> list[dict[str, Any]]:
    """Return each topic with its top words by time slice, and with rising and falling words."""
    import numpy as np

    from pysgrld.reading.topics import topics_of
    from pysgrld.report.words_over_time import top_by_slice, words_over_time

    topics = topics_of(results, 3, intervals=False, coherences=False)
    ids, vocabulary = np.array([topic.id for topic in topics]), results.vocabulary
    top, followed = top_by_slice(results, ids, WORDS), words_over_time(results, ids, FOLLOWED)
    record = []
    for i, topic in enumerate(topics):
        parts = (followed.change[i], followed.change_low[i], followed.change_high[i])
        numbers = ([None if np.isnan(x) else x for x in part.tolist()] for part in parts)
        changes = [
            {"word": vocabulary[w], "times": times, "low": low, "high": high}
            for w, times, low, high in zip(followed.words[i].tolist(), *numbers, strict=True)
        ]
        slices = [[vocabulary[w] for w in row] for row in top[i].tolist()]
        record.append(
            {
                "id": topic.id,
                "label": topic.label,
                "weight": topic.weight,
                "slices": slices,
                "changes": changes,
            }
        )
    return record


def _line(name: str, wide: int, words: list[str]) -> None:
    """Print a time slice's name and its words, on as many lines as needed."""
    indent = 9 + wide
    for i, line in enumerate(wrap([shown(word) for word in words], room() - indent)):
        echo(f"       {name if i == 0 else '':>{wide}}  {line}")


def _change(change: dict[str, Any]) -> str:
    """Format a word and the factor by which its probability changed, with the factor's interval."""
    times, low, high = (
        f"{x:.1f}x" if x >= 0.95 else f"{x:.2g}x"
        for x in (change["times"], change["low"], change["high"])
    )
    return f"{change['word']} {times} ({low} to {high})"
