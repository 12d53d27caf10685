"""Results of comparing two runs: as plain values, JSON, text, and an HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pysgrld.errors import plural
from pysgrld.evaluate.matching import CORRELATED, SAME
from pysgrld.reading.labels import Label
from pysgrld.report.compare.partners import ABSENT, Kind
from pysgrld.report.page_file import STYLES, page
from pysgrld.run.chain_folders import display_name
from pysgrld.run.machine import RELEASE

#: Number of standard errors on each side of a 95 % interval.
_WIDTH = 1.96
#: A topic has grown or faded only if the ratio of its shares in the two runs is at least this
#: number.
GROWN = 1.5
#: A topic has grown or faded only if its shares differ by at least this number. Smaller differences
#: of rare topics may be due to chance.
GROWN_BY = 0.005
#: A topic is new or gone if at least this fraction of its probability belongs to words that the
#: other run lacks.
UNKNOWN = 0.5
#: Possible changes of topics, in the order in which they are listed.
CHANGES = ("new", "grown", "faded", "gone", "partial", "steady")
#: Angle in degrees between the colours of neighbouring rows on the page. With this golden angle, no
#: two rows have the same colour.
_TURN = 137.5


class Side(NamedTuple):
    """Description of a compared run at the time of the comparison.

    Attributes
    ----------
    path : Path
    model, algo, noun : str
        The noun is "topic" or "component".
    layer : int
        Counted from 1.
    topics, words, documents, iteration, samples : int
        Numbers of compared topics, words of the vocabulary, training documents, finished
        iterations, and posterior samples in the mean topics (0 if the current topics are compared).
    running : bool
        Whether the run is still training.
    names : dict of int to str
        Name of every topic: the given one, else three of its words.
    labels : dict of int to Label
        Given names of topics, with their source.
    outside : float or None
        Share of training tokens that are words which the other vocabulary lacks; None if not known.
    """

    path: Path
    model: str
    algo: str
    noun: str
    layer: int
    topics: int
    words: int
    documents: int
    iteration: int
    samples: int
    running: bool
    names: dict[int, str]
    labels: dict[int, Label]
    outside: float | None


class OwnWord(NamedTuple):
    """Top word of only one run; ``known`` is True if the other run's vocabulary has the word."""

    word: str
    known: bool


class ComparedTopics(NamedTuple):
    """Topics of one run, and the topics of the other run that match them.

    Attributes
    ----------
    kind : {"one to one", "split", "merged", "partial", "gone", "new"}
    left, right : tuple of int
        Numbers of the topics; one tuple is empty for a topic without a partner.
    overlap : float
        Probability mass that both sides share, over the words of both vocabularies (1 if they are
        the same); for directions, the cosine. Several topics on a side are averaged by their
        weights. A topic without a partner has its overlap with the `nearest`.
    overlaps : tuple of float
        For a split or merged topic: the overlap of each single part with the topic, in the order of
        the parts.
    correlation : float or None
        Correlation of the proportions of both sides in the same documents. A topic without a
        partner has its correlation with the `nearest`. None if no documents were read with both
        runs.
    nearest : int or None
        For a topic without a partner: the most similar topic of the other run.
    share_left, share_right : float or None
        Share of the topics in the corpus of each run.
    outside_left, outside_right : float or None
        Share of the topics' probability on words that the other vocabulary lacks.
    both : tuple of str
        Top words that both sides have.
    only_left, only_right : tuple of OwnWord
        Top words of one side that are not top words of the other.
    """

    kind: Kind
    left: tuple[int, ...]
    right: tuple[int, ...]
    overlap: float
    overlaps: tuple[float, ...]
    correlation: float | None
    nearest: int | None
    share_left: float | None
    share_right: float | None
    outside_left: float | None
    outside_right: float | None
    both: tuple[str, ...]
    only_left: tuple[OwnWord, ...]
    only_right: tuple[OwnWord, ...]

    @property
    def same(self) -> bool:
        """True if the topics match: by their correlation if known, otherwise by their overlap."""
        if self.nearest is not None:
            return False
        if self.correlation is None:
            return self.overlap >= SAME
        return self.correlation >= CORRELATED

    @property
    def numbers(self) -> str:
        """Numbers of the left and the right topics, for example ``4 -> 3, 17``."""
        sides = (", ".join(map(str, ids)) or "-" for ids in (self.left, self.right))
        return " -> ".join(sides)

    @property
    def change(self) -> Literal["new", "grown", "faded", "gone", "partial", "steady"]:
        """Kind of change of the topics from the left run to the right run, such as "grown"."""
        if self.kind in {"new", "gone", "partial"}:
            return self.kind
        if (self.outside_right or 0.0) >= UNKNOWN:
            return "new"
        if (self.outside_left or 0.0) >= UNKNOWN:
            return "gone"
        before, after = self.share_left, self.share_right
        if before is None or after is None or abs(after - before) < GROWN_BY:
            return "steady"
        if after >= GROWN * before:
            return "grown"
        return "faded" if before >= GROWN * after else "steady"


class PairedScore(NamedTuple):
    """Scores of both runs on the same held-out documents, and the difference of the scores.

    Attributes
    ----------
    name, title : str
        Key of the score, and its title for the user. Lower is better.
    decimals : int
        Number of decimals shown.
    left, right, difference : float
        Scores of the posterior averages, and their difference, right minus left.
    error : float
        Standard error of the difference, from paired documents.
    documents : int
    """

    name: str
    title: str
    decimals: int
    left: float
    right: float
    difference: float
    error: float
    documents: int

    @property
    def low(self) -> float:
        """Lower end of the difference's 95 % interval."""
        return self.difference - _WIDTH * self.error

    @property
    def high(self) -> float:
        """Upper end of the difference's 95 % interval."""
        return self.difference + _WIDTH * self.error

    @property
    def sentence(self) -> str:
        """The result of comparing the scores, as a sentence."""
        shown = [f"{x:,.{self.decimals}f}" for x in (self.left, self.right)]
        between = f"95 % interval {self.low:+,.{self.decimals}f} to {self.high:+,.{self.decimals}f}"
        if self.low > 0.0 or self.high < 0.0:
            better = f"the {'left' if self.low > 0.0 else 'right'} run predicts better"
        else:
            better = "it is uncertain which run predicts better"
        return (
            f"{self.title[0].upper()}{self.title[1:]} on the same "
            f"{plural(self.documents, 'held-out document')}: {shown[0]} (left) and {shown[1]} "
            f"(right), right minus left {self.difference:+,.{self.decimals}f} ({between}): "
            f"{better}."
        )


class Comparison(NamedTuple):
    """Result of `compare`: two runs, groups of topics that belong together, and scores.

    Attributes
    ----------
    left, right : Side
    words : int
        Number of words in both vocabularies, over which topics are compared.
    topics : tuple of ComparedTopics
        Pairs, the greatest overlap first; then partial topics, gone ones, and new ones.
    score : PairedScore or None
        None if the runs do not score the same held-out documents.
    notes : tuple of str
        Remarks on values that could not be compared, or need care.
    signed : bool
        Whether an overlap is a cosine of directions.
    new_words : mapping of str to int
        The most frequent words of the right run that the left run's vocabulary lacks, with their uses.
    """

    left: Side
    right: Side
    words: int
    topics: tuple[ComparedTopics, ...]
    score: PairedScore | None
    notes: tuple[str, ...]
    signed: bool = False
    new_words: Mapping[str, int] = MappingProxyType({})

    @property
    def news(self) -> dict[str, list[ComparedTopics]]:
        """Topics grouped by their `change`, and sorted by decreasing share in each group."""
        found: dict[str, list[ComparedTopics]] = {change: [] for change in CHANGES}
        for topic in sorted(self.topics, key=lambda t: -(t.share_right or t.share_left or 0.0)):
            found[topic.change].append(topic)
        return found

    @property
    def is_correlated(self) -> bool:
        """True if topics are compared by both words and proportions in the same documents."""
        return any(topic.correlation is not None for topic in self.topics)

    @property
    def summary(self) -> str:
        """A sentence that gives the number of topics of each kind."""
        pairs = [t for t in self.topics if t.kind == "one to one"]
        same = sum(topic.same for topic in pairs)
        kinds = ("split", "merged", "partial", "gone", "new")
        counted = {k: sum(t.kind == k for t in self.topics) for k in kinds}
        by = (
            f"their proportions in the same documents have a correlation of {CORRELATED:g} or more"
            if self.is_correlated
            else f"an overlap of {SAME:g} or more"
        )
        parts = [f"{same} the same ({by})"]
        parts += [f"{n} {kind}" for kind, n in {"alike": len(pairs) - same, **counted}.items() if n]
        sizes = [plural(side.topics, side.noun) for side in (self.left, self.right)]
        return f"Of {' and '.join(sizes)}: {', '.join(parts)}."

    def record(self) -> dict[str, Any]:
        """Return all results by name, in a form for JSON."""
        record = self._asdict() | {
            "left": self.left._asdict(),
            "right": self.right._asdict(),
            "new_words": dict(self.new_words),
        }
        record["topics"] = [
            topic._asdict()
            | {
                "same": topic.same,
                "change": topic.change,
                "only_left": [word._asdict() for word in topic.only_left],
                "only_right": [word._asdict() for word in topic.only_right],
            }
            for topic in self.topics
        ]
        if self.score is not None:
            interval = {"low": self.score.low, "high": self.score.high}
            record["score"] = self.score._asdict() | interval
        return record | {"summary": self.summary}

    def __repr__(self) -> str:
        """Return a line for each compared topic."""
        lines = [f"{self.left.path} -> {self.right.path}. {self.summary}"]
        lines += [f"{t.overlap:5.2f}  {t.numbers:<16} {' '.join(t.both)}" for t in self.topics]
        return "\n".join(lines)


def page_of(comparison: Comparison) -> bytes:
    """Return a comparison's HTML page; the same comparison always gives the same bytes.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.

    Returns
    -------
    bytes
        HTML in UTF-8.
    """
    topics = [
        record | {"numbers": topic.numbers, "hue": round(_TURN * n % 360)}
        for n, (record, topic) in enumerate(
            zip(comparison.record()["topics"], comparison.topics, strict=True)
        )
    ]
    sides = []
    for side in (comparison.left, comparison.right):
        shown = side._asdict() | {"run": display_name(side.path)}
        # The page must not reveal the path of a run.
        del shown["path"], shown["labels"]
        sides.append(shown)
    report = {
        "title": f"{display_name(comparison.left.path)} and {display_name(comparison.right.path)}",
        "sides": sides,
        "words": comparison.words,
        "summary": comparison.summary,
        "score": None if comparison.score is None else comparison.score.sentence,
        "notes": list(comparison.notes),
        "signed": comparison.signed,
        "correlated": CORRELATED if comparison.is_correlated else None,
        "absent": ABSENT,
        "topics": topics,
        "sgmc": RELEASE,
    }
    return page(report, {}, ("core.js", "compare.js"), (*STYLES, "compare.css"))
