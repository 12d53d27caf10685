"""Two runs on the same held-out documents: the difference of their scores, in pairs."""

from __future__ import annotations

from pysgrld.corpus import Corpus
from pysgrld.errors import SgmcError
from pysgrld.reading.results import Results
from pysgrld.reading.score import score_own
from pysgrld.report.compare.values import PairedScore


def paired_score(left: Results, right: Results) -> PairedScore | str:
    """Score both runs on the held-out documents that they share, or say why there is no such figure.

    The documents are the same where the fingerprints of their parts are: same words, counts and split.
    """
    if left.score != right.score:
        return f"Documents are scored by other figures: {left.score.title}, {right.score.title}."
    try:
        splits = [_fingerprints(left), _fingerprints(right)]
        if not all(splits):
            return "A run holds no documents out: how well they predict is not compared."
        if splits[0] != splits[1]:
            return "The runs hold different documents out: how well they predict is not compared."
        first, second = score_own(left), score_own(right)
    except SgmcError as error:
        return f"How well they predict is not compared: {error}."
    gap = second.average.minus(first.average)
    return PairedScore(
        left.score.name,
        left.score.title,
        left.score.decimals,
        float(first.average),
        float(second.average),
        float(gap),
        gap.error,
        first.documents,
    )


def _fingerprints(results: Results) -> list[str]:
    """Give the fingerprints of the parts of the run's held-out documents; none where it has none."""
    folder = results.path / "holdout"
    if not folder.is_dir():
        return []
    parts = ("held-out",) if results.score.whole else ("observed", "held-out")
    return [Corpus.open(folder / part).fingerprint for part in parts]
