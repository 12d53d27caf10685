"""Effects of columns on topics, as estimated by the caller for the page."""

from __future__ import annotations

from typing import Any

from pysgrld.report.reported_run import Definition, Section


class EffectsOfColumns(Section):
    """How shares of topics go with columns: comparisons, and predicted shares along each column."""

    always = False

    def main(self) -> dict[str, Any]:
        """Return the effects of the caller; None without effects."""
        return {"effects": self.run.asked.effects}

    def definitions(self) -> list[Definition]:
        """Define predicted shares, their differences, and sure differences."""
        if self.run.asked.effects is None:
            return []
        return [
            Definition(
                "Predicted share",
                "The share of a document that a topic has, predicted by a regression on the columns of "
                "the formula, with one of them set to a value for all documents and the others as they "
                "are. Words are sorted to topics by fixed weights, and what topics mistake for each "
                "other is taken back, so that short documents do not flatten it.",
            ),
            Definition(
                "Surely more, surely less",
                "Of all that is called so in a column at most 5 % are expected to be wrong. Documents "
                "are weighted by the Bayesian bootstrap, and each kept draw of the topics has its part "
                "in the interval.",
                "Rubin 1981; Benjamini and Hochberg 1995",
            ),
        ]
