"""Any two runs, compared: their topics over the words that both have, and their scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pysgrld.errors import MismatchError, UsageError
from pysgrld.evaluate.matching import DISTRIBUTIONS
from pysgrld.reading.open import open_run
from pysgrld.reading.results import Results
from pysgrld.report.compare.one_side import OneSide
from pysgrld.report.compare.paired import paired_score
from pysgrld.report.compare.partners import Group, Likening, group
from pysgrld.report.compare.values import ComparedTopics, Comparison, OwnWord, PairedScore
from pysgrld.run.machine import threads as allowed_threads

#: Top words of a topic that are compared.
TOP = 10
#: Steps of a comparison: both runs read, topics matched, documents scored.
STEPS = 4
#: Words that have no names: they are called by their number.
_NUMBERED = re.compile(r"(?:word|w)?\d+")


def compare(
    left: str | Path,
    right: str | Path,
    *,
    top: int = TOP,
    layers: tuple[int, int] = (1, 1),
    threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Compare the topics of any two runs: which they share, and which are split, merged, gone or new.

    The runs may differ in everything: number of topics, corpus, vocabulary, sampler, model. Topics are
    compared over the words that both vocabularies have. As many topics on both sides are matched one to
    one, as `pysgrld.diagnose` does; otherwise each has a best partner on the other side.

    Parameters
    ----------
    left, right : str or path
        Two runs; a folder of chains stands for its first. They may be training.
    top : int
        Top words of a topic that are compared, at least 1.
    layers : (int, int)
        Layers of deep models, counted from 1.
    threads : int, optional
        Threads; by default as many as the process may use.
    tell : callable (done, total), optional
        Told how many of a few steps are done.

    Returns
    -------
    Comparison
        Topics that belong together, the greatest overlap first; and the paired difference of both
        scores, where the runs hold the same documents out.

    Raises
    ------
    MissingInputError
        If there is no such run.
    CheckpointError
        If a run has no checkpoint yet.
    UsageError
        If both are the same run, or there is no such layer.
    MismatchError
        If their vocabularies have no word in common.
    """
    number = allowed_threads(threads).number
    runs = open_run(left, number), open_run(right, number)
    if runs[0].path.resolve() == runs[1].path.resolve():
        raise UsageError(f"{runs[0].path}: is compared with itself; name two runs")
    common = [OneSide(run, run.at(layer)) for run, layer in zip(runs, layers, strict=True)]
    shared = sorted(set(runs[0].vocabulary) & set(runs[1].vocabulary))
    if not shared:
        raise MismatchError(
            f"{runs[0].path} and {runs[1].path}: their vocabularies have no word in common: there is "
            "nothing to compare"
        )
    how = _likening(runs)
    topics = []
    for done, each in enumerate(common, 1):
        topics.append(each.over(shared, how))
        tell(done, STEPS)
    groups = group(topics[0], topics[1], how)
    tell(3, STEPS)
    known = frozenset(shared)
    rows = tuple(_row(found, common[0], common[1], known, top, how) for found in groups)
    score = paired_score(*runs)
    tell(4, STEPS)
    notes = [*_notes(runs, shared), *([score] if isinstance(score, str) else [])]
    return Comparison(
        common[0].side(known),
        common[1].side(known),
        len(shared),
        rows,
        score if isinstance(score, PairedScore) else None,
        tuple(notes),
        how.signed,
    )


def _likening(runs: Sequence[Results]) -> Likening:
    """Give how topics are likened: as directions if one of the models has these, else by probability."""
    for run in runs:
        if run.fitted.signed and run.fitted.likeness is not None:
            return Likening(run.fitted.likeness, True)
    return Likening(DISTRIBUTIONS, False)


def _row(
    found: Group, left: OneSide, right: OneSide, known: frozenset[str], top: int, how: Likening
) -> ComparedTopics:
    """Tell of topics that belong together: their shares, and the top words of both, or of one alone."""
    words: list[list[tuple[str, float]]] = []
    outside: list[float | None] = []
    for side, rows in ((left, found.left), (right, found.right)):
        if not rows:
            words.append([])
            outside.append(None)
            continue
        mixed = side.mixed(rows, how)
        best = np.argsort(-mixed, kind="stable")[:top].tolist()
        words.append([(side.results.vocabulary[w], float(mixed[w])) for w in best])
        outside.append(side.outside(mixed, how))
    here, there = dict(words[0]), dict(words[1])
    both = sorted(
        here.keys() & there.keys(), key=lambda word: (-min(here[word], there[word]), word)
    )
    nearest = None
    if found.nearest is not None:
        (nearest,) = (right if found.left else left).numbers([found.nearest])
    return ComparedTopics(
        found.kind,
        left.numbers(found.left),
        right.numbers(found.right),
        found.overlap,
        found.overlaps,
        nearest,
        left.share(found.left),
        right.share(found.right),
        outside[0],
        outside[1],
        tuple(both),
        tuple(OwnWord(word, word in known) for word in here if word not in there),
        tuple(OwnWord(word, word in known) for word in there if word not in here),
    )


def _notes(runs: Sequence[Results], shared: Sequence[str]) -> list[str]:
    """Say what a reader of the comparison should know of the runs."""
    notes = []
    for name, run in zip(("left", "right"), runs, strict=True):
        if not run.samples:
            notes.append(f"Of the {name} run the current topics are compared: {run.no_mean}.")
        if run.run.status.get("state") == "running":
            notes.append(
                f"The {name} run is still training: it is told as of its newest checkpoint."
            )
    corpora = {run.run.config["corpus"].get("fingerprint") for run in runs}
    if len(corpora) > 1 and all(map(_NUMBERED.fullmatch, shared)):
        notes.append(
            "Words are called by numbers in both runs, and are compared by these: that is right only if "
            "the same number is the same word."
        )
    return notes
