"""Reading of ids, titles and columns from a separate file with a row for each document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.corpus.about.archive import ColumnSource, Rows
from pysgrld.corpus.about.columns import ID, DetailsCollector, SpelledColumn
from pysgrld.corpus.about.details import WHOLE, DocumentDetails, WantedFields, document_id
from pysgrld.corpus.formats import Context, CountedDocuments, Noticed, recognise
from pysgrld.corpus.formats.protocol import BadDocuments, RecordCounter, field_names
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.vectors import TOGETHER, GrowingFile
from pysgrld.errors import CorpusError, Log, Severity, plural
from pysgrld.types import Array, Int64s

#: To find the column of ids, this number of documents is compared with the same number of rows.
SAMPLED = 1000
#: Minimum fraction of distinct values in a column of ids.
UNIQUE = 0.9


class Metadata:
    """Contents of a metadata file, with a method that matches its rows to the corpus's documents.

    Parameters
    ----------
    path : str
    options : CorpusOptions
        Rows are matched by ``id_field`` if it is set, else by a column with the ids or names of the
        documents, else by order.
    folder : Path
        Folder to work in.
    log : callable
        Called with each line of a message to the user.

    Attributes
    ----------
    named : bool
        Whether the user has named the column of ids.
    documents_read : int or None
        Number of documents of the inputs, including omitted documents; None if the inputs were not
        read to their end.
    skipped_in : str or None
        First input with a bad document that was left out.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If it is damaged, or not a format that has fields.
    """

    def __init__(self, path: str, options: CorpusOptions, folder: Path, log: Log) -> None:
        self.path, self.folder, self.log = path, folder, log
        self.named = options.id_field is not None
        self.documents_read: int | None = None
        self.skipped_in: str | None = None
        self._unmatched: str | None = None  # Id of the first document for which no row was found.
        self.skip = options.on_bad_document == "skip"
        fields = WantedFields.of(options, metadata=True)
        self.collector = DetailsCollector(folder, texts=False, limit=None, wanted=fields)
        bad = BadDocuments(self.skip)
        with Lines(path, options.max_line, None, 1, options.max_input, options.encoding) as source:
            if not source.head:
                raise CorpusError(
                    "this table is empty; give a table with one row per document", source.label
                )
            format = recognise(source.head, source.name)
            self._names_first = format.name == "CSV or TSV"
            # An invalid row is kept as an empty row, so that the numbers of later rows do not
            # change.
            context = Context(
                options, fields, bad, True, lambda _: None, log, Noticed(), RecordCounter()
            )
            batches = format.read(source, context) if format.fields else None
            if batches is None or isinstance(batches, CountedDocuments):
                raise CorpusError(
                    "metadata must be CSV, TSV, JSON lines, Parquet or a spreadsheet, but this "
                    f"file is {format.name}",
                    source.label,
                )
            name = [Path(path).name]
            for texts in batches:
                rows = np.asarray(texts.lines, np.int64)
                self.collector.add(DocumentDetails(0, name, None, rows, rows, rows, texts.fields))
        if bad.skipped:
            log(f"{path}: {plural(bad.skipped.total(), 'bad row')} ignored")
        if self.named and (ID, "") not in self.collector.columns:
            names = field_names(name for _, name in self.collector.columns)
            raise CorpusError(
                f"no row of the table has the field {fields.id[:40]!r} (--id-field), so rows "
                f"cannot be matched to documents; choose another field: {names}",
                path,
            )

    def sources(
        self, documents: DetailsCollector, rows: Rows, ids: SpelledColumn | None
    ) -> list[ColumnSource]:
        """Match rows to documents; return the file's columns and the row number of each document.

        Parameters
        ----------
        documents : DetailsCollector
            The documents of the corpus.
        rows : callable
            Returns the positions of the documents that stay, in blocks.
        ids : SpelledColumn, optional
            Ids of the documents.

        Raises
        ------
        CorpusError
            If a document has no row, unless bad documents are skipped.
        """
        columns = self.collector.spelled()
        size = self.collector.documents
        names = _Names(documents, ids)
        key = (ID, "") if self.named else self._key(columns, names, rows)
        if key is None:
            self._check_order(columns, names, rows)
            row_blocks = self._by_place(documents, rows)
        else:
            row_blocks = self._by_id(columns[key][0], names, rows)
            if not self.named:
                noun = "id" if key[0] == ID else key[1]
                self.log(
                    f"{self.path}: rows are matched to documents by {noun!r} (choose another "
                    "column with --id-field NAME)"
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
            if key is not None and self._unmatched is not None:
                example = f" (the first such document is {self._unmatched[:60]!r}"
                if (~used).any():
                    row = np.flatnonzero(~used)[:1]
                    unused_id = _values(columns[key][0], row)[0].decode(errors="replace")
                    example += f", and the first row without a document is {unused_id[:60]!r}"
                example += ")"
            raise CorpusError(
                f"this table of {plural(size, 'row')} lacks a row for "
                f"{plural(without, 'document')}{example}; add the rows, or accept missing "
                "values for these documents: --on-bad-document skip",
                self.path,
            )
        if without:
            self.log(f"{self.path}: this table lacks a row for {plural(without, 'document')}")
        if unused := int((~used).sum()):
            self.log(
                f"{self.path}: ignored {plural(unused, 'row')} that match no document of the corpus"
            )
        matched = match.vector()
        return [
            ColumnSource(role, name, column, matched.blocks, kind, self.collector.rules)
            for (role, name), (column, kind) in columns.items()
            if not (role == ID and ids is not None and key is not None)
        ]

    def _by_place(self, documents: DetailsCollector, rows: Rows) -> Iterator[Int64s]:
        places = documents.origin["place"].vector()
        for block in rows():
            positions = places.gather(block)
            if (positions < 0).any():
                raise CorpusError(
                    "this corpus does not record which documents were left out, so rows cannot "
                    "be matched to documents by order; build the corpus again, or add an id "
                    "column and name it with --id-field",
                    self.path,
                )
            yield np.where(positions < self.collector.documents, positions, -1)

    def _check_order(
        self,
        columns: Mapping[tuple[str, str], tuple[SpelledColumn, str | None]],
        names: _Names,
        rows: Rows,
    ) -> None:
        """Raise an error unless rows and documents can be matched by order.

        This check is made before rows are matched to documents by their order.

        Raises
        ------
        CorpusError
        """
        size, read = self.collector.documents, self.documents_read
        if self.skipped_in is not None:
            raise CorpusError(
                f"an unreadable document was left out, so rows of {self.path} cannot be matched "
                "to documents by order; add an id column and name it with --id-field",
                self.skipped_in,
            )
        first = next((names.of(block[:1]) for block in rows() if len(block)), None)
        if read is None or size == read:
            if first is not None and first.is_named:
                self.log(
                    f"{self.path}: rows are matched to documents by order (row 1 to "
                    f"{first.called[0][:60]!r}, and so on), because no column has ids or file "
                    "names"
                )
            return
        advice = "correct the table, or add a column of ids and name it with --id-field"
        if self._names_first and size == read - 1:
            advice = (
                "the first line was read as column names; if it is data, put a line of "
                "column names before it"
            )
        example = ""
        if first is not None and size:
            column, _ = next(iter(columns.values()))
            value = _values(column, np.zeros(1, np.int64))[0].decode(errors="replace")
            example = f" (document 1 is {first.called[0][:60]!r}, but row 1 has {value[:60]!r})"
        raise CorpusError(
            "rows cannot be matched to documents: no column has ids or file names, and the "
            f"table has {plural(size, 'row')}, but {plural(read, 'document')} were read, "
            f"counting empty documents{example}; " + advice,
            self.path,
        )

    def _key(
        self,
        columns: Mapping[tuple[str, str], tuple[SpelledColumn, str | None]],
        names: _Names,
        rows: Rows,
    ) -> tuple[str, str] | None:
        """Return the column that contains the ids or file names of most documents in a sample.

        Return None if no column has them for at least half of the sampled documents.
        """
        sample = next((names.of(block[:SAMPLED]) for block in rows() if len(block)), None)
        if sample is None or not sample.is_named:
            return None
        wanted = [{name.encode() for name in keys} for keys in sample.forms()]
        best, most = None, 0
        for key, (column, _) in columns.items():
            head = _values(column, np.arange(min(SAMPLED, self.collector.documents)))
            if len({*head}) < UNIQUE * len(head):
                continue
            values: set[bytes] = set()
            every = _all_rows(self.collector.documents)
            for piece in column.pieces(every):
                values |= {v for v in piece.values() if any(v in names for names in wanted)}
                if any(sample.is_file):
                    stems = (_stem(v.decode(errors="replace")).encode() for v in piece.values())
                    values |= {v for v in stems if v in wanted[1] or v in wanted[3]}
            matched = sum(
                any(name.encode() in values for name in keys)
                for keys in zip(*sample.forms(), strict=True)
            )
            if matched > most:
                best, most = key, matched
        return best if 2 * most >= len(sample.called) else None

    def _by_id(self, column: SpelledColumn, names: _Names, rows: Rows) -> Iterator[Int64s]:
        size = self.collector.documents
        pieces = [piece.values() for piece in column.pieces(_all_rows(size))]
        tables = [_Table(np.concatenate([_hashes(values) for values in pieces]))]
        if again := tables[0].repeated:
            self.log(
                f"{self.path}: ignored {plural(again, 'row')} with the same id as an earlier row",
                Severity.WARNING,
            )
        stems = ([_stem(v.decode(errors="replace")).encode() for v in p] for p in pieces)
        tables.append(_Table(np.concatenate([_hashes(values) for values in stems])))
        by_base: dict[int, str] = {}
        for block in rows():
            sample = names.of(block)
            row, is_file = np.full(len(block), -1), np.array(sample.is_file, np.bool_)
            for number, keys in enumerate(sample.forms()):
                for table in tables if number % 2 else tables[:1]:
                    # Only names of files may lack a suffix. The id 3, for example, does not match
                    # the id 3.14.
                    may_match = (row < 0) & (is_file | (table is tables[0]))
                    found = np.where(may_match, table.rows(keys), -1)
                    row = np.maximum(row, found)
                    if number < 2:
                        continue
                    # These keys are file names without a folder. Files in several folders may have
                    # the same name.
                    for i in np.flatnonzero(found >= 0).tolist():
                        called = by_base.setdefault(int(found[i]), sample.called[i])
                        if called != sample.called[i]:
                            raise CorpusError(
                                f"the file name in a row fits both {called[:60]!r} and "
                                f"{sample.called[i][:60]!r}; give the full paths in the table",
                                self.path,
                            )
            if self._unmatched is None and (row < 0).any():
                self._unmatched = sample.called[int(np.flatnonzero(row < 0)[0])]
            yield row


class _Named(NamedTuple):
    """Names of a block of documents, for matching documents with rows of a metadata file.

    Attributes
    ----------
    called : list of str
        Id of each document.
    is_file : list of bool
        Whether each document is a whole file.
    is_named : bool
        Whether the documents have ids from a field, or any of them is a file.
    """

    called: list[str]
    is_file: list[bool]
    is_named: bool

    def forms(self) -> list[list[str]]:
        """Return four spellings of each document's name; the first spelling that matches is used.

        The lists have the ids, then file names without the suffix, without the folder, and without
        suffix and folder. A document that is not a file has its id in all lists.
        """
        pairs = [*zip(self.called, self.is_file, strict=True)]
        bases = [name.rpartition("/")[2] if is_file else name for name, is_file in pairs]
        return [
            self.called,
            [_stem(name) if is_file else name for name, is_file in pairs],
            bases,
            [_stem(b) if is_file else b for b, (_, is_file) in zip(bases, pairs, strict=True)],
        ]


class _Names:
    """Names of all documents of a corpus, which are read from files as needed.

    Parameters
    ----------
    documents : DetailsCollector
    ids : SpelledColumn or None
        Ids from a field of the documents.
    """

    def __init__(self, documents: DetailsCollector, ids: SpelledColumn | None) -> None:
        self.ids, self.files = ids, documents.file_names()
        self.several = documents.several_inputs
        self._file, self._record = (documents.origin[part].vector() for part in ("file", "record"))

    def of(self, block: Int64s) -> _Named:
        """Return the names of documents, given the documents' positions in the corpus."""
        files, records = self._file.gather(block), self._record.gather(block).tolist()
        distinct, inverse = np.unique(files.astype(np.int64), return_inverse=True)
        names = [name.decode() for name in _values(self.files, distinct)]
        keys = [b""] * len(block) if self.ids is None else _values(self.ids, block)
        called = [
            document_id(key.decode(), names[file], record, self.several)
            for key, file, record in zip(keys, inverse.tolist(), records, strict=True)
        ]
        is_file = [record == WHOLE for record in records]
        return _Named(called, is_file, self.ids is not None or any(is_file))


class _Table:
    """Index of ids: it maps the hash of an id to the number of the first row with this id."""

    def __init__(self, hashes: Array) -> None:
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]
        self.repeated = int((self._hashes[1:] == self._hashes[:-1]).sum())

    def rows(self, names: list[str]) -> Int64s:
        """Return the row number of each name, or -1 if no row has this name."""
        wanted = _hashes([name.encode() for name in names])
        if not len(self._hashes):
            return np.full(len(wanted), -1)
        places = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        return np.where(self._hashes[places] == wanted, self._order[places], -1)


def _stem(name: str) -> str:
    """Return the name of a file without its suffix."""
    stem, _, suffix = name.rpartition(".")
    return stem if stem and "/" not in suffix and not stem.endswith("/") else name


def _all_rows(size: int) -> Iterator[Int64s]:
    return (np.arange(first, min(first + TOGETHER, size)) for first in range(0, size, TOGETHER))


def _values(column: SpelledColumn, rows: Int64s) -> list[bytes]:
    return [value for piece in column.pieces(iter([rows])) for value in piece.values()]


def _hashes(values: list[bytes]) -> Array:
    return np.array([hash(value) for value in values], np.int64)
