"""Effects of columns on topics, which the caller of the report has estimated."""

from __future__ import annotations

from typing import Any

from pysgrld.report.reported_run import Definition, Section


class EffectsOfColumns(Section):
    """Effects of columns on topics' shares: comparisons, and predicted shares along columns."""

    always = False

    def main(self) -> dict[str, Any]:
        """Return the effects that were passed to the report, or None."""
        return {"effects": self.run.asked.effects}

    def definitions(self) -> list[Definition]:
        """Define predicted shares, differences, and sure differences."""
        if self.run.asked.effects is None:
            return []
        return [
            Definition(
                "Predicted share",
                "A topic's share of a document, predicted by a regression on the columns of the formula: "
                "one column is set to a value for all documents, the others stay as they are. Words "
                "are assigned to topics by fixed weights, corrected for the confusion of similar "
                "topics, so that short documents do not flatten differences.",
            ),
            Definition(
                "Surely more, surely less",
                "Of all topics called surely more or less for a column, at most 5 % are expected to "
                "be wrong. Documents are weighted by the Bayesian bootstrap; intervals include the "
                "differences between the kept draws of the topics.",
                "Rubin 1981; Benjamini and Hochberg 1995",
            ),
        ]
