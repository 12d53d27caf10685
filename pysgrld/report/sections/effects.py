"""Section on effects of columns on topics, as estimated by the caller of the report."""

from __future__ import annotations

from typing import Any

from pysgrld.report.reported_run import Definition, Section


class EffectsOfColumns(Section):
    """Effects of columns on topics' shares: comparisons of values, and predicted shares."""

    always = False

    def main(self) -> dict[str, Any]:
        """Return the effects that were passed to the report, or None."""
        return {"effects": self.run.asked.effects}

    def definitions(self) -> list[Definition]:
        """Define predicted shares, differences of shares, and significant differences."""
        if self.run.asked.effects is None:
            return []
        return [
            Definition(
                "Predicted share",
                "A topic's average share if all documents had the same value in one column and "
                "kept their values in the other columns, as predicted by a regression on the "
                "formula. A correction for the confusion of similar topics keeps differences "
                "between short documents from being underestimated.",
            ),
            Definition(
                "Surely more, surely less",
                "For each column, at most 5 % of the topics marked as surely more or less are "
                "expected to be wrong (false discovery rate). Intervals come from the Bayesian "
                "bootstrap of documents and include the uncertainty about the topics.",
                "Rubin 1981; Benjamini and Hochberg 1995",
            ),
        ]
