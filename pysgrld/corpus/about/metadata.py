"""Ids, titles and columns that stand in a file of their own: a row a document, or joined by id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pysgrld.corpus.about.columns import ID, ColumnSource, DetailsCollector, Rows, SpelledColumn
from pysgrld.corpus.about.details import WHOLE, DocumentDetails, WantedFields, document_id
from pysgrld.corpus.formats import Context, CountedDocuments, Noticed, recognise
from pysgrld.corpus.formats.protocol import BadDocuments, RecordCounter, field_names
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.vectors import TOGETHER, GrowingFile
from pysgrld.errors import CorpusError, Log, Severity, plural
from pysgrld.types import Array, Int64s


class Metadata:
    """A file of metadata that was read, to be matched to the documents of a corpus.

    Parameters
    ----------
    path : str
    options : CorpusOptions
        With ``id_field`` rows are joined by it, else by their order.
    folder : Path
        Folder to work in.
    log : callable
        Called with each line of a message to the user.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If it is damaged, or not a format that has fields.
    """

    def __init__(self, path: str, options: CorpusOptions, folder: Path, log: Log) -> None:
        self.path, self.folder, self.log = path, folder, log
        self.joined = options.id_field is not None
        self._unmatched: str | None = None  # id of the first document without a row
        self.skip = options.on_bad_document == "skip"
        fields = WantedFields.of(options, metadata=True)
        self.collector = DetailsCollector(
            folder, texts=False, limit=None, kinds=fields.columns, rules=fields.rules
        )
        bad = BadDocuments(self.skip)
        with Lines(path, options.max_line, None, 1, options.max_input, options.encoding) as source:
            if not source.head:
                raise CorpusError("an empty file; there is nothing to read", source.label)
            format = recognise(source.head, source.name)
            self._names_first = format.name == "CSV or TSV"
            # a bad row keeps its place, so that later rows belong to the same documents
            context = Context(
                options, fields, bad, True, lambda _: None, log, Noticed(), RecordCounter()
            )
            batches = format.read(source, context) if format.fields else None
            if batches is None or isinstance(batches, CountedDocuments):
                raise CorpusError(
                    "metadata is CSV, TSV, JSON lines, Parquet or a spreadsheet, and this is "
                    f"{format.name}",
                    source.label,
                )
            name = [Path(path).name]
            for texts in batches:
                rows = np.asarray(texts.lines, np.int64)
                self.collector.add(DocumentDetails(0, name, None, rows, rows, rows, texts.fields))
        if bad.skipped:
            log(f"{path}: {plural(bad.skipped.total(), 'bad row')} left without values")
        if self.joined and (ID, "") not in self.collector.columns:
            names = field_names(name for _, name in self.collector.columns)
            raise CorpusError(
                f"no row has the field {fields.id[:40]!r} that rows are joined by (they have {names}; "
                "choose one with --id-field)",
                path,
            )

    def check_rows(self, documents: int) -> None:
        """Refuse rows without ids if their number differs from the number of documents.

        Raises
        ------
        CorpusError
        """
        if not self.joined and self.collector.documents != documents:
            advice = "mend it, or give ids and --id-field"
            if self._names_first and self.collector.documents == documents - 1:
                advice = (
                    "its first line was taken for the columns' names: put a line of names before it"
                )
            raise CorpusError(
                f"{plural(self.collector.documents, 'row')}, and {plural(documents, 'document')} read, "
                "including documents without words: rows are matched by order, one for each "
                "document; " + advice,
                self.path,
            )

    def sources(
        self, documents: DetailsCollector, rows: Rows, ids: SpelledColumn | None
    ) -> list[ColumnSource]:
        """Return its columns, each with the row of every document in them.

        Parameters
        ----------
        documents : DetailsCollector
            The documents of the corpus.
        rows : callable
            Returns the positions of the documents that stay, in blocks.
        ids : SpelledColumn, optional
            Their ids.

        Raises
        ------
        CorpusError
            If a document has no row, unless bad ones are skipped.
        """
        columns = self.collector.spelled()
        size = self.collector.documents
        row_blocks = (
            self._by_id(columns[ID, ""][0], documents, rows, ids)
            if self.joined
            else self._by_place(documents, rows)
        )
        match = GrowingFile(self.folder / "match", "<i8")
        used = np.zeros(size, np.bool_)
        without = 0
        for block in row_blocks:
            used[block[block >= 0]] = True
            without += int((block < 0).sum())
            match.append(block)
        if without and not self.skip:
            example = ""
            if self.joined and self._unmatched is not None:
                example = f" (the first is {self._unmatched[:60]!r}"
                if (~used).any():
                    row = np.flatnonzero(~used)[:1]
                    unused_id = _values(columns[ID, ""][0], row)[0].decode(errors="replace")
                    example += f"; the first row of no document is {unused_id[:60]!r}"
                example += ")"
            raise CorpusError(
                f"{plural(without, 'document')} without a row in it{example}, of {plural(size, 'row')}; "
                "mend it, or keep them without values with --on-bad-document skip",
                self.path,
            )
        if without:
            self.log(f"{self.path}: {plural(without, 'document')} without a row in it")
        if unused := int((~used).sum()):
            self.log(
                f"{self.path}: {plural(unused, 'row')} of no document that is in the corpus, left out"
            )
        matched = match.vector()
        return [
            ColumnSource(role, name, column, matched.blocks, kind, self.collector.rules)
            for (role, name), (column, kind) in columns.items()
            if not (role == ID and ids is not None and self.joined)
        ]

    def _by_place(self, documents: DetailsCollector, rows: Rows) -> Iterator[Int64s]:
        places = documents.origin["place"].vector()
        for block in rows():
            positions = places.gather(block)
            if (positions < 0).any():
                raise CorpusError(
                    "rows are matched by order, and the corpus has no record of the documents left out "
                    "when it was built; build it again, or give ids and --id-field",
                    self.path,
                )
            yield np.where(positions < self.collector.documents, positions, -1)

    def _by_id(
        self,
        column: SpelledColumn,
        documents: DetailsCollector,
        rows: Rows,
        ids: SpelledColumn | None,
    ) -> Iterator[Int64s]:
        size = self.collector.documents
        every = (
            np.arange(first, min(first + TOGETHER, size)) for first in range(0, size, TOGETHER)
        )
        hashes = np.concatenate([_hashes(piece.values()) for piece in column.pieces(every)])
        order = np.argsort(hashes, kind="stable")
        sorted_hashes = hashes[order]
        if again := int((sorted_hashes[1:] == sorted_hashes[:-1]).sum()):
            self.log(
                f"{self.path}: {plural(again, 'row')} with an id of one before, left out",
                Severity.WARNING,
            )
        file_names, several = documents.file_names(), documents.several_inputs
        for block in rows():
            records, files = (
                documents.origin[part].vector().gather(block) for part in ("record", "file")
            )
            distinct, inverse = np.unique(files.astype(np.int64), return_inverse=True)
            names = _values(file_names, distinct)
            keys = [b""] * len(block) if ids is None else _values(ids, block)
            called = [
                document_id(key.decode(), names[file].decode(), record, several)
                for key, file, record in zip(keys, inverse.tolist(), records.tolist(), strict=True)
            ]
            # a file may be called by its name without the suffix
            stems = [
                name.removesuffix(Path(name).suffix) if record == WHOLE else name
                for name, record in zip(called, records.tolist(), strict=True)
            ]
            place, matched = np.zeros(len(block), np.int64), np.zeros(len(block), np.bool_)
            for keys_of_block in (stems, called):
                document_hashes = _hashes([name.encode() for name in keys_of_block])
                places = np.minimum(
                    np.searchsorted(sorted_hashes, document_hashes), len(sorted_hashes) - 1
                )
                fits = sorted_hashes[places] == document_hashes
                place, matched = np.where(fits, places, place), matched | fits
            if self._unmatched is None and not matched.all():
                self._unmatched = called[int(np.flatnonzero(~matched)[0])]
            yield np.where(matched, order[place], -1)


def _values(column: SpelledColumn, rows: Int64s) -> list[bytes]:
    return [value for piece in column.pieces(iter([rows])) for value in piece.values()]


def _hashes(values: list[bytes]) -> Array:
    return np.array([hash(value) for value in values], np.int64)
