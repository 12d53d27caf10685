"""A table of documents: who they are, and how much of each topic they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus
from pysgrld.reading.intervals import bounds
from pysgrld.reading.results import Results
from pysgrld.report.documents import DrawnBlock, drawn_blocks
from pysgrld.report.exports.tabular import TableColumn, TableWriter
from pysgrld.types import Array, Doubles, Int64s

#: Share from which on a document lists a topic, where it does not list them all.
LISTED = 0.01
#: Columns that every table of documents has; a kept column of such a name gets another one.
ROW, ID, HELD_OUT, TOKENS = "row", "id", "held_out", "tokens"
_SPARSE = ("topic", "share", "low", "high")


class DocumentTable(NamedTuple):
    """The documents of a run as a table.

    Attributes
    ----------
    results : Results
    corpus : Corpus
        That the run was trained on.
    steps : list of int
        Kept samples that documents are drawn on; empty: they are read under one draw.
    draw : Draw or None
        That one; None: the mean.
    sparse : bool
        Whether a document has a row for each topic of which it has a hundredth or more, and for its
        greatest; else it has one row, and a column for each topic.
    at : int
        The layer, counted from 0.
    """

    results: Results
    corpus: Corpus
    steps: list[int]
    draw: Draw | None
    sparse: bool
    at: int

    @property
    def topics(self) -> int:
        """Number of topics K."""
        return self.results.layers[self.at]

    def columns(self) -> list[TableColumn]:
        """Name the columns, and say what they are."""
        own = [TableColumn(f"topic_{k}", "share") for k in range(self.topics)]
        if self.sparse:
            own = [TableColumn(name, "topic" if name == "topic" else "share") for name in _SPARSE]
        first = [TableColumn(ROW, "integer"), TableColumn(ID, "string")]
        last = [TableColumn(HELD_OUT, "flag"), TableColumn(TOKENS, "integer"), *own]
        taken = {column.name for column in (*first, *last)}
        kept = []
        for column in self.corpus.about.columns:
            name = column.name
            while name in taken:
                name = f"column_{name}"
            taken.add(name)
            kept.append(TableColumn(name, column.kind))
        return first + kept + last

    def write(self, table: TableWriter) -> Iterator[tuple[int, Doubles]]:
        """Write the rows; yield how many documents are done, and tokens by draw and topic, (S, K)."""
        trained = np.zeros(self.corpus.documents, bool)
        trained[self.results.training_documents(self.corpus)[:]] = True
        rows = np.arange(self.corpus.documents)
        for block in drawn_blocks(self.results, self.corpus, rows, self.steps, self.at, self.draw):
            here = rows[block.at]
            who = self._who(here)
            after: list[Any] = [~trained[here], block.lengths]
            if self.sparse:
                of, values = self._listed(block)
                who = [_picked(part, of) for part in who]
                table.write([*who, *(part[of] for part in after), *values])
            else:
                share = block.theta.mean(axis=0, dtype=np.float64).astype(np.float32)
                table.write([*who, *after, *np.ascontiguousarray(share.T)])
            yield block.at.stop, block.tokens.sum(axis=1, dtype=np.float64)

    def _who(self, rows: Int64s) -> list[Any]:
        about = self.corpus.about
        values = [about.values(column.name, rows) for column in about.columns]
        return [rows, about.ids(rows), *values]

    def _listed(self, block: DrawnBlock) -> tuple[Int64s, list[Array]]:
        """Give the document of each row, and the topic, share, low and high end of it."""
        share = block.theta.mean(axis=0, dtype=np.float64)
        shown = share >= LISTED
        shown[np.arange(len(share)), share.argmax(axis=1)] = True
        of, topic = np.nonzero(shown)
        order = np.lexsort((topic, -share[of, topic], of))
        of, topic = of[order], topic[order]
        mean = share[of, topic]
        low = high = np.full(len(of), np.nan)
        if len(block.theta) > 1:
            low, high = bounds(block.theta[:, of, topic])
        return of, [topic, *(part.astype(np.float32) for part in (mean, low, high))]


def _picked(part: Sequence[Any] | Array, of: Int64s) -> Any:
    return part[of] if isinstance(part, np.ndarray) else [part[i] for i in of.tolist()]
