"""Conversion of the records that readers yield to batches of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from pysgrld.corpus.formats.protocol import BadDocument, Batch, Context, Texts, field_names
from pysgrld.corpus.formats.text_fields import SAMPLED, called_otherwise, chosen, joined
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

#: Number of a record, and a mapping with its fields. If a record is invalid, an error replaces the
#: mapping.
Numbered = tuple[int, Mapping[str, Any] | BadDocument]


def texts_of(
    records: Iterable[Numbered],
    source: Lines,
    context: Context,
    noun: str,
    known: Sequence[str] = (),
    header: int | None = None,
    title: str = "title",
) -> Iterator[Texts]:
    """Convert records to documents; a record that lacks the text fields becomes an empty document.

    Parameters
    ----------
    records : iterable of (int, mapping or BadDocument)
        Numbers and records. The text field is detected in the first `SAMPLED` records; the other
        records are read one by one.
    source : Lines
    context : Context
    noun : str
        Noun of a record in messages; empty if the numbers are line numbers.
    known : sequence of str
        Names of fields of the format, which the first records may lack.
    header : int, optional
        See `Batch`.
    title : str
        Name of the title field in this format.

    Raises
    ------
    CorpusError
        If none of the first records has a field that is named as a text field.
    """
    records = iter(records)
    first = list(islice(records, SAMPLED))
    sample = [record for _, record in first if not isinstance(record, BadDocument)]
    names = list(dict.fromkeys(chain(known, *sample)))
    context = chosen(context, source.label, names, map(plain, sample), title)
    for name in context.wanted.text or ():
        if name not in names:
            raise CorpusError(
                f"no field {name!r} (the fields are {field_names(names)}; choose one with "
                "--text-field)",
                source.label,
            )
    aliases = called_otherwise(context.wanted, names)
    batch = Batch(source.label, context, noun=noun, typed=False, header=header)
    limit = context.options.max_line
    for number, record in chain(first, records):
        try:
            if isinstance(record, BadDocument):
                raise record
            fields = plain(record)
            for name, same in aliases.items():
                fields[name] = next((fields[n] for n in same if fields.get(n)), None)
            texts = (fields.get(name) for name in context.wanted.text or ())
            text = joined(
                str(value).encode("utf-8", "replace") for value in texts if value is not None
            )
            if len(text) > limit:
                raise BadDocument(
                    "line too long",
                    f"the text has more than {limit} bytes; allow more with --set max-line=SIZE",
                )
            batch.add(text, fields, number)
        except BadDocument as bad:
            batch.refuse(bad, number)
        if batch.full:
            yield batch.texts()
    if batch:
        yield batch.texts()


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record in which each list (such as authors or keywords) is joined to a text."""
    return {name: _joined(value) for name, value in record.items()}


def _joined(value: Any) -> Any:
    if isinstance(value, Mapping):
        value = value.values()
    elif isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return "; ".join(map(str, value))
