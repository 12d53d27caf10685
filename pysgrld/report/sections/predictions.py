"""Predictions: how well the model predicts held-out documents, by document length."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.evaluate.score import Estimate
from pysgrld.report.reported_run import Definition, Section

#: Maximum number of groups by length.
GROUPS = 4
#: Minimum number of documents per group.
FEWEST = 10
#: Number of standard errors on each side of a 90 % interval.
_WIDTH = 1.645


class PredictionsByLength(Section):
    """Perplexities of held-out documents, by length, under the model and under word frequencies."""

    def main(self) -> dict[str, Any]:
        """Return the groups by length, or None if documents are too few or have no perplexity."""
        evaluation = self.run.evaluation
        self._groups: list[dict[str, Any]] = []
        if evaluation is None or evaluation.unigram is None or evaluation.documents < 2 * FEWEST:
            return {"predictions": None}
        if evaluation.average.ratio is None or evaluation.unigram.ratio is None:
            return {"predictions": None}
        held = self.run.results.held_out()
        lengths = held.held_out.lengths.astype(np.int64)
        if len(held.observed):
            lengths = lengths + held.observed.lengths
        number = min(GROUPS, len(lengths) // FEWEST)
        cuts = np.quantile(lengths, np.arange(1, number) / number, method="lower")
        group_ids = np.searchsorted(np.unique(cuts), lengths, "left")
        (logs, tokens), (frequencies, _) = evaluation.average.ratio, evaluation.unigram.ratio
        groups = []
        for group in np.unique(group_ids):
            members = np.flatnonzero(group_ids == group)
            now, before = evaluation.average.among(members), evaluation.unigram.among(members)
            score = Estimate.perplexity(now, logs[members], tokens[members])
            usual = Estimate.perplexity(before, frequencies[members], tokens[members])
            # The error of the quotient is computed like the error of a perplexity, because both
            # perplexities are of the same documents.
            rest = Estimate.perplexity(now / before, (logs - frequencies)[members], tokens[members])
            values = [now, score.error, before, usual.error, rest, rest.error]
            if not np.isfinite(values).all():
                return {"predictions": None}
            groups.append(
                {
                    "from": int(lengths[members].min()),
                    "to": int(lengths[members].max()),
                    "documents": len(members),
                    "score": evaluation.kind.show(now, score.error),
                    "unigram": evaluation.kind.show(before, usual.error),
                    "mean": round(1.0 - rest, 4),
                    "low": round(1.0 - rest - _WIDTH * rest.error, 4),
                    "high": round(1.0 - rest + _WIDTH * rest.error, 4),
                }
            )
        if len(groups) < 2:
            return {"predictions": None}
        self._groups = groups
        return {"predictions": {"name": evaluation.kind.title, "groups": groups}}

    def definitions(self) -> list[Definition]:
        """Define the gain over word frequencies within a group."""
        if not self._groups:
            return []
        return [
            Definition(
                "Predictions by length",
                f"Held-out documents, divided by their length in words into up to {GROUPS} "
                "groups of similar size. Gain: 1 - perplexity / perplexity of the training word "
                "frequencies, for the same words. The interval is valid for other documents like "
                "these (delta method, paired by document).",
            )
        ]
