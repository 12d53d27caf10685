"""Ids, titles and columns that stand in a file of their own: a row a document, or joined by id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pysgrld.corpus.about.columns import Rows
from pysgrld.corpus.about.finish import ColumnSource
from pysgrld.corpus.about.particulars import Particulars
from pysgrld.corpus.about.spool import ID, SpelledColumn, Spool
from pysgrld.corpus.about.tail import Tail, picked, pieces
from pysgrld.corpus.about.wanted import Wanted
from pysgrld.corpus.formats import Context, CountedDocuments, Noticed, recognise
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.policy import BadDocuments
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import CorpusError, plural
from pysgrld.types import Array, Int64s


class Metadata:
    """A file of metadata that was read, to be matched to the documents of a corpus.

    Parameters
    ----------
    path : str
    options : CorpusOptions
        With ``id_field`` rows are joined by it, else by their order.
    folder : Path
        Where it works.
    log : callable
        Told, a line at a time, what a person should know.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If it is damaged, or not a format that has fields.
    """

    def __init__(
        self, path: str, options: CorpusOptions, folder: Path, log: Callable[[str], None]
    ) -> None:
        self.path, self.folder, self.log = path, folder, log
        self.joined = options.id_field is not None
        self.skip = options.on_bad_document == "skip"
        wanted = Wanted.of_metadata(options)
        self.spool = Spool(folder, texts=False, limit=None, kinds=wanted.columns)
        bad = BadDocuments(self.skip)
        with Lines(path, options.max_line, None, 1, options.max_input, options.encoding) as source:
            if not source.head:
                raise CorpusError("an empty file; there is nothing to read", source.label)
            format = recognise(source.head, source.name)
            self._names_first = format.name == "CSV or TSV"
            # a bad row keeps its place, so that those after it belong to the same documents
            context = Context(options, wanted, bad, True, _no_documents, log, Noticed())
            found = format.read(source, context) if format.fields else None
            if found is None or isinstance(found, CountedDocuments):
                raise CorpusError(
                    f"metadata is CSV, TSV, JSON lines or Parquet, and this is {format.name}",
                    source.label,
                )
            name = [Path(path).name]
            for texts in found:
                rows = np.asarray(texts.lines, np.int64)
                self.spool.add(Particulars(0, name, None, rows, rows, texts.fields))
        if bad.skipped:
            log(f"{path}: {plural(bad.skipped.total(), 'bad row')} left without values")
        if self.joined and (ID, "") not in self.spool.columns:
            raise CorpusError(
                f"no row has the field {wanted.id[:40]!r} that rows are joined by", path
            )

    def check_rows(self, documents: int) -> None:
        """Refuse rows that go by the order of so many documents and are not as many.

        Raises
        ------
        CorpusError
        """
        if not self.joined and self.spool.documents != documents:
            advice = "mend it, or give ids and --id-field"
            if self._names_first and self.spool.documents == documents - 1:
                advice = (
                    "its first line was taken for the columns' names: put a line of names before it"
                )
            raise CorpusError(
                f"{plural(self.spool.documents, 'row')}, and {plural(documents, 'document')} in what was "
                "read, those without words included: rows go by the order of documents, one for each; "
                + advice,
                self.path,
            )

    def sources(
        self, documents: Spool, rows: Rows, ids: SpelledColumn | None
    ) -> list[ColumnSource]:
        """Give its columns, each with the row of every document in them.

        Parameters
        ----------
        documents : Spool
            The documents of the corpus.
        rows : callable
            Those of them that stay.
        ids : SpelledColumn, optional
            Their ids.

        Raises
        ------
        CorpusError
            If a document has no row, unless bad ones are skipped.
        """
        columns = self.spool.spelled()
        match = Tail(self.folder / "match", "<i8")
        found = (
            self._by_id(columns[ID, ""][0], documents, rows, ids)
            if self.joined
            else self._by_place(documents, rows)
        )
        used = np.zeros(self.spool.documents, np.bool_)
        without = 0
        for some in found:
            used[some[some >= 0]] = True
            without += int((some < 0).sum())
            match.append(some)
        self._account(without, int((~used).sum()))
        matched = match.vector()
        return [
            ColumnSource(role, name, column, lambda: pieces(matched), kind)
            for (role, name), (column, kind) in columns.items()
            if not (role == ID and ids is not None and self.joined)
        ]

    def _account(self, without: int, unused: int) -> None:
        if without and not self.skip:
            raise CorpusError(
                f"{plural(without, 'document')} without a row in it, of "
                f"{plural(self.spool.documents, 'row')}; mend it, or keep them "
                "without values with --on-bad-document skip",
                self.path,
            )
        if without:
            self.log(f"{self.path}: {plural(without, 'document')} without a row in it")
        if unused:
            self.log(
                f"{self.path}: {plural(unused, 'row')} of no document that is in the corpus, left out"
            )

    def _by_place(self, documents: Spool, rows: Rows) -> Iterator[Int64s]:
        places = documents.origin["place"].vector()
        for some in rows():
            found = picked(places, some)
            if (found < 0).any():
                raise CorpusError(
                    "rows go by the order of documents, and the corpus does not say which were left out "
                    "when it was built; build it again, or give ids and --id-field",
                    self.path,
                )
            yield np.where(found < self.spool.documents, found, -1)

    def _by_id(
        self, column: SpelledColumn, documents: Spool, rows: Rows, ids: SpelledColumn | None
    ) -> Iterator[Int64s]:
        def everything() -> Iterator[Int64s]:
            for start in range(0, self.spool.documents, 2**16):
                yield np.arange(start, min(start + 2**16, self.spool.documents))

        hashes = np.concatenate([_hashes(p.values()) for p in column.pieces(everything())])
        order = np.argsort(hashes, kind="stable")
        known = hashes[order]
        if again := int((known[1:] == known[:-1]).sum()):
            self.log(
                f"warning: {self.path}: {plural(again, 'row')} with an id of one before, left out"
            )
        lines = documents.origin["row"].vector()
        for some in rows():
            numbers = picked(lines, some).tolist()
            own = [b""] * len(some)
            if ids is not None:
                own = [value for piece in ids.pieces(iter([some])) for value in piece.values()]
            wanted = _hashes([key or b"%d" % row for key, row in zip(own, numbers, strict=True)])
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            yield np.where(known[at] == wanted, order[at], -1)


def _hashes(values: list[bytes]) -> Array:
    return np.array([hash(value) for value in values], np.int64)


def _no_documents(number: int) -> None:
    """Take no notice of documents without words: rows of metadata are none."""
