"""Which fields of records are kept beside the counts, and the values of those of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

from pysgrld.corpus.about.kinds import is_of
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.options.parse import EVERYTHING, column

#: More columns than this are not columns but data.
MOST = 256


class FieldError(Exception):
    """A field of a record that cannot be kept; the message says which and why."""


class Fields(NamedTuple):
    """Fields of some records, each with a value a record.

    Attributes
    ----------
    ids, titles : list
        None where a record has none.
    columns : dict of str to list
        By name.
    typed : bool
        Whether text is text; else it may mean a number, as in CSV.
    """

    ids: list[Any]
    titles: list[Any]
    columns: dict[str, list[Any]]
    typed: bool = True

    def part(self, start: int, stop: int) -> Fields:
        """Return those of some consecutive records."""
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        return Fields(self.ids[start:stop], self.titles[start:stop], columns, self.typed)


class Wanted(NamedTuple):
    """The fields that a person wants kept.

    Attributes
    ----------
    text : str or None
        The field that is the text; None where no text is wanted.
    id, title : str
        Fields that are the id and the title.
    named : frozenset of str
        Which of them a person has named, so that they must be plain values.
    columns : dict of str to (str or None)
        Other fields with their kind; None: it is found out.
    everything : bool
        Whether all fields are columns but the text, the id and the title.
    """

    text: str | None
    id: str
    title: str
    named: frozenset[str]
    columns: dict[str, str | None]
    everything: bool

    @classmethod
    def of(cls, options: CorpusOptions) -> Self:
        """Take those of documents from the options of reading: with metadata, columns are there."""
        if options.metadata is not None:
            options = replace(options, meta_field=None)
        return cls._of(options)

    @classmethod
    def of_metadata(cls, options: CorpusOptions) -> Self:
        """Take those of metadata: all columns, unless some are named."""
        found = cls._of(options)
        return found._replace(text=None, everything=not found.columns)

    @classmethod
    def _of(cls, options: CorpusOptions) -> Self:
        asked = options.meta_field
        columns = {} if asked in (None, EVERYTHING) else dict(map(column, asked.split(",")))
        named = frozenset(name for name in (options.id_field, options.title_field) if name)
        return cls(
            options.text_field,
            options.id_field or "id",
            options.title_field or "title",
            named,
            columns,
            asked == EVERYTHING,
        )

    def among(self, names: list[str]) -> list[str]:
        """Give those of the names of fields whose values are wanted, the text not among them."""
        if self.everything:
            return [name for name in names if name != self.text]
        wanted = {self.id, self.title, *self.columns}
        return [name for name in names if name in wanted]


class Gathering:
    """Takes the wanted fields out of records, one after the other, for a batch at a time.

    Parameters
    ----------
    wanted : Wanted
    typed : bool
        See `Fields`.
    """

    def __init__(self, wanted: Wanted, typed: bool = True) -> None:
        self.wanted, self.typed = wanted, typed
        self._apart = {wanted.text, wanted.id, wanted.title}
        self._kinds = list(wanted.columns.items())
        self._begin()

    def _begin(self) -> None:
        self.ids: list[Any] = []
        self.titles: list[Any] = []
        self.columns: dict[str, list[Any]] = {name: [] for name in self.wanted.columns}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take the fields of a record.

        Raises
        ------
        FieldError
            If a value is a list or an object, or not of the kind that it should be; nothing of the
            record is taken then.
        """
        key, title = record.get(self.wanted.id), record.get(self.wanted.title)
        if type(key) in _NESTED or type(title) in _NESTED:
            key, title = self._plain(self.wanted.id, key), self._plain(self.wanted.title, title)
        if self.wanted.everything:
            self._everything(record)
        elif self._kinds:
            values = [record.get(name) for name, _ in self._kinds]
            for (name, kind), value in zip(self._kinds, values, strict=True):
                if type(value) in _NESTED:
                    raise _not_plain(name, value)
                if kind is not None and not is_of(kind, value, self.typed):
                    raise FieldError(
                        f"field {name[:40]!r} is {str(value)[:40]!r}, which is no {kind}; say "
                        f"{name[:40]}:string to keep it as it is"
                    )
            for column, value in zip(self.columns.values(), values, strict=True):
                column.append(value)
        self.ids.append(key)
        self.titles.append(title)

    def _everything(self, record: Mapping[str, Any]) -> None:
        found = {name: value for name, value in record.items() if name not in self._apart}
        for name, value in found.items():
            if type(value) in _NESTED:
                raise _not_plain(name, value)
        if len(self.columns) + len(found) > MOST and len({*self.columns, *found}) > MOST:
            raise FieldError(f"more than {MOST} different fields; name those that are to be kept")
        for name, value in found.items():
            values = self.columns.setdefault(name, [])
            _pad(values, len(self.ids))
            values.append(value)

    def _plain(self, name: str, value: Any) -> Any:
        if type(value) not in _NESTED:
            return value
        if name in self.wanted.named:
            raise _not_plain(name, value)
        return None

    def fields(self) -> Fields:
        """Give what was taken since the last time."""
        for values in self.columns.values():
            _pad(values, len(self.ids))
        found = Fields(self.ids, self.titles, self.columns, self.typed)
        self._begin()
        return found


#: What values are that are not plain.
_NESTED = frozenset((list, dict))


def _pad(values: list[Any], size: int) -> None:
    if len(values) < size:
        values.extend([None] * (size - len(values)))


def _not_plain(name: str, value: Any) -> FieldError:
    what = "a list" if isinstance(value, list) else "an object"
    return FieldError(
        f"field {name[:40]!r} is {what}, and only plain values can be kept; leave this field out"
    )
