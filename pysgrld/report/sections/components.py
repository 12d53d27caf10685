"""How many components a mixture uses, draw by draw."""

from __future__ import annotations

from typing import Any

from pysgrld.report.reported_run import ReportedRun, Section
from pysgrld.report.sample_pass import KeptSample, SampleVisitor


class _InUse(SampleVisitor):
    """The number of components in use in each sample of the first chain."""

    def __init__(self, name: str) -> None:
        self._name, self.iterations, self.numbers = name, list[int](), list[int]()

    def add(self, sample: KeptSample) -> None:
        if sample.chain == 0 and not sample.top_words:
            fitted = sample.results.fitted
            found = fitted.quantities(fitted.draw_of(sample.matrices), None)
            self.iterations.append(sample.step)
            self.numbers.append(int(found[self._name]))


class ComponentsInUse(Section):
    """The number of components, of models that choose it."""

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        titles = run.results.fitted.titles
        self._in_use = run.visit_samples(_InUse(next(iter(titles)))) if titles else None

    def main(self) -> dict[str, Any]:
        """Return iterations and numbers; None of a model whose topics can be followed."""
        found = self._in_use
        if found is None or len(found.numbers) < 2:
            return {"components": None}
        return {"components": {"iterations": found.iterations, "numbers": found.numbers}}
