"""Comparison of two runs: topics that are shared, split, merged, partial, gone or new.

Names of topics can be copied from one run to the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.corpus.stopwords import named
from pysgrld.errors import MismatchError, MissingInputError, SgmcError, UsageError
from pysgrld.evaluate.matching import DISTRIBUTIONS
from pysgrld.models.word_order import WordOrder, parse_order
from pysgrld.options.paths import is_folder, resolve_path
from pysgrld.reading.find_runs import find_folder, open_run
from pysgrld.reading.former_topics import digest_of_topics
from pysgrld.reading.labels import LABELS, write_labels
from pysgrld.reading.results import Results
from pysgrld.reading.score import score_own
from pysgrld.report.compare.comparison import (
    UNKNOWN,
    ComparedTopics,
    Comparison,
    OwnWord,
    PairedScore,
    Side,
)
from pysgrld.report.compare.documents import SharedDocuments, shared_documents
from pysgrld.report.compare.partners import Group, Likening, Topics, group
from pysgrld.report.topic_words import names_of
from pysgrld.run import RunDirectory
from pysgrld.run.machine import threads as allowed_threads

#: Default number of top words of a topic that are compared.
TOP = 10
#: Number of steps of a comparison. Reading the runs has two steps. Shared documents, matching, and
#: scores have one step each.
STEPS = 5
#: Maximum number of new words that a comparison lists.
NEW_WORDS = 20
#: Pattern of made-up words of a corpus without a vocabulary, such as ``w17`` for word number 17.
_NUMBERED = re.compile(r"(?:word|w)?\d+")


def compare(
    left: str | Path,
    right: str | Path,
    *,
    top: int = TOP,
    order: WordOrder | str | None = None,
    layers: tuple[int, int] = (1, 1),
    threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Compare the topics of two runs, and find shared, split, merged, partial, gone and new topics.

    The runs may differ in everything: number of topics, corpus, vocabulary, sampler, model. Topics
    are compared over the words that both vocabularies have, and by their proportions in the same
    training documents of both runs. If both runs have equally many topics, these are matched one to
    one, as by `pysgrld.diagnose`; otherwise each topic has a best partner in the other run.

    Parameters
    ----------
    left, right : str or path
        Two runs, which may still be training; a folder of chains stands for its first chain.
    top : int
        Number of top words of a topic that are compared, at least 1.
    order : str, optional
        The order of words: "distinctive", "probable", "frex" or "relevance:LAMBDA"; by default
        each run's own order.
    layers : (int, int)
        Layers of deep models, counted from 1.
    threads : int, optional
        Threads; by default as many as the process may use.
    tell : callable (done, total), optional
        Called with the number of finished steps.

    Returns
    -------
    Comparison
        Topics that belong together, the greatest overlap first; and the paired difference of both
        scores, if the runs hold the same documents out.

    Raises
    ------
    MissingInputError
        If a run is missing.
    CheckpointError
        If a run has no checkpoint yet.
    UsageError
        If both are the same run, or the layer is missing.
    MismatchError
        If their vocabularies have no word in common.
    """
    number = allowed_threads(threads).number
    runs = open_run(left, number), open_run(right, number)
    if resolve_path(runs[0].path) == resolve_path(runs[1].path):
        raise UsageError(
            f"{runs[0].path}: a run cannot be compared with itself; give two different runs"
        )
    if order is not None:
        chosen = parse_order(order) if isinstance(order, str) else order
        for run in runs:
            run.order_words(chosen)
    layer_indices = runs[0].at(layers[0]), runs[1].at(layers[1])
    shared = sorted(set(runs[0].vocabulary) & set(runs[1].vocabulary))
    if not shared:
        raise MismatchError(
            f"{runs[0].path} and {runs[1].path}: their vocabularies have no word in common, so "
            "there is nothing to compare; give runs of similar texts"
        )
    # Topics are compared as distributions, unless the topics of a run are unit vectors.
    how = Likening(DISTRIBUTIONS, False)
    for run in reversed(runs):
        if run.fitted.signed and run.fitted.likeness is not None:
            how = Likening(run.fitted.likeness, True)
    compared = []
    for done, (run, layer) in enumerate(zip(runs, layer_indices, strict=True), 1):
        compared.append(_ComparedRun(run, layer, shared, how))
        tell(done, STEPS)
    first, second = compared
    shared_by = shared_documents(*runs, layer_indices)
    tell(3, STEPS)
    correlation = None if shared_by is None else shared_by.correlations
    groups = group(first.topics, second.topics, how, _replaced(first, second), correlation)
    rows = tuple(_row(found, first, second, top, shared_by) for found in groups)
    tell(4, STEPS)
    score = paired_score(*runs)
    tell(5, STEPS)
    notes = []
    for name, run in zip(("left", "right"), runs, strict=True):
        if not run.fitted.samples:
            notes.append(
                f"For the {name} run, the current topics are compared, because {run.no_mean}."
            )
        if run.run.status.get("state") == "running":
            notes.append(f"The {name} run is still training; its newest checkpoint is compared.")
    corpora = {run.run.config["corpus"].get("fingerprint") for run in runs}
    if len(corpora) > 1 and all(map(_NUMBERED.fullmatch, shared)):
        notes.append(
            "Both runs have word numbers instead of words; the comparison is right only if "
            "each number stands for the same word in both runs."
        )
    if isinstance(score, str):
        notes.append(score)
    return Comparison(
        left=first.described(),
        right=second.described(),
        words=len(shared),
        topics=rows,
        score=score if isinstance(score, PairedScore) else None,
        notes=tuple(notes),
        signed=how.signed,
        new_words=second.new_words(),
    )


def former_run(name: str) -> str | None:
    """Return the folder of the earlier run that a run continues, or None if there is no such run.

    Parameters
    ----------
    name : str
        A run, as `compare` takes it.

    Raises
    ------
    MissingInputError
        If the run is missing.
    """
    parent = RunDirectory.open(find_folder(name)).config.get("parent")
    return str(parent["run"]) if parent else None


def _replaced(left: _ComparedRun, right: _ComparedRun) -> list[tuple[int, int]]:
    """Return pairs (left row, right row) of the topics that the later run has replaced.

    The list is empty unless one of the runs continues the other.
    """
    pairs = []
    for before, after in ((left, right), (right, left)):
        former = after.results.former
        if before.at or after.at or former is None or not former.replaced:
            continue
        if former.parent["digest"] == digest_of_topics(before.phi):
            rows = [{int(k): row for row, k in enumerate(side.ids)} for side in (left, right)]
            pairs += [
                (rows[0][k], rows[1][k]) for k in former.replaced if all(k in r for r in rows)
            ]
    return pairs


class _ComparedRun:
    """One of the compared runs, with its topics over all its words and over the common words.

    Parameters
    ----------
    results : Results
    at : int
        The layer, counted from 0.
    shared : sequence of str
        Words that both runs have.
    how : Likening

    Attributes
    ----------
    topics : Topics
        The shown topics, restricted to the shared words and then normalised.
    """

    def __init__(self, results: Results, layer: int, shared: Sequence[str], how: Likening) -> None:
        self.results, self.at, self.shared, self.how = results, layer, frozenset(shared), how
        self.ids = results.fitted.shown(layer)
        self.phi = results.phi(layer)
        self._scorer = results.word_scorer(self.phi, layer)
        topic_weights = results.weights(layer)
        self.weights_known = topic_weights is not None
        weights = np.ones(len(self.ids)) if topic_weights is None else topic_weights[self.ids]
        place = {word: n for n, word in enumerate(results.vocabulary)}
        positions = np.array([place[word] for word in shared], np.int64)
        self._lacking = np.setdiff1d(np.arange(len(place)), positions)
        rows = np.ascontiguousarray(self.phi[positions][:, self.ids].T)
        self.topics = Topics(how.scaled(rows), weights)

    def numbers(self, rows: Sequence[int]) -> tuple[int, ...]:
        """Return the topic numbers, as used in exports, of the topics in the given rows.

        Parameters
        ----------
        rows : sequence of int
            Places among the topics that are compared.
        """
        return tuple(self.ids[list(rows)].tolist())

    def together(
        self, rows: Sequence[int], top: int
    ) -> tuple[float | None, dict[str, float], float | None]:
        """Average the given topics over the run's whole vocabulary, weighted by the topics' shares.

        Parameters
        ----------
        rows : sequence of int
            Places among the topics that are compared.
        top : int
            Number of words to return.

        Returns
        -------
        share : float or None
            Share of these topics in the corpus; None if weights are not known.
        words : dict of str to float
            The top words in the run's word order, with their probabilities.
        outside : float or None
            Share of the probability on words that the other run lacks.
        """
        if not rows:
            return None, {}, None
        weights = self.topics.weights[list(rows)]
        subset = Topics(np.ascontiguousarray(self.phi[:, self.ids[list(rows)]].T), weights)
        mixed = self.how.put_together(subset, list(range(len(rows))))
        best = self._scorer.first(mixed.astype(np.float64), top).tolist()
        lacking = mixed[self._lacking].astype(np.float64)
        return (
            float(weights.sum()) if self.weights_known else None,
            {self.results.vocabulary[w]: float(mixed[w]) for w in best},
            float(lacking @ lacking if self.how.signed else lacking.sum()),
        )

    def new_words(self) -> dict[str, int]:
        """Return the run's most frequent words, without stop words, that the other run lacks."""
        counts = self.results.word_counts()
        if counts is None:
            return {}
        known = self.shared | named("english")
        words = [
            (word, int(count))
            for word, count in zip(self.results.vocabulary, counts.tolist(), strict=True)
            if word not in known
        ]
        return dict(sorted(words, key=lambda pair: (-pair[1], pair[0]))[:NEW_WORDS])

    def described(self) -> Side:
        """Return the `Side` that describes this run in the result of a comparison."""
        run, layer = self.results, self.at
        labels = run.named if layer == 0 else {}
        counts, outside = run.word_counts(), None
        if counts is not None and counts.sum():
            lacks = [word not in self.shared for word in run.vocabulary]
            outside = float(counts[lacks].sum() / counts.sum())
        names = names_of(run, layer) | (run.labels if layer == 0 else {})
        return Side(
            path=run.place,
            model=run.options.model,
            algo=run.options.algo,
            noun=run.fitted.noun,
            layer=layer + 1,
            topics=len(self.ids),
            words=len(run.vocabulary),
            documents=run.run.config["corpus"]["training_documents"],
            iteration=run.checkpoint.step,
            samples=run.fitted.samples,
            running=run.run.status.get("state") == "running",
            names={k: names[k] for k in self.ids.tolist()},
            labels=labels,
            outside=outside,
        )


def _row(
    group: Group,
    left: _ComparedRun,
    right: _ComparedRun,
    top: int,
    documents: SharedDocuments | None,
) -> ComparedTopics:
    """Describe a group of matching topics by their shares, common top words and other top words."""
    share_left, words_left, outside_left = left.together(group.left, top)
    share_right, words_right, outside_right = right.together(group.right, top)
    common_words = [word for word in words_left if word in words_right]
    correlation = nearest = None
    if documents is not None:
        near = () if group.nearest is None else (group.nearest,)
        correlation = documents.correlation(group.left or near, group.right or near)
    if group.nearest is not None:
        (nearest,) = (right if group.left else left).numbers([group.nearest])
    return ComparedTopics(
        kind=group.kind,
        left=left.numbers(group.left),
        right=right.numbers(group.right),
        overlap=group.overlap,
        overlaps=group.overlaps,
        correlation=correlation,
        nearest=nearest,
        share_left=share_left,
        share_right=share_right,
        outside_left=outside_left,
        outside_right=outside_right,
        both=tuple(common_words),
        only_left=tuple(OwnWord(w, w in left.shared) for w in words_left if w not in words_right),
        only_right=tuple(OwnWord(w, w in left.shared) for w in words_right if w not in words_left),
    )


def paired_score(left: Results, right: Results) -> PairedScore | str:
    """Score both runs on common held-out documents, or return the reason why this is impossible.

    Held-out documents are common if their fingerprints are equal: same words, counts and split.

    Parameters
    ----------
    left, right : Results
    """
    kind, other = left.fitted.score, right.fitted.score
    if kind != other:
        return (
            "Predictions are not compared, because the runs use different scores: "
            f"{kind.title} and {other.title}."
        )
    try:
        splits = []
        for run in (left, right):
            folder = run.path / "holdout"
            parts = ("held-out",) if kind.whole else ("observed", "held-out")
            splits.append(
                [Corpus.open(folder / part).fingerprint for part in parts]
                if is_folder(folder)
                else []
            )
        if not all(splits):
            return "Predictions are not compared, because a run has no held-out documents."
        if splits[0] != splits[1]:
            return "Predictions are not compared, because the runs hold out different documents."
        first, second = score_own(left), score_own(right)
    except SgmcError as error:
        return f"Predictions are not compared: {error}."
    gap = second.average.subtract(first.average)
    return PairedScore(
        name=kind.name,
        title=kind.title,
        decimals=kind.decimals,
        left=float(first.average),
        right=float(second.average),
        difference=float(gap),
        error=gap.error,
        documents=first.documents,
    )


# ---- names of topics that are copied from one run to the other


class Carried(NamedTuple):
    """Names of the left run's topics: names copied to the right run, and names not copied.

    Attributes
    ----------
    path : Path
        The file of names of the right run.
    new : dict of int to str
        Names that were written.
    kept : dict of int to str
        Names that the right run already had, and keeps.
    lost : dict of int to str
        Names of topics without a suitable partner in the right run, by number in the left run.
    """

    path: Path
    new: dict[int, str]
    kept: dict[int, str]
    lost: dict[int, str]


def carry_labels(comparison: Comparison, *, replace: bool = False) -> Carried:
    """Copy the names of the left run's topics into the right run's ``labels.json``.

    A name is copied to the one-to-one partner of its topic if both topics are the same
    (`ComparedTopics.same`) and less than half of either's probability is on words that the other
    vocabulary lacks. A name that a topic of the right run already has stays, unless ``replace``.

    Parameters
    ----------
    comparison : Comparison
    replace : bool

    Raises
    ------
    MissingInputError
        If no topic of the left run has a name.
    WriteError
        If the file cannot be written.
    """
    left, right = comparison.left, comparison.right
    if not left.labels:
        raise MissingInputError(
            f"{left.path / LABELS}: no topic has a name that can be copied; write names into "
            'this file, such as {"4": "sacrifice"}'
        )
    partners = {
        topic.left[0]: topic.right[0]
        for topic in comparison.topics
        if topic.kind == "one to one"
        and topic.same
        and max(topic.outside_left or 0.0, topic.outside_right or 0.0) < UNKNOWN
    }
    labels_to_carry = {partners[k]: label for k, label in left.labels.items() if k in partners}
    stays = {} if replace else right.labels
    new = {k: label for k, label in sorted(labels_to_carry.items()) if k not in stays}
    path = right.path / LABELS
    if new:
        write_labels(path, right.labels | new)
    kept_labels = {k: stays[k].name for k in sorted(labels_to_carry) if k in stays}
    lost = {k: label.name for k, label in left.labels.items() if k not in partners}
    return Carried(path, {k: label.name for k, label in new.items()}, kept_labels, lost)
