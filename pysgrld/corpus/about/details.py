"""Details of documents in memory: the origin, id, title, other fields and text of each document.

The kind of a column is known only after its last value. Until then, values are stored as UTF-8,
each with a tag for its type in the input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any, NamedTuple, Self

from pysgrld.corpus._columns import short_values
from pysgrld.corpus.about.scalars import MISSING, PARSERS, STRING, TIME, spelled
from pysgrld.corpus.about.values import ValueRules
from pysgrld.corpus.reading import AUTO, CorpusOptions
from pysgrld.errors import CorpusError
from pysgrld.options.parse import EVERYTHING, NOTHING, column
from pysgrld.types import Documents, Int64s

#: Maximum number of columns. If documents have more fields, the names of the fields are probably
#: data.
MOST = 256
#: Maximum number of characters of a value in a column that the user did not name. A column with a
#: longer value counts as text and is left out.
SHORT = 256


class FieldError(Exception):
    """Error for a field that cannot become a column; the message names the field and the reason."""


def too_many_columns() -> CorpusError:
    """Return the error for documents that have more than `MOST` columns in all."""
    return CorpusError(
        f"the documents have more than {MOST} columns, too many to keep all; name the columns to "
        "keep"
    )


class Fields(NamedTuple):
    """Fields of consecutive records: an id, a title and a value of each column for each record.

    Attributes
    ----------
    ids, titles : list
        Id and title of each record, or None if it has none.
    columns : mapping of str to sequence
        Values of each column, by name.
    typed : bool
        Whether text is always text; if False it may stand for a number, as in CSV.
    left_out : frozenset of str
        Names of fields with a long or nested value, which are no columns by default.
    """

    ids: list[Any]
    titles: list[Any]
    columns: Mapping[str, Sequence[Any]]
    typed: bool = True
    left_out: frozenset[str] = frozenset()

    def take(self, positions: Sequence[int]) -> Fields:
        """Return the fields of the records at the given positions."""
        ids, titles = [self.ids[i] for i in positions], [self.titles[i] for i in positions]
        columns = {name: [values[i] for i in positions] for name, values in self.columns.items()}
        return Fields(ids, titles, columns, self.typed, self.left_out)


class WantedFields(NamedTuple):
    """Names of the fields that become the text, the id, the title and the columns of documents.

    Attributes
    ----------
    text : tuple of str or None
        Fields that are joined to form the text. If empty, the text field is detected; if None, no
        text is needed.
    id, title : str
        Names of the fields with the id and the title.
    named : frozenset of str
        The fields among `id` and `title` that the user has named, which must have plain values.
    columns : dict of str to (str or None)
        Other fields with their kind, or None if the kind is to be detected.
    everything : bool
        Whether all fields except the text, the id and the title are columns.
    automatic : bool
        True if the user did not choose columns; fields with a long or nested value are then left
        out.
    rules : ValueRules
        Rules for reading the values of columns.
    time : str or None
        Field that must have a number or a date in each record.
    """

    text: tuple[str, ...] | None
    id: str
    title: str
    named: frozenset[str]
    columns: dict[str, str | None]
    everything: bool
    rules: ValueRules = ValueRules()
    time: str | None = None
    automatic: bool = False

    @classmethod
    def of(cls, options: CorpusOptions, *, metadata: bool = False) -> Self:
        """Return the fields that the reading options request.

        Parameters
        ----------
        options : CorpusOptions
        metadata : bool
            True for the records of ``--metadata``, which keep all fields unless the user names
            fields. With ``--metadata``, the documents themselves have only default columns.
        """
        requested = options.meta_field
        if not metadata and options.metadata is not None and requested != NOTHING:
            requested = AUTO
        automatic = requested == AUTO and not metadata
        time = options.time_field if options.metadata is None else None
        columns: dict[str, str | None] = {}
        if requested not in (AUTO, EVERYTHING, NOTHING):
            columns = dict(map(column, requested.split(",")))
        elif automatic and time is not None:
            columns = {time: None}
        auto = options.text_field == AUTO
        text = () if auto else tuple(name.strip() for name in options.text_field.split(","))
        return cls(
            None if metadata else text,
            options.id_field or "id",
            options.title_field or "title",
            frozenset(name for name in (options.id_field, options.title_field) if name),
            columns,
            not columns if metadata else requested in (AUTO, EVERYTHING),
            rules_of(options),
            time,
            automatic,
        )

    def is_optional(self, name: str) -> bool:
        """Return True if a field may be left out because its values cannot become a column."""
        return self.automatic and name not in {*self.columns, *self.named, self.id, self.title}

    def among(self, names: list[str]) -> list[str]:
        """Return the names in ``names`` that become the id, the title or a column."""
        names_to_keep = {self.id, self.title, *self.columns}
        if self.everything:
            names_to_keep |= {*names} - {*(self.text or ())}
        return [name for name in names if name in names_to_keep]


def rules_of(options: CorpusOptions) -> ValueRules:
    """Return the rules for missing values and dates that follow from the reading options.

    Parameters
    ----------
    options : CorpusOptions
        Options of reading.

    Returns
    -------
    ValueRules
        Rules with the options' missing values and date format.
    """
    return ValueRules(options.missing, options.date_format)


class FieldReader:
    """Collector of the wanted fields of records, to which records are added one at a time.

    Parameters
    ----------
    wanted : WantedFields
    typed : bool
        As for `Fields`.
    """

    def __init__(self, wanted: WantedFields, typed: bool = True) -> None:
        self.wanted, self.typed = wanted, typed
        self._id, self._title, self._time = wanted.id, wanted.title, wanted.time
        self._automatic = wanted.automatic
        self._keeps_all = wanted.everything and not wanted.automatic
        self._apart = {*(wanted.text or ()), wanted.id, wanted.title}
        self._kinds = list(wanted.columns.items())
        if wanted.automatic:
            self._apart |= {*wanted.columns}
        #: Values of the fields that the user did not name, for each record. `_names` has the names
        #: of these fields.
        self._others: list[tuple[Any, ...]] = []
        self._names: list[tuple[str, ...]] = []
        self._keys: Set[str] | None = None
        #: Names of at most `MOST` fields that are read although the user did not name them.
        self._seen: dict[str, None] = {}
        self._left_out: set[str] = set()
        self.ids: list[Any] = []
        self.titles: list[Any] = []
        self.columns: dict[str, list[Any]] = {name: [] for name in self.wanted.columns}

    def add(self, record: Mapping[str, Any]) -> None:
        """Store the requested fields of a record: id, title and columns.

        Raises
        ------
        FieldError
            If a value is a list or an object, or not of the requested kind; the record is then not
            added.
        """
        time = self._time
        # If a CSV file lacks the field, all of its rows lack it, so no single row is invalid.
        if time is not None and record and (self.typed or time in record):
            self._check_time(record.get(time))
        key, title = record.get(self._id), record.get(self._title)
        if type(key) in _NESTED or type(title) in _NESTED:
            for name, value in ((self._id, key), (self._title, title)):
                if type(value) in _NESTED and name in self.wanted.named:
                    raise _not_plain(name, value)
            # A nested value is left out if the user has not named its field.
            key, title = (None if type(value) in _NESTED else value for value in (key, title))
        if self._keeps_all:
            others_by_name = {
                name: value for name, value in record.items() if name not in self._apart
            }
            for name, value in others_by_name.items():
                if type(value) in _NESTED:
                    raise _not_plain(name, value)
            if (
                len(self.columns) + len(others_by_name) > MOST
                and len({*self.columns, *others_by_name}) > MOST
            ):
                raise too_many_columns()
            for name, value in others_by_name.items():
                values = self.columns.setdefault(name, [])
                values.extend([None] * (len(self.ids) - len(values)))
                values.append(value)
        elif self._kinds:
            values = [record.get(name) for name, _ in self._kinds]
            for (name, kind), value in zip(self._kinds, values, strict=True):
                if type(value) in _NESTED:
                    raise _not_plain(name, value)
                tag, text = spelled(value, self.typed) if kind in PARSERS else (MISSING, b"")
                if kind is not None and tag != MISSING and not self.wanted.rules.fits(kind, text):
                    raise FieldError(
                        f"field {name[:40]!r} is {str(value)[:40]!r}, which is not of the kind "
                        f"{kind}; to keep the field as text, write {name[:40]}:string"
                    )
            for column, value in zip(self.columns.values(), values, strict=True):
                column.append(value)
        if self._automatic:
            self._take_short(record)
        self.ids.append(key)
        self.titles.append(title)

    def _take_short(self, record: Mapping[str, Any]) -> None:
        """Add the fields that the user did not name, except fields with a long or nested value."""
        # Most records have the same fields as the record before, so this block rarely runs.
        if self._keys != record.keys():
            self._keys = dict.fromkeys(record).keys()
            room = MOST - max(len(self._seen), len(self._left_out))
            if room > 0:
                new = (n for n in record if n not in self._apart and n not in self._seen)
                self._seen |= dict.fromkeys(islice(new, room))
            self._short = tuple(filter(self._seen.__contains__, record))
        if (values := short_values(record, self._short, SHORT)) is not None:
            self._others.append(values)
            self._names.append(self._short)
            return
        left_out = {name for name in self._short if short_values(record, (name,), SHORT) is None}
        self._left_out |= left_out
        self._apart |= left_out
        self._seen = {name: None for name in self._seen if name not in left_out}
        self._keys = None
        self._take_short(record)

    def _short_columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of the fields that the user did not name."""
        columns: Iterable[tuple[str, Sequence[Any]]]
        if self._names and self._names.count(self._names[0]) == len(self._names):
            columns = zip(self._names[0], zip(*self._others, strict=True), strict=True)
        else:
            names = dict.fromkeys(chain.from_iterable(dict.fromkeys(self._names)))
            rows = [
                dict(zip(names_of, row, strict=True))
                for names_of, row in zip(self._names, self._others, strict=True)
            ]
            columns = ((name, [row.get(name) for row in rows]) for name in names)
        return {name: column for name, column in columns if name not in self._left_out}

    def _check_time(self, value: Any) -> None:
        """Raise `FieldError` if a value is neither a number nor a date."""
        rules, name = self.wanted.rules, (self.wanted.time or "")[:40]
        text = spelled(value, self.typed)[1]
        if rules.is_missing(text):
            raise FieldError(f"field {name!r} (--time) has no value")
        if not rules.fits("time", text) and not rules.fits("real", text):
            raise FieldError(
                f"field {name!r} (--time) is {str(value)[:40]!r}, which is neither a number nor a "
                "date such as 1987-06-30; for another notation give --date-format, such as "
                "%d/%m/%Y"
            )

    def fields(self) -> Fields:
        """Return the fields of the records added since the last call."""
        for values in self.columns.values():
            values.extend([None] * (len(self.ids) - len(values)))
        columns = self.columns | self._short_columns()
        left_out = frozenset(self._left_out)
        fields = Fields(self.ids, self.titles, columns, self.typed, left_out)
        self.ids, self.titles, self._others, self._names = [], [], [], []
        self.columns = {name: [] for name in self.wanted.columns}
        return fields


#: Types of nested values, which cannot be values of a column.
_NESTED = frozenset((list, dict))


def _not_plain(name: str, value: Any) -> FieldError:
    type_name = "a list" if isinstance(value, list) else "an object"
    return FieldError(
        f"field {name[:40]!r} is {type_name}, but sgmc stores only single values (texts, numbers); "
        "leave this field out"
    )


# ---- ids, titles and fields of documents

#: Value in place of a row number, if a document is a whole file and not a row of a file.
WHOLE = -1


@dataclass(slots=True)
class DocumentDetails:
    """Origins, fields and texts of consecutive documents of one input.

    Attributes
    ----------
    input : int
        Number of the input, from 0.
    names : list of str
        Names of files.
    files : (n,) int64 or None
        File of each document, as an index into `names`; None if all come from the first file.
    rows : (n,) int64
        Line, record or row of each document in its file, from 1; `WHOLE` if the file is the document.
    records : (n,) int64
        Number of each document's record in the input, from 1, as counted by a program that reads
        the input as a table; `WHOLE` if a file is the document.
    places : (n,) int64
        Number of documents of the input before each document, including documents left out; -1 if
        it is unknown.
    fields : Fields or None
    texts : list of (bytes or None) or None
        Text of each document; None if texts are not kept.
    kinds : dict of str to str
        Kinds of columns, if they are known.
    pieces : (n,) int64 or None
        Number of each document as a piece of a long document, from 1, or 0 for a whole document;
        None if all documents are whole.
    several_inputs : bool
        Whether the corpus has further inputs, so that an id needs the name of its file.
    """

    input: int
    names: list[str]
    files: Int64s | None
    rows: Int64s
    records: Int64s
    places: Int64s
    fields: Fields | None = None
    texts: list[bytes | None] | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    pieces: Int64s | None = None
    several_inputs: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, positions: Int64s) -> DocumentDetails:
        """Return the details of the documents at the given positions."""
        chosen = positions.tolist()
        return DocumentDetails(
            self.input,
            self.names,
            None if self.files is None else self.files[positions],
            self.rows[positions],
            self.records[positions],
            self.places[positions],
            None if self.fields is None else self.fields.take(chosen),
            None if self.texts is None else [self.texts[i] for i in chosen],
            self.kinds,
            None if self.pieces is None else self.pieces[positions],
            self.several_inputs,
        )

    def ids(self) -> list[str]:
        """Return the id of each document, as `document_id` defines it."""
        keys = repeat(None) if self.fields is None else self.fields.ids
        files = repeat(0) if self.files is None else self.files.tolist()
        pieces = repeat(0) if self.pieces is None else self.pieces.tolist()
        several = self.several_inputs
        return [
            document_id(spelled(key, True)[1].decode(), self.names[file], record, several, piece)
            for key, file, record, piece in zip(
                keys, files, self.records.tolist(), pieces, strict=False
            )
        ]


def document_id(
    field: str | None, file: str, record: int, several_inputs: bool, piece: int = 0
) -> str:
    """Return a document's id: the value of its id field or, without one, its file or record number.

    Parameters
    ----------
    field : str or None
        Value of the id field, or None without a value.
    file : str
        Name of the document's file, which is the id if the file is one document.
    record : int
        Number of the document's record in the input, from 1, or `WHOLE`.
    several_inputs : bool
        Whether the number of a record needs the name of its file: ``posts.csv:17``.
    piece : int, optional
        Number of a piece of a long document, from 1, which is appended to the id; 0 for a whole
        document.

    Returns
    -------
    str
    """
    default = file if record == WHOLE else f"{file}:{record}" if several_inputs else str(record)
    name = field or default
    return f"{name}#{piece}" if piece else name


class Named(NamedTuple):
    """Id of a document, and the document's values of the requested fields."""

    id: str
    values: tuple[str | int | float | bool | None, ...]


#: Function that assigns documents to time slices. Its arguments are the documents, their values of
#: the time field, and a function that returns a document's id for error messages.
_Slicer = Callable[[Documents, Sequence[Any], Callable[[int], str]], Documents]


class NamedDocuments:
    """Iterator over blocks of documents, which also collects the documents' ids and fields.

    Parameters
    ----------
    blocks : iterator of (int, Documents, DocumentDetails or None)
        Position of the first document of a block, documents, and their details.
    fields : sequence of str
        Names of the requested fields.
    sliced : (str, callable), optional
        A field, and the function that assigns documents to time slices by its values.

    Attributes
    ----------
    fields : tuple of str
    absent : set of str
        Requested fields that no document had so far.
    first : int
        Position of the first document of the latest block.
    """

    def __init__(
        self,
        blocks: Iterator[tuple[int, Documents, DocumentDetails | None]],
        fields: Sequence[str] = (),
        sliced: tuple[str, _Slicer] | None = None,
    ) -> None:
        self._blocks, self.fields, self._sliced = blocks, tuple(fields), sliced
        self.absent = set(fields)
        self._waiting: deque[Named] = deque()
        self.first = 0

    def __iter__(self) -> Iterator[Documents]:
        for first, block, about in self._blocks:
            self.first = first
            ids = about.ids() if about else [str(self.first + i + 1) for i in range(len(block))]
            field_values = about.fields.columns if about and about.fields else {}
            columns = [
                [_as_json(value) for value in field_values[name]]
                if name in field_values
                else [None] * len(block)
                for name in self.fields
            ]
            self.absent -= {
                name
                for name, values in zip(self.fields, columns, strict=True)
                if any(value is not None for value in values)
            }
            rows = zip(*columns, strict=True) if columns else ((),) * len(block)
            self._waiting.extend(map(Named, ids, rows))
            if self._sliced is None:
                yield block
                continue
            name, put = self._sliced
            values = [_as_json(value) for value in field_values.get(name, [None] * len(block))]
            yield put(block, values, ids.__getitem__)

    def names(self, number: int) -> list[Named]:
        """Pop ids and fields of the next `number` documents from the queue of yielded documents."""
        return [self._waiting.popleft() for _ in range(number)]


def _as_json(value: Any) -> str | int | float | bool | None:
    """Convert a value to a type that JSON has; return None for a missing value."""
    tag, text = spelled(value, True)
    if tag == MISSING:
        return None
    scalar: str | int | float | bool = text.decode() if tag in (STRING, TIME) else value
    return scalar
