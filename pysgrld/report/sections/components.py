"""Section on the number of components that a mixture uses in each draw."""

from __future__ import annotations

from typing import Any

from pysgrld.report.reported_run import ReportedRun, Section
from pysgrld.report.sample_pass import KeptSample


class ComponentsInUse(Section):
    """Number of components in each sample of the first chain, for models that infer this number."""

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._iterations, self._numbers = list[int](), list[int]()
        if run.results.fitted.titles:
            run.sample_visitors.append(self.add)

    def add(self, sample: KeptSample) -> None:
        """Count the components of a sample."""
        if sample.chain == 0 and not sample.top_words:
            fitted = sample.results.fitted
            quantities = fitted.quantities(fitted.sample_to_draw(sample.matrices), None)
            self._iterations.append(sample.step)
            self._numbers.append(int(quantities[next(iter(fitted.titles))]))

    def main(self) -> dict[str, Any]:
        """Return the iterations and the numbers of components.

        Both are None for a model with topics that can be matched from sample to sample.
        """
        if len(self._numbers) < 2:
            return {"components": None}
        return {"components": {"iterations": self._iterations, "numbers": self._numbers}}
